from f3 import *
from f3 import x3

x2 = x3 + x3
