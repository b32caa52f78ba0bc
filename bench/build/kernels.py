# /// tritium
# [launch.even]
# kernel = "add"
# grid = ["cdiv(N, 1024)"]
# sizes = { N = 1_000_000 }
# args = { X = "f32[N] = normal(0, 1)", Y = "f32[N] = normal(0, 1)", OUT = "f32[N]", n = "N" }
# meta = { BLOCK = 1024 }
# expect = { OUT = "X + Y" }
#
# [launch.odd]
# kernel = "add"
# grid = ["cdiv(N, 1024)"]
# sizes = { N = 1_000_003 }
# args = { X = "f32[N] = normal(0, 1)", Y = "f32[N] = normal(0, 1)", OUT = "f32[N]", n = "N" }
# meta = { BLOCK = 1024 }
# expect = { OUT = "X + Y" }
#
# [launch.rows]
# kernel = "softmax"
# grid = ["M"]
# sizes = { M = 583, N = 931 }
# args = { Y = "f32[M, N]", X = "f32[M, N] = normal(0, 1)", stride = "N", columns = "N" }
# meta = { BLOCK = 1024 }
# expect = { Y = "softmax(X, axis=1)" }
#
# [launch.product]
# kernel = "matmul"
# grid = ["cdiv(M, 64)", "cdiv(N, 64)"]
# sizes = { M = 200, N = 136, K = 128 }
# args = { A = { tensor = "f16[M, K] = normal(0, 1)", block = [64, 64] }, B = { tensor = "f16[K, N] = normal(0, 1)", block = [64, 64] }, C = "f16[M, N]", M = "M", N = "N", K = "K" }
# meta = { BLOCK = 64 }
# expect = { C = "A @ B" }
# ///
"""Three kernels that are built ahead of time: by element, by row, and a product that reads through tensor descriptors."""

import triton
import triton.language as tl


@triton.jit
def add(X, Y, OUT, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(OUT + at, tl.load(X + at, mask=inside) + tl.load(Y + at, mask=inside), mask=inside)


@triton.jit
def softmax(Y, X, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    x = tl.load(X + row * stride + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(x - tl.max(x, axis=0))
    tl.store(Y + row * stride + at, powers / tl.sum(powers, axis=0), mask=at < columns)


@triton.jit
def matmul(A, B, C, M, N, K, BLOCK: tl.constexpr):
    row, column = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    sums = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, K, BLOCK):
        sums = tl.dot(A.load([row, k]), B.load([k, column]), sums)
    rows, columns = row + tl.arange(0, BLOCK), column + tl.arange(0, BLOCK)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], sums.to(tl.float16), mask=inside)
