"""Softmax of long f32 rows in two passes under a tuner of 20 configurations."""

import torch
import triton
import triton.language as tl

SIZES = [1000, 8192, 50257]


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": block}, num_warps=warps) for block in [512, 1024, 2048, 4096, 8192] for warps in [2, 4, 8, 16]
    ],
    key=["n"],
)
@triton.jit
def softmax(y_ptr, x_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * stride
    cols = tl.arange(0, BLOCK)
    most = tl.full((BLOCK,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for at in range(0, n, BLOCK):
        x = tl.load(x_ptr + row + at + cols, mask=at + cols < n, other=-float("inf"))
        larger = tl.maximum(most, x)
        seen = larger > -float("inf")
        total = tl.where(seen, total * tl.exp(most - larger) + tl.exp(x - larger), 0.0)
        most = larger
    highest = tl.max(most, 0)
    scale = 1.0 / tl.sum(total * tl.exp(most - highest), 0)
    for at in range(0, n, BLOCK):
        x = tl.load(x_ptr + row + at + cols, mask=at + cols < n, other=0.0)
        tl.store(y_ptr + row + at + cols, tl.exp(x - highest) * scale, mask=at + cols < n)


def run(n, rows=4096):
    x = torch.randn((rows, n), device="cuda")
    y = torch.empty_like(x)
    softmax[(rows,)](y, x, x.stride(0), n)
    return y, torch.softmax(x, 1)


KERNEL = softmax

if __name__ == "__main__":
    for n in SIZES:
        torch.testing.assert_close(*run(n))
