//! What the statements of a module bind, before anybody asks what it means.
//!
//! **Invariant:** reads one file's statements alone, so imports in circles end; a name keeps everything it is bound to in the order of the
//! text, each with the conditions it is bound under, and every value has its time, so what it reads is what was bound before it.

use std::{collections::BTreeSet, sync::Arc};

use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::{Chunk, Node, chunk_body, chunk_count, chunks, lowered, module_blocks, walk_expr};
use crate::{
    Db, SourceFile,
    body::{Body, Expr, ExprId, FunctionDef, Stmt, StmtId},
};

/// A condition of a module-level `if`, or the `except` of a `try`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Condition {
    pub chunk: usize,
    /// `None`: what runs when a `try` failed.
    pub expr: Option<ExprId>,
    pub holds: bool,
}

/// A condition inside others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Branch {
    pub condition: Condition,
    /// The branch around it: an index into [`Declared::branches`].
    pub outer: Option<usize>,
    /// As [`Evaluated::height`].
    height: u32,
}

/// One way a name is bound.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Binding {
    /// The innermost condition that it stands under: an index into [`Declared::branches`].
    pub branch: Option<usize>,
    pub to: Bound,
    /// When the module's statements get to it.
    time: u32,
    /// The binding of the same name, by index, that hides those before it; its own index where it is without conditions.
    hides_before: usize,
    /// As [`Evaluated::height`].
    height: u32,
}

/// When a value or a condition of the module is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Evaluated {
    pub time: u32,
    /// The class whose members it sees.
    pub class: Option<StmtId>,
    /// Values of this file that must be known first, one after the other.
    pub height: u32,
}

/// Values that hang on one another in a row before the last is unknown: each is a query that waits for the one before it.
pub(crate) const MAX_VALUE_HEIGHT: u32 = 256;

/// Ways to bind a name that are told apart: a file that binds it over and over is not understood better by following all of them.
const MAX_WAYS: usize = 16;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Bound {
    /// `import a.b as name`; without an alias, `import a.b` binds `a`.
    Module(SmolStr),
    /// `from module import member`; relative if `level > 0`.
    Member {
        level: u32,
        module: SmolStr,
        member: SmolStr,
    },
    /// A `def`: an index into [`Declared::definitions`].
    Definition(usize),
    Class {
        chunk: usize,
        stmt: StmtId,
    },
    /// `name = value`
    Value {
        chunk: usize,
        value: ExprId,
    },
    /// Bound in a way that is not followed: a loop's variable, an unpacked tuple, `+=`.
    Opaque,
}

/// A `def`, wherever it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Definition {
    pub name: SmolStr,
    pub chunk: usize,
    pub stmt: StmtId,
    /// Its place among the chunk's functions.
    pub nth: usize,
    /// The class it is a member of.
    pub class: Option<StmtId>,
    /// The function it is in: an index into [`Declared::definitions`].
    pub outer: Option<usize>,
    pub is_conditional: bool,
    /// The innermost condition of the module that it stands under: an index into [`Declared::branches`].
    pub branch: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Declared {
    /// Every way each name is bound, in the order of the text.
    pub names: IndexMap<SmolStr, Vec<Binding>>,
    pub branches: Vec<Branch>,
    /// The values that names and members of classes are bound to, and the conditions of branches, by chunk and expression.
    pub evaluated: FxHashMap<(usize, ExprId), Evaluated>,
    /// `from module import *`, relative if the number is not 0.
    pub stars: Vec<(u32, SmolStr)>,
    pub definitions: Vec<Definition>,
    /// Indices into `definitions` by chunk and statement.
    pub definition_at: FxHashMap<(usize, StmtId), usize>,
    /// Names whose values later statements change or decide: only running the module tells what they are.
    pub changes: BTreeSet<SmolStr>,
    /// `import triton`, wherever it stands.
    pub imports_triton: bool,
}

impl Declared {
    /// How many of a name's bindings come before a time.
    pub(crate) fn bound_before(&self, name: &str, time: u32) -> usize {
        self.names.get(name).map_or(0, |all| all.partition_point(|binding| binding.time < time))
    }

