from a import *
from main import *

only_here = 1
