"""Compares the mathematical functions on this machine's GPU with the CPU device, bit for bit.

    python3 tests/run/math.py TRITIUM [--count 2097152] [--only WORD] [--device cuda:0]

TRITIUM is the program, built with optimisation (the CPU device runs every function too); needs NumPy and, for the default device, the driver.
Inputs are random bits, the usual ranges and the special numbers. **Precise functions must agree in every bit (all NaN count as one); of those
that go through the special-function unit the largest distance is told.** With `--device cpu` both sides are the CPU: a test of this script.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parents[2]
POINTERS = {"I32": "i32", "U32": "i32", "I64": "i64", "U64": "i64", "F32": "f32", "F64": "f64"}
FAST = re.compile(r"fast_|tl\.(exp|exp2|sqrt|rsqrt|erf|fdiv)\(|libdevice\.(tanh|erf|exp2|sqrt|rsqrt)\(tl.load\(f32")
GROUP, PATIENCE = 8, 300


def library():
    "Every overload of the device library, as a call and the type of its result."
    text = (HERE / "tile/src/libdevice.rs").read_text()
    for name, overloads in re.findall(r'^    "(\w+)" "[^"]*" \{(.*)\}$', text, re.M):
        for args, result in re.findall(r'"\w+" \[([\w ]+)\] (\w+)', overloads):
            loads = []
            for place, arg in enumerate(args.split()):
                cast = {"U32": ".to(tl.uint32)", "U64": ".to(tl.uint64)"}.get(arg, "")
                loads.append(f"tl.load({POINTERS[arg]} + i + {place}){cast}")
            yield f"libdevice.{name}({', '.join(loads)})", POINTERS[result]


def operations():
    for ty in ("f32", "f64"):
        for f in ("exp", "exp2", "log", "log2", "sin", "cos", "sqrt", "rsqrt", "erf", "floor", "ceil", "abs"):
            yield f"tl.{f}(tl.load({ty} + i))", ty
    yield "tl.sqrt_rn(tl.load(f32 + i))", "f32"
    yield "tl.div_rn(tl.load(f32 + i), tl.load(f32 + i + 1))", "f32"
    yield "tl.fdiv(tl.load(f32 + i), tl.load(f32 + i + 1))", "f32"
    narrow = {"float8e4nv": "i8", "float8e5": "i8", "float16": "i16", "bfloat16": "i16"}
    for source in ("f32", "f64", "i32", "i64"):
        for target, bits in narrow.items():
            modes = ["", ', fp_downcast_rounding="rtz"'] if source[0] == "f" else [""]
            for mode in modes:
                yield f"tl.load({source} + i).to(tl.{target}{mode}).to(tl.{'int8' if bits == 'i8' else 'int16'}, bitcast=True).to(tl.int32)", "i32"
        for target in ("int8", "int16", "int32", "int64", "uint8", "uint32", "uint64", "float32", "float64"):
            result = {"float32": "f32", "float64": "f64"}.get(target, "i64")
            yield f"tl.load({source} + i).to(tl.{target})" + (".to(tl.int64)" if result == "i64" else ""), result


def inputs(count):
    rng = np.random.default_rng(5)
    special = np.array([0.0, -0.0, 1, -1, 0.5, 2, 3, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 1e38, 1e-310, 448, 464, 57344, 65504, 65520], np.float64)
    quarter = count // 4

    def floats(word, dtype, wide):
        bits = rng.integers(0, np.iinfo(word).max, quarter, dtype=word, endpoint=True).view(dtype)
        with np.errstate(over="ignore"):
            return np.concatenate([
                special.astype(dtype), bits, rng.uniform(-10, 10, quarter).astype(dtype), rng.uniform(-1, 1, quarter).astype(dtype),
                (rng.choice([-1, 1], quarter) * np.exp2(rng.uniform(-wide, wide, quarter))).astype(dtype),
            ])  # fmt: skip

    def ints(dtype):
        info = np.iinfo(dtype)
        edges = np.array([0, 1, -1, info.max, info.min, 2, 31, 32], dtype)
        return np.concatenate([edges, rng.integers(info.min, info.max, quarter, dtype=dtype, endpoint=True), rng.integers(-40, 40, 2 * quarter).astype(dtype)])

    made = {"f32": floats(np.uint32, np.float32, 40), "f64": floats(np.uint64, np.float64, 80), "i32": ints(np.int32), "i64": ints(np.int64)}
    return {name: np.resize(values, count + 8) for name, values in made.items()}


def write(folder, number, group, count):
    outs = [f"o{n}" for n in range(len(group))]
    given = [f"""{t} = '{t}[{count + 8}] = file("{t}.npy")'""" for t in ("f32", "f64", "i32", "i64")]
    args = ", ".join(given + [f'{o} = "{t}[{count}]"' for o, (_, t) in zip(outs, group)])
    lines = [f"    tl.store({o} + i, {call})" for o, (call, _) in zip(outs, group)]
    path = folder / f"group_{number}.py"
    path.write_text(f"""# /// tritium
