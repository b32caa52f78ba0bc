//! What a refactoring makes of a kernel, and that it is still without mistakes.

use expect_test::{Expect, expect};

use super::{Snippet, main_file};
use crate::{ActionKind, code_actions::applied};

const HEAD: &str = "import triton\nimport triton.language as tl\n\n\n";

/// The lines that the first refactoring of a title changes.
fn refactor(text: &str, title: &str, expected: &Expect) {
    let s = Snippet::new(&format!("{HEAD}{text}"));
    let actions = s
        .analysis
        .code_actions(main_file(), s.selection(), &crate::ResourceDiagnostics::default(), |kind| kind != ActionKind::QuickFix);
    let found = actions.iter().find(|a| a.title.starts_with(title));
    let Some(action) = found else {
        let offered: Vec<&str> = actions.iter().map(|a| a.title.as_str()).collect();
        return expected.assert_eq(&format!("not offered, but: {offered:?}\n"));
    };
    let after = applied(&s.text, &action.edits);
    // What is offered leaves no new mistake behind.
    let mut host = crate::Host::default();
    host.set_text(main_file(), after.clone());
    let problems: Vec<String> = host
        .snapshot_at(main_file())
        .diagnostics(main_file())
        .iter()
        .filter(|d| d.severity == crate::Severity::Error)
        .map(|d| d.message.clone())
        .collect();
    expected.assert_eq(&format!("{}: {problems:?}\n{}", action.title, &after[HEAD.len()..]));
}

