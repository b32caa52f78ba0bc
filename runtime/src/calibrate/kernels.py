# /// tritium
# [launch.dram]
# kernel = "copy"
# grid = ["@SMS@ * 8"]
# sizes = { N = 134217728 }
# args = { X = "f32[N]", Y = "f32[N]", blocks = "N // 4096", rounds = 16 }
# meta = { BLOCK = 4096 }
#
# [launch.f16]
# kernel = "products"
# grid = ["@SMS@ * 4"]
# args = { A = "f16[128, 64] = normal(0, 1)", B = "f16[64, 256] = normal(0, 1)", C = "f32[128, 256]", trips = 2048 }
# meta = { M = 128, N = 256, K = 64 }
# num_warps = 8
#
# [launch.tf32]
# kernel = "products"
# grid = ["@SMS@ * 4"]
# args = { A = "f32[128, 32] = normal(0, 1)", B = "f32[32, 128] = normal(0, 1)", C = "f32[128, 128]", trips = 4096 }
# meta = { M = 128, N = 128, K = 32 }
# num_warps = 8
#
# [launch.f32]
# kernel = "multiply_add"
# grid = ["@SMS@ * 16"]
# args = { X = "f32[4096] = normal(0, 1)", a = 0.999, b = 0.001, trips = 8192 }
# meta = { BLOCK = 4096 }
# ///
"""What a board reaches: bytes of DRAM, products of tensor cores, multiplications and additions."""

import triton
import triton.language as tl


@triton.jit
def copy(X, Y, blocks, rounds, BLOCK: tl.constexpr):
    """Every round copies all of X, which is much larger than L2."""
    for _ in range(rounds):
        for block in range(tl.program_id(0), blocks, tl.num_programs(0)):
            at = block * BLOCK + tl.arange(0, BLOCK)
            tl.store(Y + at, tl.load(X + at))


@triton.jit
def products(A, B, C, trips, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """The same product again and again: nothing but shared memory feeds it."""
    rows, columns, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(A + rows[:, None] * K + inner[None, :])
    b = tl.load(B + inner[:, None] * N + columns[None, :])
    acc = tl.zeros((M, N), dtype=tl.float32)
    for _ in range(trips):
        acc = tl.dot(a, b, acc, input_precision="tf32")
    tl.store(C + rows[:, None] * N + columns[None, :], acc)


@triton.jit
def multiply_add(X, a, b, trips, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(X + at)
    for _ in range(trips):
        x = x * a + b
    tl.store(X + at, x)
