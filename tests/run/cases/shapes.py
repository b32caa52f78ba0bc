"""Operations that move elements and change none: joins, splits, permutations, reshapes, broadcasts, and tiles made of nothing."""

import numpy as np

from dtypes import *
from suite import Bits

FILE = "shapes"
TYPES = [i1] + INTS + FLOATS + F8


def cases(s):
    s.kernel(FILE, """
@triton.jit
def tile(X, M: tl.constexpr, N: tl.constexpr):
    return tl.load(X + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])


@triton.jit
def put(Y, y):
    tl.store(Y + tl.arange(0, y.shape[0])[:, None] * y.shape[1] + tl.arange(0, y.shape[1])[None, :], y)


@triton.jit
def transpose(X, Y, M: tl.constexpr, N: tl.constexpr):
    put(Y, tl.trans(tile(X, M, N)))


@triton.jit
def reshape(X, Y, M: tl.constexpr, N: tl.constexpr, P: tl.constexpr, Q: tl.constexpr):
    put(Y, tl.reshape(tile(X, M, N), (P, Q)))


@triton.jit
def ravel(X, Y, M: tl.constexpr, N: tl.constexpr):
    tl.store(Y + tl.arange(0, M * N), tl.ravel(tile(X, M, N)))


@triton.jit
def view(X, Y, N: tl.constexpr):
    put(Y, tl.view(tl.load(X + tl.arange(0, N * N)), (N, N)).T)


@triton.jit
def join(X, Z, Y, M: tl.constexpr, N: tl.constexpr):
    y = tl.join(tile(X, M, N), tile(Z, M, N))
    i = tl.arange(0, M)[:, None, None] * (2 * N) + tl.arange(0, N)[None, :, None] * 2 + tl.arange(0, 2)[None, None, :]
    tl.store(Y + i, y)


@triton.jit
def split(X, Y, Z, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None, None] * (2 * N) + tl.arange(0, N)[None, :, None] * 2 + tl.arange(0, 2)[None, None, :]
    y, z = tl.split(tl.load(X + i))
    put(Y, y)
    put(Z, z)


@triton.jit
def interleave(X, Z, Y, M: tl.constexpr, N: tl.constexpr):
    put(Y, tl.interleave(tile(X, M, N), tile(Z, M, N)))


@triton.jit
def cat(X, Z, Y, N: tl.constexpr):
    # The order is not said, so what is compared is sorted.
    i = tl.arange(0, N)
    tl.store(Y + tl.arange(0, 2 * N), tl.sort(tl.cat(tl.load(X + i), tl.load(Z + i), can_reorder=True)))


@triton.jit
def permute(X, Y, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a, b, c = tl.arange(0, A), tl.arange(0, B), tl.arange(0, C)
    x = tl.load(X + a[:, None, None] * (B * C) + b[None, :, None] * C + c[None, None, :])
    y = tl.permute(x, (2, 0, 1))
    tl.store(Y + c[:, None, None] * (A * B) + a[None, :, None] * B + b[None, None, :], y)


@triton.jit
def broadcast(X, Z, Y, M: tl.constexpr, N: tl.constexpr):
    x, z = tl.load(X + tl.arange(0, M)), tl.load(Z + tl.arange(0, N))
    a, b = tl.broadcast(tl.expand_dims(x, 1), z[None, :])
    put(Y, tl.where(a == a, b, a))


@triton.jit
def broadcast_to(X, Y, M: tl.constexpr, N: tl.constexpr):
    put(Y, tl.broadcast_to(tl.load(X + tl.arange(0, N))[None, :], (M, N)))


@triton.jit
def splat(X, Y, M: tl.constexpr, N: tl.constexpr):
    put(Y, tl.broadcast_to(tl.load(X), M, N))


@triton.jit
def made(Z, F, L, N: tl.constexpr):
    i = tl.arange(0, N)
    t = Z.dtype.element_ty
    tl.store(Z + i, tl.zeros((N,), t))
    tl.store(F + i, tl.full((N,), 1, t))
    tl.store(L + i, tl.zeros_like(tl.load(F + i * 0)) + tl.zeros((N,), t))


@triton.jit
def made_8(Z, L, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Z + i, tl.zeros((N,), Z.dtype.element_ty))
    tl.store(L + i, tl.zeros_like(tl.load(Z + i * 0)))


@triton.jit
def arange(Y):
    tl.store(Y + tl.arange(0, 64), tl.arange(100, 164))


@triton.jit
def swizzle(I, J, M: tl.constexpr, N: tl.constexpr, G: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    a, b = tl.swizzle2d(i, j, M, N, G)
    put(I, a + j * 0)
    put(J, b + i * 0)
""")
    for t in TYPES:
        rng = s.random(f"shapes {t}")
        x, z = plain(rng, t, 512).reshape(16, 32), plain(rng, t, 512).reshape(16, 32)
        at = {"M": 16, "N": 32}
        n = name_of(t)
        s.launch(FILE, f"transpose_{n}", "transpose", {"X": x, "Y": Bits(x.T)}, at)
        s.launch(FILE, f"reshape_{n}", "reshape", {"X": x, "Y": Bits(x.reshape(64, 8))}, {**at, "P": 64, "Q": 8})
        s.launch(FILE, f"ravel_{n}", "ravel", {"X": x, "Y": Bits(x.ravel())}, at)
        s.launch(FILE, f"view_{n}", "view", {"X": x.ravel()[:256], "Y": Bits(x.ravel()[:256].reshape(16, 16).T)}, {"N": 16})
        s.launch(FILE, f"join_{n}", "join", {"X": x, "Z": z, "Y": Bits(np.stack([x, z], -1))}, at)
        both = np.stack([x, z], -1)
        s.launch(FILE, f"split_{n}", "split", {"X": both, "Y": Bits(x), "Z": Bits(z)}, at)
        s.launch(FILE, f"interleave_{n}", "interleave", {"X": x, "Z": z, "Y": Bits(np.stack([x, z], -1).reshape(16, 64))}, at)
        cube = x.reshape(4, 8, 16)
        s.launch(FILE, f"permute_{n}", "permute", {"X": cube, "Y": Bits(cube.transpose(2, 0, 1))}, {"A": 4, "B": 8, "C": 16})
        s.launch(FILE, f"broadcast_to_{n}", "broadcast_to", {"X": x[0], "Y": Bits(np.broadcast_to(x[0], (16, 32)))}, at)
        s.launch(FILE, f"splat_{n}", "splat", {"X": x[0, :1], "Y": Bits(np.broadcast_to(x[0, :1], (16, 32)))}, at)
        zero, one = np.zeros(64, t), np.ones(64, t)
        if t not in F8:
            s.launch(FILE, f"broadcast_{n}", "broadcast", {"X": x[:, 0], "Z": x[0], "Y": Bits(np.broadcast_to(x[0], (16, 32)))}, at)
            s.launch(FILE, f"made_{n}", "made", {"Z": Bits(zero), "F": Bits(one), "L": Bits(zero)}, {"N": 64})
        else:
            s.launch(FILE, f"made_{n}", "made_8", {"Z": Bits(zero), "L": Bits(zero)}, {"N": 64})
        if t in INTS or t in (f32, f16):
            y = np.concatenate([x[0], z[0]])
            s.launch(FILE, f"cat_{n}", "cat", {"X": x[0], "Z": z[0], "Y": Bits(y[np.argsort(f(y) if t.itemsize < 8 else y, kind="stable")])}, {"N": 32})
    # The same in more shapes, and with more or fewer warps: every layout has its own exchange.
    for m, n in ((1, 64), (64, 1), (4, 4), (64, 64), (8, 256)):
        for warps in (1, 4, 8):
            x = s.random(f"moves {m} {n}").integers(0, 10000, (m, n)).astype(i32)
            tag, at = f"{m}x{n}_w{warps}", {"M": m, "N": n}
            s.launch(FILE, f"transpose_{tag}", "transpose", {"X": x, "Y": Bits(x.T)}, at, num_warps=warps)
            s.launch(FILE, f"reshape_{tag}", "reshape", {"X": x, "Y": Bits(x.reshape(n, m))}, {**at, "P": n, "Q": m}, num_warps=warps)
            s.launch(FILE, f"join_{tag}", "join", {"X": x, "Z": x + 1, "Y": Bits(np.stack([x, x + 1], -1))}, at, num_warps=warps)
    s.launch(FILE, "arange", "arange", {"Y": Bits(np.arange(100, 164, dtype=i32))})
    m, n, g = 8, 16, 4
    old = np.arange(m * n).reshape(m, n)
    group, inside = old // (g * n), old % (g * n)
    rows = np.minimum(m - group * g, g)
    s.launch(FILE, "swizzle2d", "swizzle", {"I": Bits((group * g + inside % rows).astype(i32)), "J": Bits((inside // rows).astype(i32))}, {"M": m, "N": n, "G": g})
