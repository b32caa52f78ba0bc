"""Runs exported random kernels on a GPU and compares memory bit for bit (any NaN equals any NaN, 0 equals -0).

    cargo xtask fuzz --seeds 0..2000 --export FOLDER
    python3 device.py pack FOLDER --tritium target/release/tritium    (no GPU needed; makes FOLDER.fuzz, one file with everything)
    python3 device.py run FOLDER.fuzz [--limit SECONDS] [--jobs N]    (needs only Python and the driver)

Kernels run a hundred to a process, so one that hangs or faults costs at most its own hundred's rest, which is run again without it.
Results so far are kept beside the file, in FOLDER.fuzz.results; a second run goes on behind them.
"""

import argparse
import ctypes
import json
import math
import os
import struct
import subprocess
import sys
import threading
import time
import zlib
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


def pack(folder, tritium, jobs):
    """All kernels in one file: compressed PTX and data, then the index, then where that begins."""
    with open(os.path.join(folder, "INDEX.jsonl")) as lines:
        kernels = [json.loads(line) for line in lines]

    def some(part):
        worker, made = None, []
        for kernel in part:
            base = os.path.join(folder, str(kernel["seed"]))
            with open(base + ".ll", "rb") as file:
                text = file.read()
            try:
                worker = worker or Worker(tritium)
                answer = worker.ask(b"ptx", text, kernel["cpu"].encode(), kernel["features"].encode(), PASSES.encode())
            except (struct.error, OSError):
                worker, answer = None, [b"error", b"the worker ended"]
            with open(base + ".bin", "rb") as file:
                data = file.read()
            made.append((kernel, answer[-1], zlib.compress(data, 6)))
        return made

    with ThreadPoolExecutor(jobs) as pool:
        made = [f for part in pool.map(some, [kernels[i::jobs] for i in range(jobs)]) for f in part]
    made.sort(key=lambda one: one[0]["seed"])
    failed = 0
    with open(folder.rstrip("/") + ".fuzz", "wb") as out:
        lines = []
        for kernel, ptx, data in made:
            if b".entry" not in ptx:
                failed += 1
                print(f"seed {kernel['seed']}: {ptx.decode(errors='replace')[:200]}")
                continue
            for name, content in (("ptx", zlib.compress(ptx, 6)), ("data", data)):
                kernel[name] = [out.tell(), len(content)]
                out.write(content)
            lines.append(kernel)
        begin = out.tell()
        out.write(zlib.compress(json.dumps(lines).encode()))
        out.write(struct.pack("<Q", begin))
    print(f"{len(lines)} of {len(kernels)} became PTX")
    return 1 if failed else 0


def index(path):
    with open(path, "rb") as file:
        file.seek(-8, os.SEEK_END)
        end = file.tell()
        (begin,) = struct.unpack("<Q", file.read())
        file.seek(begin)
        return json.loads(zlib.decompress(file.read(end - begin)))


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

    def run(self, file, kernel):
        def part(name):
            file.seek(kernel[name][0])
            return zlib.decompress(file.read(kernel[name][1]))

        def contents(buffer, *names):
            for name in names:
                if buffer[name] is not None:
                    return data[buffer[name] : buffer[name] + buffer["bytes"]]
            return bytes(buffer["bytes"])

        data = part("data")
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), part("ptx") + b"\0")
        self.call("cuModuleGetFunction", ctypes.byref(function), module, kernel["name"].encode())
        shared = kernel["shared"]
        if shared > 48 * 1024:
            self.call("cuFuncSetAttribute", function, 8, ctypes.c_int(shared))
        pointers = []
        for buffer in kernel["buffers"]:
            pointer = ctypes.c_uint64()
            self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(buffer["bytes"]))
            self.call("cuMemcpyHtoD_v2", pointer, contents(buffer, "before"), ctypes.c_size_t(buffer["bytes"]))
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
            expected = contents(buffer, "after", "before")
            wrong = wrong or difference(number, buffer, expected, found.raw)
            self.call("cuMemFree_v2", pointer)
        self.call("cuModuleUnload", module)
        return wrong


SIZES = {"f8e4m3": 1, "f8e5m2": 1, "f16": 2, "bf16": 2, "f32": 4, "f64": 8}


