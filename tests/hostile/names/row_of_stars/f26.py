from f27 import *
from f27 import x27

x26 = x27 + x27
