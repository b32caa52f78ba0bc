//! Register fragments of the tensor cores' `mma.sync` and of their operands.
//!
//! **Invariant:** the bases equal the index formulas of the PTX manual; a test compares them thread by thread.
//!
//! One 32-bit register holds `e = 32 / bits` consecutive elements along k. With g = lane / 4 and t = lane % 4, word `w` of A covers rows
//! g + 8·(w & 1) and columns 4e·(w >> 1) + e·t…; word `w` of B covers column g and rows 4e·w + e·t….

use super::{
    Bases, Distributed,
    algebra::{index_bits, shift_of},
};
use crate::types::Shape;

/// Which operand of a dot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    A,
    B,
}

/// Rows and columns of one `mma.sync` accumulator. A smaller tile is repeated in its registers and lanes.
pub const M: u32 = 16;
pub const N: u32 = 8;

/// Columns of an accumulator at least: with one, nothing would tell its layout from others.
pub const LEAST_N: u32 = 2;

/// Elements along k of one `mma.sync` for operands of `bits`: 8 for tf32, 16 for 16-bit, 32 for 8-bit.
pub fn k_of(bits: u32) -> u32 {
    256 / bits.max(1)
}

/// Collects bases of a tile whose last two dimensions are (row, column), dropping what lies outside.
struct Fragment<'s> {
    shape: &'s [u32],
    used: u32,
}

impl Fragment<'_> {
    fn basis(&mut self, row: u32, column: u32) -> u32 {
        let rank = self.shape.len();
        if row >= self.shape[rank - 2] || column >= self.shape[rank - 1] {
            return 0;
        }
        let basis = row << shift_of(self.shape, rank - 2) | column;
        self.used |= basis;
        basis
    }

    /// Registers and lanes of one instruction's accumulator.
    fn accumulator(&mut self) -> (Bases, Bases) {
        let register = nonzero([self.basis(0, 1), self.basis(8, 0)]);
        (register, [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)].into_iter().map(|(r, c)| self.basis(r, c)).collect())
    }

    /// The basis of the same matrix of the batch as `flat` of the accumulator; 0 for the first.
    fn matrix(&mut self, parent: &Distributed, flat: u32) -> u32 {
        let bits = |shape: &[u32]| shape[shape.len() - 2].ilog2() + shape[shape.len() - 1].ilog2();
        let basis = flat >> bits(&parent.shape) << bits(self.shape);
        self.used |= basis;
        basis
    }

    /// Bases for every index bit of `dims` (in this order, lowest bit first) that nothing covers yet.
    fn repeat(&mut self, dims: &[usize], register: &mut Bases) {
        for &axis in dims {
            for bit in 0..self.shape[axis].ilog2() {
                let basis = 1 << (shift_of(self.shape, axis) + bit);
                if self.used & basis == 0 {
                    self.used |= basis;
                    register.push(basis);
                }
            }
        }
    }
}

fn nonzero(bases: impl IntoIterator<Item = u32>) -> Bases {
    bases.into_iter().filter(|&b| b != 0).collect()
}

/// The accumulator of `mma.sync.m16n8*` on `[…, M, N]`; `warps_n` warps side by side, then `warps_m` below each other.
pub fn mma16816_accumulator(shape: &[u32], warps_m: u32, warps_n: u32) -> Distributed {
    let rank = shape.len();
    let mut f = Fragment { shape, used: 0 };
    let (mut register, lane) = f.accumulator();
    let mut warp = Bases::new();
    for bit in 0..warps_n.ilog2() {
        warp.push(f.basis(0, N << bit));
    }
    for bit in 0..warps_m.ilog2() {
        warp.push(f.basis(M << bit, 0));
    }
    let mut dims = vec![rank - 1, rank - 2];
    dims.extend((0..rank - 2).rev());
    f.repeat(&dims, &mut register);
    Distributed { shape: Shape::from_slice(shape), register, lane, warp }
}

/// The layout that `mma.sync` wants of an operand (`[…, M, K]` or `[…, K, N]`) for the accumulator `parent`; the warps of the other
/// operand's dimension hold copies.
pub fn dot_operand(side: Side, parent: &Distributed, shape: &[u32], bits: u32) -> Distributed {
    let rank = shape.len();
    let e = 32 / bits.clamp(8, 32);
    let mut f = Fragment { shape, used: 0 };
    let within: Vec<u32> = (0..e.ilog2()).map(|bit| 1 << bit).collect();
    let quad = [e, 2 * e];
    let group = [1, 2, 4];
    let parent_columns = parent.shape[parent.shape.len() - 1];
    let mut register = Bases::new();
    let mut lane = Bases::new();
    let mut warp = Bases::new();
    match side {
        Side::A => {
            register.extend(within.iter().map(|&k| f.basis(0, k)));
            register.push(f.basis(8, 0));
            register.push(f.basis(0, 4 * e));
            lane.extend(quad.map(|k| f.basis(0, k)));
            lane.extend(group.map(|m| f.basis(m, 0)));
            for &b in &parent.warp {
                let m = row(parent, b);
                warp.push(if m == 0 { f.matrix(parent, b) } else { f.basis(m, 0) });
            }
        }
        Side::B => {
            register.extend(within.iter().map(|&k| f.basis(k, 0)));
            register.push(f.basis(4 * e, 0));
            lane.extend(quad.map(|k| f.basis(k, 0)));
            lane.extend(group.map(|n| f.basis(0, n)));
            for &b in &parent.warp {
                let n = b & (parent_columns - 1);
                warp.push(if n == 0 { f.matrix(parent, b) } else { f.basis(0, n) });
            }
        }
    }
    let mut register = nonzero(register);
    // Along k first: one accumulator's multiplications then read neighbouring registers.
    let mut dims = match side {
        Side::A => vec![rank - 1, rank - 2],
        Side::B => vec![rank - 2, rank - 1],
    };
    dims.extend((0..rank - 2).rev());
    f.repeat(&dims, &mut register);
    Distributed { shape: Shape::from_slice(shape), register, lane, warp }
}

/// The row of a flat index of the accumulator.
fn row(parent: &Distributed, flat: u32) -> u32 {
    let rank = parent.shape.len();
    debug_assert!(u64::from(flat) < 1 << index_bits(&parent.shape));
    flat >> shift_of(&parent.shape, rank - 2) & (parent.shape[rank - 2] - 1)
}

/// Whether a layout is an accumulator of `mma.sync`, whatever made it.
pub fn is_accumulator(layout: &Distributed) -> bool {
    let rank = layout.shape.len();
    if rank < 2 || layout.shape[rank - 1] < LEAST_N {
        return false;
    }
    let (register, lane) = Fragment { shape: &layout.shape, used: 0 }.accumulator();
    layout.register.starts_with(&register) && layout.lane == lane
}

/// Whether it is one of a whole instruction at least, which hardly any layout is by chance.
pub fn is_whole_accumulator(layout: &Distributed) -> bool {
    let rank = layout.shape.len();
    rank >= 2 && layout.shape[rank - 2] >= M && layout.shape[rank - 1] >= N && is_accumulator(layout)
}
