"""Layer normalisation of f16 rows in two passes under a tuner of 20 configurations."""

import torch
import triton
import triton.language as tl

SIZES = [1024, 4096, 16384]


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": block}, num_warps=warps) for block in [256, 512, 1024, 2048, 4096] for warps in [2, 4, 8, 16]
    ],
    key=["n"],
)
@triton.jit
def layer_norm(x_ptr, y_ptr, w_ptr, b_ptr, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * stride
    cols = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    squares = tl.zeros((BLOCK,), tl.float32)
    for at in range(0, n, BLOCK):
        x = tl.load(x_ptr + row + at + cols, mask=at + cols < n, other=0.0).to(tl.float32)
        total += x
        squares += x * x
    mean = tl.sum(total, 0) / n
    rstd = tl.rsqrt(tl.sum(squares, 0) / n - mean * mean + eps)
    for at in range(0, n, BLOCK):
        mask = at + cols < n
        w = tl.load(w_ptr + at + cols, mask=mask, other=0.0).to(tl.float32)
        b = tl.load(b_ptr + at + cols, mask=mask, other=0.0).to(tl.float32)
        x = tl.load(x_ptr + row + at + cols, mask=mask, other=0.0).to(tl.float32)
        tl.store(y_ptr + row + at + cols, ((x - mean) * rstd * w + b).to(tl.float16), mask=mask)


def run(n, rows=4096):
    x = torch.randn((rows, n), device="cuda", dtype=torch.float16)
    w = torch.randn((n,), device="cuda", dtype=torch.float16)
    b = torch.randn((n,), device="cuda", dtype=torch.float16)
    y = torch.empty_like(x)
    layer_norm[(rows,)](x, y, w, b, x.stride(0), n, 1e-5)
    return y, torch.nn.functional.layer_norm(x, (n,), w, b, 1e-5)


KERNEL = layer_norm

if __name__ == "__main__":
    for n in SIZES:
        torch.testing.assert_close(*run(n), atol=1e-2, rtol=1e-2)
