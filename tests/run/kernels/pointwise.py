# /// tritium
# [launch.add]
# kernel = "add"
# grid = ["cdiv(N, 256)"]
# sizes = { N = 1000 }
# args = { X = "f32[N] = normal(0, 1)", Y = "f32[N] = normal(0, 1)", OUT = "f32[N]", n = "N" }
# meta = { BLOCK = 256 }
# expect = { OUT = "X + Y" }
#
# [launch.add_f16]
# kernel = "add"
# grid = ["cdiv(N, 1024)"]
# sizes = { N = 4096 }
# args = { X = "f16[N] = normal(0, 1)", Y = "f16[N] = normal(0, 1)", OUT = "f16[N]", n = "N" }
# meta = { BLOCK = 1024 }
# expect = { OUT = "X + Y" }
#
# [launch.gelu]
# kernel = "gelu"
# grid = ["cdiv(N, 256)"]
# sizes = { N = 1000 }
# args = { X = "f32[N] = normal(0, 2)", Y = "f32[N]", n = "N" }
# meta = { BLOCK = 256 }
# expect = { Y = "gelu(X)" }
#
# [launch.gelu_bf16]
# kernel = "gelu"
# grid = ["cdiv(N, 256)"]
# sizes = { N = 2048 }
# args = { X = "bf16[N] = normal(0, 2)", Y = "bf16[N]", n = "N" }
# meta = { BLOCK = 256 }
# expect = { Y = "gelu(X)" }
#
# [launch.gelu_backward]
# kernel = "gelu_backward"
# grid = ["cdiv(N, 256)"]
# sizes = { N = 1000 }
# args = { X = "f32[N] = normal(0, 2)", DY = "f32[N] = normal(0, 1)", DX = "f32[N]", n = "N" }
# meta = { BLOCK = 256 }
# expect = { DX = "DY * (0.5 * (1 + erf(X / sqrt(2))) + X * exp(-0.5 * X * X) / sqrt(2 * 3.141592653589793))" }
#
# [launch.swiglu]
# kernel = "swiglu"
# grid = ["M"]
# sizes = { M = 24, N = 200 }
# args = { GATE = "f32[M, N] = normal(0, 2)", UP = "f32[M, N] = normal(0, 1)", OUT = "f32[M, N]", n = "N" }
# meta = { BLOCK = "next_power_of_2(N)" }
# expect = { OUT = "silu(GATE) * UP" }
#
# [launch.swiglu_f16]
# kernel = "swiglu"
# grid = ["M"]
# sizes = { M = 8, N = 512 }
# args = { GATE = "f16[M, N] = normal(0, 2)", UP = "f16[M, N] = normal(0, 1)", OUT = "f16[M, N]", n = "N" }
# meta = { BLOCK = "next_power_of_2(N)" }
# expect = { OUT = "silu(GATE) * UP" }
#
# [launch.swiglu_backward]
# kernel = "swiglu_backward"
# grid = ["M"]
# sizes = { M = 24, N = 200 }
# args = { GATE = "f32[M, N] = normal(0, 2)", UP = "f32[M, N] = normal(0, 1)", DOUT = "f32[M, N] = normal(0, 1)", DGATE = "f32[M, N]", DUP = "f32[M, N]", n = "N" }
# meta = { BLOCK = "next_power_of_2(N)" }
# expect = { DUP = "DOUT * silu(GATE)", DGATE = "DOUT * UP * sigmoid(GATE) * (1 + GATE * (1 - sigmoid(GATE)))" }
#
# [launch.dropout]
# kernel = "dropout"
# grid = ["cdiv(N, 256)"]
# sizes = { N = 1000 }
# args = { X = "f32[N] = normal(0, 1)", Y = "f32[N]", n = "N", p = 0.3, seed = 1234 }
# meta = { BLOCK = 256 }
# ///
"""Elementwise kernels: add, GELU, SwiGLU and dropout, with the gradients of those that have one."""

import triton
import triton.language as tl


@triton.jit
def add(X, Y, OUT, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(X + i, mask=mask)
    y = tl.load(Y + i, mask=mask)
    tl.store(OUT + i, x + y, mask=mask)


@triton.jit
def gelu(X, Y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i, mask=i < n, other=0.0).to(tl.float32)
    y = 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    tl.store(Y + i, y, mask=i < n)


@triton.jit
def gelu_backward(X, DY, DX, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i, mask=i < n, other=0.0).to(tl.float32)
    dy = tl.load(DY + i, mask=i < n, other=0.0).to(tl.float32)
    cdf = 0.5 * (1.0 + tl.erf(x * 0.7071067811865476))
    pdf = 0.3989422804014327 * tl.exp(-0.5 * x * x)
    tl.store(DX + i, dy * (cdf + x * pdf), mask=i < n)


@triton.jit
def silu(x):
    return x * tl.sigmoid(x)


@triton.jit
def swiglu(GATE, UP, OUT, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    gate = tl.load(GATE + row + cols, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(UP + row + cols, mask=mask, other=0.0).to(tl.float32)
    tl.store(OUT + row + cols, silu(gate) * up, mask=mask)


@triton.jit
def swiglu_backward(GATE, UP, DOUT, DGATE, DUP, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    gate = tl.load(GATE + row + cols, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(UP + row + cols, mask=mask, other=0.0).to(tl.float32)
    dout = tl.load(DOUT + row + cols, mask=mask, other=0.0).to(tl.float32)
    sigmoid = tl.sigmoid(gate)
    tl.store(DUP + row + cols, dout * gate * sigmoid, mask=mask)
    tl.store(DGATE + row + cols, dout * up * sigmoid * (1.0 + gate * (1.0 - sigmoid)), mask=mask)


@triton.jit
def dropout(X, Y, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i, mask=i < n, other=0.0)
    keep = tl.rand(seed, i) > p
    tl.store(Y + i, tl.where(keep, x / (1.0 - p), 0.0), mask=i < n)
