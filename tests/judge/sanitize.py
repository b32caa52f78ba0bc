#!/usr/bin/env python3
"""Holds `tritium sanitize` on a device to the twins of tests/sanitize: what is found of each wrong one, and that the right ones are told nothing.

    sanitize.py PROGRAM [--device cuda:0] [--only WORD] [--keep FOLDER]

PROGRAM is `tritium` itself (target/release/tritium). On `cuda:N` it needs `compute-sanitizer` (CUDA toolkit, or `pip install
nvidia-cuda-sanitizer-api`) and nothing else: neither PyTorch nor Triton. Prints a line for each pair, and at the end how many of the mistakes that the
device can see were found on their line, and how many right programs were told something. Ends with 1 if a right program is told something, if one
cannot be run, or if fewer than 95 % of those mistakes are found.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HEADER = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
CHANGE = re.compile(r"(.*)  # (missed )?([A-Z]{3}\d{3}):(.*)")
ROOT = pathlib.Path(__file__).resolve().parents[2]
# What a device looks for. On a GPU, only what an allocation or a thread shows.
SEEN = {
    "cpu": {f"SAN{n:03}" for n in range(1, 13)},
    "sim": {"SAN001", "SAN002", "SAN003", "SAN004", "SAN006", "SAN010", "SAN012"},
    "cuda": {"SAN001", "SAN002", "SAN005"},
}
# Pairs whose mistake the device cannot see, and why.
UNSEEN = {
    "cuda": {
        "elements between those of a view are inside its allocation": r"^bounds: slice",
        "what an earlier launch has left is copied to the device, and so is written": r"^bounds: two launches",
    },
    # Told where it is stored.
    "sim": {"what is undefined is followed through sums": r"^undefined: layer norm"},
    "cpu": {},
}


def pairs():
    """(name, right, wrong, code, line)"""
    for path in sorted((ROOT / "tests/sanitize").glob("*.py")):
        for section in path.read_text().split("# == ")[1:]:
            title, body = section.split("\n", 1)
            right, wrong, code, line, here = HEADER, HEADER, None, None, None
            for text in body.splitlines():
                told_here = text.endswith("  # here")
                text = text.removesuffix("  # here")
                change = CHANGE.fullmatch(text)
                right += (change[1] if change else text) + "\n"
                if told_here:
                    here = wrong.count("\n") + 1
                if not change:
                    wrong += text + "\n"
                    continue
                code, line = change[3], wrong.count("\n") + 1
                if instead := change[4].strip():
                    wrong += " " * (len(text) - len(text.lstrip())) + instead + "\n"
            yield f"{path.stem}: {title}", right, wrong, code, here or line


def sanitize(program, device, path):
    """What is found, as (line, code, severity, message), or why nothing could be."""
    command = [program, "sanitize", str(path), "--device", device, "--output-format", "json", "--timeout", "300"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    try:
        report = json.loads(done.stdout)
    except json.JSONDecodeError:
        return [], (done.stderr or done.stdout).strip()[:2000] or f"it ends with {done.returncode}"
    gaps = [launch["gap"] for launch in report["launches"] if launch["gap"]]
    found = [(d["range"]["start"]["line"] + 1, d["code"], d["severity"], d["message"]) for d in report["diagnostics"]]
    return found, gaps[0] if gaps else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--only", default="")
    parser.add_argument("--keep")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    kind = asked.device.split(":")[0]
    folder = pathlib.Path(asked.keep or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)

    def judge(numbered):
        number, (name, right, wrong, code, line) = numbered
        results = []
        for twin, text in (("right", right), ("wrong", wrong)):
            path = folder / f"{number:03}_{twin}.py"
            path.write_text(text)
            results.append(sanitize(asked.program, asked.device, path))
        return name, code, line, *results

    chosen = [pair for pair in pairs() if asked.only in pair[0]]
    seen = found = false = broken = 0
    with ThreadPoolExecutor(asked.jobs) as pool:
        for name, code, line, (right, right_gap), (wrong, wrong_gap) in pool.map(judge, enumerate(chosen)):
            why = next((why for why, words in UNSEEN[kind].items() if re.search(words, name)), None)
            is_seen = code in SEEN[kind] and why is None
            is_found = any(told[0] == line and told[1] == code for told in wrong)
            words = [f"{code} {'found' if is_found else 'NOT FOUND' if is_seen else 'not looked for'}"]
            seen += is_seen
            found += is_seen and is_found
            if right:
                false += 1
                words.append(f"FALSE: {right}")
            if right_gap:
                broken += 1
                words.append(f"NOT RUN: {right_gap}")
            if is_seen and not is_found:
                words.append(f"(line {line}) {wrong} {wrong_gap or ''}")
            print(f"{name}: {'; '.join(words)}", flush=True)
    print(f"{asked.device}: {found} of {seen} mistakes found on their line, {false} of {len(chosen)} right programs told something, {broken} not run")
    sys.exit(0 if found >= 0.95 * seen and not false and not broken else 1)


if __name__ == "__main__":
    main()
