"""Kernels that read and write blocks through tensor descriptors, made in the kernel or given by the host: a product, a persistent one, a grouped one
whose tensors are loaded from memory, attention of one tensor for all heads, and a sum of two tensors. Each is launched on random data and held
against PyTorch. Each size, and number of stages, has a specialisation of its own, so
that all are timed.

    TRITIUM=bench TRITIUM_REPORT=times.csv python -m tritium bench/descriptors.py

times each under both compilers; `python bench/descriptors.py table times.csv` writes the table in `results/descriptors.md`.
"""

import csv
import math
import re
import sys

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

DEVICE = "cuda"
#: Extents of blocks, warps, stages.
CONFIGURATIONS = [(128, 128, 64, 8, 3), (128, 128, 64, 4, 4), (128, 256, 64, 8, 3), (64, 64, 64, 4, 4), (128, 128, 64, 8, 1)]


@triton.jit
def product_given(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SIZE: tl.constexpr, STAGES: tl.constexpr):
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        sums = tl.dot(a.load([row, k]), b.load([k, column]), sums)
    c.store([row, column], sums.to(tl.float16))


@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SIZE: tl.constexpr, STAGES: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[K, N], strides=[N, 1], block_shape=[BK, BN])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    product_given(a, b, c, M, N, K, BM, BN, BK, SIZE, STAGES)


@triton.jit
def persistent(a_ptr, b_ptr, c_ptr, M, N, K, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SIZE: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    rows = tl.cdiv(M, BM)
    for tile in tl.range(tl.program_id(0), rows * tl.cdiv(N, BN), PROGRAMS):
        row, column = tile % rows * BM, tile // rows * BN
        sums = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, K, BK):
            sums = tl.dot(a.load([row, k]), b.load([column, k]).T, sums)
        c.store([row, column], sums.to(tl.float16))


@triton.jit
def grouped(tensors, sizes, GROUPS, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SIZE: tl.constexpr):
    tile = tl.program_id(0)
    behind = 0
    for group in range(GROUPS):
        M, N, K = tl.load(sizes + 3 * group), tl.load(sizes + 3 * group + 1), tl.load(sizes + 3 * group + 2)
        rows = tl.cdiv(M, BM)
        tiles = rows * tl.cdiv(N, BN)
        if tile >= behind and tile < behind + tiles:
            a_ptr = tl.load(tensors + 3 * group).to(tl.pointer_type(tl.float16))
            b_ptr = tl.load(tensors + 3 * group + 1).to(tl.pointer_type(tl.float16))
            c_ptr = tl.load(tensors + 3 * group + 2).to(tl.pointer_type(tl.float16))
            a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
            b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
            c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
            while tile >= behind and tile < behind + tiles:
                row, column = (tile - behind) % rows * BM, (tile - behind) // rows * BN
                sums = tl.zeros((BM, BN), dtype=tl.float32)
                for k in range(0, K, BK):
                    sums = tl.dot(a.load([row, k]), b.load([column, k]).T, sums)
                c.store([row, column], sums.to(tl.float16))
                tile += PROGRAMS
        behind += tiles


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, o_ptr, scale, heads, length, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, SIZE: tl.constexpr):
    rows = heads * length
    q = tl.make_tensor_descriptor(q_ptr, shape=[rows, D], strides=[D, 1], block_shape=[BM, D])
    k = tl.make_tensor_descriptor(k_ptr, shape=[rows, D], strides=[D, 1], block_shape=[BN, D])
    v = tl.make_tensor_descriptor(v_ptr, shape=[rows, D], strides=[D, 1], block_shape=[BN, D])
    o = tl.make_tensor_descriptor(o_ptr, shape=[rows, D], strides=[D, 1], block_shape=[BM, D])
    first = tl.program_id(1) * length
    row = first + tl.program_id(0) * BM
    queries = q.load([row, 0])
    most = tl.full([BM], float("-inf"), tl.float32)
    weights = tl.zeros([BM], tl.float32)
    sums = tl.zeros([BM, D], tl.float32)
    for start in tl.range(0, length, BN):
        scores = tl.dot(queries, k.load([first + start, 0]).T) * (scale * 1.44269504)
        highest = tl.maximum(most, tl.max(scores, 1))
        chances = tl.math.exp2(scores - highest[:, None])
        shrunk = tl.math.exp2(most - highest)
        weights = weights * shrunk + tl.sum(chances, 1)
        sums = tl.dot(chances.to(tl.float16), v.load([first + start, 0]), sums * shrunk[:, None])
        most = highest
    o.store([row, 0], (sums / weights[:, None]).to(tl.float16))


