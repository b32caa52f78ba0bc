import torch
import triton
import triton.language as tl


@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n - 1)


x = torch.randn(1000, device="cuda")
y = torch.zeros_like(x)
double[(4,)](x, y, 1000, BLOCK=256)
torch.testing.assert_close(y, x + x)
assert (y != 0).all()
assert torch.allclose(y[:999], 2 * x[:999], atol=0.001)
double[(4,)](y, x, 1000, BLOCK=256)
assert torch.equal(x[:999], 2 * y[:999])
