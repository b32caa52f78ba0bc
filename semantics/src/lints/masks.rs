//! Masks taken apart: which comparisons must all hold.
//!
//! **Invariant:** if one of the conditions of a mask is false somewhere, the mask is false there.

use tritium_tile::{OpKind, ValueId, ops::BinaryOp};

use super::kernel::Kernel;

/// One condition of a mask, before it was stretched.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Condition {
    pub value: ValueId,
    /// For each dimension of `value`, the mask's dimension that it became.
    pub dims: Vec<usize>,
}

impl Condition {
    /// The dimensions that it varies along: of its own value, and of the mask.
    pub(super) fn along(&self, kernel: &Kernel<'_>) -> Vec<(usize, usize)> {
        let shape = kernel.function.ty(self.value).shape();
        self.dims.iter().copied().enumerate().filter(|&(own, _)| shape.get(own).is_some_and(|&extent| extent > 1)).collect()
    }
}

/// The conditions that a mask joins with `&`.
pub(super) fn conditions(kernel: &Kernel<'_>, mask: ValueId) -> Vec<Condition> {
    let rank = kernel.function.ty(mask).shape().len();
    let mut out = Vec::new();
    let mut pending = vec![Condition { value: mask, dims: (0..rank).collect() }];
    while let Some(mut at) = pending.pop() {
        if out.len() > 32 {
            break;
        }
        match kernel.def(at.value) {
            Some((op, OpKind::Binary(BinaryOp::And))) => {
                for &side in kernel.operands(op).iter().rev() {
                    pending.push(Condition { value: side, dims: at.dims.clone() });
                }
            }
            Some((op, OpKind::Broadcast | OpKind::Promise { .. } | OpKind::ConvertLayout)) => {
                at.value = kernel.operands(op)[0];
                pending.push(at);
            }
            Some((op, OpKind::Splat)) => {
                pending.push(Condition { value: kernel.operands(op)[0], dims: Vec::new() });
            }
            Some((op, OpKind::ExpandDims { axis })) => {
                at.dims.remove(usize::from(*axis));
                at.value = kernel.operands(op)[0];
                pending.push(at);
            }
            _ => out.push(at),
        }
    }
    out
}

/// A comparison of an index with a bound that does not vary: the index, the bound.
pub(super) fn bounded(kernel: &Kernel<'_>, condition: ValueId) -> Option<(ValueId, ValueId)> {
    let (op, OpKind::Compare(_)) = kernel.def(condition)? else { return None };
    let (a, b) = (kernel.operands(op)[0], kernel.operands(op)[1]);
    let is_uniform = |v: ValueId| kernel.function.ty(kernel.core(v)).is_scalar() || is_constant(kernel, v);
    match (is_uniform(a), is_uniform(b)) {
        (false, true) => Some((a, kernel.core(b))),
        (true, false) => Some((b, kernel.core(a))),
        _ => None,
    }
}

pub(super) fn is_constant(kernel: &Kernel<'_>, value: ValueId) -> bool {
    matches!(kernel.def(kernel.core(value)), Some((_, OpKind::Constant(_))))
}

/// The mask of a load, a store or an atomic.
pub(super) fn mask_of(kernel: &Kernel<'_>, op: tritium_tile::OpId) -> Option<ValueId> {
    let operands = kernel.operands(op);
    match kernel.function.op(op).kind {
        OpKind::Load(_) => operands.get(1).copied(),
        OpKind::Store(_) | OpKind::AtomicRmw { .. } => operands.get(2).copied(),
        _ => None,
    }
}

/// Every run satisfies it.
pub(super) fn is_true(kernel: &Kernel<'_>, mask: ValueId) -> bool {
    kernel.facts.range(mask).constant() == Some(1)
}
