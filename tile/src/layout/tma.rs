//! Blocks of a tensor that the tensor memory accelerator copies to and from shared memory: the operands of the copy, and the boxes it is made of.
//!
//! The unit copies boxes of at most one swizzle width along the tensor's contiguous axis and 256 rows; a block is as many boxes as it has such panels.
//! **Invariant:** boxes are found by matching a buffer's layout against the one that the unit writes; a buffer that does not match has none.

use smallvec::SmallVec;

use super::{
    Layout, LayoutTable, SharedLayout,
    algebra::unflatten,
    shared::{row_major, swizzle_bytes, swizzled},
};
use crate::{
    module::ValueId,
    ops::{Op, OpKind},
    types::{Elem, Scalar, Shape, Type},
};

/// Most elements of a box along an axis.
const MAX_BOX_EXTENT: u32 = 256;
/// The unit reads at least so many bytes at once, at addresses and distances that are multiples of them.
pub const GRAIN: u32 = 16;
/// Bytes of an mbarrier.
pub const MBARRIER_BYTES: u32 = 8;
/// Bytes of a tensor map.
pub const MAP_BYTES: u32 = 128;
/// Rows after which a swizzle repeats: a box of whole repetitions can begin wherever one before it ends.
const ROWS: u32 = 8;
/// More boxes than this are no block but a loop.
const MAX_BOXES: u32 = 32;

/// A tensor in memory, as operands name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tensor<'o> {
    pub base: ValueId,
    /// In elements; by axis.
    pub extents: &'o [ValueId],
    /// In elements; that of the contiguous axis is 1.
    pub strides: &'o [ValueId],
}

impl<'o> Tensor<'o> {
    /// The operands of a `write_tensor_map`.
    pub fn of(operands: &'o [ValueId]) -> Option<Tensor<'o>> {
        let (tensor, starts, _) = Tensor::with_block(operands, 0, 0)?;
        starts.is_empty().then_some(tensor)
    }

    /// A tensor, `vectors` operands for each axis, and `others`; `None` if they are not as many.
    fn with_block(operands: &'o [ValueId], vectors: usize, others: usize) -> Option<(Tensor<'o>, &'o [ValueId], &'o [ValueId])> {
        let rank = operands.len().checked_sub(1 + others)? / (2 + vectors);
        if rank == 0 || operands.len() != (2 + vectors) * rank + 1 + others {
            return None;
        }
        let (tensor, rest) = operands[1..].split_at(2 * rank);
        let (extents, strides) = tensor.split_at(rank);
        let (vectors, others) = rest.split_at(vectors * rank);
        Some((Tensor { base: operands[0], extents, strides }, vectors, others))
    }
}

/// A block of a tensor and the buffer that it is copied to or from.
#[derive(Debug, Clone, Copy)]
pub struct Copied<'o> {
    pub tensor: Tensor<'o>,
    /// Where the block begins.
    pub starts: &'o [ValueId],
    pub buffer: ValueId,
}

impl<'o> Copied<'o> {
    /// The operands of a `tma_store`.
    pub fn of_store(operands: &'o [ValueId]) -> Option<Copied<'o>> {
        let (tensor, starts, others) = Tensor::with_block(operands, 1, 1)?;
        Some(Copied { tensor, starts, buffer: others[0] })
    }

    /// Those of a `tma_load` or a `tma_store`.
    pub fn of(op: &Op) -> Option<Copied<'_>> {
        match op.kind {
            OpKind::TmaLoad { .. } => Some(Operands::of(&op.operands)?.copied),
            OpKind::TmaStore { .. } => Copied::of_store(&op.operands),
            _ => None,
        }
    }
}

/// The operands of a `tma_load`.
#[derive(Debug, Clone, Copy)]
pub struct Operands<'o> {
    pub copied: Copied<'o>,
    pub barrier: ValueId,
    pub runs: ValueId,
}

