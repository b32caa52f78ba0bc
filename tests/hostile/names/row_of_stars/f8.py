from f9 import *
from f9 import x9

x8 = x9 + x9
