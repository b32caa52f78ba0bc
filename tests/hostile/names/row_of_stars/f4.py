from f5 import *
from f5 import x5

x4 = x5 + x5
