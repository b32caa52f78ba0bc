"""Matrix products: every type, precision and transposition, many shapes, accumulators, batches, scaled products."""

import numpy as np

from dtypes import *
from suite import Bits, Norm

FILE = "dots"


def number(rng, t, *shape):
    if not is_float(t):
        return rng.integers(-128, 128, shape).astype(t)
    return (rng.standard_normal(shape) * 0.5).astype(t)


def bound(t, k, precision="tf32"):
    """Products are exact in f32 but for f32 operands; sums are in f32, or f64, or exact; Hopper's sums of 8-bit floats keep 13 bits behind the
    largest of the terms that are added at once."""
    if t in (f8e4m3, f8e5m2):
        return 2.0**-12
    if t == f64:
        return 4 * float(info(f64).eps) * np.sqrt(k)
    if t == f32 and precision == "tf32":
        return 4 * 2.0**-10
    return 4 * float(info(f32).eps) * np.sqrt(k) + (0 if precision != "bf16x3" else 2.0**-15)


def cases(s):
    s.kernel(FILE, """
@triton.jit
def tile(X, M: tl.constexpr, N: tl.constexpr, TURNED: tl.constexpr):
    # Stored turned, a tile is loaded as it lies and turned in the kernel.
    if TURNED:
        return tl.trans(tl.load(X + tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :]))
    else:
        return tl.load(X + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])


@triton.jit
def put(Y, y):
    tl.store(Y + tl.arange(0, y.shape[0])[:, None] * y.shape[1] + tl.arange(0, y.shape[1])[None, :], y)


@triton.jit
def dot(A, B, C, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TA: tl.constexpr, TB: tl.constexpr, PRECISION: tl.constexpr):
    put(C, tl.dot(tile(A, M, K, TA), tile(B, K, N, TB), input_precision=PRECISION))


@triton.jit
def dot_out(A, B, C, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, T: tl.constexpr):
    put(C, tl.dot(tile(A, M, K, False), tile(B, K, N, False), out_dtype=T))


@triton.jit
def dot_acc(A, B, D, C, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, T: tl.constexpr):
    put(C, tl.dot(tile(A, M, K, False), tile(B, K, N, False), tile(D, M, N, False), out_dtype=T))


@triton.jit
def dot_loop(A, B, C, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, i = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    c = tl.zeros((M, N), C.dtype.element_ty)
    for at in range(0, k, K):
        a = tl.load(A + m[:, None] * k + (at + i)[None, :], mask=(at + i)[None, :] < k, other=0.0)
        b = tl.load(B + (at + i)[:, None] * N + n[None, :], mask=(at + i)[:, None] < k, other=0.0)
        c = tl.dot(a, b, c, out_dtype=C.dtype.element_ty)
    put(C, c)


@triton.jit
def chain(A, B, D, C, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, P: tl.constexpr):
    c = tl.dot(tile(A, M, K, False), tile(B, K, N, False))
    put(C, tl.dot(c.to(tl.float16), tile(D, N, P, False)))


@triton.jit
def batched(A, B, C, S: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    z, m, n, k = tl.arange(0, S)[:, None, None], tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(A + z * (M * K) + m[None, :, None] * K + k[None, None, :])
    b = tl.load(B + z * (K * N) + k[None, :, None] * N + n[None, None, :])
    tl.store(C + z * (M * N) + m[None, :, None] * N + n[None, None, :], tl.dot(a, b))
""")
    every = ((f16, None), (bf16, None), (f32, "tf32"), (f32, "tf32x3"), (f32, "ieee"), (f64, None), (i8, None), (f8e4m3, None), (f8e5m2, None))
    for t, precision in every:
        rng = s.random(f"dot {t} {precision}")
        name = name_of(t) + (f"_{precision}" if precision else "")
        out = f64 if t == f64 else i32 if t == i8 else f32
        shapes = [(16, 16, 32), (64, 64, 64), (128, 32, 64), (32, 128, 32), (16, 64, 128), (128, 128, 32)]
        for m, n, k in shapes if t != f64 else shapes[:4]:
            for ta, tb in ((False, False), (True, False), (False, True), (True, True)):
                if (ta or tb) and (m, n, k) not in ((16, 16, 32), (64, 64, 64)):
                    continue
                a, b = number(rng, t, m, k), number(rng, t, k, n)
                y = f(a) @ f(b)
                want = Bits(y, i32) if t == i8 else Norm(y, bound(t, k, precision or ""), out)
                tag = f"{name}_{m}x{n}x{k}{'_ta' if ta else ''}{'_tb' if tb else ''}"
                meta = {"M": m, "N": n, "K": k, "TA": ta, "TB": tb, "PRECISION": precision or "tf32"}
                s.launch(FILE, f"dot_{tag}", "dot", {"A": a.T if ta else a, "B": b.T if tb else b, "C": want}, meta)
        for warps in (1, 2, 8):
            m, n, k = 64, 64, 32
            a, b = number(rng, t, m, k), number(rng, t, k, n)
            want = Bits(f(a) @ f(b), i32) if t == i8 else Norm(f(a) @ f(b), bound(t, k, precision or ""), out)
            s.launch(FILE, f"dot_{name}_w{warps}", "dot", {"A": a, "B": b, "C": want}, {"M": m, "N": n, "K": k, "TA": False, "TB": False, "PRECISION": precision or "tf32"}, num_warps=warps)
        # Along K in a loop, with a part left over.
        k = 150
        a, b = number(rng, t, 64, k), number(rng, t, k, 32)
        want = Bits(f(a) @ f(b), i32) if t == i8 else Norm(f(a) @ f(b), bound(t, k, precision or "" if t != f32 else "tf32"), out)
        if precision in (None, "tf32"):
            s.launch(FILE, f"loop_{name}", "dot_loop", {"A": a, "B": b, "C": want, "k": k}, {"M": 64, "N": 32, "K": 32})
            d = number(rng, out, 64, 32)
            a, b = number(rng, t, 64, 32), number(rng, t, 32, 32)
            y = f(a) @ f(b) + f(d)
            want = Bits(y, i32) if t == i8 else Norm(y, bound(t, 32, "tf32"), out)
            s.launch(FILE, f"acc_{name}", "dot_acc", {"A": a, "B": b, "D": d, "C": want}, {"M": 64, "N": 32, "K": 32, "T": TL[out]})
        if t in (f16, bf16, f32) and precision in (None, "tf32"):
            for batch, m, n, k in ((2, 32, 32, 32), (4, 16, 16, 16), (1, 64, 16, 32)):
                a, b = number(rng, t, batch, m, k), number(rng, t, batch, k, n)
                s.launch(FILE, f"batched_{name}_{batch}x{m}", "batched", {"A": a, "B": b, "C": Norm(f(a) @ f(b), bound(t, k, "tf32"), f32)}, {"S": batch, "M": m, "N": n, "K": k})
        # Tiles that are smaller than what tensor cores multiply at once are repeated there, by one warp and by many.
        for m, n, k, warps in ((1, 2, 32, 1), (2, 4, 32, 1), (4, 16, 32, 4), (16, 4, 64, 4), (8, 64, 64, 4), (1, 128, 64, 8), (64, 2, 32, 2), (8, 1, 32, 1)):
            a, b = number(rng, t, m, k), number(rng, t, k, n)
            want = Bits(f(a) @ f(b), i32) if t == i8 else Norm(f(a) @ f(b), bound(t, k, precision or ""), out)
            meta = {"M": m, "N": n, "K": k, "TA": False, "TB": False, "PRECISION": precision or "tf32"}
            s.launch(FILE, f"small_{name}_{m}x{n}x{k}", "dot", {"A": a, "B": b, "C": want}, meta, num_warps=warps)
    for m, n, k in ((4, 64, 32), (64, 4, 32)):
        a, b = number(s.random("small loop"), f16, m, 150), number(s.random("small loop b"), f16, 150, n)
        s.launch(FILE, f"small_loop_{m}x{n}", "dot_loop", {"A": a, "B": b, "C": Norm(f(a) @ f(b), bound(f16, 150), f32), "k": 150}, {"M": m, "N": n, "K": k})
        a, b = number(s.random("small batch"), f16, 4, m, k), number(s.random("small batch b"), f16, 4, k, n)
        s.launch(FILE, f"small_batched_{m}x{n}", "batched", {"A": a, "B": b, "C": Norm(f(a) @ f(b), bound(f16, k), f32)}, {"S": 4, "M": m, "N": n, "K": k})
    a, b, d = number(rng, f16, 8, 32), number(rng, f16, 32, 64), number(rng, f16, 64, 16)
    y = f((f(a) @ f(b)).astype(f16)) @ f(d)
    s.launch(FILE, "small_chain", "chain", {"A": a, "B": b, "D": d, "C": Norm(y, 2.0**-10, f32)}, {"M": 8, "N": 64, "K": 32, "P": 16})
    a, b, d = number(rng, f16, 4, 64), number(rng, f16, 64, 16), number(rng, f16, 4, 16)
    s.launch(FILE, "small_acc_f16", "dot_acc", {"A": a, "B": b, "D": d, "C": Norm(f(a) @ f(b) + f(d), 4 * float(info(f16).eps) * 8, f16)}, {"M": 4, "N": 16, "K": 64, "T": "tl.float16"})
    # Thin tiles.
    for m, n, k in ((1, 16, 16), (8, 16, 16), (16, 8, 32), (4, 4, 16), (16, 1, 64)):
        a, b = number(s.random("thin"), f16, m, k), number(s.random("thin b"), f16, k, n)
        s.launch(FILE, f"thin_{m}x{n}x{k}", "dot", {"A": a, "B": b, "C": Norm(f(a) @ f(b), bound(f16, k), f32)}, {"M": m, "N": n, "K": k, "TA": False, "TB": False, "PRECISION": "tf32"})
    rng = s.random("out")
    a, b = number(rng, f16, 64, 64), number(rng, f16, 64, 32)
    s.launch(FILE, "out_f16", "dot_out", {"A": a, "B": b, "C": Norm(f(a) @ f(b), 4 * float(info(f16).eps) * 8, f16)}, {"M": 64, "N": 32, "K": 64, "T": "tl.float16"})
    d = number(rng, f16, 64, 32)
    s.launch(FILE, "acc_f16_f16", "dot_acc", {"A": a, "B": b, "D": d, "C": Norm(f(a) @ f(b) + f(d), 4 * float(info(f16).eps) * 8, f16)}, {"M": 64, "N": 32, "K": 64, "T": "tl.float16"})
    a, b = number(rng, f8e4m3, 64, 64), number(rng, f8e5m2, 64, 32)
    for one, other, tag in ((a, b, "e4m3_e5m2"), (a.astype(f32).astype(f8e5m2), b.astype(f32).astype(f8e4m3), "e5m2_e4m3")):
        s.launch(FILE, f"mixed_{tag}", "dot", {"A": one, "B": other, "C": Norm(f(one) @ f(other), 2.0**-12, f32)}, {"M": 64, "N": 32, "K": 64, "TA": False, "TB": False, "PRECISION": "tf32"})
    a, b, d = number(rng, f16, 64, 32), number(rng, f16, 32, 64), number(rng, f16, 64, 16)
    y = f((f(a) @ f(b)).astype(f16)) @ f(d)
    s.launch(FILE, "chain", "chain", {"A": a, "B": b, "D": d, "C": Norm(y, 2.0**-10, f32)}, {"M": 64, "N": 64, "K": 32, "P": 16})
    scaled(s)


