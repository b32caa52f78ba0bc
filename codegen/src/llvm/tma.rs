//! Mbarriers, and blocks that the tensor memory accelerator copies.
//!
//! One thread of the CTA makes the mbarriers, arrives at them and issues the copies; all threads wait. **Invariant:** a copy announces the
//! bytes of all its boxes before it issues them, and its boxes are read off the layout of the buffer.

use tritium_semantics::target::Feature;
use tritium_tile::{
    OpId, OpKind, ValueId,
    layout::tma::{self, Operands},
    ops::Constant,
    scratch::element_bytes,
};

use super::{Emitted, Emitter, ins, value::Reg};
use crate::{
    ptx_strings::Instruction,
    tensor_map::{Part, TensorMap},
};

/// Bytes of an mbarrier.
const MBARRIER: u32 = 8;

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
            let address = self.byte_address(ring, slot * MBARRIER)?;
            self.asm(instruction, &[], &[("i32", address), ("i1", first)]);
        }
        Ok(())
    }

    fn one_thread(&mut self) -> Reg {
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

    pub(super) fn tma_load(&mut self, op: OpId, contiguous: u8) -> Emitted<()> {
        self.needs_tma()?;
        let operands = Operands::of(&self.function.op(op).operands)
            .ok_or_else(|| self.unsupported("a block is copied without saying which"))?;
        let elem = self.ty(operands.buffer).elem();
        let layout = self.buffer_layout(operands.buffer)?;
        let boxes = tma::boxes(layout, elem, contiguous).ok_or_else(|| {
            self.unsupported("a block is copied to a buffer whose layout the tensor memory accelerator does not write")
        })?;
        let by_axis = |e: &Self, values: &[ValueId]| -> Emitted<Vec<Part>> {
            boxes.order.iter().map(|&axis| e.part(values[axis as usize])).collect()
        };
        let map = TensorMap {
            base: match self.part(operands.base)? {
                Part::Parameter(index) => index,
                Part::Constant(_) => return Err(self.unsupported("a tensor at a constant address")),
            },
            extents: by_axis(self, operands.extents)?,
            strides: by_axis(self, operands.strides)?.split_off(1),
            boxes: boxes.order.iter().map(|&axis| boxes.extent[axis as usize]).collect(),
            element_bytes: element_bytes(elem),
            swizzle: boxes.swizzle,
        };
        let known = self.tensor_maps.iter().position(|other| *other == map);
        let number = known.unwrap_or(self.tensor_maps.len());
        if known.is_none() {
            self.tensor_maps.push(map);
        }
        // Maps come behind the parameters.
        let map = Reg::Arg((self.function.params.len() + number) as u32);
        let runs = self.reg(operands.runs)?;
        let first = self.one_thread();
        let runs = self.both(Some(first), Some(runs)).unwrap_or(first);
        let mbarrier = self.byte_address(operands.barrier, 0)?;
        let bytes = layout.bytes(element_bytes(elem));
        self.asm(Instruction::MbarrierExpect { bytes }, &[], &[("i32", mbarrier), ("i1", runs)]);
        for (start, offset) in &boxes.places {
            let mut args = vec![("i32", self.byte_address(operands.buffer, *offset)?), ("ptr", map), ("i32", mbarrier)];
            for &axis in &boxes.order {
                let first = self.reg(operands.starts[axis as usize])?;
                args.push((
                    "i32",
                    match (first, start[axis as usize]) {
                        (first, 0) => first,
                        (Reg::Int(first), step) => Reg::Int(first + i64::from(step)),
                        (first, step) => ins!(self, "add i32 {first}, {step}"),
                    },
                ));
            }
            args.push(("i1", runs));
            self.asm(Instruction::CopyBlock { rank: boxes.order.len() as u8 }, &[], &args);
        }
        Ok(())
    }

    /// What a launch knows a number by.
    fn part(&self, value: ValueId) -> Emitted<Part> {
        let function = self.function;
        if let Some(index) = function.params.iter().position(|param| param.value == value) {
            return Ok(Part::Parameter(index as u32));
        }
        match function.def_op(value).map(|op| &function.op(op).kind) {
            Some(OpKind::Constant(Constant::Int(number))) => Ok(Part::Constant(*number)),
            _ => Err(self.unsupported("a tensor whose base, extents or strides are neither parameters nor constants")),
        }
    }
}
