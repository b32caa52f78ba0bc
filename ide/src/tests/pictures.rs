//! Which value of a line a layout's picture is of.

use expect_test::{Expect, expect};

use super::{Snippet, main_file};
use crate::emit::Choice;

/// A product whose loads run ahead, copied into shared memory by each thread for itself.
const PIPELINED: &str = r#"
import triton
import triton.language as tl


@triton.jit
def product(A, B, C, K, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a_tile = A + at[:, None] * K + at[None, :]
    b_tile = B + at[:, None] * BLOCK + at[None, :]
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, K, BLOCK):
        a = tl.load(a_tile)
        b = tl.load(b_tile)
        total = tl.dot(a, b, total)
        a_tile += BLOCK
        b_tile += BLOCK * BLOCK
    tl.store(C + at[:, None] * BLOCK + at[None, :], total)


# /// tritium
# [launch.one]
# kernel = "product"
# grid = [1]
# sizes = { K = 512 }
# args = { A = "f16[64, K]", B = "f16[K, 64]", C = "f32[64, 64]", K = "K" }
# meta = { BLOCK = 64 }
# num_warps = 4
# num_stages = 3
# ///
"#;

/// What the picture is of, and the top left of it.
fn check(needle: &str, expected: Expect) {
    let snippet = Snippet::at(PIPELINED, needle, 0);
    let chart = snippet.analysis.layout_chart(main_file(), &Choice::default(), Some(snippet.cursor())).expect("a picture");
    let text: Vec<&str> = chart.text.lines().skip(2).take(4).collect();
    expected.assert_eq(&text.join("\n"));
}

#[test]
fn a_load_that_runs_ahead_is_its_copy() {
    check(
        "tl.load(a_tile)",
        expect![[r#"
        #l4: *f16[64, 64, #l4]
        32 registers in each of 128 threads; `async_copy` of line 13
             0 │ w0 t0 r0…7   │ w0 t1 r0…7   │ w0 t2 r0…7   │ w0 t3 r0…7   │ w0 t4 r0…7   │ w0 t5 r0…7   │ …
             1 │ w0 t8 r0…7   │ w0 t9 r0…7   │ w0 t10 r0…7  │ w0 t11 r0…7  │ w0 t12 r0…7  │ w0 t13 r0…7  │ …"#]],
    );
    check(
        "a = tl.load(a_tile)",
        expect![[r#"
        #l4: *f16[64, 64, #l4]
        32 registers in each of 128 threads; `async_copy` of line 13
             0 │ w0 t0 r0…7   │ w0 t1 r0…7   │ w0 t2 r0…7   │ w0 t3 r0…7   │ w0 t4 r0…7   │ w0 t5 r0…7   │ …
             1 │ w0 t8 r0…7   │ w0 t9 r0…7   │ w0 t10 r0…7  │ w0 t11 r0…7  │ w0 t12 r0…7  │ w0 t13 r0…7  │ …"#]],
    );
}

#[test]
fn inside_of_an_access_the_innermost_value_is_shown() {
    check(
        "at[:, None] * BLOCK + at[None, :], total)",
        expect![[r#"
        #l2: *f32[64, 1, #l2]
        4 registers in each of 128 threads, every element 8 times; `addptr` of line 18
             0 │ w0 t0 r0  │
             1 │ w0 t8 r0  │"#]],
    );
}

#[test]
fn a_store_shows_its_pointers_and_a_line_without_memory_its_last_value() {
    check(
        "tl.store(",
        expect![[r#"
        #l4: *f32[64, 64, #l4]
        32 registers in each of 128 threads; `store` of line 18
             0 │ w0 t0 r0…7   │ w0 t1 r0…7   │ w0 t2 r0…7   │ w0 t3 r0…7   │ w0 t4 r0…7   │ w0 t5 r0…7   │ …
             1 │ w0 t8 r0…7   │ w0 t9 r0…7   │ w0 t10 r0…7  │ w0 t11 r0…7  │ w0 t12 r0…7  │ w0 t13 r0…7  │ …"#]],
    );
    check(
        "total = tl.dot",
        expect![[r#"
        #l5: f32[64, 64, #l5]
        32 registers in each of 128 threads; `wgmma_wait` of line 15
             0 │ w0 t0 r0…1    │ w0 t1 r0…1    │ w0 t2 r0…1    │ w0 t3 r0…1    │ w0 t0 r4…5    │ w0 t1 r4…5    │ …
             1 │ w0 t4 r0…1    │ w0 t5 r0…1    │ w0 t6 r0…1    │ w0 t7 r0…1    │ w0 t4 r4…5    │ w0 t5 r4…5    │ …"#]],
    );
}
