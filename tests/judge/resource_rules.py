#!/usr/bin/env python3
"""Asks Triton whether the examples of the rules about resources show what their pages say.

    resource_rules.py LANGUAGE_FOLDER [CODE…]

LANGUAGE_FOLDER holds `oracle.py`; the Python that runs this has Triton; no GPU is needed. Of every page whose examples have a launch block, both are
compiled as launched for sm_90, and one figure must tell them apart: bytes of shared memory, spills, instructions of the PTX or of Triton's own IR.
Prints a line for each, and ends with 1 if one does not hold.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib

import record_suite_spills as spills

PAGES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "semantics", "src", "diagnostics")
LIMIT = 232448
WIDTH = {"b8": 1, "b16": 2, "b32": 4, "b64": 8}


def widths(text, what):
    """Bytes of a thread in each access to global memory."""
    found = re.findall(rf"{what}\.global[a-z_.:0-9]*?(?:\.v(\d))?\.(b8|b16|b32|b64)\b", text)
    return [int(count or 1) * WIDTH[unit] for count, unit in found]


def loads_in_loops(text):
    """Loads of Triton's IR that stand in a loop; its text is indented as it is nested."""
    inside, count = None, 0
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if inside is not None and indent <= inside:
            inside = None
        if inside is None and re.search(r"scf\.(for|while)\b", line):
            inside = indent
        count += inside is not None and "tt.load " in line
    return count


# By code: the figure of an example, and what it is of the wrong and of the right one.
FIGURES = {
    "RES001": ("shared bytes", lambda a: a["shared"], lambda n: n > LIMIT, lambda n: n <= LIMIT),
    "RES002": ("spills", lambda a: a["spills"], lambda n: n > 0, lambda n: n == 0),
    "RES004": ("spills", lambda a: a["spills"], lambda n: n > 0, lambda n: n == 0),
    "RES003": ("shared bytes", lambda a: a["shared"], lambda n: n > 57344, lambda n: n <= 57344),
    "RES006": ("global loads", lambda a: len(widths(a["ptx"], "ld")), lambda n: n >= 256, lambda n: n < 256),
    "RES007": ("asynchronous copies", lambda a: a["ttgir"].count("async_copy_global_to_local "), lambda n: n < 4, lambda n: n >= 4),
    "MEM002": ("bytes of the narrowest load", lambda a: min(widths(a["ptx"], "ld")), lambda n: n < 4, lambda n: n == 16),
    "MEM003": ("bytes of the narrowest load", lambda a: min(widths(a["ptx"], "ld")), lambda n: n < 4, lambda n: n == 16),
    "MEM005": ("loads in the loop", lambda a: loads_in_loops(a["ttgir"]), lambda n: n == 2, lambda n: n == 1),
    "MEM008": ("loads", lambda a: a["ttgir"].count("tt.load "), lambda n: n == 2, lambda n: n == 1),
    "DOT008": ("wgmma", lambda a: a["ptx"].count("wgmma.mma_async"), lambda n: n == 0, lambda n: n > 0),
}  # fmt: skip


def answer(folder, request):
    with tempfile.TemporaryDirectory() as out:
        options = {"num_warps": request["num_warps"], "num_stages": request["num_stages"]}
        command = [sys.executable, os.path.join(folder, "oracle.py"), request["file"], request["kernel"], json.dumps(request["args"]), json.dumps(request["constexprs"]), request["gpu"], "--options", json.dumps(options), "--dump", out]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        said = json.loads(done.stdout.strip().splitlines()[-1])
        for stage in ("ptx", "ttgir"):
            found = glob.glob(os.path.join(out, f"*.{stage}"))
            said[stage] = open(found[0]).read() if found else ""
        return said


def main():
    folder, *codes = sys.argv[1:]
    failed = 0
    for code in codes or FIGURES:
        name, figure, *wanted = FIGURES[code]
        page = open(os.path.join(PAGES, f"{code}.md")).read()
        for heading, holds in zip(("Wrong", "Right"), wanted):
            text = re.search(rf"^## {heading}\n.*?^```python\n(.*?)^```$", page, re.S | re.M).group(1)
            with tempfile.TemporaryDirectory() as scratch:
                path = os.path.join(scratch, "example.py")
                with open(path, "w") as file:
                    file.write(text)
                block = re.search(r"^# /// tritium\n(.*?)^# ///$", text, re.S | re.M).group(1)
                launches = tomllib.loads("\n".join(line[2:] for line in block.splitlines()))["launch"]
                for launch_name, launch in launches.items():
                    for request in spills.of_launch(path, launch_name, launch, ("sm_90",)):
                        said = answer(folder, request)
                        # What does not fit is compiled all the same; the launch refuses it.
                        value = figure(said) if said["stage"] == "done" or code == "RES001" else None
                        good = value is not None and holds(value)
                        failed += not good
                        print(f"{'ok  ' if good else 'NO  '}{code} {heading.lower()}: {name} {value} {said['error'] or ''}", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
