//! MSK006 where-does-not-guard-load: `tl.where` picks between values that were all computed; a load among them has run everywhere.
//!
//! **Invariant:** only said where the load has no mask and the condition bounds an index that its addresses run along.

use tritium_tile::{
    OpId, OpKind, ValueId,
    ops::{CastOp, Predicate},
};

use super::{
    kernel::{Kernel, ProblemExt},
    masks::{bounded, conditions},
};
use crate::{
    diagnostics::Code,
    problem::{Applicability, Edit},
};

pub(super) fn rule(kernel: &mut Kernel<'_>) {
    for op in kernel.ops() {
        if let OpKind::Select = kernel.function.op(op).kind {
            let &[condition, a, b] = kernel.operands(op) else { continue };
            // Picked where the condition holds, or where it does not.
            for (arm, holds) in [(a, true), (b, false)] {
                check(kernel, op, condition, arm, holds);
            }
        }
    }
}

fn check(kernel: &mut Kernel<'_>, select: OpId, condition: ValueId, arm: ValueId, holds: bool) {
    let Some(load) = loaded(kernel, arm) else { return };
    if kernel.operands(load).len() > 1 {
        return;
    }
    let pointer = kernel.operands(load)[0];
    let all = if holds { conditions(kernel, condition) } else { vec![] };
    let negated = (!holds).then(|| kernel.core(condition));
    let guard = all.iter().map(|c| c.value).chain(negated).find_map(|condition| {
        let (index, bound) = bounded(kernel, condition)?;
        // A bound on an index, not a choice among values.
        let (_, OpKind::Compare(Predicate::LtS | Predicate::LeS | Predicate::GtS | Predicate::GeS)) = kernel.def(condition)?
        else {
            return None;
        };
        kernel.facts.affine(index)?;
        let rank = kernel.function.ty(pointer).shape().len();
        let runs = |i: &ValueId| (0..rank).any(|d| kernel.meanings.along(pointer, d).contains(i));
        let dims = kernel.function.ty(index).shape().len();
        let is_shared = (0..dims).any(|d| kernel.meanings.along(index, d).iter().any(runs));
        is_shared.then_some((condition, index, bound))
    });
    let Some((guard, index, _)) = guard else { return };
    let Some((written, place, call)) = kernel.expr(select) else { return };
    // `tl.where` alone: other selects are of our own making.
    let Some(test) = written.argument(call, 0, "condition") else { return };
    let test = written.text(test);
    let guarded = kernel.say(guard, "the condition");
    let message = format!(
        "`tl.where` does not keep this load from running: where {guarded} is {}, it reads at {} all the same, which may be outside the tensor. Give the load `mask={}` and `other=`",
        if holds { "false" } else { "true" },
        kernel.say(index, "that index"),
        if holds { test.clone() } else { format!("~({test})") },
    );
    let Some(problem) = kernel.problem(Code::MSK006, load, message) else { return };
    let mut problem = problem.with(Some(place), "the value is picked here, after it was loaded");
    if let Some((w, at, crate::body::ExprId(_))) = kernel.expr(load)
        && let Some(last) = last_argument(&w.body, at)
        && kernel.function.ty(condition).shape() == kernel.function.ty(pointer).shape()
        && !test.contains('…')
    {
        let mask = if holds { test } else { format!("~({test})") };
        let other = if kernel.function.ty(kernel.function.op(load).results[0]).elem().scalar().is_some_and(|s| s.is_float()) {
            "0.0"
        } else {
            "0"
        };
        let edit = Edit::InsertAfter(last, format!(", mask={mask}, other={other}"));
        problem = problem.fix("Give the load the condition as its mask", Applicability::Suggested, vec![edit]);
    }
    kernel.report(problem);
}

fn last_argument(body: &crate::body::Body, call: crate::problem::Place) -> Option<crate::problem::Place> {
    use crate::{
        body::Expr,
        problem::{At, Place},
    };
    let At::Expr(expr) = call.at else { return None };
    let Expr::Call { args, .. } = body.expr(expr) else { return None };
    Some(Place { function: call.function, at: At::Expr(args.last()?.value) })
}

/// The load that a value is, whatever its type was made.
fn loaded(kernel: &Kernel<'_>, value: ValueId) -> Option<OpId> {
    match kernel.def(value)? {
        (op, OpKind::Load(_)) => Some(op),
        (op, OpKind::Cast(CastOp::Float | CastOp::SToF | CastOp::UToF | CastOp::ExtS | CastOp::ExtU | CastOp::Trunc)) => {
            loaded(kernel, kernel.operands(op)[0])
        }
        (op, OpKind::Broadcast | OpKind::Splat) => loaded(kernel, kernel.operands(op)[0]),
        _ => None,
    }
}
