//! What Triton takes of a GPU, as the footprint rules say it, beside what Triton itself said (`footprints.triton.tsv`, which
//! `tests/judge/footprints.py` records, and of spills near the limit `spills.triton.tsv`, which `tests/judge/record_spill_rows.py` does).
//!
//! Shared memory is compared byte for byte, and whether it fits a thread block of the GPU; the verdict on spills where Triton's kernel went through
//! ptxas. **Rows that were never looked at while the rules were made are counted apart: of bytes one in two, a kernel of a package with all its
//! rows, one of ours by configuration; of spills those that were drawn to be held back (`spills.triton.tsv`) and that
//! nobody has read.**

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt::Write as _,
};

use serde_json::{Value, json};

use super::{Judge, Measured, ask::batch, corpus, percent, share, table};

/// Of how many rows a check asks for one.
const ONE_OF: usize = 6;

/// The cell of a row that was not asked.
static NOTHING: String = String::new();

struct Row {
    /// Names and configuration, as one text.
    name: String,
    source: String,
    /// Never looked at: what it says of bytes and what it says of spills.
    held: bool,
    held_spills: bool,
    /// Where that was asked.
    shared: Option<u64>,
    /// Whether registers spilled, where that was asked.
    spills: Option<bool>,
    request: Value,
}

