//! NUM001 softmax-without-max: exponentials of logits as they are, divided by their sum.
//!
//! `exp` of 89 is infinite in f32, of 12 in f16; taking the row's maximum from the logits first changes no quotient. **Invariant:** only
//! said where the logits are what was loaded or multiplied, scaled and masked at most, and both the sum and the quotient are there.

use tritium_tile::{
    OpId, OpKind, ValueId,
    ops::{BinaryOp, CastOp, UnaryOp},
};

use super::{
    folds::{Fold, fold},
    kernel::{Kernel, ProblemExt},
    memo::Memo,
};
use crate::diagnostics::Code;

pub(super) fn rule(kernel: &mut Kernel<'_>) {
    for reduce in kernel.ops() {
        let OpKind::Reduce { .. } = kernel.function.op(reduce).kind else { continue };
        let ([input], [sum]) = (kernel.operands(reduce), &kernel.function.op(reduce).results[..]) else { continue };
        if fold(kernel, reduce) != Some(Fold::Sum) {
            continue;
        }
        let exponential = through_casts(kernel, *input);
        let Some((exp, OpKind::Unary(UnaryOp::Exp | UnaryOp::Exp2))) = kernel.def(exponential) else { continue };
        let logits = kernel.operands(exp)[0];
        let Some(quotient) = divided(kernel, exponential, *sum) else { continue };
        if !is_raw(kernel, logits, 0, &mut Memo::default()) {
            continue;
        }
        let name = kernel.say(logits, "the logits");
        let message = format!(
            "{name} goes into `exp` as it is, and is divided by the sum: numbers past 88 become infinite and the quotient NaN. Take the maximum of the row from it first, `x - tl.max(x, axis)`"
        );
        let Some(problem) = kernel.problem(Code::NUM001, exp, message) else { continue };
        let problem = problem.with(kernel.place(reduce), "the sum").with(kernel.place(quotient), "the quotient");
        kernel.report(problem);
    }
}

fn through_casts(kernel: &Kernel<'_>, mut value: ValueId) -> ValueId {
    while let Some((op, OpKind::Cast(CastOp::Float))) = kernel.def(value) {
        value = kernel.operands(op)[0];
    }
    value
}

/// Where the exponential is divided by its sum.
fn divided(kernel: &Kernel<'_>, exponential: ValueId, sum: ValueId) -> Option<OpId> {
    kernel.users[exponential.index()].iter().copied().find(|&op| {
        matches!(kernel.function.op(op).kind, OpKind::Binary(BinaryOp::DivF | BinaryOp::DivRn))
            && kernel.operands(op)[0] == exponential
            && kernel.core(kernel.operands(op)[1]) == sum
    })
}

/// Loaded or multiplied, and at most scaled, biased and masked since.
fn is_raw(kernel: &Kernel<'_>, value: ValueId, depth: usize, memo: &mut Memo<ValueId, bool>) -> bool {
    if depth > 24 {
        return false;
    }
    match memo.get(&value, depth, false) {
        Some(known) => known,
        None => {
            let answer = is_raw_by_operands(kernel, value, depth, memo);
            memo.put(value, depth, answer)
        }
    }
}

fn is_raw_by_operands(kernel: &Kernel<'_>, value: ValueId, depth: usize, memo: &mut Memo<ValueId, bool>) -> bool {
    let Some((op, kind)) = kernel.def(value) else { return false };
    let mut go = |n: usize| is_raw(kernel, kernel.operands(op)[n], depth + 1, memo);
    match kind {
        OpKind::Load(_) | OpKind::Dot { .. } => true,
        OpKind::Cast(CastOp::Float) | OpKind::Broadcast | OpKind::ExpandDims { .. } => go(0),
        // By a scale or with a bias, which are no maxima.
        OpKind::Binary(BinaryOp::MulF | BinaryOp::AddF) => {
            let is_number = |n: usize| kernel.function.ty(kernel.core(kernel.operands(op)[n])).is_scalar();
            go(0) && (go(1) || is_plain(kernel, kernel.operands(op)[1]))
                || is_number(0) && is_plain(kernel, kernel.operands(op)[0]) && go(1)
        }
        OpKind::Select => go(1) || go(2),
        _ => false,
    }
}

/// A constant or an argument.
fn is_plain(kernel: &Kernel<'_>, value: ValueId) -> bool {
    let value = kernel.core(value);
    kernel.function.params.iter().any(|p| p.value == value) || matches!(kernel.def(value), Some((_, OpKind::Constant(_))))
}
