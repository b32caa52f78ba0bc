"""Kernels whose resources `footprints.py` asks Triton for, in many configurations: products, attention, rows, tiles, scans."""
import triton
import triton.language as tl


@triton.jit
def gemm(A, B, C, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, TRANS_A: tl.constexpr, TRANS_B: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    if TRANS_A:
        a_ptrs = A + depth[:, None] * sam + rows[None, :]
    else:
        a_ptrs = A + rows[:, None] * sam + depth[None, :]
    if TRANS_B:
        b_ptrs = B + columns[:, None] * sbk + depth[None, :]
    else:
        b_ptrs = B + depth[:, None] * sbk + columns[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        left = K - k * BK
        if TRANS_A:
            a = tl.trans(tl.load(a_ptrs, mask=depth[:, None] < left, other=0.0))
            a_ptrs += BK * sam
        else:
            a = tl.load(a_ptrs, mask=depth[None, :] < left, other=0.0)
            a_ptrs += BK
        if TRANS_B:
            b = tl.trans(tl.load(b_ptrs, mask=depth[None, :] < left, other=0.0))
            b_ptrs += BK
        else:
            b = tl.load(b_ptrs, mask=depth[:, None] < left, other=0.0)
            b_ptrs += BK * sbk
        acc = tl.dot(a, b, acc)
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * scm + columns[None, :], acc.to(tl.float16), mask=mask)


@triton.jit
def gemm_epilogue(A, B, C, bias, residual, M, N, K, sam, sbk, scm, scale, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = (tl.program_id(0) * BM + tl.arange(0, BM)) % M
    columns = (tl.program_id(1) * BN + tl.arange(0, BN)) % N
    depth = tl.arange(0, BK)
    a_ptrs = A + rows[:, None] * sam + depth[None, :]
    b_ptrs = B + depth[:, None] * sbk + columns[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc += tl.dot(tl.load(a_ptrs), tl.load(b_ptrs))
        a_ptrs += BK
        b_ptrs += BK * sbk
    out_rows = tl.program_id(0) * BM + tl.arange(0, BM)
    out_columns = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (out_rows[:, None] < M) & (out_columns[None, :] < N)
    place = out_rows[:, None] * scm + out_columns[None, :]
    acc = acc * scale + tl.load(bias + out_columns, mask=out_columns < N, other=0.0)[None, :].to(tl.float32)
    acc = acc * tl.sigmoid(acc) + tl.load(residual + place, mask=mask, other=0.0)
    tl.store(C + place, acc.to(tl.float16), mask=mask)


@triton.jit
def gemm_int8_weights(A, B, C, scales, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    a_ptrs = A + rows[:, None] * sam + depth[None, :]
    b_ptrs = B + depth[:, None] * sbk + columns[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs).to(tl.float16), acc)
        a_ptrs += BK
        b_ptrs += BK * sbk
    acc = acc * tl.load(scales + columns)[None, :]
    tl.store(C + rows[:, None] * scm + columns[None, :], acc.to(tl.float16))


@triton.jit
def gemm_split_k(A, B, C, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.program_id(2) * BK + tl.arange(0, BK)
    a_ptrs = A + rows[:, None] * sam + depth[None, :]
    b_ptrs = B + depth[:, None] * sbk + columns[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK * SPLIT)):
        acc = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs), acc)
        a_ptrs += BK * SPLIT
        b_ptrs += BK * SPLIT * sbk
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.atomic_add(C + rows[:, None] * scm + columns[None, :], acc, mask=mask)


@triton.jit
def attention(Q, K, V, O, L, scale, stride_h, n, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    start = tl.program_id(0) * BM
    base = tl.program_id(1) * stride_h
    rows = start + tl.arange(0, BM)
    columns = tl.arange(0, BN)
    d = tl.arange(0, D)
    q = tl.load(Q + base + rows[:, None] * D + d[None, :], mask=rows[:, None] < n, other=0.0)
    best = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    end = tl.minimum(start + BM, n) if CAUSAL else n
    for at in range(0, end, BN):
        k = tl.load(K + base + (at + columns)[None, :] * D + d[:, None], mask=(at + columns)[None, :] < n, other=0.0)
        s = tl.dot(q, k) * scale
        s = tl.where((at + columns)[None, :] < n, s, float("-inf"))
        if CAUSAL:
            s = tl.where(rows[:, None] >= (at + columns)[None, :], s, float("-inf"))
        now = tl.maximum(best, tl.max(s, 1))
        p = tl.exp2(s - now[:, None])
        shrink = tl.exp2(best - now)
        total = total * shrink + tl.sum(p, 1)
        acc = acc * shrink[:, None]
        v = tl.load(V + base + (at + columns)[:, None] * D + d[None, :], mask=(at + columns)[:, None] < n, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc)
        best = now
    acc = acc / total[:, None]
    tl.store(L + tl.program_id(1) * n + rows, best + tl.log2(total), mask=rows < n)
    tl.store(O + base + rows[:, None] * D + d[None, :], acc.to(O.dtype.element_ty), mask=rows[:, None] < n)


@triton.jit
def attention_backward(Q, K, V, DO, DK, DV, L, DELTA, scale, stride_h, n, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    base = tl.program_id(1) * stride_h
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    d = tl.arange(0, D)
    k = tl.load(K + base + columns[:, None] * D + d[None, :])
    v = tl.load(V + base + columns[:, None] * D + d[None, :])
    dk = tl.zeros((BN, D), tl.float32)
    dv = tl.zeros((BN, D), tl.float32)
    for at in range(0, n, BM):
        rows = at + tl.arange(0, BM)
        q = tl.load(Q + base + rows[:, None] * D + d[None, :])
        do = tl.load(DO + base + rows[:, None] * D + d[None, :])
        l = tl.load(L + tl.program_id(1) * n + rows)
        delta = tl.load(DELTA + tl.program_id(1) * n + rows)
        p = tl.exp2(tl.dot(k, tl.trans(q)) * scale - l[None, :])
        dv += tl.dot(p.to(do.dtype), do)
        dp = tl.dot(v, tl.trans(do))
        ds = p * (dp - delta[None, :])
        dk += tl.dot(ds.to(q.dtype), q)
    tl.store(DK + base + columns[:, None] * D + d[None, :], (dk * scale).to(tl.float16))
    tl.store(DV + base + columns[:, None] * D + d[None, :], dv.to(tl.float16))


@triton.jit
def linear_attention(Q, K, V, G, O, n, T: tl.constexpr, D: tl.constexpr):
    base = tl.program_id(0) * n * D
    d = tl.arange(0, D)
    t = tl.arange(0, T)
    state = tl.zeros((D, D), tl.float32)
    for at in range(0, n, T):
        place = base + (at + t)[:, None] * D + d[None, :]
        q = tl.load(Q + place)
        k = tl.load(K + place)
        v = tl.load(V + place)
        g = tl.cumsum(tl.load(G + tl.program_id(0) * n + at + t).to(tl.float32), 0)
        a = tl.dot(q, tl.trans(k))
        a = tl.where(t[:, None] >= t[None, :], a * tl.exp(g[:, None] - g[None, :]), 0.0)
        o = tl.dot(a.to(v.dtype), v) + tl.dot(q, state.to(q.dtype)) * tl.exp(g)[:, None]
        tl.store(O + place, o.to(tl.float16))
        state += tl.dot(tl.trans(k), v)


@triton.jit
def softmax(X, Y, stride, n, B: tl.constexpr):
    at = tl.arange(0, B)
    x = tl.load(X + tl.program_id(0) * stride + at, mask=at < n, other=float("-inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(Y + tl.program_id(0) * stride + at, (e / tl.sum(e, 0)).to(Y.dtype.element_ty), mask=at < n)


@triton.jit
def layer_norm(X, Y, W, BIAS, stride, n, eps, B: tl.constexpr):
    at = tl.arange(0, B)
    mask = at < n
    x = tl.load(X + tl.program_id(0) * stride + at, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, 0) / n
    centred = tl.where(mask, x - mean, 0.0)
    r = 1.0 / tl.sqrt(tl.sum(centred * centred, 0) / n + eps)
    w = tl.load(W + at, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(BIAS + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(Y + tl.program_id(0) * stride + at, (centred * r * w + b).to(Y.dtype.element_ty), mask=mask)


@triton.jit
def reduce_tile(X, Y, stride, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    rows = tl.arange(0, M)
    columns = tl.arange(0, N)
    x = tl.load(X + tl.program_id(0) * M * stride + rows[:, None] * stride + columns[None, :])
    y = tl.sum(x * tl.sigmoid(x), AXIS)
    if AXIS == 0:
        tl.store(Y + tl.program_id(0) * N + columns, y)
    else:
        tl.store(Y + tl.program_id(0) * M + rows, y)


@triton.jit
def scan_tile(X, Y, stride, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    place = tl.arange(0, M)[:, None] * stride + tl.arange(0, N)[None, :]
    tl.store(Y + place, tl.cumsum(tl.load(X + place), AXIS))


@triton.jit
def transpose(X, Y, sx, sy, M: tl.constexpr, N: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    x = tl.load(X + rows[:, None] * sx + columns[None, :])
    tl.store(Y + columns[:, None] * sy + rows[None, :], tl.trans(x))


@triton.jit
def argmax_rows(X, Y, Z, stride, n, M: tl.constexpr, N: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.arange(0, N)
    best = tl.full((M,), float("-inf"), tl.float32)
    where = tl.zeros((M,), tl.int32)
    for at in range(0, n, N):
        x = tl.load(X + rows[:, None] * stride + at + columns[None, :], mask=at + columns[None, :] < n, other=float("-inf")).to(tl.float32)
        top, index = tl.max(x, 1, return_indices=True)
        where = tl.where(top > best, index + at, where)
        best = tl.maximum(best, top)
    tl.store(Y + rows, where)
    tl.store(Z + rows, best)


@triton.jit
def row_scaled(X, S, Y, stride, M: tl.constexpr, N: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.arange(0, N)
    place = rows[:, None] * stride + columns[None, :]
    s = tl.load(S + rows)
    tl.store(Y + place, (tl.load(X + place) * s[:, None]).to(tl.float16))


@triton.jit
def histogram(X, Y, n, B: tl.constexpr, BINS: tl.constexpr):
    at = tl.arange(0, B)
    x = tl.load(X + tl.program_id(0) * B + at)
    tl.atomic_add(Y + tl.arange(0, BINS), tl.histogram(x, BINS))


@triton.jit
def polynomials(X, Y, n, B: tl.constexpr, K: tl.constexpr):
    """Keeps K tiles alive at once."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    x0 = tl.load(X + at)
    x1 = tl.load(X + at + n)
    x2 = tl.load(X + at + 2 * n)
    x3 = tl.load(X + at + 3 * n)
    for k in range(0, n):
        total += x0 * k + x1
        if K > 2:
            total = total * x2 + x3
        if K > 4:
            x0 = x0 * x1 + total
            x1 = x1 * x2 + x3
        if K > 8:
            x2 = tl.exp(x2 * x3 + x0)
            x3 = tl.sin(x3 * total + x1)
    tl.store(Y + at, total + x0 + x1 + x2 + x3)
