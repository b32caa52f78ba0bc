//! Which tiles `ldmatrix` reads from shared memory and `stmatrix` writes there, and how.
//!
//! Both move 8×8 matrices of 16-bit elements whose rows are 16 contiguous bytes; see the PTX manual. **Invariant:** code generation and
//! whoever counts bank conflicts ask here, so both mean the same instructions.

use super::{
    Distributed,
    algebra::{apply, others, spread},
    convert::Access,
};

/// Which register bit lies within a word, which pick the matrix, and what the lanes' addresses are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matrices {
    pub transposed: bool,
    pub within: u32,
    /// At most two: an instruction moves one, two or four matrices.
    pub matrices: Vec<u32>,
    /// Offsets (in elements) contributed by the lane bits of the address.
    pub lane: [u32; 5],
}

impl Matrices {
    /// It fits when the offsets of three input bits are 1, 2, 4: register and lane bits 0 and 1 as they are, lane bits 2, 3, 4 transposed.
    pub fn of(access: &Access, bits: u32) -> Option<Matrices> {
        if bits != 16 {
            return None;
        }
        let lane = &access.lane;
        let aligned = |offset: u32| offset != 0 && offset.is_multiple_of(8);
        let (transposed, within, rows) = if lane[0] == 2 && lane[1] == 4 {
            (false, access.register.iter().position(|&o| o == 1)?, [lane[2], lane[3], lane[4]])
        } else if lane[2] == 1 && lane[3] == 2 && lane[4] == 4 && !access.register.is_empty() {
            (true, 0, [access.register[0], lane[0], lane[1]])
        } else {
            return None;
        };
        let rest = others(access.register.len(), &[within as u32]);
        let all = rows.iter().all(|&row| aligned(row))
            && rest.iter().all(|&bit| aligned(access.register[bit as usize]))
            && access.warp.iter().all(|&offset| offset.is_multiple_of(8));
        if !all {
            return None;
        }
        let matrices: Vec<u32> = rest.into_iter().take(2).collect();
        let mut lane = [rows[0], rows[1], rows[2], 0, 0];
        for (i, &bit) in matrices.iter().enumerate() {
            lane[3 + i] = access.register[bit as usize];
        }
        Some(Matrices { transposed, within: within as u32, matrices, lane })
    }

    /// The two registers of a word of each matrix that one instruction moves, from a register of the thread on.
    pub fn pairs(&self, first: u32) -> impl Iterator<Item = [usize; 2]> {
        (0..1u32 << self.matrices.len()).map(move |matrix| {
            let register = (first | spread(&self.matrices, matrix)) as usize;
            [register, register | 1 << self.within]
        })
    }

    /// Byte offsets of the rows that one instruction moves, eight for each matrix.
    pub fn row_addresses(&self) -> Vec<u32> {
        (0..8u32 << self.matrices.len()).map(|lane| apply(&self.lane, lane) * 2).collect()
    }
}

/// What a tile is to another that holds 16 bytes in a row a thread: its own 8×8 matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// Index bits along a row's eight elements.
    pub along: [u32; 3],
    /// Index bits of the eight rows.
    pub across: [u32; 3],
}

impl Rows {
    /// Of a tile of 16-bit elements in the layout of a product's accumulators or operands, whose rows are 16 bytes of a thread of `other`.
    pub fn of(tile: &Distributed, other: &Distributed, bits: u32) -> Option<Rows> {
        let &[a, b, c, d, e] = &tile.lane[..] else { return None };
        let within = *tile.register.iter().find(|basis| other.register.contains(basis) && **basis != 0)?;
        let rows = Rows { along: [within, a, b], across: [c, d, e] };
        let is_row = rows.along.iter().all(|basis| other.register.contains(basis))
            && other.lane.iter().all(|basis| !rows.along.contains(basis));
        let all = [rows.along, rows.across].concat();
        let is_whole = !all.contains(&0) && tile.register.iter().all(|&basis| basis != 0);
        (bits == 16 && is_row && is_whole).then_some(rows)
    }
}