E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def packed(rng, *shape):
    """Codes of 4-bit floats, two a byte along the last axis, the first in the low half; and their values."""
    codes = rng.integers(0, 16, shape)
    values = E2M1[codes & 7] * np.where(codes & 8, -1, 1)
    pair = codes.reshape(*shape[:-1], shape[-1] // 2, 2)
    return (pair[..., 0] | pair[..., 1] << 4).astype(u8), values


def scaled(s):
    s.kernel(FILE, """
@triton.jit
def dot_scaled(A, SA, B, SB, C, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, FA: tl.constexpr, FB: tl.constexpr, WA: tl.constexpr, WB: tl.constexpr):
    m, n, g = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // 32)
    ka, kb = tl.arange(0, K // WA), tl.arange(0, K // WB)
    a = tl.load(A + m[:, None] * (K // WA) + ka[None, :])
    # B lies with K innermost.
    b = tl.load(B + n[None, :] * (K // WB) + kb[:, None])
    sa = tl.load(SA + m[:, None] * (K // 32) + g[None, :])
    sb = tl.load(SB + n[:, None] * (K // 32) + g[None, :])
    c = tl.dot_scaled(a, sa, FA, b, sb, FB)
    tl.store(C + m[:, None] * N + n[None, :], c)


@triton.jit
def dot_scaled_left(A, SA, B, C, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, FA: tl.constexpr, FB: tl.constexpr, WA: tl.constexpr):
    m, n, g = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // 32)
    ka, kb = tl.arange(0, K // WA), tl.arange(0, K)
    a = tl.load(A + m[:, None] * (K // WA) + ka[None, :])
    b = tl.load(B + n[None, :] * K + kb[:, None])
    sa = tl.load(SA + m[:, None] * (K // 32) + g[None, :])
    tl.store(C + m[:, None] * N + n[None, :], tl.dot_scaled(a, sa, FA, b, None, FB))
""")
    formats = {"e2m1": None, "e4m3": f8e4m3, "e5m2": f8e5m2, "bf16": bf16, "fp16": f16}

    def operand(rng, kind, rows, k):
        if kind == "e2m1":
            bits, values = packed(rng, rows, k)
            return bits, values, 2
        x = number(rng, formats[kind], rows, k)
        # An 8-bit operand is given as its bits or as its type.
        return x, f(x), 1

    for fa in formats:
        for fb in formats:
            for m, n, k in ((32, 32, 64), (64, 16, 128)):
                rng = s.random(f"scaled {fa} {fb} {k}")
                a, va, wa = operand(rng, fa, m, k)
                b, vb, wb = operand(rng, fb, n, k)
                sa, sb = (rng.integers(122, 131, (r, k // 32)).astype(u8) for r in (m, n))
                va = va * np.exp2(np.repeat(sa.astype(f64), 32, 1) - 127)
                meta = {"M": m, "N": n, "K": k, "FA": fa, "FB": fb, "WA": wa}
                if fb in ("bf16", "fp16") and fa not in ("bf16", "fp16"):
                    s.launch(FILE, f"scaled_left_{fa}_{fb}_{k}", "dot_scaled_left", {"A": a, "SA": sa, "B": b, "C": Norm(va @ vb.T, 2.0**-8, f32)}, meta)
                if fa in ("bf16", "fp16") or fb in ("bf16", "fp16"):
                    continue
                vb = vb * np.exp2(np.repeat(sb.astype(f64), 32, 1) - 127)
                s.launch(FILE, f"scaled_{fa}_{fb}_{k}", "dot_scaled", {"A": a, "SA": sa, "B": b, "SB": sb, "C": Norm(va @ vb.T, 2.0**-8, f32)}, {**meta, "WB": wb})
