//! Every diagnostic's page: the wrong example fires exactly its code, once; the right one is silent.

use std::fmt::Write as _;

use super::database;
use crate::{check::check, diagnostics::Code};

/// The Python below a heading.
fn example(page: &str, heading: &str) -> Option<String> {
    let (_, rest) = page.split_once(&format!("\n## {heading}\n"))?;
    let (_, rest) = rest.split_once("```python\n")?;
    rest.split_once("\n```").map(|(code, _)| format!("{code}\n"))
}

fn codes(text: &str) -> Vec<(Code, String)> {
    let (db, file) = database(text);
    check(&db, file).iter().map(|d| (d.code, d.message.clone())).collect()
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
        let found = codes(&bad);
        if found.len() != 1 || found[0].0 != code {
            let _ = writeln!(wrong, "{code}: the wrong example gives {found:?}");
        }
        let found = codes(&good);
        if !found.is_empty() {
            let _ = writeln!(wrong, "{code}: the right example gives {found:?}");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
