//! RAC001 store-independent-of-program-id: every program of an axis writes something of its own to the same addresses.
//!
//! **Invariant:** only said where the stored value depends on the program and neither the address, nor the mask, nor whether the store
//! runs does, on any axis that a launch does not show to be longer than 1; a kernel that takes locks is left alone.

use tritium_tile::OpKind;

use super::{
    dependence::{ANY, dependence},
    kernel::{Kernel, ProblemExt},
    masks::mask_of,
};
use crate::diagnostics::Code;

pub(super) fn rule(kernel: &mut Kernel<'_>) {
    let ops = kernel.ops();
    let is_locking = |kind: &OpKind| matches!(kind, OpKind::AtomicCas { .. } | OpKind::While { .. });
    // What was left out could be a guard.
    if !kernel.complete || ops.iter().any(|&op| is_locking(&kernel.function.op(op).kind)) {
        return;
    }
    let dependence = dependence(kernel);
    for op in ops {
        let OpKind::Store(_) = kernel.function.op(op).kind else { continue };
        let (pointer, value) = (kernel.operands(op)[0], kernel.operands(op)[1]);
        let mask = mask_of(kernel, op).map_or(0, |m| dependence.of(m));
        let placed = dependence.of(pointer) | mask | dependence.guard(op);
        let lost = dependence.of(value) & !placed;
        if placed & ANY != 0 || lost & !ANY == 0 {
            continue;
        }
        // The grid of a kernel that tells programs apart here may be 1 wide along the axis that is lost, unless a launch says otherwise.
        if placed != 0 && !kernel.is_launched {
            continue;
        }
        let axis = lost.trailing_zeros();
        let message = format!(
            "every program along axis {axis} stores a value of its own to these same addresses, and the last one wins: neither the address nor the mask depends on `tl.program_id({axis})`, and the stored {} does",
            kernel.say(value, "value"),
        );
        let Some(problem) = kernel.problem(Code::RAC001, op, message) else { continue };
        let program = kernel
            .ops()
            .into_iter()
            .find(|&op| matches!(kernel.function.op(op).kind, OpKind::ProgramId { axis: a } if u32::from(a) == axis));
        let program = program.and_then(|op| kernel.place(op));
        kernel.report(problem.with(program, "programs are told apart here"));
    }
}
