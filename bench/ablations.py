"""What limits of the compiler do to the launches that hang on them, out of tables in `bench/results`.

    python3 bench/ablations.py

Each line of a table is a launch of liger-kernel's and flash-linear-attention's tests whose machine code hangs on the limit, replayed on an H200 with
several values of it beside each other (`bench/replay.py`): `us_VALUE`, and Triton's µs. Each value is compared with the first.
"""

import csv
import math
import re
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
CODEGEN = "codegen/src"
#: By table: what it is about, the file and the constant that the value comes from, and what is added to the constant.
TABLES = {
    "stores": ("stores computed in turns", "llvm/order.rs", "TOGETHER", 0),
    "whole-offsets": ("elements a thread up to which 64-bit offsets outside loops stay whole", "passes/split_addresses.rs", "WHOLE_UP_TO", 0),
    "early-loads": ("registers of loads that go in front of barriers, a block's first loads among them", "llvm/loads_first.rs", "LEAST_OUTSIDE", -1),
    "most-loaded": ("registers of loads that go first, at most", "llvm/loads_first.rs", "MOST", 0),
}


def main():
    for table, (about, source, name, more) in TABLES.items():
        text = (REPOSITORY / CODEGEN / source).read_text()
        built = int(re.search(rf"const {name}: \w+ = (\d+);", text)[1]) + more
        with open(REPOSITORY / f"bench/results/{table}.tsv") as text:
            rows = list(csv.DictReader(text, delimiter="\t"))
        columns = [column for column in rows[0] if re.fullmatch(r"us_\d+", column)]
        print(f"\n| {about} | Triton's time / ours | below 0.95 | below 0.85 | least and most time beside {columns[0][3:]} |\n|---|--:|--:|--:|--:|")
        for column in columns:
            speeds = [float(row["us_triton"]) / float(row[column]) for row in rows]
            beside = [float(row[column]) / float(row[columns[0]]) for row in rows]
            mean = math.exp(sum(map(math.log, speeds)) / len(speeds))
            mark = " (built)" if column == f"us_{built}" else ""
            slow = [sum(speed < limit for speed in speeds) for limit in (0.95, 0.85)]
            print(f"| {column[3:]}{mark} | {mean:.3f} | {slow[0]} of {len(rows)} | {slow[1]} | {min(beside):.2f} to {max(beside):.2f} |")


if __name__ == "__main__":
    main()
