from f28 import *
from f28 import x28

x27 = x28 + x28
