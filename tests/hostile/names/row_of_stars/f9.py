from f10 import *
from f10 import x10

x9 = x10 + x10
