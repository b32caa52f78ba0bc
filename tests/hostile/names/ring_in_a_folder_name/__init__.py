from .main import *
from .a import *
