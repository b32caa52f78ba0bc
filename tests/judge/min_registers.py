#!/usr/bin/env python3
"""Searches the fewest registers with which ptxas does not spill what Triton makes of a kernel: a judge of the spill rule that says by how much an
estimate is off, where a verdict says only that it is.

    min_registers.py LANGUAGE_FOLDER CORPORA_FOLDER OUT.tsv SECONDS

Asks about the looked-at rows of `tests/data/accuracy/spills.triton.tsv` without a bound that take 72 registers or spill; arguments as
`record_spill_rows.py` takes them. Each kernel is compiled once, its PTX then given to Triton's own ptxas with other bounds, in steps of eight. One line a
kernel: the columns that name it, registers and bytes spilled without a bound, and the fewest registers without a spill (none where it always
does). Lines that OUT has are kept. **Names and figures only.**
"""
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import isolated
import assignments
import footprints
import records

LIMIT = 60
STEP = 8
MAX_REGISTERS = 255
NAMES = ("source", "file", "kernel", "args", "constexprs", "gpu", "num_warps", "num_stages")
COLUMNS = (*NAMES, "registers", "spill_bytes", "fewest")


def wanted(language):
    """The rows to ask about, each with what the judge is asked."""
    requests = {}
    with open(os.path.join(language, "corpus_ttir.tsv"), newline="") as table:
        for line in csv.DictReader(table, delimiter="\t"):
            if line["helper"] == "False":
                requests[line["path"], line["function"]] = (line["signature"], line["constexprs"])
    table = records.lines(os.path.join(footprints.ROOT, "tests/data/accuracy/spills.triton.tsv"))
    for row in csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE):
        row = {name: cell[1:-1].replace('""', '"') if cell[:1] == cell[-1:] == '"' else cell for name, cell in row.items()}
        if row["half"] != "tune" or row["verdict"] != "ok" or row["maxnreg"] or int(row["registers"]) < 72 and row["spill_bytes"] == "0":
            continue
        if row["source"] == "corpus":
            signature, constexprs = map(json.loads, requests[row["file"], row["kernel"]])
            request = (signature, {**constexprs, **json.loads(row["constexprs"] or "{}")})
        else:
            request = (json.loads(row["args"]), json.loads(row["constexprs"]))
        yield row, request


def spilled(ptxas, text, bound, arch, folder):
    """Bytes that are spilled with a bound, and the registers taken; `None` if ptxas says neither."""
    text = re.sub(r"\n\.maxnreg\s+\d+", "", text)
    source = os.path.join(folder, "bounded.ptx")
    with open(source, "w") as out:
        out.write(re.sub(r"(\n\.reqntid[^\n]*)", rf"\1\n.maxnreg {bound}", text, count=1))
    command = ["timeout", str(LIMIT), ptxas, "-v", f"--gpu-name={arch}", source, "-o", source + ".cubin"]
    said = subprocess.run(command, capture_output=True, text=True).stderr
    bytes_, registers = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", said), re.search(r"Used (\d+) registers", said)
    return (int(bytes_[1]) + int(bytes_[2]), int(registers[1])) if bytes_ and registers else None


def fewest(ptxas, text, arch, folder):
    """Registers and bytes without a bound, and the fewest registers without a spill."""
    free = spilled(ptxas, text, MAX_REGISTERS, arch, folder)
    if free is None or free[0] > 0:
        return (free[1], free[0], "") if free else ("", "", "")
    low, high = 3, (free[1] + STEP - 1) // STEP
    while low < high:
        middle = (low + high) // 2
        at = spilled(ptxas, text, min(middle * STEP, MAX_REGISTERS), arch, folder)
        if at is None:
            return free[1], 0, ""
        low, high = (low, middle) if at[0] == 0 else (middle + 1, high)
    return free[1], 0, min(high * STEP, MAX_REGISTERS)


def ask(language, corpora, row, request):
    path = os.path.join(corpora if row["source"] == "corpus" else footprints.ROOT, row["file"])
    oracle, module = assignments.prepare(language, corpora, row["file"] if row["source"] == "corpus" else path)
    signature, constexprs = request
    constexprs = {name: assignments.DTYPES.get(v, v) if isinstance(v, str) else v for name, v in constexprs.items()}
    options = {"num_warps": int(row["num_warps"]), "num_stages": int(row["num_stages"])}
    folder = tempfile.mkdtemp(prefix="fewest-")

    def work():
        answer = oracle.run(path, row["kernel"], signature, constexprs, row["gpu"], options, dump=folder, keep_cache=True, mod=module)
        return {"error": answer["error"] and str(answer["error"])[-200:]}

    try:
        isolated.answer_of(work, LIMIT)
        import triton

        ptxas = os.path.join(os.path.dirname(triton.__file__), "backends/nvidia/bin/ptxas")
        with open(os.path.join(folder, row["kernel"] + ".ptx")) as text:
            return fewest(ptxas, text.read(), "sm_90a" if row["gpu"] == "sm_90" else row["gpu"], folder)
    except FileNotFoundError:
        return "", "", ""
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    language, corpora, out = (os.path.abspath(p) for p in sys.argv[1:4])
    end, done = time.time() + float(sys.argv[4]), set()
    if os.path.exists(out):
        with open(out) as known:
            done = {tuple(line.split("\t")[: len(NAMES)]) for line in known}
    else:
        with open(out, "w") as table:
            table.write("\t".join(COLUMNS) + "\n")
    for row, request in wanted(language):
        names = tuple(row[name] for name in NAMES)
        if time.time() > end:
            return
        if names in done:
            continue
        done.add(names)
        child = os.fork()
        if child == 0:
            try:
                answer = ask(language, corpora, row, request)
                with open(out, "a") as table:
                    table.write("\t".join([*names, *map(str, answer)]) + "\n")
            except BaseException as error:
                print(f"{row['file']} {row['kernel']}: {error!r}", file=sys.stderr, flush=True)
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
