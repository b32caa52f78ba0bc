"""Makes `coefficients.rs`: python fit.py > coefficients.rs (needs mpmath). Every polynomial interpolates its function, computed with 60
digits, at Chebyshev's points, which is within a small factor of the best; coefficients are rounded to the format they are for."""
import struct, sys
from mpmath import mp, mpf, cos, sin, pi, exp, log, erf, erfc, sqrt, atan, asin, sinh, tanh, gamma, loggamma, besselj, bessely, besseli, inf, findroot, floor, taylor, rgamma, log1p, expm1, quad, erfinv, euler
mp.dps = 60

def chebyshev(f, a, b, degree):
    "Monomial coefficients in u in [-1, 1] of the interpolant."
    n = degree + 1
    nodes = [cos(pi * (k + mpf(1) / 2) / n) for k in range(n)]
    values = [f((a + b) / 2 + (b - a) / 2 * t) for t in nodes]
    c = [2 * sum(values[k] * cos(j * pi * (k + mpf(1) / 2) / n) for k in range(n)) / n for j in range(n)]
    c[0] /= 2
    t0, t1 = [mpf(1)], [mpf(0), mpf(1)]
    out = [mpf(0)] * n
    for j in range(n):
        for i, v in enumerate(t0): out[i] += c[j] * v
        t2 = [mpf(0)] + [2 * v for v in t1]
        for i, v in enumerate(t0): t2[i] -= v
        t0, t1 = t1, t2
    return out

def shift(poly, scale, offset):
    "poly(scale·x + offset)"
    out = [mpf(0)]
    for c in reversed(poly):
        new = [mpf(0)] * (len(out) + 1)
        for i, v in enumerate(out):
            new[i] += v * offset; new[i + 1] += v * scale
        new[0] += c
        out = new
    return out[: len(poly)]

def fit(f, a, b, degree):
    a, b = mpf(a), mpf(b)
    return shift(chebyshev(f, a, b, degree), 2 / (b - a), -(a + b) / (b - a))

def f32(x):
    return struct.unpack('f', struct.pack('f', float(x)))[0]

def put(name, doc, narrow, wide):
    print(f"/// {doc}")
    def body(cs, r): return ", ".join(repr(r(c)) for c in cs)
    print(f"pub(super) const {name}: (&[f64], &[f64]) = (&[{body(narrow, f32)}], &[{body(wide, float)}]);")

def one(name, doc, cs):
    print(f"/// {doc}\npub(super) const {name}: &[f64] = &[{', '.join(repr(float(c)) for c in cs)}];")

def table(name, doc, pieces):
    flat = [c for p in pieces for c in p]
    print(f"/// {doc}\npub(super) static {name}: [u64; {len(flat)}] = bits([{', '.join(repr(float(c)) for c in flat)}]);")

def near0(f, series):
    return lambda x: f(x) if abs(x) > mpf(10) ** -9 else series(x)

def err(f, cs, a, b):
    worst = mpf(0)
    for k in range(201):
        x = a + (b - a) * mpf(k) / 200
        s = mpf(0)
        for c in reversed(cs): s = s * x + c
        worst = max(worst, abs(s - f(x)))
    return float(worst)

def both(name, doc, f, a, b, dn, dw):
    a, b = mpf(a), mpf(b)
    n, w = fit(f, a, b, dn), fit(f, a, b, dw)
    print(name, err(f, n, a, b), err(f, w, a, b), file=sys.stderr)
    put(name, doc, n, w)

