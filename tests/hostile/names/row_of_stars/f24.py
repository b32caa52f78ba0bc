from f25 import *
from f25 import x25

x24 = x25 + x25
