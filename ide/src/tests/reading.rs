//! Colours, folds, selections, signatures, sums and hints.

use expect_test::{Expect, expect};

use tritium_semantics::Shell;

use super::{MATMUL, Snippet, main_file, places};
use crate::{Host, Options, Python, semantic_tokens::MODIFIERS};

#[test]
fn colours_say_what_is_known_at_compile_time_and_what_is_a_tile() {
    let s = Snippet::new(MATMUL);
    let tokens = s.analysis.semantic_tokens(main_file());
    let note = |modifiers: u32| {
        let named = MODIFIERS.iter().enumerate().filter(|(i, _)| modifiers & (1 << i) != 0).map(|(_, name)| *name);
        named.collect::<Vec<_>>().join(" ")
    };
    let out = places(&s.text, tokens.iter().map(|t| (&t.range, format!("{:?} {}", t.kind, note(t.modifiers)))));
    expect![[r#"
        18:10 x  Pointer declaration
        18:13 y  Pointer declaration
        18:16 n  Scalar declaration
        18:19 BLOCK  Constexpr declaration
        18:40 K  Constexpr declaration
        18:57 EVEN  Constexpr declaration
        19:4 offs  Tile declaration
        19:30 BLOCK  Constexpr 
        19:51 BLOCK  Constexpr 
        20:4 inside  Mask declaration
        20:13 offs  Tile 
        20:20 n  Scalar 
        21:4 value  Tile declaration
        21:20 x  Pointer 
        21:24 offs  Tile 
        21:35 inside  Mask 
        22:4 total  Tile declaration
        22:12 value  Tile 
        23:8 i  Scalar declaration
        24:8 total  Tile declaration loopCarried
        24:16 total  Tile loopCarried
        24:24 double  Constexpr 
        24:31 value  Tile 
        24:38 BLOCK  Constexpr 
        25:13 y  Pointer 
        25:17 offs  Tile 
        25:23 total  Tile 
        25:35 inside  Mask 
        30:11 v  Tile 
        36:4 scale  Launch 
        37:4 scale  Launch 
        39:4 scale  Launch 
    "#]]
    .assert_eq(&out);
}

#[test]
fn blocks_brackets_comments_and_imports_fold() {
    let s = Snippet::new(
        "# one\n# two\nimport a\nimport b\n\nx = [\n    1,\n]\n\n@d\ndef f(\n    a,\n):\n    # inside\n    if a:\n        return 1\n    else:\n        return 2\n",
    );
    let folds = s.analysis.folds(main_file());
    expect![[r#"
        1:0 # one  Comment 2 lines
        3:0 import a  Imports 2 lines
        6:4 [  Code 3 lines
        11:0 def f(  Code 8 lines
        11:5 (  Code 3 lines
        15:4 if a:  Code 2 lines
        17:4 else:  Code 2 lines
    "#]]
    .assert_eq(&places(
        &s.text,
        folds.iter().map(|f| (&f.range, format!("{:?} {} lines", f.kind, s.text[f.range.clone()].lines().count()))),
    ));
}

#[test]
fn a_selection_grows_by_syntax() {
    let s = Snippet::new("def f(x):\n    y = g(x + 1$0, 2)\n    return y\n");
    let out: Vec<String> =
        s.analysis.selections(main_file(), s.cursor()).into_iter().map(|r| s.text[r].replace('\n', "⏎")).collect();
    expect![[r#"
        ,
        (x + 1, 2)
        g(x + 1, 2)
        y = g(x + 1, 2)
            y = g(x + 1, 2)⏎    return y
        def f(x):⏎    y = g(x + 1, 2)⏎    return y
        def f(x):⏎    y = g(x + 1, 2)⏎    return y⏎"#]]
    .assert_eq(&out.join("\n"));
}

fn signature(text: &str, expected: &Expect) {
    let s = Snippet::new(&format!(
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef helper(a, b: tl.constexpr = 4):\n    return a\n\n\n@triton.jit\ndef kernel(x, n, BLOCK: tl.constexpr):\n    {text}\n"
    ));
    let help = s.analysis.signature_help(main_file(), s.cursor(), true);
    let out = help.map_or_else(String::new, |help| {
        let first = &help.signatures[0];
        let active = help.active_parameter.and_then(|n| first.parameters.get(n)).map_or("", |r| &first.label[r.clone()]);
        format!("{}\n> {active}\n{}\n", first.label, first.documentation)
    });
    expected.assert_eq(&out);
}

#[test]
fn the_parameters_of_a_call_are_shown() {
    signature(
        "tl.load($0)",
        &expect![[r#"
        tl.load(pointer: ptr[T, S], mask: tile[i1, S] = None, other: tile[T, S] = None, boundary_check: const tuple = (), padding_option: const str = "", cache_modifier: const str = "", eviction_policy: const str = "", volatile: const bool = False) -> tile[T, S]
        > pointer: ptr[T, S]
        Reads memory through a pointer or a tile of pointers.
    "#]],
    );
    signature(
        "tl.load(x, mask=$0",
        &expect![[r#"
        tl.load(pointer: ptr[T, S], mask: tile[i1, S] = None, other: tile[T, S] = None, boundary_check: const tuple = (), padding_option: const str = "", cache_modifier: const str = "", eviction_policy: const str = "", volatile: const bool = False) -> tile[T, S]
        > mask: tile[i1, S] = None
        Reads memory through a pointer or a tile of pointers.
    "#]],
    );
    signature(
        "tl.store(x + tl.arange(0, $0), 0.0)",
        &expect![[r#"
        tl.arange(start: const int, end: const int) -> tile[i32, (N,)]
        > end: const int
        Consecutive integers from `start` up to, not including, `end`, as i32.
    "#]],
    );
    signature(
        "y = helper(x, $0)",
        &expect![[r#"
        helper(a, b: tl.constexpr = 4)
        > b: tl.constexpr = 4

    "#]],
    );
    signature(
        "tl.sum(x, axis=0, keep_dims=$0)",
        &expect![[r#"
        tl.sum(input: tile[T, S], axis: const int = None, keep_dims: const bool = False, dtype: const dtype = None) -> tile[T, drop[S, axis]]
        > keep_dims: const bool = False
        The sum along an axis.
    "#]],
    );
    signature("print($0)", &expect![[""]]);
    signature("tl.exp(x)$0", &expect![[""]]);
}

#[test]
fn a_launch_shows_the_kernels_parameters() {
    let s = Snippet::new(&MATMUL.replace("scale[grid](x, y, n=n)", "scale[grid](x, $0)"));
    let help = s.analysis.signature_help(main_file(), s.cursor(), true).expect("a launch has parameters");
    expect!["scale[grid](x, y, n, BLOCK: tl.constexpr, K: tl.constexpr, EVEN: tl.constexpr) Some(1)"]
        .assert_eq(&format!("{} {:?}", help.signatures[0].label, help.active_parameter));
}

/// Nothing behind it is there yet.
#[test]
fn a_launch_that_is_not_closed_shows_the_kernels_parameters() {
    let help_at = |written: &str| {
        let s = Snippet::new(&MATMUL.replace("scale[grid](x, y, n=n)", written));
        s.analysis.signature_help(main_file(), s.cursor(), true).and_then(|help| help.active_parameter)
    };
    let asked = ["scale[grid]($0", "scale[grid](x,$0", "scale[grid](x, $0", "scale[grid](x, y, $0", "scale[grid](x, n=$0"];
    assert_eq!(asked.map(help_at), [Some(0), Some(1), Some(1), Some(2), Some(2)]);
}

#[test]
fn a_selections_sum() {
    let start = MATMUL.find("value = tl.load").expect("it is there");
    let end = MATMUL.find("    tl.store").expect("it is there");
    let s = Snippet::new(&format!("{}$0{}$0{}", &MATMUL[..start], &MATMUL[start..end], &MATMUL[end..]));
    let hover = s.analysis.hover_selection(main_file(), s.selection()).expect("a sum");
    expect![[r#"
        **selection**: 1 call, 1 load

        - 128 B loaded, 0 B stored per program, loops counted once (exact, but for what masks leave out)
        - 32 FLOP per program, loops counted once (exact)
        - what the selection calls is not counted
        - `value: f32[32]`
        - `x: *f32`
        - `offs: i32[32]`
        - `inside: i1[32]`
        - `total: f32[32]`
        - `i: i32`
        - under assumed arguments (no launch of it is known), configuration 0
    "#]]
    .assert_eq(&hover.markdown);
}

#[test]
fn hints_can_be_switched_off_one_by_one() {
    let text = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(x, BLOCK: tl.constexpr):\n    offs = tl.arange(0, BLOCK)\n    half = tl.load(x + offs).to(tl.float16)\n    mixed = half * offs + half.to(tl.float32)\n    tl.store(x + offs, mixed)\n";
    let hints = |options: Options| {
        let mut host = Host::default();
        host.configure(options);
        host.set_text(main_file(), text.to_owned());
        let hints = host.snapshot_at(main_file()).inlay_hints(main_file());
        hints.iter().map(|h| format!("{} {}", text[..h.offset].matches('\n').count() + 1, h.label)).collect::<Vec<_>>().join("\n")
    };
    let base = Options { shell: Shell::default(), ..Options::default() };
    let none = Options { shape_hints: false, dtype_hints: false, ..base.clone() };
    let out = [
        hints(base.clone()),
        hints(Options { dtype_hints: false, ..base.clone() }),
        hints(Options { shape_hints: false, ..base }),
        hints(none.clone()),
        hints(Options { promotion_hints: true, ..none }),
    ];
    expect![[r#"
        7 : i32[128]
        8 : f16[128]
        9 : f32[128]
        ---
        7 : [128]
        8 : [128]
        9 : [128]
        ---
        7 : i32
        8 : f16
        9 : f32
        ---

        ---
        9 → f16
        9 → f32"#]]
    .assert_eq(&out.join("\n---\n"));
}

/// Names that Python has but kernels have not are told in any case: no Python server minds them.
#[test]
fn what_a_python_server_marks_is_left_to_it() {
    let body = ["foo(x)", "tl.store(x, type)", "tl.store(x, tl.nothing)", "tl.store(x, (1))", "y = = 2"];
    let text =
        format!("import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(x):\n    {}\n", body.join("\n    "));
    let shown = |python| {
        let s = Snippet::with(&text, &[], python);
        let all = s.analysis.diagnostics_to_show(main_file());
        all.iter().map(|d| format!("{} {}", d.code, &s.text[d.range.clone()])).collect::<Vec<_>>().join("\n")
    };
    expect![[r#"
        LNG018 foo
        LNG018 type
        LNG010 tl.nothing
        SYN001 
        ---
        LNG018 type
        LNG010 tl.nothing"#]]
    .assert_eq(&format!("{}\n---\n{}", shown(Python::None), shown(Python::Served)));
}
