//! What `tritium check --fix` makes of files: text in, text out.
//!
//! A fix is made where every correct program means the same after it, and nowhere else. Most of these texts stay as they are.

use std::fs;

use expect_test::{Expect, expect};
use tritium_tests::{Said, say};

const HEAD: &str = "import torch\nimport triton\nimport triton.language as tl\n\n\n@triton.jit\n";

/// A kernel, and a launch of which everything is known: `x` and `y` hold 64 numbers in f32, `n` is 50.
fn launched(kernel: &str) -> String {
    format!(
        "{HEAD}{kernel}\n\n# /// tritium\n# [launch.known]\n# kernel = \"kernel\"\n# grid = [\"1\"]\n\
         # args = {{ x = \"f32[64]\", y = \"f32[64]\", n = \"50\" }}\n# ///\n"
    )
}

fn assumed(kernel: &str) -> String {
    format!("{HEAD}{kernel}")
}

/// What a text for Triton 3.6 becomes, and what is said.
fn fix(text: &str, options: &[&str]) -> (String, Said) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("kernels.py");
    fs::write(&path, text).expect("the folder is ours");
    let file = path.to_str().expect("a plain path");
    let said = say(&[&["check", file, "--fix", "--triton", "3.6", "--output-format", "json"], options].concat());
    (fs::read_to_string(&path).expect("the file is ours"), said)
}

/// Lines that a fix changed, old and new.
fn changed(text: &str, options: &[&str], expected: &Expect) -> Said {
    let (after, said) = fix(text, options);
    assert_eq!(text.lines().count(), after.lines().count(), "{after}");
    let lines = text.lines().zip(after.lines()).filter(|(old, new)| old != new);
    expected.assert_eq(&lines.map(|(old, new)| format!("-{}\n+{}\n", old.trim(), new.trim())).collect::<String>());
    said
}

fn codes(said: &Said) -> Vec<String> {
    let all = said.json()["diagnostics"].as_array().expect("diagnostics").clone();
    all.iter().map(|d| d["code"].as_str().expect("a code").to_owned()).collect()
}

/// That a text stays as it is, though something is found in it that a person may have put right.
fn stays(text: &str, code: &str) {
    let (after, said) = fix(text, &[]);
    assert_eq!(after, text);
    let report = said.json();
    let found = report["diagnostics"].as_array().expect("diagnostics").iter().find(|d| d["code"] == code);
    let fixes = found.unwrap_or_else(|| panic!("no {code} in {report}"))["fixes"].as_array().expect("fixes");
    assert!(fixes.iter().any(|f| f["safe"] == false) && fixes.iter().all(|f| f["safe"] == false), "{fixes:?}");
}

