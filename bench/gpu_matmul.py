"""Matrix products of every operand type and orientation on a Hopper GPU, and products and attention beside Triton and PyTorch.

Part of `gpu.py`. `products`: each case in a process of its own with a time limit (a wrong descriptor may hang or fault), against PyTorch in
float64; `descriptors`: products through tensor descriptors of sizes that blocks do not divide, in the same way. These, `matmul` and
`attention` are timed in this process, each row a configuration; results are compared with PyTorch in float32 or better before they are
timed.
"""

import json
import math
import subprocess
import sys
from pathlib import Path

import torch
import triton

sys.path.insert(0, str(Path(__file__).resolve().parent))
import tensor_kernels
from gpu_launch import PEAK_F16, Ours, agrees, median, registers

KERNELS = Path(__file__).resolve().parent / "tensor_kernels.py"

# BLOCK_M, BLOCK_N, BLOCK_K, warps, stages
MATMULS = [(128, 128, 32, 4, 3), (128, 128, 32, 8, 4), (128, 128, 64, 8, 3), (128, 128, 64, 8, 4), (128, 128, 64, 4, 3), (128, 256, 64, 8, 3)]
MATMULS += [(128, 256, 64, 8, 4), (64, 128, 64, 4, 4)]
# BLOCK_M, BLOCK_N, warps, stages
ATTENTIONS = {64: [(128, 64, 4, 3), (128, 64, 8, 3), (128, 128, 8, 2)], 128: [(128, 64, 8, 2), (128, 64, 8, 3), (128, 128, 8, 2)]}


# Operand types as the command line and as torch name them.
TORCH = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "i8": "int8"}


def product_cases(quick):
    """(left type, right type, blocks, warps, left transposed, right transposed, accumulated in f16)"""
    blocks = [((64, 64, 64), 4), ((128, 128, 64), 8), ((128, 256, 64), 8), ((64, 128, 64), 8), ((128, 128, 64), 4), ((64, 256, 32), 4)]
    blocks += [((64, 32, 128), 4), ((64, 16, 32), 4), ((64, 8, 64), 4), ((256, 64, 32), 8), ((256, 128, 64), 8), ((128, 64, 16), 4)]
    blocks += [((256, 128, 32), 16), ((64, 64, 256), 4), ((128, 32, 128), 4)]
    for block, warps in blocks[:4] if quick else blocks:
        for turned in ((False, False), (False, True), (True, False), (True, True)):
            yield "f16", "f16", block, warps, *turned, False
    for block, warps in blocks[:4] if quick else blocks[:10]:
        yield "bf16", "bf16", block, warps, False, True, False
        yield "bf16", "bf16", block, warps, True, False, False
        yield "f16", "f16", block, warps, False, False, True
        if block[2] >= 32:
            for left, right in (("f8e4m3", "f8e4m3"), ("f8e5m2", "f8e4m3"), ("i8", "i8")):
                for turned in ((False, True), (False, False), (True, True)):
                    yield left, right, block, warps, *turned, False
        if block[0] * block[2] <= 8192:
            for turned in ((False, True), (True, False), (False, False)):
                yield "f32", "f32", block, warps, *turned, False


def descriptor(binary, case):
    """A product through descriptors; {ok, and how far off} or {ok, why}."""
    (bm, bn, bk), warps, stages, turned, (m, n, k) = case
    torch.manual_seed(1)
    ours = through_descriptors(binary, bm, bn, bk, warps, stages, turned)
    if "cp.async.bulk.tensor" not in ours.ptx:
        return {"ok": False, "why": "no block is copied in the PTX"}
    # Beyond the tensor memory holds NaN: a block that reads it shows.
    a, b = padded(m, k), padded(n, k) if turned else padded(k, n)
    c = torch.full((m, n), float("nan"), device="cuda", dtype=torch.float16)
    grid = (triton.cdiv(m, bm) * triton.cdiv(n, bn),)
    ours.launcher(grid, C=c, M=m, N=n, K=k, **parts("A", a), **parts("B", b))()
    torch.cuda.synchronize()
    reference = a.double() @ (b.double().T if turned else b.double())
    error = float((c.double() - reference).norm() / max(float(reference.norm()), 1e-30))
    bound = 4 * 2.0**-10 * math.sqrt(k)
    return {"ok": error <= bound, "why": f"{error:.2e} <= {bound:.2e}"}


