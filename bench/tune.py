"""`tritium tune` beside Triton's tuner, and beside measuring every row in full: matmul, attention, softmax, layer norm at three sizes each.

    python3 bench/tune.py path/to/tritium > bench/results/tune.md        (needs a GPU, PyTorch and Triton)

Each compiler begins with empty caches. Triton's wall time is that of the first launch of each size, which compiles and times every row; ours that of
the whole process of `tritium tune`. Then `tritium tune --exhaustive` times every row in full, twice: the row that the short tuning chose is held
against the best of the first, and the second says how far two such measurements differ by themselves.
"""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAMS = pathlib.Path(__file__).parent / "tuning"


def tune(tritium, file, *more, home):
    start = time.monotonic()
    done = subprocess.run(
        [tritium, "tune", str(file), "--device", "cuda:0", "--output-format", "json", "--timeout", "280", *more],
        capture_output=True,
        text=True,
        env={**os.environ, "XDG_CACHE_HOME": home},
    )
    wall = time.monotonic() - start
    if not done.stdout:
        sys.exit(f"{file}: {done.stderr}")
    return wall, json.loads(done.stdout)


def triton(file):
    """Wall seconds of each size's first launch, and the row that was chosen."""
    code = f"""
import importlib.util, json, time, torch
spec = importlib.util.spec_from_file_location("program", {str(file)!r})
program = importlib.util.module_from_spec(spec)
spec.loader.exec_module(program)
torch.randn(1, device="cuda")
out = []
for size in program.SIZES:
    torch.cuda.synchronize()
    real = program.KERNEL.run
    taken = []
    def run(*args, **kwargs):
        torch.cuda.synchronize()
        start = time.monotonic()
        result = real(*args, **kwargs)
        torch.cuda.synchronize()
        taken.append(time.monotonic() - start)
        return result
    program.KERNEL.run = run
    program.run(size)
    program.KERNEL.run = real
    out.append((size, taken[0], str(program.KERNEL.best_config), min(t[0] for t in program.KERNEL.configs_timings.values())))
print(json.dumps(out))
"""
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "TRITON_CACHE_DIR": cache}
        )
    if done.returncode:
        sys.exit(f"{file}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def label(row):
    meta = " ".join(f"{name}={value}" for name, value in row["meta"])
    return f"{meta} warps={row['num_warps']} stages={row['num_stages']}"


def timed(launch):
    return {row["row"]: row["time"]["median_us"] for row in launch["rows"] if row.get("time")}


def main(tritium):
    rows, walls, losses, shares = [], [], [], []
    for file in [PROGRAMS / f"{name}.py" for name in ["matmul", "attention", "softmax", "layer_norm"]]:
        with tempfile.TemporaryDirectory() as home:
            wall, short = tune(tritium, file, home=home)
            _, full = tune(tritium, file, "--exhaustive", home=home)
            _, again = tune(tritium, file, "--exhaustive", home=home)
        theirs = triton(file)
        of_triton = sum(seconds for _, seconds, _, _ in theirs)
        walls.append((file.stem, wall, of_triton))
        for (size, _, chosen, best_of_triton), one, all_rows, twice in zip(
            theirs, short["launches"], full["launches"], again["launches"]
        ):
            best, measured, repeated = one["rows"][0], timed(all_rows), timed(twice)
            if one["fault"] or all_rows["fault"]:
                print("FAULT", file.stem, size, one["fault"], all_rows["fault"], file=sys.stderr)
                continue
            fastest = min(measured, key=measured.get)
            # Both measurements count: what differs between them is no loss.
            both = {row: (measured[row] + repeated[row]) / 2 for row in measured if row in repeated}
            loss = both[best["row"]] / min(both.values()) - 1
            share = one["timed_launches"] / all_rows["timed_launches"]
            noise = abs(measured[fastest] / repeated.get(fastest, measured[fastest]) - 1)
            losses.append(loss)
            shares.append(share)
            tried = sum(1 for row in one["rows"] if row.get("time"))
            rows.append(
                f"| {file.stem} | {size} | {len(one['rows'])} | {tried} | {label(best)} | {both[best['row']]:.1f} | {min(both.values()):.1f} "
                f"| {100 * loss:.1f} % | {100 * noise:.1f} % | {100 * share:.0f} % | {best_of_triton * 1e3:.1f} |"
            )
    print(f"# `tritium tune` on {short['device']}\n")
    print("Made by `bench/tune.py`. Times in µs with a cold L2; best is that of every row measured in full, twice; loss is what the chosen row")
    print("takes more; noise is how much the two measurements of the best row differ; launches are those that were timed, of those of")
    print("measuring every row in full. Triton's best is the time of its own compiler's code for the row that its tuner chose.\n")
    print("| program | size | rows | timed | chosen | µs | best | loss | noise | launches | Triton's best |\n|---|---|---|---|---|---|---|---|---|---|---|")
    print("\n".join(rows))
    print("\n| program | `tritium tune`, s | Triton's tuner, s | ratio |\n|---|---|---|---|")
    for name, ours, other in walls:
        print(f"| {name} | {ours:.1f} | {other:.1f} | {other / ours:.1f} |")
    total = sum(t for _, _, t in walls) / sum(o for _, o, _ in walls)
    print(f"\nWorst loss {100 * max(losses):.1f} %, most launches {100 * max(shares):.0f} %, all three sizes of all programs {total:.1f}× sooner")
    print(f"(the least {min(t / o for _, o, t in walls):.1f}×); median loss {100 * statistics.median(losses):.1f} %.")


if __name__ == "__main__":
    main(shutil.which(sys.argv[1]) or sys.argv[1])
