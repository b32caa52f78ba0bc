#!/usr/bin/env python3
"""Checks and times the example kernels on a GPU, beside PyTorch and Triton in the same process.

    python3 bench/gpu.py path/to/tritium [--results FILE.md] [--quick]

1. Every launch of `examples/` runs through `tritium run --device cuda:0 --verify`, and what it wrote is compared with PyTorch here, in the
   norm of docs/architecture.md: ||out - ref|| / ||ref|| <= 4 * eps * sqrt(longest reduction), the reference in float64.
2. The same kernels at large sizes: our PTX (from `tritium emit`), Triton's compilation of the same Python function, PyTorch's own operator.
   Random data, medians of `triton.testing.do_bench` (the L2 cache is cleared before every run).

Needs torch, triton and a GPU. Every external step has a time limit: a wrong kernel can hang for ever.
"""

import argparse
import ctypes
import importlib.util
import json
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import torch
import triton
from triton.testing import do_bench

ROOT = Path(__file__).resolve().parent.parent
cuda = ctypes.CDLL("libcuda.so.1")


def check(result, what):
    if result != 0:
        text = ctypes.c_char_p()
        cuda.cuGetErrorString(result, ctypes.byref(text))
        raise RuntimeError(f"{what}: {text.value.decode() if text.value else result}")


def load_example(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Ours:
    """A kernel compiled by tritium, launched on torch's stream."""

    def __init__(self, binary, file, kernel, args, sets, num_warps, num_stages=3):
        command = [binary, "emit", str(ROOT / "examples" / file), "--kernel", kernel, "--stage", "ptx", "--gpu", "H200", "--num-warps", str(num_warps)]
        command += ["--num-stages", str(num_stages)]
        for name, ty in args.items():
            command += ["--arg", f"{name}={ty}"]
        for name, value in sets.items():
            command += ["--set", f"{name}={value}"]
        ptx = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if ptx.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}\n{ptx.stderr}")
        self.ptx = ptx.stdout
        head = re.search(r"// tritium: kernel (\S+), (\d+) warps, (\d+) bytes of shared memory, parameters (.*)", ptx.stdout)
        self.name, self.threads, self.shared = head[1], int(head[2]) * 32, int(head[3])
        self.parameters = head[4].split()
        self.types = {name: ty.split(":")[0] for name, ty in args.items()}
        torch.cuda.current_stream()  # the context is torch's
        module = ctypes.c_void_p()
        check(cuda.cuModuleLoadData(ctypes.byref(module), ptx.stdout.encode() + b"\0"), "loading")
        self.function = ctypes.c_void_p()
        check(cuda.cuModuleGetFunction(ctypes.byref(self.function), module, self.name.encode()), "finding")
        if self.shared > 48 * 1024:
            check(cuda.cuFuncSetAttribute(self.function, 8, self.shared), "asking for shared memory")

    def launcher(self, grid, **values):
        holders = []
        for name in self.parameters:
            value = values[name]
            if isinstance(value, torch.Tensor):
                holders.append(ctypes.c_uint64(value.data_ptr()))
            elif self.types[name] == "f32":
                holders.append(ctypes.c_float(value))
            elif self.types[name] == "i64":
                holders.append(ctypes.c_int64(value))
            else:
                holders.append(ctypes.c_int32(value))
        pointers = (ctypes.c_void_p * len(holders))(*[ctypes.cast(ctypes.byref(h), ctypes.c_void_p) for h in holders])
        x, y, z = (list(grid) + [1, 1])[:3]

        def launch(keep=(holders, values)):
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            check(cuda.cuLaunchKernel(self.function, x, y, z, self.threads, 1, 1, self.shared, stream, pointers, None), "launching")

        return launch


EPS = {torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7, torch.float32: 2.0**-23}


