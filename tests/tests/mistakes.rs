//! Mistakes that Triton compiles without a word: each of `tests/mistakes/` beside its right twin, through the real program.

use std::{
    collections::HashMap,
    fs,
    path::Path,
    sync::{Arc, OnceLock},
};

use libtest_mimic::Trial;
use serde_json::Value;
use tritium_tests::{
    say,
    twins::{self, Pair},
};

/// What the program says of every file of a folder, by the file's name.
fn check(folder: &Path) -> HashMap<String, Vec<Value>> {
    let report = say(&["check", folder.to_str().expect("a plain path"), "--output-format", "json"]).json();
    let mut out: HashMap<String, Vec<Value>> = HashMap::new();
    for diagnostic in report["diagnostics"].as_array().expect("diagnostics") {
        let file = Path::new(diagnostic["file"].as_str().expect("a path"));
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        out.entry(name).or_default().push(diagnostic.clone());
    }
    out
}

fn judge(index: usize, pair: &Pair, said: &HashMap<String, Vec<Value>>) -> Result<(), String> {
    let of = |twin: &str| said.get(&format!("{twin}{index}.py")).map_or(&[][..], Vec::as_slice);
    // The report counts lines from 0.
    let line = |d: &Value, end: &str| d["range"][end]["line"].as_u64().expect("a number") + 1;
    let words =
        |d: &Value| format!("{}:{} {}", line(d, "start"), d["code"].as_str().unwrap_or(""), d["message"].as_str().unwrap_or(""));
    let all = |twin: &str| of(twin).iter().map(words).collect::<Vec<_>>().join("\n");
    let is_false = |d: &&Value| d["code"] == pair.code.as_str() || matches!(d["severity"].as_str(), Some("error" | "warning"));
    if let Some(told) = of("right").iter().find(is_false) {
        return Err(format!("the right twin is told: {}\n{}", words(told), pair.right));
    }
    let stands = |d: &Value| (line(d, "start")..=line(d, "end")).contains(&pair.line);
    let is_found = of("wrong").iter().any(|d| d["code"] == pair.code.as_str() && stands(d));
    match (is_found, pair.is_missed) {
        (true, false) | (false, true) => Ok(()),
        (false, false) => Err(format!("no {} on line {}, but:\n{}\n{}", pair.code, pair.line, all("wrong"), pair.wrong)),
        (true, true) => Err("it is found now: take `missed` away".to_owned()),
    }
}

fn main() {
    let pairs = Arc::new(twins::pairs("tests/mistakes"));
    let said: Arc<OnceLock<HashMap<String, Vec<Value>>>> = Arc::default();
    let ask = |pairs: &[Pair]| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (index, pair) in pairs.iter().enumerate() {
            for (twin, text) in [("right", &pair.right), ("wrong", &pair.wrong)] {
                fs::write(folder.path().join(format!("{twin}{index}.py")), text).expect("the folder is ours");
            }
        }
        check(folder.path())
    };
    let trials = (0..pairs.len()).map(|index| {
        let (pairs, said) = (Arc::clone(&pairs), Arc::clone(&said));
        let name = pairs[index].name.clone();
        Trial::test(name, move || Ok(judge(index, &pairs[index], said.get_or_init(|| ask(&pairs)))?))
    });
    tritium_harness::run(trials.collect())
}
