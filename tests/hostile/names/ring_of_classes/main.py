import triton
import triton.language as tl
from a import B


class A(B):
    C = B.C + 1


x = A.C


@triton.jit
def k(Y):
    tl.store(Y, x)
