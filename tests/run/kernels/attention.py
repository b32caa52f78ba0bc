# /// tritium
# [launch.forward]
# kernel = "attention"
# grid = ["cdiv(T, 64)", "H"]
# sizes = { H = 2, T = 200, D = 32 }
# args = { Q = "f16[H, T, D] = normal(0, 1)", K = "f16[H, T, D] = normal(0, 1)", V = "f16[H, T, D] = normal(0, 1)", O = "f16[H, T, D]", LSE = "f32[H, T]", length = "T", scale = 0.17677669529663687 }
# meta = { D = "D", BLOCK_M = 64, BLOCK_N = 32, CAUSAL = false }
# tolerance = 0.002
#
# [launch.forward_causal]
# kernel = "attention"
# grid = ["cdiv(T, 64)", "H"]
# sizes = { H = 2, T = 128, D = 64 }
# args = { Q = "f16[H, T, D] = normal(0, 1)", K = "f16[H, T, D] = normal(0, 1)", V = "f16[H, T, D] = normal(0, 1)", O = "f16[H, T, D]", LSE = "f32[H, T]", length = "T", scale = 0.125 }
# meta = { D = "D", BLOCK_M = 64, BLOCK_N = 64, CAUSAL = true }
# tolerance = 0.002
#
# [launch.forward_bf16]
# kernel = "attention"
# grid = ["cdiv(T, 128)", "H"]
# sizes = { H = 1, T = 256, D = 64 }
# args = { Q = "bf16[H, T, D] = normal(0, 1)", K = "bf16[H, T, D] = normal(0, 1)", V = "bf16[H, T, D] = normal(0, 1)", O = "bf16[H, T, D]", LSE = "f32[H, T]", length = "T", scale = 0.125 }
# meta = { D = "D", BLOCK_M = 128, BLOCK_N = 64, CAUSAL = true }
# num_warps = 8
# tolerance = 0.02
#
# [launch.forward_wide]
# kernel = "attention"
# grid = ["cdiv(T, 128)", "H"]
# sizes = { H = 1, T = 300, D = 128 }
# args = { Q = "f16[H, T, D] = normal(0, 1)", K = "f16[H, T, D] = normal(0, 1)", V = "f16[H, T, D] = normal(0, 1)", O = "f16[H, T, D]", LSE = "f32[H, T]", length = "T", scale = 0.08838834764831845 }
# meta = { D = "D", BLOCK_M = 128, BLOCK_N = 64, CAUSAL = false }
# num_warps = 8
# num_stages = 3
# tolerance = 0.002
#
# [launch.delta]
# kernel = "attention_delta"
# grid = ["cdiv(T, 32)", "H"]
# sizes = { H = 2, T = 100, D = 32 }
# args = { O = "f16[H, T, D] = normal(0, 1)", DO = "f16[H, T, D] = normal(0, 1)", DELTA = "f32[H, T]", length = "T" }
# meta = { D = "D", BLOCK_M = 32 }
# expect = { DELTA = "sum(O * DO, axis=2)" }
#
# [launch.backward]
# kernel = "attention_backward"
# grid = ["cdiv(T, 32)", "H"]
# sizes = { H = 2, T = 96, D = 32 }
# args = { Q = "f16[H, T, D] = normal(0, 1)", K = "f16[H, T, D] = normal(0, 1)", V = "f16[H, T, D] = normal(0, 1)", DO = "f16[H, T, D] = normal(0, 1)", LSE = "f32[H, T] = uniform(6, 8)", DELTA = "f32[H, T] = normal(0, 1)", DQ = "f32[H, T, D] = zeros()", DK = "f16[H, T, D]", DV = "f16[H, T, D]", length = "T", scale = 0.17677669529663687 }
# meta = { D = "D", BLOCK_M = 32, BLOCK_N = 32, CAUSAL = false }
# tolerance = 0.004
#
# [launch.backward_causal]
# kernel = "attention_backward"
# grid = ["cdiv(T, 32)", "H"]
# sizes = { H = 1, T = 100, D = 32 }
# args = { Q = "f16[H, T, D] = normal(0, 1)", K = "f16[H, T, D] = normal(0, 1)", V = "f16[H, T, D] = normal(0, 1)", DO = "f16[H, T, D] = normal(0, 1)", LSE = "f32[H, T] = uniform(6, 8)", DELTA = "f32[H, T] = normal(0, 1)", DQ = "f32[H, T, D] = zeros()", DK = "f16[H, T, D]", DV = "f16[H, T, D]", length = "T", scale = 0.17677669529663687 }
# meta = { D = "D", BLOCK_M = 32, BLOCK_N = 32, CAUSAL = true }
# tolerance = 0.004
# ///
"""Attention without the square matrix: forward with running maxima and sums, and the gradients from the saved log-sums."""

