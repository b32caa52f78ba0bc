from f18 import *
from f18 import x18

x17 = x18 + x18
