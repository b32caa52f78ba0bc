# /// tritium
# [launch.matmul_f16]
# kernel = "matmul"
# grid = ["cdiv(M, 64) * cdiv(N, 64)"]
# sizes = { M = 150, N = 130, K = 100 }
# args = { A = "f16[M, K] = normal(0, 1)", B = "f16[K, N] = normal(0, 1)", BIAS = "f32[N] = normal(0, 1)", C = "f16[M, N]", m = "M", n = "N", k = "K" }
# meta = { BLOCK_M = 64, BLOCK_N = 64, BLOCK_K = 32, GROUP = 2, EPILOGUE = "none" }
# expect = { C = "A @ B" }
#
# [launch.matmul_bf16_bias_relu]
# kernel = "matmul"
# grid = ["cdiv(M, 64) * cdiv(N, 32)"]
# sizes = { M = 128, N = 96, K = 128 }
# args = { A = "bf16[M, K] = normal(0, 1)", B = "bf16[K, N] = normal(0, 1)", BIAS = "f32[N] = normal(0, 1)", C = "bf16[M, N]", m = "M", n = "N", k = "K" }
# meta = { BLOCK_M = 64, BLOCK_N = 32, BLOCK_K = 64, GROUP = 4, EPILOGUE = "relu" }
# expect = { C = "relu(A @ B + BIAS)" }
#
# [launch.matmul_tf32_gelu]
# kernel = "matmul"
# grid = ["cdiv(M, 64) * cdiv(N, 64)"]
# sizes = { M = 64, N = 128, K = 96 }
# args = { A = "f32[M, K] = normal(0, 1)", B = "f32[K, N] = normal(0, 0.2)", BIAS = "f32[N] = normal(0, 1)", C = "f32[M, N]", m = "M", n = "N", k = "K" }
# meta = { BLOCK_M = 64, BLOCK_N = 64, BLOCK_K = 32, GROUP = 1, EPILOGUE = "gelu" }
# expect = { C = "gelu(A @ B + BIAS)" }
# tolerance = 0.002
#
# [launch.matmul_f8e4m3_silu]
# kernel = "matmul"
# grid = ["cdiv(M, 64) * cdiv(N, 64)"]
# sizes = { M = 128, N = 64, K = 128 }
# args = { A = "f8e4m3[M, K] = normal(0, 0.5)", B = "f8e4m3[K, N] = normal(0, 0.5)", BIAS = "f32[N] = normal(0, 1)", C = "f16[M, N]", m = "M", n = "N", k = "K" }
# meta = { BLOCK_M = 64, BLOCK_N = 64, BLOCK_K = 64, GROUP = 2, EPILOGUE = "silu" }
# expect = { C = "silu(A @ B + BIAS)" }
#
# [launch.matmul_f8e5m2]
# kernel = "matmul"
# grid = ["cdiv(M, 32) * cdiv(N, 64)"]
# sizes = { M = 64, N = 64, K = 64 }
# args = { A = "f8e5m2[M, K] = normal(0, 0.5)", B = "f8e5m2[K, N] = normal(0, 0.5)", BIAS = "f32[N] = normal(0, 1)", C = "f32[M, N]", m = "M", n = "N", k = "K" }
# meta = { BLOCK_M = 32, BLOCK_N = 64, BLOCK_K = 32, GROUP = 2, EPILOGUE = "none" }
# expect = { C = "A @ B" }
# tolerance = 0.001
#
# [launch.matmul_large_tile]
# kernel = "matmul"
# grid = ["cdiv(M, 128) * cdiv(N, 128)"]
# sizes = { M = 256, N = 128, K = 128 }
# args = { A = "f16[M, K] = normal(0, 1)", B = "f16[K, N] = normal(0, 1)", BIAS = "f32[N] = normal(0, 1)", C = "f16[M, N]", m = "M", n = "N", k = "K" }
# meta = { BLOCK_M = 128, BLOCK_N = 128, BLOCK_K = 64, GROUP = 4, EPILOGUE = "relu" }
# num_warps = 8
# expect = { C = "relu(A @ B + BIAS)" }
#
# [launch.matmul_warpgroups]
# kernel = "matmul"
# grid = ["cdiv(M, 128) * cdiv(N, 256)"]
# sizes = { M = 150, N = 300, K = 328 }
# args = { A = "f16[M, K] = normal(0, 1)", B = "f16[K, N] = normal(0, 1)", BIAS = "f32[N] = normal(0, 1)", C = "f16[M, N]", m = "M", n = "N", k = "K" }
# meta = { BLOCK_M = 128, BLOCK_N = 256, BLOCK_K = 64, GROUP = 8, EPILOGUE = "none" }
# num_warps = 8
# num_stages = 3
# expect = { C = "A @ B" }
#
# [launch.matmul_bf16_warpgroups]
# kernel = "matmul"
# grid = ["cdiv(M, 128) * cdiv(N, 128)"]
# sizes = { M = 128, N = 128, K = 448 }
# args = { A = "bf16[M, K] = normal(0, 1)", B = "bf16[K, N] = normal(0, 1)", BIAS = "f32[N] = normal(0, 1)", C = "bf16[M, N]", m = "M", n = "N", k = "K" }
# meta = { BLOCK_M = 128, BLOCK_N = 128, BLOCK_K = 64, GROUP = 8, EPILOGUE = "relu" }
# num_warps = 8
# num_stages = 4
# expect = { C = "relu(A @ B + BIAS)" }
#
# [launch.matmul_i8]
# kernel = "matmul_i8"
# grid = ["cdiv(M, 64)", "cdiv(N, 64)"]
# sizes = { M = 100, N = 64, K = 96 }
# args = { A = "i8[M, K] = randint(-128, 128)", B = "i8[K, N] = randint(-128, 128)", SA = "f32[M] = uniform(0.01, 0.1)", SB = "f32[N] = uniform(0.01, 0.1)", C = "f32[M, N]", m = "M", n = "N", k = "K" }
# meta = { BLOCK_M = 64, BLOCK_N = 64, BLOCK_K = 32 }
# expect = { C = "(A @ B) * SA[:, None] * SB[None, :]" }
#
# [launch.split_k]
# kernel = "split_k"
# grid = ["cdiv(M, 32)", "cdiv(N, 32)", 4]
# sizes = { M = 64, N = 64, K = 512 }
# args = { A = "f16[M, K] = normal(0, 1)", B = "f16[K, N] = normal(0, 1)", C = "f32[M, N] = zeros()", m = "M", n = "N", k = "K" }
# meta = { BLOCK_M = 32, BLOCK_N = 32, BLOCK_K = 32, SPLITS = 4 }
# expect = { C = "A @ B" }
#
# [launch.batched]
# kernel = "batched"
# grid = ["cdiv(M, 32)", "cdiv(N, 32)", "S"]
# sizes = { S = 3, M = 40, N = 48, K = 64 }
# args = { A = "f16[S, M, K] = normal(0, 1)", B = "f16[S, K, N] = normal(0, 1)", C = "f16[S, M, N]", m = "M", n = "N", k = "K" }
# meta = { BLOCK_M = 32, BLOCK_N = 32, BLOCK_K = 32 }
# expect = { C = "A @ B" }
#
# [launch.grouped]
# kernel = "grouped"
# grid = [6]
# sizes = { N = 64, K = 64, E = 4, T = 100 }
# args = { X = "f16[T, K] = normal(0, 1)", W = "f16[E, K, N] = normal(0, 1)", STARTS = "i32[5] = file('starts.npy')", Y = "f16[T, N] = zeros()", n = "N", k = "K" }
# meta = { E = "E", BLOCK_M = 16, BLOCK_N = 32, BLOCK_K = 32 }
#
# [launch.matmul_descriptors]
# kernel = "matmul_descriptors"
# grid = ["cdiv(M, 64)", "cdiv(N, 64)"]
# sizes = { M = 128, N = 128, K = 128 }
# args = { a = { tensor = "f16[M, K] = normal(0, 1)", block = [64, 64] }, b = { tensor = "f16[K, N] = normal(0, 1)", block = [64, 64] }, c = { tensor = "f16[M, N]", block = [64, 64] }, k = "K" }
# meta = { BLOCK_M = 64, BLOCK_N = 64, BLOCK_K = 64 }
# expect = { c = "a @ b" }
#
# [launch.matmul_block_pointers]
# kernel = "matmul_block_pointers"
# grid = ["cdiv(M, 64)", "cdiv(N, 32)"]
# sizes = { M = 100, N = 60, K = 90 }
# args = { A = "f16[M, K] = normal(0, 1)", B = "f16[N, K] = normal(0, 1)", C = "f32[M, N]", m = "M", n = "N", k = "K" }
# meta = { BLOCK_M = 64, BLOCK_N = 32, BLOCK_K = 32 }
# expect = { C = "A @ B.T" }
#
# [launch.persistent]
# kernel = "persistent"
# grid = [3]
# sizes = { M = 128, N = 128, K = 64 }
# args = { A = "f16[M, K] = normal(0, 1)", B = "f16[K, N] = normal(0, 1)", C = "f16[M, N]", m = "M", n = "N", k = "K" }
# meta = { BLOCK_M = 64, BLOCK_N = 32, BLOCK_K = 32 }
# expect = { C = "A @ B" }
#
# [launch.int4]
# kernel = "int4"
# grid = ["cdiv(M, 32)", "cdiv(N, 32)"]
# sizes = { M = 64, N = 64, K = 128, G = 32 }
# args = { X = "f16[M, K] = normal(0, 1)", W = "u8[K // 2, N] = randint(0, 256)", SCALE = "f16[K // G, N] = uniform(0.5, 1.5)", ZERO = "u8[K // G, N] = randint(0, 16)", Y = "f16[M, N]", n = "N", k = "K" }
# meta = { BLOCK_M = 32, BLOCK_N = 32, GROUP = "G" }
# tolerance = 0.004
# ///
"""Matrix products: in every type with epilogues, split along K, batched, grouped, persistent, with descriptors and block pointers, and with
weights of four bits."""

