//! Whole kernels, each for one part of the language.

use expect_test::expect;

use super::module;

#[test]
fn vector_add() {
    let text = "
        @triton.jit
        def kernel(x, y, out, n, BLOCK: tl.constexpr):
            pid = tl.program_id(0)
            offs = pid * BLOCK + tl.arange(0, BLOCK)
            mask = offs < n
            a = tl.load(x + offs, mask=mask)
            b = tl.load(y + offs, mask=mask)
            tl.store(out + offs, a + b, mask=mask)
    ";
    expect![[r#"
        module L0
        func @kernel(%x: *f32 {div=16}, %y: *f32 {div=16}, %out: *f32 {div=16}, %n: i32) {
          %0 = program_id x : i32 @1
          %1 = constant 1024 : i32 @4
          %2 = mul.i %0, %1 : i32 @4
          %3 = iota 0, 1024 : i32[1024] @5
          %4 = splat %2 : i32[1024] @7
          %5 = add.i %4, %3 : i32[1024] @7
          %6 = splat %n : i32[1024] @9
          %7 = lt.s %5, %6 : i1[1024] @9
          %8 = splat %x : *f32[1024] @13
          %9 = addptr %8, %5 : *f32[1024] @13
          %10 = load %9, %7 : f32[1024] @11
          %11 = splat %y : *f32[1024] @17
          %12 = addptr %11, %5 : *f32[1024] @17
          %13 = load %12, %7 : f32[1024] @15
          %14 = splat %out : *f32[1024] @21
          %15 = addptr %14, %5 : *f32[1024] @21
          %16 = add.f %10, %13 : f32[1024] @22
          store %15, %16, %7 @19
          return @18
        }
    "#]]
    .assert_eq(&module(text, "x: *f32:16; y: *f32:16; out: *f32:16; n: i32; BLOCK = 1024"));
}

#[test]
fn row_softmax() {
    let text = "
        @triton.jit
        def kernel(out, x, stride, n, BLOCK: tl.constexpr):
            row = tl.program_id(0)
            cols = tl.arange(0, BLOCK)
            v = tl.load(x + row * stride + cols, mask=cols < n, other=-float('inf'))
            v = v - tl.max(v, axis=0)
            e = tl.exp(v)
            tl.store(out + row * stride + cols, e / tl.sum(e, axis=0), mask=cols < n)
    ";
    expect![[r#"
        module L0
        func @kernel(%out: *f32, %x: *f32, %stride: i32, %n: i32) {
          %0 = program_id x : i32 @1
          %1 = iota 0, 256 : i32[256] @4
          %2 = mul.i %0, %stride : i32 @9
          %3 = addptr %x, %2 : *f32 @10
          %4 = splat %3 : *f32[256] @11
          %5 = addptr %4, %1 : *f32[256] @11
          %6 = splat %n : i32[256] @12
          %7 = lt.s %1, %6 : i1[256] @12
          %8 = constant -inf : f32[256] @7
          %9 = load %5, %7, %8 : f32[256] @7
          %10 = reduce %9 axis=0 : f32 @15 {
          ^(%11: f32, %12: f32):
            %13 = max.f %11, %12 : f32 @15
            yield %13 @15
          }
          %14 = splat %10 : f32[256] @17
          %15 = sub.f %9, %14 : f32[256] @17
          %16 = exp %15 : f32[256] @19
          %17 = mul.i %0, %stride : i32 @24
          %18 = addptr %out, %17 : *f32 @25
          %19 = splat %18 : *f32[256] @26
          %20 = addptr %19, %1 : *f32[256] @26
          %21 = reduce %16 axis=0 : f32 @27 {
          ^(%22: f32, %23: f32):
            %24 = add.f %22, %23 : f32 @27
            yield %24 @27
          }
          %25 = splat %21 : f32[256] @29
          %26 = div.f %16, %25 : f32[256] @29
          %27 = splat %n : i32[256] @30
          %28 = lt.s %1, %27 : i1[256] @30
          store %20, %26, %28 @22
          return @21
        }
    "#]]
    .assert_eq(&module(text, "out: *f32; x: *f32; stride: i32; n: i32; BLOCK = 256"));
}

#[test]
fn matmul() {
    let text = "
        @triton.jit
        def relu(v):
            return tl.where(v > 0, v, 0.0)

        @triton.jit
        def kernel(a, b, c, M, N, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ACT: tl.constexpr):
            rm = tl.program_id(0) * BM + tl.arange(0, BM)
            rn = tl.program_id(1) * BN + tl.arange(0, BN)
            rk = tl.arange(0, BK)
            pa = a + rm[:, None] * sa + rk[None, :]
            pb = b + rk[:, None] * sb + rn[None, :]
            acc = tl.zeros((BM, BN), dtype=tl.float32)
            for k in range(0, tl.cdiv(K, BK)):
                x = tl.load(pa, mask=rk[None, :] < K - k * BK, other=0.0)
                y = tl.load(pb, mask=rk[:, None] < K - k * BK, other=0.0)
                acc = tl.dot(x, y, acc)
                pa += BK
                pb += BK * sb
            if ACT == 'relu':
                acc = relu(acc)
            out = c + rm[:, None] * sc + rn[None, :]
            tl.store(out, acc.to(tl.float16), mask=(rm[:, None] < M) & (rn[None, :] < N))
    ";
    let args =
        "a: *f16; b: *f16; c: *f16; M: i32; N: i32; K: i32; sa: i32; sb: i32; sc: i32; BM = 64; BN = 32; BK = 16; ACT = relu";
    expect![[r#"
        module L0
        func @kernel(%a: *f16, %b: *f16, %c: *f16, %M: i32, %N: i32, %K: i32, %sa: i32, %sb: i32, %sc: i32) {
          %0 = program_id x : i32 @1
          %1 = constant 64 : i32 @3
          %2 = mul.i %0, %1 : i32 @3
          %3 = iota 0, 64 : i32[64] @4
          %4 = splat %2 : i32[64] @6
          %5 = add.i %4, %3 : i32[64] @6
          %6 = program_id y : i32 @8
          %7 = constant 32 : i32 @10
          %8 = mul.i %6, %7 : i32 @10
          %9 = iota 0, 32 : i32[32] @11
          %10 = splat %8 : i32[32] @13
          %11 = add.i %10, %9 : i32[32] @13
          %12 = iota 0, 16 : i32[16] @15
          %13 = expand_dims %5 axis=1 : i32[64, 1] @18
          %14 = splat %sa : i32[64, 1] @19
          %15 = mul.i %13, %14 : i32[64, 1] @19
          %16 = splat %a : *f16[64, 1] @20
          %17 = addptr %16, %15 : *f16[64, 1] @20
          %18 = expand_dims %12 axis=0 : i32[1, 16] @21
          %19 = broadcast %17 : *f16[64, 16] @22
          %20 = broadcast %18 : i32[64, 16] @22
          %21 = addptr %19, %20 : *f16[64, 16] @22
          %22 = expand_dims %12 axis=1 : i32[16, 1] @24
          %23 = splat %sb : i32[16, 1] @25
          %24 = mul.i %22, %23 : i32[16, 1] @25
          %25 = splat %b : *f16[16, 1] @26
          %26 = addptr %25, %24 : *f16[16, 1] @26
          %27 = expand_dims %11 axis=0 : i32[1, 32] @27
          %28 = broadcast %26 : *f16[16, 32] @28
          %29 = broadcast %27 : i32[16, 32] @28
          %30 = addptr %28, %29 : *f16[16, 32] @28
          %31 = constant 0.0 : f32[64, 32] @30
          %32 = constant 16 : i32 @34
          %33 = add.i %K, %32 : i32 @34
          %34 = constant 1 : i32 @34
          %35 = sub.i %33, %34 : i32 @34
          %36 = constant 16 : i32 @34
          %37 = div.s %35, %36 : i32 @34
          %38 = constant 0 : i32 @33
          %39 = constant 1 : i32 @33
          %40, %41, %42 = for %38, %37, %39, %31, %21, %30 : f32[64, 32], *f16[64, 16], *f16[16, 32] @33 {
          ^(%43: i32, %44: f32[64, 32], %45: *f16[64, 16], %46: *f16[16, 32]):
            %47 = expand_dims %12 axis=0 : i32[1, 16] @39
            %48 = constant 16 : i32 @40
            %49 = mul.i %43, %48 : i32 @40
            %50 = sub.i %K, %49 : i32 @41
            %51 = splat %50 : i32[1, 16] @42
            %52 = lt.s %47, %51 : i1[1, 16] @42
            %53 = broadcast %52 : i1[64, 16] @37
            %54 = constant 0.0 : f16[64, 16] @37
            %55 = load %45, %53, %54 : f16[64, 16] @37
            %56 = expand_dims %12 axis=1 : i32[16, 1] @46
            %57 = constant 16 : i32 @47
            %58 = mul.i %43, %57 : i32 @47
            %59 = sub.i %K, %58 : i32 @48
            %60 = splat %59 : i32[16, 1] @49
            %61 = lt.s %56, %60 : i1[16, 1] @49
            %62 = broadcast %61 : i1[16, 32] @44
            %63 = constant 0.0 : f16[16, 32] @44
            %64 = load %46, %62, %63 : f16[16, 32] @44
            %65 = dot %55, %64, %44 : f32[64, 32] @51
            %66 = constant 16 : i32[64, 16] @53
            %67 = addptr %45, %66 : *f16[64, 16] @53
            %68 = constant 16 : i32 @55
            %69 = mul.i %68, %sb : i32 @55
            %70 = splat %69 : i32[16, 32] @54
            %71 = addptr %46, %70 : *f16[16, 32] @54
            yield %65, %67, %71 @33
          }
          %72 = call @relu, %40 : f32[64, 32] @59
          %73 = expand_dims %5 axis=1 : i32[64, 1] @65
          %74 = splat %sc : i32[64, 1] @66
          %75 = mul.i %73, %74 : i32[64, 1] @66
          %76 = splat %c : *f16[64, 1] @67
          %77 = addptr %76, %75 : *f16[64, 1] @67
          %78 = expand_dims %11 axis=0 : i32[1, 32] @68
          %79 = broadcast %77 : *f16[64, 32] @69
          %80 = broadcast %78 : i32[64, 32] @69
          %81 = addptr %79, %80 : *f16[64, 32] @69
          %82 = float %72 : f16[64, 32] @73
          %83 = expand_dims %5 axis=1 : i32[64, 1] @76
          %84 = splat %M : i32[64, 1] @77
          %85 = lt.s %83, %84 : i1[64, 1] @77
          %86 = expand_dims %11 axis=0 : i32[1, 32] @78
          %87 = splat %N : i32[1, 32] @79
          %88 = lt.s %86, %87 : i1[1, 32] @79
          %89 = broadcast %85 : i1[64, 32] @80
          %90 = broadcast %88 : i1[64, 32] @80
          %91 = and %89, %90 : i1[64, 32] @80
          store %81, %82, %91 @71
          return @70
        }

        func @relu(%v: f32[64, 32]) -> f32[64, 32] {
          %0 = constant 0.0 : f32[64, 32] @63
          %1 = gt.f %v, %0 : i1[64, 32] @63
          %2 = constant 0.0 : f32[64, 32] @61
          %3 = select %1, %v, %2 : f32[64, 32] @61
          return %3
        }
    "#]]
    .assert_eq(&module(text, args));
}

#[test]
fn control_flow() {
    let text = "
        @triton.jit
        def kernel(x, out, n):
            if n <= 0:
                return
            best = -1.0
            where = 0
            i = 0
            while i < n:
                v = tl.load(x + i)
                if v > best:
                    best = v
                    where = i
                i += 1
            for k in range(4, 0, -1):
                where += k
            for k in tl.static_range(2):
                tl.store(out + k, where + k)
            tl.store(out + 2, where if best > 0.0 else 7)
    ";
    expect![[r#"
        module L0
        func @kernel(%x: *f32, %out: *i32, %n: i32) {
          %0 = constant 0 : i32 @1
          %1 = le.s %n, %0 : i1 @1
          if %1 @0 {
            yield @0
          } else {
            %2 = constant -1.0 : f32 @3
            %3 = constant 0 : i32 @4
            %4 = constant 0 : i32 @5
            %5, %6, %7 = while %4, %2, %3 : i32, f32, i32 @6 {
            ^(%8: i32, %9: f32, %10: i32):
              %11 = lt.s %8, %n : i1 @7
              condition %11, %8, %9, %10 @6
            } do {
            ^(%12: i32, %13: f32, %14: i32):
              %15 = addptr %x, %12 : *f32 @11
              %16 = load %15 : f32 @9
              %17 = gt.f %16, %13 : i1 @13
              %18, %19 = if %17 : f32, i32 @12 {
                yield %16, %12 @12
              } else {
                yield %13, %14 @12
              }
              %20 = constant 1 : i32 @16
              %21 = add.i %12, %20 : i32 @16
              yield %21, %18, %19 @6
            }
            %22 = constant 0 : i32 @17
            %23 = constant 4 : i32 @17
            %24 = constant 1 : i32 @17
            %25 = for %22, %23, %24, %7 : i32 @17 {
            ^(%26: i32, %27: i32):
              %28 = sub.i %23, %26 : i32 @17
              %29 = add.i %28, %22 : i32 @17
              %30 = add.i %27, %29 : i32 @18
              yield %30 @17
            }
            %31 = constant 0 : i32 @24
            %32 = addptr %out, %31 : *i32 @24
            %33 = constant 0 : i32 @25
            %34 = add.i %25, %33 : i32 @25
            store %32, %34 @22
            %35 = constant 1 : i32 @24
            %36 = addptr %out, %35 : *i32 @24
            %37 = constant 1 : i32 @25
            %38 = add.i %25, %37 : i32 @25
            store %36, %38 @22
            %39 = constant 2 : i32 @29
            %40 = addptr %out, %39 : *i32 @29
            %41 = constant 0.0 : f32 @30
            %42 = gt.f %6, %41 : i1 @30
            %43 = if %42 : i32 @27 {
              yield %25 @27
            } else {
              %44 = constant 7 : i32 @27
              yield %44 @27
            }
            store %40, %43 @27
            yield @0
          }
          return @26
        }
    "#]]
    .assert_eq(&module(text, "x: *f32; out: *i32; n: i32"));
}

/// Only the offset that moves is carried.
#[test]
fn block_pointers() {
    let text = "
        @triton.jit
        def kernel(x, out, M, N):
            block = tl.make_block_ptr(x, (M, N), (N, 1), (0, 0), (16, 32), (1, 0))
            total = tl.zeros((16, 32), dtype=tl.float32)
            for k in range(0, N, 32):
                total += tl.load(block, boundary_check=(1,), padding_option='zero')
                block = tl.advance(block, (0, 32))
            tl.store(out + tl.arange(0, 16), tl.sum(total, axis=1))
    ";
    expect![[r#"
        module L0
        func @kernel(%x: *f32, %out: *f32, %M: i32, %N: i32) {
          %0 = ext.s %N : i64 @1
          %1 = ext.s %N : i64 @1
          %2 = constant 1 : i64 @1
          %3 = constant 0 : i32 @1
          %4 = constant 0 : i32 @1
          %5 = constant 0.0 : f32[16, 32] @4
          %6 = constant 0 : i32 @7
          %7 = constant 32 : i32 @7
          %8, %9 = for %6, %N, %7, %5, %4 : f32[16, 32], i32 @7 {
          ^(%10: i32, %11: f32[16, 32], %12: i32):
            %13 = iota 0, 16 : i32[16] @9
            %14 = ext.s %13 : i64[16] @9
            %15 = ext.s %3 : i64 @9
            %16 = splat %15 : i64[16] @9
            %17 = add.i %16, %14 : i64[16] @9
            %18 = iota 0, 32 : i32[32] @9
            %19 = ext.s %18 : i64[32] @9
            %20 = ext.s %12 : i64 @9
            %21 = splat %20 : i64[32] @9
            %22 = add.i %21, %19 : i64[32] @9
            %23 = splat %x : *f32[16, 32] @9
            %24 = splat %1 : i64[16] @9
            %25 = mul.i %17, %24 : i64[16] @9
            %26 = expand_dims %25 axis=1 : i64[16, 1] @9
            %27 = broadcast %26 : i64[16, 32] @9
            %28 = addptr %23, %27 : *f32[16, 32] @9
            %29 = splat %0 : i64[32] @9
            %30 = constant 0 : i64[32] @9
            %31 = ge.s %22, %30 : i1[32] @9
            %32 = lt.s %22, %29 : i1[32] @9
            %33 = and %31, %32 : i1[32] @9
            %34 = expand_dims %33 axis=0 : i1[1, 32] @9
            %35 = broadcast %34 : i1[16, 32] @9
            %36 = splat %2 : i64[32] @9
            %37 = mul.i %22, %36 : i64[32] @9
            %38 = expand_dims %37 axis=0 : i64[1, 32] @9
            %39 = broadcast %38 : i64[16, 32] @9
            %40 = addptr %28, %39 : *f32[16, 32] @9
            %41 = constant 0.0 : f32[16, 32] @9
            %42 = load %40, %35, %41 : f32[16, 32] @9
            %43 = add.f %11, %42 : f32[16, 32] @8
            %44 = constant 32 : i32 @12
            %45 = add.i %12, %44 : i32 @12
            yield %43, %45 @7
          }
          %46 = iota 0, 16 : i32[16] @17
          %47 = splat %out : *f32[16] @19
          %48 = addptr %47, %46 : *f32[16] @19
          %49 = reduce %8 axis=1 : f32[16] @20 {
          ^(%50: f32, %51: f32):
            %52 = add.f %50, %51 : f32 @20
            yield %52 @20
          }
          store %48, %49 @15
          return @14
        }
    "#]]
    .assert_eq(&module(text, "x: *f32; out: *f32; M: i32; N: i32"));
}

#[test]
fn two_parameters_of_one_name_are_no_kernel() {
    let (db, file) = crate::tests::database(&super::source(
        "
        @triton.jit
        def kernel(x, n, n):
            tl.store(x, n)
    ",
    ));
    let result = crate::elaborate::elaborate(&db, super::instance(&db, file, "kernel", "x: *i32; n: i32; n: i32", "3.6"));
    assert!(!result.complete, "{}", tritium_tile::print(&result.module));
}
