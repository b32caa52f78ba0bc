"""Keeps launches that are slower than Triton's, and times their machine code again beside variants of it.

    PYTHONPATH=bench REPLAY=DIR python3 bench/suites.py … --mode bench --pytest=-p --pytest=replay
    python3 bench/replay.py DIR

The first keeps, of each specialisation below `REPLAY_BELOW` (0.97) of Triton's speed, `DIR/KEY.json`: both compilers' PTX, Triton's IR, the kernel's
text, its grid and its arguments (sizes of float tensors, contents of small integer ones). Whoever looks for a cause puts `DIR/KEY.VARIANT.cubin`
beside it, as many as there are ideas; what ptxas makes of the two PTX texts is `KEY.ours.cubin` and `KEY.theirs.cubin`. The second times all of a
launch's in graphs that take turns, on random numbers, and prints µs and Triton's time over each. Results are not compared: sizes of a variant's
shared memory are those of the largest plus 8 KiB.
"""

import base64
import ctypes
import glob
import hashlib
import json
import os
import statistics
import sys
import zlib

REPLAYS, GRAPH_US, MAX_LAUNCHES = 25, 800.0, 200
MOST_KEPT_BYTES = 1 << 20


def keep(directory, below):
    """Stands in the comparison of `TRITIUM=bench`."""
    import torch
    from tritium import compare

    def held(argument):
        if isinstance(argument, torch.Tensor):
            storage = argument.untyped_storage()
            about = {
                "dtype": str(argument.dtype),
                "bytes": storage.nbytes(),
                "offset": argument.storage_offset() * argument.element_size(),
            }
            if not argument.dtype.is_floating_point and storage.nbytes() <= MOST_KEPT_BYTES:
                raw = torch.empty(0, dtype=torch.uint8, device=argument.device).set_(storage).cpu().numpy().tobytes()
                about["raw"] = base64.b64encode(zlib.compress(raw)).decode()
            return about
        return argument if argument is None or isinstance(argument, (int, float, bool)) else repr(argument)

    before = compare._Compared.__call__

    def call(self, *launch):
        known = len(self.row.comparisons)
        arguments = [held(argument) for argument in launch[9:]]
        result = before(self, *launch)
        for row in self.row.comparisons[known:]:
            if not row.us or row.us[1] / row.us[0] >= below:
                continue
            kernel = self.theirs
            about = {
                "name": kernel.metadata.name,
                "us": row.us,
                "resources": row.resources,
                "specialisation": row.specialisation,
                "grid": row.grid,
                "warps": row.num_warps,
                "stages": kernel.metadata.num_stages,
                "shared": [self.ours.metadata.shared, kernel.metadata.shared],
                "signature": [[name, str(kind)] for name, kind in kernel.src.signature.items()],
                "arguments": arguments,
                "ours": self.ours.asm["ptx"],
                "theirs": kernel.asm["ptx"],
                "ttgir": kernel.asm["ttgir"],
                "text": kernel.src.fn.src,
            }
            asked = f"{row.specialisation} {about['warps']} {about['stages']}"
            key = hashlib.sha1(asked.encode()).hexdigest()[:8]
            with open(os.path.join(directory, f"{about['name']}-{key}.json"), "w") as file:
                json.dump(about, file)
        return result

    compare._Compared.__call__ = call


NUMBERS = {
    "i1": ctypes.c_int8,
    "i8": ctypes.c_int8,
    "i16": ctypes.c_int16,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "u8": ctypes.c_uint8,
    "u32": ctypes.c_uint32,
    "u64": ctypes.c_uint64,
    "fp32": ctypes.c_float,
    "fp64": ctypes.c_double,
}


def timed(about, cubins):
    """µs of one launch by variant."""
    import torch

    cuda = ctypes.CDLL("libcuda.so.1")

    def checked(result, what):
        if result:
            raise RuntimeError(f"{what}: CUDA error {result}")

    torch.manual_seed(0)
    torch.zeros(1, device="cuda")
    tensors, parameters = [], []
    for (_, kind), argument in zip(about["signature"], about["arguments"]):
        if kind == "constexpr":
            continue
        if isinstance(argument, dict):
            dtype = getattr(torch, argument["dtype"].split(".")[1])
            count = max(1, argument["bytes"] // dtype.itemsize)
            if "raw" in argument:
                tensor = torch.frombuffer(bytearray(zlib.decompress(base64.b64decode(argument["raw"]))), dtype=torch.uint8).cuda()
            elif dtype.is_floating_point:
                tensor = torch.randn(count, device="cuda").to(dtype)
            else:
                tensor = torch.zeros(count, dtype=dtype, device="cuda")
            tensors.append(tensor)
            parameters.append(ctypes.c_uint64(tensor.data_ptr() + argument["offset"]))
        elif kind not in NUMBERS:
            raise RuntimeError(f"an argument of type {kind} cannot be made again")
        else:
            parameters.append(NUMBERS[kind](argument))
    # Triton's kernels end with two pointers to scratch memory.
    parameters += [ctypes.c_uint64(0), ctypes.c_uint64(0)]
    array = (ctypes.c_void_p * len(parameters))(*[ctypes.cast(ctypes.pointer(p), ctypes.c_void_p) for p in parameters])
    grid = about["grid"]
    count = max(1, min(MAX_LAUNCHES, int(GRAPH_US / max(*about["us"], 1.0))))
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    graphs = []
    for variant, path in cubins:
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        checked(cuda.cuModuleLoadData(ctypes.byref(module), open(path, "rb").read()), f"{path} cannot be loaded")
        checked(cuda.cuModuleGetFunction(ctypes.byref(function), module, about["name"].encode()), f"{path} lacks the kernel")
        ours, theirs = about["shared"]
        shared = {"ours": ours, "theirs": theirs}.get(variant, max(ours, theirs) + 8192)
        if shared > 48 << 10:
            # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            checked(cuda.cuFuncSetAttribute(function, 8, shared), "shared memory")

        def launch():
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            checked(cuda.cuLaunchKernel(function, *grid, 32 * about["warps"], 1, 1, shared, stream, array, None), "launch")

        launch()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(count):
                launch()
        graph.replay()
        graphs.append((variant, graph, []))
    for _ in range(REPLAYS):
        for _, graph, times in graphs:
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            times.append(1e3 * begin.elapsed_time(end) / count)
    return {variant: statistics.median(times) for variant, _, times in graphs}


def main(directory):
    for path in sorted(glob.glob(os.path.join(directory, "*.json"))):
        key = path.removesuffix(".json")
        cubins = sorted((cubin[len(key) + 1 :].removesuffix(".cubin"), cubin) for cubin in glob.glob(f"{key}.*.cubin"))
        if not cubins:
            continue
        # A process each: an error of a kernel is the end of its context.
        child = os.fork()
        if child == 0:
            name = os.path.basename(key)
            try:
                with open(path) as file:
                    times = timed(json.load(file), cubins)
                theirs = times.get("theirs")
                shown = [f"{variant} {us:.2f}" + (f" ({theirs / us:.2f})" if theirs else "") for variant, us in times.items()]
                print(f"{name:60s} " + "  ".join(shown), flush=True)
            except Exception as error:
                print(f"{name:60s} {str(error).splitlines()[0]}", flush=True)
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main(sys.argv[1])
elif "REPLAY" in os.environ:
    keep(os.environ["REPLAY"], float(os.environ.get("REPLAY_BELOW", "0.97")))
