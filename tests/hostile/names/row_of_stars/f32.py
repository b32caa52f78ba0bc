from f33 import *
from f33 import x33

x32 = x33 + x33
