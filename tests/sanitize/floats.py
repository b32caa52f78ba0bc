# == norm: a sum of squares leaves the range of half floats
# /// tritium
# [launch.rows]
# grid = [2]
# args = { X = "f16[2, 64] = uniform(100, 200)", Y = "f16[2]" }
# ///
@triton.jit
def norm(X, Y):
    row = tl.program_id(0)
    x = tl.load(X + row * 64 + tl.arange(0, 64)).to(tl.float32)  # SAN008: x = tl.load(X + row * 64 + tl.arange(0, 64))
    total = tl.sum(x * x, axis=0)  # here
    tl.store(Y + row, tl.sqrt(total.to(tl.float32)))


# == root: of a negative number
# /// tritium
# [launch.line]
# grid = [1]
# args = { X = "f32[64] = normal(0, 1)", Y = "f32[64]" }
# ///
@triton.jit
def root(X, Y):
    i = tl.arange(0, 64)
    x = tl.load(X + i)
    y = tl.sqrt(tl.abs(x))  # SAN008: y = tl.sqrt(x)
    tl.store(Y + i, y)


# == attention: a row of which everything is masked off
# /// tritium
# [launch.rows]
# grid = [4]
# args = { X = "f32[4, 32] = normal(0, 1)", Y = "f32[4, 32]", LENGTHS = "i32[4] = randint(0, 2)" }
# ///
@triton.jit
def masked_softmax(X, Y, LENGTHS):
    row = tl.program_id(0)
    i = tl.arange(0, 32)
    x = tl.load(X + row * 32 + i)
    x = tl.where(i < tl.load(LENGTHS + row), x, -1e30)  # SAN008: x = tl.where(i < tl.load(LENGTHS + row), x, -float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))  # here
    tl.store(Y + row * 32 + i, e / tl.sum(e, axis=0))


# == softmax: nothing is subtracted before the exponential
# /// tritium
# [launch.rows]
# grid = [2]
# args = { X = "f32[2, 32] = uniform(90, 120)", Y = "f32[2, 32]" }
# ///
@triton.jit
def softmax(X, Y):
    row = tl.program_id(0)
    i = tl.arange(0, 32)
    x = tl.load(X + row * 32 + i)
    e = tl.exp(x - tl.max(x, axis=0))  # SAN008: e = tl.exp(x)
    tl.store(Y + row * 32 + i, e / tl.sum(e, axis=0))


# == mean: of a segment that is empty
# /// tritium
# [launch.segments]
# grid = [4]
# args = { X = "f32[64] = normal(0, 1)", COUNTS = "i32[4] = randint(0, 2)", Y = "f32[4]" }
# ///
@triton.jit
def segment_mean(X, COUNTS, Y):
    segment = tl.program_id(0)
    count = tl.load(COUNTS + segment)
    i = tl.arange(0, 16)
    x = tl.load(X + segment * 16 + i, mask=i < count, other=0.0)
    mean = tl.sum(x, axis=0) / tl.maximum(count, 1)  # SAN008: mean = tl.sum(x, axis=0) / count
    tl.store(Y + segment, mean)


# == logits: they do not fit the type that they are stored in
# /// tritium
# [launch.line]
# grid = [1]
# args = { X = "f32[64] = uniform(300, 400)", Y = "f16[64]" }
# ///
@triton.jit
def logits(X, Y):
    i = tl.arange(0, 64)
    x = tl.load(X + i)
    y = (tl.minimum(x * x, 60000.0)).to(tl.float16)  # SAN008: y = (x * x).to(tl.float16)
    tl.store(Y + i, y)


# == product: it is accumulated in half floats
# /// tritium
# [launch.tile]
# grid = [1]
# args = { A = "f16[16, 32] = uniform(50, 60)", B = "f16[32, 16] = uniform(50, 60)", C = "f32[16, 16]" }
# ///
@triton.jit
def product(A, B, C):
    r = tl.arange(0, 16)
    k = tl.arange(0, 32)
    a = tl.load(A + r[:, None] * 32 + k[None, :])
    b = tl.load(B + k[:, None] * 16 + r[None, :])
    c = tl.dot(a, b)  # SAN008: c = tl.dot(a, b, out_dtype=tl.float16).to(tl.float32)
    tl.store(C + r[:, None] * 16 + r[None, :], c)


# == entropy: the logarithm of a probability of 0
# /// tritium
# [launch.line]
# grid = [1]
# args = { P = "f32[64] = randint(0, 2)", Y = "f32[64]" }
# ///
@triton.jit
def entropy(P, Y):
    i = tl.arange(0, 64)
    p = tl.load(P + i)
    h = -p * tl.log(p + 1e-9)  # SAN008: h = -p * tl.log(p)
    tl.store(Y + i, h)
