//! Operations that move elements: broadcast and transpose. (Reshape and expand_dims keep the row-major order: nothing moves.)
//!
//! **Invariant:** the result has the elements its shape says, each a copy of one of the operand's.

use super::{elementwise::gather, value::Data};

/// For every element of a tile of shape `extents`, in row-major order, the dot product of its index with `strides`.
fn strided(extents: &[u32], strides: &[usize]) -> Vec<usize> {
    let mut indices = vec![0usize];
    for (&extent, &stride) in extents.iter().zip(strides) {
        let mut next = Vec::with_capacity(indices.len() * extent as usize);
        for &base in &indices {
            next.extend((0..extent as usize).map(|i| base + i * stride));
        }
        indices = next;
    }
    indices
}

fn row_major(extents: &[u32]) -> Vec<usize> {
    let mut strides = vec![1; extents.len()];
    for axis in (0..extents.len().saturating_sub(1)).rev() {
        strides[axis] = strides[axis + 1] * extents[axis + 1] as usize;
    }
    strides
}

pub(super) fn broadcast(data: &Data, from: &[u32], to: &[u32]) -> Data {
    let strides: Vec<usize> =
        row_major(from).into_iter().zip(from).map(|(stride, &extent)| if extent == 1 { 0 } else { stride }).collect();
    gather(data, strided(to, &strides).into_iter())
}

pub(super) fn transpose(data: &Data, from: &[u32], to: &[u32], order: &[u8]) -> Data {
    let strides = row_major(from);
    let permuted: Vec<usize> = order.iter().map(|&axis| strides[usize::from(axis)]).collect();
    gather(data, strided(to, &permuted).into_iter())
}
