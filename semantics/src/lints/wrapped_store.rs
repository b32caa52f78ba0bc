//! MSK009 wrap-around-store: indices taken modulo a size are stored through, so several of them write one element.
//!
//! Wrapping is how a load is kept in bounds without a mask; the surplus is computed and thrown away. A store must throw it away itself.
//! **Invariant:** only said of a modulo by a run-time size of indices that can pass it, where no mask bounds those indices, the quotient does not
//! tell them apart, and what is stored differs between them.

use rustc_hash::FxHashSet;
use tritium_tile::{OpId, OpKind, ValueId, ops::BinaryOp};

use super::{
    dependence::dependence,
    filled::before,
    kernel::{Kernel, ProblemExt},
    masks::{bounded, conditions, is_constant, mask_of},
};
use crate::diagnostics::Code;

pub(super) fn rule(kernel: &mut Kernel<'_>) {
    for op in kernel.ops() {
        let OpKind::Store(_) = kernel.function.op(op).kind else { continue };
        let pointer = kernel.operands(op)[0];
        let Some((wrapped, index)) = wrapped(kernel, pointer) else { continue };
        let roots = kernel.meanings.along(index, 0);
        let is_bounded = mask_of(kernel, op).is_some_and(|mask| {
            conditions(kernel, mask).iter().any(|c| {
                bounded(kernel, c.value).is_none_or(|(i, _)| {
                    let rank = kernel.function.ty(i).shape().len();
                    (0..rank).any(|d| kernel.meanings.along(i, d).iter().any(|r| roots.contains(r)))
                })
            })
        });
        if is_bounded || is_split(kernel, pointer, wrapped) || stores_the_same(kernel, op, wrapped) {
            continue;
        }
        let message = format!(
            "{} wraps around, so in the last block several indices store to one element: store under a mask that bounds {}",
            kernel.say(wrapped, "this index"),
            kernel.say(index, "the index before it wraps"),
        );
        let Some(problem) = kernel.problem(Code::MSK009, op, message) else { continue };
        let problem = problem.with(kernel.place_of(wrapped), "it wraps here");
        kernel.report(problem);
    }
}

/// Whether the quotient of the same division is in the address too: `i // n` and `i % n` tell all indices apart.
fn is_split(kernel: &Kernel<'_>, pointer: ValueId, wrapped: ValueId) -> bool {
    let division = |value: ValueId| {
        let (op, kind) = kernel.def(value)?;
        let is_division = matches!(kind, OpKind::Binary(BinaryOp::DivS | BinaryOp::DivU | BinaryOp::RemS | BinaryOp::RemU));
        let is_quotient = matches!(kind, OpKind::Binary(BinaryOp::DivS | BinaryOp::DivU));
        is_division.then(|| (is_quotient, [0, 1].map(|i| kernel.numbers.of(kernel.operands(op)[i]))))
    };
    let Some((_, of)) = division(wrapped) else { return false };
    made_from(kernel, pointer).into_iter().any(|value| division(value) == Some((true, of)))
}

/// Whether what is stored comes of the wrapped index alone, so that indices that meet store one value.
fn stores_the_same(kernel: &Kernel<'_>, op: OpId, wrapped: ValueId) -> bool {
    let (pointer, stored) = (kernel.operands(op)[0], kernel.operands(op)[1]);
    if kernel.function.ty(stored).shape().len() != kernel.function.ty(pointer).shape().len() {
        return true;
    }
    let number = kernel.numbers.of(wrapped);
    let Some(dim) = dim_of(kernel, pointer, number) else { return false };
    let programs = dependence(kernel);
    let (mut seen, mut pending) = (FxHashSet::default(), vec![(stored, dim)]);
    while let Some((value, dim)) = pending.pop() {
        if kernel.numbers.of(value) == number || !seen.insert((value, dim)) {
            continue;
        }
        // Indices of several programs meet.
        if kernel.function.ty(kernel.core(value)).is_scalar() {
            if programs.of(value) != 0 {
                return false;
            }
            continue;
        }
        let Some((op, kind)) = kernel.def(value) else { return false };
        match kind {
            OpKind::Constant(_) | OpKind::Splat => {}
            // A load of a masked address, too, is what lies there.
            OpKind::Load(_) => pending.extend(kernel.operands(op).iter().map(|&operand| (operand, dim))),
            OpKind::Broadcast
            | OpKind::ExpandDims { .. }
            | OpKind::Transpose { .. }
            | OpKind::Reduce { .. }
            | OpKind::ConvertLayout => {
                pending.extend(kernel.operands(op).iter().filter_map(|&v| Some((v, before(kernel, op, v, dim)?))));
            }
            kind if kind.is_elementwise() => pending.extend(kernel.operands(op).iter().map(|&operand| (operand, dim))),
            _ => return false,
        }
    }
    true
}

/// The dimension of an address along which the value of a number runs.
fn dim_of(kernel: &Kernel<'_>, address: ValueId, number: u32) -> Option<usize> {
    let rank = kernel.function.ty(address).shape().len();
    (0..rank).find(|&dim| {
        let (mut seen, mut pending) = (FxHashSet::default(), vec![(address, dim)]);
        while let Some((value, dim)) = pending.pop() {
            if kernel.numbers.of(value) == number {
                return true;
            }
            if seen.insert((value, dim))
                && let Some((op, _)) = kernel.def(value)
            {
                pending.extend(kernel.operands(op).iter().filter_map(|&v| Some((v, before(kernel, op, v, dim)?))));
            }
        }
        false
    })
}

/// Every value that one is made from, itself included.
fn made_from(kernel: &Kernel<'_>, value: ValueId) -> FxHashSet<ValueId> {
    let (mut seen, mut pending) = (FxHashSet::default(), vec![value]);
    while let Some(value) = pending.pop() {
        if seen.insert(value)
            && let Some((op, _)) = kernel.def(value)
        {
            pending.extend(kernel.operands(op));
        }
    }
    seen
}

/// A vector of indices modulo a run-time size, in an address: the remainder, and what it is of.
fn wrapped(kernel: &Kernel<'_>, pointer: ValueId) -> Option<(ValueId, ValueId)> {
    let mut pending = vec![pointer];
    for _ in 0..256 {
        let value = pending.pop()?;
        let Some((op, kind)) = kernel.def(value) else { continue };
        match kind {
            OpKind::Binary(BinaryOp::RemS | BinaryOp::RemU) => {
                let (index, size) = (kernel.operands(op)[0], kernel.operands(op)[1]);
                let varies = kernel.function.ty(value).shape().len() == 1 && !kernel.meanings.along(index, 0).is_empty();
                let is_size = !is_constant(kernel, size) && kernel.function.ty(kernel.core(size)).is_scalar();
                // A block of a grid: `pid * B + iota`, not an index that was divided up.
                if varies && is_size && kernel.facts.affine(index).is_some() {
                    return Some((value, index));
                }
            }
            OpKind::AddPtr
            | OpKind::Binary(BinaryOp::AddI | BinaryOp::MulI)
            | OpKind::ExpandDims { .. }
            | OpKind::Broadcast
            | OpKind::Promise { .. }
            | OpKind::Cast(_) => pending.extend(kernel.operands(op)),
            _ => {}
        }
    }
    None
}
