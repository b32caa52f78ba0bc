# /// tritium
# [launch.rotary]
# kernel = "rotary"
# grid = ["T", "H"]
# sizes = { T = 20, H = 3, D = 32 }
# args = { X = "f32[T, H, D] = normal(0, 1)", COS = "f32[T, D // 2] = uniform(-1, 1)", SIN = "f32[T, D // 2] = uniform(-1, 1)", Y = "f32[T, H, D]", heads = "H" }
# meta = { HALF = "D // 2", BACKWARD = false }
#
# [launch.rotary_backward_f16]
# kernel = "rotary"
# grid = ["T", "H"]
# sizes = { T = 20, H = 2, D = 64 }
# args = { X = "f16[T, H, D] = normal(0, 1)", COS = "f32[T, D // 2] = uniform(-1, 1)", SIN = "f32[T, D // 2] = uniform(-1, 1)", Y = "f16[T, H, D]", heads = "H" }
# meta = { HALF = "D // 2", BACKWARD = true }
#
# [launch.topk]
# kernel = "topk"
# grid = ["M"]
# sizes = { M = 6, N = 100, K = 8 }
# args = { X = "f32[M, N] = normal(0, 1)", Y = "f32[M, K]", I = "i32[M, K]", n = "N" }
# meta = { BLOCK = "next_power_of_2(N)", K = "K" }
#
# [launch.prefix_sum]
# kernel = "prefix_sum"
# grid = ["M"]
# sizes = { M = 5, N = 1000 }
# args = { X = "f32[M, N] = normal(0, 1)", Y = "f32[M, N]", n = "N" }
# meta = { BLOCK = 256 }
#
# [launch.histogram]
# kernel = "histogram"
# grid = ["cdiv(N, 512)"]
# sizes = { N = 3000 }
# args = { X = "i32[N] = randint(0, 64)", COUNTS = "i32[64] = zeros()", n = "N" }
# meta = { BLOCK = 512, BINS = 64 }
#
# [launch.embedding]
# kernel = "embedding"
# grid = ["T"]
# sizes = { T = 50, E = 20, D = 100 }
# args = { TABLE = "f16[E, D] = normal(0, 1)", IDS = "i64[T] = randint(0, 20)", Y = "f16[T, D]", d = "D" }
# meta = { BLOCK = "next_power_of_2(D)" }
#
# [launch.embedding_backward]
# kernel = "embedding_backward"
# grid = ["T"]
# sizes = { T = 50, E = 20, D = 100 }
# args = { DY = "f32[T, D] = normal(0, 1)", IDS = "i64[T] = randint(0, 20)", DTABLE = "f32[E, D] = zeros()", d = "D" }
# meta = { BLOCK = "next_power_of_2(D)" }
# tolerance = 1e-6
#
# [launch.selective_scan]
# kernel = "selective_scan"
# grid = ["cdiv(D, 16)", "B"]
# sizes = { B = 2, T = 30, D = 32, S = 8 }
# args = { U = "f32[B, T, D] = normal(0, 1)", DELTA = "f32[B, T, D] = normal(0, 1)", A = "f32[D, S] = uniform(-1, -0.1)", BT = "f32[B, T, S] = normal(0, 1)", CT = "f32[B, T, S] = normal(0, 1)", SKIP = "f32[D] = normal(0, 1)", Y = "f32[B, T, D]", LAST = "f32[B, D, S]", length = "T", d = "D" }
# meta = { S = "S", BLOCK_D = 16 }
# tolerance = 1e-5
#
# [launch.chunked_scan]
# kernel = "chunked_scan"
# grid = ["D"]
# sizes = { T = 200, D = 4 }
# args = { A = "f32[D, T] = uniform(0.5, 1)", X = "f32[D, T] = normal(0, 1)", Y = "f32[D, T]", length = "T" }
# meta = { BLOCK = 64 }
# tolerance = 1e-5
# ///
"""Kernels along a sequence: rotary embedding, top-k, prefix sums, histogram, embedding tables, and scans of a state space."""

import triton
import triton.language as tl


