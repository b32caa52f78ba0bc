//! MSK004 wrong-identity: a load's `other` reaches a reduction that it changes.
//!
//! `other=0.0` adds nothing to a sum, but it beats a row of negative numbers in a maximum, and `exp(0.0 - m)` is not nothing. What `tl.where`
//! puts outside the indices that count is judged alike.
//! **Invariant:** only said where every masked-off element along the folded axis is known to hold something that changes the result.

use tritium_tile::{
    OpId, OpKind, ValueId,
    ops::{BinaryOp, Constant, UnaryOp},
};

use super::{
    filled::{Filled, Off, Source, filled, sources},
    folds::{Fold, fold},
    kernel::{Kernel, ProblemExt},
    masks::{is_true, mask_of},
    memo::Memo,
};
use crate::{
    body::Expr,
    diagnostics::Code,
    problem::{Applicability, At, Edit, Place},
};

pub(super) fn rule(kernel: &mut Kernel<'_>) {
    let mut told = Vec::new();
    for op in kernel.ops() {
        let OpKind::Reduce { axis } = kernel.function.op(op).kind else { continue };
        let Some(fold) = fold(kernel, op) else { continue };
        let input = kernel.operands(op)[0];
        // Integers in maxima are mostly counts and indices, which begin at 0.
        if kernel.function.ty(input).elem().scalar().is_none_or(|s| !s.is_float()) {
            continue;
        }
        let mut all = sources(kernel, input, usize::from(axis));
        // Under one condition a `tl.where` decides; of several loads, the one whose `other` is no zero is to blame.
        let is_load = |s: &Source| matches!(kernel.function.op(s.load).kind, OpKind::Load(_));
        all.sort_by_key(|s| (is_load(s), kernel.operands(s.load).get(2).is_none_or(|&other| is_zero(kernel, other))));
        let mut conditions: Vec<u32> = Vec::new();
        for source in all {
            if conditions.contains(&source.condition) {
                continue;
            }
            conditions.push(source.condition);
            check(kernel, op, fold, input, usize::from(axis), source, &mut told);
        }
    }
}

fn is_zero(kernel: &Kernel<'_>, value: ValueId) -> bool {
    match kernel.def(kernel.core(value)) {
        Some((_, OpKind::Constant(Constant::Float(x)))) => *x == 0.0,
        Some((_, OpKind::Constant(Constant::Int(n)))) => *n == 0,
        _ => false,
    }
}

fn is_minus_infinity(kernel: &Kernel<'_>, value: ValueId) -> bool {
    matches!(kernel.def(kernel.core(value)), Some((_, OpKind::Constant(Constant::Float(x)))) if *x == f64::NEG_INFINITY)
}

