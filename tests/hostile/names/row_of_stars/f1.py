from f2 import *
from f2 import x2

x1 = x2 + x2
