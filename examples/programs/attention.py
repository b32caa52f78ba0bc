"""Attention that never writes the scores: forward and backward of one causal or full head after the other."""

import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def forward_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, scale, stride_b, stride_n, n_ctx,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    start = tl.program_id(0) * BLOCK_M
    base = tl.program_id(1) * stride_b
    rows = start + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + base + rows[:, None] * stride_n + d[None, :], mask=rows[:, None] < n_ctx, other=0.0)
    most = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    end = min(start + BLOCK_M, n_ctx) if CAUSAL else n_ctx
    for at in range(0, end, BLOCK_N):
        cols = at + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + base + cols[None, :] * stride_n + d[:, None], mask=cols[None, :] < n_ctx, other=0.0)
        v = tl.load(v_ptr + base + cols[:, None] * stride_n + d[None, :], mask=cols[:, None] < n_ctx, other=0.0)
        s = tl.dot(q, k) * scale
        seen = cols[None, :] < n_ctx
        if CAUSAL:
            seen = seen & (rows[:, None] >= cols[None, :])
        s = tl.where(seen, s, -float("inf"))
        larger = tl.maximum(most, tl.max(s, 1))
        p = tl.exp(s - larger[:, None])
        rescale = tl.exp(most - larger)
        total = total * rescale + tl.sum(p, 1)
        acc = tl.dot(p.to(v.dtype), v, acc * rescale[:, None])
        most = larger
    o = acc / total[:, None]
    tl.store(o_ptr + base + rows[:, None] * stride_n + d[None, :], o.to(o_ptr.dtype.element_ty), mask=rows[:, None] < n_ctx)
    tl.store(lse_ptr + tl.program_id(1) * n_ctx + rows, most + tl.log(total), mask=rows < n_ctx)


@triton.jit
def delta_kernel(o_ptr, do_ptr, delta_ptr, stride_b, stride_n, n_ctx, BLOCK: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.program_id(1) * stride_b + rows[:, None] * stride_n + tl.arange(0, D)[None, :]
    o = tl.load(o_ptr + at, mask=rows[:, None] < n_ctx, other=0.0).to(tl.float32)
    do = tl.load(do_ptr + at, mask=rows[:, None] < n_ctx, other=0.0).to(tl.float32)
    tl.store(delta_ptr + tl.program_id(1) * n_ctx + rows, tl.sum(o * do, 1), mask=rows < n_ctx)


@triton.jit
def backward_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, dk_ptr, dv_ptr, scale, stride_b, stride_n, n_ctx,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    base = tl.program_id(1) * stride_b
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    d = tl.arange(0, D)
    inside = cols[:, None] < n_ctx
    k = tl.load(k_ptr + base + cols[:, None] * stride_n + d[None, :], mask=inside, other=0.0)
    v = tl.load(v_ptr + base + cols[:, None] * stride_n + d[None, :], mask=inside, other=0.0)
    dk = tl.zeros((BLOCK_N, D), tl.float32)
    dv = tl.zeros((BLOCK_N, D), tl.float32)
    begin = tl.program_id(0) * BLOCK_N // BLOCK_M * BLOCK_M if CAUSAL else 0
    for at in range(begin, n_ctx, BLOCK_M):
        rows = at + tl.arange(0, BLOCK_M)
        there = rows[:, None] < n_ctx
        q = tl.load(q_ptr + base + rows[:, None] * stride_n + d[None, :], mask=there, other=0.0)
        do = tl.load(do_ptr + base + rows[:, None] * stride_n + d[None, :], mask=there, other=0.0)
        lse = tl.load(lse_ptr + tl.program_id(1) * n_ctx + rows, mask=rows < n_ctx, other=0.0)
        delta = tl.load(delta_ptr + tl.program_id(1) * n_ctx + rows, mask=rows < n_ctx, other=0.0)
        s = tl.dot(q, tl.trans(k)) * scale
        seen = there & (cols[None, :] < n_ctx)
        if CAUSAL:
            seen = seen & (rows[:, None] >= cols[None, :])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dv = tl.dot(tl.trans(p.to(do.dtype)), do, dv)
        dp = tl.dot(do, tl.trans(v))
        ds = (p * (dp - delta[:, None]) * scale).to(q.dtype)
        dk = tl.dot(tl.trans(ds), q, dk)
        dq = tl.dot(ds, k)
        tl.atomic_add(dq_ptr + base + rows[:, None] * stride_n + d[None, :], dq, mask=there)
    tl.store(dk_ptr + base + cols[:, None] * stride_n + d[None, :], dk.to(dk_ptr.dtype.element_ty), mask=inside)
    tl.store(dv_ptr + base + cols[:, None] * stride_n + d[None, :], dv.to(dv_ptr.dtype.element_ty), mask=inside)


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, causal, scale):
        batch, heads, n_ctx, head_dim = q.shape
        assert head_dim in {16, 32, 64, 128}
        o = torch.empty_like(q)
        lse = torch.empty((batch * heads, n_ctx), device=q.device, dtype=torch.float32)
        grid = (triton.cdiv(n_ctx, 64), batch * heads)
        forward_kernel[grid](
            q, k, v, o, lse, scale, q.stride(1), q.stride(2), n_ctx, BLOCK_M=64, BLOCK_N=32, D=head_dim, CAUSAL=causal
        )
        ctx.save_for_backward(q, k, v, o, lse)
        ctx.causal, ctx.scale = causal, scale
        return o

    @staticmethod
    def backward(ctx, do):
        q, k, v, o, lse = ctx.saved_tensors
        batch, heads, n_ctx, head_dim = q.shape
        do = do.contiguous()
        dq = torch.zeros(q.shape, device=q.device, dtype=torch.float32)
        dk, dv = torch.empty_like(k), torch.empty_like(v)
        delta = torch.empty_like(lse)
        delta_kernel[(triton.cdiv(n_ctx, 64), batch * heads)](o, do, delta, o.stride(1), o.stride(2), n_ctx, BLOCK=64, D=head_dim)
        backward_kernel[(triton.cdiv(n_ctx, 32), batch * heads)](
            q, k, v, do, lse, delta, dq, dk, dv, ctx.scale, q.stride(1), q.stride(2), n_ctx,
            BLOCK_M=32, BLOCK_N=32, D=head_dim, CAUSAL=ctx.causal,
        )  # fmt: skip
        return dq.to(q.dtype), dk, dv, None, None


