//! What kernels are compiled under, by launches and without.

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::database;
use crate::{ArgType, Argument, configuration::configurations, specialise::instances, target::DEFAULT_TRITON};

fn check(text: &str, expected: Expect) {
    check_under(DEFAULT_TRITON, text, expected);
}

fn check_under(triton: &str, text: &str, expected: Expect) {
    let text = format!("import torch, triton\nimport triton.language as tl\n{text}");
    let (mut db, file) = database(&text);
    db.set_triton(triton);
    let mut out = String::new();
    for (kernel, specialisations) in instances(&db, file) {
        for s in specialisations {
            let _ = write!(out, "{}", kernel.name(&db));
            if s.is_assumed() {
                out.push('?');
            }
            if let Some(config) = s.config {
                let _ = write!(out, "[{config}]");
            }
            let params = &crate::items::items(&db, file).function(kernel).expect("it is listed").params;
            for (param, argument) in params.iter().zip(s.instance.arguments(&db)) {
                let _ = write!(out, " {}:", param.name);
                let _ = match argument {
                    Argument::Constexpr(value) => write!(out, "{value}"),
                    Argument::Runtime { ty: ArgType::Scalar(d), divisible_by_16 } => {
                        write!(out, "{d}{}", if *divisible_by_16 { "/16" } else { "" })
                    }
                    Argument::Runtime { ty: ArgType::Ptr { elem, is_const }, .. } => {
                        write!(out, "*{}{elem}", if *is_const { "k" } else { "" })
                    }
                    other => write!(out, "{other}"),
                };
            }
            out.push('\n');
        }
    }
    expected.assert_eq(&out);
}

