"""Loads and stores: masks, fillings, hints, scalars, block pointers, tensor descriptors of both kinds, grids."""

import numpy as np

from dtypes import *
from suite import Bits, Descriptor, InOut

FILE = "memory"
TYPES = [i1] + INTS + FLOATS + F8


def cases(s):
    masks(s)
    pointers(s)
    blocks(s)
    descriptors(s)
    grids(s)


def masks(s):
    s.kernel(FILE, """
@triton.jit
def copy(X, Y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + i, tl.load(X + i, mask=i < n), mask=i < n)


@triton.jit
def copy_exactly(X, Y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(Y + i, tl.load(X + i))


@triton.jit
def filled(X, Y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(Y + i, tl.load(X + i, mask=i < n, other=1))


@triton.jit
def filled_tile(X, F, M, Y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(Y + i, tl.load(X + i, mask=tl.load(M + i), other=tl.load(F + i)))


@triton.jit
def strided(X, Y, stride, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(Y + (BLOCK - 1 - i) * stride, tl.load(X + i * stride))


@triton.jit
def one(X, Y, at):
    tl.store(Y, tl.load(X + at))


@triton.jit
def one_if(X, Y, at, yes):
    tl.store(Y, tl.load(X + at, mask=yes > 0, other=7), mask=at >= 0)


@triton.jit
def one_of_many(X, Y, BLOCK: tl.constexpr):
    # Every lane stores the same element to the same place.
    i = tl.arange(0, BLOCK)
    tl.store(Y + i * 0, tl.load(X + i * 0))
""")
    for t in TYPES:
        rng = s.random(f"memory {t}")
        n = name_of(t)
        x = some(rng, t, 300)
        for count in (300, 257, 256, 1):
            y = np.zeros(300, t)
            after = y.copy()
            after[:count] = x[:count]
            s.launch(FILE, f"copy_{n}_{count}", "copy", {"X": x, "Y": InOut(y, Bits(after)), "n": count}, {"BLOCK": 128}, grid=(3,))
        x = plain(rng, t, 1024)
        s.launch(FILE, f"copy_exactly_{n}", "copy_exactly", {"X": x, "Y": Bits(x)}, {"BLOCK": 1024})
        if t not in F8:
            after = x[:256].copy()
            after[100:] = 1
            s.launch(FILE, f"filled_{n}", "filled", {"X": x[:100], "Y": Bits(after), "n": 100}, {"BLOCK": 256})
        m, y = rng.integers(0, 2, 256).astype(bool), plain(rng, t, 256)
        s.launch(FILE, f"filled_tile_{n}", "filled_tile", {"X": x[:256], "F": y, "M": m, "Y": Bits(np.where(m, x[:256], y).astype(t))}, {"BLOCK": 256})
        after = np.zeros(64 * 3, t)
        after[::3] = x[: 64 * 3 : 3][::-1]
        s.launch(FILE, f"strided_{n}", "strided", {"X": x[: 64 * 3], "Y": InOut(np.zeros(64 * 3, t), Bits(after)), "stride": 3}, {"BLOCK": 64})
        s.launch(FILE, f"one_{n}", "one", {"X": x, "Y": Bits(x[77:78]), "at": 77})
        if t not in F8 and t != i1:
            for yes in (0, 1):
                s.launch(FILE, f"one_if_{n}_{yes}", "one_if", {"X": x, "Y": Bits(x[77:78] if yes else np.array([7], t)), "at": 77, "yes": yes * 2})
        s.launch(FILE, f"one_of_many_{n}", "one_of_many", {"X": x, "Y": Bits(x[:1])}, {"BLOCK": 128})

    for kind, options in (("load", ['cache_modifier=".ca"', 'cache_modifier=".cg"', 'cache_modifier=".cv"', 'eviction_policy="evict_first"', 'eviction_policy="evict_last"', "volatile=True"]), ("store", [f'cache_modifier=".{c}"' for c in ("wb", "cg", "cs", "wt")] + ['eviction_policy="evict_first"', 'eviction_policy="evict_last"'])):
        for number, option in enumerate(options):
            load, store = (", " + option, "") if kind == "load" else ("", ", " + option)
            name = f"hint_{kind}_{number}"
            s.kernel(FILE, f"""
@triton.jit
def {name}(X, Y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(Y + i, tl.load(X + i, mask=i < n, other=3{load}), mask=i < n + 9{store})
""")
            for t in (f32, f16, i64):
                x, y = plain(s.random(f"{name} {t}"), t, 256), np.zeros(256, t)
                after = y.copy()
                after[:200], after[200:209] = x[:200], 3
                s.launch(FILE, f"{name}_{name_of(t)}", name, {"X": x, "Y": InOut(y, Bits(after)), "n": 200}, {"BLOCK": 256})