attention = Attention.apply


@pytest.mark.parametrize("Z, H, N_CTX, HEAD_DIM", [(1, 2, 160, 32)])
@pytest.mark.parametrize("causal", [True, False])
def test_attention(Z, H, N_CTX, HEAD_DIM, causal, dtype=torch.float16):
    torch.manual_seed(20)
    q = torch.empty((Z, H, N_CTX, HEAD_DIM), dtype=dtype, device="cuda").normal_(mean=0.0, std=0.5).requires_grad_()
    k = torch.empty((Z, H, N_CTX, HEAD_DIM), dtype=dtype, device="cuda").normal_(mean=0.0, std=0.5).requires_grad_()
    v = torch.empty((Z, H, N_CTX, HEAD_DIM), dtype=dtype, device="cuda").normal_(mean=0.0, std=0.5).requires_grad_()
    scale = 0.5
    do = torch.randn_like(q)

    M = torch.tril(torch.ones((N_CTX, N_CTX), device="cuda"))
    p = torch.matmul(q, k.transpose(2, 3)) * scale
    if causal:
        p[:, :, M == 0] = float("-inf")
    p = torch.softmax(p.float(), dim=-1).to(dtype)
    expected = torch.matmul(p, v).half()
    expected.backward(do)
    expected_dv, v.grad = v.grad.clone(), None
    expected_dk, k.grad = k.grad.clone(), None
    expected_dq, q.grad = q.grad.clone(), None

    out = attention(q, k, v, causal, scale).half()
    out.backward(do)
    dv, v.grad = v.grad.clone(), None
    dk, k.grad = k.grad.clone(), None
    dq, q.grad = q.grad.clone(), None
    torch.testing.assert_close(out, expected, atol=1e-2, rtol=0)
    torch.testing.assert_close(dv, expected_dv, atol=1e-2, rtol=0)
    torch.testing.assert_close(dk, expected_dk, atol=1e-2, rtol=0)
    torch.testing.assert_close(dq, expected_dq, atol=1e-2, rtol=0)
