//! Warpgroup matrix multiply (`wgmma`): the accumulator's layout, and operands in shared memory as matrix descriptors.
//!
//! A descriptor names a *canonical layout* of the PTX manual: rows of one swizzle width, eight of them to an atom, atoms at two strides.
//! **Invariant:** a descriptor is found by matching a buffer's linear layout against the canonical family, whatever made the layout; a
//! buffer that does not match has none. A test places every element of a buffer and reads it back as the manual says the unit does.

use super::{
    Bases, Distributed, SharedLayout, Side,
    algebra::{apply, shift_of},
    mma::mma16816_accumulator,
};
use crate::types::Shape;

/// Rows of one instruction.
pub const M: u32 = 64;
/// The widest instruction.
pub const MAX_N: u32 = 256;
/// Warps of a warpgroup.
pub const WARPS: u32 = 4;

/// Elements along k of one instruction: 32 bytes of them.
pub fn k_of(bits: u32) -> u32 {
    256 / bits.max(1)
}

/// How many warpgroups lie below each other and side by side in an accumulator `[m, n]`: below each other first. `None` if some would be
/// without work.
pub fn grouping(m: u32, n: u32, num_warps: u32) -> Option<(u32, u32)> {
    if !num_warps.is_multiple_of(WARPS) || num_warps == 0 || m < M {
        return None;
    }
    let groups = num_warps / WARPS;
    let rows = groups.min(m / M);
    let columns = groups / rows;
    (rows * columns == groups && n / columns >= 8).then_some((rows, columns))
}

/// The accumulator of `wgmma` on `[M, N]`, warpgroups dealt as [`grouping`] says; each has neighbouring columns.
pub fn accumulator(shape: &[u32], groups_m: u32, groups_n: u32) -> Distributed {
    let (rows, columns) = (shape[0], shape[1]);
    // One warpgroup's part, then the places of the others.
    let part = [rows, columns / groups_n];
    let mut layout = mma16816_accumulator(&part, WARPS * groups_m, 1);
    let shift = part[1].ilog2();
    let wide = |basis: u32| basis >> shift << columns.ilog2() | basis & (part[1] - 1);
    for bases in [&mut layout.register, &mut layout.lane, &mut layout.warp] {
        bases.iter_mut().for_each(|basis| *basis = wide(*basis));
    }
    layout.warp.extend((0..groups_n.ilog2()).map(|bit| part[1] << bit));
    layout.shape = shape.into();
    layout
}

/// What one instruction covers of an accumulator, and where its repetitions lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tiles {
    /// Columns of the instruction.
    pub n: u32,
    /// (row, column) of each repetition in a warpgroup, and its first register; its registers are that one and those behind it.
    pub origins: Vec<(u32, u32, u32)>,
    /// (row, column) that each warp bit beyond the warpgroup's own contributes.
    pub groups: Vec<(u32, u32)>,
}

/// `None` if the layout is no accumulator of `wgmma`.
pub fn tiles(layout: &Distributed) -> Option<Tiles> {
    let &[rows, columns] = &layout.shape[..] else { return None };
    if rows < M || columns < 8 {
        return None;
    }
    let shift = shift_of(&layout.shape, 0);
    let row = |r: u32| r << shift;
    if !layout.register.starts_with(&[1, row(8)])
        || layout.lane[..] != [2, 4, row(1), row(2), row(4)]
        || !layout.warp.starts_with(&[row(16), row(32)])
    {
        return None;
    }
    let mut bits = 0;
    while 16 << bits <= MAX_N && layout.register.get(2 + bits as usize) == Some(&(8 << bits)) && 16 << bits <= columns {
        bits += 1;
    }
    let split = |basis: u32| (basis >> shift, basis & (columns - 1));
    let n = 8 << bits;
    let outside = |(r, c): (u32, u32)| r.is_multiple_of(M) && c.is_multiple_of(n);
    let inner = 2 + bits;
    let rest = &layout.register[inner as usize..];
    let groups: Vec<(u32, u32)> = layout.warp[2..].iter().map(|&b| split(b)).collect();
    if !rest.iter().all(|&b| b != 0 && outside(split(b))) || !groups.iter().all(|&g| outside(g)) {
        return None;
    }
    let origins = (0..1u32 << rest.len())
        .map(|i| {
            let (r, c) = split(apply(rest, i));
            (r, c, i << inner)
        })
        .collect();
    Some(Tiles { n, origins, groups })
}

