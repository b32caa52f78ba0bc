"""From how many loaded registers on loads go first (`codegen/src/llvm/loads_first.rs`), out of `bench/results/loads-first.tsv`.

    python3 bench/loads_first.py

Each line of the file is a launch of liger-kernel's and flash-linear-attention's tests, kept and replayed on an H200 (`bench/replay.py`): the
registers that a thread loads in the largest block of a loop and outside loops, µs without and with loads first in every block of at least
three loads, and Triton's µs. The launches are those that took more than 1/0.97 of Triton's time, so what is gained here is more than
elsewhere; a limit is therefore taken where the gain is plain, not where it begins. Each limit is judged on the launches that it alone decides.
"""

import csv
import math
from pathlib import Path

IN_LOOP, OUTSIDE = 6, 24
LIMITS = (0, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 1.0


def main():
    with open(Path(__file__).parent / "results" / "loads-first.tsv") as text:
        rows = list(csv.DictReader(text, delimiter="\t"))
    for row in rows:
        row["ratio"] = float(row["us_with"]) / float(row["us_without"])
    loops = [row for row in rows if int(row["in_loop"])]
    blocks = [row for row in rows if not int(row["in_loop"])]
    for title, column, part in (("in a loop", "in_loop", loops), ("outside loops", "outside", blocks)):
        print(f"\n| registers loaded {title} | launches | time with / without |\n|---|--:|--:|")
        for low, high in zip(LIMITS, (*LIMITS[1:], 1 << 30)):
            within = [row["ratio"] for row in part if low <= int(row[column]) < high]
            if within:
                print(f"| {low} to {high - 1} | {len(within)} | {mean(within):.3f} |" if high < 1 << 30 else f"| from {low} | {len(within)} | {mean(within):.3f} |")
    print("\n| loads first | time with / without |\n|---|--:|")

    def kept(in_loop, outside):
        taken = ((row, max(int(row["in_loop"]) >= in_loop, int(row["outside"]) >= outside)) for row in rows)
        return mean([row["ratio"] if first else 1.0 for row, first in taken])

    never = 1 << 30
    for name, limits in (
        ("nowhere", (never, never)),
        (f"in loops from {IN_LOOP}", (IN_LOOP, never)),
        (f"outside from {OUTSIDE}", (never, OUTSIDE)),
        ("both (what is built)", (IN_LOOP, OUTSIDE)),
        ("everywhere", (1, 1)),
    ):
        print(f"| {name} | {kept(*limits):.3f} |")


if __name__ == "__main__":
    main()
