"""What is wrong although it runs."""

import numpy as np
import pytest
import tritium

import triton
import triton.language as tl


@triton.jit
def outside(OUT):
    tl.store(OUT + tl.arange(0, 8) + tl.program_id(0) * 8, 1.0)


@triton.jit
def race(OUT):
    tl.store(OUT, tl.program_id(0))


@triton.jit
def reads_empty(OUT, X):
    at = tl.arange(0, 8)
    tl.store(OUT + at, tl.load(X + at))


@triton.jit
def reads_masked(OUT, X):
    at = tl.arange(0, 8)
    tl.store(OUT + at, tl.load(X + at, mask=at < 4))


@triton.jit
def divides(OUT, n):
    tl.store(OUT, tl.program_id(0) // n)


@triton.jit
def asserts(OUT, n):
    tl.device_assert(n == 3, "three")
    tl.store(OUT, n)


def line(kernel, below):
    return kernel.fn.__code__.co_firstlineno + 1 + below


def floats(n=8):
    return np.zeros(n, dtype=np.float32)


@pytest.mark.parametrize(
    "error, kernel, grid, args, below, program, tensor, index",
    [
        (tritium.OutOfBoundsError, outside, 3, (floats(20),), 1, (2, 0, 0), "OUT", (20,)),
        (tritium.RaceError, race, 2, (floats(),), 1, (1, 0, 0), "OUT", (0,)),
        (tritium.UndefinedValueError, reads_masked, 1, (floats(), floats()), 2, (0, 0, 0), "OUT", (4,)),
        (tritium.DivisionByZeroError, divides, 1, (floats(), 0), 1, (0, 0, 0), "OUT", (0,)),
        (tritium.KernelAssertionError, asserts, 1, (floats(), 4), 1, (0, 0, 0), None, ()),
    ],
)
def test_each_is_an_exception_with_its_place(error, kernel, grid, args, below, program, tensor, index):
    with pytest.raises(error) as found:
        kernel[(grid,)](*args)
    found = found.value
    assert (found.file, found.line, found.kernel) == (__file__, line(kernel, below), kernel.__name__)
    assert (found.program, found.tensor, found.index) == (program, tensor, index)
    assert found.findings[0] is found


def test_what_nobody_has_written_is_found():
    out = floats()
    with pytest.raises(tritium.UninitializedError) as found:
        reads_empty[(1,)](out, np.empty(8, dtype=np.float32))
    assert found.value.line == line(reads_empty, 2)
    # What a kernel has written is no longer empty, nor is what the host has.
    x = np.empty(8, dtype=np.float32)
    reads_empty[(1,)](x, floats())
    reads_empty[(1,)](out, x)
    x = np.empty_like(x)
    x[:] = 1
    reads_empty[(1,)](out, x)


def test_what_was_stored_before_a_mistake_remains():
    out = floats(20)
    with pytest.raises(tritium.OutOfBoundsError):
        outside[(3,)](out)
    np.testing.assert_array_equal(out, np.ones(20, dtype=np.float32))
