//! Assumptions that explain the code: where an assumed argument makes errors that another would not make, the other was meant.
//!
//! People run the kernels they launch, so one whose `BK` and `BV` must be equal is one whose author passes equal ones. **Invariants:**
//! only arguments that were assumed are changed; a change is kept only if it makes strictly fewer errors, none of them new, and still
//! reaches the places of those it makes go away; so what remains holds under every assumption that was tried.

use std::collections::BTreeSet;

use smol_str::SmolStr;

use super::flow::{self, Flow, Role};
use crate::{
    ArgType, Argument, Db, Function, Instance,
    body::{Expr, ExprId, Stmt},
    constant::Const,
    diagnostics::{Code, Severity},
    dtype::DType,
    elaborate::{Elaborated, elaborate, elaborate_once},
    items::{self, Node},
    problem::{At, Problem},
};

/// Elaborations that one kernel's assumptions may cost.
const MAX_TRIALS: usize = 160;

/// Work of an elaboration that costs no more than one trial.
const WORK_OF_A_TRIAL: usize = 50_000;

/// Elaborations that explain one error which only another change uncovered.
const MAX_FURTHER_TRIALS: usize = 12;

/// The same for a kernel that the file does not launch.
const MAX_UNLAUNCHED_TRIALS: usize = 48;

/// What is known of one kernel from the sets of arguments that were repaired before.
pub(super) struct Repairs {
    trials_left: usize,
    /// Changes that explained something.
    learned: Vec<(usize, Argument)>,
    /// Who launches a kernel passes what it works with, so every argument may be another; one that the file does not launch may still
    /// have the mistakes that it shows, and only what nothing in it decides may be another: the elements behind pointers, a choice of
    /// values it compares with, the size of a block.
    is_run: bool,
}

/// Some arguments, by position.
type Change = Vec<(usize, Argument)>;

/// Whether an argument, by position, may be another.
type Free<'a> = dyn Fn(usize, &Argument) -> bool + 'a;

impl Repairs {
    pub(super) fn new(is_run: bool) -> Repairs {
        Repairs { trials_left: if is_run { MAX_TRIALS } else { MAX_UNLAUNCHED_TRIALS }, learned: Vec::new(), is_run }
    }

    /// The instance with those of its `free` arguments changed that explain its errors.
    pub(super) fn repair(&mut self, db: &dyn Db, mut instance: Instance, flow: &Flow, free: &Free<'_>) -> Instance {
        // Those that nothing explains are passed over.
        let mut stuck = 0;
        while let Some(problem) = errors(db, elaborate(db, instance)).nth(stuck) {
            let learned = self.learned.iter().map(|change| vec![change.clone()]);
            let all: Vec<Change> =
                learned.chain(self.changes(db, instance.function(db), instance.arguments(db), problem, flow, free)).collect();
            // One that nothing explains leaves as many trials to the others.
            let kept = self.trials_left / 2;
            let better = all.into_iter().find_map(|change| {
                if self.trials_left > kept { self.attempt(db, instance, change, problem, flow, free) } else { None }
            });
            match better {
                Some(better) => instance = better,
                None if self.trials_left == 0 => break,
                None => stuck += 1,
            }
        }
        instance
    }

