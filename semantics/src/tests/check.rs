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
            12: error LNG018 "made": `made` is not defined
            13: error DTY011 "tl.arange(0, FIXED)": a mask is i1, and `tl.arange(0, FIXED)` is i32[32]: compare it, `tl.arange(0, FIXED) != 0`
                fix: Compare with 0 [("", " != 0")]
            14: error LNG004 "PLAIN": `PLAIN` is a Python global, and kernels read only globals that are compile-time values: define it as `PLAIN = tl.constexpr(…)`
            14: error LNG018 "missing": `missing` is not defined
            22: error DTY011 "tl.arange(0, 16)": a mask is i1, and `tl.arange(0, 16)` is i32[16]: compare it, `tl.arange(0, 16) != 0`
                fix: Compare with 0 [("", " != 0")]
            30: error LNG016 "i[1:, None]": `i[…]` takes `None` and `:` only, not `1:` (`i` is i32[16]): tiles are not sliced; load the part that is needed, or select with `tl.where`
        "#]],
    );
}

/// A function that makes kernels and that nobody calls is checked with its arguments assumed: what no other arguments make right is told.
#[test]
fn kernels_that_a_function_makes_for_others() {
    check_text(
        r#"
def make(BLOCK):
    B = tl.constexpr(BLOCK)

    @triton.jit
    def k(x):
        tl.store(x + tl.arange(0, B), 1.0, mask=tl.arange(0, B))

    return k

def written_out(size, kind, EVEN):
    @triton.jit
    def k(x, n):
        i = tl.arange(0, size)
        v = tl.load(x + i, mask=i < n).to(kind)
        if EVEN:
            tl.store(x + i, v + tl.arange(0, 24))
        else:
            tl.store(x + i, v, mask=i)

    return k

def open_ended(self, size, flag, axis, kind, combine, word, pair):
    first, second = pair
    op = self.op

    @triton.jit
    def k(x, y):
        i = tl.arange(0, size)
        on = tl.broadcast_to(flag, [size])
        v = tl.load(x + i, mask=on, other=0).to(kind)
        w = tl.reshape(v, (first, second))
        tl.store(y + tl.arange(0, first), tl.sum(w, axis))
        tl.store(y + i, op(v, 1), mask=i < size)
        tl.atomic_add(y, tl.reduce(v, 0, combine), sem=word)
        tl.store(y + i, v + self.offset + getattr(tl, word)(v))
        if flag:
            tl.store(y + i, v.to(self.dtype))

    return k

@triton.jit
def launched_elsewhere(x, B: tl.constexpr, ON: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, 1.0, mask=tl.broadcast_to(ON, [B]))
    tl.store(x + i, 1.0, mask=i)
"#,
        expect![[r#"
            9: error DTY011 "tl.arange(0, B)": a mask is i1, and `tl.arange(0, B)` is i32[64]: compare it, `tl.arange(0, B) != 0`
                fix: Compare with 0 [("", " != 0")]
            19: error SHP002 "24": 24 is not a power of two: use 32 and mask what is beyond 24
                fix: Use 32 [("24", "32")]
            21: error DTY011 "i": a mask is i1, and `i` is i32[64]: compare it, `i != 0`
                fix: Compare with 0 [("", " != 0")]
            48: error DTY011 "i": a mask is i1, and `i` is i32[64]: compare it, `i != 0`
                fix: Compare with 0 [("", " != 0")]
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
def between(y, FROM: tl.constexpr, TO: tl.constexpr):
    tl.store(y + tl.arange(0, 16), tl.arange(FROM, TO))

@triton.jit
def picked(c, x, y, n):
    at = tl.arange(0, 16)
    tl.store(y + at, tl.where(tl.load(c + at), tl.load(x + at), 0.0))
    tl.store(y, 1.0) if n > 0 else tl.store(y, 2.0)

@triton.jit
def wrong(x, y, A: tl.constexpr):
    v = tl.load(x + tl.arange(0, A))
    tl.atomic_add(y + tl.arange(0, A), tl.expand_dims(v, 3), sem="now")
    tl.store(y + tl.arange(0, A), tl.expm(v))
"#,
        expect![[r#"
            38: error SHP005 "3": the result (f32[64] with 1 more) has no axis 3: its axes are 0 to 1
                fix: Use axis 1 [("3", "1")]
            38: error LNG011 "\"now\"": "now" is no sem: it is one of "relaxed", "acquire", "release", "acq_rel"
            39: error LNG010 "tl.expm": `tl.expm` does not exist; did you mean `tl.exp`?
                fix: Change to `tl.exp` [("tl.expm", "tl.exp")]
        "#]],
    );
}

/// Under pointers to `i1` the variable has two types, and nothing is known behind the loop.
#[test]
fn what_is_spoiled_under_other_types_is_told() {
    check_text(
        r#"
@triton.jit
def kernel(x, n, steps):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    v = tl.load(x + at, mask=at < n)
    for i in range(1, steps):
        v = v * i
    tl.store(x + at, v + tl.arange(0, 64), mask=at < n)
"#,
        expect![[r#"
            10: error SHP001 "v + tl.arange(0, 64)": `v` has shape [128] and `tl.arange(0, 64)` has shape [64]; `+` cannot match 128 with 64: make one a column and the other a row, `v[:, None]` and `tl.arange(0, 64)[None, :]`
                "tl.arange(0, 128)": 128 comes from here
                "tl.arange(0, 64)": 64 comes from here
                fix: Make a column and a row [("", "[:, None]"), ("", "[None, :]")]
        "#]],
    );
}

#[test]
fn what_helpers_make_of_an_address_is_one() {
    check_text(
        r#"
@triton.jit
def base(g, row, K, TURNED: tl.constexpr):
    if TURNED:
        return g + row.to(tl.int64)
    shifted = row * K + g
    return shifted

@triton.jit
def block(start, K: tl.constexpr):
    return tl.make_block_ptr(start, (K, K), (K, 1), (0, 0), (16, 16), (1, 0))

@triton.jit
def kernel(grads, beta, K: tl.constexpr, TURNED: tl.constexpr):
    start = base(grads, tl.program_id(0), K, TURNED)
    tl.store(base(beta, tl.program_id(0), 1, False), tl.sum(tl.load(block(start, K))))
"#,
        expect![""],
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
fn what_some_assumptions_do_not_have_is_not_told() {
    check_text(
        r#"
@triton.jit
def kernel(x, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    v = tl.arange(0, BLOCK_M) + tl.arange(0, BLOCK_N)
    w = tl.arange(0, 32) + tl.arange(0, 16)
    tl.store(x + v, 1.0)
"#,
        expect![[r#"
            7: error SHP001 "tl.arange(0, 32) + tl.arange(0, 16)": `tl.arange(0, 32)` has shape [32] and `tl.arange(0, 16)` has shape [16]; `+` cannot match 32 with 16: make one a column and the other a row, `tl.arange(0, 32)[:, None]` and `tl.arange(0, 16)[None, :]`
                "tl.arange(0, 32)": 32 comes from here
                "tl.arange(0, 16)": 16 comes from here
                fix: Make a column and a row [("", "[:, None]"), ("", "[None, :]")]
        "#]],
    );
}

/// An error of a launch that is known in part holds whatever the other arguments are.
#[test]
fn a_launch_that_is_known_in_part() {
    check_text(
        r#"
@triton.jit
def locked(x, lock, n, MODE: tl.constexpr, FAST: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if FAST:
        v = tl.quickly(v)
    if MODE == 2:
        v = tl.expm(v)
    tl.store(x + i, v.to(tl.float16) + tl.arange(0, 24), mask=i < n)
    tl.atomic_xchg(lock, 0)

def backward(ctx, dy):
    x, = ctx.saved_tensors
    fast = False
    locks = torch.zeros(64, dtype=torch.int32, device=x.device)
    locked[(8,)](x, locks, x.shape[0], MODE=2, FAST=fast, BLOCK=ctx.block)
"#,
        expect![[r#"
            13: error LNG010 "tl.expm": `tl.expm` does not exist; did you mean `tl.exp`?
                fix: Change to `tl.exp` [("tl.expm", "tl.exp")]
            14: error SHP002 "24": 24 is not a power of two: use 32 and mask what is beyond 24
                fix: Use 32 [("24", "32")]
        "#]],
    );
}

/// What an assertion asks that no argument decides fails for every launch; others are wishes about arguments.
#[test]
fn assertions_without_launches() {
    check_text(
        r#"
@triton.jit
def wishes(x, N: tl.constexpr, FLAG: tl.constexpr):
    if FLAG:
        tl.static_assert(False, "not this way")
    tl.static_assert(N % 3 == 0)
    tl.store(x, N)

@triton.jit
def never(x, N: tl.constexpr):
    tl.static_assert(isinstance(0, tl.tensor))
    tl.store(x, N)
"#,
        expect![[r#"
            13: error LNG017 "tl.static_assert(isinstance(0, tl.tensor))": static_assert fails: `isinstance(0, tl.tensor)` is False
        "#]],
    );
}

/// The tuner passes over rows under which an assertion fails, as long as another is left.
#[test]
fn assertions_under_rows_of_a_tuner() {
    let text = |rows: &str| {
        format!(
            r#"
@triton.autotune(configs=[triton.Config({{"B": b}}) for b in {rows}], key=["K"])
@triton.jit
def kernel(x, K: tl.constexpr, B: tl.constexpr):
    tl.static_assert(K % (4 * B) == 0)
    tl.store(x + tl.arange(0, B), 0.0)

kernel[(1,)](torch.zeros(256, device="cuda"), 256)
"#
        )
    };
    check_text(
        &text("(64, 128)"),
        expect![[r#"
        7: warning LNG017 "tl.static_assert(K % (4 * B) == 0)": static_assert fails: `(K % (4 * B)) == 0` is False. The tuner compiles these configurations and drops them ["kernel[1]"]
    "#]],
    );
    check_text(
        &text("(128, 256)"),
        expect![[r#"
        7: error LNG017 "tl.static_assert(K % (4 * B) == 0)": static_assert fails: `(K % (4 * B)) == 0` is False
    "#]],
    );
}

/// A condition that nobody knows decides nothing: not what a helper returns, and not whether an assertion is asked.
#[test]
fn a_platform_that_is_not_known() {
    check_text(
        r#"
from platforms import is_ours
OURS = tl.constexpr(is_ours())

@triton.jit
def clock():
    if OURS:
        return tl.extra.cuda.globaltimer()
    else:
        tl.static_assert(False, "unsupported")

@triton.jit
def kernel(x, t):
    start = clock()
    tl.store(x, 1.0)
    tl.store(t, clock() - start)
"#,
        expect![""],
    );
}

/// A choice that nobody knows is one that the kernel asks for, its helpers included.
#[test]
fn words_that_helpers_ask_for() {
    check_text(
        r#"
@triton.jit
def inner(x, extra, KIND: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    if KIND != "none":
        if KIND == "row":
            w = tl.load(extra + i)
        elif KIND == "matrix":
            w = tl.load(extra + 2 * i)
        v += w
    tl.store(x + i, v)

@triton.jit
def kernel(x, extra, KIND: tl.constexpr, B: tl.constexpr):
    if KIND != "none":
        extra += 4
    inner(x, extra, KIND, B)

@triton.jit
def addresses(x, y, out, ADDRESSES: tl.constexpr):
    if ADDRESSES:
        v = tl.load(x).to(tl.pi32_t)
        w = tl.load(y).to(tl.pi32_t)
    else:
        v = tl.load(x)
        w = tl.load(y)
    tl.store(out, tl.where(tl.program_id(0) > 0, v, w))
"#,
        expect![[r#"
            30: warning RAC001 "tl.store(out, tl.where(tl.program_id(0) > 0, v, w))": every program along axis 0 stores a value of its own to these same addresses, and the last one wins: neither the address nor the mask depends on `tl.program_id(0)`, and the stored `tl.where(tl.program_id(0) > 0, v, w)` does (assumed)
                "tl.program_id(0)": programs are told apart here
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

/// A string in triple quotes is a module of its own: its mistakes stand where they are written, and nothing there is mended.
#[test]
fn kernels_in_strings_are_checked() {
    let text = r#"
import textwrap, triton
import triton.language as tl

HEAD = tl.constexpr(8)

def write():
    return textwrap.dedent("""\
        import triton
        import triton.language as tl

        WIDTH = tl.constexpr(24)

        @triton.jit
        def first(out, unused):
            tl.store(out + tl.arange(0, WIDTH), HEAD)
    """)

exec('''
@triton.jit
def second(out):
    tl.store(out + tl.arange(0, 16), 1.0, mask=tl.arange(0, 16))
''')
RAW = r"""
@triton.jit
def third(out):
    tl.device_print("\n", tl.load(out).missing())
"""
FILLED = """
@triton.jit
def fourth(out):
    tl.store(out, {VALUE}, mask=1)
"""
"#;
    check_text(
        text,
        expect![[r#"
        18: error SHP002 "WIDTH": `WIDTH` is 24; 24 is not a power of two: use 32 and mask what is beyond 24
        24: error DTY011 "tl.arange(0, 16)": a mask is i1, and `tl.arange(0, 16)` is i32[16]: compare it, `tl.arange(0, 16) != 0`
        31: hint LIM004 "\"\"\"\n@triton.jit\ndef fourth(out):\n    tl.store(out, {VALUE}, mask=1)\n\"\"\"": the kernel here is not checked: a string with parts to be filled in holds its text
    "#]],
    );
    let (mut db, file) = database(text);
    let before: Vec<String> = check(&db, file).iter().map(|d| format!("{} {}", &text[d.range.clone()], d.in_string)).collect();
    // Typing beside a string moves what stands in it, typing in it changes it.
    let moved = text.replace("import textwrap", "import os, textwrap").replace("(24)", "(48)");
    db.set_text(std::path::Path::new("kernel.py"), moved.clone());
    let after: Vec<String> = check(&db, file).iter().map(|d| format!("{} {}", &moved[d.range.clone()], d.in_string)).collect();
    assert_eq!(before, after);
    assert!(check(&db, file).iter().any(|d| d.message.contains("is 48")), "{after:?}");
}

/// What a file gives a function is what the kernels in it see, as far as all of its calls agree.
#[test]
fn kernels_see_what_the_functions_around_them_are_given() {
    check_text(
        r#"
def make(WIDTH, OTHER=16):
    N = tl.constexpr(WIDTH)
    M = tl.constexpr(OTHER)

    @triton.jit
    def kernel(out):
        tl.store(out + tl.arange(0, N), 1.0)
        tl.store(out + tl.arange(0, M), 1.0)

    return kernel

make(24, OTHER=24)
make(24, 16)
"#,
        expect![[r#"
            10: error SHP002 "N": `N` is 24; 24 is not a power of two: use 32 and mask what is beyond 24
        "#]],
    );
}

/// In Triton's interpreter a kernel is Python.
#[test]
fn what_the_interpreter_runs_is_no_mistake() {
    let text = |head: &str| {
        format!(
            r#"
import os
{head}
def show(what): print(what)

@triton.jit
def kernel(out):
    pid = tl.program_id(0)
    show(f"{{pid}}")
    breakpoint()
    tl.store(out + pid, tl.missing)
"#
        )
    };
    check_text(
        &text("# os.environ['TRITON_INTERPRET'] = '1'"),
        expect![[r#"
        11: error LNG003 "show(f\"{pid}\")": `show` is a plain Python function: decorate it with `@triton.jit` to call it from a kernel
            fix: Decorate `show` with @triton.jit [("", "@triton.jit\n")]
        11: error LNG008 "f\"{pid}\"": an f-string is made at compile time, and `pid` is i32, known at run time only: print it with `tl.device_print("name", value)`
            "pid": known at run time only
        12: error DBG003 "breakpoint": `breakpoint()` stops Python, and a Triton function does not run in it (except with TRITON_INTERPRET=1): remove it
            fix: Remove it [("    breakpoint()\n", "")]
        13: error LNG010 "tl.missing": `tl.missing` does not exist: triton.language has no `missing`
    "#]],
    );
    check_text(
        &text("os.environ['TRITON_INTERPRET'] = '1'"),
        expect![[r#"
        13: error LNG010 "tl.missing": `tl.missing` does not exist: triton.language has no `missing`
    "#]],
    );
}

/// Descriptors have shapes as tensors have; that one is read says not what they are.
#[test]
fn what_has_a_shape_may_be_a_descriptor() {
    check_text(
        r#"
@triton.jit
def copy(src, dst, n, B: tl.constexpr):
    at = tl.program_id(0) * B
    if at < n:
        dst.store([at], src.load([at]))

def run(src, dst):
    n = src.shape[0]
    copy[(n // 64,)](src, dst, n, B=64)
"#,
        expect![""],
    );
}

/// Where a kernel is, the conditions around it hold, whatever they are on this machine.
#[test]
fn a_kernel_sees_the_names_beside_it() {
    check_text(
        r#"
NEW = torch.cuda.get_device_capability() >= (20, 0)

if NEW:
    FACTOR = tl.constexpr(2)

    @triton.jit
    def scaled(x):
        return tl.full((4,), x, tl.float32)

    @triton.jit
    def kernel(out):
        tl.static_assert(FACTOR == 1)
        tl.store(out + tl.arange(0, 8), scaled(FACTOR))
else:
    FACTOR = tl.constexpr(3)

    @triton.jit
    def scaled(x):
        return x

    @triton.jit
    def other(out):
        tl.static_assert(FACTOR == 3)
        tl.store(out, scaled(FACTOR))
"#,
        expect![[r#"
            15: error LNG017 "tl.static_assert(FACTOR == 1)": static_assert fails: `FACTOR == 1` is False
        "#]],
    );
}

/// Python says what a type of PyTorch holds while the kernel is compiled.
#[test]
fn what_pytorch_says_of_a_type_is_a_number() {
    check_text(
        r#"
@triton.jit
def kernel(out):
    least: tl.constexpr = torch.finfo(torch.float8_e4m3fn).tiny
    tl.static_assert(least == 0.015625)
    tl.static_assert(torch.iinfo(torch.int16).max == 32767)
    tl.static_assert(torch.finfo(torch.float32).max > 3e38)
    tl.static_assert(torch.finfo(torch.bfloat16).bits == 8)
    tl.store(out, least)
"#,
        expect![[r#"
            10: error LNG017 "tl.static_assert(torch.finfo(torch.bfloat16).bits == 8)": static_assert fails: `torch.finfo(torch.bfloat16).bits == 8` is False
        "#]],
    );
}