pub(crate) fn measure(judge: &Judge) -> Result<Measured, String> {
    let record = judge.root.join("tests/data/accuracy/footprints.triton.tsv");
    let known: HashMap<(String, String), Value> =
        corpus::rows(judge)?.0.into_iter().map(|row| ((row.path, row.function), row.request)).collect();
    let spilling = judge.root.join("tests/data/accuracy/spills.triton.tsv");
    let mut rows = Vec::new();
    let mut refused = 0;
    for cells in table(&record)?.into_iter().chain(table(&spilling)?) {
        let about_spills = cells.len() == 13;
        // Rows about spills alone have the bound of registers before the half and no bytes.
        let (cells, maxnreg, shared, spilled) = match &cells[..] {
            [first @ .., _, verdict, shared, _, spilled] if first.len() == 9 => {
                ([first, std::slice::from_ref(verdict)].concat(), "", shared, spilled)
            }
            [first @ .., maxnreg, half, verdict, _, spilled] if first.len() == 8 => {
                ([first, &[half.clone(), verdict.clone()]].concat(), maxnreg.as_str(), &NOTHING, spilled)
            }
            _ => return Err(format!("{}: a row of {} cells", record.display(), cells.len())),
        };
        let [source, file, kernel, args, constexprs, gpu, warps, stages, half, verdict] = &cells[..] else { continue };
        if verdict != "ok" {
            refused += 1;
            continue;
        }
        let parsed = |text: &str| serde_json::from_str::<Value>(text).map_err(|e| format!("{}: {kernel}: {e}", record.display()));
        let number = |text: &str| text.parse::<u64>().map_err(|e| format!("{}: {kernel}: {text:?}: {e}", record.display()));
        let mut request = if source == "corpus" {
            let Some(request) = known.get(&(file.clone(), kernel.clone())) else { continue };
            let mut request = request.clone();
            // Block sizes that differ from the recorded ones.
            if !constexprs.is_empty() {
                for (name, size) in parsed(constexprs)?.as_object().into_iter().flatten() {
                    request["constexprs"][name] = size.clone();
                }
            }
            request
        } else {
            json!({ "file": judge.root.join(file), "kernel": kernel, "args": parsed(args)?, "constexprs": parsed(constexprs)? })
        };
        request["gpu"] = gpu.as_str().into();
        request["num_warps"] = number(warps)?.into();
        request["num_stages"] = number(stages)?.into();
        if !maxnreg.is_empty() {
            request["maxnreg"] = number(maxnreg)?.into();
        }
        let optional = |text: &str| if text.is_empty() { Ok(None) } else { number(text).map(Some) };
        let (shared, spills) = (optional(shared)?, optional(spilled)?.map(|bytes| bytes > 0));
        let types = constexprs.replace('"', "");
        rows.push(Row {
            name: format!("{file}\t{kernel}\t{args}{types}\t{gpu}\t{warps}\t{stages}\t{maxnreg}").trim_end().replace('"', ""),
            source: source.clone(),
            held: half == "held",
            held_spills: half == "held" && about_spills,
            shared,
            spills,
            request,
        });
    }
    if judge.quick {
        rows = rows.into_iter().step_by(ONE_OF).collect();
    }
    let answers = batch(judge, rows.iter().map(|row| row.request.clone()).collect(), "tile")?;
    let (mut disagreements, mut details) = (BTreeSet::new(), String::new());
    let (mut bytes, mut spilling) = (Groups::default(), Groups::default());
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
        if let Some(shared) = row.shared {
            let equal = ours == shared;
            let fits = (ours <= limit) == (shared <= limit);
            let count = Count {
                rows: 1,
                equal: usize::from(equal),
                fits: usize::from(fits),
                dots: usize::from(has_dot),
                equal_dots: usize::from(has_dot && equal),
                ..Count::default()
            };
            bytes.join(row.held, row, &count);
            if !equal {
                disagreements.insert(format!("{}\t{}{}", row.name, "shared", if fits { "" } else { " and fits" }));
                let _ = writeln!(details, "{} {}: shared {shared} not {ours}", half(row.held), row.name.replace('\t', " "));
            }
        }
        if let (Some(theirs), Some(ours)) = (row.spills, said["spills"].as_bool()) {
            let count = Count {
                judged: 1,
                spill: usize::from(theirs),
                told: usize::from(ours),
                right: usize::from(ours && theirs),
                ..Count::default()
            };
            spilling.join(row.held_spills, row, &count);
            if ours != theirs {
                disagreements.insert(format!("{}\t{}", row.name, if theirs { "spills" } else { "does not spill" }));
                let _ = writeln!(
                    details,
                    "{} {}: spills {theirs}, not {ours}: {said}",
                    half(row.held_spills),
                    row.name.replace('\t', " ")
                );
            }
        }
    }
    let section = format!(
        "## What Triton takes\n\nThe footprint rules (`estimate/src/triton.rs`), which never run Triton, beside Triton 3.6: bytes of shared memory and \
         whether they fit a thread block. “Held back” rows were never looked at while the rules were made.\n\n\
         | rows | of | kernels with a dot | bytes equal | all | bytes equal | fits right |\n|---|---|--:|--:|--:|--:|--:|\n{}\n\
         Whether registers spill. The rows held back were drawn by chance alone from what an autotuner would try (warps, stages and block sizes, \
         no bound on registers), of published kernels and of ours, and nobody has read them. They are other configurations of the kernels looked \
         at, not other kernels. Of the others four in five were drawn alike, the rest near the limit (of Triton, or of an earlier rule), many with a \
         bound; the constants are fitted to them, and to the fewest registers with which ptxas does not spill the PTX that Triton makes of them.\n\n\
         | rows | of | asked | spill | told | rightly | precision | recall |\n|---|---|--:|--:|--:|--:|--:|--:|\n{}\n\
         {refused} rows Triton itself does not compile; {without} are not understood here, so nothing is said of them.\n",
        bytes.lines(Count::bytes),
        spilling.lines(Count::spills),
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
    for (&held, count) in &spilling.halves {
        floor(held, "spills that are some", count.right, count.told, 95.0);
        floor(held, "spills that are told", count.right, count.spill, 80.0);
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

    fn lines(&self, cells: impl Fn(&Count) -> String) -> String {
        let mut lines = String::new();
        for ((held, source), count) in &self.sources {
            let _ = writeln!(lines, "| {} | {} | {}", half(*held), source_name(source), cells(count));
        }
        for (target, count) in &self.targets {
            let _ = writeln!(lines, "| all | {target} | {}", cells(count));
        }
        let mut all = Count::default();
        for (held, count) in &self.halves {
            let _ = writeln!(lines, "| {} | all | {}", half(*held), cells(count));
            all.join(count);
        }
        let _ = writeln!(lines, "| all | all | {}", cells(&all));
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
    judged: usize,
    spill: usize,
    told: usize,
    right: usize,
}

impl Count {
    fn join(&mut self, other: &Count) {
        self.rows += other.rows;
        self.equal += other.equal;
        self.fits += other.fits;
        self.dots += other.dots;
        self.equal_dots += other.equal_dots;
        self.judged += other.judged;
        self.spill += other.spill;
        self.told += other.told;
        self.right += other.right;
    }

    fn bytes(&self) -> String {
        let (with, all) = (percent(self.equal_dots, self.dots), percent(self.equal, self.rows));
        format!("{} | {with} | {} | {all} | {} |", self.dots, self.rows, percent(self.fits, self.rows))
    }

    fn spills(&self) -> String {
        let (precision, recall) = (percent(self.right, self.told), percent(self.right, self.spill));
        format!("{} | {} | {} | {} | {precision} | {recall} |", self.judged, self.spill, self.told, self.right)
    }
}
