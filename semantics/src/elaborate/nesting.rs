//! How deep calls nest below a function, told from the names its body mentions.
//!
//! A call that cannot lead back to its function needs no count of the calls above it, so all calls with equal arguments are one query
//! ([`super::Call`]). **Invariant:** what is called without a function among its arguments is mentioned by the body that calls it, so
//! a function that [`Nesting::recursive`] denies stands at most once among such calls in a row.

use std::collections::hash_map::Entry;

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use super::names;
use crate::{
    Db, Function,
    body::{Body, Expr, ExprId, ParamKind},
    constant::Const,
    globals::{self, Global},
    items::{self, Node},
};

/// Calls within calls that are followed. Triton's own walk ends at Python's recursion limit, some 70 calls deep.
pub(super) const MAX_CALL_DEPTH: u32 = 64;

/// What a function's calls may lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Nesting {
    /// It may be called again before it has returned.
    pub recursive: bool,
    /// Calls below it, at most [`MAX_CALL_DEPTH`] + 1; recursive ones are counted once.
    pub depth: u32,
}

/// The functions that a body mentions, called or not.
#[salsa::tracked(returns(ref))]
fn mentions(db: &dyn Db, function: Function) -> Vec<Function> {
    let Some((body, stmt)) = names::function_body(db, function) else { return vec![] };
    let Some(def) = names::definition(&body, stmt) else { return vec![] };
    let mut found = Vec::new();
    // A name means the same at each of its uses, and of members only those of a module of the workspace are functions.
    let mut is_module: FxHashMap<&SmolStr, bool> = FxHashMap::default();
    let mut members = Vec::new();
    let mut visit = |node: Node| {
        let Node::Expr(expr) = node else { return };
        match body.expr(expr) {
            Expr::Name(name) => {
                if let Entry::Vacant(unknown) = is_module.entry(name) {
                    let global = globals::name_in(db, function, name.clone());
                    unknown.insert(matches!(global, Some(Global::File(_))));
                    global.into_iter().for_each(|global| add_functions(db, &global, &mut found));
                }
            }
            Expr::Attribute { .. } => members.push(expr),
            _ => {}
        }
    };
    items::walk(&body, &def.body, &mut visit);
    for param in def.params.iter().filter(|p| p.kind != ParamKind::Rest) {
        param.default.into_iter().for_each(|default| items::walk_expr(&body, default, &mut visit));
    }
    for member in members {
        if root(&body, member).is_some_and(|name| is_module.get(name) == Some(&true))
            && let Some(global) = meaning(db, function, &body, member)
        {
            add_functions(db, &global, &mut found);
        }
    }
    let mut seen = FxHashSet::default();
    found.retain(|&f| seen.insert(f));
    found
}

/// The name that `a.b.c` begins with.
fn root(body: &Body, mut expr: ExprId) -> Option<&SmolStr> {
    while let Expr::Attribute { receiver, .. } = body.expr(expr) {
        expr = *receiver;
    }
    if let Expr::Name(name) = body.expr(expr) { Some(name) } else { None }
}

/// What a name, or a member of a module of the workspace, stands for.
fn meaning(db: &dyn Db, function: Function, body: &Body, expr: ExprId) -> Option<Global> {
    match body.expr(expr) {
        Expr::Name(name) => globals::name_in(db, function, name.clone()),
        Expr::Attribute { receiver, name } => match meaning(db, function, body, *receiver)? {
            Global::File(module) => Some(globals::member_of_file(db, module, name)),
            _ => None,
        },
        _ => None,
    }
}

fn add_functions(db: &dyn Db, global: &Global, found: &mut Vec<Function>) {
    match global {
        Global::Function(function) => {
            found.push(*function);
            found.extend(globals::alternatives(db, *function));
        }
        Global::Constexpr(value) => add_constants(value, found),
        Global::Record(class) => found.extend(&class.methods),
        _ => {}
    }
}

fn add_constants(value: &Const, found: &mut Vec<Function>) {
    match value {
        Const::Function(function) => found.push(*function),
        Const::Tuple(items) => items.iter().for_each(|item| add_constants(item, found)),
        _ => {}
    }
}

/// What lies below a function: a walk in depth over what is mentioned, without recursion of its own.
#[salsa::tracked]
pub(super) fn nesting(db: &dyn Db, function: Function) -> Nesting {
    let mut recursive = false;
    let mut finished: FxHashMap<Function, u32> = FxHashMap::default();
    // Each with the mentions still to be followed, and the deepest so far.
    let mut path: Vec<(Function, std::slice::Iter<'_, Function>, u32)> = vec![(function, mentions(db, function).iter(), 0)];
    let mut open: FxHashSet<Function> = FxHashSet::from_iter([function]);
    loop {
        let height = path.len();
        let Some((here, left, depth)) = path.last_mut() else { return Nesting { recursive, depth: finished[&function] } };
        let Some(&next) = left.next() else {
            let (here, depth) = (*here, *depth);
            path.pop();
            open.remove(&here);
            finished.insert(here, depth);
            if let Some((_, _, above)) = path.last_mut() {
                *above = (*above).max((depth + 1).min(MAX_CALL_DEPTH + 1));
            }
            continue;
        };
        recursive |= next == function;
        if open.contains(&next) {
            continue;
        }
        if let Some(known) = finished.get(&next) {
            *depth = (*depth).max((known + 1).min(MAX_CALL_DEPTH + 1));
        } else if height > MAX_CALL_DEPTH as usize {
            // Deeper than anybody follows.
            return Nesting { recursive, depth: MAX_CALL_DEPTH + 1 };
        } else {
            db.unwind_if_revision_cancelled();
            open.insert(next);
            path.push((next, mentions(db, next).iter(), 0));
        }
    }
}
