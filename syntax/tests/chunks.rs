//! Where a file is cut. **A chunk is one top-level statement with all that belongs to it.**

use expect_test::expect;
use tritium_syntax::{PythonVersion, chunks, parse_chunk};

fn cut(text: &str) -> String {
    chunks(text).iter().map(|chunk| format!("{:?}\n", chunk.text(text))).collect()
}

#[test]
fn statements_with_what_belongs_to_them() {
    let text = "#!x\n\"doc\"\n\nimport a; b\n# of f\n@d(\n1)\n\n# of f too\n@e\ndef f():\n  x\n\n  # in f\n\n# of if\nif a:\n  b\nelse:\n  c\ntry: a\nexcept: b\nx = [\n1,\n]\ny\n# end\n";
    expect![[r##"
        "#!x\n\"doc\"\n\n"
        "import a; b\n"
        "# of f\n@d(\n1)\n\n# of f too\n@e\ndef f():\n  x\n\n  # in f\n\n"
        "# of if\nif a:\n  b\nelse:\n  c\n"
        "try: a\nexcept: b\n"
        "x = [\n1,\n]\n"
        "y\n# end\n"
    "##]]
    .assert_eq(&cut(text));
    assert_eq!(cut(""), "\"\"\n");
}

#[test]
fn an_open_bracket_does_not_swallow_the_next_kernel() {
    let before = chunks("@jit\ndef f(x):\n    y = x\n\n@jit\ndef g(x):\n    y\n");
    let text = "@jit\ndef f(x):\n    y = (x\n\n@jit\ndef g(x):\n    y\n";
    let after = chunks(text);
    assert_eq!((before.len(), after.len()), (2, 2));
    assert_eq!(after[1].text(text), "@jit\ndef g(x):\n    y\n");
}

#[test]
fn an_edit_changes_one_chunk() {
    let file = |body: &str| format!("import a\n\n@jit\ndef f(x):\n    {body}\n\n@jit\ndef g(x):\n    y\n");
    let before = file("return x");
    for body in ["return x + ", "return f(x", "", "\"", "if x:", "# no", "x = [1,\n      2]", "return x]"] {
        let after = file(body);
        let same = |text: &str, index: usize| {
            let chunk = chunks(text)[index];
            (chunk.text(text).to_owned(), parse_chunk(chunk.text(text), PythonVersion::default()))
        };
        assert_eq!(chunks(&after).len(), 3, "{body}");
        assert_eq!(same(&before, 0), same(&after, 0), "{body}");
        assert_eq!(same(&before, 2), same(&after, 2), "{body}");
    }
}