#[test]
fn arguments_of_a_launch() {
    check(
        r#"
@triton.jit(do_not_specialize=["free"])
def kernel(x, one, sixteen, seven, big, huge, f, b, n, free, wide: tl.int64, half: "fp16", c: tl.const, C: tl.constexpr):
    pass

x = torch.empty(4, dtype=torch.bfloat16)
kernel[(1,)](x, 1, 16, 7, 1 << 32, 1 << 63, 0.5, True, None, 1, 1, 2.0, x, 1)
kernel[(2,)](x, 1, 32, 9, 1 << 33, 1 << 63, 1.5, False, None, 16, 16, 3.0, x, 1)
"#,
        expect![[r#"
            kernel x:*bf16 one:1 sixteen:i32/16 seven:i32 big:i64/16 huge:u64/16 f:f32 b:i1 n:None free:i32 wide:i64 half:f16 c:*kbf16 C:1
            kernel x:*bf16 one:1 sixteen:i32/16 seven:i32 big:i64/16 huge:u64/16 f:f32 b:i1 n:None free:i32 wide:i64/16 half:f16 c:*kbf16 C:1
        "#]],
    );
}

#[test]
fn assumptions() {
    check(
        r#"
@triton.jit
def helper(base, at):
    return tl.load(base + at)

@triton.jit
def kernel(out, x, table, stride, n, eps, offset, y=None,
           BLOCK_M: tl.constexpr = 16, BLOCK_N: tl.constexpr = None, BLOCK_K: tl.constexpr, HAS: tl.constexpr, D: tl.constexpr,
           ACT: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    row = tl.load(table + rows)
    p = x + row * stride
    p += offset
    v = helper(p, rows)
    if HAS and not n > 3:
        v = v.to(D)
    if ACT == "relu":
        v = v + eps
    tl.store(pointer=out + rows, value=v)

@triton.jit
def divided(out, p, alpha, scale):
    tl.store(out + tl.program_id(0) // (p * scale), alpha)
"#,
        expect![[r#"
            kernel? out:*f32 x:*f32 table:*i32 stride:i32/16 n:i32/16 eps:f32 offset:i32/16 y:None BLOCK_M:16 BLOCK_N:None BLOCK_K:32 HAS:True D:f32 ACT:"relu"
            kernel? out:*f32 x:*f32 table:*i32 stride:i32/16 n:i32/16 eps:f32 offset:i32/16 y:None BLOCK_M:16 BLOCK_N:None BLOCK_K:32 HAS:False D:f32 ACT:""
            kernel? out:*f32 x:*f32 table:*i32 stride:i32/16 n:i32/16 eps:f32 offset:i32/16 y:None BLOCK_M:16 BLOCK_N:None BLOCK_K:64 HAS:True D:f32 ACT:""
            divided? out:*f32 p:i32/16 alpha:f32 scale:i32/16
        "#]],
    );
}

/// What a launch says is taken as it is said; the rest is assumed, of the kind that the host code has it.
#[test]
fn a_launch_that_is_known_in_part() {
    check(
        r#"
@triton.jit
def kernel(x, table, locks, out, n, stride, eps, ready, BLOCK: tl.constexpr, MODE: tl.constexpr, FLAG: tl.constexpr, D: tl.constexpr):
    i = tl.arange(0, BLOCK)
    if FLAG:
        tl.store(out + i, tl.load(x + i))

def block(n):
    return 256 if n > 1 else 128

def backward(ctx, dy, scale: float, ready: bool, mode: str = "sum"):
    x, table = ctx.saved_tensors
    rows, columns = x.shape
    locks = torch.zeros(64, dtype=torch.int32, device=dy.device)
    out = torch.empty_like(x, dtype=torch.float16)
    meta = {"BLOCK": block(columns), "MODE": mode}
    kernel[(rows,)](x, table.long(), locks, out, columns, x.stride(0), scale * 2, ready and rows > 1, FLAG=x is not None,
                    D=out.shape[-1], num_warps=8, **meta)
"#,
        expect![[r#"
            kernel? x:*f32 table:*i64 locks:*i32 out:*f16 n:i32/16 stride:i32/16 eps:f32 ready:i1 BLOCK:256 MODE:"sum" FLAG:True D:64
            kernel? x:*f32 table:*i64 locks:*i32 out:*f16 n:i32/16 stride:i32/16 eps:f32 ready:i1 BLOCK:256 MODE:"sum" FLAG:False D:64
            kernel? x:*f32 table:*i64 locks:*i32 out:*f16 n:i32/16 stride:i32/16 eps:f32 ready:i1 BLOCK:128 MODE:"sum" FLAG:False D:64
            kernel? x:*f32 table:*i64 locks:*i32 out:*f16 n:i32/16 stride:i32/16 eps:f32 ready:i1 BLOCK:128 MODE:"sum" FLAG:True D:64
        "#]],
    );
}

/// A launch with arguments that nobody can list still says those that are written out; a call that Python refuses says nothing.
#[test]
fn launches_that_say_less() {
    check(
        r#"
@triton.jit
def kernel(x, n, B: tl.constexpr, C: tl.constexpr):
    tl.store(x + tl.arange(0, B), n)

def spread(options, x):
    kernel[(1,)](x.half(), **options, C=3)

def call(f):
    return f()

def wrapped(x, n=1):
    kernel[(1,)](x, n, B=16, C=n)

call(wrapped)
"#,
        expect![[r#"
            kernel? x:*f16 n:i32/16 B:64 C:3
        "#]],
    );
}

/// Rules of heuristics see what the launch says.
#[test]
fn heuristics_of_a_launch_that_is_known_in_part() {
    check(
        r#"
@triton.heuristics({
    "HAS_BIAS": lambda args: args["bias"] is not None,
    "HAS_MASK": lambda args: args["mask"] is not None,
    "EVEN": lambda args: args["n"] % args["B"] == 0,
    "C": lambda args: triton.next_power_of_2(args["D"]),
})
@triton.jit
def kernel(x, bias, mask, n, D: tl.constexpr, B: tl.constexpr, C: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_MASK: tl.constexpr,
           EVEN: tl.constexpr):
    i = tl.arange(0, B)
    if HAS_BIAS:
        tl.store(x + i, tl.load(bias + i))
    if HAS_MASK:
        tl.store(x + i, tl.load(mask + i), mask=i < n)

def run(x, bias: torch.Tensor):
    kernel[(1,)](x, bias, None, x.numel(), 48, 64)
"#,
        expect![[r#"
            kernel? x:*f32 bias:*f32 mask:None n:i32/16 D:48 B:64 C:64 HAS_BIAS:True HAS_MASK:False EVEN:True
            kernel? x:*f32 bias:*f32 mask:None n:i32/16 D:48 B:64 C:64 HAS_BIAS:True HAS_MASK:False EVEN:False
        "#]],
    );
}

#[test]
fn few_trips_are_unrolled_by_assumption() {
    check(
        r#"
@triton.jit
def kernel(x, TRIPS: tl.constexpr, PARTS: tl.constexpr, N: tl.constexpr):
    for i in tl.static_range(TRIPS):
        tl.store(x + i, i)
    for i in tl.static_range(0, PARTS):
        tl.store(x + tl.arange(0, PARTS) + tl.arange(0, N), i)
"#,
        expect![[r#"
            kernel? x:*f32 TRIPS:4 PARTS:16 N:64
        "#]],
    );
}

#[test]
fn a_tuning_without_a_launch() {
    check(
        r#"
@triton.autotune(configs=[triton.Config({"B": b}) for b in (32, 64)], key=[])
@triton.jit
def kernel(x, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), 0.0)
"#,
        expect![[r#"
            kernel?[0] x:*f32 B:32
            kernel?[1] x:*f32 B:64
        "#]],
    );
}

/// What is checked without a launch is what is listed: the possible rows, under one instance each.
#[test]
fn a_row_that_cannot_be_compiled_is_no_configuration() {
    let rows =
        "@triton.autotune(configs=[triton.Config({'B': 64}, num_warps=3), triton.Config({'B': 128}, num_warps=8)], key=[])\n";
    let kernel = "@triton.jit\ndef kernel(x, B: tl.constexpr):\n    tl.store(x + tl.arange(0, B), 1)\n";
    let text = format!("import torch, triton\nimport triton.language as tl\n{rows}{kernel}");
    let (db, file) = database(&text);
    let mut out = String::new();
    for (kernel, specialisations) in instances(&db, file) {
        for c in configurations(&db, kernel) {
            let is_checked = specialisations.iter().any(|s| s.instance == c.instance);
            let _ = writeln!(out, "{} {:?} {}, checked: {is_checked}", c.id(&db), c.options, c.describe(&db));
        }
    }
    expect![[r#"
        assumed:1 LaunchOptions { num_warps: 8, num_stages: 3, max_registers: None } assumed arguments (no launch of it is known), configuration 1, checked: true
    "#]]
    .assert_eq(&out);
    check(
        &format!("{rows}{kernel}"),
        expect![[r#"
            kernel?[1] x:*f32 B:128
        "#]],
    );
}

#[test]
fn a_function_cannot_be_assumed() {
    check(
        r#"
@triton.jit
def kernel(x, F: tl.constexpr):
    tl.store(x, F(tl.load(x)))
"#,
        expect![[r#"
            kernel? x:*f32 F:unknown
        "#]],
    );
}

#[test]
fn what_cannot_be_assumed_is_unknown() {
    check(
        "
@triton.jit
def window(desc, x, out, stride_m, stride_n, M, ACT: tl.constexpr, SHAPE: tl.constexpr, B: tl.constexpr):
    d = tl.make_tensor_descriptor(x, [M, M], [stride_m, stride_n], [B, B])
    y = ACT(desc.load([0, 0]) + d.load([0, 0])) * SHAPE[0]
    tl.store(out, y)


@triton.jit
def gather(ptrs, meta, out):
    a, b = ptrs
    tl.store(out, tl.load(a) + meta.offset)


@triton.jit
def annotated(a: tl.tensor_descriptor, b: tuple, c: 'TensorDescriptor', d: tl.tensor, out):
    tl.store(out, d)
",
        expect![[r#"
            window? desc:unknown x:*f32 out:*f32 stride_m:i32/16 stride_n:1 M:i32/16 ACT:unknown SHAPE:unknown B:64
            gather? ptrs:unknown meta:unknown out:*f32
            annotated? a:unknown b:unknown c:unknown d:i32/16 out:*f32
        "#]],
    );
}

#[test]
fn descriptors_and_tuples_of_a_launch() {
    check(
        "
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def copy(d, t, out):
    tl.store(out, tl.sum(d.load([0, 0])) + tl.load(t[0]) + t[1])


x = torch.zeros((64, 64), dtype=torch.float16)
y = torch.zeros(64)
copy[(1,)](TensorDescriptor.from_tensor(x, [16, 32]), (y, 1, 48, 2.0), y)
copy[(1,)](TensorDescriptor(x, [32, 64], [128, 1], [8, 8], padding='nan'), (y, 3), y)
copy[(1,)](TensorDescriptor.from_tensor(x, [1, 1]), (y, 3), y)
",
        expect![[r#"
            copy d:tensordesc<f16[16, 32]> t:(*f32, constexpr[1], i32, f32) out:*f32
            copy d:tensordesc<f16[8, 8]> t:(*f32, i32) out:*f32
        "#]],
    );
}

/// What a helper is given decides what its parameters are to the kernel.
#[test]
fn helpers_tell_what_parameters_are() {
    check(
        r#"
@triton.jit
def inner(x, trips: tl.constexpr, MODE: tl.constexpr, dtype: tl.constexpr, MASKED: tl.constexpr):
    for i in tl.static_range(trips):
        if MODE == "row":
            tl.store(x + i, i)
        elif MODE == "column":
            tl.store(x + 2 * i, i)
        elif MODE == "all" and MASKED:
            tl.store(x + 3 * i, tl.zeros([], dtype))

@triton.jit
def kernel(x, TIMES: tl.constexpr, MODE: tl.constexpr, OUT: tl.constexpr, MASKED: tl.constexpr):
    inner(x, TIMES, MODE, OUT, MASKED)
"#,
        expect![[r#"
            kernel? x:*f32 TIMES:4 MODE:"row" OUT:f32 MASKED:True
            kernel? x:*f32 TIMES:4 MODE:"all" OUT:f32 MASKED:False
            kernel? x:*f32 TIMES:4 MODE:"row" OUT:f32 MASKED:False
            kernel? x:*f32 TIMES:4 MODE:"column" OUT:f32 MASKED:True
        "#]],
    );
}

#[test]
fn words_are_assumed_to_say_nothing() {
    check(
        "
@triton.jit
def product(a, b, P: tl.constexpr):
    return tl.dot(a, b, input_precision=P)


@triton.jit
def kernel(x, out, PRECISION: tl.constexpr, CACHE: tl.constexpr):
    i = tl.arange(0, 16)
    a = tl.load(x + i[:, None] * 16 + i[None, :], cache_modifier=CACHE)
    tl.store(out, tl.sum(product(a, a, PRECISION)))
",
        expect![[r#"
            kernel? x:*f32 out:*f32 PRECISION:None CACHE:""
        "#]],
    );
}

/// What is shifted or seeds random numbers, here or in a helper, is loaded as an integer.
#[test]
fn what_helpers_take_as_integers_is_loaded_as_one() {
    check(
        "
@triton.jit
def unpack(packed, scale):
    return (packed >> 4) * scale

@triton.jit
def noise(seed, n: tl.constexpr):
    return tl.rand(tl.load(seed), tl.arange(0, n))

@triton.jit
def kernel(packed, scale, seed, out):
    i = tl.arange(0, 16)
    low = tl.load(packed + i)
    tl.store(out + i, unpack(low, tl.load(scale + i)) + noise(seed, 16))
",
        expect![[r#"
            kernel? packed:*i32 scale:*f32 seed:*i32 out:*f32
        "#]],
    );
}

/// A block pointer stores what it points to and nothing else: what is stored decides about it.
#[test]
fn pointers_agree_with_what_is_stored() {
    check_under(
        "3.6",
        "
@triton.jit
def product(a, b, out):
    i = tl.arange(0, 32)
    a = a + i[:, None] * 32 + i[None, :]
    b = b + i[:, None] * 32 + i[None, :]
    sums = tl.zeros((32, 32), dtype=tl.int32)
    for k in range(0, 4):
        sums += tl.dot(tl.load(a), tl.load(b))
    block = tl.make_block_ptr(out, (32, 32), (32, 1), (0, 0), (32, 32), (1, 0))
    tl.store(block, sums)
",
        expect![[r#"
            product? a:*i8 b:*i8 out:*i32
        "#]],
    );
}

/// How flags meet is looked at where it shows something: what stands under one and not the other.
#[test]
fn flags_meet_where_that_shows_something() {
    check(
        "
@triton.jit
def side_by_side(x, out, SCALED: tl.constexpr, SHIFTED: tl.constexpr):
    v = tl.load(x)
    if SCALED:
        v = v * 2.0
    if SHIFTED:
        v = v + 1.0
    tl.store(out, v)

@triton.jit
def one_in_the_other(x, out, SCALED: tl.constexpr, SHIFTED: tl.constexpr):
    v = tl.load(x)
    if SCALED:
        v = v * 2.0
    elif SHIFTED:
        v = v + 1.0
    tl.store(out, v)

@triton.jit
def wrong(x, out, SCALED: tl.constexpr, SHIFTED: tl.constexpr):
    if SCALED:
        v = tl.load(x)
    if SHIFTED:
        v = v + 1.0
    tl.store(out, v)
",
        expect![[r#"
            side_by_side? x:*f32 out:*f32 SCALED:True SHIFTED:True
            side_by_side? x:*f32 out:*f32 SCALED:False SHIFTED:False
            one_in_the_other? x:*f32 out:*f32 SCALED:True SHIFTED:True
            one_in_the_other? x:*f32 out:*f32 SCALED:False SHIFTED:False
            one_in_the_other? x:*f32 out:*f32 SCALED:False SHIFTED:True
            wrong? x:*f32 out:*f32 SCALED:True SHIFTED:True
            wrong? x:*f32 out:*f32 SCALED:False SHIFTED:False
            wrong? x:*f32 out:*f32 SCALED:False SHIFTED:True
            wrong? x:*f32 out:*f32 SCALED:True SHIFTED:False
        "#]],
    );
}
