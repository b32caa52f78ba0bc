//! Atomic read-modify-writes and compare-and-swaps of global memory.
//!
//! **Invariant:** every element is updated once, by one of the threads that hold it; if the old value is used, that thread tells the
//! others through scratch.

use tritium_tile::{
    Elem, OpId, Scalar, ValueId,
    layout::{Distributed, algebra::apply},
    ops::{AtomicOp, CacheOp, Eviction, MemScope, MemSem},
};

use super::{
    Emitted, Emitter, ins, line,
    memory::{stored, words},
    value::{Reg, memory_type, type_name},
};
use crate::{
    ptx_strings::{AtomicUpdate, Instruction, atomic_operation},
    scratch::atomic_result_is_shared,
};
use tritium_semantics::target::Feature;

/// What is made of the old number and the operand, in f32.
#[derive(Clone, Copy)]
enum Swapped {
    Add,
    Call(&'static str),
}

/// Where the order of memory that an atomic of a tile asks for is made.
struct Order {
    /// Of each instruction.
    inside: MemSem,
    /// Fences around them all.
    before: bool,
    after: bool,
}

impl Order {
    /// An instruction that acquires or releases carries fences of its own. The elements of a tile are not ordered among themselves, so
    /// fences around all of a thread's instructions give every one of them as much, and cost less than theirs where there are several.
    fn of(sem: MemSem, instructions: usize) -> Order {
        let (before, after) = match sem {
            MemSem::Relaxed => (false, false),
            MemSem::Acquire => (false, true),
            MemSem::Release => (true, false),
            MemSem::AcqRel => (true, true),
        };
        if instructions > usize::from(before) + usize::from(after) {
            Order { inside: MemSem::Relaxed, before, after }
        } else {
            Order { inside: sem, before: false, after: false }
        }
    }
}

impl Emitter<'_> {
    pub(super) fn atomic(&mut self, op: OpId, kind: AtomicOp, (sem, scope): (MemSem, MemScope), vector: u8) -> Emitted<()> {
        let operation = self.function.op(op);
        let (pointer, value, result) = (operation.operands[0], operation.operands[1], operation.results[0]);
        let element = self.scalar(value)?;
        let by_swapping = match kind {
            AtomicOp::MinF | AtomicOp::MaxF => true,
            AtomicOp::AddF => element == Scalar::BF16 && !self.sm.has(Feature::Bf16Arithmetic),
            AtomicOp::Add
            | AtomicOp::MinS
            | AtomicOp::MaxS
            | AtomicOp::MinU
            | AtomicOp::MaxU
            | AtomicOp::And
            | AtomicOp::Or
            | AtomicOp::Xor
            | AtomicOp::Exchange => false,
        };
        if !by_swapping && atomic_operation(kind, element).is_none() {
            return Err(
                self.unsupported(format!("{} on {element}: there is no such instruction; use a 32- or 64-bit type", kind.name()))
            );
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
        let vector = if by_swapping { 1 } else { self.vector(vector, elem, n)? };
        let shape = words(elem, vector);
        if shape.count > 1 && !self.sm.has(Feature::VectorAtomics) {
            return Err(self.unsupported(format!("{} has no atomics of several words", self.sm.name)));
        }
        let instructions = (0..n).step_by(vector).filter(|r| r & surplus == 0).count();
        let order = Order::of(sem, instructions);
        self.keep_loads_ahead();
        if order.before {
            self.asm(Instruction::Fence { scope }, &[], &[]);
        }
        let mut old: Vec<Reg> = Vec::with_capacity(n);
        for r in (0..n).step_by(vector) {
            let twin = r & !surplus;
            if twin != r {
                old.extend_from_within(twin..twin + vector);
                continue;
            }
            let predicate = self.both(holder, mask.as_ref().map(|m| m[r]));
            if by_swapping {
                let by = match kind {
                    AtomicOp::MinF => Swapped::Call("llvm.minnum.f32"),
                    AtomicOp::MaxF => Swapped::Call("llvm.maxnum.f32"),
                    _ => Swapped::Add,
                };
                old.push(self.by_swapping(by, element, (order.inside, scope), (pointers[r], values[r]), predicate)?);
                continue;
            }
            let mut args = vec![("ptr addrspace(1)", pointers[r])];
            args.extend(self.pack(elem, &values[r..r + vector]).into_iter().map(|word| (shape.ty(), word)));
            args.extend(predicate.map(|p| ("i1", p)));
            let predicated = predicate.is_some();
            let update = AtomicUpdate {
                op: kind,
                element,
                sem: order.inside,
                scope,
                predicated,
                words: shape.count as u8,
                word_bits: shape.bits as u8,
            };
            let got = self.asm(Instruction::Atomic(update), &vec![shape.ty(); shape.count], &args);
            old.extend(self.unpack(elem, vector, &got));
        }
        if order.after {
            self.asm(Instruction::Fence { scope }, &[], &[]);
        }
        if used {
            self.tell_others(op, result, layout, holder, &mut old)?;
        }
        self.set(result, old);
        Ok(())
    }

    /// The thread that did an atomic tells its result to those that hold the same elements.
    fn tell_others(
        &mut self,
        op: OpId,
        result: ValueId,
        layout: Option<&Distributed>,
        holder: Option<Reg>,
        old: &mut [Reg],
    ) -> Emitted<()> {
        if !atomic_result_is_shared(self.module, self.function, result) {
            return Ok(());
        }
        let elem = self.ty(result).elem();
        let element = self.scalar(result)?;
        let surplus = layout.map_or(0, |l| l.free_bits().0) as usize;
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
        Ok(())
    }

    /// Compare-and-swap compares bits, so floats travel as integers.
    pub(super) fn atomic_cas(&mut self, op: OpId, sem: MemSem, scope: MemScope) -> Emitted<()> {
        let operation = self.function.op(op);
        let (pointer, result) = (operation.operands[0], operation.results[0]);
        let element = self.scalar(result)?;
        let (pointers, expected, new) =
            (self.regs(pointer)?, self.regs(operation.operands[1])?, self.regs(operation.operands[2])?);
        let n = pointers.len();
        if expected.len() != n || new.len() != n {
            return Err(self.unsupported("an atomic's operands have different layouts"));
        }
        let layout = self.layout(pointer)?;
        let surplus = layout.map_or(0, |l| l.free_bits().0) as usize;
        let holder = self.sole_holder(layout);
        let elem = Elem::Scalar(element);
        let mut old: Vec<Reg> = Vec::with_capacity(n);
        for r in 0..n {
            if r & surplus != 0 {
                old.push(old[r & !surplus]);
                continue;
            }
            let (compare, swap) = (self.as_bits(elem, expected[r]), self.as_bits(elem, new[r]));
            let got = self.compare_and_swap(element.bits() as u8, sem, scope, (pointers[r], compare, swap), holder);
            old.push(self.of_bits(elem, got));
        }
        if self.uses[result.index()] > 0 {
            self.tell_others(op, result, layout, holder, &mut old)?;
        }
        self.set(result, old);
        Ok(())
    }

    fn compare_and_swap(
        &mut self,
        bits: u8,
        sem: MemSem,
        scope: MemScope,
        (pointer, compare, swap): (Reg, Reg, Reg),
        predicate: Option<Reg>,
    ) -> Reg {
        let word = format!("i{bits}");
        let mut args = vec![("ptr addrspace(1)", pointer), (word.as_str(), compare), (word.as_str(), swap)];
        args.extend(predicate.map(|p| ("i1", p)));
        let instruction = Instruction::CompareAndSwap { bits, sem, scope, predicated: predicate.is_some() };
        self.asm(instruction, &[word.as_str()], &args)[0]
    }

    fn as_bits(&mut self, elem: Elem, reg: Reg) -> Reg {
        let (bits, ty) = stored(elem);
        if ty.starts_with('i') { reg } else { ins!(self, "bitcast {ty} {reg} to i{bits}") }
    }

    fn of_bits(&mut self, elem: Elem, reg: Reg) -> Reg {
        let (bits, ty) = stored(elem);
        if ty.starts_with('i') { reg } else { ins!(self, "bitcast i{bits} {reg} to {ty}") }
    }

    /// An operation for which there is no instruction: as often as another thread comes between.
    fn by_swapping(
        &mut self,
        by: Swapped,
        element: Scalar,
        (sem, scope): (MemSem, MemScope),
        (pointer, value): (Reg, Reg),
        predicate: Option<Reg>,
    ) -> Emitted<Reg> {
        let elem = Elem::Scalar(element);
        let (bits, ty) = (element.bits(), type_name(elem));
        let (start, again, done, after) = (self.new_label(), self.new_label(), self.new_label(), self.new_label());
        let outside = self.label;
        match predicate {
            Some(predicate) => line!(self, "br i1 {predicate}, label %b{start}, label %b{after}"),
            None => line!(self, "br label %b{start}"),
        }
        self.start_block(start);
        let read = Instruction::LoadGlobal {
            words: 1,
            word_bits: bits as u8,
            predicated: false,
            cache: CacheOp::Default,
            eviction: Eviction::Normal,
            volatile: true,
        };
        let first = self.asm(read, &[&format!("i{bits}")], &[("ptr addrspace(1)", pointer)])[0];
        line!(self, "br label %b{again}");
        self.start_block(again);
        let (seen, got) = (self.fresh(), self.fresh());
        line!(self, "{seen} = phi i{bits} [ {first}, %b{start} ], [ {got}, %b{again} ]");
        let old = self.of_bits(elem, seen);
        let wide = self.in_f32(element, &[old, value], |e, args| {
            Ok(match by {
                Swapped::Add => ins!(e, "fadd float {}, {}", args[0], args[1]),
                Swapped::Call(function) => e.call("float", function, &[("float", args[0]), ("float", args[1])]),
            })
        })?;
        let swap = self.as_bits(elem, wide);
        let now = self.compare_and_swap(bits as u8, sem, scope, (pointer, seen, swap), None);
        line!(self, "{got} = add i{bits} {now}, 0");
        let same = ins!(self, "icmp eq i{bits} {got}, {seen}");
        line!(self, "br i1 {same}, label %b{done}, label %b{again}");
        self.start_block(done);
        let result = self.of_bits(elem, got);
        if predicate.is_none() {
            return Ok(result);
        }
        line!(self, "br label %b{after}");
        self.start_block(after);
        let zero = self.zero(elem);
        Ok(ins!(self, "phi {ty} [ {result}, %b{done} ], [ {zero}, %b{outside} ]"))
    }
}
