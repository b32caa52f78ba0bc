"""A running mean that only its benchmark launches: the sizes are those that the benchmark lists."""

import torch
import triton
import triton.language as tl


@triton.jit
def mean_kernel(y_ptr, x_ptr, n_rows, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
    tl.store(y_ptr + row, tl.sum(total, axis=0) / n_cols)


def mean(x):
    y = torch.empty(x.shape[0], device=x.device, dtype=x.dtype)
    mean_kernel[(x.shape[0],)](y, x, *x.shape, BLOCK=256)
    return y


@triton.testing.perf_report(
    [
        triton.testing.Benchmark(
            x_names=["n_cols"],
            x_vals=[2**i for i in range(8, 12)],
            line_arg="provider",
            line_vals=["triton", "torch"],
            line_names=["Triton", "PyTorch"],
            plot_name=f"mean of {n_rows} rows",
            args={"n_rows": n_rows},
        )
        for n_rows in (60, 7)
    ]
)
def benchmark(n_rows, n_cols, provider):
    x = torch.randn(n_rows, n_cols, device="cuda")
    expected = x.mean(dim=1)
    torch.testing.assert_close(mean(x), expected, atol=1e-5, rtol=1e-5)
    run = {"triton": lambda: mean(x), "torch": lambda: x.mean(dim=1)}[provider]
    ms, least, most = triton.testing.do_bench(run, quantiles=[0.5, 0.2, 0.8])
    gbps = lambda ms: x.numel() * x.element_size() / ms * 1e-6
    return gbps(ms), gbps(most), gbps(least)


if __name__ == "__main__":
    benchmark.run(print_data=True)
