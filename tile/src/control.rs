//! Control flow taken apart: which operand, argument, passed value and result are one value that a loop carries.
//!
//! **Invariant:** the order of a loop's operands and of its body's arguments is known here; everybody else uses names.

use crate::{
    module::{Block, BlockId, Function, OpId, ValueId},
    ops::{Op, OpKind},
};

/// The operands of a `For`.
#[derive(Debug, Clone, Copy)]
pub struct ForOperands<'o> {
    pub lower: ValueId,
    pub upper: ValueId,
    pub step: ValueId,
    /// What is carried into the first trip.
    pub init: &'o [ValueId],
}

impl ForOperands<'_> {
    pub fn bounds(&self) -> [ValueId; 3] {
        [self.lower, self.upper, self.step]
    }
}

/// The arguments of the body of a `For`.
#[derive(Debug, Clone, Copy)]
pub struct ForArgs<'b> {
    pub induction: ValueId,
    pub carried: &'b [ValueId],
}

/// A `For` with its body. What stands at one place of `init`, `args`, `next` and `results` is one carried value.
#[derive(Debug, Clone, Copy)]
pub struct ForLoop<'f> {
    pub bounds: [ValueId; 3],
    pub body: BlockId,
    pub induction: ValueId,
    pub init: &'f [ValueId],
    pub args: &'f [ValueId],
    /// What a trip passes on to the next.
    pub next: &'f [ValueId],
    pub results: &'f [ValueId],
}

/// One value that a `For` carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carried {
    pub init: ValueId,
    pub arg: ValueId,
    pub next: ValueId,
    pub result: ValueId,
}

impl ForLoop<'_> {
    /// By its place among the results.
    pub fn carried(&self, place: usize) -> Option<Carried> {
        Some(Carried {
            init: *self.init.get(place)?,
            arg: *self.args.get(place)?,
            next: *self.next.get(place)?,
            result: *self.results.get(place)?,
        })
    }

    /// By the number of the body's argument; `None` for the induction variable.
    pub fn of_argument(&self, argument: u32) -> Option<Carried> {
        self.carried(carried_place(argument)?)
    }

    /// By the number of the operand; `None` for the bounds.
    pub fn of_operand(&self, operand: usize) -> Option<Carried> {
        self.carried(operand.checked_sub(BOUNDS)?)
    }
}

/// A `While` with its regions. One place of `init`, `args` and `next` is one carried value, one of `passed`, `after_args` and `results` another.
#[derive(Debug, Clone, Copy)]
pub struct WhileLoop<'f> {
    pub init: &'f [ValueId],
    pub before: BlockId,
    pub args: &'f [ValueId],
    pub condition: ValueId,
    /// What the first region passes on beside the condition.
    pub passed: &'f [ValueId],
    pub after: BlockId,
    pub after_args: &'f [ValueId],
    pub next: &'f [ValueId],
    pub results: &'f [ValueId],
}

/// Operands of a `For` in front of what it carries.
const BOUNDS: usize = 3;

/// The place among the carried values of an argument of the body of a `For`; `None` for the induction variable.
pub fn carried_place(argument: u32) -> Option<usize> {
    (argument as usize).checked_sub(1)
}

impl Op {
    /// Of a `For` that verifies.
    pub fn for_operands(&self) -> ForOperands<'_> {
        let (bounds, init) = self.operands.split_at(BOUNDS);
        ForOperands { lower: bounds[0], upper: bounds[1], step: bounds[2], init }
    }

    /// What a `For` that verifies carries into its first trip.
    pub fn for_init_mut(&mut self) -> &mut [ValueId] {
        &mut self.operands[BOUNDS..]
    }
}

impl Block {
    /// Of the body of a `For` that verifies.
    pub fn for_args(&self) -> ForArgs<'_> {
        ForArgs { induction: self.args[0], carried: &self.args[1..] }
    }
}

impl Function {
    /// What the terminator of a block passes on; the condition of a `While` is not.
    pub fn passed(&self, block: BlockId) -> &[ValueId] {
        match self.block(block).ops.last().map(|&last| self.op(last)) {
            Some(last) => match last.kind {
                OpKind::Yield | OpKind::Return => &last.operands,
                OpKind::Condition => last.operands.get(1..).unwrap_or_default(),
                _ => &[],
            },
            None => &[],
        }
    }

    pub fn for_loop(&self, id: OpId) -> Option<ForLoop<'_>> {
        let op = self.op(id);
        let (OpKind::For(_), Some(&body), Some((bounds, init))) =
            (&op.kind, op.regions.first(), op.operands.split_first_chunk::<BOUNDS>())
        else {
            return None;
        };
        let (&induction, args) = self.block(body).args.split_first()?;
        Some(ForLoop { bounds: *bounds, body, induction, init, args, next: self.passed(body), results: &op.results })
    }

    pub fn while_loop(&self, id: OpId) -> Option<WhileLoop<'_>> {
        let op = self.op(id);
        let (OpKind::While { .. }, &[before, after]) = (&op.kind, &op.regions[..]) else { return None };
        let condition = *self.op(*self.block(before).ops.last()?).operands.first()?;
        Some(WhileLoop {
            init: &op.operands,
            before,
            args: &self.block(before).args,
            condition,
            passed: self.passed(before),
            after,
            after_args: &self.block(after).args,
            next: self.passed(after),
            results: &op.results,
        })
    }
}