impl<'o> Operands<'o> {
    /// `None` if they are not as many as a tensor has.
    pub fn of(operands: &'o [ValueId]) -> Option<Operands<'o>> {
        let (tensor, starts, others) = Tensor::with_block(operands, 1, 3)?;
        Some(Operands { copied: Copied { tensor, starts, buffer: others[0] }, barrier: others[1], runs: others[2] })
    }
}

/// The type of a ring of mbarriers.
pub fn mbarriers(layouts: &mut LayoutTable, slots: u32) -> Type {
    let layout = layouts.intern(Layout::Shared(row_major(&[1])));
    Type::Shared { elem: Scalar::I64, shape: [slots, 1].into_iter().collect(), layout }
}

/// A block in memory, by numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// An address.
    pub base: i64,
    pub extents: Vec<i64>,
    pub strides: Vec<i64>,
    pub starts: Vec<i64>,
    /// Of an element.
    pub bytes: u32,
}

impl Block {
    /// The address of the element at these coordinates of the block; `None` outside the tensor.
    pub fn address(&self, within: &[u32]) -> Option<i64> {
        let mut address = self.base;
        for (axis, &step) in within.iter().enumerate() {
            let index = self.starts[axis] + i64::from(step);
            if index < 0 || index >= self.extents[axis] {
                return None;
            }
            address = address.wrapping_add(index.wrapping_mul(self.strides[axis]).wrapping_mul(i64::from(self.bytes)));
        }
        Some(address)
    }

    /// The addresses of a block of this shape in row-major order, and which are inside the tensor.
    pub fn window(&self, shape: &[u32]) -> (Vec<i64>, Vec<bool>) {
        let number: u32 = shape.iter().product();
        let addresses = (0..number).map(|flat| self.address(&unflatten(shape, flat)));
        addresses.map(|address| (address.unwrap_or(self.base), address.is_some())).unzip()
    }

    /// What the unit cannot work on: a base or a distance that is no multiple of 16 bytes.
    pub fn misaligned(&self, contiguous: u8) -> bool {
        let grain = i64::from(GRAIN);
        let mut strides = self.strides.iter().enumerate();
        self.base % grain != 0
            || strides
                .any(|(axis, &stride)| axis != usize::from(contiguous) && stride.wrapping_mul(i64::from(self.bytes)) % grain != 0)
    }
}

/// A block as the unit copies it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boxes {
    /// Axes of the tensor, contiguous first: the order in which the unit counts them.
    pub order: SmallVec<[u8; 4]>,
    /// Bytes of the swizzle: 0, 32, 64 or 128.
    pub swizzle: u32,
    /// By axis.
    pub extent: Shape,
    /// Where each begins, by axis, and at which byte of the buffer.
    pub places: Vec<(Shape, u32)>,
}

/// The axes in the order in which the unit counts them.
pub fn order(rank: usize, contiguous: u8) -> SmallVec<[u8; 4]> {
    let mut order: SmallVec<[u8; 4]> = (0..rank as u8).rev().filter(|&axis| axis != contiguous).collect();
    order.insert(0, contiguous);
    order
}

/// The layout in which the unit leaves a block.
pub fn layout(shape: &[u32], bits: u32, contiguous: u8) -> SharedLayout {
    swizzled(shape, bits, &order(shape.len(), contiguous))
}

/// The boxes that fill a buffer; `None` if the unit cannot leave a block in this layout.
pub fn boxes(buffer: &SharedLayout, elem: Elem, contiguous: u8) -> Option<Boxes> {
    let (shape, bits) = (&buffer.shape, elem.bits());
    if !matches!(bits, 8 | 16 | 32) || !(2..=5).contains(&shape.len()) || contiguous as usize >= shape.len() {
        return None;
    }
    let order = order(shape.len(), contiguous);
    if *buffer != layout(shape, bits, contiguous) {
        return None;
    }
    let bytes = bits / 8;
    let swizzle = swizzle_bytes(shape, bits, &order);
    let (fast, row) = (order[0] as usize, order[1] as usize);
    let inner = if swizzle == 0 { shape[fast] } else { swizzle / bytes };
    if inner * bytes < GRAIN || shape[row] < ROWS {
        return None;
    }
    let rows = shape[row].min(MAX_BOX_EXTENT);
    let mut extent: Shape = shape.iter().map(|_| 1).collect();
    extent[fast] = inner;
    extent[row] = rows;
    // The offset counts rows first, then panels, then the other axes.
    let mut counts: SmallVec<[(usize, u32, u32); 4]> = SmallVec::new();
    counts.push((row, shape[row] / rows, rows));
    counts.push((fast, shape[fast] / inner, inner));
    counts.extend(order[2..].iter().map(|&axis| (axis as usize, shape[axis as usize], 1)));
    let number: u32 = counts.iter().map(|(_, count, _)| count).product();
    if number > MAX_BOXES {
        return None;
    }
    let places = (0..number).map(|mut index| {
        let offset = index * inner * rows * bytes;
        let mut start: Shape = shape.iter().map(|_| 0).collect();
        for &(axis, count, step) in &counts {
            start[axis] = index % count * step;
            index /= count;
        }
        (start, offset)
    });
    let places = places.collect();
    Some(Boxes { order, swizzle, extent, places })
}

