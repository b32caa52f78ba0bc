#!/usr/bin/env python3
"""What `tritium build` makes, launched from C and from Rust on a GPU, beside Triton and PyTorch.

    python3 bench/build.py prepare OUT --tritium path/to/tritium     # where cargo is: builds the Rust program into OUT
    python3 bench/build.py check OUT --tritium path/to/tritium       # where the GPU is: needs torch, triton and gcc, no cargo and no network

`check` builds `bench/build/kernels.py` anew, compiles the C program against it, and runs both programs on the same cases (sizes that are and are not
divisible by 16, rows longer than their columns, products whose blocks reach over the edge). Results are compared with Triton's of the same kernels,
and both with PyTorch in float64, in the norm of docs/architecture.md. Then `tritium run --device cuda:0 --verify` runs with TRITIUM_STORE and
compilers that fail: it must compile nothing. Ends with 1 if something differs.
"""

import argparse
import importlib.util
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent / "build"
ROOT = HERE.parent.parent
KERNELS = HERE / "kernels.py"
# Kernel, then rows, columns and the third size: the row's length of `softmax`, the depth of `matmul`.
CASES = [("add", 1, n, 1) for n in (1, 16, 1000, 1_000_000, 1_000_003)]
CASES += [("softmax", 583, 931, 931), ("softmax", 37, 1000, 1008), ("softmax", 64, 1024, 1024), ("softmax", 5, 1, 1), ("softmax", 129, 77, 80)]
CASES += [("matmul", 200, 136, 128), ("matmul", 128, 128, 128), ("matmul", 1, 8, 8), ("matmul", 1000, 776, 328), ("matmul", 77, 264, 1024)]


def run(command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, **options)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(tritium, out, arch):
    return run([tritium, "build", KERNELS, "--out", out, "--arch", arch, "--all-variants"], cwd=ROOT)


def prepare(out, tritium):
    print(build(tritium, out / "kernels", "sm_90a,sm_80"))
    crate = out / "crate"
    (crate / "src").mkdir(parents=True, exist_ok=True)
    cudarc = re.search(r"^cudarc = .*$", (ROOT / "Cargo.toml").read_text(), re.M)[0]
    package = '[package]\nname = "launches"\nversion = "0.0.0"\nedition = "2024"\n\n[profile.dev]\nstrip = true\n'
    (crate / "Cargo.toml").write_text(f"{package}\n[workspace]\n\n[dependencies]\n{cudarc}\n")
    shutil.copy(ROOT / "Cargo.lock", crate / "Cargo.lock")
    shutil.copy(HERE / "main.rs", crate / "src/main.rs")
    for file in (out / "kernels").iterdir():
        if file.suffix in (".rs", ".cubin", ".ptx"):
            shutil.copy(file, crate / "src" / file.name)
    run(["cargo", "build", "--offline", "--manifest-path", crate / "Cargo.toml", "--target-dir", out / "target"])
    shutil.copy(out / "target/debug/launches", out / "launches")
    print(f"{out / 'launches'}: {(out / 'launches').stat().st_size} bytes")


def inputs(torch, case):
    name, m, n, k = case
    make = lambda *shape, dtype: torch.randn(*shape, device="cuda").to(dtype)
    if name == "add":
        return [make(n, dtype=torch.float32), make(n, dtype=torch.float32)]
    if name == "softmax":
        return [make(m, k, dtype=torch.float32)]
    return [make(m, k, dtype=torch.float16), make(k, n, dtype=torch.float16)]


def by_triton(torch, kernels, case, given):
    import triton
    from triton.tools.tensor_descriptor import TensorDescriptor

    name, m, n, k = case
    if name == "add":
        out = torch.full((n,), float("nan"), device="cuda")
        kernels.add[(triton.cdiv(n, 1024),)](*given, out, n, BLOCK=1024)
    elif name == "softmax":
        out = torch.full((m, k), float("nan"), device="cuda")
        kernels.softmax[(m,)](out, given[0], k, n, BLOCK=1024)
    else:
        out = torch.full((m, n), float("nan"), device="cuda", dtype=torch.float16)
        a, b = (TensorDescriptor.from_tensor(tensor, [64, 64]) for tensor in given)
        kernels.matmul[(triton.cdiv(m, 64), triton.cdiv(n, 64))](a, b, out, m, n, k, BLOCK=64)
    return out


