//! One mistake, one message.

use expect_test::expect;

use super::problems;

/// Five kinds of mistake in one kernel: five messages, each once, where it is.
#[test]
fn five_mistakes_five_messages() {
    let text = "
        @triton.jit
        def kernel(x, out, n, SIZE, BM: tl.constexpr, BN: tl.constexpr):
            rows = tl.arange(0, BM)
            cols = tl.arange(0, BN)
            both = rows + cols
            scratch = tl.zeros((SIZE, 16), dtype=tl.float32)
            v = tl.load(x + rows, other=0.0)
            a = tl.zeros((BM, BN), dtype=tl.float16)
            b = tl.zeros((BM, BN), dtype=tl.float16)
            c = tl.dot(a, b)
            total = 0.0
            for k in range(n):
                total += v
            tl.store(out + rows, both + scratch + v + c + total)
    ";
    expect![[r#"
        9: SHP001 at `rows + cols`: `rows` has shape [64] ([BM]) and `cols` has shape [32] ([BN]); `+` cannot match 64 with 32: make one a column and the other a row, `rows[:, None]` and `cols[None, :]`
            7: `tl.arange(0, BM)`: 64 comes from BM here
            8: `tl.arange(0, BN)`: 32 comes from BN here
            fix?: Make a column and a row: `[:, None]` after `rows` `[None, :]` after `cols`
        10: CXP001 at `SIZE`: a shape must be known at compile time, and `SIZE` is a run-time value: annotate it `SIZE: tl.constexpr`
            6: `SIZE`: the parameter `SIZE`
            fix: Annotate `SIZE` as tl.constexpr: `: tl.constexpr` after `SIZE`
        11: MSK001 at `0.0`: `other` is what masked-off elements become, and this load has no mask: add one, or drop `other`
            fix: Remove `other`: `tl.load(x + rows, other=0.0)` -> `tl.load(x + rows)`
        14: DOT001 at `tl.dot(a, b)`: the inner sizes of a matrix product must be equal: `a` is [64, 32] ([BM, BN]) and `b` is [64, 32] ([BM, BN]), so 32 meets 64
            12: `tl.zeros((BM, BN), dtype=tl.float16)`: 32 comes from BN here
            13: `tl.zeros((BM, BN), dtype=tl.float16)`: 64 comes from BM here
        17: CTL005 at `total`: `total` enters the loop as f32 and is f32[64] after a trip: the type of a carried value must stay the same. Start it with that shape
            15: `total`: `total` starts as f32 here
            fix: Start it as f32[64]: `0.0` -> `tl.zeros((BM,), dtype=tl.float32)`
    "#]].assert_eq(&problems(text, "x: *f32; out: *f32; n: i32; SIZE: i32; BM = 64; BN = 32"));
}
