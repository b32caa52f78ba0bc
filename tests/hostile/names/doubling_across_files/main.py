import triton
import triton.language as tl
from a import v20

x = v20 + v20


@triton.jit
def k(Y):
    tl.store(Y, x)
