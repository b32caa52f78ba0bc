//! What shape operations do to layouts.
//!
//! **Invariant:** an operation that only renames elements keeps every element in the thread (and, where no duplicates are dropped, in
//! the register) that holds it.

use super::{
    Bases, Distributed,
    algebra::{Span, index_bits, inverse_order, mask_of, shift_of},
};
use crate::types::Shape;

/// A flat index without the bits of dimension `axis`.
pub fn squeeze(shape: &[u32], axis: usize, flat: u32) -> u32 {
    let shift = shift_of(shape, axis);
    let high = flat >> (shift + shape[axis].ilog2());
    high << shift | flat & ((1 << shift) - 1)
}

/// A flat index of `shape`, of which the dimensions that are 1 in `source` are dropped: where a broadcast reads.
pub fn broadcast_index(shape: &[u32], source: &[u32], flat: u32) -> u32 {
    (0..shape.len()).fold(0, |index, axis| {
        let i = flat >> shift_of(shape, axis) & (source[axis] - 1);
        index | i << shift_of(source, axis)
    })
}

/// The flat index in the operand of the element that stands at `flat` in the result of a transpose:
/// `result.shape[i] = operand.shape[order[i]]`.
pub fn transpose_index(operand: &[u32], order: &[u8], flat: u32) -> u32 {
    let result: Shape = order.iter().map(|&d| operand[d as usize]).collect();
    order.iter().enumerate().fold(0, |index, (axis, &d)| {
        let i = flat >> shift_of(&result, axis) & (result[axis] - 1);
        index | i << shift_of(operand, d as usize)
    })
}

impl Distributed {
    fn map(&self, shape: Shape, f: impl Fn(u32) -> u32) -> Distributed {
        let each = |bases: &Bases| bases.iter().map(|&b| f(b)).collect();
        Distributed { shape, register: each(&self.register), lane: each(&self.lane), warp: each(&self.warp) }
    }

    /// The same layout without registers that repeat others.
    pub fn without_duplicate_registers(mut self) -> Distributed {
        let mut span = Span::new();
        self.register.retain(|column| span.insert(*column, 0));
        self
    }

    /// The layout of what is left when `axis` is reduced away: every thread keeps the elements it holds.
    pub fn slice(&self, axis: usize) -> Distributed {
        let mut shape = self.shape.clone();
        shape.remove(axis);
        self.map(shape, |b| squeeze(&self.shape, axis, b)).without_duplicate_registers()
    }

    /// Inserts an extent of 1: flat indices do not change. `expand_dims(slice(p, a), a)` fits a broadcast to `p`.
    pub fn expand_dims(&self, axis: usize) -> Distributed {
        let mut shape = self.shape.clone();
        shape.insert(axis, 1);
        self.map(shape, |b| b)
    }

    /// The result of a transpose whose operand has this layout.
    pub fn transpose(&self, order: &[u8]) -> Distributed {
        let shape: Shape = order.iter().map(|&d| self.shape[d as usize]).collect();
        let inverse = inverse_order(order);
        let result = shape.clone();
        self.map(shape, |b| transpose_index(&result, &inverse, b))
    }

    /// Row-major order is kept, so flat indices are too. The shapes have equally many elements.
    pub fn reshape(&self, shape: &[u32]) -> Distributed {
        debug_assert_eq!(index_bits(shape), self.index_bits());
        self.map(Shape::from_slice(shape), |b| b)
    }

    /// The layout of a broadcast's operand of shape `source` when the result has this layout.
    pub fn broadcast_source(&self, source: &[u32]) -> Distributed {
        self.map(Shape::from_slice(source), |b| broadcast_index(&self.shape, source, b)).without_duplicate_registers()
    }

    /// A layout of the result of a broadcast to `shape` whose operand has this layout: threads keep what they hold, the new elements
    /// are registers, those of the last dimensions lowest.
    pub fn broadcast_result(&self, shape: &[u32]) -> Distributed {
        let widen = |flat: u32| {
            (0..shape.len()).fold(0, |index, axis| {
                let i = flat >> shift_of(&self.shape, axis) & (self.shape[axis] - 1);
                index | i << shift_of(shape, axis)
            })
        };
        let mut result = self.map(Shape::from_slice(shape), widen);
        let mut register = Bases::new();
        for axis in (0..shape.len()).rev() {
            if self.shape[axis] < shape[axis] {
                register.extend((0..shape[axis].ilog2()).map(|bit| 1 << (shift_of(shape, axis) + bit)));
            }
        }
        register.append(&mut result.register);
        result.register = register;
        result
    }

    /// Dimensions from the one along which neighbouring registers and lanes lie, the others from last to first.
    pub fn fastest_first(&self) -> Vec<u8> {
        let rank = self.shape.len();
        let first = self.register.iter().chain(&self.lane).find(|&&basis| basis != 0);
        let fastest =
            first.and_then(|&basis| (0..rank).find(|&d| self.axis_mask(d) & basis != 0)).unwrap_or(rank.saturating_sub(1));
        let mut order: Vec<u8> = (0..rank as u8).rev().filter(|&d| d as usize != fastest).collect();
        order.insert(0, fastest as u8);
        order
    }

    /// Bits of registers that step along `axis`.
    pub fn axis_mask(&self, axis: usize) -> u32 {
        mask_of(&self.shape, axis)
    }

    /// Consecutive elements along `axis` that the lowest registers hold: 2^n if the first n register bases are 1, 2, 4… steps.
    pub fn contiguous_registers(&self, axis: usize) -> u32 {
        let shift = shift_of(&self.shape, axis);
        let run = self.register.iter().enumerate().take_while(|&(i, &b)| b == 1 << (shift + i as u32)).count();
        (1 << run).min(self.shape[axis])
    }
}
