//! Kernels of published packages under recorded signatures: does Tritium raise an error exactly where Triton's front end does?
//!
//! **A row whose recorded message is the judge's own doing (a stub, a pickle) is left out and counted, never guessed.**

use std::{collections::BTreeSet, fmt::Write as _};

use serde_json::{Value, json};

use super::{
    Judge, Measured,
    ask::{Answer, ask},
    percent, share, table,
};

/// What only the judge's stand-ins for other packages say.
const ARTEFACTS: &[&str] = &["cannot pickle", "_StubModule", "<stub ", "_Stub"];

/// The table writes an element type among the compile-time values as Triton prints it.
const DTYPES: &[&str] = &["fp16", "bf16", "fp32", "fp64", "int8", "int32"];

pub(crate) struct Row {
    pub package: String,
    pub path: String,
    pub function: String,
    pub verdict: String,
    pub error: String,
    pub request: Value,
}

/// The rows whose file is at hand, and how many are not or were not judged.
pub(crate) fn rows(judge: &Judge) -> Result<(Vec<Row>, usize), String> {
    let mut rows = Vec::new();
    let mut left_out = 0;
    for cells in table(&judge.tables.join("corpus_ttir.tsv"))? {
        let [package, path, function, _, verdict, signature, constexprs, error, ..] = &cells[..] else { continue };
        let artefact = verdict == "noload" || ARTEFACTS.iter().any(|a| error.contains(a));
        if artefact || !judge.corpora.join(path).is_file() {
            left_out += 1;
            continue;
        }
        let parsed = |text: &str| serde_json::from_str::<Value>(text).map_err(|e| format!("{path}: {function}: {e}"));
        let mut constexprs = parsed(constexprs)?;
        for value in constexprs.as_object_mut().into_iter().flat_map(|all| all.values_mut()) {
            if let Some(dtype) = value.as_str().filter(|v| DTYPES.contains(v)) {
                *value = format!("tl.{dtype}").into();
            }
        }
        let request = json!({
            "file": judge.corpora.join(path), "kernel": function, "args": parsed(signature)?, "constexprs": constexprs,
        });
        rows.push(Row {
            package: package.clone(),
            path: path.clone(),
            function: function.clone(),
            verdict: verdict.clone(),
            error: error.clone(),
            request,
        });
    }
    Ok((rows, left_out))
}

pub(crate) fn measure(judge: &Judge) -> Result<Measured, String> {
    let (rows, left_out) = rows(judge)?;
    let answers = ask(judge, rows.iter().map(|row| row.request.clone()).collect())?;
    let (mut disagreements, mut details) = (BTreeSet::new(), String::new());
    let mut packages: Vec<&str> = rows.iter().map(|row| row.package.as_str()).collect();
    packages.sort_unstable();
    packages.dedup();
    let mut section = String::from(
        "## Verdicts on published kernels\n\n| package | accepted by Triton | no error here | rejected by Triton | an error here | typed expressions | complete |\n|---|--:|--:|--:|--:|--:|--:|\n",
    );
    let mut all = Count::default();
    for package in packages {
        let mut count = Count::default();
        for (row, answer) in rows.iter().zip(&answers).filter(|(row, _)| row.package == package) {
            let ours = count.add(row, answer.as_ref());
            if ours != row.verdict {
                disagreements.insert(format!("{}\t{}\t{}\t{ours}", row.path, row.function, row.verdict));
                let errors = answer.as_ref().map(|a| a.errors.join("\n      ")).unwrap_or_default();
                let _ = writeln!(details, "{} {}: Triton {} {}\n      {errors}", row.path, row.function, row.verdict, row.error);
            }
        }
        let _ = writeln!(section, "| {package} {count}");
        all.join(&count);
    }
    let _ = writeln!(
        section,
        "| all {all}\n\n{left_out} rows are left out: their package is not at hand, their file does not load for Triton, or the message is the judge's own."
    );
    let mut below = Vec::new();
    let mut floor = |what: &str, part: usize, whole: usize, wanted: f64| {
        if share(part, whole) < wanted {
            below.push(format!("{what}: {} of {whole} ({}), not {wanted} %", part, percent(part, whole)));
        }
    };
    floor("accepted rows without an error", all.silent, all.accepted, 97.0);
    floor("rejected rows with an error", all.told, all.rejected, 90.0);
    floor("typed expressions", all.typed, all.reached, 95.0);
    Ok(Measured { section, disagreements, details, below })
}

#[derive(Default)]
struct Count {
    accepted: usize,
    silent: usize,
    rejected: usize,
    told: usize,
    reached: usize,
    typed: usize,
    complete: usize,
}

impl Count {
    fn add(&mut self, row: &Row, answer: Option<&Answer>) -> &'static str {
        let ours = match answer {
            Some(answer) if answer.ok => "ok",
            Some(_) => "error",
            None => "no answer",
        };
        if row.verdict == "ok" {
            self.accepted += 1;
            self.silent += usize::from(ours == "ok");
            if let Some(answer) = answer {
                self.reached += answer.expressions - answer.unreached;
                self.typed += answer.typed;
                self.complete += usize::from(answer.complete);
            }
        } else {
            self.rejected += 1;
            self.told += usize::from(ours == "error");
        }
        ours
    }

    fn join(&mut self, other: &Count) {
        self.accepted += other.accepted;
        self.silent += other.silent;
        self.rejected += other.rejected;
        self.told += other.told;
        self.reached += other.reached;
        self.typed += other.typed;
        self.complete += other.complete;
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "| {} | {} ({}) | {} | {} ({}) | {} | {} |",
            self.accepted,
            self.silent,
            percent(self.silent, self.accepted),
            self.rejected,
            self.told,
            percent(self.told, self.rejected),
            percent(self.typed, self.reached),
            percent(self.complete, self.accepted),
        )
    }
}
