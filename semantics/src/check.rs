//! All diagnostics of a file.
//!
//! Each kernel is elaborated under all of its specialisations; what they find at one place is one diagnostic. **Invariant:** one
//! diagnostic per (code, range), in the order of the text; a problem of assumed specialisations is an error only where every one of them
//! that reaches the place has it.

use std::{collections::BTreeMap, ops::Range};

use indexmap::IndexSet;
use smol_str::SmolStr;

use crate::{
    Db, Function, SourceFile,
    diagnostics::{Code, Severity},
    elaborate::{Elaborated, elaborate},
    items::{self, chunks, in_file, is_triton_file, items as items_of, lowered},
    launch::launches,
    lints::{circumstances, lint},
    problem::{At, Edit, Place, Problem},
    specialise::{Specialisation, specialisations, with_other_elements},
};

/// A problem with its place in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    pub code: Code,
    pub severity: Severity,
    pub message: String,
    /// Bytes of the file.
    pub range: Range<usize>,
    /// The kernel whose elaboration found it.
    pub kernel: Option<SmolStr>,
    /// The launches or configurations that have it, by name; empty if all do.
    pub configs: Vec<String>,
    /// Some assumed specialisation has it, but not all.
    pub assumed: bool,
    pub related: Vec<Related>,
    pub fixes: Vec<FileFix>,
}

/// Another place that takes part, with its own sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Related {
    pub file: SourceFile,
    pub range: Range<usize>,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFix {
    pub title: String,
    /// Changes nothing but what is wrong.
    pub safe: bool,
    pub edits: Vec<FileEdit>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    pub file: SourceFile,
    pub range: Range<usize>,
    pub new_text: String,
}

/// Everything that is wrong with a file.
#[salsa::tracked(returns(ref))]
pub fn check(db: &dyn Db, file: SourceFile) -> Vec<Diagnostic> {
    if !is_triton_file(db, file) {
        return vec![];
    }
    let mut out = syntax_errors(db, file);
    for problem in &launches(db, file).problems {
        out.push(plain(problem.code, problem.message.clone(), problem.range.clone()));
    }
    let mut found = Found::default();
    for &kernel in items::kernels(db, file) {
        db.unwind_if_revision_cancelled();
        kernel_problems(db, file, kernel, &mut found);
    }
    out.extend(found.into_diagnostics(db, file));
    out.sort_by_key(|d| (d.range.start, d.range.end, d.code));
    out.dedup_by(|b, a| a.code == b.code && a.range == b.range);
    let suppressed = suppressions(file.text(db));
    out.retain(|d| !suppressed.iter().any(|s| s.lines.contains(&d.range.start) && s.silences(d.code)));
    out
}

/// A range of the text that a place of a problem stands for.
pub fn range_of(db: &dyn Db, place: Place) -> Option<(SourceFile, Range<usize>)> {
    let (start, map) = items::source_map(db, place.function)?;
    let name_and_params = || {
        let (_, stmt) = items::function_body(db, place.function)?;
        map.functions.iter().find(|f| f.0 == stmt)
    };
    let range = match place.at {
        At::Expr(id) => *map.exprs.get(id.0 as usize)?,
        At::Stmt(id) => *map.stmts.get(id.0 as usize)?,
        At::Param(i) => *name_and_params()?.2.get(i as usize)?,
        At::Name => name_and_params()?.1,
    };
    Some((place.function.file(db), in_file(start, range)))
}

fn plain(code: Code, message: String, range: Range<usize>) -> Diagnostic {
    Diagnostic {
        code,
        severity: code.severity(),
        message,
        range,
        kernel: None,
        configs: vec![],
        assumed: false,
        related: vec![],
        fixes: vec![],
    }
}

/// Those of the chunks that hold kernels; the rest of the file is other tools' business.
fn syntax_errors(db: &dyn Db, file: SourceFile) -> Vec<Diagnostic> {
    let functions = &items_of(db, file).functions;
    let mut out = Vec::new();
    for (index, (start, chunk)) in chunks(db, file).iter().enumerate() {
        let errors = &lowered(db, *chunk).errors;
        if errors.is_empty() {
            continue;
        }
        let Some(kernel) = functions.iter().find(|f| f.chunk == index) else { continue };
        for error in errors.iter() {
            let mut diagnostic = plain(Code::SYN001, error.message.clone(), in_file(*start, error.range));
            diagnostic.kernel = Some(kernel.function.name(db).clone());
            out.push(diagnostic);
        }
    }
    out
}