print('''//! Coefficients of the library's polynomials, constant terms first; made by `coefficients.py`.
//!
//! **Invariant:** nothing here is edited by hand.

#![allow(clippy::unreadable_literal, clippy::excessive_precision, clippy::approx_constant)]

const fn bits<const N: usize>(values: [f64; N]) -> [u64; N] {
    let mut out = [0; N];
    let mut i = 0;
    while i < N {
        out[i] = values[i].to_bits();
        i += 1;
    }
    out
}
''')
q = mpf(10) ** -9
ln2 = log(2)
def ser(f, k): return [c for c in taylor(f, 0, k)]
both("EXP", "(e^r - 1 - r - r²/2) / r³ for |r| <= ln 2 / 2", near0(lambda r: (exp(r) - 1 - r - r * r / 2) / r**3, lambda r: mpf(1) / 6 + r / 24), -ln2 / 2, ln2 / 2, 3, 9)
both("EXP2", "(2^r - 1) / r for |r| <= 1/2", near0(lambda r: expm1(r * ln2) / r, lambda r: ln2 + r * ln2**2 / 2), -0.5, 0.5, 6, 12)
one("LOG_NARROW", "(log(1 + f) - f + f²/2) / f³ for 1 + f from 1/√2 to √2, of f32", [f32(c) for c in fit(near0(lambda f: (log1p(f) - f + f * f / 2) / f**3, lambda f: mpf(1) / 3 - f / 4), sqrt(mpf(1) / 2) - 1, sqrt(mpf(2)) - 1, 8)])
one("LOG_FROM_THIRD", "(log(1 + f) - f) / f² for 1 + f from 2/3 to 4/3, of f32", [f32(c) for c in fit(near0(lambda f: (log1p(f) - f) / f**2, lambda f: -mpf(1) / 2 + f / 3), -mpf(1) / 3, mpf(1) / 3, 8)])
one("LOG_WIDE", "(log((1 + s)/(1 - s)) - 2s) / s³ in s², of f64", fit(near0(lambda z: (log((1 + sqrt(z)) / (1 - sqrt(z))) - 2 * sqrt(z)) / sqrt(z)**3, lambda z: mpf(2) / 3 + 2 * z / 5), 0, mpf("0.02945"), 7))
both("ATANH_TAIL", "(log((1 + s)/(1 - s)) - 2s - 2s³/3) / s⁵ in s²", near0(lambda z: (log((1 + sqrt(z)) / (1 - sqrt(z))) - 2 * sqrt(z) - 2 * sqrt(z)**3 / 3) / sqrt(z)**5, lambda z: mpf(2) / 5 + 2 * z / 7), 0, mpf("0.02945"), 2, 7)
P4 = (pi / 4)**2 * mpf("1.02")
both("SIN", "(sin x - x) / x³ in x², |x| <= π/4", near0(lambda z: (sin(sqrt(z)) - sqrt(z)) / sqrt(z)**3, lambda z: -mpf(1) / 6 + z / 120), 0, P4, 2, 6)
both("COS", "(cos x - 1 + x²/2) / x⁴ in x², |x| <= π/4", near0(lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2, lambda z: mpf(1) / 24 - z / 720), 0, P4, 2, 6)
both("ATAN", "(atan x - x) / x³ in x², |x| <= 1", near0(lambda z: (atan(sqrt(z)) - sqrt(z)) / sqrt(z)**3, lambda z: -mpf(1) / 3 + z / 5), 0, 1, 9, 20)
both("ASIN", "(asin x - x) / x³ in x², |x| <= 1/2", near0(lambda z: (asin(sqrt(z)) - sqrt(z)) / sqrt(z)**3, lambda z: mpf(1) / 6 + z * 3 / 40), 0, mpf(1) / 4, 5, 13)
both("SINH", "(sinh x - x) / x³ in x², |x| <= 1", near0(lambda z: (sinh(sqrt(z)) - sqrt(z)) / sqrt(z)**3, lambda z: mpf(1) / 6 + z / 120), 0, 1, 3, 8)
one("TANH", "(tanh x - x) / x³ in x², |x| <= 0.625, of f32", [f32(c) for c in fit(near0(lambda z: (tanh(sqrt(z)) - sqrt(z)) / sqrt(z)**3, lambda z: -mpf(1) / 3 + z * 2 / 15), 0, mpf(0.625)**2, 5)])
both("ERF", "erf(x)/x - 1 in x², |x| <= 1", near0(lambda z: erf(sqrt(z)) / sqrt(z) - 1, lambda z: 2 / sqrt(pi) - 1 - 2 * z / (3 * sqrt(pi))), 0, 1, 6, 13)
def scaled(x):
    if x > 30:
        s, t = mpf(1), mpf(1)
        for k in range(1, 60):
            t = t * -(2 * k - 1) / (2 * x * x)
            if abs(t) < mpf(10) ** -50: break
            s += t
        return s / (x * sqrt(pi))
    return exp(x * x) * erfc(x)
def erfcx_of(K):
    def f(t):
        if t >= 1 - mpf(10) ** -30: return 2 / sqrt(pi)
        x = K * (1 + t) / (1 - t)
        return (1 + 2 * x) * scaled(x)
    return f
en, ew = fit(erfcx_of(mpf(2)), -1, 1, 12), fit(erfcx_of(mpf(4)), -1, 1, 24)
print("ERFCX", err(erfcx_of(mpf(2)), en, -1, 1), err(erfcx_of(mpf(4)), ew, -1, 1), file=sys.stderr)
put("ERFCX", "(1 + 2x)·erfcx(x) in (x - k)/(x + k), k = 2 for f32 and 4 for f64", en, ew)
one("ERF_TAIL", "log2(1 - erf x) for x from 1 to 4, of f32", [f32(c) for c in fit(lambda x: log(erfc(x), 2), mpf(1), mpf(4), 9)])

