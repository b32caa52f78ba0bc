# == dropout: every program draws the same numbers
@triton.jit
def dropout(X, Y, n, p, seed, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, offs) > p  # NUM002: keep = tl.rand(seed, tl.arange(0, BLOCK)) > p
    x = tl.load(X + offs, mask=offs < n)
    tl.store(Y + offs, tl.where(keep, x / (1 - p), 0.0), mask=offs < n)


# == noise: rows share their noise
@triton.jit
def noise(X, Y, n, stride, seed, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    z = tl.randn(seed, row * BLOCK + cols)  # NUM002: z = tl.randn(seed, cols)
    x = tl.load(X + row * stride + cols, mask=cols < n)
    tl.store(Y + row * stride + cols, x + z, mask=cols < n)


# == box: two numbers that should differ are one
@triton.jit
def points(U, V, n, seed, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    u = tl.rand(seed, offs)
    v = tl.rand(seed + 1, offs)  # NUM002: v = tl.rand(seed, offs)
    tl.store(U + offs, u, mask=offs < n)
    tl.store(V + offs, v, mask=offs < n)


# == attention: every block of keys drops the same places
@triton.jit
def dropped_sums(S, Y, n, seed, p, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    acc = tl.zeros([BM], tl.float32)
    for start in range(0, n, BN):
        rn = start + tl.arange(0, BN)
        s = tl.load(S + rm[:, None] * n + rn[None, :], mask=(rm[:, None] < n) & (rn[None, :] < n), other=0.0)
        keep = tl.rand(seed, rm[:, None] * n + rn[None, :]) > p  # NUM002: keep = tl.rand(seed, rm[:, None] * BN + tl.arange(0, BN)[None, :]) > p
        acc += tl.sum(tl.where(keep, s, 0.0), axis=1)
    tl.store(Y + rm, acc, mask=rm < n)