    /// What may be tried for a problem of a kernel under some arguments.
    fn changes(
        &self,
        db: &dyn Db,
        kernel: Function,
        arguments: &[Argument],
        problem: &Problem,
        flow: &Flow,
        free: &Free<'_>,
    ) -> Vec<Change> {
        let mut sources = sources(db, kernel, problem);
        // What it is told beside takes part in it.
        for (place, _) in problem.related.iter().filter(|(place, _)| place.function == kernel) {
            if let At::Expr(id) | At::Argument(id) = place.at {
                sources.extend(flow::sources(db, kernel, id));
            }
        }
        let candidates: Vec<usize> = sources.into_iter().collect();
        let mut all = changes(arguments, flow, &candidates);
        for change in &mut all {
            change.retain(|(i, new)| free(*i, new));
        }
        all.retain(|change| !change.is_empty());
        // A tile is too large by its extents, whatever its elements are.
        if problem.code == Code::SHP004 {
            all.retain(|change| change.iter().any(|(_, new)| matches!(new, Argument::Constexpr(_))));
        }
        if !self.is_run {
            let is_open = |(i, new): &(usize, Argument)| match (&arguments[*i], new) {
                (Argument::Runtime { ty: ArgType::Ptr { .. }, .. }, Argument::Runtime { ty: ArgType::Ptr { .. }, .. }) => true,
                // Blocks smaller than this are rare, and an extent of 1 hides what is wrong with others.
                (Argument::Constexpr(Const::Int(_)), Argument::Constexpr(Const::Int(size))) if problem.code == Code::SHP002 => {
                    *size >= 16
                }
                (Argument::Constexpr(_), Argument::Constexpr(value)) => choices(flow, *i).contains(value),
                _ => false,
            };
            all.retain(|change| change.iter().all(is_open));
        }
        all
    }

    /// The changed instance if that explains something, with a further change where the first uncovers another error.
    fn attempt(
        &mut self,
        db: &dyn Db,
        instance: Instance,
        change: Change,
        problem: &Problem,
        flow: &Flow,
        free: &Free<'_>,
    ) -> Option<Instance> {
        let (kernel, triton) = (instance.function(db), instance.triton(db));
        // A trial becomes an instance, which is interned for good, only if it is kept.
        let kept = |arguments| Some(Instance::new(db, kernel, arguments, triton.clone()));
        let before = elaborate(db, instance);
        let other = self.changed(db, instance.arguments(db), &change)?;
        let now = elaborate_once(db, kernel, &other, triton);
        self.trials_left = self.trials_left.saturating_sub(price(&now));
        if explains(db, before, &now) {
            self.learned.extend(change);
            return kept(other);
        }
        if errors(db, &now).any(|p| same(p, problem)) || !now.reaches(db, problem) {
            return None;
        }
        let uncovered = errors(db, &now).find(|p| !errors(db, before).any(|old| same(old, p)))?;
        for further in self.changes(db, kernel, &other, uncovered, flow, free).into_iter().take(MAX_FURTHER_TRIALS) {
            // What explains the one must not take back the other.
            if further.iter().any(|(i, _)| change.iter().any(|(j, _)| i == j)) {
                continue;
            }
            if let Some(third) = self.changed(db, &other, &further)
                && explains(db, before, &elaborate_once(db, kernel, &third, triton))
            {
                self.learned.extend(change.into_iter().chain(further));
                return kept(third);
            }
        }
        None
    }

    /// The arguments with a change, if it is one and may be tried.
    fn changed(&mut self, db: &dyn Db, arguments: &[Argument], change: &Change) -> Option<Vec<Argument>> {
        let mut changed = arguments.to_vec();
        for (i, argument) in change {
            changed[*i] = argument.clone();
        }
        if self.trials_left == 0 || changed == arguments {
            return None;
        }
        self.trials_left -= 1;
        db.unwind_if_revision_cancelled();
        Some(changed)
    }
}

/// What a trial costs beyond its own number: kernels that unroll far are tried less often.
fn price(elaborated: &Elaborated) -> usize {
    (elaborated.work / WORK_OF_A_TRIAL).pow(2)
}

/// The errors that other arguments could make go away.
pub(super) fn errors<'a>(db: &'a dyn Db, elaborated: &'a Elaborated) -> impl Iterator<Item = &'a Problem> {
    elaborated.problems.iter().filter(|p| p.severity() == Severity::Error && hangs_on_arguments(db, p))
}

/// Whether other arguments could make a problem go away. A name that its function never binds is a mistake under all of them: while a name
/// is being typed nobody looks for arguments that explain it.
pub(crate) fn hangs_on_arguments(db: &dyn Db, problem: &Problem) -> bool {
    let (Code::LNG018, At::Expr(id)) = (problem.code, problem.place.at) else { return true };
    let Some((body, _)) = items::function_body(db, problem.place.function) else { return true };
    let Expr::Name(name) = body.expr(id) else { return true };
    bound_names(db, problem.place.function).as_ref().is_none_or(|bound| bound.contains(name))
}

