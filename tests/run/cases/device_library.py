"""The device library (`libdevice`): every function with a definition that NumPy or this file has, in f32 and f64.

Bounds are those that the library's makers publish for it, or wider by little. Arguments avoid what the functions are not made for; special
values are always among them.
"""

import math
from decimal import Decimal

import numpy as np

from dtypes import *
from suite import Bits, Within

FILE = "device_library"
N = 512
v = lambda fn: np.vectorize(fn, otypes=[np.float64])


def safe(fn):
    """A function of `math` where it raises: at poles and outside of its domain."""

    def one(*x):
        try:
            return fn(*x)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return v(one)


def bessel_i(order):
    def one(x):
        term = total = (x / 2) ** order
        for k in range(1, 200):
            term *= (x / 2) ** 2 / (k * (k + order))
            total += term
        return total

    return v(one)


def bessel_j(order):
    def one(x):
        # The integral of Bessel, by the trapezoidal rule, which converges at once on a period.
        t = np.linspace(0, np.pi, 2049)
        y = np.cos(order * t - x * np.sin(t))
        return (y[1:-1].sum() + (y[0] + y[-1]) / 2) / 2048

    return v(one)


def erfcx(x):
    # The square has twice the digits of x, and all of them count in the power.
    return float((Decimal(x) * Decimal(x)).exp() * Decimal(math.erfc(x)))


def sinpi(x):
    # Near one, by the distance from it, which is exact.
    return np.where(np.abs(x) > 0.5, np.sign(x) * np.sin(np.pi * (1 - np.abs(x))), np.sin(np.pi * x))


def inverse(fn, slope):
    """By Newton's method, from a point that bisection has found."""

    def one(y):
        low, high = -6.5, 6.5
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if fn(middle) < y else (low, middle)
        x = (low + high) / 2
        for _ in range(3):
            x -= (fn(x) - y) / slope(x)
        return x

    return v(one)


normal_cdf = lambda x: 0.5 * math.erfc(-x / math.sqrt(2))
erf_slope = lambda x: 2 / math.sqrt(math.pi) * math.exp(-x * x)