/// The shape of the matrix that a block is, or its transpose: axes of one element do not count.
pub fn matrix_shape(block: &[u32], turned: bool) -> Shape {
    let mut shape: Shape = block.iter().copied().filter(|&extent| extent != 1).collect();
    if turned {
        shape.reverse();
    }
    shape
}

/// A block in shared memory as such a matrix.
pub fn as_matrix(block: &SharedLayout, turned: bool) -> SharedLayout {
    let matrix = SharedLayout { shape: matrix_shape(&block.shape, false), offset: block.offset.clone() };
    if turned && matrix.shape.len() == 2 { matrix.transpose(&[1, 0]) } else { matrix }
}

/// An operand in shared memory as the unit reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matrix {
    /// 0, 32, 64 or 128 bytes.
    pub swizzle: u32,
    /// Neighbours lie along m or n, not along k: the instruction's transpose bit.
    pub transposed: bool,
    /// Byte strides as the descriptor has them.
    pub leading: u32,
    pub stride: u32,
    /// Bytes that each index bit contributes to the address before swizzling.
    outer: Bases,
    inner: Bases,
}

/// Byte addresses and what they become: the swizzle of `width` bytes, its own inverse.
fn swizzle(width: u32, address: u32) -> u32 {
    address ^ (address >> 7 & (width.max(16) / 16 - 1)) << 4
}

/// Lanes of 8 rows by 16 bytes: a core matrix.
const CHUNK: u32 = 16;

impl Matrix {
    /// Matches a buffer (`[M, K]` as A, `[K, N]` as B, elements of `bits`) whose instruction covers `extent` rows of A or columns of B.
    pub fn of(buffer: &SharedLayout, side: Side, bits: u32, extent: u32) -> Option<Matrix> {
        let &[rows, columns] = &buffer.shape[..] else { return None };
        if !matches!(bits, 8 | 16 | 32) {
            return None;
        }
        let bytes = bits / 8;
        let inverse = buffer.inverse()?;
        let (low, high) = inverse.split_at(columns.ilog2() as usize);
        let (outer, inner, outer_extent, inner_extent) = match side {
            Side::A => (high, low, rows, columns),
            Side::B => (low, high, columns, rows),
        };
        if outer_extent < extent || inner_extent < k_of(bits) || extent < 8 {
            return None;
        }
        [128, 64, 32, 0].into_iter().find_map(|width| {
            let logical = |columns: &[u32]| -> Bases { columns.iter().map(|&c| swizzle(width, c * bytes)).collect() };
            let (outer, inner) = (logical(outer), logical(inner));
            let along_k = Matrix::along_k(width, bytes, &outer, &inner, extent);
            let matrix =
                along_k.or_else(|| if bits == 16 { Matrix::across_k(width, bytes, &outer, &inner, extent) } else { None })?;
            matrix.is_sound(extent, bits).then_some(matrix)
        })
    }

    fn along_k(width: u32, bytes: u32, outer: &[u32], inner: &[u32], extent: u32) -> Option<Matrix> {
        let unit = (CHUNK / bytes).ilog2() as usize;
        let pitch = width.max(CHUNK);
        let second = *inner.get(unit)?;
        // Without swizzle the second chunk of a row is at the leading stride; with it, it lies beside the first.
        let chunk = if width == 0 { second } else { CHUNK };
        let fits = runs(&inner[..unit], bytes) && second == chunk && runs(&outer[..3], pitch);
        let atoms = &outer[3..extent.ilog2() as usize];
        let stride = atoms.first().copied().unwrap_or(8 * pitch);
        let leading = if width == 0 { second } else { CHUNK };
        let matrix = Matrix { swizzle: width, transposed: false, leading, stride, outer: outer.into(), inner: inner.into() };
        (fits && runs(atoms, stride)).then_some(matrix)
    }