/// What puts a load right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Remedy {
    /// Another `other`.
    Other(&'static str),
    /// A `tl.where` before the fold.
    Where(&'static str),
}

/// `told`: what was said of which load; one remedy for several folds is told with the first of them.
fn check(
    kernel: &mut Kernel<'_>,
    reduce: OpId,
    fold: Fold,
    input: ValueId,
    dim: usize,
    source: Source,
    told: &mut Vec<(OpId, Remedy)>,
) -> Option<()> {
    if let OpKind::Select = kernel.function.op(source.load).kind {
        return check_where(kernel, reduce, fold, input, dim, source);
    }
    if kernel.operands(source.load).len() < 3 || mask_of(kernel, source.load).is_none_or(|m| is_true(kernel, m)) {
        return None;
    }
    let held = filled(kernel, input, Off { condition: source.condition, dim });
    if !changes(kernel, fold, input, held) {
        return None;
    }
    let (written, place, call) = kernel.expr(source.load)?;
    let (reduction, _, reduction_call) = kernel.expr(reduce)?;
    let Expr::Call { callee, .. } = reduction.body.expr(reduction_call) else { return None };
    let what = reduction.text(*callee);
    let other = written.argument(call, 2, "other");
    let given = other.map_or_else(|| "its padding".to_owned(), |o| format!("`other={}`", written.text(o)));
    let is_direct = kernel.core(through_casts(kernel, input)) == kernel.function.op(source.load).results[0];
    let (identity, effect) = (identity(fold), effect(fold));
    let (remedy, advice) = if is_direct {
        (Remedy::Other(identity), format!("give the load `other={identity}`"))
    } else if fold == Fold::Sum && is_exponential(kernel, input) && !is_minus_infinity(kernel, kernel.operands(source.load)[2]) {
        let advice = "give the load `other=-float(\"inf\")`, which `exp` makes 0, or put 0.0 there with `tl.where`";
        (Remedy::Other("-float(\"inf\")"), advice.to_owned())
    } else {
        (Remedy::Where(identity), format!("put {identity} there with `tl.where(mask, …, {identity})` before folding"))
    };
    if told.contains(&(source.load, remedy)) {
        return None;
    }
    let loaded = kernel.function.op(source.load).results[0];
    let mut problem = if is_direct {
        let message = format!("masked-off elements are {given} here, and `{what}` {effect}: {advice}");
        let mut problem = kernel.problem(Code::MSK004, source.load, message)?;
        if let Some(other) = other {
            problem.place = Place { function: place.function, at: At::Expr(other) };
        }
        problem.with(kernel.place(reduce), format!("`{what}` takes them in here"))
    } else {
        let become_what = match held {
            Filled::Exactly(x) => format!("become {}", crate::constant::Const::float(x)),
            Filled::Arbitrary | Filled::Unknown => format!("are no longer {}", identity),
        };
        let message = format!(
            "masked-off elements of {} (loaded with {given}) {become_what} in {}, and `{what}` {effect}: {advice}",
            kernel.say(loaded, "a load"),
            kernel.say(input, "what is folded"),
        );
        kernel.problem(Code::MSK004, reduce, message)?.with(Some(place), "loaded under a mask here")
    };
    if let (true, Some(other)) = (is_direct, other) {
        let edit = Edit::Replace(Place { function: place.function, at: At::Expr(other) }, identity.to_owned());
        problem = problem.fix(format!("Make it `other={identity}`"), Applicability::Suggested, vec![edit]);
    }
    told.push((source.load, remedy));
    kernel.report(problem);
    Some(())
}

/// Whether elements that hold this change what is folded.
fn changes(kernel: &Kernel<'_>, fold: Fold, input: ValueId, held: Filled) -> bool {
    match (fold, held) {
        (_, Filled::Unknown) => false,
        (Fold::Sum, Filled::Exactly(x)) => x != 0.0,
        (Fold::Product, Filled::Exactly(x)) => x != 1.0,
        (Fold::Sum | Fold::Product, Filled::Arbitrary) => true,
        (Fold::Max, Filled::Exactly(x)) => x > -1e4 && !(x <= 0.0 && is_natural(kernel, input, 0, &mut Memo::default())),
        (Fold::Min, Filled::Exactly(x)) => x < 1e4,
        (Fold::Max | Fold::Min, Filled::Arbitrary) => false,
    }
}

fn identity(fold: Fold) -> &'static str {
    match fold {
        Fold::Sum => "0.0",
        Fold::Product => "1.0",
        Fold::Max => "-float(\"inf\")",
        Fold::Min => "float(\"inf\")",
    }
}

/// What a fold does with elements that do not count.
fn effect(fold: Fold) -> &'static str {
    match fold {
        Fold::Sum => "adds them",
        Fold::Product => "multiplies by them",
        Fold::Max => "picks them over negative numbers",
        Fold::Min => "picks them over larger numbers",
    }
}

