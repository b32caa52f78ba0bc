#!/usr/bin/env python3
"""Every operation on a GPU beside Triton: the kernels of tests/data/operations, compiled by Tritium, on the same inputs as Triton's own.

    bench/operations.py prepare DIR [--gpu sm_90] [--tritium PATH]    where tritium is: one PTX for each request, and the kernels
    bench/operations.py run DIR [--seconds 400]                       where the GPU is: torch and triton; writes DIR/results.jsonl

`run` starts a process for every 40 kernels and goes on behind one that hangs or dies; results are kept as they come.
"""
import argparse
import ctypes
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "tests", "data", "operations")
# Their results are addresses, clocks, locks or printed.
NOT_COMPARED = {"pp", "lock", "prnt", "pdl", "asm_scalar", "asm_mem"}
# Triton 3.6 adds the products of batches b and b + 8 into one accumulator and stores zeros for the second half.
WRONG_IN_TRITON = {"bdot *fp16:16 *fp16:16 *fp16:16 B=16 M=1 N=1 K=32 O=tl.float16 P=tf32 8 warps sm_90"}
ELEMENTS = 1 << 18


def prepare(arguments):
    os.makedirs(arguments.dir, exist_ok=True)
    shutil.copy(os.path.join(DATA, "kernels.py"), arguments.dir)
    shutil.copy(__file__, arguments.dir)
    index = []
    for number, line in enumerate(open(os.path.join(DATA, "requests.jsonl"))):
        request = json.loads(line)
        if request["kernel"] in NOT_COMPARED or request["id"] in WRONG_IN_TRITON:
            continue
        command = [arguments.tritium, "emit", os.path.join(DATA, "kernels.py"), "--kernel", request["kernel"], "--stage", "ptx"]
        command += ["--gpu", arguments.gpu, "--num-warps", str(request["num_warps"])]
        for name, kind in request["args"].items():
            command += ["--arg", f"{name}={kind}"]
        for name, value in request["constexprs"].items():
            text = value if isinstance(value, str) and value.startswith("tl.") else json.dumps(value)
            command += ["--set", f"{name}={ {'true': 'True', 'false': 'False'}.get(text, text)}"]
        said = subprocess.run(command, capture_output=True, text=True)
        if said.returncode:
            print(request["id"], said.stderr.strip()[:200])
            continue
        head = re.match(r"// tritium: kernel (\S+), \d+ warps, (\d+) bytes of shared memory, parameters ?(.*)", said.stdout)
        name = f"{number}.ptx"
        open(os.path.join(arguments.dir, name), "w").write(said.stdout)
        index.append(dict(request, ptx=name, entry=head[1], shared=int(head[2]), parameters=head[3].split()))
    json.dump(index, open(os.path.join(arguments.dir, "index.json"), "w"))
    print(len(index), "kernels in", arguments.dir)


def inputs(torch, request, seed):
    """A tensor for every pointer, a number for everything else; equal for equal seeds."""
    generator = torch.Generator(device="cpu").manual_seed(seed)
    types = {
        "i1": torch.bool, "i8": torch.int8, "u8": torch.uint8, "i16": torch.int16, "u16": torch.uint16, "i32": torch.int32,
        "u32": torch.uint32, "i64": torch.int64, "u64": torch.uint64, "fp16": torch.float16, "bf16": torch.bfloat16,
        "fp32": torch.float32, "fp64": torch.float64, "fp8e4nv": torch.float8_e4m3fn, "fp8e5": torch.float8_e5m2,
    }  # fmt: skip
    sizes = [v for v in request["constexprs"].values() if isinstance(v, int) and not isinstance(v, bool)]
    values = {}
    for name, kind in request["args"].items():
        kind = kind.split(":")[0]
        if not kind.startswith("*"):
            values[name] = 64
            continue
        index = request["kernel"].startswith("gather") and name == "x"
        low, high = (0, max(1, min(sizes[:2] or [1]))) if index else (0, 9) if kind[1] == "u" else (-8, 9)
        whole = torch.randint(low, high, (ELEMENTS,), generator=generator)
        scale = 1.0 if "i" in kind[1] or kind[1] == "u" else 0.25
        values[name] = (whole * scale if scale != 1.0 else whole).to(types[kind[1:]]).cuda()
    return values


