"""Dropout that keeps a seed instead of a mask."""

import torch
import triton
import triton.language as tl


@triton.jit
def dropout_kernel(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    keep = tl.rand(seed, offsets) > p
    tl.store(out_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=mask)


def dropout(x, p, seed):
    out = torch.empty_like(x)
    assert x.is_contiguous()
    n = x.numel()
    dropout_kernel[(triton.cdiv(n, 1024),)](x, out, n, p, seed, BLOCK=1024)
    return out


x = torch.randn(size=(100_000,), device="cuda")
first = dropout(x, p=0.5, seed=123)
again = dropout(x, p=0.5, seed=123)
other = dropout(x, p=0.5, seed=512)
assert torch.equal(first, again)
assert (first != other).any()
# What is kept is scaled, and about half of it is kept.
kept = first != 0
torch.testing.assert_close(torch.where(kept, first, 0.0), torch.where(kept, x * 2, 0.0))
assert (kept.float().mean() - 0.5).abs() < 0.01
