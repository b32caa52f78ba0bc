"""Our front end beside Triton's on the same kernels under the same signatures: the second half of `check.py`.

Two comparisons. *First reading*: the seconds that the recorded table says of Triton's front end, beside all that `batch --through types` does
in a new process. *Warm*: Triton's `ast_to_ttir` alone, in this run, the better of two with its file imported and its compiler started, beside
a request to a process that has already read the file and elaborated the kernel under another signature.
"""

import csv
import json
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

csv.field_size_limit(1 << 24)
KERNELS = 40
# Read first by every process of ours, as the judge's have Triton imported.
OTHER = """import triton
import triton.language as tl


@triton.jit
def twice(x_ptr, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + o, tl.load(x_ptr + o, mask=o < n) * 2, mask=o < n)
"""
SEED = 2026
# Seconds for both readings of one kernel, and for all that the judge reads: what it has not read by then is left out.
LIMIT, ALL = 4, 150

# Runs under the Python that has Triton: rows in, seconds out. A row that takes too long is left out and counted.
JUDGE = """
import importlib.util, json, os, shutil, signal, sys
spec = importlib.util.spec_from_file_location("judge", sys.argv[1])
judge = importlib.util.module_from_spec(spec)
spec.loader.exec_module(judge)

def give_up(*_):
    raise TimeoutError

def seconds(row):
    out = judge.run(row["file"], row["kernel"], row["args"], row["constexprs"], ttir_only=True)
    shutil.rmtree(os.environ["TRITON_CACHE_DIR"], ignore_errors=True)
    return out["stage_s"]["ast_to_ttir"] if out.get("ttir_ok") else None

signal.signal(signal.SIGALRM, give_up)
for line in sys.stdin:
    row = json.loads(line)
    try:
        signal.alarm(LIMIT)
        found = [seconds(row), seconds(row)]
    except BaseException:
        found = [None]
    signal.alarm(0)
    print(json.dumps({"id": row["id"], "seconds": None if None in found else min(found)}), flush=True)
"""


def recorded(corpora, table):
    """The kernels of all corpora at hand that Triton accepts: what is asked, and the recorded milliseconds."""
    with open(table, newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["verdict_3.6"] == "ok" and row["helper"] == "False"]
    rows = [row for row in rows if (corpora / row["path"]).is_file()]
    for index, row in enumerate(rows):
        request = {
            "id": str(index),
            "file": str(corpora / row["path"]),
            "kernel": row["function"],
            "args": json.loads(row["signature"]),
            "constexprs": json.loads(row["constexprs"]),
        }
        yield request, float(row["seconds"]) * 1e3


def unaligned(request):
    """The same kernel where nothing is known of its arguments' alignment."""
    args = {name: ty.removesuffix(":16") if isinstance(ty, str) else ty for name, ty in request["args"].items()}
    return {**request, "id": "warm", "args": args}


def answers(command, requests, limit=None):
    """What a process says to requests, by id; as far as it came within a limit."""
    lines = "\n".join(json.dumps(request) for request in requests) + "\n"
    try:
        out = subprocess.run([str(c) for c in command], input=lines.encode(), capture_output=True, timeout=limit).stdout
    except subprocess.TimeoutExpired as expired:
        out = expired.stdout or b""
    found = {}
    for line in out.decode().splitlines():
        # A last line may be cut off.
        if line.startswith("{") and line.endswith("}"):
            answer = json.loads(line)
            found[answer["id"]] = answer
    return found


def row(name, pairs):
    """A line of the table: theirs and ours in milliseconds."""
    ratios = sorted(theirs / ours for theirs, ours in pairs)
    theirs, ours = (statistics.median(column) for column in zip(*pairs))
    total = sum(t for t, _ in pairs) / sum(o for _, o in pairs)
    return (
        f"| {name} | {len(pairs)} | {theirs:.1f} ms | {ours:.2f} ms | {statistics.median(ratios):.0f}×"
        f" | {total:.0f}× | {ratios[len(ratios) // 10]:.0f}× |"
    )


def section(tritium, corpora, python, oracle, table):
    kernels = list(recorded(corpora, table))
    chosen = random.Random(SEED).sample(kernels, min(KERNELS, len(kernels)))
    with tempfile.NamedTemporaryFile("w", suffix=".py") as judge:
        judge.write(JUDGE.replace("LIMIT", str(LIMIT)))
        judge.flush()
        theirs = answers([python, judge.name, oracle], [request for request, _ in chosen], ALL)
    batch = [tritium, "batch", "-", "--through", "types"]
    first, warm = [], []
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(OTHER)
        file.flush()
        other = {"id": "other", "file": file.name, "kernel": "twice", "args": {"x_ptr": "*fp32", "n": "i32"}, "constexprs": {"BLOCK": 64}}
        for request, milliseconds in kernels:
            cold = answers(batch, [other, request]).get(request["id"])
            if cold:
                first.append((milliseconds, max(cold["ms"], 1e-3)))
    for request, _ in chosen:
        seconds = theirs.get(request["id"], {}).get("seconds")
        before = unaligned(request)
        again = answers(batch, [before, request]).get(request["id"])
        if seconds and again and before["args"] != request["args"]:
            warm.append((seconds * 1e3, max(again["ms"], 1e-3)))
    if not first or not warm:
        sys.exit("no kernel was read by both front ends")
    return f"""
## Beside Triton's own front end

Kernels of the corpora that Triton 3.6 accepts, each under its recorded signature; how many times faster in the median, of the sums, and
at the slowest tenth. *First reading*: all of them, the recorded seconds of Triton's front end (made on another machine) beside everything
that `batch --through types` does on this one in a new process that has read one other small kernel, as the judge's has Triton imported:
the kernel's file and what it imports are read and parsed, the kernel is elaborated. *Warm*: {len(chosen)} drawn from them, Triton's `ast_to_ttir` alone, in this run, its file imported and its compiler
warm, the better of two; Tritium in a process that has read the file and elaborated the kernel under another signature. Kernels whose file
needs a module that is not at hand, or that Triton does not read twice in {LIMIT} seconds, are left out there.

| | kernels | Triton | Tritium | median ratio | of sums | slowest tenth |
|---|---:|---:|---:|---:|---:|---:|
{row("first reading", first)}
{row("warm", warm)}
"""
