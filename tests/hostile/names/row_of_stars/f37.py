from f38 import *
from f38 import x38

x37 = x38 + x38
