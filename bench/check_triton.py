"""Our front end beside Triton's on the same kernels under the same signatures: the second half of `check.py`.

**Nothing but reading is compared**: Triton's `ast_to_ttir` on one side (its file imported, its compiler started and warmed up beforehand),
parse and elaboration on the other.
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
KERNELS = 100
SEED = 2026

# Runs under the Python that has Triton: rows in, seconds out. Every row is compiled twice and the faster one counts.
JUDGE = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("judge", sys.argv[1])
judge = importlib.util.module_from_spec(spec)
spec.loader.exec_module(judge)
for line in sys.stdin:
    row = json.loads(line)
    seconds = []
    for _ in range(2):
        try:
            out = judge.run(row["file"], row["kernel"], row["args"], row["constexprs"], ttir_only=True)
            seconds.append(out["stage_s"]["ast_to_ttir"] if out.get("ttir_ok") else None)
        except Exception as error:
            seconds.append(None)
    print(json.dumps({"id": row["id"], "seconds": None if None in seconds else min(seconds)}), flush=True)
"""


def sample(corpora, table):
    """Kernels that Triton accepts, drawn over all corpora at hand."""
    with open(table, newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["verdict_3.6"] == "ok" and row["helper"] == "False"]
    rows = [row for row in rows if (corpora / row["path"]).is_file()]
    chosen = random.Random(SEED).sample(rows, min(KERNELS, len(rows)))
    for index, row in enumerate(chosen):
        yield {
            "id": str(index),
            "file": str(corpora / row["path"]),
            "kernel": row["function"],
            "args": json.loads(row["signature"]),
            "constexprs": json.loads(row["constexprs"]),
        }


def answers(command, lines):
    done = subprocess.run([str(c) for c in command], input="\n".join(lines) + "\n", capture_output=True, text=True)
    found = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            answer = json.loads(line)
            found[answer["id"]] = answer
    return found


def section(tritium, corpora, python, oracle, table):
    requests = list(sample(corpora, table))
    lines = [json.dumps(request) for request in requests]
    with tempfile.NamedTemporaryFile("w", suffix=".py") as judge:
        judge.write(JUDGE)
        judge.flush()
        theirs = answers([python, judge.name, oracle], lines)
    ours = {}
    # Each in a process of its own: nothing is known beforehand.
    for request, line in zip(requests, lines):
        ours.update(answers([tritium, "batch", "-", "--through", "types"], [line]))
    pairs = []
    for request in requests:
        seconds, answer = theirs.get(request["id"], {}).get("seconds"), ours.get(request["id"])
        if seconds and answer:
            pairs.append((seconds * 1e3, max(answer["ms"], 1e-3)))
    if not pairs:
        sys.exit("no kernel was read by both front ends")
    triton, tritium_ms = (statistics.median(column) for column in zip(*pairs))
    ratios = sorted(t / o for t, o in pairs)
    total = sum(t for t, _ in pairs) / sum(o for _, o in pairs)
    return f"""
## Beside Triton's own front end

{len(pairs)} kernels drawn from those that Triton 3.6 accepts, each under its recorded signature, on the same machine. Triton: `ast_to_ttir`
alone, the file imported and the compiler warm, the better of two. Tritium: everything that `batch --through types` does in a new process.

| | Triton | Tritium | times faster |
|---|---:|---:|---:|
| median | {triton:.0f} ms | {tritium_ms:.2f} ms | {statistics.median(ratios):.0f} |
| sum | {sum(t for t, _ in pairs):.0f} ms | {sum(o for _, o in pairs):.1f} ms | {total:.0f} |
| slowest tenth of the ratios | | | {ratios[len(ratios) // 10]:.0f} |
"""
