//! MSK011 negative-offset: the first program reads or writes in front of the tensor.
//!
//! **Invariant:** only said where the offset is a sum of natural numbers that can all be 0 at once and something negative, and neither a
//! mask nor an `if` stands before the access.

use tritium_tile::{OpKind, facts::Symbol};

use super::{
    kernel::{Kernel, ProblemExt},
    masks::mask_of,
};
use crate::diagnostics::Code;

pub(super) fn rule(kernel: &mut Kernel<'_>) {
    let ops = kernel.ops();
    let guarded = kernel.guarded();
    for op in ops {
        if !matches!(kernel.function.op(op).kind, OpKind::Load(_) | OpKind::Store(_)) || guarded[op.index()] {
            continue;
        }
        let pointer = kernel.operands(op)[0];
        if mask_of(kernel, op).is_some() {
            continue;
        }
        let Some(form) = kernel.facts.affine(pointer) else { continue };
        let params = || kernel.function.params.iter();
        let is_base = |s: &Symbol| matches!(s, Symbol::Value(v) if params().any(|p| p.value == *v) && kernel.function.ty(*v).elem().pointee().is_some());
        let mut back = 0i64;
        let mut bases = 0;
        let sure = form.terms.iter().all(|t| {
            if let [symbol] = &t.symbols[..]
                && t.dim.is_none()
                && is_base(symbol)
            {
                bases += 1;
                return t.coefficient == 1;
            }
            if t.symbols.is_empty() && t.dim.is_none() {
                back = t.coefficient;
                return true;
            }
            // Vanishes in the first program, at the first index, in the first trip.
            t.coefficient > 0 && (t.dim.is_some() || t.symbols.iter().any(|s| matches!(s, Symbol::Program(_) | Symbol::Trip(_))))
        });
        if !sure || bases != 1 || back >= 0 {
            continue;
        }
        let unit = kernel.function.ty(pointer).elem().pointee().map_or(1, |s| i64::from(s.bytes()));
        let count = (-back) / unit;
        let verb = if matches!(kernel.function.op(op).kind, OpKind::Store(_)) { "writes" } else { "reads" };
        let message = format!(
            "this {verb} {count} element{} in front of the tensor: in the first program the index begins at 0, and {count} is taken from it. Mask it off, or start later",
            if count == 1 { "" } else { "s" },
        );
        let Some(problem) = kernel.problem(Code::MSK011, op, message) else { continue };
        // Where `tl.where` was to keep it from running that has been said.
        if !kernel.has_said(Code::MSK006, problem.place) {
            kernel.report(problem.with(kernel.place_of(pointer), "the address is made here"));
        }
    }
}