def by_pytorch(torch, case, given):
    """The reference in float64, what of it is compared, and the relative error allowed."""
    name, _, n, k = case
    given = [tensor.double() for tensor in given]
    if name == "add":
        return given[0] + given[1], slice(None), 4 * 2.0**-23
    if name == "softmax":
        return torch.softmax(given[0][:, :n], dim=1), (slice(None), slice(0, n)), 4 * 2.0**-23 * math.sqrt(1024)
    return given[0] @ given[1], slice(None), 4 * 2.0**-10 * math.sqrt(k)


def check(out, tritium):
    import numpy
    import torch

    start = time.monotonic()
    spec = importlib.util.spec_from_file_location("kernels", KERNELS)
    kernels = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kernels)
    # Without a ptxas images would be PTX; Triton's wheel has one.
    ptxas = Path(importlib.util.find_spec("triton").origin).parent / "backends/nvidia/bin/ptxas"
    if ptxas.exists():
        os.environ.setdefault("TRITON_PTXAS_PATH", str(ptxas))
    major, minor = torch.cuda.get_device_capability()
    arch = f"sm_{major}{minor}"
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        built = folder / "built"
        print(build(tritium, built, arch))
        command = ["gcc", "-std=gnu99", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{built}", HERE / "main.c", built / "tritium_kernels.c"]
        run([*command, "-o", folder / "in_c", "-ldl"])
        programs = {"C": folder / "in_c"}
        if (out / "launches").exists():
            programs["Rust"] = out / "launches"
        else:
            failed += 1
            print("FAILED: no Rust program is here; `prepare` makes it")
        torch.manual_seed(1)
        given = [inputs(torch, case) for case in CASES]
        for language, program in programs.items():
            data = folder / language
            data.mkdir()
            (data / "cases.txt").write_text("".join(" ".join(map(str, case)) + "\n" for case in CASES))
            for number, tensors in enumerate(given):
                for what, tensor in zip("ab", tensors):
                    tensor.cpu().numpy().tofile(data / f"{number}.{what}")
            print(run([program, data]), end="")
        for number, (case, tensors) in enumerate(zip(CASES, given)):
            triton = by_triton(torch, kernels, case, tensors)
            reference, part, allowed = by_pytorch(torch, case, tensors)
            far = lambda result: float((result[part].double() - reference).norm() / max(float(reference.norm()), 1e-30))
            errors = {"Triton": far(triton)}
            for language in programs:
                raw = numpy.fromfile(folder / language / f"{number}.out", dtype=triton.cpu().numpy().dtype)
                errors[language] = far(torch.from_numpy(raw).reshape(triton.shape).cuda())
            # A NaN is never within bounds.
            wrong = [name for name, error in errors.items() if not error <= allowed]
            failed += len(wrong)
            told = ", ".join(f"{name} {error:.2e}" for name, error in errors.items())
            print(f"{'FAILED ' if wrong else 'ok '} {' '.join(map(str, case))}: {told} (allowed {allowed:.2e})")
        # No compiler: ptxas is not where it is said to be, and a worker, which has LLVM, ends at once.
        program = Path(tritium).resolve()
        no_worker = folder / "no_worker"
        no_worker.write_text(f'#!/bin/sh\ncase "$1" in worker) exit 1;; esac\nexec "{program}" "$@"\n')
        no_worker.chmod(0o755)
        compilers = {"TRITIUM_CACHE": "off", "TRITON_PTXAS_PATH": "/no/such/ptxas", "TRITIUM_BIN": str(no_worker)}
        for store in (built, ""):
            environment = {**os.environ, **compilers, "TRITIUM_STORE": str(store)}
            command = [str(program), "run", str(KERNELS), "--device", "cuda:0", "--verify"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, cwd=ROOT)
            is_as_meant = (done.returncode == 0) == bool(store)
            failed += not is_as_meant
            how = "with the build as store" if store else "without a store"
            print(f"{'ok ' if is_as_meant else 'FAILED '} tritium run without compilers, {how}: status {done.returncode}")
            if not is_as_meant:
                print(done.stdout[-2000:] + done.stderr[-2000:])
    print(f"{failed} failed, {time.monotonic() - start:.0f} s, {torch.cuda.get_device_name()}, {arch}")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["prepare", "check"])
    parser.add_argument("out", type=Path)
    parser.add_argument("--tritium", default="target/release/tritium")
    arguments = parser.parse_args()
    out, tritium = arguments.out.resolve(), str(Path(arguments.tritium).resolve())
    out.mkdir(parents=True, exist_ok=True)
    if arguments.what == "prepare":
        prepare(out, tritium)
        return 0
    return check(out, tritium)


if __name__ == "__main__":
    sys.exit(main())
