"""A product of two f16 matrices under a tuner of 36 configurations."""

import torch
import triton
import triton.language as tl

SIZES = [1024, 2048, 4096]


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 8}, num_warps=warps, num_stages=stages)
        for m, n in [(64, 64), (64, 128), (128, 64), (128, 128), (128, 256), (256, 128)]
        for k, stages in [(32, 4), (64, 3), (64, 4)]
        for warps in [4, 8]
    ],
    key=["M", "N", "K"],
)
@triton.jit
def product(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    group = pid // (GROUP_M * tiles_n)
    size = min(tiles_m - group * GROUP_M, GROUP_M)
    pid_m = group * GROUP_M + (pid % (GROUP_M * tiles_n)) % size
    pid_n = (pid % (GROUP_M * tiles_n)) // size
    rows = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    cols = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    inner = tl.arange(0, BLOCK_K)
    a = a_ptr + rows[:, None] * stride_am + inner[None, :]
    b = b_ptr + inner[:, None] * stride_bk + cols[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        inside = K - k * BLOCK_K
        acc = tl.dot(
            tl.load(a, mask=inner[None, :] < inside, other=0.0), tl.load(b, mask=inner[:, None] < inside, other=0.0), acc
        )
        a += BLOCK_K
        b += BLOCK_K * stride_bk
    rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c = c_ptr + rows[:, None] * stride_cm + cols[None, :]
    tl.store(c, acc.to(tl.float16), mask=(rows[:, None] < M) & (cols[None, :] < N))


def run(n):
    a = torch.randn((n, n), device="cuda", dtype=torch.float16)
    b = torch.randn((n, n), device="cuda", dtype=torch.float16)
    c = torch.empty((n, n), device="cuda", dtype=torch.float16)
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)
    product[grid](a, b, c, n, n, n, a.stride(0), b.stride(0), c.stride(0))
    return c, a @ b


KERNEL = product

if __name__ == "__main__":
    for n in SIZES:
        torch.testing.assert_close(*run(n), atol=1e-1, rtol=1e-2)
