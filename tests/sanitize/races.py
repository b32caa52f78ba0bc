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
    tl.debug_barrier()
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


# == halves: each half is read right after other warps have stored it
# /// tritium
# [launch.one]
# grid = [2]
# args = { X = "f32[2, 512] = normal(0, 1)", SCRATCH = "f32[2, 512] = zeros()", Y = "f32[2, 512]" }
# ///
@triton.jit
def halves(X, SCRATCH, Y):
    row = tl.program_id(0) * 512
    i = tl.arange(0, 512)
    tl.store(SCRATCH + row + i, tl.load(X + row + i))
    tl.debug_barrier()  # SAN012: pass
    x = tl.load(SCRATCH + row + (i + 256) % 512)  # here
    tl.store(Y + row + i, x)


# == reverse in place: elements are overwritten that others have yet to read
# /// tritium
# [launch.one]
# grid = [1]
# args = { X = "f32[1024] = normal(0, 1)" }
# ///
@triton.jit
def reverse(X):
    i = tl.arange(0, 1024)
    x = tl.load(X + 1023 - i)
    tl.debug_barrier()  # SAN012: pass
    tl.store(X + i, x)  # here


# == shift: neighbours at the edge of a warp
# /// tritium
# [launch.one]
# grid = [1]
# args = { X = "f16[2049] = normal(0, 1)", Y = "f16[2049] = zeros()" }
# ///
@triton.jit
def shift(X, Y):
    i = tl.arange(0, 2048)
    x = tl.load(X + i + 1)
    tl.store(Y + i, x)  # SAN012: tl.store(X + i, x)


# == two stores: they overlap with different values
# /// tritium
# [launch.one]
# grid = [1]
# args = { X = "f32[768] = normal(0, 1)", Y = "f32[768] = zeros()" }
# ///
@triton.jit
def overlap(X, Y):
    i = tl.arange(0, 512)
    tl.store(Y + i, tl.load(X + i))
    tl.debug_barrier()  # SAN012: pass
    tl.store(Y + 256 + i, 2.0 * tl.load(X + 256 + i))  # here


# == rolled: a tile goes through memory to be moved by some rows
# /// tritium
# [launch.one]
# grid = [1]
# args = { X = "f32[64, 64] = normal(0, 1)", SCRATCH = "f32[64, 64] = zeros()", Y = "f32[64, 64]" }
# num_warps = 8
# ///
@triton.jit
def rolled(X, SCRATCH, Y):
    r = tl.arange(0, 64)
    tl.store(SCRATCH + r[:, None] * 64 + r[None, :], tl.load(X + r[:, None] * 64 + r[None, :]))
    tl.debug_barrier()  # SAN012: pass
    x = tl.load(SCRATCH + ((r + 5) % 64)[:, None] * 64 + r[None, :])  # here
    tl.store(Y + r[:, None] * 64 + r[None, :], x)


# == two passes: the second one reads other columns than the first has stored
# /// tritium
# [launch.rows]
# grid = [4]
# args = { X = "f32[4, 2048] = normal(0, 1)", H = "f32[4, 2048]", Y = "f32[4, 2048]", n = 2048 }
# ///
@triton.jit
def passes(X, H, Y, n, BLOCK: tl.constexpr = 512):
    row = tl.program_id(0) * n
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        tl.store(H + row + i, tl.exp(tl.load(X + row + i)))
    tl.debug_barrier()  # SAN012: pass
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        h = tl.load(H + row + n - 1 - i)  # here
        tl.store(Y + row + i, 0.5 * h)