# inverse error function
def erfcinv(y):
    # y in (0, 1]
    y = mpf(y)
    x = sqrt(-log(y)) if y < mpf("0.5") else mpf("0.3")
    for _ in range(60):
        g = log(erfc(x)) - log(y)
        step = g / (-2 / sqrt(pi) * exp(-x * x) / erfc(x))
        x -= step
        if abs(step) < mpf(10) ** -50 * max(1, abs(x)): break
    return x
def central(w):
    # erfinv(y)/y where w = -log(1 - y²)
    if w < mpf(10) ** -20: return sqrt(pi) / 2
    y = sqrt(-expm1(-w))
    return erfcinv(1 - y) / y if w > 1 else findroot(lambda x: erf(x) - y, y * sqrt(pi) / 2) / y
def tail(s):
    # erfcinv(y) where -log(y(2 - y)) = s²
    e = exp(-s * s)
    y = e / (1 + sqrt(1 - e))
    return erfcinv(y)
mp.dps = 50
for name, doc, f, a, b, d in [("ERFINV_CENTRE", "erfinv(y)/y in w - 3.125, w = -log(1 - y²) <= 6.25", lambda u: central(u + mpf("3.125")), -3.125, 3.125, 24),
                              ("ERFINV_TAIL_A", "erfcinv in s - 3.25, s² = -log(y(2 - y)), s from 2.5 to 4", lambda u: tail(u + mpf("3.25")), -0.75, 0.75, 19),
                              ("ERFINV_TAIL_B", "as A, in s - 6, s from 4 to 8", lambda u: tail(u + 6), -2, 2, 24),
                              ("ERFINV_TAIL_C", "as A, less s, in 22.4/s - 1.8, s from 8 to 28", lambda u: (lambda s: tail(s) - s)(mpf("22.4") / (u + mpf("1.8"))), -1, 1, 24)]:
    cs = fit(f, mpf(a), mpf(b), d)
    print(name, err(f, cs, mpf(a), mpf(b)), file=sys.stderr)
    one(name, doc, cs)

# gamma
one("RGAMMA", "1/Γ(1 + r) for |r| <= 1/2", fit(lambda r: rgamma(1 + r), -0.5, 0.5, 17))
def lg(x):
    if abs(x - 1) < mpf(10) ** -15: return euler
    if abs(x - 2) < mpf(10) ** -15: return 1 - euler
    return loggamma(x) / ((x - 1) * (x - 2))
def pieces(f, a, width, count, degree):
    return [chebyshev(f, mpf(a) + k * mpf(width), mpf(a) + (k + 1) * mpf(width), degree) for k in range(count)]
def perr(f, ps, a, w):
    worst = 0
    for k, p in enumerate(ps):
        for j in range(21):
            u = mpf(j) / 10 - 1
            x = mpf(a) + w * (k + (u + 1) / 2)
            s = mpf(0)
            for c in reversed(p): s = s * u + c
            worst = max(worst, abs(s / f(x) - 1) if f(x) != 0 else 0)
    return float(worst)
def tab(name, doc, f, a, w, n, d):
    p = pieces(f, a, w, n, d)
    print(name, perr(f, p, mpf(a), mpf(w)), file=sys.stderr)
    table(name, doc, p)
tab("LGAMMA", "lgamma(x) / ((x - 1)(x - 2)), 15 pieces from 0.5, each half wide, of degree 20 in [-1, 1]", lg, 0.5, 0.5, 15, 20)
def stirling(z):
    if z < mpf(10) ** -20: return mpf(1) / 12 - z / 360
    x = 1 / sqrt(z)
    return (loggamma(x) - ((x - mpf(1) / 2) * log(x) - x + log(2 * pi) / 2)) * x
one("STIRLING", "x·(lgamma(x) - (x - 1/2)·log x + x - log(2π)/2) in 1/x², x >= 8", fit(stirling, 0, mpf(1) / 64, 9))

