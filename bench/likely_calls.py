#!/usr/bin/env python3
"""What ptxas is asked beside its first call where cores are idle (`likely` in `runtime/src/worker/assembler.rs`), out of `bench/results/likely-calls.tsv`.

    python3 bench/likely_calls.py
    python3 bench/likely_calls.py --record PTX_FOLDER PTXAS

Each line of the file is a kernel of flash-linear-attention or liger-kernel as `tritium emit --stage ptx` writes it for one and for four warps (f32 tensors,
tiles of usual sizes): bytes of PTX, threads and shared bytes of a CTA, whether there are loops or products, whether loads stand behind a fence, and whether
steps exchange rows; then what the first call answers, registers and spilled bytes, and its milliseconds on two cores.

What is begun never decides what is taken. It gains the time of a second call where it is what is asked for next, and costs a core for as long where it is not.
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
# An H200's SM.
REGISTERS, WARPS, CTAS, SHARED = 65536, 64, 32, 228 << 10


def built(name):
    text = (REPOSITORY / "runtime/src/worker/assembler.rs").read_text()
    return int(re.search(rf"const {name}: \w+ = ([\d_]+);", text)[1].replace("_", ""))


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
        for path in sorted(Path(folder).glob("*.ptx")):
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


def registers_of_thread(warps):
    return min(255, REGISTERS // (32 * warps) // 8 * 8)


def roomy_ctas(row, registers):
    """As the function of that name in the worker."""
    warps = -(-row["threads"] // 32)
    shared = -(-(row["shared"] + 1024) // 128) * 128
    per_warp = -(-32 * registers // 256) * 256
    held = min(WARPS // warps, CTAS, REGISTERS // 4 // per_warp * 4 // warps, SHARED // shared)
    if not row["loops"] or held == 0 or held * warps == WARPS:
        return None
    ctas = min(held, built("ENOUGH_WARPS")) if row["threads"] <= 32 and row["rows_in_loops"] else held
    return ctas if registers_of_thread(warps * ctas) >= registers + built("LEAST_ROOM") else None


def table(title, chosen, limits, begins, asks, rows):
    print(f"\n| {title} | begun and asked for | begun for nothing | asked for, not begun |\n|---|--:|--:|--:|")
    told = lambda part: f"{len(part)} ({sum(row['ms'] for row in part) / 1e3:.1f} s)"
    for limit in limits:
        begun = [row for row in rows if begins(row, limit)]
        right = [row for row in begun if asks(row, begins(row, limit))]
        late = [row for row in rows if asks(row, None) and row not in right]
        wrong = [row for row in begun if row not in right]
        print(f"| {f'**{limit}**' if limit == chosen else limit} | {told(right)} | {told(wrong)} | {told(late)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", nargs=2, metavar=("PTX_FOLDER", "PTXAS"))
    arguments = parser.parse_args()
    if arguments.record:
        record(*arguments.record)
    with open(TABLE) as text:
        rows = [{key: float(value) if key == "ms" else value if key == "kernel" else int(value) for key, value in row.items()} for row in csv.DictReader(text, delimiter="\t")]
    print(f"{len(rows)} kernels, {sum(row['spilled'] > 0 for row in rows)} spill; in brackets what the first calls take.")

    def asked(row):
        return None if row["spilled"] else roomy_ctas(row, row["registers"])

    small = [row for row in rows if not (row["fence"] and row["bytes"] >= built("LARGE"))]
    table(
        "registers believed", built("LIKELY_REGISTERS"), range(32, 136, 8), roomy_ctas, lambda row, begun: asked(row) and begun in (None, asked(row)), small
    )
    fenced = [row for row in rows if row["fence"]]
    table(
        "bytes of PTX", built("LARGE"), (50_000, 75_000, 100_000, 125_000, 150_000, 200_000, 300_000),
        lambda row, limit: row["bytes"] >= limit, lambda row, _: row["spilled"] > 0, fenced,
    )  # fmt: skip


if __name__ == "__main__":
    main()
