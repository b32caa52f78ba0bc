"""What `TRITIUM=verify` says of kernels whose results hang on the order of atomics. Needs a GPU, PyTorch and Triton."""

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


def test_the_order_of_atomics_is_told_from_mistakes(tmp_path):
    program, told = tmp_path / "program.py", tmp_path / "report.json"
    program.write_text(PROGRAM)
    settings = {"TRITIUM": "verify", "TRITIUM_REPORT": str(told), "TRITON_CACHE_DIR": str(tmp_path / "triton")}
    subprocess.run([sys.executable, "-m", "tritium", str(program)], env={**os.environ, **settings}, check=True, timeout=120)
    verdicts = {kernel["name"]: kernel["comparisons"][0]["verdict"] for kernel in json.loads(told.read_text())["kernels"]}
    assert verdicts["listed"] in ("same bits", "as the order of its atomics may make it", "as far as two runs of Triton's")
    assert verdicts["plain"] in ("same bits", "within the bound")
