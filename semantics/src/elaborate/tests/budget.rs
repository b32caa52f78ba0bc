//! What equal calls share, and what is beyond the budget of one elaboration.

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::{module, problems};

/// The names of the functions of a module, in order.
fn functions(text: &str, args: &str) -> String {
    let printed = module(text, args);
    let names = printed.lines().filter_map(|line| line.strip_prefix("func @")?.split('(').next());
    names.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_helper_called_at_two_depths_is_one_function() {
    let text = "
        @triton.jit
        def h(v):
            return v + 1

        @triton.jit
        def g(v):
            return h(v) * h(v)

        @triton.jit
        def kernel(x, n):
            tl.store(x, h(n) + g(n) + h(g(n)))
    ";
    assert_eq!(functions(text, "x: *i32; n: i32"), "kernel h g");
}

#[test]
fn helpers_that_call_the_next_twice_are_looked_at_once() {
    let mut text = "\n@triton.jit\ndef h0(v):\n    return v\n".to_owned();
    for level in 1..40 {
        let below = level - 1;
        let _ = write!(text, "\n@triton.jit\ndef h{level}(v):\n    return h{below}(v) + h{below}(v)\n");
    }
    text.push_str("\n@triton.jit\ndef kernel(x, n):\n    tl.store(x, h39(n))\n");
    assert_eq!(functions(&text, "x: *i32; n: i32").split(' ').count(), 41);
}

#[test]
fn recursion_that_ends_is_followed() {
    let text = "
        @triton.jit
        def fib(i: tl.constexpr):
            if i < 2:
                return 1
            else:
                return fib(i - 1) + fib(i - 2)

        @triton.jit
        def kernel(x):
            tl.store(x, fib(20))
    ";
    assert_eq!(problems(text, "x: *i32"), "");
}

fn told(body: &[&str], expected: Expect) {
    let mut text = "\n@triton.jit\ndef kernel(x, n, C: tl.constexpr):\n".to_owned();
    body.iter().for_each(|line| text.push_str(&format!("    {line}\n")));
    expected.assert_eq(&problems(&text, "x: *i32; n: i32; C = 8"));
}

#[test]
fn what_grows_without_end_is_told_once() {
    told(
        &["t = (n, n)", "for i in tl.static_range(60):", "    t = t + t", "tl.store(x, t[0])"],
        expect![[r#"
        9: LIM001 at `t + t`: `t + t` is a tuple of more than 8192 parts, or of tuples more than 64 deep: what depends on it is not checked
    "#]],
    );
    told(
        &["t = n", "for i in tl.static_range(100):", "    t = (t,)", "tl.store(x, n)"],
        expect![[r#"
        9: LIM001 at `(t,)`: `(t,)` is a tuple of more than 8192 parts, or of tuples more than 64 deep: what depends on it is not checked
    "#]],
    );
    told(
        &["t = (n, n)", "t = t * 1000", "t = t * 1000", "tl.store(x, n)"],
        expect![[r#"
        9: LIM001 at `t * 1000`: `t * 1000` is a tuple of more than 8192 parts, or of tuples more than 64 deep: what depends on it is not checked
    "#]],
    );
    told(
        &["for i in tl.static_range(1000):", "    for j in tl.static_range(1000):", "        n += j", "tl.store(x, n)"],
        expect![[r#"
            7: LIM001 at `tl.static_range(1000)`: `kernel` takes more than 500000 steps to evaluate; the rest of it is not checked. Shorten its compile-time loops, or use `tl.range`
        "#]],
    );
}

#[test]
fn limits_of_tiles_and_blocks() {
    told(
        &["i = tl.arange(0, 2048)[:, None] + tl.arange(0, 1024)[None, :]", "tl.store(x + i, 1)"],
        expect![[r#"
        7: SHP004 at `tl.arange(0, 2048)[:, None] + tl.arange(0, 1024)[None, :]`: a tile of [2048, 1024] has 2097152 elements, and Triton allows 1048576: use smaller blocks and a loop
    "#]],
    );
    told(
        &["a = tl.zeros([2, 2, 2, 2, 2, 2, 2, 2, 2], tl.int32)", "tl.store(x, tl.sum(a))"],
        expect![[r#"
        7: LIM002 at `tl.zeros([2, 2, 2, 2, 2, 2, 2, 2, 2], tl.int32)`: a tile with 9 axes is part of Triton, but Tritium follows at most 8: what depends on it is not checked
    "#]],
    );
    told(
        &["a = n", "for i in tl.static_range(12):", "    a = tl.join(a, a)", "tl.store(x, tl.sum(a))"],
        expect![[r#"
        9: LIM002 at `tl.join(a, a)`: a tile with 9 axes is part of Triton, but Tritium follows at most 8: what depends on it is not checked
    "#]],
    );
    let loops: Vec<String> = (0..21).map(|i| format!("{}for i{i} in range(n):", "    ".repeat(i))).collect();
    let inner = format!("{}tl.store(x, n)", "    ".repeat(21));
    let lines: Vec<&str> = loops.iter().map(String::as_str).chain([inner.as_str()]).collect();
    told(
        &lines,
        expect![[r#"
        27: LNG001 at `for i20 in range(n):`: a loop inside 20 others cannot be used in a Triton function (`kernel`): Python refuses the file; move the inner loops into a function
    "#]],
    );
}

#[test]
fn nothing_is_said_after_a_failed_assertion() {
    told(
        &["tl.static_assert(C == 4)", "tl.store(x, tl.zeros([3], tl.int32))"],
        expect![[r#"
        7: LNG017 at `tl.static_assert(C == 4)`: static_assert fails: `C == 4` is False
    "#]],
    );
    told(
        &["if C == 4:", "    tl.static_assert(False)", "tl.store(x, tl.zeros([3], tl.int32))"],
        expect![[r#"
        9: SHP002 at `3`: 3 is not a power of two: use 4 and mask what is beyond 3
            fix?: Use 4: `3` -> `4`
    "#]],
    );
}
