"""Arguments of every kind, and the memory behind them."""

import numpy as np
import pytest
import tritium

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def copy(OUT, X, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(OUT + at, tl.load(X + at, mask=at < n), mask=at < n)


@pytest.mark.parametrize("dtype", "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split())
def test_every_type_goes_there_and_back(dtype):
    x = np.arange(20).astype(dtype)
    out = np.zeros_like(x)
    copy[(3,)](out, x, 20, BLOCK=8)
    np.testing.assert_array_equal(out, x)


def test_the_types_that_numpy_lacks():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for dtype in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
        x = np.arange(8).astype(dtype)
        out = np.zeros_like(x)
        copy[(1,)](out, x, 8, BLOCK=8)
        np.testing.assert_array_equal(out.view(np.uint8), x.view(np.uint8))


@triton.jit
def transpose(OUT, X, stride_out, stride_x, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows, columns = tl.arange(0, ROWS)[:, None], tl.arange(0, COLUMNS)[None, :]
    tl.store(OUT + columns * stride_out + rows, tl.load(X + rows * stride_x + columns))


def test_views_are_of_one_memory():
    memory = np.zeros((2, 8, 8), dtype=np.float32)
    x, out = memory[0, :4], memory[1]
    x[...] = np.arange(32).reshape(4, 8)
    transpose[(1,)](out, x, 8, 8, ROWS=4, COLUMNS=8)
    np.testing.assert_array_equal(out[:, :4], x.T)
    # What lies beside the views is as it was.
    assert not memory[0, 4:].any() and not memory[1, :, 4:].any()


@triton.jit
def mixed(X, BYTES):
    tl.store(X + 1, tl.load(BYTES).to(tl.float32))


def test_bytes_and_numbers_of_one_memory():
    memory = np.zeros(4, dtype=np.float32)
    memory.view(np.uint8)[0] = 5
    mixed[(1,)](memory, memory.view(np.uint8))
    assert memory[1] == 5
    with pytest.raises(tritium.OutOfBoundsError):
        mixed[(1,)](memory[:1], memory.view(np.uint8)[:4])


@triton.jit
def descriptors(OUT, X):
    OUT.store([0, 0], X.load([4, 0]) * 2)


@pytest.mark.skipif(not getattr(triton, "__tritium__", False), reason="Triton's own descriptors want PyTorch's tensors")
def test_descriptors():
    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    out = np.zeros((4, 8), dtype=np.float32)
    descriptors[(1,)](TensorDescriptor(out, [4, 8], [8, 1], [4, 8]), TensorDescriptor(x, [8, 8], [8, 1], [4, 8]))
    np.testing.assert_array_equal(out, 2 * x[4:])


@triton.jit
def scalars(OUT, i, f, b, none, pair):
    if none is None:
        tl.store(OUT, i)
    tl.store(OUT + 1, f)
    tl.store(OUT + 2, b)
    tl.store(OUT + 3, pair[0] + pair[1])


def test_scalars_nothing_and_tuples():
    out = np.zeros(4, dtype=np.float64)
    scalars[(1,)](out, 1 << 40, 0.5, True, None, (np.int32(3), 4))
    np.testing.assert_array_equal(out, [float(1 << 40), 0.5, 1, 7])


def test_memory_that_cannot_be_written():
    x = np.arange(8, dtype=np.float32)
    x.flags.writeable = False
    out = np.zeros_like(x)
    copy[(1,)](out, x, 8, BLOCK=8)
    with pytest.raises(ValueError, match="`OUT`, which is read-only"):
        copy[(1,)](x, out + 1, 8, BLOCK=8)


def test_arguments_that_no_kernel_takes():
    out = np.zeros(8, dtype=np.float32)
    with pytest.raises(tritium.LaunchError, match="`X` is a str"):
        copy[(1,)](out, "x", 8, BLOCK=8)
    with pytest.raises(tritium.LaunchError, match="negative stride"):
        copy[(1,)](out, out[::-1], 8, BLOCK=8)
    with pytest.raises(TypeError, match="BLOCK"):
        copy[(1,)](out, out, 8)
    with pytest.raises(KeyError, match="num_warp"):
        copy[(1,)](out, out, 8, BLOCK=8, num_warp=4)
    with pytest.raises(tritium.LaunchError, match="grid"):
        copy[(1, 1, 1, 1)](out, out, 8, BLOCK=8)
    copy[(0,)](out, out, 8, BLOCK=8)


def test_grids():
    x = np.arange(20, dtype=np.float32)
    out = np.zeros_like(x)
    copy[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](out, x, 20, BLOCK=8)
    np.testing.assert_array_equal(out, x)


def test_a_report_counts_launches():
    out = np.zeros(8, dtype=np.float32)
    copy[(1,)](out, out, 8, BLOCK=8)
    (row,) = [row for row in tritium.report() if row.name == "copy" and row.file == __file__]
    before = row.launches
    copy[(1,)](out, out, 8, BLOCK=8)
    assert row.launches == before + 1 and row.line == copy.fn.__code__.co_firstlineno + 1


@triton.jit
def product(OUT, X, Y, N: tl.constexpr):
    rows, columns = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    x, y = tl.load(X + rows * N + columns), tl.load(Y + rows * N + columns)
    tl.store(OUT + rows * N + columns, tl.dot(x, y))


def test_products_of_f32_follow_the_environment(monkeypatch):
    x, y = np.random.default_rng(0).standard_normal((2, 16, 16)).astype(np.float32)
    worst = {}
    for word in ("", "ieee", "tf32"):
        monkeypatch.setenv("TRITON_F32_DEFAULT", word)
        out = np.zeros_like(x)
        product[(1,)](out, x, y, N=16)
        worst[word] = abs(out - x.astype(np.float64) @ y).max()
    assert worst["ieee"] < 1e-5 < 1e-4 < worst["tf32"] == worst[""]
    monkeypatch.setenv("TRITON_F32_DEFAULT", "fp32")
    with pytest.raises(tritium.CompilationError, match='TRITON_F32_DEFAULT: "fp32" is no input precision'):
        product[(1,)](out, x, y, N=16)
