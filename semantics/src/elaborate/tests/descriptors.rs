//! Tensor descriptors, products of batches, scaled products.

use expect_test::expect;

use super::{module, problems, problems_under, types};

const HEAD: &str = "
@triton.jit
def kernel(x, n):
    d = tl.make_tensor_descriptor(x, shape=[n, n], strides=[n, 1], block_shape=[16, 32])
";

fn with(body: &str) -> String {
    let body: Vec<String> = body.trim_matches('\n').lines().map(|l| format!("    {}", l.trim_start())).collect();
    format!("{HEAD}{}\n", body.join("\n"))
}

#[test]
fn what_a_descriptor_holds() {
    let body = "
        a = d
        b = d.load((0, n))
        c = d.shape
        e = d.strides
        f = d.block_shape
        g = d.dtype
        h: tl.constexpr = isinstance(d, tl.tensor_descriptor)
        i = tl.load_tensor_descriptor(d, [0, 0])
        j = d.block_shape[0]
    ";
    expect![[r#"
        x: *f32
        n: i32
        d: tensordesc<f32[16, 32]>
        a: tensordesc<f32[16, 32]>
        b: f32[16, 32]
        c: (i32, i32)
        e: (i64, i64)
        f: (i32, i32)
        g: constexpr[f32]
        h: constexpr[True]
        i: f32[16, 32]
        j: i32
    "#]]
    .assert_eq(&types(&with(body), "x: *f32; n: i32"));
}

#[test]
fn a_block_is_read_and_written() {
    let text = "
        @triton.jit
        def kernel(d, e, n):
            block = d.load([n, 0])
            e.store([0, n], block)
    ";
    expect![[r#"
        module L0
        func @kernel(%d_0: *f16 {div=16}, %d_1: i32, %d_2: i32, %d_3: i64 {div=8}, %e_0: *f32 {div=16}, %e_1: i32, %e_2: i32, %e_3: i64 {div=4}, %n: i32) {
          %0 = iota 0, 1 : i32[1] @1
          %1 = ext.s %0 : i64[1] @1
          %2 = ext.s %n : i64 @1
          %3 = splat %2 : i64[1] @1
          %4 = add.i %3, %1 : i64[1] @1
          %5 = constant 0 : i32 @1
          %6 = iota 0, 8 : i32[8] @1
          %7 = ext.s %6 : i64[8] @1
          %8 = ext.s %5 : i64 @1
          %9 = splat %8 : i64[8] @1
          %10 = add.i %9, %7 : i64[8] @1
          %11 = ext.s %d_1 : i64 @1
          %12 = ext.s %d_2 : i64 @1
          %13 = splat %d_0 : *f16[1, 8] @1
          %14 = splat %11 : i64[1] @1
          %15 = constant 0 : i64[1] @1
          %16 = ge.s %4, %15 : i1[1] @1
          %17 = lt.s %4, %14 : i1[1] @1
          %18 = and %16, %17 : i1[1] @1
          %19 = expand_dims %18 axis=1 : i1[1, 1] @1
          %20 = broadcast %19 : i1[1, 8] @1
          %21 = splat %d_3 : i64[1] @1
          %22 = mul.i %4, %21 : i64[1] @1
          %23 = expand_dims %22 axis=1 : i64[1, 1] @1
          %24 = broadcast %23 : i64[1, 8] @1
          %25 = addptr %13, %24 : *f16[1, 8] @1
          %26 = splat %12 : i64[8] @1
          %27 = constant 0 : i64[8] @1
          %28 = ge.s %10, %27 : i1[8] @1
          %29 = lt.s %10, %26 : i1[8] @1
          %30 = and %28, %29 : i1[8] @1
          %31 = expand_dims %30 axis=0 : i1[1, 8] @1
          %32 = and %20, %31 : i1[1, 8] @1
          %33 = constant 1 : i64[8] @1
          %34 = mul.i %10, %33 : i64[8] @1
          %35 = expand_dims %34 axis=0 : i64[1, 8] @1
          %36 = addptr %25, %35 : *f16[1, 8] @1
          %37 = constant 0.0 : f16[1, 8] @1
          %38 = load %36, %32, %37 descriptor=given : f16[1, 8] @1
          %39 = constant 0 : i32 @4
          %40 = iota 0, 1 : i32[1] @4
          %41 = ext.s %40 : i64[1] @4
          %42 = ext.s %39 : i64 @4
          %43 = splat %42 : i64[1] @4
          %44 = add.i %43, %41 : i64[1] @4
          %45 = iota 0, 8 : i32[8] @4
          %46 = ext.s %45 : i64[8] @4
          %47 = ext.s %n : i64 @4
          %48 = splat %47 : i64[8] @4
          %49 = add.i %48, %46 : i64[8] @4
          %50 = ext.s %e_1 : i64 @4
          %51 = ext.s %e_2 : i64 @4
          %52 = splat %e_0 : *f32[1, 8] @4
          %53 = splat %50 : i64[1] @4
          %54 = constant 0 : i64[1] @4
          %55 = ge.s %44, %54 : i1[1] @4
          %56 = lt.s %44, %53 : i1[1] @4
          %57 = and %55, %56 : i1[1] @4
          %58 = expand_dims %57 axis=1 : i1[1, 1] @4
          %59 = broadcast %58 : i1[1, 8] @4
          %60 = splat %e_3 : i64[1] @4
          %61 = mul.i %44, %60 : i64[1] @4
          %62 = expand_dims %61 axis=1 : i64[1, 1] @4
          %63 = broadcast %62 : i64[1, 8] @4
          %64 = addptr %52, %63 : *f32[1, 8] @4
          %65 = splat %51 : i64[8] @4
          %66 = constant 0 : i64[8] @4
          %67 = ge.s %49, %66 : i1[8] @4
          %68 = lt.s %49, %65 : i1[8] @4
          %69 = and %67, %68 : i1[8] @4
          %70 = expand_dims %69 axis=0 : i1[1, 8] @4
          %71 = and %59, %70 : i1[1, 8] @4
          %72 = constant 1 : i64[8] @4
          %73 = mul.i %49, %72 : i64[8] @4
          %74 = expand_dims %73 axis=0 : i64[1, 8] @4
          %75 = addptr %64, %74 : *f32[1, 8] @4
          %76 = float %38 : f32[1, 8] @4
          store %75, %76, %71 descriptor=given @4
          return @3
        }
    "#]].assert_eq(&module(text, "d: tensordesc<f16[1, 8]>; e: tensordesc<f32[1, 8], nan>; n: i32"));
}

#[test]
fn rows_and_atomics() {
    let text = "
        @triton.jit
        def kernel(x, i, n):
            d = tl.make_tensor_descriptor(x, [n, n], [n, 1], [1, 32])
            rows = d.gather(tl.load(i + tl.arange(0, 8)), n)
            d.scatter(rows + 1, tl.arange(0, 8), 0)
            e = tl.make_tensor_descriptor(x, [n], [1], [16], padding_option=\"nan\")
            e.atomic_add([n], tl.zeros((16,), tl.float32))
    ";
    expect![[r#"
        x: *f32
        i: *i32
        n: i32
        d: tensordesc<f32[1, 32]>
        rows: f32[8, 32]
        e: tensordesc<f32[16]>
    "#]]
    .assert_eq(&types(text, "x: *f32; i: *i32; n: i32"));
    expect![[r#""#]].assert_eq(&problems(text, "x: *f32; i: *i32; n: i32"));
}

#[test]
fn half_floats_in_memory_become_smaller_and_larger() {
    let text = with(
        "
        d.atomic_min([0, 0], tl.zeros((16, 32), tl.float16))
        d.atomic_max([0, 0], tl.zeros((16, 32), tl.float16))
    ",
    );
    let module = module(&text, "x: *f16; n: i32");
    let words = module.split_whitespace().filter(|word| word.starts_with("atomic."));
    assert_eq!(words.collect::<Vec<_>>(), ["atomic.min.f", "atomic.max.f"]);
}

#[test]
fn descriptors_pass_through_helpers_and_loops() {
    let text = "
        @triton.jit
        def read(d, i):
            return d.load([i * 16, 0])

        @triton.jit
        def make(x, n):
            return tl.make_tensor_descriptor(x, [n, n], [n, 1], [16, 32])

        @triton.jit
        def kernel(x, n):
            d = make(x, n)
            total = tl.zeros((16, 32), tl.float32)
            for i in range(0, n):
                total += read(d, i)
                if i > 2:
                    d = make(x, n)
            tl.store_tensor_descriptor(d, [0, 0], total)
    ";
    expect![[r#""#]].assert_eq(&problems(text, "x: *f32; n: i32"));
    expect![[r#"
        x: *f32
        n: i32
        x: *f32
        n: i32
        d: tensordesc<f32[16, 32]>
        total: f32[16, 32]
        i: i32
        d: tensordesc<f32[16, 32]>
        i: i32
        total: f32[16, 32]
        d: tensordesc<f32[16, 32]>
    "#]]
    .assert_eq(&types(text, "x: *f32; n: i32"));
}

#[test]
fn what_descriptors_refuse() {
    let mut out = String::new();
    for body in [
        "d.load([0])",
        "d.load([0, n.to(tl.int64)])",
        "d.load([0, 1.0])",
        "d.store([0, 0], tl.zeros((16, 16), tl.float32))",
        "d.store([0, 0], 0.0)",
        "d.atomic_max([0, 0], tl.zeros((16, 32), tl.float32))",
        "d.gather(tl.arange(0, 8), 0)",
        "d.missing()",
        "tl.make_tensor_descriptor(x, [n], [1], [2])",
        "tl.make_tensor_descriptor(x, [n], [2], [16])",
        "tl.make_tensor_descriptor(x, [n], [n], [16])",
        "tl.make_tensor_descriptor(x, [n, n], [1], [16])",
        "tl.make_tensor_descriptor(x, [n], [1], [12])",
        "tl.make_tensor_descriptor(x, [n, n], [18, 1], [4, 4])",
        "tl.make_tensor_descriptor(n, [n], [1], [16])",
        "tl.make_tensor_descriptor(x.to(tl.pointer_type(tl.int32)), [n], [1], [16], padding_option=\"nan\")",
        "tl._experimental_make_tensor_descriptor(x, [n], [1], [16])",
    ] {
        out.push_str(&problems(&with(body), "x: *f32; n: i32"));
    }
    expect![[r#"
        8: TMA005 at `[0]`: 1 offsets for a tensor descriptor of 2 axes ([16, 32]): give one for each
        8: TMA005 at `n.to(tl.int64)`: the offsets of a tensor descriptor are 32-bit, and `n.to(tl.int64)` is i64: cast it with `.to(tl.int32)`
            fix?: Cast to i32: `.to(tl.int32)` after `n.to(tl.int64)`
        8: TMA005 at `1.0`: `offsets` holds `1.0`, which is f32; integer scalars are needed
        8: TMA005 at `tl.zeros((16, 16), tl.float32)`: `tl.zeros((16, 16), tl.float32)` is f32[16, 16], and the block of the descriptor is [16, 32]: they must be equal
            7: `16`: the block's shape comes from here
        8: TMA005 at `0.0`: `0.0` is constexpr[0.0], and the block of the descriptor is [16, 32]: they must be equal
            7: `16`: the block's shape comes from here
        8: DTY013 at `d.atomic_max([0, 0], tl.zeros((16, 32), tl.float32))`: tl.tensor_descriptor.atomic_max does not work on f32: a descriptor's atomics take 32- and 64-bit integers, and some floats
        8: TMA005 at `d.gather(tl.arange(0, 8), 0)`: a gather takes a descriptor whose block is one row, [1, columns], and this block is [16, 32]
        8: LNG018 at `d.missing`: `d` is tensordesc<f32[16, 32]> and has no `missing`
        8: TMA001 at `[2]`: the last axis of a block is 2 elements of f32, 8 bytes, and a descriptor moves at least 16: use 4 or more
            8: `2`: 2 comes from here
        8: TMA002 at `2`: the last stride of a tensor descriptor is 1, and `2` is 2: its innermost axis must be contiguous
        8: TMA002 at `n`: the last stride of a tensor descriptor is 1 at compile time, and `n` is i32: write 1, if the rows are contiguous
        8: TMA005 at `tl.make_tensor_descriptor(x, [n, n], [1], [16])`: a tensor descriptor has 1 to 5 axes, and one extent, stride and block extent for each; these are 2, 1 and 1
        8: SHP002 at `12`: 12 is not a power of two: use 16 and mask what is beyond 12
            fix?: Use 16: `12` -> `16`
        8: TMA003 at `18`: the stride `18` is 18 elements of f32, 72 bytes, and a descriptor needs multiples of 16 bytes: pad the rows
        8: DTY002 at `n`: a tensor descriptor starts from a pointer, and `n` is i32
        8: TMA007 at `"nan"`: i32 has no NaN to pad with: leave `padding_option` out, and zeros are read outside the tensor
        8: VER001 at `tl._experimental_make_tensor_descriptor`: `tl._experimental_make_tensor_descriptor` is gone since Triton 3.4: use `tl.make_tensor_descriptor`
            fix?: Change to `tl.make_tensor_descriptor`: `tl._experimental_make_tensor_descriptor` -> `tl.make_tensor_descriptor`
    "#]].assert_eq(&out);
}

#[test]
fn batches_are_multiplied() {
    let text = "
        @triton.jit
        def kernel(x):
            a = tl.zeros((2, 4, 16), tl.float16)
            b = tl.zeros((2, 16, 8), tl.float16)
            c = tl.dot(a, b)
            d = tl.dot(a, b, input_precision=\"bf16x3\")
    ";
    expect![[r#"
        x: *f32
        a: f16[2, 4, 16]
        b: f16[2, 16, 8]
        c: f32[2, 4, 8]
        d: f32[2, 4, 8]
    "#]]
    .assert_eq(&types(text, "x: *f32"));
    let text = "
        @triton.jit
        def kernel(x):
            a = tl.zeros((2, 16, 16), tl.float16)
            b = tl.zeros((4, 16, 16), tl.float16)
            c = tl.dot(a, b)
    ";
    expect![[r#"
        9: DOT001 at `tl.dot(a, b)`: the batch sizes of a matrix product must be equal: `a` is [2, 16, 16] and `b` is [4, 16, 16]
    "#]]
    .assert_eq(&problems(text, "x: *f32"));
}

#[test]
fn accumulators_by_version() {
    let text = "
        @triton.jit
        def kernel(x):
            a = tl.zeros((16, 16), tl.float16)
            c = tl.dot(a, a, tl.zeros((16, 16), tl.float16))
    ";
    expect![[r#"
        8: DOT004 at `tl.zeros((16, 16), tl.float16)`: the accumulator `tl.zeros((16, 16), tl.float16)` is f16[16, 16], and the product is f32[16, 16]: start it as tl.float32, and cast the final sum
            8: `tl.zeros((16, 16), tl.float16)`: the accumulator is made here
    "#]].assert_eq(&problems_under(text, "x: *f32", "3.7"));
    expect![[r#""#]].assert_eq(&problems_under(text, "x: *f32", "3.8"));
}

#[test]
fn scaled_products() {
    let text = "
        @triton.jit
        def kernel(x):
            a = tl.zeros((32, 32), tl.uint8)
            b = tl.zeros((32, 32), tl.uint8)
            s = tl.zeros((32, 2), tl.uint8)
            c = tl.dot_scaled(a, s, \"e2m1\", b, s, \"e2m1\")
            e = tl.zeros((32, 64), tl.float8e4nv)
            f = tl.zeros((64, 32), tl.float16)
            g = tl.dot_scaled(e, s, \"e4m3\", f, None, \"fp16\", c)
            h = tl.dot_scaled(e, None, \"e4m3\", tl.zeros((64, 16), tl.uint8), s, \"e2m1\", rhs_k_pack=False)
    ";
    expect![[r#""#]].assert_eq(&problems(text, "x: *f32"));
    expect![[r#"
        x: *f32
        a: u8[32, 32]
        b: u8[32, 32]
        s: u8[32, 2]
        c: f32[32, 32]
        e: f8e4m3[32, 64]
        f: f16[64, 32]
        g: f32[32, 32]
        h: f32[32, 32]
    "#]]
    .assert_eq(&types(text, "x: *f32"));
}

#[test]
fn what_scaled_products_refuse() {
    let head = "
@triton.jit
def kernel(x):
    a = tl.zeros((32, 64), tl.float8e5)
    b = tl.zeros((64, 32), tl.float8e5)
    s = tl.zeros((32, 2), tl.uint8)
";
    let mut out = String::new();
    for body in [
        "tl.dot_scaled(a, tl.zeros((32, 4), tl.uint8), \"e5m2\", b, s, \"e5m2\")",
        "tl.dot_scaled(a, s, \"e4m3\", b, s, \"e5m2\")",
        "tl.dot_scaled(a, s, \"e8m0\", b, s, \"e5m2\")",
        "tl.dot_scaled(a, s, \"e5m2\", b, s, \"e5m2\", out_dtype=tl.float16)",
        "tl.dot_scaled(a, s, \"e5m2\", a, s, \"e5m2\")",
        "tl.dot_scaled(a, s, \"e5m2\", b, s, \"e5m2\", lhs_k_pack=False)",
        "tl.dot_scaled(a, s, \"e5m2\", b, s, \"e5m2\", tl.zeros((32, 16), tl.float32))",
        "tl.dot_scaled(a, s, \"e5m2\", b, tl.zeros((32, 2), tl.int32), \"e5m2\")",
    ] {
        out.push_str(&problems(&format!("{head}    {body}\n"), "x: *f32"));
    }
    expect![[r#"
        10: DOT009 at `tl.zeros((32, 4), tl.uint8)`: `tl.zeros((32, 4), tl.uint8)` (`lhs_scale`) is u8[32, 4], and must be [32, 2]: one scale for every 32 of the 64 inner elements
        10: DOT009 at `a`: `a` is f8e5m2[32, 64], and elements of format "e4m3" are held in f8e4m3 or u8
        10: DOT009 at `"e8m0"`: `lhs_format` is "e2m1", "e4m3", "e5m2", "bf16" or "fp16" (e8m0 is the format of scales), not "e8m0"
        10: DOT009 at `tl.float16`: tl.dot_scaled accumulates in f32, not in f16
        10: DOT009 at `tl.dot_scaled(a, s, "e5m2", a, s, "e5m2")`: `a` is f8e5m2[32, 64] and `a` is f8e5m2[32, 64]: their inner sizes are 64 and 32 elements, and must be equal
        10: DOT009 at `False`: `lhs_k_pack=False` is for "e2m1" only, which is packed two to a byte
        10: DOT009 at `tl.zeros((32, 16), tl.float32)`: the accumulator `tl.zeros((32, 16), tl.float32)` is f32[32, 16], and the product is f32[32, 32]
        10: DOT009 at `tl.zeros((32, 2), tl.int32)`: `tl.zeros((32, 2), tl.int32)` is i32[32, 2], and scales are u8 (an exponent, e8m0) or f8e4m3
    "#]].assert_eq(&out);
}