def pointers(s):
    s.kernel(FILE, """
@triton.jit
def indirect(X, I, Y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(Y + i, tl.load(X + tl.load(I + i)))


@triton.jit
def scatter(X, I, Y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(Y + tl.load(I + i), tl.load(X + i))


@triton.jit
def chosen(X, Z, Y, which, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(Y + i, tl.load(tl.where(i < which, X + i, Z + i)))


@triton.jit
def through_integers(X, Y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    p = (X.to(tl.int64) + 4 * i).to(tl.pointer_type(tl.float32))
    tl.store(Y + i, tl.load(p))


@triton.jit
def as_bytes(X, Y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(Y + i, tl.load(X.to(tl.pointer_type(tl.uint8), bitcast=True) + i))


@triton.jit
def stepped(X, Y, n, BLOCK: tl.constexpr):
    p, q = X + tl.arange(0, BLOCK), Y + tl.arange(0, BLOCK)
    for k in range(0, n, BLOCK):
        inside = tl.arange(0, BLOCK) + k < n
        tl.store(q, tl.load(p, mask=inside), mask=inside)
        p += BLOCK
        q += BLOCK


@triton.jit
def hinted(X, Y, n, BLOCK: tl.constexpr):
    n = tl.multiple_of(n, 16)
    tl.assume(n > 0)
    i = tl.max_contiguous(tl.multiple_of(tl.arange(0, BLOCK), BLOCK), BLOCK)
    tl.store(Y + i, tl.load(X + i, mask=i < n, other=0))
""")
    for t in (i32, i64, u32, i16, u8):
        rng = s.random(f"indirect {t}")
        x = rng.standard_normal(256).astype(f32)
        i = rng.permutation(256).astype(t) if t != i16 else rng.permutation(256).astype(t)
        s.launch(FILE, f"indirect_{name_of(t)}", "indirect", {"X": x, "I": i, "Y": Bits(x[i.astype(int)])}, {"BLOCK": 256})
        y = np.zeros(256, f32)
        y[i.astype(int)] = x
        s.launch(FILE, f"scatter_{name_of(t)}", "scatter", {"X": x, "I": i, "Y": Bits(y)}, {"BLOCK": 256})
    rng = s.random("pointers")
    x, z = rng.standard_normal(1000).astype(f32), rng.standard_normal(1000).astype(f32)
    s.launch(FILE, "chosen", "chosen", {"X": x, "Z": z, "Y": Bits(np.concatenate([x[:50], z[50:128]])), "which": 50}, {"BLOCK": 128})
    s.launch(FILE, "through_integers", "through_integers", {"X": x, "Y": Bits(x[:128])}, {"BLOCK": 128})
    s.launch(FILE, "as_bytes", "as_bytes", {"X": x, "Y": Bits(x.view(u8)[:512])}, {"BLOCK": 512})
    s.launch(FILE, "stepped", "stepped", {"X": x, "Y": Bits(x), "n": 1000}, {"BLOCK": 128})
    s.launch(FILE, "hinted", "hinted", {"X": x, "Y": Bits(np.where(np.arange(128) < 48, x[:128], 0).astype(f32)), "n": 48}, {"BLOCK": 128})


