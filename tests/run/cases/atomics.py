"""Atomic operations: alone, many on one place, masked, and with each order and scope."""

import numpy as np

from dtypes import *
from suite import Bits, InOut

FILE = "atomics"
SIZES = {"add": (i32, u32, i64, u64, f16, bf16, f32, f64), "max": (i32, u32, i64, u64, f32, f64), "min": (i32, u32, i64, u64, f32, f64), "and": (i32, u32, i64, u64), "or": (i32, u32, i64, u64), "xor": (i32, u32, i64, u64), "xchg": (i32, u32, i64, u64, f32, f64)}  # fmt: skip
FUNCTIONS = {"add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "xchg": lambda y, x: x}


def number(rng, t, *shape):
    """Small whole numbers, whose sums are exact in every type and order."""
    return rng.integers(0 if t in UNSIGNED else -30, 30, shape).astype(t)


def cases(s):
    for op, types in SIZES.items():
        s.kernel(FILE, f"""
@triton.jit
def each_{op}(X, Y, OLD, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    old = tl.atomic_{op}(Y + i, tl.load(X + i), mask=i < n)
    tl.store(OLD + i, old, mask=i < n)


@triton.jit
def {op}_one(X, Y, OLD):
    old = tl.atomic_{op}(Y, tl.load(X))
    tl.store(OLD, old)
""")
        if op != "xchg":
            s.kernel(FILE, f"""
@triton.jit
def {op}_crowd(X, Y, BLOCK: tl.constexpr, PLACES: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_{op}(Y + i % PLACES, tl.load(X + i))
""")
        for t in types:
            rng, n = s.random(f"atomic {op} {t}"), name_of(t)
            x, y = number(rng, t, 256), number(rng, t, 256)
            if t in (f32, f64) and op in ("max", "min"):
                x, y = (rng.standard_normal(256).astype(t) for _ in range(2))
            after, old = y.copy(), np.zeros(256, t)
            after[:200] = FUNCTIONS[op](y[:200], x[:200])
            old[:200] = y[:200]
            zero = np.zeros(256, t)
            s.launch(FILE, f"{op}_{n}", f"each_{op}", {"X": x, "Y": InOut(y, Bits(after)), "OLD": InOut(zero, Bits(old)), "n": 200}, {"BLOCK": 256})
            s.launch(FILE, f"{op}_one_{n}", f"{op}_one", {"X": x, "Y": InOut(y[:1], Bits(np.asarray(FUNCTIONS[op](y[:1], x[:1]), t))), "OLD": Bits(y[:1])})
            if op == "xchg":
                continue
            for places in (1, 8, 64):
                x = number(rng, t, 512) if t not in (f16, bf16) else rng.integers(-1, 2, 512).astype(t)
                y = number(rng, t, places)
                after = y.copy()
                for k in range(places):
                    after[k] = FUNCTIONS[op].reduce(np.concatenate([y[k : k + 1], x[k::places]]).astype(f64 if is_float(t) else t)).astype(t)
                s.launch(FILE, f"{op}_crowd_{n}_{places}", f"{op}_crowd", {"X": x, "Y": InOut(y, Bits(after))}, {"BLOCK": 128, "PLACES": places}, grid=(4,))

    s.kernel(FILE, """
@triton.jit
def cas(C, X, Y, OLD, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(OLD + i, tl.atomic_cas(Y + i, tl.load(C + i), tl.load(X + i)))


@triton.jit
def ticket(LOCK, Y):
    # A lock taken and given back, around an addition that is not atomic.
    while tl.atomic_cas(LOCK, 0, 1) == 1:
        pass
    tl.store(Y, tl.load(Y, volatile=True) + 3)
    tl.debug_barrier()
    tl.atomic_xchg(LOCK, 0)


@triton.jit
def last_one(X, Y, COUNT, n):
    # The last program to finish adds what all have left.
    i = tl.arange(0, 64)
    pid = tl.program_id(0)
    tl.store(X + pid * 64 + i, pid * 64 + i)
    tl.debug_barrier()
    if tl.atomic_add(COUNT, 1) == n - 1:
        total = tl.zeros((64,), tl.int32)
        for k in range(n):
            total += tl.load(X + k * 64 + i, volatile=True)
        tl.store(Y, tl.sum(total, 0))
""")
    for t in (i32, u32, i64, u64, i16, f32, f64, f16, bf16):
        rng = s.random(f"cas {t}")
        y = number(rng, t, 128)
        x, c = number(rng, t, 128), np.where(rng.integers(0, 2, 128) == 0, y, number(rng, t, 128)).astype(t)
        after = np.where(c.view(f"u{t.itemsize}") == y.view(f"u{t.itemsize}"), x, y).astype(t)
        s.launch(FILE, f"cas_{name_of(t)}", "cas", {"C": c, "X": x, "Y": InOut(y, Bits(after)), "OLD": Bits(y)}, {"BLOCK": 128})
    zero = np.zeros(1, i32)
    s.launch(FILE, "ticket", "ticket", {"LOCK": InOut(zero, Bits(zero)), "Y": InOut(zero, Bits(zero + 30))}, grid=(10,))
    n = 7
    s.launch(FILE, "last_one", "last_one", {"X": np.zeros(64 * n, i32), "Y": Bits(np.array([64 * n * (64 * n - 1) // 2], i32)), "COUNT": zero, "n": n}, grid=(n,))

    for order in ("relaxed", "acquire", "release", "acq_rel"):
        for scope in ("cta", "gpu", "sys"):
            name = f"add_{order}_{scope}"
            s.kernel(FILE, f"""
@triton.jit
def {name}(X, Y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.atomic_add(Y + i % 4, tl.load(X + i), sem="{order}", scope="{scope}")
""")
            for t in (i32, f32):
                x = number(s.random(name), t, 128)
                y = np.array([x[k::4].sum() for k in range(4)], t)
                s.launch(FILE, f"{name}_{name_of(t)}", name, {"X": x, "Y": InOut(np.zeros(4, t), Bits(y))}, {"BLOCK": 128})
