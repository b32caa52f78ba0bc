"""Functions of CUDA's libdevice."""

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def asin_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(y_ptr + offsets, libdevice.asin(x), mask=mask)


torch.manual_seed(0)
size = 98432
x = torch.rand(size, device="cuda")
y = torch.zeros(size, device="cuda")
n_elements = y.numel()
grid = lambda meta: (triton.cdiv(n_elements, meta["BLOCK"]),)
asin_kernel[grid](x, y, n_elements, BLOCK=1024)
print(f"largest difference: {torch.max(torch.abs(y - torch.asin(x)))}")
torch.testing.assert_close(y, torch.asin(x))
