from f23 import *
from f23 import x23

x22 = x23 + x23
