//! Launches of a file's kernels that other files' host code brings about: tests, benchmarks and modules call the functions of a library.
//!
//! **Invariant:** what is worked out for one caller says nothing of who asks for it, and nothing here looks for callers; what a test expects
//! to fail is no launch, and one that may not run, or whose arguments are not known, is not certain.

use smol_str::SmolStr;

use super::{HostPlace, interpret::Host};
use crate::{Db, Function, SourceFile, launch::PartialLaunch};

/// A launch as the host code of another file makes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Called {
    pub partial: PartialLaunch,
    /// The parameters, by position, whose arguments are not known, and why.
    pub open: Vec<(usize, SmolStr)>,
    /// The programs along each axis, if they are known.
    pub grid: Option<[u64; 3]>,
    /// It runs whenever its caller does, which somebody calls so.
    pub is_certain: bool,
    /// It may not run even where its caller does.
    pub is_conditional: bool,
    /// Everything that it takes is known: arguments, options, the grid.
    pub is_whole: bool,
    /// The launch itself.
    pub at: HostPlace,
    /// The innermost call in the caller's own text that leads there.
    pub from: HostPlace,
}

/// What a file's host code launches in other files, each different launch once, in the order of evaluation.
#[salsa::tracked(returns(ref))]
pub fn launches_elsewhere(db: &dyn Db, caller: SourceFile) -> Vec<Called> {
    let mut host = Host::new(db, caller);
    host.called = Some(vec![]);
    host.run();
    host.survey();
    host.called.take().unwrap_or_default()
}

/// The launches of a kernel that other files make, as far as they were looked for.
#[salsa::tracked(returns(ref))]
pub fn called(db: &dyn Db, kernel: Function) -> Vec<Called> {
    let all = db.settings().called(db).get(kernel.file(db).path(db));
    all.into_iter().flatten().filter(|called| called.partial.kernel == kernel).cloned().collect()
}

/// The launches that other files bring about at one place, as far as they were looked for: what stands there may be reached in no other way.
pub(crate) fn called_at(db: &dyn Db, place: HostPlace) -> impl Iterator<Item = &Called> {
    db.settings().called(db).values().flatten().filter(move |called| called.at == place)
}

/// The launches that other files bring about in a file, of its own kernels, each place once.
pub fn called_in(db: &dyn Db, file: SourceFile) -> Vec<(HostPlace, Function)> {
    let mut out: Vec<(HostPlace, Function)> = Vec::new();
    for Called { at, partial, .. } in db.settings().called(db).get(file.path(db)).into_iter().flatten() {
        if at.file == file && !out.iter().any(|(place, _)| place == at) {
            out.push((*at, partial.kernel));
        }
    }
    out
}

/// The name of a launch's caller, seen from the folder that it shares with the kernel.
pub(crate) fn name_beside(db: &dyn Db, called: &Called) -> String {
    let (kernel, caller) = (called.partial.kernel.file(db).path(db), called.from.file.path(db));
    let beside = kernel.ancestors().find_map(|folder| caller.strip_prefix(folder).ok());
    beside.unwrap_or(caller).display().to_string()
}
