//! What one elaboration may cost: work and memory in one number, so that no kernel, however it is written, takes either without end.
//!
//! **Invariant:** every expression, statement, trip of a compile-time loop, part of a tuple, operation and call is paid for, a call with
//! the work of everything it reaches that was not reached before; so equal calls cost once. What is beyond the budget is unknown and
//! told once.

use rustc_hash::FxHashSet;

use super::{
    Call, CallArgument, Elaboration, elaborate_call,
    evaluator::{Eval, Evaluator, Poisoned, problem},
    value::Value,
};
use crate::{
    body::ExprId,
    constant::Const,
    diagnostics::{Code, Severity},
    problem::{At, Place},
    types::TileType,
};

/// Work of one elaboration, calls included: expressions, statements, trips, parts of tuples; operations count [`WORK_PER_OP`]
/// and calls [`WORK_PER_CALL`] each.
const MAX_WORK: usize = 500_000;
const WORK_PER_OP: usize = 4;
/// What is kept of a call, however short its function.
const WORK_PER_CALL: usize = 250;

/// Parts of one tuple, those of its parts included.
pub(super) const MAX_VALUE_NODES: usize = 8192;
/// Tuples within tuples.
const MAX_VALUE_DEPTH: usize = 64;
/// Axes of one tile: what varies along each is a bit of eight.
const MAX_RANK: usize = 8;

/// Bytes of a string that count as one part.
const BYTES_PER_NODE: usize = 64;

#[derive(Default)]
pub(super) struct Budget {
    /// Work of this walk, without operations.
    spent: usize,
    /// Work of the calls it has reached.
    spent_by_calls: usize,
    counted: FxHashSet<Call>,
    /// Nothing is left: whatever is asked for is unknown.
    exhausted: bool,
    /// Some call has used up its own.
    exhausted_below: bool,
    /// The outermost compile-time loop around what is walked.
    pub unrolling: Option<Place>,
}

impl Budget {
    pub(super) fn spent_by_calls(&self) -> usize {
        self.spent_by_calls
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.exhausted || self.exhausted_below
    }
}

impl<'a> Evaluator<'a> {
    /// Work of this walk alone.
    pub(super) fn own_work(&self) -> usize {
        self.budget.spent + self.out.ops.len() * WORK_PER_OP
    }

    /// Before a statement, a trip and a call: has the text changed meanwhile, and is there work left?
    pub(super) fn step(&mut self) -> Eval<()> {
        self.db.unwind_if_revision_cancelled();
        self.pay(1)
    }

    pub(super) fn pay(&mut self, work: usize) -> Eval<()> {
        if self.budget.exhausted || self.stopped {
            return Err(Poisoned);
        }
        self.budget.spent += work;
        if self.own_work() + self.budget.spent_by_calls <= MAX_WORK {
            return Ok(());
        }
        self.budget.exhausted = true;
        self.complete = false;
        // What used up its own has told so.
        if !self.budget.exhausted_below {
            let place = self.budget.unrolling.unwrap_or(Place { function: self.function, at: At::Name });
            let name = self.function.name(self.db);
            let message = format!(
                "`{name}` takes more than {MAX_WORK} steps to evaluate; the rest of it is not checked. Shorten its compile-time loops, or use `tl.range`"
            );
            self.tell_limit(place, message);
        }
        Err(Poisoned)
    }

    /// A limit of this program that Triton does not have.
    pub(super) fn tell_limit(&mut self, place: Place, message: String) {
        let mut limit = problem(Code::LIM001, place, message);
        limit.level = Some(Severity::Hint);
        self.report(limit);
    }

    /// A value as an expression gives it: unknown where it is too large to be followed.
    pub(super) fn pay_for_value(&mut self, expr: ExprId, value: Value) -> Value {
        if let Value::Tile(tile) = &value
            && !tile.ty.is_scalar()
            && self.check_tile(tile.ty.clone(), expr).is_err()
        {
            self.complete = false;
            return Value::Unknown;
        }
        match value.nodes() {
            Some(1) => value,
            Some(nodes) if self.pay(nodes).is_ok() => value,
            Some(_) => Value::Unknown,
            None => {
                self.too_large(expr);
                Value::Unknown
            }
        }
    }

    /// Shapes that meet make larger ones.
    fn check_tile(&mut self, ty: TileType, expr: ExprId) -> Eval<()> {
        if ty.rank() > MAX_RANK {
            let message = format!(
                "a tile with {} axes is part of Triton, but Tritium follows at most {MAX_RANK}: what depends on it is not checked",
                ty.rank()
            );
            return Err(self.problem(Code::LIM002, self.place(expr), message));
        }
        self.check_elements(&ty.shape, Some(expr))
    }

    pub(super) fn too_large(&mut self, expr: ExprId) -> Poisoned {
        self.complete = false;
        let message = format!(
            "`{}` is a tuple of more than {MAX_VALUE_NODES} parts, or of tuples more than {MAX_VALUE_DEPTH} deep: what depends on it is not checked",
            self.text(expr)
        );
        self.tell_limit(self.place(expr), message);
        Poisoned
    }

    /// Takes over what a call costs and whether it is known to its end.
    pub(super) fn pay_for_call(&mut self, call: Call, callee: &Elaboration) -> Eval<()> {
        self.complete &= callee.complete;
        self.first_unknown = self.first_unknown.or(callee.first_unknown);
        self.budget.exhausted_below |= callee.exhausted;
        self.stopped |= callee.stopped;
        let mut left = vec![call];
        while let Some(call) = left.pop() {
            if self.budget.counted.insert(call) {
                let part = elaborate_call(self.db, call);
                self.budget.spent_by_calls += part.work + WORK_PER_CALL;
                left.extend(part.calls.keys());
            }
        }
        self.pay(1)
    }
}

impl Value {
    /// Its parts, those of its parts included, and itself; `None` if there are too many.
    pub(super) fn nodes(&self) -> Option<usize> {
        let mut left = MAX_VALUE_NODES;
        self.count(&mut left, MAX_VALUE_DEPTH)?;
        Some(MAX_VALUE_NODES - left)
    }

    fn count(&self, left: &mut usize, depth: usize) -> Option<()> {
        *left = left.checked_sub(1)?;
        match self {
            Value::Tuple(items) | Value::Record(super::value::Record { items, .. }) => {
                let depth = depth.checked_sub(1)?;
                items.iter().try_for_each(|item| item.count(left, depth))
            }
            Value::Const(constant) => count_constant(&constant.value, left, depth),
            _ => Some(()),
        }
    }
}

fn count_constant(value: &Const, left: &mut usize, depth: usize) -> Option<()> {
    match value {
        Const::Tuple(items) => {
            let depth = depth.checked_sub(1)?;
            items.iter().try_for_each(|item| {
                *left = left.checked_sub(1)?;
                count_constant(item, left, depth)
            })
        }
        Const::Str(text) => {
            *left = left.checked_sub(text.len() / BYTES_PER_NODE)?;
            Some(())
        }
        _ => Some(()),
    }
}

impl CallArgument {
    /// A function is among it, or an object, which has methods: what is called with it may call back.
    pub(super) fn holds_functions(&self) -> bool {
        fn is_function(value: &Const) -> bool {
            match value {
                Const::Function(_) => true,
                Const::Tuple(items) => items.iter().any(is_function),
                _ => false,
            }
        }
        match self {
            CallArgument::Record(..) => true,
            CallArgument::Const(value) => is_function(value),
            CallArgument::Tuple(items) => items.iter().any(CallArgument::holds_functions),
            _ => false,
        }
    }
}
