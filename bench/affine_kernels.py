"""Kernels of one kind of work each, for `bench/counters.py`: what a launch costs follows from its addresses and numbers alone."""

import triton
import triton.language as tl


@triton.jit
def exponentials(OUT, X, n, BLOCK: tl.constexpr, TIMES: tl.constexpr):
    """Special functions, one after the other."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(X + offsets, mask=mask, other=0.0)
    for _ in tl.static_range(TIMES):
        x = tl.exp2(-x)
    tl.store(OUT + offsets, x, mask=mask)


@triton.jit
def polynomial(OUT, X, n, factor, BLOCK: tl.constexpr, DEGREE: tl.constexpr):
    """Fused multiply-adds."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(X + offsets, mask=mask, other=0.0)
    y = x
    for _ in tl.static_range(DEGREE):
        y = y * x + factor
    tl.store(OUT + offsets, y, mask=mask)


@triton.jit
def swiglu(OUT, A, B, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(A + offsets, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(B + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(OUT + offsets, (a / (1.0 + tl.exp(-a)) * b).to(tl.float16), mask=mask)


@triton.jit
def rms_norm(OUT, X, WEIGHT, stride, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(X + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    weight = tl.load(WEIGHT + cols, mask=mask, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / n_cols + eps)
    tl.store(OUT + row * stride + cols, (x * scale * weight).to(tl.float16), mask=mask)


@triton.jit
def column_sums(OUT, X, rows, columns, ROWS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Of every part of `ROWS` rows, side by side."""
    part = tl.program_id(1)
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for first in range(0, ROWS, BLOCK_M):
        lines = part * ROWS + first + tl.arange(0, BLOCK_M)
        mask = (lines[:, None] < rows) & (cols[None, :] < columns)
        sums += tl.load(X + lines[:, None] * columns + cols[None, :], mask=mask, other=0.0)
    tl.store(OUT + part * columns + cols, tl.sum(sums, axis=0), mask=cols < columns)


@triton.jit
def transpose(OUT, X, rows, columns, BLOCK: tl.constexpr):
    lines = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (lines[:, None] < rows) & (cols[None, :] < columns)
    x = tl.load(X + lines[:, None] * columns + cols[None, :], mask=inside, other=0.0)
    turned = (cols[:, None] < columns) & (lines[None, :] < rows)
    tl.store(OUT + cols[:, None] * rows + lines[None, :], tl.trans(x), mask=turned)


@triton.jit
def matrix_vector(OUT, A, X, rows, columns, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    lines = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for first in range(0, columns, BLOCK_N):
        cols = first + tl.arange(0, BLOCK_N)
        a = tl.load(A + lines[:, None] * columns + cols[None, :])
        x = tl.load(X + cols)
        sums += a * x[None, :]
    tl.store(OUT + lines, tl.sum(sums, axis=1), mask=lines < rows)


@triton.jit
def log_sum_exp(OUT, X, stride, columns, BLOCK: tl.constexpr):
    """Of every row, in one pass over it."""
    row = tl.program_id(0)
    highest = tl.full((BLOCK,), -1e30, dtype=tl.float32)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for first in range(0, columns, BLOCK):
        x = tl.load(X + row * stride + first + tl.arange(0, BLOCK))
        new = tl.maximum(highest, x)
        total = total * tl.exp(highest - new) + tl.exp(x - new)
        highest = new
    most = tl.max(highest, axis=0)
    tl.store(OUT + row, most + tl.log(tl.sum(total * tl.exp(highest - most), axis=0)))


@triton.jit
def wide_softmax(OUT, X, stride, columns, BLOCK: tl.constexpr):
    """Rows that do not fit registers: read twice."""
    row = tl.program_id(0)
    highest = tl.full((BLOCK,), -1e30, dtype=tl.float32)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for first in range(0, columns, BLOCK):
        x = tl.load(X + row * stride + first + tl.arange(0, BLOCK))
        new = tl.maximum(highest, x)
        total = total * tl.exp(highest - new) + tl.exp(x - new)
        highest = new
    most = tl.max(highest, axis=0)
    factor = 1.0 / tl.sum(total * tl.exp(highest - most), axis=0)
    for first in range(0, columns, BLOCK):
        x = tl.load(X + row * stride + first + tl.arange(0, BLOCK))
        tl.store(OUT + row * stride + first + tl.arange(0, BLOCK), tl.exp(x - most) * factor)
