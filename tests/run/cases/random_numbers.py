"""Random numbers: Philox 4x32, written down again from its definition, bit for bit."""

import numpy as np

from dtypes import *
from suite import Bits, Within

FILE = "random_numbers"
M32 = np.uint64(0xFFFFFFFF)


def philox(seed, c, rounds):
    """Four u32 for each counter, which is four u32 itself."""
    c0, c1, c2, c3 = (x.astype(np.uint64) for x in c)
    k0, k1 = np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32 & 0xFFFFFFFF)
    for _ in range(rounds):
        a, b = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c1, c2, c3 = (b >> np.uint64(32)) ^ c1 ^ k0, b & M32, (a >> np.uint64(32)) ^ c3 ^ k1, a & M32
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & M32, (k1 + np.uint64(0xBB67AE85)) & M32
    return [x.astype(u32) for x in (c0, c1, c2, c3)]


def counters(offset):
    zero = np.zeros_like(offset)
    if offset.dtype.itemsize == 8:
        wide = offset.view(u64)
        return (wide & M32).astype(u32), (wide >> np.uint64(32)).astype(u32), zero.astype(u32), zero.astype(u32)
    return offset.view(u32), zero.view(u32), zero.view(u32), zero.view(u32)


def uniform(bits):
    """To [0, 1): negative integers are folded, and the scale is the largest f32 that keeps below one."""
    x = bits.view(i32)
    return np.where(x < 0, -x - 1, x).astype(f32) * f32.type(4.6566127342e-10)


def normal(u1, u2):
    u1 = np.maximum(f32.type(1.0e-7), u1)
    theta, r = f(f32.type(6.283185307179586) * u2), np.sqrt(-2 * np.log(f(u1)))
    return r * np.cos(theta), r * np.sin(theta)


def cases(s):
    s.kernel(FILE, """
@triton.jit
def whole(Y, seed, OFFSET, N: tl.constexpr, ROUNDS: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Y + i, tl.randint(seed, tl.load(OFFSET + i), ROUNDS))


@triton.jit
def whole_4(A, B, C, D, seed, OFFSET, N: tl.constexpr, ROUNDS: tl.constexpr):
    i = tl.arange(0, N)
    a, b, c, d = tl.randint4x(seed, tl.load(OFFSET + i), ROUNDS)
    tl.store(A + i, a)
    tl.store(B + i, b)
    tl.store(C + i, c)
    tl.store(D + i, d)


@triton.jit
def rand(Y, seed, OFFSET, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Y + i, tl.rand(seed, tl.load(OFFSET + i)))


@triton.jit
def rand_4(A, B, C, D, seed, OFFSET, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b, c, d = tl.rand4x(seed, tl.load(OFFSET + i))
    tl.store(A + i, a)
    tl.store(B + i, b)
    tl.store(C + i, c)
    tl.store(D + i, d)


@triton.jit
def randn(Y, seed, OFFSET, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Y + i, tl.randn(seed, tl.load(OFFSET + i)))


@triton.jit
def randn_4(A, B, C, D, seed, OFFSET, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b, c, d = tl.randn4x(seed, tl.load(OFFSET + i))
    tl.store(A + i, a)
    tl.store(B + i, b)
    tl.store(C + i, c)
    tl.store(D + i, d)


@triton.jit
def philox(A, B, seed, X, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(X + i).to(tl.uint32)
    a, b, c, d = tl.philox(seed, x, x + 1, x + 2, x + 3)
    tl.store(A + i, a ^ c)
    tl.store(B + i, b ^ d)


@triton.jit
def to_uniform(X, Y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Y + i, tl.uint_to_uniform_float(tl.load(X + i)))


@triton.jit
def to_normal(X, Z, A, B, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.pair_uniform_to_normal(tl.load(X + i), tl.load(Z + i))
    tl.store(A + i, a)
    tl.store(B + i, b)
""")
    n = 256
    near = lambda y: Within(y, 8 * ulp(np.maximum(np.abs(y), 0.5), f32), f32)
    for seed in (42, 0, 2**31 - 1, 123456789012345):
        for t in (i32, u32, i64):
            rng = s.random(f"offset {t} {seed}")
            off = np.concatenate([np.arange(128), rng.integers(0, 2**31 - 1, 128)]).astype(t)
            if t == i64:
                off[200:] *= 12345678
            tag, meta = f"{seed}_{name_of(t)}", {"N": n}
            for rounds in (10, 7):
                out = philox(seed, counters(off), rounds)
                # `randint` keeps the type of the offset's bits.
                s.launch(FILE, f"whole_{tag}_{rounds}", "whole", {"Y": Bits(out[0]), "seed": seed, "OFFSET": off}, {"N": n, "ROUNDS": rounds})
                s.launch(FILE, f"whole_4_{tag}_{rounds}", "whole_4", {**{k: Bits(o) for k, o in zip("ABCD", out)}, "seed": seed, "OFFSET": off}, {"N": n, "ROUNDS": rounds})
            out = philox(seed, counters(off), 10)
            s.launch(FILE, f"rand_{tag}", "rand", {"Y": Bits(uniform(out[0])), "seed": seed, "OFFSET": off}, meta)
            s.launch(FILE, f"rand_4_{tag}", "rand_4", {**{k: Bits(uniform(o)) for k, o in zip("ABCD", out)}, "seed": seed, "OFFSET": off}, meta)
            u = [uniform(o) for o in out]
            y = [*normal(u[0], u[1]), *normal(u[2], u[3])]
            s.launch(FILE, f"randn_{tag}", "randn", {"Y": near(y[0]), "seed": seed, "OFFSET": off}, meta)
            s.launch(FILE, f"randn_4_{tag}", "randn_4", {**{k: near(v) for k, v in zip("ABCD", y)}, "seed": seed, "OFFSET": off}, meta)
    x = s.random("philox").integers(0, 2**31 - 10, n).astype(i32)
    a, b, c, d = philox(7, [(x + k).view(u32) for k in range(4)], 10)
    s.launch(FILE, "philox", "philox", {"A": Bits(a ^ c), "B": Bits(b ^ d), "seed": 7, "X": x}, {"N": n})
    for t in (i32, u32):
        x = some(s.random(f"uniform {t}"), t, n)
        s.launch(FILE, f"to_uniform_{name_of(t)}", "to_uniform", {"X": x, "Y": Bits(uniform(x))}, {"N": n})
    rng = s.random("pairs")
    u1, u2 = rng.random(n).astype(f32), rng.random(n).astype(f32)
    a, b = normal(u1, u2)
    s.launch(FILE, "to_normal", "to_normal", {"X": u1, "Z": u2, "A": near(a), "B": near(b)}, {"N": n})