def agrees(out, ref, longest):
    """(relative error, bound, verdict)"""
    out64, ref64 = out.double(), ref.double()
    error = float(torch.linalg.vector_norm(out64 - ref64) / torch.linalg.vector_norm(ref64))
    bound = 4 * EPS[out.dtype] * math.sqrt(longest)
    return error, bound, error <= bound


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
                    f"{'ok' if c['ok'] else 'MISMATCH'} against {c['reference']} {c['error']:.2e}<={c['bound']:.2e}" for c in report["comparisons"]
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


def median(run):
    return do_bench(run, warmup=50, rep=300, return_mode="median")


def bench(binary, quick):
    """Rows: kernel, size, milliseconds of ours, Triton, PyTorch; bytes or FLOPs for the last column."""
    add, softmax, norm, matmul = (load_example(n) for n in ("vector_add", "softmax", "layer_norm", "matmul"))
    rows = []
    failed = 0

    def row(kernel, size, run, triton_run, torch_run, out, reference, longest, *, moved=0, flops=0):
        nonlocal failed
        out.fill_(float("nan"))
        run()
        torch.cuda.synchronize()
        error, bound, ok = agrees(out, reference(), longest)
        failed += not ok
        times = [median(f) for f in (run, triton_run, torch_run)]
        again = median(run)
        rows.append((kernel, size, times, again, moved, flops, error, ok))
        print(f"{'ok  ' if ok else 'FAIL'} {kernel} {size}: ours {times[0]:.4f} ms (again {again:.4f}), triton {times[1]:.4f}, torch {times[2]:.4f}, error {error:.1e} <= {bound:.1e}", flush=True)

    source = torch.empty(1 << 28, dtype=torch.float32, device="cuda").normal_()
    target = torch.empty_like(source)
    copy = 2 * source.numel() * 4 / median(lambda: target.copy_(source)) / 1e9
    print(f"== copy bandwidth {copy:.3f} TB/s (torch copy of 1 GiB, bytes read and written)", flush=True)
    del source, target

    for exponent in (24, 27):
        n = 1 << exponent
        x, y = (torch.randn(n, device="cuda") for _ in range(2))
        out = torch.empty_like(x)
        grid = (triton.cdiv(n, 1024),)
        ours = Ours(binary, "vector_add.py", "add", {"X": "*f32:16", "Y": "*f32:16", "OUT": "*f32:16", "n": "i32:16"}, {"BLOCK": 1024}, 4)
        row("vector add f32", f"2^{exponent}", ours.launcher(grid, X=x, Y=y, OUT=out, n=n), lambda: add.add[grid](x, y, out, n, BLOCK=1024),
            lambda: torch.add(x, y, out=out), out, lambda: x.double() + y.double(), 1, moved=12 * n)  # fmt: skip
        del x, y, out

    for rows_, cols in ((4096, 1024), (4096, 4096), (4096, 16384)):
        x = torch.randn(rows_, cols, device="cuda")
        out = torch.empty_like(x)
        warps = 4 if cols <= 1024 else 8 if cols <= 4096 else 16
        pointers = {"Y": "*f32:16", "X": "*f32:16"}
        ours = Ours(binary, "softmax.py", "softmax", pointers | {"stride_y": "i32:16", "stride_x": "i32:16", "n_cols": "i32:16"}, {"BLOCK": cols}, warps)
        run = ours.launcher((rows_,), Y=out, X=x, stride_y=cols, stride_x=cols, n_cols=cols)
        row("softmax f32", f"{rows_}×{cols}", run, lambda: softmax.softmax[(rows_,)](out, x, cols, cols, cols, BLOCK=cols, num_warps=warps),
            lambda: torch.softmax(x, dim=1, out=out), out, lambda: torch.softmax(x.double(), dim=1), cols, moved=8 * rows_ * cols)  # fmt: skip

    for rows_, cols in ((8192, 1024), (8192, 4096), (8192, 8192)):
        x = torch.randn(rows_, cols, device="cuda", dtype=torch.float16)
        w, b = torch.randn(cols, device="cuda").half(), torch.randn(cols, device="cuda").half()
        out = torch.empty_like(x)
        warps = 4 if cols <= 1024 else 8
        pointers = {n: "*f16:16" for n in ("Y", "X", "WEIGHT", "BIAS")}
        ours = Ours(binary, "layer_norm.py", "layer_norm", pointers | {"stride": "i32:16", "n_cols": "i32:16", "eps": "f32"}, {"BLOCK": cols}, warps)
        run = ours.launcher((rows_,), Y=out, X=x, WEIGHT=w, BIAS=b, stride=cols, n_cols=cols, eps=1e-5)
        reference = lambda: torch.nn.functional.layer_norm(x.double(), (cols,), w.double(), b.double(), 1e-5)
        row("layer norm f16", f"{rows_}×{cols}", run, lambda: norm.layer_norm[(rows_,)](out, x, w, b, cols, cols, 1e-5, BLOCK=cols, num_warps=warps),
            lambda: torch.nn.functional.layer_norm(x, (cols,), w, b, 1e-5), out, reference, cols, moved=4 * rows_ * cols)  # fmt: skip

    for n in (1024,) if quick else (1024, 2048, 4096):
        a, b = (torch.randn(n, n, device="cuda", dtype=torch.float16) for _ in range(2))
        out = torch.empty_like(a)
        block = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32}
        strides = {"stride_am": "i32:16", "stride_ak": "i32:1", "stride_bk": "i32:16", "stride_bn": "i32:1", "stride_cm": "i32:16", "stride_cn": "i32:1"}
        sizes = {"M": "i32:16", "N": "i32:16", "K": "i32:16"}
        ours = Ours(binary, "matmul.py", "matmul", {"A": "*f16:16", "B": "*f16:16", "C": "*f16:16"} | sizes | strides, block, 8)
        grid = (n // 128, n // 128)
        run = ours.launcher(grid, A=a, B=b, C=out, M=n, N=n, K=n, stride_am=n, stride_bk=n, stride_cm=n)
        row("matmul f16", f"{n}³", run, lambda: matmul.matmul[grid](a, b, out, n, n, n, n, 1, n, 1, n, 1, **block, num_warps=8),
            lambda: torch.matmul(a, b, out=out), out, lambda: a.double() @ b.double(), n, flops=2 * n**3)  # fmt: skip
    return copy, rows, failed


def table(copy, rows):
    device = torch.cuda.get_device_name()
    lines = [
        f"# {device}",
        "",
        f"Medians in milliseconds, random data, cold L2; PyTorch {torch.__version__}, Triton {triton.__version__}, one process. Triton and",
        "Tritium compile the same Python function at the same tile and number of warps. `again`: the same launch timed a second time.",
        f"Measured copy bandwidth: {copy:.3f} TB/s (bytes read plus written); `of copy` is a kernel's minimal traffic over its time, over that.",
        "Made by `bench/gpu.py`.",
        "",
        "| kernel | size | Tritium | again | Triton | PyTorch | rate | of copy | error |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for kernel, size, (ours, peer, torch_), again, moved, flops, error, ok in rows:
        rate = f"{moved / ours / 1e9:.2f} TB/s" if moved else f"{flops / ours / 1e9:.0f} TFLOP/s"
        share = f"{100 * moved / ours / 1e9 / copy:.1f} %" if moved else "–"
        verdict = f"{error:.1e}" if ok else f"**{error:.1e}**"
        lines.append(f"| {kernel} | {size} | {ours:.4f} | {again:.4f} | {peer:.4f} | {torch_:.4f} | {rate} | {share} | {verdict} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    failed = verify(arguments.binary)
    copy, rows, wrong = bench(arguments.binary, arguments.quick)
    text = table(copy, rows)
    print(text)
    if arguments.results:
        arguments.results.write_text(text)
    print(f"{len(rows)} timed, {failed + wrong} failed")
    sys.exit(1 if failed + wrong else 0)


if __name__ == "__main__":
    main()
