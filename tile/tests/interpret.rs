//! What operations mean, shown by running small programs.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use expect_test::{Expect, expect};
use tritium_tile::{
    Arg, Fault, FunctionId, Interpreter, Limits, Memory, Module,
    interpret::{Data, FaultKind},
    parse, verify,
};

fn module(text: &str) -> Module {
    let module = parse(text).unwrap_or_else(|e| panic!("{e}"));
    let problems: Vec<String> = verify(&module).iter().map(|p| p.to_string()).collect();
    assert_eq!(problems, Vec::<String>::new());
    module
}

fn run(module: &Module, args: &[Arg], programs: u32, memory: &Memory) -> Result<(), Fault> {
    let interpreter = Interpreter::new(module);
    for x in 0..programs {
        interpreter.run(FunctionId(0), args, [x, 0, 0], [programs, 1, 1], memory, &Limits::default())?;
    }
    Ok(())
}

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_ne_bytes()).collect()
}

fn as_f32(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_ne_bytes(b.try_into().unwrap())).collect()
}

/// Checks the results of a body of scalars and small tiles that returns them.
fn results(results: &str, body: &str, expected: Expect) {
    expected.assert_eq(&computed(results, body));
}

fn computed(results: &str, body: &str) -> String {
    let module = module(&format!("module L0\nfunc @f() -> {results} {{\n{body}\n}}"));
    let memory = Memory::new();
    let found = Interpreter::new(&module).run(FunctionId(0), &[], [5, 6, 7], [8, 9, 10], &memory, &Limits::default());
    found.unwrap().iter().map(|d| format!("{d:?}\n")).collect()
}

const ADD: &str = "module L0
func @add(%x: *f32, %y: *f32, %n: i32) {
  %pid = program_id x : i32
  %size = constant 16 : i32
  %start = mul.i %pid, %size : i32
  %i = iota 0, 16 : i32[16]
  %s = splat %start : i32[16]
  %o = add.i %s, %i : i32[16]
  %ns = splat %n : i32[16]
  %m = lt.s %o, %ns : i1[16]
  %xs = splat %x : *f32[16]
  %xp = addptr %xs, %o : *f32[16]
  %ys = splat %y : *f32[16]
  %yp = addptr %ys, %o : *f32[16]
  %a = load %xp, %m : f32[16]
  %b = load %yp, %m : f32[16] @41
  %c = add.f %a, %b : f32[16]
  store %yp, %c, %m @42
  return
}";

#[test]
fn vectors_add_under_a_mask() {
    let module = module(ADD);
    let mut memory = Memory::new();
    let x: Vec<f32> = (0..100).map(|i| i as f32).collect();
    let (px, py) = (memory.allocate_from("x", &f32s(&x)), memory.allocate_from("y", &f32s(&x)));
    run(&module, &[Arg::Pointer(px), Arg::Pointer(py), Arg::Int(100)], 7, &memory).unwrap();
    assert_eq!(as_f32(&memory.bytes(py)), x.iter().map(|x| 2.0 * x).collect::<Vec<_>>());
}

#[test]
fn an_access_out_of_bounds_is_a_fault_with_a_place() {
    let module = module(ADD);
    let mut memory = Memory::new();
    let (x, y) = (memory.allocate("x", 4 * 100), memory.allocate("y", 4 * 60));
    let fault = run(&module, &[Arg::Pointer(x), Arg::Pointer(y), Arg::Int(100)], 7, &memory).unwrap_err();
    assert_eq!((fault.kind, fault.origin.0), (FaultKind::OutOfBounds, 41));
    expect!["program (3, 0, 0): load of f32 at element 60 of `y`, which has 60 (tile element 12)"].assert_eq(&fault.to_string());

    let fault = run(&module, &[Arg::Pointer(x), Arg::Pointer(y - 4), Arg::Int(60)], 1, &memory).unwrap_err();
    expect!["program (0, 0, 0): load of f32 at element -1 of `y`, which has 60 (tile element 0)"].assert_eq(&fault.to_string());
    let fault = run(&module, &[Arg::Pointer(x), Arg::Pointer(y + 2), Arg::Int(60)], 1, &memory).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Misaligned);
    let fault = run(&module, &[Arg::Pointer(0), Arg::Pointer(y), Arg::Int(60)], 1, &memory).unwrap_err();
    expect!["program (0, 0, 0): load of f32 at address 0x0, where nothing is allocated (tile element 0)"]
        .assert_eq(&fault.to_string());
}

