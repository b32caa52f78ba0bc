//! All diagnostics of a file.
//!
//! Each kernel is elaborated under all of its specialisations; what they find at one place is one diagnostic. **Invariant:** one
//! diagnostic per (code, range), in the order of the text; a problem of assumed specialisations is an error only where every one of them
//! that reaches the place has it.

use std::{collections::BTreeMap, ops::Range};

use indexmap::{IndexMap, IndexSet};
use smol_str::SmolStr;
use tritium_syntax::{SyntaxError, TextRange};

use crate::{
    ArgType, Argument, Db, Function, Instance, SourceFile,
    body::{ExprId, SourceMap, Stmt},
    diagnostics::{Code, Severity},
    dtype::DType,
    elaborate::{Elaborated, elaborate},
    items::{self, Node, ParamItem, chunks, in_file, is_triton_file, items as items_of, lowered},
    launch::{Launch, LaunchSource, launches, unplaced},
    lints::{self, Circumstances, circumstances, lint},
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
    collect(db, file, |_| None)
}

/// Works out what [`unsilenced_partly`] needs beside its looks.
pub fn work_out_rest(db: &dyn Db, file: SourceFile, looks: &[&Look]) {
    launches(db, file);
    let kernels = items::kernels(db, file);
    for &kernel in kernels.iter().filter(|&&kernel| looks.iter().all(|look| look.kernel != kernel)) {
        findings(db, kernel);
    }
    for item in &items_of(db, file).functions {
        lints::of_function(db, item.function, kernels.contains(&item.function));
    }
}

/// As [`unsilenced`], as far as it is known where some kernels have only been looked at under one of their specialisations.
pub fn unsilenced_partly(db: &dyn Db, file: SourceFile, looks: &[&Look]) -> Vec<Diagnostic> {
    collect(db, file, |kernel| looks.iter().find(|look| look.kernel == kernel).copied())
}

