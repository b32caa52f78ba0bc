//! From what kernels found to the diagnostics of their file: places become ranges, fixes become edits.
//!
//! **Invariant:** one entry for each (range, code), as many kernels as have it; an edit that would lose something the user wrote is not
//! offered.

use std::{collections::BTreeMap, ops::Range};

use indexmap::IndexSet;
use smol_str::SmolStr;

use super::{
    Diagnostic, FileEdit, FileFix, Related,
    findings::{Blamed, Finding, Seen, findings},
    suppressions::with_line,
};
use crate::{
    Db, Function, SourceFile,
    diagnostics::{Code, Severity},
    globals,
    host::{self, Called},
    items,
    launch::{LaunchSource, source_of},
    lints,
    places::range_of,
    problem::{Applicability, At, Edit, Fix, Piece, Place, Problem},
};

/// One problem of a file, as many kernels as have it.
struct Entry {
    problem: Problem,
    place: Place,
    kernels: Vec<(Function, Seen)>,
    launch: Option<Related>,
}

#[derive(Default)]
pub(super) struct Found {
    entries: BTreeMap<(usize, usize, Code), Entry>,
}

impl Found {
    pub(super) fn add(&mut self, db: &dyn Db, kernel: Function, finding: &Finding) {
        let Some((_, range)) = range_of(db, finding.place) else { return };
        let Finding { problem, place, seen, .. } = finding;
        let new = || Entry { problem: problem.clone(), place: *place, kernels: vec![], launch: None };
        let entry = self.entries.entry((range.start, range.end, problem.code)).or_insert_with(new);
        if problem.severity() < entry.problem.severity() {
            entry.problem = problem.clone();
        }
        match entry.kernels.iter_mut().find(|(other, _)| *other == kernel) {
            Some((_, other)) => other.labels.extend(seen.labels.iter().cloned()),
            None => entry.kernels.push((kernel, seen.clone())),
        }
        if entry.launch.is_none() {
            entry.launch = finding.launch.as_ref().and_then(|(index, message)| match index {
                Blamed::Launch(index) => {
                    let LaunchSource::Host(place) = source_of(db, kernel, *index)? else { return None };
                    Some(Related { file: place.file, range: place.range(db)?, message: message.clone() })
                }
                Blamed::Called(index) => blame_caller(db, kernel, host::called(db, kernel).get(*index)?, message),
            });
        }
    }

    /// A problem that no specialisation decides.
    pub(super) fn add_certain(&mut self, db: &dyn Db, kernel: Function, problem: Problem) {
        let Some((_, range)) = range_of(db, problem.place) else { return };
        let seen = Seen {
            is_assumed: false,
            is_called: false,
            may_run: true,
            labels: IndexSet::new(),
            reach: 0,
            refuted: false,
            rests_on: IndexSet::new(),
        };
        let key = (range.start, range.end, problem.code);
        let entry = || Entry { place: problem.place, problem, kernels: vec![(kernel, seen)], launch: None };
        self.entries.entry(key).or_insert_with(entry);
    }

    pub(super) fn into_diagnostics(self, db: &dyn Db, file: SourceFile) -> Vec<Diagnostic> {
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
        let certain = self.seen().any(Seen::is_certain) && globals::alternatives(db, problem.place.function).is_empty();
        if is_silent(db, problem) {
            return None;
        }
        // A remark about types that were only assumed.
        if !certain && problem.severity() != Severity::Error && self.seen().all(|s| s.refuted) {
            return None;
        }
        // Some plausible arguments do not have it: so they are what is passed.
        if !certain && (problem.severity() == Severity::Error || hangs_on_guesses(problem.code)) {
            return None;
        }
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
        // What only assumed arguments show may be no mistake at all.
        let is_known = certain && self.seen().all(|s| !s.is_assumed && !s.is_called);
        let mut fixes: Vec<FileFix> = problem.fixes.iter().filter_map(|fix| file_fix(db, file, fix)).collect();
        if !is_known {
            fixes.iter_mut().for_each(|fix| fix.applicability = Applicability::Suggested);
        }
        let names: IndexSet<SmolStr> = self.seen().flat_map(|s| s.rests_on.iter().cloned()).collect();
        Some(Diagnostic {
            code: problem.code,
            severity: problem.severity(),
            message: problem.message.clone(),
            range,
            kernel: self.kernels.first().map(|(kernel, _)| kernel.name(db).clone()),
            configs,
            in_string: false,
            assumed: !certain,
            rests_on: if certain { vec![] } else { names.into_iter().collect() },
            related,
            fixes,
        })
    }
}

/// Whether what a problem is about is none to the file that it stands in.
fn is_silent(db: &dyn Db, problem: &Problem) -> bool {
    let file = problem.place.function.file(db);
    match problem.code {
        // Facts of NVIDIA's compiler: others compute f32 exactly, fill masked-off elements with zeros, and take tiles of other sizes.
        Code::DOT006 | Code::MSK003 | Code::MEM005 | Code::MEM008 | Code::SHP002 => items::is_for_other_device(db, file),
        // What only a compiler refuses.
        Code::LNG003 | Code::LNG008 | Code::DBG003 => items::is_interpreted(db, file),
        _ => false,
    }
}

