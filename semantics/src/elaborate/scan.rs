//! What a statement list binds and where it returns, told from its form alone.
//!
//! **Invariant:** asks for too much rather than too little: compile-time branches that are not taken count too.

use smol_str::SmolStr;

use super::OrderedSet;
use crate::body::{Body, Expr, ExprId, Stmt, StmtId};

/// Every name a statement list binds, nested lists included.
pub(super) fn assigned_names(body: &Body, stmts: &[StmtId], names: &mut OrderedSet<SmolStr>) {
    let mut bind = |name: &SmolStr| {
        names.insert(name.clone());
    };
    let mut lists: Vec<&[StmtId]> = vec![stmts];
    while let Some(list) = lists.pop() {
        for &id in list {
            match body.stmt(id) {
                Stmt::Assign { targets, .. } => targets.iter().for_each(|&t| bound_by(body, t, &mut bind)),
                Stmt::AugAssign { target, .. } | Stmt::AnnAssign { target, .. } => bound_by(body, *target, &mut bind),
                Stmt::If { then, otherwise, .. } => lists.extend([then.as_slice(), otherwise.as_slice()]),
                Stmt::For { target, body: inner, otherwise, .. } => {
                    bound_by(body, *target, &mut bind);
                    lists.extend([inner.as_slice(), otherwise.as_slice()]);
                }
                Stmt::While { body: inner, otherwise, .. } => lists.extend([inner.as_slice(), otherwise.as_slice()]),
                Stmt::With { items, body: inner } => {
                    items.iter().filter_map(|item| item.1).for_each(|t| bound_by(body, t, &mut bind));
                    lists.push(inner);
                }
                Stmt::Other { body: inner, .. } => lists.push(inner),
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

/// Every name that a target binds.
fn bound_by(body: &Body, target: ExprId, bind: &mut impl FnMut(&SmolStr)) {
    match body.expr(target) {
        Expr::Name(name) => bind(name),
        Expr::Tuple(items) | Expr::List(items) => items.iter().for_each(|&t| bound_by(body, t, bind)),
        Expr::Starred(inner) => bound_by(body, *inner, bind),
        _ => {}
    }
}

/// How many places of a body bind a name.
pub(crate) fn times_bound(body: &Body, name: &str) -> usize {
    let mut times = 0;
    let mut count = |bound: &SmolStr| times += usize::from(bound == name);
    for stmt in &body.stmts {
        match stmt {
            Stmt::Assign { targets, .. } => targets.iter().for_each(|&t| bound_by(body, t, &mut count)),
            Stmt::AugAssign { target, .. } | Stmt::AnnAssign { target, .. } | Stmt::For { target, .. } => {
                bound_by(body, *target, &mut count);
            }
            Stmt::With { items, .. } => items.iter().filter_map(|item| item.1).for_each(|t| bound_by(body, t, &mut count)),
            _ => {}
        }
    }
    for expr in &body.exprs {
        if let Expr::Named { name, .. } = expr {
            count(name);
        }
    }
    times
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
