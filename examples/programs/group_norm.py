"""Group normalisation of images through a closure of options and `functools.partial`."""

import functools

import torch
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def group_norm_kernel(x_ptr, y_ptr, w_ptr, b_ptr, channels, pixels, eps, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    image = tl.program_id(0)
    group = tl.program_id(1)
    width = channels // GROUPS
    count = width * pixels
    base = (image * channels + group * width) * pixels
    total = tl.zeros((BLOCK,), tl.float32)
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, count, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + base + at, mask=at < count, other=0.0).to(tl.float32)
        total += x
        squares += x * x
    mean = tl.sum(total) / count
    scale = tl.rsqrt(tl.sum(squares) / count - mean * mean + eps)
    for start in range(0, count, BLOCK):
        at = start + tl.arange(0, BLOCK)
        channel = group * width + at // pixels
        x = tl.load(x_ptr + base + at, mask=at < count, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + channel, mask=at < count, other=0.0)
        b = tl.load(b_ptr + channel, mask=at < count, other=0.0)
        tl.store(y_ptr + base + at, (x - mean) * scale * w + b, mask=at < count)


def group_norm(x, groups, weight, bias, eps=1e-5, block=256):
    images, channels = x.shape[:2]
    y = torch.empty_like(x)
    pixels = x.numel() // (images * channels)
    launch = functools.partial(group_norm_kernel[(images, groups)], GROUPS=groups, BLOCK=block)
    launch(x, y, weight, bias, channels, pixels, eps)
    return y


x = torch.randn(3, 24, 9, 11, device="cuda") + 1.5
weight, bias = torch.rand(24, device="cuda"), torch.randn(24, device="cuda")
groups = x.reshape(3, 4, -1)
mean, variance = groups.mean(-1, keepdim=True), groups.var(-1, unbiased=False, keepdim=True)
normal = ((groups - mean) / torch.sqrt(variance + 1e-5)).view_as(x)
expected = normal * weight[None, :, None, None] + bias[None, :, None, None]
torch.testing.assert_close(group_norm(x, 4, weight, bias), expected, atol=1e-4, rtol=1e-4)
torch.testing.assert_close(group_norm(x, 4, weight, bias), F.group_norm(x, 4, weight, bias), atol=1e-4, rtol=1e-4)
