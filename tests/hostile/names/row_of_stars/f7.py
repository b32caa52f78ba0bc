from f8 import *
from f8 import x8

x7 = x8 + x8
