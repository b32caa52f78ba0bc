//! Copies from global to shared memory that run beside the program: `cp.async`.
//!
//! **Invariant:** every element of the buffer is written by one thread, with the widths and addresses that the layouts of the pointers and
//! of the buffer imply; what does not make 4, 8 or 16 contiguous bytes on both sides is refused.

use tritium_semantics::target::Feature;
use tritium_tile::{
    Elem, OpId,
    layout::{algebra::apply, convert::Access},
    ops::{AsyncCopyAttrs, CacheOp},
};

use super::{Emitted, Emitter, ins, value::Reg};
use crate::{
    ptx_strings::Instruction,
    scratch::{async_copy_fits, element_bytes},
};

impl Emitter<'_> {
    pub(super) fn async_copy(&mut self, op: OpId, attrs: AsyncCopyAttrs) -> Emitted<()> {
        if !self.sm.has(Feature::CpAsync) {
            return Err(self.unsupported(format!("{} has no asynchronous copies", self.sm.name)));
        }
        let operation = self.function.op(op);
        let (pointer, buffer) = (operation.operands[0], operation.operands[1]);
        let elem = Elem::Scalar(self.pointee(pointer)?);
        let pointers = self.regs(pointer)?;
        let mask = self.mask(operation.operands.get(2), pointers.len())?;
        let vector = self.vector(attrs.vector, elem, pointers.len())?;
        let (tile, layout) = (self.tile_layout(pointer)?, self.buffer_layout(buffer)?);
        if !async_copy_fits(tile, layout, elem.bits(), vector as u32) {
            return Err(
                self.unsupported(format!("an asynchronous copy of {vector} × {elem}: it moves 4, 8 or 16 contiguous bytes"))
            );
        }
        let place = self.place_of(buffer)?;
        let access = Access::new(tile, layout, elem.bits())
            .ok_or_else(|| self.unsupported("a shared buffer's layout does not give every element of the tile one place"))?;
        let bytes = element_bytes(elem);
        let columns: Vec<u32> = access.lane.iter().chain(&access.warp).map(|c| c * bytes).collect();
        let surplus = tile.free_bits().0 as usize;
        let holder = self.sole_holder(Some(tile));
        let width = vector as u32 * bytes;
        for first in (0..pointers.len()).step_by(vector).filter(|first| first & surplus == 0) {
            let address = self.address_in(place, &columns, apply(&access.register, first as u32) * bytes);
            let address = ins!(self, "ptrtoint ptr addrspace(3) {address} to i32");
            let mut args = vec![("i32", address), ("ptr addrspace(1)", pointers[first])];
            // Bytes that are not read become 0.
            let size = mask.as_ref().map(|mask| mask[first]).filter(|&m| m != Reg::Bool(true));
            if let Some(mask) = size {
                args.push(("i32", self.asm(Instruction::CopySize { bytes: width as u8 }, &["i32"], &[("i1", mask)])[0]));
            }
            args.extend(holder.map(|holder| ("i1", holder)));
            let instruction = Instruction::CopyAsync {
                bytes: width as u8,
                through_l1: width < 16 || attrs.cache == CacheOp::Ca,
                sized: size.is_some(),
                predicated: holder.is_some(),
            };
            self.asm(instruction, &[], &args);
        }
        Ok(())
    }
}
