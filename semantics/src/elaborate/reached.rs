//! How far an elaboration came.

use std::collections::BTreeMap;

use super::Elaborated;
use crate::{
    Db, Function,
    body::{ExprId, Stmt},
    items::{self, Node},
    problem::{At, Problem},
};

impl Elaborated {
    /// Whether it found a problem itself.
    pub(crate) fn has(&self, problem: &Problem) -> bool {
        self.problems.iter().any(|p| p.code == problem.code && p.place == problem.place)
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
