from f13 import *
from f13 import x13

x12 = x13 + x13
