//! Mistakes that only a run shows: each of `tests/sanitize/` beside its right twin, through the real program; and launches in which there is nothing to find.

use std::{fs, path::Path};

use libtest_mimic::Trial;
use serde_json::Value;
use tritium_tests::{
    repository, say,
    twins::{self, Pair},
};

/// What is found in a file: the line, counted from 1, the severity and a sentence. All of its launches are checked to their end.
fn sanitize(file: &Path) -> Result<Vec<(u64, String, String)>, String> {
    let said = say(&["sanitize", file.to_str().expect("a plain path"), "--output-format", "json"]);
    if said.status == 2 {
        return Err(said.stderr);
    }
    let report = said.json();
    let launches = report["launches"].as_array().expect("launches");
    if let Some(gap) = launches.iter().find_map(|launch| launch["gap"].as_str()) {
        return Err(format!("not checked: {gap}"));
    }
    if launches.is_empty() {
        return Err("it has no launch".to_owned());
    }
    let found = |d: &Value| {
        let line = d["range"]["start"]["line"].as_u64().expect("a number") + 1;
        let word = |key: &str| d[key].as_str().unwrap_or_default().to_owned();
        (line, word("severity"), format!("{} {}", word("code"), word("message")))
    };
    let found: Vec<_> = report["diagnostics"].as_array().expect("diagnostics").iter().map(found).collect();
    let counts = found.iter().any(|(_, severity, _)| severity != "hint");
    if said.status != i32::from(counts) {
        return Err(format!("it ends with {}: {found:?}", said.status));
    }
    Ok(found)
}

fn judge(pair: &Pair) -> Result<(), String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |twin: &str, text: &str| {
        let path = folder.path().join(format!("{twin}.py"));
        fs::write(&path, text).expect("the folder is ours");
        path
    };
    let right = sanitize(&path("right", &pair.right)).map_err(|e| format!("the right twin: {e}"))?;
    if !right.is_empty() {
        return Err(format!("the right twin is told: {right:?}\n{}", pair.right));
    }
    let wrong = sanitize(&path("wrong", &pair.wrong)).map_err(|e| format!("the wrong twin: {e}"))?;
    let is_own = |(line, _, sentence): &(u64, String, String)| *line == pair.line && sentence.starts_with(&pair.code);
    let others = wrong.iter().any(|found| !is_own(found) && found.1 != "hint");
    match (wrong.iter().any(is_own), others, pair.is_missed) {
        (true, false, false) | (false, _, true) => Ok(()),
        (true, _, true) => Err("it is found now: take `missed` away".to_owned()),
        _ => Err(format!("{} on line {} was to be found alone, but:\n{wrong:#?}\n{}", pair.code, pair.line, pair.wrong)),
    }
}

/// Nothing that counts is found in the examples.
fn examples_are_clean() -> Result<(), String> {
    let mut seen = 0;
    for file in ["vector_add.py", "softmax.py", "layer_norm.py", "matmul.py"] {
        let text = fs::read_to_string(repository().join("examples").join(file)).map_err(|e| format!("{file}: {e}"))?;
        // What a laptop runs in no time.
        let small = [
            ("1_000_000", "10_000"),
            ("1_000_003", "10_003"),
            ("4096", "64"),
            ("M = 512", "M = 8"),
            ("= 1024,", "= 128,"),
            ("K = 1024 ", "K = 128 "),
        ];
        let text = small.iter().fold(text, |text, (large, small)| text.replace(large, small));
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join(file);
        fs::write(&path, text).expect("the folder is ours");
        let found = sanitize(&path).map_err(|e| format!("{file}: {e}"))?;
        if !found.is_empty() {
            return Err(format!("{file}: {found:#?}"));
        }
        seen += 1;
    }
    if seen == 4 { Ok(()) } else { Err(format!("{seen} examples")) }
}

fn main() {
    let pairs = twins::pairs("tests/sanitize");
    let mut trials: Vec<Trial> =
        pairs.into_iter().map(|pair| Trial::test(pair.name.clone(), move || Ok(judge(&pair)?))).collect();
    trials.push(Trial::test("examples", || Ok(examples_are_clean()?)));
    tritium_harness::run(trials)
}
