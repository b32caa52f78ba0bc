//! Kernels of published packages through Tritium to machine code, beside what Triton itself makes of them (`compiled.triton.tsv`, which
//! `tests/judge/compiled.py` records).
//!
//! Recording asks for machine code of every kernel, which takes ten minutes of two cores; a check asks for PTX of every [`PTX_OF`]th and for machine
//! code of every [`MACHINE_CODE_OF`]th, which takes one. **What is not compiled is counted by the reason that a user is told; a kernel without an
//! answer or without a reason is a defect and fails the check.**

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt::Write as _,
};

use serde_json::Value;

use super::{Judge, Measured, ask::batch, corpus, percent, share, table};

/// Of how many kernels a check asks for the PTX of one.
const PTX_OF: usize = 3;
/// Of how many a check asks for the machine code of one; a multiple of the other.
const MACHINE_CODE_OF: usize = 12;
/// What of Triton's kernels must compile, in percent.
const WANTED: f64 = 95.0;
/// As Triton compiled them.
const GPU: &str = "sm_90";
/// The packages that were recorded.
const PACKAGES: &[&str] = &["conch-triton-kernels", "fla-core", "liger-kernel"];

/// What ptxas said of Triton's kernel.
struct Theirs {
    registers: u64,
    spilled: u64,
    local: u64,
}

pub(crate) fn measure(judge: &Judge) -> Result<Measured, String> {
    let record = judge.root.join("tests/data/accuracy/compiled.triton.tsv");
    let (mut theirs, mut not) = (HashMap::new(), 0);
    for cells in table(&record)? {
        let [path, function, verdict, registers, spilled, local, ..] = &cells[..] else { continue };
        let number = |text: &str| text.parse().map_err(|_| format!("{}: {function}: {text:?} is no number", record.display()));
        if verdict == "ok" {
            let figures = Theirs { registers: number(registers)?, spilled: number(spilled)?, local: number(local)? };
            theirs.insert((path.clone(), function.clone()), figures);
        } else {
            not += 1;
        }
    }
    let (rows, _) = corpus::rows(judge)?;
    let rows: Vec<corpus::Row> =
        rows.into_iter().filter(|row| theirs.contains_key(&(row.path.clone(), row.function.clone()))).collect();
    // ptxas takes longest where registers run out; a check on a slow machine stays within its limit.
    let is_light = |row: &corpus::Row| {
        theirs.get(&(row.path.clone(), row.function.clone())).is_some_and(|t| t.registers < 200 && t.spilled == 0)
    };
    let asked = |(index, row): (usize, &corpus::Row)| match judge.quick {
        false => Some("sass"),
        true if index % MACHINE_CODE_OF == 0 && is_light(row) => Some("sass"),
        true => (index % PTX_OF == 0).then_some("ptx"),
    };
    let stages: Vec<Option<&str>> = rows.iter().enumerate().map(asked).collect();
    let answers = answers(judge, &rows, &stages)?;

    let (mut disagreements, mut details) = (BTreeSet::new(), String::new());
    let mut section = String::from(
        "## Kernels to machine code\n\n`tritium batch --through sass` for sm_90 under the signatures of the verdicts above, four warps, for every kernel that Triton 3.6 compiles there. The tests ask again for the PTX of every third kernel and for the machine code of every twelfth.\n\n| package | compiled by Triton | PTX that ptxas accepts | spill for Triton | spill here | only here | registers beside Triton's |\n|---|--:|--:|--:|--:|--:|--:|\n",
    );
    let (mut all, mut reasons, mut below) = (Count::default(), BTreeMap::<String, usize>::new(), Vec::new());
    for package in PACKAGES {
        let mut count = Count::default();
        for ((row, answer), _) in
            rows.iter().zip(&answers).zip(&stages).filter(|((row, _), asked)| row.package == *package && asked.is_some())
        {
            let Some(theirs) = theirs.get(&(row.path.clone(), row.function.clone())) else { continue };
            let name = format!("{}\t{}", row.path, row.function);
            match outcome(answer.as_ref()) {
                Outcome::Compiled(ours) => {
                    if let Some(what) = count.add(theirs, ours) {
                        disagreements.insert(format!("{name}\t{what}"));
                        let _ = writeln!(details, "{} {}: {what}: {}", row.path, row.function, figures(answer.as_ref()));
                    }
                }
                Outcome::Refused(reason) => {
                    count.kernels += 1;
                    *reasons.entry(class(&reason)).or_default() += 1;
                    disagreements.insert(format!("{name}\tnot compiled"));
                    let _ = writeln!(details, "{} {}: {reason}", row.path, row.function);
                }
                Outcome::Defect(what) => {
                    count.kernels += 1;
                    *reasons.entry("a defect".to_owned()).or_default() += 1;
                    disagreements.insert(format!("{name}\tdefect"));
                    below.push(format!("{} {}: {what}", row.path, row.function));
                }
            }
        }
        let _ = writeln!(section, "| {package} {count}");
        all.join(count);
    }
    let _ = writeln!(
        section,
        "| all {all}\n\n{not} kernels that Triton's front end accepts do not compile there (a layout that its passes refuse, an assembly text that does not fit, or minutes of processor time)."
    );
    if !reasons.is_empty() {
        let _ = writeln!(section, "\n| not compiled here | kernels |\n|---|--:|");
        let mut reasons: Vec<(&String, &usize)> = reasons.iter().collect();
        reasons.sort_by_key(|(reason, n)| (std::cmp::Reverse(**n), reason.as_str()));
        for (reason, n) in reasons {
            let _ = writeln!(section, "| {} | {n} |", reason.replace('|', "\\|"));
        }
    }
    if share(all.compiled, all.kernels) < WANTED {
        below.push(format!("kernels compiled: {} of {} ({})", all.compiled, all.kernels, percent(all.compiled, all.kernels)));
    }
    Ok(Measured { section, disagreements, details, below })
}

