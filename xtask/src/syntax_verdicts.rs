//! `cargo xtask verdicts`: what two versions of CPython say of the corpora and of the mutated statements, as tables.
//!
//! **The tables are the only judge that tests have**; this is the only place that runs a real Python for them. The judges are
//! the machine's Python 3.11 and the Python 3.14 of the npm package pyodide, which runs in node.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{corpora, root};

/// The corpora that the tables are about; the test has the same list.
const JUDGED: &[&str] = &["conch-triton-kernels", "cpython-3.11", "cpython-3.14", "fla-core", "liger-kernel", "torchao"];

struct Answers {
    version: String,
    /// `ok`, or `no`, a tab and why.
    verdicts: Vec<String>,
}

/// Writes the tables anew.
pub(crate) fn run() -> Result<(), String> {
    corpora::run()?;
    let data = root().join("tests/data/syntax");
    let write = |name: &str, text: String| fs::write(data.join(name), text).map_err(|error| format!("{name}: {error}"));

    let files = files()?;
    let paths: Vec<String> =
        files.iter().map(|(name, _)| serde_json::json!({"path": corpora::folder().join(name)}).to_string()).collect();
    let mut digest = blake3::Hasher::new();
    for (name, bytes) in &files {
        digest.update(name.as_bytes()).update(&[0]).update(blake3::hash(bytes).as_bytes());
    }
    let digest = digest.finalize().to_hex();
    let (python_3_11, python_3_14) = (judge_3_11(&paths)?, judge_3_14(&paths)?);
    for (name, answers) in [("3.11", &python_3_11), ("3.14", &python_3_14)] {
        let mut text = format!(
            "# The files of the corpora that CPython {} rejects, and why; it takes all others. `cargo xtask verdicts` writes this.\n\
             files {}\ndigest {digest}\nrejected\n",
            answers.version,
            files.len()
        );
        for ((file, _), verdict) in files.iter().zip(&answers.verdicts) {
            if let Some(why) = verdict.strip_prefix("no\t") {
                let _ = writeln!(text, "{file}\t{why}");
            }
        }
        write(&format!("rejected-{name}.txt"), text)?;
    }

    let statements = fs::read_to_string(data.join("statements.txt")).map_err(|error| format!("statements.txt: {error}"))?;
    let mutated = pipe(Command::new("python3").arg(script("mutate.py")), &statements)?;
    let texts: Vec<String> = mutated.lines().map(|line| serde_json::json!({"text": unescape(line)}).to_string()).collect();
    let (python_3_11, python_3_14) = (judge_3_11(&texts)?, judge_3_14(&texts)?);
    let mut table = String::new();
    for ((line, old), new) in mutated.lines().zip(&python_3_11.verdicts).zip(&python_3_14.verdicts) {
        let _ = writeln!(table, "{} {}\t{line}", &old[..2], &new[..2]);
    }
    write("mutated.tsv", table)
}

/// The names and bytes of every Python file, sorted.
fn files() -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut paths = Vec::new();
    for name in JUDGED {
        walk(&corpora::folder().join(name), &mut paths);
    }
    let mut files = Vec::new();
    for path in paths {
        let name = path.strip_prefix(corpora::folder()).unwrap_or(&path).to_string_lossy().into_owned();
        files.push((name, fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?));
    }
    files.sort();
    Ok(files)
}

fn walk(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            walk(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "py") {
            out.push(path);
        }
    }
}

fn script(name: &str) -> PathBuf {
    root().join("xtask/src/judge").join(name)
}

fn judge_3_11(requests: &[String]) -> Result<Answers, String> {
    for python in ["python3.11", "python3"] {
        let version = Command::new(python).arg("--version").output();
        if version.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).starts_with("Python 3.11.")) {
            return answers(pipe(Command::new(python).arg(script("judge.py")), &requests.join("\n"))?, requests.len());
        }
    }
    Err("the verdicts need a Python 3.11 named python3.11 or python3".to_owned())
}

fn judge_3_14(requests: &[String]) -> Result<Answers, String> {
    let mut node = Command::new("node");
    node.arg(script("judge.mjs")).arg(corpora::folder().join("pyodide")).arg(script("judge.py"));
    answers(pipe(&mut node, &requests.join("\n"))?, requests.len())
}

fn answers(text: String, expected: usize) -> Result<Answers, String> {
    let mut lines = text.lines().map(str::to_owned);
    let version = lines.next().unwrap_or_default();
    let verdicts: Vec<String> = lines.collect();
    if verdicts.len() != expected {
        return Err(format!("Python {version} answered {} of {expected} questions", verdicts.len()));
    }
    Ok(Answers { version, verdicts })
}

fn pipe(command: &mut Command, input: &str) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |error: std::io::Error| format!("cannot run {program}: {error}");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
    let mut stdin = child.stdin.take().ok_or("the child has no input")?;
    // The scripts read all before they answer, so that the two pipes never wait for each other.
    stdin.write_all(input.as_bytes()).map_err(failed)?;
    drop(stdin);
    let output = child.wait_with_output().map_err(failed)?;
    if !output.status.success() {
        return Err(format!("{program} failed"));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{program}: {error}"))
}

/// `\n`, `\t` and `\\` back to what they stand for.
fn unescape(line: &str) -> String {
    let mut out = String::new();
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            (c, false) => out.push(c),
        }
    }
    out
}
