//! Rules that live on facts: kernels in, what is said of them out.

use expect_test::{Expect, expect};

use super::check::report;

pub(super) fn check_text(text: &str, expected: Expect) {
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
                fix: Make `tl.max(v, 1)` a column [("", "[:, None]")]
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

/// A load that is filled right already is not told to be.
#[test]
fn what_is_capped_is_put_right_before_folding() {
    check_text(
        r#"
@triton.jit
def kernel(x, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=float("-inf"))
    v = 30.0 * tl.sigmoid(v)
    tl.store(out, tl.sum(tl.exp(v - tl.max(v))))
"#,
        expect![[r#"
            9: warning MSK004 "tl.sum(tl.exp(v - tl.max(v)))": masked-off elements of `v` (loaded with `other=float("-inf")`) are no longer 0.0 in `tl.exp(v - tl.max(v))`, and `tl.sum` adds them: put 0.0 there with `tl.where(mask, …, 0.0)` before folding
                "tl.load(x + i, mask=i < n, other=float(\"-inf\"))": loaded under a mask here
        "#]],
    );
}

/// One remedy for one load is told once, and not to who follows it already.
#[test]
fn a_load_is_blamed_once() {
    check_text(
        r#"
@triton.jit
def kernel(x, y, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    m = tl.max(v)
    tl.store(out, m)
    tl.store(out + 1, tl.sum(tl.exp(v - m)))
    tl.store(out + 2, tl.sum(tl.exp2(v - m)))
    low = tl.load(y + i, mask=i < n, other=-1e7)
    tl.store(out + 3, tl.sum(tl.exp(low - tl.max(low))))
"#,
        expect![[r#"
            7: warning MSK004 "0.0": masked-off elements are `other=0.0` here, and `tl.max` picks them over negative numbers: give the load `other=-float("inf")`
                "tl.max(v)": `tl.max` takes them in here
                fix: Make it `other=-float("inf")` [("0.0", "-float(\"inf\")")]
        "#]],
    );
}

/// What a mask leaves out is 0 on the GPUs that are meant: nothing for a sum, too much for a maximum.
#[test]
fn what_was_never_loaded_is_folded() {
    check_text(
        r#"
@triton.jit
def kernel(x, w, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    tl.store(out, tl.sum(v * v))
    u = tl.load(x + i + 1, mask=i < n)
    tl.store(out + 1, tl.max(tl.abs(u)))
    t = tl.load(x + i + 2, mask=i < n)
    tl.store(out + 2, tl.max(t))
    s = tl.load(x + i + 3, mask=i < n)
    tl.store(out + 3, tl.sum(tl.exp(s)))
    r = tl.load(x + i + 4, mask=i < n)
    tl.store(out + 4, tl.sum(r))
    tl.store(out + 5, tl.min(r))
"#,
        expect![[r#"
            5: performance CXP004 "w": `w` is never read, yet passed at every launch and part of the key of what is compiled: remove it here and from the launches
            7: hint MSK003 "tl.load(x + i, mask=i < n)": masked-off elements of this load are 0 on NVIDIA's GPUs, which changes nothing in tl.sum, but Triton promises no value: say `other=0.0` (and at 1 more place of this kernel)
                "tl.sum(v * v)": tl.sum takes them in here
                "tl.load(x + i + 1, mask=i < n)": and here
                fix: Add `other=0.0` [("", ", other=0.0"), ("", ", other=0.0")]
            11: warning MSK003 "tl.load(x + i + 2, mask=i < n)": masked-off elements of this load are undefined, and tl.max takes them in: give the load `other=-float("inf")`
                "tl.max(t)": tl.max takes them in here
                fix: Add `other=-float("inf")` [("", ", other=-float(\"inf\")")]
            13: warning MSK003 "tl.load(x + i + 3, mask=i < n)": masked-off elements of this load are undefined, and tl.sum takes them in: give the load an `other=` that tl.sum passes over after what is computed of it
                "tl.sum(tl.exp(s))": tl.sum takes them in here
            15: warning MSK003 "tl.load(x + i + 4, mask=i < n)": masked-off elements of this load are undefined, and tl.min takes them in: give the load `other=float("inf")`
                "tl.min(r)": tl.min takes them in here
                fix: Add `other=float("inf")` [("", ", other=float(\"inf\")")]
        "#]],
    );
}

/// What a file or a kernel is full of is one line.
#[test]
fn what_is_everywhere_is_told_once() {
    check_text(
        r#"
@triton.jit
def square(x, y, stride, out, BIAS: tl.constexpr):
    i = tl.arange(0, 32)
    at = i[:, None] * 32 + i[None, :]
    a = tl.load(x + at).to(tl.float16)
    tl.store(out + at, tl.dot(a, a, allow_tf32=False))

@triton.jit
def cube(x, out):
    i = tl.arange(0, 32)
    at = i[:, None] * 32 + i[None, :]
    a = tl.load(x + at).to(tl.float16)
    b = tl.dot(a, a, allow_tf32=True).to(tl.float16)
    tl.store(out + at, tl.dot(a, b, allow_tf32=False))
"#,
        expect![[r#"
            5: performance CXP004 "y": `y`, `stride` and `BIAS` are never read, and every new value of a `tl.constexpr` among them compiles the kernel again: remove them here and from the launches
                "stride": never read either
                "BIAS": never read either
            9: hint DOT007 "allow_tf32=False": `allow_tf32` is the old way to say this: write `input_precision="ieee"` (and at 2 more places of this file)
                safe fix: Say `input_precision="ieee"` [("allow_tf32=False", "input_precision=\"ieee\""), ("allow_tf32=False", "input_precision=\"ieee\"")]
                fix: Say `input_precision="tf32"` [("allow_tf32=True", "input_precision=\"tf32\"")]
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

small = torch.empty(64, 128, device='cuda')
rows[(64,)](small, small.stride(0), 128)
"#,
        expect![[r#"
            12: warning RAC002 "tl.store(x + row * stride + tl.arange(0, B) * stride, 1.0)": each program stores 64 elements along `tl.arange(0, B)`, and `tl.program_id(0)` moves it by 1: neighbouring programs store to the same elements. Advance by as much as the tile covers
                "tl.program_id(0)": programs are told apart here
                "tl.arange(0, B)": 64 elements wide here
            12: hint DTY012 "row * stride": `row` * `stride` is computed in 32 bits and wraps past 2^31 elements of a large tensor: widen the index, `row.to(tl.int64)`
                "tl.store(x + row * stride + tl.arange(0, B) * stride, 1.0)": in the address here
                fix: Widen the index to 64 bits [("", ".to(tl.int64)")]
        "#]],
    );
    check_text(
        r#"
@triton.jit
def rows(x, stride, B: tl.constexpr):
    row = tl.program_id(0)
    tl.store(x + row * stride + tl.arange(0, B), 1.0)

large = torch.empty(262144, 16384, device='cuda')
rows[(262144,)](large, large.stride(0), 128)
"#,
        expect![[r#"
            7: error DTY012 "row * stride": `row` * `stride` is computed in 32 bits and reaches 4294950912 in this file's launches, past 2^31: it wraps, and the address is wrong. Widen the index, `row.to(tl.int64)`
                "x + row * stride": added to a pointer here
                fix: Widen the index to 64 bits [("", ".to(tl.int64)")]
        "#]],
    );
}

/// What a hover says of every value that is given a name.
fn described_values(text: &str) -> String {
    use crate::{
        body::{Expr, Stmt},
        items,
        lints::{described, launched},
        problem::{At, Place},
        specialise::specialisations,
    };
    let (db, file) = super::database(&format!("import torch, triton\nimport triton.language as tl\n{text}"));
    let mut out = String::new();
    for &kernel in items::kernels(&db, file) {
        let (body, _) = items::function_body(&db, kernel).expect("a kernel has a body");
        let first = &specialisations(&db, kernel)[0];
        let launched = launched(&db, first);
        for stmt in &body.stmts {
            let Stmt::Assign { targets, value } = stmt else { continue };
            let Expr::Name(name) = body.expr(targets[0]) else { continue };
            let place = Place { function: kernel, at: At::Expr(*value) };
            out += &format!("{name}\n");
            for line in described(&db, first.instance, &launched, place) {
                out += &format!("    {line}\n");
            }
        }
    }
    out
}

#[test]
fn values_tell_what_is_known_of_them() {
    expect![[r#"
        pid_m
            between 0 and 7
        offs_m
            runs along `offs_m` (below `M`)
            between 0 and 1023
            contiguous: all 128; begins at a multiple of 128
        offs_n
            runs along `offs_n` (below `N`)
            between 0 and 1023
            contiguous: all 64; begins at a multiple of 64
        wrapped
            runs along `offs_m` (below `M`)
            between 0 and 1023
            contiguous: runs of 16; begins at a multiple of 16 (from `M` divisible by 16)
        offs_k
            runs along `offs_k` (below `K`)
            between 0 and 31
            contiguous: all 32; begins at 0
        a_ptrs
            axis 0 runs along `offs_m` (below `M`), axis 1 runs along `offs_k` (below `K`)
            contiguous along axis 1: all 32; begins at a multiple of 16 bytes (from `a` divisible by 16, `M` divisible by 16, `stride_a` divisible by 16)
        b_ptrs
            axis 0 runs along `offs_k` (below `K`), axis 1 runs along `offs_n` (below `N`)
            contiguous along axis 1: all 64; begins at a multiple of 16 bytes (from `b` divisible by 16, `stride_b` divisible by 16)
        acc
        left
            axis 0 runs along `offs_m` (below `M`), axis 1 runs along `offs_k` (below `K`)
        right
            axis 0 runs along `offs_k` (below `K`), axis 1 runs along `offs_n` (below `N`)
        acc
            axis 0 runs along `offs_m` (below `M`), axis 1 runs along `offs_n` (below `N`)
        mask
            axis 0 runs along `offs_m` (below `M`), axis 1 runs along `offs_n` (below `N`)
    "#]].assert_eq(&described_values(
        r#"
@triton.jit
def matmul(a, b, c, M, N, K, stride_a, stride_b, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid_m = tl.program_id(0)
    offs_m = pid_m * BM + tl.arange(0, BM)
    offs_n = tl.program_id(1) * BN + tl.arange(0, BN)
    wrapped = offs_m % M
    offs_k = tl.arange(0, BK)
    a_ptrs = a + wrapped[:, None] * stride_a + offs_k[None, :]
    b_ptrs = b + offs_k[:, None] * stride_b + offs_n[None, :]
    acc = tl.zeros([BM, BN], tl.float32)
    for k in range(0, K, BK):
        left = tl.load(a_ptrs + k, mask=offs_k[None, :] + k < K, other=0.0)
        right = tl.load(b_ptrs + k * stride_b, mask=offs_n[None, :] < N, other=0.0)
        acc = tl.dot(left, right, acc)
    mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    tl.store(c + offs_m[:, None] * 4096 + offs_n[None, :], acc, mask=mask)

x = torch.empty(1024, 1024, device='cuda')
matmul[(8, 16)](x, x, x, 1024, 1024, 1024, 1024, 1024, 128, 64, 32)
"#,
    ));
}

#[test]
fn masks_are_turned_or_exchanged() {
    check_text(
        r#"
@triton.jit
def turned(x, M, N, B: tl.constexpr):
    offs_m = tl.program_id(0) * B + tl.arange(0, B)
    offs_n = tl.program_id(1) * B + tl.arange(0, B)
    tl.store(x + offs_m[:, None] * 4096 + offs_n[None, :], 1.0, mask=(offs_m[None, :] < M) & (offs_n[:, None] < N))

@triton.jit
def exchanged(x, y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    offs_m = tl.program_id(0) * BM + tl.arange(0, BM)
    offs_n = tl.program_id(1) * BN + tl.arange(0, BN)
    p = offs_m[:, None] * 4096 + offs_n[None, :]
    v = tl.load(x + p, mask=(offs_m[:, None] < M) & (offs_n[None, :] < N), other=0.0)
    tl.store(y + p, v, mask=(offs_m[:, None] < N) & (offs_n[None, :] < M))

@triton.jit
def transposed(x, y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    offs_m = tl.program_id(0) * BM + tl.arange(0, BM)
    offs_n = tl.program_id(1) * BN + tl.arange(0, BN)
    v = tl.load(x + offs_m[:, None] * 4096 + offs_n[None, :], mask=(offs_m[:, None] < M) & (offs_n[None, :] < N), other=0.0)
    tl.store(y + offs_n[:, None] * 4096 + offs_m[None, :], tl.trans(v), mask=(offs_n[:, None] < N) & (offs_m[None, :] < M))
"#,
        expect![[r#"
            8: warning MSK005 "tl.store(x + offs_m[:, None] * 4096 + offs_n[None, :], 1.0, mask=(offs_m[None, :] < M) & (offs_n[:, None] < N))": `offs_m[None, :] < M` bounds the columns of this mask, but the address runs along it over the rows: the mask is turned. Write `[:, None]` in the mask as in the address
                "offs_m[None, :] < M": bounded here
                "x + offs_m[:, None] * 4096 + offs_n[None, :]": the address is made here
            16: warning MSK005 "tl.store(y + p, v, mask=(offs_m[:, None] < N) & (offs_n[None, :] < M))": the bounds of this mask are exchanged: `offs_m` is compared with `N` and `offs_n` with `M`, and elsewhere in the kernel the other way round
                "offs_m[:, None] < N": compared here
                "offs_n[None, :] < M": and here
                fix: Exchange the bounds [("N", "M"), ("M", "N")]
        "#]],
    );
}

#[test]
fn a_turned_mask_is_known_by_the_whole_index() {
    check_text(
        r#"
@triton.jit
def written_twice(x, out, M, N, B: tl.constexpr):
    i = tl.arange(0, B)
    rows = tl.program_id(0) * B + i
    mask = (rows[:, None] < M) & (i[None, :] < N)
    again = tl.arange(0, B)
    p = rows[:, None] * 4096 + (tl.program_id(1) * B + again)[None, :]
    tl.store(out + p, tl.load(x + p, mask=mask, other=0.0), mask=mask)

@triton.jit
def bare_on_both(out, M, stride, B: tl.constexpr):
    i = tl.arange(0, B)
    j = tl.arange(0, B)
    tl.store(out + i[:, None] * stride + j[None, :], 1.0, mask=i[None, :] < M)

@triton.jit
def local_rows(out, M, stride, B: tl.constexpr):
    i = tl.arange(0, B)
    rows = tl.program_id(0) * B + i
    columns = tl.program_id(1) * B + tl.arange(0, B)
    tl.store(out + i[:, None] * stride + columns[None, :], 1.0, mask=rows[None, :] < M)

@triton.jit
def turned_store(x, out, M, N, B: tl.constexpr):
    first_row = tl.program_id(0) * B
    first_column = tl.program_id(1) * B
    rows = first_row + tl.arange(0, B)
    columns = first_column + tl.arange(0, B)
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    v = tl.load(x + rows[:, None] * 4096 + columns[None, :], mask=mask, other=0.0)
    tl.store(out + columns[:, None] * 2048 + rows[None, :], tl.trans(v), mask=mask)

@triton.jit
def moved_on(x, out, M, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    p = x + rows[:, None] * 4096 + columns[None, :]
    acc = tl.zeros((B, B), tl.float32)
    for _ in range(8):
        acc += tl.load(p, mask=rows[None, :] < M, other=0.0)
        p += B
    tl.store(out + rows[:, None] * 4096 + columns[None, :], acc)
"#,
        expect![[r#"
            34: warning MSK005 "tl.store(out + columns[:, None] * 2048 + rows[None, :], tl.trans(v), mask=mask)": `rows[:, None] < M` bounds the rows of this mask, but the address runs along it over the columns: the mask is turned. Write `[None, :]` in the mask as in the address
                "rows[:, None] < M": bounded here
                "out + columns[:, None] * 2048 + rows[None, :]": the address is made here
            43: warning MSK005 "tl.load(p, mask=rows[None, :] < M, other=0.0)": `rows[None, :] < M` bounds the columns of this mask, but the address runs along it over the rows: the mask is turned. Write `[:, None]` in the mask as in the address
                "rows[None, :] < M": bounded here
        "#]],
    );
}

#[test]
fn programs_must_not_write_over_each_other() {
    check_text(
        r#"
@triton.jit
def one_of_many(x, out, n, B: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * B + tl.arange(0, B)
    total = tl.sum(tl.load(x + i, mask=i < n, other=0.0), 0)
    if pid == 0:
        tl.store(out, total)
    tl.store(out + 1, 1.0)
    slot = tl.atomic_add(out + 2, 1.0).to(tl.int32)
    tl.store(out + slot, total)
    for k in range(pid, n, tl.num_programs(0)):
        tl.store(out + k, total)
    tl.store(out + tl.program_id(1), total)
"#,
        expect![[""]],
    );
}

#[test]
fn promises_are_facts() {
    expect![[r#"
        pid
            at least 0
        i
            runs along `i`
            between 0 and 63
            contiguous: all 64; begins at 0
        row
            multiple of 8
        wild
            runs along `i`
            contiguous: runs of 4; begins at a multiple of 4
        p
            runs along `i`
            contiguous: runs of 4; begins at a multiple of 16 bytes (from `x` divisible by 16, `n` divisible by 16)
        q
            not negative, if it does not wrap
    "#]]
    .assert_eq(&described_values(
        r#"
@triton.jit
def kernel(x, idx, stride: tl.int64, n, B: tl.constexpr):
    tl.assume(stride > 0)
    tl.assume(n % 32 == 0)
    pid = tl.program_id(0)
    i = tl.arange(0, B)
    row = tl.multiple_of(tl.load(idx + pid), 8)
    wild = tl.max_contiguous(tl.multiple_of(tl.load(idx + i), 4), 4)
    p = x + row * n + wild
    q = stride + 1
    tl.store(p, q)
"#,
    ));
}

/// As Triton 3.6 does, read from the widths of its loads: `semantics/src/elaborate/promises.rs` says why.
#[test]
fn promises_are_forgotten_where_triton_forgets_them() {
    expect![[r#"
        pid
            between 0 and 7
        i
            runs along `i`
            between 0 and 63
            contiguous: all 64; begins at 0
        of_parameter
        of_helper
        of_call
        of_nothing
        of_one
        of_sum
        of_fold
        narrowed
        carried
        b
            between 111 and 129
        b
            between 185 and 215
        of_branch
        product
            between 0 and 301
            multiple of 16 (from `n` not known to be divisible)
        sum
            between 41 and 47
            multiple of 16 (from `n` not known to be divisible)
        loaded
        twice
            runs along `i`
            between 0 and 42
            contiguous: all 64; begins at a multiple of 64 (from `n` not known to be divisible)
        pointer
            multiple of 16 bytes (from `x` divisible by 16, `n` not known to be divisible)
        wide
            between 37 and 43
            multiple of 16 (from `n` not known to be divisible)
    "#]]
    .assert_eq(&described_values(
        r#"
@triton.jit
def promised(o):
    return tl.multiple_of(o, 16)

@triton.jit
def doubled(o):
    return o * 2

@triton.jit
def kernel(x, n, B: tl.constexpr):
    pid = tl.program_id(0)
    i = tl.arange(0, B)
    of_parameter = tl.multiple_of(n, 16)
    of_helper = promised(pid * n)
    of_call = tl.multiple_of(doubled(n), 16)
    of_nothing = tl.multiple_of(n + 0, 16)
    of_one = tl.multiple_of(1 * n, 16)
    of_sum = tl.multiple_of(n + 3 + 5, 16)
    of_fold = tl.multiple_of(tl.sum(i * n, 0), 16)
    narrowed = tl.multiple_of(n.to(tl.int64).to(tl.int32), 16)
    for k in range(0, 100, n):
        carried = tl.multiple_of(k, 16)
        tl.store(x + carried, of_helper + of_call + of_nothing + of_one + of_sum + of_fold + of_parameter + narrowed)
    if n > 3:
        b = n * 3
    else:
        b = n * 5
    of_branch = tl.multiple_of(b, 16)
    product = tl.multiple_of(pid * n, 16)
    sum = tl.multiple_of(n + 4, 16)
    loaded = tl.multiple_of(tl.load(x + pid), 16)
    twice = tl.multiple_of(tl.max_contiguous((pid * B + i) % n, B), B)
    pointer = tl.multiple_of(x + n, 16)
    wide = tl.multiple_of(n.to(tl.int64), 16)
    tl.store(pointer + twice + wide, product + sum + loaded + of_branch)

x = torch.empty(1 << 20, device="cuda")
kernel[(8,)](x, 37, 64)
kernel[(8,)](x, 43, 64)
"#,
    ));
}

#[test]
fn sums_over_a_loop_of_masked_loads_stay_sums() {
    check_text(
        r#"
@triton.autotune([triton.Config({"B": 64}), triton.Config({"B": 128})], key=["n"])
@triton.jit
def kernel(x, y, out, n, FORWARD: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    source = x if FORWARD else y
    target = y if FORWARD else x
    acc = tl.zeros((B,), tl.float32)
    for _ in range(tl.cdiv(n, B), flatten=True):
        v = tl.load(source + i, mask=i < n)
        acc += v * v
        tl.store(target + i, v, mask=i < n)
        i += B
    tl.store(out + tl.program_id(0), tl.sum(acc))
"#,
        expect![[r#"
            11: warning LNG011 "True": Triton ignores `flatten=` of Python's `range`: say `tl.range(…, flatten=…)`
            12: hint MSK003 "tl.load(source + i, mask=i < n)": masked-off elements of this load are 0 on NVIDIA's GPUs, which changes nothing in tl.sum, but Triton promises no value: say `other=0.0`
                "tl.sum(acc)": tl.sum takes them in here
                fix: Add `other=0.0` [("", ", other=0.0")]
        "#]],
    );
}

/// Indices that wrap around are told only where those that meet store something else, and nothing tells them apart.
#[test]
fn stores_through_wrapped_indices() {
    check_text(
        r#"
@triton.jit
def split(x, cache, width, outer, inner, D: tl.constexpr):
    i = tl.arange(0, D)
    tl.store(cache + (i // width) * outer + (i % width) * inner, tl.load(x + i))

@triton.jit
def same(x, out, n, stride, K: tl.constexpr, B: tl.constexpr):
    j = (tl.program_id(0) * B + tl.arange(0, B)) % n
    t = tl.load(x + j[:, None].to(tl.int64) * stride + tl.arange(0, K)[None, :])
    tl.store(out + j, tl.sum(t, axis=1) + 1.0)

@triton.jit
def differs(x, out, n, width, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = i % n
    tl.store(out + j + i // width, tl.load(x + i) + tl.load(x + j))
"#,
        expect![[r#"
            19: warning MSK009 "tl.store(out + j + i // width, tl.load(x + i) + tl.load(x + j))": `j` wraps around, so in the last block several indices store to one element: store under a mask that bounds `i`
                "i % n": it wraps here
        "#]],
    );
}

/// A mask that cuts every tile to the same part of it decides what a trip takes; one that ends the rows does not.
#[test]
fn steps_and_tiles_that_masks_cut() {
    check_text(
        r#"
@triton.jit
def halves(q, stride, heads: tl.constexpr, dim: tl.constexpr, B: tl.constexpr):
    columns = tl.arange(0, B)
    half = dim // 2
    for head in range(0, heads):
        p = q + tl.program_id(0).to(tl.int64) * stride + head * dim + columns
        a = tl.load(p, mask=columns < half, other=0.0)
        b = tl.load(p + half, mask=columns < half, other=0.0)
        tl.store(p, a - b, mask=columns < half)

@triton.jit
def twice(x, out, n, B: tl.constexpr):
    i = tl.arange(0, 2 * B)
    total = tl.zeros([2 * B], tl.float32)
    for start in range(0, n, B):
        total += tl.load(x + start + i, mask=start + i < n, other=0.0)
    tl.store(out + i, total)
"#,
        expect![[r#"
            19: warning SHP011 "tl.load(x + start + i, mask=start + i < n, other=0.0)": each trip takes 128 elements along `i` and advances by 64: elements are taken twice. Advance by as much as the tile covers
                "for start in range(0, n, B):": in this loop
                "tl.arange(0, 2 * B)": 128 elements wide here
        "#]],
    );
}

#[test]
fn products_of_small_tensors_wrap_nothing() {
    // One number a program, a vector, and partial sums of the few programs that walk over all rows.
    check_text(
        r#"
@triton.jit
def scaled(x, scales, partial, H, stride_p, n_rows, rows, B: tl.constexpr):
    b = tl.program_id(0)
    h = tl.program_id(1)
    cols = tl.arange(0, B)
    scale = tl.load(scales + b * H + h)
    for i in range(H):
        scale += tl.load(scales + b * H + i)
    total = tl.zeros([B], tl.float32)
    for row in range(b * rows, min(b * rows + rows, n_rows)):
        total += tl.load(x + row * B + cols) * scale
    tl.store(partial + b * stride_p + cols, total)

@triton.jit
def vector(x, out, stride, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i * stride, mask=i < n), mask=i < n)
"#,
        expect![""],
    );
}

#[test]
fn the_outermost_product_of_each_tensor_is_told_once_a_kernel() {
    check_text(
        r#"
@triton.jit
def heads(x, y, stride_xb, stride_xh, stride_xm, stride_yb, stride_yh, B: tl.constexpr):
    b = tl.program_id(0)
    h = tl.program_id(1)
    m = tl.program_id(2) * B + tl.arange(0, B)
    d = tl.arange(0, B)
    v = tl.load(x + h * stride_xh + b * stride_xb + m[:, None] * stride_xm + d[None, :])
    y += b * stride_yb + h * stride_yh
    tl.store(y + m[:, None] * B + d[None, :], v)

@triton.jit
def widened(x, y, stride_xb, stride_xh, B: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    h = tl.program_id(1)
    d = tl.arange(0, B)
    tl.store(y + (b * stride_xb + h * stride_xh) + d, tl.load(x + b * stride_xb + h * stride_xh + d))
"#,
        expect![[r#"
            10: hint DTY012 "b * stride_xb": `b` * `stride_xb` is computed in 32 bits and wraps past 2^31 elements of a large tensor: widen the index, `b.to(tl.int64)` (and at 1 more place of this kernel)
                "tl.load(x + h * stride_xh + b * stride_xb + m[:, None] * stride_xm + d[None, :])": in the address here
                "b * stride_yb": and here
                fix: Widen the index to 64 bits [("", ".to(tl.int64)"), ("", ".to(tl.int64)")]
        "#]],
    );
}

#[test]
fn a_kernel_full_of_one_thing_is_told_once() {
    check_text(
        r#"
@triton.jit
def products(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    a = tl.load(x + at).to(tl.float32) * 0.5
    b = tl.dot(a, a)
    c = tl.dot(b, a)
    tl.store(out + at, tl.dot(c, b))
"#,
        expect![[r#"
            9: warning DOT006 "tl.dot(a, a)": tl.dot rounds f32 operands to tf32 (10 bits of mantissa instead of 23) unless told otherwise: say `input_precision="tf32"` if that is meant, `"ieee"` or `"tf32x3"` if not (and at 2 more places of this kernel)
                "tl.dot(b, a)": and here
                "tl.dot(c, b)": and here
                fix: Multiply exactly: `input_precision="ieee"` [("", ", input_precision=\"ieee\""), ("", ", input_precision=\"ieee\""), ("", ", input_precision=\"ieee\"")]
                fix: Keep tf32: `input_precision="tf32"` [("", ", input_precision=\"tf32\""), ("", ", input_precision=\"tf32\""), ("", ", input_precision=\"tf32\"")]
        "#]],
    );
}

#[test]
fn what_is_stored_where_indices_wrap_around_is_not_past_the_bound() {
    check_text(
        r#"
@triton.jit
def kernel(x, bias, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    wrapped = i % n
    v = tl.load(x + wrapped) + tl.load(bias + i, mask=i < n, other=0.0)
    tl.store(out + wrapped, v)
"#,
        expect![[r#"
            9: warning MSK009 "tl.store(out + wrapped, v)": `wrapped` wraps around, so in the last block several indices store to one element: store under a mask that bounds `i`
                "i % n": it wraps here
        "#]],
    );
}

/// Where every launch in the text has one program along an axis, no two of them meet there.
#[test]
fn one_program_along_an_axis() {
    check_text(
        r#"
@triton.jit
def alone(out, x, n):
    total = tl.load(x + tl.program_id(0)) * n
    tl.store(out, total)

@triton.jit
def many(out, x, n):
    total = tl.load(x + tl.program_id(0)) * n
    tl.store(out, total)

def run(x, out, n: int):
    alone[(1,)](out, x, n)
    many[(1,)](out, x, n)
    many[(n,)](out, x, n)
"#,
        expect![[r#"
            12: warning RAC001 "tl.store(out, total)": every program along axis 0 stores a value of its own to these same addresses, and the last one wins: neither the address nor the mask depends on `tl.program_id(0)`, and the stored `total` does
                "tl.program_id(0)": programs are told apart here
        "#]],
    );
}
