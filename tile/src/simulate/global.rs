//! Loads, stores and atomics of global memory, thread by thread.
//!
//! **Invariant:** a vector moves as one access: its pointers must be consecutive, its address a multiple of its size, its mask one. An
//! element that several threads hold is stored by one of them. Nothing outside an allocation is touched.

use super::{Frame, Lanes, Machine, Register, Run};
use crate::{
    interpret::{
        FaultKind,
        access::apply,
        memory::{Allocation, Memory},
    },
    layout::algebra,
    module::OpId,
    ops::{AtomicOp, LoadAttrs, MemSem, OpKind, StoreAttrs},
    sanitize::{At, ThreadAccess, Touched},
    scratch,
    types::{Elem, Scalar},
};

pub(super) fn locate(memory: &Memory, address: u64, size: u32) -> Option<(&Allocation, usize)> {
    let allocation = memory.nearest(address)?;
    let offset = match size {
        1 => allocation.offset::<1>(address),
        2 => allocation.offset::<2>(address),
        4 => allocation.offset::<4>(address),
        _ => allocation.offset::<8>(address),
    }?;
    Some((allocation, offset))
}

pub(super) fn outside(memory: &Memory, address: u64, size: u32) -> String {
    match memory.nearest(address) {
        Some(a) => {
            let place = (address.wrapping_sub(a.base()) as i64).div_euclid(i64::from(size));
            format!("at element {place} of `{}`, which has {}", a.name(), a.len() / size as usize)
        }
        None => format!("at address {address:#x}, where nothing is allocated"),
    }
}

fn verb(kind: &OpKind) -> &'static str {
    match kind {
        OpKind::Store(_) => "store",
        OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. } => "atomic",
        _ => "load",
    }
}

impl<'r> Machine<'r> {
    /// The address from which on thread `t` accesses elements of `size` bytes through these registers; `None` if its mask is off.
    pub(super) fn address(
        &self,
        frame: &Frame<'r>,
        op: OpId,
        pointers: &[Register],
        mask: Option<&[Register]>,
        size: u32,
        t: usize,
    ) -> Run<Option<u64>> {
        let report =
            |kind: FaultKind, message: String| self.report(frame, op, Some(t as u32), (kind, message), None).map(|()| None);
        // A false promise about addresses makes a vector of what is none.
        let broken = |message: String| match self.checks {
            None => report(FaultKind::Disagreement, message),
            Some(_) => report(FaultKind::Misaligned, message),
        };
        if let Some(mask) = mask {
            for one in mask {
                if let Some(source) = one.undefined(t) {
                    self.undefined(frame, op, t, "a mask", source)?;
                }
                if one.bool(t) != mask[0].bool(t) {
                    return broken(format!("the mask changes within a vector of {}", mask.len()));
                }
            }
            if !mask[0].bool(t) {
                return Ok(None);
            }
        }
        for one in pointers {
            if let Some(source) = one.undefined(t) {
                return self.undefined(frame, op, t, "an address", source).map(|()| None);
            }
        }
        let count = pointers.len();
        let first = pointers[0].int(t) as u64;
        for (i, one) in pointers.iter().enumerate() {
            let address = one.int(t) as u64;
            if address != first.wrapping_add(i as u64 * u64::from(size)) {
                return broken(format!("the addresses of a vector of {count} are not consecutive"));
            }
            if locate(self.memory, address, size).is_none() {
                let Some(checks) = self.checks else {
                    return report(FaultKind::OutOfBounds, outside(self.memory, address, size));
                };
                let kind = &frame.function.op(op).kind;
                let scalar = frame.function.ty(frame.function.op(op).operands[0]).elem().pointee().unwrap_or(Scalar::I8);
                checks.borrow_mut().thread_outside(
                    At { function: frame.id, op },
                    t as u32,
                    verb(kind),
                    scalar,
                    self.memory,
                    address,
                );
                return Ok(None);
            }
        }
        if !first.is_multiple_of(count as u64 * u64::from(size)) {
            return report(
                FaultKind::Misaligned,
                format!("a vector of {count} at an address that is not a multiple of {} bytes", count as u32 * size),
            );
        }
        Ok(Some(first))
    }

