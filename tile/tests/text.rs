//! The text form and the verifier: what is printed is read back, what is wrong is named.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use tritium_tile::{Builder, Function, Level, Module, Scalar, Shape, Type, ops::*, parse, print, rewrite, verify};

const FORMS: &str = include_str!("text/forms.tile");
const LAYOUTS: &str = include_str!("text/layouts.tile");
const ASYNCHRONOUS: &str = include_str!("text/asynchronous.tile");
const BLOCKS: &str = include_str!("text/blocks.tile");

#[test]
fn every_form_is_printed_as_it_is_read() {
    for text in [FORMS, LAYOUTS, ASYNCHRONOUS, BLOCKS] {
        let module = parse(text).unwrap();
        assert_eq!(print(&module), text);
        assert_eq!(verify(&module), vec![]);
    }
    let module = parse(LAYOUTS).unwrap();
    assert_eq!(parse(&print(&module)).unwrap(), module);
}

#[test]
fn names_spaces_and_comments_do_not_matter() {
    let text =
        "module L0 // a comment\n\n\nfunc @f(%x:i32)->i32{\n%two=constant 2:i32\n  %y = mul.i %x , %two : i32\n return %y\n}";
    expect![[r#"
        module L0
        func @f(%x: i32) -> i32 {
          %0 = constant 2 : i32
          %1 = mul.i %x, %0 : i32
          return %1
        }
    "#]]
    .assert_eq(&print(&parse(text).unwrap()));
}

fn refused(text: &str, expected: Expect) {
    expected.assert_eq(&parse(text).unwrap_err().to_string());
}

#[test]
fn mistakes_in_the_text_have_a_place() {
    refused("", expect!["1:1: expected `module` and a level, found the end of the text"]);
    refused("module L7", expect!["1:8: expected a level: L0, L1 or L2, found `L7`"]);
    refused("module L0\nfunc @f(%x: f31) {", expect!["2:13: expected a type, found `f31`"]);
    refused("module L0\nfunc @f() {\n  %0 = add.i %a, %a : i32", expect!["3:14: `%a` is not defined above"]);
    refused("module L0\nfunc @f() {\n  frobnicate\n}", expect!["3:3: `frobnicate` is not an operation"]);
    refused("module L0\nfunc @f() {\n  %0 = constant 1\n}", expect!["3:18: expected `:`, found the end of the line"]);
    refused("module L0\nfunc @f() {\n  %0 = constant 1x : i32\n}", expect!["3:17: expected a number, found `1x`"]);
    refused("module L0\nfunc @f() {\n  return\n", expect!["4:1: expected `}`, found the end of the text"]);
    refused("module L0\nfunc @f(%x: i32[4, #l0]) {\n", expect!["2:20: expected a layout that is defined above, found `#l0`"]);
    refused("module L0\nfunc @f() {\n  barrier axis=3\n}", expect!["3:11: `axis` is not an attribute here"]);
    refused("module L0\nfunc @f() {\n  call @g\n}", expect!["3:8: no function is named `@g`"]);
    refused("module L0\nfunc @f() {\n  assert \"x\n}", expect!["3:10: this text has no closing `\"` on its line"]);
    refused(
        &format!("module L0\nfunc @f(%c: i1) {{\n{}", "if %c {\n".repeat(1000)),
        expect!["68:1: regions nest deeper than 64"],
    );
}

fn problems(body: &str, expected: Expect) {
    let module = parse(&format!("module L0\nfunc @f(%x: *f32, %n: i32, %c: i1) {{\n{body}\n}}")).unwrap();
    let found: Vec<String> = verify(&module).iter().map(|p| format!("{p}\n")).collect();
    expected.assert_eq(&found.concat());
}

#[test]
fn broken_rules_are_named() {
    problems("return", expect![""]);
    problems(
        "%0 = constant 1 : i32",
        expect![[r#"
        function 0, op 0: a block ends in a terminator
    "#]],
    );
    problems(
        "%0 = iota 0, 12 : i32[12]\nreturn",
        expect![[r#"
        function 0: `i32[12]`: at most 8 extents, each a power of two
    "#]],
    );
    problems(
        "%0 = iota 0, 2097152 : i32[2097152]\nreturn",
        expect![[r#"
        function 0: `i32[2097152]` has 2097152 elements; the most is 1048576
    "#]],
    );
    problems(
        "%0 = add.f %n, %n : i32\nreturn",
        expect![[r#"
        function 0, op 0: `add.f` takes floats
    "#]],
    );
    problems(
        "%0 = iota 0, 8 : i32[8]\n%1 = add.i %0, %n : i32[8]\nreturn",
        expect![[r#"
        function 0, op 1: `i32[8]` and `i32` differ in shape
    "#]],
    );
    problems(
        "%0 = load %n : i32\nreturn",
        expect![[r#"
        function 0, op 0: `load` of i32 through i32
    "#]],
    );
    problems(
        "%0 = load %x, %n : f32\nreturn",
        expect![[r#"
        function 0, op 0: the mask of `load` is i1
    "#]],
    );
    problems(
        "if %c {\nyield\n}\nreturn",
        expect![[r#"
        function 0, op 0: `if` has 2 regions
    "#]],
    );
    problems(
        "%0 = if %c : i32 {\nyield %n\n} else {\nyield %c\n}\nreturn",
        expect![[r#"
        function 0, op 0: the region ends in `yield` of (i32)
    "#]],
    );
    problems(
        "if %c {\n%0 = constant 1 : i32\nyield\n} else {\n%1 = add.i %0, %0 : i32\nyield\n}\nreturn",
        expect![[r#"
        function 0, op 3: value 3 is used where it is not defined
        function 0, op 3: value 3 is used where it is not defined
    "#]],
    );
    problems(
        "%0 = ext.s %n : i16\nreturn",
        expect![[r#"
        function 0, op 0: `ext.s` takes an integer to a wider one, not i32 to i16
    "#]],
    );
    problems(
        "%0 = constant 0 : i32[16]\n%1 = convert_layout %0 : i32[16]\nreturn",
        expect![[r#"
            function 0, op 1: `convert_layout` begins at L1
        "#]],
    );
    problems(
        "call @f, %x, %n, %c\nreturn",
        expect![[r#"
        function 0, op 0: calls are recursive or nest deeper than 64
    "#]],
    );
    problems(
        "%0 = constant 0.0 : f16[16, 8]\n%1 = constant 0.0 : f16[8, 16]\n%2 = constant 0.0 : f32[16, 16]\n\
         %3 = dot %0, %1, %2 : f32[16, 16]\nreturn",
        expect![[r#"
        function 0, op 3: the inner extent of `dot` on f16 is at least 16, not 8
    "#]],
    );
    problems(
        "%0 = iota 0, 8 : i32[8]\n%1 = reduce %0 axis=0 : i32 {\n^(%2: i32, %3: i32):\n%4 = load %x : f32\nyield %2\n}\nreturn",
        expect![[r#"
        function 0, op 1: the region of `reduce` computes on scalars: no `load` here
    "#]],
    );
}

#[test]
fn broken_layouts_are_named() {
    let broken = |from: &str, to: &str, expected: Expect| {
        let text = LAYOUTS.replace(from, to);
        assert_ne!(text, LAYOUTS);
        let found: Vec<String> = verify(&parse(&text).unwrap()).iter().map(|p| format!("{p}\n")).collect();
        expected.assert_eq(&found.concat());
    };
    broken(
        "warp=[128]",
        "warp=[64]",
        expect![[r#"
        function 0: #l0: the bases reach 2^7 of 2^8 elements
    "#]],
    );
    broken(
        "num_warps=2",
        "num_warps=4",
        expect![[r#"
        function 0: #l0: 1 warp bases do not make 4 warps
        function 0: #l1: 1 warp bases do not make 4 warps
    "#]],
    );
    broken(
        "%6 = convert_layout %5 : f32[256, #l0]",
        "%6 = convert_layout %5 : f32[256, #l1]",
        expect![[r#"
            function 0, op 9: `*f32[256]` and `f32[256]` differ in layout
        "#]],
    );
    broken(
        "%0 = iota 0, 256 : i32[256, #l0]",
        "%0 = iota 0, 256 : i32[256]",
        expect![[r#"
        function 0: `i32[256]` has no layout
    "#]],
    );
}

#[test]
fn dead_operations_leave_and_live_ones_stay() {
    let text = "module L0\nfunc @f(%x: *f32, %n: i32) {\n%0 = constant 1 : i32\n%1 = for %0, %n, %0, %n : i32 {\n\
                ^(%i: i32, %a: i32):\n%2 = add.i %a, %i : i32\nyield %2\n}\n%3 = mul.i %1, %1 : i32\n\
                %4 = constant 1.0 : f32\nstore %x, %4\nreturn\n}";
    let mut module = parse(text).unwrap();
    let erased = rewrite::erase_dead(&mut module.functions[0]);
    assert_eq!(erased, 5);
    rewrite::compact_module(&mut module);
    expect![[r#"
        module L0
        func @f(%x: *f32, %n: i32) {
          %0 = constant 1.0 : f32
          store %x, %0
          return
        }
    "#]]
    .assert_eq(&print(&module));
}

#[test]
fn cloning_and_inlining_keep_the_meaning() {
    let mut module = parse(FORMS).unwrap();
    let callee = module.functions[1].clone();
    let function = &mut module.functions[0];
    let mut call = None;
    function.walk(|_, op| {
        if let OpKind::Call { .. } = function.op(op).kind {
            call = Some(op);
        }
    });
    let call = call.unwrap();
    let mut map = rewrite::ValueMap::default();
    for (param, &operand) in callee.params.iter().zip(&function.op(call).operands) {
        map.insert(param.value, operand);
    }
    let (ops, passed) = rewrite::import_body(&callee, function, &mut map).unwrap();
    for op in ops {
        assert!(rewrite::insert_before(function, call, op));
    }
    let result = function.op(call).results[0];
    rewrite::replace_all_uses(function, result, passed[0]);
    rewrite::detach(function, call);
    // A copy of the whole body verifies as well as the body itself.
    let mut map = rewrite::ValueMap::default();
    let body = rewrite::clone_region(function, function.body, &mut map);
    function.body = body;
    for param in &mut function.params {
        param.value = map[&param.value];
    }
    rewrite::compact_module(&mut module);
    assert_eq!(verify(&module), vec![]);
    let text = print(&module);
    assert!(!text.contains("call"));
    assert_eq!(parse(&text).unwrap(), module);
}

/// A straight line of operations drawn from bytes; every one verifies.
fn generated(bytes: &[u8]) -> Module {
    let mut module = Module::new(Level::L0);
    let mut function = Function::new("generated");
    let x = function.add_param("x", Type::ptr(Scalar::F32), 16);
    let n = function.add_param("n \"quoted\"", Type::scalar(Scalar::I32), 1);
    let body = function.body;
    let mut b = Builder::at_end(&mut function, body);
    let (mut ints, mut floats) = (vec![n], vec![b.value(OpKind::Load(LoadAttrs::default()), &[x], Type::scalar(Scalar::F32))]);
    for chunk in bytes.chunks(4) {
        let pick = |values: &[tritium_tile::ValueId], i: usize| values[usize::from(chunk[i % chunk.len()]) % values.len()];
        b.origin = if chunk[0] & 1 == 0 { Origin::NONE } else { Origin(u32::from(chunk[0])) };
        let op = BinaryOp::ALL[usize::from(chunk[0]) % BinaryOp::ALL.len()];
        match chunk[0] % 5 {
            0 => ints.push(b.i32(i32::from(chunk[chunk.len() - 1]) - 100)),
            1 => floats.push(b.float(1.0 / f64::from(chunk[chunk.len() - 1]), Type::scalar(Scalar::F32))),
            2 if op.name().ends_with(".i") => {
                ints.push(b.value(OpKind::Binary(op), &[pick(&ints, 1), pick(&ints, 2)], Type::scalar(Scalar::I32)))
            }
            3 => {
                let tile = Type::tile(tritium_tile::Elem::Scalar(Scalar::F32), Shape::from_slice(&[1 << (chunk[0] % 7), 2]));
                b.value(OpKind::Splat, &[pick(&floats, 1)], tile);
            }
            _ => floats.push(b.value(
                OpKind::Binary(BinaryOp::MaxNan),
                &[pick(&floats, 1), pick(&floats, 3)],
                Type::scalar(Scalar::F32),
            )),
        }
    }
    b.op(OpKind::Return, &[], [], &[]);
    module.functions.push(function);
    module
}

proptest! {
    #[test]
    fn what_is_built_is_read_back(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut module = generated(&bytes);
        prop_assert_eq!(verify(&module), vec![]);
        rewrite::compact_module(&mut module);
        prop_assert_eq!(parse(&print(&module)).unwrap(), module);
    }

    /// Damaged text is refused or read; what is read prints and reads back the same, and verifying it never panics.
    #[test]
    fn damaged_text_never_panics(layouts in any::<bool>(), edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0usize..30), 1..4)) {
        let mut text = if layouts { LAYOUTS } else { FORMS }.to_string();
        for (at, from, len) in edits {
            let (at, from) = (at.index(text.len()), from.index(text.len()));
            let piece = text[from..(from + len).min(text.len())].to_string();
            let end = (at + len / 2).min(text.len());
            text.replace_range(at..end, &piece);
        }
        if let Ok(module) = parse(&text) {
            let problems = verify(&module);
            let again = print(&module);
            let read = parse(&again);
            prop_assert!(read.is_ok() || !problems.is_empty(), "{}\n{}", again, read.unwrap_err());
            if let Ok(read) = read {
                prop_assert_eq!(print(&read), again);
            }
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text in "(module L[0-2]\n)?[ -~\n]{0,200}") {
        let _ = parse(&text);
    }
}
