//! What a statement list binds and where it returns, told from its form alone.
//!
//! **Invariant:** asks for too much rather than too little: compile-time branches that are not taken count too.

use smol_str::SmolStr;

use super::OrderedSet;
use crate::body::{Body, Expr, ExprId, Stmt, StmtId};

/// Every name a statement list binds, nested lists included.
pub(super) fn assigned_names(body: &Body, stmts: &[StmtId], names: &mut OrderedSet<SmolStr>) {
    let mut lists: Vec<&[StmtId]> = vec![stmts];
    while let Some(list) = lists.pop() {
        for &id in list {
            match body.stmt(id) {
                Stmt::Assign { targets, .. } => targets.iter().for_each(|&t| target_names(body, t, names)),
                Stmt::AugAssign { target, .. } | Stmt::AnnAssign { target, .. } => target_names(body, *target, names),
                Stmt::If { then, otherwise, .. } => lists.extend([then.as_slice(), otherwise.as_slice()]),
                Stmt::For { target, body: inner, otherwise, .. } => {
                    target_names(body, *target, names);
                    lists.extend([inner.as_slice(), otherwise.as_slice()]);
                }
                Stmt::While { body: inner, otherwise, .. } => lists.extend([inner.as_slice(), otherwise.as_slice()]),
                Stmt::With { body: inner, .. } | Stmt::Other { body: inner, .. } => lists.push(inner),
                Stmt::Try { body: inner, handlers, otherwise, finally } => {
                    lists.extend([inner.as_slice(), otherwise.as_slice(), finally.as_slice()]);
                    lists.extend(handlers.iter().map(|h| h.1.as_slice()));
                }
                Stmt::Missing
                | Stmt::Expr(_)
                | Stmt::Return(_)
                | Stmt::Pass
                | Stmt::Assert { .. }
                | Stmt::Function(_)
                | Stmt::Class { .. }
                | Stmt::Import { .. }
                | Stmt::ImportFrom { .. } => {}
            }
        }
    }
    // Walrus targets: any named expression of the body with one of these statements would do; binding too many is harmless.
    for expr in &body.exprs {
        if let Expr::Named { name, .. } = expr {
            names.insert(name.clone());
        }
    }
}

fn target_names(body: &Body, target: ExprId, names: &mut OrderedSet<SmolStr>) {
    match body.expr(target) {
        Expr::Name(name) => {
            names.insert(name.clone());
        }
        Expr::Tuple(items) | Expr::List(items) => items.iter().for_each(|&t| target_names(body, t, names)),
        Expr::Starred(inner) => target_names(body, *inner, names),
        _ => {}
    }
}

/// A `return` in a statement list, nested lists included.
pub(super) fn contains_return(body: &Body, stmts: &[StmtId]) -> bool {
    let mut lists: Vec<&[StmtId]> = vec![stmts];
    while let Some(list) = lists.pop() {
        for &id in list {
            match body.stmt(id) {
                Stmt::Return(_) => return true,
                Stmt::If { then, otherwise, .. } => lists.extend([then.as_slice(), otherwise.as_slice()]),
                _ => {}
            }
        }
    }
    false
}
