"""Runs a project's own test-suite under `python -m tritium`, file by file, and writes what came of it as a table.

    python bench/suites.py FOLDER PATTERN … --mode 1 --jobs 8 --seconds 100 --out bench/results/NAME.md --title "liger-kernel 0.8.5"

FOLDER is a checkout of the project, fetched by whoever asks; PyTorch with Triton and what the tests import must be installed beside the wheel of
Tritium. `--mode 1` is on a GPU; what does not pass there runs under Triton alone too. `--split N` deals the tests of a file out to N processes, `--mode verify` compares every first launch with Triton's, `--mode bench`
times both too (with jobs beside one another times say little); `--mode cpu` needs neither Triton nor a GPU, and tests that do skip themselves. No file gets
more than so many seconds for each.
"""

import argparse
import collections
import concurrent.futures
import csv
import json
import math
import os
import queue
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from xml.etree import ElementTree

# A plugin of pytest that keeps the share of the tests that the environment names: "1/4" is every fourth, from the second on; or those of a list.
DEALT = """
import os

def pytest_collection_modifyitems(items):
    at, of = map(int, os.environ["DEALT_SHARE"].split("/"))
    items[:] = items[at::of]
    if named := os.environ.get("DEALT_NAMES"):
        with open(named) as text:
            wanted = set(text.read().splitlines())
        items[:] = [item for item in items if item.name in wanted]
"""


