#!/usr/bin/env python3
"""Times compilation from source to PTX, kernel by kernel, beside Triton's own stages up to PTX on the same machine in the same run.

    python3 bench/compile_time.py path/to/tritium PYTHON ORACLE [--corpora FOLDER TABLE] [--sample 120] [--runs 3] [--results bench/results/compile.md]

The suite is every launch of `examples/` and `tests/run/kernels/` and, with `--corpora`, kernels drawn from those that Triton compiles in published
packages (`tests/data/accuracy/compiled.triton.tsv`), each under its recorded signature. PYTHON has Triton 3.6 and ORACLE runs its stages without a GPU.

Both are warm and neither reads a cache: Triton's process has imported the file, ours has read it and has a running LLVM worker, and both have
compiled the kernels of `examples/` under other signatures.
Triton's time is the sum of its stages `ast_to_ttir`, `ttir`, `ttgir`, `llir` and `ptx`. Ours is everything from the tree of the file to the text of
the PTX, in a process that is new in every run, so that nothing of the kernel is known. A kernel's time is the least of the runs, which alternate.

`--processor-time` counts the processor time of both instead (ours: the program's and its worker's, from the kernel's books), for a machine that
has other things to do. Both work on one thread, so that it is what a quiet machine's clock shows but for waiting.
"""

import argparse
import csv
import json
import math
import os
import queue
import random
import re
import subprocess
import sys
import tempfile
import threading
import tomllib
from pathlib import Path

