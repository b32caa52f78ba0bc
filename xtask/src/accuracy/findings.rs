//! What `tritium check` says of published packages at default settings, beside what people who read the kernels say of it.
//!
//! Packages are there to be used, so an error in one is to be explained: `tests/data/accuracy/reviews.tsv` holds the verdicts (`path, line,
//! code, verdict, reason`; `true`, `false` or `unclear`). **An error that is false or that nobody has read is short of the goal; so are
//! samples with more than one false finding in twenty.** Names and verdicts are recorded, never source.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    process::Command,
};

use serde_json::Value;

use super::{Judge, Measured, PACKAGES, percent};

/// Hints are opinions that are off for most people: they are counted, not recorded.
const RECORDED: &[&str] = &["error", "warning", "performance"];

struct Finding {
    path: String,
    line: u64,
    kernel: String,
    code: String,
    severity: String,
    message: String,
}

struct Review {
    verdict: String,
    severity: String,
}

pub(crate) fn measure(judge: &Judge) -> Result<Measured, String> {
    let mut measured =
        Measured { section: String::new(), disagreements: BTreeSet::new(), details: String::new(), below: Vec::new() };
    let mut all = Vec::new();
    let mut checks = String::new();
    for package in PACKAGES {
        let answer = json(judge, &["check", package, "--output-format", "json"])?;
        let number = |key: &str| answer[key].as_u64().unwrap_or_default();
        let found = findings(&answer);
        let count = |severity: &str| found.iter().filter(|f| f.severity == severity).count();
        let _ = writeln!(
            checks,
            "| {package} | {} | {} | {} | {} | {} | {} | {} |",
            number("files"),
            number("kernels"),
            number("specialisations"),
            count("error"),
            count("warning"),
            count("performance"),
            count("hint"),
        );
        all.extend(found);
    }
    let reviews = reviews(judge, &all)?;
    record(&all, &mut measured);
    below(&all, &reviews, &mut measured);
    measured.section = format!(
        "## What check finds in published packages\n\n\
         `tritium check` at default settings; every kernel under every specialisation that is known or assumed.\n\n\
         | package | files | kernels | specialisations | errors | warnings | performance | hints |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|\n{checks}\n{}\n{}",
        by_code(&all),
        verdicts(&reviews),
    );
    Ok(measured)
}

/// How much of the packages is understood at all: the slow half, measured only when the page is written.
pub(crate) fn understood(judge: &Judge) -> Result<String, String> {
    let mut out = "## How much is understood\n\n\
        `tritium stats`: the expressions in bodies of kernels and of the helpers they call, under each kernel's first specialisation. Of the kernels that \
        are not elaborated some have an error of their own, whatever they are given, and some, in files for other devices, use what no Triton for NVIDIA has \
        or takes.\n\n\
        | package | kernels | helpers | elaborated | wrong | other devices | of the rest elaborated | expressions reached | typed | panics |\n\
        |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    let mut launches = "\nPlaces that launch a kernel: those where of at least one argument the type is known, where every argument is, where no more \
        than sizes, numbers and flags are left open, and where element types are left open as well. Of the others some argument has no more than \
        what the kernel does with it.\n\n\
        | package | launches | some type | every argument | but values | but element types |\n\
        |---|---:|---:|---:|---:|---:|\n"
        .to_owned();
    for package in PACKAGES {
        let answer = json(judge, &["stats", package, "--output-format", "json"])?;
        let number = |key: &str| answer[key].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or_default();
        let reached = number("expressions").saturating_sub(number("unreached"));
        let _ = writeln!(
            out,
            "| {package} | {} | {} | {} | {} | {} | {} | {reached} | {} | {} |",
            number("kernels"),
            number("helpers"),
            percent(number("elaborated"), number("kernels")),
            number("wrong"),
            number("other_devices"),
            percent(number("elaborated"), number("kernels").saturating_sub(number("wrong") + number("other_devices"))),
            percent(number("typed_expressions"), reached),
            number("panics"),
        );
        let sites = |key: &str| answer["launches"][key].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or_default();
        let known = sites("whole") + sites("arguments");
        let but_values = known + sites("but_values");
        let but_types = but_values + sites("but_element_types");
        let _ = writeln!(
            launches,
            "| {package} | {} | {} | {known} | {} | {} |",
            sites("all"),
            percent(sites("some_type"), sites("all")),
            percent(but_values, sites("all")),
            percent(but_types, sites("all")),
        );
    }
    Ok(out + &launches)
}

