//! Masks that are compared again where they are used.
//!
//! A thread has seven predicates. Rows whose masks are known in front of a branch or a product and that are stored behind it hold one each all the
//! while. What is computed in between and takes a predicate for some instructions, as each exponential does, then waits for the one before
//! it, since few are left; more of them than there are go through registers. To compare again is one instruction.
//!
//! **Invariant:** what is compared again are the same numbers, so the answer is the same.

use std::rc::Rc;

use rustc_hash::FxHashSet;
use tritium_tile::{
    Elem, OpId, OpKind, Scalar,
    ops::{BinaryOp, Predicate},
};

use super::{Emitter, elementwise::comparison, ins, value::Reg};
use crate::ptx_strings::Instruction;

/// Predicates of a mask that are left where they are: beside fewer than this, more of the seven are free than taken.
const FEWEST: usize = 4;

/// How a condition was made.
#[derive(Clone, Copy)]
pub(super) enum Condition {
    /// Of two numbers of 32 bits.
    Compared(Predicate, Reg, Reg),
    Both(Reg, Reg),
}

impl Emitter<'_> {
    /// Notes how a register of an operation's result was made, if it is a condition that may be asked again.
    pub(super) fn note_condition(&mut self, kind: &OpKind, elem: Elem, args: &[Reg], result: Reg) {
        let condition = match (kind, elem, args) {
            (OpKind::Compare(predicate), Elem::Scalar(Scalar::I32), &[a, b]) => Condition::Compared(*predicate, a, b),
            (OpKind::Binary(BinaryOp::And), Elem::Scalar(Scalar::I1), &[a, b]) => Condition::Both(a, b),
            _ => return,
        };
        self.conditions.insert(result, condition);
    }

    /// The masks of an access, made again if another block has made them, which are many.
    pub(super) fn compared_again(&mut self, op: OpId, masks: Rc<[Reg]>) -> Rc<[Reg]> {
        let predicates: FxHashSet<Reg> = masks.iter().copied().collect();
        if !self.origins.has_far_mask(op) || predicates.len() < FEWEST || !predicates.iter().all(|&mask| self.is_cheap(mask)) {
            return masks;
        }
        masks.iter().map(|&mask| self.asked_again(mask)).collect()
    }

    /// At most two comparisons.
    fn is_cheap(&self, condition: Reg) -> bool {
        let is_compared = |condition: Reg| matches!(self.conditions.get(&condition), Some(Condition::Compared(..)));
        match self.conditions.get(&condition) {
            Some(&Condition::Both(a, b)) => is_compared(a) && is_compared(b),
            Some(Condition::Compared(..)) => true,
            None => false,
        }
    }

    /// Once in a block.
    fn asked_again(&mut self, condition: Reg) -> Reg {
        let Some(&made) = self.conditions.get(&condition) else { return condition };
        if let Some(&again) = self.asked_again.get(&(self.label, condition)) {
            return again;
        }
        let again = match made {
            Condition::Both(a, b) => {
                let (a, b) = (self.asked_again(a), self.asked_again(b));
                ins!(self, "and i1 {a}, {b}")
            }
            Condition::Compared(predicate, a, b) => {
                // LLVM would make one of two comparisons of the same numbers. The bound is the same for all rows.
                let (a, b) = if matches!(b, Reg::Int(_)) { (self.unknown(a), b) } else { (a, self.unknown(b)) };
                ins!(self, "icmp {} i32 {a}, {b}", comparison(predicate).0)
            }
        };
        self.asked_again.insert((self.label, condition), again);
        again
    }

    /// The same number, of which LLVM knows nothing.
    fn unknown(&mut self, number: Reg) -> Reg {
        if let Some(&again) = self.asked_again.get(&(self.label, number)) {
            return again;
        }
        let again = self.asm(Instruction::Opaque, &["i32"], &[("i32", number)])[0];
        self.asked_again.insert((self.label, number), again);
        again
    }
}
