"""The kernels of `kernels/`: their launch blocks, read as TOML, with inputs of NumPy's making and the references of `references.py`."""

import os
import re
import shutil
import tomllib

import numpy as np

import references
from dtypes import NAMES, is_float, info
from suite import Bits, Norm

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernels")
FUNCTIONS = {"cdiv": lambda a, b: -(-a // b), "next_power_of_2": lambda n: 1 << (n - 1).bit_length(), "min": min, "max": max}


def number(value, names):
    return eval(value, FUNCTIONS, names) if isinstance(value, str) else value


def contents(rng, init, dtype, shape):
    """An input as its initialiser says; the values are not those that `tritium run` makes."""
    name, *args = re.match(r"(\w+)\((.*)\)$", init).groups()
    if name == "file":
        return np.load(os.path.join(HERE, args[0].strip("'"))).astype(dtype)
    args = [float(a) for a in args[0].split(",") if a.strip()]
    made = {
        "normal": lambda mean, std: rng.standard_normal(shape) * std + mean,
        "uniform": lambda low, high: rng.uniform(low, high, shape),
        "randint": lambda low, high: rng.integers(int(low), int(high), shape),
        "zeros": lambda: np.zeros(shape),
    }[name](*args)
    return made.astype(dtype)


def cases(suite):
    for file in sorted(os.listdir(HERE)):
        if not file.endswith(".py"):
            continue
        shutil.copy(os.path.join(HERE, file), suite.out)
        text = open(os.path.join(HERE, file)).read()
        block = re.search(r"^# /// tritium\n(.*?)^# ///$", text, re.S | re.M).group(1)
        launches = tomllib.loads("\n".join(line[2:] for line in block.splitlines()))["launch"]
        for name, launch in launches.items():
            one(suite, file[:-3], name, launch)


def one(suite, file, name, launch):
    sizes = launch.get("sizes", {})
    values, inputs, dtypes = {}, {}, {}
    for arg, said in launch["args"].items():
        said = said["tensor"] if isinstance(said, dict) else said
        found = re.match(r"(\w+)\[(.*?)\](?: = (.*))?$", said) if isinstance(said, str) else None
        if not found:
            values[arg] = number(said, sizes)
            continue
        dtype, shape = NAMES[found[1]], tuple(number(d, sizes) for d in found[2].split(","))
        dtypes[arg] = dtype
        if found[3]:
            inputs[arg] = contents(suite.random(f"{file} {name} {arg}"), found[3], dtype, shape)
            values[arg] = inputs[arg].astype(np.float64) if is_float(dtype) else inputs[arg]
    meta = {k: number(v, sizes) if not isinstance(v, str) or v not in ("none", "relu", "gelu", "silu") else v for k, v in launch.get("meta", {}).items()}
    grid = [number(g, sizes) for g in launch["grid"]]
    want = getattr(references, launch["kernel"])({**values, **meta, "grid": grid})
    outputs = []
    for tensor, value in want.items():
        dtype = dtypes[tensor]
        if not is_float(dtype):
            outputs.append((tensor, Bits(value.astype(dtype))))
            continue
        longest = max(max(a.shape) for a in inputs.values())
        bound = launch.get("tolerance", 4 * float(info(dtype).eps) * np.sqrt(longest))
        outputs.append((tensor, Norm(value, bound, dtype)))
    suite.case(file, name, inputs, outputs)