csv.field_size_limit(1 << 24)
ROOT = Path(__file__).resolve().parent.parent
SEED = 2026
GPU = "sm_90"
# Seconds for one kernel; one that takes longer is left out and counted.
LIMIT = 30
WANTED_MEAN, WANTED_EACH = 8, 2
# How many kernels, under other signatures, are compiled before the clock counts: those of `examples/`.
WARM = 9
FUNCTIONS = {"cdiv": lambda a, b: -(-a // b), "next_power_of_2": lambda n: 1 << (n - 1).bit_length(), "min": min, "max": max}
TRITON = {
    "i1": "i1", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64", "u8": "u8", "u16": "u16", "u32": "u32", "u64": "u64",
    "f16": "fp16", "bf16": "bf16", "f32": "fp32", "f64": "fp64", "f8e4m3": "fp8e4nv", "f8e5m2": "fp8e5", "e4m3": "fp8e4nv", "e5m2": "fp8e5",
}  # fmt: skip

# Runs under the Python that has Triton: requests in, milliseconds of the stages out. Nothing is assembled.
JUDGE = """
import importlib.util, json, os, shutil, signal, sys, tempfile, time, types
spec = importlib.util.spec_from_file_location("judge", sys.argv[1])
judge = importlib.util.module_from_spec(spec)
spec.loader.exec_module(judge)
import triton.backends.nvidia.compiler as nvidia
if sys.argv[3] == "processor":
    judge.time = types.SimpleNamespace(time=time.process_time)

class Enough(Exception):
    pass

def enough(*_, **__):
    raise Enough

nvidia.CUDABackend.make_cubin = enough
STAGES = ("ast_to_ttir", "ttir", "ttgir", "llir", "ptx")
modules = {}

def give_up(*_):
    raise TimeoutError

signal.signal(signal.SIGALRM, give_up)
for line in sys.stdin:
    row = json.loads(line)
    signal.alarm(int(sys.argv[2]))
    try:
        if row["file"] not in modules:
            modules[row["file"]] = judge.load_module(row["file"])[0]
        os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp(prefix="compile_time_")
        out = judge.run(row["file"], row["kernel"], row["args"], row["constexprs"], row["gpu"], row["options"], keep_cache=True, mod=modules[row["file"]])
        shutil.rmtree(os.environ["TRITON_CACHE_DIR"], ignore_errors=True)
        stages = out.get("stage_s", {})
    except BaseException as problem:
        stages, out = {}, {"error": str(problem)}
    signal.alarm(0)
    found = {name: stages[name] * 1e3 for name in STAGES if name in stages}
    print(json.dumps({"stage_ms": found if len(found) == len(STAGES) else None, "why": out.get("error")}), flush=True)
"""


def number(value, names):
    return eval(value, FUNCTIONS, names) if isinstance(value, str) else value


def specialised(value):
    """The type that a launcher gives a number."""
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, float):
        return "fp32"
    base = "i32" if -(1 << 31) <= value < 1 << 31 else "i64"
    return base + (":1" if value == 1 else ":16" if value % 16 == 0 else "")


def launches(file):
    """The requests of a file's launch block."""
    text = file.read_text()
    block = re.search(r"^# /// tritium\n(.*?)^# ///$", text, re.S | re.M)
    if not block:
        return
    for name, launch in tomllib.loads("\n".join(line[2:] for line in block[1].splitlines()))["launch"].items():
        sizes = launch.get("sizes", {})
        args, constexprs = {}, {}
        for arg, said in launch["args"].items():
            said = said["tensor"] if isinstance(said, dict) else said
            tensor = re.match(r"(\w+)\[", said) if isinstance(said, str) else None
            args[arg] = f"*{TRITON[tensor[1]]}:16" if tensor else specialised(number(said, sizes))
        for key, value in launch.get("meta", {}).items():
            try:
                constexprs[key] = number(value, sizes)
            except NameError:
                constexprs[key] = value
        options = {key: launch[key] for key in ("num_warps", "num_stages", "maxnreg") if key in launch}
        yield request(f"{file.stem}.{name}", file, launch["kernel"], args, constexprs, options)


def own():
    """The launches of the repository's kernels."""
    files = [*sorted((ROOT / "examples").glob("*.py")), *sorted((ROOT / "tests/run/kernels").glob("*.py"))]
    return [question for file in files for question in launches(file)]


def request(name, file, kernel, args, constexprs, options):
    return {"name": name, "file": str(file), "kernel": kernel, "args": args, "constexprs": constexprs, "options": options, "gpu": GPU}


def published(folder, table, count):
    """Kernels of published packages that Triton compiles; all of them where `count` is 0."""
    with open(ROOT / "tests/data/accuracy/compiled.triton.tsv", newline="") as file:
        compiled = {(row["path"], row["function"]) for row in csv.DictReader(file, delimiter="\t") if row["verdict"] == "ok"}
    with open(table, newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if (row["path"], row["function"]) in compiled]
    rows = [row for row in rows if (folder / row["path"]).is_file()]
    dtypes = {"fp16", "bf16", "fp32", "fp64", "int8", "int32"}
    for row in random.Random(SEED).sample(rows, min(count, len(rows))) if count else rows:
        constexprs = {k: f"tl.{v}" if isinstance(v, str) and v in dtypes else v for k, v in json.loads(row["constexprs"]).items()}
        name = f"{row['path'].split('/')[0]}: {Path(row['path']).stem}.{row['function']}"
        yield request(name, folder / row["path"], row["function"], json.loads(row["signature"]), constexprs, {})


class Asked:
    """A process that answers a line with a line."""

    def __init__(self, command, environment=None):
        self.command, self.environment, self.process = [str(c) for c in command], environment, None

    def start(self):
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=self.environment
        )
        self.lines = queue.Queue()
        threading.Thread(target=self.listen, args=(self.process.stdout, self.lines), daemon=True).start()

    @staticmethod
    def listen(stream, lines):
        for line in stream:
            if line.startswith("{"):
                lines.put(json.loads(line))
        lines.put(None)

    def ask(self, question):
        """The answer, `None` where there is none in time."""
        if self.process is None:
            self.start()
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
            answer = self.lines.get(timeout=2 * LIMIT)
        except (BrokenPipeError, queue.Empty):
            answer = None
        if answer is None:
            self.stop()
        return answer

    def processor_ms(self):
        """What the process and its children have used, each."""
        own, children, parents = 0.0, 0.0, {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                except OSError:
                    continue
        for pid, parent in parents.items():
            if self.process.pid in (pid, parent):
                used = sum(int((task / "schedstat").read_text().split()[0]) for task in Path(f"/proc/{pid}/task").iterdir()) / 1e6
                own, children = (own + used, children) if pid == self.process.pid else (own, children + used)
        return own, children

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


class Ours(Asked):
    """`tritium batch`; answers tell the milliseconds of its own work and of LLVM's."""

    def __init__(self, tritium, processor):
        super().__init__([tritium, "batch", "-", "--through", "ptx"], {**os.environ, "TRITIUM_BIN": str(tritium), "TRITIUM_CACHE": "off"})
        self.processor = processor

    def read(self, question):
        """Asks for a kernel that the file does not have."""
        self.ask({**ours(question), "kernel": "?"})

    def compile(self, question):
        before = self.processor_ms() if self.processor and self.process else (0, 0)
        answer = self.ask(ours(question))
        if not answer or not answer["ok"] or "ptx" not in answer["stage_ms"]:
            said = [d["message"] for d in answer["diagnostics"] if d["severity"] == "error"] if answer else []
            return None, said[0] if said else "no answer"
        stages = answer["stage_ms"]
        if not self.processor:
            return {"own": stages["tile"] + stages["llvm"], "LLVM": stages["ptx"]}, ""
        after = self.processor_ms()
        return {"own": after[0] - before[0], "LLVM": after[1] - before[1]}, ""


def ours(question):
    options = question["options"]
    return {"id": 0, **{key: question[key] for key in ("file", "kernel", "args", "constexprs", "gpu")}, **options}


def total(stages):
    return sum(stages.values())


def measure(arguments, suite):
    """For every kernel the stages of the fastest run of both, or why there are none."""
    clock = "processor" if arguments.processor_time else "wall"
    theirs = Asked([arguments.python, arguments.judge, arguments.oracle, LIMIT, clock])
    best = [[None, None, ""] for _ in suite]
    try:
        repeat(arguments, suite, theirs, best)
    except KeyboardInterrupt:
        print("interrupted; the kernels so far are reported", file=sys.stderr)
    theirs.stop()
    for kept in best:
        if not kept[0] or not kept[1]:
            kept[2] = kept[2] or "not reached"
    return best


def repeat(arguments, suite, theirs, best):
    for run in range(arguments.runs):
        mine = Ours(arguments.tritium, arguments.processor_time)
        # Starts the worker, wakes Triton's compiler and touches memory; under other signatures, so that the kernels themselves stay unknown.
        for question in suite[:WARM]:
            warm = {**question, "args": {name: ty.removesuffix(":16") for name, ty in question["args"].items()}}
            theirs.ask(warm)
            mine.compile(warm)
        for index, question in enumerate(suite):
            kept = best[index]
            if kept[2] and run:
                continue
            there = theirs.ask(question)
            there_ms = there and there["stage_ms"]
            if not there_ms:
                kept[2] = "Triton: " + ((there or {}).get("why") or "no PTX within the limit")[-200:].replace("\n", " ")
                continue
            mine.read(question)
            here_ms, why = mine.compile(question)
            if not here_ms:
                kept[2] = f"tritium: {why}"
                continue
            for place, found in ((0, there_ms), (1, here_ms)):
                if kept[place] is None or total(found) < total(kept[place]):
                    kept[place] = found
            print(f"{run} {question['name']}: {total(there_ms):.1f} ms / {total(here_ms):.1f} ms", file=sys.stderr, flush=True)
        mine.stop()


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def report(suite, best, runs, processor):
    rows = [(q["name"], there, here) for q, (there, here, why) in zip(suite, best) if not why]
    without = [(q["name"], why) for q, (_, _, why) in zip(suite, best) if why]
    ratios = sorted((total(there) / total(here), name) for name, there, here in rows)
    only = [ratio for ratio, _ in ratios]
    own = [total(there) / total(here) for name, there, here in rows if ": " not in name]
    under = sum(ratio < WANTED_EACH for ratio in only)

    def part(column, stages):
        return " | ".join(f"{sum(row[column][s] for row in rows) / len(rows):.1f}" for s in stages)

    text = f"""# Compiling a kernel

Written by `bench/compile_time.py`. From source to PTX for {GPU}, warm and without caches, on a {os.cpu_count()}-core machine, beside the stages of
Triton 3.6 up to PTX in the same run; {"processor time, " if processor else ""}the least of {runs} runs each, alternating. Wanted are {WANTED_MEAN}× in the geometric mean and {WANTED_EACH}× for every
kernel.

| | kernels | geometric mean | least | slowest tenth | median | below {WANTED_EACH}× |
|---|--:|--:|--:|--:|--:|--:|
| all | {len(only)} | **{mean(only):.1f}×** | {only[0]:.1f}× | {only[len(only) // 10]:.1f}× | {only[len(only) // 2]:.1f}× | {under} |
| own whole kernels | {len(own)} | {mean(own):.1f}× | {min(own):.1f}× | {sorted(own)[len(own) // 10]:.1f}× | {sorted(own)[len(own) // 2]:.1f}× | {sum(r < WANTED_EACH for r in own)} |

Mean milliseconds. Triton: `ast_to_ttir`, `ttir`, `ttgir`, `llir` (its own lowering and LLVM's passes), `ptx` (LLVM's code generator). Tritium: its
own work up to LLVM's text, and LLVM.

| Triton: source | ttir | ttgir | llir | ptx | Tritium: own | LLVM |
|--:|--:|--:|--:|--:|--:|--:|
| {part(1, ("ast_to_ttir", "ttir", "ttgir", "llir", "ptx"))} | {part(2, ("own", "LLVM"))} |
"""
    if without:
        absent = [name for name, why in without if "referenced: <" in why]
        late = [name for name, why in without if "TimeoutError" in why]
        text += "\nLeft out:\n\n"
        if absent:
            text += f"- {len(absent)} that call helpers of modules which Triton's process does not have: {', '.join(absent)}\n"
        if late:
            text += f"- {len(late)} that Triton does not finish within {LIMIT} s on this machine: {', '.join(late)}\n"
        text += "".join(f"- {name}: {why}\n" for name, why in without if name not in absent + late)
    text += "\n| kernel | Triton | Tritium | own | LLVM | times |\n|---|--:|--:|--:|--:|--:|\n"
    for name, there, here in rows:
        stages = " | ".join(f"{here[s]:.1f}" for s in ("own", "LLVM"))
        text += f"| {name} | {total(there):.1f} ms | {total(here):.1f} ms | {stages} | {total(there) / total(here):.1f}× |\n"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tritium", type=lambda p: Path(p).resolve())
    parser.add_argument("python")
    parser.add_argument("oracle")
    parser.add_argument("--corpora", nargs=2, type=Path, metavar=("FOLDER", "TABLE"))
    parser.add_argument("--sample", type=int, default=120)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--processor-time", action="store_true")
    parser.add_argument("--only", help="names that match")
    parser.add_argument("--results", type=Path)
    arguments = parser.parse_args()
    suite = own()
    if arguments.corpora:
        suite += published(*arguments.corpora, arguments.sample)
    if arguments.only:
        suite = [question for question in suite if re.search(arguments.only, question["name"])]
    with tempfile.NamedTemporaryFile("w", suffix=".py") as judge:
        judge.write(JUDGE)
        judge.flush()
        arguments.judge = judge.name
        text = report(suite, measure(arguments, suite), arguments.runs, arguments.processor_time)
    if arguments.results:
        arguments.results.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
