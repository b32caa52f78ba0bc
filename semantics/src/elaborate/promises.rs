//! Which values keep what is promised of them: those that Triton hangs `tl.multiple_of` and its kind on.
//!
//! Triton writes a promise on the operation that makes a value, so it is lost where none does (parameters, what loops carry), where that operation
//! goes away (calls, what folds), and where its analysis asks nothing of it (branches, reductions, new shapes). **Invariant:** what Triton forgets is
//! forgotten here, even if it is true: a false promise that Triton never saw must not fault here.

use tritium_tile::{
    OpKind, ValueId,
    ops::{BinaryOp, CastOp, Constant},
};

use super::evaluator::Evaluator;

impl Evaluator<'_> {
    pub(super) fn keeps_promises(&self, value: ValueId) -> bool {
        let Some(op) = self.out.def_op(value) else { return false };
        let op = self.out.op(op);
        match &op.kind {
            // One promise upon the other hangs on the same operation.
            OpKind::Promise { .. } => true,
            OpKind::Binary(kind) => !self.folds(*kind, op.operands[0], op.operands[1]),
            OpKind::Cast(CastOp::Trunc) => !matches!(self.maker(op.operands[0]), Some(OpKind::Cast(CastOp::ExtS | CastOp::ExtU))),
            OpKind::ProgramId { .. }
            | OpKind::NumPrograms { .. }
            | OpKind::Iota { .. }
            | OpKind::ExpandDims { .. }
            | OpKind::Broadcast
            | OpKind::Unary(_)
            | OpKind::Compare(_)
            | OpKind::Select
            | OpKind::Cast(_)
            | OpKind::AddPtr
            | OpKind::Load(_)
            | OpKind::AtomicRmw { .. }
            | OpKind::AtomicCas { .. } => true,
            _ => false,
        }
    }

    fn maker(&self, value: ValueId) -> Option<&OpKind> {
        self.out.def_op(value).map(|op| &self.out.op(op).kind)
    }

    fn constant(&self, value: ValueId) -> Option<i64> {
        let op = self.out.op(self.out.def_op(value)?);
        match op.kind {
            OpKind::Constant(Constant::Int(number)) => Some(number),
            OpKind::Splat | OpKind::Broadcast => self.constant(op.operands[0]),
            _ => None,
        }
    }

    /// Whether an operation gives one of its operands, or becomes one with the operation before it.
    fn folds(&self, kind: BinaryOp, a: ValueId, b: ValueId) -> bool {
        use BinaryOp::{AddI, And, DivS, DivU, MulI, Or, Shl, ShrS, ShrU, SubI, Xor};
        let (left, right) = (self.constant(a), self.constant(b));
        let before = match (left, right) {
            (None, Some(_)) => Some(a),
            (Some(_), None) => Some(b),
            (None, None) => None,
            (Some(_), Some(_)) => return true,
        };
        let chained = |alike: &[BinaryOp]| {
            before.is_some_and(|before| {
                let Some(op) = self.out.def_op(before) else { return false };
                let op = self.out.op(op);
                matches!(op.kind, OpKind::Binary(kind) if alike.contains(&kind))
                    && op.operands.iter().any(|&operand| self.constant(operand).is_some())
            })
        };
        match kind {
            AddI => left == Some(0) || right == Some(0) || chained(&[AddI, SubI]),
            SubI => a == b || right == Some(0) || chained(&[AddI, SubI]),
            MulI => matches!((left, right), (Some(0 | 1), _) | (_, Some(0 | 1))) || chained(&[MulI]),
            DivS | DivU => right == Some(1),
            Or | Xor => left == Some(0) || right == Some(0),
            Shl | ShrS | ShrU => right == Some(0),
            And => matches!((left, right), (Some(0 | -1), _) | (_, Some(0 | -1))) || chained(&[And]),
            _ => false,
        }
    }
}
