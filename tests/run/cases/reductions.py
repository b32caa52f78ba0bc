"""Reductions over each axis and over all, by every builtin and by functions of the user's own."""

import numpy as np

from dtypes import *
from suite import Bits, Norm, Within

FILE = "reductions"
SHAPE = (32, 64)


def reduced(t):
    """The type of a sum of a type."""
    return {i1: u32, i8: i32, i16: i32, u8: u32, u16: u32}.get(t, t)


def extreme(t):
    """The type of a maximum of a type."""
    return {i1: i32, i8: i32, i16: i32, u8: i32, u16: i32, f16: f32, bf16: f32}.get(t, t)


def case(s, name, call, t, x, want, axis, warps=4):
    """`want` is that of a whole tile, along `axis` (None: everything)."""
    m, n = x.shape
    if axis is None:
        place, out = "Y", "0"
    else:
        place, out = f"Y + tl.arange(0, {n if axis == 0 else m})", str(axis)
    kernel = f"{name}_{'all' if axis is None else 'axis' + str(axis)}_{m}x{n}"
    s.kernel(FILE, f"""
@triton.jit
def {kernel}(X, Y):
    i = tl.arange(0, {m})[:, None] * {n} + tl.arange(0, {n})[None, :]
    x = tl.load(X + i)
    tl.store({place}, {call.format(axis=axis)})
""")
    if axis is None:
        want.values, want.shape = want.values.reshape(1), (1,)
        if isinstance(want, Within):
            want.tolerance = want.tolerance.reshape(1)
    s.launch(FILE, f"{kernel}_{name_of(t)}_w{warps}", kernel, {"X": x, "Y": want}, num_warps=warps)


def bound(t, n):
    return 4 * float(info(t).eps) * np.sqrt(n)


def cases(s):
    for axis in (0, 1, None):
        n = {0: SHAPE[0], 1: SHAPE[1], None: SHAPE[0] * SHAPE[1]}[axis]
        for t in [i1] + INTS + FLOATS:
            rng = s.random(f"reduce {t} {axis}")
            x = plain(rng, t, SHAPE[0] * SHAPE[1], 1.0).reshape(SHAPE)
            r = reduced(t)
            if is_float(t):
                case(s, "sum", "tl.sum(x, axis={axis})", t, x, Norm(f(x).sum(axis), bound(t, n), r), axis)
            else:
                case(s, "sum", "tl.sum(x, axis={axis})", t, x, Bits(np.sum(x, axis, dtype=r), r), axis)
                case(s, "xor_sum", "tl.xor_sum(x, axis={axis})", t, x, Bits(np.bitwise_xor.reduce(x, axis=axis)), axis)
                case(s, "reduce_or", "tl.reduce_or(x, axis={axis})", t, x, Bits(np.bitwise_or.reduce(x, axis=axis)), axis)
            if t == i1:
                continue
            # NaN is passed over, infinities count.
            if is_float(t):
                x[1, 2], x[3, 5], x[0, 7] = np.nan, np.inf, -np.inf
            pick = (np.fmax, np.fmin) if is_float(t) else (np.maximum, np.minimum)
            for name, fn in zip(("max", "min"), pick):
                y = fn.reduce(f(x) if is_float(t) else x, axis=axis)
                case(s, name, f"tl.{name}(x, axis={{axis}})", t, x, Bits(np.asarray(y), extreme(t)), axis)
            if axis is None:
                continue
            if is_float(t):
                x[1, 2] = 0.25
            # The same extreme more than once: the first counts.
            x[5] = x[9]
            x[:, 11] = x[:, 3]
            for name in ("argmax", "argmin"):
                y = getattr(np, name)(f(x) if is_float(t) else x, axis=axis)
                case(s, name, f"tl.{name}(x, axis={{axis}})", t, x, Bits(y, i32), axis)
    functions(s)
    shapes(s)


