//! Launches, from host code and from blocks.

use expect_test::{Expect, expect};

use super::{launches_of, sites_of};

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&launches_of(text));
}

const ROWS: &str = "
import torch, triton
import triton.language as tl

@triton.jit
def rows(out, x, stride, n, BLOCK: tl.constexpr):
    pass
";

fn after_rows(host: &str, expected: Expect) {
    check(&format!("{ROWS}{host}"), expected);
}

/// A kernel is launched by the function around it, tuned by what that one knows.
#[test]
fn kernels_inside_functions() {
    check(
        "
import torch, triton
import triton.language as tl

def run(n, sizes):
    configs = [triton.Config({'B': size}) for size in sizes]

    @triton.autotune(configs=configs, key=['n'])
    @triton.jit
    def kernel(x, n, B: tl.constexpr):
        pass

    x = torch.zeros(n, device='cuda')
    kernel[lambda meta: (triton.cdiv(n, meta['B']),)](x, n)

def make(half):
    @triton.jit
    def made(x, H: tl.constexpr):
        pass
    return triton.jit(made) if half else made

run(100, (16, 32))
make(False)[(2,)](torch.ones(8, device='cuda'), H=3)
",
        expect![[r#"
            kernel[0] = kernel[7, 1, 1] x=x:f32[100]/[1]=Zeros n=100 B:16 warps=4 stages=3
            kernel[1] = kernel[4, 1, 1] x=x:f32[100]/[1]=Zeros n=100 B:32 warps=4 stages=3
            made = made[2, 1, 1] x=x:f32[8]/[1]=Ones H:3 warps=4 stages=3
        "#]],
    );
}

#[test]
fn tensors_strides_and_sizes() {
    after_rows(
        "
torch.manual_seed(0)
x = torch.normal(0, 1, size=(583, 931), device='cuda')
y = torch.empty_like(x)
rows[(x.shape[0],)](y, x, x.stride(0), x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]), num_warps=8)
",
        expect![[r#"
            rows = rows[583, 1, 1] out=y:f32[583, 931]/[931, 1]=Empty x=x:f32[583, 931]/[931, 1]=Normal { mean: 0.0, std: 1.0 } stride=931 n=931 BLOCK:1024 warps=8 stages=3
        "#]],
    );
}

#[test]
fn functions_and_grids_that_depend_on_meta() {
    after_rows(
        "
def launch(x, block=128):
    n_rows, n = x.shape
    out = torch.empty((n_rows, n), dtype=x.dtype, device=x.device)
    assert x.is_cuda and out.is_contiguous()
    grid = lambda meta: (triton.cdiv(n, meta['BLOCK']), n_rows)
    rows[grid](out, x, x.stride(0), n, BLOCK=block)
    return out

if __name__ == '__main__':
    for n in (256, 1 << 10):
        a = 0.5 * torch.randn(16, n, device='cuda').to(torch.float16) + 2
        print(launch(a))
    b = launch(torch.rand((32, 8), device='cuda').t().contiguous(), block=64)
",
        expect![[r#"
            rows = rows[2, 16, 1] out=out:f16[16, 256]/[256, 1]=Empty x=a:f16[16, 256]/[256, 1]=Normal { mean: 2.0, std: 0.5 } stride=256 n=256 BLOCK:128 warps=4 stages=3
            rows#2 = rows[8, 16, 1] out=out:f16[16, 1024]/[1024, 1]=Empty x=a:f16[16, 1024]/[1024, 1]=Normal { mean: 2.0, std: 0.5 } stride=1024 n=1024 BLOCK:128 warps=4 stages=3
            rows#3 = rows[1, 8, 1] out=out:f32[8, 32]/[32, 1]=Empty x=x:f32[8, 32]/[32, 1]=Uniform { low: 0.0, high: 1.0 } stride=32 n=32 BLOCK:64 warps=4 stages=3
        "#]],
    );
}

#[test]
fn what_is_not_known_is_no_launch() {
    after_rows(
        "
import sys
n = int(sys.argv[1])
x = torch.zeros(16, 16, device='cuda')
if n > 3:
    rows[(1,)](x, x, 1, 16, BLOCK=16)
rows[(n,)](x, x, 1, 16, BLOCK=16)
rows[(1,)](x, torch.softmax(x, dim=1), 1, 16, BLOCK=16)
",
        expect![[r#"
            rows = rows[1, 1, 1] out=x:f32[16, 16]/[16, 1]=Zeros x=x:f32[16, 16]/[16, 1]=Computed stride=1 n=16 BLOCK:16 warps=4 stages=3
            unknown: an element is not known at "rows[(1,)](x, x, 1, 16, BLOCK=16)"
            unknown: an element is not known at "rows[(n,)](x, x, 1, 16, BLOCK=16)"
        "#]],
    );
}

#[test]
fn tensors_of_the_cpu() {
    after_rows(
        "
def give(x):
    rows[(1,)](x, x, 1, 16, 16)

x = torch.randn(16, 16)
rows[(1,)](x, torch.zeros_like(x), 1, 16, 16)
rows[(2,)](x.half().t(), x.cuda(), 1, 16, 16)
rows[(3,)](torch.randn(16, 16, device='cuda').cpu(), x.to('cuda'), 1, 16, 16)
rows[(4,)](torch.full((16, 1), 1.0, device='cpu'), x.to('cuda'), 1, 16, 16)
give(x + 1)
",
        expect![[r#"
            rows = rows[1, 1, 1] out=x:f32[16, 16]/[16, 1]=Normal { mean: 0.0, std: 1.0 } x=x:f32[16, 16]/[16, 1]=Zeros stride=1 n=16 BLOCK:16 warps=4 stages=3
            rows#2 = rows[2, 1, 1] out=out:f16[16, 16]/[1, 16]=Normal { mean: 0.0, std: 1.0 } x=x:f32[16, 16]/[16, 1]=Normal { mean: 0.0, std: 1.0 } stride=1 n=16 BLOCK:16 warps=4 stages=3
            rows#3 = rows[3, 1, 1] out=out:f32[16, 16]/[16, 1]=Normal { mean: 0.0, std: 1.0 } x=x:f32[16, 16]/[16, 1]=Normal { mean: 0.0, std: 1.0 } stride=1 n=16 BLOCK:16 warps=4 stages=3
            rows#4 = rows[4, 1, 1] out=out:f32[16, 1]/[1, 1]=Full(1.0) x=x:f32[16, 16]/[16, 1]=Normal { mean: 0.0, std: 1.0 } stride=1 n=16 BLOCK:16 warps=4 stages=3
            rows#5 = rows[1, 1, 1] out=x:f32[16, 16]/[16, 1]=Normal { mean: 1.0, std: 1.0 } x=x:f32[16, 16]/[16, 1]=Normal { mean: 1.0, std: 1.0 } stride=1 n=16 BLOCK:16 warps=4 stages=3
            LCH005 `out` and `x` get tensors of the CPU, and a kernel reads the GPU's memory: make them with `device="cuda"`, or pass `.cuda()` of them at "rows[(1,)](x, torch.zeros_like(x), 1, 16, 16)"
            LCH005 `out` gets a tensor of the CPU, and a kernel reads the GPU's memory: make it with `device="cuda"`, or pass `.cuda()` of it at "rows[(2,)](x.half().t(), x.cuda(), 1, 16, 16)"
            LCH005 `out` gets a tensor of the CPU, and a kernel reads the GPU's memory: make it with `device="cuda"`, or pass `.cuda()` of it at "rows[(3,)](torch.randn(16, 16, device='cuda').cpu(), x.to('cuda'), 1, 16, 16)"
            LCH005 `out` gets a tensor of the CPU, and a kernel reads the GPU's memory: make it with `device="cuda"`, or pass `.cuda()` of it at "rows[(4,)](torch.full((16, 1), 1.0, device='cpu'), x.to('cuda'), 1, 16, 16)"
            LCH005 `out` and `x` get tensors of the CPU, and a kernel reads the GPU's memory: make them with `device="cuda"`, or pass `.cuda()` of them at "rows[(1,)](x, x, 1, 16, 16)"
        "#]],
    );
}

#[test]
fn tensors_that_may_be_elsewhere() {
    let silent = |host: &str| {
        let found = launches_of(&format!("{ROWS}{host}"));
        assert!(!found.contains("LCH005"), "{host}\n{found}");
    };
    let launch = "rows[(1,)](x, x, 1, 16, 16)\n";
    for before in [
        "x = torch.randn(16, 16, device='cuda')\n",
        "x = torch.randn(16, 16, device=torch.device('cuda', 0))\n",
        "x = torch.randn(16, 16, device=DEVICE)\n",
        "x = torch.randn(16, 16, pin_memory=True)\n",
        "x = torch.randn(16, 16).pin_memory()\n",
        "x = torch.randn(16, 16).to(DEVICE, torch.float16)\n",
        "x = torch.randn(16, 16).to(torch.float16).cuda()\n",
        "x = torch.randn(16, 16)\nx.data = x.data.cuda()\n",
        "x = torch.randn(16, 16)\nif not x.is_cuda:\n    x = x.cuda()\n",
        "x = torch.empty(0, 16)\n",
        "torch.set_default_device('cuda')\nx = torch.randn(16, 16)\n",
        "x = None\nwith torch.device('cuda'):\n    x = torch.randn(16, 16)\n",
        "import os\nos.environ['TRITON_INTERPRET'] = '1'\nx = torch.randn(16, 16)\n",
        "device = 'cuda' if torch.cuda.is_available() else 'cpu'\nx = torch.randn(16, 16, device=device)\n",
    ] {
        silent(&format!("{before}{launch}"));
    }
    // Who calls it may have chosen the device.
    silent("def test():\n    x = torch.randn(16, 16)\n    rows[(1,)](x, x, 1, 16, 16)\n");
    silent("def run(x):\n    if x.device.type == 'cuda':\n        rows[(1,)](x, x, 1, 16, 16)\n\nrun(torch.randn(16, 16))\n");
    silent("x = torch.randn(16, 16)\nrows[(1,)](x.cuda(), x.cuda(), 1, 16, x)\n");
    // A kernel that is only compiled reads nothing.
    silent("x = torch.randn(16, 16)\nrows[(1,)](x, x, 1, 16, 16, warmup=True)\n");
}

#[test]
fn wrong_arguments() {
    after_rows(
        "
x = torch.zeros(16, 16, device='cuda')
rows[(1,)](x, x, 1, BLOCK=16)
rows[(1,)](x, x, 1, 16, BLOCKS=16)
rows[(1,)](x, x, 1, 16, 16, 16)
rows[(1, 2, 3, 4)](x, x, 1, 16, 16)
",
        expect![[r#"
            LCH001 the launch of `rows` gives no argument for `n` at "rows[(1,)](x, x, 1, BLOCK=16)"
            LCH001 `BLOCKS` is neither a parameter of `rows` nor an option of a launch; did you mean `BLOCK`? at "rows[(1,)](x, x, 1, 16, BLOCKS=16)"
            LCH001 `rows` takes 5 arguments, and the launch gives 6 at "rows[(1,)](x, x, 1, 16, 16, 16)"
            LCH002 a grid has one to three sizes, and this one has 4 at "rows[(1, 2, 3, 4)](x, x, 1, 16, 16)"
        "#]],
    );
}

#[test]
fn autotune_and_heuristics() {
    check(
        "
import torch, triton
import triton.language as tl

def configs():
    return [triton.Config({'BM': m, 'BN': 32}, num_warps=w) for m, w in [(64, 4), (128, 8)]]

@triton.autotune(configs=configs(), key=['n'])
@triton.heuristics({'EVEN': lambda args: args['n'] % args['BM'] == 0})
@triton.jit
def kernel(x, n, BM: tl.constexpr, BN: tl.constexpr, EVEN: tl.constexpr):
    pass

x = torch.ones(192, dtype=torch.bfloat16, device='cuda')
kernel[lambda m: (triton.cdiv(192, m['BM']),)](x, 192)
",
        expect![[r#"
            kernel[0] = kernel[3, 1, 1] x=x:bf16[192]/[1]=Ones n=192 BM:64 BN:32 EVEN:True warps=4 stages=3
            kernel[1] = kernel[2, 1, 1] x=x:bf16[192]/[1]=Ones n=192 BM:128 BN:32 EVEN:False warps=8 stages=3
        "#]],
    );
}

#[test]
fn blocks() {
    after_rows(
        "
# /// tritium
# [launch.small]
# kernel = 'rows'
# grid = ['M', 'cdiv(N, BLOCK)']
# sizes = { M = 4, N = 100 }
# args = { out = 'f16[M, N]', x = 'f16[M, N] = normal(0, 1)', stride = 'N', n = 'N' }
# meta = { BLOCK = 'next_power_of_2(N)' }
# num_warps = 2
# expect = { out = 'softmax(x, axis=1)' }
# tolerance = 1e-6
# [launch.wrong]
# kernel = 'rows'
# grid = [1]
# args = { out = 'f17[4]', x = 'f16[K]', strid = 1, n = 1 }
# [launch.missing]
# grid = [1]
# ///
",
        expect![[r#"
            small = rows[4, 1, 1] out=out:f16[4, 100]/[100, 1]=Empty x=x:f16[4, 100]/[100, 1]=Normal { mean: 0.0, std: 1.0 } stride=100 n=100 BLOCK:128 warps=2 stages=3 (block)
            LCH011 `f17` is no type at "'f17[4]'"
            LCH011 `K` is no size at "'f16[K]'"
            LCH011 `strid` is no parameter of `rows` at "strid"
            LCH001 the launch of `rows` gives no argument for `out`, `x`, `stride`, `n`, `BLOCK` at "missing"
        "#]],
    );
    check(
        "# /// tritium\n# [launch.a]\nx = 1\n",
        expect![[r##"
        LCH011 the launch block is not closed: write `# ///` after its last line at "# /// tritium"
    "##]],
    );
    check(
        "# /// tritium\n# [launch.a\n# ///\n",
        expect![[r#"
        LCH011 unclosed table, expected `]` at ""
    "#]],
    );
}

/// What calls of a library's functions leave open, whoever makes them.
fn left_open(host: &str, expected: Expect) {
    expected.assert_eq(&sites_of(&format!("{ROWS}{host}")));
}

#[test]
fn optional_arguments() {
    left_open(
        "
from typing import Optional, Union

def plain(out: torch.Tensor, x: Optional[torch.Tensor] = None, n: 'int | None' = None, eps: float | None = None):
    if x is None:
        x = torch.empty(4, dtype=torch.float16)
    n = x.shape[0] if n is None else n
    rows[(1,)](out, x, out.stride(0), n, BLOCK=64)
    rows[(1,)](out, x, eps, n, BLOCK=64)

def narrowed(out, x: torch.Tensor | None, n: Union[int, None] = None):
    if x is not None and n:
        rows[(1,)](out.contiguous(), x, n, n, BLOCK=64)
    else:
        rows[(1,)](out.contiguous(), x, n, n, BLOCK=64)
    assert x is not None
    rows[(2,)](out, x if n is None else None, n, n, BLOCK=64)

def unannotated(out, bias):
    n = 0 if bias is None else bias.shape[0]
    if bias is None:
        rows[(3,)](out, None, n, n, BLOCK=64)
    else:
        rows[(3,)](out, bias, bias.stride(0), n, BLOCK=64)
",
        expect![[r#"
            rows out=Tensor(None) x=Tensor(None) stride=Int n=Int BLOCK=64 leaves ElementTypes open
            rows out=Tensor(None) x=Tensor(None) stride=Float? n=Int BLOCK=64 leaves ElementTypes open
            rows out=Tensor(None) x=Tensor(None) stride=Int n=Int BLOCK=64 leaves ElementTypes open
            rows out=Tensor(None) x=Tensor(None)? stride=Int? n=Int? BLOCK=64 leaves ElementTypes open
            rows out=Tensor(None)? x=Tensor(None)? stride=Int? n=Int? BLOCK=64 leaves ElementTypes open
            rows out=Any? x=None stride=Int n=Int BLOCK=64 leaves Kinds open
            rows out=Any? x=Tensor(None) stride=Int n=Int BLOCK=64 leaves Kinds open
        "#]],
    );
}

#[test]
fn methods_and_contexts() {
    left_open(
        "
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor: float, block=64):
        out = torch.empty_like(x, dtype=torch.float32)
        rows[(1,)](out, x, factor, x.numel(), BLOCK=block)
        ctx.save_for_backward(x, out)
        ctx.factor = factor
        if factor > 1:
            ctx.block = block
        else:
            ctx.block = 32
        return out

    @staticmethod
    def backward(ctx, grad):
        x, out = ctx.saved_tensors
        rows[(1,)](out, x, ctx.factor, grad.stride(0), BLOCK=ctx.block)

class Layer(torch.nn.Module):
    def __init__(self, size: int, eps=1e-6):
        self.eps, self.size = eps, size
        self.weight = torch.nn.Parameter(torch.ones(size))

    def forward(self, x: torch.Tensor):
        rows[(1,)](x, self.weight, self.eps, self.size, BLOCK=64)
",
        expect![[r#"
            rows out=Tensor(Some(F32)) x=Tensor(None)? stride=Float n=Int BLOCK=Any? leaves Kinds open
            rows out=Tensor(Some(F32)) x=Tensor(None)? stride=Float n=Int BLOCK=Any? leaves Kinds open
            rows out=Tensor(None) x=Tensor(None) stride=Float? n=Int BLOCK=64 leaves ElementTypes open
        "#]],
    );
}

#[test]
fn wrappers_and_tables() {
    left_open(
        "
import functools
from dataclasses import dataclass

@triton.jit
def columns(out, x, stride, n, BLOCK: tl.constexpr):
    pass

@dataclass
class Options:
    rows: int
    scale: float = 1.0

def counted(function):
    seen = []
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        for old in unknown(seen):
            return old
        return function(*args, **kwargs)
    return wrapper

@counted
def offsets(x: torch.Tensor, block: int) -> torch.LongTensor:
    return torch.tensor(x.tolist())

@unknown.cached
def parts(x) -> tuple[torch.Tensor, int]:
    return x, 3

def chosen(x: torch.Tensor, name, options: Options, wide: bool):
    kernel = rows if wide else columns
    kernel[(1,)](x, offsets(x, 4), options.scale, options.rows, BLOCK=128)
    kernel = {'rows': rows, 'columns': columns}[name]
    y, n = parts(x)
    kernel[(1,)](y, x, {'small': 16, 'large': 32}[name], n, BLOCK=128)
    B, *rest = *x.shape, 3
    rows[(1,)](x, x, B, torch.finfo(x.dtype).max, BLOCK=128)
",
        expect![[r#"
            rows out=Tensor(None) x=Tensor(Some(I64)) stride=Float n=Int BLOCK=128 leaves ElementTypes open
            columns out=Tensor(None) x=Tensor(Some(I64)) stride=Float n=Int BLOCK=128 leaves ElementTypes open
            rows out=Tensor(None) x=Tensor(None) stride=16|32 n=Int BLOCK=128 leaves ElementTypes open
            columns out=Tensor(None) x=Tensor(None) stride=16|32 n=Int BLOCK=128 leaves ElementTypes open
            rows out=Tensor(None) x=Tensor(None) stride=Int n=Float BLOCK=128 leaves ElementTypes open
        "#]],
    );
}

#[test]
fn annotations_and_conditions_as_long_as_they_like() {
    let (union, all) = (vec!["int"; 20_000].join(" | "), vec!["n"; 20_000].join(" and "));
    left_open(
        &format!(
            "
def run(x: torch.Tensor, n: {union}):
    assert {all}
    if {all}:
        rows[(1,)](x, x, n, n, BLOCK=64)
"
        ),
        expect![[r#"
            rows out=Tensor(None) x=Tensor(None) stride=Int n=Int BLOCK=64 leaves ElementTypes open
        "#]],
    );
}

/// A test is a program: each set of its parameters is a launch.
#[test]
fn tests_and_their_parameters() {
    after_rows(
        "
import pytest

def run(dtype, n, block=64):
    x = torch.randn(n, dtype=dtype, device='cuda')
    rows[(4,)](torch.empty_like(x), x, x.stride(0), n, BLOCK=block)

@pytest.mark.parametrize('dtype', [torch.float16, torch.float32])
@pytest.mark.parametrize(('n', 'block'), [(32, 64), pytest.param(48, 16), (64, 128)])
def test_rows(dtype, n, block):
    run(dtype, n, block)

def test_one():
    run(torch.int8, 8)

def test_with_fixture(device):
    run(torch.int32, device.count)
",
        expect![[r#"
            rows = rows[4, 1, 1] out=out:f16[32]/[1]=Empty x=x:f16[32]/[1]=Normal { mean: 0.0, std: 1.0 } stride=1 n=32 BLOCK:64 warps=4 stages=3
            rows#2 = rows[4, 1, 1] out=out:f32[48]/[1]=Empty x=x:f32[48]/[1]=Normal { mean: 0.0, std: 1.0 } stride=1 n=48 BLOCK:16 warps=4 stages=3
            rows#3 = rows[4, 1, 1] out=out:f16[64]/[1]=Empty x=x:f16[64]/[1]=Normal { mean: 0.0, std: 1.0 } stride=1 n=64 BLOCK:128 warps=4 stages=3
            rows#4 = rows[4, 1, 1] out=out:i8[8]/[1]=Empty x=x:i8[8]/[1]=Normal { mean: 0.0, std: 1.0 } stride=1 n=8 BLOCK:64 warps=4 stages=3
            unknown: the arguments of the function around it are not known at "rows[(4,)](torch.empty_like(x), x, x.stride(0), n, BLOCK=block)"
        "#]],
    );
}

const OPS: &str = "
import torch, triton
import triton.language as tl

@triton.jit
def scaled(out, x, factor, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    pass

def scale(x: torch.Tensor, factor=2.0):
    if x.dim() != 2:
        raise ValueError('a matrix')
    out = torch.empty_like(x)
    n = x.numel()
    scaled[(triton.cdiv(n, 128),)](out, x, factor, n, BLOCK=128, EVEN=n % 128 == 0)
    return out

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return scale(x, factor)

    @staticmethod
    def backward(ctx, gradient):
        return scale(gradient, ctx.factor), None
";

fn calls(caller: &str, expected: Expect) {
    let files = [("lib/ops.py", OPS), ("lib/__init__.py", "from .ops import Scale, scale\n"), ("caller.py", caller)];
    expected.assert_eq(&super::launches_elsewhere_of(&files));
}

#[test]
fn tests_call_a_library() {
    calls(
        "
import pytest, torch
from lib import scale

@pytest.mark.parametrize('rows, dtype', [(64, torch.float16), pytest.param(3, torch.bfloat16, marks=pytest.mark.skipif(False)),
                                         pytest.param(5, torch.float64, marks=pytest.mark.xfail)])
def test_scale(rows, dtype, factor=0.5):
    if not has_enough_memory():
        pytest.skip('too small')
    scale(torch.randn(rows, 32, dtype=dtype, device='cuda'), factor)

def test_of_whatever(width):
    scale(torch.zeros(width, 8, device='cuda'))
",
        expect![[r#"
            scaled at line 14 of ops.py from line 10: out=Tensor(Some(F16)) x=Tensor(Some(F16)) factor=0.5 n=2048 BLOCK=128 EVEN=True, certain, whole
            scaled at line 14 of ops.py from line 10: out=Tensor(Some(BF16)) x=Tensor(Some(BF16)) factor=0.5 n=96 BLOCK=128 EVEN=False, certain, whole
            scaled at line 14 of ops.py from line 13: out=Tensor(Some(F32)) x=Tensor(Some(F32)) factor=2.0 n=Int BLOCK=128 EVEN=Bool
        "#]],
    );
}

/// What is refused, or expected to be, launches nothing.
#[test]
fn tests_of_what_fails() {
    calls(
        "
import pytest, torch, unittest
from lib import scale

def test_refused():
    with pytest.raises(ValueError):
        scale(torch.zeros(8, device='cuda'))
    with pytest.raises(RuntimeError):
        scale(torch.zeros(8, 8, device='cuda'), 'two')

@pytest.mark.xfail
def test_expected_to_fail():
    scale(torch.zeros(8, 8, device='cuda'), 'three')

def test_left_out():
    pytest.skip('not now')
    scale(torch.zeros(8, 8, device='cuda'), 'four')

def test_tried():
    try:
        scale(torch.zeros(8, 8, device='cuda'), 5.0)
    except RuntimeError:
        pass

class Tests(unittest.TestCase):
    def test_raises(self):
        with self.assertRaisesRegex(ValueError, 'a matrix'):
            scale(torch.zeros(8, 8, device='cuda'), 'six')
",
        expect![[r#"
            scaled at line 14 of ops.py from line 21: out=Tensor(Some(F32)) x=Tensor(Some(F32)) factor=5.0 n=64 BLOCK=128 EVEN=False, perhaps
        "#]],
    );
}

/// A module of a network is called for its `forward`, and what `.half()` makes of its parameters is known where it is; whoever has one may
/// have made others of them.
#[test]
fn modules_call_a_library() {
    calls(
        "
import torch
from torch import nn
import lib

class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width, 4))

    def forward(self, x: torch.Tensor):
        return lib.Scale.apply(self.weight, 1.0)

def test_layer():
    Layer(16).to('cuda').half()(torch.ones(2))
",
        expect![[r#"
            scaled at line 14 of ops.py from line 12: out=Tensor(None) x=Tensor(None) factor=1.0 n=Int BLOCK=128 EVEN=Bool
            scaled at line 14 of ops.py from line 12: out=Tensor(None) x=Tensor(None) factor=1.0 n=Int BLOCK=128 EVEN=Bool, perhaps
            scaled at line 14 of ops.py from line 12: out=Tensor(Some(F16)) x=Tensor(Some(F16)) factor=1.0 n=64 BLOCK=128 EVEN=False, certain, whole
            scaled at line 14 of ops.py from line 12: out=Tensor(Some(F16)) x=Tensor(Some(F16)) factor=1.0 n=Int BLOCK=128 EVEN=Bool, perhaps
        "#]],
    );
}
