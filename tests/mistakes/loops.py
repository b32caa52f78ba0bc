# == product: the last trip's product is all that is left
@triton.jit
def matmul(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros([BM, BN], tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        a = tl.load(A + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        b = tl.load(B + rk[:, None] * N + rn[None, :], mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)  # CTL014: acc = tl.dot(a, b)
    tl.store(C + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


# == sums: what was summed before is forgotten on every trip
@triton.jit
def row_sums(X, Y, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        total += tl.load(X + row * stride + cols, mask=cols < n, other=0.0)  # CTL014: total = tl.load(X + row * stride + cols, mask=cols < n, other=0.0)
    tl.store(Y + row, tl.sum(total, axis=0))


# == maximum: the running maximum is that of the last block
@triton.jit
def row_maximum(X, Y, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    best = -float("inf")
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(X + row * stride + cols, mask=cols < n, other=-float("inf"))
        best = tl.maximum(best, tl.max(x, axis=0))  # CTL014: best = tl.max(x, axis=0)
    tl.store(Y + row, best)


# == copy: the loop advances by another size than the tile's
@triton.jit
def long_copy(X, Y, n, BLOCK: tl.constexpr):
    for start in range(0, n, 256):
        cols = start + tl.arange(0, 256)  # SHP011: cols = start + tl.arange(0, 512)
        x = tl.load(X + cols, mask=cols < n)  # here
        tl.store(Y + cols, x * BLOCK, mask=cols < n)


# == product: pointers do not advance with the trip
@triton.jit
def dot_rows(A, B, C, K, BM: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rk = tl.arange(0, BK)
    a_ptrs = A + rm[:, None] * K + rk[None, :]
    b_ptrs = B + rk
    acc = tl.zeros([BM], tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptrs, mask=(k + rk)[None, :] < K, other=0.0)
        b = tl.load(b_ptrs, mask=k + rk < K, other=0.0)  # here
        acc += tl.sum(a * b[None, :], axis=1)
        a_ptrs += BK
        b_ptrs += BK  # MSK010:
    tl.store(C + rm, acc)


# == countdown: a loop that never runs
@triton.jit
def backwards(X, Y, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], tl.float32)
    for i in range(n - 1, -1, -1):  # CTL008: for i in range(n - 1, -1, 0 - tl.num_programs(1)):
        acc = acc * 0.5 + tl.load(X + i * BLOCK + cols)
    tl.store(Y + tl.program_id(0) * BLOCK + cols, acc)
