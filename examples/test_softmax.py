"""Tests of a kernel that need neither a GPU nor Triton: `python -m tritium -m pytest examples/test_softmax.py`.

The last two seed a mistake each and show how it is told. `tritium check` would tell both without a run: comments silence it there.
"""

import numpy as np
import pytest
import tritium

import triton
import triton.language as tl


@triton.jit
def softmax_kernel(Y, X, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    mask = columns < n_cols
    x = tl.load(X + row * n_cols + columns, mask=mask, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(Y + row * n_cols + columns, e / tl.sum(e, axis=0), mask=mask)


def softmax(x):
    y = np.empty_like(x)
    rows, columns = x.shape
    softmax_kernel[(rows,)](y, x, columns, BLOCK=triton.next_power_of_2(columns))
    return y


def reference(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("rows, columns", [(1, 1), (5, 128), (17, 100)])
def test_softmax(rows, columns):
    x = np.random.default_rng(0).standard_normal((rows, columns), dtype=np.float32)
    np.testing.assert_allclose(softmax(x), reference(x), rtol=1e-6)


@triton.jit
def unguarded_kernel(Y, X, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    x = tl.load(X + row * n_cols + columns, mask=columns < n_cols, other=0.0)
    tl.store(Y + row * n_cols + columns, x)  # tritium: ignore[MSK007] the mistake that is to be found


def test_a_store_without_a_mask_is_found():
    x = np.ones((1, 100), dtype=np.float32)
    with pytest.raises(tritium.OutOfBoundsError) as found:
        unguarded_kernel[(1,)](np.empty_like(x), x, 100, BLOCK=128)
    assert found.value.tensor == "Y"
    assert found.value.index == (100,)
    assert "tl.store(Y" in str(found.value)


@triton.jit
def total_kernel(TOTAL, X, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    x = tl.load(X + row * n_cols + columns, mask=columns < n_cols, other=0.0)
    tl.store(TOTAL, tl.load(TOTAL) + tl.sum(x, axis=0))  # tritium: ignore[RAC001] the mistake that is to be found


def test_a_sum_without_an_atomic_is_found():
    x = np.ones((4, 100), dtype=np.float32)
    with pytest.raises(tritium.RaceError) as found:
        total_kernel[(4,)](np.zeros(1, dtype=np.float32), x, 100, BLOCK=128)
    assert found.value.tensor == "TOTAL"
    assert found.value.index == (0,)
    assert found.value.program == (1, 0, 0)
