"""What `TRITIUM=verify` says of kernels whose results hang on an order: that of atomics, or that of adding. Needs a GPU, PyTorch and Triton."""

import json
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
if not torch.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)

PROGRAM = """
import torch, triton, triton.language as tl

@triton.jit
def listed(Key, Cursor, Out, B: tl.constexpr):
    at = tl.arange(0, B)
    key = tl.load(Key + at)
    tl.store(Out + key * B + tl.atomic_add(Cursor + key, 1), at)

@triton.jit
def plain(X, Y, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(Y + at, tl.sqrt(tl.load(X + at)) * 2.0)

torch.manual_seed(0)
key = torch.randint(0, 4, (1024,), dtype=torch.int32, device="cuda")
listed[(1,)](key, torch.zeros(4, dtype=torch.int32, device="cuda"), torch.zeros(4096, dtype=torch.int32, device="cuda"), 1024)
plain[(1,)](torch.rand(128, device="cuda"), torch.zeros(128, device="cuda"), 128)
"""

SUMS = """
import torch, triton, triton.language as tl

@triton.jit
def summed(X, Y, B: tl.constexpr):
    row = tl.program_id(0)
    tl.store(Y + row, tl.sum(tl.load(X + row * B + tl.arange(0, B)), 0))

torch.manual_seed(0)
x = torch.rand(4, 1024, device="cuda")
# One warp's first thread has both large elements, its second thread both of the others: ∞ − ∞. The first of two warps has one of each.
x[2] = 0
x[2, [0, 128]], x[2, [4, 132]] = 3e38, -3e38
y = torch.zeros(4, device="cuda")
summed[(4,)](x, y, 1024, num_warps=2)
assert y[2] == 0
"""

# Triton's kernel of one warp in the place of ours.
OF_ONE_WARP = """
from tritium import compare

both = compare.both

def with_one_warp(ours, compile_theirs, *rest):
    other = compile_theirs(options={**compile_theirs.keywords["options"], "num_warps": 1})
    other.code = ours.code
    return both(other, compile_theirs, *rest)

compare.both = with_one_warp
"""


def test_the_order_of_atomics_is_told_from_mistakes(tmp_path):
    told = _compared(tmp_path, PROGRAM)
    assert told["listed"]["verdict"] in ("same bits", "as the order of its atomics may make it", "as far as two runs of Triton's")
    assert told["plain"]["verdict"] in ("same bits", "within the bound")


def test_sums_that_overflow_in_one_order_only_are_told_from_mistakes(tmp_path):
    told = _compared(tmp_path, SUMS)["summed"]["verdict"]
    assert told in ("same bits", "within the bound") or told.startswith("as far as Triton's with")


def test_results_as_far_as_those_of_another_number_of_warps_are_told(tmp_path):
    told = _compared(tmp_path, OF_ONE_WARP + SUMS)["summed"]
    assert (told["verdict"], told["strays"], told["worst"]) == ("as far as Triton's with 1 warp", 1, 2)


def _compared(folder, text):
    """How the first launches of a program's kernels compare, by name."""
    program, told = folder / "program.py", folder / "report.json"
    program.write_text(text)
    settings = {"TRITIUM": "verify", "TRITIUM_REPORT": str(told), "TRITON_CACHE_DIR": str(folder / "triton")}
    subprocess.run([sys.executable, "-m", "tritium", str(program)], env={**os.environ, **settings}, check=True, timeout=120)
    return {kernel["name"]: kernel["comparisons"][0] for kernel in json.loads(told.read_text())["kernels"]}
