# /// tritium
# [launch.double]
# kernel = "double"
# grid = ["cdiv(M, 16)", "cdiv(N, 32)"]
# sizes = { M = 50, N = 72 }
# args = { src = { tensor = "f16[M, N] = normal(0, 1)", block = [16, 32] }, Y = "f32[M, N]", M = "M", N = "N" }
# expect = { Y = "src * 2" }
#
# [launch.batched]
# kernel = "batched"
# grid = [1]
# args = { X = "f32[4, 16, 16] = normal(0, 1)", Y = "f32[4, 16]" }
#
# [launch.scaled]
# kernel = "scaled"
# grid = [1]
# args = { X = "f8e5m2[32, 64] = normal(0, 1)", W = "f16[64, 16] = normal(0, 1)", Y = "f32[32, 16]" }
# expect = { Y = "matmul(X * 4, W)" }
#
# [launch.packed]
# kernel = "packed"
# grid = [1]
# args = { Z = "f32[32, 16] = zeros()", Y = "f32[32, 16]" }
# expect = { Y = "Z - 8" }
#
# [launch.pair]
# kernel = "pair"
# grid = [1]
# args = { t = ["f32[16] = normal(0, 1)", 3, ["f32[16] = normal(0, 1)", 1]], Y = "f32[16]" }
# expect = { Y = "t_0 * 3 + t_2_0" }
#
# [launch.rows]
# kernel = "rows"
# grid = [1]
# args = { X = "f32[8, 32] = normal(0, 1)", I = "i32[8] = arange()", Y = "f32[8]" }
# expect = { Y = "sum(X, axis=1)" }
# ///
from typing import NamedTuple

import triton
import triton.language as tl


@triton.jit
def double(src, Y, M, N):
    out = tl.make_tensor_descriptor(Y, [M, N], [N, 1], [16, 32])
    m, n = tl.program_id(0) * 16, tl.program_id(1) * 32
    out.store([m, n], src.load([m, n]).to(tl.float32) * 2)


@triton.jit
def batched(X, Y):
    b = tl.arange(0, 4)[:, None, None]
    i = tl.arange(0, 16)
    x = tl.load(X + b * 256 + i[None, :, None] * 16 + i[None, None, :])
    y = tl.dot(x, x, input_precision="ieee")
    want = tl.sum(x[:, :, :, None] * x[:, None, :, :], axis=2)
    tl.device_assert(tl.abs(y - want) < 1e-3, "batches")
    tl.store(Y + tl.arange(0, 4)[:, None] * 16 + i[None, :], tl.sum(y, axis=2))


@triton.jit
def scaled(X, W, Y):
    m, k, n = tl.arange(0, 32), tl.arange(0, 64), tl.arange(0, 16)
    x = tl.load(X + m[:, None] * 64 + k[None, :])
    w = tl.load(W + k[:, None] * 16 + n[None, :])
    s = tl.full((32, 2), 129, dtype=tl.uint8)
    y = tl.dot_scaled(x, s, "e5m2", w, None, "fp16")
    tl.store(Y + m[:, None] * 16 + n[None, :], y)


@triton.jit
def packed(Z, Y):
    # Low nibble 0x7 is 6, high nibble 0x9 is -0.5.
    x = tl.full((32, 32), 0x97, dtype=tl.uint8)
    w = tl.full((64, 16), 1.0, dtype=tl.bfloat16)
    s = tl.full((32, 2), 126, dtype=tl.uint8)
    y = tl.dot_scaled(x, s, "e2m1", w, None, "bf16")
    tl.device_assert(y == 32 * (6.0 - 0.5) * 0.5, "low nibbles are even elements")
    alternating = (tl.arange(0, 64) % 2).to(tl.bfloat16)
    y = tl.dot_scaled(x, s, "e2m1", tl.broadcast_to(alternating[:, None], (64, 16)), None, "bf16")
    tl.device_assert(y == 32 * -0.5 * 0.5, "high nibbles are odd elements")
    v = tl.full((32, 16), 0x97, dtype=tl.uint8)
    z = tl.dot_scaled(tl.full((32, 32), 1.0, dtype=tl.bfloat16), None, "bf16", v, None, "e2m1", rhs_k_pack=False)
    col = tl.arange(0, 32)
    want = tl.where(col % 2 == 0, 32 * 6.0, 32 * -0.5)
    tl.device_assert(z == want[None, :], "packed along N")
    m, n = tl.arange(0, 32), tl.arange(0, 16)
    tl.store(Y + m[:, None] * 16 + n[None, :], y)


class Line(NamedTuple):
    base: tl.tensor
    by: tl.constexpr


@triton.jit
def read(line, i):
    return tl.load(line.base + i) * line.by


@triton.jit
def pair(t, Y):
    i = tl.arange(0, 16)
    base, by, rest = t
    tl.store(Y + i, read(Line(base, by), i) + read(Line(*rest), i))


@triton.jit
def rows(X, I, Y):
    d = tl.make_tensor_descriptor(X, [8, 32], [32, 1], [1, 32])
    i = tl.arange(0, 8)
    x = d.gather(tl.load(I + i), 0)
    d.scatter(x, i, 0)
    tl.debug_barrier()
    tl.store(Y + i, tl.sum(d.gather(tl.load(I + i), 0), axis=1))
