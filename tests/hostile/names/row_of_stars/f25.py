from f26 import *
from f26 import x26

x25 = x26 + x26