import triton
import triton.language as tl


@triton.jit
def grouped_order(pid, m, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP: tl.constexpr):
    # Programs next to each other share rows of A, so that these are still in the cache.
    rows, cols = tl.cdiv(m, BLOCK_M), tl.cdiv(n, BLOCK_N)
    first = pid // (GROUP * cols) * GROUP
    size = min(rows - first, GROUP)
    return first + pid % (GROUP * cols) % size, pid % (GROUP * cols) // size


@triton.jit
def product(A, B, m, n, k, rm, rn, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, T: tl.constexpr):
    rk = tl.arange(0, BLOCK_K)
    a = A + rm[:, None] * k + rk[None, :]
    b = B + rk[:, None] * n + rn[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), T)
    for start in range(0, k, BLOCK_K):
        x = tl.load(a, mask=(rm[:, None] < m) & (start + rk[None, :] < k), other=0)
        y = tl.load(b, mask=(start + rk[:, None] < k) & (rn[None, :] < n), other=0)
        acc = tl.dot(x, y, acc, out_dtype=T)
        a += BLOCK_K
        b += BLOCK_K * n
    return acc


@triton.jit
def matmul(A, B, BIAS, C, m, n, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr, EPILOGUE: tl.constexpr):
    i, j = grouped_order(tl.program_id(0), m, n, BLOCK_M, BLOCK_N, GROUP)
    rm, rn = i * BLOCK_M + tl.arange(0, BLOCK_M), j * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    a = A + rm[:, None] * k + rk[None, :]
    b = B + rk[:, None] * n + rn[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, k, BLOCK_K):
        # 8-bit floats take no filling but zeros, which other=0.0 is.
        x = tl.load(a, mask=(rm[:, None] < m) & (start + rk[None, :] < k), other=0.0)
        y = tl.load(b, mask=(start + rk[:, None] < k) & (rn[None, :] < n), other=0.0)
        acc = tl.dot(x, y, acc)
        a += BLOCK_K
        b += BLOCK_K * n
    if EPILOGUE != "none":
        acc += tl.load(BIAS + rn, mask=rn < n, other=0.0)[None, :]
    if EPILOGUE == "relu":
        acc = tl.maximum(acc, 0.0)
    elif EPILOGUE == "silu":
        acc = acc * tl.sigmoid(acc)
    elif EPILOGUE == "gelu":
        acc = 0.5 * acc * (1.0 + tl.erf(acc * 0.7071067811865476))
    c = acc.to(C.dtype.element_ty)
    tl.store(C + rm[:, None] * n + rn[None, :], c, mask=(rm[:, None] < m) & (rn[None, :] < n))


