#!/usr/bin/env python3
"""Compares registers, spills and local memory of launches with what Triton itself makes of them, in the same configurations.

    record_suite_spills.py ORACLE_PYTHON LANGUAGE_FOLDER TRITIUM whole tests/run/registers.tsv
    record_suite_spills.py ORACLE_PYTHON LANGUAGE_FOLDER TRITIUM local tests/run/local.tsv SUITE_FOLDER

ORACLE_PYTHON has Triton; LANGUAGE_FOLDER holds `oracle.py`. `whole` asks both compilers about every launch of `tests/run/kernels` on two
architectures. `local` asks ours about every launch of the suite, which `tests/run/write.py SUITE_FOLDER` has written, and Triton
about those alone that use local memory with ours; of them it notes those that do with Triton too, which is what `tests/tests/registers.rs` goes
by. **Names and figures only.**
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
WORDS = ("none", "relu", "gelu", "silu")


def requests(folder):
    whole = {name for name in os.listdir(KERNELS) if name.endswith(".py")}
    for file in sorted(name for name in os.listdir(folder) if name.endswith(".py")):
        path = os.path.abspath(os.path.join(folder, file))
        text = open(path).read()
        block = re.search(r"^# /// tritium\n(.*?)^# ///$", text, re.S | re.M)
        if block is None:
            continue
        for name, launch in tomllib.loads("\n".join(line[2:] for line in block.group(1).splitlines()))["launch"].items():
            yield from of_launch(path, name, launch, ("sm_80", "sm_90") if file in whole else ("sm_90",))


def of_launch(path, name, launch, gpus):
    sizes = launch.get("sizes", {})

    def number(value):
        if not isinstance(value, str) or value in WORDS or value.startswith("tl."):
            return value
        return value.strip("'") if value.startswith("'") else eval(value, FUNCTIONS, sizes)

    args = {}
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
    for gpu in gpus:
        if gpu == "sm_80" and "f8" in json.dumps(launch["args"]):
            continue
        yield {
            "id": f"{os.path.basename(path)[:-3]}/{name} {gpu}", "file": path, "kernel": launch["kernel"], "args": args,
            "constexprs": {arg: number(said) for arg, said in launch.get("meta", {}).items()},
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


def spilled(answer):
    return answer.get("spill_stores", 0) + answer.get("spill_loads", 0)


def ask(tritium, wanted):
    lines = "\n".join(json.dumps(request) for request in wanted)
    done = subprocess.run([tritium, "batch", "--through", "sass", "-"], input=lines, capture_output=True, text=True)
    return {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}


def whole(python, folder, tritium):
    wanted = list(requests(KERNELS))
    ours = ask(tritium, wanted)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        theirs = list(pool.map(lambda request: triton(python, folder, request), wanted))
    rows, worse = [], 0
    for request, their in zip(wanted, theirs):
        our = ours.get(request["id"], {})
        refuses = their.get("error") is not None
        remark = ""
        if not our.get("ok"):
            remark = "refused: " + "; ".join(d["message"].split("\n")[0] for d in our.get("diagnostics", []))[:160]
        elif refuses:
            remark = "Triton refuses"
        elif (our.get("spill_bytes") or 0) > 0 and not spilled(their):
            remark, worse = "spills where Triton does not", worse + 1
        figures = [our.get("registers"), our.get("spill_bytes"), their.get("regs"), None if refuses else spilled(their), our.get("shared_bytes"), their.get("shared")]
        rows.append([*request["id"].split(), *figures, remark])
    print(f"{len(rows)} rows, {worse} spill where Triton does not, {sum('refused' in r[-1] for r in rows)} refused", file=sys.stderr)
    return ["launch", "gpu", "registers", "spilled", "triton registers", "triton spilled", "shared", "triton shared", "remark"], rows


def local(python, folder, tritium, suite):
    wanted = list(requests(suite))
    ours = ask(tritium, wanted)
    rows, worse = [], 0
    for request in wanted:
        our = ours.get(request["id"], {})
        if not our.get("local_bytes") and not our.get("spill_bytes"):
            continue
        their = triton(python, folder, request)
        if their.get("error") is None and their.get("stack"):
            rows.append([*request["id"].split(), spilled(their), their["stack"]])
        else:
            worse += 1
            print(f"{request['id']}: {our['local_bytes']} bytes of local memory, none with Triton", file=sys.stderr)
    print(f"{len(rows)} of {len(wanted)} launches use local memory with both, {worse} with ours alone", file=sys.stderr)
    return ["launch", "gpu", "triton spilled", "triton local"], rows


def main():
    python, folder, tritium, measure, out, *rest = sys.argv[1:]
    columns, rows = {"whole": whole, "local": local}[measure](python, folder, tritium, *rest)
    with open(out, "w") as f:
        for row in [columns, *rows]:
            f.write("\t".join("" if cell is None else str(cell) for cell in row) + "\n")


if __name__ == "__main__":
    main()
