"""Runs the packed numerics suite on the GPU of this machine: needs Python, NumPy and the driver, nothing else.

    python3 gpu.py FOLDER                       every launch, one process a hundred of them; prints a summary
    python3 gpu.py FOLDER --only WORD           those whose name contains a word
    python3 gpu.py FOLDER --sanitize            a dozen launches under compute-sanitizer's memcheck and racecheck

FOLDER is what `cargo xtask gpu-suite FOLDER` wrote. `FOLDER/results.jsonl` has a line for each launch as soon as it has run, so what was done
before an interruption is kept. **A launch that hangs is killed, one that faults takes its process along; both are told, and the rest runs.**
"""

import argparse
import collections
import ctypes
import json
import math
import os
import selectors
import shutil
import subprocess
import sys
import time

import numpy as np
import tensor_maps

CHUNK, PATIENCE, GUARD = 100, 20.0, 256
#: One of each kind, for the sanitizer: it is slow.
REPRESENTATIVE = [
    "pointwise/add", "pointwise/dropout", "rows/softmax", "rows/cross_entropy", "norms/layer_norm_backward", "norms/rms_norm_backward",
    "matmul/matmul_f16", "matmul/matmul_warpgroups", "matmul/split_k", "matmul/matmul_descriptors", "attention/forward_causal", "attention/backward", "sequences/topk",
    "sequences/histogram", "sequences/chunked_scan", "convolution/conv2d", "scans/gather_f32_0",
]  # fmt: skip


def lines(folder, name):
    with open(os.path.join(folder, name)) as f:
        return [json.loads(line) for line in f]


# ---------------------------------------------------------------- the driver


class Fault(Exception):
    pass


