import triton
import triton.language as tl


@triton.jit
def copy(p, q, N: tl.constexpr, LOAD: tl.constexpr, STORE: tl.constexpr, EVICT: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(p + i, cache_modifier=LOAD, eviction_policy=EVICT)
    tl.store(q + i, x, cache_modifier=STORE, eviction_policy=EVICT)


@triton.jit
def vol(p, q, N: tl.constexpr):
    i = tl.arange(0, N)
    m = i < 7
    tl.store(q + i, tl.load(p + i, mask=m, other=1, volatile=True), mask=m)


@triton.jit
def pp(p, q, N: tl.constexpr):
    a = tl.load(p).to(tl.pointer_type(tl.float32))
    i = tl.arange(0, N)
    tl.store(q + i, tl.load(a + i))
    b = tl.load(p + i).to(tl.pointer_type(tl.float32))
    tl.store(q + i, tl.load(b))


@triton.jit
def cast(p, q, N: tl.constexpr, D: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(q + i, tl.load(p + i).to(D))


@triton.jit
def changed(q, x, m, OP: tl.constexpr):
    if OP == "add":
        o = tl.atomic_add(q, x, mask=m)
    elif OP == "max":
        o = tl.atomic_max(q, x, mask=m)
    elif OP == "min":
        o = tl.atomic_min(q, x, mask=m)
    elif OP == "and":
        o = tl.atomic_and(q, x, mask=m)
    elif OP == "or":
        o = tl.atomic_or(q, x, mask=m)
    elif OP == "xor":
        o = tl.atomic_xor(q, x, mask=m)
    elif OP == "xchg":
        o = tl.atomic_xchg(q, x, mask=m)
    return o


@triton.jit
def atomic(p, q, r, N: tl.constexpr, OP: tl.constexpr, OLD: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(p + i)
    if OLD:
        tl.store(r + i, changed(q + i, x, i < 5, OP))
    else:
        changed(q + i, x, None, OP)


@triton.jit
def atomic_scalar(p, q, r, OP: tl.constexpr, OLD: tl.constexpr):
    o = changed(q, tl.load(p), None, OP)
    if OLD:
        tl.store(r, o)


@triton.jit
def ordered(p, q, r, N: tl.constexpr, SEM: tl.constexpr, SCOPE: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(p + i)
    o = tl.atomic_add(q + i, x, sem=SEM, scope=SCOPE)
    tl.store(r + i, o)
    tl.atomic_add(q + i, x, sem=SEM, scope=SCOPE)
    o = tl.atomic_cas(q + i, o, x, sem=SEM, scope=SCOPE)
    tl.store(r + i, o)
    z = tl.atomic_cas(q, tl.load(p), tl.load(p + 1), sem=SEM, scope=SCOPE)
    tl.store(r, z)


@triton.jit
def cas(p, q, r, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(p + i)
    o = tl.atomic_cas(q + i, x, x + x)
    tl.store(r + i, o)


@triton.jit
def lock(l, p, n):
    while tl.atomic_cas(l, 0, 1) == 1:
        pass
    i = tl.arange(0, 128)
    tl.store(p + i, tl.load(p + i) + 1)
    tl.debug_barrier()
    tl.atomic_xchg(l, 0)


@triton.jit
def reduced(x, AXIS: tl.constexpr, OP: tl.constexpr):
    if OP == "sum":
        s = tl.sum(x, axis=AXIS)
    elif OP == "max":
        s = tl.max(x, axis=AXIS)
    elif OP == "min":
        s = tl.min(x, axis=AXIS)
    elif OP == "argmax":
        s = tl.argmax(x, axis=AXIS)
    elif OP == "argmin":
        s = tl.argmin(x, axis=AXIS)
    elif OP == "xor_sum":
        s = tl.xor_sum(x, axis=AXIS)
    return s


@triton.jit
def reduction(p, q, M: tl.constexpr, N: tl.constexpr, OP: tl.constexpr, AXIS: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    if AXIS == 0:
        tl.store(q + tl.arange(0, N), reduced(tl.load(p + i), 0, OP))
    elif AXIS == 1:
        tl.store(q + tl.arange(0, M), reduced(tl.load(p + i), 1, OP))
    elif AXIS == 2:
        k = i[:, :, None] * 4 + tl.arange(0, 4)[None, None, :]
        tl.store(q + i, reduced(tl.load(p + k), 2, OP))
    elif OP == "argmax" or OP == "argmin":
        tl.store(q, reduced(tl.reshape(tl.load(p + i), [M * N]), 0, OP))
    else:
        tl.store(q, reduced(tl.load(p + i), None, OP))


@triton.jit
def comb_if(a, b):
    if a > b:
        r = a * 2 - b
    else:
        r = b
    return r


@triton.jit
def comb3(a, b, c, d, e, f):
    return a * d, b * d + e, tl.maximum(c, f)


@triton.jit
def comb_arg(v, i, w, j):
    t = (v > w) | ((v == w) & (i < j))
    return tl.where(t, v, w), tl.where(t, i, j)


@triton.jit
def combined(p, q, M: tl.constexpr, N: tl.constexpr, OP: tl.constexpr, AXIS: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(p + i)
    if OP == "if":
        s = tl.reduce(x, AXIS, comb_if)
    elif OP == "three":
        s, t, u = tl.reduce((x, x + 1, i), AXIS, comb3)
        s = s + t + u
    else:
        s, t = tl.reduce((x, i), AXIS, comb_arg)
        s = s + t
    if AXIS == 0:
        o = q + tl.arange(0, N)
    else:
        o = q + tl.arange(0, M)
    tl.store(o, s)


@triton.jit
def scanned(p, q, M: tl.constexpr, N: tl.constexpr, OP: tl.constexpr, AXIS: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(p + i)
    if OP == "if":
        s = tl.associative_scan(x, AXIS, comb_if)
    elif OP == "three":
        s, t, u = tl.associative_scan((x, x + 1, i), AXIS, comb3)
        s = s + t + u
    else:
        s, t = tl.associative_scan((x, i), AXIS, comb_arg)
        s = s + t
    tl.store(q + i, s)


@triton.jit
def cumulative(p, q, M: tl.constexpr, N: tl.constexpr, OP: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    if OP == "sum":
        tl.store(q + i, tl.cumsum(tl.load(p + i), AXIS, reverse=REVERSE))
    else:
        tl.store(q + i, tl.cumprod(tl.load(p + i), AXIS, reverse=REVERSE))


@triton.jit
def sort(p, q, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(q + i, tl.sort(tl.load(p + i), 1, D))


@triton.jit
def topk(p, q, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    j = tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :]
    tl.store(q + j, tl.topk(tl.load(p + i), K))


@triton.jit
def flip(p, q, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(q + i, tl.flip(tl.load(p + i), 0))


@triton.jit
def gather0(p, x, q, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    j = tl.arange(0, K)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(q + j, tl.gather(tl.load(p + i), tl.load(x + j), 0))


@triton.jit
def gather1(p, x, q, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    j = tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :]
    tl.store(q + j, tl.gather(tl.load(p + i), tl.load(x + j), 1))


@triton.jit
def gather_1(p, x, q, N: tl.constexpr, K: tl.constexpr):
    i = tl.arange(0, N)
    j = tl.arange(0, K)
    tl.store(q + j, tl.gather(tl.load(p + i), tl.load(x + j), 0))


@triton.jit
def hist(p, q, N: tl.constexpr, B: tl.constexpr):
    tl.store(q + tl.arange(0, B), tl.histogram(tl.load(p + tl.arange(0, N)), B))


@triton.jit
def histm(p, q, N: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(q + tl.arange(0, B), tl.histogram(tl.load(p + i), B, mask=i < 77))


@triton.jit
def join(p, q, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(p + i)
    z = tl.join(x, x + x)
    a, b = tl.split(z)
    tl.store(q + i, a)
    tl.store(q + N + i, b)
    tl.store(q + tl.arange(0, N)[:, None] * 2 + tl.arange(0, 2)[None, :], z)
    c = tl.cat(a, b, can_reorder=True)
    tl.store(q + tl.arange(0, 2 * N), c)
    tl.store(q + tl.arange(0, 2 * N), tl.interleave(a, b))


@triton.jit
def perm(p, q, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    i = tl.arange(0, A)[:, None, None] * B * C + tl.arange(0, B)[None, :, None] * C + tl.arange(0, C)[None, None, :]
    x = tl.load(p + i)
    y = tl.permute(x, [2, 0, 1])
    z = tl.reshape(y, [A * B * C])
    tl.store(q + tl.arange(0, A * B * C), z)
    w = tl.trans(tl.reshape(z, [C, A * B]))
    tl.store(q + tl.arange(0, A * B)[:, None] * C + tl.arange(0, C)[None, :], w)
    v = tl.ravel(w)
    tl.store(q + tl.arange(0, A * B * C), v)
    u = tl.broadcast_to(tl.sum(x, 0)[None, :, :], [A, B, C])
    tl.store(q + i, u)


@triton.jit
def dott(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, P: tl.constexpr, O: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    z = tl.zeros([M, N], O)
    for i in range(0, 4):
        x = tl.load(a + m[:, None] + k[None, :] * M + i)
        y = tl.load(b + k[:, None] + n[None, :] * K + i)
        z = tl.dot(x, y, z, input_precision=P, out_dtype=O)
    tl.store(c + m[:, None] * N + n[None, :], z)


@triton.jit
def bdot(a, b, c, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, O: tl.constexpr, P: tl.constexpr):
    h = tl.arange(0, B)[:, None, None]
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    x = tl.load(a + h * M * K + m[None, :, None] * K + k[None, None, :])
    y = tl.load(b + h * K * N + k[None, :, None] * N + n[None, None, :])
    z = tl.dot(x, y, out_dtype=O, input_precision=P)
    tl.store(c + h * M * N + m[None, :, None] * N + n[None, None, :], z)


@triton.jit
def scaled(a, b, s, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, A: tl.constexpr, B: tl.constexpr):
    # Two numbers of four bits share a byte; 16-bit numbers have no scale.
    KA: tl.constexpr = K // 2 if A == "e2m1" else K
    KB: tl.constexpr = K // 2 if B == "e2m1" else K
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // 32)
    x = tl.load(a + m[:, None] * KA + tl.arange(0, KA)[None, :])
    y = tl.load(b + tl.arange(0, KB)[:, None] * N + n[None, :])
    right = tl.load(s + n[:, None] * (K // 32) + k[None, :])
    if A == "bf16" or A == "fp16":
        z = tl.dot_scaled(x, None, A, y, right, B)
    else:
        z = tl.dot_scaled(x, tl.load(s + m[:, None] * (K // 32) + k[None, :]), A, y, right, B)
    tl.store(c + m[:, None] * N + n[None, :], z)


@triton.jit
def prnt(p, q, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(p + i)
    tl.device_print('val: ', x, n, i)
    tl.device_print('hex ', x, hex=True)
    tl.device_print('100% done')
    tl.device_print('ptr', p)
    if N <= 16:
        tl.device_print('t', tl.join(x, x))
    tl.store(q + i, x)


@triton.jit
def asrt(p, q, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(p + i)
    tl.device_assert(x > 0, 'positive')
    tl.device_assert(n < 5, 'say "n" < 5')
    tl.assume(n > 0)
    tl.debug_barrier()
    tl.store(q + i, x)


@triton.jit
def asm_f32(p0, p1, q0, N: tl.constexpr):
    i = tl.arange(0, N)
    x0 = tl.load(p0 + i)
    x1 = tl.load(p1 + i)
    y0 = tl.inline_asm_elementwise('add.f32 $0, $1, $2;', '=f,f,f', [x0, x1], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(q0 + i, y0)


@triton.jit
def asm_i8(p0, p1, q0, N: tl.constexpr):
    i = tl.arange(0, N)
    x0 = tl.load(p0 + i)
    x1 = tl.load(p1 + i)
    y0 = tl.inline_asm_elementwise('xor.b32 $0, $1, $2;', '=r,r,r', [x0, x1], dtype=tl.uint8, is_pure=True, pack=4)
    tl.store(q0 + i, y0)


@triton.jit
def asm_f16x2(p0, p1, q0, N: tl.constexpr):
    i = tl.arange(0, N)
    x0 = tl.load(p0 + i)
    x1 = tl.load(p1 + i)
    y0 = tl.inline_asm_elementwise('add.f16x2 $0, $1, $2;', '=r,r,r', [x0, x1], dtype=tl.float16, is_pure=True, pack=2)
    tl.store(q0 + i, y0)


@triton.jit
def asm_h(p0, p1, q0, N: tl.constexpr):
    i = tl.arange(0, N)
    x0 = tl.load(p0 + i)
    x1 = tl.load(p1 + i)
    y0 = tl.inline_asm_elementwise('add.f16 $0, $1, $2;', '=h,h,h', [x0, x1], dtype=tl.float16, is_pure=True, pack=1)
    tl.store(q0 + i, y0)


@triton.jit
def asm_bf16(p0, p1, q0, N: tl.constexpr):
    i = tl.arange(0, N)
    x0 = tl.load(p0 + i)
    x1 = tl.load(p1 + i)
    y0 = tl.inline_asm_elementwise('fma.rn.bf16x2 $0, $1, $2, $2;', '=r,r,r', [x0, x1], dtype=tl.bfloat16, is_pure=False, pack=2)
    tl.store(q0 + i, y0)


@triton.jit
def asm_multi(p0, p1, q0, q1, N: tl.constexpr):
    i = tl.arange(0, N)
    x0 = tl.load(p0 + i)
    x1 = tl.load(p1 + i)
    y0, y1 = tl.inline_asm_elementwise('{\n  .reg .b32 t;\n  add.s32 t, $2, $3;\n  mov.b32 $0, t;\n  cvt.rn.f32.s32 $1, t;\n}', '=r,=f,r,r', [x0, x1], dtype=(tl.int32, tl.float32), is_pure=True, pack=1)
    tl.store(q0 + i, y0)
    tl.store(q1 + i, y1)


@triton.jit
def asm_i64(p0, q0, N: tl.constexpr):
    i = tl.arange(0, N)
    x0 = tl.load(p0 + i)
    y0 = tl.inline_asm_elementwise('add.s64 $0, $1, 1;', '=l,l', [x0], dtype=tl.int64, is_pure=True, pack=1)
    tl.store(q0 + i, y0)


@triton.jit
def asm_f64(p0, q0, N: tl.constexpr):
    i = tl.arange(0, N)
    x0 = tl.load(p0 + i)
    y0 = tl.inline_asm_elementwise('add.f64 $0, $1, $1;', '=d,d', [x0], dtype=tl.float64, is_pure=True, pack=1)
    tl.store(q0 + i, y0)


@triton.jit
def asm_i8r(p0, q0, N: tl.constexpr):
    i = tl.arange(0, N)
    x0 = tl.load(p0 + i)
    y0 = tl.inline_asm_elementwise('add.u32 $0, $1, 1;', '=r,r', [x0], dtype=tl.int8, is_pure=True, pack=1)
    tl.store(q0 + i, y0)


@triton.jit
def asm_i4(p0, q0, N: tl.constexpr):
    i = tl.arange(0, N)
    x0 = tl.load(p0 + i)
    y0 = tl.inline_asm_elementwise('{ shl.b32 $0, $4, 4; mov.b32 $1, $4; mov.b32 $2, $4; mov.b32 $3, $4; }', '=r,=r,=r,=r,r', [x0], dtype=tl.float32, is_pure=True, pack=4)
    tl.store(q0 + i, y0)


@triton.jit
def asm_two(p0, q0, N: tl.constexpr):
    i = tl.arange(0, N)
    x0 = tl.load(p0 + i)
    y0 = tl.inline_asm_elementwise('mov.b32 $0, $1;', '=r,r', [x0], dtype=tl.int16, is_pure=True, pack=2)
    tl.store(q0 + i, y0)


@triton.jit
def asm_mem(p0, q0, N: tl.constexpr):
    i = tl.arange(0, N)
    x0 = tl.load(p0 + i)
    y0 = tl.inline_asm_elementwise('membar.gl; mov.u32 $0, %smid; // $1', '=r,r,~{memory}', [x0], dtype=tl.int32, is_pure=False, pack=1)
    tl.store(q0 + i, y0)


@triton.jit
def asm_scalar(p, q):
    x = tl.load(p)
    y = tl.inline_asm_elementwise('add.s32 $0, $1, 1;', '=r,r', [x], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(q, y)
    z = tl.inline_asm_elementwise('mov.u64 $0, %globaltimer;', '=l', [], dtype=tl.int64, is_pure=False, pack=1)
    tl.store(q + 1, z.to(tl.int32))


@triton.jit
def mp_if(a, b):
    if a < b:
        r = a + b
    elif a == b:
        r = a * 3
    else:
        r = b
    return r


@triton.jit
def mp_loop(a):
    n = 0
    while a > 1:
        if a % 2 == 0:
            a = a // 2
        else:
            a = a * 3 + 1
        n += 1
    s = 0
    for k in range(n):
        s += k * a
    return n, s


@triton.jit
def mp_pack(a, b, c, d):
    return a + c, b + d


@triton.jit
def helper(x, y):
    return tl.where(x > y, x, y) + tl.sum(x, 0)


@triton.jit
def nohelp(x, y):
    z = x + y
    return z, z * 2


@triton.jit
def deep(x, N: tl.constexpr):
    if N > 0:
        return deep(x + 1, N - 1)
    return x


@triton.jit
def map2(p, q, r, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(p + i)
    y = tl.load(q + i)
    tl.store(r + i, tl.map_elementwise(mp_if, x, y))


@triton.jit
def maploop(p, q, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(p + i)
    a, b = tl.map_elementwise(mp_loop, x)
    tl.store(q + i, a + b)


@triton.jit
def mappack(p, q, N: tl.constexpr, M: tl.constexpr):
    i = tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :]
    x = tl.load(p + i)
    a, = tl.map_elementwise(mp_pack, x, x + x, pack=2)
    tl.store(q + i, a)


@triton.jit
def noinl(p, q, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(p + i)
    a, b = nohelp(x, x + 1)
    for k in range(4):
        a, b = nohelp(a, b)
    c = deep(a, 9)
    tl.store(q + i, helper(b, c))


@triton.jit
def ctl(p, q, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(p + i + tl.program_id(0) * N + tl.program_id(1) * 7 + tl.program_id(2) * tl.num_programs(0) * tl.num_programs(1) * tl.num_programs(2))
    y = x
    k = 0
    while k < n:
        if k % 2 == 0:
            x = x + y
            if tl.sum(x, 0) > 3:
                y = x
        else:
            x, y = y, x
        k += 1
    for j in range(n, 0, -1):
        x += j
        for l in tl.range(0, j, num_stages=2):
            y = y + x
    for s in tl.static_range(3):
        y = y * s
    if n > 5:
        return
    tl.store(q + i, x + y)


@triton.jit
def pdl(p, q, N: tl.constexpr):
    tl.extra.cuda.gdc_wait()
    i = tl.arange(0, N)
    x = tl.load(p + i)
    tl.extra.cuda.gdc_launch_dependents()
    tl.store(q + i, x)
    t = tl.extra.cuda.globaltimer()
    s = tl.extra.cuda.smid()
    tl.store(q, (t + s).to(tl.float32))


@triton.jit
def rnd(q, s, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(q + i, tl.rand(s, i) + tl.randn(s, i))
    a, b, c, d = tl.randint4x(s, i)
    tl.store(q + i, (a ^ b ^ c ^ d).to(tl.float32))


@triton.jit
def elementwise(p, q, r, N: tl.constexpr, OP: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(p + i)
    y = tl.load(q + i)
    if OP == "x + y":
        z = x + y
    elif OP == "x - y":
        z = x - y
    elif OP == "x * y":
        z = x * y
    elif OP == "x / y":
        z = x / y
    elif OP == "x // y":
        z = x // y
    elif OP == "x % y":
        z = x % y
    elif OP == "x & y":
        z = x & y
    elif OP == "x | y":
        z = x | y
    elif OP == "x ^ y":
        z = x ^ y
    elif OP == "x << y":
        z = x << y
    elif OP == "x >> y":
        z = x >> y
    elif OP == "x < y":
        z = x < y
    elif OP == "x == y":
        z = x == y
    elif OP == "x != y":
        z = x != y
    elif OP == "tl.abs(x)":
        z = tl.abs(x)
    elif OP == "-x":
        z = -x
    elif OP == "tl.minimum(x, y)":
        z = tl.minimum(x, y)
    elif OP == "tl.maximum(x, y)":
        z = tl.maximum(x, y)
    elif OP == "tl.clamp(x, y, x)":
        z = tl.clamp(x, y, x)
    elif OP == "tl.where(x > y, x, y)":
        z = tl.where(x > y, x, y)
    elif OP == "tl.fma(x, y, x)":
        z = tl.fma(x, y, x)
    elif OP == "tl.umulhi(x, y)":
        z = tl.umulhi(x, y)
    elif OP == "tl.cdiv(x, y)":
        z = tl.cdiv(x, y)
    elif OP == "tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)":
        z = tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)
    elif OP == "tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL)":
        z = tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL)
    elif OP == "tl.div_rn(x, y)":
        z = tl.div_rn(x, y)
    elif OP == "tl.floor(x)":
        z = tl.floor(x)
    elif OP == "tl.ceil(x)":
        z = tl.ceil(x)
    elif OP == "tl.sqrt(x)":
        z = tl.sqrt(x)
    elif OP == "tl.sqrt_rn(x)":
        z = tl.sqrt_rn(x)
    elif OP == "tl.rsqrt(x)":
        z = tl.rsqrt(x)
    elif OP == "tl.log2(x)":
        z = tl.log2(x)
    elif OP == "tl.sin(x)":
        z = tl.sin(x)
    elif OP == "tl.cos(x)":
        z = tl.cos(x)
    elif OP == "tl.sigmoid(x)":
        z = tl.sigmoid(x)
    elif OP == "tl.fdiv(x, y)":
        z = tl.fdiv(x, y)
    tl.store(r + i, z)


@triton.jit
def bp(p, q, m, n, M: tl.constexpr, N: tl.constexpr):
    a = tl.make_block_ptr(p, (m, n), (n, 1), (0, 0), (M, N), (1, 0))
    b = tl.make_block_ptr(q, (m, n), (n, 1), (0, 0), (M, N), (1, 0))
    for i in range(3):
        x = tl.load(a, boundary_check=(0, 1), padding_option='zero')
        tl.store(b, x, boundary_check=(0, 1))
        a = tl.advance(a, (0, N))
        b = tl.advance(b, (0, N))


@triton.jit
def desc(p, q, m, n, M: tl.constexpr, N: tl.constexpr):
    a = tl.make_tensor_descriptor(p, [m, n], [n, 1], [M, N])
    b = tl.make_tensor_descriptor(q, [m, n], [n, 1], [M, N])
    x = a.load([0, N])
    b.store([M, 0], x)
    b.atomic_add([0, 0], x)
