//! Gathers and histograms: tiles that threads reach into through scratch.
//!
//! A gather writes its source row by row, unless a buffer holds it so, and reads where the indices point; a histogram counts with atomic additions. **Invariant:** no
//! address leaves the scratch, whatever the indices are; an element that several threads hold is counted by one of them.

use tritium_tile::{
    Elem, OpId, Scalar, Type,
    effects::MAX_ACCESS_BYTES,
    layout::{
        Distributed,
        algebra::{apply, shift_of},
        shared::row_major,
    },
};

use super::{
    Emitted, Emitter, ins, line,
    value::{Reg, type_name},
};
use crate::{ptx_strings::Instruction, scratch::element_bytes};

/// Columns of lanes, then warps.
fn thread_columns(layout: &Distributed, f: impl Fn(u32) -> u32) -> Vec<u32> {
    layout.lane.iter().chain(&layout.warp).map(|&basis| f(basis)).collect()
}

impl Emitter<'_> {
    pub(super) fn gather(&mut self, op: OpId, axis: usize) -> Emitted<()> {
        let operation = self.function.op(op);
        let (source, index, result) = (operation.operands[0], operation.operands[1], operation.results[0]);
        let at = self.tile_layout(index)?;
        let shape = self.ty(source).shape();
        if self.layout(result)? != Some(at) {
            return Err(self.unsupported("a gather's result has another layout than its indices"));
        }
        let elem = self.ty(source).elem();
        let bytes = element_bytes(elem);
        let indices = self.regs(index)?;
        let base = match self.ty(source) {
            Type::Shared { .. } if *self.buffer_layout(source)? != row_major(shape) => {
                return Err(self.unsupported("a gather from a buffer that is not in row-major order"));
            }
            Type::Shared { .. } => self.place_of(source)?.base,
            Type::Tile { .. } => {
                let (regs, base) = (self.regs(source)?, self.shared_offset(op)?);
                self.store_tile(base, &row_major(shape), self.tile_layout(source)?, elem, &regs)?;
                self.barrier();
                base
            }
        };

        // Where the index stands, with 0 along the axis, in the source.
        let shift = shift_of(shape, axis);
        let (source_bits, index_bits) = (shape[axis].ilog2(), at.shape[axis].ilog2());
        let place = |flat: u32| (flat & ((1 << shift) - 1) | (flat >> (shift + index_bits)) << (shift + source_bits)) * bytes;
        let columns = thread_columns(at, place);
        let width = self.scalar(index)?;
        let surplus = at.free_bits().0 as usize;
        // Neighbours that lie side by side off the axis.
        let mut vector = 1u32;
        while 2 * vector * bytes <= MAX_ACCESS_BYTES
            && 2 * vector <= 1 << shift
            && at.register.get(vector.ilog2() as usize) == Some(&vector)
            && surplus & vector as usize == 0
            && columns.iter().all(|column| column.is_multiple_of(2 * vector * bytes))
        {
            vector *= 2;
        }
        let mut gathered: Vec<Reg> = Vec::with_capacity(indices.len());
        while let Some(&index) = indices.get(gathered.len()) {
            let r = gathered.len();
            if r & surplus != 0 {
                gathered.push(gathered[r & !surplus]);
                continue;
            }
            let together = indices.get(r..r + vector as usize).filter(|_| r.is_multiple_of(vector as usize));
            let count = together.filter(|together| together.iter().all(|&other| other == index)).map_or(1, <[Reg]>::len);
            let index = match width.bits() {
                64 => ins!(self, "trunc i64 {index} to i32"),
                32 => index,
                _ => ins!(self, "zext {} {index} to i32", type_name(Elem::Scalar(width))),
            };
            // The user promises that it is inside; a broken promise reads a wrong element, not foreign memory.
            let index = ins!(self, "and i32 {index}, {}", shape[axis] - 1);
            let offset = ins!(self, "mul i32 {index}, {}", bytes << shift);
            let row = self.shared_address(base, &columns, place(apply(&at.register, r as u32)));
            let address = ins!(self, "getelementptr i8, ptr addrspace(3) {row}, i32 {offset}");
            gathered.extend(self.load_words(address, elem, count));
        }
        self.set(result, gathered);
        Ok(())
    }

    pub(super) fn histogram(&mut self, op: OpId) -> Emitted<()> {
        let operation = self.function.op(op);
        let (source, result) = (operation.operands[0], operation.results[0]);
        let (from, to) = (self.tile_layout(source)?, self.tile_layout(result)?);
        let bins = to.shape[0];
        let base = self.shared_offset(op)?;
        let word = Elem::Scalar(Scalar::I32);
        // Threads beyond the bins write the same zeros again.
        let columns: Vec<u32> = (0..self.threads().ilog2()).map(|bit| if 1 << bit < bins { 4 << bit } else { 0 }).collect();
        for first in (0..bins).step_by(self.threads() as usize) {
            let address = self.shared_address(base, &columns, first * 4);
            line!(self, "store i32 0, ptr addrspace(3) {address}, align 4");
        }
        self.barrier();

        let values = self.regs(source)?;
        let mask = operation.operands.get(1).map(|&mask| self.regs(mask)).transpose()?;
        if mask.as_ref().is_some_and(|mask| mask.len() != values.len()) {
            return Err(self.unsupported("a mask has another layout than what is counted"));
        }
        let (ty, bits) = (self.type_of(source), self.scalar(source)?.bits());
        let holder = self.sole_holder(Some(from));
        let surplus = from.free_bits().0 as usize;
        let bottom = self.shared_address(base, &[], 0);
        for (r, &value) in values.iter().enumerate().filter(|(r, _)| r & surplus == 0) {
            // Numbers count from 0: of 32 and 64 bits the negative ones are large, which is no bin.
            let wide = if bits < 64 { ins!(self, "zext {ty} {value} to i64") } else { value };
            let inside = ins!(self, "icmp ult i64 {wide}, {bins}");
            let counted = self.both(holder, mask.as_ref().map(|mask| mask[r]));
            let counted = self.both(counted, Some(inside));
            let bin = ins!(self, "trunc i64 {wide} to i32");
            let address = ins!(self, "getelementptr i32, ptr addrspace(3) {bottom}, i32 {bin}");
            let address = ins!(self, "ptrtoint ptr addrspace(3) {address} to i32");
            let mut args = vec![("i32", address), ("i32", Reg::Int(1))];
            args.extend(counted.map(|predicate| ("i1", predicate)));
            self.asm(Instruction::CountShared { predicated: counted.is_some() }, &[], &args);
        }
        self.barrier();
        let counts = self.load_tile(base, &row_major(&to.shape), to, word)?;
        self.set(result, counts);
        Ok(())
    }
}
