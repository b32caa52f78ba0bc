# == indices: one is not below the bound that is asserted
# /// tritium
# [launch.all]
# grid = [2]
# args = { I = "i32[64] = randint(0, 32)", Y = "i32[64]" }
# ///
@triton.jit
def indices(I, Y):
    i = tl.program_id(0) * 32 + tl.arange(0, 32)
    x = tl.load(I + i)
    tl.device_assert(x < 32, "an index is too large")  # SAN010: tl.device_assert(x < 30, "an index is too large")
    tl.store(Y + i, x)


# == shapes: a length is asserted to be a multiple
# /// tritium
# [launch.blocks]
# grid = [2]
# args = { X = "f32[64] = normal(0, 1)", Y = "f32[64]", n = 64 }  # SAN010: # args = { X = "f32[64] = normal(0, 1)", Y = "f32[64]", n = 65 }
# ///
@triton.jit
def multiples(X, Y, n):
    tl.device_assert(n % 32 == 0, "a length is no multiple of the block")  # here
    i = tl.program_id(0) * 32 + tl.arange(0, 32)
    tl.store(Y + i, tl.load(X + i))
