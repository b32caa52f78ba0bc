from f37 import *
from f37 import x37

x36 = x37 + x37