/// What a function may bind: `None` where nobody can list it.
#[salsa::tracked(returns(ref))]
fn bound_names(db: &dyn Db, function: Function) -> Option<BTreeSet<SmolStr>> {
    let (body, stmt) = items::function_body(db, function)?;
    let Stmt::Function(def) = body.stmt(stmt) else { return None };
    let mut bound: BTreeSet<SmolStr> = def.params.iter().map(|p| p.name.clone()).collect();
    let mut is_open = false;
    items::walk(&body, &def.body, &mut |node| {
        let mut add = |target: ExprId| {
            items::walk_expr(&body, target, &mut |node| {
                if let Node::Expr(e) = node
                    && let Expr::Name(name) = body.expr(e)
                {
                    bound.insert(name.clone());
                }
            });
        };
        match node {
            Node::Stmt(stmt) => match body.stmt(stmt) {
                Stmt::Assign { targets, .. } => targets.iter().copied().for_each(add),
                Stmt::AugAssign { target, .. } | Stmt::AnnAssign { target, .. } | Stmt::For { target, .. } => add(*target),
                Stmt::With { items, .. } => items.iter().filter_map(|(_, target)| *target).for_each(add),
                Stmt::Import { .. } | Stmt::ImportFrom { .. } | Stmt::Other { .. } | Stmt::Try { .. } => is_open = true,
                Stmt::Function(inner) => _ = bound.insert(inner.name.clone()),
                Stmt::Class { name, .. } => _ = bound.insert(name.clone()),
                _ => {}
            },
            Node::Expr(e) => {
                if let Expr::Named { name, .. } = body.expr(e) {
                    bound.insert(name.clone());
                }
            }
        }
    });
    (!is_open).then_some(bound)
}

fn same(a: &Problem, b: &Problem) -> bool {
    a.code == b.code && a.place == b.place
}

/// Whether what is found now is part of what was found before, and what is gone was looked at.
fn explains(db: &dyn Db, before: &Elaborated, now: &Elaborated) -> bool {
    let mut kept = 0;
    for problem in errors(db, now) {
        if !errors(db, before).any(|old| same(old, problem)) {
            return false;
        }
        kept += 1;
    }
    let mut gone = errors(db, before).filter(|old| !errors(db, now).any(|problem| same(old, problem)));
    kept < errors(db, before).count() && gone.all(|problem| now.reaches(db, problem))
}

/// The parameters of the kernel that a problem may come from: those its place in the kernel is made of, all if that is no expression.
pub(super) fn sources(db: &dyn Db, kernel: Function, problem: &Problem) -> BTreeSet<usize> {
    let places = std::iter::once(problem.place).chain(problem.calls.iter().copied());
    match places.into_iter().find(|place| place.function == kernel).map(|place| place.at) {
        Some(At::Expr(id) | At::Argument(id)) => flow::sources(db, kernel, id),
        _ => (0..flow::flow(db, kernel).roles.len()).collect(),
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
        .map(|&i| {
            let chosen = choices(flow, i).iter().map(|value| Argument::Constexpr(value.clone()));
            let chosen = chosen.filter(|other| matches!(arguments[i], Argument::Constexpr(_)) && *other != arguments[i]);
            let others = alternatives(&arguments[i], flow.roles.get(i).copied().unwrap_or(Role::Number));
            (i, chosen.chain(others).collect())
        })
        .collect();
    let most = ideas.iter().map(|(_, ideas)| ideas.len()).max().unwrap_or(0);
    for nth in 0..most {
        out.extend(ideas.iter().filter_map(|(i, ideas)| Some(vec![(*i, ideas.get(nth)?.clone())])));
    }
    out
}

/// The values that a parameter is compared with.
fn choices(flow: &Flow, param: usize) -> &[Const] {
    match flow.roles.get(param) {
        Some(Role::Choice(i)) => flow.choices.get(*i as usize).map_or(&[], Vec::as_slice),
        _ => &[],
    }
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