def ran(path, folder, mode, seconds, sources, extra, gpu=None, share=(0, 1), names=None):
    """Outcomes by test, the report of Tritium, and the last words."""
    with tempfile.TemporaryDirectory() as caches:
        report = os.path.join(caches, "report.json")
        tool = ["-m", "tritium", "-m", "pytest"] if mode != "0" else ["-m", "pytest"]
        results = os.path.join(caches, "results.xml")
        Path(caches, "dealt.py").write_text(DEALT)
        command = [sys.executable, *tool, "-q", "-p", "no:cacheprovider", "-p", "dealt", f"--junitxml={results}", *extra, str(path)]
        paths = [caches, *(str(folder / source) for source in sources), os.environ.get("PYTHONPATH", "")]
        env = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "DEALT_SHARE": f"{share[0]}/{share[1]}",
            "TRITIUM": mode,
            "TRITIUM_REPORT": report,
            "TRITIUM_CACHE": os.path.join(caches, "tritium"),
            "TRITON_CACHE_DIR": os.path.join(caches, "triton"),
        }
        if gpu:
            env["CUDA_VISIBLE_DEVICES"] = gpu
        if names:
            Path(caches, "names").write_text("\n".join(names))
            env["DEALT_NAMES"] = str(Path(caches, "names"))
        process = subprocess.Popen(
            command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True
        )
        text = ""
        # Interrupted, pytest still says what has passed, and the report is written.
        for wait, how in ((seconds, signal.SIGINT), (15, signal.SIGKILL), (None, None)):
            try:
                text = process.communicate(timeout=wait)[0]
                break
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, how)
        outcomes = {}
        # One that is interrupted may have no name.
        for case in ElementTree.parse(results).iterfind(".//testcase[@name]") if os.path.exists(results) else ():
            wrong = [child for child in case if child.tag in ("failure", "error", "skipped")]
            outcome = (wrong[0].tag, (wrong[0].get("message") or "").split("\n")[0][:110]) if wrong else ("passed", "")
            outcomes[f"{case.get('classname')}::{case.get('name')}"] = outcome
        kernels = []
        if os.path.exists(report):
            with open(report) as read:
                kernels = json.load(read)["kernels"]
        return outcomes, kernels, text[-3000:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("patterns", nargs="+")
    parser.add_argument("--mode", choices=["1", "verify", "bench", "cpu"], default="1")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--gpus", help="numbers of the GPUs that the jobs are dealt out to: 0,1")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--split", type=int, default=1, help="processes that the tests of a file are dealt out to")
    parser.add_argument("--of", type=int, default=1, help="run one test of so many")
    parser.add_argument("--source", action="append", default=[], help="folder of the checkout that Python imports from")
    parser.add_argument("--pytest", action="append", default=[], help="a further argument of pytest")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--csv", type=Path, help="every judged specialisation")
    parser.add_argument("--title", default="A test-suite")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    files = sorted({path for pattern in arguments.patterns for path in folder.glob(pattern)})
    shares = [(path, (split * arguments.of, arguments.split * arguments.of)) for path in files for split in range(arguments.split)]

    # Whoever stops it (`timeout`) gets the table of what was run by then.
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())

    gpus = arguments.gpus.split(",") if arguments.gpus else [None]
    free = queue.SimpleQueue()
    for place in range(arguments.jobs):
        free.put(gpus[place % len(gpus)])

    def job(job):
        gpu = free.get()
        try:
            return on_gpu(job, gpu)
        finally:
            free.put(gpu)

    def on_gpu(job, gpu):
        path, share = job
        if stopped.is_set():
            return ({}, [], "not begun"), {}
        call = lambda mode, names=None: ran(path, folder, mode, arguments.seconds, arguments.source or ["."], arguments.pytest, gpu, share, names)
        ours = call(arguments.mode)
        # Under verify and bench programs go on with Triton's results: what they pass says nothing new.
        wrong = [test.partition("::")[2] for test, outcome in ours[0].items() if outcome[0] in ("failure", "error")] if arguments.mode == "1" else []
        return ours, call("0", wrong)[0] if wrong else {}

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        done = collections.defaultdict(list)
        for (path, _), result in zip(shares, pool.map(job, shares)):
            done[path].append(result)
    rows, trials = [], []
    lost, causes, failures = (collections.Counter() for _ in range(3))
    totals = collections.Counter()
    for path in files:
        ours, kernels, alone, text = {}, [], {}, ""
        for (outcomes, told, last), triton in done[path]:
            ours.update(outcomes)
            kernels += told
            alone.update(triton)
            text = text if outcomes else last
        passed = [test for test, outcome in ours.items() if outcome[0] == "passed"]
        wrong = sorted(test for test, outcome in alone.items() if outcome[0] == "passed")
        lost.update((test.partition("[")[0], " ".join(ours[test])) for test in wrong)
        failures.update((test.partition("[")[0], " ".join(outcome)) for test, outcome in ours.items() if outcome[0] in ("failure", "error"))
        by = collections.Counter()
        for kernel in kernels:
            by[kernel["by"]] += kernel["specialisations"]
            if kernel["refused"]:
                causes[re.sub(r"`[^`]*`", "`…`", kernel["refused"])[:140]] += kernel["specialisations"]
            trials += [(kernel["name"], trial) for trial in kernel["comparisons"]]
        totals.update({"passed": len(passed), "lost": len(wrong), "tritium": by["tritium"], "triton": by["triton"]})
        end = "" if kernels else " no report: " + " ".join(text.split()[-12:]) if not ours else ""
        rows.append(f"| {path.stem.removeprefix('test_')} | {len(passed)} | {len(wrong)} | {by['tritium']} | {by['triton']} | {end.strip()} |")
    ran_what = (
        f"{totals['passed']} tests pass under Tritium in that time; of those that fail, {totals['lost']} pass under Triton alone."
        if arguments.mode == "1"
        else f"{totals['passed']} tests passed in that time, every launch under checks, against PyTorch's results on the CPU."
        if arguments.mode == "cpu"
        else f"Programs go on with Triton's results: the {totals['passed']} tests that passed in that time say which launches were made."
    )
    share = totals["tritium"] / max(1, totals["tritium"] + totals["triton"])
    lines = [
        f"# {arguments.title} on {'the CPU' if arguments.mode == 'cpu' else 'a GPU'}",
        "",
        f"Made by `bench/suites.py`: its own tests under `python -m tritium` (`TRITIUM={arguments.mode}`), "
        f"at most {arguments.seconds:.0f} s for each file"
        + (f" in each of {arguments.split} processes" if arguments.split > 1 else "")
        + (f", one test of {arguments.of}" if arguments.of > 1 else "")
        + f". {ran_what}"
        + (f" Tritium compiled {totals['tritium']} of {totals['tritium'] + totals['triton']} specialisations ({100 * share:.1f} %)." if arguments.mode != "cpu" else ""),
        "",
        "| tests | pass | pass under Triton alone only | specialisations | compiled by Triton | |",
        "|---|--:|--:|--:|--:|---|",
        *rows,
        "",
    ]
    for title, told in (
        ("Pass under Triton alone:", [f"{count}: `{test}`: {outcome}" for (test, outcome), count in lost.most_common(60)]),
        ("Failures, by how many tests have them:", [f"{count}: `{test}`: `{cause}`" for (test, cause), count in failures.most_common(20)]),
        ("Refused, by specialisations:", [f"{count}: {cause}" for cause, count in causes.most_common(40)]),
    ):
        if told:
            lines += [title, "", *(f"- {line}" for line in told), ""]
    if trials:
        from tritium.report import Comparison

        verdicts = collections.Counter(trial["verdict"] for _, trial in trials)
        lines += ["Compared with Triton's results:", "", *(f"- {count}: {verdict or 'the time was up'}" for verdict, count in verdicts.most_common()), ""]
        timed = [(trial["us"][1] / trial["us"][0], name, trial) for name, trial in trials if trial["us"]]
        mean = lambda values: math.exp(statistics.fmean(map(math.log, values)))
        if timed:
            ratios = [ratio for ratio, _, _ in timed]
            firsts = [trial["first_ms"][1] / trial["first_ms"][0] for _, _, trial in timed]
            lines += [
                f"{len(timed)} timed (median of graphs that take turns, warm L2): Triton's time over Tritium's {mean(ratios):.3f} in the geometric mean, "
                f"{100 * sum(r < 0.95 for r in ratios) / len(ratios):.1f} % below 0.95, {sum(r < 0.85 for r in ratios)} below 0.85, least {min(ratios):.2f}. "
                f"From the request to a loaded kernel: {mean(firsts):.1f} times sooner in the geometric mean.",
                "",
                "| far below | Triton over Tritium | µs | Triton's µs | registers, spilled, shared | Triton's |",
                "|---|--:|--:|--:|---|---|",
                *(f"| {name} | {ratio:.2f} | {t['us'][0]:.1f} | {t['us'][1]:.1f} | {t['resources'][0]} | {t['resources'][1]} |" for ratio, name, t in sorted(timed, key=lambda x: x[0])[:30]),
                "",
            ]
        differ = [(name, trial) for name, trial in trials if trial["verdict"] == "differs" or trial["verdict"].startswith("not ")]
        lines += [
            f"- `{name}`: {t['verdict']}, {Comparison(**t).told_error()}, worst {t['worst']} of {t['dtype']}; {t['specialisation']}" for name, t in differ[:40]
        ]
        if arguments.csv:
            with open(arguments.csv, "w", newline="") as out:
                table = csv.writer(out)
                table.writerow(["kernel", *trials[0][1]])
                table.writerows([name, *trial.values()] for name, trial in trials)
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.out:
        arguments.out.write_text(text)


if __name__ == "__main__":
    main()