def same_float(kind, a, b):
    if kind[:2] == "f8":
        most = 0x7E if kind == "f8e4m3" else 0x7C
        (x,), (y,) = a, b
        return x | y == 0x80 or (x & 0x7F > most and y & 0x7F > most)
    if kind == "bf16":
        x, y = (struct.unpack("<f", b"\0\0" + v)[0] for v in (a, b))
    else:
        letter = {"f16": "e", "f32": "f", "f64": "d"}[kind]
        x, y = (struct.unpack("<" + letter, v)[0] for v in (a, b))
    return x == y or (math.isnan(x) and math.isnan(y))


def difference(number, buffer, expected, found):
    if expected == found:
        return None
    kind = buffer["type"]
    size = SIZES.get(kind, 1)
    wrong = [
        at for at in range(0, len(expected), size)
        if (a := expected[at : at + size]) != (b := found[at : at + size]) and not (kind in SIZES and same_float(kind, a, b))
    ]
    if not wrong:
        return None
    at = wrong[0]
    a, b = expected[at : at + size], found[at : at + size]
    return f"buffer {number} ({kind}), byte {at}: {b.hex()}, not {a.hex()}; {len(wrong)} elements differ"


def child(path, seeds):
    """One process's share: a line before each kernel and a line behind it."""
    chosen = {k["seed"]: k for k in index(path)}
    cuda = Cuda()
    with open(path, "rb") as file:
        for seed in seeds:
            print(json.dumps({"begin": seed}), flush=True)
            try:
                wrong = cuda.run(file, chosen[seed])
            except RuntimeError as error:
                # The context is gone with the first fault.
                print(json.dumps({"seed": seed, "wrong": str(error)}), flush=True)
                return 1
            print(json.dumps({"seed": seed, "wrong": wrong}), flush=True)
    return 0


def run(path, limit, watchdog, jobs):
    begun, kept = time.time(), path + ".results"
    done, lock = {}, threading.Lock()
    if os.path.exists(kept):
        with open(kept) as lines:
            done = {r["seed"]: r for r in map(json.loads, lines)}
    targets = {k["seed"]: k["target"] for k in index(path)}
    todo = [s for s in targets if s not in done]

    def note(result, file):
        with lock:
            done[result["seed"]] = result
            file.write(json.dumps(result) + "\n")
            file.flush()

    def share(part, file):
        while part and time.time() - begun < limit:
            command = [sys.executable, os.path.abspath(__file__), "child", path, *map(str, part)]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            try:
                out, error = process.communicate(timeout=watchdog)
            except subprocess.TimeoutExpired:
                process.kill()
                out, error = process.communicate()
            running = None
            for line in out.splitlines():
                try:
                    said = json.loads(line)
                except ValueError:
                    continue
                if "begin" in said:
                    running = said["begin"]
                else:
                    running = None
                    note(said, file)
            if running is None and not any(s in done for s in part):
                running = part[0]
            if running is not None:
                note({"seed": running, "wrong": f"the process hung or ended ({process.returncode}): {error[-200:]}"}, file)
            part = [s for s in part if s not in done]

    with open(kept, "a") as file, ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda part: share(part, file), [todo[i : i + 100] for i in range(0, len(todo), 100)]))
    wrong = sorted((r["seed"], r["wrong"]) for r in done.values() if r["wrong"])
    left = [s for s in targets if s not in done]
    for seed, message in wrong[:50]:
        print(f"seed {seed} {targets[seed]}: {message}")
    print(f"{len(done) - len(wrong)} of {len(done)} kernels agree, {len(left)} left, {time.time() - begun:.0f} s")
    return 1 if wrong or left else 0


def main():
    if sys.argv[1:2] == ["child"]:
        return child(sys.argv[2], [int(s) for s in sys.argv[3:]])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["pack", "run"])
    parser.add_argument("path")
    parser.add_argument("--tritium", default="target/release/tritium")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 8))
    parser.add_argument("--limit", type=float, default=450, help="seconds for everything")
    parser.add_argument("--watchdog", type=float, default=90, help="seconds for a hundred kernels")
    given = parser.parse_args()
    if given.what == "pack":
        return pack(given.path, given.tritium, given.jobs)
    return run(given.path, given.limit, given.watchdog, given.jobs)


if __name__ == "__main__":
    sys.exit(main())
