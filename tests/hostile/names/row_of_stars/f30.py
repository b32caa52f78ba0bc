from f31 import *
from f31 import x31

x30 = x31 + x31
