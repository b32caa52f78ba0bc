# == square: nothing masks the last block
@triton.jit
def square(X, Y, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + offs, mask=offs < n)  # MSK012: x = tl.load(X + offs)
    tl.store(Y + offs, x * x, mask=offs < n)


x = torch.randn(1000, device="cuda")
y = torch.empty_like(x)
square[(triton.cdiv(1000, 256),)](x, y, 1000, BLOCK=256)


# == rows: the columns of the last row reach into nothing
@triton.jit
def double_rows(X, Y, n, stride, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    x = tl.load(X + row * stride + cols, mask=cols < n, other=0.0)
    tl.store(Y + row * stride + cols, x * 2.0, mask=cols < n)  # MSK012: tl.store(Y + row * stride + cols, x * 2.0, mask=cols <= n)


x = torch.randn(64, 100, device="cuda")
y = torch.empty_like(x)
double_rows[(64,)](x, y, 100, x.stride(0), BLOCK=128)


# == product: rows and columns of the output are swapped
@triton.jit
def outer(A, B, C, m, n, stride, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    a = tl.load(A + rm, mask=rm < m, other=0.0)  # here
    b = tl.load(B + rn, mask=rn < n, other=0.0)
    c_mask = (rm[:, None] < m) & (rn[None, :] < n)
    tl.store(C + rm[:, None] * stride + rn[None, :], a[:, None] * b[None, :], mask=c_mask)


a = torch.randn(96, device="cuda")
b = torch.randn(200, device="cuda")
c = torch.empty(96, 200, device="cuda")
outer[(triton.cdiv(96, 32), triton.cdiv(200, 32))](a, b, c, 96, 200, c.stride(0), BM=32, BN=32)  # MSK012: outer[(triton.cdiv(200, 32), triton.cdiv(96, 32))](a, b, c, 200, 96, c.stride(0), BM=32, BN=32)


# == transpose: the stride of the input addresses the output
@triton.jit
def transpose(X, Y, m, n, stride_x, stride_y, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (rm[:, None] < m) & (rn[None, :] < n)
    t = tl.load(X + rm[:, None] * stride_x + rn[None, :], mask=mask)
    tl.store(Y + rn[None, :] * stride_y + rm[:, None], t, mask=mask)  # here


x = torch.randn(50, 300, device="cuda")
y = torch.empty(300, 50, device="cuda")
transpose[(2, 10)](x, y, 50, 300, x.stride(0), y.stride(0), BM=32, BN=32)  # MSK012: transpose[(2, 10)](x, y, 50, 300, x.stride(0), x.stride(0), BM=32, BN=32)


# == histogram: a bin too many
@triton.jit
def count(X, H, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(H + i, tl.load(X + i, mask=i < n, other=0.0), mask=i < n)  # MSK012: tl.atomic_add(H + i + 1, tl.load(X + i, mask=i < n, other=0.0), mask=i < n)


x = torch.randn(640, device="cuda")
h = torch.zeros(640, device="cuda")
count[(10,)](x, h, 640, BLOCK=64)


# == stencil: the neighbour of the last is nobody's
@triton.jit
def smooth(X, Y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(X + i, mask=i < n, other=0.0)
    b = tl.load(X + i + 1, mask=i + 1 < n, other=0.0)  # MSK012: b = tl.load(X + i + 1, mask=i < n, other=0.0)
    tl.store(Y + i, 0.5 * (a + b), mask=i < n)


x = torch.randn(500, device="cuda")
y = torch.empty_like(x)
smooth[(4,)](x, y, 500, BLOCK=128)


# == copy: the grid is rounded down
@triton.jit
def copy(X, Y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + i, tl.load(X + i, mask=i < n), mask=i < n)  # here


x = torch.randn(1000, device="cuda")
y = torch.empty(1000, device="cuda")
copy[(triton.cdiv(1000, 128),)](x, y, 1000, BLOCK=128)  # LCH013: copy[(1000 // 128,)](x, y, 1000, BLOCK=128)


# == norm: only the first rows get a program
@triton.jit
def rms(X, Y, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(X + row * stride + cols, mask=cols < n, other=0.0)
    r = tl.rsqrt(tl.sum(x * x, axis=0) / n + 1e-6)
    tl.store(Y + row * stride + cols, x * r, mask=cols < n)  # here


x = torch.randn(32, 120, device="cuda")
y = torch.empty(32, 120, device="cuda")
rms[(x.shape[0],)](x, y, 120, x.stride(0), BLOCK=128)  # LCH013: rms[(x.shape[0] // 2,)](x, y, 120, x.stride(0), BLOCK=128)


# == embedding: the batch is missing in the address
@triton.jit
def gather_rows(X, Y, rows, n, BLOCK: tl.constexpr):
    b = tl.program_id(1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + b * n + i, mask=i < n)
    tl.store(Y + (b * rows + tl.program_id(2)) * n + i, x, mask=i < n)  # here


x = torch.randn(4, 256, device="cuda")
y = torch.empty(4, 3, 256, device="cuda")
gather_rows[(2, 4, 3)](x, y, 3, 256, BLOCK=128)  # LCH013: gather_rows[(2, 4)](x, y, 3, 256, BLOCK=128)


# == offsets: 32 bits do not reach the last row
@triton.jit
def big_rows(X, Y, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)  # DTY012: row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(X + row * stride + cols, mask=cols < n)  # here
    tl.store(Y + row * n + cols, x, mask=cols < n)


x = torch.empty(70000, 65536, device="cuda", dtype=torch.float16)
y = torch.empty(70000, 128, device="cuda", dtype=torch.float16)
big_rows[(70000,)](x, y, 128, x.stride(0), BLOCK=128)


# == sum: the output is a row too short
@triton.jit
def sums(X, Y, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(X + row * stride + cols, mask=cols < n, other=0.0)
    tl.store(Y + row, tl.sum(x, axis=0))  # here


x = torch.randn(48, 100, device="cuda")
y = torch.empty(48, device="cuda")  # MSK012: y = torch.empty(47, device="cuda")
sums[(48,)](x, y, 100, x.stride(0), BLOCK=128)


# == attention: the heads' stride is that of the rows
@triton.jit
def scale_heads(Q, Y, n, stride_h, stride_n, D: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    at = tl.program_id(1) * stride_h + rows[:, None] * stride_n + d[None, :]
    q = tl.load(Q + at, mask=rows[:, None] < n)  # here
    tl.store(Y + at, q * 0.125, mask=rows[:, None] < n)


q = torch.randn(8, 100, 64, device="cuda")
y = torch.empty_like(q)
scale_heads[(4, 8)](q, y, 100, q.stride(0), q.stride(1), D=64, BLOCK=32)  # MSK012: scale_heads[(4, 8)](q, y, 100, q.stride(1), q.stride(0), D=64, BLOCK=32)


# == loops: the last trip goes past the end
@triton.jit
def long_rows(X, Y, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        acc += tl.load(X + row * stride + cols, mask=cols < n, other=0.0)  # MSK012: acc += tl.load(X + row * stride + cols)
    tl.store(Y + row, tl.sum(acc, axis=0))


x = torch.randn(16, 1000, device="cuda")
y = torch.empty(16, device="cuda")
long_rows[(16,)](x, y, 1000, x.stride(0), BLOCK=256)
