//! CTL008 runtime-step-sign: a loop that counts down by a step which arrives at run time never runs.
//!
//! Triton compares with `<` unless the step is a negative number at compile time. **Invariant:** only said where the loop surely begins
//! past its end, or its step is surely negative.

use tritium_tile::{ValueId, control::ForLoop, facts::Facts};

use super::{
    kernel::{Kernel, ProblemExt},
    masks::is_constant,
};
use crate::diagnostics::Code;

pub(super) fn rule(kernel: &mut Kernel<'_>) {
    for op in kernel.ops() {
        let Some(ForLoop { bounds: [lower, upper, step], .. }) = kernel.function.for_loop(op) else { continue };
        if is_constant(kernel, step) {
            continue;
        }
        let backwards = kernel.facts.range(lower).min > kernel.facts.range(upper).max;
        if !backwards && !is_negative(&kernel.facts, step) {
            continue;
        }
        let message = format!(
            "this loop never runs if {} is negative: with a step that arrives at run time it counts up while the variable is below {}. Count up and compute the index from the end, or make the step a `tl.constexpr`",
            kernel.say(step, "its step"),
            kernel.say(upper, "its end"),
        );
        let Some(problem) = kernel.problem(Code::CTL008, op, message) else { continue };
        let problem = problem.with(kernel.place_of(step), "the step comes from here");
        kernel.report(problem);
    }
}

/// Minus something natural.
fn is_negative(facts: &Facts, step: ValueId) -> bool {
    facts.range(step).max < 0
        || facts.affine(step).is_some_and(|form| !form.terms.is_empty() && form.terms.iter().all(|t| t.coefficient < 0))
}
