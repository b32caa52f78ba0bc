//! MSK010 mask-moves-alone: the mask of a load in a loop moves with the trip and the address does not, so every trip takes the same elements.
//!
//! A pointer that somebody forgot to advance. **Invariant:** only said where nothing but the mask of the load depends on the trip.

use tritium_tile::{OpId, OpKind};

use super::{
    invariant_load::varying,
    kernel::{Kernel, ProblemExt},
    masks::{bounded, conditions, mask_of},
};
use crate::diagnostics::Code;

pub(super) fn rule(kernel: &mut Kernel<'_>) {
    for id in kernel.ops() {
        let Some(around) = kernel.function.for_loop(id) else { continue };
        let (body, induction) = (around.body, around.induction);
        let is_masked = |op: &OpId| matches!(kernel.function.op(*op).kind, OpKind::Load(_)) && mask_of(kernel, *op).is_some();
        if !kernel.function.block(body).ops.iter().any(is_masked) {
            continue;
        }
        let varies = varying(kernel, id);
        for &load in &kernel.function.block(body).ops {
            let OpKind::Load(_) = kernel.function.op(load).kind else { continue };
            let pointer = kernel.operands(load)[0];
            let Some(mask) = mask_of(kernel, load) else { continue };
            if varies[pointer.index()] || kernel.function.ty(pointer).shape().is_empty() {
                continue;
            }
            // The bound itself may shrink: `cols < n - start` masks a tile whose base moved elsewhere.
            let moved = conditions(kernel, mask).into_iter().find(|condition| {
                bounded(kernel, condition.value).is_some_and(|(index, bound)| {
                    varies[index.index()] && !varies[bound.index()] && !kernel.users[induction.index()].is_empty()
                })
            });
            let Some(moved) = moved else { continue };
            let message = "the mask of this load moves with every trip of the loop and the address does not: every trip takes the same elements. Advance the pointer, or put the trip into the address";
            let Some(problem) = kernel.problem(Code::MSK010, load, message) else { continue };
            let problem = problem.with(kernel.place(id), "in this loop").with(kernel.place_of(moved.value), "this moves");
            kernel.report(problem);
        }
    }
}
