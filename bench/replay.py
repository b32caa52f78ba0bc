"""Keeps launches that are slower than Triton's, and times their machine code again beside variants of it.

    PYTHONPATH=bench REPLAY=DIR python3 bench/suites.py … --mode bench --pytest=-p --pytest=replay
    python3 bench/replay.py compile DIR VARIANT [PART_OF_NAME …]
    python3 bench/replay.py time DIR

The first keeps, of each specialisation below `REPLAY_BELOW` (0.97) of Triton's speed and of one in `REPLAY_ONE_IN` (none) others, `DIR/KEY.json`: what the compiler was asked, both compilers'
PTX, Triton's IR and machine code, the grid and the arguments (sizes of float tensors, contents of small integer ones). The second, which needs no
GPU, asks the installed module again and writes `DIR/KEY.VARIANT.cubin`, `.ptx` and `.shared` (bytes of a CTA), beside Triton's as the variant `theirs`; `TRITIUM_BIN` names
another program. The third times all of a launch's in graphs that take turns, on random numbers, and prints µs and Triton's time over each. Results
are not compared.
"""

import base64
import ctypes
import glob
import hashlib
import json
import os
import pickle
import statistics
import sys
import zlib

REPLAYS, GRAPH_US, MAX_LAUNCHES = 25, 800.0, 200
MOST_KEPT_BYTES = 1 << 20


def keep(directory, below, one_in):
    """Stands in the comparison of `TRITIUM=bench`."""
    import torch
    from tritium import capture, compare, compiler, launch

    # Texts of modules by name, and what was asked by the hash of the kernel that came of it.
    texts, asked = {}, {}
    begin, made = capture.Sources.__init__, compiler._kernel

    def sources(self, add, clear):
        begin(self, lambda module, text, *file: (texts.__setitem__(module, text), add(module, text, *file)), lambda: (texts.clear(), clear()))

    def kernel(module, src, request, *rest):
        result = made(module, src, request, *rest)
        asked[result.hash] = request.asked
        return result

    capture.Sources.__init__, compiler._kernel = sources, kernel

    def encoded(raw):
        return base64.b64encode(zlib.compress(raw)).decode()

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
                about["raw"] = encoded(raw)
            return about
        if isinstance(argument, tuple):
            return [held(each) for each in argument]
        return argument if argument is None or isinstance(argument, (int, float, bool)) else repr(argument)

    before = compare._Compared.__call__

    def call(self, *words):
        known = len(self.row.comparisons)
        arguments = [held(argument) for argument in words[9:]]
        result = before(self, *words)
        for row in self.row.comparisons[known:]:
            kernel = self.theirs
            specialisation = f"{row.specialisation} {row.num_warps} {kernel.metadata.num_stages}"
            key = hashlib.sha1(specialisation.encode()).hexdigest()[:8]
            if not row.us or (row.us[1] / row.us[0] >= below and (not one_in or int(key, 16) % one_in)):
                continue
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
                "cubin": encoded(kernel.asm["cubin"]),
                "triton": launch._triton_version(),
                "asked": encoded(pickle.dumps(asked[self.ours.hash])),
                "texts": texts,
            }
            with open(os.path.join(directory, f"{about['name']}-{key}.json"), "w") as file:
                json.dump(about, file)
        return result

    compare._Compared.__call__ = call


def decoded(text):
    return zlib.decompress(base64.b64decode(text))


def compiled(directory, variant, parts):
    """Writes what the installed module makes of the kept kernels."""
    from tritium import _tritium, compiler

    for path in sorted(glob.glob(os.path.join(directory, "*.json"))):
        key = path.removesuffix(".json")
        if parts and not any(part in os.path.basename(key) for part in parts):
            continue
        with open(path) as file:
            about = json.load(file)
        session = _tritium.Session(about["triton"], "cpu", compiler.program(), compiler.packages())
        for module, text in about["texts"].items():
            session.add(module, text)
        # What is kept from before November 28 names neither.
        asked = {"name": None, "lines": True, **pickle.loads(decoded(about["asked"]))}
        made = session.compile([asked])[0]
        if isinstance(made, str):
            print(f"{os.path.basename(key)}: {made}")
            continue
        images = [(f"{variant}.cubin", bytes(made.image)), (f"{variant}.ptx", made.ptx.encode()), ("theirs.cubin", decoded(about["cubin"]))]
        for name, image in [*images, (f"{variant}.shared", str(made.shared).encode())]:
            with open(f"{key}.{name}", "wb") as file:
                file.write(image)


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

    def give(kind, argument):
        if kind == "constexpr":
            return
        if isinstance(argument, list):
            for each in argument:
                give(kind, each)
        elif isinstance(argument, dict):
            dtype = getattr(torch, argument["dtype"].split(".")[1])
            count = max(1, argument["bytes"] // dtype.itemsize)
            if "raw" in argument:
                tensor = torch.frombuffer(bytearray(decoded(argument["raw"])), dtype=torch.uint8).cuda()
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

    for (_, kind), argument in zip(about["signature"], about["arguments"]):
        give(kind, argument)
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
        shared = about["shared"][1] if variant == "theirs" else int(open(path.removesuffix("cubin") + "shared").read())
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


def time_all(directory):
    # Once, for all children; a context is each one's own.
    import torch  # noqa: F401

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
    match sys.argv[1:]:
        case ["compile", directory, variant, *parts]:
            compiled(directory, variant, parts)
        case ["time", directory]:
            time_all(directory)
        case _:
            sys.exit(__doc__)
elif "REPLAY" in os.environ:
    keep(os.environ["REPLAY"], float(os.environ.get("REPLAY_BELOW", "0.97")), int(os.environ.get("REPLAY_ONE_IN", "0")))
