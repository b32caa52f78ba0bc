import triton
import triton.language as tl
from a import FAST

if FAST:
    from a import scale
else:
    scale = 1.0
SLOW = not FAST


@triton.jit
def k(Y):
    tl.store(Y, scale)
