import triton
from main import deco as other


def deco(f):
    return other(triton.jit(f))