# Bessel
def zeros(f, guesses): return [findroot(f, g) for g in guesses]
J0, J1 = (lambda x: besselj(0, x)), (lambda x: besselj(1, x))
Y0, Y1 = (lambda x: bessely(0, x)), (lambda x: bessely(1, x))
for name, f, guesses, odd, start, count in [("J0", J0, ["2.4048", "5.52007"], False, 0, 16), ("J1", J1, ["3.8317", "7.01558"], True, 0, 16), ("Y0", Y0, ["0.8936", "3.95768", "7.08605"], False, 0.5, 15), ("Y1", Y1, ["2.19714", "5.42968"], False, 0.5, 15)]:
    zs = zeros(f, [mpf(g) for g in guesses])
    one(f"{name}_ZEROS", f"Zeros of {name} below 8, each as a float and what is left of it", [c for z in zs for c in (mpf(float(z)), z - mpf(float(z)))])
    def quotient(x, f=f, zs=zs, odd=odd):
        if odd and abs(x) < mpf(10) ** -25: x = mpf(10) ** -25
        d = mpf(1)
        for z in zs: d *= x - z
        if odd: d *= x
        if abs(d) < mpf(10) ** -25:
            h = mpf(10) ** -18
            return (quotient(x + h, f, zs, odd) + quotient(x - h, f, zs, odd)) / 2
        return f(x) / d
    tab(name, f"{name}(x) over (x - z) for each zero z{' and over x' if odd else ''}: {count} pieces from {start}, each half wide, of degree {13 if start == 0 else 23}", quotient, start, 0.5, count, 13 if start == 0 else 23)
def near(f, x, eps=mpf(10) ** -12): return f(x if x > eps else eps)
one("Y0_SMALL", "Y0(x) - 2/π·log(x)·J0(x) in x², x <= 1/2", fit(lambda z: near(lambda z: Y0(sqrt(z)) - 2 / pi * log(sqrt(z)) * J0(sqrt(z)), z), 0, mpf(1) / 4, 6))
one("Y1_SMALL", "(Y1(x) - 2/π·(log(x)·J1(x) - 1/x)) / x in x², x <= 1/2", fit(lambda z: near(lambda z: (Y1(sqrt(z)) - 2 / pi * (log(sqrt(z)) * J1(sqrt(z)) - 1 / sqrt(z))) / sqrt(z), z, mpf(10) ** -10), 0, mpf(1) / 4, 6))
def asym(order):
    def P(z, which):
        if z < mpf(10) ** -9:
            mu = mpf(4 * order * order)
            if which: return (mu - 1) / 8 - (mu - 1) * (mu - 9) * (mu - 25) / (6 * 512) * z
            return 1 - (mu - 1) * (mu - 9) / 128 * z
        x = 1 / sqrt(z)
        chi = x - (2 * order + 1) * pi / 4
        s = sqrt(pi * x / 2)
        j, y = besselj(order, x) * s, bessely(order, x) * s
        p = j * cos(chi) + y * sin(chi)
        qq = y * cos(chi) - j * sin(chi)
        return qq * x if which else p
    return P
for order in (0, 1):
    P = asym(order)
    for which, letter in ((0, "P"), (1, "Q")):
        f = lambda z, P=P, which=which: P(z, which)
        cs = fit(f, 0, mpf(1) / 64, 15)
        print(letter, order, err(f, cs, mpf(0), mpf(1) / 64), file=sys.stderr)
        one(f"BESSEL_{letter}{order}", f"{letter}{'·x' if which else ''} of order {order} in 1/x², x >= 8: √(πx/2)·J = P·cos(x - φ) - Q·sin(x - φ)", cs)
tab("I0", "I0(x)·e^-x, 16 pieces from 0, each 1 wide, of degree 14", lambda x: besseli(0, x) * exp(-x), 0, 1, 16, 14)
tab("I1", "I1(x)·e^-x / x, as I0", lambda x: besseli(1, near(lambda t: t, x, mpf(10) ** -20)) * exp(-x) / near(lambda t: t, x, mpf(10) ** -20), 0, 1, 16, 14)
for order in (0, 1):
    f = lambda v, o=order: besseli(o, 1 / v) * exp(-1 / v) / sqrt(v) if v > mpf(1) / 4000 else (1 / sqrt(2 * pi)) * (1 - (4 * o * o - 1) * v / 8 + (4 * o * o - 1) * (4 * o * o - 9) * v * v / 128 - (4 * o * o - 1) * (4 * o * o - 9) * (4 * o * o - 25) * v**3 / (6 * 512) + (4 * o * o - 1) * (4 * o * o - 9) * (4 * o * o - 25) * (4 * o * o - 49) * v**4 / (24 * 4096))
    cs = fit(f, 0, mpf(1) / 16, 17)
    print("I", order, err(f, cs, mpf(0), mpf(1) / 16), file=sys.stderr)
    one(f"I{order}_LARGE", f"I{order}(x)·e^-x·√x in 1/x, x >= 16", cs)
mp.dps = 500
n = floor(2 / pi * mpf(2) ** 1280)
words = [int(n // mpf(2) ** (1280 - 64 * (k + 1))) % 2**64 for k in range(20)]
print("/// The first 1280 bits of 2/π behind the point, after a word of zeros.")
print(f"pub(super) static TWO_OVER_PI: [u64; 21] = [0, {', '.join(hex(w) for w in words)}];")
