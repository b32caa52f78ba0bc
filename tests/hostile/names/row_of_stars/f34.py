from f35 import *
from f35 import x35

x34 = x35 + x35