def blocks(s):
    s.kernel(FILE, """
@triton.jit
def block_copy(X, Y, m, n, BM: tl.constexpr, BN: tl.constexpr):
    at = (tl.program_id(0) * BM, tl.program_id(1) * BN)
    x = tl.make_block_ptr(X, (m, n), (n, 1), at, (BM, BN), (1, 0))
    y = tl.make_block_ptr(Y, (m, n), (n, 1), at, (BM, BN), (1, 0))
    tl.store(y, tl.load(x, boundary_check=(0, 1)), boundary_check=(0, 1))


@triton.jit
def block_transposed(X, Y, m, n, BM: tl.constexpr, BN: tl.constexpr):
    x = tl.make_block_ptr(X, (n, m), (1, n), (0, 0), (BN, BM), (0, 1))
    y = tl.load(x, boundary_check=(0, 1), padding_option="zero")
    tl.store(Y + tl.arange(0, BN)[:, None] * BM + tl.arange(0, BM)[None, :], y)


@triton.jit
def block_walk(X, Y, m, n, BM: tl.constexpr, BN: tl.constexpr):
    x = tl.make_block_ptr(X, (m, n), (n, 1), (0, 0), (BM, BN), (1, 0))
    total = tl.zeros((BM, BN), X.dtype.element_ty)
    for k in range(0, n, BN):
        total += tl.load(x, boundary_check=(0, 1), padding_option="zero")
        x = tl.advance(x, (0, BN))
    tl.store(Y + tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :], total)


@triton.jit
def block_nan(X, Y, n, BN: tl.constexpr):
    x = tl.make_block_ptr(X, (n,), (1,), (-4,), (BN,), (0,))
    tl.store(Y + tl.arange(0, BN), tl.load(x, boundary_check=(0,), padding_option="nan"))
""")
    for t in INTS + FLOATS:
        rng = s.random(f"block {t}")
        m, n = 50, 37
        x = plain(rng, t, m * n, 1.0).reshape(m, n)
        name = name_of(t)
        s.launch(FILE, f"block_copy_{name}", "block_copy", {"X": x, "Y": Bits(x), "m": m, "n": n}, {"BM": 16, "BN": 32}, grid=(4, 2))
        y = np.zeros((64, 64), t)
        y[:n, :m] = x.T
        s.launch(FILE, f"block_transposed_{name}", "block_transposed", {"X": x, "Y": Bits(y), "m": m, "n": n}, {"BM": 64, "BN": 64})
        if t in FLOATS:
            y = np.full(64, np.nan, t)
            y[4:41] = x[0]
            s.launch(FILE, f"block_nan_{name}", "block_nan", {"X": x[0], "Y": Bits(y), "n": n}, {"BN": 64})
            x = rng.integers(-8, 8, (m, n)).astype(t)
        y = np.zeros((64, 48), t)
        y[:m, :n] = x
        y = y.reshape(64, 3, 16)
        y = (y[:, 0] + y[:, 1] + y[:, 2]).astype(t)
        s.launch(FILE, f"block_walk_{name}", "block_walk", {"X": x, "Y": Bits(y), "m": m, "n": n}, {"BM": 64, "BN": 16})


