"""`tritium tune` beside Triton's tuner, and beside measuring every row in full: matmul, attention, softmax, layer norm at three sizes each.

    python3 bench/tune.py path/to/tritium > bench/results/tune.md        (needs a GPU, PyTorch and Triton)

Each compiler begins with empty caches. Triton's wall time is that of the first launch of each size, which compiles and times every row; ours that of
the whole process of `tritium tune`. Then `tritium tune --exhaustive` times every row in full, FULL times: a row's time is the median of these, and
how far they differ by themselves is the noise. The short tuning runs SHORT times, the first of them with empty caches; the row that each chose is
held against the best.
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

SHORT, FULL = 3, 4
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
    rows, walls, losses, shares, device = [], [], [], [], ""
    for file in [PROGRAMS / f"{name}.py" for name in ["matmul", "attention", "softmax", "layer_norm"]]:
        with tempfile.TemporaryDirectory() as home:
            # In turn, so that what changes on the machine meanwhile is everybody's.
            wall, first = tune(tritium, file, home=home)
            short, full = [first], []
            for turn in range(FULL):
                full.append(tune(tritium, file, "--exhaustive", home=home)[1])
                if len(short) < SHORT:
                    short.append(tune(tritium, file, home=home)[1])
        device = first["device"]
        theirs = triton(file)
        walls.append((file.stem, wall, sum(seconds for _, seconds, _, _ in theirs)))
        for at, (size, _, _, best_of_triton) in enumerate(theirs):
            tried, measured = [one["launches"][at] for one in short], [one["launches"][at] for one in full]
            faults = [launch["fault"] for launch in tried + measured if launch["fault"]]
            if faults:
                print("FAULT", file.stem, size, *faults, file=sys.stderr)
                continue
            each = [timed(launch) for launch in measured]
            us = {row: statistics.median(times[row] for times in each) for row in each[0] if all(row in times for times in each)}
            fastest = min(us, key=us.get)
            of_fastest = [times[fastest] for times in each]
            noise = (max(of_fastest) - min(of_fastest)) / us[fastest]
            lost = [us[launch["rows"][0]["row"]] / us[fastest] - 1 for launch in tried]
            share = max(launch["timed_launches"] for launch in tried) / measured[0]["timed_launches"]
            losses.append(lost)
            shares.append(share)
            best, rivals = tried[0]["rows"][0], sum(1 for row in tried[0]["rows"] if row.get("time"))
            rows.append(
                f"| {file.stem} | {size} | {len(tried[0]['rows'])} | {rivals} | {label(best)} | {us[best['row']]:.1f} | {us[fastest]:.1f} "
                f"| {', '.join(f'{100 * loss:.1f}' for loss in lost)} % | {100 * noise:.1f} % | {100 * share:.0f} % | {best_of_triton * 1e3:.1f} |"
            )
    print(f"# `tritium tune` on {device}\n")
    print("Made by `bench/tune.py`. Times in µs with a cold L2; a row's time is the median of " f"{FULL} measurements in full, best is the least")
    print(f"of them; loss is what the row takes more that each of {SHORT} tunings chose; noise is how far the measurements of the best row are apart;")
    print("launches are those that were timed, of those of measuring every row in full. Triton's best is the time of its own compiler's code for")
    print("the row that its tuner chose.\n")
    print("| program | size | rows | timed | chosen | µs | best | loss | noise | launches | Triton's best |\n|---|---|---|---|---|---|---|---|---|---|---|")
    print("\n".join(rows))
    print("\n| program | `tritium tune`, s | Triton's tuner, s | ratio |\n|---|---|---|---|")
    for name, ours, other in walls:
        print(f"| {name} | {ours:.1f} | {other:.1f} | {other / ours:.1f} |")
    total = sum(t for _, _, t in walls) / sum(o for _, o, _ in walls)
    every = [loss for lost in losses for loss in lost]
    print(f"\nWorst loss {100 * max(every):.1f} %, of the first tunings {100 * max(lost[0] for lost in losses):.1f} %; {sum(loss <= 0.02 for loss in every)} of {len(every)} tunings within 2 %;")
    print(f"most launches {100 * max(shares):.0f} %, all three sizes of all programs {total:.1f}× sooner (the least {min(t / o for _, o, t in walls):.1f}×).")


if __name__ == "__main__":
    main(shutil.which(sys.argv[1]) or sys.argv[1])