/// One problem of a file, as many specialisations as have it.
struct Entry<'db> {
    problem: &'db Problem,
    place: Place,
    kernels: Vec<Seen>,
}

/// How one kernel's specialisations stand to a problem.
struct Seen {
    kernel: Function,
    is_assumed: bool,
    /// Those that have it, and how many reach its place.
    labels: IndexSet<String>,
    have: usize,
    reach: usize,
    /// Other element types do not have it.
    refuted: bool,
}

#[derive(Default)]
struct Found<'db> {
    entries: BTreeMap<(usize, usize, Code), Entry<'db>>,
}

/// One specialisation of a kernel and what was found.
struct Visit<'db> {
    specialisation: &'db Specialisation,
    elaborated: &'db Elaborated,
    lints: &'db [Problem],
}

fn kernel_problems<'db>(db: &'db dyn Db, file: SourceFile, kernel: Function, found: &mut Found<'db>) {
    let all: Vec<Visit<'_>> = specialisations(db, kernel)
        .iter()
        .map(|specialisation| Visit {
            specialisation,
            elaborated: elaborate(db, specialisation.instance),
            lints: lint(db, circumstances(db, kernel, specialisation)),
        })
        .collect();
    // An error that hangs on the element types assumed is none; the others are only asked where there is an error to refute.
    let is_error = |p: &Problem| p.code.severity() == Severity::Error;
    let refuting: Vec<&Elaborated> = match all.first() {
        Some(first) if first.specialisation.is_assumed() && all.iter().any(|v| v.elaborated.problems.iter().any(is_error)) => {
            with_other_elements(db, first.specialisation.instance).into_iter().map(|i| elaborate(db, i)).collect()
        }
        _ => vec![],
    };
    for visit in &all {
        let specialisation = visit.specialisation;
        for problem in visit.elaborated.problems.iter().chain(visit.lints) {
            // A wish about values that were only assumed.
            if specialisation.is_assumed() && problem.code == Code::LNG017 {
                continue;
            }
            // In a helper of another file it is shown where this file calls it.
            let places = std::iter::once(problem.place).chain(problem.calls.iter().copied());
            let Some(place) = places.into_iter().find(|p| p.function.file(db) == file) else { continue };
            let Some((_, range)) = range_of(db, place) else { continue };
            let entry = found.entries.entry((range.start, range.end, problem.code)).or_insert_with(|| Entry {
                problem,
                place,
                kernels: vec![],
            });
            let seen = match entry.kernels.iter().position(|s| s.kernel == kernel) {
                Some(i) => &mut entry.kernels[i],
                None => {
                    let reach = all.iter().filter(|v| reaches(v.elaborated, problem)).count();
                    let refuted = is_error(problem) && refuting.iter().any(|e| reaches(e, problem) && !has(e, problem));
                    entry.kernels.push(Seen {
                        kernel,
                        is_assumed: specialisation.is_assumed(),
                        labels: IndexSet::new(),
                        have: 0,
                        reach,
                        refuted,
                    });
                    let last = entry.kernels.len() - 1;
                    &mut entry.kernels[last]
                }
            };
            if seen.labels.insert(label(db, kernel, specialisation)) {
                seen.have += 1;
            }
        }
    }
}

/// Whether an elaboration came to the place of a problem.
fn reaches(elaborated: &Elaborated, problem: &Problem) -> bool {
    match problem.place.at {
        At::Expr(id) => {
            elaborated.types.get(&problem.place.function).is_some_and(|types| types.contains_key(&id)) || has(elaborated, problem)
        }
        At::Stmt(_) | At::Param(_) | At::Name => true,
    }
}

fn has(elaborated: &Elaborated, problem: &Problem) -> bool {
    elaborated.problems.iter().any(|p| p.code == problem.code && p.place == problem.place)
}

fn label(db: &dyn Db, kernel: Function, specialisation: &Specialisation) -> String {
    match specialisation.launches.first().and_then(|&i| launches(db, kernel.file(db)).launches.get(i)) {
        Some(launch) => match launch.config {
            Some(config) => format!("{}[{config}]", launch.name),
            None => launch.name.to_string(),
        },
        // Assumed ones have no name of their own: their order tells them apart.
        None => {
            let index = specialisations(db, kernel).iter().position(|s| s == specialisation).unwrap_or(0);
            format!("assumed#{}", index + 1)
        }
    }
}

impl Found<'_> {
    fn into_diagnostics(self, db: &dyn Db, file: SourceFile) -> Vec<Diagnostic> {
        self.entries.into_values().filter_map(|entry| entry.into_diagnostic(db, file)).collect()
    }
}

