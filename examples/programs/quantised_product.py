"""A product of f16 activations and int8 weights that have one scale a column."""

import torch
import triton
import triton.language as tl


@triton.jit
def int8_kernel(
    x_ptr, w_ptr, s_ptr, y_ptr, M, N, K, stride_xm, stride_wk, stride_ym,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        ks = k + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + rows[:, None] * stride_xm + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0)
        w = tl.load(w_ptr + ks[:, None] * stride_wk + cols[None, :], mask=(ks[:, None] < K) & (cols[None, :] < N), other=0)
        acc = tl.dot(x, w.to(tl.float16), acc)
    scale = tl.load(s_ptr + cols, mask=cols < N, other=0.0)
    y = (acc * scale[None, :]).to(tl.float16)
    tl.store(y_ptr + rows[:, None] * stride_ym + cols[None, :], y, mask=(rows[:, None] < M) & (cols[None, :] < N))


def quantise(w):
    """One scale a column, so that its largest weight is 127."""
    scale = w.abs().amax(dim=0) / 127
    return torch.round(w / scale).to(torch.int8), scale


def int8_linear(x, w, scale):
    (M, K), N = x.shape, w.shape[1]
    y = torch.empty((M, N), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 64))
    int8_kernel[grid](x, w, scale, y, M, N, K, x.stride(0), w.stride(0), y.stride(0), BLOCK_M=32, BLOCK_N=64, BLOCK_K=64)
    return y


if __name__ == "__main__":
    x = torch.randn(75, 192, device="cuda", dtype=torch.float16)
    w = torch.randn(192, 160, device="cuda")
    q, scale = quantise(w)
    y = int8_linear(x, q, scale)
    torch.testing.assert_close(y.float(), x.float() @ (q.float() * scale), atol=5e-2, rtol=1e-2)