/// As [`check`], where a `tl.where` says what stands outside the indices that count.
fn check_where(kernel: &mut Kernel<'_>, reduce: OpId, fold: Fold, input: ValueId, dim: usize, source: Source) -> Option<()> {
    let held = filled(kernel, input, Off { condition: source.condition, dim });
    if !matches!(held, Filled::Exactly(_)) || !changes(kernel, fold, input, held) {
        return None;
    }
    let Filled::Exactly(x) = held else { return None };
    let (reduction, _, call) = kernel.expr(reduce)?;
    let Expr::Call { callee, .. } = reduction.body.expr(call) else { return None };
    let what = reduction.text(*callee);
    let message = format!(
        "elements outside the indices of `tl.where` are {} in {}, and `{what}` {}: put {} there",
        crate::constant::Const::float(x),
        kernel.say(input, "what is folded"),
        effect(fold),
        identity(fold),
    );
    let problem = kernel.problem(Code::MSK004, reduce, message)?.with(kernel.place(source.load), "chosen here");
    kernel.report(problem);
    Some(())
}

fn through_casts(kernel: &Kernel<'_>, mut value: ValueId) -> ValueId {
    while let Some((op, OpKind::Cast(_))) = kernel.def(value) {
        value = kernel.operands(op)[0];
    }
    value
}

fn is_exponential(kernel: &Kernel<'_>, value: ValueId) -> bool {
    matches!(kernel.def(through_casts(kernel, value)), Some((_, OpKind::Unary(UnaryOp::Exp | UnaryOp::Exp2))))
}

/// Never negative, by how it is computed.
fn is_natural(kernel: &Kernel<'_>, value: ValueId, depth: usize, memo: &mut Memo<ValueId, bool>) -> bool {
    if depth > 32 {
        return false;
    }
    match memo.get(&value, depth, false) {
        Some(known) => known,
        None => {
            let answer = is_natural_by_operands(kernel, value, depth, memo);
            memo.put(value, depth, answer)
        }
    }
}

fn is_natural_by_operands(kernel: &Kernel<'_>, value: ValueId, depth: usize, memo: &mut Memo<ValueId, bool>) -> bool {
    let Some((op, kind)) = kernel.def(value) else { return false };
    let operands = kernel.operands(op);
    let mut go = |n: usize| is_natural(kernel, operands[n], depth + 1, memo);
    match kind {
        OpKind::Constant(Constant::Float(x)) => *x >= 0.0,
        OpKind::Constant(Constant::Int(n)) => *n >= 0,
        OpKind::Unary(UnaryOp::AbsF | UnaryOp::AbsI | UnaryOp::Exp | UnaryOp::Exp2) => true,
        OpKind::Unary(UnaryOp::Sqrt | UnaryOp::SqrtRn | UnaryOp::Rsqrt) => true,
        OpKind::Binary(BinaryOp::MulF) if kernel.numbers.same(operands[0], operands[1]) => true,
        OpKind::Binary(
            BinaryOp::AddF | BinaryOp::MulF | BinaryOp::DivF | BinaryOp::DivRn | BinaryOp::MinF | BinaryOp::MinNan,
        ) => go(0) && go(1),
        OpKind::Binary(BinaryOp::MaxF | BinaryOp::MaxNan) => go(0) || go(1),
        // A maximum of a magnitude and its opposite is the magnitude.
        OpKind::Select => go(1) && go(2),
        OpKind::Fma => go(0) && go(1) && go(2),
        OpKind::Cast(tritium_tile::ops::CastOp::UToF) => true,
        OpKind::Cast(tritium_tile::ops::CastOp::SToF) => kernel.facts.range(operands[0]).min >= 0,
        OpKind::Cast(_)
        | OpKind::Splat
        | OpKind::Broadcast
        | OpKind::ExpandDims { .. }
        | OpKind::Transpose { .. }
        | OpKind::Reshape { .. }
        | OpKind::ConvertLayout => go(0),
        OpKind::Reduce { .. } | OpKind::Scan { .. } => {
            // Sums, products and maxima of natural numbers are natural.
            go(0)
        }
        _ => false,
    }
}
