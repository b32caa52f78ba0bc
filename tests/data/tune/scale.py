"""Tuners whose rows are good, slow, too large or wrong."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 64}, num_warps=1),
        triton.Config({"BLOCK": 4096}, num_warps=8),
        triton.Config({"BLOCK": 1024}),
        triton.Config({"BLOCK": 100}),
    ],
    key=["n"],
)
@triton.jit
def scale(y_ptr, x_ptr, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * factor, mask=at < n)


ROWS = [triton.Config({"BLOCK_M": m, "BLOCK_N": 128, "BLOCK_K": 128}, num_warps=8, num_stages=4) for m in (128, 256)]


@triton.autotune(configs=ROWS + [triton.Config({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32})], key=["K"])
@triton.jit
def product(
    c_ptr, a_ptr, b_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for at in range(0, K, BLOCK_K):
        inner = at + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :])
        b = tl.load(b_ptr + inner[:, None] * N + cols[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc)


def main():
    x = torch.randn(100_000, device="cuda")
    y = torch.empty_like(x)
    scale[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](y, x, x.numel(), 3.0)
    torch.testing.assert_close(y, x * 3.0)
    M, N, K = 256, 128, 256
    a = torch.randn((M, K), device="cuda", dtype=torch.float16)
    b = torch.randn((K, N), device="cuda", dtype=torch.float16)
    c = torch.empty((M, N), device="cuda")
    product[lambda meta: (M // meta["BLOCK_M"], N // meta["BLOCK_N"])](c, a, b, M, N, K)
    torch.testing.assert_close(c, (a @ b).float(), rtol=1e-2, atol=1e-2)


main()