fn json(judge: &Judge, arguments: &[&str]) -> Result<Value, String> {
    let output = Command::new(&judge.tritium)
        .args(arguments)
        .current_dir(&judge.corpora)
        .output()
        .map_err(|e| format!("{}: {e}", judge.tritium.display()))?;
    serde_json::from_slice(&output.stdout)
        .map_err(|e| format!("tritium {}: {e}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr)))
}

fn findings(answer: &Value) -> Vec<Finding> {
    let word = |found: &Value, key: &str| found[key].as_str().unwrap_or_default().to_owned();
    let each = answer["diagnostics"].as_array().into_iter().flatten().map(|found| Finding {
        path: word(found, "file").replace('\\', "/"),
        line: found["range"]["start"]["line"].as_u64().unwrap_or_default() + 1,
        kernel: word(found, "kernel"),
        code: word(found, "code"),
        severity: word(found, "severity"),
        message: word(found, "message"),
    });
    each.collect()
}

/// The verdicts on what is still found.
fn reviews(judge: &Judge, all: &[Finding]) -> Result<BTreeMap<(String, u64, String), Review>, String> {
    let path = judge.root.join("tests/data/accuracy/reviews.tsv");
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut out = BTreeMap::new();
    for row in text.lines().skip(1) {
        let cells: Vec<&str> = row.split('\t').collect();
        let [file, line, code, verdict, _] = cells[..] else {
            return Err(format!("{}: `{row}` is no review: path, line, code, verdict, reason", path.display()));
        };
        let line = line.parse().map_err(|_| format!("{}: `{line}` is no line", path.display()))?;
        if !matches!(verdict, "true" | "false" | "unclear") {
            return Err(format!("{}: `{verdict}` is no verdict", path.display()));
        }
        if let Some(found) = all.iter().find(|f| f.path == file && f.line == line && f.code == code) {
            let review = Review { verdict: verdict.to_owned(), severity: found.severity.clone() };
            out.insert((file.to_owned(), line, code.to_owned()), review);
        }
    }
    Ok(out)
}

/// Several of one code in one kernel are numbered, so that fewer are no change for the worse.
fn record(all: &[Finding], measured: &mut Measured) {
    let mut seen: BTreeMap<[&str; 4], usize> = BTreeMap::new();
    for found in all.iter().filter(|f| RECORDED.contains(&f.severity.as_str())) {
        let nth = seen.entry([&found.path, &found.kernel, &found.code, &found.severity]).or_default();
        *nth += 1;
        let row = format!("{}\t{}\t{}\t{}\t{nth}", found.path, found.kernel, found.code, found.severity);
        let _ = writeln!(
            measured.details,
            "{}:{} {} {} {}: {}",
            found.path, found.line, found.severity, found.code, found.kernel, found.message
        );
        measured.disagreements.insert(row);
    }
}

fn below(all: &[Finding], reviews: &BTreeMap<(String, u64, String), Review>, measured: &mut Measured) {
    for found in all.iter().filter(|f| f.severity == "error") {
        let review = reviews.get(&(found.path.clone(), found.line, found.code.clone()));
        let why = match review {
            None => "an error that nobody has read",
            Some(review) if review.verdict == "false" => "a false error",
            Some(_) => continue,
        };
        measured.below.push(format!("{}:{} {}: {why}", found.path, found.line, found.code));
    }
    for severity in ["warning", "performance"] {
        let of = reviews.values().filter(|r| r.severity == severity);
        let (all, wrong) = (of.clone().count(), of.filter(|r| r.verdict == "false").count());
        if wrong * 20 > all {
            measured.below.push(format!("{wrong} of {all} reviewed findings ({severity}) are false"));
        }
    }
}

fn by_code(all: &[Finding]) -> String {
    let mut counts: BTreeMap<(&str, &str), [usize; PACKAGES.len()]> = BTreeMap::new();
    for found in all {
        let package = PACKAGES.iter().position(|p| found.path.split('/').next() == Some(p));
        if let Some(package) = package {
            counts.entry((&found.severity, &found.code)).or_default()[package] += 1;
        }
    }
    let mut out = format!("| | code | {} |\n|---|---|{}\n", PACKAGES.join(" | "), "---:|".repeat(PACKAGES.len()));
    for ((severity, code), counts) in counts {
        let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
        let _ = writeln!(out, "| {severity} | {code} | {} |", counts.join(" | "));
    }
    out
}

fn verdicts(reviews: &BTreeMap<(String, u64, String), Review>) -> String {
    let mut out = "Read by hand, kernel beside finding (`tests/data/accuracy/reviews.tsv`):\n\n\
        | | read | true | unclear | false |\n|---|---:|---:|---:|---:|\n"
        .to_owned();
    for severity in RECORDED {
        let count = |verdict: &str| reviews.values().filter(|r| r.severity == *severity && r.verdict == verdict).count();
        let [yes, unclear, no] = ["true", "unclear", "false"].map(count);
        let _ = writeln!(out, "| {severity} | {} | {yes} | {unclear} | {no} |", yes + unclear + no);
    }
    out
}
