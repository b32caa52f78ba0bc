#!/usr/bin/env python3
"""Records what decides about the calls of ptxas for a kernel, and what its first call answers, into `bench/results/likely-calls.tsv`.

    python3 bench/likely_calls.py PTX_FOLDER PTXAS

The kernels are those of flash-linear-attention and liger-kernel as `tritium emit --stage ptx` writes them for one and for four warps (f32 tensors, tiles of
usual sizes). Of each: bytes of PTX, threads and shared bytes of a CTA, whether there are loops or products, whether loads stand behind a fence, and whether
steps exchange rows; then registers, spilled bytes, and milliseconds on two cores. The tests of `runtime/src/worker/assembler/likely.rs` choose by it.
"""

import argparse
import csv
import re
import subprocess
import time
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
TABLE = REPOSITORY / "bench/results/likely-calls.tsv"
COLUMNS = ["kernel", "bytes", "threads", "shared", "loops", "fence", "rows_in_loops", "registers", "spilled", "ms"]


def exchanges_rows_in_loops(ptx):
    labels, exchanges = {}, 0
    for line in map(str.strip, ptx.splitlines()):
        if line.endswith(":"):
            labels[line[:-1]] = exchanges
        elif line.startswith("shfl.sync"):
            exchanges += 1
        elif line.endswith(";") and (words := line[:-1].split()) and labels.get(words[-1], exchanges) < exchanges:
            return True
    return False


def record(folder, ptxas):
    with open(TABLE, "w", newline="") as out:
        rows = csv.writer(out, delimiter="\t", lineterminator="\n")
        rows.writerow(COLUMNS)
        for path in sorted(folder.glob("*.ptx")):
            ptx = path.read_text()
            if ".maxnreg" in ptx:
                continue
            begin = time.perf_counter()
            said = subprocess.run([ptxas, "-v", "--gpu-name", "sm_90a", path, "-o", "/dev/null"], capture_output=True, text=True).stderr
            ms = 1e3 * (time.perf_counter() - begin)
            used = re.search(r"Used (\d+) registers", said)
            shared = re.search(r"bytes of shared memory of a CTA: (\d+)", ptx)
            if used:
                spilled = sum(map(int, re.findall(r"(\d+) bytes spill", said)))
                loops = any(work in ptx for work in ("$L__BB", "mma.sync", "wgmma"))
                threads = int(re.search(r"\.maxntid (\d+)", ptx)[1])
                flags = [int(loops), int("pmevent.mask 0;" in ptx), int(exchanges_rows_in_loops(ptx))]
                rows.writerow([path.stem, len(ptx), threads, int(shared[1]) if shared else 0, *flags, int(used[1]), spilled, round(ms, 1)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("ptxas")
    arguments = parser.parse_args()
    record(arguments.folder, arguments.ptxas)
