//! The diagnostics' pages through the real program: what each wrong example says, what its fix makes of it, and the index of them.
//! `UPDATE_EXPECT=1` writes `tests/data/messages.txt` and `docs/diagnostics.md` anew: read them.

use std::{fs, path::PathBuf};

use expect_test::expect_file;
use serde_json::Value;
use tempfile::TempDir;
use tritium_semantics::diagnostics::Code;
use tritium_tests::{
    Said,
    pages::{example, summary},
    repository, say,
};

/// Copies of the wrong examples that are checked with the same options, `CODE.py` each.
struct Examples {
    folder: TempDir,
    options: Vec<String>,
    codes: Vec<Code>,
}

/// All wrong examples. What must be selected is selected alone.
fn wrong_examples() -> Vec<Examples> {
    let mut groups: Vec<Examples> = Vec::new();
    for &code in Code::ALL.iter().filter(|code| !code.is_of_runs()) {
        let example = example(code, "Wrong");
        let mut options = example.flag;
        if !code.is_default() {
            options.extend(["--select".to_owned(), code.as_str().to_owned()]);
        }
        let index = groups.iter().position(|g| g.options == options).unwrap_or_else(|| {
            let folder = tempfile::tempdir().expect("a temporary folder");
            groups.push(Examples { folder, options, codes: Vec::new() });
            groups.len() - 1
        });
        fs::write(groups[index].path(code), &example.text).expect("the folder is ours");
        groups[index].codes.push(code);
    }
    groups
}

impl Examples {
    fn path(&self, code: Code) -> PathBuf {
        self.folder.path().join(format!("{code}.py"))
    }

    fn check(&self, options: &[&str]) -> Said {
        let folder = self.folder.path().to_str().expect("a plain path");
        let own = self.options.iter().map(String::as_str);
        say(&["check", folder].into_iter().chain(own).chain(options.iter().copied()).collect::<Vec<_>>())
    }

    /// The diagnostics of each example.
    fn diagnostics(&self) -> Vec<(Code, Vec<Value>)> {
        let report = self.check(&["--output-format", "json"]).json();
        let all = report["diagnostics"].as_array().expect("diagnostics");
        let of =
            |code: Code| all.iter().filter(|d| d["file"] == self.path(code).to_str().expect("a plain path")).cloned().collect();
        self.codes.iter().map(|&code| (code, of(code))).collect()
    }
}