# [launch.all]
# kernel = "functions"
# grid = ["{count // 1024}"]
# args = {{ {args} }}
# ///
import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice


@triton.jit
def functions(f32, f64, i32, i64, {", ".join(outs)}):
    i = tl.program_id(0) * 1024 + tl.arange(0, 1024)
""" + "\n".join(lines) + "\n")
    return path


def run(program, path, device, place):
    place.mkdir()
    command = [program, "run", path.name, "--device", device, "--save", str(place)]
    try:
        done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return f"no answer in {PATIENCE} s"
    return None if done.returncode == 0 else (done.stderr or done.stdout).strip()[-600:]


def distance(a, b):
    "Floats between two arrays, at most; and whether all bits agree but those of NaN."
    if a.dtype.kind != "f":
        return int((a != b).sum()), bool((a == b).all())
    word = np.int32 if a.dtype == np.float32 else np.int64
    nan = np.isnan(a) & np.isnan(b)
    x, y = a.view(word).copy(), b.view(word).copy()
    equal = bool(((x == y) | nan).all())
    least = np.iinfo(word).min
    with np.errstate(over="ignore"):
        x, y = np.where(x < 0, least - x, x), np.where(y < 0, least - y, y)
        apart = np.abs(x.astype(np.float64) - y.astype(np.float64))
    return float(np.where(nan, 0, apart).max()), equal


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tritium")
    parser.add_argument("--count", type=int, default=1 << 21)
    parser.add_argument("--only", default="")
    parser.add_argument("--device", default="cuda:0")
    given = parser.parse_args()
    program, count = os.path.abspath(given.tritium), max(1024, given.count // 1024 * 1024)
    calls = [c for c in [*library(), *operations()] if given.only in c[0]]
    groups = [calls[k : k + GROUP] for k in range(0, len(calls), GROUP)]
    wrong, started = 0, time.time()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        given_inputs = inputs(count)
        for ty, values in given_inputs.items():
            np.save(folder / f"{ty}.npy", values)
        for number, group in enumerate(groups):
            path = write(folder, number, group, count)
            places = [folder / f"cpu_{number}", folder / f"gpu_{number}"]
            failed = run(program, path, "cpu", places[0]) or run(program, path, given.device, places[1])
            if failed:
                wrong += len(group)
                print(f"FAILED {[c for c, _ in group]}\n{failed}", flush=True)
                continue
            for n, (call, _) in enumerate(group):
                a, b = (np.load(place / f"o{n}.npy") for place in places)
                apart, equal = distance(a, b)
                shown = re.sub(r"tl\.load\((\w+) \+ i( \+ \d)?\)", r"\1", call)
                if FAST.search(call):
                    print(f"fast     {shown}: {apart:g} apart", flush=True)
                elif equal:
                    print(f"equal    {shown}", flush=True)
                else:
                    wrong += 1
                    bad = np.flatnonzero((a != b) & ~((a != a) & (b != b)))
                    k = int(bad[0]) if len(bad) else 0
                    at = {t: v[k].item() for t, v in given_inputs.items() if t in call}
                    print(f"DIFFERS  {shown}: {len(bad)} of {count}, {apart:g} apart; at {at}: cpu {a[k]!r}, gpu {b[k]!r}", flush=True)
            for place in places:
                for file in place.iterdir():
                    file.unlink()
    print(f"{len(calls)} functions, {wrong} wrong, {time.time() - started:.0f} s")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
