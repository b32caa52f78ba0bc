#!/usr/bin/env python3
"""Times `tritium check` beside ruff, ty and pyright on fla-core, cold, in one run; and our front end beside Triton's, kernel by kernel.

    python3 bench/check.py path/to/tritium path/to/fla-core [--results bench/results/check.md] [--runs 3]
        [--triton PYTHON ORACLE TABLE]

The other tools are installed by version from PyPI into `.cache/bench`. Every run is a new process with the tools' own caches off. Wall and
processor time are medians, pyright's of at most two runs because it is slow; memory is the largest resident set of the process and its children.

`--triton` takes a Python that has Triton 3.6, the judge that runs Triton's front end without a GPU, and the recorded table of signatures: see
`check_triton.py`.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".cache/bench"
VERSIONS = {"ruff": "0.17.5", "ty": "0.0.104", "pyright[nodejs]": "1.1.414"}


def install():
    """The other tools, by version."""
    binaries = TOOLS / "bin"
    if not (binaries / "pip").exists():
        subprocess.run([sys.executable, "-m", "venv", TOOLS], check=True)
    wanted = [f"{name}=={version}" for name, version in VERSIONS.items()]
    subprocess.run([binaries / "pip", "install", "--quiet", "--disable-pip-version-check", *wanted], check=True)
    return binaries


def measure(command):
    """Wall seconds, processor seconds, peak memory in MB, and what was written to standard output."""
    start = time.perf_counter()
    child = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    out = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    # 1: something was found, as expected.
    if child.returncode not in (0, 1):
        sys.exit(f"{command[0]} ended with {child.returncode}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, out


def rows(tritium, corpus, runs, binaries):
    """One row a tool: name, version, medians, and what else is known of it."""
    check = [tritium, "check", corpus, "--output-format", "json"]
    commands = {
        "ruff check": ([binaries / "ruff", "check", "--no-cache", "--isolated", corpus], runs),
        "ty check": ([binaries / "ty", "check", "--python", TOOLS, corpus], runs),
        "pyright": ([binaries / "pyright", "--pythonpath", binaries / "python", corpus], min(runs, 2)),
        "tritium check --config first": ([*check, "--config", "first"], runs),
        "tritium check": (check, runs),
    }
    for name, (command, count) in commands.items():
        measured = [measure(command) for _ in range(count)]
        wall, cpu, memory = (statistics.median(column) for column in list(zip(*measured))[:3])
        seen = ""
        if name.startswith("tritium"):
            answer = json.loads(measured[0][3])
            seen = f"{answer['kernels']} kernels, {answer['specialisations']} specialisations"
            version = version_of([tritium, "--version"])
        else:
            version = version_of([command[0], "--version"])
        print(f"{name:32} {wall:8.2f} s {cpu:8.2f} s {memory:8.0f} MB {seen}", file=sys.stderr)
        yield {"name": name, "version": version, "wall": wall, "cpu": cpu, "memory": memory, "seen": seen}


def version_of(command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True).stdout.split()[-1]


def comparison(measured):
    """The table, each tool beside pyright."""
    slowest = next(row for row in measured if row["name"] == "pyright")
    lines = [
        "| tool | version | wall | processor | peak memory | pyright takes | visited |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    for row in measured:
        times = slowest["wall"] / row["wall"]
        lines.append(
            f"| {row['name']} | {row['version']} | {row['wall']:.2f} s | {row['cpu']:.2f} s | {row['memory']:.0f} MB"
            f" | {times:.1f}× | {row['seen']} |"
        )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tritium", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--triton", nargs=3, metavar=("PYTHON", "ORACLE", "TABLE"))
    arguments = parser.parse_args()
    binaries = install()
    files = len(list(arguments.corpus.rglob("*.py")))
    # Some of the tools skip hidden folders, and a cache is one.
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / arguments.corpus.name
        shutil.copytree(arguments.corpus, corpus)
        measured = list(rows(arguments.tritium.resolve(), corpus, arguments.runs, binaries))
    machine = f"{os.cpu_count()}-core {platform.machine()} machine"
    text = f"""# Checking a package

Written by `bench/check.py`. Cold `check` over {arguments.corpus.name} ({files} files) on a {machine}: every run is a new process, caches off,
medians of {arguments.runs} (pyright: {min(arguments.runs, 2)}). "pyright takes" is pyright's wall time over the tool's.

{comparison(measured)}
"""
    if arguments.triton:
        import check_triton

        text += check_triton.section(arguments.tritium, arguments.corpus.parent, *arguments.triton)
    if arguments.results:
        arguments.results.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
