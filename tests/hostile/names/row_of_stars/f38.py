from f39 import *
from f39 import x39

x38 = x39 + x39
