from f24 import *
from f24 import x24

x23 = x24 + x24
