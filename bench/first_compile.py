#!/usr/bin/env python3
"""Times compilation to machine code through `triton.compile`, by Tritium and by Triton in one process, without a GPU.

    python bench/first_compile.py [--runs 5] [--out bench/results/first-compile.md]

Python has Triton 3.6 and the wheel of Tritium. The suite is every launch of `examples/` and `tests/run/kernels/` under its recorded types and values.
A run is a process with empty caches; in it both compile each kernel in turn, for the first time, after each has compiled the kernels of `examples/`
under other types, so that the start of workers and Triton's imports are told apart: the first kernel of the process is reported by itself.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from compile_time import mean, own

SM = 90


def source(function, question, aligned):
    """Triton's source for a kernel under the types of a launch, or those of one whose pointers and numbers nobody knows to be aligned."""
    from triton.compiler import ASTSource

    signature, constants, attributes = {}, {}, {}
    for index, name in enumerate(function.arg_names):
        if name in question["constexprs"]:
            signature[name], constants[(index,)] = "constexpr", question["constexprs"][name]
            continue
        kind, _, known = question["args"][name].partition(":")
        if known == "1" and aligned:
            signature[name], constants[(index,)] = "constexpr", 1
            continue
        signature[name] = kind
        if known == "16" and aligned:
            attributes[(index,)] = [["tt.divisibility", 16]]
    return ASTSource(function, signature, constexprs=constants, attrs=attributes)


def one_run():
    """Milliseconds of both for each kernel that both compile, as a line."""
    import importlib.util
    import time

    import triton.compiler.compiler as compiler
    import triton.language as tl
    from triton.backends.compiler import GPUTarget

    import tritium

    target = GPUTarget("cuda", SM, 32)
    theirs = compiler.compile
    tritium.install()
    ours = compiler.compile
    modules = {}

    def function(question):
        path = question["file"]
        if path not in modules:
            spec = importlib.util.spec_from_file_location(f"kernels_{len(modules)}", path)
            modules[path] = importlib.util.module_from_spec(spec)
            sys.modules[spec.name] = modules[path]
            spec.loader.exec_module(modules[path])
        return getattr(modules[path], question["kernel"])

    def values(question):
        named = {name: getattr(tl, value[3:]) if isinstance(value, str) and value.startswith("tl.") else value for name, value in question["constexprs"].items()}
        return {**question, "constexprs": named}

    def milliseconds(compile, question, aligned):
        begin = time.perf_counter()
        compile(source(function(question), question, aligned), target=target, options=question["options"])
        return 1e3 * (time.perf_counter() - begin)

    def both(question, aligned):
        try:
            return [milliseconds(compile, question, aligned) for compile in (ours, theirs)]
        except Exception as problem:
            print(f"{question['name']}: {problem}"[:300].replace("\n", " "), file=sys.stderr)

    questions = [values(question) for question in own()]
    warm = [pair for question in questions if "/examples/" in question["file"] and (pair := both(question, aligned=False))]
    found = {question["name"]: pair for question in questions if (pair := both(question, aligned=True))}
    print(json.dumps({"first": warm[0], "found": found}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        return one_run()
    runs = []
    for _ in range(arguments.runs):
        with tempfile.TemporaryDirectory() as caches:
            env = {**os.environ, "TRITIUM_FALLBACK": "error", "TRITIUM_CACHE": f"{caches}/tritium", "TRITON_CACHE_DIR": f"{caches}/triton"}
            done = subprocess.run([sys.executable, __file__, "--one"], env=env, stdout=subprocess.PIPE, text=True, check=True)
            runs.append(json.loads(done.stdout.splitlines()[-1]))
    medians = {name: [statistics.median(run["found"][name][side] for run in runs) for side in (0, 1)] for name in runs[0]["found"]}
    first = [statistics.median(run["first"][side] for run in runs) for side in (0, 1)]
    ratios = sorted(theirs / ours for ours, theirs in medians.values())
    lines = [
        "# From source to machine code",
        "",
        f"Made by `bench/first_compile.py`: `triton.compile` for sm_{SM} without a GPU on {os.cpu_count()} cores, medians of {arguments.runs} processes with empty caches, in each both compilers in turn.",
        "",
        f"{len(ratios)} kernels: Tritium is ready **{mean(ratios):.1f}** times sooner in the geometric mean, least {ratios[0]:.1f}, median {statistics.median(ratios):.1f}. "
        f"The first kernel of the process takes {first[0]:.0f} ms with the start of a worker, under Triton {first[1]:.0f} ms with its imports.",
        "",
        "| kernel | Tritium | Triton | times |",
        "|---|--:|--:|--:|",
        *(f"| {name} | {ours:.1f} ms | {theirs:.1f} ms | {theirs / ours:.1f} |" for name, (ours, theirs) in medians.items()),
        "",
    ]
    text = "\n".join(lines)
    arguments.out.write_text(text) if arguments.out else print(text)


if __name__ == "__main__":
    main()
