//! Linear layouts: where each element of a tile lives.
//!
//! Every extent is a power of two, so the row-major index of an element is a string of bits, and a layout is a linear map over F2
//! (xor) from hardware bits to those bits. A **distributed** layout maps (register, lane, warp) bits, a **shared** layout maps offset
//! bits. A basis (the image of one hardware bit) is the flat row-major element index it contributes, last dimension in the lowest bits;
//! a zero basis means replication. **Invariant:** the map is surjective onto the tile.

pub mod algebra;
pub mod banks;
pub mod blocked;
pub mod convert;
pub mod fma;
pub mod matrices;
pub mod mma;
pub mod reshape;
pub mod shared;
#[cfg(test)]
mod tests;
pub mod tma;
pub mod wgmma;

pub use convert::Conversion;
pub use mma::Side;

use indexmap::IndexSet;
use smallvec::SmallVec;

use crate::types::{Shape, Type};

/// A layout of its module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LayoutId(pub u32);

pub type Bases = SmallVec<[u32; 8]>;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Layout {
    Distributed(Distributed),
    Shared(SharedLayout),
}

/// (register, lane, warp) bits to flat element index.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Distributed {
    pub shape: Shape,
    pub register: Bases,
    /// Always five: a warp has 32 lanes.
    pub lane: Bases,
    pub warp: Bases,
}

/// Offset bits (in elements) to flat element index.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SharedLayout {
    pub shape: Shape,
    pub offset: Bases,
}

/// The layouts of one module, each stored once.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LayoutTable {
    layouts: IndexSet<Layout>,
}

impl LayoutTable {
    pub fn intern(&mut self, layout: Layout) -> LayoutId {
        LayoutId(self.layouts.insert_full(layout).0 as u32)
    }

    pub fn get(&self, id: LayoutId) -> &Layout {
        &self.layouts[id.0 as usize]
    }

    /// The layout of a tile; `None` for a layout of shared memory.
    pub fn distributed(&self, id: LayoutId) -> Option<&Distributed> {
        match self.get(id) {
            Layout::Distributed(layout) => Some(layout),
            Layout::Shared(_) => None,
        }
    }

    /// The layout of a shared buffer; `None` for a layout of a tile.
    pub fn shared(&self, id: LayoutId) -> Option<&SharedLayout> {
        match self.get(id) {
            Layout::Shared(layout) => Some(layout),
            Layout::Distributed(_) => None,
        }
    }

    /// How many buffers a ring has; `None` for a single buffer and for a tile.
    pub fn ring_slots(&self, ty: &Type) -> Option<u32> {
        let Type::Shared { shape, layout, .. } = ty else { return None };
        let one = self.shared(*layout)?;
        (shape.len() == one.shape.len() + 1 && shape[1..] == one.shape[..]).then(|| shape[0])
    }

    pub fn len(&self) -> usize {
        self.layouts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.layouts.is_empty()
    }
}