#[test]
fn arguments_must_fit() {
    let module = module(ADD);
    let fault = run(&module, &[Arg::Int(1)], 1, &Memory::new()).unwrap_err();
    expect!["program (0, 0, 0): `add` has 3 parameters, 1 values were given"].assert_eq(&fault.to_string());
    let fault = run(&module, &[Arg::Pointer(0), Arg::Pointer(0), Arg::Float(1.0)], 1, &Memory::new()).unwrap_err();
    expect!["program (0, 0, 0): `n` is i32, not Float(1.0)"].assert_eq(&fault.to_string());
}

#[test]
fn a_row_is_normalised_by_softmax() {
    let module = module(
        "module L0
func @softmax(%y: *f32, %x: *f32, %n: i32) {
  %pid = program_id x : i32
  %row = mul.i %pid, %n : i32
  %i = iota 0, 128 : i32[128]
  %ns = splat %n : i32[128]
  %m = lt.s %i, %ns : i1[128]
  %xr = addptr %x, %row : *f32
  %xs = splat %xr : *f32[128]
  %xp = addptr %xs, %i : *f32[128]
  %low = constant -inf : f32[128]
  %v = load %xp, %m, %low : f32[128]
  %max = reduce %v axis=0 : f32 {
  ^(%a: f32, %b: f32):
    %c = max.f %a, %b : f32
    yield %c
  }
  %maxs = splat %max : f32[128]
  %d = sub.f %v, %maxs : f32[128]
  %e = exp %d : f32[128]
  %sum = reduce %e axis=0 : f32 {
  ^(%p: f32, %q: f32):
    %r = add.f %p, %q : f32
    yield %r
  }
  %sums = splat %sum : f32[128]
  %o = div.f %e, %sums : f32[128]
  %yr = addptr %y, %row : *f32
  %ys = splat %yr : *f32[128]
  %yp = addptr %ys, %i : *f32[128]
  store %yp, %o, %m
  return
}",
    );
    let (rows, n) = (4, 100);
    let x: Vec<f32> = (0..rows * n).map(|i| ((i * 37 % 101) as f32 - 50.0) / 10.0).collect();
    let mut memory = Memory::new();
    let (py, px) = (memory.allocate("y", 4 * rows * n), memory.allocate_from("x", &f32s(&x)));
    run(&module, &[Arg::Pointer(py), Arg::Pointer(px), Arg::Int(n as i64)], rows as u32, &memory).unwrap();
    for (row, found) in x.chunks(n).zip(as_f32(&memory.bytes(py)).chunks(n)) {
        let max = row.iter().fold(f64::MIN, |m, &x| m.max(f64::from(x)));
        let sum: f64 = row.iter().map(|&x| (f64::from(x) - max).exp()).sum();
        for (&x, &y) in row.iter().zip(found) {
            let distance = f64::from(x) - max;
            let expected = distance.exp() / sum;
            // Rounding the distance to f32 shifts the exponential by as much, relatively.
            let bound = (4.0 - distance) * f64::from(f32::EPSILON) * expected;
            assert!((f64::from(y) - expected).abs() <= bound, "{y} {expected}");
        }
    }
}

