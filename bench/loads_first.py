"""From how many loaded registers on loads go first (`codegen/src/llvm/loads_first.rs`), out of `bench/results/loads-first.tsv`.

    python3 bench/loads_first.py

Each line of the file is a launch of liger-kernel's and flash-linear-attention's tests, kept and replayed on an H200 (`bench/replay.py`): the
registers that a thread loads in the largest block of a loop and outside loops, µs without and with loads first in every block of at least
three loads, and Triton's µs. (The variant was made of the PTX by moving its lines as that file moves LLVM's.) The launches are those that took more than 1/0.97 of Triton's time, so what is gained here is more than
elsewhere; a limit is therefore taken where the gain is plain, not where it begins. Each limit is judged on the launches that it alone decides.
"""

import csv
import math
import re
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
NEVER = 1 << 30
LIMITS = (0, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 1.0


def built():
    """The limits that are in the compiler."""
    text = (REPOSITORY / "codegen/src/llvm/loads_first.rs").read_text()
    return [int(re.search(rf"const LEAST_{where}: u32 = (\d+);", text)[1]) for where in ("IN_LOOP", "OUTSIDE")]


def main():
    in_loops, outside = built()
    with open(REPOSITORY / "bench/results/loads-first.tsv") as text:
        rows = list(csv.DictReader(text, delimiter="\t"))
    for row in rows:
        row["ratio"] = float(row["us_with"]) / float(row["us_without"])
    loops = [row for row in rows if int(row["in_loop"])]
    blocks = [row for row in rows if not int(row["in_loop"])]
    for title, column, part in (("in a loop", "in_loop", loops), ("outside loops", "outside", blocks)):
        print(f"\n| registers loaded {title} | launches | time with / without |\n|---|--:|--:|")
        for low, high in zip(LIMITS, (*LIMITS[1:], NEVER)):
            within = [row["ratio"] for row in part if low <= int(row[column]) < high]
            which = f"{low} to {high - 1}" if high < NEVER else f"from {low}"
            if within:
                print(f"| {which} | {len(within)} | {mean(within):.3f} |")
    print("\n| loads first | time with / without |\n|---|--:|")

    def kept(least_in_loop, least_outside):
        first = lambda row: int(row["in_loop"]) >= least_in_loop or int(row["outside"]) >= least_outside
        return mean([row["ratio"] if first(row) else 1.0 for row in rows])

    for name, limits in (
        ("nowhere", (NEVER, NEVER)),
        (f"in loops from {in_loops}", (in_loops, NEVER)),
        (f"outside from {outside}", (NEVER, outside)),
        ("both (what is built)", (in_loops, outside)),
        ("everywhere", (1, 1)),
    ):
        print(f"| {name} | {kept(*limits):.3f} |")


if __name__ == "__main__":
    main()
