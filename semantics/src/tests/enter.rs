//! Functions that nothing calls, entered with free sizes.

use expect_test::{Expect, expect};

use super::entered_of;

const KERNELS: &str = "
import torch, triton
import triton.language as tl

@triton.jit
def rows(out, x, weight, stride, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x += tl.program_id(0) * stride
    tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n) * tl.load(weight + offsets, mask=offsets < n))

@triton.jit
def gather(out, x, index, n):
    i = tl.load(index + tl.program_id(0))
    tl.store(out + tl.program_id(0), tl.load(x + i))
";

fn after_kernels(host: &str, set: &[(&str, &str)], expected: Expect) {
    expected.assert_eq(&entered_of(&format!("{KERNELS}{host}"), set));
}

/// Sizes have the names that the text gives them, and are one where it says so.
#[test]
fn sizes_have_the_names_of_the_text() {
    let host = "
def normed(x: torch.Tensor, weight: torch.Tensor, like: torch.Tensor, eps: float = 1e-6):
    M, N = x.shape
    assert weight.shape[0] == N, 'as long as a row'
    if like.shape != x.shape:
        raise ValueError('other sizes')
    out = torch.empty_like(x)
    rows[(M,)](out, x, weight, x.stride(0), N, BLOCK=triton.next_power_of_2(N))
    return out
";
    after_kernels(
        host,
        &[],
        expect![[r#"
        normed with M = 40 (default), N = 64 (default), x = f32[M, N] (default), weight = f32[N] (default), like = f32[M, N] (default)
          rows = rows[40, 1, 1] out=out:f32[40, 64]/[64, 1]=Empty x=x:f32[40, 64]/[64, 1]=Normal { mean: 0.0, std: 1.0 } weight=weight:f32[64]/[1]=Normal { mean: 0.0, std: 1.0 } stride=64 n=64 BLOCK:64 warps=4 stages=3
    "#]],
    );
    after_kernels(
        host,
        &[("M", "7"), ("x.dtype", "f16"), ("weight", "bf16[N]")],
        expect![[r#"
            normed with M = 7, N = 64 (default), x = f16[M, N] (default), weight = bf16[N], like = f32[M, N] (default)
              rows = rows[7, 1, 1] out=out:f16[7, 64]/[64, 1]=Empty x=x:f16[7, 64]/[64, 1]=Normal { mean: 0.0, std: 1.0 } weight=weight:bf16[64]/[1]=Normal { mean: 0.0, std: 1.0 } stride=64 n=64 BLOCK:64 warps=4 stages=3
        "#]],
    );
    after_kernels(
        host,
        &[("weight", "f32[")],
        expect![[r#"
        `weight=f32[`: expected a number or a size at the end
    "#]],
    );
}

/// Axes are as many as are asked for, here or in what is called; checks of sizes, dtypes and words pass.
#[test]
fn checks_pass() {
    after_kernels(
        "
def heads(q):
    batch, seq, head, dim = q.shape
    return batch * seq * head, dim

def attention(q, k, mode, chunk: int, scale=None, mask: torch.Tensor = None):
    n, dim = heads(q)
    assert k.ndim == 3 and k.dtype == torch.float16
    assert mode in ('causal', 'full')
    assert dim % 48 == 0
    if chunk > 4 or not k.shape[-1] == dim:
        raise ValueError
    if mask is not None:
        rows[(n,)](q, k, mask, mask.stride(1), dim, BLOCK=64)
    rows[(n,)](q, k, k, k.stride(0), dim, BLOCK=64)
",
        &[],
        expect![[r#"
            attention with chunk = 4 (default), batch = 5 (default), seq = 28 (default), head = 8 (default), dim = 48 (default), k = f16[seq, head, dim] (default), q = f32[batch, seq, head, dim] (default), mask = f32[batch, seq, head, dim] (default)
              rows = rows[1120, 1, 1] out=q:f32[5, 28, 8, 48]/[10752, 384, 48, 1]=Normal { mean: 0.0, std: 1.0 } x=k:f16[28, 8, 48]/[384, 48, 1]=Normal { mean: 0.0, std: 1.0 } weight=mask:f32[5, 28, 8, 48]/[10752, 384, 48, 1]=Normal { mean: 0.0, std: 1.0 } stride=384 n=48 BLOCK:64 warps=4 stages=3
              rows#2 = rows[1120, 1, 1] out=q:f32[5, 28, 8, 48]/[10752, 384, 48, 1]=Normal { mean: 0.0, std: 1.0 } x=k:f16[28, 8, 48]/[384, 48, 1]=Normal { mean: 0.0, std: 1.0 } weight=k:f16[28, 8, 48]/[384, 48, 1]=Normal { mean: 0.0, std: 1.0 } stride=384 n=48 BLOCK:64 warps=4 stages=3
        "#]],
    );
}

/// What becomes an offset is an integer; what a kernel alone uses is what the kernel does with it.
#[test]
fn kernels_say_what_they_are_given() {
    after_kernels(
        "
def picked(x, index, n):
    out = torch.empty(n, device=x.device, dtype=x.dtype)
    gather[(n,)](out, x, index, n)
",
        &[],
        expect![[r#"
            picked with x_0 = 40 (default), x_1 = 64 (default), n = 8 (default), x = f32[x_0, x_1] (default), index = i64[x_0, x_1] (default)
              gather = gather[8, 1, 1] out=out:f32[8]/[1]=Empty x=x:f32[40, 64]/[64, 1]=Normal { mean: 0.0, std: 1.0 } index=index:i64[40, 64]/[64, 1]=RandInt { low: 0, high: 3 } n=8 warps=4 stages=3
        "#]],
    );
}

/// `backward` is entered after `forward`, with gradients of what that returns; a condition of which nothing is known has a name.
#[test]
fn gradients_come_after() {
    after_kernels(
        "
from library import is_fast

class Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        M, N = x.shape
        out = torch.empty_like(x)
        rows[(M,)](out, x, weight, x.stride(0), N, BLOCK=64)
        ctx.save_for_backward(x, weight)
        return out

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        made = torch.empty_like(weight)
        if is_fast(grad):
            rows[(1,)](made, grad, x, grad.stride(0), grad.shape[1], BLOCK=64)
        return made, None
",
        &[],
        expect![[r#"
            Rows.forward with M = 40 (default), N = 64 (default), x = f32[M, N] (default), weight = f32[N] (default)
              rows = rows[40, 1, 1] out=out:f32[40, 64]/[64, 1]=Empty x=x:f32[40, 64]/[64, 1]=Normal { mean: 0.0, std: 1.0 } weight=weight:f32[64]/[1]=Normal { mean: 0.0, std: 1.0 } stride=64 n=64 BLOCK:64 warps=4 stages=3
            Rows.backward with M = 40 (default), N = 64 (default), x = f32[M, N] (default), weight = f32[N] (default), is_fast(grad) = True (default)
              rows = rows[40, 1, 1] out=out:f32[40, 64]/[64, 1]=Empty x=x:f32[40, 64]/[64, 1]=Normal { mean: 0.0, std: 1.0 } weight=weight:f32[64]/[1]=Normal { mean: 0.0, std: 1.0 } stride=64 n=64 BLOCK:64 warps=4 stages=3
              rows#2 = rows[1, 1, 1] out=made:f32[64]/[1]=Empty x=grad:f32[40, 64]/[64, 1]=Normal { mean: 0.0, std: 1.0 } weight=x:f32[40, 64]/[64, 1]=Normal { mean: 0.0, std: 1.0 } stride=64 n=64 BLOCK:64 warps=4 stages=3
        "#]],
    );
}

/// What no text says is a free name by its text: an attribute of `self`, a function of another library, an option of the launch.
#[test]
fn what_nobody_says_is_asked_for_by_its_text() {
    let host = "
from vendor import device
from vendor.layouts import packed

class Layer:
    def run(self, x):
        M, N = x.shape
        cores = device.count()
        out = torch.empty(cores, N, device=x.device)
        blocks = min(M, cores * 2)
        rows[(blocks,)](out, x, packed(x, axis=1), x.stride(0), N, BLOCK=self.block, num_warps=self.tuned.warps)
";
    after_kernels(
        host,
        &[],
        expect![[r#"
        Layer.run with M = 40 (default), N = 64 (default), device.count() = 8 (default), self.block = 16 (default), x = f32[M, N] (default), packed(x, axis=1) = f32[M, N] (default), self.tuned.warps = 4 (default)
          rows = rows[16, 1, 1] out=out:f32[8, 64]/[64, 1]=Empty x=x:f32[40, 64]/[64, 1]=Normal { mean: 0.0, std: 1.0 } weight=packed:f32[40, 64]/[64, 1]=Normal { mean: 0.0, std: 1.0 } stride=64 n=64 BLOCK:16 warps=4 stages=3
    "#]],
    );
    after_kernels(
        host,
        &[("device.count()", "6"), ("self.block", "32"), ("packed(x, axis=1)", "f16[M, 3]"), ("self.tuned.warps", "8")],
        expect![[r#"
            Layer.run with device.count() = 6, self.block = 32, self.tuned.warps = 8, M = 128 (default), N = 64 (default), x = f32[M, N] (default), packed(x, axis=1) = f16[M, 3]
              rows = rows[12, 1, 1] out=out:f32[6, 64]/[64, 1]=Empty x=x:f32[128, 64]/[64, 1]=Normal { mean: 0.0, std: 1.0 } weight=packed:f16[128, 3]/[3, 1]=Normal { mean: 0.0, std: 1.0 } stride=64 n=64 BLOCK:32 warps=8 stages=3
        "#]],
    );
}

/// A condition that what is chosen never makes lead to the launch is one by its text all the same.
#[test]
fn a_condition_goes_where_the_launch_is() {
    after_kernels(
        "
def copied(x):
    M, N = x.shape
    block = triton.next_power_of_2(N)
    if N <= block:
        return x
    rows[(M,)](torch.empty_like(x), x, x, x.stride(0), N, BLOCK=block)
",
        &[],
        expect![[r#"
            copied with M = 40 (default), N = 64 (default), x = f32[M, N] (default), (N <= block) = False (default)
              rows = rows[40, 1, 1] out=out:f32[40, 64]/[64, 1]=Empty x=x:f32[40, 64]/[64, 1]=Normal { mean: 0.0, std: 1.0 } weight=x:f32[40, 64]/[64, 1]=Normal { mean: 0.0, std: 1.0 } stride=64 n=64 BLOCK:64 warps=4 stages=3
        "#]],
    );
}

/// A loop over what is not known runs once.
#[test]
fn loops_over_what_nobody_says_run_once() {
    after_kernels(
        "
def all_of(pairs, keys):
    for key, value in zip(keys, pairs):
        n = key.shape[1]
        rows[(key.shape[0],)](value, key, key, key.stride(0), n, BLOCK=64)
",
        &[],
        expect![[r#"
            all_of with pairs = 8 (default), keys = 4 (default), key_0 = 40 (default), n = 64 (default), key = f32[key_0, n] (default), value = f32[key_0, n] (default)
              rows = rows[40, 1, 1] out=value:f32[40, 64]/[64, 1]=Normal { mean: 0.0, std: 1.0 } x=key:f32[40, 64]/[64, 1]=Normal { mean: 0.0, std: 1.0 } weight=key:f32[40, 64]/[64, 1]=Normal { mean: 0.0, std: 1.0 } stride=64 n=64 BLOCK:64 warps=4 stages=3
        "#]],
    );
}

/// What is divided into parts holds them whole, and keys have the axes of queries.
#[test]
fn sizes_go_together() {
    after_kernels(
        "
def grouped(x, groups: int, channels: int):
    size = channels // groups
    rows[(groups,)](torch.empty_like(x), x, x, x.stride(0), size, BLOCK=64)

def turned(q, k):
    q, k = q.transpose(1, 2), k.transpose(1, 2)
    batch, length, heads, dim = q.shape
    shared = k.shape[2]
    rows[(batch * length * shared,)](q, k, k, k.stride(1), dim, BLOCK=64)
",
        &[],
        expect![[r#"
            grouped with x_0 = 40 (default), x_1 = 64 (default), groups = 16 (default), channels = 32 (default), x = f32[x_0, x_1] (default)
              rows = rows[16, 1, 1] out=out:f32[40, 64]/[64, 1]=Empty x=x:f32[40, 64]/[64, 1]=Normal { mean: 0.0, std: 1.0 } weight=x:f32[40, 64]/[64, 1]=Normal { mean: 0.0, std: 1.0 } stride=64 n=2 BLOCK:64 warps=4 stages=3
            turned with shared = 28 (default), batch = 3 (default), length = 8 (default), heads = 20 (default), dim = 64 (default), q = f32[batch, heads, length, dim] (default), k = f32[batch, shared, length, dim] (default)
              rows = rows[672, 1, 1] out=q:f32[3, 8, 20, 64]/[10240, 64, 512, 1]=Normal { mean: 0.0, std: 1.0 } x=k:f32[3, 8, 28, 64]/[14336, 64, 512, 1]=Normal { mean: 0.0, std: 1.0 } weight=k:f32[3, 8, 28, 64]/[14336, 64, 512, 1]=Normal { mean: 0.0, std: 1.0 } stride=64 n=64 BLOCK:64 warps=4 stages=3
        "#]],
    );
}

/// The function that a configuration has run before a launch sets the blocks of descriptors.
#[test]
fn blocks_are_set_before_the_launch() {
    after_kernels(
        "
from triton.tools.tensor_descriptor import TensorDescriptor

def set_blocks(args):
    args['x'].block_shape = [args['BM'], args['BN']]

@triton.autotune([triton.Config({'BM': m, 'BN': 32}, pre_hook=set_blocks) for m in (16, 32)], key=['n'])
@triton.jit
def loaded(x, out, n, BM: tl.constexpr, BN: tl.constexpr):
    tl.store(out + tl.arange(0, BN), tl.sum(x.load([0, 0]), axis=0))

def sums(x):
    M, N = x.shape
    out = torch.empty(N, device=x.device)
    loaded[(1,)](TensorDescriptor.from_tensor(x, [1, 1]), out, N)
",
        &[],
        expect![[r#"
            sums with M = 40 (default), N = 64 (default), x = f32[M, N] (default)
              loaded[0] = loaded[1, 1, 1] x=Descriptor { tensor: 0, block: [16, 32], nan: false } out=out:f32[64]/[1]=Empty n=64 BM:16 BN:32 warps=4 stages=3
              loaded[1] = loaded[1, 1, 1] x=Descriptor { tensor: 0, block: [32, 32], nan: false } out=out:f32[64]/[1]=Empty n=64 BM:32 BN:32 warps=4 stages=3
        "#]],
    );
}

/// Where no function around a launch can be entered to it, the kernel's own parameters are asked for.
#[test]
fn a_kernel_is_asked_for_itself() {
    let host = "
def launched(config, x):
    rows[(4,)](x, x, **config.arguments())
";
    after_kernels(
        host,
        &[],
        expect![[r#"
        rows on line 17 with elements = 65536 (default), stride = 256 (default), n = 8 (default), out = f32[elements] (default), x = f32[elements] (default), weight = f32[elements] (default), BLOCK = 128 (default), grid = 1 (default), num_warps = 4 (default)
          rows = rows[1, 1, 1] out=out:f32[65536]/[1]=Normal { mean: 0.0, std: 1.0 } x=x:f32[65536]/[1]=Normal { mean: 0.0, std: 1.0 } weight=weight:f32[65536]/[1]=Normal { mean: 0.0, std: 1.0 } stride=256 n=8 BLOCK:128 warps=4 stages=3
    "#]],
    );
    after_kernels(
        host,
        &[("x", "f16[8, 64]"), ("n", "64"), ("stride", "64"), ("BLOCK", "64"), ("grid", "(8, 1)"), ("num_warps", "1")],
        expect![[r#"
            rows on line 17 with n = 64, stride = 64, BLOCK = 64, elements = 65536 (default), out = f32[elements] (default), x = f16[8, 64], weight = f32[elements] (default), grid = (8, 1), num_warps = 1
              rows = rows[8, 1, 1] out=out:f32[65536]/[1]=Normal { mean: 0.0, std: 1.0 } x=x:f16[8, 64]/[64, 1]=Normal { mean: 0.0, std: 1.0 } weight=weight:f32[65536]/[1]=Normal { mean: 0.0, std: 1.0 } stride=64 n=64 BLOCK:64 warps=1 stages=3
        "#]],
    );
}
