#!/usr/bin/env python3
"""Times matrix products and attention on a GPU, beside Triton and PyTorch in the same process.

    python3 bench/gpu_matmul.py path/to/tritium [--results FILE.md] [--quick] [--only matmul|attention]

Both compilers get the same Python function (`bench/tensor_kernels.py`) with the same tiles, warps and stages; each row is a configuration,
and the best of each compiler is marked. Random data, medians of `triton.testing.do_bench`; every result is compared with PyTorch in float32
or better before it is timed. Needs torch, triton and a GPU; every compilation has a time limit.
"""

import argparse
import ctypes
import math
import sys
from pathlib import Path

import torch
import triton

sys.path.insert(0, str(Path(__file__).resolve().parent))
import tensor_kernels
from gpu import Ours, agrees, cuda, median

KERNELS = Path(__file__).resolve().parent / "tensor_kernels.py"

# BLOCK_M, BLOCK_N, BLOCK_K, warps, stages
MATMULS = [(128, 128, 32, 4, 3), (128, 128, 32, 8, 4), (128, 128, 64, 8, 3), (128, 128, 64, 4, 3), (128, 256, 64, 8, 3), (64, 128, 64, 4, 4)]
# BLOCK_M, BLOCK_N, warps, stages
ATTENTIONS = {64: [(128, 64, 4, 3), (128, 64, 8, 3), (128, 128, 8, 2)], 128: [(128, 64, 8, 2), (128, 64, 8, 3), (128, 128, 8, 2)]}


def registers(function):
    """(registers, local bytes) of a loaded function."""
    values = []
    for attribute in (4, 3):
        value = ctypes.c_int()
        cuda.cuFuncGetAttribute(ctypes.byref(value), attribute, function)
        values.append(value.value)
    return values


def row(rows, what, config, flops, ours, run, peer, out, reference, longest):
    """Checks and times one configuration; `ours` and `peer` make what launches, or say why not."""
    try:
        kernel = ours()
        launch = run(kernel)
        out.fill_(float("nan"))
        launch()
        torch.cuda.synchronize()
        error, bound, ok = agrees(out, reference, longest)
        regs, local = registers(kernel.function)
        time, shared = median(launch), kernel.shared
    except (RuntimeError, ValueError) as problem:
        print(f"FAIL {what} {config}: {str(problem).splitlines()[-1][:300]}", flush=True)
        error, ok, regs, local, time, shared = math.nan, False, 0, 0, math.inf, 0
    try:
        compiled = peer()
        peer_time = median(peer)
        peer_regs, peer_shared = compiled.n_regs, compiled.metadata.shared
    except Exception as problem:  # Triton's own refusals have many types
        print(f"     triton {what} {config}: {str(problem).splitlines()[-1][:200]}", flush=True)
        peer_time, peer_regs, peer_shared = math.inf, 0, 0
    rows.append((what, config, flops, time, peer_time, regs, local, shared, peer_regs, peer_shared, error, ok))
    rate = lambda t: flops / t / 1e9
    print(
        f"{'ok  ' if ok else 'FAIL'} {what} {config}: {time:.4f} ms {rate(time):.0f} TFLOP/s, {regs} registers, {local} bytes of local, {shared} shared;"
        f" triton {peer_time:.4f} ms {rate(peer_time):.0f} TFLOP/s, {peer_regs} registers, {peer_shared} shared;"
        f" ratio {peer_time / time:.3f}, error {error:.1e}",
        flush=True,
    )
    return ok


def matmuls(binary, sizes, rows):
    failed = 0
    for n in sizes:
        a, b = (torch.randn(n, n, device="cuda", dtype=torch.float16) for _ in range(2))
        out = torch.empty_like(a)
        reference = a.float() @ b.float() if n > 4096 else (a.double() @ b.double())
        theirs = median(lambda: torch.matmul(a, b))
        print(f"== matmul f16 {n}³: torch {theirs:.4f} ms {2 * n**3 / theirs / 1e9:.0f} TFLOP/s", flush=True)
        rows.append((f"matmul {n}³", "torch", 2 * n**3, theirs, theirs, 0, 0, 0, 0, 0, 0.0, True))
        for bm, bn, bk, warps, stages in MATMULS:
            blocks = {"BLOCK_M": bm, "BLOCK_N": bn, "BLOCK_K": bk, "GROUP_M": 8}
            strides = {f"stride_{x}": "i32:16" for x in ("am", "bk", "cm")} | {f"stride_{x}": "i32:1" for x in ("ak", "bn", "cn")}
            args = {"A": "*f16:16", "B": "*f16:16", "C": "*f16:16", "M": "i32:16", "N": "i32:16", "K": "i32:16"} | strides
            grid = (triton.cdiv(n, bm) * triton.cdiv(n, bn),)
            ok = row(
                rows, f"matmul {n}³", f"{bm}×{bn}×{bk}, {warps} warps, {stages} stages", 2 * n**3,
                lambda: Ours(binary, KERNELS, "matmul", args, blocks, warps, stages),
                lambda kernel: kernel.launcher(grid, A=a, B=b, C=out, M=n, N=n, K=n, stride_am=n, stride_ak=1, stride_bk=n, stride_bn=1, stride_cm=n, stride_cn=1),
                lambda: tensor_kernels.matmul[grid](a, b, out, n, n, n, n, 1, n, 1, n, 1, **blocks, num_warps=warps, num_stages=stages),
                out, reference, n,
            )  # fmt: skip
            failed += not ok
    return failed


