//! Loads that give what an earlier one gave.

use expect_test::expect;

use super::lints::check_text;

#[test]
fn what_no_trip_changes_is_loaded_before_the_loop() {
    check_text(
        r#"
@triton.jit
def scaled(x, s, t, y, n, B: tl.constexpr):
    at = tl.arange(0, B)
    for k in range(0, n, B):
        where = tl.load(t)
        scale = tl.load(s + where + at)
        tl.store(y + k + at, tl.load(x + k + at) * scale)

@triton.jit
def until(x, s, y, n, B: tl.constexpr):
    at = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    k = 0
    while k < n:
        acc += tl.load(x + k + at) * tl.load(s + at)
        k += B
    tl.store(y + at, acc)
"#,
        expect![[r#"
            8: performance MEM005 "tl.load(t)": every trip of this loop loads the same here, and neither Triton nor Tritium takes it out: the loop stores through `y`, which they must take for memory that `t` may point to as well. If it does not, load it once, before the loop (and at 1 more place of this kernel)
                "for k in range(0, n, B):": of this loop
                "tl.store(y + k + at, tl.load(x + k + at) * scale)": the loop stores here
                "tl.load(s + where + at)": and here
            18: performance MEM005 "tl.load(s + at)": every trip of this loop loads the same here, and neither Triton nor Tritium takes it out of a `while` loop. Load it once, before the loop
                "while k < n:": of this loop
        "#]],
    );
}

/// Triton takes the first out by itself; the second is stored to in the loop; the third waits; the fourth adds, and what it reads may be added to; the
/// fifth loads under a condition; the sixth is too large to keep.
#[test]
fn what_may_change_in_a_loop_is_loaded_in_it() {
    check_text(
        r#"
@triton.jit
def reads(x, s, y, n, B: tl.constexpr):
    at = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for k in range(0, n, B):
        acc += tl.load(x + k + at) * tl.load(s + at)
    tl.store(y + at, acc)

@triton.jit
def sums(x, y, n, B: tl.constexpr):
    at = tl.arange(0, B)
    for k in range(0, n, B):
        tl.store(y + at, tl.load(y + at) + tl.load(x + k + at))

@triton.jit
def waits(flag, x, y, B: tl.constexpr):
    at = tl.arange(0, B)
    seen = 0
    while seen == 0:
        seen = tl.load(flag)
    tl.store(y + at, tl.load(x + at))

@triton.jit
def adds(x, s, y, n, B: tl.constexpr):
    at = tl.arange(0, B)
    for k in range(0, n, B):
        tl.atomic_add(y + k + at, tl.load(s + at))

@triton.jit
def sometimes(x, s, y, n, B: tl.constexpr):
    at = tl.arange(0, B)
    for k in range(0, n, B):
        v = tl.load(x + k + at)
        if k > 100:
            v *= tl.load(s + at)
        tl.store(y + k + at, v)

@triton.jit
def large(x, s, y, n):
    at = tl.arange(0, 128)[:, None] * 128 + tl.arange(0, 128)[None, :]
    for k in range(0, n):
        tl.store(y + k * 16384 + at, tl.load(s + at) * k)
"#,
        expect![[r#"
            27: performance CXP004 "x": `x` is never read, yet passed at every launch and part of the key of what is compiled: remove it here and from the launches
            42: performance CXP004 "x": `x` is never read, yet passed at every launch and part of the key of what is compiled: remove it here and from the launches
        "#]],
    );
}

#[test]
fn what_was_loaded_is_kept() {
    check_text(
        r#"
@triton.jit
def after_a_store(x, y, z, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at)
    tl.store(y + at, v)
    tl.store(z + at, tl.load(x + at) + 1)

@triton.jit
def under_a_condition(x, y, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at)
    if n > 3:
        v += tl.load(x + at)
    tl.store(y + at, v)

@triton.jit
def unrolled(x, s, y, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    for k in tl.static_range(3):
        tl.store(y + k * 4096 + at, tl.load(x + k * 4096 + at) * tl.load(s))
"#,
        expect![[r#"
            9: performance MEM008 "tl.load(x + at)": this was loaded before, and neither Triton nor Tritium leaves this load out: in between the kernel stores through `y`, which they must take for memory that may be the same. If it is not, use `v` again
                "tl.load(x + at)": loaded here first
                "tl.store(y + at, v)": stored in between
                fix: Use `v` [("tl.load(x + at)", "v")]
            16: performance MEM008 "tl.load(x + at)": this was loaded before, and Triton loads it again, as this runs only under a condition: use what it gave again
                "tl.load(x + at)": loaded here first
            23: performance MEM008 "tl.load(s)": an earlier round of the unrolled loop loaded the same here, and neither Triton nor Tritium leaves this load out: in between the kernel stores through `y`, which they must take for memory that may be the same. If it is not, load it before the loop
                "tl.store(y + k * 4096 + at, tl.load(x + k * 4096 + at) * tl.load(s))": stored in between
        "#]],
    );
}

/// One load for Triton; another mask; stored to in between; read by other threads as well; no branch of the other; a tile that a loop would have to keep.
#[test]
fn what_may_be_another_value_is_loaded_again() {
    check_text(
        r#"
@triton.jit
def in_one_block(x, y, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at) + tl.load(x + at))

@triton.jit
def masks(x, y, z, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(y + at, v, mask=at < n)
    w = tl.load(x + at, mask=at < n, other=1.0)
    tl.store(z + at, w, mask=at < n)

@triton.jit
def in_place(x, y, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + at, tl.load(x + at) + 1)
    tl.store(y + at, tl.load(x + at))

@triton.jit
def behind_a_barrier(x, y, z, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at) + 1)
    tl.debug_barrier()
    tl.store(z + at, tl.load(x + at))

@triton.jit
def branches(x, y, z, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    if n > 3:
        tl.store(y + at, tl.load(x + at))
    else:
        tl.store(z + at, tl.load(x + at))

@triton.jit
def around_a_loop(x, y, z, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at)
    for k in range(0, n):
        tl.store(y + k * B + at, v + k)
    tl.store(z + at, tl.load(x + at))
"#,
        expect![[""]],
    );
}

#[test]
fn loads_under_conditions_that_nobody_decides_are_two() {
    check_text(
        r#"
@triton.jit
def kernel(x, out, a, b, ONE: tl.constexpr, OTHER: tl.constexpr):
    total = 0.0
    if ONE:
        total += tl.load(x)
        tl.store(a, total)
    if OTHER:
        total += tl.load(x)
        tl.store(b, total)
    tl.store(out, total)

@triton.jit
def same(x, out, a, b, ONE: tl.constexpr):
    total = 0.0
    if ONE:
        total += tl.load(x)
        tl.store(a, total)
    if ONE:
        total += tl.load(x)
        tl.store(b, total)
    tl.store(out, total)
"#,
        expect![[r#"
            22: performance MEM008 "tl.load(x)": this was loaded before, and neither Triton nor Tritium leaves this load out: in between the kernel stores through `a`, which they must take for memory that may be the same. If it is not, use what it gave again
                "tl.load(x)": loaded here first
                "tl.store(a, total)": stored in between
        "#]],
    );
}
