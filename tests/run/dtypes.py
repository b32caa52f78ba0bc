"""The element types of the language as NumPy knows them, values worth trying, and how far a result may be off."""

import ml_dtypes
import numpy as np

bf16, f8e4m3, f8e5m2 = np.dtype(ml_dtypes.bfloat16), np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2)
f16, f32, f64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
i1, i8, i16, i32, i64 = (np.dtype(t) for t in (np.bool_, np.int8, np.int16, np.int32, np.int64))
u8, u16, u32, u64 = (np.dtype(t) for t in (np.uint8, np.uint16, np.uint32, np.uint64))

NAMES = {
    "i1": i1, "i8": i8, "i16": i16, "i32": i32, "i64": i64, "u8": u8, "u16": u16, "u32": u32, "u64": u64,
    "f8e4m3": f8e4m3, "f8e5m2": f8e5m2, "f16": f16, "bf16": bf16, "f32": f32, "f64": f64,
}  # fmt: skip
#: As the language spells them.
TL = {
    i1: "tl.int1", i8: "tl.int8", i16: "tl.int16", i32: "tl.int32", i64: "tl.int64", u8: "tl.uint8", u16: "tl.uint16", u32: "tl.uint32",
    u64: "tl.uint64", f8e4m3: "tl.float8e4nv", f8e5m2: "tl.float8e5", f16: "tl.float16", bf16: "tl.bfloat16", f32: "tl.float32", f64: "tl.float64",
}  # fmt: skip
SIGNED, UNSIGNED = [i8, i16, i32, i64], [u8, u16, u32, u64]
INTS = SIGNED + UNSIGNED
FLOATS, F8 = [f16, bf16, f32, f64], [f8e4m3, f8e5m2]


def name_of(dtype):
    dtype = np.dtype(dtype)
    return next(name for name, known in NAMES.items() if known == dtype)


def is_float(dtype):
    return dtype in FLOATS or dtype in F8


def info(dtype):
    return ml_dtypes.finfo(dtype) if is_float(dtype) else np.iinfo(dtype)


def f(x):
    """As f64, which holds every value of the other floating types."""
    return np.asarray(x).astype(np.float64)


def ulp(x, dtype):
    """The distance of neighbours around x in `dtype`, never below that of subnormals."""
    facts = info(dtype)
    magnitude = np.where(np.isfinite(x), np.abs(x), 1.0)
    exponent = np.floor(np.log2(np.maximum(magnitude, float(facts.smallest_normal))))
    return np.exp2(exponent - facts.nmant)


def special(dtype):
    """Zeros, ones, infinities, NaN, subnormals and extremes of a type, as that type."""
    if dtype == i1:
        return np.array([False, True])
    facts = info(dtype)
    if not is_float(dtype):
        low, high = int(facts.min), int(facts.max)
        some = [0, 1, 2, 3, 7, 100, low, low + 1, high, high - 1, high // 2, low // 2, -1, -2, -7, -100]
        return np.array([x for x in some if low <= x <= high], dtype)
    tiny, least, most = float(facts.smallest_normal), float(facts.smallest_subnormal), float(facts.max)
    eps = float(facts.eps)
    some = [0.0, 1.0, 0.5, 2.0, 3.0, 1 + eps, 1 - eps / 2, 1.5, 2.5, 10.0, tiny, least, tiny - least, 2 * least, most, most / 2, tiny * 2, np.inf, np.nan]
    if dtype == f8e4m3:
        some.remove(np.inf)
    return np.array([s * x for x in some for s in (1, -1)]).astype(dtype)


def finite(x):
    x = np.asarray(x)
    return x[np.isfinite(f(x))]


def some(rng, dtype, count, scale=None):
    """`count` values: the special ones, then ones at random over all magnitudes (or normal with a scale)."""
    first = special(dtype)
    left = count - len(first)
    if left <= 0:
        return first[:count]
    return np.concatenate([first, plain(rng, dtype, left, scale)])


def plain(rng, dtype, count, scale=None):
    """Values at random without special ones."""
    if dtype == i1:
        return rng.integers(0, 2, count).astype(bool)
    facts = info(dtype)
    if not is_float(dtype):
        wide = rng.integers(int(facts.min), int(facts.max), count, dtype=dtype, endpoint=True)
        near = rng.integers(max(int(facts.min), -20), 20, count).astype(dtype)
        return np.where(rng.integers(0, 2, count) == 0, wide, near).astype(dtype)
    if scale is not None:
        return (rng.standard_normal(count) * scale).astype(dtype)
    low, high = (np.log2(float(v)) for v in (facts.smallest_normal, facts.max))
    spread = np.exp2(rng.uniform(low * 0.9, high * 0.9, count))
    near = np.abs(rng.standard_normal(count)) * 4
    size = np.where(rng.integers(0, 2, count) == 0, spread, near)
    return (size * rng.choice([-1, 1], count)).astype(dtype)


def pairs(rng, dtype, count):
    """Two arrays: every special value with every other, then random ones."""
    first = special(dtype)
    x, y = (a.ravel() for a in np.meshgrid(first, first))
    left = max(count - len(x), 0)
    return np.concatenate([x, plain(rng, dtype, left)]), np.concatenate([y, plain(rng, dtype, left)])
