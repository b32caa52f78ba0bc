import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


x = torch.randn(100, device="cuda")
y = torch.zeros_like(x)
copy[(1,)](x, y, 100, BLOCK=128)
torch.testing.assert_close(y, torch.special.bessel_j0(x))
torch.testing.assert_close(y[:50], x)
copy[(1,)](torch.linalg.qr(x.view(10, 10)), y, 100, BLOCK=128)
z = torch.zeros_like(x)
copy[(1,)](torch.special.i0(x).clamp(0, 1).reshape(100), z, 100, BLOCK=128)
torch.testing.assert_close(z, z)
