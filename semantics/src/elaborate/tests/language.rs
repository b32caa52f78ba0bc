//! One rule of the language a test: bindings and their types.

use expect_test::expect;

use super::{module, types, types_under};

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

#[test]
fn promises_hold_for_all_uses() {
    let text = "
        @triton.jit
        def kernel(x, off, n, HINT: tl.constexpr):
            at = tl.arange(0, 64) + tl.load(off)
            mask = at < n
            if HINT:
                tl.max_contiguous(tl.multiple_of(at, 64), 64)
                if n > 3:
                    tl.multiple_of(n + 1, 16)
                    tl.multiple_of(at, 32)
            tl.store(x + at, at, mask=mask)
    ";
    expect![[r#"
        module L0
        func @kernel(%x: *i32 {div=16}, %off: *i32, %n: i32) {
          %0 = iota 0, 64 : i32[64] @1
          %1 = load %off : i32 @3
          %2 = splat %1 : i32[64] @5
          %3 = add.i %0, %2 : i32[64] @5
          %4 = promise.divisible %3 values=[64] : i32[64] @12
          %5 = promise.contiguous %4 values=[64] : i32[64] @10
          %6 = promise.divisible %5 values=[32] : i32[64] @21
          %7 = splat %n : i32[64] @7
          %8 = lt.s %6, %7 : i1[64] @7
          %9 = splat %x : *i32[64] @26
          %10 = addptr %9, %6 : *i32[64] @26
          store %10, %6, %8 @24
          return @23
        }
    "#]]
    .assert_eq(&module(text, "x: *i32:16; off: *i32; n: i32; HINT = True"));
}

#[test]
fn sums_of_8_bit_floats_that_leave_the_tensor_core() {
    let text = "
        @triton.jit
        def kernel(x, y):
            i = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
            a = tl.load(x + i)
            exact = tl.dot(a, a, max_num_imprecise_acc=16)
            every = tl.dot(a, a, exact, max_num_imprecise_acc=0)
            tl.store(y + i, tl.dot(a.to(tl.float16), a.to(tl.float16), every, max_num_imprecise_acc=16))
    ";
    expect![[r#"
        module L0
        func @kernel(%x: *f8e5m2, %y: *f32) {
          %0 = iota 0, 32 : i32[32] @1
          %1 = expand_dims %0 axis=1 : i32[32, 1] @3
          %2 = constant 32 : i32[32, 1] @4
          %3 = mul.i %1, %2 : i32[32, 1] @4
          %4 = iota 0, 32 : i32[32] @5
          %5 = expand_dims %4 axis=0 : i32[1, 32] @7
          %6 = broadcast %3 : i32[32, 32] @8
          %7 = broadcast %5 : i32[32, 32] @8
          %8 = add.i %6, %7 : i32[32, 32] @8
          %9 = splat %x : *f8e5m2[32, 32] @12
          %10 = addptr %9, %8 : *f8e5m2[32, 32] @12
          %11 = load %10 : f8e5m2[32, 32] @10
          %12 = constant 0.0 : f32[32, 32] @14
          %13 = dot %11, %11, %12 sum_depth=16 : f32[32, 32] @14
          %14 = dot %11, %11, %13 sum_depth=0 : f32[32, 32] @17
          %15 = splat %y : *f32[32, 32] @22
          %16 = addptr %15, %8 : *f32[32, 32] @22
          %17 = float %11 : f16[32, 32] @25
          %18 = float %11 : f16[32, 32] @28
          %19 = dot %17, %18, %14 : f32[32, 32] @23
          store %16, %19 @20
          return @19
        }
    "#]]
    .assert_eq(&module(text, "x: *fp8e5; y: *f32"));
}

#[test]
fn loops_carry_what_is_asked_of_them() {
    let text = "
        @triton.jit
        def kernel(x, n):
            s = n
            for i in tl.range(n, num_stages=2, loop_unroll_factor=4, flatten=True, disallow_acc_multi_buffer=True, disable_licm=True):
                s += i
            while tl.condition(s > n, disable_licm=True):
                s -= 1
            while tl.condition(s > 0):
                s -= 2
            tl.store(x, s)
    ";
    expect![[r#"
        module L0
        func @kernel(%x: *i32, %n: i32) {
          %0 = constant 0 : i32 @1
          %1 = constant 1 : i32 @1
          %2 = for %0, %n, %1, %n num_stages=2 unroll=4 flatten disallow_acc_multi_buffer disable_licm : i32 @1 {
          ^(%3: i32, %4: i32):
            %5 = add.i %4, %3 : i32 @3
            yield %5 @1
          }
          %6 = while %2 disable_licm : i32 @4 {
          ^(%7: i32):
            %8 = gt.s %7, %n : i1 @7
            condition %8, %7 @4
          } do {
          ^(%9: i32):
            %10 = constant 1 : i32 @8
            %11 = sub.i %9, %10 : i32 @8
            yield %11 @4
          }
          %12 = while %6 : i32 @9 {
          ^(%13: i32):
            %14 = constant 0 : i32 @12
            %15 = gt.s %13, %14 : i1 @12
            condition %15, %13 @9
          } do {
          ^(%16: i32):
            %17 = constant 2 : i32 @13
            %18 = sub.i %16, %17 : i32 @13
            yield %18 @9
          }
          store %x, %12 @15
          return @14
        }
    "#]]
    .assert_eq(&module(text, "x: *i32; n: i32"));
}

#[test]
fn a_way_without_return_gives_nothing_defined() {
    let text = "
        @triton.jit
        def half(x, n):
            if n > 0:
                return x, n

        @triton.jit
        def kernel(x, n):
            p, m = half(x, n)
            tl.store(p, m)
    ";
    expect![[r#"
        module L0
        func @kernel(%x: *i32, %n: i32) {
          %0, %1 = call @half, %x, %n : *i32, i32 @1
          store %0, %1 @6
          return @5
        }

        func @half(%x: *i32, %n: i32) -> *i32, i32 {
          %0 = constant 0 : i32 @3
          %1 = gt.s %n, %0 : i1 @3
          %2, %3 = if %1 : *i32, i32 @2 {
            yield %x, %n @2
          } else {
            %4 = constant undefined : *i32 @2
            %5 = constant undefined : i32 @2
            yield %4, %5 @2
          }
          return %2, %3
        }
        6: CTL013 at `half`: `half` returns (*i32, i32) on one way and reaches its end on another: the value is undefined there. Return one on every way
            called at 12: `half(x, n)`
    "#]].assert_eq(&module(text, "x: *i32; n: i32"));
}
