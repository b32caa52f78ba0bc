# == norm: the sums of all programs land on one element
@triton.jit
def squares(X, Y, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + offs, mask=offs < n, other=0.0)
    tl.store(Y + pid, tl.sum(x * x, axis=0))  # RAC001: tl.store(Y, tl.sum(x * x, axis=0))


# == reduction: a sum over the grid without an atomic
@triton.jit
def column_sums(X, Y, m, n, stride, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.arange(0, BN)
    x = tl.load(X + rm[:, None] * stride + rn[None, :], mask=(rm[:, None] < m) & (rn[None, :] < n), other=0.0)
    tl.atomic_add(Y + rn, tl.sum(x, axis=0), mask=rn < n)  # RAC001: tl.store(Y + rn, tl.sum(x, axis=0), mask=rn < n)


# == add: the program's number is not scaled by the tile
@triton.jit
def add(X, Y, Z, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)  # RAC002: offs = tl.program_id(0) + tl.arange(0, BLOCK)
    mask = offs < n
    z = tl.load(X + offs, mask=mask) + tl.load(Y + offs, mask=mask)
    tl.store(Z + offs, z, mask=mask)  # here


# == cast: programs advance by half of what they take
@triton.jit
def cast(X, Y, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)  # RAC002: offs = tl.program_id(0) * BLOCK + tl.arange(0, 2 * BLOCK)
    tl.store(Y + offs, tl.load(X + offs, mask=offs < n).to(tl.float16), mask=offs < n)  # here


# == rows: tiles of rows overlap
@triton.jit
def scale_rows(X, W, Y, m, n, stride, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)  # RAC002: rm = tl.program_id(0) + tl.arange(0, BM)
    rn = tl.arange(0, BN)
    mask = (rm[:, None] < m) & (rn[None, :] < n)
    x = tl.load(X + rm[:, None] * stride + rn[None, :], mask=mask, other=0.0)
    tl.store(Y + rm[:, None] * stride + rn[None, :], x * tl.load(W), mask=mask)  # here


# == product: the second axis of the grid is taken for both
@triton.jit
def outer(A, B, C, m, n, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)  # missed LCH007: rn = tl.program_id(0) * BN + tl.arange(0, BN)
    a = tl.load(A + rm, mask=rm < m, other=0.0)
    b = tl.load(B + rn, mask=rn < n, other=0.0)
    tl.store(C + rm[:, None] * n + rn[None, :], a[:, None] * b[None, :], mask=(rm[:, None] < m) & (rn[None, :] < n))


def run_outer(a, b, c):
    grid = (triton.cdiv(a.shape[0], 32), triton.cdiv(b.shape[0], 32))
    outer[grid](a, b, c, a.shape[0], b.shape[0], BM=32, BN=32)  # here


# == batch: the batch stands on an axis that the grid does not have
@triton.jit
def batched_scale(X, Y, n, stride, BLOCK: tl.constexpr):
    batch = tl.program_id(1)  # here
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + batch * stride + offs, mask=offs < n)
    tl.store(Y + batch * stride + offs, x * 2.0, mask=offs < n)


def run_batched_scale(x, y):
    batches, n = x.shape
    grid = (triton.cdiv(n, 128), batches)  # missed LCH006: grid = (triton.cdiv(n, 128),)
    batched_scale[grid](x, y, n, x.stride(0), BLOCK=128)


# == heads: a grid of three axes lost one
@triton.jit
def rotate(Q, COS, n, stride_b, stride_h, BLOCK: tl.constexpr):
    b, h = tl.program_id(1), tl.program_id(2)  # here
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    q = tl.load(Q + b * stride_b + h * stride_h + offs, mask=offs < n, other=0.0)
    c = tl.load(COS + offs, mask=offs < n, other=1.0)
    tl.store(Q + b * stride_b + h * stride_h + offs, q * c, mask=offs < n)


def run_rotate(q, cos):
    b, h, n = q.shape
    rotate[lambda meta: (triton.cdiv(n, meta["BLOCK"]), b, h)](q, cos, n, q.stride(0), q.stride(1), BLOCK=128)  # missed LCH006: rotate[lambda meta: (triton.cdiv(n, meta["BLOCK"]), b)](q, cos, n, q.stride(0), q.stride(1), BLOCK=128)


# == maximum: every row's maximum lands on the first element
@triton.jit
def maxima(X, Y, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(X + row * stride + cols, mask=cols < n, other=-float("inf"))
    tl.store(Y + row, tl.max(x, axis=0))  # RAC001: tl.store(Y, tl.max(x, axis=0))


# == accumulate: the tuner's trials add up in the output
@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"], reset_to_zero=["Y"])  # TUN003: @triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def add_up(X, Y, n, BLOCK: tl.constexpr):  # here
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(Y + i % 64, tl.load(X + i, mask=i < n, other=0.0), mask=i < n)
