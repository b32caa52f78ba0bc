"""Up to how many bytes a trip loads run ahead in loops without a product (`MAX_BYTES` of `codegen/src/passes/version_loops.rs`), out of
`bench/results/ahead.tsv`.

    python3 bench/ahead.py

Each line of the file is a launch of liger-kernel's and flash-linear-attention's tests on an H200: the bytes that a CTA loads on one trip, µs without and
with loads ahead, and Triton's µs. Recurrences were replayed beside each other (`bench/replay.py`); the others are of two runs of the suites, the first
one's µs times what Triton's kernel took longer in the second. Loads ran ahead in all of them, whatever their size.
"""

import csv
import math
import re
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
LIMITS = (0, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 1 << 30)


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 1.0


def main():
    text = (REPOSITORY / "codegen/src/passes/version_loops.rs").read_text()
    built = int(re.search(r"const MAX_BYTES: u64 = (\d+);", text)[1])
    with open(REPOSITORY / "bench/results/ahead.tsv") as text:
        rows = [(int(row["bytes"]), float(row["us_with"]) / float(row["us_without"])) for row in csv.DictReader(text, delimiter="\t")]
    print("| bytes a trip | launches | time with / without | of all, if ahead up to there |\n|---|--:|--:|--:|")
    for low, high in zip(LIMITS, LIMITS[1:]):
        within = [ratio for size, ratio in rows if low < size <= high]
        all_of_them = mean([ratio if size <= high else 1.0 for size, ratio in rows])
        mark = " (built)" if high == built else ""
        print(f"| {low + 1} to {high}{mark} | {len(within)} | {mean(within):.3f} | {all_of_them:.3f} |")


if __name__ == "__main__":
    main()
