//! Which tiles `ldmatrix` reads from shared memory, and how.
//!
//! `ldmatrix` moves 8×8 matrices of 16-bit elements whose rows are 16 contiguous bytes; see the PTX manual. **Invariant:** code generation and
//! whoever counts bank conflicts ask here, so both mean the same instructions.

use super::{
    algebra::{apply, others},
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

    /// Byte offsets of the rows that one instruction moves, eight for each matrix.
    pub fn row_addresses(&self) -> Vec<u32> {
        (0..8u32 << self.matrices.len()).map(|lane| apply(&self.lane, lane) * 2).collect()
    }
}
