//! Files that nobody meant, or that somebody meant to harm, through every command and the language server: each answer comes, none is a crash,
//! and memory stays bounded.
//!
//! The cases lie in `tests/hostile/`: a `.py` file is one; a folder with a `main.py` is one of several files; a `.cases` file holds many, each
//! after a line `# ---- NAME`, and repeats lines between `#: repeat N` and `#: end`. What cannot lie in a repository (devices, bytes that are no
//! text, megabytes) is made by `tests/tests/hostile/odd.rs`.
//! `TRITIUM_HOSTILE_REPORT=1` prints what every case takes, one command after the other; a release build says then what users get.

#[path = "hostile/odd.rs"]
mod odd;
#[path = "hostile/server.rs"]
mod server;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use libtest_mimic::{Arguments, Failed, Trial};
use tritium_tests::limits::{self, Ended};

/// What a command, or the server, may hold in memory.
const MAX_PEAK_MB: u64 = 300;

/// One hostile program: its file to look at, beside which its other files lie.
#[derive(Debug, Clone)]
pub struct Case {
    /// `elaborate/tuples.cases: doubled`
    pub name: String,
    pub files: Vec<(PathBuf, Vec<u8>)>,
}

impl Case {
    fn single(name: String, text: &str) -> Case {
        Case { name, files: vec![("main.py".into(), text.as_bytes().to_vec())] }
    }

    /// Writes the files into a folder, and says which to look at.
    pub fn write(&self, folder: &Path) -> PathBuf {
        for (path, bytes) in &self.files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("the folder is ours");
            fs::write(path, bytes).expect("the folder is ours");
        }
        folder.join("main.py")
    }

    /// Whether it has a launch that can be run, as far as one sees without understanding it.
    fn launches(&self) -> bool {
        let has = |bytes: &[u8], word: &str| bytes.windows(word.len()).any(|window| window == word.as_bytes());
        self.files.iter().any(|(_, bytes)| has(bytes, "# /// tritium") || has(bytes, "]("))
    }
}

fn main() {
    let arguments = Arguments::from_args();
    let groups = Arc::new(groups());
    let mut trials = Vec::new();
    for (index, (name, _)) in groups.iter().enumerate() {
        let groups = Arc::clone(&groups);
        trials.push(Trial::test(format!("commands::{name}"), move || through_commands(&groups[index].1)));
    }
    for (index, (name, _)) in groups.iter().enumerate() {
        let groups = Arc::clone(&groups);
        trials.push(Trial::test(format!("server::{name}"), move || server::answers_meanwhile(&groups[index].1)));
    }
    trials.extend(odd::trials());
    libtest_mimic::run(&arguments, trials).exit();
}

/// The cases below `hostile/`, those of one file or folder together.
fn groups() -> Vec<(String, Vec<Case>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("hostile");
    let mut out = Vec::new();
    collect(&root, &root, &mut out);
    assert!(!out.is_empty(), "no cases in {}", root.display());
    out
}

fn collect(root: &Path, folder: &Path, out: &mut Vec<(String, Vec<Case>)>) {
    for path in entries(folder) {
        let name = path.strip_prefix(root).expect("it lies below").display().to_string();
        if path.join("main.py").is_file() {
            let files = entries(&path).into_iter().filter(|file| file.is_file());
            let files = files.map(|file| (file.strip_prefix(&path).expect("it lies below").to_owned(), read(&file))).collect();
            out.push((name.clone(), vec![Case { name, files }]));
        } else if path.is_dir() {
            collect(root, &path, out);
        } else {
            let text = String::from_utf8(read(&path)).expect("a case in the repository is a text");
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("py") => out.push((name.clone(), vec![Case::single(name, &text)])),
                Some("cases") => out.push((name.clone(), snippets(&name, &text))),
                _ => {}
            }
        }
    }
}

/// What follows each line `# ---- NAME` of a file; what stands before the first belongs to all of them.
fn snippets(file: &str, text: &str) -> Vec<Case> {
    let text = repeated(text);
    let mut parts = text.split("\n# ---- ");
    let before = parts.next().unwrap_or_default();
    let cases: Vec<Case> = parts
        .map(|part| {
            let (name, body) = part.split_once('\n').unwrap_or((part, ""));
            Case::single(format!("{file}: {}", name.trim()), &format!("{before}\n{body}"))
        })
        .collect();
    assert!(!cases.is_empty(), "{file} holds no line `# ---- NAME`");
    cases
}

