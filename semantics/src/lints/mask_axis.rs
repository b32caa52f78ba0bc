//! MSK005 mask-axis-swapped: a bound holds back the wrong dimension.
//!
//! Two ways to get there: the mask is turned (`offs_m[None, :] < M` where the address has `offs_m[:, None]`), or the bounds are
//! exchanged (`offs_m < N` and `offs_n < M`). **Invariant:** a turned mask is known by the indices of both dimensions; exchanged bounds by
//! another mask of the kernel that has them the other way round, or by their names on both sides. An index is its whole value, however
//! often it is written: two equal `tl.arange` are one, and one of them is not what is computed of it.

use rustc_hash::FxHashSet;
use tritium_tile::{OpId, OpKind, ValueDef, ValueId};

use super::{
    kernel::{Kernel, ProblemExt},
    masks::{bounded, conditions, is_constant, mask_of},
};
use crate::{
    diagnostics::Code,
    problem::{Applicability, Edit},
};

/// An address that is computed of more values than this is looked at in part.
const MAX_VALUES: usize = 512;

/// One condition `index < bound` of an access's mask.
#[derive(Clone, Copy)]
struct Bound {
    access: OpId,
    condition: ValueId,
    index: ValueId,
    /// By number.
    root: ValueId,
    bound: ValueId,
    dim: usize,
}

pub(super) fn rule(kernel: &mut Kernel<'_>) {
    let mut all: Vec<Bound> = Vec::new();
    for op in kernel.ops() {
        if !matches!(kernel.function.op(op).kind, OpKind::Load(_) | OpKind::Store(_)) {
            continue;
        }
        let Some(mask) = mask_of(kernel, op) else { continue };
        if kernel.function.ty(mask).shape().len() != 2 {
            continue;
        }
        for condition in conditions(kernel, mask) {
            let [dim] = vectors(kernel, &condition)[..] else { continue };
            let Some((index, bound)) = bounded(kernel, condition.value) else { continue };
            let index = unstretched(kernel, index);
            let &[root] = kernel.meanings.along(index, 0) else { continue };
            all.push(Bound { access: op, condition: condition.value, index, root, bound, dim });
        }
    }
    for bound in &all {
        turned(kernel, bound);
    }
    exchanged(kernel, &all);
}

/// The mask's dimensions along which a condition varies.
fn vectors(kernel: &Kernel<'_>, condition: &super::masks::Condition) -> Vec<usize> {
    let shape = kernel.function.ty(condition.value).shape();
    condition.dims.iter().zip(shape).filter(|(_, extent)| **extent != 1).map(|(&d, _)| d).collect()
}

/// `offs_m[:, None]` as `offs_m`.
fn unstretched(kernel: &Kernel<'_>, value: ValueId) -> ValueId {
    match kernel.def(value) {
        Some((op, OpKind::ExpandDims { .. })) if kernel.function.ty(value).shape().len() > 1 => kernel.operands(op)[0],
        _ => value,
    }
}

fn turned(kernel: &mut Kernel<'_>, bound: &Bound) {
    let pointer = kernel.operands(bound.access)[0];
    let along = |d: usize| kernel.meanings.along(pointer, d);
    let (own, other) = (along(bound.dim), along(1 - bound.dim));
    if own.is_empty() || own.contains(&bound.root) || !other.contains(&bound.root) {
        return;
    }
    let runs = runs(kernel, pointer);
    let along = |dim: usize, value: ValueId| runs.iter().any(|&(v, d)| d == dim && same(kernel, v, value));
    // Of a block of indices that nothing places, such as `tl.arange(0, B)`, nobody can tell for which dimension it was made.
    let is_anywhere = is_unplaced(kernel, bound.index) && along(bound.dim, bound.root);
    if !along(1 - bound.dim, bound.index) || along(bound.dim, bound.index) || is_anywhere {
        return;
    }
    let names = ["rows", "columns"];
    let message = format!(
        "{} bounds the {} of this mask, but the address runs along it over the {}: the mask is turned. Write {} in the mask as in the address",
        kernel.say(bound.condition, "a condition"),
        names[bound.dim],
        names[1 - bound.dim],
        if bound.dim == 0 { "`[None, :]`" } else { "`[:, None]`" },
    );
    let Some(problem) = kernel.problem(Code::MSK005, bound.access, message) else { return };
    let problem =
        problem.with(kernel.place_of(bound.condition), "bounded here").with(kernel.place_of(pointer), "the address is made here");
    kernel.report(problem);
}

