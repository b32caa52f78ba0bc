import triton
import triton.language as tl
import a

x = 0
while x < a.y:
    x = x + 1


@triton.jit
def k(Y):
    tl.store(Y, x)
