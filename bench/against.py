"""The programs of `examples/programs` by `tritium bench --against triton,torch`: ours, Triton's, and what PyTorch takes for the expressions that they hold
their results against.

    python3 bench/against.py path/to/tritium [PROGRAM …] > bench/results/against.md        (needs a GPU, PyTorch and Triton)

All times are medians with a cold L2. PyTorch's are those of a CUDA graph of the expression, so that what Python needs for each operation does not count.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
LIMIT_SECONDS = 120
# Of everything: what is not begun by then is told.
LIMIT_OF_ALL_SECONDS = 480


def main(tritium, wanted):
    rows, together, failed, versions = [], [], [], {}
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    # The Python that runs this is the one that is asked.
    environment["PATH"] = f"{pathlib.Path(sys.executable).parent}:{environment['PATH']}"
    begin = time.monotonic()
    for file in sorted((ROOT / "examples" / "programs").glob("*.py")):
        if wanted and file.stem not in wanted:
            continue
        if time.monotonic() - begin > LIMIT_OF_ALL_SECONDS:
            failed.append(f"{file.stem}: not begun, as {LIMIT_OF_ALL_SECONDS} s were over")
            continue
        command = [tritium, "bench", str(file), "--against", "triton,torch", "--output-format", "json", "--timeout", str(LIMIT_SECONDS)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=3 * LIMIT_SECONDS, env=environment)
        except subprocess.TimeoutExpired:
            failed.append(f"{file.stem}: stopped")
            continue
        said = done.stderr.strip().splitlines()
        if done.returncode or not done.stdout:
            failed.append(f"{file.stem}: exit status {done.returncode}: {said[-1] if said else ''}")
        if not done.stdout:
            continue
        document = json.loads(done.stdout)
        for row in document["rows"]:
            other = {against["what"].split()[0]: against["time"]["median_us"] for against in row.get("against", [])}
            versions.update((against["what"].split()[0], against["what"]) for against in row.get("against", []))
            if row.get("timing") and other:
                rows.append((file.stem, row["launch"], row["device"], row["timing"]["cold"]["median_us"], other.get("triton"), other.get("torch")))
        for one in document["together"]:
            together.append((file.stem, ", ".join(one["launches"]), one["own_us"], one["against"]["time"]["median_us"]))
    print(f"# Programs beside Triton and PyTorch on {rows[0][2] if rows else '?'}\n")
    print(f"Made by `bench/against.py` with {', '.join(versions.values())}. Medians in µs with a cold L2; ratios are how many times as long the others take.\n")
    print("| program | launch | Tritium | Triton | ratio | PyTorch | ratio |\n|---|---|---:|---:|---:|---:|---:|")
    cell = lambda us: "" if us is None else f"{us:.2f}"
    ratio = lambda us, own: "" if us is None else f"{us / own:.2f}"
    for program, launch, _, own, triton, torch in rows:
        print(f"| {program} | `{launch}` | {own:.2f} | {cell(triton)} | {ratio(triton, own)} | {cell(torch)} | {ratio(torch, own)} |")
    print("\nWhat takes the place of several launches:\n\n| program | launches | Tritium, together | PyTorch | ratio |\n|---|---|---:|---:|---:|")
    for program, launches, own, torch in together:
        print(f"| {program} | `{launches}` | {cell(own)} | {torch:.2f} | {'' if own is None else ratio(torch, own)} |")
    print(f"\n{len(rows)} launches; {sum(row[4] is not None for row in rows)} beside Triton's, {sum(row[5] is not None for row in rows)} beside an expression of")
    print(f"PyTorch's, {len(together)} expressions that take the place of several.")
    for line in failed:
        print(f"\nFailed: {line}")
        print(line, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(shutil.which(sys.argv[1]) or sys.argv[1], sys.argv[2:]))
