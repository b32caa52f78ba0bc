from f34 import *
from f34 import x34

x33 = x34 + x34
