//! The estimate of registers beside what ptxas gives our own PTX (`registers.exact.tsv`), for every kernel of the published packages and of
//! the numerics suite, with what is live in them at once.
//!
//! `cargo xtask accuracy registers --record` asks for machine code of all of them, one after the other, and writes the exact figures anew: that
//! takes half an hour of one core. Without it only the estimates are made, in seconds. The estimate is what is live and one number more; that and the
//! band around it are measured on the record (`cargo xtask fit`). **Fails when fewer than nine of ten kernels are within the band.**

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    io::{self, BufRead as _, Write as _},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::{
    Judge, Measured,
    ask::{TRITON, batch},
    corpus, percent, share, table,
};

/// What is asked about.
const GPUS: &[&str] = &["sm_80", "sm_90"];
const PACKAGES: &[&str] = &["conch-triton-kernels", "fla-core", "liger-kernel"];
/// Of the packages only under this one: their signatures were recorded for it.
const PACKAGES_GPU: &str = "sm_90";
/// Of a hundred kernels so many are promised to be within the band. The band is whole percents, so a kernel at its edge may be on either side.
const WANTED: f64 = 89.0;

const RECORD: &str = "tests/data/accuracy/registers.exact.tsv";
const HEADER: &str = "family\tfile\tname\tgpu\tregisters\tspill_bytes\tlive\n";

struct Case {
    /// A package, or a file of the suite.
    family: String,
    file: String,
    name: String,
    gpu: &'static str,
    request: Value,
}

impl Case {
    fn key(&self) -> [&str; 3] {
        [&self.file, &self.name, self.gpu]
    }
}

fn cases(judge: &Judge) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for row in corpus::rows(judge)?.0 {
        if PACKAGES.contains(&row.package.as_str()) && row.verdict == "ok" {
            let mut request = row.request;
            request["gpu"] = PACKAGES_GPU.into();
            cases.push(Case { family: row.package, file: row.path, name: row.function, gpu: PACKAGES_GPU, request });
        }
    }
    let folder = judge.root.join("tests/run/kernels");
    let mut files: Vec<_> =
        fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?.flatten().map(|e| e.path()).collect();
    files.sort();
    for file in files.into_iter().filter(|file| file.extension().is_some_and(|e| e == "py")) {
        let family = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        for (launch, kernel) in launches(&file)? {
            for &gpu in GPUS {
                let request = json!({ "file": file, "kernel": kernel, "launch": launch, "gpu": gpu });
                cases.push(Case { family: "suite".to_owned(), file: family.clone(), name: launch.clone(), gpu, request });
            }
        }
    }
    Ok(cases)
}

/// The launch blocks of a file and their kernels.
fn launches(file: &std::path::Path) -> Result<Vec<(String, String)>, String> {
    let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let mut out: Vec<(String, String)> = Vec::new();
    for line in text.lines().map(|line| line.trim_start_matches('#').trim()) {
        if let Some(name) = line.strip_prefix("[launch.").and_then(|rest| rest.strip_suffix(']')) {
            out.push((name.to_owned(), String::new()));
        } else if let Some(kernel) = line.strip_prefix("kernel = \"").and_then(|rest| rest.strip_suffix('"'))
            && let Some(last) = out.last_mut().filter(|last| last.1.is_empty())
        {
            last.1 = kernel.to_owned();
        }
    }
    out.retain(|(_, kernel)| !kernel.is_empty());
    Ok(out)
}

/// Asks ptxas about every case whose file or kernel has `part` in its name, and writes what it says.
pub(crate) fn record(judge: &Judge, part: &str) -> Result<(), String> {
    let (cases, others): (Vec<Case>, Vec<Case>) =
        cases(judge)?.into_iter().partition(|case| case.file.contains(part) || case.name.contains(part));
    let mut child = Command::new("nice")
        .args(["-n", "19"])
        .arg(&judge.tritium)
        .args(["batch", "-", "--through", "sass"])
        .current_dir(&judge.corpora)
        .env("TRITIUM_BIN", &judge.tritium)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("{}: {e}", judge.tritium.display()))?;
    let mut stdin = child.stdin.take().ok_or("no way to ask")?;
    let text: String = cases.iter().enumerate().map(|(id, case)| request(case, id) + "\n").collect();
    let asking = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let stdout = child.stdout.take().ok_or("no answers")?;
    let path = judge.root.join(RECORD);
    // What is not asked about stays as it was recorded.
    let old = if others.is_empty() { String::new() } else { super::record(&path)? };
    let stays = |line: &&str| others.iter().any(|case| line.split('\t').skip(1).take(3).eq(case.key()));
    let mut rows: Vec<String> = old.lines().filter(stays).map(|line| format!("{line}\n")).collect();
    let kept = rows.len();
    for line in io::BufReader::new(stdout).lines() {
        let line = line.map_err(|e| e.to_string())?;
        let answer: Value = serde_json::from_str(&line).map_err(|e| format!("not an answer: {e}: {line}"))?;
        let case = answer["id"].as_u64().and_then(|id| cases.get(id as usize)).ok_or("an answer to nothing")?;
        if let (Some(registers), Some(spilled)) = (answer["registers"].as_u64(), answer["spill_bytes"].as_u64()) {
            let live = answer["registers_live"].as_f64().ok_or("an answer without an estimate")?;
            rows.push(format!("{}\t{}\t{}\t{}\t{registers}\t{spilled}\t{live}\n", case.family, case.file, case.name, case.gpu));
        }
        if (rows.len() - kept).is_multiple_of(50) {
            eprintln!("{} of {} kernels", rows.len() - kept, cases.len());
        }
    }
    if rows.len() == kept {
        return Err("ptxas gave no numbers: name one by TRITON_PTXAS_PATH".to_owned());
    }
    let _ = asking.join();
    child.wait().map_err(|e| e.to_string())?;
    rows.sort();
    fs::write(&path, HEADER.to_owned() + &rows.concat()).map_err(|e| format!("{}: {e}", path.display()))?;
    eprintln!("recorded; `cargo xtask fit` finds the band around estimates anew");
    Ok(())
}

