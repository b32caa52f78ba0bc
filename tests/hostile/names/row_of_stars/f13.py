from f14 import *
from f14 import x14

x13 = x14 + x14