    fn across_k(width: u32, bytes: u32, outer: &[u32], inner: &[u32], extent: u32) -> Option<Matrix> {
        let pitch = width.max(CHUNK);
        let chunk = (pitch / bytes).ilog2() as usize;
        let covered = extent.ilog2() as usize;
        if outer.len() < chunk {
            return None;
        }
        // An instruction that covers less than a row of the pattern starts within one, like one that does not begin at the first k.
        let panels = outer.get(chunk..covered).unwrap_or_default();
        let blocks = &inner[3..4];
        let panel = panels.first().copied().unwrap_or(8 * pitch);
        let fits = runs(&outer[..chunk], bytes) && runs(panels, panel) && runs(&inner[..3], pitch);
        let (leading, stride) = if width == 0 { (blocks[0], panel) } else { (panel, blocks[0]) };
        fits.then(|| Matrix { swizzle: width, transposed: true, leading, stride, outer: outer.into(), inner: inner.into() })
    }

    /// Steps beyond one instruction move the start address alone: no carry, no bit that the swizzle looks at.
    fn is_sound(&self, extent: u32, bits: u32) -> bool {
        let (m, k) = (extent.ilog2() as usize, k_of(bits).ilog2() as usize);
        let mut taken = self.outer[..m].iter().chain(&self.inner[..k]).fold(0, |all, c| all | c);
        let looked_at = if self.swizzle == 0 { 0 } else { (self.swizzle / 16 - 1) << 7 };
        let strides = [self.leading, self.stride];
        let steps = self.outer[m..].iter().chain(&self.inner[k..]);
        strides.iter().all(|s| s.is_multiple_of(CHUNK) && s >> 4 < 1 << 14)
            && steps.into_iter().all(|&step| {
                let free = step & (taken | looked_at) == 0 && step.is_multiple_of(CHUNK);
                taken |= step;
                free
            })
    }

    /// Bytes from the buffer's start to the start address of the instruction at (m or n, k), which are multiples of its extents. Distinct
    /// index bits contribute distinct address bits.
    pub fn start(&self, outer: u32, k: u32) -> u32 {
        apply(&self.outer, outer) ^ apply(&self.inner, k)
    }

    /// The 64-bit descriptor with start address 0.
    pub fn descriptor(&self) -> u64 {
        let mode = match self.swizzle {
            128 => 1u64,
            64 => 2,
            32 => 3,
            _ => 0,
        };
        // The unit ignores the leading stride of swizzled rows along k; 1 is the customary value.
        let leading = if self.swizzle != 0 && !self.transposed { 1 } else { u64::from(self.leading >> 4) };
        leading << 16 | u64::from(self.stride >> 4) << 32 | mode << 62
    }
}

/// `step, 2·step, 4·step, …`
fn runs(columns: &[u32], step: u32) -> bool {
    columns.iter().enumerate().all(|(i, &c)| c == step << i)
}

