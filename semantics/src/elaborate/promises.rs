//! Which values keep what is promised of them: those that Triton hangs `tl.multiple_of` and its kind on.
//!
//! Triton writes a promise on the operation that makes a value, so it is lost where none does (parameters, what loops carry), where that operation
//! goes away (calls, what folds), and where its analysis asks nothing of it (branches, reductions, new shapes). **Invariant:** what Triton forgets is
//! forgotten here, even if it is true: a false promise that Triton never saw must not fault here. What it keeps holds for all uses of the value, also
//! where the promise is a statement whose result nobody takes.

use tritium_tile::{
    Function, OpId, OpKind, ValueId,
    ops::{BinaryOp, CastOp, Constant},
    rewrite::{self, ValueMap},
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

/// Puts promises right behind the operation that makes what they are about, and gives their result to everybody who uses that.
pub(super) fn hang_on_makers(function: &mut Function) {
    let mut promises = Vec::new();
    function.walk(|_, op| {
        if matches!(function.op(op).kind, OpKind::Promise { .. }) {
            promises.push(op);
        }
    });
    if promises.is_empty() {
        return;
    }
    // What each value is without its promises, and each value's promises in the order in which they are made.
    let mut bare = ValueMap::default();
    let mut chains: Vec<Vec<OpId>> = vec![Vec::new(); function.values.len()];
    for &promise in &promises {
        let op = function.op(promise);
        let value = bare.get(&op.operands[0]).copied().unwrap_or(op.operands[0]);
        bare.insert(op.results[0], value);
        chains[value.index()].push(promise);
    }
    let mut last = ValueMap::default();
    for (&result, &value) in &bare {
        if let Some(&promise) = chains[value.index()].last() {
            let promised = function.op(promise).results[0];
            last.insert(value, promised);
            last.insert(result, promised);
        }
    }
    rewrite::replace_uses(function, &last);
    for block in &mut function.blocks {
        block.ops.retain(|op| !matches!(function.ops[op.index()].kind, OpKind::Promise { .. }));
    }
    for block in 0..function.blocks.len() {
        let ops = std::mem::take(&mut function.blocks[block].ops);
        for op in ops {
            function.blocks[block].ops.push(op);
            for result in function.op(op).results.clone() {
                let mut value = result;
                for &promise in &chains[result.index()] {
                    function.op_mut(promise).operands[0] = value;
                    value = function.op(promise).results[0];
                    function.blocks[block].ops.push(promise);
                }
            }
        }
    }
}
