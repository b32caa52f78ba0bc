"""Runs a project's own test-suite under `python -m tritium`, file by file, and writes what came of it as a table.

    python bench/suites.py FOLDER [PATTERN …] --seconds 120 --out bench/results/NAME.md --title "liger-kernel 0.8.2"

FOLDER is a checkout of the project, fetched by whoever asks; PyTorch and what the tests import must be installed beside the wheel of
Tritium. Tests that need a GPU skip themselves. No file gets more than so many seconds: what has not ended then is not counted.
"""

import argparse
import collections
import os
import re
import subprocess
import sys
from pathlib import Path

OUTCOMES = ("PASSED", "FAILED", "SKIPPED", "ERROR")


def ran(path, folder, seconds):
    """How many tests of a file came out how, the first words of each failure with how often it was, and whether it ended."""
    command = [sys.executable, "-m", "tritium", "-m", "pytest", "-v", "-p", "no:cacheprovider", str(path)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder / "src"), str(folder)])}
    process = subprocess.Popen(
        command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True
    )
    try:
        text, has_ended = process.communicate(timeout=seconds)[0], True
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        text, has_ended = process.communicate()[0], False
    counts = collections.Counter(
        found.group(1) for line in text.splitlines() if (found := re.match(r"\S+\.py::.* (PASSED|FAILED|SKIPPED|ERROR)\b", line))
    )
    causes = collections.Counter(line[1:].strip()[:110] for line in text.splitlines() if re.match(r"E +\w*(Error|Exception)\b", line))
    return counts, causes, has_ended


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("patterns", nargs="*", default=["test/**/test_*.py"])
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--title", default="A test-suite")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    files = sorted({path for pattern in arguments.patterns for path in folder.glob(pattern)})
    rows, total, all_causes = [], collections.Counter(), collections.Counter()
    for path in files:
        counts, causes, has_ended = ran(path, folder, arguments.seconds)
        total += counts
        all_causes += causes
        name = path.stem.removeprefix("test_")
        end = "" if has_ended else f"not ended after {arguments.seconds:.0f} s"
        rows.append("| " + " | ".join([name, *(str(counts[outcome]) for outcome in OUTCOMES), end]) + " |")
        print(rows[-1], flush=True)
    lines = [
        f"# {arguments.title} on the CPU",
        "",
        f"Made by `bench/suites.py`: its own tests under `python -m tritium`, every launch under checks, against PyTorch's results on the CPU. "
        f"{total['PASSED']} passed, {total['FAILED']} failed, {total['SKIPPED']} skipped themselves, {total['ERROR']} could not begin.",
        "",
        "| tests | passed | failed | skipped | errors | |",
        "|---|--:|--:|--:|--:|---|",
        *rows,
        "",
        "Errors, by how many tests have them:",
        "",
        *(f"- {count}: `{cause}`" for cause, count in all_causes.most_common(20)),
        "",
    ]
    if arguments.out:
        arguments.out.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
