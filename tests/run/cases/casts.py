"""`x.to(T)` between every two types, both rounding modes, and reinterpreted bits."""

import numpy as np

from cases.elementwise import rounded
from dtypes import *
from suite import Bits

FILE = "casts"
N = 1024


def saturated(x, dtype):
    """To an 8-bit float: beyond the largest comes the largest."""
    most = float(info(dtype).max)
    return np.clip(x, -most, most).astype(dtype)


def narrowed(x, dtype):
    """Once to nearest even. NumPy goes from f64 to the narrow types of ml_dtypes through f32, so that is done here by hand."""
    wide = f(x)
    if dtype in (f16, f32, f64):
        return wide.astype(dtype) if x.dtype in FLOATS + F8 else x.astype(dtype)
    facts = info(dtype)
    unit = np.exp2(np.floor(np.log2(np.maximum(np.abs(wide), float(facts.smallest_normal)))) - facts.nmant)
    near = np.where(np.isfinite(wide), np.round(wide / np.where(np.isfinite(unit), unit, 1.0)) * unit, wide)
    return saturated(near, dtype) if dtype in F8 else np.where(np.abs(near) > float(facts.max), np.copysign(np.inf, near), near).astype(dtype)


def truncated(x, dtype):
    """Towards zero; an overflow stops at the largest number."""
    wide, facts = f(x), info(dtype)
    unit = np.exp2(np.floor(np.log2(np.maximum(np.abs(wide), float(facts.smallest_normal)))) - facts.nmant)
    near = np.where(np.isfinite(wide), np.trunc(wide / np.where(np.isfinite(unit), unit, 1.0)) * unit, wide)
    most = float(facts.max)
    return np.where(np.isfinite(near), np.clip(near, -most, most), near).astype(dtype)


def cases(s):
    everything = [i1] + INTS + FLOATS + F8
    for a in everything:
        for b in everything:
            if a == b or (a in F8 and not is_float(b)) or (b in F8 and not is_float(a)):
                continue
            s.kernel(FILE, f"""
@triton.jit
def to_{name_of(b)}(X, Y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Y + i, tl.load(X + i).to({TL[b]}))
""")
            x = some(s.random(f"cast {a} {b}"), a, 4 if a == i1 else N)
            if a == i1:
                x = np.array([True, False, False, True])
            if is_float(a) and b == i1:
                y = f(x) != 0
            elif is_float(a) and not is_float(b):
                # Only what fits: beyond that the language says nothing.
                low, high = float(info(b).min), float(info(b).max)
                x = np.where((f(x) > low - 1) & (f(x) < high * (1 - 2.0**-20)) & np.isfinite(f(x)), f(x), 5.75).astype(a)
                y = np.trunc(f(x)).astype(b)
            elif is_float(a):
                y = narrowed(x, b)
            elif is_float(b) and b in (f16, bf16):
                # By way of f32, as the language says.
                y = narrowed(x.astype(f32), b)
            elif b == i1:
                y = x != 0
            else:
                y = x.astype(b)
            s.launch(FILE, f"{name_of(a)}_to_{name_of(b)}", f"to_{name_of(b)}", {"X": x, "Y": Bits(y)}, {"N": len(x)})

    for a, b in ((f32, f16), (f32, bf16), (f64, f32)):
        for mode in ("rtz", "rtne"):
            name = f"{mode}_{name_of(b)}"
            s.kernel(FILE, f"""
@triton.jit
def {name}(X, Y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Y + i, tl.cast(tl.load(X + i), {TL[b]}, fp_downcast_rounding="{mode}"))
""")
            x = some(s.random(f"{name} {a}"), a, N)
            y = truncated(x, b) if mode == "rtz" else narrowed(x, b)
            s.launch(FILE, f"{name}_{name_of(a)}", name, {"X": x, "Y": Bits(y)}, {"N": N})

    every = {np.dtype(t).itemsize: [] for t in everything}
    for t in INTS + FLOATS + F8:
        every[t.itemsize].append(t)
    for same in every.values():
        for a in same:
            for b in same:
                if a == b:
                    continue
                s.kernel(FILE, f"""
@triton.jit
def bits_{name_of(b)}(X, Y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Y + i, tl.load(X + i).to({TL[b]}, bitcast=True))
""")
                x = some(s.random(f"bits {a} {b}"), a, N)
                s.launch(FILE, f"bits_{name_of(a)}_as_{name_of(b)}", f"bits_{name_of(b)}", {"X": x, "Y": Bits(x.view(b))}, {"N": N})
