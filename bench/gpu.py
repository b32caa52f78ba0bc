#!/usr/bin/env python3
"""Checks and times kernels on a GPU, beside Triton and PyTorch in the same process.

    python3 bench/gpu.py path/to/tritium [--results FILE.md] [--quick] [--only examples|memory|products|descriptors|matmul|attention]

1. `examples`: every launch of `examples/` runs through `tritium run --device cuda:0 --verify`, and what it wrote is compared with PyTorch here,
   in the norm of docs/architecture.md: ||out - ref|| / ||ref|| <= 4 * eps * sqrt(longest reduction), the reference in float64.
2. `memory`: kernels bound by memory, each beside a copy of as many bytes.
3. `products`, `descriptors`, `matmul`, `attention`: see `gpu_matmul.py`.

Both compilers get the same Python function with the same tiles, warps and stages. Random data, medians of `triton.testing.do_bench` (the L2
cache is cleared before every run). Needs torch, triton and a GPU. Every external step has a time limit: a wrong kernel can hang for ever.
"""

import argparse
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import torch
import triton

sys.path.insert(0, str(Path(__file__).resolve().parent))
import gpu_matmul
from gpu_launch import PEAK_BYTES, ROOT, Ours, agrees, median, registers


def load_example(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


REFERENCES = {
    "vector_add": ("OUT", lambda t: t["X"] + t["Y"], lambda t: 1),
    "softmax": ("Y", lambda t: torch.softmax(t["X"], dim=1), lambda t: 1 << (t["X"].shape[1] - 1).bit_length()),
    "layer_norm": (
        "Y",
        lambda t: torch.nn.functional.layer_norm(t["X"], t["X"].shape[1:], t["WEIGHT"], t["BIAS"], 1e-5),
        lambda t: 1 << (t["X"].shape[1] - 1).bit_length(),
    ),
    "matmul": ("C", lambda t: t["A"] @ t["B"], lambda t: max(*t["A"].shape, *t["B"].shape)),
}


def verify(binary):
    failed = 0
    print("== every example, tritium run --device cuda:0 --verify, then against PyTorch here")
    for name, (output, reference, longest) in REFERENCES.items():
        text = (ROOT / "examples" / f"{name}.py").read_text()
        for launch in re.findall(r"^# \[launch\.(\w+)\]", text, re.M):
            with tempfile.TemporaryDirectory() as folder:
                command = [binary, "run", str(ROOT / "examples" / f"{name}.py"), "--launch", launch, "--device", "cuda:0", "--verify"]
                try:
                    run = subprocess.run(
                        command + ["--save", folder, "--output-format", "json", "--timeout", "90"], capture_output=True, text=True, timeout=120
                    )
                except subprocess.TimeoutExpired:
                    print(f"FAIL {name}/{launch}: no answer within 120 s")
                    failed += 1
                    continue
                if run.returncode not in (0, 1) or not run.stdout:
                    print(f"FAIL {name}/{launch}: exit {run.returncode}: {run.stderr.strip()}")
                    failed += 1
                    continue
                report = json.loads(run.stdout)["launches"][0]
                comparisons = "; ".join(
                    f"{'ok' if c['ok'] else 'MISMATCH'} against {c['reference']} {float(c['error']):.2e}<={c['bound']:.2e}" for c in report["comparisons"]
                )
                verdict = run.returncode == 0
                detail = report["fault"] or comparisons
                if not report["fault"]:
                    inputs = {p.name[: -len(".in.npy")]: p for p in Path(folder).glob("*.in.npy")}
                    tensors = {n: torch.from_numpy(numpy.load(p)).cuda().double() for n, p in inputs.items()}
                    out = torch.from_numpy(numpy.load(Path(folder) / f"{output}.npy")).cuda()
                    error, bound, ok = agrees(out, reference(tensors), longest(tensors))
                    verdict &= ok
                    detail += f"; PyTorch {error:.2e}<={bound:.2e}"
                print(f"{'ok  ' if verdict else 'FAIL'} {name}/{launch} on {report['device']}: {detail}")
                failed += not verdict
    return failed


def copy_time(size):
    """Milliseconds of PyTorch's copy that reads and writes so many bytes together."""
    source = torch.empty(size // 8, dtype=torch.float32, device="cuda").normal_()
    target = torch.empty_like(source)
    return median(lambda: target.copy_(source))


def memory(binary):
    """Rows of the kernels that are bound by memory, and how many are wrong."""
    add, softmax, norm = (load_example(n) for n in ("vector_add", "softmax", "layer_norm"))
    rows = []
    failed = 0

    def row(kernel, size, ours, run, triton_run, torch_run, out, reference, longest, moved):
        nonlocal failed
        out.fill_(float("nan"))
        run()
        torch.cuda.synchronize()
        error, bound, ok = agrees(out, reference(), longest)
        failed += not ok
        times = [median(f) for f in (run, triton_run, torch_run)]
        again = median(run)
        theirs = triton_run()
        used = (*registers(ours.function), ours.shared, theirs.n_regs, theirs.metadata.shared)
        rows.append((kernel, size, times, again, copy_time(moved), moved, used, error, ok))
        print(f"{'ok  ' if ok else 'FAIL'} {kernel} {size}: ours {times[0]:.4f} ms (again {again:.4f}), triton {times[1]:.4f}, torch {times[2]:.4f}, error {error:.1e} <= {bound:.1e}", flush=True)

    for exponent in (24, 27):
        n = 1 << exponent
        x, y = (torch.randn(n, device="cuda") for _ in range(2))
        out = torch.empty_like(x)
        grid = (triton.cdiv(n, 1024),)
        ours = Ours(binary, "vector_add.py", "add", {"X": "*f32:16", "Y": "*f32:16", "OUT": "*f32:16", "n": "i32:16"}, {"BLOCK": 1024}, 4)
        row("vector add f32", f"2^{exponent}", ours, ours.launcher(grid, X=x, Y=y, OUT=out, n=n), lambda: add.add[grid](x, y, out, n, BLOCK=1024),
            lambda: torch.add(x, y, out=out), out, lambda: x.double() + y.double(), 1, moved=12 * n)  # fmt: skip
        del x, y, out

    for rows_, cols in ((4096, 1024), (4096, 4096), (4096, 16384)):
        x = torch.randn(rows_, cols, device="cuda")
        out = torch.empty_like(x)
        warps = 4 if cols <= 1024 else 8 if cols <= 4096 else 16
        pointers = {"Y": "*f32:16", "X": "*f32:16"}
        ours = Ours(binary, "softmax.py", "softmax", pointers | {"stride_y": "i32:16", "stride_x": "i32:16", "n_cols": "i32:16"}, {"BLOCK": cols}, warps)
        run = ours.launcher((rows_,), Y=out, X=x, stride_y=cols, stride_x=cols, n_cols=cols)
        row("softmax f32", f"{rows_}×{cols}", ours, run, lambda: softmax.softmax[(rows_,)](out, x, cols, cols, cols, BLOCK=cols, num_warps=warps),
            lambda: torch.softmax(x, dim=1, out=out), out, lambda: torch.softmax(x.double(), dim=1), cols, moved=8 * rows_ * cols)  # fmt: skip

    for rows_, cols in ((8192, 1024), (8192, 4096), (8192, 8192), (16384, 8192)):
        x = torch.randn(rows_, cols, device="cuda", dtype=torch.float16)
        w, b = torch.randn(cols, device="cuda").half(), torch.randn(cols, device="cuda").half()
        out = torch.empty_like(x)
        warps = 4 if cols <= 1024 else 8
        pointers = {n: "*f16:16" for n in ("Y", "X", "WEIGHT", "BIAS")}
        ours = Ours(binary, "layer_norm.py", "layer_norm", pointers | {"stride": "i32:16", "n_cols": "i32:16", "eps": "f32"}, {"BLOCK": cols}, warps)
        run = ours.launcher((rows_,), Y=out, X=x, WEIGHT=w, BIAS=b, stride=cols, n_cols=cols, eps=1e-5)
        reference = lambda: torch.nn.functional.layer_norm(x.double(), (cols,), w.double(), b.double(), 1e-5)
        row("layer norm f16", f"{rows_}×{cols}", ours, run, lambda: norm.layer_norm[(rows_,)](out, x, w, b, cols, cols, 1e-5, BLOCK=cols, num_warps=warps),
            lambda: torch.nn.functional.layer_norm(x, (cols,), w, b, 1e-5), out, reference, cols, moved=4 * rows_ * cols)  # fmt: skip
    return rows, failed


def memory_table(rows):
    lines = [
        "## Bound by memory",
        "",
        "`of copy`: the time of PyTorch's copy of as many bytes, in this run, over ours; `of roof`: the rate over the data sheet's"
        f" {PEAK_BYTES / 1e12} TB/s. `again`: the same launch timed a second time. Bytes: a kernel's least traffic.",
        "",
        "| kernel | size | MB | Tritium ms | again | Triton ms | PyTorch ms | TB/s | of copy | of roof | registers | shared | Triton's registers | shared | error |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for kernel, size, (ours, peer, torch_), again, copy, moved, (regs, local, shared, peer_regs, peer_shared), error, ok in rows:
        rate = moved / ours * 1e3
        spilled = f" (+{local} bytes local)" if local else ""
        lines.append(
            f"| {kernel} | {size} | {moved / 2**20:.0f} | {ours:.4f} | {again:.4f} | {peer:.4f} | {torch_:.4f} | {rate / 1e12:.2f} | {100 * copy / ours:.1f} %"
            f" | {100 * rate / PEAK_BYTES:.1f} % | {regs}{spilled} | {shared} | {peer_regs} | {peer_shared} | {error:.1e}{'' if ok else ' **wrong**'} |"
        )
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--quick", action="store_true", help="fewer cases and sizes of products")
    parser.add_argument("--only", choices=["examples", "memory", "products", "descriptors", "matmul", "attention"])
    arguments = parser.parse_args()
    wanted = lambda name: arguments.only in (None, name)
    failed = 0
    device = torch.cuda.get_device_name()
    text = f"# {device}\n\nMade by `bench/gpu.py`: medians, random data, cold L2; PyTorch {torch.__version__}, Triton {triton.__version__}, one process.\n"
    text += "Both compilers get the same Python function, tiles, warps and stages.\n"
    if wanted("examples"):
        failed += verify(arguments.binary)
    if wanted("memory"):
        rows, wrong = memory(arguments.binary)
        text += "\n" + memory_table(rows)
        failed += wrong
    rows = []
    if wanted("products"):
        failed += gpu_matmul.products(arguments.binary, gpu_matmul.product_cases(arguments.quick))
    sizes = (1024, 4096) if arguments.quick else (1024, 2048, 4096, 8192)
    if wanted("descriptors"):
        failed += gpu_matmul.products(arguments.binary, gpu_matmul.descriptor_cases(arguments.quick))
        failed += gpu_matmul.descriptors(arguments.binary, sizes, rows)
    if wanted("matmul"):
        failed += gpu_matmul.matmuls(arguments.binary, sizes, rows)
    if wanted("attention"):
        failed += gpu_matmul.attentions(arguments.binary, rows)
    if rows:
        text += "\n" + gpu_matmul.table(rows)
    print(text)
    if arguments.results:
        arguments.results.write_text(text)
    print(f"{failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
