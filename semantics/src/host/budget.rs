//! What one evaluation of host code may use: elements that it makes, and values that it looks at; its steps are counted by the evaluator.
//!
//! Whatever is made is also kept here until the evaluation ends, and then taken apart piece by piece: lists that hold themselves, functions
//! and the scopes they stand in are given back, and what nests deeply needs no deep stack to go. **Invariant:** evaluations on a thread nest,
//! and each has its own budget; once one is used up everything that it would still make is unknown.

use std::{any::Any, cell::RefCell, mem, rc::Rc};

use indexmap::IndexMap;

use super::value::{Object, Scope, Value};
use crate::constant::Const;

/// Elements of all lists, tuples, dictionaries and scopes that one evaluation makes.
pub(super) const MAX_ELEMENTS: usize = 1 << 20;
/// Elements that it looks at: to compare, to copy, to pass on.
const MAX_VISITS: usize = 1 << 23;
/// Elements that a value counts for by itself, and bytes of text for one.
const OVERHEAD_ELEMENTS: usize = 2;
const TEXT_BYTES_OF_ELEMENT: usize = 64;

struct Budget {
    elements_left: usize,
    visits_left: usize,
    is_exhausted: bool,
    kept: Vec<Rc<dyn Kept>>,
}

thread_local! {
    /// Budget of the evaluation under way: values are made in many places that know nothing of the evaluator.
    static CURRENT: RefCell<Option<Budget>> = const { RefCell::new(None) };
}

/// What may hold other values.
pub(super) trait Kept: Any {
    /// Moves out what may be changed to hold anything, itself included.
    fn take_contents(&self) -> Vec<Value> {
        vec![]
    }
}

impl Kept for RefCell<Vec<Value>> {
    fn take_contents(&self) -> Vec<Value> {
        self.take()
    }
}

impl Kept for RefCell<IndexMap<Const, Value>> {
    fn take_contents(&self) -> Vec<Value> {
        self.take().into_values().collect()
    }
}

impl Kept for Object {
    fn take_contents(&self) -> Vec<Value> {
        self.fields.take().into_values().collect()
    }
}

impl Kept for Scope {
    fn take_contents(&self) -> Vec<Value> {
        self.names.take().into_values().collect()
    }
}

impl Kept for Vec<Value> {}
impl Kept for Value {}
impl Kept for super::value::Closure {}
impl Kept for super::value::Class {}
impl<A: 'static, B: 'static> Kept for (A, B) {}

/// An evaluation, until it is dropped.
pub(super) struct Evaluation {
    around: Option<Budget>,
}

impl Evaluation {
    pub(super) fn begin() -> Evaluation {
        let own = Budget { elements_left: MAX_ELEMENTS, visits_left: MAX_VISITS, is_exhausted: false, kept: vec![] };
        Evaluation { around: CURRENT.replace(Some(own)) }
    }
}

impl Drop for Evaluation {
    fn drop(&mut self) {
        let Some(own) = CURRENT.replace(self.around.take()) else { return };
        // Everything is still held by `kept`, so nothing goes with what is emptied here …
        own.kept.iter().for_each(|kept| drop(kept.take_contents()));
        // … and what cannot be emptied holds what was made before it.
        own.kept.into_iter().rev().for_each(drop);
    }
}

fn with<T>(default: T, act: impl FnOnce(&mut Budget) -> T) -> T {
    CURRENT.with_borrow_mut(|current| current.as_mut().map_or(default, act))
}

impl Budget {
    fn spend(&mut self, left: impl Fn(&mut Budget) -> &mut usize, count: usize) -> bool {
        match left(self).checked_sub(count) {
            Some(rest) if !self.is_exhausted => *left(self) = rest,
            _ => self.is_exhausted = true,
        }
        !self.is_exhausted
    }
}

/// Room for elements; without it nothing may be made.
pub(super) fn take(elements: usize) -> bool {
    with(true, |budget| budget.spend(|b| &mut b.elements_left, elements.saturating_add(OVERHEAD_ELEMENTS)))
}

pub(super) fn take_text(bytes: usize) -> bool {
    with(true, |budget| budget.spend(|b| &mut b.elements_left, bytes / TEXT_BYTES_OF_ELEMENT))
}

pub(super) fn visit(elements: usize) -> bool {
    with(true, |budget| budget.spend(|b| &mut b.visits_left, elements))
}

/// Nothing more is followed in this evaluation.
pub(super) fn exhaust() {
    with((), |budget| budget.is_exhausted = true);
}

pub(super) fn is_exhausted() -> bool {
    with(false, |budget| budget.is_exhausted)
}

/// A fresh budget for what comes next; what was made stays.
pub(super) fn refill() {
    with((), |budget| {
        *budget = Budget {
            elements_left: MAX_ELEMENTS,
            visits_left: MAX_VISITS,
            is_exhausted: false,
            kept: mem::take(&mut budget.kept),
        }
    });
}

/// Holds a value until the evaluation ends.
pub(super) fn keep<T: Kept>(value: T) -> Rc<T> {
    let kept = Rc::new(value);
    with((), |budget| budget.kept.push(kept.clone()));
    kept
}
