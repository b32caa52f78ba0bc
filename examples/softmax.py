# /// tritium
# [launch.announcement]
# kernel = "softmax"
# grid = ["M"]
# sizes = { M = 583, N = 931 }
# args = { Y = "f32[M, N]", X = "f32[M, N] = normal(0, 1)", stride_y = "N", stride_x = "N", n_cols = "N" }
# meta = { BLOCK = "next_power_of_2(N)" }
# expect = { Y = "softmax(X, axis=1)" }
#
# [launch.square_4096]
# kernel = "softmax"
# grid = ["M"]
# sizes = { M = 4096, N = 4096 }
# args = { Y = "f32[M, N]", X = "f32[M, N] = normal(0, 1)", stride_y = "N", stride_x = "N", n_cols = "N" }
# meta = { BLOCK = "next_power_of_2(N)" }
# num_warps = 8
# expect = { Y = "softmax(X, axis=1)" }
# ///
"""Softmax of every row, fused: a program reads its row once, keeps it in registers and writes the result once."""

import triton
import triton.language as tl


@triton.jit
def softmax(Y, X, stride_y, stride_x, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    # exp(-inf) is 0, so the padding adds nothing to the sum.
    x = tl.load(X + row * stride_x + cols, mask=mask, other=-float("inf"))
    # Subtracting the maximum keeps exp in range; the quotient is the same.
    numerator = tl.exp(x - tl.max(x, axis=0))
    y = numerator / tl.sum(numerator, axis=0)
    tl.store(Y + row * stride_y + cols, y, mask=mask)
