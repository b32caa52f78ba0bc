from f22 import *
from f22 import x22

x21 = x22 + x22
