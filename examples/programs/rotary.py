"""Rotary position embedding in place, with the transpose of itself as gradient."""

import torch
import triton
import triton.language as tl


@triton.jit
def rotary_kernel(x_ptr, cos_ptr, sin_ptr, stride_row, HALF: tl.constexpr, BACKWARD: tl.constexpr):
    position = tl.program_id(0)
    head = tl.program_id(1)
    d = tl.arange(0, HALF)
    cos = tl.load(cos_ptr + position * HALF + d)
    sin = tl.load(sin_ptr + position * HALF + d)
    if BACKWARD:
        sin = -sin
    base = x_ptr + position * stride_row + head * 2 * HALF
    a = tl.load(base + d)
    b = tl.load(base + HALF + d)
    tl.store(base + d, a * cos - b * sin)
    tl.store(base + HALF + d, b * cos + a * sin)


def rotate(x, cos, sin, backward=False):
    seq, heads, dim = x.shape
    rotary_kernel[(seq, heads)](x, cos, sin, x.stride(0), HALF=dim // 2, BACKWARD=backward)
    return x


def tables(seq, half, base=10000.0):
    frequency = 1.0 / (base ** (torch.arange(0, half, device="cuda").float() / half))
    angle = torch.outer(torch.arange(seq, device="cuda").float(), frequency)
    return angle.cos(), angle.sin()


def reference(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    cos, sin = cos[:, None, :], sin[:, None, :]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


cos, sin = tables(50, 32)
x = torch.randn(50, 6, 64, device="cuda")
expected = reference(x, cos, sin)
y = rotate(x.clone(), cos, sin)
assert torch.allclose(y, expected, atol=1e-5)
# Turning back gives what was turned.
assert torch.allclose(rotate(y, cos, sin, backward=True), x, atol=1e-5)
