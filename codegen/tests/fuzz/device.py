"""Runs the kernels of an exported folder on a GPU and compares memory bit for bit (any NaN equals any NaN, 0 equals -0).

    TRITIUM_FUZZ_SEEDS=0..2000 TRITIUM_FUZZ_EXPORT=FOLDER cargo test --release -p tritium-codegen --test fuzz kernels_for_a_machine
    python3 device.py ptx FOLDER --tritium target/release/tritium     (no GPU needed; makes N.ptx beside every N.ll)
    python3 device.py run FOLDER [--limit SECONDS]                    (needs only Python and the driver: folder and script may be copied)

Kernels run a hundred to a process, so one that hangs or faults costs at most its own hundred's rest, which is run again without it.
Results so far are kept in FOLDER/RESULTS.jsonl; a second run goes on behind them.
"""

import argparse
import ctypes
import json
import math
import os
import struct
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

PASSES = (
    "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),gvn,adce,simplifycfg)"
)


def index(folder):
    with open(os.path.join(folder, "INDEX.jsonl")) as lines:
        return [json.loads(line) for line in lines]


# ---- PTX, through `tritium worker`: a message is a length and fields, each a length and bytes.


class Worker:
    def __init__(self, tritium):
        self.process = subprocess.Popen([tritium, "worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.read()

    def read(self):
        (length,) = struct.unpack("<I", self.process.stdout.read(4))
        body, fields = self.process.stdout.read(length), []
        while body:
            (length,) = struct.unpack("<I", body[:4])
            fields.append(body[4 : 4 + length])
            body = body[4 + length :]
        return fields

    def ask(self, *fields):
        message = b"".join(struct.pack("<I", len(f)) + f for f in fields)
        self.process.stdin.write(struct.pack("<I", len(message)) + message)
        self.process.stdin.flush()
        return self.read()


def make_ptx(folder, tritium, jobs):
    kernels = [k for k in index(folder) if not os.path.exists(os.path.join(folder, f"{k['seed']}.ptx"))]

    def some(part):
        worker, failed = None, []
        for kernel in part:
            base = os.path.join(folder, str(kernel["seed"]))
            text = open(base + ".ll", "rb").read()
            try:
                worker = worker or Worker(tritium)
                answer = worker.ask(b"ptx", text, kernel["cpu"].encode(), kernel["features"].encode(), PASSES.encode())
            except (struct.error, OSError):
                worker, answer = None, [b"error", b"the worker ended"]
            ptx = answer[-1]
            if b".entry" in ptx:
                open(base + ".ptx", "wb").write(ptx)
            else:
                failed.append((kernel["seed"], ptx.decode(errors="replace")[:200]))
        return failed

    with ThreadPoolExecutor(jobs) as pool:
        failed = [f for part in pool.map(some, [kernels[i::jobs] for i in range(jobs)]) for f in part]
    for seed, message in failed:
        print(f"seed {seed}: {message}")
    print(f"{len(kernels) - len(failed)} of {len(kernels)} became PTX")
    return 1 if failed else 0


# ---- running


class Cuda:
    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.call("cuCtxSetCurrent", self.context)

    def call(self, name, *args):
        code = getattr(self.lib, name)(*args)
        if code:
            text = ctypes.c_char_p()
            self.lib.cuGetErrorString(code, ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'?').decode()}")

    def run(self, folder, kernel):
        base = os.path.join(folder, str(kernel["seed"]))
        data = open(base + ".bin", "rb").read()
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), open(base + ".ptx", "rb").read() + b"\0")
        self.call("cuModuleGetFunction", ctypes.byref(function), module, kernel["name"].encode())
        shared = kernel["shared"]
        if shared > 48 * 1024:
            self.call("cuFuncSetAttribute", function, 8, ctypes.c_int(shared))
        pointers = []
        for buffer in kernel["buffers"]:
            pointer = ctypes.c_uint64()
            self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(buffer["bytes"]))
            before = data[buffer["before"] : buffer["before"] + buffer["bytes"]]
            self.call("cuMemcpyHtoD_v2", pointer, before, ctypes.c_size_t(len(before)))
            pointers.append(pointer)
        values = [pointers[a["buffer"]] if "buffer" in a else ctypes.c_int32(a["int"]) for a in kernel["args"]]
        packed = (ctypes.c_void_p * len(values))(*[ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values])
        u = ctypes.c_uint
        self.call(
            "cuLaunchKernel", function, u(kernel["grid"]), u(1), u(1), u(kernel["threads"]), u(1), u(1), u(shared), None,
            packed, None,
        )
        self.call("cuCtxSynchronize")
        wrong = None
        for number, (buffer, pointer) in enumerate(zip(kernel["buffers"], pointers)):
            found = ctypes.create_string_buffer(buffer["bytes"])
            self.call("cuMemcpyDtoH_v2", found, pointer, ctypes.c_size_t(buffer["bytes"]))
            expected = data[buffer["after"] : buffer["after"] + buffer["bytes"]]
            wrong = wrong or difference(number, buffer, expected, found.raw)
            self.call("cuMemFree_v2", pointer)
        self.call("cuModuleUnload", module)
        return wrong


