import triton
import triton.language as tl
from a import rows

rows.append(rows)
x = len(rows)


@triton.jit
def k(Y):
    tl.store(Y, x)
