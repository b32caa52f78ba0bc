from f30 import *
from f30 import x30

x29 = x30 + x30
