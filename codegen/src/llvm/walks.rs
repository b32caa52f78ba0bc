//! How the registers of a tile follow from its first one: register `r` is register 0 plus a step for every bit of `r`.
//!
//! Rows that lie a known distance apart are accessed through one address outside loops, and the distances are in the instructions.
//! Rows that lie a distance apart that only the caller knows have addresses of 64 bits each, and a loop that loads from them would hold
//! them all. With the steps it makes each address of another one, in as many additions. Outside loops each row would be multiplied by the distance,
//! and the products held for every tile that is loaded from the same rows a few further on, as a convolution does. So would the rows of a flat index
//! (`offs // D`). **Invariant:** the sum holds modulo the width of the type, for pointers in bytes; a step is a scalar that is there wherever the
//! tile is; an address is as many additions behind the first one as its register's number has bits.

use std::rc::Rc;

use tritium_tile::{
    Elem, OpId, OpKind, Scalar, ValueId,
    facts::Range,
    ops::{BinaryOp, CastOp, Constant},
};

use super::{
    Emitted, Emitter,
    index::reach,
    ins,
    value::{Reg, memory_type},
};

/// What an access adds to its address is less than this: its field has 24 bits, with a sign.
const MAX_IMMEDIATE: u64 = 1 << 23;
/// Bytes that one instruction accesses at most.
const VECTOR: u64 = 16;

/// A step for every bit of a register's number.
pub(super) type Walk = Rc<[Reg]>;

