//! Linear functions of the thread's index, and addresses made of them.
//!
//! `tid`'s low five bits are the lane, the rest is the warp. **Invariant:** the part that depends on the thread is computed once, in the
//! entry block; registers add constants to it.

use tritium_tile::{
    Elem, OpId, Scalar,
    layout::{algebra::apply, reshape},
};

use super::{Emitted, Emitter, convert::Place, ins, value::Reg};

/// All bits the columns can set.
pub(super) fn reach(columns: &[u32]) -> u32 {
    columns.iter().fold(0, |bits, c| bits | c)
}

impl Emitter<'_> {
    /// `columns · tid ^ flip`, an `i32`; `columns` are those of the lane bits, then those of the warp bits.
    pub(super) fn linear(&mut self, columns: &[u32], flip: u32) -> Reg {
        let key = (columns.to_vec(), flip);
        if let Some(&reg) = self.linear.get(&key) {
            return reg;
        }
        let reg = if flip != 0 {
            let base = self.linear(columns, 0);
            match base {
                Reg::Int(n) => Reg::Int(n ^ i64::from(flip)),
                base => self.in_entry(|e| ins!(e, "xor i32 {base}, {flip}")),
            }
        } else {
            self.in_entry(|e| e.bits_of(Reg::Tid, columns))
        };
        self.linear.insert(key, reg);
        reg
    }

    /// `columns · warp`, in a uniform register: ptxas knows that lanes of a warp have one number of their warp, if it is asked of the first.
    pub(super) fn warp_linear(&mut self, columns: &[u32]) -> Reg {
        if let Some(&reg) = self.warp_linear.get(columns) {
            return reg;
        }
        let reg = self.in_entry(|e| {
            let warp = ins!(e, "lshr i32 {}, 5", Reg::Tid);
            let warp = e.shuffle(Elem::Scalar(Scalar::I32), warp, "idx", Reg::Int(0));
            e.bits_of(warp, columns)
        });
        self.warp_linear.insert(columns.to_vec(), reg);
        reg
    }

    /// Input bits whose images lie equally far away move together: one `and` and one shift for each distance.
    fn bits_of(&mut self, thread: Reg, columns: &[u32]) -> Reg {
        let mut distances: Vec<(i32, u32)> = Vec::new();
        for (from, &column) in columns.iter().enumerate() {
            for to in (0..32).filter(|to| column >> to & 1 == 1) {
                let distance = to - from as i32;
                match distances.iter_mut().find(|(d, _)| *d == distance) {
                    Some((_, mask)) => *mask |= 1 << from,
                    None => distances.push((distance, 1 << from)),
                }
            }
        }
        let all = (self.threads() - 1) as i64;
        let mut sum: Option<(Reg, u32)> = None;
        for (distance, mask) in distances {
            let part = if i64::from(mask) & all == all { thread } else { ins!(self, "and i32 {thread}, {mask}") };
            let (part, bits) = match distance {
                0 => (part, mask),
                1.. => (ins!(self, "shl i32 {part}, {distance}"), mask << distance),
                _ => (ins!(self, "lshr i32 {part}, {}", -distance), mask >> -distance),
            };
            sum = Some(match sum {
                None => (part, bits),
                Some((old, have)) if have & bits == 0 => (ins!(self, "or disjoint i32 {old}, {part}"), have | bits),
                Some((old, have)) => (ins!(self, "xor i32 {old}, {part}"), have | bits),
            });
        }
        sum.map_or(Reg::Int(0), |(reg, _)| reg)
    }

    /// An address in shared memory: `@shared + base + (columns · tid ^ offset)`, all in bytes.
    pub(super) fn shared_address(&mut self, base: u32, columns: &[u32], offset: u32) -> Reg {
        let reach = reach(columns);
        let thread = self.linear(columns, offset & reach);
        let constant = base + (offset & !reach);
        let pointer = match thread {
            Reg::Int(n) => return self.shared_constant(i64::from(constant) + n),
            thread => {
                let key = (columns.to_vec(), (offset & reach) | 1 << 31);
                match self.linear.get(&key) {
                    Some(&pointer) => pointer,
                    None => {
                        let pointer = self.in_entry(|e| ins!(e, "getelementptr i8, ptr addrspace(3) @shared, i32 {thread}"));
                        self.linear.insert(key, pointer);
                        pointer
                    }
                }
            }
        };
        if constant == 0 { pointer } else { ins!(self, "getelementptr i8, ptr addrspace(3) {pointer}, i32 {constant}") }
    }

    /// [`Self::shared_address`] in a buffer that may lie in a ring.
    pub(super) fn address_in(&mut self, place: Place, columns: &[u32], offset: u32) -> Reg {
        let Some(slot) = place.slot else { return self.shared_address(place.base, columns, offset) };
        // Constants go last, so that they end up in the instruction; the sum in front of them is shared by all registers.
        let reach = reach(columns);
        let start = self.shared_address(0, columns, offset & reach);
        let start = ins!(self, "getelementptr i8, ptr addrspace(3) {start}, i32 {slot}");
        let constant = place.base + (offset & !reach);
        if constant == 0 { start } else { ins!(self, "getelementptr i8, ptr addrspace(3) {start}, i32 {constant}") }
    }

    fn shared_constant(&mut self, offset: i64) -> Reg {
        ins!(self, "getelementptr i8, ptr addrspace(3) @shared, i32 {offset}")
    }

    /// True in the one thread of those that differ only in the bits of `mask` (of the thread's index) where these are 0.
    pub(super) fn leader(&mut self, mask: u32) -> Option<Reg> {
        let mask = mask & (self.threads() - 1);
        if mask == 0 {
            return None;
        }
        if let Some(&reg) = self.leader.get(&mask) {
            return Some(reg);
        }
        let reg = self.in_entry(|e| {
            let bits = ins!(e, "and i32 {}, {mask}", Reg::Tid);
            ins!(e, "icmp eq i32 {bits}, 0")
        });
        self.leader.insert(mask, reg);
        Some(reg)
    }

    pub(super) fn iota(&mut self, op: OpId, start: i32) -> Emitted<()> {
        let result = self.function.op(op).results[0];
        let layout = self.tile_layout(result)?;
        let columns = [&layout.lane[..], &layout.warp].concat();
        let reach = reach(&columns);
        let mut regs = Vec::new();
        for r in 0..layout.num_registers() as u32 {
            let offset = apply(&layout.register, r);
            let thread = self.linear(&columns, offset & reach);
            let constant = i64::from(start) + i64::from(offset & !reach);
            regs.push(match thread {
                Reg::Int(n) => Reg::Int(i64::from((n + constant) as i32)),
                thread if constant == 0 => thread,
                thread => ins!(self, "add i32 {thread}, {constant}"),
            });
        }
        self.set(result, regs);
        Ok(())
    }

    /// Shape operations: every result register is some operand register of the same thread.
    pub(super) fn rename(&mut self, op: OpId) -> Emitted<()> {
        use tritium_tile::{OpKind, layout::convert::rename};
        let operation = self.function.op(op);
        let (operand, result) = (operation.operands[0], operation.results[0]);
        let regs = self.regs(operand)?;
        let (source, target) = (self.layout(operand)?, self.layout(result)?);
        let (Some(source), Some(target)) = (source, target) else {
            // A scalar and a tile of one element: everyone holds it.
            let n = self.num_registers(result)?;
            self.set(result, vec![regs[0]; n]);
            return Ok(());
        };
        let plan = match &operation.kind {
            OpKind::Broadcast => rename(source, target, |b| reshape::broadcast_index(&target.shape, &source.shape, b)),
            OpKind::Transpose { order } => rename(source, target, |b| reshape::transpose_index(&source.shape, order, b)),
            _ => rename(source, target, |b| b),
        };
        let plan = plan.ok_or_else(|| {
            self.unsupported(
                "a shape operation's result has a layout that moves elements between threads; a conversion is missing",
            )
        })?;
        self.note_renamed_walk(operand, result, &plan);
        self.set(result, plan.into_iter().map(|r| regs[r as usize]).collect());
        Ok(())
    }
}
