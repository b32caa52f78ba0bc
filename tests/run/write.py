"""Writes the numerics suite: kernels, their inputs, and what independent references in NumPy say must come out.

    PYTHONPATH=.deps/numpy python3 tests/run/write.py OUT

OUT then holds the kernels (`*.py`, each with its launch blocks), `cases.jsonl` (a launch a line) and `data.bin` (all tensors, one after
the other). Nothing of the program under test takes part: the same folder judges the interpreter, the simulator and a GPU.

A line of `cases.jsonl`: `id`, `file`, `launch`, `gpu_only` (inline assembly), `inputs` {tensor: [offset, bytes]} and `outputs`, each with its `tensor` and one rule:
`bits` [offset, bytes]: these very elements (any NaN for a NaN); `values` [offset, bytes] in f64 with either `tolerance` [offset, bytes]
in f64 for every element, or `norm`, a bound of the relative error in the 2-norm.
**The same numbers come out every time: every case has a generator of its own, seeded by its name.**
"""

import importlib
import sys

import numpy as np

from suite import Suite

FAMILIES = ["elementwise", "casts", "operators", "reductions", "scans", "shapes", "memory", "atomics", "random_numbers", "control", "dots", "device_library"]


def main():
    suite = Suite(sys.argv[1])
    chosen = sys.argv[2:]
    with np.errstate(all="ignore"):
        for group in FAMILIES:
            if not chosen or group in chosen:
                importlib.import_module(f"cases.{group}").cases(suite)
        if not chosen or "kernels" in chosen:
            import whole

            whole.cases(suite)
    suite.finish()
    print(f"{suite.count} cases", file=sys.stderr)


if __name__ == "__main__":
    main()