fn collect<'a>(db: &dyn Db, file: SourceFile, look: impl Fn(Function) -> Option<&'a Look>) -> Vec<Diagnostic> {
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
        match look(kernel) {
            Some(look) => look.findings(db).iter().for_each(|finding| found.add(db, kernel, finding)),
            None => findings(db, kernel).iter().for_each(|finding| found.add(db, kernel, finding)),
        }
    }
    for item in &items_of(db, file).functions {
        for problem in lints::of_function(db, item.function, kernels.contains(&item.function)) {
            found.add_certain(db, item.function, problem.clone());
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
    findings(db, kernel);
}

/// One specialisation of a kernel, to look at alone after the kernel's text has changed: to ask again which there are can cost many times
/// what one of them does.
#[derive(Debug, Clone)]
pub struct Look {
    pub kernel: Function,
    params: Vec<ParamItem>,
    specialisation: Specialisation,
    circumstances: Circumstances,
    label: String,
}

impl Look {
    /// Under an instance, or under the first where the kernel is not checked under that one.
    pub fn new(db: &dyn Db, kernel: Function, instance: Instance) -> Option<Look> {
        let all = specialisations(db, kernel);
        let index = all.iter().position(|s| s.instance == instance).unwrap_or(0);
        let specialisation = all.get(index)?.clone();
        let circumstances = circumstances(db, kernel, &specialisation);
        let label = label(db, kernel, &specialisation, index);
        Some(Look { kernel, params: params(db, kernel)?.to_vec(), specialisation, circumstances, label })
    }

    /// Whether the kernel still takes the arguments of the specialisation.
    pub fn fits(&self, db: &dyn Db) -> bool {
        params(db, self.kernel).is_some_and(|params| *params == self.params)
    }

    /// Works out what [`unsilenced_partly`] needs of it: worth a thread of its own beside the rest of the file.
    pub fn work_out(&self, db: &dyn Db) {
        elaborate(db, self.specialisation.instance);
        lint(db, self.circumstances);
    }

    /// Errors that other arguments may refute wait for these.
    fn findings(&self, db: &dyn Db) -> Vec<Finding> {
        let elaborated = elaborate(db, self.specialisation.instance);
        let lints = lint(db, self.circumstances);
        let mut found = compare(
            db,
            self.kernel,
            &[Visit { specialisation: &self.specialisation, elaborated, lints, label: &self.label }],
            &[],
        );
        let waits = |p: &Problem| p.severity() == Severity::Error && hangs_on_arguments(db, p);
        found.retain(|finding| !finding.seen.is_assumed || !waits(&finding.problem));
        found
    }
}

fn params(db: &dyn Db, kernel: Function) -> Option<&[ParamItem]> {
    Some(&items_of(db, kernel.file(db)).function(kernel)?.params)
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
    Some((place.function.file(db), in_file(start, range_in(db, place, &map)?)))
}

/// The same, counted from the start of its chunk, which does not move with the text before it.
fn range_in_chunk(db: &dyn Db, place: Place) -> Option<((SourceFile, usize), TextRange)> {
    let (chunk, map) = items::map_in_chunk(db, place.function)?;
    Some(((place.function.file(db), chunk), range_in(db, place, &map)?))
}

fn range_in(db: &dyn Db, place: Place, map: &SourceMap) -> Option<TextRange> {
    let name_and_params = || {
        let (_, stmt) = items::function_body(db, place.function)?;
        map.functions.iter().find(|f| f.0 == stmt)
    };
    Some(match place.at {
        At::Expr(id) => *map.exprs.get(id.0 as usize)?,
        At::Argument(id) => match map.arguments.binary_search_by_key(&id, |(value, _)| *value) {
            Ok(index) => map.arguments[index].1,
            Err(_) => *map.exprs.get(id.0 as usize)?,
        },
        At::Stmt(id) => *map.stmts.get(id.0 as usize)?,
        At::Param(i) => *name_and_params()?.2.get(i as usize)?,
        At::Name => name_and_params()?.1,
    })
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

/// One problem of a kernel, as many specialisations as have it; nothing in it says where in the file the kernel stands.
#[derive(Debug, Clone, PartialEq)]
struct Finding {
    problem: Problem,
    place: Place,
    seen: Seen,
    /// The launch that brings element types without which it is right, and what to say of it.
    launch: Option<(usize, String)>,
}

/// How one kernel's specialisations stand to a problem.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    is_assumed: bool,
    /// Those that have it, and how many reach its place.
    labels: IndexSet<String>,
    reach: usize,
    /// Other element types do not have it.
    refuted: bool,
}

/// One problem of a file, as many kernels as have it.
struct Entry {
    problem: Problem,
    place: Place,
    kernels: Vec<(Function, Seen)>,
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
    label: &'db str,
}

/// What is found in a kernel. It depends on the kernel's text, its helpers and its launches, but not on where they stand, so a keystroke
/// elsewhere in the file asks nothing again.
#[salsa::tracked(returns(ref))]
fn findings(db: &dyn Db, kernel: Function) -> Vec<Finding> {
    let known = specialisations(db, kernel);
    let labels: Vec<String> = known.iter().enumerate().map(|(index, s)| label(db, kernel, s, index)).collect();
    let visit = |index: usize| {
        db.unwind_if_revision_cancelled();
        let specialisation = &known[index];
        let elaborated = elaborate(db, specialisation.instance);
        Visit { specialisation, elaborated, lints: lint(db, circumstances(db, kernel, specialisation)), label: &labels[index] }
    };
    let mut all: Vec<Visit<'_>> = (0..visited(db, kernel).count()).map(visit).collect();
    // What a few assumed ones have is an error only if no other refutes it.
    let may_be_refuted = |p: &Problem| p.severity() == Severity::Error && hangs_on_arguments(db, p);
    if all.iter().any(|v| v.specialisation.is_assumed() && v.elaborated.problems.iter().any(may_be_refuted)) {
        all = (0..known.len()).map(visit).collect();
    }
    // What hangs on the element types assumed is nothing; the others are only asked where there is something to refute.
    let any = |test: &dyn Fn(&Problem) -> bool| all.iter().any(|v| v.elaborated.problems.iter().any(test));
    let others = match all.first() {
        Some(first) if first.specialisation.is_assumed() => with_other_elements(db, first.specialisation.instance),
        _ => vec![],
    };
    let asked = if any(&may_be_refuted) { others.len() } else { usize::from(any(&|p| hangs_on_elements(p.code))) };
    let refuting: Vec<&Elaborated> = others.into_iter().take(asked).map(|i| elaborate(db, i)).collect();
    compare(db, kernel, &all, &refuting)
}

/// What visits found, and what other arguments say of it.
fn compare(db: &dyn Db, kernel: Function, all: &[Visit<'_>], refuting: &[&Elaborated]) -> Vec<Finding> {
    let file = kernel.file(db);
    let is_error = |p: &Problem| p.severity() == Severity::Error;
    // An error that some arguments do not have discredits the assumptions that bring it; what only such assumptions bring is as doubtful.
    let elaborations = || all.iter().map(|v| v.elaborated).chain(refuting.iter().copied());
    let is_doubted = |p: &Problem| is_error(p) && elaborations().any(|e| refutes(db, e, p));
    let credited: Vec<&Elaborated> = elaborations().filter(|e| !e.problems.iter().any(is_doubted)).collect();
    let mut found = IndexMap::<(Place, Code), Finding>::new();
    for visit in all {
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
            let finding = found.entry((place, problem.code)).or_insert_with(|| {
                let reach = all.iter().filter(|v| reaches(db, v.elaborated, problem)).count();
                // A remark on types needs another choice of types that has it too.
                let refuted = match problem.severity() {
                    Severity::Error => {
                        refuting.iter().any(|e| refutes(db, e, problem))
                            || has(visit.elaborated, problem) && !credited.iter().any(|e| has(e, problem))
                    }
                    _ => hangs_on_elements(problem.code) && !refuting.is_empty() && !refuting.iter().any(|e| has(e, problem)),
                };
                let seen = Seen { is_assumed: specialisation.is_assumed(), labels: IndexSet::new(), reach, refuted };
                Finding { problem: problem.clone(), place, seen, launch: None }
            });
            if finding.launch.is_none() && is_error(problem) && has(visit.elaborated, problem) {
                finding.launch = launch_to_blame(db, kernel, specialisation, problem);
            }
            finding.seen.labels.insert(visit.label.to_owned());
        }
    }
    found.into_values().collect()
}

/// Tensors that a launch names.
const MOST_NAMED: usize = 6;

/// The launch of a specialisation, where tensors of other element types would not have a problem.
fn launch_to_blame(db: &dyn Db, kernel: Function, specialisation: &Specialisation, problem: &Problem) -> Option<(usize, String)> {
    let launch = *specialisation.launches.first()?;
    let others = with_elements(db, specialisation.instance, &[DType::F32, DType::F16, DType::I32, DType::I8]);
    let refutes = |instance| {
        let other = elaborate(db, instance);
        reaches(db, other, problem) && !has(other, problem)
    };
    if !others.into_iter().any(refutes) {
        return None;
    }
    let pointers =
        params(db, kernel)?.iter().zip(specialisation.instance.arguments(db)).filter_map(|(param, argument)| match argument {
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
    Some((launch, format!("for this launch: {}", named.join(", "))))
}

/// Whether an elaboration came to the place of a problem.
pub(crate) fn reaches(db: &dyn Db, elaborated: &Elaborated, problem: &Problem) -> bool {
    match problem.place.at {
        At::Expr(id) | At::Argument(id) => {
            let function = problem.place.function;
            has(elaborated, problem)
                || elaborated.types.get(&function).is_some_and(|types| {
                    types.get(id).is_some() || assigned_to(db, function, id).is_some_and(|value| types.get(value).is_some())
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
    let Some((chunk, range)) = range_in_chunk(db, problem.place) else { return false };
    let touches = |p: &Problem| {
        range_in_chunk(db, p.place).is_some_and(|(c, r)| c == chunk && r.start() < range.end() && range.start() < r.end())
    };
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

fn label(db: &dyn Db, kernel: Function, specialisation: &Specialisation, index: usize) -> String {
    let first = specialisation.launches.first();
    match first.and_then(|first| unplaced(db, kernel).iter().find(|(index, _)| index == first)) {
        Some((_, launch)) => label_of(launch),
        // Assumed ones have no name of their own: their order tells them apart.
        None => format!("assumed#{}", index + 1),
    }
}

/// Whether the types of the elements that pointers lead to decide about it.
fn hangs_on_elements(code: Code) -> bool {
    matches!(code, Code::DOT006 | Code::DTY006 | Code::DTY007 | Code::DTY008 | Code::DTY010)
}

impl Found {
    fn add(&mut self, db: &dyn Db, kernel: Function, finding: &Finding) {
        let Some((file, range)) = range_of(db, finding.place) else { return };
        let Finding { problem, place, seen, .. } = finding;
        let new = || Entry { problem: problem.clone(), place: *place, kernels: vec![], launch: None };
        let entry = self.entries.entry((range.start, range.end, problem.code)).or_insert_with(new);
        match entry.kernels.iter_mut().find(|(other, _)| *other == kernel) {
            Some((_, other)) => other.labels.extend(seen.labels.iter().cloned()),
            None => entry.kernels.push((kernel, seen.clone())),
        }
        if entry.launch.is_none() {
            entry.launch = finding.launch.as_ref().and_then(|(index, message)| {
                let LaunchSource::Host { start, end } = launches(db, file).launches.get(*index)?.source else { return None };
                Some(Related { file, range: start as usize..end as usize, message: message.clone() })
            });
        }
    }

    /// A problem that no specialisation decides.
    fn add_certain(&mut self, db: &dyn Db, kernel: Function, problem: Problem) {
        let Some((_, range)) = range_of(db, problem.place) else { return };
        let seen = Seen { is_assumed: false, labels: IndexSet::new(), reach: 0, refuted: false };
        let key = (range.start, range.end, problem.code);
        let entry = || Entry { place: problem.place, problem, kernels: vec![(kernel, seen)], launch: None };
        self.entries.entry(key).or_insert_with(entry);
    }

    fn into_diagnostics(self, db: &dyn Db, file: SourceFile) -> Vec<Diagnostic> {
        self.entries.into_values().filter_map(|entry| entry.into_diagnostic(db, file)).collect()
    }
}

impl Entry {
    fn seen(&self) -> impl Iterator<Item = &Seen> {
        self.kernels.iter().map(|(_, seen)| seen)
    }

    fn into_diagnostic(self, db: &dyn Db, file: SourceFile) -> Option<Diagnostic> {
        let (_, range) = range_of(db, self.place)?;
        let problem = &self.problem;
        let certain = self.seen().any(|s| !s.is_assumed || (s.labels.len() >= s.reach && !s.refuted))
            && items::alternatives(db, problem.place.function).is_empty();
        // Facts of NVIDIA's compiler: others compute f32 exactly, and fill masked-off elements with zeros.
        if matches!(problem.code, Code::DOT006 | Code::MSK003) && items::is_for_other_device(db, problem.place.function.file(db))
        {
            return None;
        }
        // A remark about types that were only assumed.
        if !certain && problem.severity() != Severity::Error && self.seen().all(|s| s.refuted) {
            return None;
        }
        let severity = match (problem.severity(), certain) {
            // Some plausible arguments do not have it.
            (Severity::Error, false) => Severity::Hint,
            (severity, _) => severity,
        };
        let partial = self.seen().any(|s| !s.is_assumed && s.labels.len() < s.reach);
        let configs =
            if partial { self.seen().filter(|s| !s.is_assumed).flat_map(|s| s.labels.iter().cloned()).collect() } else { vec![] };
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
            related.extend(self.launch.clone());
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
            kernel: self.kernels.first().map(|(kernel, _)| kernel.name(db).clone()),
            configs,
            assumed: !certain,
            related,
            fixes,
        })
    }
}

/// Takes a row out of a tuner whose rows are written out.
pub fn removal_of_row(db: &dyn Db, kernel: Function, config: u32) -> Option<FileFix> {
    let place = lints::row_of_tuner(db, kernel, config as usize)?;
    let edits = file_edits(db, &Edit::RemoveArgument(place))?;
    Some(FileFix { title: format!("Remove {}[{config}]", kernel.name(db)), safe: false, edits })
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
