from f29 import *
from f29 import x29

x28 = x29 + x29