def chunk(directory, first, last):
    import torch

    spec = importlib.util.spec_from_file_location("kernels", os.path.join(directory, "kernels.py"))
    kernels = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kernels)
    import triton.language as tl

    torch.cuda.init()
    torch.zeros(1).cuda()
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *args):
        status = getattr(cuda, name)(*args)
        if status:
            raise RuntimeError(f"{name}: {status}")

    index = json.load(open(os.path.join(directory, "index.json")))
    for number, request in list(enumerate(index))[first:last]:
        result = {"id": request["id"], "number": number}
        try:
            ours, theirs = inputs(torch, request, number), inputs(torch, request, number)
            meta = {k: getattr(tl, v[3:]) if isinstance(v, str) and v.startswith("tl.") else v for k, v in request["constexprs"].items()}
            getattr(kernels, request["kernel"])[(1,)](**theirs, **meta, num_warps=request["num_warps"])
            torch.cuda.synchronize()
            module, function = ctypes.c_void_p(), ctypes.c_void_p()
            call("cuModuleLoadData", ctypes.byref(module), open(os.path.join(directory, request["ptx"]), "rb").read() + b"\0")
            call("cuModuleGetFunction", ctypes.byref(function), module, request["entry"].encode())
            if request["shared"] > 48 << 10:
                call("cuFuncSetAttribute", function, 8, request["shared"])
            holders = []
            for name in request["parameters"]:
                value = ours[name]
                wide = not hasattr(value, "data_ptr") and request["args"][name].split(":")[0].endswith("32")
                holders.append((ctypes.c_int32 if wide else ctypes.c_uint64)(value if not hasattr(value, "data_ptr") else value.data_ptr()))
            pointers = (ctypes.c_void_p * len(holders))(*[ctypes.addressof(h) for h in holders])
            threads = 32 * request["num_warps"]
            call("cuLaunchKernel", function, 1, 1, 1, threads, 1, 1, request["shared"], None, pointers, None)
            torch.cuda.synchronize()
            worst, wrong = 0.0, 0
            for name, mine in ours.items():
                if not hasattr(mine, "data_ptr"):
                    continue
                floats = mine.dtype.is_floating_point
                x, y = mine.to(torch.float64), theirs[name].to(torch.float64)
                same = (x == y) | (x.isnan() & y.isnan())
                error = torch.where(same, 0.0, (x - y).abs() / (y.abs().clamp(min=1e-3)))
                worst = max(worst, error.nan_to_num(9e9).max().item())
                limit = {torch.float16: 4e-3, torch.bfloat16: 3e-2, torch.float32: 2e-3, torch.float64: 1e-12}.get(mine.dtype, 0.13)
                wrong += int((error.nan_to_num(9e9) > (limit if floats else 0)).sum())
            result.update(ok=wrong == 0, wrong=wrong, worst=worst)
        except Exception as error:  # The next kernel is another matter.
            result.update(ok=False, error=f"{type(error).__name__}: {error}"[:300])
        with open(os.path.join(directory, "results.jsonl"), "a") as out:
            out.write(json.dumps(result) + "\n")
        if "error" in result and "cu" in result["error"]:
            sys.exit(3)


def run(arguments):
    results = os.path.join(arguments.dir, "results.jsonl")
    if os.path.exists(results):
        os.remove(results)
    total = len(json.load(open(os.path.join(arguments.dir, "index.json"))))
    end, at = time.time() + arguments.seconds, 0
    while at < total and time.time() < end:
        last = min(total, at + 40)
        command = [sys.executable, os.path.abspath(__file__), "chunk", arguments.dir, str(at), str(last)]
        try:
            subprocess.run(command, timeout=min(120, max(10, end - time.time())))
        except subprocess.TimeoutExpired:
            print("stopped after", at)
        done = [json.loads(line)["number"] for line in open(results)] if os.path.exists(results) else []
        # Behind the last one that answered there may be one that hung.
        at = last if last - 1 in done else max([at] + [n + 2 for n in done if n >= at])
    rows = [json.loads(line) for line in open(results)]
    for row in rows:
        if not row["ok"]:
            print("WRONG", row["id"], row.get("error") or f"{row['wrong']} elements, at worst {row['worst']:.3g}")
    print(f"{sum(row['ok'] for row in rows)} right of {len(rows)} run, {total} prepared")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["prepare", "run", "chunk"])
    parser.add_argument("dir")
    parser.add_argument("range", nargs="*", type=int)
    parser.add_argument("--gpu", default="sm_90")
    parser.add_argument("--tritium", default="target/debug/tritium")
    parser.add_argument("--seconds", type=int, default=400)
    arguments = parser.parse_args()
    if arguments.what == "chunk":
        chunk(arguments.dir, *arguments.range)
    else:
        {"prepare": prepare, "run": run}[arguments.what](arguments)


if __name__ == "__main__":
    main()