@triton.jit
def matmul_i8(A, B, SA, SB, C, m, n, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rm, rn = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = product(A, B, m, n, k, rm, rn, BLOCK_M, BLOCK_N, BLOCK_K, tl.int32)
    sa = tl.load(SA + rm, mask=rm < m, other=0.0)
    sb = tl.load(SB + rn, mask=rn < n, other=0.0)
    c = acc.to(tl.float32) * sa[:, None] * sb[None, :]
    tl.store(C + rm[:, None] * n + rn[None, :], c, mask=(rm[:, None] < m) & (rn[None, :] < n))


@triton.jit
def split_k(A, B, C, m, n, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SPLITS: tl.constexpr):
    rm, rn = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.program_id(2) * BLOCK_K + tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, tl.cdiv(k, BLOCK_K * SPLITS)):
        at = start * BLOCK_K * SPLITS + rk
        a = tl.load(A + rm[:, None] * k + at[None, :], mask=(rm[:, None] < m) & (at[None, :] < k), other=0.0)
        b = tl.load(B + at[:, None] * n + rn[None, :], mask=(at[:, None] < k) & (rn[None, :] < n), other=0.0)
        acc += tl.dot(a, b)
    tl.atomic_add(C + rm[:, None] * n + rn[None, :], acc, mask=(rm[:, None] < m) & (rn[None, :] < n), sem="relaxed")


