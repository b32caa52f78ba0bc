//! Dots by multiplications and additions: who computes what, and how the operands lie in scratch.
//!
//! A thread computes a block of rows and columns of the result. Both operands stand in shared memory, the left one with its rows side by side,
//! so that a thread reads four neighbours of either at once; one that computes a single row reads four inner steps of it at once instead, and
//! likewise one that computes a single column. A loop runs over the inner dimension. **Invariant:** bases are unit vectors or zero, so a thread's elements are the product of its rows and
//! its columns; an inner step that is a multiple of [`depth`] moves an address by a constant.

use super::{Bases, Distributed, SharedLayout, Side, algebra::shift_of, blocked::blocked, mma, shared::row_major};
use crate::types::Shape;

/// A row of banks is 2 to this many words.
const BANK_BITS: u32 = 5;

/// Multiplications and additions that the body of the loop may hold.
const BODY: u32 = 1024;

/// The layout of the result of shape `[…, M, N]`.
pub fn accumulator(shape: &[u32], num_warps: u32) -> Distributed {
    let rank = shape.len();
    let (row, column) = (rank - 2, rank - 1);
    let elements: u64 = shape.iter().map(|&d| u64::from(d)).product();
    let each = (elements / u64::from(32 * num_warps)).clamp(1, 16) as u32;
    let mut size = vec![1u32; rank];
    size[column] = shape[column].min(each).min(4);
    size[row] = shape[row].min(each / size[column]).min(4);
    let mut left: Vec<u32> = shape.iter().zip(&size).map(|(n, s)| n / s).collect();
    // Up to `most` hands along an axis; says how many were dealt.
    let mut deal = |dealt: &mut [u32], axis: usize, most: u32| {
        let hands = left[axis].min(most);
        left[axis] /= hands;
        dealt[axis] *= hands;
        hands
    };
    let mut lanes = vec![1u32; rank];
    let mut rest = 32 / deal(&mut lanes, column, 8);
    rest /= deal(&mut lanes, row, rest);
    rest /= deal(&mut lanes, column, rest);
    for axis in (0..row).rev() {
        rest /= deal(&mut lanes, axis, rest);
    }
    lanes[row] *= rest;
    let mut warps = vec![1u32; rank];
    let mut rest = num_warps;
    for axis in (0..row).rev().chain([row, column]) {
        rest /= deal(&mut warps, axis, rest);
    }
    warps[row] *= rest;
    let order: Vec<u8> = (0..rank as u8).rev().collect();
    let mut layout = blocked(shape, &size, &lanes, &warps, &order);
    // What multiplies is read off the layout.
    if mma::is_accumulator(&layout) {
        layout.lane.swap(0, 1);
    }
    layout
}

/// Steps along the inner dimension that the body of the loop makes: a power of two that divides it.
pub fn depth(accumulator: &Distributed, inner: u32) -> u32 {
    (BODY >> accumulator.register.len().min(31)).clamp(1, inner)
}

/// Whether each thread computes elements of one row, for the left operand, or of one column, for the right one.
fn reads_one(side: Side, accumulator: &Distributed) -> bool {
    let rank = accumulator.shape.len();
    let mask = match side {
        Side::A => (accumulator.shape[rank - 2] - 1) << shift_of(&accumulator.shape, rank - 2),
        Side::B => accumulator.shape[rank - 1] - 1,
    };
    accumulator.register.iter().all(|base| base & mask == 0)
}

/// How an operand (`[…, M, K]` or `[…, K, N]`) stands in shared memory.
pub fn staged(side: Side, shape: &[u32], accumulator: &Distributed) -> SharedLayout {
    let rank = shape.len();
    let rows = shift_of(shape, rank - 2);
    let (row_bits, column_bits) = (shape[rank - 2].ilog2(), shape[rank - 1].ilog2());
    let inner = shape[if side == Side::A { rank - 1 } else { rank - 2 }];
    let body = depth(accumulator, inner).ilog2();
    // Neighbours that fill a row of banks, each with all its inner steps.
    let apart = BANK_BITS.saturating_sub(inner.ilog2());
    let (row, column) = (|bit: u32| 1u32 << (rows + bit), |bit: u32| 1u32 << bit);
    let mut offset: Bases = match (side, reads_one(side, accumulator)) {
        // Threads that write along the inner dimension hit different banks: groups of four rows trade places.
        (Side::A, false) => {
            let trade = |bit| if bit < body && bit + 2 < row_bits { row(bit + 2) } else { 0 };
            (0..row_bits).map(row).chain((0..column_bits).map(|bit| column(bit) | trade(bit))).collect()
        }
        // Threads that read four steps of neighbouring rows hit different banks: groups of four steps trade places. Only lanes do so at once.
        (Side::A, true) => {
            let lanes = shift_of(&accumulator.shape, rank - 2);
            let mut steps = 2..body.min(BANK_BITS);
            let mut trade = |bit: u32| match accumulator.lane.contains(&(1u32 << (lanes + bit))) && bit >= apart {
                true => steps.next().map_or(0, column),
                false => 0,
            };
            (0..column_bits).map(column).chain((0..row_bits).map(|bit| row(bit) | trade(bit))).collect()
        }
        // The same of neighbouring columns.
        (Side::B, true) => {
            let step = |bit: u32| 2 + bit.saturating_sub(apart);
            let trade = |bit| if bit >= apart && step(bit) < body.min(BANK_BITS) { row(step(bit)) } else { 0 };
            (0..row_bits).map(row).chain((0..column_bits).map(|bit| column(bit) | trade(bit))).collect()
        }
        (Side::B, false) => return row_major(shape),
    };
    let bits: u32 = shape.iter().map(|d| d.ilog2()).sum();
    offset.extend((rows + row_bits..bits).map(column));
    SharedLayout { shape: Shape::from_slice(shape), offset }
}

/// Where the row (of A) or column (of B) of the result's element `flat` stands in the operand, at this inner step.
pub fn operand_index(side: Side, result: &[u32], operand: &[u32], flat: u32, inner: u32) -> u32 {
    let rank = result.len();
    let rows = shift_of(result, rank - 2);
    let batch = flat >> (rows + result[rank - 2].ilog2());
    let (row, column) = match side {
        Side::A => (flat >> rows & (result[rank - 2] - 1), inner),
        Side::B => (inner, flat & (result[rank - 1] - 1)),
    };
    let width = shift_of(operand, rank - 2);
    batch << (width + operand[rank - 2].ilog2()) | row << width | column
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_result_is_covered_and_no_tensor_core_claims_it() {
        for m in 0..8 {
            for n in 0..8 {
                for batch in [0, 1, 4] {
                    for warps in 0..6 {
                        for shape in [vec![1 << m, 1 << n], vec![1 << batch, 1 << m, 1 << n]] {
                            let layout = accumulator(&shape, 1 << warps);
                            assert!(layout.is_surjective(), "{shape:?} {layout:?}");
                            assert_eq!(layout.num_warps(), 1 << warps);
                            assert!(!mma::is_accumulator(&layout), "{shape:?} {layout:?}");
                            let unit = |b: &u32| b.count_ones() <= 1;
                            assert!(layout.columns().iter().all(unit), "{layout:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn operands_have_one_place_each() {
        for side in [Side::A, Side::B] {
            for shape in [vec![1, 16], vec![64, 32], vec![4, 8, 16]] {
                for warps in [1, 4, 8] {
                    assert!(staged(side, &shape, &accumulator(&shape, warps)).is_bijective(), "{shape:?}");
                }
            }
        }
    }
}
