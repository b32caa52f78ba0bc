//! Inclusive scans along an axis.
//!
//! Doubling: with every block of 2^b elements scanned, an element of an upper half takes in the total of the lower half, which stands in
//! that half's last element. Where that element lives decides how it travels: a register, a shuffle, or scratch. **Invariant:** the
//! region is only taken to be associative; the earlier total is always its left operand.

use tritium_tile::{
    Elem, OpId, ValueId,
    layout::{
        algebra::{apply, shift_of},
        reshape::squeeze,
    },
};

use super::{
    Emitted, Emitter, ins,
    value::{Reg, type_name},
};
use crate::scratch::{Owner, partial_bytes, partials_at, scan_levels};

impl Emitter<'_> {
    pub(super) fn scan(&mut self, op: OpId, axis: usize, reverse: bool) -> Emitted<()> {
        let operation = self.function.op(op);
        let region = operation.regions[0];
        let operands: Vec<ValueId> = operation.operands.to_vec();
        let layout = self.tile_layout(operands[0])?;
        let levels = scan_levels(layout, axis);
        if levels.iter().any(|level| level.owner == Owner::Nobody) {
            return Err(self.unsupported("a scan of a layout that mixes the axis with others; a conversion is missing"));
        }
        let elems: Vec<Elem> = operands.iter().map(|&v| self.ty(v).elem()).collect();
        let inputs = operands.iter().map(|&v| self.regs(v)).collect::<Emitted<Vec<_>>>()?;
        if inputs.iter().any(|regs| regs.len() != layout.num_registers()) {
            return Err(self.unsupported("a scan's operands have different layouts"));
        }
        let n = layout.num_registers() as u32;
        let mut items: Vec<Vec<Reg>> = (0..n as usize).map(|r| inputs.iter().map(|regs| regs[r]).collect()).collect();
        let shift = shift_of(&layout.shape, axis);
        let all_slots: u32 = levels.iter().map(|level| level.slots).sum();
        let mut slots_before = 0;
        // Register and lane bits of the positions below the current bit.
        let (mut low_registers, mut low_lanes) = (0u32, 0u32);
        for (bit, level) in levels.iter().enumerate() {
            let own_register = if let Owner::Register(i) = level.owner { 1u32 << i } else { 0 };
            let own_lane = if let Owner::Lane(i) = level.owner { 1u32 << i } else { 0 };
            // The register that holds the total: in the lower half, at its end.
            let total_of =
                |r: u32| if reverse { (r & !low_registers) | own_register } else { (r | low_registers) & !own_register };
            let takes = |r: u32| own_register == 0 || (r & own_register != 0) != reverse;
            let condition = match level.owner {
                Owner::Register(_) | Owner::Nobody => None,
                Owner::Lane(i) => Some(self.thread_bit(i, !reverse)),
                Owner::Warp(i) => Some(self.thread_bit(5 + i, !reverse)),
            };
            let mut totals: Vec<Option<Vec<Reg>>> = vec![None; n as usize];
            if level.shared {
                self.exchange_totals(op, axis, bit as u32, reverse, (slots_before, all_slots), &items, &mut totals)?;
                slots_before += level.slots;
            } else {
                for r in (0..n).filter(|&r| takes(r)) {
                    let from = total_of(r) as usize;
                    if totals[from].is_some() {
                        continue;
                    }
                    totals[from] = Some(if level.shuffled {
                        let lane = self.total_lane(own_lane, low_lanes, reverse);
                        elems.iter().zip(&items[from]).map(|(&elem, &reg)| self.shuffle(elem, reg, "idx", lane)).collect()
                    } else {
                        items[from].clone()
                    });
                }
            }
            for r in (0..n).filter(|&r| takes(r)) {
                let key = if level.shared { r } else { total_of(r) };
                let Some(total) = totals[key as usize].clone() else { continue };
                let combined = self.combine(region, &total, &items[r as usize])?;
                items[r as usize] = match condition {
                    None => combined,
                    Some(condition) => combined
                        .iter()
                        .zip(&items[r as usize])
                        .zip(&elems)
                        .map(|((new, old), &elem)| {
                            let ty = type_name(elem);
                            ins!(self, "select i1 {condition}, {ty} {new}, {ty} {old}")
                        })
                        .collect(),
                };
            }
            low_registers |= own_register;
            low_lanes |= own_lane;
        }
        debug_assert!(shift < 32);
        for (index, &result) in operation.results.iter().enumerate() {
            if self.layout(result)? != Some(layout) {
                return Err(self.unsupported("a scan's result has another layout than its operand"));
            }
            self.set(result, items.iter().map(|item| item[index]).collect());
        }
        Ok(())
    }

    /// Whether a bit of the thread's index is `set`.
    fn thread_bit(&mut self, bit: u32, set: bool) -> Reg {
        let value = ins!(self, "and i32 {}, {}", Reg::Tid, 1u32 << bit);
        ins!(self, "icmp {} i32 {value}, 0", if set { "ne" } else { "eq" })
    }

    /// The lane that holds the total this lane may need.
    fn total_lane(&mut self, own: u32, low: u32, reverse: bool) -> Reg {
        let lane = ins!(self, "and i32 {}, {}", Reg::Tid, 31 & !(own | low));
        let add = if reverse { own } else { low };
        ins!(self, "or disjoint i32 {lane}, {add}")
    }

    /// Writes the totals of all lower halves to scratch and reads for every register the one it needs.
    #[allow(clippy::too_many_arguments)]
    fn exchange_totals(
        &mut self,
        op: OpId,
        axis: usize,
        bit: u32,
        reverse: bool,
        (before, all): (u32, u32),
        items: &[Vec<Reg>],
        totals: &mut [Option<Vec<Reg>>],
    ) -> Emitted<()> {
        let operation = self.function.op(op);
        let layout = self.tile_layout(operation.operands[0])?;
        let base = self.shared_offset(op)?;
        let shift = shift_of(&layout.shape, axis);
        // A slot is an index without the axis' bits 0..=bit.
        let mut cut = layout.shape.clone();
        cut[axis] = layout.shape[axis] >> (bit + 1);
        cut.insert(axis + 1, 2 << bit);
        let slot = |index: u32| squeeze(&cut, axis + 1, index);
        let low = ((1u32 << bit) - 1) << shift;
        let own = 1u32 << (shift + bit);
        // In the axis' low bits a total has this pattern.
        let (pattern, window) = (if reverse { own } else { low }, low | own);
        let columns: Vec<u32> = layout.lane.iter().chain(&layout.warp).copied().collect();
        let slots: Vec<u32> = columns.iter().map(|&c| slot(c)).collect();
        let windows: Vec<u32> = columns.iter().map(|&c| c & window).collect();
        let surplus = layout.free_bits().0;
        let elems: Vec<Elem> = operation.operands.iter().map(|&v| self.ty(v).elem()).collect();
        let arrays: Vec<u32> = (0..elems.len())
            .map(|i| base + partials_at(self.function, &operation.operands, all, i) + before * partial_bytes(elems[i]))
            .collect();
        let scale = |bytes: u32| slots.iter().map(|c| c * bytes).collect::<Vec<u32>>();
        let thread_window = self.linear(&windows, 0);
        let reach = super::index::reach(&windows);
        for (r, item) in items.iter().enumerate().filter(|(r, _)| *r as u32 & surplus == 0) {
            let index = apply(&layout.register, r as u32);
            // Registers and threads hold different bits: the register's part of the window must match by itself.
            if (index & window & !reach) != (pattern & !reach) {
                continue;
            }
            let wanted = (pattern ^ index & window) & reach;
            let is_total = ins!(self, "icmp eq i32 {thread_window}, {wanted}");
            let (write, after) = (self.new_label(), self.new_label());
            super::line!(self, "br i1 {is_total}, label %b{write}, label %b{after}");
            self.start_block(write);
            for (i, &elem) in elems.iter().enumerate() {
                let bytes = partial_bytes(elem);
                let address = self.shared_address(arrays[i], &scale(bytes), slot(index) * bytes);
                self.store_words(address, elem, &item[i..=i]);
            }
            super::line!(self, "br label %b{after}");
            self.start_block(after);
        }
        self.barrier();
        for (r, total) in totals.iter_mut().enumerate() {
            let index = apply(&layout.register, r as u32);
            let mut values = Vec::with_capacity(elems.len());
            for (i, &elem) in elems.iter().enumerate() {
                let bytes = partial_bytes(elem);
                let address = self.shared_address(arrays[i], &scale(bytes), slot(index) * bytes);
                values.push(self.load_words(address, elem, 1)[0]);
            }
            *total = Some(values);
        }
        Ok(())
    }
}
