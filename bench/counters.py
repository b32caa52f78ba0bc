"""What Tritium expects of a launch beside what a GPU counts: FLOP, bytes of DRAM, occupancy, time, and the unit that holds it up.

    python3 bench/counters.py TRITIUM [--gpu H200] [--results bench/results/counters.md] [--only PATTERN]

Occupancy: every launch of `tests/run/kernels`, beside the driver's `cuOccupancyMaxActiveBlocksPerMultiprocessor` for the same machine code.
Counters: large launches of the examples, of `bench/affine_kernels.py` and of `bench/tensor_kernels.py` under Nsight Compute (`ncu`), one
replayed launch each; times are medians with a cold L2. All that is counted is also written beside the results as JSON. Where counters cannot
be read, the refusal is written down and everything else is still measured. Needs PyTorch.
"""

import argparse
import csv
import ctypes
import io
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))
from gpu_launch import ROOT, check, cuda, median

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "i32": torch.int32}
HOLDERS = {"i32": ctypes.c_int32, "i64": ctypes.c_int64, "f32": ctypes.c_float}

EXAMPLES, AFFINE, TENSOR = ROOT / "examples", ROOT / "bench/affine_kernels.py", ROOT / "bench/tensor_kernels.py"


def cases():
    """(name, file, kernel, grid, arguments, compile-time values, warps, stages); an argument is (dtype, shape) or (type, number)."""
    for exponent in (24, 27):
        n = 1 << exponent
        vector = ("f32", (n,))
        yield f"add_{exponent}", EXAMPLES / "vector_add.py", "add", (n // 1024,), {"X": vector, "Y": vector, "OUT": vector, "n": ("i32", n)}, {"BLOCK": 1024}, 4, 3
    for rows, columns, warps in ((4096, 4096, 8), (4096, 16384, 16)):
        matrix, width = ("f32", (rows, columns)), ("i32", columns)
        arguments = {"Y": matrix, "X": matrix, "stride_y": width, "stride_x": width, "n_cols": width}
        yield f"softmax_{columns}", EXAMPLES / "softmax.py", "softmax", (rows,), arguments, {"BLOCK": columns}, warps, 3
    for rows, columns in ((8192, 4096), (16384, 8192)):
        matrix, row, width = ("f16", (rows, columns)), ("f16", (columns,)), ("i32", columns)
        arguments = {"Y": matrix, "X": matrix, "WEIGHT": row, "BIAS": row, "stride": width, "n_cols": width, "eps": ("f32", 1e-5)}
        yield f"layer_norm_{columns}", EXAMPLES / "layer_norm.py", "layer_norm", (rows,), arguments, {"BLOCK": columns}, 8, 3
    yield from affine()
    for size in (4096, 8192):
        for m, n, k, warps, stages in ((128, 128, 32, 4, 3), (128, 128, 64, 8, 3), (128, 256, 64, 8, 3), (64, 128, 64, 4, 4)):
            if size == 8192 and (m, n, k) != (128, 256, 64):
                continue
            side, square = ("i32", size), ("f16", (size, size))
            arguments = {"A": square, "B": square, "C": square, "M": side, "N": side, "K": side}
            arguments |= {"stride_am": side, "stride_ak": ("i32", 1), "stride_bk": side, "stride_bn": ("i32", 1), "stride_cm": side, "stride_cn": ("i32", 1)}
            values = {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 8}
            yield f"matmul_{size}_{m}x{n}x{k}", TENSOR, "matmul", (size // m * (size // n),), arguments, values, warps, stages
    # Operands that fit L2, and operands of 32 bits.
    yield product("matmul_2048_128x128x64", "f16", 2048, (128, 128, 64), 8, 3)
    yield product("matmul_tf32_4096_128x128x32", "f32", 4096, (128, 128, 32), 8, 3)
    for d, warps in ((64, 4), (128, 8)):
        heads, length = (64, 4096)
        block = ("f16", (heads, length, d))
        arguments = {"Q": block, "K": block, "V": block, "OUT": block, "scale": ("f32", 0.125), "stride_head": ("i32", length * d), "N": ("i32", length)}
        values = {"BLOCK_M": 128, "BLOCK_N": 64, "D": d, "CAUSAL": False}
        yield f"attention_{d}", TENSOR, "attention", (length // 128, heads), arguments, values, warps, 3
        if d == 64:
            yield f"attention_{d}_causal", TENSOR, "attention", (length // 128, heads), arguments, values | {"CAUSAL": True}, warps, 3


def product(name, dtype, size, block, warps, stages):
    side, square = ("i32", size), (dtype, (size, size))
    arguments = {"A": square, "B": square, "C": ("f16", (size, size)), "M": side, "N": side, "K": side}
    arguments |= {"stride_am": side, "stride_ak": ("i32", 1), "stride_bk": side, "stride_bn": ("i32", 1), "stride_cm": side, "stride_cn": ("i32", 1)}
    values = dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), block)) | {"GROUP_M": 8}
    return name, TENSOR, "matmul", (size // block[0] * (size // block[1]),), arguments, values, warps, stages


def affine():
    n = 1 << 24
    numbers, count = ("f32", (n,)), ("i32", n)
    yield "exponentials", AFFINE, "exponentials", (n // 1024,), {"OUT": numbers, "X": numbers, "n": count}, {"BLOCK": 1024, "TIMES": 32}, 4, 3
    arguments = {"OUT": numbers, "X": numbers, "n": count, "factor": ("f32", 0.5)}
    yield "polynomial", AFFINE, "polynomial", (n // 1024,), arguments, {"BLOCK": 1024, "DEGREE": 256}, 4, 3
    n = 1 << 26
    numbers = ("f16", (n,))
    yield "swiglu", AFFINE, "swiglu", (n // 2048,), {"OUT": numbers, "A": numbers, "B": numbers, "n": ("i32", n)}, {"BLOCK": 2048}, 4, 3
    rows, columns = 16384, 4096
    matrix, width = ("f16", (rows, columns)), ("i32", columns)
    arguments = {"OUT": matrix, "X": matrix, "WEIGHT": ("f16", (columns,)), "stride": width, "n_cols": width, "eps": ("f32", 1e-5)}
    yield "rms_norm", AFFINE, "rms_norm", (rows,), arguments, {"BLOCK": columns}, 8, 3
    rows, columns, part = 16384, 8192, 512
    arguments = {"OUT": ("f32", (rows // part, columns)), "X": ("f32", (rows, columns)), "rows": ("i32", rows), "columns": ("i32", columns)}
    yield "column_sums", AFFINE, "column_sums", (columns // 128, rows // part), arguments, {"ROWS": part, "BLOCK_M": 16, "BLOCK_N": 128}, 4, 3
    size = 8192
    side = ("i32", size)
    arguments = {"OUT": ("f32", (size, size)), "X": ("f32", (size, size)), "rows": side, "columns": side}
    yield "transpose", AFFINE, "transpose", (size // 64, size // 64), arguments, {"BLOCK": 64}, 8, 3
    rows, columns = 16384, 8192
    arguments = {"OUT": ("f32", (rows,)), "A": ("f32", (rows, columns)), "X": ("f32", (columns,)), "rows": ("i32", rows), "columns": ("i32", columns)}
    yield "matrix_vector", AFFINE, "matrix_vector", (rows // 8,), arguments, {"BLOCK_M": 8, "BLOCK_N": 512}, 4, 3
    rows, columns = 4096, 32768
    arguments = {"OUT": ("f32", (rows,)), "X": ("f32", (rows, columns)), "stride": ("i32", columns), "columns": ("i32", columns)}
    yield "log_sum_exp", AFFINE, "log_sum_exp", (rows,), arguments, {"BLOCK": 1024}, 4, 3
    rows, columns = 1024, 131072
    matrix = ("f32", (rows, columns))
    arguments = {"OUT": matrix, "X": matrix, "stride": ("i32", columns), "columns": ("i32", columns)}
    yield "wide_softmax", AFFINE, "wide_softmax", (rows,), arguments, {"BLOCK": 4096}, 8, 3


def launch_block(name, kernel, grid, arguments, values, warps, stages):
    """The launch as Tritium reads it."""
    texts = []
    for key, (dtype, value) in arguments.items():
        if isinstance(value, tuple):
            texts.append(f'{key} = "{dtype}[{", ".join(map(str, value))}]"')
        else:
            texts.append(f"{key} = {value}")
    meta = ", ".join(f"{key} = {str(value).lower()}" for key, value in values.items())
    grid = ", ".join(map(str, grid))
    lines = [f"[launch.{name}]", f'kernel = "{kernel}"', f"grid = [{grid}]", f"args = {{ {', '.join(texts)} }}", f"meta = {{ {meta} }}"]
    return lines + [f"num_warps = {warps}", f"num_stages = {stages}", ""]


def without_block(text):
    return re.sub(r"\A(?:#.*\n)*", "", text) if text.startswith("# /// tritium") else text


def write_files(folder):
    """One file a kernel file, with the launches of this script."""
    files = {}
    for name, file, kernel, grid, arguments, values, warps, stages in cases():
        files.setdefault(file, []).append((name, launch_block(name, kernel, grid, arguments, values, warps, stages)))
    written = {}
    for file, launches in files.items():
        lines = [f"# {line}".rstrip() for _, block in launches for line in block]
        path = folder / file.name
        path.write_text("# /// tritium\n" + "\n".join(lines) + "\n# ///\n" + without_block(file.read_text()))
        for name, _ in launches:
            written[name] = path
    return written


def run_tritium(binary, *arguments):
    done = subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True, timeout=200)
    if done.returncode not in (0, 1) or not done.stdout:
        raise RuntimeError(f"tritium {' '.join(map(str, arguments))}: {done.stderr.strip()}")
    return done.stdout


def ptxas():
    path = os.environ.get("TRITON_PTXAS_PATH")
    if not path:
        import triton

        path = Path(triton.__file__).parent / "backends/nvidia/bin/ptxas"
    return str(path)


def machine_code(binary, file, launch, gpu, folder):
    """(cubin, entry, threads, dynamic shared bytes, parameters) of a launch."""
    ptx = run_tritium(binary, "emit", file, "--launch", launch, "--stage", "ptx", "--gpu", gpu)
    head = re.search(r"// tritium: kernel (\S+), (\d+) warps, (\d+) bytes of shared memory, parameters(.*)", ptx)
    source, cubin = folder / f"{launch}.ptx", folder / f"{launch}.cubin"
    source.write_text(ptx)
    target = re.search(r"^\.target\s+([a-z0-9_]+)", ptx, re.M)[1]
    done = subprocess.run([ptxas(), f"--gpu-name={target}", str(source), "-o", str(cubin)], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return str(cubin), head[1], int(head[2]) * 32, int(head[3]), head[4].split()


def tensor_flop(ptx):
    """FLOP of one warp's tensor-core instruction, the mean over those of a text: where shapes differ, they stand in one loop and run as often."""
    warpgroups = [2 * 64 * int(n) * int(k) // 4 for n, k in re.findall(r"wgmma\.mma_async\S*\.m64n(\d+)k(\d+)", ptx)]
    warps = [2 * int(m) * int(n) * int(k) for m, n, k in re.findall(r"mma\.sync\.aligned\.m(\d+)n(\d+)k(\d+)", ptx)]
    every = warpgroups + warps
    return sum(every) / len(every) if every else 0


class Loaded:
    def __init__(self, cubin, entry, threads, shared, parameters):
        self.threads, self.shared, self.parameters = threads, shared, parameters
        torch.cuda.current_stream()  # the context is torch's
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        check(cuda.cuModuleLoadData(ctypes.byref(module), Path(cubin).read_bytes()), "loading")
        check(cuda.cuModuleGetFunction(ctypes.byref(self.function), module, entry.encode()), "finding")
        if shared > 48 * 1024:
            check(cuda.cuFuncSetAttribute(self.function, 8, shared), "asking for shared memory")

    def occupancy(self):
        blocks = ctypes.c_int()
        ask = cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor
        check(ask(ctypes.byref(blocks), self.function, self.threads, ctypes.c_size_t(self.shared)), "occupancy")
        return blocks.value

    def registers(self):
        value = ctypes.c_int()
        check(cuda.cuFuncGetAttribute(ctypes.byref(value), 4, self.function), "registers")
        return value.value

    def launcher(self, grid, arguments):
        holders, tensors = [], []
        for name in self.parameters:
            dtype, value = arguments[name]
            if isinstance(value, tuple):
                tensors.append(torch.randn(value, device="cuda", dtype=torch.float32).to(DTYPES[dtype]))
                holders.append(ctypes.c_uint64(tensors[-1].data_ptr()))
            else:
                holders.append(HOLDERS[dtype](value))
        pointers = (ctypes.c_void_p * len(holders))(*[ctypes.cast(ctypes.byref(h), ctypes.c_void_p) for h in holders])
        x, y, z = (list(grid) + [1, 1])[:3]

        def launch(keep=(holders, tensors)):
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            check(cuda.cuLaunchKernel(self.function, x, y, z, self.threads, 1, 1, self.shared, stream, pointers, None), "launching")

        return launch


def occupancies(binary, gpu, folder):
    """(launches that agree, all, lines about those that do not)"""
    same, count, lines = 0, 0, []
    for file in sorted((ROOT / "tests/run/kernels").glob("*.py")):
        for row in json.loads(run_tritium(binary, "report", file, "--gpu", gpu, "--output-format", "json"))["rows"]:
            if row["launch"] is None or row["registers_source"] != "exact":
                continue
            try:
                loaded = Loaded(*machine_code(binary, file, row["launch"], gpu, folder))
                driver, registers = loaded.occupancy(), loaded.registers()
            except (RuntimeError, subprocess.TimeoutExpired, TypeError) as error:
                lines.append(f"- {file.stem}/{row['launch']}: {error}")
                continue
            count += 1
            if driver == (row["blocks_per_sm"] or 0):
                same += 1
            else:
                lines.append(f"- {file.stem}/{row['launch']}: {row['blocks_per_sm']} CTAs per SM here, {driver} by the driver; {row['registers']} and {registers} registers")
    return same, count, lines


# What is asked of ncu, as patterns: names differ between GPUs. Sums of what match, but for shares of a peak: the greatest.
COUNTERS = {
    "time": r"gpu__time_duration\.sum",
    "read": r"dram__bytes_read\.sum",
    "write": r"dram__bytes_write\.sum",
    "fadd": r"smsp__sass_thread_inst_executed_op_fadd_pred_on\.sum",
    "fmul": r"smsp__sass_thread_inst_executed_op_fmul_pred_on\.sum",
    "ffma": r"smsp__sass_thread_inst_executed_op_ffma_pred_on\.sum",
    "tensor": r"sm__inst_executed_pipe_tensor\.sum",
    "warps": r"sm__warps_active\.avg\.pct_of_peak_sustained_active",
    "DRAM": r"dram__throughput\.avg\.pct_of_peak_sustained_elapsed",
    "L2": r"lts__t_sectors\.avg\.pct_of_peak_sustained_elapsed|l1tex__m_xbar2l1tex_read_bytes\.avg\.pct_of_peak_sustained_elapsed",
    "L2 slices": r"lts__t_sectors\.avg\.pct_of_peak_sustained_elapsed",
    "L2 to SM": r"l1tex__m_xbar2l1tex_read_bytes\.avg\.pct_of_peak_sustained_elapsed",
    "L2 sectors": r"lts__t_sectors\.sum",
    "SM clock": r"sm__cycles_elapsed\.avg\.per_second",
    "L2 clock": r"lts__cycles_elapsed\.avg\.per_second",
    "bank reads": r"l1tex__data_bank_reads\.avg\.pct_of_peak_sustained_elapsed",
    "bank writes": r"l1tex__data_bank_writes\.avg\.pct_of_peak_sustained_elapsed",
    "tensor pipe": r"sm__pipe_tensor_cycles_active\.avg\.pct_of_peak_sustained_elapsed|sm__inst_executed_pipe_tensor\.avg\.pct_of_peak_sustained_elapsed",
    "FMA": r"sm__pipe_fma_cycles_active\.avg\.pct_of_peak_sustained_elapsed|sm__inst_executed_pipe_fma\.avg\.pct_of_peak_sustained_elapsed",
    "ALU": r"sm__inst_executed_pipe_alu\.avg\.pct_of_peak_sustained_elapsed",
    "SFU": r"sm__inst_executed_pipe_xu\.avg\.pct_of_peak_sustained_elapsed",
    "shared memory": r"l1tex__data_pipe_lsu_wavefronts_mem_shared\.avg\.pct_of_peak_sustained_elapsed",
}
SHARES = ("DRAM", "L2", "tensor pipe", "FMA", "ALU", "SFU", "shared memory")
SUMS = ("time", "read", "write", "fadd", "fmul", "ffma", "tensor", "L2 sectors")
BESIDE = ("L2 slices", "L2 to SM", "bank reads", "bank writes")
SCALES = {"": 1, "n": 1e-9, "u": 1e-6, "m": 1e-3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def known_metrics(ncu):
    """Full names that this ncu knows, sub-metrics included."""
    done = subprocess.run([ncu, "--query-metrics", "--query-metrics-mode", "suffix", "--metrics", ",".join(sorted({base for base in bases()}))],
                          capture_output=True, text=True, timeout=60)  # fmt: skip
    return set(re.findall(r"^([a-z0-9_]+__[A-Za-z0-9_.]+)", done.stdout, re.M))


def bases():
    for pattern in COUNTERS.values():
        for name in pattern.replace("\\", "").split("|"):
            yield name.split(".")[0]


def wanted_metrics(known):
    return {key: [name for name in known if re.fullmatch(pattern, name)] for key, pattern in COUNTERS.items()}


def counted(ncu, plan, metrics):
    """By launch: numbers by the keys of COUNTERS. A refusal is an error with what ncu said."""
    names = sorted({name for group in metrics.values() for name in group})
    entries = "|".join(sorted({case["code"][1] for case in plan}))
    command = [ncu, "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", "--cache-control", "all", "--target-processes", "all"]
    command += ["-k", f"regex:^({entries})$", "--metrics", ",".join(names), sys.executable, __file__, "--child"]
    done = subprocess.run(command, input=json.dumps(plan), capture_output=True, text=True, timeout=150)
    text = done.stdout[done.stdout.find('"ID"'):] if '"ID"' in done.stdout else ""
    if not text:
        said = [line for line in (done.stdout + done.stderr).splitlines() if "==" in line or "rror" in line]
        raise RuntimeError("; ".join(said[-4:]) or f"ncu ended with {done.returncode}")
    rows = list(csv.DictReader(io.StringIO(text)))
    units, rows = rows[0], rows[1:]
    if len(rows) != len(plan):
        raise RuntimeError(f"ncu saw {len(rows)} launches of {len(plan)}")
    out = {}
    for case, row in zip(plan, rows):
        numbers = {}
        for key, group in metrics.items():
            values = [float(row[name].replace(",", "")) for name in group if row.get(name)]
            numbers[key] = (sum(values) if key in SUMS else max(values)) if values else None
        if numbers["time"] is not None:
            unit = units.get("gpu__time_duration.sum", "ns")
            numbers["time"] *= {"ns": 1e-3, "nsecond": 1e-3, "us": 1, "usecond": 1, "ms": 1e3, "msecond": 1e3, "s": 1e6, "second": 1e6}.get(unit, 1e-3)
        out[case["name"]] = numbers
    return out


def child():
    """Under ncu: every launch once."""
    for case in json.load(sys.stdin):
        launch = Loaded(*case["code"]).launcher(case["grid"], {k: (t, tuple(v) if isinstance(v, list) else v) for k, (t, v) in case["arguments"].items()})
        launch()
        torch.cuda.synchronize()


# Tritium's units by the names that a table has.
UNITS = {"dram": "DRAM", "l2": "L2", "fma": "FMA", "alu": "ALU", "sfu": "SFU", "shared": "shared memory"}


def same_unit(ours, theirs):
    return ours == theirs or (ours or "").startswith("tensor") and theirs == "tensor pipe"


def percent(ours, theirs):
    return f"{100 * (ours / theirs - 1):+.1f} %" if ours is not None and theirs else "?"


def number(value):
    return "?" if value is None else f"{value:.4g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", nargs="?")
    parser.add_argument("--gpu", default="H200")
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/counters.md")
    parser.add_argument("--only", default="", help="launches whose names have this pattern")
    parser.add_argument("--no-suite", action="store_true", help="leave the occupancy of the suite out")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        return child()
    binary = str(Path(arguments.binary).resolve())
    os.environ["TRITIUM_BIN"] = binary
    text = f"# Counters\n\nWritten by `bench/counters.py` on {torch.cuda.get_device_name()}; PyTorch {torch.__version__}; board `{arguments.gpu}`.\n"
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        files = write_files(folder)
        rows = {}
        for path in sorted(set(files.values())):
            for row in json.loads(run_tritium(binary, "report", path, "--gpu", arguments.gpu, "--output-format", "json"))["rows"]:
                if row["compiler"] == "tritium":
                    rows[row["launch"]] = row
        plan, times, drivers, failed = [], {}, {}, []
        for name, _, kernel, grid, values, _, _, _ in cases():
            if not re.search(arguments.only, name):
                continue
            try:
                code = machine_code(binary, files[name], name, arguments.gpu, folder)
                loaded = Loaded(*code)
                launch = loaded.launcher(grid, values)
                times[name], drivers[name] = 1e3 * median(launch), loaded.occupancy()
                plan.append({"name": name, "code": code, "grid": grid, "arguments": values, "tensor": tensor_flop((folder / f"{name}.ptx").read_text())})
            except (RuntimeError, subprocess.TimeoutExpired, TypeError, KeyError) as error:
                failed.append(f"- {name}: {error}")
            torch.cuda.empty_cache()
        numbers, refusal = {}, None
        ncu = shutil.which("ncu") or next(iter(sorted(map(str, Path("/opt/nvidia").glob("nsight-compute/*/ncu")))), None)
        if ncu is None:
            refusal = "there is no `ncu`"
        else:
            try:
                metrics = wanted_metrics(known_metrics(ncu))
                numbers = counted(ncu, plan, metrics)
            except (RuntimeError, subprocess.TimeoutExpired, OSError) as error:
                refusal = str(error)
        text += "\n## Large launches\n\n"
        if refusal:
            text += f"Counters cannot be read on this machine: {refusal}\n\n"
        text += "FLOP and bytes: expected, and how far from counted. FLOP are those that are executed: additions, multiplications and twice the fused ones of all threads, and the tensor cores' instructions by the FLOP of their shapes. Bytes are those that DRAM moves while the launch runs: stores that L2 still holds at its end are not among them. Time: expected, measured (median, cold L2). Limiter: expected, and the unit with the highest share of its peak, with that share as expected and as counted.\n\n"
        text += "| launch | FLOP | off | DRAM bytes | off | µs expected | measured | off | limiter | counted | share expected | counted | CTAs per SM | driver |\n|---|--:|--:|--:|--:|--:|--:|--:|---|---|--:|--:|--:|--:|\n"
        errors, limiters, off_flops, off_bytes, every = [], [], [], [], {}
        for case in plan:
            name = case["name"]
            row, seen = rows[name], numbers.get(name, {})
            flops = None
            if seen:
                flops = sum((seen[key] or 0) * factor for key, factor in (("fadd", 1), ("fmul", 1), ("ffma", 2), ("tensor", case["tensor"])))
            moved = seen["read"] + seen["write"] if seen and seen["read"] is not None else None
            shares = {key: seen[key] for key in SHARES if seen.get(key) is not None}
            highest = max(shares, key=shares.get) if shares else None
            if row["predicted_us"]:
                errors.append(abs(row["predicted_us"] / times[name] - 1))
            if highest:
                limiters.append(same_unit(row["limiter"], highest))
            off_flops += [abs(row["flops_executed"] / flops - 1)] if flops else []
            off_bytes += [abs(row["bytes"] / moved - 1)] if moved else []
            every[name] = {"counted": seen, "flops": flops, "us": times[name]} | {key: row[key] for key in ("flops_executed", "bytes", "predicted_us", "limiter", "units", "tensors")}
            of_highest = next((100 * unit["of_peak"] for unit in row["units"] if same_unit(UNITS.get(unit["unit"], unit["unit"]), highest)), None)
            text += f"| {name} | {number(row['flops_executed'])} | {percent(row['flops_executed'], flops)} | {number(row['bytes'])} | {percent(row['bytes'], moved)} | {number(row['predicted_us'])} | {times[name]:.1f} | {percent(row['predicted_us'], times[name])} | {row['limiter']} | {highest or '?'} | {number(of_highest)} | {number(shares.get(highest))} | {row['blocks_per_sm']} | {drivers[name]} |\n"
        if errors:
            errors.sort()
            text += f"\nTime: median error {100 * statistics.median(errors):.1f} %, p90 {100 * errors[min(len(errors) - 1, int(0.9 * len(errors)))]:.1f} %.\n"
        if off_flops:
            text += f"FLOP: {sum(off <= 0.02 for off in off_flops)} of {len(off_flops)} within 2 %, the worst {100 * max(off_flops):.1f} %. "
            text += f"DRAM bytes: {sum(off <= 0.1 for off in off_bytes)} of {len(off_bytes)} within 10 %, the worst {100 * max(off_bytes):.1f} %.\n"
        if limiters:
            text += f"Limiter: {sum(limiters)} of {len(limiters)} as counted.\n"
        text += "".join(f"{line}\n" for line in failed)
        if numbers:
            text += "\n## Shares of peaks\n\nAs counted, in %. Beside the units: L2's slices and what comes from it to the SMs, and the banks of shared memory and L1, which tensor cores also read; GHz while it is counted.\n\n"
            columns = SHARES + BESIDE
            text += f"| launch | MB read | MB written | {' | '.join(columns)} | SM clock | L2 clock |\n|---{'|--:' * (len(columns) + 4)}|\n"
            for name, seen in numbers.items():
                cells = [seen.get(key) for key in columns]
                megabytes = [seen[key] and seen[key] / 1e6 for key in ("read", "write")]
                clocks = [seen.get(key) and seen[key] / 1e9 for key in ("SM clock", "L2 clock")]
                text += f"| {name} | {' | '.join(map(number, [*megabytes, *cells, *clocks]))} |\n"
            arguments.results.with_suffix(".json").write_text(json.dumps(every, indent=1, sort_keys=True) + "\n")
        if not arguments.no_suite:
            same, count, lines = occupancies(binary, arguments.gpu, folder)
            text += f"\n## Occupancy\n\n{same} of {count} launches of `tests/run/kernels` have the occupancy that the driver says.\n\n"
            text += "".join(f"{line}\n" for line in lines)
    print(text)
    arguments.results.write_text(text)


if __name__ == "__main__":
    main()
