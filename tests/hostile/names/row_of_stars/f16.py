from f17 import *
from f17 import x17

x16 = x17 + x17
