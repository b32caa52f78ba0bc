from f15 import *
from f15 import x15

x14 = x15 + x15
