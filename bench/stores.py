"""How many stores are computed at the same time (`TOGETHER` of `codegen/src/llvm/order.rs`), out of `bench/results/stores.tsv`.

    python3 bench/stores.py

Each line of the file is a launch of liger-kernel's and flash-linear-attention's tests whose machine code hangs on it, replayed on an H200 with one, two
and four stores in turns beside each other (`bench/replay.py`), and Triton's µs. Most of them are launches that were below Triton's speed at some time.
"""

import csv
import math
import re
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent


def main():
    text = (REPOSITORY / "codegen/src/llvm/order.rs").read_text()
    built = int(re.search(r"const TOGETHER: usize = (\d+);", text)[1])
    with open(REPOSITORY / "bench/results/stores.tsv") as text:
        rows = list(csv.DictReader(text, delimiter="\t"))
    print("| in turns | Triton's time / ours | below 0.95 | below 0.85 | least and most time beside one |\n|---|--:|--:|--:|--:|")
    for column in [name for name in rows[0] if re.fullmatch(r"us_\d+", name)]:
        speeds = [float(row["us_triton"]) / float(row[column]) for row in rows]
        beside = [float(row[column]) / float(row["us_1"]) for row in rows]
        mean = math.exp(sum(map(math.log, speeds)) / len(speeds))
        mark = " (built)" if column == f"us_{built}" else ""
        slow = [sum(speed < limit for speed in speeds) for limit in (0.95, 0.85)]
        print(f"| {column[3:]}{mark} | {mean:.3f} | {slow[0]} of {len(rows)} | {slow[1]} | {min(beside):.2f} to {max(beside):.2f} |")


if __name__ == "__main__":
    main()
