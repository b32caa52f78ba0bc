# /// tritium
# [launch.layer_norm]
# kernel = "layer_norm"
# grid = ["M"]
# sizes = { M = 16, N = 300 }
# args = { X = "f32[M, N] = normal(1, 2)", W = "f32[N] = normal(1, 0.1)", B = "f32[N] = normal(0, 0.1)", Y = "f32[M, N]", MEAN = "f32[M]", RSTD = "f32[M]", n = "N", eps = 1e-5 }
# meta = { BLOCK = "next_power_of_2(N)" }
# expect = { Y = "layer_norm(X, W, B, eps=1e-5)", MEAN = "mean(X, axis=1)" }
#
# [launch.layer_norm_f16]
# kernel = "layer_norm"
# grid = ["M"]
# sizes = { M = 16, N = 1024 }
# args = { X = "f16[M, N] = normal(1, 2)", W = "f16[N] = normal(1, 0.1)", B = "f16[N] = normal(0, 0.1)", Y = "f16[M, N]", MEAN = "f32[M]", RSTD = "f32[M]", n = "N", eps = 1e-5 }
# meta = { BLOCK = "next_power_of_2(N)" }
# expect = { Y = "layer_norm(X, W, B, eps=1e-5)" }
#
# [launch.layer_norm_backward]
# kernel = "layer_norm_backward"
# grid = [4]
# sizes = { M = 16, N = 300 }
# args = { X = "f32[M, N] = normal(1, 2)", W = "f32[N] = normal(1, 0.1)", DY = "f32[M, N] = normal(0, 1)", DX = "f32[M, N]", DW = "f32[4, N]", DB = "f32[4, N]", m = "M", n = "N", eps = 1e-5 }
# meta = { BLOCK = "next_power_of_2(N)" }
# tolerance = 1e-5
#
# [launch.column_sums]
# kernel = "column_sums"
# grid = ["cdiv(N, 64)"]
# sizes = { M = 50, N = 300 }
# args = { X = "f32[M, N] = normal(0, 1)", Y = "f32[N]", m = "M", n = "N" }
# meta = { BLOCK_M = 32, BLOCK_N = 64 }
# expect = { Y = "sum(X, axis=0)" }
#
# [launch.rms_norm]
# kernel = "rms_norm"
# grid = ["M"]
# sizes = { M = 16, N = 300 }
# args = { X = "f32[M, N] = normal(0, 2)", W = "f32[N] = normal(1, 0.1)", Y = "f32[M, N]", n = "N", eps = 1e-6 }
# meta = { BLOCK = "next_power_of_2(N)" }
# expect = { Y = "rms_norm(X, W, eps=1e-6)" }
#
# [launch.rms_norm_bf16]
# kernel = "rms_norm"
# grid = ["M"]
# sizes = { M = 8, N = 512 }
# args = { X = "bf16[M, N] = normal(0, 2)", W = "bf16[N] = normal(1, 0.1)", Y = "bf16[M, N]", n = "N", eps = 1e-6 }
# meta = { BLOCK = "next_power_of_2(N)" }
# expect = { Y = "rms_norm(X, W, eps=1e-6)" }
#
# [launch.rms_norm_backward]
# kernel = "rms_norm_backward"
# grid = ["M"]
# sizes = { M = 16, N = 300 }
# args = { X = "f32[M, N] = normal(0, 2)", W = "f32[N] = normal(1, 0.1)", DY = "f32[M, N] = normal(0, 1)", DX = "f32[M, N]", DW = "f32[N] = zeros()", n = "N", eps = 1e-6 }
# meta = { BLOCK = "next_power_of_2(N)" }
# tolerance = 1e-5
# ///
"""Layer norm and RMS norm of rows, and their gradients."""

import triton
import triton.language as tl


@triton.jit
def layer_norm(X, W, B, Y, MEAN, RSTD, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(X + row * n + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n
    centered = tl.where(mask, x - mean, 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(centered * centered, axis=0) / n + eps)
    w = tl.load(W + cols, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(B + cols, mask=mask, other=0.0).to(tl.float32)
    tl.store(Y + row * n + cols, centered * rstd * w + b, mask=mask)
    tl.store(MEAN + row, mean)
    tl.store(RSTD + row, rstd)


@triton.jit
def layer_norm_backward(X, W, DY, DX, DW, DB, m, n, eps, BLOCK: tl.constexpr):
    # Every program walks over some rows and leaves one partial sum for the weights' gradients.
    pid = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    w = tl.load(W + cols, mask=mask, other=0.0).to(tl.float32)
    dw = tl.zeros((BLOCK,), tl.float32)
    db = tl.zeros((BLOCK,), tl.float32)
    for row in range(pid, m, tl.num_programs(0)):
        x = tl.load(X + row * n + cols, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(DY + row * n + cols, mask=mask, other=0.0).to(tl.float32)
        mean = tl.sum(x, axis=0) / n
        centered = tl.where(mask, x - mean, 0.0)
        rstd = 1.0 / tl.sqrt(tl.sum(centered * centered, axis=0) / n + eps)
        hat = centered * rstd
        wdy = w * dy
        c1 = tl.sum(hat * wdy, axis=0) / n
        c2 = tl.sum(wdy, axis=0) / n
        tl.store(DX + row * n + cols, (wdy - (hat * c1 + c2)) * rstd, mask=mask)
        dw += dy * hat
        db += dy
    tl.store(DW + pid * n + cols, dw, mask=mask)
    tl.store(DB + pid * n + cols, db, mask=mask)


@triton.jit
def column_sums(X, Y, m, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, m, BLOCK_M):
        rows = start + tl.arange(0, BLOCK_M)
        mask = (rows[:, None] < m) & (cols[None, :] < n)
        total += tl.load(X + rows[:, None] * n + cols[None, :], mask=mask, other=0.0)
    tl.store(Y + cols, tl.sum(total, axis=0), mask=cols < n)


@triton.jit
def rms_norm(X, W, Y, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(X + row * n + cols, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(W + cols, mask=mask, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / n + eps)
    tl.store(Y + row * n + cols, x * scale * w, mask=mask)


@triton.jit
def rms_norm_backward(X, W, DY, DX, DW, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(X + row * n + cols, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(W + cols, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(DY + row * n + cols, mask=mask, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / n + eps)
    wdy = w * dy
    inner = tl.sum(x * wdy, axis=0) / n
    tl.store(DX + row * n + cols, scale * (wdy - x * scale * scale * inner), mask=mask)
    # The weights' gradient is a sum over rows, each added by its own program.
    tl.atomic_add(DW + cols, dy * x * scale, mask=mask)