    /// Judges an access that stays inside; whether it may be done.
    pub(super) fn may_touch(&self, frame: &Frame<'r>, op: OpId, t: usize, address: u64, bytes: u32, touched: Touched) -> bool {
        let Some(checks) = self.checks else { return true };
        let Some(allocation) = self.memory.nearest_index(address) else { return true };
        let offset = (address - self.memory.allocations()[allocation].base()) as usize;
        let access = ThreadAccess {
            at: At { function: frame.id, op },
            thread: t as u32,
            epoch: self.shared.epoch(),
            step: self.step,
            verb: verb(&frame.function.op(op).kind),
            allocation,
            offset,
            bytes: bytes as usize,
        };
        checks.borrow_mut().thread_access(access, touched)
    }

    /// The vector an access moves, checked against its registers.
    pub(super) fn width(&self, frame: &Frame<'r>, op: OpId, attr: u8, size: u32, registers: usize) -> Run<usize> {
        let vector = attr.max(1) as usize;
        if !vector.is_power_of_two() || !registers.is_multiple_of(vector) || vector as u32 * size > 16 {
            return Err(self.malformed(frame, op, "one instruction moves at most 16 bytes, in whole registers"));
        }
        Ok(vector)
    }

    /// The registers of an optional operand: as many as the pointer has.
    pub(super) fn beside(
        &self,
        frame: &Frame<'r>,
        op: OpId,
        operand: usize,
        registers: usize,
    ) -> Run<Option<std::rc::Rc<[Register]>>> {
        let Some(&value) = frame.function.op(op).operands.get(operand) else { return Ok(None) };
        let tile = self.tile(frame, op, value)?;
        if tile.len() != registers {
            return Err(self.malformed(frame, op, "an operand has another layout than the pointer"));
        }
        Ok(Some(tile))
    }

    pub(super) fn load(&self, frame: &mut Frame<'r>, id: OpId, attrs: LoadAttrs) -> Run<()> {
        let op = frame.function.op(id);
        let pointer = op.operands[0];
        let result = op.results[0];
        let elem = frame.function.ty(result).elem();
        let scalar = frame.function.ty(pointer).elem().pointee().unwrap_or(Scalar::I8);
        let size = scalar.bytes();
        let pointers = self.tile(frame, id, pointer)?;
        let n = pointers.len();
        let width = self.width(frame, id, attrs.vector, size, n)?;
        let mask = self.beside(frame, id, 1, n)?;
        let other = self.beside(frame, id, 2, n)?;
        let surplus = self.layout(frame, id, pointer)?.map_or(0, |layout| layout.free_bits().0) as usize;
        let holders = self.checks.map(|_| self.layout(frame, id, pointer).map(|layout| self.holders(layout))).transpose()?;
        if let Some(checks) = self.checks.filter(|_| attrs.volatile) {
            checks.borrow_mut().polled();
        }
        let mut registers: Vec<Register> = Vec::with_capacity(n);
        for first in (0..n).step_by(width) {
            let twin = first & !surplus;
            if twin != first && width == 1 {
                registers.push(registers[twin].clone());
                continue;
            }
            let range = first..first + width;
            let vector = (&pointers[range.clone()], mask.as_ref().map(|m| &m[range.clone()]));
            let mut bits = vec![vec![0u64; self.threads]; width];
            let mut undefined = vec![vec![0u32; self.threads]; width];
            for t in 0..self.threads {
                let address = self.address(frame, id, vector.0, vector.1, size, t)?;
                if let (Some(holders), Some(address), false) = (&holders, address, attrs.volatile)
                    && holders[t]
                {
                    self.may_touch(frame, id, t, address, width as u32 * size, Touched::Read);
                }
                for i in 0..width {
                    let found = address.and_then(|a| locate(self.memory, a + (i as u32 * size) as u64, size));
                    match (found, &other) {
                        (Some((allocation, offset)), _) => {
                            bits[i][t] = match size {
                                1 => allocation.load::<1>(offset),
                                2 => allocation.load::<2>(offset),
                                4 => allocation.load::<4>(offset),
                                _ => allocation.load::<8>(offset),
                            };
                        }
                        (None, Some(other)) => {
                            bits[i][t] = other[first + i].bits(elem, t);
                            undefined[i][t] = other[first + i].mark(t);
                        }
                        (None, None) => {
                            bits[i][t] = u64::from_ne_bytes([crate::interpret::POISON_BYTE; 8]);
                            undefined[i][t] = id.0 + 1;
                        }
                    }
                }
            }
            registers.extend(bits.iter().zip(undefined).map(|(bits, undefined)| Lanes::from_bits(elem, bits, undefined)));
        }
        self.set_agreed(frame, id, result, registers)
    }

