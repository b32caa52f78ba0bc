from f12 import *
from f12 import x12

x11 = x12 + x12
