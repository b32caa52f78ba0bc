//! DTY012 i32-offset-overflow: an offset is multiplied in 32 bits, and a large tensor needs more.
//!
//! A hint, once a kernel, as long as nothing is known of the sizes; a warning where the launches in the file pass 2³¹, an error where every
//! factor is known to get that far. Where they stay below, silence. **Invariant:** said of a product of an index that grows with the
//! tensor and a stride that arrives at run time.

use tritium_tile::{
    OpId, OpKind, Scalar, ValueId,
    facts::Range,
    ops::{BinaryOp, CastOp},
};

use super::{
    kernel::{Kernel, ProblemExt},
    memo::Memo,
};
use crate::{
    body::{BinaryOp as Operator, Expr, ExprId},
    diagnostics::{Code, Severity},
    problem::{Applicability, Problem},
};

pub(super) fn rule(kernel: &mut Kernel<'_>) {
    let mut seen: Vec<OpId> = Vec::new();
    let mut hints: Vec<Problem> = Vec::new();
    for op in kernel.ops() {
        if let OpKind::AddPtr = kernel.function.op(op).kind {
            for product in products(kernel, kernel.operands(op)[1]) {
                if !seen.contains(&product) {
                    seen.push(product);
                    match check(kernel, product, op) {
                        Some(problem) if problem.level.is_some() => kernel.report(problem),
                        Some(hint) if hints.iter().all(|h| h.place != hint.place) => hints.push(hint),
                        Some(_) | None => {}
                    }
                }
            }
        }
    }
    let mut hints = hints.into_iter();
    let Some(mut first) = hints.next() else { return };
    let others: Vec<Problem> = hints.collect();
    if !others.is_empty() {
        first.message += &format!(" ({} more such products in this kernel)", others.len());
        first.related = others.iter().take(MAX_RELATED).map(|p| (p.place, "and this product".to_owned())).collect();
    }
    kernel.report(first);
}

/// Further products of a kernel that are pointed at.
const MAX_RELATED: usize = 4;

/// The 32-bit products that an offset is a sum of.
fn products(kernel: &Kernel<'_>, offset: ValueId) -> Vec<OpId> {
    let mut out = Vec::new();
    let mut pending = vec![offset];
    let mut steps = 0;
    while let Some(value) = pending.pop() {
        steps += 1;
        if steps > 256 {
            break;
        }
        let Some((op, kind)) = kernel.def(value) else { continue };
        match kind {
            OpKind::Binary(BinaryOp::MulI) if kernel.function.ty(value).elem().scalar() == Some(Scalar::I32) => out.push(op),
            OpKind::Binary(BinaryOp::AddI | BinaryOp::SubI)
            | OpKind::Splat
            | OpKind::Broadcast
            | OpKind::Promise { .. }
            | OpKind::ExpandDims { .. }
            | OpKind::Cast(CastOp::ExtS) => pending.extend(kernel.operands(op)),
            _ => {}
        }
    }
    out
}

fn check(kernel: &Kernel<'_>, product: OpId, address: OpId) -> Option<Problem> {
    let result = kernel.function.op(product).results[0];
    let full = Range::of_type(kernel.function.ty(result));
    let (a, b) = (kernel.operands(product)[0], kernel.operands(product)[1]);
    if kernel.facts.range(result) != full {
        return None;
    }
    let (index, stride) = match (is_index(kernel, a, 0, &mut Memo::default()), is_index(kernel, b, 0, &mut Memo::default())) {
        (true, _) if is_stride(kernel, b) => (a, b),
        (_, true) if is_stride(kernel, a) => (b, a),
        _ => return None,
    };
    // What the launches of the file say.
    let (x, y) = (kernel.facts.range(index), kernel.facts.range(stride));
    let is_known = |r: Range| r.max < i64::from(i32::MAX) - 1 && r.min > i64::from(i32::MIN);
    let most = i128::from(x.max) * i128::from(y.max);
    let level = match kernel.is_launched {
        true if is_known(x) && is_known(y) && most > i128::from(i32::MAX) => {
            Some(if is_reached(kernel, index) { Severity::Error } else { Severity::Warning })
        }
        _ => None,
    };
    let (written, place, expr) = kernel.expr(product)?;
    let Expr::Binary { op: Operator::Mul, lhs, rhs } = written.body.expr(expr) else { return None };
    let (i, s) = (kernel.say(index, "the index"), kernel.say(stride, "the stride"));
    let message = match level {
        None => format!(
            "{i} * {s} is computed in 32 bits and wraps past 2^31 elements of a large tensor: widen the index, {}",
            advice(kernel, index)
        ),
        Some(_) => format!(
            "{i} * {s} is computed in 32 bits and reaches {most} in this file's launches, past 2^31: it wraps, and the address is wrong. Widen the index, {}",
            advice(kernel, index)
        ),
    };
    let mut problem = kernel.problem(Code::DTY012, product, message)?;
    problem.level = level;
    let problem = problem.with(kernel.place(address), "added to a pointer here");
    let side: ExprId = if index == a { *lhs } else { *rhs };
    let edits = written.append(place.function, side, ".to(tl.int64)");
    Some(problem.fix("Widen the index to 64 bits", Applicability::Suggested, edits))
}

