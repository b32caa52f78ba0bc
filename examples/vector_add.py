# /// tritium
# [launch.one_million]
# kernel = "add"
# grid = ["cdiv(N, BLOCK)"]
# sizes = { N = 1_000_000, BLOCK = 1024 }
# args = { X = "f32[N] = normal(0, 1)", Y = "f32[N] = normal(0, 1)", OUT = "f32[N]", n = "N" }
# meta = { BLOCK = "BLOCK" }
# expect = { OUT = "X + Y" }
#
# [launch.odd]
# kernel = "add"
# grid = ["cdiv(N, BLOCK)"]
# sizes = { N = 1_000_003, BLOCK = 1024 }
# args = { X = "f32[N] = normal(0, 1)", Y = "f32[N] = normal(0, 1)", OUT = "f32[N]", n = "N" }
# meta = { BLOCK = "BLOCK" }
# expect = { OUT = "X + Y" }
# ///
"""Element by element: the smallest kernel there is. Every program adds one tile of BLOCK elements."""

import triton
import triton.language as tl


@triton.jit
def add(X, Y, OUT, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(X + offsets, mask=mask)
    y = tl.load(Y + offsets, mask=mask)
    tl.store(OUT + offsets, x + y, mask=mask)
