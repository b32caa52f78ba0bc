"""What stands in for Triton where it is not installed."""

import importlib

import numpy as np
import pytest
import tritium
import tritium.standin

import triton
import triton.language as tl

pytestmark = pytest.mark.skipif(not getattr(triton, "__tritium__", False), reason="Triton is installed")


def test_names_of_the_language_are_those_of_the_version():
    assert tl.load and tl.math.exp and tl.float16 and tl.constexpr
    assert importlib.import_module("triton.language.extra.cuda.libdevice").tanh
    with pytest.raises(AttributeError, match="has no `triton.language.laod`"):
        tl.laod
    with pytest.raises(ImportError):
        importlib.import_module("triton.nothing")
    with pytest.raises(AttributeError, match="needs Triton itself"):
        triton.testing.do_bench


def test_the_language_does_nothing_outside_of_kernels():
    with pytest.raises(RuntimeError, match="inside of a `@triton.jit` function only"):
        tl.load(1)


def test_types_answer_host_code():
    assert (tl.float16.primitive_bitwidth, tl.bfloat16.primitive_bitwidth, tl.int64.itemsize) == (16, 16, 8)
    assert tl.float8e4nv.is_floating() and tl.float8e4nv.primitive_bitwidth == 8 and not tl.uint8.is_floating()
    assert str(tl.float32) == "fp32" and tl.float32 == tl.float32 and tl.float32 != tl.float16


def test_compile_time_values_compute():
    n = tl.constexpr(6)
    assert (n + 2).value == 8 and (2 * n).value == 12 and (n == 6) and not (n < 6)
    assert list(range(n))[-1] == 5 and triton.cdiv(n, 4).value == 2


def test_host_functions():
    assert [triton.next_power_of_2(n) for n in (1, 2, 3, 128, 129)] == [1, 2, 4, 128, 256]
    assert triton.cdiv(7, 4) == 2


@triton.autotune(configs=[triton.Config({"BLOCK": 4}, num_warps=2), triton.Config({"BLOCK": 8})], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def tuned(OUT, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(OUT + at, EVEN * 10 + BLOCK, mask=at < n)


def test_tuners_take_their_first_row_and_heuristics_are_computed():
    out = np.zeros(6, dtype=np.int32)
    tuned[lambda meta: (triton.cdiv(6, meta["BLOCK"]),)](out, 6)
    assert list(out) == [4] * 6
    assert tuned.best_config.num_warps == 2


def test_tritium_has_what_triton_has():
    assert tritium.jit is triton.jit and tritium.language is tl and tritium.cdiv is triton.cdiv