def padded(rows, columns):
    whole = torch.full((rows + 8, columns + 64), float("nan"), device="cuda", dtype=torch.float16)
    whole[:rows, :columns] = torch.randn(rows, columns, device="cuda")
    return whole[:rows, :columns]


def parts(name, tensor):
    """A descriptor argument as the kernel has it: base, extents, strides but the last."""
    return {f"{name}_0": tensor, f"{name}_1": tensor.shape[0], f"{name}_2": tensor.shape[1], f"{name}_3": tensor.stride(0)}


def through_descriptors(binary, bm, bn, bk, warps, stages, turned):
    args = {"A": f"tensordesc<f16[{bm}, {bk}]>", "B": f"tensordesc<f16[{bn if turned else bk}, {bk if turned else bn}]>", "C": "*f16:16"}
    args |= {name: "i32" for name in ("M", "N", "K")}
    sets = {"BLOCK_M": bm, "BLOCK_N": bn, "BLOCK_K": bk, "GROUP_M": 8, "TB": turned}
    return Ours(binary, KERNELS, "matmul_descriptors", args, sets, warps, stages)


def descriptor_cases(quick):
    """(blocks, warps, stages, right transposed, sizes)"""
    blocks = [((128, 256, 64), 8, 3), ((128, 128, 64), 4, 4), ((64, 64, 32), 4, 2), ((64, 128, 128), 4, 3), ((32, 64, 32), 2, 3)]
    for block in blocks[:2] if quick else blocks:
        for turned in (False, True):
            for sizes in ((384, 520, 1000), (200, 264, 40), (8, 16, 8), (1024, 1024, 4096)):
                yield *block, turned, sizes


def product_name(case):
    if len(case) == 5:
        block, warps, stages, turned, sizes = case
        return f"descriptors {'×'.join(map(str, block))} {'NT' if turned else 'NN'} {warps} warps {stages} stages, {'×'.join(map(str, sizes))}"

    left, right, block, warps, turned_left, turned_right, half = case
    letters = ("T" if turned_left else "N") + ("T" if turned_right else "N")
    return f"{left}·{right}{' in f16' if half else ''} {'×'.join(map(str, block))} {letters} {warps} warps"


def product(binary, case):
    """One case; {ok, and how far off} or {ok, why}."""
    left, right, block, warps, turned_left, turned_right, half = case
    torch.manual_seed(1)
    out = "f16" if half else "i32" if left == "i8" else "f32"
    args = {"A": f"*{left}:16", "B": f"*{right}:16", "C": f"*{out}:16"} | {name: "i32:16" for name in ("K", "lda", "ldb", "ldc")}
    bm, bn, bk = block
    sets = {"BM": bm, "BN": bn, "BK": bk, "TA": turned_left, "TB": turned_right, "HALF": half, "INT": left == "i8"}
    ours = Ours(binary, KERNELS, "product", args, sets, warps)
    if ours.ptx.count("wgmma.mma_async") == 0:
        return {"ok": False, "why": "no wgmma in the PTX"}
    m, n, k = 2 * bm, 3 * bn, 5 * bk

    def random(shape, kind):
        if kind == "i8":
            return torch.randint(-128, 128, shape, dtype=torch.int8, device="cuda")
        return torch.randn(shape, device="cuda").to(getattr(torch, TORCH[kind]))

    a, b = random((k, m) if turned_left else (m, k), left), random((n, k) if turned_right else (k, n), right)
    c = torch.zeros((m, n), device="cuda", dtype={"f16": torch.float16, "f32": torch.float32, "i32": torch.int32}[out])
    ours.launcher((2, 3), A=a, B=b, C=c, K=k, lda=a.stride(0), ldb=b.stride(0), ldc=n)()
    torch.cuda.synchronize()
    x, y = (t.float().double() for t in (a, b))
    reference = (x.T if turned_left else x) @ (y.T if turned_right else y)
    error = float((c.double() - reference).norm() / reference.norm())
    # Products of tf32; sums of 8-bit floats have about 14 bits.
    eps = {"f32": 2.0**-10, "i8": 0.0}.get(left, 2.0**-13 if left.startswith("f8") else 2.0**-22)
    bound = 4 * max(eps, 2.0**-10 if half else 0.0) * math.sqrt(k)
    return {"ok": error <= bound, "why": f"{error:.2e} <= {bound:.2e}"}


