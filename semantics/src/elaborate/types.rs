//! The types of one function's expressions.
//!
//! **Invariant:** an expression that was visited more than once has the type of its last visit.

use crate::{body::ExprId, types::Ty};

/// By the expression's number: every expression of a kernel is noted on every keystroke in it, so there is nothing to hash.
#[derive(Debug, Clone, Default)]
pub struct Types {
    all: Vec<Option<Ty>>,
    len: usize,
}

impl Types {
    /// For a body of so many expressions.
    pub(super) fn with_room(expressions: usize) -> Types {
        Types { all: vec![None; expressions], len: 0 }
    }

    pub(super) fn insert(&mut self, expr: ExprId, ty: Ty) {
        let index = expr.0 as usize;
        if index >= self.all.len() {
            self.all.resize(index + 1, None);
        }
        self.len += usize::from(self.all[index].replace(ty).is_none());
    }

    /// Later visits to the same function.
    pub(super) fn extend(&mut self, later: &Types) {
        for (expr, ty) in later.iter() {
            self.insert(expr, ty.clone());
        }
    }

    pub fn get(&self, expr: ExprId) -> Option<&Ty> {
        self.all.get(expr.0 as usize)?.as_ref()
    }

    /// Expressions that were reached.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// In the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (ExprId, &Ty)> {
        self.all.iter().enumerate().filter_map(|(index, ty)| Some((ExprId(index as u32), ty.as_ref()?)))
    }
}

impl PartialEq for Types {
    fn eq(&self, other: &Types) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}
