//! `tritium check` and `explain` as a script sees them: what is found, where, in every format, and how the program ends.

use std::fs;

use expect_test::{Expect, expect};
use serde_json::Value;
use tritium_semantics::diagnostics::Code;
use tritium_tests::{Said, repository, say};

const MISTAKES: &str = "examples/five_mistakes.py";

fn mistakes() -> String {
    fs::read_to_string(repository().join(MISTAKES)).expect("the example is there")
}

/// A copy of a text that a test may change.
struct Copy(tempfile::TempDir);

impl Copy {
    fn new(text: &str) -> Copy {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("kernels.py"), text).expect("the folder is ours");
        Copy(folder)
    }

    fn path(&self) -> String {
        self.0.path().join("kernels.py").to_str().expect("a plain path").to_owned()
    }
}

/// `LINE ‘text’` of a range, the line 1-based; a range of these examples lies within a line.
fn place(text: &str, range: &Value) -> String {
    let at = |end: &str, part: &str| usize::try_from(range[end][part].as_u64().expect("a number")).expect("a small number");
    let line = at("start", "line");
    assert_eq!(line, at("end", "line"), "{range}");
    let characters = text.lines().nth(line).expect("a line of the file").chars();
    let under: String = characters.take(at("end", "character")).skip(at("start", "character")).collect();
    format!("{} `{under}`", line + 1)
}

/// Every diagnostic of a JSON report with what lies under its ranges.
fn places(text: &str, report: &Value) -> String {
    let mut out = String::new();
    for found in report["diagnostics"].as_array().expect("diagnostics") {
        let word = |key: &str| found[key].as_str().expect("a text").to_owned();
        out += &format!("{} {} in {}\n", word("code"), place(text, &found["range"]), word("kernel"));
        for related in found["related"].as_array().expect("related places") {
            let message = related["message"].as_str().expect("a message");
            out += &format!("  {}: {message}\n", place(text, &related["range"]));
        }
        for fix in found["fixes"].as_array().expect("fixes") {
            let safe = if fix["safe"] == Value::Bool(true) { "safe" } else { "suggested" };
            out += &format!("  {safe}: {}\n", fix["title"].as_str().expect("a title"));
        }
    }
    out
}

fn codes(report: &Value) -> Vec<&str> {
    report["diagnostics"].as_array().expect("diagnostics").iter().map(|d| d["code"].as_str().expect("a code")).collect()
}

fn check(said: &Said, expected: Expect) {
    expected.assert_eq(&said.stdout);
}