const MATMUL: &str = "module L0
func @matmul(%a: *f16, %b: *f16, %c: *f32, %k: i32) {
  %row = iota 0, 64 : i32[64]
  %inner = iota 0, 16 : i32[16]
  %rows = expand_dims %row axis=1 : i32[64, 1]
  %ks = splat %k : i32[64, 1]
  %rowk = mul.i %rows, %ks : i32[64, 1]
  %rowk2 = broadcast %rowk : i32[64, 16]
  %in1 = expand_dims %inner axis=0 : i32[1, 16]
  %in2 = broadcast %in1 : i32[64, 16]
  %ao = add.i %rowk2, %in2 : i32[64, 16]
  %as = splat %a : *f16[64, 16]
  %ap = addptr %as, %ao : *f16[64, 16]
  %in3 = expand_dims %inner axis=1 : i32[16, 1]
  %n1 = constant 64 : i32[16, 1]
  %bk = mul.i %in3, %n1 : i32[16, 1]
  %bk2 = broadcast %bk : i32[16, 64]
  %col = expand_dims %row axis=0 : i32[1, 64]
  %col2 = broadcast %col : i32[16, 64]
  %bo = add.i %bk2, %col2 : i32[16, 64]
  %bs = splat %b : *f16[16, 64]
  %bp = addptr %bs, %bo : *f16[16, 64]
  %zero = constant 0.0 : f32[64, 64]
  %lower = constant 0 : i32
  %step = constant 16 : i32
  %astep = constant 16 : i32[64, 16]
  %bstep = constant 1024 : i32[16, 64]
  %acc, %x, %y = for %lower, %k, %step, %zero, %ap, %bp num_stages=3 : f32[64, 64], *f16[64, 16], *f16[16, 64] {
  ^(%iv: i32, %acc0: f32[64, 64], %ap0: *f16[64, 16], %bp0: *f16[16, 64]):
    %at = load %ap0 : f16[64, 16]
    %bt = load %bp0 : f16[16, 64]
    %acc1 = dot %at, %bt, %acc0 : f32[64, 64]
    %ap1 = addptr %ap0, %astep : *f16[64, 16]
    %bp1 = addptr %bp0, %bstep : *f16[16, 64]
    yield %acc1, %ap1, %bp1
  }
  %rn = constant 64 : i32[64, 1]
  %crow = mul.i %rows, %rn : i32[64, 1]
  %crow2 = broadcast %crow : i32[64, 64]
  %ccol = broadcast %col : i32[64, 64]
  %co = add.i %crow2, %ccol : i32[64, 64]
  %cs = splat %c : *f32[64, 64]
  %cp = addptr %cs, %co : *f32[64, 64]
  store %cp, %acc
  return
}";

#[test]
fn matrices_multiply_in_a_loop() {
    let module = module(MATMUL);
    let n = 64;
    let value = |i: usize| half::f16::from_f32(((i * 31 % 17) as f32 - 8.0) / 4.0);
    let bytes = |seed: usize| (0..n * n).flat_map(|i| value(i + seed).to_bits().to_ne_bytes()).collect::<Vec<u8>>();
    let mut memory = Memory::new();
    let (a, b) = (memory.allocate_from("a", &bytes(0)), memory.allocate_from("b", &bytes(3)));
    let c = memory.allocate("c", 4 * n * n);
    let args = [Arg::Pointer(a), Arg::Pointer(b), Arg::Pointer(c), Arg::Int(n as i64)];
    run(&module, &args, 1, &memory).unwrap();
    let found = as_f32(&memory.bytes(c));
    for i in 0..n {
        for j in 0..n {
            let sum: f64 = (0..n).map(|k| value(i * n + k).to_f64() * value(k * n + j + 3).to_f64()).sum();
            // Sums of few small multiples of 1/16: exact.
            assert_eq!(f64::from(found[i * n + j]), sum);
        }
    }
}

