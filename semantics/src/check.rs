//! All diagnostics of a file.
//!
//! Each kernel is elaborated under all of its specialisations; what they find at one place is one diagnostic. **Invariant:** one
//! diagnostic per (code, range), in the order of the text; a problem of assumed specialisations is an error only where every one of them
//! that reaches the place has it.

use std::{collections::BTreeMap, ops::Range};

use indexmap::IndexSet;
use smol_str::SmolStr;
use tritium_syntax::SyntaxError;

use crate::{
    ArgType, Argument, Db, Function, SourceFile,
    body::{ExprId, Stmt},
    diagnostics::{Code, Severity},
    dtype::DType,
    elaborate::{Elaborated, elaborate},
    items::{self, Node, chunks, in_file, is_triton_file, items as items_of, lowered},
    launch::{Launch, LaunchSource, launches},
    lints::{self, circumstances, lint},
    problem::{At, Edit, Piece, Place, Problem},
    specialise::{Specialisation, hangs_on_arguments, specialisations, with_elements, with_other_elements},
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

/// Everything that is wrong with a file, as far as no code is generated for it.
#[salsa::tracked(returns(ref))]
pub fn check(db: &dyn Db, file: SourceFile) -> Vec<Diagnostic> {
    let mut out = unsilenced(db, file).clone();
    silence(db, file, &mut out, Code::is_resource);
    out
}

/// The same with what comments silence.
#[salsa::tracked(returns(ref))]
pub fn unsilenced(db: &dyn Db, file: SourceFile) -> Vec<Diagnostic> {
    if !is_triton_file(db, file) {
        return vec![];
    }
    let mut out = match file.undecodable(db) {
        Some(problem) => vec![undecodable(file.text(db), problem)],
        None => syntax_errors(db, file),
    };
    for problem in &launches(db, file).problems {
        out.push(plain(problem.code, problem.message.clone(), problem.range.clone()));
    }
    let mut found = Found::default();
    let kernels = items::kernels(db, file);
    for &kernel in kernels {
        db.unwind_if_revision_cancelled();
        kernel_problems(db, file, kernel, &mut found);
    }
    for item in &items_of(db, file).functions {
        for problem in lints::of_function(db, item.function, kernels.contains(&item.function)) {
            found.add_certain(db, item.function, problem);
        }
    }
    out.extend(found.into_diagnostics(db, file));
    out.sort_by_key(|d| (d.range.start, d.range.end, d.code));
    out.dedup_by(|b, a| a.code == b.code && a.range == b.range);
    out
}

/// Takes out what comments silence, and tells of comments that silence nothing; those of codes that were not looked for may.
pub fn silence(db: &dyn Db, file: SourceFile, found: &mut Vec<Diagnostic>, is_not_looked_for: fn(Code) -> bool) {
    let text = file.text(db);
    if !is_triton_file(db, file) {
        return;
    }
    let suppressions = suppressions(text);
    if suppressions.is_empty() {
        return;
    }
    let spared = |code: &String| Code::find(code).is_some_and(is_not_looked_for);
    let mut used: Vec<Vec<bool>> = suppressions.iter().map(|s| s.codes.iter().map(spared).collect()).collect();
    found.retain(|d| {
        let mut silenced = false;
        for (suppression, used) in suppressions.iter().zip(&mut used) {
            if !suppression.lines.contains(&d.range.start) {
                continue;
            }
            for (code, used) in suppression.codes.iter().zip(used) {
                if Code::find(code) == Some(d.code) {
                    (*used, silenced) = (true, true);
                }
            }
        }
        !silenced
    });
    for (suppression, used) in suppressions.iter().zip(&used) {
        if let Some(diagnostic) = unused_suppression(file, text, suppression, used) {
            found.push(diagnostic);
        }
        if suppression.reason.is_empty() {
            let message = "this suppression says no reason: add one after the bracket".to_owned();
            found.push(plain(Code::SUP002, message, suppression.comment.clone()));
        }
    }
    found.sort_by_key(|d| (d.range.start, d.range.end, d.code));
}

fn unused_suppression(file: SourceFile, text: &str, suppression: &Suppression, used: &[bool]) -> Option<Diagnostic> {
    let (kept, unused): (Vec<_>, Vec<_>) = suppression.codes.iter().zip(used).partition(|(_, used)| **used);
    if unused.is_empty() && !suppression.codes.is_empty() {
        return None;
    }
    let list = unused.iter().map(|(code, _)| format!("`{code}`")).collect::<Vec<_>>().join(" and ");
    let message = match unused.iter().find(|(code, _)| Code::find(code).is_none()) {
        _ if suppression.codes.is_empty() => "this suppression names no code: write `ignore[CODE] reason`".to_owned(),
        Some((code, _)) => format!("`{code}` is no diagnostic of Tritium, so this suppression silences nothing"),
        None if suppression.lines.end > text.len() => {
            format!("{list} is not found in this file any more: the suppression silences nothing")
        }
        None => format!("{list} is not found on this line any more: the suppression silences nothing"),
    };
    let comment = suppression.comment.clone();
    let edit = if kept.is_empty() {
        // With the blanks before it, or with its line.
        let range = with_line(text, comment.clone()).unwrap_or_else(|| {
            let before = text.get(..comment.start).unwrap_or_default().trim_end_matches([' ', '\t']);
            before.len()..comment.end
        });
        FileEdit { file, range, new_text: String::new() }
    } else {
        let kept: Vec<&str> = kept.iter().map(|(code, _)| code.as_str()).collect();
        let new_text = format!("{SUPPRESSION}{}] {}", kept.join(", "), suppression.reason);
        FileEdit { file, range: comment.clone(), new_text: new_text.trim_end().to_owned() }
    };
    let mut diagnostic = plain(Code::SUP001, message, comment);
    diagnostic.fixes.push(FileFix { title: "Remove what is unused".to_owned(), safe: true, edits: vec![edit] });
    Some(diagnostic)
}

/// What a file's diagnostics need of one kernel, worked out: kernels can be looked at side by side before [`check`] collects them.
pub fn look_at(db: &dyn Db, kernel: Function) {
    for specialisation in visited(db, kernel) {
        lint(db, circumstances(db, kernel, specialisation));
    }
}

/// The specialisations of a kernel that the settings ask for.
pub fn visited(db: &dyn Db, kernel: Function) -> impl Iterator<Item = &Specialisation> {
    let all = specialisations(db, kernel).as_slice();
    let most = if db.settings().chosen(db).only_first { 1 } else { all.len() };
    all.iter().take(most)
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
        At::Argument(id) => match map.arguments.binary_search_by_key(&id, |(value, _)| *value) {
            Ok(index) => map.arguments[index].1,
            Err(_) => *map.exprs.get(id.0 as usize)?,
        },
        At::Stmt(id) => *map.stmts.get(id.0 as usize)?,
        At::Param(i) => *name_and_params()?.2.get(i as usize)?,
        At::Name => name_and_params()?.1,
    };
    Some((place.function.file(db), in_file(start, range)))
}