def functions(s):
    s.kernel(FILE, """
@triton.jit
def multiply(a, b):
    return a * b


@triton.jit
def complex_multiply(ar, ai, br, bi):
    return ar * br - ai * bi, ar * bi + ai * br


@triton.jit
def first_of_larger(a, ai, b, bi):
    right = (b > a) | ((b == a) & (bi < ai))
    return tl.where(right, b, a), tl.where(right, bi, ai)


@triton.jit
def welford(n1, mean1, m1, n2, mean2, m2):
    n = n1 + n2
    d = mean2 - mean1
    by = tl.where(n == 0, 0.0, n2 / n)
    return n, mean1 + d * by, m1 + m2 + d * d * n1 * by


@triton.jit
def product(X, Y):
    i = tl.arange(0, 16)[:, None] * 32 + tl.arange(0, 32)[None, :]
    tl.store(Y + tl.arange(0, 16), tl.reduce(tl.load(X + i), 1, multiply))


@triton.jit
def complex_product(R, I, YR, YI):
    i = tl.arange(0, 16)[:, None] * 32 + tl.arange(0, 32)[None, :]
    r, m = tl.reduce((tl.load(R + i), tl.load(I + i)), 0, complex_multiply)
    j = tl.arange(0, 32)
    tl.store(YR + j, r)
    tl.store(YI + j, m)


@triton.jit
def largest(X, Y, I):
    i = tl.arange(0, 1024)
    y, at = tl.reduce((tl.load(X + i), i), 0, first_of_larger)
    tl.store(Y, y)
    tl.store(I, at)


@triton.jit
def largest_rows(X, Y, I):
    i = tl.arange(0, 16)[:, None] * 64 + tl.arange(0, 64)[None, :]
    y, at = tl.reduce((tl.load(X + i), tl.broadcast_to(tl.arange(0, 64)[None, :], (16, 64))), 1, first_of_larger)
    tl.store(Y + tl.arange(0, 16), y)
    tl.store(I + tl.arange(0, 16), at)


@triton.jit
def moments(X, MEAN, VAR):
    i = tl.arange(0, 8)[:, None] * 128 + tl.arange(0, 128)[None, :]
    x = tl.load(X + i)
    n, mean, m2 = tl.reduce((tl.full((8, 128), 1.0, tl.float32), x, tl.zeros((8, 128), tl.float32)), 1, welford)
    j = tl.arange(0, 8)
    tl.store(MEAN + j, mean)
    tl.store(VAR + j, m2 / n)


@triton.jit
def with_index(X, Y, I, YL, IL):
    i = tl.arange(0, 16)[:, None] * 32 + tl.arange(0, 32)[None, :]
    x = tl.load(X + i)
    y, at = tl.max(x, axis=1, return_indices=True)
    low, atl = tl.min(x, axis=1, return_indices=True, keep_dims=True)
    j = tl.arange(0, 16)
    tl.store(Y + j, y)
    tl.store(I + j, at)
    tl.store(YL + j[:, None], low)
    tl.store(IL + j[:, None], atl)


@triton.jit
def softmax_builtin(X, Y):
    i = tl.arange(0, 32)[:, None] * 16 + tl.arange(0, 16)[None, :]
    tl.store(Y + i, tl.softmax(tl.load(X + i), dim=1, keep_dims=True))


@triton.jit
def sum_as(X, Y):
    i = tl.arange(0, 16)[:, None] * 32 + tl.arange(0, 32)[None, :]
    y = tl.sum(tl.load(X + i), axis=1, keep_dims=True, dtype=Y.dtype.element_ty)
    tl.store(Y + tl.arange(0, 16)[:, None], y)
""")
    # Partial results of small types, with ties, from every warp.
    for t in (i8, i16, f16):
        for warps in (2, 4, 8):
            x = s.random(f"rows {name_of(t)} {warps}").integers(-5, 5, (16, 64)).astype(t)
            want = {"Y": Bits(x.max(1)), "I": Bits(x.argmax(1), i32)}
            s.launch(FILE, f"largest_rows_{name_of(t)}_w{warps}", "largest_rows", {"X": x, **want}, num_warps=warps)
    # The smallest number has no positive counterpart: it stays what it is, below all others.
    for t in (i8, i16, i32, i64):
        x = plain(s.random(f"abs {name_of(t)}"), t, SHAPE[0] * SHAPE[1], 1.0).reshape(SHAPE)
        x[3::7, ::5], x[5] = info(t).min, info(t).min
        case(s, "max_of_abs", "tl.max(tl.abs(x), axis={axis})", t, x, Bits(np.abs(x).max(1), extreme(t)), 1)
    rng = s.random("functions")
    x = (1 + rng.standard_normal((16, 32)) * 0.2).astype(f32)
    s.launch(FILE, "product", "product", {"X": x, "Y": Norm(f(x).prod(1), bound(f32, 32), f32)})
    xi = rng.integers(1, 4, (16, 32)).astype(i64)
    s.launch(FILE, "product_i64", "product", {"X": xi, "Y": Bits(xi.prod(1))})
    r, m = rng.standard_normal((16, 32)).astype(f32), rng.standard_normal((16, 32)).astype(f32)
    y = (f(r) + 1j * f(m)).prod(0)
    s.launch(FILE, "complex_product", "complex_product", {"R": r, "I": m, "YR": Norm(y.real, 1e-5, f32), "YI": Norm(y.imag, 1e-5, f32)})
    x = rng.integers(0, 200, 1024).astype(i32)
    s.launch(FILE, "largest", "largest", {"X": x, "Y": Bits(x.max(keepdims=True)), "I": Bits(np.array([x.argmax()], i32))})
    x = (rng.standard_normal((8, 128)) * 3 + 5).astype(f32)
    s.launch(FILE, "moments", "moments", {"X": x, "MEAN": Norm(f(x).mean(1), 1e-5, f32), "VAR": Norm(f(x).var(1), 1e-5, f32)})
    for t in (f16, bf16, f32, f64, i32, i16, u8):
        x = plain(rng, t, 512, 1.0).reshape(16, 32)
        x[:, 20] = x[:, 5]
        wide, kept = f(x), {bf16: f32, i16: i16, u8: u8}.get(t, t)
        s.launch(FILE, f"with_index_{name_of(t)}", "with_index", {
            "X": x, "Y": Bits(x.max(1) if t != bf16 else wide.max(1), kept), "I": Bits(wide.argmax(1).astype(i32)),
            "YL": Bits((x.min(1, keepdims=True) if t != bf16 else wide.min(1, keepdims=True)), kept), "IL": Bits(wide.argmin(1)[:, None].astype(i32)),
        })  # fmt: skip
    for t in (f32, f64):
        x = (rng.standard_normal((32, 16)) * 3).astype(t)
        e = np.exp(f(x) - f(x).max(1, keepdims=True))
        s.launch(FILE, f"softmax_{name_of(t)}", "softmax_builtin", {"X": x, "Y": Norm(e / e.sum(1, keepdims=True), bound(t, 16), t)})
    for a, b in ((f16, f32), (bf16, f32), (f32, f64), (i8, i64), (i32, i64), (u8, u64)):
        x = plain(rng, a, 512, 1.0).reshape(16, 32)
        y = f(x).sum(1, keepdims=True)
        want = Norm(y, bound(b, 32), b) if is_float(b) else Bits(np.sum(x, 1, dtype=b, keepdims=True))
        s.launch(FILE, f"sum_{name_of(a)}_as_{name_of(b)}", "sum_as", {"X": x, "Y": want})


