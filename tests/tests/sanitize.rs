//! Mistakes that only a run shows: each of `tests/sanitize/` beside its right twin, through the real program; and launches in which there is nothing to find.

use std::{fs, path::Path, sync::Arc};

use libtest_mimic::Trial;
use serde_json::Value;
use tritium_tests::{
    repository, say,
    twins::{self, Pair},
};

/// What is found in a file: the line, counted from 1, the severity and a sentence. All of its launches are checked to their end.
fn sanitize(file: &Path, device: &str) -> Result<Vec<(u64, String, String)>, String> {
    let said = say(&["sanitize", file.to_str().expect("a plain path"), "--device", device, "--output-format", "json"]);
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

/// The codes that the simulator finds.
const SIMULATED: &[&str] = &["SAN001", "SAN002", "SAN003", "SAN004", "SAN006", "SAN010", "SAN012"];

fn judge(pair: &Pair, device: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |twin: &str, text: &str| {
        let path = folder.path().join(format!("{twin}.py"));
        fs::write(&path, text).expect("the folder is ours");
        path
    };
    let right = sanitize(&path("right", &pair.right), device).map_err(|e| format!("the right twin: {e}"))?;
    if !right.is_empty() {
        return Err(format!("the right twin is told: {right:?}\n{}", pair.right));
    }
    let wrong = sanitize(&path("wrong", &pair.wrong), device).map_err(|e| format!("the wrong twin: {e}"))?;
    // The simulator follows what is undefined through sums, to where it is stored.
    let is_followed = device == "sim" && pair.code == "SAN003";
    let is_own =
        |(line, _, sentence): &(u64, String, String)| (*line == pair.line || is_followed) && sentence.starts_with(&pair.code);
    let others = device == "cpu" && wrong.iter().any(|found| !is_own(found) && found.1 != "hint");
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
        let found = sanitize(&path, "cpu").map_err(|e| format!("{file}: {e}"))?;
        if !found.is_empty() {
            return Err(format!("{file}: {found:#?}"));
        }
        seen += 1;
    }
    if seen == 4 { Ok(()) } else { Err(format!("{seen} examples")) }
}

/// A library, whose functions nobody calls.
const LIBRARY: &str = r#"import torch
import triton
import triton.language as tl


@triton.jit
def roots(X, Y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i, mask=i < n, other=1.0)
    tl.store(Y + i, tl.sqrt(x), mask=i < n)


@triton.jit
def sums(A, B, Y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(A + i, mask=i < n, other=0.0)
    b = tl.load(B + i, mask=i < n, other=0.0)
    tl.store(Y + i, a + b, mask=i < n)


def root(x):
    y = torch.empty_like(x)
    n = x.numel()
    roots[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)
    return y


def add(a, weight):
    rows, columns = a.shape
    y = torch.empty_like(a)
    n = rows * columns
    sums[(triton.cdiv(n, 64),)](a, weight, y, n, BLOCK=64)
    return y
"#;

/// What is found in a function that is entered rests on the sizes that were chosen, and where these do not go together nothing is told.
fn what_is_entered_is_told_with_what_it_rests_on() -> Result<(), String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("library.py");
    fs::write(&path, LIBRARY).expect("the folder is ours");
    let path = path.to_str().expect("a plain path");
    let said = say(&["sanitize", path, "--all-launches", "--output-format", "json"]);
    let report = said.json();
    let found = report["diagnostics"].as_array().expect("diagnostics");
    let [found] = &found[..] else { return Err(format!("one hint was to be told: {found:#?}")) };
    let is_hint = found["code"] == "SAN008" && found["severity"] == "hint" && found["range"]["start"]["line"] == 9;
    let rests = found["rests_on"].as_array().is_some_and(|names| names.contains(&"x".into()));
    let gap = |name: &str| {
        let launches = report["launches"].as_array().expect("launches");
        launches.iter().find(|launch| launch["kernel"] == name).map(|launch| launch["gap"].to_string()).unwrap_or_default()
    };
    let is_gap = gap("sums").contains("the sizes that were chosen do not go together (line 17: load outside of `weight`");
    if !(is_hint && rests && is_gap && gap("roots") == "null" && said.status == 1) {
        return Err(format!("{report:#}"));
    }
    let said = say(&["sanitize", path, "--launch", "sums", "--set", "weight=f32[rows, columns]", "--output-format", "json"]);
    match (said.status, said.json()["findings"].as_array().map(Vec::len)) {
        (0, Some(0)) => Ok(()),
        _ => Err(said.stdout),
    }
}

fn main() {
    let pairs = twins::pairs("tests/sanitize");
    let mut trials = Vec::new();
    for pair in pairs {
        let pair = Arc::new(pair);
        if SIMULATED.contains(&pair.code.as_str()) {
            let pair = Arc::clone(&pair);
            trials.push(Trial::test(format!("sim: {}", pair.name), move || Ok(judge(&pair, "sim")?)));
        }
        trials.push(Trial::test(pair.name.clone(), move || Ok(judge(&pair, "cpu")?)));
    }
    trials.push(Trial::test("entered", || Ok(what_is_entered_is_told_with_what_it_rests_on()?)));
    trials.push(Trial::test("examples", || Ok(examples_are_clean()?)));
    tritium_harness::run(trials)
}
