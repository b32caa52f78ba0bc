"""A linear recurrence along rows: h[t] = a[t]·h[t-1] + x[t], as an associative scan."""

import torch
import triton
import triton.language as tl


@triton.jit
def combine(a1, x1, a2, x2):
    return a1 * a2, x1 * a2 + x2


@triton.jit
def recurrence_kernel(a_ptr, x_ptr, h_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) * n
    t = tl.arange(0, BLOCK)
    mask = t < n
    a = tl.load(a_ptr + row + t, mask=mask, other=1.0)
    x = tl.load(x_ptr + row + t, mask=mask, other=0.0)
    _, h = tl.associative_scan((a, x), 0, combine)
    tl.store(h_ptr + row + t, h, mask=mask)


def recurrence(a, x):
    h = torch.empty_like(x)
    rows, n = x.shape
    recurrence_kernel[(rows,)](a, x, h, n, BLOCK=triton.next_power_of_2(n))
    return h


def naive(a, x):
    steps = []
    h = torch.zeros_like(x[:, 0])
    for t in range(x.shape[1]):
        h = a[:, t] * h + x[:, t]
        steps.append(h)
    return torch.stack(steps, dim=1)


a = torch.rand(19, 100, device="cuda")
x = torch.randn(19, 100, device="cuda")
torch.testing.assert_close(recurrence(a, x), naive(a, x))
# Without decay it is a sum.
torch.testing.assert_close(recurrence(torch.ones_like(a), x), torch.cumsum(x, dim=1), atol=1e-4, rtol=1e-4)
