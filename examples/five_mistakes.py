"""Five mistakes, one of each kind that is easily made. `tritium check examples/five_mistakes.py` finds exactly these five."""

import triton
import triton.language as tl


@triton.jit
def rows_plus_columns(X, OUT):
    rows = tl.arange(0, 128)
    cols = tl.arange(0, 64)
    x = tl.load(X + rows)
    tl.store(OUT + rows, x + cols)  # SHP001: 128 rows and 64 columns do not broadcast


@triton.jit
def fill(OUT, BLOCK):
    zeros = tl.zeros((BLOCK,), dtype=tl.float32)  # CXP001: a shape is known at compile time, BLOCK is not
    tl.store(OUT + tl.arange(0, 128), zeros)


@triton.jit
def copy(X, OUT, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + offsets, other=0.0)  # MSK001: `other` without `mask`
    tl.store(OUT + offsets, x)


@triton.jit
def multiply(A, B, C):
    rows = tl.arange(0, 32)
    inner_a = tl.arange(0, 64)
    inner_b = tl.arange(0, 32)
    a = tl.load(A + rows[:, None] * 64 + inner_a[None, :])
    b = tl.load(B + inner_b[:, None] * 32 + rows[None, :])
    c = tl.dot(a, b)  # DOT001: 64 columns of `a`, 32 rows of `b`
    tl.store(C + rows[:, None] * 32 + rows[None, :], c)


@triton.jit
def total(X, OUT, n):
    acc = 0
    for i in range(n):
        acc = acc + tl.load(X + i)  # CTL005: an i32 becomes an f32 in the loop
    tl.store(OUT, acc)


# What the loop adds up decides whether its start is right, so the launch says it.
#
# /// tritium
# [launch.total]
# kernel = "total"
# grid = [1]
# sizes = { n = 1024 }
# args = { X = "f32[n]", OUT = "f32[1]", n = "n" }
# ///
