from f19 import *
from f19 import x19

x18 = x19 + x19