/// The byte of a box, from its beginning, where the unit leaves the element at these coordinates of it: rows one behind the other, and 16-byte
/// chunks mixed with bits of the address.
pub fn byte_of(boxes: &Boxes, elem_bytes: u32, within: &[u32]) -> u32 {
    let mut linear = 0;
    for &axis in boxes.order.iter().rev() {
        linear = linear * boxes.extent[axis as usize] + within[axis as usize];
    }
    let address = linear * elem_bytes;
    let mixed = match boxes.swizzle {
        0 => 0,
        width => width / GRAIN - 1,
    };
    address ^ (address >> 7 & mixed) << 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::algebra::flatten;

    #[test]
    fn boxes_leave_every_element_where_the_layout_says() {
        let cases: [(&[u32], Scalar, u8, usize); 10] = [
            (&[128, 64], Scalar::F16, 1, 1),
            (&[64, 256], Scalar::BF16, 1, 4),
            (&[64, 256], Scalar::F16, 0, 1),
            (&[512, 128], Scalar::F16, 1, 4),
            (&[256, 32], Scalar::F16, 1, 1),
            (&[128, 16], Scalar::F16, 1, 1),
            (&[16, 8], Scalar::F16, 1, 1),
            (&[64, 128], Scalar::F8E4M3, 1, 1),
            (&[32, 64], Scalar::F32, 1, 2),
            (&[2, 64, 128], Scalar::F16, 2, 4),
        ];
        for (shape, scalar, contiguous, count) in cases {
            let elem = Elem::Scalar(scalar);
            let bytes = elem.bits() / 8;
            let layout = layout(shape, elem.bits(), contiguous);
            let boxes = boxes(&layout, elem, contiguous).expect("a legal block");
            assert_eq!(boxes.places.len(), count, "{shape:?}");
            let mut seen = vec![false; shape.iter().product::<u32>() as usize];
            for (start, offset) in &boxes.places {
                for flat in 0..boxes.extent.iter().product::<u32>() {
                    let within = unflatten(&boxes.extent, flat);
                    let index: Vec<u32> = start.iter().zip(&within).map(|(a, b)| a + b).collect();
                    let place = (offset + byte_of(&boxes, bytes, &within)) / bytes;
                    assert_eq!(layout.apply(place), flatten(shape, &index), "{shape:?} {scalar} {index:?}");
                    assert!(!std::mem::replace(&mut seen[place as usize], true));
                }
            }
            assert!(seen.into_iter().all(|seen| seen));
        }
    }

    #[test]
    fn what_the_unit_cannot_copy_has_no_boxes() {
        let f16 = Elem::Scalar(Scalar::F16);
        let of = |shape: &[u32], elem: Elem, axis| boxes(&layout(shape, elem.bits(), axis), elem, axis);
        assert_eq!(of(&[1 << 14, 64], f16, 1), None, "too many boxes");
        assert_eq!(of(&[4, 64], f16, 1), None, "less than a repetition");
        assert_eq!(of(&[64, 4], f16, 1), None, "8 bytes");
        assert_eq!(of(&[64], f16, 0), None, "one axis");
        assert_eq!(of(&[64, 64], Elem::Scalar(Scalar::F64), 1), None, "64-bit");
        assert_eq!(boxes(&layout(&[64, 64], 16, 0), f16, 1), None, "another order");
    }
}
