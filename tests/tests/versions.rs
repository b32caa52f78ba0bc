//! Which Triton a kernel is read as, and what another would say of it.

use std::fs;

use expect_test::{Expect, expect};
use tritium_tests::project::Project;

fn check(actual: &str, expected: Expect) {
    expected.assert_eq(actual);
}

#[test]
fn the_installed_triton_decides_the_version() {
    let removed = "
import triton
import triton.language as tl

@triton.jit
def kernel(x):
    block = tl.make_block_ptr(x, (64,), (1,), (0,), (64,), (0,))
    tl.store(block, tl.load(block))
";
    let project = Project::new(&[("k.py", removed), ("pyproject.toml", "[project]\nname = \"k\"\n")]);
    // What some of the versions that may be meant have is no mistake, but told.
    assert_eq!(project.found(&[]), "k.py:7 VER005\n");
    project.write(".venv/lib/python3.12/site-packages/triton-3.9.0.dist-info/METADATA", "Name: triton\n");
    assert_eq!(project.found(&[]), "k.py:7 VER001\n");
    project.write("pyproject.toml", "[tool.tritium]\ntriton = \"3.6\"\n");
    assert_eq!(project.found(&[]), "");
}

/// What is right for one of the versions that may be meant is right where none is stated, though no version takes both of these.
#[test]
fn where_no_version_is_stated_a_mistake_is_one_to_all() {
    let text = "
import triton
import triton.language as tl

@triton.jit
def kernel(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    inside = 0 <= i < n
    one, two = (1, 2, 3)
    tl.store(x + i, tl.squeeze(i[:, None], 1), mask=inside)
    tl.store(x + i, one + two, mask=inside + tl.arange(0, 7))
";
    let project = Project::new(&[("k.py", text)]);
    assert_eq!(project.found(&[]), "k.py:9 LNG019\nk.py:11 SHP002\n");
    let of = |version| project.found(&["--triton", version]);
    assert_eq!(of("3.6"), "k.py:8 LNG012\nk.py:9 LNG019\nk.py:10 VER002\nk.py:11 SHP002\n");
    assert_eq!(of("3.9"), "k.py:9 LNG011\nk.py:11 SHP002\n");
}

#[test]
fn an_upgrade_is_previewed() {
    let text = "
import triton
import triton.language as tl

@triton.jit
def kernel(x: '*bf16', y: '*bf16'):
    at = tl.arange(0, 64)
    largest = tl.maximum(tl.load(x + at), tl.load(y + at))
    block = tl.make_block_ptr(x, (64,), (1,), (0,), (64,), (0,))
    tl.store(block, tl.load(block))
    tl.store(y + at, largest)
";
    let project = Project::new(&[("k.py", text)]);
    let said = project.say(&["check", ".", "--upgrade", "3.9", "--output-format", "concise", "--select", "VER004"]);
    assert_eq!(said.status, 0, "{}", said.stderr);
    check(
        &said.stdout,
        expect![[r#"
        ./k.py:8:5: VER004 `largest` is f32[64] with Triton 3.6, and bf16[64] with 3.9
        ./k.py:9:13: VER004 Triton 3.9 reports VER001 here: `tl.make_block_ptr` is gone since Triton 3.9: use `tl.make_tensor_descriptor`, or a tile of pointers with a mask
    "#]],
    );
    let same = ["check", ".", "--upgrade", "3.6", "--output-format", "concise", "--select", "VER004"];
    assert_eq!(project.say(&same).stdout, "");
    let said = project.say(&["check", ".", "--upgrade", "soon"]);
    assert_eq!(said.status, 2);
    assert!(said.stderr.contains("`soon` is no version of Triton"), "{}", said.stderr);
}

/// A product and copies through block pointers, each with what it must give.
const BLOCK_POINTERS: &str = r#"
# /// tritium
# [launch.product]
# kernel = "product"
# grid = [2, 2]
# sizes = { M = 50, N = 45, K = 70 }
# args = { A = "f32[M, K] = normal(0, 1)", B = "f32[K, N] = normal(0, 1)", C = "f32[M, N]", M = "M", N = "N", K = "K" }
# meta = { BM = 32, BN = 32, BK = 16 }
# expect = { C = "A @ B" }
# [launch.rows]
# kernel = "rows"
# grid = [5]
# sizes = { M = 5, N = 27 }
# args = { X = "f16[M, N] = normal(0, 1)", Y = "f32[M, N]", n = "N", skip = 0 }
# meta = { BLOCK = 8 }
# expect = { Y = "X * 2" }
# [launch.shifted]
# kernel = "shifted"
# grid = [1]
# sizes = { N = 40 }
# args = { X = "f32[N] = normal(0, 1)", Y = "f32[N]", n = "N", by = 0 }
# expect = { Y = "X * 2" }
# ///
import triton
import triton.language as tl


@triton.jit
def product(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row, column = tl.program_id(0), tl.program_id(1)
    a = tl.make_block_ptr(A, shape=(M, K), strides=(K, 1), offsets=(row * BM, 0), block_shape=(BM, BK), order=(1, 0))
    b = tl.make_block_ptr(B, (K, N), (N, 1), (0, column * BN), (BK, BN), (1, 0))
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, tl.cdiv(K, BK)):
        acc = tl.dot(tl.load(a, boundary_check=(0, 1), padding_option="zero"), tl.load(b, boundary_check=(1, 0), padding_option="zero"), acc, input_precision="ieee")
        a = tl.advance(a, (0, BK))
        b = tl.advance(b, [BK, 0])
    c = tl.make_block_ptr(C, (M, N), (N, 1), (row * BM, column * BN), (BM, BN), (1, 0))
    tl.store(c, acc.to(c.dtype.element_ty), boundary_check=(0, 1))


@triton.jit
def rows(X, Y, n, skip, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x = tl.make_block_ptr(X + row * n, (n,), (1,), (skip,), (BLOCK,), (0,))
    y = tl.make_block_ptr(Y + row * n, (n,), (1,), (skip,), (BLOCK,), (0,))
    for _ in range(0, tl.cdiv(n, BLOCK)):
        v = tl.load(x, boundary_check=(0,), padding_option="zero").to(tl.float32)
        tl.store(y, v * 2, boundary_check=(0,))
        x = tl.advance(x, (BLOCK,))
        y = tl.advance(y, (BLOCK,))


@triton.jit
def shifted(X, Y, n, by):
    if by > 0:
        p = tl.make_block_ptr(X + by, (n - by,), (1,), (0,), (64,), (0,))
    else:
        p = tl.make_block_ptr(X, (n,), (1,), (by,), (64,), (0,))
    kept = tl.make_block_ptr(Y, (n,), (1,), (0,), (64,), (0,))
    tl.store(kept, tl.load(p, boundary_check=(0,), cache_modifier=".cg") * 2, boundary_check=(0,))


@triton.jit
def of_caller(block):
    return tl.load(block)


@triton.jit
def given_away(X, Y):
    p = tl.make_block_ptr(X, (64,), (1,), (0,), (64,), (0,))
    tl.store(Y + tl.arange(0, 64), of_caller(p))
"#;

/// What a block pointer becomes means the same: both texts give what is asserted, under the version that has block pointers, and the new one
/// under that which has none. One that is handed on is left.
#[test]
fn block_pointers_become_tiles_of_pointers() {
    let project = Project::new(&[("k.py", BLOCK_POINTERS)]);
    let verified = |triton: &str| {
        let said = project.say(&["run", "k.py", "--verify", "--triton", triton]);
        assert_eq!(said.status, 0, "{}{}", said.stdout, said.stderr);
        assert_eq!(said.stdout.matches("verified").count(), 3, "{}", said.stdout);
    };
    verified("3.6");
    let said = project.say(&["check", "k.py", "--upgrade", "3.9", "--fix", "--select", "VER004", "--output-format", "concise"]);
    assert_eq!(said.status, 0, "{}{}", said.stdout, said.stderr);
    check(
        &said.stdout,
        expect![[r#"
        k.py:80:9: VER004 Triton 3.9 reports VER001 here: `tl.make_block_ptr` is gone since Triton 3.9: use `tl.make_tensor_descriptor`, or a tile of pointers with a mask
    "#]],
    );
    let text = fs::read_to_string(project.root().join("k.py")).expect("the file is there");
    check(
        text.split_once("import triton.language as tl\n").expect("imports").1,
        expect![[r#"


        @triton.jit
        def product(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
            row, column = tl.program_id(0), tl.program_id(1)
            a_at0 = row * BM
            a_at1 = 0
            b_at0 = 0
            b_at1 = column * BN
            acc = tl.zeros((BM, BN), dtype=tl.float32)
            for _ in range(0, tl.cdiv(K, BK)):
                acc = tl.dot(tl.load(A + (a_at0 + tl.arange(0, BM).to(tl.int64))[:, None] * K + (a_at1 + tl.arange(0, BK).to(tl.int64))[None, :], mask=((a_at0 + tl.arange(0, BM).to(tl.int64) >= 0) & (a_at0 + tl.arange(0, BM).to(tl.int64) < M))[:, None] & ((a_at1 + tl.arange(0, BK).to(tl.int64) >= 0) & (a_at1 + tl.arange(0, BK).to(tl.int64) < K))[None, :], other=0), tl.load(B + (b_at0 + tl.arange(0, BK).to(tl.int64))[:, None] * N + (b_at1 + tl.arange(0, BN).to(tl.int64))[None, :], mask=((b_at0 + tl.arange(0, BK).to(tl.int64) >= 0) & (b_at0 + tl.arange(0, BK).to(tl.int64) < K))[:, None] & ((b_at1 + tl.arange(0, BN).to(tl.int64) >= 0) & (b_at1 + tl.arange(0, BN).to(tl.int64) < N))[None, :], other=0), acc, input_precision="ieee")
                a_at1 += BK
                b_at0 += BK
            c_at0 = row * BM
            c_at1 = column * BN
            tl.store(C + (c_at0 + tl.arange(0, BM).to(tl.int64))[:, None] * N + (c_at1 + tl.arange(0, BN).to(tl.int64))[None, :], acc.to(C.dtype.element_ty), mask=((c_at0 + tl.arange(0, BM).to(tl.int64) >= 0) & (c_at0 + tl.arange(0, BM).to(tl.int64) < M))[:, None] & ((c_at1 + tl.arange(0, BN).to(tl.int64) >= 0) & (c_at1 + tl.arange(0, BN).to(tl.int64) < N))[None, :])


        @triton.jit
        def rows(X, Y, n, skip, BLOCK: tl.constexpr):
            row = tl.program_id(0)
            x_base = X + (row * n)
            x_at0 = skip
            y_base = Y + (row * n)
            y_at0 = skip
            for _ in range(0, tl.cdiv(n, BLOCK)):
                v = tl.load(x_base + (x_at0 + tl.arange(0, BLOCK).to(tl.int64)), mask=((x_at0 + tl.arange(0, BLOCK).to(tl.int64) >= 0) & (x_at0 + tl.arange(0, BLOCK).to(tl.int64) < n)), other=0).to(tl.float32)
                tl.store(y_base + (y_at0 + tl.arange(0, BLOCK).to(tl.int64)), v * 2, mask=((y_at0 + tl.arange(0, BLOCK).to(tl.int64) >= 0) & (y_at0 + tl.arange(0, BLOCK).to(tl.int64) < n)))
                x_at0 += BLOCK
                y_at0 += BLOCK


        @triton.jit
        def shifted(X, Y, n, by):
            if by > 0:
                p_base = X + by
                p_size0 = n - by
                p_at0 = 0
            else:
                p_base = X
                p_size0 = n
                p_at0 = by
            pass
            tl.store(Y + (tl.arange(0, 64).to(tl.int64)), tl.load(p_base + (p_at0 + tl.arange(0, 64).to(tl.int64)), mask=((p_at0 + tl.arange(0, 64).to(tl.int64) >= 0) & (p_at0 + tl.arange(0, 64).to(tl.int64) < p_size0)), cache_modifier=".cg") * 2, mask=(tl.arange(0, 64).to(tl.int64) < n))


        @triton.jit
        def of_caller(block):
            return tl.load(block)


        @triton.jit
        def given_away(X, Y):
            p = tl.make_block_ptr(X, (64,), (1,), (0,), (64,), (0,))
            tl.store(Y + tl.arange(0, 64), of_caller(p))
    "#]],
    );
    verified("3.6");
    verified("3.9");
}

/// Names that have moved, and arguments that are gone.
#[test]
fn an_upgrade_renames() {
    let text = "
import triton
import triton.language as tl

@triton.jit
def kernel(x, y, z, BLOCK: tl.constexpr):
    i = tl.arange(0, 16)
    at = i[:, None] * 16 + i[None, :]
    a = tl.load(x + at)
    product = tl.dot(a, tl.load(y + at), trans_b=True, trans_a=False)
    tl.store(z + at, tl.math.tanh(product))
";
    let project = Project::new(&[("k.py", text)]);
    let said = project.say(&["check", "k.py", "--triton", "1.0", "--upgrade", "3.6", "--fix", "--select", "VER"]);
    let after = fs::read_to_string(project.root().join("k.py")).expect("the file is there");
    check(
        &format!("{}{}{after}", said.stdout, said.stderr),
        expect![[r#"
        error[VER002]: `tl.extra` comes with Triton 2.1, and this is read as Triton 1.0: say which one you use with `--triton` or `[tool.tritium]`, or do without it
          --> k.py:11:22
           |
        11 |     tl.store(z + at, tl.extra.cuda.libdevice.tanh(product))
           |                      ^^^^^^^^

        hint[VER004]: Triton 3.6 accepts this, which 1.0 reports as VER002: `tl.extra` comes with Triton 2.1, and this is read as Triton 1.0: say which one you use with `--triton` or `[tool.tritium]`, or do without it
          --> k.py:11:22
           |
        11 |     tl.store(z + at, tl.extra.cuda.libdevice.tanh(product))
           |                      ^^^^^^^^

        3 fixed
        1 error, 1 hint in 1 file (1 kernel)

        import triton
        import triton.language as tl

        @triton.jit
        def kernel(x, y, z, BLOCK: tl.constexpr):
            i = tl.arange(0, 16)
            at = i[:, None] * 16 + i[None, :]
            a = tl.load(x + at)
            product = tl.dot(a, tl.trans(tl.load(y + at)))
            tl.store(z + at, tl.extra.cuda.libdevice.tanh(product))
    "#]],
    );
}