/// What a buffer's address must be a multiple of, so that the swizzle, which looks at addresses, sees the bits that the layout means: twice
/// the highest offset that mixes index bits, at most the 1024 bytes of the widest swizzle.
pub fn alignment(buffer: &SharedLayout, bits: u32) -> u32 {
    let mixed = buffer.offset.iter().rposition(|basis| basis.count_ones() > 1);
    mixed.map_or(128, |bit| ((bits.max(8) / 8) << (bit + 1)).clamp(128, 1024))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{
        algebra::flatten,
        banks::{ideal_wavefronts, wavefronts},
        blocked::blocked,
        convert::Access,
        shared::{row_major, swizzled, swizzled_to},
    };

    /// The PTX manual's "strides" and "canonical layouts" for one element of an instruction's operand, from the bits of a descriptor.
    fn address_read(descriptor: u64, transposed: bool, bytes: u32, outer: u32, k: u32) -> u32 {
        let field = |at: u32| (descriptor >> at & 0x3fff) as u32 * 16;
        let (start, leading, stride) = (field(0), field(16), field(32));
        let (mode, chunks) = match descriptor >> 62 {
            0 => (0, 1),
            1 => (3, 8),
            2 => (2, 4),
            _ => (1, 2),
        };
        assert_eq!(descriptor >> 49 & 7, 0, "patterns begin at multiples of their size");
        let t = 16 / bytes;
        let linear = match (transposed, mode) {
            (false, 0) => outer % 8 * 16 + outer / 8 * stride + k % t * bytes + k / t * leading,
            (false, _) => outer % 8 * 16 * chunks + outer / 8 * stride + k % t * bytes + k / t * 16,
            (true, 0) => outer % t * bytes + outer / t * stride + k % 8 * 16 + k / 8 * leading,
            (true, _) => {
                let wide = t * chunks;
                outer % wide * bytes + outer / wide * leading + k % 8 * 16 * chunks + k / 8 * stride
            }
        };
        let address = start + linear;
        let pattern = (1 << mode) - 1;
        address ^ (address >> 7 & pattern) << 4
    }

    /// Every element of the buffer is read where it was placed, by every instruction that covers the buffer.
    fn check(buffer: &SharedLayout, side: Side, bits: u32, extent: u32) -> Matrix {
        let matrix = Matrix::of(buffer, side, bits, extent).unwrap_or_else(|| panic!("{buffer:?} as {side:?}"));
        let bytes = bits / 8;
        let align = alignment(buffer, bits);
        let base = 3 * align;
        let inverse = buffer.inverse().expect("a bijection");
        let (outer_extent, k_extent) = match side {
            Side::A => (buffer.shape[0], buffer.shape[1]),
            Side::B => (buffer.shape[1], buffer.shape[0]),
        };
        for outer0 in (0..outer_extent).step_by(extent as usize) {
            for k0 in (0..k_extent).step_by(k_of(bits) as usize) {
                let start = base + matrix.start(outer0, k0);
                assert_eq!(start % 16, 0);
                let descriptor = matrix.descriptor() + u64::from(start >> 4);
                for outer in 0..extent {
                    for k in 0..k_of(bits) {
                        let read = address_read(descriptor, matrix.transposed, bytes, outer, k);
                        let index = match side {
                            Side::A => [outer0 + outer, k0 + k],
                            Side::B => [k0 + k, outer0 + outer],
                        };
                        let placed = base + apply(&inverse, flatten(&buffer.shape, &index)) * bytes;
                        assert_eq!(read, placed, "{side:?} {bits} {:?} at {index:?}: {matrix:?}", buffer.shape);
                    }
                }
            }
        }
        matrix
    }

    #[test]
    fn every_element_is_read_where_it_was_placed() {
        for bits in [8u32, 16, 32] {
            for k in [16, 32, 64, 128, 256] {
                if k < k_of(bits) {
                    continue;
                }
                for outer in [8, 16, 32, 64, 128, 256] {
                    let along: [(Side, [u32; 2], [u8; 2]); 2] = [(Side::A, [outer, k], [1, 0]), (Side::B, [k, outer], [0, 1])];
                    for (side, shape, order) in along {
                        let extent = if side == Side::A { M } else { outer };
                        if outer < extent {
                            continue;
                        }
                        let matrix = check(&swizzled(&shape, bits, &order), side, bits, extent);
                        assert!(!matrix.transposed);
                        assert_eq!(matrix.swizzle, (k * bits / 8).min(128));
                        // Two warpgroups side by side.
                        if side == Side::B && outer >= 16 {
                            check(&swizzled(&shape, bits, &order), side, bits, outer / 2);
                        }
                        let across: [u8; 2] = [order[1], order[0]];
                        let turned = swizzled(&shape, bits, &across);
                        if bits == 16 {
                            let matrix = check(&turned, side, bits, extent);
                            assert!(matrix.transposed);
                            assert_eq!(matrix.swizzle, if outer == 8 { 0 } else { (outer * 2).min(128) });
                            if side == Side::B && outer >= 16 {
                                check(&turned, side, bits, outer / 2);
                            }
                        } else if outer * bits / 8 >= 32 {
                            assert_eq!(Matrix::of(&turned, side, bits, extent), None, "only 16-bit operands are transposed");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn narrower_swizzles_and_plain_rows_of_one_chunk_match_too() {
        for width in [32, 64, 128] {
            assert_eq!(check(&swizzled_to(&[128, 64], 16, &[1, 0], width), Side::A, 16, 64).swizzle, width);
            assert_eq!(check(&swizzled_to(&[64, 128], 16, &[1, 0], width), Side::B, 16, 128).swizzle, width);
        }
        // Rows longer than a chunk without swizzle are no canonical layout.
        assert_eq!(Matrix::of(&row_major(&[128, 64]), Side::A, 16, 64), None);
        assert_eq!(Matrix::of(&row_major(&[64, 128]), Side::B, 16, 128), None);
    }

    #[test]
    fn the_descriptor_of_a_known_kernel() {
        // 128-byte rows along k: leading 1, stride 1024, mode 1; sixteen elements further are 32 bytes.
        let buffer = swizzled(&[128, 64], 16, &[1, 0]);
        let matrix = Matrix::of(&buffer, Side::A, 16, 64).expect("canonical");
        assert_eq!(matrix.descriptor(), 1 << 16 | 64 << 32 | 1 << 62);
        assert_eq!([0, 16, 32, 48].map(|k| matrix.start(0, k)), [0, 32, 64, 96]);
        assert_eq!(matrix.start(64, 0), 64 * 128);
        assert_eq!(alignment(&buffer, 16), 1024);
        assert_eq!(alignment(&swizzled(&[128, 32], 16, &[1, 0]), 16), 512);
        assert_eq!(alignment(&swizzled(&[128, 16], 16, &[1, 0]), 16), 256);
    }

    #[test]
    fn accumulators_follow_the_manual() {
        for (m, n, warps) in
            [(64, 8, 4), (64, 256, 4), (128, 256, 8), (64, 128, 8), (256, 64, 8), (128, 64, 4), (64, 512, 4), (512, 32, 16)]
        {
            let (groups_m, groups_n) = grouping(m, n, warps).expect("legal");
            let layout = accumulator(&[m, n], groups_m, groups_n);
            assert!(layout.is_surjective());
            assert_eq!(layout.free_bits(), (0, 0, 0), "nobody holds copies");
            let tiles = tiles(&layout).expect("an accumulator");
            assert_eq!(tiles.n, (n / groups_n).min(256));
            for warp in 0..warps {
                let group: (u32, u32) = (0..tiles.groups.len())
                    .filter(|bit| warp >> (2 + bit) & 1 == 1)
                    .fold((0, 0), |(r, c), bit| (r ^ tiles.groups[bit].0, c ^ tiles.groups[bit].1));
                for lane in 0..32 {
                    for &(row0, column0, first) in &tiles.origins {
                        for i in 0..tiles.n / 2 {
                            let row = row0 + group.0 + 16 * (warp % 4) + lane / 4 + 8 * (i / 2 % 2);
                            let column = column0 + group.1 + 8 * (i / 4) + 2 * (lane % 4) + i % 2;
                            assert_eq!(layout.apply(first + i, lane, warp), row * n + column);
                        }
                    }
                }
            }
        }
        assert_eq!(grouping(32, 128, 4), None);
        assert_eq!(grouping(64, 8, 8), None, "the second warpgroup would be without work");
        assert_eq!(grouping(128, 128, 2), None);
    }

    #[test]
    fn rows_of_registers_are_stored_without_conflicts() {
        // (shape, element bits, elements a thread holds side by side, order of both the registers and the buffer)
        for (shape, bits, order) in [
            ([128u32, 64u32], 16u32, [1u8, 0u8]),
            ([128, 32], 16, [1, 0]),
            ([128, 16], 16, [1, 0]),
            ([64, 128], 16, [1, 0]),
            ([64, 128], 16, [0, 1]),
            ([128, 128], 8, [1, 0]),
            ([128, 32], 32, [1, 0]),
        ] {
            let fast = order[0] as usize;
            let run = (128 / bits).min(shape[fast]);
            let lanes_fast = (shape[fast] / run).min(32);
            let (mut size, mut lanes, mut warps) = ([1; 2], [32 / lanes_fast; 2], [1; 2]);
            size[fast] = run;
            lanes[fast] = lanes_fast;
            warps[1 - fast] = 4;
            let tile = blocked(&shape, &size, &lanes, &warps, &order);
            let buffer = swizzled(&shape, bits, &order);
            let access = Access::new(&tile, &buffer, bits).expect("one place for each element");
            assert_eq!(1 << access.vector.len(), run, "{shape:?}");
            let found = wavefronts(&access.lane_addresses(bits / 8), 16);
            assert_eq!(found, ideal_wavefronts(16), "{shape:?} {bits} {order:?}");
        }
    }
}