    pub(super) fn store(&self, frame: &Frame<'r>, id: OpId, attrs: StoreAttrs) -> Run<()> {
        let op = frame.function.op(id);
        let (pointer, value) = (op.operands[0], op.operands[1]);
        let elem = frame.function.ty(value).elem();
        let size = elem.scalar().map_or(8, Scalar::bytes);
        let pointers = self.tile(frame, id, pointer)?;
        let n = pointers.len();
        let width = self.width(frame, id, attrs.vector, size, n)?;
        let Some(values) = self.beside(frame, id, 1, n)? else { return Err(self.malformed(frame, id, "nothing to store")) };
        let mask = self.beside(frame, id, 2, n)?;
        let layout = self.layout(frame, id, pointer)?;
        let surplus = layout.map_or(0, |layout| layout.free_bits().0) as usize;
        let holders = self.holders(layout);
        for first in (0..n).step_by(width).filter(|first| first & surplus == 0) {
            let range = first..first + width;
            let vector = (&pointers[range.clone()], mask.as_ref().map(|m| &m[range.clone()]));
            for t in (0..self.threads).filter(|&t| holders[t]) {
                let Some(address) = self.address(frame, id, vector.0, vector.1, size, t)? else { continue };
                for (i, register) in values[range.clone()].iter().enumerate() {
                    if let Some(source) = register.undefined(t) {
                        self.undefined(frame, id, t, "what is stored", source)?;
                    }
                    let Some((allocation, offset)) = locate(self.memory, address + (i as u32 * size) as u64, size) else {
                        continue;
                    };
                    let bits = register.bits(elem, t);
                    let touched = Touched::Write(allocation.read(offset, size as usize) != bits);
                    if !self.may_touch(frame, id, t, address + (i as u32 * size) as u64, size, touched) {
                        continue;
                    }
                    match size {
                        1 => allocation.store::<1>(offset, bits),
                        2 => allocation.store::<2>(offset, bits),
                        4 => allocation.store::<4>(offset, bits),
                        _ => allocation.store::<8>(offset, bits),
                    }
                }
            }
        }
        Ok(())
    }

