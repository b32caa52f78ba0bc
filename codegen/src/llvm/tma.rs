//! Mbarriers, and blocks that the tensor memory accelerator copies.
//!
//! One thread of the CTA makes the mbarriers, arrives at them and issues the copies; all threads wait. **Invariant:** a copy announces the
//! bytes of all its boxes before it issues them, and its boxes are read off the layout of the buffer.

use tritium_semantics::target::Feature;
use tritium_tile::{
    OpId, ValueId,
    layout::tma::{self, Boxes, Copied, Operands},
    scratch::element_bytes,
};

use super::{Emitted, Emitter, ins, value::Reg};
use crate::ptx_strings::Instruction;

impl Emitter<'_> {
    fn needs_tma(&self) -> Emitted<()> {
        if self.sm.has(Feature::Tma) {
            return Ok(());
        }
        Err(self.unsupported(format!("{} has no tensor memory accelerator", self.sm.name)))
    }

    /// The 32-bit address of a byte of a buffer.
    fn byte_address(&mut self, buffer: ValueId, offset: u32) -> Emitted<Reg> {
        let place = self.place_of(buffer)?;
        let address = self.address_in(place, &[], offset);
        Ok(ins!(self, "ptrtoint ptr addrspace(3) {address} to i32"))
    }

    /// `init` or `inval` of every slot of a ring, by one thread.
    fn each_mbarrier(&mut self, op: OpId, instruction: Instruction) -> Emitted<()> {
        self.needs_tma()?;
        let ring = self.function.op(op).operands[0];
        let slots = self.module.layouts.ring_slots(self.ty(ring)).unwrap_or(0);
        let first = self.one_thread();
        for slot in 0..slots {
            let address = self.byte_address(ring, slot * tma::MBARRIER_BYTES)?;
            self.asm(instruction, &[], &[("i32", address), ("i1", first)]);
        }
        Ok(())
    }

    pub(super) fn one_thread(&mut self) -> Reg {
        self.leader(u32::MAX).unwrap_or(Reg::Bool(true))
    }

    pub(super) fn mbarrier_init(&mut self, op: OpId, count: u32) -> Emitted<()> {
        self.each_mbarrier(op, Instruction::MbarrierInit { count })?;
        self.asm(Instruction::FenceMbarrierInit, &[], &[]);
        Ok(())
    }

    pub(super) fn mbarrier_invalidate(&mut self, op: OpId) -> Emitted<()> {
        self.each_mbarrier(op, Instruction::MbarrierInvalidate)
    }

    pub(super) fn mbarrier_wait(&mut self, op: OpId) -> Emitted<()> {
        self.needs_tma()?;
        let operands = &self.function.op(op).operands;
        let (address, parity) = (self.byte_address(operands[0], 0)?, self.reg(operands[1])?);
        self.asm(Instruction::MbarrierWait, &[], &[("i32", address), ("i32", parity)]);
        Ok(())
    }

    pub(super) fn tma_load(&mut self, op: OpId, contiguous: u8, own_map: bool) -> Emitted<()> {
        self.needs_tma()?;
        let operands = Operands::of(&self.function.op(op).operands)
            .ok_or_else(|| self.unsupported("a block is copied without saying which"))?;
        let boxes = self.boxes(&operands.copied, contiguous)?;
        let map = self.map_of_copy(op, &operands.copied, &boxes, own_map)?;
        let runs = self.reg(operands.runs)?;
        let first = self.one_thread();
        let runs = self.both(Some(first), Some(runs)).unwrap_or(first);
        let mbarrier = self.byte_address(operands.barrier, 0)?;
        let buffer = operands.copied.buffer;
        let bytes = self.buffer_layout(buffer)?.bytes(element_bytes(self.ty(buffer).elem()));
        self.asm(Instruction::MbarrierExpect { bytes }, &[], &[("i32", mbarrier), ("i1", runs)]);
        for (start, offset) in &boxes.places {
            let mut args = vec![("i32", self.byte_address(buffer, *offset)?), ("ptr", map), ("i32", mbarrier)];
            args.extend(self.coordinates(&operands.copied, &boxes, start)?);
            args.push(("i1", runs));
            self.asm(Instruction::CopyBlock { rank: boxes.order.len() as u8 }, &[], &args);
        }
        Ok(())
    }

    pub(super) fn tma_store(&mut self, op: OpId, contiguous: u8, own_map: bool, visible: bool) -> Emitted<()> {
        self.needs_tma()?;
        let copied = Copied::of_store(&self.function.op(op).operands)
            .ok_or_else(|| self.unsupported("a block is stored without saying which"))?;
        let boxes = self.boxes(&copied, contiguous)?;
        let map = self.map_of_copy(op, &copied, &boxes, own_map)?;
        let first = self.one_thread();
        let has_elements = self.has_elements(&copied)?;
        let runs = self.both(Some(first), has_elements).unwrap_or(first);
        for (start, offset) in &boxes.places {
            let mut args = vec![("i32", self.byte_address(copied.buffer, *offset)?), ("ptr", map)];
            args.extend(self.coordinates(&copied, &boxes, start)?);
            args.push(("i1", runs));
            self.asm(Instruction::StoreBlock { rank: boxes.order.len() as u8 }, &[], &args);
        }
        self.asm(Instruction::StoreBlockWait { visible }, &[], &[]);
        Ok(())
    }

    fn boxes(&self, copied: &Copied<'_>, contiguous: u8) -> Emitted<Boxes> {
        let elem = self.ty(copied.buffer).elem();
        tma::boxes(self.buffer_layout(copied.buffer)?, elem, contiguous).ok_or_else(|| {
            self.unsupported("a block is copied through a buffer whose layout is none of the tensor memory accelerator's")
        })
    }

    /// Where a box begins, contiguous axis first.
    fn coordinates(&mut self, copied: &Copied<'_>, boxes: &Boxes, start: &[u32]) -> Emitted<Vec<(&'static str, Reg)>> {
        let mut coordinates = Vec::new();
        for &axis in &boxes.order {
            let first = self.reg(copied.starts[axis as usize])?;
            let coordinate = match (first, start[axis as usize]) {
                (first, 0) => first,
                (Reg::Int(first), step) => Reg::Int(first + i64::from(step)),
                (first, step) => ins!(self, "add i32 {first}, {step}"),
            };
            coordinates.push(("i32", coordinate));
        }
        Ok(coordinates)
    }
}
