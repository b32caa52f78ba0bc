# == histogram: bins are counted without atomics
# /// tritium
# [launch.counts]
# grid = [4]
# args = { X = "i32[256] = randint(0, 16)", BINS = "i32[16] = zeros()" }
# ///
@triton.jit
def histogram(X, BINS):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    counts = tl.histogram(tl.load(X + i), 16)
    b = tl.arange(0, 16)
    tl.atomic_add(BINS + b, counts)  # SAN004: tl.store(BINS + b, tl.load(BINS + b) + counts)


# == stencil: neighbours are read where others write
# /// tritium
# [launch.line]
# grid = [4]
# args = { X = "f32[256] = normal(0, 1)", Y = "f32[256] = normal(0, 1)" }
# ///
@triton.jit
def stencil(X, Y):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    x = tl.load(X + (i + 1) % 256)
    tl.store(Y + i, x)  # SAN004: tl.store(X + i, x)


# == rows: every program writes the first row
# /// tritium
# [launch.rows]
# grid = [4]
# args = { X = "f32[4, 32] = normal(0, 1)", Y = "f32[4, 32] = zeros()" }
# ///
@triton.jit
def rows(X, Y):
    row = tl.program_id(0)
    i = tl.arange(0, 32)
    tl.store(Y + row * 32 + i, tl.load(X + row * 32 + i))  # SAN004: tl.store(Y + tl.program_id(1) * 32 + i, tl.load(X + row * 32 + i))


# == split product: the parts overwrite one another
@triton.jit
def split(A, B, C, K, PART: tl.constexpr):
    r = tl.arange(0, 16)
    k = tl.program_id(0) * PART + tl.arange(0, PART)
    a = tl.load(A + r[:, None] * K + k[None, :])
    b = tl.load(B + k[:, None] * 16 + r[None, :])
    c = C + r[:, None] * 16 + r[None, :]
    tl.atomic_add(c, tl.dot(a, b))  # SAN004: tl.store(c, tl.dot(a, b))


def main():
    a = torch.randn(16, 128, device="cuda", dtype=torch.float16)
    b = torch.randn(128, 16, device="cuda", dtype=torch.float16)
    c = torch.zeros(16, 16, device="cuda")
    split[(4,)](a, b, c, 128, PART=32)


main()


# == scatter: two elements of a tile go to one place
# /// tritium
# [launch.one]
# grid = [1]
# args = { X = "f32[64] = normal(0, 1)", Y = "f32[64] = zeros()" }
# ///
@triton.jit
def scatter(X, Y):
    i = tl.arange(0, 64)
    tl.store(Y + (i * 7) % 64, tl.load(X + i))  # SAN004: tl.store(Y + (i * 7) % 32, tl.load(X + i))


# == counter: it is read while others still add
# /// tritium
# [launch.add]
# grid = [4]
# args = { TOTAL = "i32[1] = zeros()", SEEN = "i32[4]" }
# ///
@triton.jit
def counter(TOTAL, SEEN):
    pid = tl.program_id(0)
    seen = tl.atomic_add(TOTAL, 1, sem="relaxed")
    tl.store(SEEN + pid, seen)  # SAN004: tl.store(SEEN + pid, tl.load(TOTAL + 0 * seen))


# == turn in place: a tile is read after its place was written
# /// tritium
# [launch.square]
# grid = [2, 2]
# args = { X = "f32[32, 32] = normal(0, 1)", Y = "f32[32, 32] = normal(0, 1)" }
# ///
@triton.jit
def turn(X, Y):
    rm = tl.program_id(0) * 16 + tl.arange(0, 16)
    rn = tl.program_id(1) * 16 + tl.arange(0, 16)
    x = tl.load(X + rm[:, None] * 32 + rn[None, :])
    tl.store(Y + rn[None, :] * 32 + rm[:, None], x)  # SAN004: tl.store(X + rn[None, :] * 32 + rm[:, None], x)


# == last block: the partial sums are read before it is known that all are there
# /// tritium
# [launch.sum]
# grid = [4]
# args = { X = "f32[256] = normal(0, 1)", PARTS = "f32[4] = zeros()", DONE = "i32[1] = zeros()", Y = "f32[1] = zeros()" }
# ///
@triton.jit
def total(X, PARTS, DONE, Y):
    pid = tl.program_id(0)
    tl.store(PARTS + pid, tl.sum(tl.load(X + pid * 64 + tl.arange(0, 64)), axis=0))  # here
    last = tl.atomic_add(DONE, 1) == 3  # SAN004: last = pid == 3
    if last:
        tl.store(Y, tl.sum(tl.load(PARTS + tl.arange(0, 4)), axis=0))


# == lock: the critical section is not locked
# /// tritium
# [launch.locked]
# grid = [4]
# args = { LOCK = "i32[1] = zeros()", BEST = "f32[1] = zeros()" }
# ///
@triton.jit
def locked(LOCK, BEST):
    value = tl.program_id(0).to(tl.float32) + 1.0
    while tl.atomic_cas(LOCK, 0, 1) == 1:  # SAN004: while value < 0.0:
        value += 0.0
    best = tl.load(BEST)
    tl.store(BEST, tl.maximum(best, value))  # here
    tl.debug_barrier()
    tl.atomic_xchg(LOCK, 0)


# == reduction: a plain store begins what others add to
# /// tritium
# [launch.sum]
# grid = [4]
# args = { X = "f32[256] = normal(0, 1)", Y = "f32[1] = zeros()" }
# ///
@triton.jit
def begin(X, Y):
    pid = tl.program_id(0)
    part = tl.sum(tl.load(X + pid * 64 + tl.arange(0, 64)), axis=0)
    if pid == 0:
        tl.atomic_add(Y, part, sem="relaxed")  # SAN004: tl.store(Y, part)
    else:
        tl.atomic_add(Y, part, sem="relaxed")