    /// A read-modify-write, or a compare-and-swap if `kind` is `None`. Whoever did it tells the others through scratch.
    pub(super) fn atomic(&mut self, frame: &mut Frame<'r>, id: OpId, kind: Option<AtomicOp>) -> Run<()> {
        let op = frame.function.op(id);
        let (pointer, result) = (op.operands[0], op.results[0]);
        let elem = frame.function.ty(result).elem();
        let scalar = frame.function.ty(pointer).elem().pointee().unwrap_or(Scalar::I32);
        let size = scalar.bytes();
        let pointers = self.tile(frame, id, pointer)?;
        let n = pointers.len();
        let missing = |m: &Self| m.malformed(frame, id, "an atomic lacks an operand");
        let Some(values) = self.beside(frame, id, 1, n)? else { return Err(missing(self)) };
        let third = self.beside(frame, id, 2, n)?;
        let (mask, swap) = match kind {
            Some(_) => (third, None),
            None => (None, Some(third.ok_or_else(|| missing(self))?)),
        };
        let layout = self.layout(frame, id, pointer)?;
        let surplus = layout.map_or(0, |layout| layout.free_bits().0) as usize;
        let holders = self.holders(layout);
        let (sem, width) = match op.kind {
            OpKind::AtomicRmw { sem, vector, .. } => (sem, self.width(frame, id, vector, size, n)?),
            OpKind::AtomicCas { sem, .. } => (sem, 1),
            _ => (MemSem::Relaxed, 1),
        };
        if let Some(checks) = self.checks {
            checks.borrow_mut().acquire(sem);
        }
        // Of a vector's first element, by thread.
        let mut addresses: Vec<Option<u64>> = Vec::new();
        let mut old: Vec<Register> = Vec::with_capacity(n);
        for r in 0..n {
            if r & surplus != 0 {
                old.push(old[r & !surplus].clone());
                continue;
            }
            let in_vector = r % width;
            if in_vector == 0 {
                let vector = (&pointers[r..r + width], mask.as_ref().map(|m| &m[r..r + width]));
                addresses = (0..self.threads)
                    .map(|t| if holders[t] { self.address(frame, id, vector.0, vector.1, size, t) } else { Ok(None) })
                    .collect::<Run<_>>()?;
            }
            let (mut bits, mut undefined) = (vec![0u64; self.threads], vec![id.0 + 1; self.threads]);
            for t in 0..self.threads {
                let Some(address) = addresses[t].map(|first| first + in_vector as u64 * u64::from(size)) else { continue };
                let operands = [Some(&values[r]), swap.as_ref().map(|s| &s[r])];
                if let Some(source) = operands.into_iter().flatten().find_map(|o| o.undefined(t)) {
                    self.undefined(frame, id, t, "an operand of an atomic", source)?;
                }
                let Some((allocation, offset)) = locate(self.memory, address, size) else { continue };
                if !self.may_touch(frame, id, t, address, size, Touched::Atomic) {
                    continue;
                }
                let value = values[r].bits(elem, t);
                let next = |x: u64| match (kind, &swap) {
                    (Some(kind), _) => apply(kind, scalar, x, value),
                    (None, Some(swap)) if x == value => swap[r].bits(elem, t),
                    (None, _) => x,
                };
                bits[t] = match size {
                    1 => allocation.update::<1>(offset, next),
                    2 => allocation.update::<2>(offset, next),
                    4 => allocation.update::<4>(offset, next),
                    _ => allocation.update::<8>(offset, next),
                };
                undefined[t] = 0;
            }
            old.push(Lanes::from_bits(elem, &bits, undefined));
        }
        if let Some(checks) = self.checks {
            checks.borrow_mut().release(sem);
        }
        if scratch::bytes(self.module, frame.function, id) > 0 {
            old = self.told(frame, id, elem, layout, &holders, &old)?;
            return self.set_agreed(frame, id, result, old);
        }
        self.set(frame, result, old);
        Ok(())
    }

    /// What the holders have, for everyone.
    fn told(
        &mut self,
        frame: &Frame<'r>,
        id: OpId,
        elem: Elem,
        layout: Option<&crate::layout::Distributed>,
        holders: &[bool],
        old: &[Register],
    ) -> Run<Vec<Register>> {
        let base = self.shared_offset(frame, id)?;
        let bytes = scratch::element_bytes(elem);
        let threads = layout.map_or_else(|| vec![0; self.threads], |l| self.thread_indices(l));
        let surplus = layout.map_or(0, |l| l.free_bits().0) as usize;
        let at = |r: usize| layout.map_or(0, |l| algebra::apply(&l.register, r as u32));
        for (r, register) in old.iter().enumerate().filter(|(r, _)| r & surplus == 0) {
            self.write_shared(frame, id, id, elem, |t| holders[t], |t| base + (threads[t] ^ at(r)) * bytes, &[register])?;
        }
        self.shared.barrier();
        let mut told = Vec::with_capacity(old.len());
        for r in 0..old.len() {
            told.extend(self.read_shared(frame, id, id, elem, |t| base + (threads[t] ^ at(r)) * bytes, 1)?);
        }
        Ok(told)
    }
}
