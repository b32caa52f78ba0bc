//! What the functions around a function bind: its closure.
//!
//! **Invariant:** as Python resolves names: the innermost function that binds one anywhere decides, classes in between do not count; what a
//! function binds is asked of its statements alone.

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::{
    Node, chunk_body,
    declare::{Bound, bound_by_import, declared},
    walk_own,
};
use crate::{
    Db, SourceFile,
    body::{Body, Expr, ExprId, Stmt, StmtId},
};

/// A name that a function around another binds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Enclosing<'db> {
    /// The function that binds it: an index into the file's definitions.
    pub function: usize,
    /// Everything it is bound to, in the order of the text; a parameter first, as [`Bound::Opaque`].
    pub all: &'db [Bound],
}

impl<'db> Enclosing<'db> {
    /// What it stands for whenever it is read; `None` where that is one of several.
    pub(crate) fn only(&self) -> Option<&'db Bound> {
        if let [only] = self.all { Some(only) } else { None }
    }
}

/// What a name is to statements of a function, where it or one around it binds the name; `None`: the module decides.
pub(crate) fn enclosing<'db>(
    db: &'db dyn Db,
    file: SourceFile,
    mut function: Option<usize>,
    name: &str,
) -> Option<Enclosing<'db>> {
    while let Some(index) = function {
        if let Some(all) = locals(db, file, index).get(name) {
            return Some(Enclosing { function: index, all });
        }
        function = declared(db, file).definitions.get(index)?.outer;
    }
    None
}

/// Every way that a function binds its own names.
#[salsa::tracked(returns(ref))]
fn locals(db: &dyn Db, file: SourceFile, function: usize) -> FxHashMap<SmolStr, Vec<Bound>> {
    let mut out = FxHashMap::default();
    let Some(definition) = declared(db, file).definitions.get(function) else { return out };
    let Some(body) = chunk_body(db, file, definition.chunk) else { return out };
    let Stmt::Function(def) = body.stmt(definition.stmt) else { return out };
    let mut locals = Locals { chunk: definition.chunk, body: &body, out: &mut out };
    def.params.iter().for_each(|param| locals.bind(&param.name, Bound::Opaque));
    let mut shares_names = false;
    walk_own(&body, &def.body, &mut |node| match node {
        Node::Stmt(id) => {
            locals.stmt(id, |stmt| declared(db, file).definition_at.get(&(definition.chunk, stmt)).copied());
            shares_names |= matches!(body.stmt(id), Stmt::Other { keyword: "global" | "nonlocal", .. });
        }
        Node::Expr(id) => {
            if let Expr::Named { name, .. } = body.expr(id) {
                locals.bind(name, Bound::Opaque);
            }
        }
    });
    // Which of its names are others', or are changed by functions inside it, is not followed.
    let inner_shares = || body.stmts.iter().any(|stmt| matches!(stmt, Stmt::Other { keyword: "nonlocal", .. }));
    if shares_names || inner_shares() {
        for all in out.values_mut().filter(|all| matches!(all[..], [Bound::Value { .. }])) {
            all.push(Bound::Opaque);
        }
    }
    out
}

struct Locals<'a> {
    chunk: usize,
    body: &'a Body,
    out: &'a mut FxHashMap<SmolStr, Vec<Bound>>,
}

impl Locals<'_> {
    fn bind(&mut self, name: &SmolStr, to: Bound) {
        self.out.entry(name.clone()).or_default().push(to);
    }

    fn stmt(&mut self, id: StmtId, definition: impl FnOnce(StmtId) -> Option<usize>) {
        let chunk = self.chunk;
        match self.body.stmt(id) {
            Stmt::Function(def) => self.bind(&def.name, definition(id).map_or(Bound::Opaque, Bound::Definition)),
            Stmt::Class { name, .. } => self.bind(name, Bound::Class { chunk, stmt: id }),
            Stmt::Assign { targets, value } => targets.iter().for_each(|&target| self.target(target, Some(*value))),
            Stmt::AnnAssign { target, value: Some(value), .. } => self.target(*target, Some(*value)),
            Stmt::AugAssign { target, .. } | Stmt::For { target, .. } => self.target(*target, None),
            Stmt::With { items, .. } => items.iter().filter_map(|item| item.1).for_each(|target| self.target(target, None)),
            stmt => bound_by_import(stmt, &mut |name, bound| self.bind(name, bound)),
        }
    }

    fn target(&mut self, target: ExprId, value: Option<ExprId>) {
        match self.body.expr(target) {
            Expr::Name(name) => {
                self.bind(name, value.map_or(Bound::Opaque, |value| Bound::Value { chunk: self.chunk, value }));
            }
            Expr::Tuple(items) | Expr::List(items) => items.iter().for_each(|&item| self.target(item, None)),
            Expr::Starred(inner) => self.target(*inner, None),
            _ => {}
        }
    }
}