#[test]
fn what_no_correct_kernel_notices_is_fixed() {
    let said = changed(
        &launched(
            "def kernel(x, y, n):
    i = tl.arange(0, 64)
    inside = 0 <= i < n
    v = tl.load(x + i, mask=inside, other=0.0, cache_modifier=\"cg\")
    odd = tl.where(i % 2, 1.0, 0.0)
    tl.store(x + i, tl.zeros(64, tl.float32), mask=inside)
    tl.store(y + i, odd)
    tl.store(y + i, v, mask=inside)  # tritium: ignore[MEM001] was needed once",
        ),
        &[],
        &expect![[r#"
            -inside = 0 <= i < n
            +inside = (0 <= i) & (i < n)
            -v = tl.load(x + i, mask=inside, other=0.0, cache_modifier="cg")
            +v = tl.load(x + i, mask=inside, other=0.0, cache_modifier=".cg")
            -odd = tl.where(i % 2, 1.0, 0.0)
            +odd = tl.where((i % 2) != 0, 1.0, 0.0)
            -tl.store(x + i, tl.zeros(64, tl.float32), mask=inside)
            +tl.store(x + i, tl.zeros((64,), tl.float32), mask=inside)
            -tl.store(y + i, v, mask=inside)  # tritium: ignore[MEM001] was needed once
            +tl.store(y + i, v, mask=inside)
        "#]],
    );
    assert_eq!((said.status, codes(&said)), (0, vec![]), "{}", said.stdout);
}

/// The same kernel with nothing known of its launches: only what the text alone says is certain.
#[test]
fn nothing_is_fixed_under_assumed_arguments() {
    changed(
        &assumed(
            "def kernel(x, y, n):
    i = tl.arange(0, 64)
    inside = 0 <= i < n
    v = tl.load(x + i, mask=inside, other=0.0, cache_modifier=\"cg\")
    odd = tl.where(i % 2, 1.0, 0.0)
    tl.store(x + i, tl.zeros(64, tl.float32), mask=inside)
    tl.store(y + i, odd)
    tl.store(y + i, v, mask=inside)  # tritium: ignore[MEM001] was needed once
",
        ),
        &[],
        &expect![[r#"
            -tl.store(y + i, v, mask=inside)  # tritium: ignore[MEM001] was needed once
            +tl.store(y + i, v, mask=inside)
        "#]],
    );
}

#[test]
fn a_product_says_its_precision_by_the_new_name() {
    let text = assumed(
        "def kernel(x, y, FAST: tl.constexpr):
    i = tl.arange(0, 32)
    at = i[:, None] * 32 + i[None, :]
    a = tl.load(x + at)
    b = tl.dot(a, a, allow_tf32=False)
    b = tl.dot(a, b, allow_tf32=True)
    b = tl.dot(a, b, allow_tf32=FAST)
    tl.store(y + at, tl.dot(b, a, out_dtype=tl.float32, allow_tf32=False))
",
    );
    let said = changed(
        &text,
        &[],
        &expect![[r#"
            -b = tl.dot(a, a, allow_tf32=False)
            +b = tl.dot(a, a, input_precision="ieee")
            -tl.store(y + at, tl.dot(b, a, out_dtype=tl.float32, allow_tf32=False))
            +tl.store(y + at, tl.dot(b, a, out_dtype=tl.float32, input_precision="ieee"))
        "#]],
    );
    // One line for the two that are left.
    assert_eq!(codes(&said), ["DOT007"]);
}

#[test]
fn chains_of_conditions_are_joined_as_triton_joins_them() {
    changed(
        &assumed(
            "def kernel(x, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, D: tl.constexpr):
    if A and B and C and D:
        tl.store(x, 1.0)
    if (A or B) or C or D:
        tl.store(x, 2.0)
",
        ),
        &["--select", "LNG013"],
        &expect![[r#"
            -if A and B and C and D:
            +if A and (B and (C and D)):
            -if (A or B) or C or D:
            +if (A or B) or (C or D):
        "#]],
    );
}

/// A chain calls what stands in its middle once, and split it would call it twice.
#[test]
fn what_is_called_in_a_chain_is_left() {
    stays(
        &launched(
            "def kernel(x, y, n):
    i = tl.arange(0, 64)
    tl.store(y + i, 1.0, mask=0.0 < tl.load(x + i) < 1.0)",
        ),
        "LNG012",
    );
}

#[test]
fn names_are_never_guessed() {
    // A name that is spelled alike means something else.
    stays(
        &launched(
            "def kernel(x, y, n):
    row = tl.program_id(0)
    rows = tl.program_id(1)
    tl.store(y + (rows * n + row_s), 1.0)",
        ),
        "LNG018",
    );
    stays(&launched("def kernel(x, y, n):\n    tl.store(y, tl.lod(x))"), "LNG010");
    stays(&launched("def kernel(x, y, n):\n    tl.store(y, tl.load(x, maks=n > 0))"), "LNG011");
    stays(&launched("def kernel(x, y, n):\n    tl.store(y, tl.load(x, eviction_policy=\"evict_frist\"))"), "MEM006");
}

/// A name of the language that lies below one of its modules is offered from where it really is.
#[test]
fn what_the_library_has_is_named_whole() {
    let text = launched("def kernel(x, y, n):\n    tl.store(y, tl.math.fast_expf(tl.load(x)))");
    let (after, said) = fix(&text, &[]);
    assert_eq!(after, text);
    assert!(said.stdout.contains("Change to `tl.extra.cuda.libdevice.fast_expf`"), "{}", said.stdout);
}

/// Who masks with numbers may not mean all but 0: minus infinity is one.
#[test]
fn masks_of_numbers_are_left() {
    stays(
        &launched(
            "def kernel(x, y, n):
    i = tl.arange(0, 64)
    keep = tl.where(i < n, 0.0, -float(\"inf\"))
    tl.store(y + i, tl.load(x + i, mask=keep))",
        ),
        "DTY011",
    );
}

/// An element type that one launch brings is not what the kernel is about.
#[test]
fn element_types_are_never_taken_from_launches() {
    let text = |body: &str| {
        format!(
            "{HEAD}def kernel(x, y, n):\n{body}\n\n# /// tritium\n# [launch.known]\n# kernel = \"kernel\"\n# grid = [\"1\"]\n\
             # args = {{ x = \"f16[32, 32]\", y = \"u8[32, 32]\", n = \"32\" }}\n# ///\n"
        )
    };
    // The store converts to whatever the tensor holds.
    stays(&text("    i = tl.arange(0, 32)\n    tl.store(y + i, tl.load(x + i))"), "DTY006");
    stays(&text("    i = tl.arange(0, 32)\n    tl.store(y + i, tl.exp(tl.load(x + i)).to(tl.uint8))"), "DTY005");
    stays(
        &text(
            "    i = tl.arange(0, 32)
    at = i[:, None] * 32 + i[None, :]
    a = tl.load(x + at)
    tl.store(y + at, tl.dot(a, a.to(tl.float32)).to(tl.uint8))",
        ),
        "DOT003",
    );
    stays(&text("    i = tl.arange(0, 32)\n    tl.store(y, tl.sum(tl.load(x + i)).to(tl.uint8))"), "DTY008");
}

/// What was not told before a fix is not fixed after it.
#[test]
fn what_a_fix_uncovers_is_left() {
    let text = launched(
        "def kernel(x, y, n):
    i = tl.arange(0, 64)
    odd = tl.zeros(64, tl.int32) + i
    tl.store(y + i, tl.where(odd, 1.0, 2.0))",
    );
    let said = changed(
        &text,
        &[],
        &expect![[r#"
            -odd = tl.zeros(64, tl.int32) + i
            +odd = tl.zeros((64,), tl.int32) + i
        "#]],
    );
    assert_eq!(said.status, 1);
    assert!(codes(&said).contains(&"DTY010".to_owned()), "{}", said.stdout);
}

/// The permutation is the caller's: there is no mistake, and no fix of it.
#[test]
fn orders_that_are_parameters_are_no_mistakes() {
    let text = assumed(
        "def kernel(x, y, A: tl.constexpr, B: tl.constexpr, FIRST: tl.constexpr, SECOND: tl.constexpr):
    at = tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(y + at, tl.permute(tl.load(x + at), (FIRST, SECOND)))
",
    );
    let (after, said) = fix(&text, &[]);
    assert_eq!((after, codes(&said)), (text, vec![]));
}

/// What works but looks odd may be meant.
#[test]
fn what_works_is_left() {
    stays(
        &launched(
            "def kernel(x, y, n):
    r = tl.arange(0, 8)
    at = r[:, None] * 8 + r[None, :]
    v = tl.load(x + at)
    tl.store(y + at, v - tl.max(v, axis=1))",
        ),
        "SHP008",
    );
    stays(
        &launched(
            "def kernel(x, y, n):
    i = tl.arange(0, 64)
    tl.store(y, tl.max(tl.load(x + i, mask=i < n, other=0.0)))",
        ),
        "MSK004",
    );
    stays(
        &launched(
            "def kernel(x, y, n):
    i = tl.arange(0, 64)
    tl.store(y, tl.sum(tl.load(x + i, mask=i < n)))",
        ),
        "MSK003",
    );
    stays(&launched("def kernel(x, y, n):\n    tl.store(y, tl.load(x, other=0.0))"), "MSK001");
}

/// A global may be read, and a function called, by files that nobody looks at here.
#[test]
fn what_the_host_may_use_is_left() {
    let with = |above: &str, kernel: &str| launched(kernel).replace("@triton.jit\n", &format!("{above}\n\n\n@triton.jit\n"));
    stays(&with("EPSILON = 1e-6", "def kernel(x, y, n):\n    tl.store(y, tl.load(x) + EPSILON)"), "LNG004");
    stays(&with("def twice(v):\n    return v * 2", "def kernel(x, y, n):\n    tl.store(y, twice(tl.load(x)))"), "LNG003");
    stays(&launched("def kernel(x, y, n):\n    i = tl.arange(0, n)\n    tl.store(y + i, tl.load(x + i))"), "SHP003");
}