@triton.jit
def added(x_ptr, y_ptr, z_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr, SIZE: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    y = tl.make_tensor_descriptor(y_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    z = tl.make_tensor_descriptor(z_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    z.store([row, column], x.load([row, column]) + y.load([row, column]))


def random(*shape):
    return torch.randn(shape, device=DEVICE, dtype=torch.float16)


def check(name, out, wanted, depth):
    error = float((out.double() - wanted.double()).norm() / wanted.double().norm())
    bound = 4 * 2.0**-10 * math.sqrt(depth)
    print(f"{name}: error {error:.1e}, bound {bound:.1e}", flush=True)
    assert error <= bound, name


def products():
    for M, N, K in [(512, 512, 512), (1000, 776, 520), (2048, 2048, 2048), (4096, 4096, 4096)]:
        a, b = random(M, K), random(K, N)
        for BM, BN, BK, warps, stages in CONFIGURATIONS:
            grid, options = (triton.cdiv(M, BM), triton.cdiv(N, BN)), dict(BM=BM, BN=BN, BK=BK, SIZE=M, STAGES=stages, num_warps=warps, num_stages=stages)
            c = torch.empty(M, N, device=DEVICE, dtype=torch.float16)
            product[grid](a, b, c, M, N, K, **options)
            check(f"product {M}×{N}×{K} {BM}×{BN}×{BK} {stages} stages", c, a @ b, K)
            c = torch.empty_like(c)
            given = [TensorDescriptor.from_tensor(a, [BM, BK]), TensorDescriptor.from_tensor(b, [BK, BN]), TensorDescriptor.from_tensor(c, [BM, BN])]
            product_given[grid](*given, M, N, K, **options)
            check("… given", c, a @ b, K)
        b, c = b.T.contiguous(), torch.empty(M, N, device=DEVICE, dtype=torch.float16)
        persistent[(132,)](a, b, c, M, N, K, PROGRAMS=132, BM=128, BN=128, BK=64, SIZE=M, num_warps=8, num_stages=3)
        check(f"persistent {M}×{N}×{K}", c, a @ b.T, K)


def groups():
    sizes = [(1024, 1024, 1024), (512, 2048, 256), (264, 520, 136), (2048, 512, 2048)]
    tensors = [(random(M, K), random(N, K), torch.empty(M, N, device=DEVICE, dtype=torch.float16)) for M, N, K in sizes]
    addresses = torch.tensor([[tensor.data_ptr() for tensor in group] for group in tensors], device=DEVICE, dtype=torch.int64)
    grouped[(132,)](addresses, torch.tensor(sizes, device=DEVICE, dtype=torch.int32), len(sizes), PROGRAMS=132, BM=128, BN=128, BK=64, SIZE=0, num_warps=8, num_stages=3)
    for (M, N, K), (a, b, c) in zip(sizes, tensors):
        check(f"grouped {M}×{N}×{K}", c, a @ b.T, K)


def attentions():
    for heads, length, D in [(32, 1024, 64), (32, 4096, 128)]:
        q, k, v = random(heads, length, D), random(heads, length, D), random(heads, length, D)
        o = torch.empty_like(q)
        attention[(length // 128, heads)](q, k, v, o, D**-0.5, heads, length, BM=128, BN=64, D=D, SIZE=length, num_warps=8, num_stages=3)
        check(f"attention {heads} heads, {length} × {D}", o, torch.nn.functional.scaled_dot_product_attention(q, k, v), length)


def sums():
    for M, N in [(4096, 4096), (16384, 8192)]:
        x, y = random(M, N), random(M, N)
        z = torch.empty_like(x)
        added[(triton.cdiv(M, 64), triton.cdiv(N, 128))](x, y, z, M, N, BM=64, BN=128, SIZE=M)
        check(f"added {M}×{N}", z, x + y, 1)


def table(path):
    rows = list(csv.DictReader(open(path)))
    mean = math.exp(sum(math.log(float(row["triton_us"]) / float(row["us"])) for row in rows) / len(rows))
    print(f"Triton's time over Tritium's: {mean:.2f} in the geometric mean of {len(rows)}; results are the same bits where nothing else is said.\n")
    print("| kernel | blocks | size | warps | stages | Tritium µs | Triton µs | ratio | registers | Triton's | shared | Triton's |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for row in rows:
        values = dict(re.findall(r"(\w+)=(\d+)", row["specialisation"]))
        blocks = "×".join(values[name] for name in ("BM", "BN", "BK", "D") if name in values)
        ours, theirs = float(row["us"]), float(row["triton_us"])
        verdict = "" if row["verdict"] == "same bits" else f" ({row['verdict']})"
        print(
            f"| {row['kernel']}{verdict} | {blocks} | {values['SIZE']} | {row['num_warps']} | {values.get('STAGES', 3)} | {ours:.1f} | {theirs:.1f} | {theirs / ours:.2f} "
            f"| {row['registers']} | {row['triton_registers']} | {row['shared']} | {row['triton_shared']} |"
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["table"]:
        sys.exit(table(sys.argv[2]))
    torch.manual_seed(0)
    triton.set_allocator(lambda size, align, stream: torch.empty(size, device=DEVICE, dtype=torch.int8))
    products()
    groups()
    attentions()
    sums()
