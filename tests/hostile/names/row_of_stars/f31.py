from f32 import *
from f32 import x32

x31 = x32 + x32
