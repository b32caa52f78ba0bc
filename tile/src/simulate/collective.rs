//! Reductions as the machine does them: within each thread, then across lanes by butterflies, then across warps through scratch. Also
//! maps.
//!
//! **Invariant:** elements meet in the order in which the emitted code combines them.

use std::collections::BTreeMap;

use super::{Frame, Lanes, Machine, Register, Run, Slot};
use crate::{
    layout::{algebra::apply, reshape::squeeze},
    module::{OpId, ValueId},
    scratch::{element_bytes, partials_at, reduce_partials},
    types::Elem,
};

impl<'r> Machine<'r> {
    /// The region applied to the elements of every thread.
    pub(super) fn combine(
        &mut self,
        frame: &mut Frame<'r>,
        op: OpId,
        left: &[Register],
        right: &[Register],
    ) -> Run<Vec<Register>> {
        let arguments: Vec<Register> = left.iter().chain(right).cloned().collect();
        let combined = self.region(frame, op, &arguments)?;
        Ok(combined.into_iter().map(Lanes::with_one_nan).collect())
    }

    /// The first region of `op` on scalars: all threads at once where it is free of branches, one after the other where it is not.
    fn region(&mut self, frame: &mut Frame<'r>, op: OpId, arguments: &[Register]) -> Run<Vec<Register>> {
        let function = frame.function;
        let region = function.op(op).regions[0];
        let names = &function.block(region).args;
        let len = arguments.first().map_or(self.threads, |a| a.len());
        let outer = frame.width;
        let run = |machine: &mut Self, frame: &mut Frame<'r>, arguments: Vec<Register>, width: usize| {
            frame.width = width;
            for (&name, argument) in names.iter().zip(arguments) {
                frame.values[name.index()] = Slot::Tile(std::rc::Rc::new([argument]));
            }
            let yielded = machine.block(frame, region)?;
            frame.width = outer;
            yielded
                .into_iter()
                .map(|slot| match slot {
                    Slot::Tile(registers) => Ok(registers[0].clone()),
                    Slot::Buffer(..) | Slot::Empty => Err(machine.malformed(frame, op, "a region yields no scalar")),
                })
                .collect::<Run<Vec<Register>>>()
        };
        if frame.plan.straight[op.index()] {
            return run(self, frame, arguments.to_vec(), len);
        }
        let mut columns: Vec<Vec<Register>> = Vec::new();
        for t in 0..len {
            let one = arguments.iter().map(|a| a.splat(t, 1)).collect();
            for (i, part) in run(self, frame, one, 1)?.into_iter().enumerate() {
                match columns.get_mut(i) {
                    Some(column) => column.push(part),
                    None => columns.push(vec![part]),
                }
            }
        }
        columns.iter().map(|c| Lanes::joined(c).ok_or_else(|| self.malformed(frame, op, "a region yields two types"))).collect()
    }

    /// One after the other, as the code does.
    fn combine_all(&mut self, frame: &mut Frame<'r>, op: OpId, items: Vec<Vec<Register>>) -> Run<Vec<Register>> {
        let mut items = items.into_iter();
        let first = items.next().ok_or_else(|| self.malformed(frame, op, "a reduction of nothing"))?;
        items.try_fold(first, |value, item| self.combine(frame, op, &value, &item))
    }

    /// Each with the one that lies half of them away, until one is left.
    fn combine_halves(&mut self, frame: &mut Frame<'r>, op: OpId, mut items: Vec<Vec<Register>>) -> Run<Vec<Register>> {
        while items.len() > 1 {
            let far = items.split_off(items.len() / 2);
            items = items.iter().zip(&far).map(|(near, far)| self.combine(frame, op, near, far)).collect::<Run<_>>()?;
        }
        items.pop().ok_or_else(|| self.malformed(frame, op, "a reduction of nothing"))
    }

    pub(super) fn reduce(&mut self, frame: &mut Frame<'r>, id: OpId, axis: usize) -> Run<()> {
        let op = frame.function.op(id);
        let layout = self.tile_layout(frame, id, op.operands[0])?;
        let shape = &layout.shape;
        let mask = layout.axis_mask(axis);
        let (surplus, free_lanes, free_warps) = layout.free_bits();
        let mixed = |bases: &[u32], free: u32| {
            bases.iter().enumerate().any(|(i, &b)| b & mask != 0 && (b & !mask != 0 || free >> i & 1 == 1))
        };
        if mixed(&layout.lane, free_lanes) || mixed(&layout.warp, free_warps) {
            return Err(self.malformed(frame, id, "a reduction of a layout whose threads mix the axis with others"));
        }
        let inputs = self.operand_tiles(frame, id)?;
        if inputs.iter().any(|registers| registers.len() != layout.num_registers()) {
            return Err(self.malformed(frame, id, "a reduction's operands have different layouts"));
        }
        // For each element of the result, what each thread contributes to it, in the order of the axis.
        let mut groups: BTreeMap<u32, BTreeMap<u32, Vec<Register>>> = BTreeMap::new();
        for r in (0..layout.num_registers() as u32).filter(|r| r & surplus == 0) {
            let index = apply(&layout.register, r);
            let item = inputs.iter().map(|registers| registers[r as usize].clone()).collect();
            groups.entry(squeeze(shape, axis, index)).or_default().insert(index, item);
        }
        let mut partial: BTreeMap<u32, Vec<Register>> = BTreeMap::new();
        for (key, items) in groups {
            let mut value = self.combine_all(frame, id, items.into_values().collect())?;
            for (bit, _) in layout.lane.iter().enumerate().rev().filter(|(_, b)| *b & mask != 0) {
                let from = |lane: &dyn Fn(usize) -> usize| -> Vec<Register> {
                    value.iter().map(|v| v.moved(self.threads, lane)).collect()
                };
                let (left, right) = match frame.function.rounds_by_side(op.regions[0]) {
                    true => (from(&|t| t & !(1 << bit)), from(&|t| t | 1 << bit)),
                    false => (value.clone(), from(&|t| t ^ 1 << bit)),
                };
                value = self.combine(frame, id, &left, &right)?;
            }
            partial.insert(key, value);
        }
        let slots = reduce_partials(layout, axis);
        if slots > 0 {
            self.exchange(frame, id, axis, slots, &mut partial)?;
        }
        for (index, &result) in op.results.iter().enumerate() {
            let registers = match self.layout(frame, id, result)? {
                None => partial.first_key_value().map(|(_, value)| vec![value[index].clone()]),
                Some(target) => (0..target.num_registers() as u32)
                    .map(|r| partial.get(&apply(&target.register, r)).map(|value| value[index].clone()))
                    .collect::<Option<Vec<Register>>>(),
            };
            let wrong = || self.malformed(frame, id, "a reduction's result is not in the slice of its operand's layout");
            let registers = registers.ok_or_else(wrong)?;
            self.set_agreed(frame, id, result, registers)?;
        }
        Ok(())
    }

    /// Across warps: every warp writes its partial results side by side, then everyone combines all of them.
    fn exchange(
        &mut self,
        frame: &mut Frame<'r>,
        id: OpId,
        axis: usize,
        slots: u32,
        partial: &mut BTreeMap<u32, Vec<Register>>,
    ) -> Run<()> {
        let function = frame.function;
        let op = function.op(id);
        let layout = self.tile_layout(frame, id, op.operands[0])?;
        let base = self.shared_offset(frame, id)?;
        let mask = layout.axis_mask(axis);
        let elems: Vec<Elem> = op.operands.iter().map(|&v| function.ty(v).elem()).collect();
        let along = layout.warp.iter().filter(|&&b| b & mask != 0).count() as u32;
        let kept = |b: u32| if b & mask != 0 { 0 } else { squeeze(&layout.shape, axis, b) << along };
        let lane: Vec<u32> = layout.lane.iter().map(|&b| kept(b)).collect();
        let warp: Vec<u32> = layout.warp.iter().map(|&b| kept(b)).collect();
        let mut writing = warp.clone();
        for (i, bit) in (0..warp.len()).filter(|&i| layout.warp[i] & mask != 0).enumerate() {
            writing[bit] = 1 << i;
        }
        let (readers, writers) = (self.linear(&lane, &warp), self.linear(&lane, &writing));
        let arrays: Vec<u32> = (0..elems.len()).map(|i| base + partials_at(function, &op.operands, slots, i)).collect();
        for (&key, value) in partial.iter() {
            for (i, &elem) in elems.iter().enumerate() {
                let bytes = element_bytes(elem);
                let at = |t: usize| arrays[i] + (writers[t] ^ key << along) * bytes;
                self.write_shared(frame, id, id, elem, |_| true, at, &[&value[i]])?;
            }
        }
        self.shared.barrier();
        for (&key, value) in partial.iter_mut() {
            let mut items: Vec<Vec<Register>> = vec![Vec::new(); 1 << along];
            for (i, &elem) in elems.iter().enumerate() {
                let bytes = element_bytes(elem);
                let vector = (1u32 << along).min(16 / bytes);
                for first in (0..1u32 << along).step_by(vector as usize) {
                    let at = |t: usize| arrays[i] + (readers[t] ^ (key << along | first)) * bytes;
                    for (j, register) in self.read_shared(frame, id, id, elem, at, vector as usize)?.into_iter().enumerate() {
                        items[first as usize + j].push(register);
                    }
                }
            }
            *value = self.combine_halves(frame, id, items)?;
        }
        Ok(())
    }

    /// The region on groups of `pack` neighbouring registers.
    pub(super) fn map(&mut self, frame: &mut Frame<'r>, id: OpId, pack: usize) -> Run<()> {
        let op = frame.function.op(id);
        let operands = self.operand_tiles(frame, id)?;
        let results: Vec<ValueId> = op.results.to_vec();
        let n = self.num_registers(frame, id, results[0])?;
        if pack == 0 || !n.is_multiple_of(pack) || operands.iter().any(|o| o.len() != n) {
            return Err(self.malformed(frame, id, "a map's groups are not whole registers of one thread"));
        }
        let mut columns: Vec<Vec<Register>> = vec![Vec::with_capacity(n); results.len()];
        for first in (0..n).step_by(pack) {
            let arguments: Vec<Register> = operands.iter().flat_map(|o| o[first..first + pack].iter().cloned()).collect();
            for (i, register) in self.region(frame, id, &arguments)?.into_iter().enumerate() {
                columns[i / pack].push(register);
            }
        }
        for (result, registers) in results.into_iter().zip(columns) {
            self.set(frame, result, registers);
        }
        Ok(())
    }
}
