"""Elementwise mathematics of `tl` for every type that has it."""

import math

import numpy as np

from dtypes import *
from suite import Bits, Within

FILE = "elementwise"
N = 1024
TINY = float(info(f32).smallest_normal)

erf = np.vectorize(math.erf, otypes=[np.float64])


def unary(s, name, expression, dtype, reference, tolerance, values=None, result=None):
    """`reference` in f64 (or exact, with no tolerance) of the inputs; `tolerance(x, y)` per element."""
    result = result or dtype
    s.kernel(FILE, f"""
@triton.jit
def {name}(X, Y, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(X + i)
    tl.store(Y + i, {expression})
""")
    rng = s.random(f"{name} {dtype}")
    x = some(rng, dtype, N) if values is None else values(rng, dtype)
    if tolerance is None:
        y = Bits(reference(x), result)
    else:
        y = reference(f(x))
        y = Within(y, tolerance(f(x), y), result)
    s.launch(FILE, f"{name}_{name_of(dtype)}", name, {"X": x, "Y": y}, {"N": len(x)})


def ulps(n, dtype, floor=0.0):
    return lambda x, y: np.maximum(n * ulp(y, dtype), floor)


def within(low, high):
    """Special values, then values between two bounds."""

    def values(rng, dtype):
        first = special(dtype)
        return np.concatenate([first, rng.uniform(low, high, N - len(first)).astype(dtype)])

    return values


def exp_values(rng, dtype):
    # Where the result neither overflows nor underflows but for the special values.
    edge = 87.0 if dtype == f32 else 700.0
    return within(-edge, edge)(rng, dtype)


def cases(s):
    for t in (f32, f64):
        fast = t == f32
        floor = TINY if fast else 0.0
        # exp is a product and ex2.approx: the product's rounding grows with x.
        unary(s, "exp", "tl.exp(x)", t, np.exp, (lambda x, y: np.maximum((2 + 1.2 * np.minimum(np.abs(np.nan_to_num(x)), 128)) * ulp(y, f32), TINY)) if fast else ulps(1, t), exp_values)
        unary(s, "exp2", "tl.exp2(x)", t, np.exp2, ulps(3 if fast else 2, t, floor), exp_values)
        unary(s, "log", "tl.log(x)", t, np.log, ulps(2, t))
        unary(s, "log2", "tl.log2(x)", t, np.log2, ulps(3 if fast else 2, t))
        for name, ref in (("sin", np.sin), ("cos", np.cos)):
            # The largest arguments need many digits of pi, which f64 of NumPy has.
            unary(s, name, f"tl.{name}(x)", t, ref, ulps(2, t, floor), within(-1e4, 1e4))
        # A subnormal counts as a zero of its sign.
        taken = lambda x, fast=fast: np.where(fast & (np.abs(x) < TINY), np.copysign(0, x), x)
        unary(s, "sqrt", "tl.sqrt(x)", t, lambda x, taken=taken: np.sqrt(taken(x)), ulps(2, t))
        unary(s, "rsqrt", "tl.rsqrt(x)", t, lambda x, taken=taken: 1 / np.sqrt(taken(x)), ulps(3, t))
        unary(s, "erf", "tl.erf(x)", t, erf, ulps(3 if fast else 2, t, floor), within(-4, 4))
        unary(s, "sigmoid", "tl.sigmoid(x)", t, lambda x: 1 / (1 + np.exp(-x)), (lambda x, y: np.maximum((6 + 1.2 * np.minimum(np.abs(np.nan_to_num(x)), 128)) * ulp(y, f32), TINY)) if fast else ulps(4, t), within(-20, 20))
        for name in ("floor", "ceil"):
            exact = getattr(np, name)
            unary(s, name, f"tl.{name}(x)", t, exact, None)
    unary(s, "sqrt_rn", "tl.sqrt_rn(x)", f32, np.sqrt, None)
    for t in INTS + FLOATS:
        unary(s, "abs", "tl.abs(x)", t, np.abs, None)
    for t in SIGNED + FLOATS:
        # 0 - x: a zero comes out positive.
        unary(s, "neg", "-x", t, lambda x: np.zeros_like(x) - x, None)
    for t in [i1] + INTS:
        unary(s, "invert", "~x", t, np.invert, None)
    s.kernel(FILE, """
@triton.jit
def invert_condition(X, Y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Y + i, tl.where(not (tl.load(X) > 3), tl.load(X + i), -1))
""")
    x = np.arange(16, dtype=i32)
    s.launch(FILE, "not", "invert_condition", {"X": x, "Y": Bits(x)}, {"N": 16})

    binary(s)
    ternary(s)


