//! Linking: the module, problems and types of a kernel from its own elaboration and those of the calls below it.
//!
//! **Invariant:** every call is taken in once, however often and from wherever it is made, so the work is linear in what was elaborated.

use std::sync::Arc;

use indexmap::map;
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use tritium_tile::{self as tile, OpKind, Origin};

use super::{Call, Elaborated, Elaboration, OriginData, TypesOf, elaborate_call};
use crate::{
    Db, OrderedMap,
    diagnostics::Code,
    problem::{Place, Problem},
    types::Ty,
};

/// A call as the body around it makes it first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reached {
    pub(super) site: Place,
    /// Origin of the call, among those of the body around it.
    pub(super) origin: u32,
    /// It is made by code that may run.
    pub(super) live: bool,
    /// Problems, bindings and origins that the body had before.
    pub(super) problems_before: usize,
    pub(super) bindings_before: usize,
    pub(super) origins_before: usize,
}

pub(super) fn link(db: &dyn Db, mut root: Elaboration) -> Elaborated {
    let mut findings = Findings::default();
    findings.take(db, &root, &mut Vec::new());
    let mut linker = Linker::new(db, &mut root);
    // Half a kernel is nobody's: its tile IR would only be kept.
    if !root.exhausted {
        linker.take(&root, 0, None);
    }
    Elaborated {
        module: linker.module,
        origins: linker.origins,
        types: findings.types,
        bindings: findings.bindings.into_iter().map(|(place, (name, ty))| (place, name, ty)).collect(),
        problems: findings.problems.into_values().collect(),
        complete: root.complete,
        first_unknown: root.first_unknown,
        work: root.whole_work,
        exhausted: root.exhausted,
    }
}

/// What was found out, of code that never runs too.
#[derive(Default)]
struct Findings {
    seen: FxHashSet<Call>,
    types: TypesOf,
    bindings: OrderedMap<Place, (SmolStr, Ty)>,
    problems: OrderedMap<(Code, Place), Problem>,
}

impl Findings {
    /// `sites`: the calls that lead here, outermost first.
    fn take(&mut self, db: &dyn Db, part: &Elaboration, sites: &mut Vec<Place>) {
        db.unwind_if_revision_cancelled();
        if let Some((function, types)) = &part.types {
            match self.types.entry(*function) {
                map::Entry::Vacant(entry) => _ = entry.insert(types.clone()),
                map::Entry::Occupied(mut known) => Arc::make_mut(known.get_mut()).extend(types),
            }
        }
        let (mut told, mut bound) = (0, 0);
        for (&call, reached) in &part.calls {
            self.report(&part.problems[told..reached.problems_before], sites);
            self.bind(&part.bindings[bound..reached.bindings_before]);
            (told, bound) = (reached.problems_before, reached.bindings_before);
            if self.seen.insert(call) {
                sites.push(reached.site);
                stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || self.take(db, elaborate_call(db, call), sites));
                sites.pop();
            }
        }
        self.report(&part.problems[told..], sites);
        self.bind(&part.bindings[bound..]);
    }

    fn bind(&mut self, bindings: &[(Place, SmolStr, Ty)]) {
        for (place, name, ty) in bindings {
            self.bindings.insert(*place, (name.clone(), ty.clone()));
        }
    }

    /// One message per code and place: the first stays.
    fn report(&mut self, problems: &[Problem], sites: &[Place]) {
        for problem in problems {
            self.problems.entry((problem.code, problem.place)).or_insert_with(|| {
                let mut problem = problem.clone();
                // Once each, however often recursion comes by.
                for site in sites.iter().rev() {
                    if !problem.calls.contains(site) {
                        problem.calls.push(*site);
                    }
                }
                problem
            });
        }
    }
}

struct Linker<'db> {
    db: &'db dyn Db,
    module: tile::Module,
    origins: Vec<OriginData>,
    /// Where the function of a call stands in the module.
    places: FxHashMap<Call, usize>,
    names: FxHashSet<String>,
    /// The last number that a name was given to tell it from others.
    numbers: FxHashMap<String, u32>,
}

impl<'db> Linker<'db> {
    /// The root's function becomes the module's first.
    fn new(db: &'db dyn Db, root: &mut Elaboration) -> Linker<'db> {
        let mut module = tile::Module::new(tile::Level::L0);
        let name = root.function.name.clone();
        let whole = std::mem::replace(&mut root.function, tile::Function::new(&*name));
        module.functions.push(if root.exhausted { tile::Function::new(&*name) } else { whole });
        let names = FxHashSet::from_iter([name]);
        Linker { db, module, origins: Vec::new(), places: FxHashMap::default(), names, numbers: FxHashMap::default() }
    }

    /// Numbers the origins of a function that stands in the module, brings in what it calls, and names both anew in its operations.
    fn take(&mut self, part: &Elaboration, index: usize, inlined_at: Option<u32>) {
        let mut numbered: Vec<u32> = Vec::with_capacity(part.origins.len());
        let number = |linker: &mut Self, numbered: &mut Vec<u32>, end: usize| {
            for &place in &part.origins[numbered.len().min(end)..end] {
                numbered.push(linker.origins.len() as u32);
                linker.origins.push(OriginData { place, inlined_at });
            }
        };
        for (&call, reached) in &part.calls {
            if !reached.live || self.places.contains_key(&call) {
                continue;
            }
            number(self, &mut numbered, reached.origins_before);
            let callee = elaborate_call(self.db, call);
            let place = self.module.functions.len();
            self.places.insert(call, place);
            let mut function = callee.function.clone();
            function.name = self.free_name(&function.name);
            self.module.functions.push(function);
            let at = numbered.get(reached.origin as usize).copied();
            stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || self.take(callee, place, at));
        }
        number(self, &mut numbered, part.origins.len());
        let calls: Vec<Option<usize>> = part.calls.keys().map(|call| self.places.get(call).copied()).collect();
        for op in &mut self.module.functions[index].ops {
            if op.origin != Origin::NONE {
                op.origin = numbered.get(op.origin.0 as usize).map_or(Origin::NONE, |&n| Origin(n));
            }
            if let OpKind::Call { callee } = &mut op.kind {
                // What calls code that never runs stands in no block.
                let place = calls.get(callee.index() - 1).copied().flatten();
                *callee = tile::FunctionId(place.unwrap_or(index) as u32);
            }
        }
    }

    fn free_name(&mut self, name: &str) -> String {
        let mut free = name.to_owned();
        while !self.names.insert(free.clone()) {
            let number = self.numbers.entry(name.to_owned()).or_insert(1);
            *number += 1;
            free = format!("{name}_{number}");
        }
        free
    }
}
