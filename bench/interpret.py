#!/usr/bin/env python3
"""Times the CPU device beside Triton's own interpreter (`TRITON_INTERPRET=1`) on the same kernels and sizes, in one run.

    python3 bench/interpret.py path/to/tritium [--results FILE.md] [--runs 3]

Triton's side needs triton and torch (no GPU). Both compute the same launches of `examples/` kernels on random data; what is timed is the
launch alone, medians. Triton's interpreter runs programs one after the other (NumPy may use several threads inside); the CPU device runs
programs side by side on all cores.
"""

import argparse
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ["TRITON_INTERPRET"] = "1"
import torch  # noqa: E402
import triton  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
COPIES = tempfile.TemporaryDirectory()

SOFTMAX = """
[launch.bench]
kernel = "softmax"
grid = ["M"]
sizes = { M = 1024, N = 1024 }
args = { Y = "f32[M, N]", X = "f32[M, N] = normal(0, 1)", stride_y = "N", stride_x = "N", n_cols = "N" }
meta = { BLOCK = 1024 }
"""

MATMUL = """
[launch.bench]
kernel = "matmul"
grid = ["cdiv(M, 64)", "cdiv(N, 64)"]
sizes = { M = 512, N = 512, K = 512 }
args = { A = "f16[M, K] = normal(0, 1)", B = "f16[K, N] = normal(0, 1)", C = "f16[M, N]", M = "M", N = "N", K = "K", stride_am = "K", stride_ak = 1, stride_bk = "N", stride_bn = 1, stride_cm = "N", stride_cn = 1 }
meta = { BLOCK_M = 64, BLOCK_N = 64, BLOCK_K = 32 }
"""


def ours(tritium, file, launch, runs):
    """Median seconds of the launch on the CPU device."""
    with tempfile.TemporaryDirectory() as folder:
        # The launch stands beside the file, so the file carries none of its own.
        lines = (ROOT / "examples" / file).read_text().splitlines(keepends=True)
        end = next(i for i, line in enumerate(lines) if line.rstrip() == "# ///")
        kernel = Path(folder) / file
        kernel.write_text("".join(lines[end + 1 :]))
        Path(f"{kernel}.launch.toml").write_text(launch)
        command = [tritium, "run", kernel, "--device", "cpu", "--output-format", "json"]
        answers = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(runs)]
    return statistics.median(json.loads(answer)["launches"][0]["seconds"] for answer in answers)


def load(file, change=lambda text: text):
    """An example as a module. Triton reads a function's text from its file, so a changed one is a file too."""
    copy = Path(COPIES.name) / file
    copy.write_text(change((ROOT / "examples" / file).read_text()))
    spec = importlib.util.spec_from_file_location(file.removesuffix(".py"), copy)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def theirs(launch, runs):
    seconds = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        launch()
        seconds.append(time.perf_counter() - start)
    # The first launch rewrites the function.
    return statistics.median(seconds[1:])


def softmax():
    kernel = load("softmax.py").softmax
    x = torch.randn(1024, 1024)
    y = torch.empty_like(x)
    return lambda: kernel[(1024,)](y, x, 1024, 1024, 1024, BLOCK=1024), lambda: (y, torch.softmax(x, 1))


def matmul():
    # A loop's bound that is a run-time value is an array to Triton's interpreter, which NumPy 2.4 does not take for an integer any more.
    kernel = load("matmul.py", lambda text: text.replace("M, N, K,", "M, N, K: tl.constexpr,", 1)).matmul
    a, b = torch.randn(512, 512).half(), torch.randn(512, 512).half()
    c = torch.empty(512, 512, dtype=torch.float16)
    launch = lambda: kernel[(8, 8)](a, b, c, 512, 512, 512, 512, 1, 512, 1, 512, 1, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32)  # noqa: E731
    return launch, lambda: (c.double(), a.double() @ b.double())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tritium", type=Path)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    tritium = arguments.tritium.resolve()
    lines = []
    for name, file, text, peer in [("softmax f32 1024×1024", "softmax.py", SOFTMAX, softmax), ("matmul f16 512³", "matmul.py", MATMUL, matmul)]:
        launch, result = peer()
        slow = theirs(launch, arguments.runs)
        out, reference = result()
        if torch.linalg.norm(out - reference) > 1e-2 * torch.linalg.norm(reference):
            sys.exit(f"{name}: Triton's interpreter is wrong, so nothing is compared")
        fast = ours(tritium, file, text, arguments.runs)
        lines.append(f"| {name} | {slow * 1e3:.0f} ms | {fast * 1e3:.1f} ms | {slow / fast:.0f}× |")
        print(lines[-1], file=sys.stderr)
    text = f"""# The CPU device

Written by `bench/interpret.py` on a {os.cpu_count()}-core {platform.machine()} machine: `TRITON_INTERPRET=1` of Triton {triton.__version__} and
`tritium run --device cpu`, the same kernels and sizes in one run, launches alone, medians of {arguments.runs}.

| kernel | Triton's interpreter | CPU device | times faster |
|---|---:|---:|---:|
{chr(10).join(lines)}
"""
    if arguments.results:
        arguments.results.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
