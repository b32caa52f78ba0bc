//! What `tritium sanitize` finds in the launches of published packages, which are entered with sizes that nobody gave.
//!
//! Packages are there to be used: **what is found and counts is false until somebody has read it**; what is accepted is recorded by its place. Of
//! launches whose sizes do not go together nothing is told, and they are no clean ones.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    process::Command,
};

use serde_json::Value;

use super::{Judge, Measured, PACKAGES};

/// What `tritium` puts before the reason where the sizes of a launch do not go together.
const MISFIT: &str = "the sizes that were chosen do not go together";
/// Launches that have to run.
const GOAL: usize = 500;
/// Its launches take many minutes.
const LEFT_OUT: &str = "fla-core";

/// What came of launches.
#[derive(Default)]
struct Tally {
    clean: usize,
    hinted: usize,
    misfits: usize,
    not_run: usize,
    counting: usize,
}

impl Tally {
    fn run(&self) -> usize {
        self.clean + self.hinted + self.misfits
    }

    fn row(&self, name: &str) -> String {
        let Tally { clean, hinted, misfits, not_run, counting } = self;
        let all = self.run() + not_run;
        format!("| {name} | {all} | {} | {clean} | {hinted} | {misfits} | {not_run} | {counting} |\n", self.run())
    }
}

pub(crate) fn measure(judge: &Judge) -> Result<Measured, String> {
    let mut measured =
        Measured { section: String::new(), disagreements: BTreeSet::new(), details: String::new(), below: Vec::new() };
    let (mut rows, mut total, mut codes) = (String::new(), 0, BTreeMap::<String, usize>::new());
    for package in PACKAGES.iter().filter(|package| **package != LEFT_OUT) {
        let mut tally = Tally::default();
        let answer = sanitized(judge, package)?;
        for file in answer["files"].as_array().into_iter().flatten() {
            add(file, &mut tally, &mut measured, &mut codes);
        }
        total += tally.run();
        rows += &tally.row(package);
    }
    if total < GOAL {
        measured.below.push(format!("{total} launches run, of {GOAL}"));
    }
    let codes: Vec<String> = codes.iter().map(|(code, count)| format!("{code} {count}")).collect();
    measured.section = format!(
        "## What sanitize finds in published packages\n\n\
         `tritium sanitize PACKAGE` on the CPU: the functions around launches are entered with small sizes that nobody gave, so what is found is a hint. Where a \
         launch leaves a tensor, the sizes do not go together: others are tried, and where none do, nothing is told of it.\n\n\
         | package | launches | run | clean | with hints | sizes do not go together | not run | findings that count |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|\n{rows}\nHints by code: {}.\n",
        if codes.is_empty() { "none".to_owned() } else { codes.join(", ") },
    );
    Ok(measured)
}

fn add(file: &Value, tally: &mut Tally, measured: &mut Measured, codes: &mut BTreeMap<String, usize>) {
    let list = |key: &str| file[key].as_array().cloned().unwrap_or_default();
    for launch in list("launches") {
        // A loop launches the same again and again: where nothing is wrong with that, it counts once.
        let is_again = launch["launch"].as_str().is_some_and(|name| name.contains('#'));
        let is_told = launch["findings"] != 0 || launch["gap"].as_str().is_some_and(|gap| !gap.starts_with("not launched"));
        if is_again && !is_told {
            continue;
        }
        let place = match launch["gap"].as_str() {
            Some(gap) if gap.starts_with(MISFIT) => &mut tally.misfits,
            Some(_) => &mut tally.not_run,
            None if launch["findings"] != 0 => &mut tally.hinted,
            None => &mut tally.clean,
        };
        *place += 1;
    }
    for found in list("diagnostics") {
        let word = |key: &str| found[key].as_str().unwrap_or_default();
        if word("severity") == "hint" {
            *codes.entry(word("code").to_owned()).or_default() += 1;
            continue;
        }
        tally.counting += 1;
        let line = found["range"]["start"]["line"].as_u64().unwrap_or_default() + 1;
        let row = format!("{}\t{line}\t{}", word("file").replace('\\', "/"), word("code"));
        let _ = writeln!(measured.details, "{row}\t{}", word("message"));
        measured.disagreements.insert(row);
    }
}

/// A launch is given up after this long: numbers that nobody gave may be the bounds of its loops.
const LAUNCH_SECONDS: &str = "20";

fn sanitized(judge: &Judge, package: &str) -> Result<Value, String> {
    let output = Command::new(&judge.tritium)
        .args(["sanitize", package, "--output-format", "json", "--timeout", LAUNCH_SECONDS])
        .current_dir(&judge.corpora)
        .output()
        .map_err(|e| format!("{}: {e}", judge.tritium.display()))?;
    serde_json::from_slice(&output.stdout)
        .map_err(|e| format!("tritium sanitize {package}: {e}: {}", String::from_utf8_lossy(&output.stderr)))
}
