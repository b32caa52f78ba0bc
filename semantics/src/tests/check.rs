//! Diagnostics of whole files.

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::database;
use crate::check::check;
use crate::problem::Applicability;

pub(super) fn report(text: &str, triton: &str) -> String {
    let (mut db, file) = database(text);
    db.set_triton(triton);
    let mut out = String::new();
    for d in check(&db, file).iter().filter(|d| d.code.is_default()) {
        let line = text[..d.range.start].matches('\n').count() + 1;
        let _ = write!(out, "{line}: {} {} {:?}: {}", d.severity.name(), d.code, &text[d.range.clone()], d.message);
        if d.assumed {
            out.push_str(" (assumed)");
        }
        if !d.configs.is_empty() {
            let _ = write!(out, " {:?}", d.configs);
        }
        out.push('\n');
        for r in &d.related {
            let _ = writeln!(out, "    {:?}: {}", &r.file.text(&db)[r.range.clone()], r.message);
        }
        for fix in &d.fixes {
            let edits: Vec<_> = fix.edits.iter().map(|e| (&text[e.range.clone()], e.new_text.as_str())).collect();
            let _ = writeln!(
                out,
                "    {}fix: {} {edits:?}",
                if fix.applicability == Applicability::Safe { "safe " } else { "" },
                fix.title
            );
        }
    }
    out
}

fn check_text(text: &str, expected: Expect) {
    expected.assert_eq(&report(&format!("import torch, triton\nimport triton.language as tl\n{text}"), "3.6"));
}

#[test]
fn nothing_without_triton() {
    expect![[""]].assert_eq(&report("def f(x):\n    return (\n", "3.6"));
}

