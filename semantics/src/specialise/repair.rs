//! Assumptions that explain the code: where an assumed argument makes errors that another would not make, the other was meant.
//!
//! People run the kernels they launch, so one whose `BK` and `BV` must be equal is one whose author passes equal ones. **Invariants:**
//! only arguments that were assumed are changed; a change is kept only if it makes strictly fewer errors, none of them new, and still
//! reaches the places of those it makes go away; so what remains holds under every assumption that was tried.

use std::collections::BTreeSet;

use super::flow::{self, Flow, Role};
use crate::{
    ArgType, Argument, Db, Function, Instance,
    constant::Const,
    diagnostics::Severity,
    dtype::DType,
    elaborate::{Elaborated, elaborate},
    problem::{At, Problem},
};

/// Elaborations that one kernel's assumptions may cost.
const MOST_TRIALS: usize = 160;

/// What is known of one kernel from the sets of arguments that were repaired before.
pub(super) struct Repairs {
    trials_left: usize,
    /// Changes that explained something.
    learned: Vec<(usize, Argument)>,
}

impl Default for Repairs {
    fn default() -> Repairs {
        Repairs { trials_left: MOST_TRIALS, learned: Vec::new() }
    }
}

/// Some arguments, by position.
type Change = Vec<(usize, Argument)>;

impl Repairs {
    /// The instance with those of its `free` arguments changed that explain its errors.
    pub(super) fn repair(&mut self, db: &dyn Db, mut instance: Instance, flow: &Flow, free: &dyn Fn(usize) -> bool) -> Instance {
        // Those that nothing explains are passed over.
        let mut stuck = 0;
        while let Some(problem) = errors(elaborate(db, instance)).nth(stuck) {
            let candidates: Vec<usize> = sources(db, instance.function(db), problem).into_iter().filter(|&i| free(i)).collect();
            let changes = changes(instance.arguments(db), flow, &candidates);
            let learned = self.learned.iter().map(|change| vec![change.clone()]);
            let all: Vec<Change> = learned.chain(changes).collect();
            match all.into_iter().find_map(|change| self.attempt(db, instance, change)) {
                Some(better) => instance = better,
                None if self.trials_left == 0 => break,
                None => stuck += 1,
            }
        }
        instance
    }

    /// The changed instance if that explains something.
    fn attempt(&mut self, db: &dyn Db, instance: Instance, change: Change) -> Option<Instance> {
        let mut arguments = instance.arguments(db).clone();
        for (i, argument) in &change {
            arguments[*i] = argument.clone();
        }
        if self.trials_left == 0 || arguments == *instance.arguments(db) {
            return None;
        }
        self.trials_left -= 1;
        db.unwind_if_revision_cancelled();
        let other = Instance::new(db, instance.function(db), arguments, instance.triton(db).clone());
        if !explains(elaborate(db, instance), elaborate(db, other)) {
            return None;
        }
        self.learned.extend(change);
        Some(other)
    }
}

fn errors(elaborated: &Elaborated) -> impl Iterator<Item = &Problem> {
    elaborated.problems.iter().filter(|p| p.severity() == Severity::Error)
}

/// Whether what is found now is part of what was found before, and what is gone was looked at.
fn explains(before: &Elaborated, now: &Elaborated) -> bool {
    let same = |a: &Problem, b: &Problem| a.code == b.code && a.place == b.place;
    let reached = |problem: &Problem| match problem.place.at {
        At::Expr(id) | At::Argument(id) => now.types.get(&problem.place.function).is_some_and(|types| types.contains_key(&id)),
        At::Stmt(_) | At::Param(_) | At::Name => true,
    };
    let mut kept = 0;
    for problem in errors(now) {
        if !errors(before).any(|old| same(old, problem)) {
            return false;
        }
        kept += 1;
    }
    let gone = errors(before).filter(|old| !errors(now).any(|problem| same(old, problem)));
    kept < errors(before).count() && gone.into_iter().all(reached)
}

