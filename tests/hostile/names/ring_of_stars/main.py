import triton
import triton.language as tl
from a import *


@triton.jit
def k(Y):
    tl.store(Y, x + only_here)
