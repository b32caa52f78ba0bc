"""Prefix sums, products and scans by functions of the user's own, forwards and in reverse; sorting, histograms, gathering."""

import numpy as np

from cases.reductions import bound, reduced
from dtypes import *
from suite import Bits, Norm

FILE = "scans"


def turned(fn, x, axis, reverse):
    return np.flip(fn(np.flip(x, axis), axis), axis) if reverse else fn(x, axis)


def cases(s):
    s.kernel(FILE, """
@triton.jit
def cumsum(X, Y, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(Y + i, tl.cumsum(tl.load(X + i), AXIS, reverse=REVERSE))


@triton.jit
def cumprod(X, Y, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(Y + i, tl.cumprod(tl.load(X + i), AXIS, reverse=REVERSE))


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def linear(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def running_max(X, Y, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(Y + i, tl.associative_scan(tl.load(X + i), AXIS, larger, reverse=REVERSE))


@triton.jit
def recurrence(A, B, Y, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    _, y = tl.associative_scan((tl.load(A + i), tl.load(B + i)), AXIS, linear, reverse=REVERSE)
    tl.store(Y + i, y)


@triton.jit
def cumsum_row(X, Y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Y + i, tl.cumsum(tl.load(X + i), 0))
""")
    for axis in (0, 1):
        for reverse in (False, True):
            meta = {"M": 32, "N": 64, "AXIS": axis, "REVERSE": reverse}
            tag = f"{axis}{'r' if reverse else ''}"
            n = (32, 64)[axis]
            for t in INTS + FLOATS:
                rng = s.random(f"cumsum {t} {tag}")
                x = plain(rng, t, 32 * 64, 1.0).reshape(32, 64)
                kept = f32 if t == bf16 else t
                if is_float(t):
                    y = turned(np.cumsum, f(x), axis, reverse)
                    s.launch(FILE, f"cumsum_{name_of(t)}_{tag}", "cumsum", {"X": x, "Y": Norm(y, bound(kept, n), kept)}, meta)
                else:
                    r = reduced(t)
                    y = turned(lambda v, a, r=r: np.cumsum(v, a, dtype=r), x, axis, reverse)
                    s.launch(FILE, f"cumsum_{name_of(t)}_{tag}", "cumsum", {"X": x, "Y": Bits(y, r)}, meta)
                if is_float(t) or t.itemsize >= 4:
                    if is_float(t):
                        x = (1 + rng.standard_normal((32, 64)) * 0.05).astype(t)
                        y = Norm(turned(np.cumprod, f(x), axis, reverse), bound(kept, n), kept)
                    else:
                        y = Bits(turned(lambda v, a, t=t: np.cumprod(v, a, dtype=t), x, axis, reverse))
                    s.launch(FILE, f"cumprod_{name_of(t)}_{tag}", "cumprod", {"X": x, "Y": y}, meta)
            for t in (i32, i64, f32):
                x = plain(s.random(f"running {t} {tag}"), t, 32 * 64, 1.0).reshape(32, 64)
                y = turned(np.maximum.accumulate, x, axis, reverse)
                s.launch(FILE, f"running_max_{name_of(t)}_{tag}", "running_max", {"X": x, "Y": Bits(y)}, meta)
            rng = s.random(f"recurrence {tag}")
            a, b = rng.uniform(0.5, 1, (32, 64)).astype(f32), rng.standard_normal((32, 64)).astype(f32)

            def follow(ab, axis):
                ab = np.moveaxis(ab, axis + 1, 1)
                out, state = [], 0.0
                for at in range(ab.shape[1]):
                    state = ab[0, at] * state + ab[1, at]
                    out.append(state)
                return np.moveaxis(np.stack(out), 0, axis)

            ab = np.stack([f(a), f(b)])
            y = np.flip(follow(np.flip(ab, axis + 1), axis), axis) if reverse else follow(ab, axis)
            s.launch(FILE, f"recurrence_{tag}", "recurrence", {"A": a, "B": b, "Y": Norm(y, bound(f32, n), f32)}, meta)
    for n in (2, 16, 128, 1024, 4096):
        for warps in (1, 4, 8):
            x = s.random(f"row {n}").integers(-1000, 1000, n).astype(i32)
            s.launch(FILE, f"row_{n}_w{warps}", "cumsum_row", {"X": x, "Y": Bits(x.cumsum(dtype=i32))}, {"N": n}, num_warps=warps)
    sorting(s)
    histograms(s)
    gathers(s)


