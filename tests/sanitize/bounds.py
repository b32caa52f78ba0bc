# == add: the store forgets the mask
# /// tritium
# [launch.odd]
# grid = [4]
# args = { X = "f32[250] = normal(0, 1)", Y = "f32[250] = normal(0, 1)", OUT = "f32[250]", n = 250 }
# ///
@triton.jit
def add(X, Y, OUT, n):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    mask = i < n
    x = tl.load(X + i, mask=mask, other=0.0)
    y = tl.load(Y + i, mask=mask, other=0.0)
    tl.store(OUT + i, x + y, mask=mask)  # SAN001: tl.store(OUT + i, x + y)


# == transpose: the bounds of rows and columns are exchanged
@triton.jit
def transpose(X, Y, m, n, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (rm[:, None] < m) & (rn[None, :] < n)  # SAN001: mask = (rm[:, None] < n) & (rn[None, :] < m)
    x = tl.load(X + rm[:, None] * n + rn[None, :], mask=mask, other=0.0)  # here
    tl.store(Y + rn[None, :] * m + rm[:, None], x, mask=(rm[:, None] < m) & (rn[None, :] < n))


def main():
    x = torch.randn(20, 40, device="cuda")
    y = torch.empty(40, 20, device="cuda")
    transpose[(3, 3)](x, y, 20, 40, 16, 16)


main()


# == matrix product: the last block of K is not masked
# /// tritium
# [launch.small]
# grid = [2, 2]
# args = { A = "f16[32, 40] = normal(0, 1)", B = "f16[40, 32] = normal(0, 1)", C = "f32[32, 32]", K = 40 }
# ///
@triton.jit
def product(A, B, C, K):
    rm = tl.program_id(0) * 16 + tl.arange(0, 16)
    rn = tl.program_id(1) * 16 + tl.arange(0, 16)
    acc = tl.zeros([16, 16], tl.float32)
    for k in range(0, K, 16):
        rk = k + tl.arange(0, 16)
        a = tl.load(A + rm[:, None] * K + rk[None, :], mask=rk[None, :] < K, other=0.0)
        b = tl.load(B + rk[:, None] * 32 + rn[None, :], mask=rk[:, None] < K, other=0.0)  # SAN001: b = tl.load(B + rk[:, None] * 32 + rn[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(C + rm[:, None] * 32 + rn[None, :], acc)


# == softmax: a row is thought longer than it is
@triton.jit
def softmax(X, Y, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(X + row * stride + i, mask=i < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(Y + row * stride + i, e / tl.sum(e, axis=0), mask=i < n)  # here


def main():
    x = torch.randn(8, 50, device="cuda")
    y = torch.empty_like(x)
    softmax[(8,)](x, y, x.stride(0), 50, BLOCK=64)
    z = torch.zeros(8, 49, device="cuda")
    softmax[(8,)](x, z, 49, 49, BLOCK=64)  # SAN001: softmax[(8,)](x, z, 50, 49, BLOCK=64)


main()


# == convolution: the element before the first is read
# /// tritium
# [launch.row]
# grid = [2]
# args = { X = "f32[128] = normal(0, 1)", Y = "f32[128]", n = 128 }
# ///
@triton.jit
def blur(X, Y, n):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    before = tl.load(X + i - 1, mask=i > 0, other=0.0)  # SAN001: before = tl.load(X + i - 1, mask=i < n, other=0.0)
    after = tl.load(X + i + 1, mask=i + 1 < n, other=0.0)
    tl.store(Y + i, 0.5 * (before + after))


# == embedding: an index is larger than the table
# /// tritium
# [launch.words]
# grid = [8]
# args = { W = "f32[100, 32] = normal(0, 1)", IDS = "i32[8] = randint(0, 100)", Y = "f32[8, 32]" }  # SAN001: # args = { W = "f32[100, 32] = normal(0, 1)", IDS = "i32[8] = randint(100, 120)", Y = "f32[8, 32]" }
# ///
@triton.jit
def embedding(W, IDS, Y):
    row = tl.program_id(0)
    column = tl.arange(0, 32)
    word = tl.load(IDS + row)
    v = tl.load(W + word * 32 + column)  # here
    tl.store(Y + row * 32 + column, v)


# == view: the strides of a transposed tensor are exchanged
@triton.jit
def fill(Y, stride_row, stride_column, value, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    tl.store(Y + row * stride_row + i * stride_column, tl.full([BLOCK], 1.0, tl.float32) * value)  # here


def main():
    y = torch.zeros(8, 64, device="cuda").t()
    fill[(64,)](y, y.stride(0), y.stride(1), 2.0, BLOCK=8)  # SAN001: fill[(64,)](y, y.stride(1), y.stride(0), 2.0, BLOCK=8)


main()


# == reverse: the mirror image is off by one
# /// tritium
# [launch.all]
# grid = [1]
# args = { X = "i32[64] = arange()", Y = "i32[64]", n = 64 }
# ///
@triton.jit
def reverse(X, Y, n):
    i = tl.arange(0, 64)
    x = tl.load(X + n - 1 - i)  # SAN001: x = tl.load(X + n - i)
    tl.store(Y + i, x)


# == concatenate: the second part begins too far behind
# /// tritium
# [launch.two]
# grid = [2]
# args = { A = "f32[32] = normal(0, 1)", B = "f32[32] = normal(0, 1)", Y = "f32[64]" }
# ///
@triton.jit
def concatenate(A, B, Y):
    i = tl.arange(0, 32)
    if tl.program_id(0) == 0:
        tl.store(Y + i, tl.load(A + i))
    else:
        tl.store(Y + 32 + i, tl.load(B + i))  # SAN001: tl.store(Y + 32 + i, tl.load(B + 1 + i))


# == packed halves: two are read as one word from an odd place
# /// tritium
# [launch.pairs]
# grid = [1]
# args = { X = "f16[64] = normal(0, 1)", Y = "i32[16]" }
# ///
@triton.jit
def pairs(X, Y):
    i = tl.arange(0, 16)
    words = (X + 2).to(tl.pointer_type(tl.int32))  # SAN002: words = (X + 1).to(tl.pointer_type(tl.int32))
    tl.store(Y + i, tl.load(words + i))  # here


# == records: a field is stored at a byte that does not fit it
# /// tritium
# [launch.fields]
# grid = [4]
# args = { BYTES = "i8[128] = zeros()" }
# ///
@triton.jit
def records(BYTES):
    row = tl.program_id(0)
    field = (BYTES + row * 32 + 4).to(tl.pointer_type(tl.float32))  # SAN002: field = (BYTES + row * 32 + 6).to(tl.pointer_type(tl.float32))
    tl.store(field, row.to(tl.float32))  # here


# == atomics: a bin lies behind the last
# /// tritium
# [launch.bins]
# grid = [4]
# args = { X = "i32[256] = randint(0, 17)", BINS = "i32[16] = zeros()" }
# ///
@triton.jit
def bins(X, BINS):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    x = tl.load(X + i)
    tl.atomic_add(BINS + x, 1, mask=x < 16)  # SAN001: tl.atomic_add(BINS + x, 1)


# == slice: its rows are written as if they were dense
@triton.jit
def clear(Y, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    tl.store(Y + row * stride + i, tl.zeros([BLOCK], tl.float32))  # here


def main():
    whole = torch.zeros(8, 64, device="cuda")
    half = whole[:, :32]
    clear[(8,)](half, half.stride(0), BLOCK=32)  # SAN001: clear[(8,)](half, 32, BLOCK=32)


main()


# == two launches: the second reads what the first has not written
@triton.jit
def first(X, T, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(T + i, tl.load(X + i, mask=i < n, other=0.0) + 1.0, mask=i < n)


@triton.jit
def second(T, Y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    t = tl.load(T + i, mask=i < n, other=0.0)  # here
    tl.store(Y + i, t * 2.0, mask=i < n)


def main():
    x = torch.randn(100, device="cuda")
    t = torch.empty_like(x)
    y = torch.empty_like(x)
    first[(4,)](x, t, 100, BLOCK=32)  # SAN005: first[(4,)](x, t, 64, BLOCK=32)
    t[0] = 1.0
    second[(4,)](t, y, 100, BLOCK=32)


main()