#[test]
fn a_mask_is_added() {
    refactor(
        "@triton.jit\ndef copy(x, y, n, BLOCK: tl.constexpr):\n    offs = tl.arange(0, BLOCK)\n    v = tl.lo$0ad(x + offs)\n    tl.store(y + offs, v, mask=offs < n)\n",
        "Add mask",
        &expect![[r#"
        Add mask `offs < n`: []
        @triton.jit
        def copy(x, y, n, BLOCK: tl.constexpr):
            offs = tl.arange(0, BLOCK)
            v = tl.load(x + offs, mask=offs < n, other=0.0)
            tl.store(y + offs, v, mask=offs < n)
    "#]],
    );
    refactor(
        "@triton.jit\ndef copy(x, m, n, stride, M: tl.constexpr, N: tl.constexpr):\n    rows = tl.arange(0, M)\n    cols = tl.arange(0, N)\n    inside = (rows[:, None] < m) & (cols[None, :] < n)\n    tl.st$0ore(x + rows[:, None] * stride + cols[None, :], 0.0)\n",
        "Add mask",
        &expect![[r#"
        Add mask `(rows[:, None] < m) & (cols[None, :] < n)`: []
        @triton.jit
        def copy(x, m, n, stride, M: tl.constexpr, N: tl.constexpr):
            rows = tl.arange(0, M)
            cols = tl.arange(0, N)
            inside = (rows[:, None] < m) & (cols[None, :] < n)
            tl.store(x + rows[:, None] * stride + cols[None, :], 0.0, mask=(rows[:, None] < m) & (cols[None, :] < n))
    "#]],
    );
    // Nobody says how far the columns go.
    refactor(
        "@triton.jit\ndef copy(x, m, n, stride, M: tl.constexpr, N: tl.constexpr):\n    rows = tl.arange(0, M)\n    cols = tl.arange(0, N)\n    tl.st$0ore(x + rows[:, None] * stride + cols[None, :], 0.0)\n",
        "Add mask",
        &expect![[r#"
        not offered, but: []
    "#]],
    );
}

#[test]
fn an_index_becomes_64_bits_wide() {
    refactor(
        "@triton.jit\ndef copy(x, stride, BLOCK: tl.constexpr):\n    ro$0w = tl.program_id(0)\n    offs = row * stride + tl.arange(0, BLOCK)\n    tl.store(x + offs, 0.0)\n",
        "Make",
        &expect![[r#"
        Make `row` an int64: []
        @triton.jit
        def copy(x, stride, BLOCK: tl.constexpr):
            row = tl.program_id(0).to(tl.int64)
            offs = row * stride + tl.arange(0, BLOCK)
            tl.store(x + offs, 0.0)
    "#]],
    );
    refactor(
        "@triton.jit\ndef copy(x, stride, BLOCK: tl.constexpr):\n    row = tl.program_id(0)\n    offs = ro$0w * stride + tl.arange(0, BLOCK)\n    tl.store(x + offs, 0.0)\n",
        "Make",
        &expect![[r#"
        Make `row` an int64: []
        @triton.jit
        def copy(x, stride, BLOCK: tl.constexpr):
            row = tl.program_id(0)
            offs = row.to(tl.int64) * stride + tl.arange(0, BLOCK)
            tl.store(x + offs, 0.0)
    "#]],
    );
}

#[test]
fn a_block_pointer_becomes_a_descriptor() {
    let text = "@triton.jit\ndef copy(x, y, m, n, M: tl.constexpr, N: tl.constexpr):\n    p = tl.make_bl$0ock_ptr(x, shape=(m, n), strides=(n, 1), offsets=(tl.program_id(0) * M, 0), block_shape=(M, N), order=(1, 0))\n    total = tl.zeros([M, N], tl.float32)\n    for i in range(4):\n        total += tl.load(p, boundary_check=(0, 1))\n        p = tl.advance(p, (0, N))\n    tl.store(y + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], total)\n";
    refactor(
        text,
        "Make `p`",
        &expect![[r#"
        Make `p` a tensor descriptor: []
        @triton.jit
        def copy(x, y, m, n, M: tl.constexpr, N: tl.constexpr):
            p = tl.make_tensor_descriptor(x, shape=[m, n], strides=[n, 1], block_shape=[M, N])
            p_0 = tl.program_id(0) * M
            p_1 = 0
            total = tl.zeros([M, N], tl.float32)
            for i in range(4):
                total += p.load([p_0, p_1])
                p_1 += N
            tl.store(y + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], total)
    "#]],
    );
    // A column-major block has no descriptor.
    refactor(
        &text.replace("strides=(n, 1)", "strides=(1, m)").replace("order=(1, 0)", "order=(0, 1)"),
        "Make `p`",
        &expect![[r#"
        not offered, but: []
    "#]],
    );
}

#[test]
fn a_helper_is_extracted() {
    refactor(
        "@triton.jit\ndef copy(x, y, n, BLOCK: tl.constexpr):\n    offs = tl.arange(0, BLOCK)\n    v = tl.load(x + offs, mask=offs < n, other=0.0)\n    tl.store(y + offs, $0tl.exp(v) / BLOCK$0, mask=offs < n)\n",
        "Extract",
        &expect![[r#"
        Extract helper `helper`: []
        @triton.jit
        def helper(v, BLOCK: tl.constexpr):
            return tl.exp(v) / BLOCK


        @triton.jit
        def copy(x, y, n, BLOCK: tl.constexpr):
            offs = tl.arange(0, BLOCK)
            v = tl.load(x + offs, mask=offs < n, other=0.0)
            tl.store(y + offs, helper(v, BLOCK), mask=offs < n)
    "#]],
    );
    refactor(
        "@triton.jit\ndef copy(x, y, n, BLOCK: tl.constexpr):\n    offs = tl.arange(0, BLOCK)\n    total = 0.0\n    for i in range(n):\n$0        v = tl.load(x + offs + i)\n        total += tl.sum(v)\n$0    tl.store(y, total)\n",
        "Extract",
        &expect![[r#"
        Extract helper `helper`: []
        @triton.jit
        def helper(x, offs, i, total):
            v = tl.load(x + offs + i)
            total += tl.sum(v)
            return total


        @triton.jit
        def copy(x, y, n, BLOCK: tl.constexpr):
            offs = tl.arange(0, BLOCK)
            total = 0.0
            for i in range(n):
                total = helper(x, offs, i, total)
            tl.store(y, total)
    "#]],
    );
    // A return leaves the function it is in.
    refactor(
        "@triton.jit\ndef copy(x):\n    $0if tl.program_id(0) > 3:\n        return$0\n    tl.store(x, 0.0)\n",
        "Extract",
        &expect![[r#"
        not offered, but: []
    "#]],
    );
}

#[test]
fn all_safe_fixes_at_once() {
    refactor(
        "@triton.jit\ndef copy(x, n):\n    offs = tl.arange(0, 64)\n    v = tl.load(x + offs, mask=offs < n, cache_modifier=\"ca\")\n    tl.store(x + offs, v, cache_modifier=\"cg\")$0\n\n# /// tritium\n# [launch.one]\n# kernel = \"copy\"\n# grid = [1]\n# args = { x = \"f32[64]\", n = \"64\" }\n# ///\n",
        "Fix all",
        &expect![[r#"
        Fix all of Tritium's 2 safely fixable problems: []
        @triton.jit
        def copy(x, n):
            offs = tl.arange(0, 64)
            v = tl.load(x + offs, mask=offs < n, cache_modifier=".ca")
            tl.store(x + offs, v, cache_modifier=".cg")

        # /// tritium
        # [launch.one]
        # kernel = "copy"
        # grid = [1]
        # args = { x = "f32[64]", n = "64" }
        # ///
    "#]],
    );
}
