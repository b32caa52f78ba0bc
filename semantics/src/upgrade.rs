//! What changes between two versions of Triton: the same kernels elaborated under both.
//!
//! **Invariant:** the specialisations are those that the file is checked under; only the version differs.

use std::{collections::BTreeMap, ops::Range};

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

mod block_pointers;

use crate::{
    Db, Function, Instance, SourceFile,
    check::{FileFix, file_fix},
    diagnostics::{Code, Severity},
    elaborate::{Elaborated, elaborate},
    items,
    places::range_of,
    problem::{Applicability, Fix, Place, Problem},
    specialise::specialisations,
    types::Ty,
    versions::{self, Availability},
};

/// One difference at its place in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub range: Range<usize>,
    pub kernel: SmolStr,
    pub message: String,
    /// How the other version says it.
    pub fix: Option<FileFix>,
}

/// The differences that a file's kernels meet under another version, in the order of the text.
#[salsa::tracked(returns(ref))]
pub fn changes(db: &dyn Db, file: SourceFile, version: SmolStr) -> Vec<Change> {
    let own = SmolStr::from(versions::oldest_of(crate::project::triton(db, file)));
    let mut found: BTreeMap<(usize, usize), Change> = BTreeMap::new();
    if versions::rules(&own) == versions::rules(&version) {
        return vec![];
    }
    for &kernel in items::kernels(db, file) {
        db.unwind_if_revision_cancelled();
        for specialisation in specialisations(db, kernel) {
            let now = elaborate(db, under(db, specialisation.instance, &own));
            let then = elaborate(db, under(db, specialisation.instance, &version));
            for (place, message, fix) in differences(now, then, &own, &version) {
                add(db, file, kernel, (place, message, fix), &mut found);
            }
        }
    }
    let has_block_pointers =
        |triton: &str| !matches!(versions::availability("triton.language.make_block_ptr", triton), Availability::Removed { .. });
    if has_block_pointers(&own) && !has_block_pointers(&version) {
        for function in &items::items(db, file).functions {
            for rewrite in block_pointers::rewrites(db, function.function) {
                let message = format!("Triton {version} has no block pointers: `{}` can be a tile of pointers", rewrite.name);
                add(db, file, function.function, (rewrite.place, message, Some(rewrite.fix)), &mut found);
            }
        }
    }
    found.into_values().collect()
}

fn under(db: &dyn Db, instance: Instance, version: &SmolStr) -> Instance {
    Instance::new(db, instance.function(db), instance.arguments(db).clone(), version.clone())
}

fn add(
    db: &dyn Db,
    file: SourceFile,
    kernel: Function,
    (place, message, fix): (Place, String, Option<Fix>),
    found: &mut BTreeMap<(usize, usize), Change>,
) {
    let Some((at, range)) = range_of(db, place) else { return };
    if at != file {
        return;
    }
    let fix = fix.and_then(|fix| file_fix(db, file, &fix));
    let kernel = kernel.name(db).clone();
    let change = found.entry((range.start, range.end)).or_insert(Change { range, kernel, message, fix: None });
    change.fix = change.fix.take().or(fix);
}

fn differences(now: &Elaborated, then: &Elaborated, own: &str, version: &str) -> Vec<(Place, String, Option<Fix>)> {
    let has = |all: &Elaborated, p: &Problem| all.problems.iter().any(|q| q.code == p.code && q.place == p.place);
    let matters = |p: &&Problem| matches!(p.severity(), Severity::Error | Severity::Warning);
    let place_of = |p: &Problem| p.calls.last().copied().unwrap_or(p.place);
    let mut out = Vec::new();
    // What neither has is no difference, but has a new name all the same.
    for problem in then.problems.iter().filter(matters).filter(|p| !has(now, p) || new_name(p).is_some()) {
        let message = format!("Triton {version} reports {} here: {}", problem.code, problem.message);
        out.push((place_of(problem), message, new_name(problem)));
    }
    for problem in now.problems.iter().filter(matters).filter(|p| !has(then, p)) {
        let message = format!("Triton {version} accepts this, which {own} reports as {}: {}", problem.code, problem.message);
        out.push((place_of(problem), message, None));
    }
    let types: FxHashMap<Place, &Ty> = then.bindings.iter().map(|(place, _, ty)| (*place, ty)).collect();
    for (place, name, ty) in &now.bindings {
        if let Some(other) = types.get(place)
            && *other != ty
            && ty.is_known()
            && other.is_known()
        {
            out.push((*place, format!("`{name}` is {ty} with Triton {own}, and {other} with {version}"), None));
        }
    }
    out
}

/// What has another name in the version that lacks the old one: no program that is correct there has it.
fn new_name(problem: &Problem) -> Option<Fix> {
    let fix = problem.fixes.first().filter(|_| problem.code == Code::VER001 && problem.calls.is_empty())?;
    Some(Fix { applicability: Applicability::Safe, ..fix.clone() })
}