#[test]
fn control_flow_carries_values() {
    // 27 needs 111 steps to reach 1.
    results(
        "i32, i32",
        "%one = constant 1 : i32
         %two = constant 2 : i32
         %three = constant 3 : i32
         %zero = constant 0 : i32
         %start = constant 27 : i32
         %n, %steps = while %start, %zero : i32, i32 {
         ^(%x: i32, %s: i32):
           %more = ne %x, %one : i1
           condition %more, %x, %s
         } do {
         ^(%x1: i32, %s1: i32):
           %bit = and %x1, %one : i32
           %odd = eq %bit, %one : i1
           %next = if %odd : i32 {
             %t = mul.i %x1, %three : i32
             %u = add.i %t, %one : i32
             yield %u
           } else {
             %h = div.s %x1, %two : i32
             yield %h
           }
           %s2 = add.i %s1, %one : i32
           yield %next, %s2
         }
         return %n, %steps",
        expect![[r#"
            I32([1])
            I32([111])
        "#]],
    );
}

#[test]
fn loops_run_as_often_as_they_should() {
    for (lower, upper, step, trips) in [(0, 10, 3, 4), (0, 9, 3, 3), (5, 5, 1, 0), (9, 2, 1, 0), (-4, 4, 4, 2)] {
        let found = computed(
            "i32",
            &format!(
                "%l = constant {lower} : i32\n%u = constant {upper} : i32\n%s = constant {step} : i32\n\
                 %z = constant 0 : i32\n%one = constant 1 : i32\n%n = for %l, %u, %s, %z : i32 {{\n\
                 ^(%i: i32, %c: i32):\n%d = add.i %c, %one : i32\nyield %d\n}}\nreturn %n"
            ),
        );
        assert_eq!(found, format!("I32([{trips}])\n"));
    }
}

#[test]
fn a_reduction_may_have_two_results() {
    results(
        "f32, i32",
        "%i = iota 0, 8 : i32[8]
         %k = constant 5 : i32[8]
         %p = mul.i %i, %k : i32[8]
         %seven = constant 7 : i32[8]
         %m = rem.s %p, %seven : i32[8]
         %f = s_to_f %m : f32[8]
         %max, %at = reduce %f, %i axis=0 : f32, i32 {
         ^(%a: f32, %ia: i32, %b: f32, %ib: i32):
           %g = ge.f %a, %b : i1
           %v = select %g, %a, %b : f32
           %w = select %g, %ia, %ib : i32
           yield %v, %w
         }
         return %max, %at",
        expect![[r#"
            F32([6.0])
            I32([4])
        "#]],
    );
}

#[test]
fn reductions_and_scans_keep_the_order_along_any_axis() {
    // `a * 10 + b` would not be associative; taking the left or the right operand is, and shows the order.
    let body = |region: &str, op: &str| {
        format!(
            "%i = iota 0, 8 : i32[8]\n%t = reshape %i : i32[2, 4]\n%r = {op} {{\n^(%a: i32, %b: i32):\n{region}\n}}\nreturn %r"
        )
    };
    let sum = "%c = add.i %a, %b : i32\nyield %c";
    // The same sum through a branch runs lane by lane.
    let branch = "%t1 = eq %a, %b : i1\n%c = if %t1 : i32 {\n%d = add.i %a, %a : i32\nyield %d\n} else {\n\
                  %e = add.i %a, %b : i32\nyield %e\n}\nyield %c";
    for region in [sum, branch] {
        results("i32[4]", &body(region, "reduce %t axis=0 : i32[4]"), expect!["I32([4, 6, 8, 10])\n"]);
        results("i32[2]", &body(region, "reduce %t axis=1 : i32[2]"), expect!["I32([6, 22])\n"]);
        results("i32[2, 4]", &body(region, "scan %t axis=1 : i32[2, 4]"), expect!["I32([0, 1, 3, 6, 4, 9, 15, 22])\n"]);
        results("i32[2, 4]", &body(region, "scan %t axis=1 reverse : i32[2, 4]"), expect!["I32([6, 6, 5, 3, 22, 18, 13, 7])\n"]);
        results("i32[2, 4]", &body(region, "scan %t axis=0 : i32[2, 4]"), expect!["I32([0, 1, 2, 3, 4, 6, 8, 10])\n"]);
    }
    results("i32[2]", &body("yield %a", "reduce %t axis=1 : i32[2]"), expect!["I32([0, 4])\n"]);
    results("i32[2]", &body("yield %b", "reduce %t axis=1 : i32[2]"), expect!["I32([3, 7])\n"]);
}

#[test]
fn integers_wrap_shift_and_divide_without_traps() {
    results(
        "i32, i32, i32, i32, i32, i32, i8, i1, i32, i32",
        "%min = constant -2147483648 : i32
         %m1 = constant -1 : i32
         %zero = constant 0 : i32
         %wide = constant 40 : i32
         %0 = div.s %min, %m1 : i32
         %1 = div.s %min, %zero : i32
         %2 = rem.s %min, %zero : i32
         %3 = shl %m1, %wide : i32
         %4 = shr.s %m1, %wide : i32
         %5 = shr.u %m1, %wide : i32
         %6 = trunc %wide : i8
         %7 = lt.u %zero, %m1 : i1
         %8 = ext.u %7 : i32
         %9 = ext.s %7 : i32
         return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9",
        expect![[r#"
            I32([-2147483648])
            I32([-1])
            I32([-2147483648])
            I32([0])
            I32([-1])
            I32([0])
            I8([40])
            I1([true])
            I32([1])
            I32([-1])
        "#]],
    );
}

#[test]
fn floats_round_to_their_type() {
    results(
        "f16, f16, bf16, f8e4m3, f8e5m2, f32, i32, i32, f32, f32, f16, i16",
        "%x = constant 0.1 : f32
         %big = constant 1.0e6 : f32
         %nan = constant nan : f32
         %0 = float %x : f16
         %1 = float %big : f16
         %2 = float %x : bf16
         %3 = float %big : f8e4m3
         %4 = float %x : f8e5m2
         %5 = min.f %nan, %x : f32
         %6 = f_to_s %nan : i32
         %huge = constant 1.0e30 : f32
         %7 = f_to_s %huge : i32
         %8 = max.nan %x, %nan : f32
         %9 = fma %x, %x, %x : f32
         %10 = float.rtz %big : f16
         %11 = bitcast %0 : i16
         return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11",
        expect![[r#"
            F32([0.099975586])
            F32([inf])
            F32([0.100097656])
            F32([448.0])
            F32([0.09375])
            F32([0.1])
            I32([0])
            I32([2147483647])
            F32([NaN])
            F32([0.11])
            F32([65504.0])
            I16([11878])
        "#]],
    );
}

#[test]
fn shapes_move_elements() {
    results(
        "i32[4, 2], i32[2, 4], i32, i32",
        "%i = iota 0, 8 : i32[8]
         %t = reshape %i : i32[2, 4]
         %u = transpose %t order=[1, 0] : i32[4, 2]
         %j = iota 0, 2 : i32[2]
         %c = expand_dims %j axis=1 : i32[2, 1]
         %b = broadcast %c : i32[2, 4]
         %y = program_id y : i32
         %z = num_programs z : i32
         return %u, %b, %y, %z",
        expect![[r#"
            I32([0, 4, 1, 5, 2, 6, 3, 7])
            I32([0, 0, 0, 0, 1, 1, 1, 1])
            I32([6])
            I32([10])
        "#]],
    );
}

#[test]
fn masked_elements_are_other_or_poison() {
    let module = module(
        "module L0
func @f(%x: *i32) -> i32[4], i32[4], i1[4] {
  %i = iota 0, 4 : i32[4]
  %two = constant 2 : i32[4]
  %m = lt.s %i, %two : i1[4]
  %xs = splat %x : *i32[4]
  %p = addptr %xs, %i : *i32[4]
  %a = load %p, %m, %two : i32[4]
  %b = load %p, %m : i32[4]
  %poison = constant 2779096485 : i32[4]
  %same = eq %b, %poison : i1[4]
  return %a, %b, %same
}",
    );
    let mut memory = Memory::new();
    let x = memory.allocate("x", 8);
    let found = Interpreter::new(&module).run(FunctionId(0), &[Arg::Pointer(x)], [0; 3], [1; 3], &memory, &Limits::default());
    let found = found.unwrap();
    assert_eq!(found[0], Data::I32(vec![0, 0, 2, 2]));
    assert_eq!(found[2], Data::I1(vec![false, false, true, true]));
}

#[test]
fn atomics_are_atomic_between_threads() {
    let module = module(
        "module L0
func @count(%n: *i32, %s: *f32, %m: *i64) {
  %one = constant 1 : i32
  %old = atomic.add %n, %one sem=relaxed : i32
  %i = iota 0, 4 : i32[4]
  %ss = splat %s : *f32[4]
  %half = constant 0.5 : f32[4]
  %o = atomic.add.f %ss, %half : f32[4]
  %pid = program_id x : i32
  %wide = ext.s %pid : i64
  %p = atomic.max.s %m, %wide : i64
  return
}",
    );
    let interpreter = Interpreter::new(&module);
    let mut memory = Memory::new();
    let (n, s, m) = (memory.allocate("n", 4), memory.allocate("s", 4), memory.allocate("m", 8));
    let next = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let pid = next.fetch_add(1, Ordering::Relaxed);
                    if pid >= 1000 {
                        break;
                    }
                    let args = [Arg::Pointer(n), Arg::Pointer(s), Arg::Pointer(m)];
                    interpreter.run(FunctionId(0), &args, [pid, 0, 0], [1000, 1, 1], &memory, &Limits::default()).unwrap();
                }
            });
        }
    });
    assert_eq!(memory.bytes(n), 1000i32.to_ne_bytes());
    assert_eq!(memory.bytes(s), 2000f32.to_ne_bytes());
    assert_eq!(memory.bytes(m), 999i64.to_ne_bytes());
}

#[test]
fn an_assertion_stops_the_program() {
    let module = module(
        "module L0\nfunc @f(%n: i32) {\n%i = iota 0, 4 : i32[4]\n%ns = splat %n : i32[4]\n%c = lt.s %i, %ns : i1[4]\n\
         assert \"n is too small\", %c @9\nreturn\n}",
    );
    let memory = Memory::new();
    assert_eq!(run(&module, &[Arg::Int(4)], 1, &memory), Ok(()));
    let fault = run(&module, &[Arg::Int(3)], 1, &memory).unwrap_err();
    assert_eq!((fault.kind, fault.origin.0), (FaultKind::Assert, 9));
    expect!["program (0, 0, 0): assertion failed at tile element 3: n is too small"].assert_eq(&fault.to_string());
}

#[test]
fn a_run_ends_at_its_limits() {
    let module = module("module L0\nfunc @f() {\n%t = constant 1 : i1\nwhile {\ncondition %t\n} do {\nyield\n}\nreturn\n}");
    let memory = Memory::new();
    let stop = AtomicBool::new(true);
    let run =
        |limits: Limits| Interpreter::new(&module).run(FunctionId(0), &[], [0; 3], [1; 3], &memory, &limits).unwrap_err().kind;
    assert_eq!(run(Limits { elements: 10_000, ..Limits::default() }), FaultKind::Limit);
    assert_eq!(run(Limits { cancel: Some(&stop), ..Limits::default() }), FaultKind::Cancelled);
    assert_eq!(run(Limits { bytes: 0, ..Limits::default() }), FaultKind::Limit);
}

#[test]
fn layouts_do_not_change_what_is_computed() {
    let module = module(include_str!("text/layouts.tile"));
    let mut memory = Memory::new();
    let x: Vec<f32> = (0..256).map(|i| i as f32).collect();
    let p = memory.allocate_from("x", &f32s(&x));
    run(&module, &[Arg::Pointer(p)], 1, &memory).unwrap();
    assert_eq!(as_f32(&memory.bytes(p)), x);
}

#[test]
fn functions_call_functions() {
    let module = module(
        "module L0\nfunc @f() -> i32, i32 {\n%i = iota 0, 8 : i32[8]\n%s = reduce %i axis=0 : i32 {\n^(%a: i32, %b: i32):\n\
         %c = call @plus, %a, %b : i32\nyield %c\n}\n%x = constant 20 : i32\n%y = call @plus, %x, %x : i32\nreturn %s, %y\n}\n\
         func @plus(%a: i32, %b: i32) -> i32 {\n%zero = constant 0 : i32\n%c = add.i %a, %b : i32\n%d = add.i %c, %zero : i32\nreturn %d\n}",
    );
    let found = Interpreter::new(&module).run(FunctionId(0), &[], [0; 3], [1; 3], &Memory::new(), &Limits::default());
    assert_eq!(found.unwrap(), vec![Data::I32(vec![28]), Data::I32(vec![40])]);
}

proptest::proptest! {
    /// Whatever verifies runs or faults, within its limits.
    #[test]
    fn what_verifies_runs_without_panic(
        layouts in proptest::prelude::any::<bool>(),
        edits in proptest::collection::vec(
            (proptest::prelude::any::<proptest::sample::Index>(), proptest::prelude::any::<proptest::sample::Index>()),
            1..4,
        ),
        n in -3i64..40,
    ) {
        let text = if layouts { include_str!("text/layouts.tile") } else { include_str!("text/forms.tile") };
        // Words move to other places: most results still parse, some still verify.
        let mut words: Vec<&str> = text.split_inclusive([' ', '\n']).collect();
        for (at, from) in edits {
            let (at, from) = (at.index(words.len()), from.index(words.len()));
            words[at] = words[from];
        }
        let Ok(module) = parse(&words.concat()) else { return Ok(()) };
        if !verify(&module).is_empty() {
            return Ok(());
        }
        let mut memory = Memory::new();
        let x = memory.allocate("x", 4 * 256);
        let args: Vec<Arg> = module.entry().params.iter().map(|p| match module.entry().ty(p.value).elem() {
            tritium_tile::Elem::Ptr(_) => Arg::Pointer(x),
            tritium_tile::Elem::Scalar(s) if s.is_float() => Arg::Float(1.0),
            tritium_tile::Elem::Scalar(_) => Arg::Int(n),
        }).collect();
        let limits = Limits { elements: 1 << 20, ..Limits::default() };
        let _ = Interpreter::new(&module).run(FunctionId(0), &args, [1, 0, 0], [2, 1, 1], &memory, &limits);
    }
}
