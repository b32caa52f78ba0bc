"""Operators and comparisons between tensors, `tl.where`, and the function forms of operators."""

import numpy as np

from cases.elementwise import quotient
from dtypes import *
from suite import Bits, Within

FILE = "operators"
N = 1024


def binary(s, name, expression, dtype, x, y, z):
    s.kernel(FILE, f"""
@triton.jit
def {name}(X, Y, Z, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(X + i), tl.load(Y + i)
    tl.store(Z + i, {expression})
""")
    s.launch(FILE, f"{name}_{name_of(dtype)}", name, {"X": x, "Y": y, "Z": z}, {"N": len(x)})


def towards_zero(x, y):
    """Quotient and remainder of C."""
    big = [(abs(int(a)) // abs(int(b)) * (1 if (a < 0) == (b < 0) else -1), int(a)) for a, b in zip(x, y)]
    q = [q for q, _ in big]
    r = [a - q * int(b) for (q, a), b in zip(big, y)]
    wrap = lambda v: np.array([int(e) % 2 ** (8 * x.dtype.itemsize) for e in v], np.uint64).astype(f"u{x.dtype.itemsize}").view(x.dtype)
    return wrap(q), wrap(r)


def cases(s):
    for t in INTS:
        x, y = pairs(s.random(f"ints {t}"), t, N)
        for name, op in (("add", "x + y"), ("sub", "x - y"), ("mul", "x * y")):
            z = {"add": x + y, "sub": x - y, "mul": x * y}[name]
            binary(s, name, op, t, x, y, Bits(z, t))
            binary(s, name + "_function", f"tl.{name}(x, y)", t, x, y, Bits(z, t))
        for name, op in (("and", "x & y"), ("or", "x | y"), ("xor", "x ^ y")):
            binary(s, "bit_" + name, op, t, x, y, Bits(getattr(np, "bitwise_" + name)(x, y), t))
        # Division by zero, and the one quotient that does not fit, are undefined.
        low = int(info(t).min)
        fine = (y != 0) & ~((x == low) & (y == np.array(-1).astype(t)) if low < 0 else False)
        xd, yd = np.where(fine, x, 7).astype(t), np.where(fine, y, 3).astype(t)
        q, r = towards_zero(xd, yd)
        binary(s, "floordiv", "x // y", t, xd, yd, Bits(q))
        binary(s, "mod", "x % y", t, xd, yd, Bits(r))
        # A shift by the width or more is undefined.
        by = (np.arange(N) % (8 * t.itemsize)).astype(t)
        binary(s, "shift_left", "x << y", t, x, by, Bits(np.left_shift(x, by), t))
        binary(s, "shift_right", "x >> y", t, x, by, Bits(np.right_shift(x, by), t))
        z = np.array([float(a) / float(b) for a, b in zip(xd, yd)])
        # Both are rounded to f32 before the division.
        binary(s, "truediv", "x / y", t, xd, yd, Within(z, 4 * ulp(z, f32), f32))
        binary(s, "cdiv", "tl.cdiv(x, y)", t, np.abs(x // 4).astype(t) % 100, (np.abs(y // 4) % 20 + 1).astype(t), Bits(-(-(np.abs(x // 4).astype(t) % 100).astype(np.int64) // (np.abs(y // 4) % 20 + 1).astype(np.int64)), t))
    x, y = (a[:4] for a in pairs(s.random("i1"), i1, 4))
    for name, op, z in (("and", "x & y", x & y), ("or", "x | y", x | y), ("xor", "x ^ y", x ^ y)):
        binary(s, "bit_" + name, op, i1, x, y, Bits(z))
    binary(s, "logical_and", "x and y", i1, x, y, Bits(x & y))
    binary(s, "logical_or", "x or y", i1, x, y, Bits(x | y))

    for t in FLOATS:
        x, y = pairs(s.random(f"floats {t}"), t, 2048)
        wide = (lambda a: a) if t in (f32, f64) else f
        for name, op, fn in (("add", "x + y", np.add), ("sub", "x - y", np.subtract), ("mul", "x * y", np.multiply)):
            z = Bits(fn(wide(x), wide(y)), t)
            binary(s, name, op, t, x, y, z)
        if t == f64:
            binary(s, "truediv", "x / y", t, x, y, Bits(x / y))
        else:
            binary(s, "truediv", "x / y", t, x, y, quotient(x, y))
        # A remainder is made of a quotient, so quotients beyond the precision are no remainders.
        rng = s.random(f"remainder {t}")
        xr, yr = plain(rng, t, N, 20.0), (np.abs(plain(rng, t, N, 1.0)) + 1).astype(t)
        # What is left over is added to something: a zero is positive.
        z = np.fmod(f(xr), f(yr)) + 0.0
        result = f32 if t in (f16, bf16) else t
        binary(s, "mod", "x % y", t, xr, yr, Bits(z, result))

    for t in INTS + FLOATS:
        x, y = pairs(s.random(f"compare {t}"), t, 2048)
        for name, op in (("less", "<"), ("less_equal", "<="), ("greater", ">"), ("greater_equal", ">="), ("equal", "=="), ("not_equal", "!=")):
            a, b = (f(x), f(y)) if is_float(t) else (x, y)
            binary(s, name, f"x {op} y", t, x, y, Bits(getattr(np, name)(a, b)))

    for t in [i1] + INTS + FLOATS + F8:
        rng = s.random(f"where {t}")
        c = rng.integers(0, 2, N).astype(bool)
        x, y = some(rng, t, N), plain(rng, t, N)
        s.kernel(FILE, """
@triton.jit
def where(C, X, Y, Z, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Z + i, tl.where(tl.load(C + i), tl.load(X + i), tl.load(Y + i)))
""")
        s.launch(FILE, f"where_{name_of(t)}", "where", {"C": c, "X": x, "Y": y, "Z": Bits(np.where(c, x, y).astype(t))}, {"N": N})

    mixed(s)
    literals(s)


# Two types and the type of their sum.
PROMOTED = [
    (i8, i32, i32), (i16, i64, i64), (i32, u32, u32), (u8, i32, i32), (u32, i64, i64), (i64, u64, u64), (i8, u8, u8), (i1, i8, i8), (i1, i32, i32),
    (i32, f16, f16), (i64, f32, f32), (u8, bf16, f32), (i32, f64, f64), (f16, f32, f32), (bf16, f32, f32), (f16, bf16, f16), (f32, f64, f64), (bf16, f64, f64),
]  # fmt: skip


def mixed(s):
    for a, b, t in PROMOTED:
        rng = s.random(f"mixed {a} {b}")
        small = lambda d: rng.integers(0, 2 if d == i1 else 50, N).astype(d)
        x, y = small(a), small(b)
        for one, other, p, q in ((a, b, x, y), (b, a, y, x)):
            name = f"{name_of(one)}_{name_of(other)}"
            s.kernel(FILE, """
@triton.jit
def promoted(X, Y, Z, N: tl.constexpr):
    i = tl.arange(0, N)
    z = tl.load(X + i) * 2 + tl.load(Y + i)
    tl.static_assert(z.dtype == Z.dtype.element_ty)
    tl.store(Z + i, z)
""")
            # i1 * 2 is i32 by the literal's type.
            if one == i1:
                continue
            z = (f(p) * 2 + f(q)).astype(t)
            s.launch(FILE, f"promoted_{name}", "promoted", {"X": p, "Y": q, "Z": Bits(z)}, {"N": N})


def literals(s):
    s.kernel(FILE, """
@triton.jit
def literal(X, Y, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(X + i)
    y = (3 + x * 2) - 1
    tl.static_assert(y.dtype == x.dtype)
    tl.store(Y + i, y)
""")
    for t in INTS + FLOATS:
        x = (np.arange(64) % 50).astype(t)
        s.launch(FILE, f"literal_{name_of(t)}", "literal", {"X": x, "Y": Bits((f(x) * 2 + 2).astype(t))}, {"N": 64})