    /// What a name may be bound to after the first `count` of its bindings, or after all.
    pub(crate) fn ways(&self, name: &str, count: Option<usize>) -> &[Binding] {
        let Some(all) = self.names.get(name) else { return &[] };
        let all = &all[..count.map_or(all.len(), |n| n.min(all.len()))];
        let Some(last) = all.last() else { return &[] };
        let ways = &all[last.hides_before..];
        &ways[..ways.len().min(MAX_WAYS)]
    }

    /// The conditions around a branch, from itself outwards.
    pub(crate) fn conditions(&self, branch: Option<usize>) -> impl Iterator<Item = Condition> {
        std::iter::successors(branch, |&branch| self.branches[branch].outer).map(|branch| self.branches[branch].condition)
    }

    /// The first value that too many others come before.
    pub(crate) fn too_high(&self) -> Option<(usize, ExprId)> {
        let high = self.evaluated.iter().filter(|(_, e)| e.height > MAX_VALUE_HEIGHT);
        high.min_by_key(|(_, e)| e.time).map(|(place, _)| *place)
    }
}

#[salsa::tracked(returns(ref))]
pub(crate) fn declared(db: &dyn Db, file: SourceFile) -> Declared {
    let mut out = Declared::default();
    let mut time = 0;
    for chunk in 0..chunk_count(db, file) {
        db.unwind_if_revision_cancelled();
        let Some(body) = chunk_body(db, file, chunk) else { continue };
        let mut reader = Reader {
            chunk,
            functions: body.functions().collect(),
            body: body.clone(),
            out: &mut out,
            time,
            branch: None,
            repeats: 0,
            classes: vec![],
        };
        reader.block(&body.root);
        time = reader.time;
    }
    out.imports_triton = chunks(db, file).iter().any(|(_, chunk)| imports_triton(db, *chunk));
    out
}

/// The name that a file gives to a value.
pub(crate) fn name_of_value(db: &dyn Db, file: SourceFile, chunk: usize, value: ExprId) -> Option<&SmolStr> {
    let bound = Bound::Value { chunk, value };
    declared(db, file).names.iter().find(|(_, ways)| ways.iter().any(|way| way.to == bound)).map(|(name, _)| name)
}

/// Imports inside functions count too. By chunk, so that a keystroke walks one of them.
#[salsa::tracked(returns(copy))]
fn imports_triton<'db>(db: &'db dyn Db, chunk: Chunk<'db>) -> bool {
    let is_triton = |path: &str| path.split('.').next() == Some("triton");
    lowered(db, chunk).body.stmts.iter().any(|stmt| match stmt {
        Stmt::Import { modules } => modules.iter().any(|m| is_triton(&m.path)),
        Stmt::ImportFrom { level: 0, module, .. } => is_triton(module),
        _ => false,
    })
}

/// What an import binds, name by name.
pub(super) fn bound_by_import(stmt: &Stmt, bind: &mut dyn FnMut(&SmolStr, Bound)) {
    match stmt {
        Stmt::Import { modules } => {
            for import in modules {
                let root = || import.path.split('.').next().unwrap_or_default().into();
                let (name, path) = match &import.alias {
                    Some(alias) => (alias.clone(), import.path.clone()),
                    None => (root(), root()),
                };
                bind(&name, Bound::Module(path));
            }
        }
        Stmt::ImportFrom { level, module, names } => {
            for import in names {
                let member = import.path.clone();
                let name = import.alias.as_ref().unwrap_or(&import.path);
                bind(name, Bound::Member { level: *level, module: module.clone(), member });
            }
        }
        _ => {}
    }
}

struct Reader<'a> {
    chunk: usize,
    body: Arc<Body>,
    /// Those of the chunk, in order.
    functions: Vec<StmtId>,
    out: &'a mut Declared,
    /// Counts statements.
    time: u32,
    branch: Option<usize>,
    /// Inside a loop: what is assigned here is not what the name means.
    repeats: usize,
    /// The classes around, with the heights of their members so far: these are no names of the module.
    classes: Vec<(StmtId, FxHashMap<SmolStr, u32>)>,
}