def attentions(binary, rows, length=4096, heads=64):
    failed = 0
    for d in (64, 128):
        q, k, v = (torch.randn(1, heads, length, d, device="cuda", dtype=torch.float16) for _ in range(3))
        out = torch.empty_like(q)
        scale = 1 / math.sqrt(d) * math.log2(math.e)
        for causal in (False, True):
            flops = 4 * heads * length * length * d // (2 if causal else 1)
            attention = torch.nn.functional.scaled_dot_product_attention
            reference = torch.cat([attention(*(x[:, h : h + 4].float() for x in (q, k, v)), is_causal=causal) for h in range(0, heads, 4)], dim=1)
            theirs = median(lambda: attention(q, k, v, is_causal=causal))
            name = f"attention D={d}{' causal' if causal else ''}"
            print(f"== {name}, {length} keys, {heads} heads: torch {theirs:.4f} ms {flops / theirs / 1e9:.0f} TFLOP/s", flush=True)
            rows.append((name, "torch", flops, theirs, theirs, 0, 0, 0, 0, 0, 0.0, True))
            for bm, bn, warps, stages in ATTENTIONS[d]:
                sets = {"BLOCK_M": bm, "BLOCK_N": bn, "D": d, "CAUSAL": causal}
                args = {x: "*f16:16" for x in ("Q", "K", "V", "OUT")} | {"scale": "f32", "stride_head": "i32:16", "N": "i32:16"}
                grid = (length // bm, heads)
                ok = row(
                    rows, name, f"{bm}×{bn}, {warps} warps, {stages} stages", flops,
                    lambda: Ours(binary, KERNELS, "attention", args, sets, warps, stages),
                    lambda kernel: kernel.launcher(grid, Q=q, K=k, V=v, OUT=out, scale=scale, stride_head=length * d, N=length),
                    lambda: tensor_kernels.attention[grid](q, k, v, out, scale, length * d, length, **sets, num_warps=warps, num_stages=stages),
                    out, reference, length,
                )  # fmt: skip
                failed += not ok
    return failed


def table(rows):
    lines = [
        f"# {torch.cuda.get_device_name()}: dots in loops",
        "",
        f"Medians in milliseconds, random data; PyTorch {torch.__version__}, Triton {triton.__version__}, one process. Both compilers get the same",
        "Python function, tiles, warps and stages. **Bold**: the best configuration of each. Made by `bench/gpu_matmul.py`.",
        "",
        "| work | configuration | Tritium | TFLOP/s | Triton | TFLOP/s | ratio | registers | shared | Triton's registers | shared | error |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    best = {}
    for what, config, _, ours, peer, *_ in rows:
        if config != "torch":
            old = best.get(what, (math.inf, math.inf))
            best[what] = (min(old[0], ours), min(old[1], peer))
    for what, config, flops, ours, peer, regs, local, shared, peer_regs, peer_shared, error, ok in rows:
        if config == "torch":
            lines.append(f"| {what} | PyTorch | {ours:.4f} | {flops / ours / 1e9:.0f} | | | | | | | | |")
            continue
        mark = lambda time, least: f"**{time:.4f}**" if time == least else f"{time:.4f}"
        spilled = f" (+{local} bytes local)" if local else ""
        lines.append(
            f"| {what} | {config} | {mark(ours, best[what][0])} | {flops / ours / 1e9:.0f} | {mark(peer, best[what][1])} | {flops / peer / 1e9:.0f} "
            f"| {peer / ours:.3f} | {regs}{spilled} | {shared} | {peer_regs} | {peer_shared} | {error:.1e}{'' if ok else ' **wrong**'} |"
        )
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=["matmul", "attention"])
    arguments = parser.parse_args()
    rows, failed = [], 0
    if arguments.only != "attention":
        failed += matmuls(arguments.binary, (1024, 4096) if arguments.quick else (1024, 2048, 4096, 8192), rows)
    if arguments.only != "matmul":
        failed += attentions(arguments.binary, rows)
    text = table(rows)
    print(text)
    if arguments.results:
        arguments.results.write_text(text)
    print(f"{len(rows)} rows, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