impl Emitter<'_> {
    /// Notes the steps of an operation's result. Its operands' are known.
    pub(super) fn note_walk(&mut self, op: OpId) -> Emitted<()> {
        let operation = self.function.op(op);
        if operation.results.len() != 1 {
            return Ok(());
        }
        let result = operation.results[0];
        let ty = self.ty(result);
        let wide = ty.elem() == Elem::Scalar(Scalar::I64);
        // What may be any number of 32 bits may have wrapped.
        let sums = wide || self.facts.range(result) != Range::of_type(ty);
        if ty.is_scalar() || !(wide || ty.elem() == Elem::Scalar(Scalar::I32) || ty.elem().pointee().is_some()) {
            return Ok(());
        }
        let walk = match &operation.kind {
            OpKind::Splat | OpKind::Constant(Constant::Int(_)) => {
                Some(vec![Reg::Int(0); self.num_registers(result)?.trailing_zeros() as usize])
            }
            OpKind::Iota { .. } => self.iota_walk(result)?,
            // No sum of 32 bits that has steps wraps before it is widened.
            OpKind::Cast(CastOp::ExtS) => self.walk(operation.operands[0]).map(|walk| walk.to_vec()),
            OpKind::Binary(BinaryOp::AddI) if sums => self.summed(operation.operands[0], operation.operands[1], 1),
            OpKind::Binary(BinaryOp::MulI) if sums => {
                let (a, b) = (operation.operands[0], operation.operands[1]);
                match (self.is_same_everywhere(a), self.is_same_everywhere(b)) {
                    (_, true) => self.scaled(a, b)?,
                    (true, _) => self.scaled(b, a)?,
                    _ => None,
                }
            }
            OpKind::Binary(kind @ (BinaryOp::DivS | BinaryOp::RemS)) => {
                self.divided(operation.operands[0], operation.operands[1], *kind == BinaryOp::DivS)
            }
            OpKind::AddPtr => match ty.elem().pointee() {
                Some(pointee) => self.summed(operation.operands[0], operation.operands[1], i64::from(pointee.bytes())),
                None => None,
            },
            _ => None,
        };
        self.walks[result.index()] = walk.map(Walk::from);
        Ok(())
    }

    /// The result of a shape operation, whose register `r` is the operand's register `plan[r]`.
    pub(super) fn note_renamed_walk(&mut self, operand: ValueId, result: ValueId, plan: &[u32]) {
        let Some(walk) = self.walk(operand) else { return };
        let mut taken = 0;
        let mut steps = Vec::new();
        for bit in 0..plan.len().trailing_zeros() {
            let source = plan[1 << bit];
            if source.count_ones() > 1 || source & taken != 0 {
                return;
            }
            taken |= source;
            steps.push(if source == 0 { Reg::Int(0) } else { walk[source.trailing_zeros() as usize] });
        }
        self.walks[result.index()] = Some(steps.into());
    }

    /// The pointers of an `addptr`, each made of another one; `None` where that is not worth it.
    pub(super) fn walked_pointers(&mut self, op: OpId) -> Emitted<Option<Vec<Reg>>> {
        let operation = self.function.op(op);
        let (pointer, offset, result) = (operation.operands[0], operation.operands[1], operation.results[0]);
        let home = self.origins.innermost_loop(result);
        let stays = self.origins.innermost_loop(offset) != home || self.origins.is_fixed(offset);
        let moves = self.origins.innermost_loop(pointer) == home && stays;
        let Some(walk) = self.walk(result) else { return Ok(None) };
        let is_known = |step: &Reg| matches!(step, Reg::Int(_));
        let unknown = walk.iter().filter(|step| !is_known(step)).count();
        let worth_it = match home {
            Some(_) => moves && unknown != 1 && !(unknown == 0 && self.reduces_loops),
            // Rows would each be multiplied by the distance between them. Beside products it is done for those of a flat index alone.
            None if unknown > 0 => self.origins.has_quotients() || !self.multiplies,
            None => self.is_worth_immediates(&walk),
        };
        if !worth_it {
            return Ok(None);
        }
        let Some(pointee) = self.ty(result).elem().pointee() else { return Ok(None) };
        let (from, by, index) = (self.regs(pointer)?[0], self.regs(offset)?[0], self.type_of(offset));
        let first = ins!(self, "getelementptr {}, ptr addrspace(1) {from}, {index} {by}", memory_type(pointee));
        let n = self.num_registers(result)?;
        let mut regs = vec![first; n];
        for r in 1..n {
            // Steps of known numbers go last, into the instruction that accesses the memory.
            let unknown: usize =
                (0..walk.len()).filter(|&bit| r >> bit & 1 == 1 && !is_known(&walk[bit])).map(|bit| 1 << bit).sum();
            if unknown == r {
                let (last, step) = (r & (r - 1), walk[r.trailing_zeros() as usize]);
                regs[r] = ins!(self, "getelementptr i8, ptr addrspace(1) {}, i64 {step}", regs[last]);
                continue;
            }
            let known = (0..walk.len()).filter(|&bit| r >> bit & 1 == 1).filter_map(|bit| match walk[bit] {
                Reg::Int(step) => Some(step),
                _ => None,
            });
            let known = known.fold(0i64, i64::wrapping_add);
            regs[r] = regs[unknown];
            if known != 0 {
                regs[r] = ins!(self, "getelementptr i8, ptr addrspace(1) {}, i64 {known}", regs[unknown]);
            }
        }
        Ok(Some(regs))
    }

    /// Outside loops, steps of known numbers that lead from one address to three more at least, each of them near enough. An address of its own would
    /// take a multiplication, an addition in 64 bits and two registers. One more is not worth it.
    fn is_worth_immediates(&self, walk: &Walk) -> bool {
        let steps = walk.iter().map(|step| match step {
            Reg::Int(step) => step.unsigned_abs(),
            _ => MAX_IMMEDIATE,
        });
        let (mut between_vectors, mut reach) = (0, 0u64);
        for step in steps {
            between_vectors += u32::from(step >= VECTOR);
            reach = reach.saturating_add(step);
        }
        between_vectors > 1 && reach < MAX_IMMEDIATE
    }

    fn walk(&self, value: ValueId) -> Option<Walk> {
        self.walks[value.index()].clone()
    }

    fn is_same_everywhere(&self, value: ValueId) -> bool {
        self.walk(value).is_some_and(|walk| walk.iter().all(|&step| step == Reg::Int(0)))
    }

    fn iota_walk(&self, result: ValueId) -> Emitted<Option<Vec<Reg>>> {
        let layout = self.tile_layout(result)?;
        // A register whose bits a thread sets too is no sum.
        let mut taken = reach(&[&layout.lane[..], &layout.warp].concat());
        let mut steps = Vec::new();
        for &column in &layout.register {
            if column & taken != 0 {
                return Ok(None);
            }
            taken |= column;
            steps.push(Reg::Int(column.into()));
        }
        Ok(Some(steps))
    }

    /// Steps of `a + b · scale`.
    fn summed(&mut self, a: ValueId, b: ValueId, scale: i64) -> Option<Vec<Reg>> {
        let (a, b) = (self.walk(a)?, self.walk(b)?);
        let pairs: Vec<(Reg, Reg)> = a.iter().copied().zip(b.iter().copied()).collect();
        let steps = pairs.into_iter().map(|(a, b)| {
            let b = self.times(b, Reg::Int(scale));
            match (a, b) {
                (Reg::Int(a), Reg::Int(b)) => Reg::Int(a.wrapping_add(b)),
                (a, Reg::Int(0)) => a,
                (Reg::Int(0), b) => b,
                (a, b) => ins!(self, "add i64 {a}, {b}"),
            }
        });
        Some(steps.collect())
    }

    /// Steps of the quotients or the remainders of a tile of which none is negative, by a number that divides each of its steps.
    fn divided(&self, tile: ValueId, by: ValueId, is_quotient: bool) -> Option<Vec<Reg>> {
        let walk = self.walk(tile)?;
        let by = self.facts.range(by).constant().filter(|&by| by > 0)?;
        if self.facts.range(tile).min < 0 {
            return None;
        }
        let steps = walk.iter().map(|&step| match step {
            Reg::Int(step) if step % by == 0 => Some(Reg::Int(if is_quotient { step / by } else { 0 })),
            _ => None,
        });
        steps.collect()
    }

    /// Steps of a tile times a number that is the same for all its elements.
    fn scaled(&mut self, tile: ValueId, factor: ValueId) -> Emitted<Option<Vec<Reg>>> {
        let Some(walk) = self.walk(tile) else { return Ok(None) };
        let is_wide = self.ty(factor).elem() == Elem::Scalar(Scalar::I64);
        let factor = self.regs(factor)?[0];
        // Steps are numbers of 64 bits.
        if !is_wide && !matches!(factor, Reg::Int(_)) {
            return Ok(None);
        }
        Ok(Some(walk.iter().map(|&step| self.times(step, factor)).collect()))
    }

    fn times(&mut self, step: Reg, factor: Reg) -> Reg {
        match (step, factor) {
            (Reg::Int(a), Reg::Int(b)) => Reg::Int(a.wrapping_mul(b)),
            (Reg::Int(0), _) | (_, Reg::Int(0)) => Reg::Int(0),
            (Reg::Int(1), other) | (other, Reg::Int(1)) => other,
            (a, b) => ins!(self, "mul i64 {a}, {b}"),
        }
    }
}