/// Why a specialisation without an error is not the whole kernel: the place whose value is not known, as the user wrote it.
pub fn gap(db: &dyn Db, elaborated: &Elaborated) -> Option<String> {
    let (file, range) = range_of(db, elaborated.gap?)?;
    let text = file.text(db);
    let line = text.get(..range.start)?.lines().count().max(1);
    let written: Vec<&str> = text.get(range)?.split_whitespace().collect();
    let written = written.join(" ");
    let short: String = written.chars().take(60).collect();
    let dots = if short.len() < written.len() { "…" } else { "" };
    Some(format!("line {line}: what `{short}{dots}` gives is not known at compile time, or is not followed"))
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

/// The bytes are not those of any text; what replaces them is no mistake of its own.
fn undecodable(text: &str, problem: &SyntaxError) -> Diagnostic {
    // The place counts the bytes before they were decoded.
    let start = text.floor_char_boundary(problem.range.start().into());
    let end = text.ceil_char_boundary(problem.range.end().into());
    plain(Code::SYN001, problem.message.clone(), start..end)
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
struct Entry {
    problem: Problem,
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
    /// The launch that brings element types without which it is right.
    launch: Option<Related>,
}

#[derive(Default)]
struct Found {
    entries: BTreeMap<(usize, usize, Code), Entry>,
}

/// One specialisation of a kernel and what was found.
struct Visit<'db> {
    specialisation: &'db Specialisation,
    elaborated: &'db Elaborated,
    lints: &'db [Problem],
}

fn kernel_problems(db: &dyn Db, file: SourceFile, kernel: Function, found: &mut Found) {
    let visit = |specialisation| Visit {
        specialisation,
        elaborated: elaborate(db, specialisation.instance),
        lints: lint(db, circumstances(db, kernel, specialisation)),
    };
    let mut all: Vec<Visit<'_>> = visited(db, kernel).map(visit).collect();
    let is_error = |p: &Problem| p.severity() == Severity::Error;
    // What a few assumed ones have is an error only if no other refutes it.
    let may_be_refuted = |p: &Problem| is_error(p) && hangs_on_arguments(db, p);
    if all.iter().any(|v| v.specialisation.is_assumed() && v.elaborated.problems.iter().any(may_be_refuted)) {
        all = specialisations(db, kernel).iter().map(visit).collect();
    }
    // What hangs on the element types assumed is nothing; the others are only asked where there is something to refute.
    let any = |test: &dyn Fn(&Problem) -> bool| all.iter().any(|v| v.elaborated.problems.iter().any(test));
    let others = match all.first() {
        Some(first) if first.specialisation.is_assumed() => with_other_elements(db, first.specialisation.instance),
        _ => vec![],
    };
    let asked = if any(&may_be_refuted) { others.len() } else { usize::from(any(&|p| hangs_on_elements(p.code))) };
    let refuting: Vec<&Elaborated> = others.into_iter().take(asked).map(|i| elaborate(db, i)).collect();
    // An error that some arguments do not have discredits the assumptions that bring it; what only such assumptions bring is as doubtful.
    let elaborations = || all.iter().map(|v| v.elaborated).chain(refuting.iter().copied());
    let is_doubted = |p: &Problem| is_error(p) && elaborations().any(|e| refutes(db, e, p));
    let credited: Vec<&Elaborated> = elaborations().filter(|e| !e.problems.iter().any(is_doubted)).collect();
    for visit in &all {
        let specialisation = visit.specialisation;
        let of_target = lints::of_target(db, visit.elaborated);
        for problem in visit.elaborated.problems.iter().chain(visit.lints).chain(&of_target) {
            // A wish about values that were only assumed.
            if specialisation.is_assumed() && problem.code == Code::LNG017 {
                continue;
            }
            // In a helper of another file it is shown where this file calls it.
            let places = std::iter::once(problem.place).chain(problem.calls.iter().copied());
            let Some(place) = places.into_iter().find(|p| p.function.file(db) == file) else { continue };
            // What is no mistake is told where it is written, not where it is called.
            if place != problem.place && matches!(problem.severity(), Severity::Performance | Severity::Hint) {
                continue;
            }
            let Some((_, range)) = range_of(db, place) else { continue };
            let entry = found.entries.entry((range.start, range.end, problem.code)).or_insert_with(|| Entry {
                problem: problem.clone(),
                place,
                kernels: vec![],
            });
            let seen = match entry.kernels.iter().position(|s| s.kernel == kernel) {
                Some(i) => &mut entry.kernels[i],
                None => {
                    let reach = all.iter().filter(|v| reaches(db, v.elaborated, problem)).count();
                    // A remark on types needs another choice of types that has it too.
                    let refuted = match problem.severity() {
                        Severity::Error => {
                            refuting.iter().any(|e| refutes(db, e, problem))
                                || has(visit.elaborated, problem) && !credited.iter().any(|e| has(e, problem))
                        }
                        _ => hangs_on_elements(problem.code) && !refuting.is_empty() && !refuting.iter().any(|e| has(e, problem)),
                    };
                    entry.kernels.push(Seen {
                        kernel,
                        is_assumed: specialisation.is_assumed(),
                        labels: IndexSet::new(),
                        have: 0,
                        reach,
                        refuted,
                        launch: None,
                    });
                    let last = entry.kernels.len() - 1;
                    &mut entry.kernels[last]
                }
            };
            if seen.launch.is_none() && problem.severity() == Severity::Error && has(visit.elaborated, problem) {
                seen.launch = launch_to_blame(db, kernel, specialisation, problem);
            }
            if seen.labels.insert(label(db, kernel, specialisation)) {
                seen.have += 1;
            }
        }
    }
}

/// Tensors that a launch names.
const MOST_NAMED: usize = 6;

/// The launch of a specialisation, where tensors of other element types would not have a problem.
fn launch_to_blame(db: &dyn Db, kernel: Function, specialisation: &Specialisation, problem: &Problem) -> Option<Related> {
    let file = kernel.file(db);
    let launch = launches(db, file).launches.get(*specialisation.launches.first()?)?;
    let LaunchSource::Host { start, end } = launch.source else { return None };
    let others = with_elements(db, specialisation.instance, &[DType::F32, DType::F16, DType::I32, DType::I8]);
    let refutes = |instance| {
        let other = elaborate(db, instance);
        reaches(db, other, problem) && !has(other, problem)
    };
    if !others.into_iter().any(refutes) {
        return None;
    }
    let params = &items_of(db, file).function(kernel)?.params;
    let pointers = params.iter().zip(specialisation.instance.arguments(db)).filter_map(|(param, argument)| match argument {
        Argument::Runtime { ty: ArgType::Ptr { .. }, .. } => Some(format!("`{}` is {argument}", param.name)),
        Argument::Runtime { ty: ArgType::Scalar(_), .. }
        | Argument::Constexpr(_)
        | Argument::Tuple(_)
        | Argument::Descriptor { .. }
        | Argument::Unknown => None,
    });
    let mut named: Vec<String> = pointers.collect();
    if named.len() > MOST_NAMED {
        named.truncate(MOST_NAMED);
        named.push("…".to_owned());
    }
    let message = format!("for this launch: {}", named.join(", "));
    Some(Related { file, range: start as usize..end as usize, message })
}

/// Whether an elaboration came to the place of a problem.
pub(crate) fn reaches(db: &dyn Db, elaborated: &Elaborated, problem: &Problem) -> bool {
    match problem.place.at {
        At::Expr(id) | At::Argument(id) => {
            let function = problem.place.function;
            has(elaborated, problem)
                || elaborated.types.get(&function).is_some_and(|types| {
                    types.contains_key(&id) || assigned_to(db, function, id).is_some_and(|value| types.contains_key(&value))
                })
        }
        At::Stmt(_) | At::Param(_) | At::Name => true,
    }
}

/// What is assigned to a target: targets have no types of their own.
fn assigned_to(db: &dyn Db, function: Function, target: ExprId) -> Option<ExprId> {
    let (body, stmt) = items::function_body(db, function)?;
    let Stmt::Function(def) = body.stmt(stmt) else { return None };
    let mut found = None;
    items::walk(&body, &def.body, &mut |node| {
        if let Node::Stmt(id) = node {
            match body.stmt(id) {
                Stmt::Assign { targets, value } if targets.contains(&target) => found = Some(*value),
                Stmt::AugAssign { target: other, value, .. } if *other == target => found = Some(*value),
                _ => {}
            }
        }
    });
    found
}

/// Whether other arguments make what a problem is about right: they come to its place, and nothing is wrong there.
fn refutes(db: &dyn Db, other: &Elaborated, problem: &Problem) -> bool {
    if !reaches(db, other, problem) || has(other, problem) {
        return false;
    }
    let Some((file, range)) = range_of(db, problem.place) else { return false };
    let touches =
        |p: &Problem| range_of(db, p.place).is_some_and(|(f, r)| f == file && r.start < range.end && range.start < r.end);
    !other.problems.iter().any(|p| p.severity() == Severity::Error && touches(p))
}

fn has(elaborated: &Elaborated, problem: &Problem) -> bool {
    elaborated.problems.iter().any(|p| p.code == problem.code && p.place == problem.place)
}

/// What a launch is called: `softmax`, or `softmax[2]` under the third row of its tuner.
pub fn label_of(launch: &Launch) -> String {
    match launch.config {
        Some(config) => format!("{}[{config}]", launch.name),
        None => launch.name.to_string(),
    }
}

fn label(db: &dyn Db, kernel: Function, specialisation: &Specialisation) -> String {
    match specialisation.launches.first().and_then(|&i| launches(db, kernel.file(db)).launches.get(i)) {
        Some(launch) => label_of(launch),
        // Assumed ones have no name of their own: their order tells them apart.
        None => {
            let index = specialisations(db, kernel).iter().position(|s| s == specialisation).unwrap_or(0);
            format!("assumed#{}", index + 1)
        }
    }
}

/// Whether the types of the elements that pointers lead to decide about it.
fn hangs_on_elements(code: Code) -> bool {
    matches!(code, Code::DOT006 | Code::DTY006 | Code::DTY007 | Code::DTY008 | Code::DTY010)
}

impl Found {
    /// A problem that no specialisation decides.
    fn add_certain(&mut self, db: &dyn Db, kernel: Function, problem: Problem) {
        let Some((_, range)) = range_of(db, problem.place) else { return };
        let seen = Seen { kernel, is_assumed: false, labels: IndexSet::new(), have: 1, reach: 1, refuted: false, launch: None };
        let key = (range.start, range.end, problem.code);
        self.entries.entry(key).or_insert_with(|| Entry { place: problem.place, problem, kernels: vec![seen] });
    }

    fn into_diagnostics(self, db: &dyn Db, file: SourceFile) -> Vec<Diagnostic> {
        self.entries.into_values().filter_map(|entry| entry.into_diagnostic(db, file)).collect()
    }
}

impl Entry {
    fn into_diagnostic(self, db: &dyn Db, file: SourceFile) -> Option<Diagnostic> {
        let (_, range) = range_of(db, self.place)?;
        let problem = &self.problem;
        let certain = self.kernels.iter().any(|s| !s.is_assumed || (s.have >= s.reach && !s.refuted))
            && items::alternatives(db, problem.place.function).is_empty();
        // Facts of NVIDIA's compiler: others compute f32 exactly, and fill masked-off elements with zeros.
        if matches!(problem.code, Code::DOT006 | Code::MSK003) && items::is_for_other_device(db, problem.place.function.file(db))
        {
            return None;
        }
        // A remark about types that were only assumed.
        if !certain && problem.severity() != Severity::Error && self.kernels.iter().all(|s| s.refuted) {
            return None;
        }
        let severity = match (problem.severity(), certain) {
            // Some plausible arguments do not have it.
            (Severity::Error, false) => Severity::Hint,
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
        if certain {
            related.extend(self.kernels.iter().find_map(|seen| seen.launch.clone()));
        }
        let fixes = problem
            .fixes
            .iter()
            .filter_map(|fix| {
                let edits: Option<Vec<Vec<FileEdit>>> = fix.edits.iter().map(|edit| file_edits(db, edit)).collect();
                let edits = edits.map(|e| e.concat());
                Some(FileFix {
                    title: fix.title.clone(),
                    safe: fix.safe && certain,
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

/// `None` where the edit cannot be made without losing something the user wrote.
fn file_edits(db: &dyn Db, edit: &Edit) -> Option<Vec<FileEdit>> {
    let Edit::Around(file, name, before, after) = edit else { return Some(vec![file_edit(db, edit)?]) };
    let range = items::range_of_global(db, *file, name)?;
    let insert = |at: usize, new_text: &str| FileEdit { file: *file, range: at..at, new_text: new_text.to_owned() };
    let edits = [insert(range.start, before), insert(range.end, after)];
    Some(edits.into_iter().filter(|e| !e.new_text.is_empty()).collect())
}

fn file_edit(db: &dyn Db, edit: &Edit) -> Option<FileEdit> {
    let (Edit::Replace(place, _)
    | Edit::InsertBefore(place, _)
    | Edit::InsertAfter(place, _)
    | Edit::Rewrite(place, _)
    | Edit::RemoveArgument(place)
    | Edit::RemoveStatement(place)) = edit
    else {
        return None;
    };
    let (file, range) = range_of(db, *place)?;
    let text = file.text(db);
    let (range, new_text) = match edit {
        Edit::Replace(_, new) => (range, new.clone()),
        Edit::InsertBefore(_, new) => (range.start..range.start, new.clone()),
        Edit::InsertAfter(_, new) => (range.end..range.end, new.clone()),
        Edit::Rewrite(_, pieces) => {
            // A comment between the parts that are kept would be lost.
            if text.get(range.clone())?.contains('#') {
                return None;
            }
            let mut new = String::new();
            for piece in pieces {
                match piece {
                    Piece::Text(part) => new.push_str(part),
                    Piece::Source(place) => new.push_str(text.get(range_of(db, *place)?.1)?),
                }
            }
            (range, new)
        }
        Edit::RemoveArgument(_) => (with_comma(text, range)?, String::new()),
        Edit::RemoveStatement(_) => (with_line(text, range)?, String::new()),
        Edit::Around(..) => return None,
    };
    Some(FileEdit { file, range, new_text })
}

/// An argument and the comma before it, or after it if it is the first.
fn with_comma(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let before = text.get(..range.start)?.trim_end();
    let after = text.get(range.end..)?;
    let gap = after.len() - after.trim_start().len();
    match (before.ends_with(','), after.trim_start().starts_with(',')) {
        (true, _) => Some(before.len() - 1..range.end),
        (false, true) => {
            let rest = &after[gap + 1..];
            Some(range.start..range.end + gap + 1 + (rest.len() - rest.trim_start_matches(' ').len()))
        }
        (false, false) => Some(range),
    }
}

/// A statement and the rest of its lines, if there is nothing else on them.
fn with_line(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let start = text.get(..range.start)?.rfind('\n').map_or(0, |at| at + 1);
    let end = text.get(range.end..)?.find('\n').map_or(text.len(), |at| range.end + at + 1);
    let alone = text.get(start..range.start)?.trim().is_empty() && text.get(range.end..end)?.trim().is_empty();
    alone.then_some(start..end)
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

/// How the comment of a suppression begins.
const SUPPRESSION: &str = "# tritium: ignore[";

/// How the comment of a suppression begins that speaks of the whole file.
const FILE_SUPPRESSION: &str = "# tritium: ignore-file[";

/// The suppressions of a text, in order: those of lines and those of the file.
pub fn suppressions(text: &str) -> Vec<Suppression> {
    let mut out = Vec::new();
    if !text.contains(SUPPRESSION) && !text.contains(FILE_SUPPRESSION) {
        return out;
    }
    let mut start = 0;
    let mut waiting: Vec<Suppression> = Vec::new();
    for line in text.split_inclusive('\n') {
        let whole = start..start + line.len();
        let content = line.trim_end();
        let mut alone = false;
        let of_file = content.find(FILE_SUPPRESSION).map(|at| (at, FILE_SUPPRESSION));
        if let Some((at, mark)) = of_file.or_else(|| content.find(SUPPRESSION).map(|at| (at, SUPPRESSION)))
            && let Some((codes, reason)) = content[at + mark.len()..].split_once(']')
        {
            let suppression = Suppression {
                lines: if of_file.is_some() { 0..text.len() + 1 } else { whole.clone() },
                comment: start + at..start + content.len(),
                codes: codes.split(',').map(|c| c.trim().to_owned()).filter(|c| !c.is_empty()).collect(),
                reason: reason.trim().to_owned(),
            };
            alone = of_file.is_none() && content[..at].trim().is_empty();
            if alone { waiting.push(suppression) } else { out.push(suppression) }
        }
        if !alone && of_file.is_none() && !content.is_empty() {
            out.extend(waiting.drain(..).map(|s| Suppression { lines: whole.clone(), ..s }));
        }
        start = whole.end;
    }
    out
}