impl Entry<'_> {
    fn into_diagnostic(self, db: &dyn Db, file: SourceFile) -> Option<Diagnostic> {
        let (_, range) = range_of(db, self.place)?;
        let problem = self.problem;
        let certain = self.kernels.iter().any(|s| !s.is_assumed || (s.have >= s.reach && !s.refuted));
        let severity = match (problem.severity(), certain) {
            (Severity::Error, false) => Severity::Warning,
            (severity, _) => severity,
        };
        let partial = self.kernels.iter().any(|s| !s.is_assumed && s.have < s.reach);
        let configs = if partial {
            self.kernels.iter().filter(|s| !s.is_assumed).flat_map(|s| s.labels.iter().cloned()).collect()
        } else {
            vec![]
        };
        let mut related: Vec<Related> = problem
            .related
            .iter()
            .filter_map(|(place, message)| {
                let (file, range) = range_of(db, *place)?;
                Some(Related { file, range, message: message.clone() })
            })
            .collect();
        // The way to a helper, unless it is where the diagnostic stands.
        if self.place != problem.place
            && let Some((file, range)) = range_of(db, problem.place)
        {
            related.push(Related { file, range, message: "here, in the helper".to_owned() });
        }
        for call in problem.calls.iter().filter(|c| **c != self.place) {
            if let Some((file, range)) = range_of(db, *call) {
                related.push(Related { file, range, message: "called from here".to_owned() });
            }
        }
        let fixes = problem
            .fixes
            .iter()
            .filter_map(|fix| {
                let edits: Option<Vec<FileEdit>> = fix.edits.iter().map(|edit| file_edit(db, edit)).collect();
                Some(FileFix {
                    title: fix.title.clone(),
                    safe: fix.safe,
                    edits: edits.filter(|e| e.iter().all(|e| e.file == file))?,
                })
            })
            .collect();
        Some(Diagnostic {
            code: problem.code,
            severity,
            message: problem.message.clone(),
            range,
            kernel: self.kernels.first().map(|s| s.kernel.name(db).clone()),
            configs,
            assumed: !certain,
            related,
            fixes,
        })
    }
}

fn file_edit(db: &dyn Db, edit: &Edit) -> Option<FileEdit> {
    let (place, new_text) = match edit {
        Edit::Replace(place, text) | Edit::InsertBefore(place, text) | Edit::InsertAfter(place, text) => (*place, text.clone()),
    };
    let (file, range) = range_of(db, place)?;
    let range = match edit {
        Edit::Replace(..) => range,
        Edit::InsertBefore(..) => range.start..range.start,
        Edit::InsertAfter(..) => range.end..range.end,
    };
    Some(FileEdit { file, range, new_text })
}

/// `# tritium: ignore[CODE, …] reason` at the end of a line, or on a line of its own above.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppression {
    /// Bytes of the line it speaks of.
    pub lines: Range<usize>,
    /// The comment's own bytes.
    pub comment: Range<usize>,
    /// Codes or names as written.
    pub codes: Vec<String>,
    pub reason: String,
}

impl Suppression {
    fn silences(&self, code: Code) -> bool {
        self.codes.iter().any(|c| Code::find(c) == Some(code))
    }
}

/// The suppressions of a text, in order.
pub fn suppressions(text: &str) -> Vec<Suppression> {
    const MARK: &str = "# tritium: ignore[";
    let mut out = Vec::new();
    if !text.contains(MARK) {
        return out;
    }
    let mut start = 0;
    let mut waiting: Vec<Suppression> = Vec::new();
    for line in text.split_inclusive('\n') {
        let whole = start..start + line.len();
        let content = line.trim_end();
        let mut alone = false;
        if let Some(at) = content.find(MARK)
            && let Some((codes, reason)) = content[at + MARK.len()..].split_once(']')
        {
            let suppression = Suppression {
                lines: whole.clone(),
                comment: start + at..start + content.len(),
                codes: codes.split(',').map(|c| c.trim().to_owned()).filter(|c| !c.is_empty()).collect(),
                reason: reason.trim().to_owned(),
            };
            alone = content[..at].trim().is_empty();
            if alone { waiting.push(suppression) } else { out.push(suppression) }
        }
        if !alone && !content.is_empty() {
            out.extend(waiting.drain(..).map(|s| Suppression { lines: whole.clone(), ..s }));
        }
        start = whole.end;
    }
    out
}
