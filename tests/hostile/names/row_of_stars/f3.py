from f4 import *
from f4 import x4

x3 = x4 + x4
