//! MSK009 wrap-around-store: indices taken modulo a size are stored through, so several of them write one element.
//!
//! Wrapping is how a load is kept in bounds without a mask; the surplus is computed and thrown away. A store must throw it away itself.
//! **Invariant:** only said of a modulo by a run-time size of indices that can pass it, and where no mask bounds those indices.

use tritium_tile::{OpKind, ValueId, ops::BinaryOp};

use super::{
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
        if is_bounded {
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
