"""SwiGLU: two halves of one projection, read through strided views."""

import torch
import triton
import triton.language as tl


@triton.jit
def silu(x):
    return x * tl.sigmoid(x)


@triton.jit
def forward_kernel(a_ptr, b_ptr, c_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    a = tl.load(a_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + row * stride + cols, mask=mask, other=0.0)
    tl.store(c_ptr + row * n + cols, silu(a).to(b.dtype) * b, mask=mask)


@triton.jit
def backward_kernel(dc_ptr, a_ptr, b_ptr, da_ptr, db_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    dc = tl.load(dc_ptr + row * n + cols, mask=mask, other=0.0).to(tl.float32)
    a = tl.load(a_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    s = tl.sigmoid(a)
    tl.store(db_ptr + row * stride + cols, dc * a * s, mask=mask)
    tl.store(da_ptr + row * stride + cols, dc * b * (a * s * (1 - s) + s), mask=mask)


class SwiGLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, both):
        a, b = both.chunk(2, dim=-1)
        rows, n = a.shape
        c = torch.empty((rows, n), device=both.device, dtype=both.dtype)
        forward_kernel[(rows,)](a, b, c, a.stride(-2), n, BLOCK=triton.next_power_of_2(n))
        ctx.save_for_backward(both)
        return c

    @staticmethod
    def backward(ctx, dc):
        (both,) = ctx.saved_tensors
        a, b = both.chunk(2, dim=-1)
        rows, n = a.shape
        grad = torch.empty_like(both)
        da, db = grad.chunk(2, dim=-1)
        backward_kernel[(rows,)](dc, a, b, da, db, a.stride(-2), n, BLOCK=triton.next_power_of_2(n))
        return grad


def reference(both):
    a, b = both.chunk(2, dim=-1)
    return torch.nn.functional.silu(a) * b


def test_swiglu():
    both = torch.randn(61, 2 * 352, device="cuda", requires_grad=True)
    dc = torch.randn(61, 352, device="cuda")
    out = SwiGLU.apply(both)
    out.backward(dc)
    ours, both.grad = both.grad, None
    expected = reference(both)
    expected.backward(dc)
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(ours, both.grad)
