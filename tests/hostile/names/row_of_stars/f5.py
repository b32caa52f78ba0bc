from f6 import *
from f6 import x6

x5 = x6 + x6