#[test]
fn five_mistakes_are_found_where_they_are() {
    let said = say(&["check", MISTAKES, "--output-format", "json"]);
    let report = said.json();
    assert_eq!((said.status, &report["version"], &report["files"], &report["kernels"]), (1, &1.into(), &1.into(), &5.into()));
    expect![[r#"
        SHP001 12 `x + cols` in rows_plus_columns
          9 `tl.arange(0, 128)`: 128 comes from here
          10 `tl.arange(0, 64)`: 64 comes from here
          suggested: Make a column and a row
        CXP001 17 `BLOCK` in fill
          16 `BLOCK`: the parameter `BLOCK`
          suggested: Annotate `BLOCK` as tl.constexpr
        MSK001 24 `other=0.0` in copy
          suggested: Remove `other`
        DOT001 35 `tl.dot(a, b)` in multiply
          31 `tl.arange(0, 64)`: 64 comes from here
          32 `tl.arange(0, 32)`: 32 comes from here
        CTL005 43 `acc` in total
          41 `acc`: `acc` starts as i32 here
          suggested: Start it as f32
    "#]]
    .assert_eq(&places(&mistakes(), &report));
}

#[test]
fn mistakes_put_right_are_not_found() {
    let mut text = mistakes();
    for (wrong, right) in [
        ("OUT + rows, x + cols", "OUT + rows[:, None] * 64 + cols[None, :], x[:, None] + cols[None, :]"),
        ("def fill(OUT, BLOCK)", "def fill(OUT, BLOCK: tl.constexpr)"),
        ("OUT + tl.arange(0, 128), zeros", "OUT + tl.arange(0, BLOCK), zeros"),
        ("X + offsets, other=0.0", "X + offsets"),
        ("inner_b = tl.arange(0, 32)", "inner_b = tl.arange(0, 64)"),
        ("acc = 0\n", "acc = 0.0\n"),
    ] {
        assert_eq!(text.matches(wrong).count(), 1, "{wrong}");
        text = text.replace(wrong, right);
    }
    let copy = Copy::new(&text);
    let said = say(&["check", &copy.path(), "--output-format", "json"]);
    assert_eq!((said.status, places(&text, &said.json()).as_str()), (0, ""));
}

#[test]
fn codes_and_families_are_chosen() {
    for (option, codes_wanted, status) in [
        (["--select", "SHP001,MSK"], vec!["SHP001", "MSK001"], 1),
        (["--ignore", "SHP,CTL005,DOT"], vec!["CXP001", "MSK001"], 1),
        (["--select", "SYN001"], vec![], 0),
    ] {
        let said = say(&["check", MISTAKES, "--output-format", "json", option[0], option[1]]);
        assert_eq!((codes(&said.json()), said.status), (codes_wanted, status), "{option:?}");
    }
}

#[test]
fn one_line_each() {
    let said = say(&["check", MISTAKES, "--output-format", "concise"]);
    assert_eq!((said.status, said.stderr.as_str()), (1, "5 errors in 1 file (5 kernels)\n"));
    check(
        &said,
        expect![[r#"
            examples/five_mistakes.py:12:26: SHP001 `x` has shape [128] and `cols` has shape [64]; `+` cannot match 128 with 64: make one a column and the other a row, `x[:, None]` and `cols[None, :]`
            examples/five_mistakes.py:17:23: CXP001 a shape must be known at compile time, and `BLOCK` is a run-time value: annotate it `BLOCK: tl.constexpr`
            examples/five_mistakes.py:24:30: MSK001 `other` is what masked-off elements become, and this load has no mask: add one, or drop `other`
            examples/five_mistakes.py:35:9: DOT001 the inner sizes of a matrix product must be equal: `a` is [32, 64] and `b` is [32, 32], so 64 meets 32
            examples/five_mistakes.py:43:9: CTL005 `acc` enters the loop as i32 and is f32 after a trip: the type of a carried value must stay the same. Start it as f32, or cast it back with `.to(…)`
        "#]],
    );
}

#[test]
fn workflow_commands_of_github() {
    let said = say(&["check", MISTAKES, "--output-format", "github"]);
    assert_eq!(said.status, 1);
    let heads: String = said.stdout.lines().map(|line| format!("{}\n", line.rsplit_once("::").expect("two colons").0)).collect();
    expect![[r#"
        ::error file=examples/five_mistakes.py,line=12,col=26,endLine=12,endColumn=34,title=SHP001 incompatible-broadcast
        ::error file=examples/five_mistakes.py,line=17,col=23,endLine=17,endColumn=28,title=CXP001 missing-constexpr
        ::error file=examples/five_mistakes.py,line=24,col=30,endLine=24,endColumn=39,title=MSK001 other-without-mask
        ::error file=examples/five_mistakes.py,line=35,col=9,endLine=35,endColumn=21,title=DOT001 inner-dim-mismatch
        ::error file=examples/five_mistakes.py,line=43,col=9,endLine=43,endColumn=12,title=CTL005 loop-carried-type-change
    "#]]
    .assert_eq(&heads);
}

#[test]
fn sarif_has_the_same_results() {
    let said = say(&["check", MISTAKES, "--output-format", "sarif"]);
    let (log, text) = (said.json(), mistakes());
    let run = &log["runs"][0];
    assert_eq!((said.status, &log["version"], &run["columnKind"]), (1, &"2.1.0".into(), &"unicodeCodePoints".into()));
    let region = |location: &Value| {
        let physical = &location["physicalLocation"];
        assert_eq!(physical["artifactLocation"]["uri"], MISTAKES);
        let number = |key: &str| usize::try_from(physical["region"][key].as_u64().expect("a number")).expect("a small number");
        let characters = text.lines().nth(number("startLine") - 1).expect("a line of the file").chars();
        let under: String = characters.take(number("endColumn") - 1).skip(number("startColumn") - 1).collect();
        format!("{} `{under}`", number("startLine"))
    };
    let mut out = String::new();
    for result in run["results"].as_array().expect("results") {
        let rule = result["ruleId"].as_str().expect("a rule");
        assert!(run["tool"]["driver"]["rules"].as_array().expect("rules").iter().any(|r| r["id"] == rule), "{rule}");
        let described = run["tool"]["driver"]["rules"].as_array().expect("rules").iter().all(|r| {
            let text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
            text(&r["name"]) && text(&r["shortDescription"]["text"]) && text(&r["help"]["markdown"]) && text(&r["helpUri"])
        });
        assert!(described, "every rule says what it means");
        assert!(result["message"]["text"].as_str().is_some_and(|text| !text.is_empty()));
        let related = result["relatedLocations"].as_array().expect("related locations");
        let related: Vec<String> = related.iter().map(region).collect();
        let level = result["level"].as_str().expect("a level");
        out += &format!("{level} {rule} {} {}\n", region(&result["locations"][0]), related.join(" "));
    }
    expect![[r#"
        error SHP001 12 `x + cols` 9 `tl.arange(0, 128)` 10 `tl.arange(0, 64)`
        error CXP001 17 `BLOCK` 16 `BLOCK`
        error MSK001 24 `other=0.0` 
        error DOT001 35 `tl.dot(a, b)` 31 `tl.arange(0, 64)` 32 `tl.arange(0, 32)`
        error CTL005 43 `acc` 41 `acc`
    "#]]
    .assert_eq(&out);
}

#[test]
fn the_full_text_shows_the_source_and_the_fix() {
    let said = say(&["check", MISTAKES, "--select", "SHP001"]);
    assert_eq!(said.status, 1);
    check(
        &said,
        expect![[r#"
        error[SHP001]: `x` has shape [128] and `cols` has shape [64]; `+` cannot match 128 with 64: make one a column and the other a row, `x[:, None]` and `cols[None, :]`
          --> examples/five_mistakes.py:12:26
           |
         9 |     rows = tl.arange(0, 128)
           |            ----------------- 128 comes from here
        10 |     cols = tl.arange(0, 64)
           |            ---------------- 64 comes from here
        11 |     x = tl.load(X + rows)
        12 |     tl.store(OUT + rows, x + cols)  # SHP001: 128 rows and 64 columns do not broadcast
           |                          ^^^^^^^^
           |
        help: Make a column and a row
           |
        12 |     tl.store(OUT + rows, x[:, None] + cols[None, :])  # SHP001: 128 rows and 64 columns do not broadcast
           |                           +++++++++       +++++++++

    "#]],
    );
}

#[test]
fn every_other_example_is_clean() {
    let mut seen = 0;
    for entry in fs::read_dir(repository().join("examples")).expect("the examples are there") {
        let name = entry.expect("a file").file_name().into_string().expect("a plain name");
        let path = format!("examples/{name}");
        if !name.ends_with(".py") || path == MISTAKES {
            continue;
        }
        seen += 1;
        // Launches that a CPU runs in no time leave most of a GPU idle, and are told so.
        let said = say(&["check", "--ignore", "RES005", &path]);
        assert_eq!((said.status, said.stdout.as_str()), (0, ""), "{path}");
    }
    assert!(seen >= 4, "only {seen} examples were there");
}

#[test]
fn every_code_is_explained() {
    for code in Code::ALL {
        for spelling in [code.as_str(), &code.as_str().to_lowercase(), code.name()] {
            let said = say(&["explain", spelling]);
            let title = format!("# {} {}\n", code.as_str(), code.name());
            assert!(said.status == 0 && said.stdout.starts_with(&title), "{spelling}: {}", said.stdout);
            assert!(said.stdout.contains("## Wrong") && said.stdout.contains("## Right"), "{spelling}: {}", said.stdout);
        }
    }
}

#[test]
fn wrong_use_is_told_apart_from_findings() {
    for (arguments, reason) in [
        (&["check"][..], "required arguments"),
        (&["check", "nothing.py"], "nothing.py: "),
        (&["check", MISTAKES, "--gpu", "B9000"], "unknown GPU `B9000`; known are "),
        (&["check", MISTAKES, "--triton", "latest"], "`latest` is no version of Triton"),
        (&["check", MISTAKES, "--output-format", "verse"], "invalid value 'verse'"),
        (&["check", MISTAKES, "--config", "best"], "`best` is neither a number"),
        (&["chekc", MISTAKES], "unrecognized subcommand 'chekc'"),
        (&["explain", "ABC999"], "no diagnostic `ABC999`"),
        (&["emit", "nothing.py"], "nothing.py: "),
        (&["emit", MISTAKES, "--kernel", "nope"], "no kernel `nope` in this file"),
        (&["report", "nothing.py"], "nothing.py: "),
        (&["run", "nothing.py"], "nothing.py: "),
        (&["stats", "nothing.py"], "nothing.py: "),
        (&["batch", "nothing.jsonl"], "nothing.jsonl: "),
    ] {
        let said = say(arguments);
        assert_eq!((said.status, said.stdout.as_str()), (2, ""), "{arguments:?}: {}", said.stderr);
        assert!(said.stderr.contains(reason), "{arguments:?}: {}", said.stderr);
    }
}

/// What is said of a file of these bytes: `LINE:COLUMN: CODE message`, and the status.
fn said_of(bytes: &[u8]) -> (String, i32) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("kernels.py");
    fs::write(&path, bytes).expect("the folder is ours");
    let path = path.to_str().expect("a plain path");
    let said = say(&["check", path, "--output-format", "concise"]);
    assert_eq!(fs::read(path).expect("still there"), bytes);
    (said.stdout.replace(path, "kernels.py"), said.status)
}

const KERNEL: &[u8] = b"import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(out):\n    tl.store(out, 1.0)\n";

#[test]
fn bytes_that_are_no_text_are_told() {
    let kernel = |before: &[u8], after: &[u8]| said_of(&[before, KERNEL, after].concat());
    let (found, status) = kernel(b"", b"# caf\xe9\n");
    assert_eq!(status, 1);
    expect![[r#"
        kernels.py:8:6: SYN001 the byte 0xe9 is no UTF-8, and the file declares no other encoding; save it as UTF-8
    "#]]
    .assert_eq(&found);
    let (found, status) = kernel(b"# coding: klingon\n", b"");
    assert_eq!(status, 1);
    expect![[r#"
        kernels.py:1:11: SYN001 `klingon` is no encoding that Python knows; write `utf-8`
    "#]]
    .assert_eq(&found);
    let (found, status) = kernel(b"# coding: ascii\n", b"# caf\xc3\xa9\n");
    assert_eq!(status, 1);
    expect![[r#"
        kernels.py:1:11: SYN001 the file holds bytes that the encoding declared here does not have; save it as UTF-8 and declare `utf-8`
    "#]].assert_eq(&found);
    // An encoding that is declared is right.
    assert_eq!(kernel(b"# coding: latin-1\n", b"# caf\xe9\n"), (String::new(), 0));
}

#[test]
fn fixes_keep_the_encoding() {
    let wrong = |comment: &[u8], dropped: &str| {
        let body =
            "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(x, out):\n    at = tl.arange(0, 16)\n";
        let store = format!("    tl.store(out + at, tl.load(x + at)){dropped}\n");
        [comment, body.as_bytes(), store.as_bytes()].concat()
    };
    let fix = |bytes: &[u8]| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("kernels.py");
        fs::write(&path, bytes).expect("the folder is ours");
        say(&["check", path.to_str().expect("a plain path"), "--fix"]);
        fs::read(path).expect("still there")
    };
    let latin: &[u8] = b"# coding: latin-1\n# caf\xe9\n";
    assert_eq!(fix(&wrong(latin, "  # tritium: ignore[MSK001] no more")), wrong(latin, ""));
    // What cannot be read is not written.
    let broken = wrong(b"# caf\xe9\n", "  # tritium: ignore[MSK001] no more");
    assert_eq!(fix(&broken), broken);
}

/// Every kernel definition of a file is found, or counted among those that are not checked.
#[test]
fn every_form_of_definition_is_seen() {
    let forms = "tests/data/definition_forms.py";
    let text = fs::read_to_string(repository().join(forms)).expect("the forms are there");
    let marked: Vec<usize> = text.lines().zip(1..).filter(|(line, _)| line.ends_with("# mistake")).map(|(_, n)| n).collect();
    let said = say(&["check", forms, "--select", "LNG018", "--output-format", "json"]);
    let report = said.json();
    let found = report["diagnostics"].as_array().expect("diagnostics");
    let line = |range: &Value| usize::try_from(range["start"]["line"].as_u64().expect("a number")).expect("a small number") + 1;
    assert_eq!(found.iter().map(|d| line(&d["range"])).collect::<Vec<_>>(), marked);
    // And one in a string, whose names are whose who executes it.
    assert_eq!(report["kernels"], marked.len() + 1);
    expect![[r#"{"gluon":1,"lambda":1,"template":1,"text":1}"#]].assert_eq(&report["unchecked"].to_string());
    let said = say(&["check", forms, "--select", "LIM004", "--output-format", "concise"]);
    expect![[r#"
        tests/data/definition_forms.py:157:5: LIM004 `layouts` is not checked: its language is Gluon, which Tritium does not elaborate yet (and at 2 more places of this file)
        1 hint in 1 file (21 kernels; not checked: 1 Gluon kernel, 1 kernel in a string, 1 kernel in a string with holes, 1 lambda)
    "#]].assert_eq(&(said.stdout + &said.stderr));
}

/// Names flow from cell to cell, and places are told by cell and line.
#[test]
fn notebooks_are_checked_cell_by_cell() {
    let notebook = "tests/data/cells.ipynb";
    let concise = say(&["check", notebook, "--output-format", "concise"]);
    expect![[r#"
        tests/data/cells.ipynb:cell 2:4:56: DTY011 a mask is i1, and `i` is i32[64]: compare it, `i != 0`
        tests/data/cells.ipynb:cell 3:3:1: LCH001 the launch of `copy` gives no argument for `n`
        2 errors in 1 file (1 kernel)
    "#]]
    .assert_eq(&(concise.stdout + &concise.stderr));
    check(
        &say(&["check", notebook]),
        expect![[r#"
        error[DTY011]: a mask is i1, and `i` is i32[64]: compare it, `i != 0`
         --> tests/data/cells.ipynb:cell 2:4:56
          |
        4 |     tl.store(out + i, tl.load(x + i, mask=i < n), mask=i)
          |                                                        ^
          |
        help: Compare with 0
          |
        4 |     tl.store(out + i, tl.load(x + i, mask=i < n), mask=i != 0)
          |                                                          ++++

        error[LCH001]: the launch of `copy` gives no argument for `n`
         --> tests/data/cells.ipynb:cell 3:3:1
          |
        3 | copy[(1,)](torch.empty_like(x), x)
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

    "#]],
    );
    let report = say(&["check", notebook, "--output-format", "json"]).json();
    expect![[r#"{"start":{"line":3,"character":55},"end":{"line":3,"character":56},"cell":2}"#]]
        .assert_eq(&report["diagnostics"][0]["range"].to_string());
    let sarif = say(&["check", notebook, "--output-format", "sarif"]).json();
    expect![[r#"[{"physicalLocation":{"artifactLocation":{"uri":"tests/data/cells.ipynb"},"region":{"startLine":4,"startColumn":56,"endLine":4,"endColumn":57}},"logicalLocations":[{"name":"cell 2","kind":"cell"}]}]"#]].assert_eq(&sarif["runs"][0]["results"][0]["locations"].to_string());
    check(
        &say(&["check", notebook, "--output-format", "github"]),
        expect![[r#"
        ::error file=tests/data/cells.ipynb,line=4,col=56,endLine=4,endColumn=57,title=DTY011 nonbool-mask::cell 2: a mask is i1, and `i` is i32[64]: compare it, `i != 0`
        ::error file=tests/data/cells.ipynb,line=3,col=1,endLine=3,endColumn=35,title=LCH001 launch-arguments::cell 3: the launch of `copy` gives no argument for `n`
    "#]],
    );
    // A folder's notebooks too; no fix is written into one, and what is none says so.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let copy = folder.path().join("copy.ipynb");
    let bytes = fs::read(repository().join(notebook)).expect("the notebook is there");
    fs::write(&copy, &bytes).expect("the folder is ours");
    let said = say(&["check", "--fix", folder.path().to_str().expect("a plain path")]);
    assert!(said.stderr.ends_with("in 1 file (1 kernel)\n"), "{}", said.stderr);
    assert_eq!(fs::read(&copy).expect("it is still there"), bytes);
    fs::write(&copy, "import triton\n").expect("the folder is ours");
    let said = say(&["check", "--output-format", "github", copy.to_str().expect("a plain path")]);
    assert!(said.stdout.contains("this is no notebook"), "{}", said.stdout);
}