/// The text with the lines between `#: repeat N` and `#: end` written N times; `$(A+B*i)` in them is that number for the i-th time.
fn repeated(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, block)) = rest.split_once("#: repeat ") {
        out += before;
        let (count, block) = block.split_once('\n').expect("a line");
        let (block, after) = block.split_once("#: end\n").expect("a repetition ends with `#: end`");
        for i in 0..count.trim().parse::<i64>().expect("a number of repetitions") {
            let mut parts = block.split("$(");
            out += parts.next().unwrap_or_default();
            for part in parts {
                let (formula, text) = part.split_once(')').expect("`$(A+B*i)`");
                let (start, step) = formula.strip_suffix("*i").and_then(|f| f.split_once('+')).expect("`$(A+B*i)`");
                let number = |digits: &str| digits.parse::<i64>().expect("`$(A+B*i)`");
                out += &(number(start) + number(step) * i).to_string();
                out += text;
            }
        }
        rest = after;
    }
    out + rest
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut out: Vec<PathBuf> = fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("an entry").path()).collect();
    out.sort();
    out
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Commands that take many files at once.
const TOGETHER: &[&[&str]] = &[&["check"], &["stats", "--through", "tile", "--output-format", "json"]];
/// Commands of one file: with and without code of its kernels. `stats` has elaborated all cases by then, so one case in so many is enough, but
/// for those that are files or folders of their own; with `TRITIUM_HOSTILE_REPORT` it is every one.
const ALONE_EVERY: usize = 8;
const ALONE: &[&[&str]] =
    &[&["emit", "--stage", "items"], &["emit", "--stage", "tile"], &["emit", "--stage", "ptx"], &["report"], &["configs"]];
/// The commands for a case with a launch.
const LAUNCHED: &[&[&str]] = &[&["run", "--timeout", "10"], &["run", "--timeout", "10", "--device", "sim"]];

fn through_commands(cases: &[Case]) -> Result<(), Failed> {
    let reports = std::env::var_os("TRITIUM_HOSTILE_REPORT").is_some();
    let folder = tempfile::tempdir()?;
    let mut failures = Vec::new();
    let numbered: Vec<(String, PathBuf)> = cases
        .iter()
        .enumerate()
        .map(|(number, case)| {
            let place = format!("case{number}");
            let main = case.write(&folder.path().join(&place));
            (place, main)
        })
        .collect();
    for command in TOGETHER {
        // One process for all; where it fails, one for each, to name the case.
        if !reports
            && cases.len() > 1
            && wrong(&limits::run(&[command, &["."][..]].concat(), folder.path(), limits::GENEROUS)).is_none()
        {
            continue;
        }
        for (case, (place, _)) in cases.iter().zip(&numbered) {
            look(case, command, place, folder.path(), reports, &mut failures);
        }
    }
    for (case, (_, main)) in cases.iter().zip(&numbered).step_by(if reports { 1 } else { ALONE_EVERY }) {
        let launched = if case.launches() { LAUNCHED } else { &[] };
        for command in ALONE.iter().chain(launched) {
            look(case, command, main.to_str().expect("a plain path"), folder.path(), reports, &mut failures);
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

fn look(case: &Case, command: &[&str], path: &str, folder: &Path, reports: bool, failures: &mut Vec<String>) {
    let ended = limits::run(&[command, &[path][..]].concat(), folder, limits::GENEROUS);
    if reports {
        eprintln!("{:>6.2} s {:>5} MB  {}  {}", ended.took.as_secs_f64(), ended.peak_mb, command.join(" "), case.name);
    }
    if let Some(why) = wrong(&ended) {
        failures.push(format!("{}: `tritium {}`: {why}", case.name, command.join(" ")));
    }
}

/// What was wrong with a run, if anything was.
pub fn wrong(ended: &Ended) -> Option<String> {
    if let Some(defect) = ended.defect() {
        return Some(defect);
    }
    if ended.peak_mb > MAX_PEAK_MB {
        return Some(format!("took {} MB", ended.peak_mb));
    }
    // `stats` catches panics, and counts them.
    let panics = ended.stdout.lines().find(|line| line.contains("\"panics\":") && !line.contains("\"panics\": 0"));
    panics.map(|line| format!("caught a panic: {line}"))
}
