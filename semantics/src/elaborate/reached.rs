//! How far an elaboration came.

use std::collections::BTreeMap;

use indexmap::IndexSet;

use super::Elaborated;
use crate::{
    Db, Function,
    body::{Expr, ExprId, Stmt},
    items::{self, Node},
    problem::{At, Problem},
    types::Ty,
};

impl Elaborated {
    /// Whether it found a problem itself.
    pub(crate) fn has(&self, problem: &Problem) -> bool {
        self.problems.iter().any(|p| p.code == problem.code && p.place == problem.place)
    }

    /// Whether it does not know the value at the place of a problem, as of one that an earlier mistake has spoiled.
    pub(crate) fn is_unknown_at(&self, problem: &Problem) -> bool {
        let (At::Expr(id) | At::Argument(id)) = problem.place.at else { return false };
        self.types.get(&problem.place.function).is_some_and(|types| types.get(id) == Some(&Ty::Unknown))
    }

    /// Whether it came to the place of a problem.
    pub(crate) fn reaches(&self, db: &dyn Db, problem: &Problem) -> bool {
        match problem.place.at {
            At::Expr(id) | At::Argument(id) => {
                let function = problem.place.function;
                self.has(problem)
                    || self.types.get(&function).is_some_and(|types| {
                        types.get(id).is_some()
                            || assigned_values(db, function).get(&id).is_some_and(|value| types.get(*value).is_some())
                    })
            }
            At::Stmt(_) | At::Param(_) | At::Name => true,
        }
    }
}

/// Whether elaborations of one function come, between them, to all of its statements, to those of what it calls, and to both arms of every condition
/// in them.
pub(crate) fn come_everywhere(db: &dyn Db, all: &[&Elaborated]) -> bool {
    let functions: IndexSet<Function> = all.iter().flat_map(|one| one.types.keys().copied()).collect();
    functions.into_iter().all(|function| {
        let seen: Vec<_> = all.iter().filter_map(|one| one.types.get(&function)).collect();
        landmarks(db, function).iter().all(|&expr| seen.iter().any(|types| types.get(expr).is_some()))
    })
}

/// One expression for each statement of a function that has one with a type, and those between which conditions choose.
#[salsa::tracked(returns(ref))]
fn landmarks(db: &dyn Db, function: Function) -> Vec<ExprId> {
    let mut out = Vec::new();
    let Some((body, stmt)) = items::function_body(db, function) else { return out };
    let Stmt::Function(def) = body.stmt(stmt) else { return out };
    items::walk(&body, &def.body, &mut |node| match node {
        Node::Stmt(id) => match body.stmt(id) {
            Stmt::Expr(value) if matches!(body.expr(*value), Expr::Str(_)) => {}
            Stmt::Expr(value) | Stmt::Assign { value, .. } | Stmt::AugAssign { value, .. } => out.push(*value),
            Stmt::AnnAssign { value, .. } | Stmt::Return(value) => out.extend(*value),
            Stmt::If { condition, .. } | Stmt::While { condition, .. } => out.push(*condition),
            // The range of a loop has no type; its body speaks for itself.
            _ => {}
        },
        Node::Expr(id) => {
            if let Expr::If { then, otherwise, .. } = body.expr(id) {
                out.extend([*then, *otherwise]);
            }
        }
    });
    out
}

/// The value that is assigned to each target of a function: targets have no types of their own.
#[salsa::tracked(returns(ref))]
fn assigned_values(db: &dyn Db, function: Function) -> BTreeMap<ExprId, ExprId> {
    let mut values = BTreeMap::new();
    let Some((body, stmt)) = items::function_body(db, function) else { return values };
    let Stmt::Function(def) = body.stmt(stmt) else { return values };
    items::walk(&body, &def.body, &mut |node| {
        if let Node::Stmt(id) = node {
            match body.stmt(id) {
                Stmt::Assign { targets, value } => values.extend(targets.iter().map(|target| (*target, *value))),
                Stmt::AugAssign { target, value, .. } => _ = values.insert(*target, *value),
                _ => {}
            }
        }
    });
    values
}
