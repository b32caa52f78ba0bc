//! Inclusive scans as the machine does them: doubling, where the total of a lower block comes from a register, a lane or scratch.
//!
//! **Invariant:** the earlier total is the left operand, and elements meet in the order of the emitted code.

use super::{Frame, Lanes, Machine, Register, Run};
use crate::{
    layout::{
        algebra::{apply, shift_of},
        reshape::squeeze,
    },
    module::OpId,
    scratch::{Owner, element_bytes, partials_at, scan_levels},
    types::Elem,
};

/// One doubling step through scratch.
struct Step {
    bit: u32,
    reverse: bool,
    /// Slots of the steps before, and of all.
    before: u32,
    all: u32,
}

impl<'r> Machine<'r> {
    pub(super) fn scan(&mut self, frame: &mut Frame<'r>, id: OpId, axis: usize, reverse: bool) -> Run<()> {
        let op = frame.function.op(id);
        let layout = self.tile_layout(frame, id, op.operands[0])?;
        let levels = scan_levels(layout, axis);
        if levels.iter().any(|level| level.owner == Owner::Nobody) {
            return Err(self.malformed(frame, id, "a scan of a layout that mixes the axis with others"));
        }
        let inputs = self.operand_tiles(frame, id)?;
        let n = layout.num_registers() as u32;
        if inputs.iter().any(|registers| registers.len() != n as usize) {
            return Err(self.malformed(frame, id, "a scan's operands have different layouts"));
        }
        let mut items: Vec<Vec<Register>> =
            (0..n as usize).map(|r| inputs.iter().map(|registers| registers[r].clone()).collect()).collect();
        let all: u32 = levels.iter().map(|level| level.slots).sum();
        let mut before = 0;
        // Register and lane bits of the positions below the current bit.
        let (mut low_registers, mut low_lanes) = (0u32, 0usize);
        for (bit, level) in levels.iter().enumerate() {
            let own_register = if let Owner::Register(i) = level.owner { 1u32 << i } else { 0 };
            let own_lane = if let Owner::Lane(i) = level.owner { 1usize << i } else { 0 };
            let total_of =
                |r: u32| if reverse { (r & !low_registers) | own_register } else { (r | low_registers) & !own_register };
            let takes = |r: u32| own_register == 0 || (r & own_register != 0) != reverse;
            let thread_takes = |t: usize| match level.owner {
                Owner::Register(_) | Owner::Nobody => true,
                Owner::Lane(i) => (t >> i & 1 == 1) != reverse,
                Owner::Warp(i) => (t >> (5 + i) & 1 == 1) != reverse,
            };
            let mut totals: Vec<Option<Vec<Register>>> = vec![None; n as usize];
            if level.shared {
                let step = Step { bit: bit as u32, reverse, before, all };
                totals = self.exchange_totals(frame, id, axis, &step, &items)?;
                before += level.slots;
            } else {
                for r in (0..n).filter(|&r| takes(r)) {
                    let from = total_of(r) as usize;
                    if totals[from].is_some() {
                        continue;
                    }
                    let lane =
                        |t: usize| (t & !31) | (t & 31 & !(own_lane | low_lanes)) | if reverse { own_lane } else { low_lanes };
                    totals[from] = Some(match level.shuffled {
                        true => items[from].iter().map(|register| register.moved(self.threads, lane)).collect(),
                        false => items[from].clone(),
                    });
                }
            }
            for r in (0..n).filter(|&r| takes(r)) {
                let key = if level.shared { r } else { total_of(r) };
                let Some(total) = totals[key as usize].clone() else { continue };
                let combined = self.combine(frame, id, &total, &items[r as usize])?;
                let kept = combined.iter().zip(&items[r as usize]).map(|(new, old)| Lanes::mix(new, old, thread_takes));
                let kept = kept.collect::<Option<Vec<_>>>();
                items[r as usize] = kept.ok_or_else(|| self.malformed(frame, id, "a combination changes the type"))?;
            }
            low_registers |= own_register;
            low_lanes |= own_lane;
        }
        for (index, &result) in op.results.iter().enumerate() {
            if self.layout(frame, id, result)? != Some(layout) {
                return Err(self.malformed(frame, id, "a scan's result has another layout than its operand"));
            }
            self.set_agreed(frame, id, result, items.iter().map(|item| item[index].clone()).collect())?;
        }
        Ok(())
    }

    /// Writes the totals of all lower halves to scratch and reads for every register the one it needs.
    fn exchange_totals(
        &mut self,
        frame: &Frame<'r>,
        id: OpId,
        axis: usize,
        step: &Step,
        items: &[Vec<Register>],
    ) -> Run<Vec<Option<Vec<Register>>>> {
        let op = frame.function.op(id);
        let layout = self.tile_layout(frame, id, op.operands[0])?;
        let base = self.shared_offset(frame, id)?;
        let shift = shift_of(&layout.shape, axis);
        // A slot is an index without the axis' bits 0..=bit.
        let mut cut = layout.shape.clone();
        cut[axis] = layout.shape[axis] >> (step.bit + 1);
        cut.insert(axis + 1, 2 << step.bit);
        let slot = |index: u32| squeeze(&cut, axis + 1, index);
        let low = ((1u32 << step.bit) - 1) << shift;
        let own = 1u32 << (shift + step.bit);
        // In the axis' low bits a total has this pattern.
        let (pattern, window) = (if step.reverse { own } else { low }, low | own);
        let threads = self.thread_indices(layout);
        let surplus = layout.free_bits().0;
        let elems: Vec<Elem> = op.operands.iter().map(|&v| frame.function.ty(v).elem()).collect();
        let arrays: Vec<u32> = (0..elems.len())
            .map(|i| base + partials_at(frame.function, &op.operands, step.all, i) + step.before * element_bytes(elems[i]))
            .collect();
        for (r, item) in items.iter().enumerate().filter(|(r, _)| *r as u32 & surplus == 0) {
            let index = apply(&layout.register, r as u32);
            for (i, &elem) in elems.iter().enumerate() {
                let at = |t: usize| arrays[i] + slot(index ^ threads[t]) * element_bytes(elem);
                let is_total = |t: usize| (index ^ threads[t]) & window == pattern;
                self.write_shared(frame, id, id, elem, is_total, at, &[&item[i]])?;
            }
        }
        self.shared.barrier();
        let mut totals = Vec::with_capacity(items.len());
        for r in 0..items.len() {
            let index = apply(&layout.register, r as u32);
            let mut values = Vec::with_capacity(elems.len());
            for (i, &elem) in elems.iter().enumerate() {
                let at = |t: usize| arrays[i] + slot(index ^ threads[t]) * element_bytes(elem);
                values.extend(self.read_shared(frame, id, id, elem, at, 1)?);
            }
            totals.push(Some(values));
        }
        Ok(totals)
    }
}