@triton.jit
def batched(A, B, C, m, n, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    s = tl.program_id(2).to(tl.int64)
    rm, rn = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = product(A + s * m * k, B + s * k * n, m, n, k, rm, rn, BLOCK_M, BLOCK_N, BLOCK_K, tl.float32)
    c = C + s * m * n + rm[:, None] * n + rn[None, :]
    tl.store(c, acc.to(C.dtype.element_ty), mask=(rm[:, None] < m) & (rn[None, :] < n))


@triton.jit
def grouped(X, W, STARTS, Y, n, k, E: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    # Rows STARTS[e] to STARTS[e + 1] belong to expert e; programs take the tiles of all experts in turn.
    tile = tl.program_id(0)
    cols = tl.cdiv(n, BLOCK_N)
    before = 0
    for e in range(E):
        start, end = tl.load(STARTS + e), tl.load(STARTS + e + 1)
        tiles = tl.cdiv(end - start, BLOCK_M) * cols
        while tile >= before and tile < before + tiles:
            rm = (tile - before) // cols * BLOCK_M + tl.arange(0, BLOCK_M)
            rn = (tile - before) % cols * BLOCK_N + tl.arange(0, BLOCK_N)
            acc = product(X + start * k, W + e * k * n, end - start, n, k, rm, rn, BLOCK_M, BLOCK_N, BLOCK_K, tl.float32)
            y = Y + (start + rm)[:, None] * n + rn[None, :]
            tl.store(y, acc.to(Y.dtype.element_ty), mask=(rm[:, None] < end - start) & (rn[None, :] < n))
            tile += tl.num_programs(0)
        before += tiles


@triton.jit
def matmul_descriptors(a, b, c, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    m, n = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, k, BLOCK_K):
        acc = tl.dot(a.load([m, start]), b.load([start, n]), acc)
    c.store([m, n], acc.to(tl.float16))


@triton.jit
def matmul_block_pointers(A, B, C, m, n, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    i, j = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    a = tl.make_block_ptr(A, (m, k), (k, 1), (i, 0), (BLOCK_M, BLOCK_K), (1, 0))
    # B lies with K innermost, and is read turned.
    b = tl.make_block_ptr(B, (k, n), (1, k), (0, j), (BLOCK_K, BLOCK_N), (0, 1))
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for _ in range(0, k, BLOCK_K):
        x = tl.load(a, boundary_check=(0, 1), padding_option="zero")
        y = tl.load(b, boundary_check=(0, 1), padding_option="zero")
        acc += tl.dot(x, y)
        a = tl.advance(a, (0, BLOCK_K))
        b = tl.advance(b, (BLOCK_K, 0))
    c = tl.make_block_ptr(C, (m, n), (n, 1), (i, j), (BLOCK_M, BLOCK_N), (1, 0))
    tl.store(c, acc, boundary_check=(0, 1))


@triton.jit
def persistent(A, B, C, m, n, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    cols = tl.cdiv(n, BLOCK_N)
    for tile in tl.range(tl.program_id(0), tl.cdiv(m, BLOCK_M) * cols, tl.num_programs(0), flatten=True):
        rm, rn = tile // cols * BLOCK_M + tl.arange(0, BLOCK_M), tile % cols * BLOCK_N + tl.arange(0, BLOCK_N)
        acc = product(A, B, m, n, k, rm, rn, BLOCK_M, BLOCK_N, BLOCK_K, tl.float32)
        c = C + rm[:, None] * n + rn[None, :]
        tl.store(c, acc.to(C.dtype.element_ty), mask=(rm[:, None] < m) & (rn[None, :] < n))


@triton.jit
def int4(X, W, SCALE, ZERO, Y, n, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP: tl.constexpr):
    # Two weights a byte along K: the low half is the even row. One scale and one zero a group of K.
    rm, rn = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk, half = tl.arange(0, GROUP), tl.arange(0, GROUP // 2)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for g in range(0, k // GROUP):
        x = tl.load(X + rm[:, None] * k + (g * GROUP + rk)[None, :])
        w = tl.load(W + (g * (GROUP // 2) + half)[:, None] * n + rn[None, :])
        # The halves become neighbours along K.
        both = tl.join(w & 0xF, w >> 4)
        w = tl.reshape(tl.permute(both, (0, 2, 1)), (GROUP, BLOCK_N))
        scale = tl.load(SCALE + g * n + rn)
        zero = tl.load(ZERO + g * n + rn)
        w = (w.to(tl.float16) - zero.to(tl.float16)[None, :]) * scale[None, :]
        acc = tl.dot(x, w, acc)
    tl.store(Y + rm[:, None] * n + rn[None, :], acc.to(tl.float16))