/// What a function around gives to a kernel, and what is put into its text, is not known: only what is wrong all the same is told.
#[test]
fn kernels_inside_functions() {
    check_text(
        r#"
def make(size, kind):
    SIZE = tl.constexpr(size)
    FIXED = tl.constexpr(32)
    PLAIN = 32

    @triton.jit
    def k(x):
        a = tl.zeros((SIZE,), kind)
        tl.store(x + tl.arange(0, SIZE), a + made(a))
        tl.store(x + tl.arange(0, FIXED), 1.0, mask=tl.arange(0, FIXED))
        tl.store(x + PLAIN, missing)

    return patch(k)

def filled(body):
    @triton.jit
    def template(x):
        tl.store(x, WHAT_TO_STORE + of_the_text)
        tl.store(x + tl.arange(0, 16), 1.0, mask=tl.arange(0, 16))

    return patch(template, {"WHAT_TO_STORE": body})

def sliced(x):
    @triton.jit
    def k(x):
        i = tl.arange(0, 16)
        tl.store(x + i[None, None:, None:None:None] + i[1:, None], 1.0)
    k[(1,)](x)
"#,
        expect![[r#"
            12: error LNG018 "made": `made` is not defined, or is a Python function that kernels cannot call
            13: error DTY011 "tl.arange(0, FIXED)": a mask is i1, and `tl.arange(0, FIXED)` is i32[32]: compare it, `tl.arange(0, FIXED) != 0`
                fix: Compare with 0 [("", " != 0")]
            14: error LNG004 "PLAIN": `PLAIN` is a Python global, and kernels read only globals that are compile-time values: define it as `PLAIN = tl.constexpr(…)`
            14: error LNG018 "missing": `missing` is not defined, or is a Python function that kernels cannot call
            22: error DTY011 "tl.arange(0, 16)": a mask is i1, and `tl.arange(0, 16)` is i32[16]: compare it, `tl.arange(0, 16) != 0`
                fix: Compare with 0 [("", " != 0")]
            30: error LNG016 "i[1:, None]": `i[…]` takes `None` and `:` only, not `1:` (`i` is i32[16]): tiles are not sliced; load the part that is needed, or select with `tl.where`
        "#]],
    );
}

/// Numbers that nobody passes decide nothing: an order, an axis, extents, a word, a type, a mask. What is written out is a mistake.
#[test]
fn assumed_values_bring_no_errors() {
    check_text(
        r#"
@triton.jit
def turned(x, y, A: tl.constexpr, B: tl.constexpr, FIRST: tl.constexpr, SECOND: tl.constexpr, AXIS: tl.constexpr):
    at = tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :]
    v = tl.trans(tl.load(x + at), FIRST, SECOND)
    tl.store(y + tl.arange(0, A), tl.sum(v, AXIS))

@triton.jit
def window(x, y, n, O0: tl.constexpr, O1: tl.constexpr):
    b = tl.make_block_ptr(x, (n, n), (n, 1), (0, 0), (16, 16), (O0, O1))
    tl.store(tl.make_block_ptr(y, (n, n), (n, 1), (0, 0), (16, 16), (1, 0)), tl.load(b))

@triton.jit
def folded(x, y, A: tl.constexpr, B: tl.constexpr):
    at = tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(y + tl.arange(0, 1024), tl.reshape(tl.load(x + at), (1024,)))

@triton.jit
def chosen(x, y, KIND: tl.constexpr, NAME: tl.constexpr, MASK: tl.constexpr, SEM: tl.constexpr):
    v = tl.full((16,), 1, KIND) + getattr(tl, NAME)(tl.load(x + tl.arange(0, 16), mask=MASK))
    tl.atomic_add(y + tl.arange(0, 16), v, sem=SEM)

@triton.jit
def wrong(x, y, A: tl.constexpr):
    v = tl.load(x + tl.arange(0, A))
    tl.atomic_add(y + tl.arange(0, A), tl.expand_dims(v, 3), sem="now")
    tl.store(y + tl.arange(0, A), tl.expm(v))
"#,
        expect![[r#"
            28: error SHP005 "3": the result (f32[64] with 1 more) has no axis 3: its axes are 0 to 1
                fix: Use axis 1 [("3", "1")]
            28: error LNG011 "\"now\"": "now" is no sem: it is one of "relaxed", "acquire", "release", "acq_rel"
            29: error LNG010 "tl.expm": `tl.expm` does not exist; did you mean `tl.exp`?
                fix: Change to `tl.exp` [("tl.expm", "tl.exp")]
        "#]],
    );
}

#[test]
fn launches_decide() {
    check_text(
        r#"
@triton.jit
def kernel(x, y, A: tl.constexpr, B: tl.constexpr):
    v = tl.arange(0, A) + tl.arange(0, B)
    tl.store(x + v, tl.load(y))

x = torch.empty(64, device='cuda')
kernel[(1,)](x, x, 32, 32)
kernel[(1,)](x, x, 32, 64)
"#,
        expect![[r#"
            6: error SHP001 "tl.arange(0, A) + tl.arange(0, B)": `tl.arange(0, A)` has shape [32] ([A]) and `tl.arange(0, B)` has shape [64] ([B]); `+` cannot match 32 with 64: make one a column and the other a row, `tl.arange(0, A)[:, None]` and `tl.arange(0, B)[None, :]` ["kernel#2"]
                "tl.arange(0, A)": 32 comes from A here
                "tl.arange(0, B)": 64 comes from B here
                fix: Make a column and a row [("", "[:, None]"), ("", "[None, :]")]
        "#]],
    );
}

#[test]
fn a_launch_whose_tensors_the_kernel_cannot_take_is_shown() {
    check_text(
        r#"
@triton.jit
def kernel(x, y, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y + at, tl.exp(tl.load(x + at)))
    tl.store(y + at, tl.arange(0, 24))

y = torch.empty(64, device="cuda")
kernel[(1,)](torch.zeros(64, device="cuda"), y, 32)
kernel[(1,)](torch.zeros(64, dtype=torch.int32, device="cuda"), y, 32)
"#,
        expect![[r#"
            7: error DTY005 "tl.load(x + at)": tl.exp needs f32 or f64, and `tl.load(x + at)` is i32[32]: cast it with `.to(tl.float32)` ["kernel#2"]
                "kernel[(1,)](torch.zeros(64, dtype=torch.int32, device=\"cuda\"), y, 32)": for this launch: `x` is *i32, `y` is *f32
                fix: Cast to float32 [("", ".to(tl.float32)")]
            8: error SHP002 "24": 24 is not a power of two: use 32 and mask what is beyond 24
                fix: Use 32 [("24", "32")]
        "#]],
    );
}

#[test]
fn assumptions_only_hint_unless_all_agree() {
    check_text(
        r#"
@triton.jit
def kernel(x, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    v = tl.arange(0, BLOCK_M) + tl.arange(0, BLOCK_N)
    w = tl.arange(0, 32) + tl.arange(0, 16)
    tl.store(x + v, 1.0)
"#,
        expect![[r#"
            6: hint SHP001 "tl.arange(0, BLOCK_M) + tl.arange(0, BLOCK_N)": `tl.arange(0, BLOCK_M)` has shape [128] ([BLOCK_M]) and `tl.arange(0, BLOCK_N)` has shape [64] ([BLOCK_N]); `+` cannot match 128 with 64: make one a column and the other a row, `tl.arange(0, BLOCK_M)[:, None]` and `tl.arange(0, BLOCK_N)[None, :]` (assumed)
                "tl.arange(0, BLOCK_M)": 128 comes from BLOCK_M here
                "tl.arange(0, BLOCK_N)": 64 comes from BLOCK_N here
                fix: Make a column and a row [("", "[:, None]"), ("", "[None, :]")]
            7: error SHP001 "tl.arange(0, 32) + tl.arange(0, 16)": `tl.arange(0, 32)` has shape [32] and `tl.arange(0, 16)` has shape [16]; `+` cannot match 32 with 16: make one a column and the other a row, `tl.arange(0, 32)[:, None]` and `tl.arange(0, 16)[None, :]`
                "tl.arange(0, 32)": 32 comes from here
                "tl.arange(0, 16)": 16 comes from here
                fix: Make a column and a row [("", "[:, None]"), ("", "[None, :]")]
        "#]],
    );
}

#[test]
fn suppressions() {
    check_text(
        r#"
@triton.jit
def kernel(x):
    a = tl.arange(0, 33)  # tritium: ignore[SHP002] on purpose
    # tritium: ignore[not-power-of-two, SHP001]
    b = tl.arange(0, 34)
    c = tl.arange(0, 35)  # tritium: ignore[SHP001]
    tl.store(x, 1.0)
"#,
        expect![[r##"
            7: hint SUP001 "# tritium: ignore[not-power-of-two, SHP001]": `SHP001` is not found on this line any more: the suppression silences nothing
                safe fix: Remove what is unused [("# tritium: ignore[not-power-of-two, SHP001]", "# tritium: ignore[not-power-of-two]")]
            9: error SHP002 "35": 35 is not a power of two: use 64 and mask what is beyond 35
                fix: Use 64 [("35", "64")]
            9: hint SUP001 "# tritium: ignore[SHP001]": `SHP001` is not found on this line any more: the suppression silences nothing
                safe fix: Remove what is unused [("  # tritium: ignore[SHP001]", "")]
        "##]],
    );
}

#[test]
fn helpers_in_the_file() {
    check_text(
        r#"
@triton.jit
def twice(v):
    return v + tl.arange(0, 16)

@triton.jit
def kernel(x):
    v = twice(tl.arange(0, 32))
    tl.store(x + v, 1.0)
"#,
        expect![[r#"
            6: error SHP001 "v + tl.arange(0, 16)": `v` has shape [32] and `tl.arange(0, 16)` has shape [16]; `+` cannot match 32 with 16: make one a column and the other a row, `v[:, None]` and `tl.arange(0, 16)[None, :]`
                "v": 32 comes from here
                "tl.arange(0, 16)": 16 comes from here
                "twice(tl.arange(0, 32))": called from here
                fix: Make a column and a row [("", "[:, None]"), ("", "[None, :]")]
        "#]],
    );
}

#[test]
fn what_a_file_does_with_its_kernels() {
    // Launched in each other's place, a kernel keeps the parameters that only the other one reads.
    check_text(
        r#"
@triton.jit
def plain(x, out, scale):
    tl.store(out, tl.load(x))

@triton.jit
def scaled(x, out, scale):
    tl.store(out, tl.load(x) * scale)

def run(x, out, scale):
    kernel = scaled if scale else plain
    kernel[(1,)](x, out, scale)
"#,
        expect![[""]],
    );
    check_text(
        r#"
@triton.jit
def plain(x, out, scale):
    tl.store(out, tl.load(x))

def run(*tensors):
    plain[(1,)](*tensors)
"#,
        expect![[""]],
    );
    // A name that the file itself gives to the module.
    check_text(
        r#"
tl.extract_slice = tl.core.extract_slice

@triton.jit
def kernel(x, out):
    tl.store(out, tl.extract_slice(tl.load(x + tl.arange(0, 16)), [0], [1], [1]))
"#,
        expect![[""]],
    );
}

#[test]
fn the_deepest_expressions_end() {
    for deep in [
        "-".repeat(5000) + "1",
        "(".repeat(5000) + "1",
        "1".to_owned() + &" + 1".repeat(5000),
        "[".repeat(900) + &"]".repeat(900),
    ] {
        let text = format!(
            "import triton\nimport triton.language as tl\nV = {deep}\n@triton.jit\ndef kernel(x, n=V):\n    tl.store(x + ({deep}), {deep})\nkernel[(1,)](V, {deep})\n"
        );
        report(&text, "3.6");
    }
}
