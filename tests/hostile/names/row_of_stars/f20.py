from f21 import *
from f21 import x21

x20 = x21 + x21
