//! Add a mask: `tl.load(x + offs)` becomes `tl.load(x + offs, mask=offs < n)`.
//!
//! The bound of an index is what another mask of the kernel compares it with, else the kernel's only integer that is no stride.

use tritium_semantics::{
    ArgType, Argument,
    builtins::Builtin,
    items,
    types::{Element, Ty},
};
use tritium_syntax::{
    AstNode,
    ast::{self, BinaryOp, Expr},
};

use super::{Context, Refactor, RefactorKind, argument};
use crate::TextEdit;

pub(super) fn refactor(context: &Context<'_>) -> Option<Refactor> {
    let call = context.node.ancestors().find_map(ast::CallExpr::cast)?;
    let (builtin, method) = context.builtin(&call)?;
    if method || !matches!(builtin, Builtin::Load | Builtin::Store) {
        return None;
    }
    let position = if builtin == Builtin::Load { 1 } else { 2 };
    let given = |name: &str| call.keyword(name).is_some();
    if argument(&call, "mask", position).is_some() || given("boundary_check") || given("mask") {
        return None;
    }
    let pointer = argument(&call, "pointer", 0)?;
    let Some(Ty::Tile(ty)) = context.ty(&pointer) else { return None };
    let Element::Ptr { pointee, .. } = ty.elem else { return None };
    if ty.is_scalar() {
        return None;
    }
    let mut conditions: Vec<String> = Vec::new();
    for index in indices(context, &pointer) {
        let condition = format!("{} < {}", context.source(&index), bound(context, &index)?);
        if !conditions.contains(&condition) {
            conditions.push(condition);
        }
    }
    let mask = match &conditions[..] {
        [] => return None,
        [one] => one.clone(),
        several => several.iter().map(|c| format!("({c})")).collect::<Vec<_>>().join(" & "),
    };
    let other = match (builtin, pointee.is_float()) {
        (Builtin::Load, true) => ", other=0.0",
        (Builtin::Load, false) => ", other=0",
        _ => "",
    };
    let last = call.args().last()?;
    let at = context.in_file(&last).end;
    let edits = vec![TextEdit { range: at..at, new_text: format!(", mask={mask}{other}") }];
    Some(Refactor { title: format!("Add mask `{mask}`"), kind: RefactorKind::Rewrite, edits })
}

/// The tiles of indices that an address is made of: `offs`, or `offs_m[:, None]`.
fn indices(context: &Context<'_>, pointer: &Expr) -> Vec<Expr> {
    let is_index = |expr: &Expr| matches!(context.ty(expr), Some(Ty::Tile(ty)) if !ty.is_scalar() && !ty.elem.is_ptr());
    let mut out = Vec::new();
    let mut pending = vec![pointer.clone()];
    while let Some(expr) = pending.pop() {
        match &expr {
            Expr::ParenExpr(paren) => pending.extend(paren.expr()),
            Expr::BinaryExpr(binary) if matches!(binary.op(), Some(BinaryOp::Add | BinaryOp::Mul)) => {
                pending.extend(binary.rhs());
                pending.extend(binary.lhs());
            }
            Expr::NameExpr(_) if is_index(&expr) => out.push(expr),
            Expr::SubscriptExpr(subscript) if is_index(&expr) && matches!(subscript.receiver(), Some(Expr::NameExpr(_))) => {
                out.push(expr)
            }
            _ => {}
        }
    }
    out
}

fn bound(context: &Context<'_>, index: &Expr) -> Option<String> {
    let name = match index {
        Expr::SubscriptExpr(subscript) => context.source(&subscript.receiver()?),
        other => context.source(other),
    };
    let def = context.def()?;
    for compare in def.syntax().descendants().filter_map(ast::CompareExpr::cast) {
        let operands: Vec<Expr> = compare.syntax().children().filter_map(Expr::cast).collect();
        let is_less = compare.syntax().children_with_tokens().any(|e| e.to_string().trim() == "<");
        if let [left, right] = &operands[..]
            && is_less
        {
            let compared = match left {
                Expr::SubscriptExpr(subscript) => subscript.receiver().map(|r| context.source(&r)),
                other => Some(context.source(other)),
            };
            if compared == Some(name) {
                return Some(context.source(right).to_owned());
            }
        }
    }
    // The only size there is.
    let db = context.analysis.db();
    let item = items::items(db, context.file).function(context.function)?;
    let arguments = context.kernel.active.instance.arguments(db);
    let is_size = |(param, argument): &(&items::ParamItem, &Argument)| {
        let is_int = match argument {
            Argument::Runtime { ty: ArgType::Scalar(dtype), .. } => dtype.is_int(),
            _ => false,
        };
        is_int && !param.name.contains("stride")
    };
    let sizes: Vec<_> = item.params.iter().zip(arguments).filter(is_size).collect();
    match &sizes[..] {
        [(param, _)] if context.function == context.kernel.function => Some(param.name.to_string()),
        _ => None,
    }
}