wide, unit, positive = (-30, 30), (-1, 1), (1e-3, 1e3)
#: name, reference, ulps in f32, ulps in f64, range of each argument, whether special values are tried too.
REAL = [
    ("rsqrt", lambda x: 1 / np.sqrt(x), 3, 2, [positive], True),
    ("sqrt", np.sqrt, 2, 1, [positive], True),
    ("exp", np.exp, 40, 1, [wide], True), ("exp2", np.exp2, 3, 2, [wide], True), ("exp10", lambda x: 10.0**x, 40, 2, [wide], True),
    ("expm1", np.expm1, 2, 2, [(-20, 20)], True), ("log", np.log, 2, 2, [positive], True), ("log2", np.log2, 3, 2, [positive], True),
    ("log10", np.log10, 3, 2, [positive], True), ("log1p", np.log1p, 2, 2, [(-0.9, 50)], True),
    ("sin", np.sin, 2, 2, [wide], False), ("cos", np.cos, 2, 2, [wide], False), ("tan", np.tan, 4, 3, [wide], False),
    ("sinpi", sinpi, 2, 4, [(-0.9, 0.9)], False), ("cospi", lambda x: np.cos(np.pi * x), 2, 4, [(-0.4, 0.4)], False),
    ("sinh", np.sinh, 4, 3, [wide], True), ("cosh", np.cosh, 3, 2, [wide], True), ("tanh", np.tanh, 3, 3, [wide], True),
    ("asin", np.arcsin, 4, 3, [unit], True), ("acos", np.arccos, 3, 3, [unit], True), ("atan", np.arctan, 3, 3, [wide], True),
    ("asinh", np.arcsinh, 4, 4, [wide], True), ("acosh", np.arccosh, 5, 4, [(1, 50)], True), ("atanh", np.arctanh, 4, 4, [(-0.99, 0.99)], True),
    ("cbrt", np.cbrt, 2, 2, [wide], True), ("rcbrt", lambda x: 1 / np.cbrt(x), 3, 3, [positive], True),
    ("erf", safe(math.erf), 3, 3, [(-4, 4)], True), ("erfc", safe(math.erfc), 5, 6, [(-4, 4)], True), ("erfcx", v(erfcx), 6, 8, [(-2, 12)], False),
    ("erfinv", inverse(math.erf, erf_slope), 4, 12, [(-0.99, 0.99)], False),
    ("erfcinv", lambda y: inverse(math.erf, erf_slope)(1 - y), 5, 12, [(0.5, 1.99)], False),
    ("normcdf", v(normal_cdf), 8, 64, [(-5, 5)], False), ("normcdfinv", lambda p: inverse(math.erf, erf_slope)(2 * p - 1) * math.sqrt(2), 8, 24, [(0.26, 0.99)], False),
    ("lgamma", safe(math.lgamma), 8, 8, [(3, 100)], False), ("tgamma", safe(math.gamma), 14, 12, [(0.2, 20)], False),
    ("j0", bessel_j(0), None, None, [(0, 30)], False), ("j1", bessel_j(1), None, None, [(0, 30)], False),
    ("cyl_bessel_i0", bessel_i(0), 8, 16, [(0, 20)], False), ("cyl_bessel_i1", bessel_i(1), 8, 16, [(0, 20)], False),
    ("atan2", np.arctan2, 4, 3, [wide, wide], True), ("hypot", np.hypot, 4, 3, [wide, wide], False),
    ("rhypot", lambda x, y: 1 / np.hypot(x, y), 4, 3, [wide, wide], False), ("fdim", lambda x, y: np.where(x > y, x - y, 0 * (x + y)), 1, 1, [wide, wide], False),
    ("pow", safe(math.pow), 12, 3, [(0.1, 10), (-8, 8)], False), ("fmod", np.fmod, 0, 0, [wide, (1, 9)], False),
    ("remainder", safe(math.remainder), 0, 0, [wide, (1, 9)], False),
    ("norm3d", lambda x, y, z: np.sqrt(x * x + y * y + z * z), 4, 3, [wide] * 3, False),
    ("rnorm3d", lambda x, y, z: 1 / np.sqrt(x * x + y * y + z * z), 4, 3, [wide] * 3, False),
    ("norm4d", lambda x, y, z, w: np.sqrt(x * x + y * y + z * z + w * w), 4, 3, [wide] * 4, False),
    ("rnorm4d", lambda x, y, z, w: 1 / np.sqrt(x * x + y * y + z * z + w * w), 4, 3, [wide] * 4, False),
]  # fmt: skip

