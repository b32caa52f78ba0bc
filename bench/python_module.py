"""The Python module on a GPU, beside Triton in the same minute: overhead of a launch, time until an autotuner can begin, `torch.compile`.

    python bench/python_module.py --out bench/results/python-module.json

Needs PyTorch with Triton and the installed wheel of Tritium. Each part runs in processes of its own with empty caches.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time


def kernels():
    """The kernels of this file, whose caches are those of the process."""
    import triton
    import triton.language as tl

    @triton.jit
    def add(X, Y, OUT, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(OUT + at, tl.load(X + at, mask=at < n) + tl.load(Y + at, mask=at < n), mask=at < n)

    rows = [
        triton.Config({"M": m, "N": n, "K": k}, num_warps=warps, num_stages=stages)
        for m, n in ((64, 64), (64, 128), (128, 64), (128, 128))
        for k in (32, 64)
        for warps in (4, 8)
        for stages in (2, 3)
    ]

    @triton.autotune(configs=rows, key=["m", "n", "k"], do_bench=lambda call, quantiles: (call(), [1.0, 1.0, 1.0])[1])
    @triton.jit
    def matmul(A, B, C, m, n, k, sam, sbk, scm, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
        rm = tl.program_id(0) * M + tl.arange(0, M)
        rn = tl.program_id(1) * N + tl.arange(0, N)
        rk = tl.arange(0, K)
        total = tl.zeros((M, N), tl.float32)
        for i in range(0, k, K):
            a = tl.load(A + rm[:, None] * sam + (rk + i)[None, :], mask=(rm[:, None] < m) & ((rk + i)[None, :] < k), other=0.0)
            b = tl.load(B + (rk + i)[:, None] * sbk + rn[None, :], mask=((rk + i)[:, None] < k) & (rn[None, :] < n), other=0.0)
            total = tl.dot(a, b, total)
        tl.store(C + rm[:, None] * scm + rn[None, :], total.to(tl.float16), mask=(rm[:, None] < m) & (rn[None, :] < n))

    return add, matmul


def overhead():
    """Time of a launch that is known, by the clock of the process, in µs."""
    import torch

    add, _ = kernels()
    x = torch.rand(1024, device="cuda")
    out = torch.empty_like(x)
    begin = time.perf_counter()
    add[(1,)](x, x, out, 1024, BLOCK=1024)
    torch.cuda.synchronize()
    first = time.perf_counter() - begin
    times = []
    for _ in range(200):
        begin = time.perf_counter()
        for _ in range(100):
            add[(1,)](x, x, out, 1024, BLOCK=1024)
        times.append((time.perf_counter() - begin) * 1e4)
        torch.cuda.synchronize()
    assert torch.equal(out, x + x)
    return {"first_ms": 1e3 * first, "launch_us": statistics.median(times)}


def tuner():
    """Seconds until an autotuner of 32 rows has launched each once."""
    import torch

    add, matmul = kernels()
    x = torch.rand(1024, device="cuda")
    # What a process pays once: the driver, the workers.
    add[(1,)](x, x, x, 1024, BLOCK=1024)
    a = torch.randn(512, 512, device="cuda", dtype=torch.float16)
    c = torch.empty_like(a)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    matmul[lambda meta: (512 // meta["M"], 512 // meta["N"])](a, a, c, 512, 512, 512, a.stride(0), a.stride(0), c.stride(0))
    torch.cuda.synchronize()
    seconds = time.perf_counter() - begin
    torch.testing.assert_close(c, a @ a, rtol=2e-2, atol=2e-2)
    return {"rows": len(matmul.configs), "ready_s": seconds}


def compiled():
    """A transformer block under `torch.compile`, forward and backward."""
    import torch

    torch.manual_seed(0)

    class Block(torch.nn.Module):
        def __init__(self, width=512, heads=8):
            super().__init__()
            self.heads = heads
            self.first, self.second = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
            self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
            self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

        def forward(self, x):
            q, k, v = self.qkv(self.first(x)).chunk(3, -1)
            split = lambda t: t.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            attended = torch.nn.functional.scaled_dot_product_attention(split(q), split(k), split(v), is_causal=True)
            x = x + self.out(attended.transpose(1, 2).flatten(2))
            return x + self.down(torch.nn.functional.gelu(self.up(self.second(x))))

    block = Block().cuda()
    x = torch.randn(8, 256, 512, device="cuda", requires_grad=True)

    def step(module):
        block.zero_grad()
        x.grad = None
        y = module(x)
        y.square().mean().backward()
        return y.detach().clone(), x.grad.clone(), block.up.weight.grad.clone()

    eager = step(block)
    begin = time.perf_counter()
    fast = torch.compile(block)
    results = step(fast)
    torch.cuda.synchronize()
    first = time.perf_counter() - begin
    apart = [float((a - b).norm() / b.norm()) for a, b in zip(results, eager)]
    for _ in range(10):
        step(fast)
    times = []
    for _ in range(30):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        step(fast)
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return {"first_s": first, "step_ms": statistics.median(times), "apart_from_eager": apart}


PARTS = {"overhead": overhead, "tuner": tuner, "compiled": compiled}

#: Processes of each compiler whose launches are timed, in turns: on a machine with neighbours one of them may take half as long again.
TURNS = 5


def in_turns():
    """What a launch costs, as the median of several processes."""
    found = {name: [] for name in ("triton", "tritium")}
    for _ in range(TURNS):
        for name, mode in (("triton", "0"), ("tritium", "1")):
            found[name].append(in_process("overhead", mode))
    told = {}
    for name, runs in found.items():
        times = [run["launch_us"] for run in runs if "launch_us" in run]
        told[name] = {**runs[0], "launch_us": statistics.median(times) if times else None, "all_launch_us": times}
    return told


def in_process(part, mode):
    """A part in a process of its own, under Tritium or Triton alone, with empty caches."""
    with tempfile.TemporaryDirectory() as caches:
        report = os.path.join(caches, "report.json")
        env = {
            **os.environ,
            "TRITIUM": mode,
            "TRITIUM_CACHE": os.path.join(caches, "tritium"),
            "TRITON_CACHE_DIR": os.path.join(caches, "triton"),
            "TORCHINDUCTOR_CACHE_DIR": os.path.join(caches, "inductor"),
            # All in one process, so that the report has all.
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
            "TRITIUM_REPORT": report,
        }
        tool = ["-m", "tritium"] if mode != "0" else []
        run = subprocess.run([sys.executable, *tool, __file__, "--part", part], env=env, capture_output=True, text=True, timeout=280)
        if run.returncode != 0:
            return {"failed": run.stderr[-1500:]}
        found = json.loads(run.stdout.splitlines()[-1])
        if os.path.exists(report):
            with open(report) as text:
                kernels = json.load(text)["kernels"]
            found["compiled_by"] = {by: sum(k["specialisations"] for k in kernels if k["by"] == by) for by in ("tritium", "triton")}
            found["refused"] = sorted({k["refused"] for k in kernels if k["refused"]})
        return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    if arguments.part:
        print(json.dumps(PARTS[arguments.part]()))
        return
    both = lambda part: {name: in_process(part, mode) for name, mode in (("triton", "0"), ("tritium", "1"))}
    found = {part: in_turns() if part == "overhead" else both(part) for part in PARTS}
    text = json.dumps(found, indent=1)
    print(text)
    if arguments.out:
        with open(arguments.out, "w") as out:
            out.write(text + "\n")


if __name__ == "__main__":
    main()
