# /// tritium
# [launch.small]
# kernel = "matmul"
# grid = ["cdiv(M, 64)", "cdiv(N, 64)"]
# sizes = { M = 200, N = 136, K = 96 }
# args = { A = "f16[M, K] = normal(0, 1)", B = "f16[K, N] = normal(0, 1)", C = "f16[M, N]", M = "M", N = "N", K = "K", stride_am = "K", stride_ak = 1, stride_bk = "N", stride_bn = 1, stride_cm = "N", stride_cn = 1 }
# meta = { BLOCK_M = 64, BLOCK_N = 64, BLOCK_K = 32 }
# expect = { C = "A @ B" }
#
# [launch.square_1024]
# kernel = "matmul"
# grid = ["cdiv(M, 128)", "cdiv(N, 128)"]
# sizes = { M = 1024, N = 1024, K = 1024 }
# args = { A = "f16[M, K] = normal(0, 1)", B = "f16[K, N] = normal(0, 1)", C = "f16[M, N]", M = "M", N = "N", K = "K", stride_am = "K", stride_ak = 1, stride_bk = "N", stride_bn = 1, stride_cm = "N", stride_cn = 1 }
# meta = { BLOCK_M = 128, BLOCK_N = 128, BLOCK_K = 32 }
# num_warps = 8
# expect = { C = "A @ B" }
# ///
"""C = A @ B in f16, accumulated in f32: every program computes one tile of C, walking along K."""

import triton
import triton.language as tl


@triton.jit
def matmul(
    A, B, C, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    a_ptrs = A + rows[:, None] * stride_am + inner[None, :] * stride_ak
    b_ptrs = B + inner[:, None] * stride_bk + cols[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=(rows[:, None] < M) & (inner[None, :] < K - k), other=0.0)
        b = tl.load(b_ptrs, mask=(inner[:, None] < K - k) & (cols[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    c_ptrs = C + rows[:, None] * stride_cm + cols[None, :] * stride_cn
    tl.store(c_ptrs, acc.to(tl.float16), mask=(rows[:, None] < M) & (cols[None, :] < N))