/// The values that an address is computed of, each with the dimension of the address along which it runs.
fn runs(kernel: &Kernel<'_>, pointer: ValueId) -> Vec<(ValueId, usize)> {
    let mut out = Vec::new();
    let mut seen: FxHashSet<(ValueId, Vec<usize>)> = FxHashSet::default();
    let mut pending = vec![(pointer, vec![0, 1])];
    while let Some((value, dims)) = pending.pop() {
        if seen.len() > MAX_VALUES || !seen.insert((value, dims.clone())) {
            continue;
        }
        let shape = kernel.function.ty(value).shape();
        let varying: Vec<usize> = dims.iter().zip(shape).filter(|(_, extent)| **extent != 1).map(|(&d, _)| d).collect();
        if let [dim] = varying[..] {
            out.push((value, dim));
        }
        let op = match kernel.function.value(value).def {
            ValueDef::Result(op, _) => op,
            ValueDef::Argument(block, n) => {
                // A pointer that a loop moves on runs along what it ran along before.
                let around = kernel.owners[block.index()].and_then(|owner| kernel.function.for_loop(owner));
                if let Some(carried) = around.and_then(|around| around.of_argument(n)) {
                    pending.push((carried.init, dims));
                }
                continue;
            }
        };
        match &kernel.function.op(op).kind {
            OpKind::ExpandDims { axis } => {
                let mut dims = dims;
                dims.remove(usize::from(*axis));
                pending.push((kernel.operands(op)[0], dims));
            }
            OpKind::Transpose { order } => {
                let mut before = dims.clone();
                for (&from, &dim) in order.iter().zip(&dims) {
                    before[usize::from(from)] = dim;
                }
                pending.push((kernel.operands(op)[0], before));
            }
            OpKind::Dot { .. } | OpKind::Reshape { .. } => {}
            OpKind::For(_) | OpKind::While { .. } | OpKind::If => {}
            _ => {
                for &operand in kernel.operands(op) {
                    if kernel.function.ty(operand).shape().len() == dims.len() {
                        pending.push((operand, dims.clone()));
                    }
                }
            }
        }
    }
    out
}

/// Equal wherever both exist, whatever ways they were computed on.
fn same(kernel: &Kernel<'_>, a: ValueId, b: ValueId) -> bool {
    let forms = || Some(kernel.facts.affine(a)? == kernel.facts.affine(b)?);
    kernel.numbers.same(a, b) || kernel.function.ty(a).shape() == kernel.function.ty(b).shape() && forms() == Some(true)
}

/// A block of indices that starts at a number: every block of its size is equal to it.
fn is_unplaced(kernel: &Kernel<'_>, index: ValueId) -> bool {
    kernel.facts.affine(index).is_some_and(|form| form.terms.iter().all(|t| t.symbols.is_empty()))
}

fn exchanged(kernel: &mut Kernel<'_>, all: &[Bound]) {
    // A number says nothing of the axis that it bounds.
    let all: Vec<Bound> = all.iter().copied().filter(|b| !is_constant(kernel, b.bound)).collect();
    for (n, first) in all.iter().enumerate() {
        for second in all[n + 1..].iter().filter(|s| s.access == first.access) {
            if first.root == second.root || kernel.numbers.same(first.bound, second.bound) || first.dim == second.dim {
                continue;
            }
            let has = |root: ValueId, bound: ValueId| {
                all.iter().any(|b| b.access != first.access && b.root == root && kernel.numbers.same(b.bound, bound))
            };
            // Of two equal indices neither is of the rows or of the columns.
            let elsewhere =
                !same(kernel, first.index, second.index) && has(first.root, second.bound) && has(second.root, first.bound);
            // As written elsewhere in the kernel, and not in this way anywhere else.
            let alone = !has(first.root, first.bound) && !has(second.root, second.bound);
            let by_name = named_for(kernel, first.index, second.bound) && named_for(kernel, second.index, first.bound);
            // Of two ways the one that the names speak for is right.
            if named_for(kernel, first.index, first.bound) && named_for(kernel, second.index, second.bound) {
                continue;
            }
            if !alone || !(elsewhere || by_name) {
                continue;
            }
            let say = |v: ValueId| kernel.say(v, "an index");
            let message = format!(
                "the bounds of this mask are exchanged: {} is compared with {} and {} with {}{}",
                say(first.index),
                say(first.bound),
                say(second.index),
                say(second.bound),
                if elsewhere { ", and elsewhere in the kernel the other way round" } else { "" },
            );
            let Some(mut problem) = kernel.problem(Code::MSK005, first.access, message) else { continue };
            problem = problem
                .with(kernel.place_of(first.condition), "compared here")
                .with(kernel.place_of(second.condition), "and here");
            let edits: Option<Vec<Edit>> = [(first, second), (second, first)]
                .iter()
                .map(|(own, other)| {
                    let (op, _) = kernel.def(own.condition)?;
                    let (written, place, expr) = kernel.expr(op)?;
                    let crate::body::Expr::Compare { rest, .. } = written.body.expr(expr) else { return None };
                    let [(_, right)] = rest[..] else { return None };
                    let text = kernel.words(other.bound)?;
                    let at = crate::problem::Place { function: place.function, at: crate::problem::At::Expr(right) };
                    (!text.contains('…')).then_some(Edit::Replace(at, text))
                })
                .collect();
            if let Some(edits) = edits {
                problem = problem.fix("Exchange the bounds", Applicability::Suggested, edits);
            }
            kernel.report(problem);
        }
    }
}

/// `offs_m` and `M`, `row_n` and `N`.
fn named_for(kernel: &Kernel<'_>, index: ValueId, bound: ValueId) -> bool {
    let (Some(index), Some(bound)) = (kernel.words(index), kernel.words(bound)) else { return false };
    let last = index.to_ascii_lowercase();
    let last = last.rsplit('_').next().unwrap_or_default();
    last.len() == 1 && bound.to_ascii_lowercase() == last
}