def binary(s):
    for name, options in (("maximum", ""), ("minimum", ""), ("maximum_nan", ", propagate_nan=tl.PropagateNan.ALL"), ("minimum_nan", ", propagate_nan=tl.PropagateNan.ALL")):
        fn = name.split("_")[0]
        s.kernel(FILE, f"""
@triton.jit
def {name}(X, Y, Z, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Z + i, tl.{fn}(tl.load(X + i), tl.load(Y + i){options}))
""")
        for t in FLOATS + ([] if options else INTS):
            rng = s.random(f"{name} {t}")
            x, y = pairs(rng, t, 2048)
            # Which zero is the larger is not said.
            same = (f(x) == 0) & (f(y) == 0)
            y = np.where(same, x, y).astype(t)
            x, y = x[:2048], y[:2048]
            pick = {"maximum": np.fmax, "minimum": np.fmin, "maximum_nan": np.maximum, "minimum_nan": np.minimum}[name]
            z = pick(f(x), f(y)) if is_float(t) else pick(x, y)
            s.launch(FILE, f"{name}_{name_of(t)}", name, {"X": x, "Y": y, "Z": Bits(z, f32 if t == bf16 else t)}, {"N": 2048})

    s.kernel(FILE, """
@triton.jit
def umulhi(X, Y, Z, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Z + i, tl.umulhi(tl.load(X + i), tl.load(Y + i)))
""")
    for t in (i32, u32, i64, u64):
        x, y = pairs(s.random(f"umulhi {t}"), t, N)
        x, y, bits = x[:N], y[:N], 8 * t.itemsize
        z = [(int(a) % 2**bits * (int(b) % 2**bits)) >> bits for a, b in zip(x, y)]
        z = np.array(z, np.uint64).astype(f"u{t.itemsize}").view(t)
        s.launch(FILE, f"umulhi_{name_of(t)}", "umulhi", {"X": x, "Y": y, "Z": Bits(z)}, {"N": N})

    for name, t, bound in (("fdiv", f32, 2), ("fdiv", f64, 0.5), ("div_rn", f32, 0.5)):
        s.kernel(FILE, f"""
@triton.jit
def {name}(X, Y, Z, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Z + i, tl.{name}(tl.load(X + i), tl.load(Y + i)))
""")
        x, y = pairs(s.random(f"{name} {t}"), t, 2048)
        z = x / y if bound == 0.5 else None
        z = Bits(z) if z is not None else quotient(x, y)
        s.launch(FILE, f"{name}_{name_of(t)}", name, {"X": x, "Y": y, "Z": z}, {"N": 2048})


def quotient(x, y):
    """`div.full.f32`: two ulps, and overflow may come one step early or late."""
    z, most = f(x) / f(y), float(info(f32).max)
    edge = np.abs(np.abs(z) - most) < most * 1e-6
    z = np.where(~edge & (np.abs(z) > most), np.copysign(np.inf, z), z)
    return Within(z, np.where(edge, np.inf, 2 * ulp(z, f32)), f32)


def ternary(s):
    s.kernel(FILE, """
@triton.jit
def fma(X, Y, Z, W, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(W + i, tl.fma(tl.load(X + i), tl.load(Y + i), tl.load(Z + i)))
""")
    from fractions import Fraction

    for t in (f16, f32, f64):
        rng = s.random(f"fma {t}")
        x, y, z = (plain(rng, t, N, 2.0) for _ in range(3))
        # Products nearly cancelled by the addend show whether there was one rounding.
        z[::2] = (-(f(x) * f(y)))[::2].astype(t)
        exact = [Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c)) for a, b, c in zip(x, y, z)]
        w = np.array([rounded(e, t) for e in exact], t)
        s.launch(FILE, f"fma_{name_of(t)}", "fma", {"X": x, "Y": y, "Z": z, "W": Bits(w)}, {"N": N})

    s.kernel(FILE, """
@triton.jit
def clamp(X, Y, LOW, HIGH, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Y + i, tl.clamp(tl.load(X + i), tl.load(LOW + i), tl.load(HIGH + i)))


@triton.jit
def clamp_nan(X, Y, LOW, HIGH, N: tl.constexpr):
    i = tl.arange(0, N)
    y = tl.clamp(tl.load(X + i), tl.load(LOW + i), tl.load(HIGH + i), propagate_nan=tl.PropagateNan.ALL)
    tl.store(Y + i, y)
""")
    for t in FLOATS:
        rng = s.random(f"clamp {t}")
        x = some(rng, t, N)
        a, b = plain(rng, t, N, 1.0), plain(rng, t, N, 1.0)
        low, high = np.minimum(f(a), f(b)).astype(t), np.maximum(f(a), f(b)).astype(t)
        kept = f(x)
        for name, y in (("clamp", np.fmin(np.fmax(kept, f(low)), f(high))), ("clamp_nan", np.minimum(np.maximum(kept, f(low)), f(high)))):
            s.launch(FILE, f"{name}_{name_of(t)}", name, {"X": x, "Y": Bits(y, f32 if t == bf16 else t), "LOW": low, "HIGH": high}, {"N": N})


def rounded(exact, dtype):
    """A fraction rounded once to the nearest of a type, ties to even."""
    if exact == 0:
        return 0.0
    facts = info(dtype)
    sign, size = (-1, -exact) if exact < 0 else (1, exact)
    exponent = math.floor(math.log2(float(size))) if float(size) > 0 else -2000
    from fractions import Fraction

    while Fraction(2) ** (exponent + 1) <= size:
        exponent += 1
    while Fraction(2) ** exponent > size:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, int(facts.minexp)) - int(facts.nmant))
    return sign * float(round(size / unit) * unit)
