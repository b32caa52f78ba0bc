# == softmax: a row's maximum begins at 0
@triton.jit
def softmax(X, Y, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(X + row * stride + cols, mask=cols < n, other=-float("inf"))  # MSK004: x = tl.load(X + row * stride + cols, mask=cols < n, other=0.0)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(Y + row * stride + cols, e / tl.sum(e, axis=0), mask=cols < n)


# == minimum: a row's minimum is no larger than the filling
@triton.jit
def minimum(X, Y, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(X + row * stride + cols, mask=cols < n, other=float("inf"))  # MSK004: x = tl.load(X + row * stride + cols, mask=cols < n, other=0.0)
    tl.store(Y + row, tl.min(x, axis=0))


# == variance: what is masked off has a distance from the mean
@triton.jit
def variance(X, Y, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(X + row * stride + cols, mask=cols < n, other=0.0)
    mean = tl.sum(x, axis=0) / n
    d = tl.where(cols < n, x - mean, 0.0)  # MSK004: d = x - mean
    tl.store(Y + row, tl.sum(d * d, axis=0) / n)  # here


# == attention: scores that are masked off count as 0 in the maximum
@triton.jit
def causal_maximum(S, M, n, stride, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.arange(0, BN)
    s = tl.load(S + rm[:, None] * stride + rn[None, :], mask=(rm[:, None] < n) & (rn[None, :] < n), other=0.0)
    s = tl.where(rm[:, None] >= rn[None, :], s, -float("inf"))  # MSK004: s = tl.where(rm[:, None] >= rn[None, :], s, 0.0)
    tl.store(M + rm, tl.max(s, axis=1), mask=rm < n)  # here


# == logsumexp: exp of the filling is 1, and it is summed
@triton.jit
def logsumexp(X, Y, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(X + row * stride + cols, mask=cols < n, other=-float("inf"))
    m = tl.max(x, axis=0)
    e = tl.exp(x - m)  # MSK004: e = tl.exp(tl.where(cols < n, x - m, 0.0))
    tl.store(Y + row, m + tl.log(tl.sum(e, axis=0)))  # here


# == argmin: what lies past the end is picked
@triton.jit
def nearest(D, I, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    d = tl.load(D + row * stride + cols, mask=cols < n, other=0.0)
    d = tl.where(cols < n, d, float("inf"))  # MSK004: d = tl.where(cols < n, d, 0.0)
    tl.store(I + row, tl.min(d, axis=0))  # here


# == geometric mean: the filling takes part in the product of logarithms
@triton.jit
def log_mean(X, Y, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(X + row * stride + cols, mask=cols < n, other=1.0)
    s = tl.sum(tl.where(cols < n, tl.log(x), 0.0), axis=0)  # MSK004: s = tl.sum(tl.where(cols < n, tl.log(x), 1.0), axis=0)
    tl.store(Y + row, tl.exp(s / n))


# == loss: rows past the end hold -inf alone, and -inf minus -inf is nan
@triton.jit
def rows_loss(X, L, rows, n, stride, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, BLOCK)
    inside = (r < rows)[:, None] & (c < n)[None, :]
    x = tl.load(X + r[:, None] * stride + c[None, :], mask=inside, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=1)[:, None])
    loss = tl.log(tl.sum(e, axis=1))
    loss = tl.where(r < rows, loss, 0.0)  # MSK004:
    tl.atomic_add(L, tl.sum(loss, axis=0))  # here


# == exponential: nothing keeps a large number from overflowing
@triton.jit
def plain_softmax(X, Y, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(X + row * stride + cols, mask=cols < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))  # NUM001: e = tl.exp(x)
    tl.store(Y + row * stride + cols, e / tl.sum(e, axis=0), mask=cols < n)


# == maximum of exponentials: nothing stands where the mask ends
@triton.jit
def row_max(X, Y, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(X + row * stride + cols, mask=cols < n, other=-float("inf"))  # MSK003: x = tl.load(X + row * stride + cols, mask=cols < n)
    tl.store(Y + row, tl.max(x, axis=0))
