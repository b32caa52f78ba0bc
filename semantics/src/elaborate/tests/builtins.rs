//! Functions of the language, run: kernels in, memory out. The numbers come from the reference implementation's own interpreter, from
//! closed forms, or from another library.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use tritium_tile::{Arg, Elem, FunctionId, Interpreter, Limits, Memory, Scalar, interpret::Data};

use super::{problems, problems_under, source, types, types_under};
use crate::{elaborate::elaborate, tests::database};

/// Runs `kernel` as program (1, 0, 0) of (2, 1, 1). Pointer parameters get memory filled with `given` (zeros where nothing is), of 16
/// elements; scalars are 7. What each pointer named `o…` holds afterwards is listed, then what was printed.
fn run(text: &str, args: &str, given: &[(&str, &[f64])]) -> String {
    let text = source(text);
    let (db, file) = database(&text);
    let result = elaborate(&db, super::instance(&db, file, "kernel", args, "3.6"));
    let problems = super::render(&db, file, result);
    let wrong = result.problems.iter().any(|p| p.severity() == crate::diagnostics::Severity::Error);
    assert!(result.complete && !wrong, "{problems}\n{}", tritium_tile::print(&result.module));
    super::check_module(result, &tritium_tile::print(&result.module));
    let function = result.module.entry();
    let mut memory = Memory::new();
    let mut buffers: BTreeMap<String, (u64, Scalar)> = BTreeMap::new();
    let mut arguments = Vec::new();
    for param in &function.params {
        match function.ty(param.value).elem() {
            Elem::Ptr(scalar) => {
                let values = given.iter().find(|(name, _)| *name == param.name).map_or(&[][..], |(_, v)| v);
                let mut bytes = vec![0u8; 16 * scalar.bytes() as usize];
                for (slot, &value) in bytes.chunks_exact_mut(scalar.bytes() as usize).zip(values) {
                    let bits = match scalar {
                        Scalar::F32 => u64::from((value as f32).to_bits()),
                        Scalar::F64 => value.to_bits(),
                        _ => value as i64 as u64,
                    };
                    slot.copy_from_slice(&bits.to_le_bytes()[..scalar.bytes() as usize]);
                }
                let address = memory.allocate_from(&param.name, &bytes);
                buffers.insert(param.name.clone(), (address, scalar));
                arguments.push(Arg::Pointer(address));
            }
            Elem::Scalar(scalar) if scalar.is_float() => arguments.push(Arg::Float(7.0)),
            Elem::Scalar(_) => arguments.push(Arg::Int(7)),
        }
    }
    let interpreter = Interpreter::new(&result.module);
    let ran = interpreter.run(FunctionId(0), &arguments, [1, 0, 0], [2, 1, 1], &memory, &Limits::default());
    ran.unwrap_or_else(|fault| panic!("{fault}"));
    let mut out = String::new();
    for (name, (address, scalar)) in &buffers {
        if name.starts_with('o') {
            let bytes = memory.bytes(*address);
            let words = bytes.chunks_exact(scalar.bytes() as usize).map(|chunk| {
                let mut word = [0u8; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                u64::from_le_bytes(word)
            });
            let text = match scalar {
                Scalar::F32 => words.map(|w| format!("{:?}", f32::from_bits(w as u32))).collect::<Vec<_>>(),
                Scalar::F64 => words.map(|w| format!("{:?}", f64::from_bits(w))).collect(),
                Scalar::I32 => words.map(|w| (w as i32).to_string()).collect(),
                _ => words.map(|w| (w as i64).to_string()).collect(),
            };
            let kept = text.iter().rposition(|t| t != "0" && t != "0.0").map_or(0, |last| last + 1);
            out.push_str(&format!("{name}: {}\n", text[..kept].join(" ")));
        }
    }
    memory.printed().iter().for_each(|line| out.push_str(&format!("{line}\n")));
    out
}

fn ran(text: &str, args: &str, given: &[(&str, &[f64])], expected: Expect) {
    expected.assert_eq(&run(text, args, given));
}

/// The bits of the reference implementation, for a seed of 32 bits and one of 64.
#[test]
fn random_numbers_are_the_same_bits_everywhere() {
    let found = run(
        "
        @triton.jit
        def kernel(o1, o2, o3):
            i = tl.arange(0, 8)
            tl.store(o1 + i, tl.rand(1234, i * 1000 + 7).to(tl.int32, bitcast=True))
            tl.store(o2 + i, tl.randint(1234, i * 1000 + 7))
            tl.store(o3 + i, tl.rand((5 << 40) + 99, i * 1000 + 7).to(tl.int32, bitcast=True))
    ",
        "o1: *i32; o2: *i32; o3: *i32",
        &[],
    );
    let line = |words: [u32; 8]| words.map(|w| (w as i32).to_string()).join(" ");
    let small = [0x3f19e3ba, 0x3df57c68, 0x3f3d7fe5, 0x3f6ffa3f, 0x3cc8753f, 0x3f0b8477, 0x3d026e68, 0x3f781092];
    let words = [3004048045, 257410701, 1589637901, 2013077532, 52548862, 1170357253, 68383562, 2214049372];
    let large = [0x3e601e65, 0x3cdef2c9, 0x3e8a1d3d, 0x3f2c7a81, 0x3f43e6ed, 0x3f0b0ce4, 0x3e2ddb24, 0x3de5ed56];
    assert_eq!(found, format!("o1: {}\no2: {}\no3: {}\n", line(small), line(words), line(large)));
}

#[test]
fn philox_counts_in_64_bits_too() {
    let words = [
        0x91a7_fdec_1a28_a6d2u64,
        0xfe9a_e2c3_419d_74f6,
        0x0ee0_ee93_6f12_6875,
        0x6d36_1abd_bfcd_d1cc,
        0x8ef1_3854_378a_ee57,
        0x3033_3c92_a8fe_04c1,
        0xe707_5e8f_8497_2367,
        0x5814_4378_5624_734f,
    ];
    let expected: Vec<String> = words.iter().map(|w| (*w as i64).to_string()).collect();
    let found = run(
        "
        @triton.jit
        def kernel(o):
            j = tl.arange(0, 4)
            i = j.to(tl.uint64)
            zero = i * 0
            a, b, c, d = tl.philox(77, i, zero, zero, zero, 7)
            tl.store(o + j, a)
            tl.store(o + 4 + j, d)
    ",
        "o: *i64",
        &[],
    );
    assert_eq!(found, format!("o: {}\n", expected.join(" ")));
}

#[test]
fn normal_numbers_come_in_pairs() {
    // The reference: 0.66674799 1.41568947 -0.42844060 -0.07978179.
    ran(
        "
        @triton.jit
        def kernel(o, o2):
            i = tl.arange(0, 4)
            tl.store(o + i, tl.floor(tl.randn(1234, i * 1000 + 7) * 100000.0 + 0.5))
            a, b, c, d = tl.randn4x(1234, i * 1000 + 7)
            tl.store(o2 + i, tl.floor(a * 100000.0 + 0.5))
    ",
        "o: *f32; o2: *f32",
        &[],
        expect![[r#"
            o: 66675.0 141569.0 -42844.0 -7978.0
            o2: 66675.0 141569.0 -42844.0 -7978.0
        "#]],
    );
    expect![[r#"
        o: *f32
        seed: i32
        i: i32[4]
        a: u32[4]
        b: f32[4]
        c: f32[4]
        d: f32[4]
        e: f32[4]
        p: i64[4]
        q: u32[4]
        7: DTY017 at `1.5`: a seed is an integer, and `1.5` is f32
    "#]]
    .assert_eq(&types(
        "
        @triton.jit
        def kernel(o, seed):
            tl.rand(1.5, tl.arange(0, 4))
            i = tl.arange(0, 4)
            a = tl.randint(seed, i)
            b = tl.rand(seed, i)
            c, d = tl.pair_uniform_to_normal(b, b)
            e = tl.uint_to_uniform_float(a)
            p = i.to(tl.int64)
            q = tl.randint(seed, p)
    ",
        "o: *f32; seed: i32",
    ));
}

#[test]
fn sorting_is_along_the_last_axis() {
    let x = [3., -1., 7., 0., 12., 5., 5., -8., 2., 9., 1., 1., 4., -3., 6., 8.];
    ran(
        "
        @triton.jit
        def kernel(x, o1, o2, o3, o4, o5):
            i = tl.arange(0, 16)
            v = tl.load(x + i)
            tl.store(o1 + i, tl.sort(v))
            tl.store(o2 + tl.arange(0, 4), tl.topk(v, 4))
            m = v.reshape(2, 8)
            at = tl.arange(0, 2)[:, None] * 8 + tl.arange(0, 8)[None, :]
            tl.store(o3 + at, tl.flip(tl.sort(m, descending=True), 0))
            tl.store(o4 + tl.arange(0, 2), tl.topk(m.to(tl.float16), 1).reshape(2))
            halves = tl.where(i < 8, tl.sort(v), tl.flip(tl.sort(v), 0))
            tl.store(o5 + i, tl.bitonic_merge(halves, descending=True))
    ",
        "x: *i32; o1: *i32; o2: *i32; o3: *i32; o4: *f32; o5: *i32",
        &[("x", &x)],
        expect![[r#"
            o1: -8 -3 -1 0 1 1 2 3 4 5 5 6 7 8 9 12
            o2: 12 9 8 7
            o3: 9 8 6 4 2 1 1 -3 12 7 5 5 3 0 -1 -8
            o4: 12.0 9.0
            o5: 3 3 2 2 1 1 1 1 0 0 -1 -1 -3 -3 -8 -8
        "#]],
    );
    expect![[r#"
        x: *f16
        v: f16[16]
        a: f16[16]
        b: f32[4]
        c: f16[16]
        d: i1[16]
    "#]]
    .assert_eq(&types(
        "
        @triton.jit
        def kernel(x):
            v = tl.load(x + tl.arange(0, 16))
            a = tl.sort(v)
            b = tl.topk(v, 5)
            c = tl.topk(v, 16)
            d = tl.sort(v > 0)
    ",
        "x: *f16",
    ));
}

#[test]
fn elements_choose_places() {
    ran(
        "
        @triton.jit
        def kernel(x, o1, o2, o3, o4):
            i = tl.arange(0, 16)
            v = tl.load(x + i)
            tl.store(o1 + i, v.gather(15 - i, 0))
            m = v.reshape(4, 4)
            j = tl.arange(0, 4)
            g = tl.gather(m, (j[:, None] * 0 + (j[None, :] + 1) % 4).to(tl.int64), axis=-1)
            tl.store(o2 + j[:, None] * 4 + j[None, :], g)
            tl.store(o3 + tl.arange(0, 8), tl.histogram(i // 3, 8))
            tl.store(o4 + tl.arange(0, 8), tl.histogram(i // 3, 8, mask=i < 4))
    ",
        "x: *i32; o1: *i32; o2: *i32; o3: *i32; o4: *i32",
        &[("x", &[0., 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., 12., 13., 14., 15.])],
        expect![[r#"
            o1: 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1
            o2: 1 2 3 0 5 6 7 4 9 10 11 8 13 14 15 12
            o3: 3 3 3 3 3 1
            o4: 3 1
        "#]],
    );
}

#[test]
fn tiles_are_put_together() {
    ran(
        "
        @triton.jit
        def kernel(o1, o2, o3):
            i = tl.arange(0, 4)
            tl.store(o1 + tl.arange(0, 8), tl.interleave(i, i + 10))
            tl.store(o2 + tl.arange(0, 8), tl.cat(i, i + 10, can_reorder=True))
            a, b = tl.swizzle2d(i // 2, i % 2, 2, 2, 2)
            tl.store(o3 + i, a * 10 + b)
    ",
        "o1: *i32; o2: *i32; o3: *i32",
        &[],
        expect![[r#"
            o1: 0 10 1 11 2 12 3 13
            o2: 0 1 2 3 10 11 12 13
            o3: 0 10 1 11
        "#]],
    );
    expect![[r#"
        i: i32[4, 2]
        a: i32[8, 2]
        b: i32[4, 4]
        c: i32[4, 4]
        d: constexpr[(i32, u8)]
        e: unknown
        12: SHP006 at `tl.squeeze(b, 0)`: axis 0 of `b` (i32[4, 4]) has 4 elements, and only an axis of 1 is dropped
            7: `4`: the extent comes from here
    "#]]
    .assert_eq(&types_under(
        "
        @triton.jit
        def kernel():
            i = tl.arange(0, 8).reshape(4, 2)
            a = tl.cat(i, i)
            b = tl.cat(i, i, dim=1)
            c = tl.squeeze(tl.unsqueeze(b, -1), 2)
            d: tl.constexpr = (tl.core.get_int_dtype(32, True), tl.core.get_int_dtype(bitwidth=8, signed=False))
            e = tl.squeeze(b, 0)
    ",
        "",
        "3.7",
    ));
}

#[test]
fn floats_meet_in_memory_by_their_order() {
    ran(
        "
        @triton.jit
        def kernel(o1, o2, o3, o4):
            i = tl.arange(0, 4)
            tl.store(o3 + i, tl.atomic_max(o1 + i, 2.0 - i))
            tl.store(o4 + i, tl.atomic_min(o2 + i, 2.0 - i, mask=i > 0), mask=i > 0)
    ",
        "o1: *f32; o2: *f64; o3: *f32; o4: *f64",
        &[("o1", &[-1.5, 3.0, -0.5, -2.5]), ("o2", &[-1.5, 3.0, -0.5, -0.25])],
        expect![[r#"
            o1: 2.0 3.0 0.0 -1.0
            o2: -1.5 1.0 -0.5 -1.0
            o3: -1.5 3.0 -0.5 -2.5
            o4: 0.0 3.0 -0.5 -0.25
        "#]],
    );
}

#[test]
fn a_lock_is_taken_by_comparing_and_swapping() {
    ran(
        "
        @triton.jit
        def kernel(o1, o2):
            while tl.atomic_cas(o1, 0, 1) == 1:
                pass
            i = tl.arange(0, 4)
            old = tl.atomic_cas(o2 + i, i, i + 10, sem='acquire', scope='sys')
            tl.store(o2 + 4 + i, old)
            tl.atomic_xchg(o1, 5, sem='release')
    ",
        "o1: *i32; o2: *i32",
        &[("o2", &[0., 2., 2., 4.])],
        expect![[r#"
            o1: 5
            o2: 10 2 12 4 0 2 2 4
        "#]],
    );
}

#[test]
fn scalar_functions_are_mapped() {
    ran(
        "
        @triton.jit
        def collatz(n):
            steps = 0
            while n > 1:
                if n % 2 == 0:
                    n = n // 2
                else:
                    n = 3 * n + 1
                steps += 1
            return steps

        @triton.jit
        def both(a, b, c, d):
            return a + b, a - b, c, d

        @triton.jit
        def kernel(o1, o2, o3):
            i = tl.arange(0, 8)
            tl.store(o1 + i, tl.map_elementwise(collatz, i + 1))
            x, y = tl.map_elementwise(both, i, i * 10, pack=2)
            tl.store(o2 + i, x)
            tl.store(o3 + i, y)
    ",
        "o1: *i32; o2: *i32; o3: *i32",
        &[],
        expect![[r#"
            o1: 0 1 7 2 5 8 16 3
            o2: 1 -1 5 -1 9 -1 13 -1
            o3: 0 10 20 30 40 50 60 70
        "#]],
    );
}

#[test]
fn values_are_printed_as_triton_prints_them() {
    ran(
        "
        @triton.jit
        def kernel(n):
            tl.device_print('pid', tl.program_id(0))
            print('n: ', n, tl.arange(0, 2).to(tl.uint8))
            tl.device_print('here')
            tl.device_print('bits ', n, hex=True)
            tl.device_assert(n == 8, 'not asked', mask=n > 7)
    ",
        "n: i32",
        &[],
        expect![[r#"
            pid (1, 0, 0) idx () pid: 1
            pid (1, 0, 0) idx () n: (operand 0) 7
            pid (1, 0, 0) idx (0) n: (operand 1) 0
            pid (1, 0, 0) idx (1) n: (operand 1) 1
            pid (1, 0, 0) here
            pid (1, 0, 0) idx () bits: 0x00000007
        "#]],
    );
}

#[test]
fn library_functions_have_their_own_types() {
    ran(
        "
        @triton.jit
        def kernel(o1, o2):
            i = tl.arange(0, 4)
            x = i.to(tl.float32)
            tl.store(o1 + i, tl.extra.libdevice.pow(x, 2))
            tl.store(o1 + 4 + i, tl.extra.cuda.libdevice.rint(x * 0.5))
            tl.store(o2 + i, tl.extra.libdevice.popc(i))
            tl.store(o2 + 4 + i, tl.umulhi(i << 30, 4))
    ",
        "o1: *f32; o2: *i32",
        &[],
        expect![[r#"
            o1: 0.0 1.0 4.0 9.0 0.0 0.0 1.0 2.0
            o2: 0 1 1 2 0 1 2 3
        "#]],
    );
    expect![[r#"
        p: *f16
        d: f64
        a: f32[4]
        b: f64
        c: i64[4]
        d: i1[4]
        e: f32[4]
        9: DTY005 at `tl.extra.libdevice.tan(h)`: libdevice.tan takes (f32) or (f64), and `h` is f16: cast with `.to(tl.float32)`
            fix?: Cast to float32: `.to(tl.float32)` after `h`
        10: DTY017 at `tl.extra.libdevice.tan(i)`: libdevice.tan takes (f32) or (f64), and `i` is i32; nothing is converted for a library function
        11: LNG011 at `tl.extra.libdevice.tan(1.0, 2.0)`: libdevice.tan takes 1 argument: `(f32) -> f32, (f64) -> f64`
        12: LNG010 at `tl.extra.libdevice.tann`: `tl.extra.libdevice.tann` does not exist: triton.language has no `tann`
    "#]]
    .assert_eq(
        &types(
            "
        @triton.jit
        def kernel(p, d):
            i = tl.arange(0, 4)
            h = tl.load(p + i)
            tl.extra.libdevice.tan(h)
            tl.extra.libdevice.tan(i)
            tl.extra.libdevice.tan(1.0, 2.0)
            tl.extra.libdevice.tann(1.0)
            a = tl.extra.libdevice.atan2(h.to(tl.float32), 1.0)
            b = tl.extra.libdevice.sqrt_rn(d)
            c = tl.extra.libdevice.llrint(a)
            d = tl.extra.libdevice.isnan(a)
            e = tl.extra.libdevice.mul_rn(arg0=a, arg1=a)
    ",
            "p: *f16; d: f64",
        )
        .lines()
        .filter(|l| !l.starts_with("i: ") && !l.starts_with("h: "))
        .map(|l| format!("{l}\n"))
        .collect::<String>(),
    );
}

#[test]
fn the_target_is_known_at_compile_time() {
    expect![[r#"
        a: constexpr[True]
        b: constexpr[True]
        c: constexpr[False]
        t: i64
        s: i32
    "#]]
    .assert_eq(&types(
        "
        @triton.jit
        def kernel():
            a: tl.constexpr = tl.target_info.is_cuda()
            b: tl.constexpr = tl.target_info.cuda_capability_geq(8, 9)
            c: tl.constexpr = tl.target_info.cuda_capability_geq(10)
            t = tl.extra.cuda.globaltimer()
            s = tl.extra.cuda.smid()
    ",
        "",
    ));
}

#[test]
fn assembly_takes_and_gives_tiles() {
    expect![[r#"
        n: i32
        i: i32[64]
        y: f32[64]
        a: i8[4, 64]
        b: f16[4, 64]
        s: i32
        11: LNG011 at `i`: `args` is a list of tiles, `[i]`, not i32[64]
        12: CXP001 at `n`: `pack` must be known at compile time, and `n` is a run-time value: annotate it `n: tl.constexpr`
            6: `n`: the parameter `n`
            fix?: Annotate `n` as tl.constexpr: `: tl.constexpr` after `n`
    "#]]
    .assert_eq(&types(
        "
        @triton.jit
        def kernel(n):
            i = tl.arange(0, 64)
            y = tl.inline_asm_elementwise('cvt.rn.f32.s32 $0, $1;', '=f,r', [i], dtype=tl.float32, is_pure=True, pack=1)
            a, b = tl.inline_asm_elementwise('nop;', '=r,=r,r,r', [i, tl.arange(0, 4)[:, None]], (tl.int8, tl.float16), False, 4)
            s = tl.inline_asm_elementwise('mov.u32 $0, %laneid;', '=r', [], dtype=tl.int32, is_pure=False, pack=1)
            tl.inline_asm_elementwise('', '=r,r', i, dtype=tl.int32, is_pure=True, pack=1)
            tl.inline_asm_elementwise('', '=r,r', [i], dtype=tl.int32, is_pure=True, pack=n)
    ",
        "n: i32",
    ));
}

#[test]
fn mistakes_are_named() {
    expect![[r#"
        10: DTY013 at `b`: `b` points to bf16, and tl.atomic_max does not work on bf16 in memory: use a 32-bit buffer
        11: DTY013 at `h`: tl.atomic_cas works on 16, 32 and 64 bits in memory, and `h` points to i8, which has 8 bits
        12: DTY017 at `1.0`: `1.0` is f32 and the memory holds i32: tl.atomic_cas converts nothing; cast it with `.to(tl.int32)`
        13: SHP001 at `0`: `0` is i32 and the pointer is *i32[4]: tl.atomic_cas does not broadcast, so both need one shape (`tl.full`)
        14: SHP005 at `0`: tl.sort works along the last axis, 1 of i32[4, 4], not 0
        15: LNG011 at `tl.flip(i)`: tl.flip needs its axis: its default, None, is not understood by Triton; write `dim=…`
        16: DTY017 at `f`: an index is an integer, and `f` is f32[4]: cast it with `.to(tl.int32)`
        17: SHP005 at `tl.gather(m, i, 0)`: `m` (i32[4, 4]) and its index `i` (i32[4]) must have as many axes: tl.gather takes one index for each element of its result
        18: DTY017 at `f`: tl.histogram counts integers, and `f` is f32[4]
        19: SHP002 at `3`: 3 is not a power of two: use 4 and mask what is beyond 3
            fix?: Use 4: `3` -> `4`
        20: LNG011 at `tl.cat(i, i)`: tl.cat keeps no order before Triton 3.7 and wants that said, `can_reorder=True`; in order: `tl.join(i, i).permute(1, 0).reshape(…)`
        21: LNG011 at `i`: tl.device_print begins with a string, and `i` is i32[4]: write `"…", i`
        22: DTY017 at `f`: tl.umulhi takes integers of 32 or 64 bits, and `f` is f32[4]
        23: SHP001 at `m`: the value `m` has shape [4, 4] and the pointer `x + i` has shape [4]: it must broadcast to the pointer's shape
            7: `tl.arange(0, 4)`: the shape of the value comes from here
            7: `tl.arange(0, 4)`: the shape of the pointer comes from here
        24: DTY017 at `tl.fma(i, i, 2)`: tl.fma takes floats, and these are i32: write `x * y + z`
        25: LNG003 at `tl.maximum`: tl.maximum is built in, and a `@triton.jit` function is needed here: define one that returns tl.maximum of its parameters
        26: LNG011 at `tl.static_assert(cond=True)`: tl.static_assert takes its arguments by position: `tl.static_assert(condition, "message")`
        27: MSK003 at `tl.load(x + i, mask=i < 3)`: masked-off elements of this load are undefined, and tl.topk takes them in: give the load `other=-2147483648`
            27: `tl.topk(tl.load(x + i, mask=i < 3), 2)`: tl.topk takes them in here
            fix?: Add `other=-2147483648`: `, other=-2147483648` after `i < 3`
        28: LNG011 at `3`: the tile has 4 elements, which are no groups of 3
        29: CXP001 at `g`: `g` is bound to a function, which exists at compile time only: annotate it `g: tl.constexpr`
            fix?: Annotate `g` as tl.constexpr: `: tl.constexpr` after `g`
    "#]]
    .assert_eq(
        &problems(
            "
        @triton.jit
        def kernel(x, b, h):
            i = tl.arange(0, 4)
            f = i.to(tl.float32)
            m = i[:, None] + i[None, :]
            tl.atomic_max(b, 1.0)
            tl.atomic_cas(h, 0, 1)
            tl.atomic_cas(x, 1.0, 1)
            tl.atomic_cas(x + i, 0, i)
            tl.sort(m, 0)
            tl.flip(i)
            tl.gather(i, f, 0)
            tl.gather(m, i, 0)
            tl.histogram(f, 4)
            tl.histogram(i, 3)
            tl.cat(i, i)
            tl.device_print(i)
            tl.umulhi(i, f)
            tl.atomic_add(x + i, m)
            tl.fma(i, i, 2)
            tl.reduce(i, 0, tl.maximum)
            tl.static_assert(cond=True)
            tl.topk(tl.load(x + i, mask=i < 3), 2)
            tl.map_elementwise(three, i, pack=3)
            g = tl.extra.libdevice.tanh

        @triton.jit
        def three(a, b, c):
            return a, b, c
    ",
            "x: *i32; b: *bf16; h: *i8",
        ),
    );
    assert_eq!(problems_under("@triton.jit\ndef kernel():\n    tl.cat(tl.arange(0, 4), tl.arange(0, 4))", "", "3.7"), "");
}

/// `Data` is what the interpreter hands back; a kernel hands back nothing.
#[test]
fn a_kernel_returns_nothing() {
    let text = source("@triton.jit\ndef kernel(n):\n    return tl.rand(n, tl.arange(0, 4))");
    let (db, file) = database(&text);
    let result = elaborate(&db, super::instance(&db, file, "kernel", "n: i32", "3.6"));
    let interpreter = Interpreter::new(&result.module);
    let given: Result<Vec<Data>, _> =
        interpreter.run(FunctionId(0), &[Arg::Int(1)], [0; 3], [1; 3], &Memory::new(), &Limits::default());
    assert_eq!(given.map(|values| values.len()), Ok(0));
}

/// Types that no NVIDIA GPU has are compared with, not computed in.
#[test]
fn foreign_floats_are_names() {
    expect![[r#"
        a: constexpr[False]
        b: constexpr[True]
        c: constexpr[True]
        d: constexpr[(True, False)]
        11: DTY016 at `tl.float8e4b8`: `tl.float8e4b8` is a type of AMD GPUs; NVIDIA GPUs have `tl.float8e4nv` and `tl.float8e5`
        12: LIM002 at `tl.float8e4b15`: tiles of `tl.float8e4b15` are part of Triton, but Tritium does not know them yet: what depends on them is not checked
    "#]]
    .assert_eq(
        &types(
            "
        @triton.jit
        def kernel(x):
            a: tl.constexpr = x.dtype.element_ty == tl.float8e4b8
            b: tl.constexpr = tl.float8e4b8.is_fp8() and not x.dtype.element_ty.is_fp8e4b15()
            c: tl.constexpr = tl.float8e4b15 != tl.float8e5b16
            d: tl.constexpr = (hasattr(x, 'dtype'), hasattr(x, 'nothing'))
            tl.load(x).to(tl.float8e4b8)
            tl.load(x).to(tl.float8e4b15)
    ",
            "x: *f32",
        )
        .lines()
        .filter(|l| !l.starts_with("x: "))
        .map(|l| format!("{l}\n"))
        .collect::<String>(),
    );
    assert_eq!(
        problems("@triton.jit\ndef kernel(x):\n    tl.atomic_add(x, 1, mask=True)", "x: *i32"),
        "7: DTY011 at `True`: before Triton 3.8 the mask of tl.atomic_add is a run-time i1, not True: leave it out, or compare values\n"
    );
}
