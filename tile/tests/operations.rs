//! Gather, histogram, map, atomic compare-and-swap, library functions, inline assembly and printing: read, verified, printed, run.

use expect_test::{Expect, expect};
use tritium_tile::{Arg, FunctionId, Interpreter, Limits, Memory, Module, interpret::FaultKind, parse, print, verify};

fn module(text: &str) -> Module {
    let module = parse(text).unwrap_or_else(|e| panic!("{e}"));
    let problems: Vec<String> = verify(&module).iter().map(|p| p.to_string()).collect();
    assert_eq!(problems, Vec::<String>::new());
    let printed = print(&module);
    assert_eq!(print(&parse(&printed).unwrap_or_else(|e| panic!("{e}\n{printed}"))), printed);
    module
}

fn results(results: &str, body: &str, expected: Expect) {
    let module = module(&format!("module L0\nfunc @f() -> {results} {{\n{body}\n}}"));
    let memory = Memory::new();
    let found = Interpreter::new(&module).run(FunctionId(0), &[], [1, 0, 0], [2, 1, 1], &memory, &Limits::default());
    let mut text: String = found.unwrap().iter().map(|d| format!("{d:?}\n")).collect();
    memory.printed().iter().for_each(|line| text.push_str(&format!("{line}\n")));
    expected.assert_eq(&text);
}

