"""A transposed copy between tensors with strides of any order, for sizes that a benchmark lists."""

import torch
import triton
import triton.language as tl
import triton.testing


@triton.jit
def transpose_kernel(x_ptr, y_ptr, M, N, stride_xm, stride_xn, stride_ym, stride_yn, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = (m[:, None] < M) & (n[None, :] < N)
    x = tl.load(x_ptr + m[:, None] * stride_xm + n[None, :] * stride_xn, mask=mask)
    tl.store(y_ptr + m[:, None] * stride_yn + n[None, :] * stride_ym, x, mask=mask)


def transpose(x):
    M, N = x.shape
    y = torch.empty((N, M), dtype=x.dtype, device=x.device)
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK"]), triton.cdiv(N, meta["BLOCK"]))
    transpose_kernel[grid](x, y, M, N, x.stride(0), x.stride(1), y.stride(0), y.stride(1), BLOCK=32)
    return y


@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=["N"],
        x_vals=[128 * i for i in range(2, 6)],
        line_arg="provider",
        line_vals=["triton", "torch"],
        line_names=["Triton", "Torch"],
        ylabel="GB/s",
        plot_name="transpose",
        args={"M": 512},
    )
)
def benchmark(M, N, provider):
    x = torch.randn(M, N, device="cuda")
    if provider == "triton":
        ms = triton.testing.do_bench(lambda: transpose(x))
    else:
        ms = triton.testing.do_bench(lambda: x.t().contiguous())
    return 2 * x.numel() * x.element_size() / ms * 1e-6


if __name__ == "__main__":
    for shape in [(70, 130), (64, 64)]:
        x = torch.randn(shape, device="cuda", dtype=torch.bfloat16)
        assert torch.equal(transpose(x), x.t())
    # A slice of a larger tensor has gaps between its rows.
    wide = torch.arange(100 * 80, device="cuda").view(100, 80)
    assert torch.equal(transpose(wide[10:60, ::2]), wide[10:60, ::2].t())
    benchmark.run(show_plots=False, print_data=True)
