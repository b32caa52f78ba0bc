//! Every diagnostic's page: the wrong example fires exactly its code, once; the right one is silent.

use std::fmt::Write as _;

use super::database;
use crate::{
    builtins::{Builtin, LIBRARY_PAGE},
    check::check,
    diagnostics::{Code, Severity},
};

/// The Python below a heading.
fn example(page: &str, heading: &str) -> Option<Example> {
    let (_, rest) = page.split_once(&format!("\n## {heading}\n"))?;
    let (before, rest) = rest.split_once("```python\n")?;
    // With `--triton 3.9`:
    let flag = before.split('`').nth(1).and_then(|flag| flag.split_once(' '));
    let text = rest.split_once("\n```").map(|(code, _)| format!("{code}\n"))?;
    Some(Example { text, flag: flag.map(|(name, value)| (name.to_owned(), value.to_owned())) })
}

struct Example {
    text: String,
    flag: Option<(String, String)>,
}

/// What is told by default, and the code that the page is about.
fn codes(example: &Example, own: Code) -> Vec<(Code, String)> {
    let (mut db, file) = database(&example.text);
    match &example.flag {
        Some((name, value)) if name == "--triton" => db.set_triton(value),
        Some((name, value)) if name == "--gpu" => db.set_gpu(value),
        Some((name, version)) if name == "--upgrade" => {
            let changes = crate::upgrade::changes(&db, file, version.as_str().into());
            return changes.iter().map(|change| (Code::VER004, change.message.clone())).collect();
        }
        Some((name, _)) => panic!("the page of {own} names an unknown flag {name}"),
        None => {}
    }
    let found = check(&db, file).iter().filter(|d| d.code.is_default() || d.code == own);
    found.map(|d| (d.code, d.message.clone())).collect()
}

#[test]
fn examples_do_what_they_say() {
    let mut wrong = String::new();
    for &code in Code::ALL {
        let page = code.page();
        assert!(
            page.starts_with(&format!("# {} {}\n", code.as_str(), code.name())),
            "the page of {code} begins with its code and name"
        );
        let Some(bad) = example(page, "Wrong") else {
            let _ = writeln!(wrong, "{code}: no wrong example");
            continue;
        };
        let Some(good) = example(page, "Right") else {
            let _ = writeln!(wrong, "{code}: no right example");
            continue;
        };
        let found = codes(&bad, code);
        // Those are found where code is generated or launches run; `tests/tests/pages.rs` asks the program for them.
        if code.is_of_runs() {
            // What else is wrong with it may be said.
        } else if code.is_resource() {
            if !found.is_empty() {
                let _ = writeln!(wrong, "{code}: the wrong example gives {found:?}");
            }
        } else if found.len() != 1 || found[0].0 != code {
            let _ = writeln!(wrong, "{code}: the wrong example gives {found:?}");
        }
        let found = codes(&good, code);
        if !found.is_empty() {
            let _ = writeln!(wrong, "{code}: the right example gives {found:?}");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Every function's page: its example is understood, and no error is in it.
#[test]
fn examples_of_functions_are_clean() {
    let mut wrong = String::new();
    let pages = Builtin::ALL.iter().map(|b| (b.row().name, b.row().page)).chain([("libdevice", LIBRARY_PAGE)]);
    for (name, page) in pages {
        let Some(text) = example(page, "Example") else {
            let _ = writeln!(wrong, "{name}: no example");
            continue;
        };
        let mut found = codes(&text, Code::LIM002);
        found.retain(|(code, _)| *code == Code::LIM002 || code.severity() == Severity::Error);
        if !found.is_empty() {
            let _ = writeln!(wrong, "{name}: {found:?}");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Every word that editors offer for a string-valued parameter compiles.
#[test]
fn offered_words_are_accepted() {
    use crate::builtins::{Builtin, words};
    let calls: &[(Builtin, &str, &str)] = &[
        (Builtin::Load, "cache_modifier", "v = tl.load(x + i, cache_modifier=WORD)"),
        (Builtin::Load, "eviction_policy", "v = tl.load(x + i, eviction_policy=WORD)"),
        (Builtin::Store, "cache_modifier", "tl.store(x + i, 0.0, cache_modifier=WORD)"),
        (Builtin::Store, "eviction_policy", "tl.store(x + i, 0.0, eviction_policy=WORD)"),
        (
            Builtin::MakeTensorDescriptor,
            "padding_option",
            "d = tl.make_tensor_descriptor(x, [16], [1], [16], padding_option=WORD)",
        ),
        (Builtin::Dot, "input_precision", "v = tl.dot(a, a, input_precision=WORD)"),
        (Builtin::AtomicAdd, "sem", "tl.atomic_add(x + i, 1.0, sem=WORD)"),
        (Builtin::AtomicAdd, "scope", "tl.atomic_add(x + i, 1.0, scope=WORD)"),
        (Builtin::To, "fp_downcast_rounding", "v = a.to(tl.float16, fp_downcast_rounding=WORD)"),
    ];
    for (builtin, parameter, call) in calls {
        let listed = words(*builtin, parameter);
        assert!(!listed.is_empty(), "{parameter}");
        for word in listed {
            let text = format!(
                "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(x):\n    i = tl.arange(0, 16)\n    a = tl.zeros([16, 16], tl.float32)\n    {}\n",
                call.replace("WORD", &format!("\"{}\"", word.value))
            );
            let (db, file) = super::database(&text);
            let found: Vec<String> = crate::check::check(&db, file)
                .iter()
                .filter(|d| d.severity == crate::diagnostics::Severity::Error)
                .map(|d| d.message.clone())
                .collect();
            assert!(found.is_empty(), "{call} with {word:?}: {found:?}");
        }
    }
}
