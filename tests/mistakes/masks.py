# == scale: the mask is built and the store forgets it
@triton.jit
def scale(X, Y, n, factor, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(X + offs, mask=mask)
    tl.store(Y + offs, x * factor, mask=mask)  # MSK007: tl.store(Y + offs, x * factor)


# == fill: the only mask of the kernel is never used
@triton.jit
def fill(Y, n, value, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offs < n  # here
    tl.store(Y + offs, tl.full([BLOCK], 0.0, tl.float32) + value, mask=inside)  # MSK008: tl.store(Y + offs, tl.full([BLOCK], 0.0, tl.float32) + value)


# == transpose: a mask of both axes is built and never used
@triton.jit
def transpose(X, Y, m, n, stride_x, stride_y, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    tile = tl.load(X + (rm % m)[:, None] * stride_x + (rn % n)[None, :])
    inside = (rm[:, None] < m) & (rn[None, :] < n)  # here
    tl.store(Y + rn[None, :] * stride_y + rm[:, None], tile, mask=inside)  # MSK008: tl.store(Y + rn[None, :] * stride_y + rm[:, None], tile)


# == product: the bounds of the output tile are worked out and dropped
@triton.jit
def product(A, B, C, M, N, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = (tl.program_id(0) * BM + tl.arange(0, BM)) % M
    rn = (tl.program_id(1) * BN + tl.arange(0, BN)) % N
    rk = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(A + rm[:, None] * sa + (k * BK + rk)[None, :], mask=(k * BK + rk)[None, :] < K, other=0.0)
        b = tl.load(B + (k * BK + rk)[:, None] * sb + rn[None, :], mask=(k * BK + rk)[:, None] < K, other=0.0)
        acc = tl.dot(a, b, acc)
    om = tl.program_id(0) * BM + tl.arange(0, BM)
    on = tl.program_id(1) * BN + tl.arange(0, BN)
    c_mask = (om[:, None] < M) & (on[None, :] < N)  # here
    tl.store(C + om[:, None] * sc + on[None, :], acc, mask=c_mask)  # MSK008: tl.store(C + om[:, None] * sc + on[None, :], acc)


# == product: the mask of rows bounds the columns
@triton.jit
def add_rows(X, Y, m, n, stride, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (rm[:, None] < m) & (rn[None, :] < n)  # missed MSK005: mask = (rm[:, None] < n) & (rn[None, :] < m)
    x = tl.load(X + rm[:, None] * stride + rn[None, :], mask=mask, other=0.0)
    tl.store(Y + rm[:, None] * stride + rn[None, :], x + 1.0, mask=mask)


# == convolution: the row above the first is read
@triton.jit
def difference(X, Y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    before = tl.load(X + i - 1, mask=(i > 0) & (i < n), other=0.0)  # MSK011: before = tl.load(X + i - 1)
    tl.store(Y + i, before, mask=i < n)


# == gather: tl.where does not keep the load from running
@triton.jit
def shift(X, Y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(X + i - 1, mask=(i > 0) & (i < n), other=0.0)  # MSK006: v = tl.where(i > 0, tl.load(X + i - 1), 0.0)
    tl.store(Y + i, v, mask=i < n)


# == scatter: rows taken modulo the size are stored through
@triton.jit
def copy_rows(X, Y, m, stride, BM: tl.constexpr, BN: tl.constexpr):
    at = tl.program_id(0) * BM + tl.arange(0, BM)
    rows = at % m
    cols = tl.arange(0, BN)
    x = tl.load(X + rows[:, None] * stride + cols[None, :])
    x += tl.program_id(0)
    tl.store(Y + rows[:, None] * stride + cols[None, :], x, mask=at[:, None] < m)  # MSK009: tl.store(Y + rows[:, None] * stride + cols[None, :], x)
