//! Matrix products on tensor cores: `mma.sync.m16n8*`.
//!
//! The plan is read off the layouts, whoever made them. **Invariant:** an operand that the instruction wants and the thread does not
//! hold is refused, never replaced.

use std::collections::BTreeMap;

use tritium_semantics::target::Feature;
use tritium_tile::{
    Elem, OpId, Scalar,
    layout::{
        Distributed,
        algebra::{apply, shift_of},
        mma,
    },
    ops::DotPrecision,
};

use super::{Emitted, Emitter, ins, value::Reg};
use crate::ptx_strings::{Instruction, Mma};

/// Register numbers of a thread by the flat index of what they hold, for lane 0 of warp 0.
pub(super) fn by_index(layout: &Distributed) -> BTreeMap<u32, u32> {
    (0..layout.num_registers() as u32).rev().map(|r| (apply(&layout.register, r), r)).collect()
}

/// (row, column) bits of a basis, batch bits aside.
fn row_column(layout: &Distributed, basis: u32) -> (u32, u32) {
    let rank = layout.shape.len();
    let column = basis & (layout.shape[rank - 1] - 1);
    (basis >> shift_of(&layout.shape, rank - 2) & (layout.shape[rank - 2] - 1), column)
}

pub(super) fn lanes(layout: &Distributed) -> Vec<(u32, u32)> {
    layout.lane.iter().map(|&b| row_column(layout, b)).collect()
}

