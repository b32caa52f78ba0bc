# == sum: it is added to what was never cleared
@triton.jit
def column_sums(X, Y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(X + tl.program_id(0) * n + i, mask=i < n, other=0.0)
    tl.atomic_add(Y + i, x, mask=i < n)  # here


def main():
    x = torch.randn(8, 50, device="cuda")
    y = torch.zeros(50, device="cuda")  # SAN005: y = torch.empty(50, device="cuda")
    column_sums[(8,)](x, y, 50, BLOCK=64)


main()


# == bias: the output is read instead of the bias
# /// tritium
# [launch.rows]
# grid = [4]
# args = { X = "f32[4, 32] = normal(0, 1)", BIAS = "f32[32] = normal(0, 1)", Y = "f32[4, 32]" }
# ///
@triton.jit
def bias(X, BIAS, Y):
    row = tl.program_id(0)
    i = tl.arange(0, 32)
    x = tl.load(X + row * 32 + i)
    b = tl.load(BIAS + i)  # SAN005: b = tl.load(Y + row * 32 + i)
    tl.store(Y + row * 32 + i, x + b)


# == recurrence: the next state is read, not the last
# /// tritium
# [launch.steps]
# grid = [1]
# args = { X = "f32[8, 16] = normal(0, 1)", H = "f32[9, 16]" }
# ///
@triton.jit
def recurrence(X, H):
    i = tl.arange(0, 16)
    tl.store(H + i, tl.zeros([16], tl.float32))
    for t in range(0, 8):
        h = tl.load(H + t * 16 + i)  # SAN005: h = tl.load(H + (t + 1) * 16 + i)
        tl.store(H + (t + 1) * 16 + i, 0.5 * h + tl.load(X + t * 16 + i))


# == offsets: an index is read from memory that holds none
# /// tritium
# [launch.rows]
# grid = [4]
# args = { STARTS = "i32[4] = zeros()", X = "f32[64] = normal(0, 1)", Y = "f32[4, 8]" }  # SAN005: # args = { STARTS = "i32[4]", X = "f32[64] = normal(0, 1)", Y = "f32[4, 8]" }
# ///
@triton.jit
def offsets(STARTS, X, Y):
    row = tl.program_id(0)
    i = tl.arange(0, 8)
    start = tl.load(STARTS + row)  # here
    tl.store(Y + row * 8 + i, tl.load(X + start + i))


# == grid: the last block is rounded away
@triton.jit
def scale(X, Y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i, mask=i < n, other=0.0)
    tl.store(Y + i, x * 2.0, mask=i < n)  # here


def main():
    x = torch.randn(1000, device="cuda")
    y = torch.empty_like(x)
    scale[(triton.cdiv(1000, 64),)](x, y, 1000, BLOCK=64)  # SAN006: scale[(1000 // 64,)](x, y, 1000, BLOCK=64)


main()


# == loop: it ends one block early
# /// tritium
# [launch.rows]
# grid = [2]
# args = { X = "f32[2, 100] = normal(0, 1)", Y = "f32[2, 100]", n = 100 }
# ///
@triton.jit
def rows(X, Y, n):
    row = tl.program_id(0)
    for start in range(0, n, 32):  # SAN006: for start in range(0, n - 32, 32):
        i = start + tl.arange(0, 32)
        x = tl.load(X + row * n + i, mask=i < n, other=0.0)
        tl.store(Y + row * n + i, tl.abs(x), mask=i < n)  # here


# == two outputs: the second one gets nothing
# /// tritium
# [launch.both]
# grid = [2]
# args = { X = "f32[64] = normal(0, 1)", SINE = "f32[64]", COSINE = "f32[64]", both = 1 }  # SAN006: # args = { X = "f32[64] = normal(0, 1)", SINE = "f32[64]", COSINE = "f32[64]", both = 0 }
# ///
@triton.jit
def waves(X, SINE, COSINE, both):
    i = tl.program_id(0) * 32 + tl.arange(0, 32)
    x = tl.load(X + i)
    tl.store(SINE + i, tl.sin(x))
    if both == tl.num_programs(1):
        tl.store(COSINE + i, tl.cos(x))  # here


# == mask: the last column is left out
# /// tritium
# [launch.rows]
# grid = [4]
# args = { X = "f32[4, 30] = normal(0, 1)", Y = "f32[4, 30]", n = 30 }
# ///
@triton.jit
def narrow(X, Y, n):
    row = tl.program_id(0)
    i = tl.arange(0, 32)
    x = tl.load(X + row * n + i, mask=i < n, other=0.0)
    tl.store(Y + row * n + i, -x, mask=i < n)  # SAN006: tl.store(Y + row * n + i, -x, mask=i < n - 1)
