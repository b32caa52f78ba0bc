# == quantise: the fraction is cut off where it is stored
@triton.jit
def quantise(X, Q, n, scale, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + offs, mask=offs < n) / scale
    tl.store(Q + offs, tl.floor(x + 0.5).to(tl.int8), mask=offs < n)  # DTY006: tl.store(Q + offs, x + 0.5, mask=offs < n)


def run_quantise(x: torch.Tensor):
    x = torch.randn(1024, device="cuda")
    q = torch.empty(1024, device="cuda", dtype=torch.int8)
    quantise[(8,)](x, q, 1024, 0.1, BLOCK=128)


run_quantise(None)


# == mean: half floats are summed as half floats
@triton.jit
def half_mean(X, Y, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(X + row * stride + cols, mask=cols < n, other=0.0).to(tl.float32)  # DTY008: x = tl.load(X + row * stride + cols, mask=cols < n, other=0.0).to(tl.float16)
    tl.store(Y + row, tl.sum(x, axis=0) / n)  # here


# == ring: the neighbour of the first is no neighbour
@triton.jit
def ring(X, Y, n, BLOCK: tl.constexpr):
    rank = tl.program_id(0)
    left = (rank + tl.num_programs(0) - 1) % tl.num_programs(0)  # DTY019: left = (rank - 1) % tl.num_programs(0)
    cols = tl.arange(0, BLOCK)
    tl.store(Y + rank * BLOCK + cols, tl.load(X + left * BLOCK + cols))


# == halves: rounding goes to 0, not down
@triton.jit
def parents(X, Y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    parent = tl.where(i > 0, (i + 1) // 2 - 1, -1)  # DTY019: parent = (i - 1) // 2
    tl.store(Y + tl.program_id(0) * BLOCK + i, parent)


# == wrap: a rolled index is negative in the first places
@triton.jit
def roll(X, Y, SHIFT: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = (i + BLOCK - 3) % BLOCK  # DTY019: at = (i - 3) % BLOCK
    tl.store(Y + i + SHIFT, tl.load(X + at))


# == flag: precedence takes the mask apart
@triton.jit
def clamp(X, Y, n, lo, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = (i < n) & (i >= lo)  # LNG015: mask = (i < n) & i >= lo
    tl.store(Y + i, tl.load(X + i, mask=mask), mask=mask)


# == bytes: a number that a byte does not hold
@triton.jit
def brighten(X, Y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i, mask=i < n, other=0).to(tl.uint8)
    tl.store(Y + i, x + tl.full([BLOCK], 55, tl.uint8), mask=i < n)  # DTY018: tl.store(Y + i, x + tl.full([BLOCK], 200, tl.int8).to(tl.uint8), mask=i < n)


# == condition: a logical operator takes tiles for numbers
@triton.jit
def between(X, Y, n, lo, hi, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i, mask=i < n, other=0.0)
    inside = (x > lo) & (x < hi)  # LNG014: inside = (x > lo) and (x < hi)
    tl.store(Y + i, tl.where(inside, x, 0.0), mask=i < n)


# == integers: a count decides as a number
@triton.jit
def select(X, C, Y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.load(C + i, mask=i < n, other=0).to(tl.int32)
    tl.store(Y + i, tl.where(c > 1, tl.load(X + i, mask=i < n), 0.0), mask=i < n)  # DTY010: tl.store(Y + i, tl.where(c, tl.load(X + i, mask=i < n), 0.0), mask=i < n)
