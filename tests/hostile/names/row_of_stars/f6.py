from f7 import *
from f7 import x7

x6 = x7 + x7
