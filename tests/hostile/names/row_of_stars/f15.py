from f16 import *
from f16 import x16

x15 = x16 + x16