def descriptors(s):
    s.kernel(FILE, """
@triton.jit
def device_descriptor(X, Y, m, n, BM: tl.constexpr, BN: tl.constexpr):
    x = tl.make_tensor_descriptor(X, [m, n], [n, 1], [BM, BN])
    y = tl.make_tensor_descriptor(Y, [m, n], [n, 1], [BM, BN])
    at = [tl.program_id(0) * BM, tl.program_id(1) * BN]
    y.store(at, x.load(at))


@triton.jit
def host_descriptor(x, y, BM: tl.constexpr, BN: tl.constexpr):
    at = [tl.program_id(0) * BM, tl.program_id(1) * BN]
    y.store(at, x.load(at))


@triton.jit
def descriptor_padding(x, Y, BM: tl.constexpr, BN: tl.constexpr):
    # Partly before the tensor's start, partly behind its end.
    tile = x.load([-4, 16])
    tl.store(Y + tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :], tile)


@triton.jit
def descriptor_gather(X, I, Y, m, n, BN: tl.constexpr):
    x = tl.make_tensor_descriptor(X, [m, n], [n, 1], [1, BN])
    rows = tl.load(I + tl.arange(0, 16))
    tl.store(Y + tl.arange(0, 16)[:, None] * BN + tl.arange(0, BN)[None, :], x.gather(rows, 16))


@triton.jit
def descriptor_scatter(X, I, Y, m, n, BN: tl.constexpr):
    y = tl.make_tensor_descriptor(Y, [m, n], [n, 1], [1, BN])
    rows = tl.load(I + tl.arange(0, 16))
    y.scatter(tl.load(X + tl.arange(0, 16)[:, None] * BN + tl.arange(0, BN)[None, :]), rows, 16)


@triton.jit
def descriptor_cube(x, Y, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    tile = x.load([tl.program_id(0), 8, 0]).reshape(B, C)
    tl.store(Y + tl.program_id(0) * B * C + tl.arange(0, B)[:, None] * C + tl.arange(0, C)[None, :], tile)
""")
    for t in INTS + FLOATS + F8:
        rng, name = s.random(f"descriptor {t}"), name_of(t)
        m, n = 40, 80
        x = plain(rng, t, m * n, 1.0 if is_float(t) else None).reshape(m, n)
        meta = {"BM": 16, "BN": 32}
        s.launch(FILE, f"device_descriptor_{name}", "device_descriptor", {"X": x, "Y": Bits(x), "m": m, "n": n}, meta, grid=(3, 3))
        s.launch(FILE, f"host_descriptor_{name}", "host_descriptor", {"x": Descriptor(x, (16, 32)), "y": Descriptor(Bits(x), (16, 32))}, meta, grid=(3, 3))
        y = np.zeros((64, 128), t)
        y[4:44, :64] = x[:, 16:]
        s.launch(FILE, f"descriptor_padding_{name}", "descriptor_padding", {"x": Descriptor(x, (64, 128)), "Y": Bits(y)}, {"BM": 64, "BN": 128})
        if t.itemsize in (2, 4):
            i = rng.permutation(m)[:16].astype(i32)
            s.launch(FILE, f"descriptor_gather_{name}", "descriptor_gather", {"X": x, "I": i, "Y": Bits(x[i, 16:48]), "m": m, "n": n}, {"BN": 32})
            y = x.copy()
            z = plain(rng, t, 16 * 32, 1.0 if is_float(t) else None).reshape(16, 32)
            y[i, 16:48] = z
            s.launch(FILE, f"descriptor_scatter_{name}", "descriptor_scatter", {"X": z, "I": i, "Y": InOut(x, Bits(y)), "m": m, "n": n}, {"BN": 32})
        x = plain(rng, t, 4 * 24 * 16, 1.0 if is_float(t) else None).reshape(4, 24, 16)
        s.launch(FILE, f"descriptor_cube_{name}", "descriptor_cube", {"x": Descriptor(x, (1, 16, 16)), "Y": Bits(x[:, 8:])}, {"A": 4, "B": 16, "C": 16}, grid=(4,))

    for op, types, fn in (
        ("add", (i32, u32, u64, f32, f16, bf16), np.add),
        ("min", (i32, u32, i64, u64, f16, bf16), np.minimum),
        ("max", (i32, u32, i64, u64, f16, bf16), np.maximum),
        ("and", (i32, u32, i64, u64), np.bitwise_and),
        ("or", (i32, u32, i64, u64), np.bitwise_or),
        ("xor", (i32, u32, i64, u64), np.bitwise_xor),
    ):
        s.kernel(FILE, f"""
@triton.jit
def descriptor_atomic_{op}(X, Y, m, n, BM: tl.constexpr, BN: tl.constexpr):
    y = tl.make_tensor_descriptor(Y, [m, n], [n, 1], [BM, BN])
    x = tl.load(X + tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :])
    y.atomic_{op}([8, 16], x)
""")
        for t in types:
            rng = s.random(f"descriptor {op} {t}")
            number = lambda *shape, t=t, rng=rng: rng.integers(0 if t in UNSIGNED else -50, 50, shape).astype(t)
            x, y = number(16, 32), number(20, 48)
            after = y.copy()
            after[8:20, 16:48] = fn(y[8:20, 16:48], x[:12])
            s.launch(FILE, f"descriptor_atomic_{op}_{name_of(t)}", f"descriptor_atomic_{op}", {"X": x, "Y": InOut(y, Bits(after)), "m": 20, "n": 48}, {"BM": 16, "BN": 32})


def grids(s):
    s.kernel(FILE, """
@triton.jit
def grid(Y):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    nx, ny, nz = tl.num_programs(0), tl.num_programs(1), tl.num_programs(2)
    at = (z * ny + y) * nx + x
    tl.store(Y + at, x + 100 * y + 10000 * z + 1000000 * nx + 10000000 * ny + 100000000 * nz)


@triton.jit
def scalars(Y, a, b, c, d: tl.int64, e: tl.float32):
    tl.store(Y + 0, a.to(tl.float64))
    tl.store(Y + 1, tl.cast(b, tl.float64))
    tl.store(Y + 2, c.to(tl.float64))
    tl.store(Y + 3, d.to(tl.float64))
    tl.store(Y + 4, e.to(tl.float64))
""")
    for shape in ((5,), (3, 4), (2, 3, 4)):
        nx, ny, nz = (*shape, 1, 1)[:3]
        z, y, x = np.meshgrid(np.arange(nz), np.arange(ny), np.arange(nx), indexing="ij")
        want = x + 100 * y + 10000 * z + 1000000 * nx + 10000000 * ny + 100000000 * nz
        s.launch(FILE, f"grid_{len(shape)}", "grid", {"Y": Bits(want.astype(i32))}, grid=shape)
    args = {"a": -17, "b": 1, "c": 5000000000, "d": 12, "e": 0.1}
    want = np.array([-17, 1, 5e9, 12, np.float32(0.1)], f64)
    s.launch(FILE, "scalars", "scalars", {"Y": Bits(want), **args})
