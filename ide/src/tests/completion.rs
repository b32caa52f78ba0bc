//! What is offered to be typed next, and in which order.

use expect_test::{Expect, expect};

use super::{MATMUL, Snippet, main_file};
use crate::Python;

/// `label (detail)` of each, the first twelve.
fn complete(text: &str, python: Python) -> String {
    let s = Snippet::with(text, &[], python);
    let found = s.analysis.completions(main_file(), s.cursor(), python == Python::None);
    let line = |c: &crate::Completion| format!("{} ({})", c.insert, c.detail);
    found.iter().take(12).map(line).collect::<Vec<_>>().join("\n")
}

/// In the body of a kernel, beside a Python server.
fn in_kernel(line: &str, expected: &Expect) {
    let text = format!(
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(x, i, n, M: tl.constexpr, N: tl.constexpr):\n    rows = tl.arange(0, M)\n    cols = tl.arange(0, N)\n    row_mask = rows < n\n    both = (rows[:, None] < n) & (cols[None, :] < n)\n    ptrs = x + rows[:, None] * N + cols[None, :]\n    {line}\n    tl.store(x, 0.0)\n"
    );
    expected.assert_eq(&complete(&text, Python::Served));
}

#[test]
fn masks_of_the_pointers_shape_come_first() {
    in_kernel(
        "v = tl.load(ptrs, mask=$0)",
        &expect![[r#"
        both, other=0.0 (i1[128, 64])
        row_mask, other=0.0 (i1[128])"#]],
    );
    in_kernel(
        "v = tl.load(ptrs, mask=$0)\n    m = tl.max(v, axis=1)",
        &expect![[r#"
        both, other=-float("inf") (i1[128, 64])
        row_mask, other=-float("inf") (i1[128])"#]],
    );
    // Names alone are what a Python server offers.
    in_kernel("v = tl.load(ptrs, mask=$0, other=0.0)", &expect![[""]]);
    in_kernel("tl.store(ptrs, 0.0, mask=$0)", &expect![[""]]);
    let without = |line: &str| complete(&MATMUL.replace("value = tl.load(x + offs, mask=inside)", line), Python::None);
    expect!["inside (i1[32])"].assert_eq(&without("value = tl.load(x + offs, mask=$0)"));
    expect!["inside (i1[32])"].assert_eq(&without("tl.store(x + offs, 0.0, mask=$0)"));
}

#[test]
fn other_is_the_identity_of_the_reduction() {
    in_kernel(
        "v = tl.load(ptrs, mask=both, other=$0)\n    m = tl.max(v, axis=1)",
        &expect![[r#"
        -float("inf") (identity of a maximum)
        0.0 (identity of a sum or a product of matrices)
        float("inf") (identity of a minimum)
        1.0 (identity of a product)"#]],
    );
    in_kernel(
        "v = tl.load(ptrs, mask=both, other=$0)",
        &expect![[r#"
        0.0 (identity of a sum or a product of matrices)
        -float("inf") (identity of a maximum)
        float("inf") (identity of a minimum)
        1.0 (identity of a product)"#]],
    );
}

#[test]
fn words_of_string_valued_arguments() {
    in_kernel(
        "v = tl.load(ptrs, eviction_policy=$0)",
        &expect![[r#"
        "evict_first" (leaves the cache first)
        "evict_last" (stays in the cache longest)"#]],
    );
    in_kernel(
        "v = tl.load(ptrs, eviction_policy=\"ev$0\")",
        &expect![[r#"
        evict_first (leaves the cache first)
        evict_last (stays in the cache longest)"#]],
    );
    in_kernel(
        "v = tl.load(ptrs, cache_modifier=\".$0\")",
        &expect![[r#"
        .ca (cache in L1 and L2)
        .cg (cache in L2 only)
        .cv (do not cache, fetch again)"#]],
    );
    in_kernel(
        "tl.store(ptrs, 0.0, cache_modifier=$0)",
        &expect![[r#"
        ".wb" (write back, cache in all levels)
        ".cg" (cache in L2 only)
        ".cs" (streaming: likely used once)
        ".wt" (write through to memory)"#]],
    );
    in_kernel(
        "d = tl.dot(ptrs, ptrs, input_precision=$0)",
        &expect![[r#"
        "tf32" (one pass with 10 bits of mantissa)
        "tf32x3" (three passes, nearly f32)
        "ieee" (exact f32, without tensor cores)"#]],
    );
}

#[test]
fn shapes_and_element_types() {
    in_kernel(
        "acc = tl.zeros($0)",
        &expect![[r#"
        [M, N] ([128, 64])
        [M] ([128])
        [N] ([64])"#]],
    );
    in_kernel(
        "acc = tl.zeros([M, N], dtype=$0)",
        &expect![[r#"
        tl.int1 (i1)
        tl.int8 (i8)
        tl.int16 (i16)
        tl.int32 (i32)
        tl.int64 (i64)
        tl.uint8 (u8)
        tl.uint16 (u16)
        tl.uint32 (u32)
        tl.uint64 (u64)
        tl.float8e4nv (f8e4m3)
        tl.float8e5 (f8e5m2)
        tl.float16 (f16)"#]],
    );
}

#[test]
fn beside_a_python_server_nothing_it_knows_is_offered() {
    in_kernel("v = tl.$0", &expect![[""]]);
    in_kernel("v = ro$0", &expect![[""]]);
    in_kernel("v = tl.load($0)", &expect![[""]]);
    in_kernel("# mask=$0", &expect![[""]]);
}

#[test]
fn members_behind_any_character() {
    let behind = |mark: &str| complete(&format!("import triton.language as tl\n\n{mark}tl.$0\n"), Python::None);
    assert!(!behind("(").is_empty());
    assert_eq!(behind("😀"), behind("("));
}

#[test]
fn keys_configurations_and_launches() {
    let at = |from: &str, to: &str| complete(&MATMUL.replace(from, to), Python::Served);
    let out = [
        at("key=[\"n\", \"BLOCK\"]", "key=[$0]"),
        at("key=[\"n\", \"BLOCK\"]", "key=[\"n\", \"$0\"]"),
        at("{\"BLOCK\": b, \"K\": 32}", "{$0}"),
        at("{\"BLOCK\": b, \"K\": 32}", "{\"$0\"}"),
        at("{\"BLOCK\": b, \"K\": 32}", "{\"BLOCK\": b, \"$0\"}"),
        at("num_warps=w", "num_warps=$0"),
        at("scale[grid](x, y, n=n)", "scale[grid](x, y, $0)"),
        at("configs=configs(), key=[\"n\", \"BLOCK\"]", "configs=configs(), restore_value=[\"$0\"]"),
    ];
    expect![[r#"
        "n" (i32)
        ---

        ---
        "BLOCK" (constexpr of scale)
        "K" (constexpr of scale)
        "EVEN" (constexpr of scale)
        ---
        BLOCK (constexpr of scale)
        K (constexpr of scale)
        EVEN (constexpr of scale)
        ---
        K (constexpr of scale)
        EVEN (constexpr of scale)
        ---
        1 (warps per program)
        2 (warps per program)
        4 (warps per program)
        8 (warps per program)
        16 (warps per program)
        ---
        n= (parameter)
        EVEN= (parameter)
        num_stages= (launch option)
        ---
        x (*f32)
        y (*f32)"#]]
    .assert_eq(&out.join("\n---\n"));
}

#[test]
fn without_a_python_server_names_and_members_are_offered() {
    let text = MATMUL.replace("inside = offs < n", "inside = offs < $0");
    let names = complete(&text, Python::None);
    let members = complete(&MATMUL.replace("inside = offs < n", "inside = tl.$0"), Python::None);
    expect![[r#"
        BLOCK ()
        EVEN ()
        K ()
        i ()
        inside ()
        n (i32)
        offs (i32[32])
        total ()
        value ()
        x (*f32)
        y (*f32)
        configs ()
        ---
        program_id ((axis: const int) -> i32)
        num_programs ((axis: const int) -> i32)
        rand ((seed: int, offset: tile[I, S], n_rounds: const int = 10) -> tile[f32, S])
        randn ((seed: int, offset: tile[I, S], n_rounds: const int = 10) -> tile[f32, S])
        randint ((seed: int, offset: tile[I, S], n_rounds: const int = 10) -> tile[u32, S])
        rand4x ((seed: int, offsets: tile[I, S], n_rounds: const int = 10) -> (tile[f32, S], tile[f32, S], tile[f32, S], tile[f32, S]))
        randn4x ((seed: int, offset: tile[I, S], n_rounds: const int = 10) -> (tile[f32, S], tile[f32, S], tile[f32, S], tile[f32, S]))
        randint4x ((seed: int, offset: tile[I, S], n_rounds: const int = 10) -> (tile[u32, S], tile[u32, S], tile[u32, S], tile[u32, S]))
        philox ((seed: int, c0: tile[I, S], c1: tile[I, S], c2: tile[I, S], c3: tile[I, S], n_rounds: const int = 10) -> (tile[I, S], tile[I, S], tile[I, S], tile[I, S]))
        philox_impl ((c0: tile[I, S], c1: tile[I, S], c2: tile[I, S], c3: tile[I, S], k0: tile[I, S], k1: tile[I, S], n_rounds: const int = 10) -> (tile[I, S], tile[I, S], tile[I, S], tile[I, S]))
        uint_to_uniform_float ((x: tile[I, S]) -> tile[f32, S])
        pair_uniform_to_normal ((u1: tile[F, S], u2: tile[F, S]) -> (tile[F, S], tile[F, S]))"#]].assert_eq(&format!("{names}\n---\n{members}"));
}

#[test]
fn documentation_comes_when_asked_for() {
    let s = Snippet::new(MATMUL);
    expect!["Reads memory through a pointer or a tile of pointers."]
        .assert_eq(&s.analysis.completion_documentation(Some(main_file()), "tl.load").expect("a page"));
}
