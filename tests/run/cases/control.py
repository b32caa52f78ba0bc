"""Control flow with carried numbers and tiles, helpers, tuples, early returns, assembly and elementwise functions."""

import numpy as np

from dtypes import *
from suite import Bits, Norm

FILE = "control"


def cases(s):
    s.kernel(FILE, """
@triton.jit
def rotate(Y, n, N: tl.constexpr):
    # Three tiles carried, each becoming the next.
    a, b, c = tl.arange(0, N), tl.arange(0, N) * 10, tl.arange(0, N) * 100
    for k in range(n):
        a, b, c = b + k, c, a
    i = tl.arange(0, N)
    tl.store(Y + i, a)
    tl.store(Y + N + i, b)
    tl.store(Y + 2 * N + i, c)


@triton.jit
def collatz(X, Y, n):
    i = tl.program_id(0)
    x = tl.load(X + i)
    steps = 0
    while x != 1:
        if x % 2 == 0:
            x = x // 2
        else:
            x = 3 * x + 1
        steps += 1
    tl.store(Y + i, steps)


@triton.jit
def until_small(X, Y, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(X + i)
    while tl.max(x, 0) > 1:
        x = tl.where(x > 1, x // 2, x)
    tl.store(Y + i, x)


@triton.jit
def nested(Y, m, n, N: tl.constexpr):
    i = tl.arange(0, N)
    total = tl.zeros((N,), tl.int32)
    for a in range(m):
        row = tl.zeros((N,), tl.int32)
        for b in range(a, n, 2):
            if (a + b) % 3 == 0:
                row += i * b
            elif b > 5:
                row -= a
        total += row * (a + 1)
    tl.store(Y + i, total)


@triton.jit
def no_trip(X, Y, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(X + i)
    for k in range(5, n):
        x += k
    tl.store(Y + i, x)


@triton.jit
def backwards(Y, n):
    at = 0
    for k in range(20, n, -3):
        tl.store(Y + at, k)
        at += 1


@triton.jit
def wide_loop(Y, start, stop, step):
    count, last = 0, start
    for k in range(start, stop, step):
        count += 1
        last = k
    tl.store(Y, last)
    tl.store(Y + 1, count)


@triton.jit
def unrolled(X, Y, N: tl.constexpr, TIMES: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(X + i)
    for k in tl.static_range(TIMES):
        if k % 2 == 0:
            x = x * 2 + k
        else:
            x = x - k
    tl.store(Y + i, x)


@triton.jit
def hinted_loop(X, Y, n, N: tl.constexpr):
    i = tl.arange(0, N)
    total = tl.zeros((N,), tl.float32)
    for k in tl.range(0, n, num_stages=3, loop_unroll_factor=2):
        total += tl.load(X + k * N + i)
    tl.store(Y + i, total)


@triton.jit
def early(X, Y, n, N: tl.constexpr):
    pid = tl.program_id(0)
    i = tl.arange(0, N)
    if pid >= n:
        return
    x = tl.load(X + pid * N + i)
    if tl.sum(x, 0) < 0:
        tl.store(Y + pid * N + i, -x)
        return
    tl.store(Y + pid * N + i, x)


@triton.jit
def swap_if(a, b, yes):
    if yes:
        r = (b, a)
    else:
        r = (a, b)
    return r


@triton.jit
def fib(n: tl.constexpr):
    if n < 2:
        return n
    else:
        return fib(n - 1) + fib(n - 2)


@triton.jit
def helpers(X, Z, Y, n, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = swap_if(tl.load(X + i), tl.load(Z + i), n > 3)
    tl.store(Y + i, a * 3 - b + fib(7))


@triton.jit
def branch_tiles(X, Y, n, N: tl.constexpr):
    i = tl.arange(0, N)
    if n > 10:
        x = tl.load(X + i)
        y = x * 2
    elif n > 5:
        x = tl.load(X + N + i)
        y = x + 100
    else:
        x = tl.zeros((N,), tl.int32)
        y = x - 1
    tl.store(Y + i, x + y)


@triton.jit
def choose(Y, n):
    tl.store(Y, n * 2 if n > 4 else n - 100)
    tl.store(Y + 1, min(n, 5) + max(n, 9))


@triton.jit
def carried_pointer(X, Y, n, N: tl.constexpr):
    p = X
    total = tl.zeros((N,), tl.int32)
    for k in range(n):
        total += tl.load(p + tl.arange(0, N))
        p += N * (k % 2 + 1)
    tl.store(Y + tl.arange(0, N), total)


@triton.jit(noinline=True)
def triple(x, y):
    return x * 3 + y


@triton.jit
def called(X, Y):
    pid = tl.program_id(0)
    tl.store(Y + pid, triple(tl.load(X + pid), pid))
""")
    n, i = 64, np.arange(64, dtype=i32)
    for times in (0, 1, 5):
        a, b, c = i, i * 10, i * 100
        for k in range(times):
            a, b, c = b + k, c, a
        s.launch(FILE, f"rotate_{times}", "rotate", {"Y": Bits(np.concatenate([a, b, c])), "n": times}, {"N": n})

    def collatz(x):
        steps = 0
        while x != 1:
            x, steps = (x // 2 if x % 2 == 0 else 3 * x + 1), steps + 1
        return steps

    x = np.array([1, 2, 3, 7, 27, 97], i32)
    s.launch(FILE, "collatz", "collatz", {"X": x, "Y": Bits(np.array([collatz(int(v)) for v in x], i32)), "n": 6}, grid=(6,))
    x = s.random("small").integers(-5, 1000, n).astype(i32)
    s.launch(FILE, "until_small", "until_small", {"X": x, "Y": Bits(np.where(x > 1, 1, x).astype(i32))}, {"N": n})
    total = np.zeros(n, i32)
    for a in range(4):
        row = np.zeros(n, i32)
        for b in range(a, 11, 2):
            if (a + b) % 3 == 0:
                row += i * b
            elif b > 5:
                row -= a
        total += row * (a + 1)
    s.launch(FILE, "nested", "nested", {"Y": Bits(total), "m": 4, "n": 11}, {"N": n})
    for stop in (3, 5, 9):
        s.launch(FILE, f"no_trip_{stop}", "no_trip", {"X": x, "Y": Bits(x + sum(range(5, stop))), "n": stop}, {"N": n})
    s.launch(FILE, "backwards", "backwards", {"Y": Bits(np.arange(20, 3, -3, dtype=i32)), "n": 3})
    big = 2**40
    s.launch(FILE, "wide_loop", "wide_loop", {"Y": Bits(np.array([big + 2**33 * 4, 5], i64)), "start": big, "stop": big + 2**33 * 5, "step": 2**33})
    y = x.copy()
    for k in range(5):
        y = y * 2 + k if k % 2 == 0 else y - k
    s.launch(FILE, "unrolled", "unrolled", {"X": x, "Y": Bits(y)}, {"N": n, "TIMES": 5})
    for trips in (0, 1, 2, 5, 8):
        z = s.random("hinted").integers(-9, 9, (8, n)).astype(f32)
        s.launch(FILE, f"hinted_loop_{trips}", "hinted_loop", {"X": z, "Y": Bits(z[:trips].sum(0), f32), "n": trips}, {"N": n})
    z = s.random("early").integers(-9, 9, (6, n)).astype(i32)
    z[0] = -np.abs(z[0]) - 1
    y = np.where(z.sum(1, keepdims=True) < 0, -z, z).astype(i32)
    from suite import InOut

    zero = np.zeros((6, n), i32)
    after = zero.copy()
    after[:4] = y[:4]
    s.launch(FILE, "early", "early", {"X": z, "Y": InOut(zero, Bits(after)), "n": 4}, {"N": n}, grid=(6,))
    w = s.random("helpers").integers(-99, 99, n).astype(i32)
    for k in (2, 7):
        a, b = (w, x) if k > 3 else (x, w)
        s.launch(FILE, f"helpers_{k}", "helpers", {"X": x, "Z": w, "Y": Bits(a * 3 - b + 13), "n": k}, {"N": n})
    both = np.concatenate([x, w])
    for k, y in ((12, x * 3), (7, w * 2 + 100), (2, np.full(n, -1, i32))):
        s.launch(FILE, f"branch_tiles_{k}", "branch_tiles", {"X": both, "Y": Bits(y, i32), "n": k}, {"N": n})
    for k in (3, 8, 20):
        s.launch(FILE, f"choose_{k}", "choose", {"Y": Bits(np.array([k * 2 if k > 4 else k - 100, min(k, 5) + max(k, 9)], i32)), "n": k})
    z = s.random("carried").integers(-9, 9, (10, n)).astype(i32)
    s.launch(FILE, "carried_pointer", "carried_pointer", {"X": z, "Y": Bits(z[0] + z[1] + z[3] + z[4], i32), "n": 4}, {"N": n})
    s.launch(FILE, "called", "called", {"X": x[:5], "Y": Bits(x[:5] * 3 + i[:5])}, grid=(5,))
    elementwise(s)


def elementwise(s):
    s.kernel(FILE, '''
@triton.jit
def assembly(X, Z, Y, N: tl.constexpr):
    i = tl.arange(0, N)
    y = tl.inline_asm_elementwise("shf.l.wrap.b32 $0, $1, $2, 7;", "=r,r,r", [tl.load(X + i), tl.load(Z + i)], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(Y + i, y)


@triton.jit
def assembly_packed(X, Y, N: tl.constexpr):
    i = tl.arange(0, N)
    y = tl.inline_asm_elementwise("and.b32 $0, $1, 0x0F0F0F0F;", "=r,r", [tl.load(X + i)], dtype=tl.int8, is_pure=True, pack=4)
    tl.store(Y + i, y)


@triton.jit
def assembly_pair(X, A, B, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.inline_asm_elementwise("{ and.b32 $0, $2, 0xFF; shr.u32 $1, $2, 8; }", "=r,=r,r", [tl.load(X + i)], dtype=(tl.int32, tl.int32), is_pure=True, pack=1)
    tl.store(A + i, a)
    tl.store(B + i, b)


@triton.jit
def power(x, n):
    r = 1
    while n > 0:
        if n % 2 == 1:
            r *= x
        x *= x
        n = n // 2
    return r


@triton.jit
def mapped(X, Z, Y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Y + i, tl.map_elementwise(power, tl.load(X + i), tl.load(Z + i)))
''')
    rng = s.random("assembly")
    x, z = rng.integers(0, 2**31, 256).astype(i32), rng.integers(0, 2**31, 256).astype(i32)
    wide = x.view(u32).astype(u64)
    y = ((z.view(u32).astype(u64) << np.uint64(7)) | (wide >> np.uint64(25))).astype(u32).view(i32)
    s.launch(FILE, "assembly", "assembly", {"X": x, "Z": z, "Y": Bits(y)}, {"N": 256}, gpu_only=True)
    b = rng.integers(-128, 128, 512).astype(i8)
    s.launch(FILE, "assembly_packed", "assembly_packed", {"X": b, "Y": Bits(b & 15)}, {"N": 512}, gpu_only=True)
    s.launch(FILE, "assembly_pair", "assembly_pair", {"X": x, "A": Bits(x & 255), "B": Bits(x >> 8)}, {"N": 256}, gpu_only=True)
    x, z = rng.integers(-3, 4, 128).astype(i32), rng.integers(0, 10, 128).astype(i32)
    s.launch(FILE, "mapped", "mapped", {"X": x, "Z": z, "Y": Bits(np.array([int(a) ** int(b) for a, b in zip(x, z)], i32))}, {"N": 128})
