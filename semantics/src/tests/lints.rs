//! Rules that live on facts: kernels in, what is said of them out.

use expect_test::{Expect, expect};

use super::check::report;

fn check_text(text: &str, expected: Expect) {
    expected.assert_eq(&report(&format!("import torch, triton\nimport triton.language as tl\n{text}"), "3.6"));
}

#[test]
fn a_vector_of_rows_meets_columns() {
    check_text(
        r#"
@triton.jit
def kernel(x, bias, out, M, N, stride, B: tl.constexpr):
    offs_m = tl.program_id(0) * B + tl.arange(0, B)
    offs_n = tl.arange(0, B)
    mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    p = offs_m[:, None].to(tl.int64) * stride + offs_n[None, :]
    v = tl.load(x + p, mask=mask, other=-float("inf"))
    v -= tl.max(v, 1)
    b = tl.load(bias + offs_m, mask=offs_m < M, other=0.0)
    c = tl.load(bias + offs_n, mask=offs_n < N, other=0.0)
    tl.store(out + p, v + b + c, mask=mask)
"#,
        expect![[r#"
            11: warning SHP008 "v -= tl.max(v, 1)": `tl.max(v, 1)` has shape [B]: one number for each row of `v` ([B, B]), but shapes align at the right, so it meets the columns: element [i, j] takes `tl.max(v, 1)`[j]. Make it a column, `tl.max(v, 1)[:, None]`
                "tl.max(v, 1)": the last axis is folded here, which leaves the rows
                "tl.load(x + p, mask=mask, other=-float(\"inf\"))": the matrix is made here
                safe fix: Make `tl.max(v, 1)` a column [("", "[:, None]")]
        "#]],
    );
}

#[test]
fn a_row_of_its_own_tile_is_right() {
    check_text(
        r#"
@triton.jit
def distances(q, k, out, D: tl.constexpr, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    a = tl.load(q + m[:, None] * D + d[None, :])
    b = tl.load(k + n[:, None] * D + d[None, :])
    dist = tl.sum(a * a, 1)[:, None] + tl.sum(b * b, 1) - 2.0 * tl.dot(a, tl.trans(b))
    tl.store(out + m[:, None] * 4096 + n[None, :], dist)
"#,
        expect![[""]],
    );
}

#[test]
fn what_masked_off_elements_become_reaches_reductions() {
    check_text(
        r#"
@triton.jit
def kernel(x, w, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    mask = i < n
    v = tl.load(x + i, mask=mask, other=0.0).to(tl.float32)
    tl.store(out, tl.max(tl.abs(v)))
    tl.store(out + 1, tl.min(v))
    m = tl.max(tl.where(mask, v, -float("inf")))
    tl.store(out + 2, tl.sum(tl.exp(v - m)))
    mean = tl.sum(v) / n
    tl.store(out + 3, tl.sum((v - mean) * (v - mean)))
    d = tl.where(i < n, v - mean, 0.0)
    tl.store(out + 4, tl.sum(d * d))
    u = tl.load(w + i, mask=mask, other=-float("inf"))
    tl.store(out + 5, tl.sum(tl.exp(u - tl.max(u, 0)), 0))
"#,
        expect![[r#"
            8: warning MSK004 "0.0": masked-off elements are `other=0.0` here, and `tl.min` picks them over larger numbers: give the load `other=float("inf")`
                "tl.min(v)": `tl.min` takes them in here
                fix: Make it `other=float("inf")` [("0.0", "float(\"inf\")")]
            12: warning MSK004 "tl.sum(tl.exp(v - m))": masked-off elements of `tl.load(x + i, mask=mask, other=0.0)` (loaded with `other=0.0`) are no longer 0.0 in `tl.exp(v - m)`, and `tl.sum` adds them: give the load `other=-float("inf")`, which `exp` makes 0, or put 0.0 there with `tl.where`
                "tl.load(x + i, mask=mask, other=0.0)": loaded under a mask here
            14: warning MSK004 "tl.sum((v - mean) * (v - mean))": masked-off elements of `tl.load(x + i, mask=mask, other=0.0)` (loaded with `other=0.0`) are no longer 0.0 in `(v - mean) * (v - mean)`, and `tl.sum` adds them: put 0.0 there with `tl.where(mask, …, 0.0)` before folding
                "tl.load(x + i, mask=mask, other=0.0)": loaded under a mask here
        "#]],
    );
}

#[test]
fn loads_run_whatever_where_picks() {
    check_text(
        r#"
@triton.jit
def kernel(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    before = tl.where(i > 0, tl.load(x + i - 1), 0.0)
    after = tl.where(i >= n, 0.0, tl.load(x + i))
    picked = tl.where(before > after, tl.load(x + i, mask=i < n), after)
    tl.store(out + i, picked, mask=i < n)
"#,
        expect![[r#"
            7: warning MSK006 "tl.load(x + i - 1)": `tl.where` does not keep this load from running: where `i > 0` is false, it reads at `i` all the same, which may be outside the tensor. Give the load `mask=i > 0` and `other=`
                "tl.where(i > 0, tl.load(x + i - 1), 0.0)": the value is picked here, after it was loaded
                fix: Give the load the condition as its mask [("", ", mask=i > 0, other=0.0")]
            8: warning MSK006 "tl.load(x + i)": `tl.where` does not keep this load from running: where `i >= n` is true, it reads at `i` all the same, which may be outside the tensor. Give the load `mask=~(i >= n)` and `other=`
                "tl.where(i >= n, 0.0, tl.load(x + i))": the value is picked here, after it was loaded
                fix: Give the load the condition as its mask [("", ", mask=~(i >= n), other=0.0")]
        "#]],
    );
}

#[test]
fn offsets_pass_32_bits_in_large_launches() {
    check_text(
        r#"
@triton.jit
def rows(x, stride, B: tl.constexpr):
    row = tl.program_id(0)
    tl.store(x + row * stride + tl.arange(0, B), 1.0)

@triton.jit
def unknown(x, stride, B: tl.constexpr):
    row = tl.program_id(0)
    tl.store(x + row * stride + tl.arange(0, B) * stride, 1.0)

small = torch.empty(64, 128)
rows[(64,)](small, small.stride(0), 128)
"#,
        expect![[r#"
            12: hint DTY012 "row * stride": `row` * `stride` is computed in 32 bits and wraps past 2^31 elements of a large tensor: widen the index, `row.to(tl.int64)`
                "x + row * stride": added to a pointer here
                fix: Widen the index to 64 bits [("", ".to(tl.int64)")]
        "#]],
    );
    check_text(
        r#"
@triton.jit
def rows(x, stride, B: tl.constexpr):
    row = tl.program_id(0)
    tl.store(x + row * stride + tl.arange(0, B), 1.0)

large = torch.empty(262144, 16384)
rows[(262144,)](large, large.stride(0), 128)
"#,
        expect![[r#"
            7: error DTY012 "row * stride": `row` * `stride` is computed in 32 bits and reaches 4294950912 in this file's launches, past 2^31: it wraps, and the address is wrong. Widen the index, `row.to(tl.int64)`
                "x + row * stride": added to a pointer here
                safe fix: Widen the index to 64 bits [("", ".to(tl.int64)")]
        "#]],
    );
}
