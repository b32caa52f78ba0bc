from f1 import *
from f1 import x1

x0 = x1 + x1
