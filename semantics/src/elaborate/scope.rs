//! The names of a function, as they stand at one place of its walk.
//!
//! **Invariant:** copies share what neither has bound since, so the two ways of a branch cost what they bind.

use std::sync::Arc;

use smol_str::SmolStr;

use super::value::Value;
use crate::{OrderedMap, body::ExprId, problem::Place, types::TileType};

/// What a name stands for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Slot {
    Bound {
        value: Value,
        /// The target, or the parameter.
        place: Place,
        /// The expression it was bound to.
        from: Option<ExprId>,
        /// It was compile-time and became a run-time value by plain assignment.
        decayed: bool,
    },
    /// Bound somewhere that may not have run.
    Lost { place: Place, why: &'static str },
    /// The variable of a run-time loop that is over: it has a type and no defined value.
    Stale { place: Place, ty: TileType },
}

impl Slot {
    pub(super) fn place(&self) -> Place {
        match self {
            Slot::Bound { place, .. } | Slot::Lost { place, .. } | Slot::Stale { place, .. } => *place,
        }
    }
}

/// In the order in which the names were first bound.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope(OrderedMap<SmolStr, Arc<Slot>>);

impl Scope {
    pub(super) fn get(&self, name: &str) -> Option<&Slot> {
        self.0.get(name).map(|slot| &**slot)
    }

    pub(super) fn contains_key(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(super) fn insert(&mut self, name: SmolStr, slot: Slot) {
        self.0.insert(name, Arc::new(slot));
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.0.shift_remove(name);
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &SmolStr> {
        self.0.keys()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&SmolStr, &Slot)> {
        self.0.iter().map(|(name, slot)| (name, &**slot))
    }

    /// Neither has bound a name since one was copied from the other.
    pub(super) fn shares(&self, other: &Scope, name: &str) -> bool {
        matches!((self.0.get(name), other.0.get(name)), (Some(a), Some(b)) if Arc::ptr_eq(a, b))
    }
}
