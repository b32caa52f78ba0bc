//! Where names lead, what names them, and what a rename changes.

use std::path::Path;

use expect_test::{Expect, expect};

use super::{MATMUL, Snippet, main_file, places};
use crate::{CallStep, Python, SymbolKind, code_actions::applied};

fn references(snippet: &Snippet, expected: &Expect) {
    let found = snippet.analysis.references(main_file(), snippet.cursor(), true);
    let own = found.iter().filter(|r| r.path == main_file());
    let mut out = places(&snippet.text, own.map(|r| (&r.range, format!("{:?}", r.kind))));
    for other in found.iter().filter(|r| r.path != main_file()) {
        let text = snippet.analysis.text(&other.path).expect("a file");
        out +=
            &format!("{}: {}", other.path.display(), places(&text, std::iter::once((&other.range, format!("{:?}", other.kind)))));
    }
    expected.assert_eq(&out);
}

#[test]
fn a_parameter_is_named_by_strings_keywords_and_grids() {
    references(
        &Snippet::at(MATMUL, "BLOCK: tl.constexpr", 0),
        &expect![[r#"
        8:28 BLOCK  Text
        12:44 BLOCK  Text
        15:47 BLOCK  Text
        16:59 BLOCK  Text
        18:19 BLOCK  Declaration
        19:30 BLOCK  Read
        19:51 BLOCK  Read
        24:38 BLOCK  Read
        35:46 BLOCK  Text
        37:45 BLOCK  Text
    "#]],
    );
}

#[test]
fn a_string_leads_to_the_parameter() {
    references(
        &Snippet::at(MATMUL, "n\", \"BLOCK", 0),
        &expect![[r#"
        12:67 n  Text
        15:42 n  Text
        16:47 n  Text
        18:16 n  Declaration
        20:20 n  Read
        36:22 n  Text
        38:16 n  Text
    "#]],
    );
}

#[test]
fn locals_are_looked_for_in_their_function_alone() {
    references(
        &Snippet::at(MATMUL, "total = value", 0),
        &expect![[r#"
        22:4 total  Write
        24:8 total  Write
        24:16 total  Read
        25:23 total  Read
    "#]],
    );
}

#[test]
fn imports_are_followed_and_other_names_kept() {
    let host = "from main import scale as run\nimport main\n\n\ndef f(x):\n    run[(1,)](x, x, 8, BLOCK=8)\n    main.scale[(1,)](x, x, 8)\n";
    let at = MATMUL.find("def scale").expect("it is there") + 4;
    let text = format!("{}$0{}", &MATMUL[..at], &MATMUL[at..]);
    let snippet = Snippet::with(&text, &[("host.py", host)], Python::None);
    references(
        &snippet,
        &expect![[r#"
        18:4 scale  Declaration
        36:4 scale  Read
        37:4 scale  Read
        39:4 scale  Read
        /w/host.py: 1:17 scale  Read
        /w/host.py: 1:26 run  Read
        /w/host.py: 6:4 run  Read
        /w/host.py: 7:9 scale  Read
    "#]],
    );
    let edits = snippet.analysis.rename(main_file(), snippet.cursor(), "grow").expect("it can be renamed");
    let other = edits.iter().find(|f| f.path == Path::new("/w/host.py")).expect("the importing file changes");
    expect![[r#"
        from main import grow as run
        import main


        def f(x):
            run[(1,)](x, x, 8, BLOCK=8)
            main.grow[(1,)](x, x, 8)
    "#]]
    .assert_eq(&applied(host, &other.edits));
}

#[test]
fn a_star_import_brings_names() {
    let kernel = "import triton\n\n__all__ = [\"halve\"]\n\n\n@triton.jit\ndef hal$0ve(value):\n    return value / 2\n\n\n@triton.jit\ndef hidden(value):\n    return halve(value)\n";
    let package = "from main import *\n";
    let host =
        "import triton\nfrom package import *\n\n\n@triton.jit\ndef quarter(value):\n    return hidden(halve(halve(value)))\n";
    let snippet = Snippet::with(kernel, &[("package.py", package), ("host.py", host)], Python::None);
    references(
        &snippet,
        &expect![[r#"
        3:12 halve  Text
        7:4 halve  Declaration
        13:11 halve  Read
        /w/host.py: 7:18 halve  Read
        /w/host.py: 7:24 halve  Read
    "#]],
    );
    let edits = snippet.analysis.rename(main_file(), snippet.cursor(), "half").expect("it can be renamed");
    let other = edits.iter().find(|f| f.path == Path::new("/w/host.py")).expect("the importing file changes");
    assert!(applied(host, &other.edits).contains("hidden(half(half(value)))"));
    let refused = snippet.analysis.rename(main_file(), snippet.cursor(), "quarter").expect_err("it would hide another");
    assert_eq!(refused, "`quarter` already means something else in host.py");
}

#[test]
fn configurations_made_in_another_file_are_renamed_too() {
    let kernel = "import triton\nimport triton.language as tl\nfrom tune import configs\n\n\n@triton.autotune(configs=configs, key=[\"n\"])\n@triton.jit\ndef copy(x, n, BL$0OCK: tl.constexpr):\n    tl.store(x + tl.arange(0, BLOCK), 0.0)\n";
    let tune = "import triton\n\nconfigs = [triton.Config({\"BLOCK\": b}) for b in (1, 2)]\n";
    let snippet = Snippet::with(kernel, &[("tune.py", tune)], Python::None);
    let edits = snippet.analysis.rename(main_file(), snippet.cursor(), "SIZE").expect("it can be renamed");
    let out: Vec<String> = edits.iter().map(|f| applied(&snippet.analysis.text(&f.path).expect("a file"), &f.edits)).collect();
    expect![[r#"
        import triton
        import triton.language as tl
        from tune import configs


        @triton.autotune(configs=configs, key=["n"])
        @triton.jit
        def copy(x, n, SIZE: tl.constexpr):
            tl.store(x + tl.arange(0, SIZE), 0.0)
        ---
        import triton

        configs = [triton.Config({"SIZE": b}) for b in (1, 2)]
    "#]]
    .assert_eq(&out.join("---\n"));
}

#[test]
fn a_rename_changes_every_mention() {
    let snippet = Snippet::at(MATMUL, "BLOCK: tl.constexpr", 0);
    let edits = snippet.analysis.rename(main_file(), snippet.cursor(), "TILE").expect("it can be renamed");
    assert_eq!(edits.len(), 1);
    let renamed = applied(&snippet.text, &edits[0].edits);
    // The helper's parameter of the same name is another one.
    let left: Vec<&str> = renamed.lines().filter(|line| line.contains("BLOCK")).collect();
    expect!["def double(v, BLOCK: tl.constexpr):"].assert_eq(&left.join("\n"));
}

#[test]
fn the_launches_beside_a_file_are_renamed_too() {
    let kernel = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef co$0py(x, n, BLOCK: tl.constexpr):\n    tl.store(x + tl.arange(0, BLOCK), 0.0)\n";
    let beside = "[launch.copy]\nkernel = \"copy\"\ngrid = [\"cdiv(n, BLOCK)\"]\nsizes = { N = 64 }\nargs = { x = \"f32[N]\", n = \"N\" }\nmeta = { BLOCK = 16 }\n";
    let files = [("main.py.launch.toml", beside)];
    let edited = |text: &str, name: &str| {
        let snippet = Snippet::with(text, &files, Python::None);
        let edits = snippet.analysis.rename(main_file(), snippet.cursor(), name).expect("it can be renamed");
        let other = edits.iter().find(|f| f.path == Path::new("/w/main.py.launch.toml")).expect("the launches change");
        applied(beside, &other.edits)
    };
    let parameter = kernel.replace("co$0py", "copy").replace("BLOCK: tl", "BL$0OCK: tl");
    expect![[r#"
        [launch.copy]
        kernel = "fill"
        grid = ["cdiv(n, BLOCK)"]
        sizes = { N = 64 }
        args = { x = "f32[N]", n = "N" }
        meta = { BLOCK = 16 }
        ---
        [launch.copy]
        kernel = "copy"
        grid = ["cdiv(n, SIZE)"]
        sizes = { N = 64 }
        args = { x = "f32[N]", n = "N" }
        meta = { SIZE = 16 }
    "#]]
    .assert_eq(&[edited(kernel, "fill"), edited(&parameter, "SIZE")].join("---\n"));
}

#[test]
fn a_launch_block_is_renamed_with_its_kernel() {
    let text = "import triton\nimport triton.language as tl\n\n# /// tritium\n# [launch.a]\n# kernel = \"copy\"\n# grid = [\"cdiv(n, BLOCK)\"]\n# sizes = { N = 64 }\n# args = { x = \"f32[N]\", n = \"N\" }\n# meta = { BLOCK = 16 }\n# ///\n\n\n@triton.jit\ndef copy(x, n, BL$0OCK: tl.constexpr):\n    tl.store(x + tl.arange(0, BLOCK), 0.0)\n";
    let snippet = Snippet::new(text);
    let edits = snippet.analysis.rename(main_file(), snippet.cursor(), "SIZE").expect("it can be renamed");
    expect![[r#"
        import triton
        import triton.language as tl

        # /// tritium
        # [launch.a]
        # kernel = "copy"
        # grid = ["cdiv(n, SIZE)"]
        # sizes = { N = 64 }
        # args = { x = "f32[N]", n = "N" }
        # meta = { SIZE = 16 }
        # ///


        @triton.jit
        def copy(x, n, SIZE: tl.constexpr):
            tl.store(x + tl.arange(0, SIZE), 0.0)
    "#]]
    .assert_eq(&applied(&snippet.text, &edits[0].edits));
}

#[test]
fn renames_that_would_change_a_meaning_are_refused() {
    let refuse = |text: &str, needle: &str, new_name: &str| {
        let snippet = Snippet::at(text, needle, 0);
        snippet.analysis.rename(main_file(), snippet.cursor(), new_name).expect_err("it is refused")
    };
    let said = [
        refuse(MATMUL, "BLOCK: tl.constexpr", "n"),
        refuse(MATMUL, "BLOCK: tl.constexpr", "for"),
        refuse(MATMUL, "BLOCK: tl.constexpr", "a b"),
        refuse(MATMUL, "arange", "other"),
        refuse(MATMUL, "range(3)", "other"),
    ];
    expect![[r#"
        `n` already means something else in `scale`
        `for` is no name in Python
        `a b` is no name in Python
        `triton.language.arange` is not defined in this workspace
        nothing in this workspace defines `range`"#]]
    .assert_eq(&said.join("\n"));
}

#[test]
fn definitions_of_names_strings_and_shapes() {
    let definition = |needle: &str, nth| {
        let s = Snippet::at(MATMUL, needle, nth);
        let found = s.analysis.definition(main_file(), s.cursor(), false);
        places(&s.text, found.iter().map(|t| (&t.range, String::new())))
    };
    let shape = |needle: &str, nth| {
        let s = Snippet::at(MATMUL, needle, nth);
        let found = s.analysis.shape_definition(main_file(), s.cursor());
        places(&s.text, found.iter().map(|t| (&t.range, String::new())))
    };
    let out = [
        definition("double(value", 0),
        definition("total + double", 0),
        definition("BLOCK\"]),)", 0),
        shape("value = tl.load", 0),
        shape("inside)", 1),
        shape("offs = tl.program_id", 0),
    ];
    expect![[r#"
        29:4 double
        ---
        22:4 total
        ---
        18:19 BLOCK
        ---
        19:38 tl.arange(0, BLOCK)
        ---
        19:38 tl.arange(0, BLOCK)
        ---
        18:19 BLOCK
    "#]]
    .assert_eq(&out.join("---\n"));
}

/// Beside a Python server only strings and launch keywords lead somewhere: it knows the rest.
#[test]
fn beside_a_python_server_definitions_are_of_strings() {
    let s = Snippet::at(MATMUL, "BLOCK\"]),)", 0);
    assert_eq!(s.analysis.definition(main_file(), s.cursor(), true).len(), 1);
    let s = Snippet::at(MATMUL, "double(value", 0);
    assert_eq!(s.analysis.definition(main_file(), s.cursor(), true), []);
}

fn outline(symbols: &[crate::Outline], depth: usize) -> String {
    let line = |s: &crate::Outline| {
        format!("{:1$}{2:?} {3} {4}\n", "", depth * 2, s.kind, s.name, s.detail) + &outline(&s.children, depth + 1)
    };
    symbols.iter().map(line).collect()
}

#[test]
fn the_outline_has_configurations_and_launches() {
    let s = Snippet::new(MATMUL);
    expect![[r#"
        Function configs ()
        Function prune (configs, named_args, kwargs)
        Kernel scale (x, y, n, BLOCK, K, EVEN)
          Configuration configuration 0 BLOCK=32, K=32, num_warps=4
          Configuration configuration 1 BLOCK=32, K=32, num_warps=8
          Configuration configuration 2 BLOCK=64, K=32, num_warps=4
          Configuration configuration 3 BLOCK=64, K=32, num_warps=8
        Helper double (v, BLOCK)
        Function launch (x, n)
          Launch scale launch
          Launch scale launch
          Launch scale launch
    "#]]
    .assert_eq(&outline(&s.analysis.document_symbols(main_file()), 0));
}

#[test]
fn workspace_symbols_are_found_by_their_letters() {
    let other =
        "import triton\n\n@triton.jit\ndef soft_max_kernel(x):\n    pass\n\ndef plain(x):\n    soft_max_kernel[(1,)](x)\n";
    let s = Snippet::with(MATMUL, &[("pkg/other.py", other), ("plain.py", "def softmax(x):\n    return x\n")], Python::None);
    let found = s.analysis.workspace_symbols("smk").into_iter().chain(s.analysis.workspace_symbols("Scale"));
    let out: Vec<String> = found.map(|l| format!("{:?} {} {} {:?}", l.kind, l.name, l.path.display(), l.range)).collect();
    expect![[r#"
        Kernel soft_max_kernel /w/pkg/other.py 31..46
        Launch soft_max_kernel[…] /w/pkg/other.py 79..94
        Kernel scale /w/main.py 483..488
        Launch scale[…] /w/main.py 1001..1006
        Launch scale[…] /w/main.py 1028..1033
        Launch scale[…] /w/main.py 1117..1122"#]]
    .assert_eq(&out.join("\n"));
}

fn steps(steps: &[CallStep]) -> String {
    steps.iter().map(|s| format!("{:?} {} ({}) ×{}\n", s.to.kind, s.to.name, s.to.detail, s.ranges.len())).collect()
}

#[test]
fn a_kernel_is_called_by_its_launches_and_they_by_functions() {
    let s = Snippet::at(MATMUL, "scale(x, y", 0);
    let kernel = s.analysis.call_hierarchy(main_file(), s.cursor()).remove(0);
    let launches = s.analysis.incoming_calls(&kernel.path, kernel.selection.start, kernel.kind);
    let host = s.analysis.incoming_calls(&launches[0].to.path, launches[0].to.selection.start, SymbolKind::Launch);
    let down = s.analysis.outgoing_calls(&host[0].to.path, host[0].to.selection.start, host[0].to.kind);
    let helper = s.analysis.outgoing_calls(&kernel.path, kernel.selection.start, kernel.kind);
    let back = s.analysis.outgoing_calls(&launches[0].to.path, launches[0].to.selection.start, SymbolKind::Launch);
    let out = [steps(&launches), steps(&host), steps(&down), steps(&helper), steps(&back)];
    expect![[r#"
        Launch scale[…] (launch in `launch`) ×1
        Launch scale[…] (launch in `launch`) ×1
        Launch scale[…] (launch in `launch`) ×1
        ---
        Function launch (main.py) ×1
        ---
        Launch scale[…] (launch in `launch`) ×1
        Launch scale[…] (launch in `launch`) ×1
        Launch scale[…] (launch in `launch`) ×1
        ---
        Helper double (main.py) ×1
        ---
        Kernel scale (main.py) ×1
    "#]]
    .assert_eq(&out.join("---\n"));
}
