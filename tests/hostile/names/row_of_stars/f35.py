from f36 import *
from f36 import x36

x35 = x36 + x36
