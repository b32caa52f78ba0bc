"""What `tritium bench --against torch` and `tritium tune --write-triton-cache` run in a person's Python: with real Triton and PyTorch where
TRITIUM_TRITON_PYTHON, or this Python, has them. No GPU: launches go through Triton's interpreter, or are not made at all."""

import functools
import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

PEERS = pathlib.Path(__file__).parents[2] / "runtime" / "src" / "peer"
PYTHON = os.environ.get("TRITIUM_TRITON_PYTHON") or sys.executable


@functools.cache
def has(module):
    found = f"import sys, importlib.util as u; sys.exit(u.find_spec('{module}') is None)"
    return subprocess.run([PYTHON, "-S", "-c", "import site; site.main(); " + found], env=plain()).returncode == 0


def plain(**more):
    return {**{name: value for name, value in os.environ.items() if not name.startswith("TRITIUM")}, **more}


def run(script, program, folder, given=None, **environment):
    file, out = folder / "program.py", folder / "answer.json"
    file.write_text(textwrap.dedent(program))
    if given is not None:
        out.write_text(json.dumps(given))
    text = (PEERS / "launches.py").read_text() + "\n\n" + (PEERS / script).read_text()
    done = subprocess.run(
        [PYTHON, "-c", text, str(file), str(out)], env=plain(**environment), capture_output=True, text=True, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return json.loads(out.read_text())


KERNELS = """
import torch
import triton
import triton.language as tl


@triton.jit
def scale(y, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


def scaled(x):
    y = torch.empty_like(x)
    scale[(triton.cdiv(x.numel(), 256),)](y, x, x.numel(), BLOCK=256)
    return y


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return scaled(x)

    @staticmethod
    def backward(ctx, dy):
        return scaled(dy.contiguous())


"""


COMPARED = """
x = torch.randn(100)
before = x * 2
torch.testing.assert_close(scaled(x), before)
x = torch.randn(200)
assert torch.allclose(scaled(x), torch.cat([2 * x[:100], 2 * x[100:]]))
x = torch.randn(300)
assert (scaled(x) - 2 * x).abs().max() < 1e-6
# Two launches do what one expression does.
x = torch.randn(400)
torch.testing.assert_close(scaled(scaled(x)), 4 * x)
x = torch.randn(500)
torch.testing.assert_close(expected=4 * x[:450], actual=scaled(scaled(x)[:450]))
# A gradient is held against that which PyTorch has of its own.
x, g = torch.randn(600, requires_grad=True), torch.randn(600)
Scaled.apply(x).backward(g)
ours, x.grad = x.grad, None
(2 * x).backward(g)
torch.testing.assert_close(ours, x.grad)
# What is changed in place is behind the measurement as it was.
x = torch.randn(700)
expected = x * 1
expected += x
torch.testing.assert_close(scaled(x), expected)
torch.testing.assert_close(expected, 2 * x)
# Nothing of PyTorch's: another launch, what is given, what is only read.
x = torch.ones(800)
torch.testing.assert_close(scaled(x), scaled(x.clone()))
torch.testing.assert_close(scaled(x), torch.full((800,), 2.0))
before = x.clone()
scaled(x)
torch.testing.assert_close(x, before)
"""


@pytest.mark.skipif(not (has("torch") and has("triton")), reason="no Python with PyTorch and Triton")
def test_expressions_of_pytorch_are_timed_that_results_are_held_against(tmp_path):
    answer = run("torch.py", KERNELS + COMPARED, tmp_path, TRITON_INTERPRET="1")
    assert answer["error"] is None and answer["what"].startswith("torch ")
    assert [[launch["launch"] for launch in timed["launches"]] for timed in answer["times"]] == [
        ["scale"], ["scale#2"], ["scale#3"], ["scale#4", "scale#4"], ["scale#5", "scale#6"], ["scale#7"], ["scale#8"]
    ]  # fmt: skip
    assert all(min(timed["us"]) > 0 for timed in answer["times"])


# The driver is a stand-in, and nothing is launched.
TUNED = """
import json
import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

timed, launched = [], []


class Driver:
    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)

    def get_benchmarker(self):
        return lambda call, quantiles: [timed.append(call) or 1.0] * 3


class Array:
    def __init__(self, *shape):
        self.shape, self.dtype = shape, np.dtype("float32")

    def stride(self):
        return (1,)


driver.set_active(Driver())
JITFunction.run = lambda self, *args, **kwargs: launched.append([kwargs["BLOCK"], kwargs["num_warps"]])
ROWS = [triton.Config({"BLOCK": block}, num_warps=warps HOOK) for block in (128, 256) for warps in (2, 4)]


@triton.autotune(configs=ROWS, key=["n"])
@triton.jit
def scale(y, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


for n in (1000, 2000, 1000):
    scale[(8,)](Array(n), Array(n), n)
open("said", "w").write(f"{len(timed)} timed, {launched}")
"""


def measured(launch, *rows):
    one = lambda row, warps, ms: {"row": row, "num_warps": warps, "num_stages": 3, "ms": [ms, ms, 2 * ms]}
    return {"launch": launch, "rows": [one(*row) for row in rows]}


@pytest.mark.skipif(not has("triton"), reason="no Python with Triton")
def test_triton_takes_what_was_measured_from_its_own_cache(tmp_path):
    program, said = TUNED.replace("HOOK", ""), lambda: (tmp_path / "said").read_text()
    cache = {"TRITON_CACHE_DIR": str(tmp_path / "cache")}
    given = [measured("scale", (0, 2, 0.02), (3, 4, 0.01)), measured("scale#2", (1, 4, 0.01)), measured("gone", (0, 2, 1.0))]
    answer = run("tunings.py", program, tmp_path, given, **cache)
    assert answer["error"] is None and answer["what"].startswith("triton ")
    first, second, gone = answer["kept"]
    assert first["best"].startswith("BLOCK: 256, num_warps: 4, ") and second["best"].startswith("BLOCK: 128, num_warps: 4, ")
    assert gone == {"launch": "gone", "why": "the program does not make it"}
    kept = json.loads(pathlib.Path(first["path"]).read_text())
    assert [timings for _, timings in kept["configs_timings"]] == [[0.02, 0.02, 0.04], [0.01, 0.01, 0.02]]
    # A program that asks for it times nothing, and launches the best row; another times all.
    for asked, expected in [("1", "0 timed, [[256, 4], [128, 4], [256, 4]]"), ("0", "8 timed, [[128, 2], [128, 2], [128, 2]]")]:
        environment = plain(**cache, TRITON_CACHE_AUTOTUNING=asked)
        subprocess.run([PYTHON, tmp_path / "program.py"], env=environment, cwd=tmp_path, check=True)
        assert said() == expected
    # Another measurement takes the place of the first.
    answer = run("tunings.py", program, tmp_path, [measured("scale", (2, 2, 0.001))], **cache)
    assert answer["kept"][0]["path"] == first["path"] and answer["kept"][0]["best"].startswith("BLOCK: 256, num_warps: 2, ")


@pytest.mark.skipif(not has("triton"), reason="no Python with Triton")
def test_what_triton_does_not_keep_is_told(tmp_path):
    cache = {"TRITON_CACHE_DIR": str(tmp_path / "cache")}
    program = TUNED.replace("HOOK", ", pre_hook=lambda arguments: None")
    answer = run("tunings.py", program, tmp_path, [measured("scale", (0, 2, 0.02))], **cache)
    assert answer["kept"] == [{"launch": "scale", "why": "Triton keeps nothing of rows with a `pre_hook`"}]
    # A row that is another now is none of those that were measured.
    answer = run("tunings.py", TUNED.replace("HOOK", ""), tmp_path, [measured("scale", (0, 8, 0.02))], **cache)
    assert answer["kept"] == [{"launch": "scale", "why": "none of the rows that the program's pruning leaves was timed"}]
    assert not list((tmp_path / "cache").rglob("*.autotune.json"))
