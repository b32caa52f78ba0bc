//! Gathers and histograms as the machine does them: through scratch that any thread reaches into.
//!
//! **Invariant:** an index outside its axis reads some element of the source, which counts as undefined.

use super::{By, Frame, Lanes, Machine, Register, Run};
use crate::{
    layout::{
        algebra::{apply, shift_of},
        shared::row_major,
    },
    module::OpId,
    scratch::element_bytes,
    types::{Elem, Scalar, Type},
};

impl<'r> Machine<'r> {
    pub(super) fn gather(&mut self, frame: &mut Frame<'r>, id: OpId, axis: usize) -> Run<()> {
        let op = frame.function.op(id);
        let (source, index, result) = (op.operands[0], op.operands[1], op.results[0]);
        let at = self.tile_layout(frame, id, index)?;
        let shape = frame.function.ty(source).shape();
        if self.layout(frame, id, result)? != Some(at) {
            return Err(self.malformed(frame, id, "a gather's result has another layout than its indices"));
        }
        let elem = frame.function.ty(source).elem();
        let bytes = element_bytes(elem);
        let indices = self.tile(frame, id, index)?;
        let (owner, base) = match frame.function.ty(source) {
            Type::Shared { .. } if *self.buffer_layout(frame, id, source)? != row_major(shape) => {
                return Err(self.malformed(frame, id, "a gather reads a buffer that is not in row-major order"));
            }
            Type::Shared { .. } => self.buffer(frame, id, source)?,
            Type::Tile { .. } => {
                let from = self.tile_layout(frame, id, source)?;
                let registers = self.tile(frame, id, source)?;
                let base = self.shared_offset(frame, id)?;
                self.store_tile(frame, id, id, base, &row_major(shape), from, elem, &registers)?;
                self.shared.barrier();
                (id, base)
            }
        };
        // Where the index stands, with 0 along the axis, in the source.
        let shift = shift_of(shape, axis);
        let (source_bits, result_bits) = (shape[axis].ilog2(), at.shape[axis].ilog2());
        let place = |flat: u32| flat & ((1 << shift) - 1) | (flat >> (shift + result_bits)) << (shift + source_bits);
        let narrow = frame.function.ty(index).elem().bits();
        let threads = self.thread_indices(at);
        let surplus = at.free_bits().0 as usize;
        let mut gathered: Vec<Register> = Vec::with_capacity(indices.len());
        for (r, index) in indices.iter().enumerate() {
            if r & surplus != 0 {
                gathered.push(gathered[r & !surplus].clone());
                continue;
            }
            let row = apply(&at.register, r as u32);
            // Narrow indices have no sign.
            let number = |t: usize| if narrow < 32 { index.int(t) as u64 & ((1 << narrow) - 1) } else { index.int(t) as u64 };
            let chosen = |t: usize| (number(t) as u32) & (shape[axis] - 1);
            let address = |t: usize| base + (place(row ^ threads[t]) + (chosen(t) << shift)) * bytes;
            let read = self.read_shared(frame, id, owner, elem, address, 1)?.remove(0);
            let marks = (0..self.threads)
                .map(|t| match index.mark(t) {
                    0 if number(t) >= u64::from(shape[axis]) => id.0 + 1,
                    0 => read.mark(t),
                    mark => mark,
                })
                .collect();
            let bits: Vec<u64> = (0..self.threads).map(|t| read.bits(elem, t)).collect();
            gathered.push(Lanes::from_bits(elem, &bits, marks));
        }
        self.set_agreed(frame, id, result, gathered)
    }

    pub(super) fn histogram(&mut self, frame: &mut Frame<'r>, id: OpId) -> Run<()> {
        let op = frame.function.op(id);
        let (source, result) = (op.operands[0], op.results[0]);
        let (from, to) = (self.tile_layout(frame, id, source)?, self.tile_layout(frame, id, result)?);
        let values = self.tile(frame, id, source)?;
        let mask = self.beside(frame, id, 1, values.len())?;
        let base = self.shared_offset(frame, id)?;
        let bins = to.shape[0];
        let word = Elem::Scalar(Scalar::I32);
        let zero = Lanes::from_bits(word, &vec![0; self.threads], vec![0; self.threads]);
        for first in (0..bins).step_by(self.threads) {
            // Threads beyond the bins write the same zeros again.
            let address = |t: usize| base + 4 * (first + (t as u32 & (bins - 1)));
            self.write_shared(frame, id, id, word, |_| true, address, &[&zero])?;
        }
        self.shared.barrier();
        let holders = self.holders(Some(from));
        let surplus = from.free_bits().0 as usize;
        let narrow = frame.function.ty(source).elem().bits();
        for (r, value) in values.iter().enumerate().filter(|(r, _)| r & surplus == 0) {
            for t in (0..self.threads).filter(|&t| holders[t]) {
                let active = mask.as_ref().is_none_or(|m| m[r].bool(t));
                let undefined = mask.as_ref().and_then(|m| m[r].undefined(t)).or(value.undefined(t).filter(|_| active));
                if let Some(source) = undefined {
                    self.undefined(frame, id, t, "what is counted", source)?;
                }
                let number = if narrow < 64 { value.int(t) as u64 & ((1 << narrow) - 1) } else { value.int(t) as u64 };
                if active && number < u64::from(bins) {
                    let by = By { op: id, thread: t as u32 };
                    let counted = self.shared.count(base + 4 * number as u32);
                    self.judge(frame, by, counted)?;
                }
            }
        }
        self.shared.barrier();
        let counts = self.load_tile(frame, id, id, base, &row_major(&to.shape), to, word)?;
        self.set_agreed(frame, id, result, counts)
    }
}
