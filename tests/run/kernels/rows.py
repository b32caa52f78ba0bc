# /// tritium
# [launch.softmax]
# kernel = "softmax"
# grid = ["M"]
# sizes = { M = 20, N = 300 }
# args = { X = "f32[M, N] = normal(0, 3)", Y = "f32[M, N]", n = "N" }
# meta = { BLOCK = "next_power_of_2(N)" }
# expect = { Y = "softmax(X, axis=1)" }
#
# [launch.softmax_f16]
# kernel = "softmax"
# grid = ["M"]
# sizes = { M = 8, N = 1024 }
# args = { X = "f16[M, N] = normal(0, 3)", Y = "f16[M, N]", n = "N" }
# meta = { BLOCK = "next_power_of_2(N)" }
# num_warps = 8
# expect = { Y = "softmax(X, axis=1)" }
#
# [launch.softmax_online]
# kernel = "softmax_online"
# grid = ["M"]
# sizes = { M = 10, N = 1000 }
# args = { X = "f32[M, N] = normal(0, 3)", Y = "f32[M, N]", n = "N" }
# meta = { BLOCK = 128 }
# expect = { Y = "softmax(X, axis=1)" }
#
# [launch.softmax_backward]
# kernel = "softmax_backward"
# grid = ["M"]
# sizes = { M = 20, N = 300 }
# args = { Y = "f32[M, N] = uniform(0, 0.02)", DY = "f32[M, N] = normal(0, 1)", DX = "f32[M, N]", n = "N" }
# meta = { BLOCK = "next_power_of_2(N)" }
# expect = { DX = "Y * (DY - sum(Y * DY, axis=1, keepdims=True))" }
#
# [launch.cross_entropy]
# kernel = "cross_entropy"
# grid = ["M"]
# sizes = { M = 16, N = 500 }
# args = { X = "f32[M, N] = normal(0, 2)", TARGET = "i64[M] = randint(-1, 500)", LOSS = "f32[M]", DX = "f32[M, N]", n = "N", smoothing = 0.1, ignored = -1 }
# meta = { BLOCK = 128 }
#
# [launch.cross_entropy_bf16]
# kernel = "cross_entropy"
# grid = ["M"]
# sizes = { M = 16, N = 256 }
# args = { X = "bf16[M, N] = normal(0, 2)", TARGET = "i64[M] = randint(-1, 256)", LOSS = "f32[M]", DX = "bf16[M, N]", n = "N", smoothing = 0.0, ignored = -1 }
# meta = { BLOCK = 256 }
# tolerance = 0.01
#
# [launch.log_softmax]
# kernel = "log_softmax"
# grid = ["M"]
# sizes = { M = 20, N = 300 }
# args = { X = "f32[M, N] = normal(0, 3)", Y = "f32[M, N]", n = "N" }
# meta = { BLOCK = "next_power_of_2(N)" }
# expect = { Y = "log_softmax(X, axis=1)" }
# ///
"""Softmax of rows (in one piece, and online over pieces of a row), its gradient, log-softmax, and cross entropy with its gradient."""

import triton
import triton.language as tl


@triton.jit
def softmax(X, Y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) * n
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(X + row + cols, mask=mask, other=float("-inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(Y + row + cols, e / tl.sum(e, axis=0), mask=mask)


@triton.jit
def softmax_online(X, Y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) * n
    cols = tl.arange(0, BLOCK)
    high = tl.full((BLOCK,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        x = tl.load(X + row + start + cols, mask=start + cols < n, other=float("-inf"))
        higher = tl.maximum(high, x)
        # A lane that has seen nothing yet has no maximum to subtract.
        scale = tl.where(higher == float("-inf"), 0.0, tl.exp(high - higher))
        total = total * scale + tl.where(x == float("-inf"), 0.0, tl.exp(x - higher))
        high = higher
    top = tl.max(high, axis=0)
    norm = tl.sum(total * tl.exp(high - top), axis=0)
    for start in range(0, n, BLOCK):
        x = tl.load(X + row + start + cols, mask=start + cols < n, other=float("-inf"))
        tl.store(Y + row + start + cols, tl.exp(x - top) / norm, mask=start + cols < n)


@triton.jit
def softmax_backward(Y, DY, DX, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) * n
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    y = tl.load(Y + row + cols, mask=mask, other=0.0)
    dy = tl.load(DY + row + cols, mask=mask, other=0.0)
    tl.store(DX + row + cols, y * (dy - tl.sum(y * dy, axis=0)), mask=mask)


@triton.jit
def log_softmax(X, Y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) * n
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(X + row + cols, mask=mask, other=float("-inf")).to(tl.float32)
    shifted = x - tl.max(x, axis=0)
    tl.store(Y + row + cols, shifted - tl.log(tl.sum(tl.exp(shifted), axis=0)), mask=mask)


@triton.jit
def cross_entropy(X, TARGET, LOSS, DX, n, smoothing, ignored, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    X += row.to(tl.int64) * n
    DX += row.to(tl.int64) * n
    target = tl.load(TARGET + row)
    cols = tl.arange(0, BLOCK)
    if target == ignored:
        tl.store(LOSS + row, 0.0)
        for start in range(0, n, BLOCK):
            tl.store(DX + start + cols, 0.0, mask=start + cols < n)
        return
    high = float("-inf")
    total = 0.0
    plain = 0.0
    for start in range(0, n, BLOCK):
        x = tl.load(X + start + cols, mask=start + cols < n, other=float("-inf")).to(tl.float32)
        higher = tl.maximum(high, tl.max(x, axis=0))
        total = total * tl.exp(high - higher) + tl.sum(tl.exp(x - higher), axis=0)
        plain += tl.sum(tl.where(start + cols < n, x, 0.0), axis=0)
        high = higher
    lse = high + tl.log(total)
    right = tl.load(X + target).to(tl.float32)
    each = smoothing / n
    tl.store(LOSS + row, (1.0 - smoothing) * (lse - right) + each * (n * lse - plain))
    for start in range(0, n, BLOCK):
        mask = start + cols < n
        x = tl.load(X + start + cols, mask=mask, other=float("-inf")).to(tl.float32)
        wanted = each + tl.where(start + cols == target, 1.0 - smoothing, 0.0)
        tl.store(DX + start + cols, tl.exp(x - lse) - wanted, mask=mask)
