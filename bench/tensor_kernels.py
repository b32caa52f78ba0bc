"""The kernels of `bench/gpu_matmul.py`: a matrix product through pointers with grouped programs, attention forward, and products of every
operand type and orientation."""

import triton
import triton.language as tl


@triton.jit
def matmul(
    A, B, C, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    rows_of_programs = tl.cdiv(M, BLOCK_M)
    columns_of_programs = tl.cdiv(N, BLOCK_N)
    in_group = GROUP_M * columns_of_programs
    first = pid // in_group * GROUP_M
    size = min(rows_of_programs - first, GROUP_M)
    row = first + pid % in_group % size
    column = pid % in_group // size
    rows = (row * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    columns = (column * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    inner = tl.arange(0, BLOCK_K)
    a_ptrs = A + rows[:, None] * stride_am + inner[None, :] * stride_ak
    b_ptrs = B + inner[:, None] * stride_bk + columns[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=inner[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=inner[:, None] < K - k * BLOCK_K, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    out_rows = row * BLOCK_M + tl.arange(0, BLOCK_M)
    out_columns = column * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = C + out_rows[:, None] * stride_cm + out_columns[None, :] * stride_cn
    tl.store(c_ptrs, acc.to(tl.float16), mask=(out_rows[:, None] < M) & (out_columns[None, :] < N))


@triton.jit
def attention(
    Q, K, V, OUT, scale, stride_head, N,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """One block of queries of one head; `[heads, N, D]`, rows of D contiguous. `scale` includes log2(e)."""
    start = tl.program_id(0) * BLOCK_M
    base = tl.program_id(1).to(tl.int64) * stride_head
    rows = start + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, D)
    keys = tl.arange(0, BLOCK_N)
    q = tl.load(Q + base + rows[:, None] * D + dims[None, :])
    k_ptrs = K + base + keys[None, :] * D + dims[:, None]
    v_ptrs = V + base + keys[:, None] * D + dims[None, :]
    highest = tl.full((BLOCK_M,), float("-inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, D), dtype=tl.float32)
    whole = start if CAUSAL else N
    for j in range(0, whole, BLOCK_N):
        k = tl.load(k_ptrs)
        scores = tl.dot(q, k) * scale
        new = tl.maximum(highest, tl.max(scores, 1))
        p = tl.exp2(scores - new[:, None])
        keep = tl.exp2(highest - new)
        total = total * keep + tl.sum(p, 1)
        acc = acc * keep[:, None]
        v = tl.load(v_ptrs)
        acc = tl.dot(p.to(tl.float16), v, acc)
        highest = new
        k_ptrs += BLOCK_N * D
        v_ptrs += BLOCK_N * D
    if CAUSAL:
        for j in range(start, start + BLOCK_M, BLOCK_N):
            k = tl.load(k_ptrs)
            scores = tl.dot(q, k) * scale
            scores = tl.where(rows[:, None] >= (j + keys)[None, :], scores, float("-inf"))
            new = tl.maximum(highest, tl.max(scores, 1))
            p = tl.exp2(scores - new[:, None])
            keep = tl.exp2(highest - new)
            total = total * keep + tl.sum(p, 1)
            acc = acc * keep[:, None]
            v = tl.load(v_ptrs)
            acc = tl.dot(p.to(tl.float16), v, acc)
            highest = new
            k_ptrs += BLOCK_N * D
            v_ptrs += BLOCK_N * D
    acc = acc / total[:, None]
    tl.store(OUT + base + rows[:, None] * D + dims[None, :], acc.to(tl.float16))


@triton.jit
def product(
    A, B, C, K, lda, ldb, ldc,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, TA: tl.constexpr, TB: tl.constexpr, HALF: tl.constexpr, INT: tl.constexpr,
):  # fmt: skip
    """`C = op(A) @ op(B)`; sizes are multiples of the blocks. A transposed operand is loaded along its rows and turned."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    if TA:
        a = A + rk[:, None] * lda + rm[None, :]
    else:
        a = A + rm[:, None] * lda + rk[None, :]
    if TB:
        b = B + rn[:, None] * ldb + rk[None, :]
    else:
        b = B + rk[:, None] * ldb + rn[None, :]
    if INT:
        acc = tl.zeros((BM, BN), dtype=tl.int32)
    elif HALF:
        acc = tl.zeros((BM, BN), dtype=tl.float16)
    else:
        acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a)
        y = tl.load(b)
        if TA:
            x = tl.trans(x)
            a += BK * lda
        else:
            a += BK
        if TB:
            y = tl.trans(y)
            b += BK
        else:
            b += BK * ldb
        acc = tl.dot(x, y, acc, out_dtype=acc.dtype)
    tl.store(C + rm[:, None] * ldc + rn[None, :], acc.to(C.dtype.element_ty))


@triton.jit
def matmul_descriptors(A, B, C, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr, TB: tl.constexpr):
    """`A` is a descriptor of `[M, K]`, `B` of `[K, N]`, or with `TB` of `[N, K]`."""
    pid = tl.program_id(0)
    rows_of_programs = tl.cdiv(M, BLOCK_M)
    columns_of_programs = tl.cdiv(N, BLOCK_N)
    in_group = GROUP_M * columns_of_programs
    first = pid // in_group * GROUP_M
    size = min(rows_of_programs - first, GROUP_M)
    row = (first + pid % in_group % size) * BLOCK_M
    column = pid % in_group // size * BLOCK_N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = A.load([row, k * BLOCK_K])
        b = B.load([column, k * BLOCK_K]).T if TB else B.load([k * BLOCK_K, column])
        acc = tl.dot(a, b, acc)
    out_rows = row + tl.arange(0, BLOCK_M)
    out_columns = column + tl.arange(0, BLOCK_N)
    c_ptrs = C + out_rows[:, None] * N + out_columns[None, :]
    tl.store(c_ptrs, acc.to(tl.float16), mask=(out_rows[:, None] < M) & (out_columns[None, :] < N))