/// The answers to those rows that are asked through a stage.
fn answers(judge: &Judge, rows: &[corpus::Row], stages: &[Option<&str>]) -> Result<Vec<Option<Value>>, String> {
    let mut answers = vec![None; rows.len()];
    for stage in ["ptx", "sass"] {
        let chosen: Vec<usize> = (0..rows.len()).filter(|&index| stages[index] == Some(stage)).collect();
        let requests = chosen.iter().map(|&index| {
            let mut request = rows[index].request.clone();
            request["gpu"] = GPU.into();
            request
        });
        for (index, answer) in chosen.iter().zip(batch(judge, requests.collect(), stage)?) {
            answers[*index] = answer;
        }
    }
    Ok(answers)
}

/// Figures of our machine code; `None` where only PTX was asked for.
type Ours = Option<(u64, u64, u64)>;

enum Outcome {
    Compiled(Ours),
    /// With what the user is told.
    Refused(String),
    Defect(String),
}

fn outcome(answer: Option<&Value>) -> Outcome {
    let Some(answer) = answer else { return Outcome::Defect("no answer".to_owned()) };
    if answer["ok"] == true {
        let figure = |name: &str| answer[name].as_u64();
        return Outcome::Compiled(
            figure("registers").zip(figure("spill_bytes")).zip(figure("local_bytes")).map(|((r, s), l)| (r, s, l)),
        );
    }
    let found = answer["diagnostics"].as_array();
    let mut errors = found.into_iter().flatten().filter(|d| d["severity"] == "error").filter_map(|d| d["message"].as_str());
    match errors.next() {
        Some(message) if message.contains("a defect in Tritium") || message.contains("compiler process") => {
            Outcome::Defect(message.to_owned())
        }
        Some(message) if !message.is_empty() => Outcome::Refused(message.to_owned()),
        _ => Outcome::Defect("refused without a reason".to_owned()),
    }
}

fn figures(answer: Option<&Value>) -> String {
    let figure = |name: &str| answer.and_then(|a| a[name].as_u64()).unwrap_or(0);
    format!(
        "{} registers, {} bytes spilled, {} of local memory",
        figure("registers"),
        figure("spill_bytes"),
        figure("local_bytes")
    )
}

/// A reason without the numbers of one kernel.
fn class(reason: &str) -> String {
    // The first line of some only names the kernel.
    let line = reason.lines().find(|line| !line.ends_with(':')).unwrap_or(reason).trim();
    let mut out = String::new();
    for c in line.chars() {
        match c {
            '0'..='9' if out.ends_with('N') => {}
            '0'..='9' => out.push('N'),
            c => out.push(c),
        }
    }
    out
}

#[derive(Default)]
struct Count {
    kernels: usize,
    compiled: usize,
    /// Those whose machine code was asked for.
    measured: usize,
    spilled_there: usize,
    spilled_here: usize,
    only_here: usize,
    /// Of the ratios of registers.
    logarithms: f64,
}

impl Count {
    /// Counts a compiled kernel; what of it Triton does better.
    fn add(&mut self, theirs: &Theirs, ours: Ours) -> Option<&'static str> {
        self.kernels += 1;
        self.compiled += 1;
        let (registers, spilled, local) = ours?;
        self.measured += 1;
        self.spilled_there += usize::from(theirs.spilled > 0);
        self.spilled_here += usize::from(spilled > 0);
        self.logarithms += (registers.max(1) as f64 / theirs.registers.max(1) as f64).ln();
        let what = match (spilled > 0 && theirs.spilled == 0, local > 0 && theirs.local == 0) {
            (true, _) => "spills",
            (false, true) => "local memory",
            (false, false) => return None,
        };
        self.only_here += 1;
        Some(what)
    }

    fn join(&mut self, other: Count) {
        self.kernels += other.kernels;
        self.compiled += other.compiled;
        self.measured += other.measured;
        self.spilled_there += other.spilled_there;
        self.spilled_here += other.spilled_here;
        self.only_here += other.only_here;
        self.logarithms += other.logarithms;
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Count { kernels, compiled, measured, spilled_there, spilled_here, only_here, logarithms } = self;
        let ratio = (logarithms / (*measured).max(1) as f64).exp();
        let share = percent(*compiled, *kernels);
        write!(f, "| {kernels} | {compiled} ({share}) | {spilled_there} | {spilled_here} | {only_here} | {ratio:.2}× |")
    }
}
