from f11 import *
from f11 import x11

x10 = x11 + x11
