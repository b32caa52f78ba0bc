//! Mistakes that Triton compiles without a word: each of `tests/mistakes/` beside its right twin, through the real program.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use libtest_mimic::Trial;
use serde_json::Value;
use tritium_tests::{repository, say};

const HEADER: &str = "import torch\nimport triton\nimport triton.language as tl\n\n\n";
/// Where the wrong twin is told if not on the line that differs.
const HERE: &str = "  # here";

/// A right kernel, its wrong twin, and what is said of that.
struct Pair {
    /// `random_numbers: dropout: every program draws the same numbers`
    name: String,
    right: String,
    wrong: String,
    code: String,
    /// Counted from 1, in the wrong twin.
    line: u64,
    /// Not found yet.
    is_missed: bool,
}

impl Pair {
    fn parse(name: String, section: &str) -> Pair {
        let (mut right, mut wrong) = (HEADER.to_owned(), HEADER.to_owned());
        let (mut found, mut here) = (None, None);
        let line_after = |text: &str| text.lines().count() as u64 + 1;
        for line in section.lines() {
            let (line, told_here) = line.strip_suffix(HERE).map_or((line, false), |line| (line, true));
            let (kept, change) = change(line).map_or((line, None), |(kept, change)| (kept, Some(change)));
            right += &format!("{kept}\n");
            if told_here {
                here = Some(line_after(&wrong));
            }
            let Some((is_missed, code, instead)) = change else {
                wrong += &format!("{kept}\n");
                continue;
            };
            assert!(found.is_none(), "{name}: two lines differ");
            found = Some((is_missed, code.to_owned(), line_after(&wrong)));
            if !instead.is_empty() {
                let indent = kept.len() - kept.trim_start().len();
                wrong += &format!("{}{instead}\n", &kept[..indent]);
            }
        }
        let (is_missed, code, differs) = found.unwrap_or_else(|| panic!("{name}: nothing differs"));
        Pair { name, right, wrong, code, line: here.unwrap_or(differs), is_missed }
    }
}

/// `CODE  # CODE: INSTEAD`, or `# missed CODE: INSTEAD`: what stands there, whether it is missed, the code, what stands in the wrong twin.
fn change(line: &str) -> Option<(&str, (bool, &str, &str))> {
    let (kept, comment) = line.rsplit_once("  # ")?;
    let (head, instead) = comment.split_once(':')?;
    let (is_missed, code) = head.strip_prefix("missed ").map_or((false, head), |code| (true, code));
    let is_code = code.len() == 6 && code.is_char_boundary(3) && code[..3].bytes().all(|b| b.is_ascii_uppercase());
    is_code.then(|| (kept, (is_missed, code, instead.trim())))
}

fn pairs() -> Vec<Pair> {
    let folder = repository().join("tests/mistakes");
    let mut files: Vec<PathBuf> = fs::read_dir(&folder).expect("the folder").flatten().map(|e| e.path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "py"));
    files.sort();
    let mut out = Vec::new();
    for file in files {
        let stem = file.file_stem().expect("a name").to_string_lossy();
        let text = fs::read_to_string(&file).expect("a text");
        for section in text.split("# == ").skip(1) {
            let (title, body) = section.split_once('\n').expect("a title and a kernel");
            out.push(Pair::parse(format!("{stem}: {title}"), body));
        }
    }
    out
}

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
    let pairs = Arc::new(pairs());
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
