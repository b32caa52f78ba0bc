"""Layer normalisation with gradients: partial sums of the weight's gradient, then a second kernel that adds them up."""

import torch
import triton
import triton.language as tl


@triton.jit
def forward_kernel(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n
    centered = tl.where(mask, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(centered * centered, axis=0) / n + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    w = tl.load(w_ptr + cols, mask=mask)
    b = tl.load(b_ptr + cols, mask=mask)
    tl.store(y_ptr + row * stride + cols, centered * rstd * w + b, mask=mask)


@triton.jit
def backward_kernel(dx_ptr, dy_ptr, dw_ptr, db_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, stride, n, n_rows, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    dw = tl.zeros((BLOCK,), dtype=tl.float32)
    db = tl.zeros((BLOCK,), dtype=tl.float32)
    for row in range(tl.program_id(0), n_rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
        mean = tl.load(mean_ptr + row)
        rstd = tl.load(rstd_ptr + row)
        x_hat = tl.where(mask, (x - mean) * rstd, 0.0)
        wdy = w * dy
        c1 = tl.sum(x_hat * wdy, axis=0) / n
        c2 = tl.sum(wdy, axis=0) / n
        tl.store(dx_ptr + row * stride + cols, (wdy - (x_hat * c1 + c2)) * rstd, mask=mask)
        dw += dy * x_hat
        db += dy
    part = tl.program_id(0) * n + cols
    tl.store(dw_ptr + part, dw, mask=mask)
    tl.store(db_ptr + part, db, mask=mask)


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, normalized_shape, weight, bias, eps):
        y = torch.empty_like(x)
        rows = x.reshape(-1, x.shape[-1])
        m, n = rows.shape
        mean = torch.empty((m,), dtype=torch.float32, device=x.device)
        rstd = torch.empty((m,), dtype=torch.float32, device=x.device)
        block = triton.next_power_of_2(n)
        if n > block:
            raise RuntimeError("a row does not fit one program")
        warps = min(max(block // 256, 1), 8)
        forward_kernel[(m,)](rows, y, weight, bias, mean, rstd, rows.stride(0), n, eps, BLOCK=block, num_warps=warps)
        ctx.save_for_backward(x, weight, bias, mean, rstd)
        ctx.block, ctx.warps = block, warps
        return y

    @staticmethod
    def backward(ctx, dy):
        x, weight, bias, mean, rstd = ctx.saved_tensors
        rows = x.reshape(-1, x.shape[-1])
        m, n = rows.shape
        programs = min(m, 16)
        dx = torch.empty_like(dy)
        dw = torch.empty((programs, n), dtype=torch.float32, device=x.device)
        db = torch.empty((programs, n), dtype=torch.float32, device=x.device)
        backward_kernel[(programs,)](
            dx, dy, dw, db, rows, weight, mean, rstd, rows.stride(0), n, m, BLOCK=ctx.block, num_warps=ctx.warps
        )
        return dx, None, dw.sum(dim=0).to(weight.dtype), db.sum(dim=0).to(bias.dtype), None


layer_norm = LayerNorm.apply


def test_layer_norm(M=97, N=515, dtype=torch.float32, eps=1e-5, device="cuda"):
    shape = (M, N)
    weight = torch.rand((N,), dtype=dtype, device=device, requires_grad=True)
    bias = torch.rand((N,), dtype=dtype, device=device, requires_grad=True)
    x = -2.3 + 0.5 * torch.randn(shape, dtype=dtype, device=device)
    dy = 0.1 * torch.randn_like(x)
    x.requires_grad_(True)
    y = layer_norm(x, (N,), weight, bias, eps)
    expected = torch.nn.functional.layer_norm(x, (N,), weight, bias, eps).to(dtype)
    y.backward(dy, retain_graph=True)
    dx, dw, db = [t.grad.clone() for t in [x, weight, bias]]
    x.grad, weight.grad, bias.grad = None, None, None
    expected.backward(dy, retain_graph=True)
    assert torch.allclose(y, expected, atol=1e-2, rtol=0)
    assert torch.allclose(dx, x.grad, atol=1e-2, rtol=0)
    assert torch.allclose(db, bias.grad, atol=1e-2, rtol=0)
    assert torch.allclose(dw, weight.grad, atol=1e-2, rtol=0)


if __name__ == "__main__":
    test_layer_norm()
