//! CTL014 lost-in-loop: what a loop was to gather is replaced on every trip, so that the last trip's is all that is left.
//!
//! **Invariant:** only said of a name that begins with a constant in front of the loop, is given something that was loaded, multiplied or
//! folded in that very trip without being read, is read by nothing else in the loop, and is read behind it.

use tritium_tile::{OpId, OpKind, ValueId};

use super::{
    kernel::{Kernel, ProblemExt},
    masks::is_constant,
};
use crate::diagnostics::Code;

pub(super) fn rule(kernel: &mut Kernel<'_>) {
    for id in kernel.ops() {
        let Some(around) = kernel.function.for_loop(id) else { continue };
        for place in 0..around.results.len() {
            let Some(carried) = around.carried(place) else { continue };
            let is_unread = |v: ValueId| kernel.users[v.index()].is_empty();
            if !is_unread(carried.arg) || is_unread(carried.result) || !is_constant(kernel, carried.init) {
                continue;
            }
            let Some((made, what)) = kernel.def(carried.next).and_then(|(op, kind)| Some((op, gathered(kind)?))) else {
                continue;
            };
            let inside = kernel.function.block(around.body).ops.contains(&made);
            // Something else of the trip reads it: a value of the trip that happens to be read behind the loop too.
            if !inside || kernel.users[carried.next.index()].len() != 1 {
                continue;
            }
            tell(kernel, id, made, carried.next, what);
        }
    }
}

fn tell(kernel: &mut Kernel<'_>, looped: OpId, made: OpId, value: ValueId, what: &str) {
    let name = kernel.say(value, "this");
    let message = format!(
        "every trip replaces {name} by {what}, and what it was before is not read: behind the loop only the last trip's is left. Gather it, `{}`",
        match (what, kernel.words(value)) {
            ("a product", Some(name)) if is_plain(&name) => format!("{name} = tl.dot(…, {name})"),
            (_, Some(name)) if is_plain(&name) => format!("{name} += …"),
            _ => "acc += …".to_owned(),
        }
    );
    let Some(problem) = kernel.problem(Code::CTL014, made, message) else { return };
    kernel.report(problem.with(kernel.place(looped), "of this loop"));
}

fn is_plain(name: &str) -> bool {
    name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// What a trip makes of the trip's own data, in words; `None` for what may well be meant to be replaced.
fn gathered(kind: &OpKind) -> Option<&'static str> {
    match kind {
        OpKind::Dot { .. } => Some("a product"),
        OpKind::Reduce { .. } => Some("what it folds"),
        OpKind::Load(_) => Some("what it loads"),
        _ => None,
    }
}