def sorting(s):
    s.kernel(FILE, """
@triton.jit
def sort(X, Y, M: tl.constexpr, N: tl.constexpr, DOWN: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(Y + i, tl.sort(tl.load(X + i), 1, DOWN))


@triton.jit
def topk(X, Y, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    y = tl.topk(tl.load(X + i), K)
    tl.store(Y + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :], y)


@triton.jit
def flip(X, Y, M: tl.constexpr, N: tl.constexpr, DIM: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(Y + i, tl.flip(tl.load(X + i), DIM))


@triton.jit
def bitonic_merge(X, Y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Y + i, tl.bitonic_merge(tl.load(X + i), 0))
""")
    for t in INTS + FLOATS:
        x = plain(s.random(f"sort {t}"), t, 8 * 64, 3.0).reshape(8, 64)
        up = x[np.arange(8)[:, None], np.argsort(f(x) if t.itemsize < 8 or is_float(t) else x, axis=1, kind="stable")]
        for down in (False, True):
            y = up[:, ::-1] if down else up
            s.launch(FILE, f"sort_{name_of(t)}_{'down' if down else 'up'}", "sort", {"X": x, "Y": Bits(y)}, {"M": 8, "N": 64, "DOWN": down})
        s.launch(FILE, f"topk_{name_of(t)}", "topk", {"X": x, "Y": Bits(up[:, ::-1][:, :8])}, {"M": 8, "N": 64, "K": 8})
        s.launch(FILE, f"flip_{name_of(t)}", "flip", {"X": x, "Y": Bits(x[:, ::-1])}, {"M": 8, "N": 64, "DIM": 1})
    x = s.random("flip 0").integers(0, 100, (16, 32)).astype(i32)
    s.launch(FILE, "flip_0", "flip", {"X": x, "Y": Bits(x[::-1])}, {"M": 16, "N": 32, "DIM": 0})
    for n in (16, 512):
        x = s.random(f"sort {n}").integers(-99, 99, (1, n)).astype(i32)
        s.launch(FILE, f"sort_{n}", "sort", {"X": x, "Y": Bits(np.sort(x, 1))}, {"M": 1, "N": n, "DOWN": False})
    rng = s.random("bitonic")
    x = np.concatenate([np.sort(rng.integers(-99, 99, 64)), np.sort(rng.integers(-99, 99, 64))[::-1]]).astype(i32)
    s.launch(FILE, "bitonic", "bitonic_merge", {"X": x, "Y": Bits(np.sort(x))}, {"N": 128})


def histograms(s):
    s.kernel(FILE, """
@triton.jit
def histogram(X, Y, N: tl.constexpr, BINS: tl.constexpr):
    x = tl.load(X + tl.arange(0, N))
    tl.store(Y + tl.arange(0, BINS), tl.histogram(x, BINS))


@triton.jit
def histogram_of_some(X, KEEP, Y, N: tl.constexpr, BINS: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Y + tl.arange(0, BINS), tl.histogram(tl.load(X + i), BINS, mask=tl.load(KEEP + i)))
""")
    for t in (i32, i64, u32, i16, i8, u8):
        for n, bins in ((512, 32), (64, 64), (1024, 2)):
            rng = s.random(f"histogram {t} {n} {bins}")
            x = rng.integers(0, bins, n).astype(t)
            keep = rng.integers(0, 2, n).astype(bool)
            meta = {"N": n, "BINS": bins}
            s.launch(FILE, f"histogram_{name_of(t)}_{n}_{bins}", "histogram", {"X": x, "Y": Bits(np.bincount(x, minlength=bins).astype(i32))}, meta)
            y = np.bincount(x[keep], minlength=bins).astype(i32)
            s.launch(FILE, f"histogram_of_some_{name_of(t)}_{n}_{bins}", "histogram_of_some", {"X": x, "KEEP": keep, "Y": Bits(y)}, meta)


def gathers(s):
    s.kernel(FILE, """
@triton.jit
def gather(X, I, Y, M: tl.constexpr, N: tl.constexpr, P: tl.constexpr, Q: tl.constexpr, AXIS: tl.constexpr):
    x = tl.load(X + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    j = tl.arange(0, P)[:, None] * Q + tl.arange(0, Q)[None, :]
    tl.store(Y + j, tl.gather(x, tl.load(I + j), AXIS))


@triton.jit
def gather_row(X, I, Y, N: tl.constexpr, P: tl.constexpr):
    j = tl.arange(0, P)
    tl.store(Y + j, tl.gather(tl.load(X + tl.arange(0, N)), tl.load(I + j), 0))
""")
    for t in INTS + FLOATS + F8:
        rng = s.random(f"gather {t}")
        x = plain(rng, t, 32 * 16).reshape(32, 16)
        i = rng.integers(0, 32, (64, 16)).astype(i32)
        s.launch(FILE, f"gather_{name_of(t)}_0", "gather", {"X": x, "I": i, "Y": Bits(np.take_along_axis(x, i.astype(int), 0))}, {"M": 32, "N": 16, "P": 64, "Q": 16, "AXIS": 0})
        i = rng.integers(0, 16, (32, 8)).astype(i32)
        s.launch(FILE, f"gather_{name_of(t)}_1", "gather", {"X": x, "I": i, "Y": Bits(np.take_along_axis(x, i.astype(int), 1))}, {"M": 32, "N": 16, "P": 32, "Q": 8, "AXIS": 1})
    for t in (i64, i16, u8):
        rng = s.random(f"gather by {t}")
        x, i = rng.standard_normal(128).astype(f32), rng.integers(0, 100, 256).astype(t)
        s.launch(FILE, f"gather_by_{name_of(t)}", "gather_row", {"X": x, "I": i, "Y": Bits(x[i.astype(int)])}, {"N": 128, "P": 256})