#[test]
fn gather_takes_elements_by_index() {
    results(
        "i32[4], i32[2, 2]",
        "  %i = iota 0, 4 : i32[4]
  %ten = constant 10 : i32[4]
  %x = mul.i %i, %ten : i32[4]
  %three = constant 3 : i32[4]
  %back = sub.i %three, %i : i32[4]
  %a = gather %x, %back axis=0 : i32[4]
  %m = reshape %x : i32[2, 2]
  %one = constant 1 : i32[2, 2]
  %b = gather %m, %one axis=1 : i32[2, 2]
  return %a, %b",
        expect![[r#"
            I32([30, 20, 10, 0])
            I32([10, 10, 30, 30])
        "#]],
    );
}

#[test]
fn a_histogram_counts_active_elements() {
    results(
        "i32[4], i32[4]",
        "  %i = iota 0, 8 : i32[8]
  %half = constant 2 : i32[8]
  %x = div.s %i, %half : i32[8]
  %m = lt.s %x, %half : i1[8]
  %a = histogram %i : i32[4]
  %b = histogram %x, %m : i32[4]
  return %a, %b",
        expect![[r#"
            I32([1, 1, 1, 1])
            I32([2, 2, 0, 0])
        "#]],
    );
}

#[test]
fn a_map_runs_its_region_on_every_group() {
    results(
        "i32[4], i32[4], i32[4]",
        "  %i = iota 0, 4 : i32[4]
  %swapped = map %i pack=2 : i32[4] {
  ^(%a: i32, %b: i32):
    yield %b, %a
  }
  %two = constant 2 : i32[4]
  %least, %doubled = map %i, %two : i32[4], i32[4] {
  ^(%x: i32, %y: i32):
    %less = lt.s %x, %y : i1
    %l = if %less : i32 {
      yield %x
    } else {
      yield %y
    }
    %zero = constant 0 : i32
    %one = constant 1 : i32
    %s = for %zero, %y, %one, %zero : i32 {
    ^(%k: i32, %c: i32):
      %n = add.i %c, %x : i32
      yield %n
    }
    yield %l, %s
  }
  return %swapped, %least, %doubled",
        expect![[r#"
            I32([1, 0, 3, 2])
            I32([0, 1, 2, 2])
            I32([0, 2, 4, 6])
        "#]],
    );
}

#[test]
fn the_high_half_of_a_product_is_unsigned() {
    results(
        "i32, i64",
        "  %a = constant -1 : i32
  %b = constant 2 : i32
  %h = mulhi.u %a, %b : i32
  %c = constant -1 : i64
  %w = mulhi.u %c, %c : i64
  return %h, %w",
        expect![[r#"
            I32([1])
            I64([-2])
        "#]],
    );
}

#[test]
fn library_functions_are_called_by_symbol() {
    results(
        "f32[2], i32",
        "  %x = constant 0.5 : f32[2]
  %y = constant 2.0 : f32[2]
  %p = libdevice \"__nv_powf\", %x, %y : f32[2]
  %n = constant 12 : i32
  %c = libdevice \"__nv_popc\", %n : i32
  return %p, %c",
        expect![[r#"
            F32([0.25, 0.25])
            I32([2])
        "#]],
    );
}

#[test]
fn printing_names_program_and_element() {
    results(
        "i32",
        "  %i = iota 254, 256 : i32[2]
  %b = trunc %i : i8[2]
  %x = constant 1.5 : f32
  %sm = special_register smid : i32
  print \" plain\"
  print \" x: \", %b, %x signed=1
  print \" h: \", %b hex
  return %sm",
        expect![[r#"
            I32([0])
            pid (1, 0, 0) plain
            pid (1, 0, 0) idx (0) x: (operand 0) -2
            pid (1, 0, 0) idx (1) x: (operand 0) -1
            pid (1, 0, 0) idx () x: (operand 1) 1.500000
            pid (1, 0, 0) idx (0) h: 0xfe
            pid (1, 0, 0) idx (1) h: 0xff
        "#]],
    );
}

#[test]
fn compare_and_swap_stores_where_it_expects_the_old_value() {
    let module = module(
        "module L0
func @f(%p: *i32) {
  %i = iota 0, 4 : i32[4]
  %s = splat %p : *i32[4]
  %q = addptr %s, %i : *i32[4]
  %zero = constant 0 : i32[4]
  %seven = constant 7 : i32[4]
  %old = atomic.cas %q, %zero, %seven sem=relaxed scope=sys : i32[4]
  %t = atomic.cas %q, %old, %old : i32[4]
  return
}",
    );
    let mut memory = Memory::new();
    let p = memory.allocate_from("p", &[0, 3, 0, 7].map(i32::to_ne_bytes).concat());
    let run = Interpreter::new(&module).run(FunctionId(0), &[Arg::Pointer(p)], [0; 3], [1; 3], &memory, &Limits::default());
    assert_eq!(run.map(|r| r.len()), Ok(0));
    assert_eq!(memory.bytes(p), [7, 3, 7, 7].map(i32::to_ne_bytes).concat());
}

#[test]
fn inline_assembly_is_for_the_gpu() {
    let module = module(
        "module L0
func @f() -> i32[4] {
  %x = iota 0, 4 : i32[4]
  %y, %z = inline_asm \"mov.b32 $0, $1;\\nnop;\", \"=r,=r,r\", %x pack=2 impure : i32[4], i32[4]
  %t = special_register globaltimer : i64
  return %y
}",
    );
    let fault = Interpreter::new(&module).run(FunctionId(0), &[], [0; 3], [1; 3], &Memory::new(), &Limits::default());
    assert_eq!(fault.map_err(|f| f.kind), Err(FaultKind::Unsupported));
}

#[test]
fn what_does_not_fit_does_not_verify() {
    let problem = |body: &str| {
        let module = parse(&format!("module L0\nfunc @f() {{\n  %i = iota 0, 4 : i32[4]\n{body}\n  return\n}}")).unwrap();
        verify(&module).iter().map(|p| p.to_string()).collect::<Vec<_>>().join("\n")
    };
    for body in [
        "  %r = gather %i, %i axis=1 : i32[4]",
        "  %r = histogram %i : f32[4]",
        "  %r = libdevice \"__nv_tanf\", %i : i32[4]",
        "  %r = map %i pack=3 : i32[4] {\n  ^(%a: i32):\n    yield %a\n  }",
        "  %r = map %i : i32[4] {\n  ^(%a: i32):\n    %t = splat %a : i32[2]\n    yield %a\n  }",
    ] {
        assert!(!problem(body).is_empty(), "{body}");
    }
}
