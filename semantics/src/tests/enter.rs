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