impl Emitter<'_> {
    fn instruction_for(&self, a: Scalar, acc: Scalar, precision: DotPrecision) -> Emitted<Mma> {
        let fp8 = self.sm.has(Feature::Fp8);
        match (a, acc, precision) {
            (Scalar::F16, Scalar::F32, _) => Ok(Mma::F16F32),
            (Scalar::F16, Scalar::F16, _) => Ok(Mma::F16F16),
            (Scalar::BF16, Scalar::F32, _) => Ok(Mma::Bf16F32),
            (Scalar::F32, Scalar::F32, DotPrecision::Tf32 | DotPrecision::Tf32x3) => Ok(Mma::Tf32F32),
            (Scalar::I8, Scalar::I32, _) => Ok(Mma::I8I32),
            (Scalar::F8E4M3, Scalar::F32, _) if fp8 => Ok(Mma::E4m3F32),
            (Scalar::F8E5M2, Scalar::F32, _) if fp8 => Ok(Mma::E5m2F32),
            (Scalar::F32, _, DotPrecision::Ieee) => {
                Err(self
                    .unsupported("a dot of f32 in full precision: tensor cores round to tf32; use input_precision=\"tf32x3\""))
            }
            _ => Err(self.unsupported(format!("a dot of {a} into {acc} on {}", self.sm.name))),
        }
    }

    pub(super) fn dot(&mut self, op: OpId, precision: DotPrecision) -> Emitted<()> {
        let operation = self.function.op(op);
        let (a, b, c, result) = (operation.operands[0], operation.operands[1], operation.operands[2], operation.results[0]);
        let lc = self.tile_layout(c)?;
        if !mma::is_accumulator(lc) {
            return self.dot_fma(op, precision);
        }
        let (la, lb) = (self.tile_layout(a)?, self.tile_layout(b)?);
        let element = self.scalar(a)?;
        if self.scalar(b)? != element {
            return Err(self.unsupported("a dot of two element types"));
        }
        let mma = self.instruction_for(element, self.scalar(c)?, precision)?;
        let rank = lc.shape.len();
        let refuse =
            |e: &Self| e.unsupported("a dot whose layouts are not those of mma.sync; its operands must be converted first");
        if rank < 2
            || la.shape.len() != rank
            || lb.shape.len() != rank
            || !mma::is_accumulator(lc)
            || self.layout(result)? != Some(lc)
        {
            return Err(refuse(self));
        }
        let e = 32 / element.bits();
        let (k, k_tile) = (la.shape[rank - 1], mma::k_of(element.bits()));
        // A tile that is smaller than the instruction is repeated.
        let (rows, columns) = (lc.shape[rank - 2], lc.shape[rank - 1]);
        let (row, column) = (|at: u32| at & (rows - 1), |at: u32| at & (columns - 1));
        let fits = lanes(la) == [(0, e), (0, 2 * e), (row(1), 0), (row(2), 0), (row(4), 0)]
            && lanes(lb) == [(e, 0), (2 * e, 0), (0, column(1)), (0, column(2)), (0, column(4))]
            && (0..lc.warp.len()).all(|i| {
                let (m, n) = row_column(lc, lc.warp[i]);
                row_column(la, la.warp[i]) == (m, 0) && row_column(lb, lb.warp[i]) == (0, n)
            });
        if !fits || k < k_tile {
            return Err(refuse(self));
        }
        let (ra, rb) = (self.regs(a)?, self.regs(b)?);
        let mut acc = self.regs(c)?.to_vec();
        let (in_a, in_b, in_c) = (by_index(la), by_index(lb), by_index(lc));
        // Positions of the tiles this warp computes: batch, row and column of their first element.
        let (n_bits, mn_bits) = (columns.ilog2(), shift_of(&lc.shape, rank - 2) + rows.ilog2());
        let tiles: Vec<(u32, u32, u32)> = in_c
            .keys()
            .map(|&index| (index >> mn_bits, row(index >> n_bits), column(index)))
            .filter(|(_, m, n)| m % mma::M == 0 && n % mma::N == 0)
            .collect();
        let batch_stride = |l: &Distributed| shift_of(&l.shape, rank - 2) + l.shape[rank - 2].ilog2();
        let elem = Elem::Scalar(element);
        let mut words_a: BTreeMap<(u32, u32, u32), Vec<Vec<Reg>>> = BTreeMap::new();
        let mut words_b: BTreeMap<(u32, u32, u32), Vec<Vec<Reg>>> = BTreeMap::new();
        let split = precision == DotPrecision::Tf32x3 && element == Scalar::F32;
        for k0 in (0..k).step_by(k_tile as usize) {
            for &(batch, m, n) in &tiles {
                if let std::collections::btree_map::Entry::Vacant(slot) = words_a.entry((batch, m, k0)) {
                    let mut words = Vec::new();
                    for w in 0..4 {
                        let first = batch << batch_stride(la) | row(m + 8 * (w & 1)) << k.ilog2() | (k0 + 4 * e * (w >> 1));
                        words.push((0..e).map(|j| in_a.get(&(first + j)).map(|&r| ra[r as usize])).collect::<Option<Vec<Reg>>>());
                    }
                    let words = words.into_iter().collect::<Option<Vec<_>>>().ok_or_else(|| refuse(self))?;
                    slot.insert(self.operand_words(elem, words, split));
                }
                if let std::collections::btree_map::Entry::Vacant(slot) = words_b.entry((batch, n, k0)) {
                    let width = lb.shape[rank - 1].ilog2();
                    let mut words = Vec::new();
                    for w in 0..2 {
                        let row = k0 + 4 * e * w;
                        let at = |j: u32| batch << batch_stride(lb) | (row + j) << width | n;
                        words.push((0..e).map(|j| in_b.get(&at(j)).map(|&r| rb[r as usize])).collect::<Option<Vec<Reg>>>());
                    }
                    let words = words.into_iter().collect::<Option<Vec<_>>>().ok_or_else(|| refuse(self))?;
                    slot.insert(self.operand_words(elem, words, split));
                }
                let (wa, wb) = (words_a[&(batch, m, k0)].clone(), words_b[&(batch, n, k0)].clone());
                let place = |m, n| batch << mn_bits | row(m) << n_bits | column(n);
                let places = [place(m, n), place(m, n + 1), place(m + 8, n), place(m + 8, n + 1)];
                let registers: Vec<usize> =
                    places.iter().map(|i| in_c.get(i).map(|&r| r as usize)).collect::<Option<_>>().ok_or_else(|| refuse(self))?;
                // (high, low) parts: the small products first.
                let products: &[(usize, usize)] = if split { &[(1, 0), (0, 1), (0, 0)] } else { &[(0, 0)] };
                for &(i, j) in products {
                    let old: Vec<Reg> = registers.iter().map(|&r| acc[r]).collect();
                    let new = self.multiply(mma, &wa[i], &wb[j], &old);
                    for (&r, reg) in registers.iter().zip(new) {
                        acc[r] = reg;
                    }
                }
            }
        }
        // Duplicate registers of the accumulator follow their twins.
        for r in 0..acc.len() {
            acc[r] = acc[in_c[&apply(&lc.register, r as u32)] as usize];
        }
        self.set(result, acc);
        Ok(())
    }

    /// The words of an operand; with `split` also those of what rounding to tf32 leaves over.
    pub(super) fn operand_words(&mut self, elem: Elem, elements: Vec<Vec<Reg>>, split: bool) -> Vec<Vec<Reg>> {
        if elem != Elem::Scalar(Scalar::F32) {
            return vec![elements.iter().map(|element| self.pack(elem, element)[0]).collect()];
        }
        // Tensor cores leave out the low bits of what they multiply as tf32. Rounding first would be half as far off, and takes two
        // instructions an element; Triton leaves it to them as well.
        if !split {
            return vec![elements.iter().map(|element| ins!(self, "bitcast float {} to i32", element[0])).collect()];
        }
        let (mut high, mut low) = (Vec::new(), Vec::new());
        for element in elements {
            let big = self.asm(Instruction::CvtRnaTf32, &["i32"], &[("float", element[0])])[0];
            let value = ins!(self, "bitcast i32 {big} to float");
            let rest = ins!(self, "fsub float {}, {value}", element[0]);
            high.push(big);
            low.push(self.asm(Instruction::CvtRnaTf32, &["i32"], &[("float", rest)])[0]);
        }
        vec![high, low]
    }

    fn multiply(&mut self, mma: Mma, a: &[Reg], b: &[Reg], acc: &[Reg]) -> Vec<Reg> {
        let half = Elem::Scalar(Scalar::F16);
        let (ty, words): (&str, Vec<Reg>) = match mma {
            Mma::F16F16 => ("i32", acc.chunks(2).flat_map(|pair| self.pack(half, pair)).collect()),
            Mma::I8I32 => ("i32", acc.to_vec()),
            Mma::F16F32 | Mma::Bf16F32 | Mma::Tf32F32 | Mma::E4m3F32 | Mma::E5m2F32 => ("float", acc.to_vec()),
        };
        let mut args: Vec<(&str, Reg)> = a.iter().chain(b).map(|&word| ("i32", word)).collect();
        args.extend(words.iter().map(|&word| (ty, word)));
        let out = self.asm(Instruction::Mma(mma), &vec![ty; words.len()], &args);
        if mma == Mma::F16F16 { out.iter().flat_map(|&word| self.unpack(half, 2, &[word])).collect() } else { out }
    }
}