def shapes(s):
    """Sums of tiles of many shapes by few and by many warps."""
    for m, n in ((1, 128), (128, 1), (2, 512), (512, 2), (4, 4), (64, 64), (16, 256), (256, 8)):
        for warps in (1, 2, 8):
            for axis in (0, 1):
                x = s.random(f"shape {m} {n}").integers(-1000, 1000, (m, n)).astype(i32)
                case(s, "sum", "tl.sum(x, axis={axis})", i32, x, Bits(x.sum(axis, dtype=i32)), axis, warps)
    s.kernel(FILE, """
@triton.jit
def sum_cube(X, Y, AXIS: tl.constexpr):
    a, b, c = tl.arange(0, 8), tl.arange(0, 4), tl.arange(0, 16)
    x = tl.load(X + a[:, None, None] * 64 + b[None, :, None] * 16 + c[None, None, :])
    y = tl.sum(x, AXIS, keep_dims=True)
    if AXIS == 0:
        tl.store(Y + b[None, :, None] * 16 + c[None, None, :], y)
    elif AXIS == 1:
        tl.store(Y + a[:, None, None] * 16 + c[None, None, :], y)
    else:
        tl.store(Y + a[:, None, None] * 4 + b[None, :, None], y)


@triton.jit
def sum_twice(X, Y):
    i = tl.arange(0, 64)[:, None] * 32 + tl.arange(0, 32)[None, :]
    x = tl.load(X + i)
    rows = tl.sum(x, axis=1)
    tl.store(Y, tl.sum(rows * rows, axis=0) + tl.max(tl.max(x, 0), 0))
""")
    x = s.random("cube").integers(-1000, 1000, (8, 4, 16)).astype(i32)
    for axis in range(3):
        s.launch(FILE, f"cube_{axis}", "sum_cube", {"X": x, "Y": Bits(x.sum(axis, dtype=i32, keepdims=True))}, {"AXIS": axis})
    x = s.random("twice").integers(-100, 100, (64, 32)).astype(i32)
    y = (x.sum(1, dtype=i32) ** 2).sum(dtype=i32) + x.max()
    for warps in (1, 4, 8):
        s.launch(FILE, f"twice_w{warps}", "sum_twice", {"X": x, "Y": Bits(np.array([y], i32))}, num_warps=warps)
