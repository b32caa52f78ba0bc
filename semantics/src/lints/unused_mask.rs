//! MSK008 unused-mask: a mask is built and given a name, nothing reads it, and an access at the indices that it bounds has none.
//!
//! Nothing is compiled of what nobody reads, so the mask is found in the text. **Invariant:** only said where an index that the mask compares
//! runs through the address of an access without a mask, as it is: taken modulo a size it is in bounds.

use rustc_hash::FxHashSet;
use smol_str::SmolStr;
use tritium_tile::{OpId, OpKind, ValueDef, ValueId};

use super::{
    kernel::{Kernel, ProblemExt},
    masks::mask_of,
};
use crate::{
    Db, Function,
    body::{BinaryOp as Operator, Body, Expr, ExprId, Stmt},
    diagnostics::Code,
    items::{Node, function_body, walk},
    problem::{At, Place, Problem},
};

pub(super) fn rule(kernel: &mut Kernel<'_>) {
    let mut bare: Vec<OpId> = kernel.ops();
    bare.retain(|&op| matches!(kernel.function.op(op).kind, OpKind::Load(_) | OpKind::Store(_)) && mask_of(kernel, op).is_none());
    let Some(function) = bare.iter().find_map(|&op| Some(kernel.place(op)?.function)) else { return };
    let Some(written) = kernel.written(function) else { return };
    // What is stored goes wrong; what is loaded past the end may be thrown away.
    bare.sort_by_key(|&op| matches!(kernel.function.op(op).kind, OpKind::Load(_)));
    let of_tiles = |value: ExprId| kernel.ty(function, value).is_some_and(|ty| !ty.shape.is_empty());
    let masks: Vec<&(SmolStr, ExprId)> =
        unread_comparisons(kernel.db, function).iter().filter(|(_, value)| of_tiles(*value)).collect();
    for &(ref name, mask) in masks {
        let compared = written.names_in(mask);
        let access = bare.iter().copied().find(|&op| {
            kernel.place(op).is_some_and(|place| place.function == function)
                && indices(kernel, kernel.operands(op)[0]).iter().any(|index| compared.contains(index))
        });
        let Some(access) = access else { continue };
        let (verb, noun) = match kernel.function.op(access).kind {
            OpKind::Store(_) => ("writes", "store"),
            _ => ("reads", "load"),
        };
        let problem = Problem {
            code: Code::MSK008,
            level: None,
            message: format!(
                "`{name}` is never read, and the {noun} at these indices has no mask: past the bound it {verb} outside the tensor"
            ),
            place: Place { function, at: At::Expr(mask) },
            related: Vec::new(),
            fixes: Vec::new(),
            calls: Vec::new(),
        };
        kernel.report(problem.with(kernel.place(access), format!("this {noun} has no mask")));
    }
}

/// Comparisons that are given a name which nothing reads: the same under every specialisation.
#[salsa::tracked(returns(deref))]
fn unread_comparisons(db: &dyn Db, function: Function) -> Vec<(SmolStr, ExprId)> {
    let Some((body, stmt)) = function_body(db, function) else { return Vec::new() };
    let Stmt::Function(def) = body.stmt(stmt) else { return Vec::new() };
    let (mut bound, mut targets, mut read) = (Vec::new(), FxHashSet::<ExprId>::default(), FxHashSet::default());
    walk(&body, &def.body, &mut |node| match node {
        Node::Stmt(id) => {
            if let Stmt::Assign { targets: own, value } = body.stmt(id) {
                targets.extend(own);
                if let [target] = own[..]
                    && let Expr::Name(name) = body.expr(target)
                    && is_comparison(&body, *value)
                {
                    bound.push((name.clone(), *value));
                }
            }
        }
        Node::Expr(id) => {
            if let Expr::Name(name) = body.expr(id)
                && !targets.contains(&id)
            {
                read.insert(name);
            }
        }
    });
    bound.retain(|(name, _)| !read.contains(name));
    bound
}

/// A comparison, or several joined by `&`.
fn is_comparison(body: &Body, value: ExprId) -> bool {
    match body.expr(value) {
        Expr::Compare { .. } => true,
        Expr::Binary { op: Operator::BitAnd, lhs, rhs } => is_comparison(body, *lhs) && is_comparison(body, *rhs),
        Expr::Subscript { receiver, .. } => is_comparison(body, *receiver),
        _ => false,
    }
}

/// The names of the index tiles that an address is made of.
fn indices(kernel: &Kernel<'_>, pointer: ValueId) -> Vec<SmolStr> {
    let mut out = Vec::new();
    let mut pending = vec![pointer];
    for _ in 0..256 {
        let Some(value) = pending.pop() else { break };
        let ValueDef::Result(op, _) = kernel.function.value(value).def else { continue };
        if kernel.function.ty(value).shape().len() == 1
            && let Some(name) = kernel.expr(op).and_then(|(written, _, expr)| written.name(expr))
        {
            out.push(SmolStr::from(name));
        }
        if let OpKind::AddPtr
        | OpKind::Binary(
            tritium_tile::ops::BinaryOp::AddI | tritium_tile::ops::BinaryOp::SubI | tritium_tile::ops::BinaryOp::MulI,
        )
        | OpKind::Cast(_)
        | OpKind::ExpandDims { .. }
        | OpKind::Promise { .. }
        | OpKind::Broadcast = kernel.function.op(op).kind
        {
            pending.extend(kernel.operands(op));
        }
    }
    out
}