fn request(case: &Case, id: usize) -> String {
    let mut request = case.request.clone();
    request["id"] = id.into();
    request["triton"] = TRITON.into();
    request["estimates"] = true.into();
    request.to_string()
}

#[derive(Default)]
struct Family {
    /// Relative errors in percent.
    errors: Vec<f64>,
    within: usize,
    spills: usize,
    foretold: usize,
    wrongly: usize,
}

impl Family {
    fn join(&mut self, other: &Family) {
        self.errors.extend(&other.errors);
        self.within += other.within;
        self.spills += other.spills;
        self.foretold += other.foretold;
        self.wrongly += other.wrongly;
    }
}

fn quantile(values: &[f64], part: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(((values.len() as f64 - 1.0) * part).round().max(0.0) as usize).copied().unwrap_or(f64::NAN)
}

pub(crate) fn measure(judge: &Judge) -> Result<Measured, String> {
    let exact = table(&judge.root.join(RECORD))?;
    let known: std::collections::HashMap<[&str; 3], (f64, u64)> = exact
        .iter()
        .filter_map(|cells| {
            let [_, file, name, gpu, registers, spilled, ..] = &cells[..] else { return None };
            Some(([file.as_str(), name, gpu], (registers.parse().ok()?, spilled.parse().ok()?)))
        })
        .collect();
    let cases: Vec<Case> = cases(judge)?.into_iter().filter(|case| known.contains_key(&case.key())).collect();
    let requests = cases.iter().map(|case| {
        let mut request = case.request.clone();
        request["estimates"] = true.into();
        request
    });
    let answers = batch(judge, requests.collect(), "tile")?;
    let mut families: Vec<(&str, Family)> = PACKAGES.iter().chain(&["suite"]).map(|&name| (name, Family::default())).collect();
    let (mut disagreements, mut details, mut unanswered) = (BTreeSet::new(), String::new(), 0);
    for (case, answer) in cases.iter().zip(&answers) {
        let Some((exact, spilled)) = known.get(&case.key()).copied() else { continue };
        let figure = |of: &str| answer.as_ref().and_then(|a| a["registers_estimated"][of].as_f64());
        let (Some(estimate), Some(low), Some(high)) = (figure("value"), figure("low"), figure("high")) else {
            unanswered += 1;
            continue;
        };
        let is_within = (low..=high).contains(&exact);
        let spills = answer.as_ref().is_some_and(|a| a["spills_estimated"] == true);
        let error = 100.0 * (estimate - exact).abs() / exact.max(1.0);
        if let Some((_, family)) = families.iter_mut().find(|(name, _)| *name == case.family) {
            family.errors.push(error);
            family.within += usize::from(is_within);
            family.spills += usize::from(spilled > 0);
            family.foretold += usize::from(spilled > 0 && spills);
            family.wrongly += usize::from(spilled == 0 && spills);
        }
        let _ = writeln!(
            details,
            "{error:5.1} % {} {} {}: {estimate} ({low} to {high}) for {exact}, {spilled} bytes spilled",
            case.file, case.name, case.gpu
        );
        if !is_within {
            disagreements.insert(format!("{}\t{}\t{}\toutside the band", case.file, case.name, case.gpu));
        }
    }
    let mut all = Family::default();
    families.iter().for_each(|(_, family)| all.join(family));
    families.push(("all", all));
    let mut section = String::from(
        "## Registers before ptxas\n\nThe estimate that an editor shows at once, beside what ptxas gives our own PTX: relative errors. It is what is live at once and one number more, the median of what ptxas takes beside it; nothing is fitted. A spill is foretold where even the low end of the band is beyond the limit.\n\n| | kernels | median | p90 | within the band | spill | foretold | wrongly |\n|---|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for (name, family) in &families {
        let errors = &family.errors;
        let _ = writeln!(
            section,
            "| {name} | {} | {:.1} % | {:.1} % | {} | {} | {} | {} |",
            errors.len(),
            quantile(errors, 0.5),
            quantile(errors, 0.9),
            percent(family.within, errors.len()),
            family.spills,
            family.foretold,
            family.wrongly
        );
    }
    let mut below = Vec::new();
    if let Some((_, all)) = families.last()
        && share(all.within, all.errors.len()) < WANTED
    {
        below.push(format!("{} of {} kernels are within the band, not {WANTED} %", all.within, all.errors.len()));
    }
    if unanswered > 0 {
        below.push(format!("{unanswered} kernels that were recorded have no estimate"));
    }
    Ok(Measured { section, disagreements, details, below })
}
