from f20 import *
from f20 import x20

x19 = x20 + x20
