import triton
import triton.language as tl
from other import B

C = B + 1


@triton.jit
def k(Y):
    tl.store(Y, C)
