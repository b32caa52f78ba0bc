//! What Triton takes of a GPU, as the footprint rules say it, beside what Triton itself said (`footprints.triton.tsv`, which
//! `tests/judge/footprints.py` records, and of spills near the limit `spills.triton.tsv`, which `tests/judge/spilling.py` does).
//!
//! Shared memory is compared byte for byte, and whether it fits a thread block of the GPU; the verdict on spills where Triton's kernel went through
//! ptxas. **One row in two was never looked at while the rules were made: a kernel of a package with all its rows, one of ours by
//! configuration; both halves are counted apart.**

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
    held: bool,
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
            request.clone()
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
    let mut groups: BTreeMap<(bool, String), Count> = BTreeMap::new();
    let mut halves: BTreeMap<bool, Count> = BTreeMap::new();
    let mut targets: BTreeMap<&str, Count> = BTreeMap::new();
    for (row, answer) in rows.iter().zip(&answers) {
        let said = answer.as_ref().map(|answer| &answer["triton"]).filter(|triton| triton.is_object());
        let mut count = Count::default();
        let Some(said) = said else {
            // What Tritium does not understand has no footprint; other measures count it.
            count.without = 1;
            groups.entry((row.held, row.source.clone())).or_default().join(&count);
            halves.entry(row.held).or_default().join(&count);
            continue;
        };
        let ours = said["shared_bytes"].as_u64().unwrap_or(u64::MAX);
        let limit = said["limit_bytes"].as_u64().unwrap_or(0);
        let has_dot = said["products"].as_u64() > Some(0);
        if let Some(shared) = row.shared {
            let equal = ours == shared;
            let fits = (ours <= limit) == (shared <= limit);
            count.rows = 1;
            count.equal = usize::from(equal);
            count.fits = usize::from(fits);
            count.dots = usize::from(has_dot);
            count.equal_dots = usize::from(has_dot && equal);
            if !equal {
                disagreements.insert(format!("{}\t{}{}", row.name, "shared", if fits { "" } else { " and fits" }));
                let _ = writeln!(details, "{} {}: shared {shared} not {ours}", half(row.held), row.name.replace('\t', " "));
            }
        }
        if let (Some(theirs), Some(ours)) = (row.spills, said["spills"].as_bool()) {
            count.judged = 1;
            count.spill = usize::from(theirs);
            count.told = usize::from(ours);
            count.right = usize::from(ours && theirs);
            if ours != theirs {
                disagreements.insert(format!("{}\t{}", row.name, if theirs { "spills" } else { "does not spill" }));
                let _ =
                    writeln!(details, "{} {}: spills {theirs}, not {ours}: {said}", half(row.held), row.name.replace('\t', " "));
            }
        }
        groups.entry((row.held, row.source.clone())).or_default().join(&count);
        halves.entry(row.held).or_default().join(&count);
        targets.entry(row.request["gpu"].as_str().unwrap_or_default()).or_default().join(&count);
    }
    let mut section = String::from(
        "## What Triton takes\n\nThe footprint rules (`codegen/src/footprint.rs`), which never run Triton, beside Triton 3.6: bytes of shared memory, \
         whether they fit a thread block, and whether registers spill. “Held back” rows were never looked at while the rules were made.\n\n\
         | rows | of | kernels with a dot | bytes equal | all | bytes equal | fits right | asked about spills | spill | verdict precision | recall |\n\
         |---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for ((held, source), count) in &groups {
        let _ = writeln!(section, "| {} | {} | {count}", half(*held), source_name(source));
    }
    for (target, count) in &targets {
        let _ = writeln!(section, "| all | {target} | {count}");
    }
    let mut all = Count::default();
    for (held, count) in &halves {
        let _ = writeln!(section, "| {} | all | {count}", half(*held));
        all.join(count);
    }
    let _ = writeln!(
        section,
        "| all | all | {all}\n\n{refused} rows Triton itself does not compile; {} are not understood here, so nothing is said of them.",
        all.without
    );
    let mut below = Vec::new();
    for (held, count) in &halves {
        let mut floor = |what: &str, part: usize, whole: usize, wanted: f64| {
            if share(part, whole) < wanted {
                below.push(format!("{}: {what}: {part} of {whole} ({}), not {wanted} %", half(*held), percent(part, whole)));
            }
        };
        floor("kernels with a dot whose shared bytes are equal", count.equal_dots, count.dots, 95.0);
        floor("fits or does not", count.fits, count.rows, 99.0);
        floor("spills that are some", count.right, count.told, 95.0);
        floor("spills that are told", count.right, count.spill, 80.0);
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
    without: usize,
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
        self.without += other.without;
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} | {} | {} | {} | {} | {} | {} | {} | {} |",
            self.dots,
            percent(self.equal_dots, self.dots),
            self.rows,
            percent(self.equal, self.rows),
            percent(self.fits, self.rows),
            self.judged,
            self.spill,
            percent(self.right, self.told),
            percent(self.right, self.spill),
        )
    }
}
