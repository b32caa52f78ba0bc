# == narrow index: rows are counted in 16 bits
# /// tritium
# [launch.rows]
# grid = [300]
# args = { X = "i8[300, 128] = ones()", Y = "i8[300, 128]" }
# ///
@triton.jit
def narrow(X, Y):
    row = tl.program_id(0)
    i = tl.arange(0, 128)
    start = row * 128  # SAN007: start = row.to(tl.int16) * 128
    tl.store(Y + row * 128 + i, tl.load(X + start + i))


# == resize: the product of two lengths is larger than an index
# /// tritium
# [launch.line]
# grid = [100]
# args = { X = "f32[50000] = arange()", Y = "f32[50000] = zeros()", wide = 50000 }
# ///
@triton.jit
def resize(X, Y, wide):
    i = tl.program_id(0) * 512 + tl.arange(0, 512)
    at = (i.to(tl.int64) * wide) // 50000  # SAN007: at = (i * wide) // 50000
    tl.store(Y + i, tl.load(X + at, mask=i < wide, other=0.0), mask=i < wide)


# == table: a product of bytes is taken as an index
# /// tritium
# [launch.pairs]
# grid = [1]
# args = { A = "i8[64] = randint(0, 16)", B = "i8[64] = randint(14, 16)", T = "i8[256] = arange()", Y = "i8[64]" }
# ///
@triton.jit
def table(A, B, T, Y):
    i = tl.arange(0, 64)
    a = tl.load(A + i)
    at = a.to(tl.int32) * tl.load(B + i)  # SAN007: at = a * tl.load(B + i)
    tl.store(Y + i, tl.load(T + at))


# == groups: the size of an empty group divides
# /// tritium
# [launch.groups]
# grid = [1]
# args = { SIZES = "i32[32] = randint(0, 3)", Y = "i32[32]" }
# ///
@triton.jit
def groups(SIZES, Y):
    i = tl.arange(0, 32)
    size = tl.maximum(tl.load(SIZES + i), 1)  # SAN009: size = tl.load(SIZES + i)
    tl.store(Y + i, 64 // size)  # here


# == ring: its length is 0
# /// tritium
# [launch.ring]
# grid = [2]
# args = { X = "f32[64] = normal(0, 1)", Y = "f32[64]", length = 16 }  # SAN009: # args = { X = "f32[64] = normal(0, 1)", Y = "f32[64]", length = 0 }
# ///
@triton.jit
def ring(X, Y, length):
    i = tl.program_id(0) * 32 + tl.arange(0, 32)
    at = i % length  # here
    tl.store(Y + i, tl.load(X + at))


# == swizzle: a group of programs has no rows
@triton.jit
def swizzle(Y, rows, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    group = pid // GROUP
    size = tl.minimum(rows - group * GROUP, GROUP)
    if size > -1:
        tl.store(Y + pid, pid % size)  # here


def main():
    y = torch.zeros(8, device="cuda", dtype=torch.int32)
    swizzle[(8,)](y, 8, GROUP=4)  # SAN009: swizzle[(8,)](y, 4, GROUP=4)


main()
