//! The diagnostics' pages through the real program: what each wrong example says, what its safe fix makes of it, and the index of them.
//! `UPDATE_EXPECT=1` writes `tests/data/messages.txt` and `docs/diagnostics.md` anew: read them.

use std::{fs, path::Path};

use tempfile::TempDir;
use tritium_semantics::diagnostics::{Code, Severity};
use tritium_tests::{
    Said,
    pages::{Example, example, summary},
    repository, say,
};

/// A copy of an example that a test may change.
struct Copy {
    folder: TempDir,
    path: String,
    flag: Vec<String>,
    code: Code,
}

impl Copy {
    fn new(code: Code, example: &Example) -> Copy {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join(format!("{code}.py"));
        fs::write(&path, &example.text).expect("the folder is ours");
        Copy { path: path.to_str().expect("a plain path").to_owned(), folder, flag: example.flag.clone(), code }
    }

    /// What is told by default, or of this code alone where it must be selected.
    fn check(&self, options: &[&str]) -> Said {
        let mut arguments = vec!["check", &self.path];
        arguments.extend(self.flag.iter().map(String::as_str));
        arguments.extend(options);
        if !self.code.is_default() {
            arguments.extend(["--select", self.code.as_str()]);
        }
        say(&arguments)
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.path).expect("the file is ours")
    }
}

#[test]
fn safe_fixes_put_wrong_examples_right() {
    let mut fixed = Vec::new();
    let mut wrong = String::new();
    for &code in Code::ALL {
        let copy = Copy::new(code, &example(code, "Wrong"));
        let report = copy.check(&["--output-format", "json"]).json();
        let safe = |d: &serde_json::Value| d["fixes"].as_array().is_some_and(|fixes| fixes.iter().any(|f| f["safe"] == true));
        if !report["diagnostics"].as_array().expect("diagnostics").iter().any(safe) {
            continue;
        }
        fixed.push(code.as_str());
        copy.check(&["--fix"]);
        let after = copy.check(&["--output-format", "json"]).json();
        let left: Vec<String> = after["diagnostics"]
            .as_array()
            .expect("diagnostics")
            .iter()
            .map(|d| format!("{}: {}", d["code"].as_str().unwrap_or_default(), d["message"].as_str().unwrap_or_default()))
            .collect();
        if !left.is_empty() {
            wrong += &format!("{code} is put right as\n{}and then there is\n{}\n", copy.text(), left.join("\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(fixed.len() >= 25, "only {} codes have a safe fix: {fixed:?}", fixed.len());
}

#[test]
fn messages_are_as_they_were_read() {
    let mut all = String::new();
    for &code in Code::ALL {
        let copy = Copy::new(code, &example(code, "Wrong"));
        let said = copy.check(&[]);
        let folder = format!("{}/", copy.folder.path().display());
        all += &said.stdout.replace(&folder, "");
        // What a script sees of it.
        let remains = matches!(code.severity(), Severity::Error | Severity::Warning);
        assert_eq!(said.status, i32::from(remains), "{code}");
    }
    compare(&repository().join("tests/data/messages.txt"), &all);
}

#[test]
fn the_index_is_fresh() {
    let mut text = String::from(
        "# Diagnostics\n\nEvery code that `tritium check` can tell, with what it is about; `tritium explain CODE` prints its page. Errors and warnings make \
         `check` end with 1. Codes marked “selected” are told only where they are asked for (`--select CODE`).\n\nThis file is made from the table \
         in `semantics/src/diagnostics.rs` and its pages.\n\n| code | name | severity | what it means |\n|---|---|---|---|\n",
    );
    let mut codes = Code::ALL.to_vec();
    codes.sort_by_key(|c| c.as_str());
    for code in codes {
        let selected = if code.is_default() { "" } else { ", selected" };
        let page = format!("../semantics/src/diagnostics/{code}.md");
        text += &format!(
            "| [{code}]({page}) | {} | {}{selected} | {} |\n",
            code.name(),
            code.severity().name(),
            summary(code).replace('|', "\\|")
        );
    }
    compare(&repository().join("docs/diagnostics.md"), &text);
}

fn compare(path: &Path, new: &str) {
    let old = fs::read_to_string(path).unwrap_or_default();
    if new != old && std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("the repository is writable");
        fs::write(path, new).expect("the repository is writable");
    } else {
        assert!(new == old, "{} is out of date: run this test with UPDATE_EXPECT=1 and read the difference", path.display());
    }
}