impl Reader<'_> {
    fn block(&mut self, stmts: &[StmtId]) {
        let body = self.body.clone();
        for &id in stmts {
            let stmt = body.stmt(id);
            self.time += 1;
            match stmt {
                Stmt::Function(def) => self.function(id, def),
                Stmt::Assign { targets, value } => targets.iter().for_each(|&t| self.target(t, Some(*value))),
                Stmt::AnnAssign { target, value: Some(value), .. } => self.target(*target, Some(*value)),
                // A declaration binds nothing, but somebody will.
                Stmt::AnnAssign { target, value: None, .. } => {
                    if let Expr::Name(name) = body.expr(*target)
                        && !self.out.names.contains_key(name)
                    {
                        self.target(*target, None);
                    }
                }
                Stmt::AugAssign { target, .. } | Stmt::For { target, .. } => self.target(*target, None),
                // `configs.append(…)`
                Stmt::Expr(e) => {
                    if let Expr::Call { callee, .. } = body.expr(*e)
                        && let Expr::Attribute { receiver, .. } = body.expr(*callee)
                        && let Expr::Name(name) = body.expr(*receiver)
                    {
                        self.out.changes.insert(name.clone());
                    }
                }
                Stmt::With { items, .. } => items.iter().filter_map(|i| i.1).for_each(|t| self.target(t, None)),
                Stmt::ImportFrom { level, module, names } if names.is_empty() && self.classes.is_empty() => {
                    self.out.stars.push((*level, module.clone()));
                }
                _ => bound_by_import(stmt, &mut |name, bound| self.bind(name, bound, 0)),
            }
            match stmt {
                Stmt::If { condition, then, otherwise } => {
                    self.under(Some(*condition), true, then);
                    self.under(Some(*condition), false, otherwise);
                }
                Stmt::Try { body: inner, handlers, otherwise, finally } => {
                    [inner, otherwise, finally].into_iter().for_each(|block| self.under(None, true, block));
                    handlers.iter().for_each(|h| self.under(None, false, &h.1));
                }
                Stmt::Other { keyword: "match", body: inner, .. } => self.under(None, true, inner),
                // The name is bound when the members are.
                Stmt::Class { name, body: members, .. } => {
                    self.classes.push((id, FxHashMap::default()));
                    self.block(members);
                    let height = self.classes.pop().and_then(|(_, members)| members.into_values().max()).unwrap_or(0);
                    self.time += 1;
                    self.bind(name, Bound::Class { chunk: self.chunk, stmt: id }, height);
                }
                Stmt::For { .. } | Stmt::While { .. } => {
                    self.repeats += 1;
                    module_blocks(stmt).into_iter().for_each(|block| self.block(block));
                    self.repeats -= 1;
                }
                _ => module_blocks(stmt).into_iter().for_each(|block| self.block(block)),
            }
        }
    }

    fn under(&mut self, expr: Option<ExprId>, holds: bool, block: &[StmtId]) {
        if block.is_empty() {
            return;
        }
        let outer = self.branch;
        let around = outer.map_or(0, |b| self.out.branches[b].height);
        // Both branches have the condition's time: what the first binds, it does not see.
        let evaluated = expr.map(|expr| {
            let height = self.height_of(expr);
            let found = Evaluated { time: self.time, class: self.classes.last().map(|c| c.0), height };
            *self.out.evaluated.entry((self.chunk, expr)).or_insert(found)
        });
        let height = evaluated.map_or(0, |e| e.height).max(around);
        self.branch = Some(self.out.branches.len());
        self.out.branches.push(Branch { condition: Condition { chunk: self.chunk, expr, holds }, outer, height });
        self.block(block);
        self.branch = outer;
    }

    /// How many values come one after the other before an expression's.
    fn height_of(&self, expr: ExprId) -> u32 {
        let mut height = 0;
        walk_expr(&self.body, expr, &mut |node| {
            let Node::Expr(id) = node else { return };
            let Expr::Name(name) = self.body.expr(id) else { return };
            let member = self.classes.last().and_then(|(_, members)| members.get(name)).copied();
            let global = || self.out.ways(name, None).iter().map(|way| way.height).max();
            height = height.max(member.or_else(global).unwrap_or(0) + 1);
        });
        height
    }

    fn target(&mut self, target: ExprId, value: Option<ExprId>) {
        let body = self.body.clone();
        match body.expr(target) {
            Expr::Name(name) => match value {
                Some(value) if self.repeats == 0 => {
                    let found =
                        Evaluated { time: self.time, class: self.classes.last().map(|c| c.0), height: self.height_of(value) };
                    let height = self.out.evaluated.entry((self.chunk, value)).or_insert(found).height;
                    self.bind(name, Bound::Value { chunk: self.chunk, value }, height);
                }
                _ => self.bind(name, Bound::Opaque, 0),
            },
            Expr::Subscript { receiver, .. } => {
                if let Expr::Name(name) = body.expr(*receiver) {
                    self.out.changes.insert(name.clone());
                }
            }
            Expr::Tuple(items) | Expr::List(items) => items.iter().for_each(|&t| self.target(t, None)),
            Expr::Starred(inner) => self.target(*inner, None),
            _ => {}
        }
    }

    fn bind(&mut self, name: &SmolStr, to: Bound, height: u32) {
        if let Some((_, members)) = self.classes.last_mut() {
            members.insert(name.clone(), height);
            return;
        }
        let is_import = matches!(to, Bound::Module(_) | Bound::Member { .. });
        let all = self.out.names.entry(name.clone()).or_default();
        // What is bound again, by its old value or not, is followed from statement to statement.
        if to == Bound::Opaque || !is_import && (self.branch.is_some() || !all.is_empty()) {
            self.out.changes.insert(name.clone());
        }
        let index = all.len();
        let hides_before = match self.branch {
            Some(_) => all.last().map_or(index, |before| before.hides_before),
            None => index,
        };
        let around = self.branch.map_or(0, |b| self.out.branches[b].height);
        all.push(Binding { branch: self.branch, to, time: self.time, hides_before, height: height.max(around) });
    }

    fn function(&mut self, stmt: StmtId, def: &FunctionDef) {
        let class = self.classes.last().map(|c| c.0);
        let index = self.definition(stmt, def, class, None, self.branch.is_some());
        self.bind(&def.name, Bound::Definition(index), 0);
        self.inner(index, &def.body, None, false);
    }

    /// The functions inside a function: none of their names is the module's.
    fn inner(&mut self, outer: usize, stmts: &[StmtId], class: Option<StmtId>, is_conditional: bool) {
        let body = self.body.clone();
        for &id in stmts {
            match body.stmt(id) {
                Stmt::Function(def) => {
                    let index = self.definition(id, def, class, Some(outer), is_conditional);
                    stacker::maybe_grow(128 << 10, 2 << 20, || self.inner(index, &def.body, None, false));
                }
                Stmt::Class { body: members, .. } => self.inner(outer, members, Some(id), is_conditional),
                stmt => {
                    let is_conditional = is_conditional || decides(stmt);
                    for block in module_blocks(stmt) {
                        stacker::maybe_grow(128 << 10, 2 << 20, || self.inner(outer, block, class, is_conditional));
                    }
                }
            }
        }
    }

    fn definition(
        &mut self,
        stmt: StmtId,
        def: &FunctionDef,
        class: Option<StmtId>,
        outer: Option<usize>,
        is_conditional: bool,
    ) -> usize {
        let index = self.out.definitions.len();
        self.out.definition_at.insert((self.chunk, stmt), index);
        self.out.definitions.push(Definition {
            name: def.name.clone(),
            chunk: self.chunk,
            stmt,
            nth: self.functions.binary_search(&stmt).unwrap_or(0),
            class,
            outer,
            is_conditional,
            branch: self.branch,
        });
        index
    }
}

/// Whether a statement decides if its blocks run.
pub(super) fn decides(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::If { .. } | Stmt::Try { .. } | Stmt::While { .. } | Stmt::Other { keyword: "match", .. })
}
