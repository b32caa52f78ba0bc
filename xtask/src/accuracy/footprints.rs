//! What Triton takes of a GPU, as the footprint rules say it, beside what Triton itself said (`footprints.triton.tsv`, which
//! `tests/judge/footprints.py` records).
//!
//! Shared memory is compared byte for byte, and whether it fits a thread block of the GPU. Whether registers spill is `cargo xtask fit`'s. **Rows that
//! were never looked at while the rules were made are counted apart: one in two, a kernel of a package with all its rows, one of ours by
//! configuration.**

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt::Write as _,
};

use serde_json::{Value, json};

use super::{Judge, Measured, ask::batch, corpus, percent, share, table};

/// Of how many rows a check asks for one.
const ONE_OF: usize = 6;

struct Row {
    /// Names and configuration, as one text.
    name: String,
    source: String,
    /// Never looked at.
    held: bool,
    shared: u64,
    request: Value,
}

/// What is asked about one recorded row: of a published kernel what its package's table says, with the block sizes that differ; of ours what
/// the row says. `None` where the package is not at hand.
pub(crate) fn request(judge: &Judge, known: &Known, cells: &Cells<'_>) -> Result<Option<Value>, String> {
    let parsed = |text: &str| serde_json::from_str::<Value>(text).map_err(|e| format!("{}: {text:?}: {e}", cells.kernel));
    let number = |text: &str| text.parse::<u64>().map_err(|e| format!("{}: {text:?}: {e}", cells.kernel));
    let mut request = if cells.source == "corpus" {
        let Some(request) = known.get(&(cells.file.to_owned(), cells.kernel.to_owned())) else { return Ok(None) };
        let mut request = request.clone();
        if !cells.constexprs.is_empty() {
            for (name, size) in parsed(cells.constexprs)?.as_object().into_iter().flatten() {
                request["constexprs"][name] = size.clone();
            }
        }
        request
    } else {
        let (args, constexprs) = (parsed(cells.args)?, parsed(cells.constexprs)?);
        json!({ "file": judge.root.join(cells.file), "kernel": cells.kernel, "args": args, "constexprs": constexprs })
    };
    request["gpu"] = cells.gpu.into();
    request["num_warps"] = number(cells.warps)?.into();
    request["num_stages"] = number(cells.stages)?.into();
    if !cells.maxnreg.is_empty() {
        request["maxnreg"] = number(cells.maxnreg)?.into();
    }
    Ok(Some(request))
}

/// The cells of a row that name a kernel and how it is compiled.
pub(crate) struct Cells<'r> {
    pub source: &'r str,
    pub file: &'r str,
    pub kernel: &'r str,
    pub args: &'r str,
    pub constexprs: &'r str,
    pub gpu: &'r str,
    pub warps: &'r str,
    pub stages: &'r str,
    pub maxnreg: &'r str,
}

/// Of published kernels, by path and name, what was asked of Triton.
pub(crate) type Known = HashMap<(String, String), Value>;

pub(crate) fn known(judge: &Judge) -> Result<Known, String> {
    Ok(corpus::rows(judge)?.0.into_iter().map(|row| ((row.path, row.function), row.request)).collect())
}