def same_float(kind, a, b):
    if kind == "bf16":
        x, y = (struct.unpack("<f", b"\0\0" + v)[0] for v in (a, b))
    else:
        letter = {"f16": "e", "f32": "f", "f64": "d"}[kind]
        x, y = (struct.unpack("<" + letter, v)[0] for v in (a, b))
    return x == y or (math.isnan(x) and math.isnan(y))


def difference(number, buffer, expected, found):
    if expected == found:
        return None
    size = buffer["float"] or 1
    for at in range(0, len(expected), size):
        a, b = expected[at : at + size], found[at : at + size]
        if a != b and not (buffer["float"] and same_float(buffer["type"], a, b)):
            return f"buffer {number} ({buffer['type']}), byte {at}: {b.hex()}, not {a.hex()}"
    return None


def child(folder, seeds):
    """One process's share: a line before each kernel and a line behind it."""
    chosen = {k["seed"]: k for k in index(folder)}
    cuda = Cuda()
    for seed in seeds:
        print(json.dumps({"begin": seed}), flush=True)
        try:
            wrong = cuda.run(folder, chosen[seed])
        except RuntimeError as error:
            # The context is gone with the first fault.
            print(json.dumps({"seed": seed, "wrong": str(error)}), flush=True)
            return 1
        print(json.dumps({"seed": seed, "wrong": wrong}), flush=True)
    return 0


def run(folder, limit, watchdog):
    begun, path = time.time(), os.path.join(folder, "RESULTS.jsonl")
    done = {}
    if os.path.exists(path):
        done = {r["seed"]: r for r in map(json.loads, open(path))}
    todo = [
        k["seed"] for k in index(folder)
        if k["seed"] not in done and os.path.exists(os.path.join(folder, f"{k['seed']}.ptx"))
    ]
    with open(path, "a") as results:
        while todo and time.time() - begun < limit:
            part = todo[:100]
            process = subprocess.Popen(
                [sys.executable, os.path.abspath(__file__), "child", folder, *map(str, part)],
                stdout=subprocess.PIPE, text=True,
            )
            try:
                out, _ = process.communicate(timeout=watchdog)
            except subprocess.TimeoutExpired:
                process.kill()
                out, _ = process.communicate()
            running = None
            for line in map(json.loads, out.splitlines()):
                if "begin" in line:
                    running = line["begin"]
                else:
                    running = None
                    done[line["seed"]] = line
                    results.write(json.dumps(line) + "\n")
            if running is None and not any(s in done for s in part):
                running = part[0]
            if running is not None:
                done[running] = {"seed": running, "wrong": "the process hung or ended"}
                results.write(json.dumps(done[running]) + "\n")
            results.flush()
            todo = [s for s in todo if s not in done]
    wrong = sorted((r["seed"], r["wrong"]) for r in done.values() if r["wrong"])
    for seed, message in wrong[:50]:
        print(f"seed {seed}: {message}")
    print(f"{len(done) - len(wrong)} of {len(done)} kernels agree, {len(todo)} left, {time.time() - begun:.0f} s")
    return 1 if wrong or todo else 0


def main():
    if sys.argv[1:2] == ["child"]:
        return child(sys.argv[2], [int(s) for s in sys.argv[3:]])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["ptx", "run"])
    parser.add_argument("folder")
    parser.add_argument("--tritium", default="target/release/tritium")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--limit", type=float, default=450, help="seconds for everything")
    parser.add_argument("--watchdog", type=float, default=90, help="seconds for a hundred kernels")
    given = parser.parse_args()
    if given.what == "ptx":
        return make_ptx(given.folder, given.tritium, given.jobs)
    return run(given.folder, given.limit, given.watchdog)


if __name__ == "__main__":
    sys.exit(main())