import triton
import triton.language as tl


@triton.jit
def attention(Q, K, V, O, LSE, length, scale, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr):
    head = tl.program_id(1) * length
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rd = tl.arange(0, D)
    q = tl.load(Q + (head + rm)[:, None] * D + rd[None, :], mask=rm[:, None] < length, other=0.0)
    high = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    # Powers of two are what the hardware has.
    scale2 = scale * 1.4426950408889634
    end = min(length, (tl.program_id(0) + 1) * BLOCK_M) if CAUSAL else length
    for start in range(0, end, BLOCK_N):
        rn = start + tl.arange(0, BLOCK_N)
        k = tl.load(K + (head + rn)[None, :] * D + rd[:, None], mask=rn[None, :] < length, other=0.0)
        s = tl.dot(q, k) * scale2
        seen = rn[None, :] < length
        if CAUSAL:
            seen = seen & (rn[None, :] <= rm[:, None])
        s = tl.where(seen, s, float("-inf"))
        higher = tl.maximum(high, tl.max(s, axis=1))
        p = tl.exp2(s - higher[:, None])
        fade = tl.exp2(high - higher)
        total = total * fade + tl.sum(p, axis=1)
        v = tl.load(V + (head + rn)[:, None] * D + rd[None, :], mask=rn[:, None] < length, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * fade[:, None])
        high = higher
    acc = acc / total[:, None]
    tl.store(O + (head + rm)[:, None] * D + rd[None, :], acc.to(O.dtype.element_ty), mask=rm[:, None] < length)
    tl.store(LSE + head + rm, (high + tl.log2(total)) * 0.6931471805599453, mask=rm < length)


@triton.jit
def attention_delta(O, DO, DELTA, length, D: tl.constexpr, BLOCK_M: tl.constexpr):
    head = tl.program_id(1) * length
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    at = (head + rm)[:, None] * D + tl.arange(0, D)[None, :]
    o = tl.load(O + at, mask=rm[:, None] < length, other=0.0).to(tl.float32)
    do = tl.load(DO + at, mask=rm[:, None] < length, other=0.0).to(tl.float32)
    tl.store(DELTA + head + rm, tl.sum(o * do, axis=1), mask=rm < length)


@triton.jit
def attention_backward(Q, K, V, DO, LSE, DELTA, DQ, DK, DV, length, scale, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr):
    # One program holds some keys and values and walks over the queries; the queries' gradients are added up by atomics.
    head = tl.program_id(1) * length
    first = tl.program_id(0) * BLOCK_N
    rn = first + tl.arange(0, BLOCK_N)
    rd = tl.arange(0, D)
    inside = rn[:, None] < length
    k = tl.load(K + (head + rn)[:, None] * D + rd[None, :], mask=inside, other=0.0)
    v = tl.load(V + (head + rn)[:, None] * D + rd[None, :], mask=inside, other=0.0)
    dk = tl.zeros((BLOCK_N, D), tl.float32)
    dv = tl.zeros((BLOCK_N, D), tl.float32)
    start = first // BLOCK_M * BLOCK_M if CAUSAL else 0
    for m in range(start, length, BLOCK_M):
        rm = m + tl.arange(0, BLOCK_M)
        at = (head + rm)[:, None] * D + rd[None, :]
        q = tl.load(Q + at, mask=rm[:, None] < length, other=0.0)
        do = tl.load(DO + at, mask=rm[:, None] < length, other=0.0)
        lse = tl.load(LSE + head + rm, mask=rm < length, other=0.0)
        delta = tl.load(DELTA + head + rm, mask=rm < length, other=0.0)
        seen = (rm[:, None] < length) & (rn[None, :] < length)
        if CAUSAL:
            seen = seen & (rn[None, :] <= rm[:, None])
        p = tl.where(seen, tl.exp(tl.dot(q, tl.trans(k)) * scale - lse[:, None]), 0.0)
        dv += tl.dot(tl.trans(p.to(do.dtype)), do)
        dp = tl.dot(do, tl.trans(v))
        ds = (p * (dp - delta[:, None]) * scale).to(q.dtype)
        dk += tl.dot(tl.trans(ds), q)
        tl.atomic_add(DQ + at, tl.dot(ds, k), mask=rm[:, None] < length, sem="relaxed")
    tl.store(DK + (head + rn)[:, None] * D + rd[None, :], dk.to(DK.dtype.element_ty), mask=inside)
    tl.store(DV + (head + rn)[:, None] * D + rd[None, :], dv.to(DV.dtype.element_ty), mask=inside)