pub(crate) fn measure(judge: &Judge) -> Result<Measured, String> {
    let record = judge.root.join("tests/data/accuracy/footprints.triton.tsv");
    let known = known(judge)?;
    let mut rows = Vec::new();
    let mut refused = 0;
    for cells in table(&record)? {
        let [source, file, kernel, args, constexprs, gpu, warps, stages, half, _, verdict, shared, ..] = &cells[..] else {
            return Err(format!("{}: a row of {} cells", record.display(), cells.len()));
        };
        if verdict != "ok" {
            refused += 1;
            continue;
        }
        let named = Cells { source, file, kernel, args, constexprs, gpu, warps, stages, maxnreg: "" };
        let (Some(request), Ok(shared)) = (request(judge, &known, &named)?, shared.parse()) else { continue };
        let types = constexprs.replace('"', "");
        rows.push(Row {
            name: format!("{file}\t{kernel}\t{args}{types}\t{gpu}\t{warps}\t{stages}").replace('"', ""),
            source: source.clone(),
            held: half == "held",
            shared,
            request,
        });
    }
    if judge.quick {
        rows = rows.into_iter().step_by(ONE_OF).collect();
    }
    let answers = batch(judge, rows.iter().map(|row| row.request.clone()).collect(), "tile")?;
    let (mut disagreements, mut details) = (BTreeSet::new(), String::new());
    let mut bytes = Groups::default();
    let mut without = 0;
    for (row, answer) in rows.iter().zip(&answers) {
        let said = answer.as_ref().map(|answer| &answer["triton"]).filter(|triton| triton.is_object());
        // What Tritium does not understand has no footprint; other measures count it.
        let Some(said) = said else {
            without += 1;
            continue;
        };
        let ours = said["shared_bytes"].as_u64().unwrap_or(u64::MAX);
        let limit = said["limit_bytes"].as_u64().unwrap_or(0);
        let has_dot = said["products"].as_u64() > Some(0);
        let (shared, equal) = (row.shared, ours == row.shared);
        let fits = (ours <= limit) == (shared <= limit);
        let count = Count {
            rows: 1,
            equal: usize::from(equal),
            fits: usize::from(fits),
            dots: usize::from(has_dot),
            equal_dots: usize::from(has_dot && equal),
        };
        bytes.join(row.held, row, &count);
        if !equal {
            disagreements.insert(format!("{}\t{}{}", row.name, "shared", if fits { "" } else { " and fits" }));
            let _ = writeln!(details, "{} {}: shared {shared} not {ours}", half(row.held), row.name.replace('\t', " "));
        }
    }
    let section = format!(
        "## What Triton takes\n\nThe footprint rules (`estimate/src/triton.rs`), which never run Triton, beside Triton 3.6: bytes of shared memory and \
         whether they fit a thread block. “Held back” rows were never looked at while the rules were made.\n\n\
         | rows | of | kernels with a dot | bytes equal | all | bytes equal | fits right |\n|---|---|--:|--:|--:|--:|--:|\n{}\n\
         {refused} rows Triton itself does not compile; {without} are not understood here, so nothing is said of them.\n",
        bytes.lines()
    );
    let mut below = Vec::new();
    let mut floor = |held: bool, what: &str, part: usize, whole: usize, wanted: f64| {
        if share(part, whole) < wanted {
            below.push(format!("{}: {what}: {part} of {whole} ({}), not {wanted} %", half(held), percent(part, whole)));
        }
    };
    for (&held, count) in &bytes.halves {
        floor(held, "kernels with a dot whose shared bytes are equal", count.equal_dots, count.dots, 95.0);
        floor(held, "fits or does not", count.fits, count.rows, 99.0);
    }
    Ok(Measured { section, disagreements, details, below: if judge.quick { Vec::new() } else { below } })
}

fn half(held: bool) -> &'static str {
    if held { "held back" } else { "looked at" }
}

fn source_name(source: &str) -> &str {
    match source {
        "corpus" => "published kernels",
        "suite" => "the suite's launches",
        _ => "configurations of our kernels",
    }
}

/// Rows counted by where they come from, by half and by GPU.
#[derive(Default)]
struct Groups<'r> {
    sources: BTreeMap<(bool, &'r str), Count>,
    halves: BTreeMap<bool, Count>,
    targets: BTreeMap<&'r str, Count>,
}

impl<'r> Groups<'r> {
    fn join(&mut self, held: bool, row: &'r Row, count: &Count) {
        self.sources.entry((held, row.source.as_str())).or_default().join(count);
        self.halves.entry(held).or_default().join(count);
        self.targets.entry(row.request["gpu"].as_str().unwrap_or_default()).or_default().join(count);
    }

    fn lines(&self) -> String {
        let mut lines = String::new();
        for ((held, source), count) in &self.sources {
            let _ = writeln!(lines, "| {} | {} | {}", half(*held), source_name(source), count.bytes());
        }
        for (target, count) in &self.targets {
            let _ = writeln!(lines, "| all | {target} | {}", count.bytes());
        }
        let mut all = Count::default();
        for (held, count) in &self.halves {
            let _ = writeln!(lines, "| {} | all | {}", half(*held), count.bytes());
            all.join(count);
        }
        let _ = writeln!(lines, "| all | all | {}", all.bytes());
        lines
    }
}

#[derive(Default)]
struct Count {
    rows: usize,
    equal: usize,
    fits: usize,
    dots: usize,
    equal_dots: usize,
}

impl Count {
    fn join(&mut self, other: &Count) {
        self.rows += other.rows;
        self.equal += other.equal;
        self.fits += other.fits;
        self.dots += other.dots;
        self.equal_dots += other.equal_dots;
    }

    fn bytes(&self) -> String {
        let (with, all) = (percent(self.equal_dots, self.dots), percent(self.equal, self.rows));
        format!("{} | {with} | {} | {all} | {} |", self.dots, self.rows, percent(self.fits, self.rows))
    }
}