@triton.jit
def rotary(X, COS, SIN, Y, heads, HALF: tl.constexpr, BACKWARD: tl.constexpr):
    t = tl.program_id(0)
    row = (t * heads + tl.program_id(1)) * 2 * HALF
    i = tl.arange(0, HALF)
    cos, sin = tl.load(COS + t * HALF + i), tl.load(SIN + t * HALF + i)
    if BACKWARD:
        sin = -sin
    a, b = tl.load(X + row + i).to(tl.float32), tl.load(X + row + HALF + i).to(tl.float32)
    tl.store(Y + row + i, a * cos - b * sin)
    tl.store(Y + row + HALF + i, b * cos + a * sin)


@triton.jit
def topk(X, Y, I, n, BLOCK: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(X + row * n + cols, mask=cols < n, other=float("-inf"))
    # A float's bits, turned so that they are ordered as unsigned numbers, with the place below them: one sort of integers finds both.
    bits = x.to(tl.int32, bitcast=True)
    order = (bits ^ ((bits >> 31) | -0x7FFFFFFF - 1)).to(tl.uint32, bitcast=True)
    packed = (order.to(tl.uint64) << 32) | (BLOCK - 1 - cols).to(tl.uint64)
    best = tl.topk(packed, K)
    at = BLOCK - 1 - (best & 0xFFFFFFFF).to(tl.int32)
    tl.store(Y + row * K + tl.arange(0, K), tl.gather(x, at, 0))
    tl.store(I + row * K + tl.arange(0, K), at)


@triton.jit
def prefix_sum(X, Y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) * n
    carry = 0.0
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(X + row + i, mask=i < n, other=0.0)
        tl.store(Y + row + i, tl.cumsum(x, axis=0) + carry, mask=i < n)
        carry += tl.sum(x, axis=0)


@triton.jit
def histogram(X, COUNTS, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i, mask=i < n, other=0)
    tl.atomic_add(COUNTS + tl.arange(0, BINS), tl.histogram(x, BINS, mask=i < n), sem="relaxed")


@triton.jit
def embedding(TABLE, IDS, Y, d, BLOCK: tl.constexpr):
    t = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    row = tl.load(IDS + t)
    tl.store(Y + t * d + cols, tl.load(TABLE + row * d + cols, mask=cols < d), mask=cols < d)


@triton.jit
def embedding_backward(DY, IDS, DTABLE, d, BLOCK: tl.constexpr):
    t = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    row = tl.load(IDS + t)
    tl.atomic_add(DTABLE + row * d + cols, tl.load(DY + t * d + cols, mask=cols < d), mask=cols < d)


@triton.jit
def softplus(x):
    return tl.where(x > 20.0, x, tl.log(1.0 + tl.exp(x)))


@triton.jit
def selective_scan(U, DELTA, A, BT, CT, SKIP, Y, LAST, length, d, S: tl.constexpr, BLOCK_D: tl.constexpr):
    # The state, one row a channel, is carried from step to step.
    b = tl.program_id(1)
    rd, rs = tl.program_id(0) * BLOCK_D + tl.arange(0, BLOCK_D), tl.arange(0, S)
    a = tl.load(A + rd[:, None] * S + rs[None, :])
    skip = tl.load(SKIP + rd)
    h = tl.zeros((BLOCK_D, S), tl.float32)
    for t in range(length):
        step = b * length + t
        u = tl.load(U + step * d + rd)
        delta = softplus(tl.load(DELTA + step * d + rd))
        into, out = tl.load(BT + step * S + rs), tl.load(CT + step * S + rs)
        h = tl.exp(delta[:, None] * a) * h + (delta * u)[:, None] * into[None, :]
        tl.store(Y + step * d + rd, tl.sum(h * out[None, :], axis=1) + skip * u)
    tl.store(LAST + (b * d + rd)[:, None] * S + rs[None, :], h)


@triton.jit
def follow(a1, x1, a2, x2):
    return a1 * a2, x1 * a2 + x2


@triton.jit
def chunked_scan(A, X, Y, length, BLOCK: tl.constexpr):
    # y[t] = a[t] * y[t - 1] + x[t], a chunk at a time.
    row = tl.program_id(0) * length
    carry = 0.0
    for start in range(0, length, BLOCK):
        i = start + tl.arange(0, BLOCK)
        a = tl.load(A + row + i, mask=i < length, other=1.0)
        x = tl.load(X + row + i, mask=i < length, other=0.0)
        decay, y = tl.associative_scan((a, x), 0, follow)
        y += decay * carry
        tl.store(Y + row + i, y, mask=i < length)
        carry = tl.sum(tl.where(tl.arange(0, BLOCK) == BLOCK - 1, y, 0.0), axis=0)
