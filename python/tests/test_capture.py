"""What a kernel's names mean is read off the living function."""

import enum
import types
import typing

import numpy as np
import pytest
import tritium

import triton
import triton.language as tl
from triton import language as lang


def ran(kernel, *args, grid=1, **meta):
    """What a kernel that stores to its first argument leaves there."""
    out = np.zeros(8, dtype=np.float32)
    kernel[(grid,)](out, *args, **meta)
    return out


def of_factory(factor, activation):
    @triton.jit
    def scale(x):
        return activation(x) * FACTOR

    @triton.jit
    def kernel(OUT, X):
        at = tl.arange(0, 8)
        tl.store(OUT + at, scale(tl.load(X + at)))

    FACTOR = tl.constexpr(factor)
    return kernel


@triton.jit
def square(x):
    return x * x


@triton.jit
def negate(x):
    return -x


def test_closures_are_followed():
    x = np.arange(8, dtype=np.float32)
    np.testing.assert_array_equal(ran(of_factory(2.0, square), x), 2 * x * x)
    np.testing.assert_array_equal(ran(of_factory(3.0, negate), x), -3 * x)


#: Which function it is, a machine decides when it runs.
shim = types.ModuleType("shim")
shim.exp = tl.exp
shim.double = of_factory(2.0, square)
shim.bias = tl.constexpr(1.0)


@triton.jit
def through_a_shim(OUT, X):
    at = tl.arange(0, 8)
    tl.store(OUT + at, shim.exp(tl.load(X + at)) + shim.bias)


def test_attributes_of_a_module_are_what_they_are_now():
    x = np.linspace(-1, 1, 8, dtype=np.float32)
    np.testing.assert_allclose(ran(through_a_shim, x), np.exp(x) + 1, rtol=1e-6)


LIMIT = tl.constexpr(3)


@triton.jit
def reads_a_global(OUT):
    tl.store(OUT + tl.arange(0, 8), tl.arange(0, 8) * 0 + LIMIT)


def test_a_global_that_changes_is_read_again(monkeypatch):
    assert ran(reads_a_global)[0] == 3
    for limit in range(4, 8):
        monkeypatch.setitem(globals(), "LIMIT", tl.constexpr(limit))
        assert ran(reads_a_global)[0] == limit


class Pair(typing.NamedTuple):
    first: object
    second: object


@triton.jit
def swapped(pair):
    return Pair(pair.second, pair.first)


@triton.jit
def makes_tuples(OUT, first, second):
    back = swapped(Pair(first, second))
    tl.store(OUT, back.first - back.second)


def test_named_tuples_are_made_in_kernels():
    assert ran(makes_tuples, 2, 7)[0] == 5


class Mode(enum.IntEnum):
    ADD = 1


@triton.jit
def reads_a_class(OUT):
    tl.store(OUT, Mode.ADD)


def test_classes_are_no_globals_of_kernels():
    with pytest.raises(tritium.CompilationError):
        ran(reads_a_class)


@triton.jit
def takes_a_function(OUT, X, ACTIVATION: tl.constexpr, DTYPE: tl.constexpr):
    at = lang.arange(0, 8)
    tl.store(OUT + at, ACTIVATION(tl.load(X + at)).to(DTYPE).to(tl.float32))


def test_functions_and_types_are_compile_time_values():
    x = np.linspace(0, 1, 8, dtype=np.float32)
    np.testing.assert_array_equal(ran(takes_a_function, x, ACTIVATION=negate, DTYPE=tl.float32), -x)
    half = (x * x).astype(np.float16).astype(np.float32)
    np.testing.assert_array_equal(ran(takes_a_function, x, ACTIVATION=square, DTYPE=tl.float16), half)


def test_text_that_was_never_a_file_is_compiled(tmp_path):
    generated = tmp_path / "generated.py"
    generated.write_text(
        "import triton\nimport triton.language as tl\n\n"
        "@triton.jit\ndef kernel(OUT):\n    tl.store(OUT, 7)\n\n"
        "@triton.jit\ndef wrong(OUT):\n    tl.store(OUT + 8, 7)\n"
    )
    module = types.ModuleType("generated")
    exec(compile(generated.read_text(), generated, "exec"), module.__dict__)
    assert ran(module.kernel)[0] == 7
    with pytest.raises(tritium.OutOfBoundsError) as found:
        ran(module.wrong)
    assert (found.value.file, found.value.line) == (str(generated), 10)


@triton.jit
def does_not_compile(OUT):
    x = tl.zeros((4,), tl.float32)
    tl.store(OUT + tl.arange(0, 8), x)


def test_what_does_not_compile_is_told_at_its_line():
    with pytest.raises(tritium.CompilationError) as refused:
        ran(does_not_compile)
    assert refused.value.line == does_not_compile.fn.__code__.co_firstlineno + 3
    assert "tl.store(OUT" in str(refused.value) and "[SHP001]" in str(refused.value)


@triton.jit
def reads_what_nobody_knows(OUT):
    tl.store(OUT, unknowable)


unknowable = object()


def test_what_is_not_known_is_refused():
    with pytest.raises(tritium.CompilationError):
        ran(reads_what_nobody_knows)
