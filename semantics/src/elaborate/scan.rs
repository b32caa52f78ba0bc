//! What a statement list binds and where it returns, told from its form alone.
//!
//! **Invariant:** asks for too much rather than too little: compile-time branches that are not taken count too.

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use crate::{
    OrderedSet,
    body::{Body, Expr, ExprId, Stmt, StmtId},
};

/// What is asked again and again of one function's statements, found in one pass.
pub(super) struct Outline {
    /// The names that some `:=` of the body binds.
    walrus: Vec<SmolStr>,
    /// Each `if` that a `return` stands in, however deep.
    returning: FxHashSet<StmtId>,
    /// The first loop that stands in more others than Python takes.
    pub too_deep: Option<StmtId>,
}

/// Loops within one another that Python's own compiler takes.
pub(super) const MAX_NESTED_LOOPS: u32 = 20;

impl Outline {
    pub(super) fn new(body: &Body, stmts: &[StmtId]) -> Outline {
        let mut outline = Outline { walrus: Vec::new(), returning: FxHashSet::default(), too_deep: None };
        for expr in &body.exprs {
            if let Expr::Named { name, .. } = expr {
                outline.walrus.push(name.clone());
            }
        }
        // Of each `if`, the one around it; a loop between them hides what stands in it.
        let mut around: FxHashMap<StmtId, StmtId> = FxHashMap::default();
        let mut lists: Vec<(&[StmtId], Option<StmtId>, u32)> = vec![(stmts, None, 0)];
        while let Some((list, outer, loops)) = lists.pop() {
            for &id in list {
                match body.stmt(id) {
                    Stmt::Return(_) => {
                        let mut next = outer;
                        while let Some(id) = next {
                            next = if outline.returning.insert(id) { around.get(&id).copied() } else { None };
                        }
                    }
                    Stmt::If { then, otherwise, .. } => {
                        outer.map(|outer| around.insert(id, outer));
                        lists.extend([(then.as_slice(), Some(id), loops), (otherwise.as_slice(), Some(id), loops)]);
                    }
                    Stmt::For { body: inner, .. } | Stmt::While { body: inner, .. } => {
                        if loops < MAX_NESTED_LOOPS {
                            lists.push((inner, None, loops + 1));
                        } else {
                            outline.too_deep = Some(outline.too_deep.map_or(id, |first| first.min(id)));
                        }
                    }
                    _ => {}
                }
            }
        }
        outline
    }

    /// Whether a `return` stands in an `if`, compile-time branches that are not taken included.
    pub(super) fn returns(&self, branch: StmtId) -> bool {
        self.returning.contains(&branch)
    }

    /// Every name a statement list binds, nested lists included.
    pub(super) fn assigned_names(&self, body: &Body, stmts: &[StmtId]) -> OrderedSet<SmolStr> {
        let mut names = OrderedSet::default();
        bound_in(body, stmts, &mut names);
        // Any named expression of the body with one of these statements would do; binding too many is harmless.
        names.extend(self.walrus.iter().cloned());
        names
    }
}

fn bound_in(body: &Body, stmts: &[StmtId], names: &mut OrderedSet<SmolStr>) {
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
