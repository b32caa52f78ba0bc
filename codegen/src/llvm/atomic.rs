//! Atomic read-modify-writes of global memory.
//!
//! **Invariant:** every element is updated once, by one of the threads that hold it; if the old value is used, that thread tells the
//! others through scratch.

use tritium_tile::{
    Elem, OpId, Scalar,
    layout::algebra::apply,
    ops::{AtomicOp, MemScope, MemSem},
};

use super::{
    Emitted, Emitter, ins, line,
    memory::stored,
    value::{Reg, memory_type, type_name},
};
use crate::{
    ptx_strings::{Instruction, atomic_operation},
    scratch::atomic_result_is_shared,
};
use tritium_semantics::target::Feature;

impl Emitter<'_> {
    pub(super) fn atomic(&mut self, op: OpId, kind: AtomicOp, sem: MemSem, scope: MemScope) -> Emitted<()> {
        let operation = self.function.op(op);
        let (pointer, value, result) = (operation.operands[0], operation.operands[1], operation.results[0]);
        let element = self.scalar(value)?;
        if atomic_operation(kind, element).is_none() {
            return Err(
                self.unsupported(format!("{} on {element}: there is no such instruction; use a 32- or 64-bit type", kind.name()))
            );
        }
        if element == Scalar::BF16 && !self.sm.has(Feature::Bf16Arithmetic) {
            return Err(self.unsupported(format!("{} on bf16: {} has no such instruction; use f32", kind.name(), self.sm.name)));
        }
        let (pointers, values) = (self.regs(pointer)?, self.regs(value)?);
        let n = pointers.len();
        let mask = operation.operands.get(2).map(|&m| self.regs(m)).transpose()?;
        if values.len() != n || mask.as_ref().is_some_and(|m| m.len() != n) {
            return Err(self.unsupported("an atomic's operands have different layouts"));
        }
        let layout = self.layout(pointer)?;
        let surplus = layout.map_or(0, |l| l.free_bits().0) as usize;
        let holder = self.sole_holder(layout);
        let used = self.uses[result.index()] > 0;
        let elem = Elem::Scalar(element);
        let (_, ty) = stored(elem);
        let word = format!("i{}", element.bits());
        let mut old: Vec<Reg> = Vec::with_capacity(n);
        for r in 0..n {
            if r & surplus != 0 {
                old.push(old[r & !surplus]);
                continue;
            }
            let predicate = self.both(holder, mask.as_ref().map(|m| m[r]));
            let payload = if ty.starts_with('i') { values[r] } else { ins!(self, "bitcast {ty} {} to {word}", values[r]) };
            let mut args = vec![("ptr addrspace(1)", pointers[r]), (word.as_str(), payload)];
            args.extend(predicate.map(|p| ("i1", p)));
            let predicated = predicate.is_some();
            // `red` cannot acquire.
            if !used && matches!(sem, MemSem::Relaxed | MemSem::Release) && kind != AtomicOp::Exchange {
                self.asm(Instruction::Reduction { op: kind, element, sem, scope, predicated }, &[], &args);
                old.push(self.zero(elem));
                continue;
            }
            let got = self.asm(Instruction::Atomic { op: kind, element, sem, scope, predicated }, &[word.as_str()], &args)[0];
            old.push(if ty.starts_with('i') { got } else { ins!(self, "bitcast {word} {got} to {ty}") });
        }
        if used && atomic_result_is_shared(self.module, self.function, result) {
            let base = self.shared_offset(op)?;
            let bytes = element.bytes();
            let columns: Vec<u32> = match layout {
                None => Vec::new(),
                Some(l) => l.lane.iter().chain(&l.warp).map(|c| c * bytes).collect(),
            };
            let at = |r: usize| layout.map_or(0, |l| apply(&l.register, r as u32)) * bytes;
            let (write, after) = (self.new_label(), self.new_label());
            match holder {
                Some(holder) => line!(self, "br i1 {holder}, label %b{write}, label %b{after}"),
                None => line!(self, "br label %b{write}"),
            }
            self.start_block(write);
            for (r, &value) in old.iter().enumerate().filter(|(r, _)| r & surplus == 0) {
                let address = self.shared_address(base, &columns, at(r));
                line!(self, "store {} {value}, ptr addrspace(3) {address}, align {bytes}", memory_type(element));
            }
            line!(self, "br label %b{after}");
            self.start_block(after);
            self.barrier();
            for (r, value) in old.iter_mut().enumerate() {
                let address = self.shared_address(base, &columns, at(r));
                *value = ins!(self, "load {}, ptr addrspace(3) {address}, align {bytes}", type_name(elem));
            }
        }
        self.set(result, old);
        Ok(())
    }
}
