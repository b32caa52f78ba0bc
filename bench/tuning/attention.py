"""Causal attention of f16 heads under a tuner of 32 configurations."""

import torch
import triton
import triton.language as tl

SIZES = [1024, 2048, 4096]


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": m, "BLOCK_N": n}, num_warps=warps, num_stages=stages)
        for m in [64, 128]
        for n in [32, 64, 128, 256]
        for warps in [4, 8]
        for stages in [2, 3]
    ],
    key=["n_ctx"],
)
@triton.jit
def attend(q_ptr, k_ptr, v_ptr, o_ptr, scale, stride_h, n_ctx, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr):
    start = tl.program_id(0) * BLOCK_M
    base = tl.program_id(1) * stride_h
    rows = start + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + base + rows[:, None] * D + d[None, :], mask=rows[:, None] < n_ctx, other=0.0)
    most = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    for at in range(0, min(start + BLOCK_M, n_ctx), BLOCK_N):
        cols = at + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + base + cols[None, :] * D + d[:, None], mask=cols[None, :] < n_ctx, other=0.0)
        v = tl.load(v_ptr + base + cols[:, None] * D + d[None, :], mask=cols[:, None] < n_ctx, other=0.0)
        s = tl.dot(q, k) * scale
        s = tl.where((cols[None, :] < n_ctx) & (rows[:, None] >= cols[None, :]), s, -float("inf"))
        larger = tl.maximum(most, tl.max(s, 1))
        p = tl.exp2(s - larger[:, None])
        rescale = tl.exp2(most - larger)
        total = total * rescale + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), v, acc * rescale[:, None])
        most = larger
    o = acc / total[:, None]
    tl.store(o_ptr + base + rows[:, None] * D + d[None, :], o.to(tl.float16), mask=rows[:, None] < n_ctx)


def run(n, heads=32, d=64):
    q = torch.randn((heads, n, d), device="cuda", dtype=torch.float16)
    k = torch.randn((heads, n, d), device="cuda", dtype=torch.float16)
    v = torch.randn((heads, n, d), device="cuda", dtype=torch.float16)
    o = torch.empty((heads, n, d), device="cuda", dtype=torch.float16)
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK_M"]), heads)
    attend[grid](q, k, v, o, d**-0.5 * 1.44269504, q.stride(0), n, D=d)
    return o, torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


KERNEL = attend

if __name__ == "__main__":
    for n in SIZES:
        torch.testing.assert_close(*run(n), atol=1e-2, rtol=1e-2)
