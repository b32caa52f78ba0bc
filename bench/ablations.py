"""What limits of the compiler do to the launches that hang on them, out of tables in `bench/results`.

    python3 bench/ablations.py

Each line of a table is a launch of liger-kernel's and flash-linear-attention's tests whose machine code hangs on the limit, replayed on an H200 with
several values of it beside each other (`bench/replay.py`): `us_VALUE`, and Triton's µs. Each value is compared with the first.
Of `exchanging-warps` the last column, and of `exchanging-lanes` the middle one, is from a run of its own, scaled by Triton's time in both; in `rows-first` nothing takes a fence back that spills.
Triton's time in `enough-warps` and `slow-launches` is that of the run that kept the launch; `slow-launches` is from before `enough-warps` and the bound of `flatten_branches`.
`sunk-copies` has launches whose loops carry much or have several products, which are left out now. `taken-back` has the launches that a run with all of these rules found below 0.95, so it shows what they cost.
`scratch-apart` compares two runs of both suites, with other rules between them, Triton's time brought to one. `columns-of-loops` compares two such runs as well, of recurrences, in which every trip loads (built is what loads little, `MAX_LOADED_FOR_ROWS`).
`rules-of-november-28` has of the launches of a run whose code changed
those below 0.95 and one in nine of the others, so it shows what the rules cost too.
"""

import csv
import math
import re
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
CODEGEN = "codegen/src"
#: By table: what it is about, and the file and the constant that the value comes from. Without a constant the last value is built.
TABLES = {
    "stores": ("stores computed in turns", "llvm/order.rs", "TOGETHER"),
    "whole-offsets": ("elements a thread up to which 64-bit offsets outside loops stay whole", "passes/split_addresses.rs", "WHOLE_UP_TO"),
    "whole-comparisons": ("the same of comparisons", "passes/split_addresses.rs", "WHOLE_UP_TO"),
    "early-loads": ("registers of loads that go in front of barriers, a block's first loads among them: less than", "llvm/loads_first.rs", "LEAST_OUTSIDE"),
    "stored-statistics": ("elements a thread up to which row statistics are stored as they lie outside loops", "passes/assign_layouts.rs", "MAX_LAST_ELEMENTS_PER_THREAD"),
    "exchanging-warps": ("warps up to which all exchange what one would be enough for", "llvm/reduce.rs", "MAX_WARPS_TOGETHER"),
    "rows-first": ("numbers that a thread exchanges from which on a fence stands behind them", "llvm/rows_first.rs", "LEAST"),
    "loads-beside-products": ("registers of loads that go first outside loops of kernels with products: from", "llvm/loads_first.rs", "LEAST_BESIDE_PRODUCTS"),
    "exchanging-lanes": ("shuffles up to which lanes exchange what would go through shared memory", "../../tile/src/layout/convert.rs", "MAX_SHUFFLES"),
    "freed-registers": ("registers fewer spilled from which on loads stand where ptxas likes", "../../runtime/src/worker/assembler.rs", "LEAST_FREED"),
    "reduced-runs": ("accesses of 8 bytes of a row that a thread takes if rows are reduced", "passes/coalesce.rs", None),
    "atomic-bytes": ("bytes side by side that a thread adds to memory where halves are loaded", "passes/coalesce.rs", None),
    "enough-warps": ("warps of an SM that ptxas leaves room for in straight-line code that exchanges rows (0: as it likes)", "../../runtime/src/worker/assembler.rs", "ENOUGH_WARPS"),
    "enough-warps-in-loops": ("the same where steps of a loop exchange rows (built for CTAs of one warp)", "../../runtime/src/worker/assembler.rs", "ENOUGH_WARPS"),
    "slow-launches": ("rules read off slow launches on 2026-11-27, all together (0: without)", "passes/flatten_branches.rs", None),
    "early-part": ("part of a thread's registers that early loads may fill: one in", "llvm/early_loads.rs", "PART"),
    "loaded-addresses": ("loads whose addresses are loaded go first outside loops (0: they do not)", "llvm/loads_first.rs", None),
    "proxy-fences": ("a proxy fence behind asynchronous copies (0: none)", "passes/place_fences.rs", None),
    "sized-copies": ("the size of an asynchronous copy is selected by an instruction of its own (0: by LLVM)", "llvm/asynchronous.rs", None),
    "taken-back": ("rules of 2026-11-27 of which most were taken back, all together (0: without)", "passes/sink_copies.rs", None),
    "sunk-copies": ("stages from which on a trip's copies stand behind its reads (0: in front)", "passes/sink_copies.rs", "LEAST_STAGES"),
    "scratch-apart": ("scratch of its own for each operation where as many CTAs fit (0: shared)", "passes/assign_shared.rs", None),
    "rules-of-november-28": ("rules of 2026-11-28, all together (0: without)", "passes/share_fma_operands.rs", None),
    "rows-of-fma": ("rows of products by single threads trade places, four steps at a time (0: they do not)", "../../tile/src/layout/fma.rs", None),
    "columns-of-loops": ("each column that a loop sums up in one warp, whatever is loaded beside it (0: where it is stored)", "passes/assign_layouts.rs", None),
    "few-loads": ("two loads of a step without products stand free (0: in front of a fence)", "llvm/loads_first.rs", None),
    "torn-sectors": ("tiles that lanes would store in parts of sectors go through shared memory outside loops (0: they do not)", "passes/assign_layouts.rs", None),
    "as-many": ("ptxas is told the CTAs that it has chosen where there are loops or products (0: it is not; built where they leave a thread eight registers more)", "../../runtime/src/worker/assembler.rs", None),
    "most-loaded": ("registers of loads that go first, at most (built: those of a thread)", "llvm/loads_first.rs", None),
}


def main():
    for table, (about, source, name) in TABLES.items():
        with open(REPOSITORY / f"bench/results/{table}.tsv") as text:
            rows = list(csv.DictReader(text, delimiter="\t"))
        columns = [column for column in rows[0] if re.fullmatch(r"us_\d+", column)]
        limit = re.search(rf"const {name}: \w+ = (\d+);", (REPOSITORY / CODEGEN / source).read_text())
        built = f"us_{limit[1]}" if limit else columns[-1]
        print(f"\n| {about} | Triton's time / ours | below 0.95 | below 0.85 | least and most time beside {columns[0][3:]} |\n|---|--:|--:|--:|--:|")
        for column in columns:
            speeds = [float(row["us_triton"]) / float(row[column]) for row in rows]
            beside = [float(row[column]) / float(row[columns[0]]) for row in rows]
            mean = math.exp(sum(map(math.log, speeds)) / len(speeds))
            mark = " (built)" if column == built else ""
            slow = [sum(speed < limit for speed in speeds) for limit in (0.95, 0.85)]
            print(f"| {column[3:]}{mark} | {mean:.3f} | {slow[0]} of {len(rows)} | {slow[1]} | {min(beside):.2f} to {max(beside):.2f} |")


if __name__ == "__main__":
    main()
