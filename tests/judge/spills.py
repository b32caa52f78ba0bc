#!/usr/bin/env python3
"""Compares registers and spills of the whole kernels in `tests/run/kernels` with what Triton itself makes of them, in the same configurations.

    spills.py ORACLE_PYTHON LANGUAGE_FOLDER TRITIUM OUT.tsv

ORACLE_PYTHON has Triton; LANGUAGE_FOLDER holds `oracle.py`. One line a launch and architecture: registers and spilled bytes (stores and loads)
of both compilers, and a remark where ours spills and Triton's does not.
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tomllib

KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "run", "kernels")
FUNCTIONS = {"cdiv": lambda a, b: -(-a // b), "next_power_of_2": lambda n: 1 << (n - 1).bit_length(), "min": min, "max": max}
SPELLED = {"f32": "fp32", "f16": "fp16", "bf16": "bf16", "f64": "fp64", "f8e4m3": "fp8e4nv", "f8e5m2": "fp8e5"}


def requests():
    for file in sorted(name for name in os.listdir(KERNELS) if name.endswith(".py")):
        path = os.path.abspath(os.path.join(KERNELS, file))
        text = open(path).read()
        block = re.search(r"^# /// tritium\n(.*?)^# ///$", text, re.S | re.M).group(1)
        for name, launch in tomllib.loads("\n".join(line[2:] for line in block.splitlines()))["launch"].items():
            sizes = launch.get("sizes", {})
            number = lambda v: eval(v, FUNCTIONS, sizes) if isinstance(v, str) else v
            args, constexprs = {}, {}
            for arg, said in launch["args"].items():
                if isinstance(said, dict):
                    element = said["tensor"].split("[")[0]
                    args[arg] = f"tensordesc<{SPELLED.get(element, element)}{said['block']}>".replace(" ", "")
                elif isinstance(said, str) and "[" in said:
                    element = said.split("[")[0]
                    args[arg] = f"*{SPELLED.get(element, element)}:16"
                else:
                    value = number(said)
                    args[arg] = "fp32" if isinstance(value, float) else "i32:1" if value == 1 else "i32:16" if value % 16 == 0 else "i32"
            for arg, said in launch.get("meta", {}).items():
                constexprs[arg] = said if said in ("none", "relu", "gelu", "silu") else number(said)
            for gpu in ("sm_80", "sm_90"):
                if gpu == "sm_80" and "f8" in json.dumps(launch["args"]):
                    continue
                yield {
                    "id": f"{file[:-3]}/{name} {gpu}", "file": path, "kernel": launch["kernel"], "args": args, "constexprs": constexprs,
                    "num_warps": launch.get("num_warps", 4), "num_stages": launch.get("num_stages", 3), "gpu": gpu,
                }  # fmt: skip


def triton(python, folder, request):
    options = {"num_warps": request["num_warps"], "num_stages": request["num_stages"]}
    signature, constexprs = dict(request["args"]), dict(request["constexprs"])
    command = [python, os.path.join(folder, "oracle.py"), request["file"], request["kernel"], json.dumps(signature), json.dumps(constexprs), request["gpu"], "--options", json.dumps(options)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    try:
        return json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        return {"error": done.stderr[-200:]}


def main():
    python, folder, tritium, out = sys.argv[1:]
    wanted = list(requests())
    lines = "\n".join(json.dumps(request) for request in wanted)
    done = subprocess.run([tritium, "batch", "--through", "sass", "-"], input=lines, capture_output=True, text=True)
    ours = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        theirs = list(pool.map(lambda request: triton(python, folder, request), wanted))
    rows, worse = [], 0
    for request, their in zip(wanted, theirs):
        our = ours.get(request["id"], {})
        spilled = their.get("spill_stores", 0) + their.get("spill_loads", 0) if not their.get("error") else None
        remark = ""
        if not our.get("ok"):
            remark = "refused: " + "; ".join(d["message"].split("\n")[0] for d in our.get("diagnostics", []))[:160]
        elif spilled is None:
            remark = "Triton refuses"
        elif (our.get("spill_bytes") or 0) > 0 and not spilled:
            remark, worse = "spills where Triton does not", worse + 1
        cells = [request["id"].split()[0], request["gpu"], our.get("registers"), our.get("spill_bytes"), their.get("regs"), spilled, our.get("shared_bytes"), their.get("shared"), remark]
        rows.append("\t".join("" if cell is None else str(cell) for cell in cells))
    with open(out, "w") as f:
        f.write("launch\tgpu\tregisters\tspilled\ttriton registers\ttriton spilled\tshared\ttriton shared\tremark\n" + "\n".join(rows) + "\n")
    print(f"{len(rows)} rows, {worse} spill where Triton does not, {sum('refused' in r for r in rows)} refused", file=sys.stderr)


if __name__ == "__main__":
    main()
