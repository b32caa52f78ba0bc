"""Sums of segments that lie one after the other, and a histogram of their lengths."""

import torch
import triton
import triton.language as tl


@triton.jit
def segment_kernel(x_ptr, offsets_ptr, out_ptr, BLOCK: tl.constexpr):
    segment = tl.program_id(0)
    begin = tl.load(offsets_ptr + segment)
    end = tl.load(offsets_ptr + segment + 1)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(begin, end, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + at, mask=at < end, other=0.0)
    tl.store(out_ptr + segment, tl.sum(total))


@triton.jit
def histogram_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=BINS - 1)
    counts = tl.histogram(x, BINS)
    tl.atomic_add(out_ptr + tl.arange(0, BINS), counts)


lengths = torch.randint(0, 50, (30,), device="cuda", dtype=torch.int32)
offsets = torch.cat([torch.zeros(1, device="cuda", dtype=torch.int64), torch.cumsum(lengths, dim=0)])
x = torch.randn(30 * 50, device="cuda")
sums = torch.empty(30, device="cuda")
segment_kernel[(30,)](x, offsets, sums, BLOCK=64)

# The sum up to the end less the sum up to the beginning.
running = torch.cat([torch.zeros(1, device="cuda"), torch.cumsum(x, dim=0)])
expected = running[offsets[1:]] - running[offsets[:-1]]
torch.testing.assert_close(sums, expected, atol=1e-4, rtol=1e-4)

counts = torch.zeros(64, device="cuda", dtype=torch.int32)
histogram_kernel[(1,)](lengths, counts, 30, BLOCK=32, BINS=64)
expected_counts = (lengths[:, None] == torch.arange(64, device="cuda")[None, :]).sum(0)
assert torch.equal(counts[:50].long(), expected_counts[:50])
