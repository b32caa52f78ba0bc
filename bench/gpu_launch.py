"""What the GPU benches share: our kernels launched on torch's stream, how results are compared, and how a launch is timed."""

import ctypes
import math
import re
import subprocess
from pathlib import Path

import torch
from triton.testing import do_bench

import tensor_maps

ROOT = Path(__file__).resolve().parent.parent
cuda = ctypes.CDLL("libcuda.so.1")

# The H200's peaks by its data sheet: bytes from memory and dense f16 operations a second.
PEAK_BYTES, PEAK_F16 = 4.8e12, 989.4e12


def check(result, what):
    if result != 0:
        text = ctypes.c_char_p()
        cuda.cuGetErrorString(result, ctypes.byref(text))
        raise RuntimeError(f"{what}: {text.value.decode() if text.value else result}")


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
        self.maps = tensor_maps.lines(ptx.stdout)
        scratch = re.search(r"^// scratch: (\d+) bytes for each program$", ptx.stdout, re.M)
        self.scratch = int(scratch[1]) if scratch else 0
        self.types = {name: ty.split(":")[0] for name, ty in args.items()}
        # The strides of a descriptor `X` of rank r are `X_<r + 1>` and those behind it.
        ranks = {name: ty.count(",") + 1 for name, ty in args.items() if ty.startswith("tensordesc")}
        self.strides = {f"{name}_{i}" for name, rank in ranks.items() for i in range(rank + 1, 2 * rank)}
        torch.cuda.current_stream()  # the context is torch's
        module = ctypes.c_void_p()
        check(cuda.cuModuleLoadData(ctypes.byref(module), ptx.stdout.encode() + b"\0"), "loading")
        self.function = ctypes.c_void_p()
        check(cuda.cuModuleGetFunction(ctypes.byref(self.function), module, self.name.encode()), "finding")
        if self.shared > 48 * 1024:
            check(cuda.cuFuncSetAttribute(self.function, 8, self.shared), "asking for shared memory")

    def launcher(self, grid, **values):
        holders, numbers = [], {}
        for name in self.parameters:
            value = values[name]
            numbers[name] = value.data_ptr() if isinstance(value, torch.Tensor) else value
            if isinstance(value, torch.Tensor):
                holders.append(ctypes.c_uint64(value.data_ptr()))
            elif self.types.get(name) == "f32":
                holders.append(ctypes.c_float(value))
            elif self.types.get(name) == "i64" or name in self.strides:
                holders.append(ctypes.c_int64(value))
            else:
                holders.append(ctypes.c_int32(value))
        if self.scratch:
            scratch = torch.empty(math.prod(grid) * self.scratch, dtype=torch.int8, device="cuda")
            values = {**values, "scratch": scratch}
            holders.append(ctypes.c_uint64(scratch.data_ptr()))
        addresses = [ctypes.addressof(holder) for holder in holders]
        for line in self.maps:
            holder, address = tensor_maps.encode(cuda, line, numbers)
            holders.append(holder)
            addresses.append(address)
        pointers = (ctypes.c_void_p * len(addresses))(*addresses)
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


def registers(function):
    """(registers, local bytes) of a loaded function."""
    values = []
    for attribute in (4, 3):
        value = ctypes.c_int()
        check(cuda.cuFuncGetAttribute(ctypes.byref(value), attribute, function), "asking for registers")
        values.append(value.value)
    return values


def median(run):
    return do_bench(run, warmup=50, rep=300, return_mode="median")
