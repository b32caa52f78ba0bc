//! Layouts for streaming a tile through registers: every thread holds a small block, threads and warps tile the rest.
//!
//! **Invariant:** no register is a duplicate of another register of its thread; surplus lanes and warps replicate.

use smallvec::SmallVec;

use super::{Bases, Distributed, algebra::shift_of};
use crate::types::Shape;

/// `order[0]` is the dimension that is filled first, usually the contiguous one. Where the CTA's block is larger than the tile the
/// surplus threads hold copies; where it is smaller the block repeats over registers.
/// The products of `threads_per_warp` and of `warps` are 32 and the number of warps.
pub fn blocked(shape: &[u32], size_per_thread: &[u32], threads_per_warp: &[u32], warps: &[u32], order: &[u8]) -> Distributed {
    let mut used: SmallVec<[u32; 4]> = SmallVec::from_elem(0, shape.len());
    let mut register = Bases::new();
    let mut lane = Bases::new();
    let mut warp = Bases::new();
    // One basis for the next bit of a dimension, 0 once the dimension is used up.
    let mut next = |axis: usize| {
        let bit = used[axis];
        if 1 << bit < shape[axis] {
            used[axis] += 1;
            1 << (shift_of(shape, axis) + bit)
        } else {
            0
        }
    };
    for &axis in order {
        for _ in 0..size_per_thread[axis as usize].ilog2() {
            register.extend(Some(next(axis as usize)).filter(|&basis| basis != 0));
        }
    }
    for (bases, extents) in [(&mut lane, threads_per_warp), (&mut warp, warps)] {
        for &axis in order {
            for _ in 0..extents[axis as usize].ilog2() {
                bases.push(next(axis as usize));
            }
        }
    }
    for &axis in order {
        loop {
            match next(axis as usize) {
                0 => break,
                basis => register.push(basis),
            }
        }
    }
    Distributed { shape: Shape::from_slice(shape), register, lane, warp }
}
