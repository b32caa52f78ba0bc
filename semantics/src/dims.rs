//! The extents of a tile, which many types share.
//!
//! **Invariant:** no extents at all are no allocation: most types are of scalars, and a type is copied for every expression.

use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
};

use smallvec::SmallVec;

use crate::types::Dim;

/// Few tiles have more axes.
type List = SmallVec<[Dim; 2]>;

/// A row of extents, the slowest axis first. Copies share it until one of them changes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Dims(Option<Arc<List>>);

impl Dims {
    pub const fn new() -> Dims {
        Dims(None)
    }

    pub fn push(&mut self, dim: Dim) {
        self.insert(self.len(), dim);
    }

    pub fn pop(&mut self) -> Option<Dim> {
        let last = self.len().checked_sub(1)?;
        Some(self.remove(last))
    }

    /// Panics if `axis` is beyond the end.
    pub fn insert(&mut self, axis: usize, dim: Dim) {
        Arc::make_mut(self.0.get_or_insert_default()).insert(axis, dim);
    }

    /// Panics if there is no such axis.
    pub fn remove(&mut self, axis: usize) -> Dim {
        let list = Arc::make_mut(self.0.get_or_insert_default());
        let dim = list.remove(axis);
        if list.is_empty() {
            self.0 = None;
        }
        dim
    }
}

impl Deref for Dims {
    type Target = [Dim];

    fn deref(&self) -> &[Dim] {
        self.0.as_ref().map_or(&[], |list| list)
    }
}

impl DerefMut for Dims {
    fn deref_mut(&mut self) -> &mut [Dim] {
        self.0.as_mut().map_or(&mut [], |list| &mut Arc::make_mut(list)[..])
    }
}

impl FromIterator<Dim> for Dims {
    fn from_iter<I: IntoIterator<Item = Dim>>(dims: I) -> Dims {
        let list: List = dims.into_iter().collect();
        Dims((!list.is_empty()).then(|| Arc::new(list)))
    }
}

impl IntoIterator for Dims {
    type Item = Dim;
    type IntoIter = smallvec::IntoIter<[Dim; 2]>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.map(Arc::unwrap_or_clone).unwrap_or_default().into_iter()
    }
}

impl<'a> IntoIterator for &'a Dims {
    type Item = &'a Dim;
    type IntoIter = std::slice::Iter<'a, Dim>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
