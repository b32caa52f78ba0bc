//! One rule of the language a test: bindings and their types.

use expect_test::expect;

use super::{types, types_under};

#[test]
fn shapes_keep_their_names() {
    let text = "
        @triton.jit
        def kernel(x, M, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
            half: tl.constexpr = BLOCK_N // 2
            rows = tl.arange(0, BLOCK_M)
            cols = tl.arange(0, BLOCK_N // 2)
            tile = rows[:, None] * 2 + cols[None, :]
            acc = tl.zeros((BLOCK_M, half), dtype=tl.float16)
            wide = acc + tile
            line = tl.sum(wide, axis=1)
            back = wide.T
    ";
    expect![[r#"
        x: *f32
        M: i32
        BLOCK_M: constexpr[128]
        BLOCK_N: constexpr[64]
        half: constexpr[32]
        rows: i32[128]  [BLOCK_M]
        cols: i32[32]  [BLOCK_N // 2]
        tile: i32[128, 32]  [BLOCK_M, BLOCK_N // 2]
        acc: f16[128, 32]  [BLOCK_M, half]
        wide: f16[128, 32]  [BLOCK_M, half]
        line: f16[128]  [BLOCK_M]
        back: f16[32, 128]  [half, BLOCK_M]
        13: DTY008 at `tl.sum(wide, axis=1)`: tl.sum adds 32 values in f16, which keeps about 3 digits (`wide` is f16[128, 32]): add in f32 with `.to(tl.float32)`
            fix?: Add in f32, round to f16 once: `.to(tl.float32)` after `wide` `.to(tl.float16)` after `tl.sum(wide, axis=1)`
    "#]]
    .assert_eq(&types(text, "x: *f32; M: i32; BLOCK_M = 128; BLOCK_N = 64"));
}

#[test]
fn literals_decay_and_promote() {
    let text = "
        @triton.jit
        def kernel(x, n, h, C: tl.constexpr):
            a = 4
            b = 3000000000
            c = 1e-40
            d = C * 2 / 5
            e: tl.constexpr = -7 // 2
            f = n / 2
            g = h / 2
            i = h + 1.5
            j = n // 2 > 3
            k = (n, 2.0, None)
            l, m = n, h
            n += 1
            o = tl.maximum(h, 0.0)
            p = tl.sum(tl.zeros((8,), tl.int1), 0)
            q = x.dtype.element_ty
            r = x + n
            s = C is None or n > 1
            t = min(n, 2)
            u = tl.cdiv(C, 2)
    ";
    expect![[r#"
        x: *bf16
        n: i32
        h: f16
        C: constexpr[3]
        a: i32
        b: u32
        c: f64
        d: f32
        e: constexpr[-4]
        f: f32
        g: f32
        i: f16
        j: i1
        k: (i32, f32, constexpr[None])
        l: i32
        m: f16
        n: i32
        o: f32
        p: u32
        q: constexpr[bf16]
        r: *bf16
        s: i1
        t: i32
        u: i32
    "#]]
    .assert_eq(&types(text, "x: *bf16; n: i32; h: f16; C = 3"));
}

/// The dialect's single difference.
#[test]
fn the_dialect_keeps_literals_compile_time() {
    let text = "
        @triton.jit
        def kernel(x, n):
            size = 64
            i = tl.arange(0, size)
            total = 0
            for k in range(n):
                total += k
    ";
    expect![[r#"
        x: *f32
        n: i32
        size: constexpr[64]
        i: i32[64]
        total: constexpr[0]
        k: i32
        total: i32
    "#]]
    .assert_eq(&types_under(text, "x: *f32; n: i32", "1.0"));
}

#[test]
fn helpers() {
    let text = "
        @triton.jit
        def pair(v, by=2, flag: tl.constexpr = True):
            if flag:
                scaled = v * by
            else:
                scaled = v
            return scaled, by

        @triton.jit
        def sign(v):
            if v > 0:
                return 1.0
            elif v < 0:
                return -1.0
            return 0.0

        @triton.jit
        def larger(a, b):
            return tl.where(a > b, a, b)

        @triton.jit
        def kernel(x, n):
            a, b = pair(n)
            c, d = pair(tl.arange(0, 8), by=n, flag=False)
            e = sign(n)
            f = tl.reduce(tl.arange(0, 8), 0, larger)
            tl.store(x, a + b + tl.sum(c + d, 0) + e + f)
    ";
    expect![[r#"
        x: *f32
        n: i32
        v: i32[8]
        by: i32
        flag: constexpr[False]
        scaled: i32
        a: i32
        b: i32
        scaled: i32[8]
        c: i32[8]
        d: i32
        v: i32
        e: f32
        a: i32
        b: i32
        f: i32
    "#]]
    .assert_eq(&types(text, "x: *f32; n: i32"));
}

/// From 3.7 on, what a helper returns keeps its compile-time value.
#[test]
fn returns_of_3_7() {
    let text = "
        @triton.jit
        def half(v):
            return v // 2

        @triton.jit
        def kernel(x, C: tl.constexpr):
            size: tl.constexpr = half(C)
            i = tl.arange(0, size)
            tl.store(x + i, i)
    ";
    expect![[r#"
        x: *i32
        C: constexpr[64]
        v: constexpr[64]
        size: constexpr[32]
        i: i32[32]  [size]
    "#]]
    .assert_eq(&types_under(text, "x: *i32; C = 64", "3.7"));
}
