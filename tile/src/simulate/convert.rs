//! Tiles to and from shared memory: conversions of layout and buffers.
//!
//! **Invariant:** every thread touches the bytes that the emitted code touches, in accesses of the same width.

use super::{By, Frame, Lanes, Machine, Register, Run, Slot};
use crate::{
    interpret::FaultKind,
    layout::{
        Conversion, Distributed, SharedLayout,
        convert::{Access, Exchange, conversion, scratch},
    },
    module::{OpId, ValueId},
    scratch::element_bytes,
    types::Elem,
};

impl<'r> Machine<'r> {
    /// Each thread of `active` writes its elements of `registers` side by side from its address on.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn write_shared(
        &mut self,
        frame: &Frame<'r>,
        op: OpId,
        owner: OpId,
        elem: Elem,
        active: impl Fn(usize) -> bool,
        address: impl Fn(usize) -> u32,
        registers: &[&Lanes],
    ) -> Run<()> {
        let size = element_bytes(elem) as usize;
        let (mut values, mut marks) = (vec![0u8; size * registers.len()], vec![0u32; size * registers.len()]);
        for t in (0..self.threads).filter(|&t| active(t)) {
            for (i, register) in registers.iter().enumerate() {
                let place = i * size..(i + 1) * size;
                values[place.clone()].copy_from_slice(&register.bits(elem, t).to_le_bytes()[..size]);
                marks[place].fill(register.mark(t));
            }
            let by = By { op, thread: t as u32 };
            let written = self.shared.write(by, self.step, owner, address(t), &values, &marks);
            self.judge(frame, by, written)?;
        }
        Ok(())
    }

    /// Each thread reads `count` elements side by side from its address on.
    pub(super) fn read_shared(
        &mut self,
        frame: &Frame<'r>,
        op: OpId,
        owner: OpId,
        elem: Elem,
        address: impl Fn(usize) -> u32,
        count: usize,
    ) -> Run<Vec<Register>> {
        let size = element_bytes(elem) as usize;
        let (mut values, mut marks) = (vec![0u8; size * count], vec![0u32; size * count]);
        let mut bits = vec![vec![0u64; self.threads]; count];
        let mut undefined = vec![vec![0u32; self.threads]; count];
        for t in 0..self.threads {
            let by = By { op, thread: t as u32 };
            let read = self.shared.read(by, owner, address(t), &mut values, &mut marks);
            self.judge(frame, by, read)?;
            for i in 0..count {
                let mut word = [0u8; 8];
                word[..size].copy_from_slice(&values[i * size..(i + 1) * size]);
                bits[i][t] = u64::from_le_bytes(word);
                undefined[i][t] = marks[i * size..(i + 1) * size].iter().copied().find(|&u| u != 0).unwrap_or(0);
            }
        }
        Ok(bits.iter().zip(undefined).map(|(bits, undefined)| Lanes::from_bits(elem, bits, undefined)).collect())
    }

    fn access(&self, frame: &Frame<'r>, op: OpId, tile: &Distributed, buffer: &SharedLayout, elem: Elem) -> Run<Access> {
        let access = Access::new(tile, buffer, elem.bits());
        access.ok_or_else(|| self.malformed(frame, op, "a buffer's layout does not give every element of the tile one place"))
    }

    /// Writes a tile to the buffer at `base`.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn store_tile(
        &mut self,
        frame: &Frame<'r>,
        op: OpId,
        owner: OpId,
        base: u32,
        buffer: &SharedLayout,
        tile: &Distributed,
        elem: Elem,
        registers: &[Register],
    ) -> Run<()> {
        let access = self.access(frame, op, tile, buffer, elem)?;
        let bytes = element_bytes(elem);
        let threads = self.linear(&access.lane, &access.warp);
        for (at, moved) in access.moves(tile) {
            let vector: Vec<&Lanes> = moved.iter().map(|&register| &*registers[register]).collect();
            self.write_shared(frame, op, owner, elem, |_| true, |t| base + (threads[t] ^ at) * bytes, &vector)?;
        }
        Ok(())
    }

    /// Reads a tile from the buffer at `base`.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn load_tile(
        &mut self,
        frame: &Frame<'r>,
        op: OpId,
        owner: OpId,
        base: u32,
        buffer: &SharedLayout,
        tile: &Distributed,
        elem: Elem,
    ) -> Run<Vec<Register>> {
        let access = self.access(frame, op, tile, buffer, elem)?;
        let bytes = element_bytes(elem);
        let threads = self.linear(&access.lane, &access.warp);
        let mut registers: Vec<Option<Register>> = vec![None; tile.num_registers()];
        for (at, moved) in access.moves(tile) {
            let vector = self.read_shared(frame, op, owner, elem, |t| base + (threads[t] ^ at) * bytes, moved.len())?;
            for (register, lanes) in moved.into_iter().zip(vector) {
                registers[register] = Some(lanes);
            }
        }
        for (register, first) in tile.first_holders().into_iter().enumerate() {
            registers[register] = registers[first].clone();
        }
        let all = registers.into_iter().collect::<Option<Vec<_>>>();
        all.ok_or_else(|| self.fault(frame, op, (FaultKind::Malformed, "a register has no element".into())))
    }

    pub(super) fn convert_layout(&mut self, frame: &mut Frame<'r>, id: OpId) -> Run<()> {
        let op = frame.function.op(id);
        let (operand, result) = (op.operands[0], op.results[0]);
        let registers = self.tile(frame, id, operand)?;
        let (Some(from), Some(to)) = (self.layout(frame, id, operand)?, self.layout(frame, id, result)?) else {
            return Err(self.malformed(frame, id, "a scalar has no layout to convert"));
        };
        let converted = match conversion(from, to) {
            Conversion::Rename(plan) => plan.into_iter().map(|r| registers[r as usize].clone()).collect(),
            Conversion::Exchange(exchange) => {
                let exchanged = (0..to.num_registers()).map(|register| exchanged(&exchange, register, &registers));
                let all = exchanged.collect::<Option<Vec<_>>>();
                all.ok_or_else(|| self.fault(frame, id, (FaultKind::Malformed, "a register has no element".into())))?
            }
            Conversion::Shuffle | Conversion::Shared => {
                let elem = frame.function.ty(operand).elem();
                let base = self.shared_offset(frame, id)?;
                let buffer = scratch(from, to, elem.bits());
                self.store_tile(frame, id, id, base, &buffer, from, elem, &registers)?;
                self.shared.barrier();
                self.load_tile(frame, id, id, base, &buffer, to, elem)?
            }
        };
        self.set_agreed(frame, id, result, converted)
    }

    pub(super) fn local_alloc(&mut self, frame: &mut Frame<'r>, id: OpId) -> Run<()> {
        let op = frame.function.op(id);
        let result = op.results[0];
        frame.values[result.index()] = Slot::Buffer(id, 0);
        match op.operands.first() {
            Some(&tile) => self.local_store(frame, id, tile, result),
            None => {
                let base = self.shared_offset(frame, id)?;
                let bytes = crate::scratch::bytes(self.module, frame.function, id);
                let by = By { op: id, thread: 0 };
                let outcome = self.shared.forget(id, base, bytes);
                self.judge(frame, by, outcome)
            }
        }
    }

    pub(super) fn local_index(&mut self, frame: &mut Frame<'r>, id: OpId) -> Run<()> {
        let op = frame.function.op(id);
        let (ring, view) = (op.operands[0], op.results[0]);
        let slot = self.uniform(frame, id, op.operands[1], "a slot")?;
        let slots = self.module.layouts.ring_slots(frame.function.ty(ring)).unwrap_or(0);
        let Slot::Buffer(alloc, start) = frame.values[ring.index()] else {
            return Err(self.malformed(frame, id, "an operand is no shared buffer"));
        };
        let bytes = self.buffer_layout(frame, id, view)?.bytes(element_bytes(frame.function.ty(view).elem()));
        let Some(slot) = u32::try_from(slot).ok().filter(|&slot| slot < slots) else {
            let message = format!("slot {slot} of a ring that has {slots}");
            return Err(self.fault(frame, id, (FaultKind::OutOfBounds, message)));
        };
        frame.values[view.index()] = Slot::Buffer(alloc, start + slot * bytes);
        Ok(())
    }

    pub(super) fn local_store(&mut self, frame: &Frame<'r>, id: OpId, tile: ValueId, buffer: ValueId) -> Run<()> {
        let registers = self.tile(frame, id, tile)?;
        let (owner, base) = self.buffer(frame, id, buffer)?;
        let layout = self.buffer_layout(frame, id, buffer)?;
        let from = self.tile_layout(frame, id, tile)?;
        self.store_tile(frame, id, owner, base, layout, from, frame.function.ty(tile).elem(), &registers)
    }

    pub(super) fn local_load(&mut self, frame: &mut Frame<'r>, id: OpId) -> Run<()> {
        let op = frame.function.op(id);
        let (buffer, result) = (op.operands[0], op.results[0]);
        let (owner, base) = self.buffer(frame, id, buffer)?;
        let layout = self.buffer_layout(frame, id, buffer)?;
        let to = self.tile_layout(frame, id, result)?;
        let registers = self.load_tile(frame, id, owner, base, layout, to, frame.function.ty(result).elem())?;
        self.set_agreed(frame, id, result, registers)
    }
}

/// What all lanes take for one register.
fn exchanged(exchange: &Exchange, register: usize, from: &[Register]) -> Option<Register> {
    let taken = |thread: usize| exchange.taken(register, thread as u32 % 32);
    let (mut chosen, mut sources): (Option<Register>, Vec<u32>) = (None, Vec::new());
    for lane in 0..32 {
        let (source, _) = taken(lane);
        if sources.contains(&source) {
            continue;
        }
        sources.push(source);
        let held = from.get(source as usize)?;
        let other = held.moved(held.len(), |thread| thread / 32 * 32 + taken(thread).1 as usize);
        chosen = match chosen {
            Some(chosen) => Lanes::mix(&other, &chosen, |thread| taken(thread).0 == source),
            None => Some(other),
        };
    }
    chosen
}
