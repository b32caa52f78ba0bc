#!/usr/bin/env python3
"""Records which published kernels Triton itself compiles to machine code, and what each takes: the judge of `cargo xtask accuracy compiled`.

    compiled.py LANGUAGE_FOLDER CORPORA_FOLDER OUT.tsv [TARGET]

LANGUAGE_FOLDER holds `corpus_ttir.tsv` and `oracle.py`; the Python that runs this has the Triton to be asked. Every kernel that its front end
accepts goes on to a cubin for TARGET (`sm_90`) with default options, each in a process of its own with a limit on its processor time. One line
a kernel: file, function, verdict, and of those that compiled the registers, bytes spilled (stores and loads), bytes of local memory, bytes
of shared memory. Lines that OUT already has are kept, so that an interrupted run goes on. **Names, verdicts and figures only.**
"""
import csv
import glob
import json
import multiprocessing
import os
import sys

import isolated
import assignments

PACKAGES = ("conch-triton-kernels", "fla-core", "liger-kernel")
# Seconds of processor time for one kernel, and for each tool that is run for it.
LIMIT = 300
COLUMNS = ("path", "function", "verdict", "registers", "spill_bytes", "local_bytes", "shared_bytes")


def compile_row(oracle, module, path, row, target):
    """The line of one row; whatever becomes of the process that compiles it."""
    constants = {name: assignments.DTYPES.get(v, v) if isinstance(v, str) else v for name, v in json.loads(row["constexprs"]).items()}

    def work():
        try:
            return oracle.run(path, row["function"], json.loads(row["signature"]), constants, target, keep_cache=True, mod=module)
        except BaseException as error:
            return {"error": str(error)}

    answer = isolated.answer_of(work, LIMIT)
    if answer is None:
        return [path, row["function"], "limit", "", "", "", ""], "no answer within the limit"
    if answer.get("error") is not None or answer.get("stage") != "done":
        return [path, row["function"], "error", "", "", "", ""], (answer.get("error") or "")[-300:]
    return [path, row["function"], "ok", answer["regs"], answer["spills"], answer["stack"], answer["shared"]], None


def one(job):
    """The rows of one file, in a process of their own."""
    language, corpora, path, rows, target = job
    oracle, module = assignments.prepare(language, corpora, path)
    return [compile_row(oracle, module, path, row, target) for row in rows]


def main():
    language, corpora, out = (os.path.abspath(p) for p in sys.argv[1:4])
    target = sys.argv[4] if len(sys.argv) > 4 else "sm_90"
    done = set()
    if os.path.exists(out):
        with open(out, newline="") as known:
            done = {(r["path"], r["function"]) for r in csv.DictReader(known, delimiter="\t")}
    with open(os.path.join(language, "corpus_ttir.tsv"), newline="") as table:
        rows = [
            r for r in csv.DictReader(table, delimiter="\t")
            if r["corpus"] in PACKAGES and r["helper"] == "False" and r["verdict_3.6"] == "ok"
        ]
    files = {}
    for row in rows:
        if (row["path"], row["function"]) not in done and os.path.exists(os.path.join(corpora, row["path"])):
            files.setdefault(row["path"], []).append(row)
    jobs = [(language, corpora, path, rows, target) for path, rows in files.items()]
    print(f"{sum(map(len, files.values()))} of {len(rows)} kernels are left", file=sys.stderr)
    with multiprocessing.Pool(int(os.environ.get("JOBS", "2")), maxtasksperchild=1) as pool, open(out, "a") as file:
        if not done:
            print(*COLUMNS, sep="\t", file=file, flush=True)
        for line, problem in (answer for answers in pool.imap_unordered(one, jobs, chunksize=1) for answer in answers):
            print(*line, sep="\t", file=file, flush=True)
            if problem:
                print(f"{line[0]} {line[1]}: {problem}", file=sys.stderr, flush=True)
    with open(out) as file:
        head, *lines = file.read().splitlines()
    with open(out, "w") as file:
        file.writelines(line + "\n" for line in [head, *sorted(lines)])


if __name__ == "__main__":
    main()
