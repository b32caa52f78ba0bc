"""A causal depthwise convolution along time, as state-space models have it."""

import torch
import triton
import triton.language as tl


@triton.jit
def conv_kernel(x_ptr, w_ptr, b_ptr, y_ptr, T, C, WIDTH: tl.constexpr, BLOCK_T: tl.constexpr, BLOCK_C: tl.constexpr):
    t = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    c = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    batch = tl.program_id(2) * T * C
    inside = (t[:, None] < T) & (c[None, :] < C)
    acc = tl.zeros((BLOCK_T, BLOCK_C), tl.float32) + tl.load(b_ptr + c, mask=c < C, other=0.0)[None, :]
    for i in tl.static_range(WIDTH):
        at = t - (WIDTH - 1 - i)
        seen = (at[:, None] >= 0) & inside
        x = tl.load(x_ptr + batch + at[:, None] * C + c[None, :], mask=seen, other=0.0)
        w = tl.load(w_ptr + c * WIDTH + i, mask=c < C, other=0.0)
        acc += x * w[None, :]
    tl.store(y_ptr + batch + t[:, None] * C + c[None, :], acc * tl.sigmoid(acc), mask=inside)


def causal_conv(x, weight, bias):
    batch, T, C = x.shape
    y = torch.empty_like(x)
    grid = (triton.cdiv(T, 16), triton.cdiv(C, 64), batch)
    conv_kernel[grid](x, weight, bias, y, T, C, WIDTH=weight.shape[1], BLOCK_T=16, BLOCK_C=64)
    return y


def reference(x, weight, bias):
    out = bias.expand_as(x).clone()
    for i in range(weight.shape[1]):
        shift = weight.shape[1] - 1 - i
        out[:, shift:] += x[:, : x.shape[1] - shift] * weight[:, i]
    return torch.nn.functional.silu(out)


x = torch.randn(2, 45, 100, device="cuda")
weight = torch.randn(100, 4, device="cuda")
bias = torch.randn(100, device="cuda")
torch.testing.assert_close(causal_conv(x, weight, bias), reference(x, weight, bias))