fn advice(kernel: &Kernel<'_>, index: ValueId) -> String {
    match kernel.words(index) {
        Some(words) if words.chars().all(|c| c.is_alphanumeric() || c == '_') => format!("`{words}.to(tl.int64)`"),
        _ => "`.to(tl.int64)`".to_owned(),
    }
}

/// Grows with the tensor: a program id, or a number that was loaded.
fn is_index(kernel: &Kernel<'_>, value: ValueId, depth: usize, memo: &mut Memo<ValueId, bool>) -> bool {
    if depth > 24 {
        return false;
    }
    match memo.get(&value, depth, false) {
        Some(known) => known,
        None => {
            let answer = is_index_by_operands(kernel, value, depth, memo);
            memo.put(value, depth, answer)
        }
    }
}

fn is_index_by_operands(kernel: &Kernel<'_>, value: ValueId, depth: usize, memo: &mut Memo<ValueId, bool>) -> bool {
    let Some((op, kind)) = kernel.def(value) else { return false };
    match kind {
        OpKind::ProgramId { .. } | OpKind::Load(_) => true,
        OpKind::Splat
        | OpKind::Broadcast
        | OpKind::Promise { .. }
        | OpKind::ExpandDims { .. }
        | OpKind::Cast(CastOp::Trunc | CastOp::ExtS)
        | OpKind::Binary(BinaryOp::AddI | BinaryOp::SubI | BinaryOp::MulI) => {
            kernel.operands(op).iter().any(|&v| is_index(kernel, v, depth + 1, memo))
        }
        // A program id taken apart: the quotient grows, the remainder stays below its divisor.
        OpKind::Binary(BinaryOp::DivS | BinaryOp::DivU) => is_index(kernel, kernel.operands(op)[0], depth + 1, memo),
        OpKind::Binary(BinaryOp::RemS | BinaryOp::RemU) => {
            is_index(kernel, kernel.operands(op)[0], depth + 1, memo)
                && !super::masks::is_constant(kernel, kernel.operands(op)[1])
        }
        _ => false,
    }
}

/// Arrives at run time: a parameter, or a product with one.
fn is_stride(kernel: &Kernel<'_>, value: ValueId) -> bool {
    let value = kernel.core(value);
    if kernel.function.params.iter().any(|p| p.value == value) {
        return true;
    }
    match kernel.def(value) {
        Some((op, OpKind::Binary(BinaryOp::MulI | BinaryOp::AddI))) => kernel.operands(op).iter().any(|&v| is_stride(kernel, v)),
        _ => false,
    }
}

/// Some program gets as far as the range says: the index is made of program ids, arguments and numbers alone.
fn is_reached(kernel: &Kernel<'_>, index: ValueId) -> bool {
    use tritium_tile::facts::Symbol;
    let is_param = |v: ValueId| kernel.function.params.iter().any(|p| p.value == v);
    kernel.facts.affine(index).is_some_and(|form| {
        form.terms.iter().all(|t| {
            t.dim.is_none()
                && t.coefficient > 0
                && t.symbols.iter().all(|s| match s {
                    Symbol::Program(_) => true,
                    Symbol::Value(v) => is_param(*v),
                    Symbol::Programs(_) | Symbol::Trip(_) => false,
                })
        })
    })
}
