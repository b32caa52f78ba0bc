# == layer norm: what is off goes into the variance
# /// tritium
# [launch.rows]
# grid = [4]
# args = { X = "f32[4, 50] = normal(3, 1)", Y = "f32[4, 50]", n = 50 }
# ///
@triton.jit
def layer_norm(X, Y, n):
    row = tl.program_id(0)
    i = tl.arange(0, 64)
    mask = i < n
    x = tl.load(X + row * n + i, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / n
    centred = tl.where(mask, x - mean, 0.0)  # SAN003: centred = tl.load(X + row * n + i, mask=mask) - mean
    variance = tl.sum(centred * centred, axis=0) / n  # here
    tl.store(Y + row * n + i, centred * tl.rsqrt(variance + 1e-5), mask=mask)


# == pooling: the border of the window is undefined
# /// tritium
# [launch.line]
# grid = [1]
# args = { X = "f32[30] = uniform(-2, -1)", Y = "f32[32]", n = 30 }
# ///
@triton.jit
def pool(X, Y, n):
    i = tl.arange(0, 32)[:, None] + tl.arange(0, 4)[None, :] - 1
    x = tl.load(X + i, mask=(i >= 0) & (i < n), other=-100.0)  # SAN003: x = tl.load(X + i, mask=(i >= 0) & (i < n))
    tl.store(Y + tl.arange(0, 32), tl.max(x, axis=1))  # here


# == argmax: an element that is off may win
# /// tritium
# [launch.rows]
# grid = [4]
# args = { X = "f32[4, 24] = uniform(-2, -1)", Y = "i32[4]", n = 24 }
# ///
@triton.jit
def winner(X, Y, n):
    row = tl.program_id(0)
    i = tl.arange(0, 32)
    x = tl.load(X + row * n + i, mask=i < n, other=-float("inf"))  # SAN003: x = tl.load(X + row * n + i, mask=i < n)
    tl.store(Y + row, tl.argmax(x, axis=0))  # here


# == sparse rows: an index that was not loaded is followed
# /// tritium
# [launch.rows]
# grid = [4]
# args = { COLUMNS = "i32[4, 10] = randint(0, 64)", X = "f32[64] = normal(0, 1)", Y = "f32[4, 16] = zeros()" }
# ///
@triton.jit
def gather(COLUMNS, X, Y):
    row = tl.program_id(0)
    i = tl.arange(0, 16)
    mask = i < 10
    column = tl.load(COLUMNS + row * 10 + i, mask=mask)
    x = tl.load(X + column, mask=mask, other=0.0)  # SAN003: x = tl.load(X + column)
    tl.store(Y + row * 16 + i, x, mask=mask)


# == early end: a flag that was not loaded decides
# /// tritium
# [launch.blocks]
# grid = [4]
# args = { FLAGS = "i32[3] = ones()", Y = "f32[64] = zeros()" }
# ///
@triton.jit
def flagged(FLAGS, Y):
    pid = tl.program_id(0)
    flag = tl.load(FLAGS + pid, mask=pid < 3, other=0)  # SAN003: flag = tl.load(FLAGS + pid, mask=pid < 3)
    if flag > 0:  # here
        tl.store(Y + pid * 16 + tl.arange(0, 16), tl.full([16], 1.0, tl.float32))


# == ragged rows: the length of a row that is not there bounds a loop
# /// tritium
# [launch.rows]
# grid = [4]
# args = { LENGTHS = "i32[3] = randint(1, 32)", X = "f32[4, 32] = normal(0, 1)", Y = "f32[4]" }
# ///
@triton.jit
def lengths(LENGTHS, X, Y):
    row = tl.program_id(0)
    length = tl.load(LENGTHS + row, mask=row < 3, other=0)  # SAN003: length = tl.load(LENGTHS + row, mask=row < 3)
    total = 0.0
    for i in range(0, length):  # here
        total += tl.load(X + row * 32 + i)
    tl.store(Y + row, total)


# == copy: more is stored than was loaded
# /// tritium
# [launch.part]
# grid = [1]
# args = { X = "f32[40] = normal(0, 1)", Y = "f32[64] = zeros()" }
# ///
@triton.jit
def copy(X, Y):
    i = tl.arange(0, 64)
    x = tl.load(X + i, mask=i < 40, other=0.0)  # SAN003: x = tl.load(X + i, mask=i < 40)
    tl.store(Y + i, x * 2.0 + 1.0, mask=i < 50)  # here


# == product scan: the tail is undefined and the scan runs backwards
# /// tritium
# [launch.tail]
# grid = [1]
# args = { X = "f32[24] = uniform(1, 2)", Y = "f32[32] = zeros()" }
# ///
@triton.jit
def tail(X, Y):
    i = tl.arange(0, 32)
    x = tl.load(X + i, mask=i < 24, other=1.0)  # SAN003: x = tl.load(X + i, mask=i < 24)
    tl.store(Y + i, tl.cumprod(x, axis=0, reverse=True), mask=i < 24)  # here


# == threshold: a mask is made of what was not loaded
# /// tritium
# [launch.some]
# grid = [1]
# args = { X = "f32[48] = normal(0, 1)", Y = "f32[64] = zeros()" }
# ///
@triton.jit
def threshold(X, Y):
    i = tl.arange(0, 64)
    inside = i < 48
    x = tl.load(X + i, mask=inside)
    tl.store(Y + i, tl.full([64], 1.0, tl.float32), mask=inside & (x > 0.0))  # SAN003: tl.store(Y + i, tl.full([64], 1.0, tl.float32), mask=x > 0.0)


# == attention: the last keys of a product are left to the hardware
# /// tritium
# [launch.scores]
# grid = [1]
# args = { Q = "f16[16, 24] = normal(0, 1)", K = "f16[24, 16] = normal(0, 1)", S = "f32[16, 16]" }
# ///
@triton.jit
def scores(Q, K, S):
    r = tl.arange(0, 16)
    d = tl.arange(0, 32)
    q = tl.load(Q + r[:, None] * 24 + d[None, :], mask=d[None, :] < 24, other=0.0)  # SAN011: q = tl.load(Q + r[:, None] * 24 + d[None, :], mask=d[None, :] < 24)
    k = tl.load(K + d[:, None] * 16 + r[None, :], mask=d[:, None] < 24, other=0.0)
    tl.store(S + r[:, None] * 16 + r[None, :], tl.dot(q, k))  # here


# == a helper returns on one way only
# /// tritium
# [launch.few]
# grid = [1]
# args = { X = "f32[16] = normal(0, 1)", Y = "f32[16]", n = 3 }
# ///
@triton.jit
def halved(x, n):
    if n > 4:
        return x * 0.5
    return x  # SAN003: pass


@triton.jit
def halve(X, Y, n):
    i = tl.arange(0, 16)
    tl.store(Y + i, halved(tl.load(X + i), n))  # here