class Driver:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.do("cuInit", 0)
        device = ctypes.c_int()
        self.do("cuDeviceGet", ctypes.byref(device), 0)
        self.context = ctypes.c_void_p()
        self.do("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.do("cuCtxSetCurrent", self.context)

    def do(self, name, *args):
        code = getattr(self.cuda, name)(*args)
        if code:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorString(code, ctypes.byref(text))
            raise Fault(f"{name}: {(text.value or b'?').decode()} ({code})")

    def load(self, images, kernel, shared):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        try:
            self.do("cuModuleLoadData", ctypes.byref(module), images[0])
        except Fault:
            # An older driver does not know the machine code of newer tools; it compiles the PTX itself.
            self.do("cuModuleLoadData", ctypes.byref(module), images[1] + b"\0")
        self.do("cuModuleGetFunction", ctypes.byref(function), module, kernel.encode())
        if shared > 48 * 1024:
            self.do("cuFuncSetAttribute", function, 8, ctypes.c_int(shared))
        return module, function

    def attribute(self, function, which):
        value = ctypes.c_int()
        self.do("cuFuncGetAttribute", ctypes.byref(value), which, function)
        return value.value

    def upload(self, data):
        address = ctypes.c_uint64()
        self.do("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(len(data), 1)))
        self.do("cuMemcpyHtoD_v2", address, data, ctypes.c_size_t(len(data)))
        return address

    def download(self, address, size):
        out = ctypes.create_string_buffer(size)
        self.do("cuMemcpyDtoH_v2", out, address, ctypes.c_size_t(size))
        return out.raw


# ---------------------------------------------------------------- numbers


def small_floats(exponent, bias, infinite):
    mantissa = 7 - exponent
    out = []
    for code in range(256):
        e, m = code >> mantissa & (1 << exponent) - 1, code & (1 << mantissa) - 1
        value = (m / (1 << mantissa)) * 2.0 ** (1 - bias) if e == 0 else (1 + m / (1 << mantissa)) * 2.0 ** (e - bias)
        if infinite and e == (1 << exponent) - 1:
            value = float("inf") if m == 0 else float("nan")
        if not infinite and code & 0x7F == 0x7F:
            value = float("nan")
        out.append(-value if code & 0x80 else value)
    return np.array(out)


F8 = {"f8e4m3": small_floats(4, 7, False), "f8e5m2": small_floats(5, 15, True)}
PLAIN = {"i1": "u1", "u8": "u1", "i8": "i1", "u16": "<u2", "i16": "<i2", "u32": "<u4", "i32": "<i4", "u64": "<u8", "i64": "<i8", "f16": "<f2", "f32": "<f4", "f64": "<f8"}


def decoded(raw, dtype):
    if dtype in F8:
        return F8[dtype][np.frombuffer(raw, np.uint8)]
    if dtype == "bf16":
        return (np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    values = np.frombuffer(raw, PLAIN[dtype])
    return values.astype(np.float64) if dtype[0] == "f" else values


def differs(raw, dtype, want, take):
    """What is wrong with a tensor, or nothing; the same three rules as in `tests/src/numerics.rs`."""
    out = decoded(raw, dtype)
    with np.errstate(all="ignore"):
        if "bits" in want:
            expected = take(want["bits"])
            if raw == expected:
                return None
            expected = decoded(expected, dtype)
            wrong = np.frombuffer(raw, np.uint8).reshape(len(out), -1) != np.frombuffer(take(want["bits"]), np.uint8).reshape(len(out), -1)
            wrong = wrong.any(1)
            if dtype[0] in "fb":
                wrong &= ~(np.isnan(out) & np.isnan(expected))
        else:
            expected = np.frombuffer(take(want["values"]), "<f8")
            off = np.abs(out - expected)
            if "norm" in want:
                error = np.sqrt((off * off).sum() / max((expected * expected).sum(), 1e-300))
                if error <= want["norm"]:
                    return None
                at = int(np.argmax(np.where(np.isnan(off), np.inf, off)))
                return f"{want['tensor']}: error {error:.1e} of allowed {want['norm']:.1e}, worst [{at}] {out[at]:.9g}, not {expected[at]:.9g}"
            allowed = np.frombuffer(take(want["tolerance"]), "<f8")
            right = (out == expected) | (np.isnan(out) & np.isnan(expected)) | np.isposinf(allowed) | (np.isfinite(expected) & (off <= allowed))
            wrong = ~right
    if not wrong.any():
        return None
    at = int(np.argmax(wrong))
    return f"{want['tensor']}[{at}] is {out[at]!r}, not {expected[at]!r}; {int(wrong.sum())} of {len(out)} differ"


# ---------------------------------------------------------------- one process


def child(folder, wanted):
    cases = {case["id"]: case for case in lines(folder, "cases.jsonl")}
    launches = {launch["id"]: launch for launch in lines(folder, "launches.jsonl")}
    data = np.memmap(os.path.join(folder, "data.bin"), np.uint8, "r")
    code = np.memmap(os.path.join(folder, "code.bin"), np.uint8, "r")
    take = lambda store, at: store[at[0] : at[0] + at[1]].tobytes()
    driver = Driver()
    for name in wanted:
        print(json.dumps({"start": name}), flush=True)
        case, launch = cases[name], launches[name]
        said = {"id": name}
        try:
            said.update(one(driver, case, launch, lambda at: take(data, at), lambda at: take(code, at)))
        except Fault as fault:
            said["fault"] = str(fault)
        print(json.dumps(said), flush=True)
        if "fault" in said:
            # The context is lost.
            sys.exit(3)


def one(driver, case, launch, data, code):
    module, function = driver.load([code(launch["cubin"]), code(launch["ptx"])], launch["kernel"], launch["shared"])
    guard = b"\xa5" * GUARD
    buffers = {}
    for name, dtype, size in launch["tensors"]:
        fill = b"\xff" if dtype[0] in "fb" else b"\x5a"
        before = data(case["inputs"][name]) if name in case["inputs"] else fill * size
        buffers[name] = driver.upload(before + guard)
    words = []
    for arg in launch["args"]:
        words.append(ctypes.c_uint64(buffers[arg["tensor"]].value + arg["offset"] if "tensor" in arg else arg["bits"]))
    addresses = [ctypes.addressof(word) for word in words]
    nothing = driver.upload(bytes(16))
    # Parameters by their places, as signed numbers of their size.
    signed = lambda word, size: word - (1 << 8 * size) if size < 8 and word >> 8 * size - 1 else word
    values = {f"p{i}": signed(word.value, arg.get("bytes", 8)) for i, (word, arg) in enumerate(zip(words, launch["args"]))}
    if launch.get("scratch"):
        buffers["scratch"] = driver.upload(bytes(launch["scratch"] * math.prod(launch["grid"])))
        words.append(ctypes.c_uint64(buffers["scratch"].value))
        addresses.append(ctypes.addressof(words[-1]))
    for line in launch.get("maps", []):
        holder, address = tensor_maps.encode(driver.cuda, line, values, nothing.value)
        words.append(holder)
        addresses.append(address)
    pointers = (ctypes.c_void_p * max(len(addresses), 1))(*addresses)
    start = time.perf_counter()
    driver.do("cuLaunchKernel", function, *launch["grid"], launch["threads"], 1, 1, launch["shared"], None, pointers, None)
    driver.do("cuCtxSynchronize")
    said = {"ms": round((time.perf_counter() - start) * 1e3, 3), "registers": driver.attribute(function, 4), "local": driver.attribute(function, 3)}
    said["spill_bytes"] = launch["spill_bytes"]
    wrong = []
    types = {name: (dtype, size) for name, dtype, size in launch["tensors"]}
    for name, (dtype, size) in types.items():
        after = driver.download(buffers[name], size + GUARD)
        if after[size:] != guard:
            wrong.append(f"{name}: written behind its end")
        for want in case["outputs"]:
            if want["tensor"] == name:
                message = differs(after[:size], dtype, want, data)
                if message:
                    wrong.append(message)
    for address in buffers.values():
        driver.do("cuMemFree_v2", address)
    driver.do("cuModuleUnload", module)
    if wrong:
        said["wrong"] = "; ".join(wrong)
    return said


# ---------------------------------------------------------------- all processes


def parent(folder, wanted, seconds):
    begin = time.time()
    results = open(os.path.join(folder, "results.jsonl"), "w")
    counts, bad = collections.Counter(), []

    def note(said):
        results.write(json.dumps(said) + "\n")
        results.flush()
        kind = "hangs" if "hang" in said else "faults" if "fault" in said else "wrong" if "wrong" in said else "right"
        counts[kind] += 1
        if kind != "right":
            bad.append(said)

    left = list(wanted)
    while left and time.time() - begin < seconds:
        chunk = left[:CHUNK]
        command = [sys.executable, os.path.abspath(__file__), folder, "--child", json.dumps(chunk)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        done, running = 0, None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            pending = b""
            while True:
                # The first answer waits for the driver to start.
                if not selector.select(PATIENCE if running else 3 * PATIENCE):
                    process.kill()
                    note({"id": running or chunk[0], "hang": f"no answer in {PATIENCE} s"})
                    done += 1
                    break
                piece = os.read(process.stdout.fileno(), 1 << 16)
                if not piece:
                    break
                pending += piece
                *whole, pending = pending.split(b"\n")
                for line in whole:
                    said = json.loads(line)
                    if "start" in said:
                        running = said["start"]
                    else:
                        note(said)
                        done, running = done + 1, None
        process.stdout.close()
        stderr = process.stderr.read().decode(errors="replace")[-400:]
        process.wait()
        if process.returncode not in (0, 3, -9) and done < len(chunk):
            note({"id": running or chunk[done], "fault": f"the process ended with {process.returncode}: {stderr}"})
            done += 1
        left = left[done:]
    print(f"{sum(counts.values())} launches in {time.time() - begin:.0f} s: " + ", ".join(f"{n} {kind}" for kind, n in counts.items()))
    if left:
        print(f"{len(left)} not run: the time was over")
    for said in bad:
        print(f"  {said['id']}: {said.get('wrong') or said.get('fault') or said.get('hang')}")
    spilling = [line for line in lines(folder, "results.jsonl") if line.get("spill_bytes") or line.get("local")]
    print(f"{len(spilling)} use local memory: " + ", ".join(f"{s['id']} ({s['spill_bytes']} spilled, {s['local']} local)" for s in spilling[:40]))
    refused = lines(folder, "refused.jsonl")
    print(f"{len(refused)} do not compile:")
    for why, number in collections.Counter(r["why"].split("\n")[0] for r in refused).most_common(40):
        first = next(r["id"] for r in refused if r["why"].startswith(why))
        print(f"  {number:4} {why[:160]} (first: {first})")
    return not bad and not left


def sanitize(folder, wanted, seconds):
    """Each tool on each launch in a process of its own, as far as the time goes."""
    begin = time.time()
    program = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not os.path.exists(program):
        print("compute-sanitizer is not on this machine")
        return False
    clean = True
    for tool in ("memcheck", "racecheck"):
        for name in wanted:
            if time.time() - begin > seconds:
                print(f"{tool} {name}: not run, the time was over")
                clean = False
                continue
            command = [program, "--tool", tool, "--error-exitcode", "9", sys.executable, os.path.abspath(__file__), folder, "--child", json.dumps([name])]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=120)
                ok, tail = done.returncode == 0 and '"wrong"' not in done.stdout, done.stdout[-1500:] + done.stderr[-500:]
            except subprocess.TimeoutExpired:
                ok, tail = False, "no end within 120 s"
            clean &= ok
            print(f"{tool} {name}: {'clean' if ok else 'NOT CLEAN'}", flush=True)
            if not ok:
                print(tail)
    return clean


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=460)
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("--child")
    arguments = parser.parse_args()
    if arguments.child:
        return child(arguments.folder, json.loads(arguments.child))
    known = [launch["id"] for launch in lines(arguments.folder, "launches.jsonl")]
    if arguments.sanitize:
        ok = sanitize(arguments.folder, [name for name in REPRESENTATIVE if name in known], arguments.seconds)
    else:
        ok = parent(arguments.folder, [name for name in known if arguments.only in name], arguments.seconds)
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