/// Those that are found where code is generated, or where launches run under checks: the wrong example fires its code once and nothing else, the right one nothing.
#[test]
fn examples_of_resources_and_runs_do_what_they_say() {
    let mut wrong = String::new();
    for &code in Code::ALL.iter().filter(|code| code.is_resource() || code.is_of_runs()) {
        let command = if code.is_of_runs() { "sanitize" } else { "check" };
        for (heading, wanted) in [("Wrong", vec![code.as_str()]), ("Right", vec![])] {
            let example = example(code, heading);
            let folder = tempfile::tempdir().expect("a temporary folder");
            let path = folder.path().join("example.py");
            fs::write(&path, &example.text).expect("the folder is ours");
            let mut arguments = vec![command, path.to_str().expect("a plain path"), "--output-format", "json"];
            arguments.extend(example.flag.iter().map(String::as_str));
            let report = say(&arguments).json();
            let all = report["diagnostics"].as_array().expect("diagnostics");
            let found: Vec<&str> = all.iter().map(|d| word(d, "code")).collect();
            if found != wanted {
                let messages: String = all.iter().map(|d| format!("  {}: {}\n", word(d, "code"), word(d, "message"))).collect();
                wrong += &format!("{code}: the example under {heading} gives {found:?}\n{messages}");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn word<'d>(diagnostic: &'d Value, key: &str) -> &'d str {
    diagnostic[key].as_str().unwrap_or_default()
}

/// Makes the first fix that is offered for each example's own code: what it was for is told no more. It may uncover another mistake.
#[test]
fn fixes_put_wrong_examples_right() {
    let mut fixed = Vec::new();
    let mut wrong = String::new();
    for examples in wrong_examples() {
        for (code, before) in examples.diagnostics() {
            let path = examples.path(code);
            let text = fs::read_to_string(&path).expect("the file is ours");
            let own = before.iter().find(|d| word(d, "code") == code.as_str());
            match own.and_then(|d| d["fixes"].get(0)).and_then(|fix| edited(&text, &fix["edits"])) {
                Some(text) => {
                    fixed.push((code, own.map(|d| word(d, "message").to_owned()).unwrap_or_default()));
                    fs::write(&path, text).expect("the file is ours");
                }
                // What has no fix is not looked at again.
                None => fs::remove_file(path).expect("the file is ours"),
            }
        }
        for (code, after) in examples.diagnostics() {
            let is_told = |d: &Value| fixed.iter().any(|(fixed, message)| *fixed == code && word(d, "message") == message);
            if after.iter().any(is_told) {
                let text = fs::read_to_string(examples.path(code)).expect("the file is ours");
                let left: String = after.iter().map(|d| format!("{}: {}\n", word(d, "code"), word(d, "message"))).collect();
                wrong += &format!("{code} is put right as\n{text}and then there is\n{left}");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(fixed.len() >= 40, "only {} codes have a fix: {fixed:?}", fixed.len());
}

/// A text after edits as a report gives them.
fn edited(text: &str, edits: &Value) -> Option<String> {
    let starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let offset = |point: &Value| {
        let number = |key: &str| usize::try_from(point[key].as_u64()?).ok();
        let line = *starts.get(number("line")?)?;
        let column = number("character")?;
        Some(line + text[line..].chars().take(column).map(char::len_utf8).sum::<usize>())
    };
    let mut all = Vec::new();
    for edit in edits.as_array()? {
        all.push((offset(&edit["range"]["start"])?, offset(&edit["range"]["end"])?, edit["new_text"].as_str()?));
    }
    all.sort_by_key(|edit| (edit.0, edit.1));
    let mut out = text.to_owned();
    for (start, end, new) in all.into_iter().rev() {
        out.replace_range(start..end, new);
    }
    Some(out)
}

#[test]
fn messages_are_as_they_were_read() {
    let mut all = String::new();
    for examples in wrong_examples() {
        let folder = format!("{}/", examples.folder.path().display());
        if !examples.options.is_empty() {
            all += &format!("With {}:\n\n", examples.options.join(" "));
        }
        all += &examples.check(&[]).stdout.replace(&folder, "");
    }
    all += "Of runs under checks:\n\n";
    for &code in Code::ALL.iter().filter(|code| code.is_of_runs()) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join(format!("{code}.py"));
        fs::write(&path, example(code, "Wrong").text).expect("the folder is ours");
        let said = say(&["sanitize", path.to_str().expect("a plain path")]);
        all += &said.stdout.replace(&format!("{}/", folder.path().display()), "");
    }
    expect_file![repository().join("tests/data/messages.txt")].assert_eq(&all);
}

#[test]
fn errors_and_warnings_end_with_1() {
    for (code, status) in [(Code::SHP001, 1), (Code::MSK003, 1), (Code::CXP004, 0), (Code::DBG002, 0)] {
        let examples = wrong_examples().into_iter().find(|e| e.codes.contains(&code)).expect("every code has an example");
        let path = examples.path(code);
        let said = say(&["check", path.to_str().expect("a plain path")]);
        assert_eq!((said.status, said.stdout.is_empty()), (status, false), "{code}");
    }
}

#[test]
fn the_index_is_fresh() {
    let mut text = String::from(
        "# Diagnostics\n\nEvery code that `tritium check` can tell, and `SAN` that `tritium sanitize` tells, with what it is about; `tritium explain CODE` prints its page. \
         Errors and warnings make both end with 1. Codes marked “selected” are told only where they are asked for (`--select CODE`).\n\nThis file is made from the table \
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
    expect_file![repository().join("docs/diagnostics.md")].assert_eq(&text);
}
