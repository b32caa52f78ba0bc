import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


x = torch.randn(100, device="cuda")
y, z = torch.zeros_like(x), torch.zeros_like(x)
copy[(1,)](x, y, 101, BLOCK=128)
copy[(1,)](y, z, 100, BLOCK=128)
torch.testing.assert_close(z, x)