/// The parameters of the kernel that a problem may come from: those its place in the kernel is made of, all if that is no expression.
fn sources(db: &dyn Db, kernel: Function, problem: &Problem) -> BTreeSet<usize> {
    let places = std::iter::once(problem.place).chain(problem.calls.iter().copied());
    match places.into_iter().find(|place| place.function == kernel).map(|place| place.at) {
        Some(At::Expr(id) | At::Argument(id)) => flow::sources(db, kernel, id),
        _ => (0..crate::items::items(db, kernel.file(db)).function(kernel).map_or(0, |item| item.params.len())).collect(),
    }
}

/// Changes of the candidates, the likeliest first: all their pointers, then one argument, every candidate's first idea before any second.
fn changes(arguments: &[Argument], flow: &Flow, candidates: &[usize]) -> Vec<Change> {
    let elements = [DType::F16, DType::I8, DType::I32, DType::I64, DType::F8E4M3];
    let mut out: Vec<Change> = Vec::new();
    for elem in elements {
        let pointers = candidates.iter().filter_map(|&i| match &arguments[i] {
            Argument::Runtime { ty: ArgType::Ptr { is_const, .. }, divisible_by_16 } => {
                Some((i, Argument::Runtime { ty: ArgType::Ptr { elem, is_const: *is_const }, divisible_by_16: *divisible_by_16 }))
            }
            _ => None,
        });
        out.push(pointers.collect());
    }
    let ideas: Vec<(usize, Vec<Argument>)> = candidates
        .iter()
        .map(|&i| (i, alternatives(&arguments[i], flow.roles.get(i).copied().unwrap_or(Role::Number))))
        .collect();
    let most = ideas.iter().map(|(_, ideas)| ideas.len()).max().unwrap_or(0);
    for nth in 0..most {
        out.extend(ideas.iter().filter_map(|(i, ideas)| Some(vec![(*i, ideas.get(nth)?.clone())])));
    }
    out
}

/// What else an assumed argument may be.
fn alternatives(argument: &Argument, role: Role) -> Vec<Argument> {
    let constant = |value| Argument::Constexpr(value);
    let words = || ["", "ieee"].map(|word| constant(Const::Str(word.to_owned())));
    let scalar = |dtype| Argument::Runtime { ty: ArgType::Scalar(dtype), divisible_by_16: false };
    let pointer = |elem| Argument::Runtime { ty: ArgType::Ptr { elem, is_const: false }, divisible_by_16: true };
    let out: Vec<Argument> = match argument {
        // A flag stays one: its other value has its own set.
        Argument::Constexpr(Const::Bool(_)) if role == Role::Flag => vec![constant(Const::None)],
        Argument::Constexpr(Const::Bool(_)) => vec![constant(Const::None), constant(Const::Int(1))],
        Argument::Constexpr(Const::Int(_)) => {
            let sizes = [64, 32, 128, 16, 256, 1, 4, 8].map(|size| constant(Const::Int(size)));
            let others = [constant(Const::DType(DType::F32)), constant(Const::None), constant(Const::Bool(true))];
            sizes.into_iter().chain(words()).chain(others).collect()
        }
        Argument::Constexpr(Const::DType(_)) => [DType::F16, DType::I32, DType::I8].map(|d| constant(Const::DType(d))).into(),
        Argument::Constexpr(Const::Str(_)) => words().into_iter().chain([constant(Const::None)]).collect(),
        Argument::Runtime { ty: ArgType::Scalar(dtype), .. } => {
            let numbers = [DType::I32, DType::F32, DType::I64, DType::I1].map(scalar);
            let pointers = if dtype.is_int() { vec![pointer(DType::F32), pointer(DType::I32)] } else { vec![] };
            numbers.into_iter().chain(pointers).collect()
        }
        Argument::Runtime { ty: ArgType::Ptr { .. }, .. } => {
            let elements = [DType::I32, DType::F32, DType::F16, DType::I64, DType::I8, DType::I1, DType::F8E4M3].map(pointer);
            elements.into_iter().chain([scalar(DType::I32)]).collect()
        }
        Argument::Constexpr(_) | Argument::Tuple(_) | Argument::Descriptor { .. } | Argument::Unknown => vec![],
    };
    out.into_iter().filter(|other| other != argument).collect()
}