/// Whether a kernel has an error of its own, whatever it is given.
pub fn has_error(db: &dyn Db, kernel: Function) -> bool {
    let is_told = |finding: &Finding| {
        let problem = &finding.problem;
        let is_certain = finding.seen.is_certain() && globals::alternatives(db, problem.place.function).is_empty();
        problem.severity() == Severity::Error && is_certain && !is_silent(db, problem)
    };
    findings(db, kernel).iter().any(is_told)
}

/// Names a launch that another file makes: at the launch, or at the kernel where it is the other file that launches it.
fn blame_caller(db: &dyn Db, kernel: Function, called: &Called, message: &str) -> Option<Related> {
    let file = kernel.file(db);
    let range = match called.at.file == file {
        true => called.at.range(db)?,
        false => range_of(db, Place { function: kernel, at: At::Name })?.1,
    };
    let line = items::line_number(db, called.from.file, called.from.range(db)?.start);
    Some(Related { file, range, message: format!("{message}, launched from {}:{line}", host::name_beside(db, called)) })
}

/// Remarks on types and extents, which other arguments decide.
fn hangs_on_guesses(code: Code) -> bool {
    ["SHP", "DTY", "DOT"].iter().any(|family| code.as_str().starts_with(family))
}

/// What is told once, at its first place, however often it is found.
#[derive(Clone, Copy)]
enum Once {
    InFile,
    InKernel,
}

fn once(code: Code) -> Option<Once> {
    match code {
        Code::DOT007 | Code::LIM004 => Some(Once::InFile),
        Code::DOT006 | Code::DTY012 | Code::MEM005 | Code::MEM008 | Code::MSK003 | Code::RAC001 | Code::TMA005 => {
            Some(Once::InKernel)
        }
        _ => None,
    }
}

/// Further places of what is told once that are pointed at.
const MAX_FURTHER: usize = 4;

/// Tells what a file or a kernel is full of once, at its first place, with the fixes of all.
pub(super) fn tell_once(file: SourceFile, found: &mut Vec<Diagnostic>) {
    let mut firsts: Vec<(Once, Diagnostic, Vec<Diagnostic>)> = Vec::new();
    let mut out: Vec<Diagnostic> = Vec::new();
    for diagnostic in std::mem::take(found) {
        let Some(once) = once(diagnostic.code) else {
            out.push(diagnostic);
            continue;
        };
        match firsts.iter_mut().find(|(_, first, _)| is_told_with(first, &diagnostic, once)) {
            Some((.., further)) => further.push(diagnostic),
            None => firsts.push((once, diagnostic, vec![])),
        }
    }
    for (once, mut first, further) in firsts {
        let holder = match once {
            Once::InFile => "file",
            Once::InKernel => "kernel",
        };
        match further.len() {
            0 => {}
            1 => first.message.push_str(&format!(" (and at 1 more place of this {holder})")),
            count => first.message.push_str(&format!(" (and at {count} more places of this {holder})")),
        }
        for (nth, other) in further.into_iter().enumerate() {
            if matches!(once, Once::InKernel) && nth < MAX_FURTHER {
                first.related.push(Related { file, range: other.range, message: "and here".to_owned() });
            }
            for fix in other.fixes {
                let same = |f: &&mut FileFix| f.title == fix.title && f.applicability == fix.applicability;
                match first.fixes.iter_mut().find(same) {
                    Some(known) => known.edits.extend(fix.edits),
                    None => first.fixes.push(fix),
                }
            }
        }
        out.push(first);
    }
    out.sort_by_key(|d| (d.range.start, d.range.end, d.code));
    *found = out;
}

fn is_told_with(first: &Diagnostic, other: &Diagnostic, once: Once) -> bool {
    // Kernels in several strings often have one name.
    if first.in_string || other.in_string {
        return false;
    }
    let titles = |d: &Diagnostic| d.fixes.iter().map(|fix| fix.title.clone()).collect::<Vec<String>>();
    first.code == other.code
        && match once {
            Once::InFile => true,
            Once::InKernel => {
                (first.severity, &first.kernel, first.assumed, &first.configs)
                    == (other.severity, &other.kernel, other.assumed, &other.configs)
                    && titles(first) == titles(other)
            }
        }
}

/// Where a row of a tuner stands, if its rows are written out.
pub fn place_of_row(db: &dyn Db, kernel: Function, config: u32) -> Option<Place> {
    lints::row_of_tuner(db, kernel, config as usize)
}

/// Takes a row out of a tuner whose rows are written out.
pub fn removal_of_row(db: &dyn Db, kernel: Function, config: u32) -> Option<FileFix> {
    let place = lints::row_of_tuner(db, kernel, config as usize)?;
    let edits = file_edits(db, &Edit::RemoveArgument(place))?;
    Some(FileFix { title: format!("Remove {}[{config}]", kernel.name(db)), applicability: Applicability::Suggested, edits })
}

/// A fix of one file, if all of it can be made there.
pub(crate) fn file_fix(db: &dyn Db, file: SourceFile, fix: &Fix) -> Option<FileFix> {
    let edits: Option<Vec<Vec<FileEdit>>> = fix.edits.iter().map(|edit| file_edits(db, edit)).collect();
    let edits = edits?.concat();
    let is_here = edits.iter().all(|edit| edit.file == file);
    is_here.then(|| FileFix { title: fix.title.clone(), applicability: fix.applicability, edits })
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