#: Exact in both types.
EXACT = [
    ("abs", np.abs), ("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc), ("rint", np.rint), ("nearbyint", np.rint),
    ("round", lambda x: np.where(np.isfinite(x), np.copysign(np.floor(np.abs(x)) + (np.abs(x) % 1 >= 0.5), x), x)),
]  # fmt: skip


def kernel(s, name, count):
    names = "XYZW"[:count]
    loads = ", ".join(f"tl.load({n} + i)" for n in names)
    s.kernel(FILE, f"""
@triton.jit
def {name}_{count}({', '.join(names)}, OUT, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(OUT + i, libdevice.{name}({loads}))
""")
    return f"{name}_{count}"


def case(s, name, tag, inputs, want, size=N):
    s.launch(FILE, f"{name}_{tag}", kernel(s, name, len(inputs)), {**dict(zip("XYZW", inputs)), "OUT": want}, {"N": size})


def cases(s):
    for name, reference, u32s, u64s, ranges, specials in REAL:
        for t, ulps in ((f32, u32s), (f64, u64s)):
            rng = s.random(f"{name} {t}")
            inputs = [rng.uniform(low, high, N).astype(t) for low, high in ranges]
            if specials:
                first = special(t)
                # Subnormals may count as zeros here, so they are left out.
                first = first[~((np.abs(f(first)) < float(info(t).smallest_normal)) & (f(first) != 0))]
                for k, x in enumerate(inputs):
                    x[: len(first)] = first[::-1] if k else first
            y = reference(*map(f, inputs))
            if ulps is None:
                # Near their zeros these have no relative bound.
                bound = 1e-5 if t == f32 else 1e-12
            else:
                bound = np.maximum(ulps, 0.5) * ulp(y, t)
                if name in ("erfcinv", "normcdfinv"):
                    # Near zero these are as good as the argument's distance from the middle.
                    bound = np.maximum(bound, float(info(t).eps))
                if t == f32:
                    most = float(info(f32).max)
                    bound = np.maximum(bound, float(info(f32).smallest_normal))
                    edge = np.isfinite(y) & (np.abs(y) > most * (1 - 1e-5))
                    y = np.where(np.abs(y) > most * (1 + 1e-5), np.copysign(np.inf, y), y)
                    bound = np.where(edge & np.isfinite(y), np.inf, bound)
            case(s, name, name_of(t), inputs, Within(y, bound, t))
    for name, exact in EXACT:
        for t in (f32, f64):
            x = some(s.random(f"{name} {t}"), t, N, 20.0)
            case(s, name, name_of(t), [x], Bits(exact(x), t))
    exact_pairs(s)
    bits(s)
    integers(s)
    conversions(s)
    directed(s)


def exact_pairs(s):
    for t in (f32, f64):
        rng, n = s.random(f"pairs {t}"), name_of(t)
        x, y = pairs(rng, t, 2048)
        nan = np.isnan(f(x)) | np.isnan(f(y))
        case(s, "copysign", n, [x, np.where(np.isnan(f(y)), 1, y).astype(t)], Bits(np.copysign(x, np.where(np.isnan(f(y)), 1, y)), t), 2048)
        case(s, "nextafter", n, [x, y], Bits(np.nextafter(x, y)), 2048)
        e = rng.integers(-20, 20, N).astype(i32)
        z = plain(rng, t, N, 5.0)
        for name in ("ldexp", "scalbn"):
            case(s, name, n, [z, e], Bits(np.ldexp(z, e), t))
        a = plain(rng, t, N)
        case(s, "ilogb", n, [a], Bits(np.frexp(f(a))[1] - 1, i32))
        case(s, "logb", n, [a], Bits(np.frexp(f(a))[1] - 1, t))
        x = some(rng, t, N, 5.0)
        for name, want in (("isnan", np.isnan(f(x))), ("isinf", np.isinf(f(x))), ("signbit", np.signbit(x))):
            # Only whether it is zero is said.
            s.kernel(FILE, f"""
@triton.jit
def is_{name}(X, OUT, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(OUT + i, libdevice.{name}(tl.load(X + i)) != 0)
""")
            s.launch(FILE, f"is_{name}_{n}", f"is_{name}", {"X": x, "OUT": Bits(want)}, {"N": N})
        z = plain(rng, t, N, 1000.0)
        case(s, "llrint", n, [z], Bits(np.rint(z), i64))
        case(s, "llround", n, [z], Bits(np.copysign(np.floor(np.abs(z) + 0.5), z), i64))
        e = rng.integers(-6, 7, N).astype(i32)
        z = rng.uniform(0.5, 2, N).astype(t)
        y = f(z) ** e
        case(s, "pow", n + "_i32", [z, e], Within(y, 12 * ulp(y, t), t))
    x = some(s.random("finite"), f32, N)
    for name, t in (("finitef", f32), ("isfinited", f64)):
        s.kernel(FILE, f"""
@triton.jit
def is_{name}(X, OUT, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(OUT + i, libdevice.{name}(tl.load(X + i)) != 0)
""")
        s.launch(FILE, f"is_{name}", f"is_{name}", {"X": x.astype(t), "OUT": Bits(np.isfinite(x))}, {"N": N})
    x = np.concatenate([np.abs(special(f32)), s.random("saturate").uniform(-1, 2, N - len(special(f32))).astype(f32)])
    case(s, "saturatef", "f32", [x], Bits(np.where(np.isnan(x), 0, np.clip(x, 0, 1)) + f32.type(0)))


def bits(s):
    rng = s.random("bits")
    for name, a, b in (("int_as_float", i32, f32), ("float_as_int", f32, i32), ("uint_as_float", u32, f32), ("longlong_as_double", i64, f64), ("double_as_longlong", f64, i64)):
        x = plain(rng, a, N)
        case(s, name, "bits", [x], Bits(x.view(b)))
    x = plain(rng, f64, N)
    case(s, "double2hiint", "bits", [x], Bits((x.view(i64) >> 32).astype(i32)))
    case(s, "double2loint", "bits", [x], Bits(x.view(i64).astype(i32)))
    case(s, "hiloint2double", "bits", [(x.view(i64) >> 32).astype(i32), x.view(i64).astype(i32)], Bits(x))


def integers(s):
    rng = s.random("integers")
    for t in (i32, i64):
        x, width = some(rng, t, N), 8 * t.itemsize
        u = x.view(f"u{t.itemsize}")
        n = name_of(t)
        case(s, "clz", n, [x], Bits(np.array([width - int(a).bit_length() for a in u], i32)))
        case(s, "popc", n, [x], Bits(np.array([int(a).bit_count() for a in u], i32)))
        case(s, "ffs", n, [x], Bits(np.array([(int(a) & -int(a)).bit_length() for a in u], i32)))
        case(s, "brev", n, [x], Bits(np.array([int(f"{int(a):0{width}b}"[::-1], 2) for a in u], f"u{t.itemsize}").view(t)))
        case(s, "abs", n, [x], Bits(np.abs(x)))
    for t in (i32, u32, i64, u64):
        x, y = plain(rng, t, N), plain(rng, t, N)
        z = [(int(a) * int(b)) >> (8 * t.itemsize) for a, b in zip(x, y)]
        case(s, "mulhi", name_of(t), [x, y], Bits(np.array(z, t)))
    for t in (i32, u32):
        x, y = plain(rng, t, N), plain(rng, t, N)
        a, b, n = x.astype(np.int64), y.astype(np.int64), name_of(t)
        case(s, "hadd", n, [x, y], Bits((a + b) >> 1, t))
        case(s, "rhadd", n, [x, y], Bits((a + b + 1) >> 1, t))
        z = plain(rng, u32, N)
        case(s, "sad", n, [x, y, z], Bits(np.abs(a - b) + z.astype(np.int64), t) if t == u32 else Bits((np.abs(a - b) + z.astype(np.int64)).astype(u32).view(i32)))
        low = lambda v, t=t: (v << 8 >> 8) if t == i32 else v & 0xFFFFFF
        case(s, "mul24", n, [x, y], Bits((low(x).astype(np.int64) * low(y).astype(np.int64)).astype(u32).view(t)))
    x, y, k = plain(rng, i32, N), plain(rng, i32, N), rng.integers(0, 0x8000, N).astype(i32)
    both = (y.view(u32).astype(np.uint64) << np.uint64(32)) | x.view(u32).astype(np.uint64)
    z = np.zeros(N, np.uint64)
    for byte in range(4):
        which = (k >> (4 * byte)) & 7
        z |= ((both >> (which.astype(np.uint64) * np.uint64(8))) & np.uint64(255)) << np.uint64(8 * byte)
    case(s, "byte_perm", "i32", [x, y, k & 0x7777], Bits(z.astype(u32).view(i32)))


def conversions(s):
    rng = s.random("conversions")
    ways = {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil}
    for way, fn in ways.items():
        for source, short in ((f32, "float"), (f64, "double")):
            x = plain(rng, source, N, 1000.0)
            case(s, f"{short}2int_{way}", "n", [x], Bits(fn(x), i32))
            case(s, f"{short}2ll_{way}", "n", [x], Bits(fn(x), i64))
            case(s, f"{short}2uint_{way}", "n", [np.abs(x)], Bits(fn(np.abs(x)), i32))
            case(s, f"{short}2ull_{way}", "n", [np.abs(x)], Bits(fn(np.abs(x)), i64))


def directed(s):
    """Arithmetic and conversions rounded in each direction, from fractions, which are exact."""
    from fractions import Fraction

    rng = s.random("directed")

    def rounded(exact, t, way):
        if exact == 0:
            return 0.0
        facts = info(t)
        size, sign = abs(exact), -1 if exact < 0 else 1
        exponent = size.numerator.bit_length() - size.denominator.bit_length()
        exponent += (Fraction(2) ** (exponent + 1) <= size) - (Fraction(2) ** exponent > size)
        unit = Fraction(2) ** (max(exponent, int(facts.minexp)) - int(facts.nmant))
        steps = exact / unit
        steps = {"rn": round, "rz": math.trunc, "rd": math.floor, "ru": math.ceil}[way](steps)
        return float(steps * unit)

    F = lambda a: Fraction(float(a))
    for way in ("rn", "rz", "rd", "ru"):
        for t in (f32, f64):
            n = name_of(t)
            x, y, z = (plain(rng, t, 128, 3.0) for _ in range(3))
            y = np.where(y == 0, 1, y).astype(t)
            for name, fn in (("add", lambda a, b: a + b), ("sub", lambda a, b: a - b), ("mul", lambda a, b: a * b), ("div", lambda a, b: a / b)):
                want = np.array([rounded(fn(F(a), F(b)), t, way) for a, b in zip(x, y)], t)
                case(s, f"{name}_{way}", n, [x, y], Bits(want), 128)
            want = np.array([rounded(F(a) * F(b) + F(c), t, way) for a, b, c in zip(x, y, z)], t)
            case(s, f"fma_{way}", n, [x, y, z], Bits(want), 128)
            want = np.array([rounded(1 / F(b), t, way) for b in y], t)
            case(s, f"rcp_{way}", n, [y], Bits(want), 128)
            a = np.abs(x)
            roots = []
            for b in a:
                # An integer root of enough digits stands for the root; it is exact or strictly below.
                shift = 400
                whole = math.isqrt(int(F(b) * 2**shift * 2**shift))
                exact = Fraction(whole, 2**shift)
                roots.append(rounded(exact if exact * exact == F(b) else exact + Fraction(1, 2 ** (shift + 1)), t, way))
            case(s, f"sqrt_{way}", n, [a], Bits(np.array(roots, t)), 128)
        x = plain(rng, f64, 128, 3.0)
        case(s, f"double2float_{way}", "f64", [x], Bits(np.array([rounded(F(a), f32, way) for a in x], f32)), 128)
        for name, t, out in (("int2float", i32, f32), ("uint2float", u32, f32), ("ll2float", i64, f32), ("ull2float", u64, f32), ("ll2double", i64, f64), ("ull2double", u64, f64)):
            x = plain(rng, t, 128)
            case(s, f"{name}_{way}", name_of(t), [x], Bits(np.array([rounded(Fraction(int(a)), out, way) for a in x], out)), 128)
    for name, t in (("int2double_rn", i32), ("uint2double_rn", u32)):
        x = plain(rng, t, 128)
        case(s, name, name_of(t), [x], Bits(x.astype(f64)), 128)
    x = np.abs(plain(rng, f32, 128, 3.0)) + f32.type(0.01)
    y = 1 / np.sqrt(f(x))
    case(s, "rsqrt_rn", "f32", [x], Bits(y, f32), 128)
    # The fast ones, where they promise something.
    for name, fn, low, high, allowed in (
        ("fast_sinf", np.sin, -3, 3, 2.0**-20), ("fast_cosf", np.cos, -3, 3, 2.0**-20), ("fast_expf", np.exp, -2, 2, 2.0**-18),
        ("fast_exp10f", lambda x: 10.0**x, -1, 1, 2.0**-18), ("fast_logf", np.log, 2, 9, 2.0**-19), ("fast_log2f", np.log2, 2, 9, 2.0**-19),
        ("fast_log10f", np.log10, 2, 9, 2.0**-19), ("fast_tanf", np.tan, -1, 1, 2.0**-18),
    ):  # fmt: skip
        x = rng.uniform(low, high, 128).astype(f32)
        case(s, name, "f32", [x], Within(fn(f(x)), allowed * 4, f32), 128)
    x, y = rng.uniform(0.5, 2, 128).astype(f32), rng.uniform(-2, 2, 128).astype(f32)
    case(s, "fast_powf", "f32", [x, y], Within(f(x) ** f(y), 2.0**-17, f32), 128)
    case(s, "fast_dividef", "f32", [y, x], Within(f(y) / f(x), 2.0**-20, f32), 128)
