//! Layouts of shared memory.
//!
//! **Invariant:** the map from offset bits to index bits is a bijection, so every element has exactly one place.

use super::{
    Bases, Distributed, SharedLayout,
    algebra::{apply, index_bits, inverse_order, invert, shift_of},
};
use crate::{effects::MAX_ACCESS_BYTES, types::Shape};

/// Elements in row-major order.
pub fn row_major(shape: &[u32]) -> SharedLayout {
    SharedLayout { shape: Shape::from_slice(shape), offset: (0..index_bits(shape)).map(|bit| 1 << bit).collect() }
}

/// The widest of the 128-, 64- and 32-byte swizzles that a row of `order[0]` fills; 0 when rows are shorter than 32 bytes.
pub fn swizzle_bytes(shape: &[u32], bits: u32, order: &[u8]) -> u32 {
    match order.first().map_or(0, |&d| shape[d as usize] * bits.max(8) / 8) {
        128.. => 128,
        64..128 => 64,
        32..64 => 32,
        _ => 0,
    }
}

/// The layout that tensor cores, bulk copies and `ldmatrix` read without conflicts: rows along `order[0]` are cut into panels as wide as
/// the swizzle, and within a panel the 16-byte chunks of a row are xored with the row's number. Byte addresses are
/// `a ^ ((a >> 7) & (width / 16 - 1)) << 4`, so 16 bytes of a row stay together.
pub fn swizzled(shape: &[u32], bits: u32, order: &[u8]) -> SharedLayout {
    swizzled_to(shape, bits, order, swizzle_bytes(shape, bits, order))
}

/// [`swizzled`] for 32-bit elements that lanes read one by one. A fragment's lanes go over four rows and eight columns: the first two rows are xored
/// with chunks that lie behind those columns, as the chunk that the first one has in [`swizzled`] is among them. `ldmatrix` reads it as well.
pub fn swizzled_words(shape: &[u32], order: &[u8]) -> SharedLayout {
    swizzled_from(shape, 32, order, swizzle_bytes(shape, 32, order), 1)
}

/// [`swizzled`] with a swizzle width of 0 (none), 32, 64 or 128 bytes; a row is at least as wide.
pub fn swizzled_to(shape: &[u32], bits: u32, order: &[u8], width: u32) -> SharedLayout {
    swizzled_from(shape, bits, order, width, 0)
}

/// The same with the first row's chunk, in bits, behind which those of the next rows come round and round.
fn swizzled_from(shape: &[u32], bits: u32, order: &[u8], width: u32, first: u32) -> SharedLayout {
    let Some((&fast, rest)) = order.split_first() else { return row_major(shape) };
    let element = (bits.max(8) / 8).ilog2();
    let fast_bits = shape[fast as usize].ilog2();
    let panel_bits = if width == 0 { fast_bits } else { (width.ilog2() - element).min(fast_bits) };
    let column = |bit: u32| 1u32 << (shift_of(shape, fast as usize) + bit);
    let mut offset: Bases = (0..panel_bits).map(column).collect();
    // The rows of the next dimension, then the panels, then whatever is outside.
    let mut rest = rest.iter();
    if let Some(&row) = rest.next() {
        offset.extend((0..shape[row as usize].ilog2()).map(|bit| 1 << (shift_of(shape, row as usize) + bit)));
    }
    let rows_end = offset.len();
    offset.extend((panel_bits..fast_bits).map(column));
    for &axis in rest {
        offset.extend((0..shape[axis as usize].ilog2()).map(|bit| 1 << (shift_of(shape, axis as usize) + bit)));
    }
    let swizzle_bits = if width == 0 { 0 } else { (width / 16).ilog2() };
    for i in 0..swizzle_bits {
        let (chunk, row) = (4 + (i + first) % swizzle_bits - element, (7 + i - element) as usize);
        if row < rows_end && row >= panel_bits as usize && chunk < panel_bits {
            offset[row] ^= column(chunk);
        }
    }
    SharedLayout { shape: Shape::from_slice(shape), offset }
}

impl SharedLayout {
    /// The flat element index stored at an offset (in elements).
    pub fn apply(&self, offset: u32) -> u32 {
        apply(&self.offset, offset)
    }

    /// For every index bit the offset (in elements) it contributes; `None` if the layout is not a bijection.
    pub fn inverse(&self) -> Option<Bases> {
        if self.offset.len() as u32 != index_bits(&self.shape) {
            return None;
        }
        invert(&self.offset)
    }

    pub fn is_bijective(&self) -> bool {
        self.inverse().is_some()
    }

    /// Bytes of a buffer whose elements take `bytes` each.
    pub fn bytes(&self, bytes: u32) -> u32 {
        bytes << self.offset.len()
    }

    /// A tile as the buffer holds it: what one access moves to a thread, then lanes, then warps.
    pub fn in_order(&self, bits: u32, num_warps: u32) -> Distributed {
        let mut columns = self.offset.iter().copied();
        let mut register: Bases = columns.by_ref().take((8 * MAX_ACCESS_BYTES / bits.max(8)).ilog2() as usize).collect();
        let mut deal = |hands: u32| -> Bases { (0..hands.ilog2()).map(|_| columns.next().unwrap_or(0)).collect() };
        let (lane, warp) = (deal(32), deal(num_warps));
        register.extend(columns);
        Distributed { shape: self.shape.clone(), register, lane, warp }
    }

    /// The layout of the transposed buffer: the same bytes read as `result.shape[i] = operand.shape[order[i]]`.
    pub fn transpose(&self, order: &[u8]) -> SharedLayout {
        let shape: Shape = order.iter().map(|&d| self.shape[d as usize]).collect();
        let inverse = inverse_order(order);
        let offset = self.offset.iter().map(|&b| super::reshape::transpose_index(&shape, &inverse, b)).collect();
        SharedLayout { shape, offset }
    }
}
