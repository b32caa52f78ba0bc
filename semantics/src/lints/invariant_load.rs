//! MEM005 loop-invariant-load: every trip of a loop loads the same, and no compiler may take the load out.
//!
//! Triton, and Tritium, take such loads out of a `for` loop that writes nothing. A loop that stores might store what is loaded, for all that they know, and a
//! `while` loop they leave alone. **Invariant:** only said of a load that every trip runs, whose address and mask no trip changes, and whose
//! parameter nothing in the loop writes; a loop that may be waiting for what it loads is left alone.

use tritium_tile::{BlockId, OpId, OpKind, ValueId};

use super::{
    kernel::{Kernel, ProblemExt},
    writes::{Writes, root},
};
use crate::diagnostics::Code;

/// Elements that can be kept through a loop without running out of registers: 32 of a thread's in four warps.
pub(super) const MAX_KEPT_ELEMENTS: u64 = 4096;

pub(super) fn rule(kernel: &mut Kernel<'_>) {
    for id in kernel.ops() {
        let op = kernel.function.op(id);
        let (OpKind::For(_) | OpKind::While { .. }, Some(&body)) = (&op.kind, op.regions.last()) else { continue };
        if runs_once(kernel, id) {
            continue;
        }
        let writes = Writes::of(kernel, &[id]);
        let is_while = matches!(op.kind, OpKind::While { .. });
        if writes.opaque || writes.stores.is_empty() && !is_while || is_while && decides(kernel, body) {
            continue;
        }
        let mut varies = varying(kernel, id);
        for &load in &kernel.function.block(body).ops {
            let OpKind::Load(attrs) = kernel.function.op(load).kind else { continue };
            let operands = kernel.operands(load);
            if attrs.volatile || operands.iter().any(|v| varies[v.index()]) {
                continue;
            }
            let Some(parameter) = root(kernel, operands[0]).filter(|&p| !writes.change(p)) else { continue };
            let result = kernel.function.op(load).results[0];
            // What is found at it does not change either.
            varies[result.index()] = false;
            settle(kernel, body, &mut varies);
            if elements(kernel, result) <= MAX_KEPT_ELEMENTS {
                tell(kernel, id, load, parameter, &writes);
            }
        }
    }
}

fn tell(kernel: &mut Kernel<'_>, looped: OpId, load: OpId, parameter: ValueId, writes: &Writes) {
    let (Some(place), Some(of_loop)) = (kernel.place(load), kernel.place(looped)) else { return };
    if place.function != of_loop.function {
        return;
    }
    let message = match writes.stores.first() {
        Some(&(_, stored)) => format!(
            "every trip of this loop loads the same here, and neither Triton nor Tritium takes it out: the loop stores through {}, which they must take for memory that {} may point to as well. If it does not, load it once, before the loop",
            kernel.say(stored, "another pointer"),
            kernel.say(parameter, "this pointer"),
        ),
        None => {
            "every trip of this loop loads the same here, and neither Triton nor Tritium takes it out of a `while` loop. Load it once, before the loop"
                .to_owned()
        }
    };
    let Some(problem) = kernel.problem(Code::MEM005, load, message) else { return };
    let store = writes.stores.first().and_then(|&(store, _)| kernel.place(store));
    let problem = problem.with(Some(of_loop), "of this loop").with(store, "the loop stores here");
    kernel.report(problem);
}

/// A loop that surely has no second trip.
fn runs_once(kernel: &Kernel<'_>, id: OpId) -> bool {
    let Some(around) = kernel.function.for_loop(id) else { return false };
    let [lower, upper, step] = around.bounds.map(|bound| kernel.facts.range(bound));
    upper.max.saturating_sub(lower.min) <= step.min
}

/// Whether a number of a `while` loop's next trip comes of what it loads: it may be waiting for it.
fn decides(kernel: &Kernel<'_>, body: BlockId) -> bool {
    let function = kernel.function;
    let mut comes_of = vec![false; function.values.len()];
    for &id in &function.block(body).ops {
        let op = function.op(id);
        if matches!(op.kind, OpKind::Load(_)) || !op.regions.is_empty() || op.operands.iter().any(|v| comes_of[v.index()]) {
            op.results.iter().for_each(|r| comes_of[r.index()] = true);
        }
        if op.kind.is_terminator() && op.operands.iter().any(|&v| comes_of[v.index()] && function.ty(v).is_scalar()) {
            return true;
        }
    }
    false
}

pub(super) fn elements(kernel: &Kernel<'_>, value: ValueId) -> u64 {
    kernel.function.ty(value).shape().iter().map(|&extent| u64::from(extent)).product()
}

/// By value: whether it is another in each trip of a loop, as far as is known.
pub(super) fn varying(kernel: &Kernel<'_>, looped: OpId) -> Vec<bool> {
    let mut varies = tritium_tile::rewrite::values_inside(kernel.function, &kernel.function.op(looped).regions);
    if let Some(&body) = kernel.function.op(looped).regions.last() {
        settle(kernel, body, &mut varies);
    }
    varies
}

/// What is computed of what no trip changes is changed by none.
fn settle(kernel: &Kernel<'_>, body: BlockId, varies: &mut [bool]) {
    for &id in &kernel.function.block(body).ops {
        let op = kernel.function.op(id);
        if op.kind.is_pure() && op.regions.is_empty() && op.operands.iter().all(|v| !varies[v.index()]) {
            op.results.iter().for_each(|r| varies[r.index()] = false);
        }
    }
}
