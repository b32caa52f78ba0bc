"""Row-wise softmax, forward and backward, as a `torch.autograd.Function` under pytest."""

import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_forward(y_ptr, x_ptr, x_stride, y_stride, n_rows, n_cols, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0), num_stages=STAGES):
        x = tl.load(x_ptr + row * x_stride + cols, mask=mask, other=-float("inf"))
        numerator = tl.exp(x - tl.max(x, axis=0))
        tl.store(y_ptr + row * y_stride + cols, numerator / tl.sum(numerator, axis=0), mask=mask)


@triton.jit
def softmax_backward(dx_ptr, y_ptr, dy_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0) * n_cols
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    y = tl.load(y_ptr + row + cols, mask=mask, other=0.0)
    dy = tl.load(dy_ptr + row + cols, mask=mask, other=0.0)
    tl.store(dx_ptr + row + cols, y * (dy - tl.sum(y * dy, axis=0)), mask=mask)


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        n_rows, n_cols = x.shape
        y = torch.empty_like(x)
        grid = (min(n_rows, 64),)
        block = triton.next_power_of_2(n_cols)
        softmax_forward[grid](y, x, x.stride(0), y.stride(0), n_rows, n_cols, BLOCK=block, STAGES=2)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy):
        (y,) = ctx.saved_tensors
        dx = torch.empty_like(y)
        n_rows, n_cols = y.shape
        softmax_backward[(n_rows,)](dx, y, dy.contiguous(), n_cols, BLOCK=triton.next_power_of_2(n_cols))
        return dx


@pytest.mark.parametrize("shape", [(183, 781), (64, 128)])
def test_softmax(shape):
    torch.manual_seed(0)
    x = torch.randn(shape, device="cuda", requires_grad=True)
    dy = torch.randn_like(x)

    y = Softmax.apply(x)
    y.backward(dy)
    dx, x.grad = x.grad, None

    expected = torch.softmax(x, dim=-1)
    expected.backward(dy)
    torch.testing.assert_close(y, expected)
    torch.testing.assert_close(dx, x.grad)