def products(binary, cases):
    failed = total = 0
    for case in cases:
        command = [sys.executable, __file__, binary, json.dumps(case)]
        try:
            said = subprocess.run(command, capture_output=True, text=True, timeout=120)
            answer = json.loads(said.stdout.splitlines()[-1]) if said.returncode == 0 else {"ok": False, "why": said.stderr.strip()[-300:]}
        except subprocess.TimeoutExpired:
            answer = {"ok": False, "why": "no answer within 120 s"}
        failed += not answer["ok"]
        total += 1
        print(f"{'ok  ' if answer['ok'] else 'FAIL'} {product_name(case)}: {answer['why']}", flush=True)
    print(f"== {total - failed} of {total} products right", flush=True)
    return failed


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


def descriptors(binary, sizes, rows):
    from triton.tools.tensor_descriptor import TensorDescriptor

    failed = 0
    for n in sizes:
        a, b = (torch.randn(n, n, device="cuda", dtype=torch.float16) for _ in range(2))
        out = torch.empty_like(a)
        reference = a.float() @ b.float() if n > 4096 else (a.double() @ b.double())
        for bm, bn, bk, warps, stages in MATMULS:
            blocks = {"BLOCK_M": bm, "BLOCK_N": bn, "BLOCK_K": bk, "GROUP_M": 8, "TB": False}
            grid = (triton.cdiv(n, bm) * triton.cdiv(n, bn),)
            left, right = TensorDescriptor.from_tensor(a, [bm, bk]), TensorDescriptor.from_tensor(b, [bk, bn])
            ok = row(
                rows, f"descriptors {n}³", f"{bm}×{bn}×{bk}, {warps} warps, {stages} stages", 2 * n**3,
                lambda: through_descriptors(binary, bm, bn, bk, warps, stages, False),
                lambda kernel: kernel.launcher(grid, C=out, M=n, N=n, K=n, **parts("A", a), **parts("B", b)),
                lambda: tensor_kernels.matmul_descriptors[grid](left, right, out, n, n, n, **blocks, num_warps=warps, num_stages=stages),
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
        "## Dots in loops",
        "",
        f"**Bold**: the best configuration of each. `of roof`: ours over the data sheet's {PEAK_F16 / 1e12} TFLOP/s of dense f16.",
        "",
        "| work | configuration | Tritium ms | TFLOP/s | of roof | Triton ms | TFLOP/s | ratio | registers | shared | Triton's registers | shared | error |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    roof = lambda flops, time: f"{100 * flops / time * 1e3 / PEAK_F16:.1f} %"
    best = {}
    for what, config, _, ours, peer, *_ in rows:
        if config != "torch":
            old = best.get(what, (math.inf, math.inf))
            best[what] = (min(old[0], ours), min(old[1], peer))
    for what, config, flops, ours, peer, regs, local, shared, peer_regs, peer_shared, error, ok in rows:
        if config == "torch":
            lines.append(f"| {what} | PyTorch | {ours:.4f} | {flops / ours / 1e9:.0f} | {roof(flops, ours)} | | | | | | | | |")
            continue
        mark = lambda time, least: f"**{time:.4f}**" if time == least else f"{time:.4f}"
        spilled = f" (+{local} bytes local)" if local else ""
        lines.append(
            f"| {what} | {config} | {mark(ours, best[what][0])} | {flops / ours / 1e9:.0f} | {roof(flops, ours)} | {mark(peer, best[what][1])} | {flops / peer / 1e9:.0f} "
            f"| {peer / ours:.3f} | {regs}{spilled} | {shared} | {peer_regs} | {peer_shared} | {error:.1e}{'' if ok else ' **wrong**'} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    case = json.loads(sys.argv[2])
    print(json.dumps((descriptor if len(case) == 5 else product)(sys.argv[1], case)))
