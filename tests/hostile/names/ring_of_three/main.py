import triton
import triton.language as tl
from a import A

X = A


@triton.jit
def k(Y):
    tl.store(Y, X)
