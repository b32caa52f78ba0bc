//! What the statements of a module bind, before anybody asks what it means.
//!
//! **Invariant:** reads one file's statements alone, so imports in circles end; a name keeps everything it may be bound to, each with the
//! conditions it is bound under.

use std::{collections::BTreeSet, sync::Arc};

use indexmap::IndexMap;
use smol_str::SmolStr;

use super::{Chunk, chunk_body, chunk_count, chunks, lowered, module_blocks};
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

/// One way a name is bound.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Binding {
    pub conditions: Vec<Condition>,
    pub to: Bound,
}

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

/// A `def` of the module or of a class in it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Definition {
    pub name: SmolStr,
    pub chunk: usize,
    pub stmt: StmtId,
    /// Its place among the chunk's functions of that name.
    pub ordinal: usize,
    /// The class it is a member of.
    pub class: Option<StmtId>,
    pub is_conditional: bool,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Declared {
    /// Every way each name is bound, in the order of the text; one without conditions hides those before it.
    pub names: IndexMap<SmolStr, Vec<Binding>>,
    /// `from module import *`, relative if the number is not 0.
    pub stars: Vec<(u32, SmolStr)>,
    pub definitions: Vec<Definition>,
    /// Names whose values later statements change or decide: only running the module tells what they are.
    pub changes: BTreeSet<SmolStr>,
    /// `import triton`, wherever it stands.
    pub imports_triton: bool,
}

#[salsa::tracked(returns(ref))]
pub(crate) fn declared(db: &dyn Db, file: SourceFile) -> Declared {
    let mut out = Declared::default();
    for chunk in 0..chunk_count(db, file) {
        let Some(body) = chunk_body(db, file, chunk) else { continue };
        let mut reader = Reader {
            chunk,
            body: body.clone(),
            out: &mut out,
            ordinals: IndexMap::new(),
            conditions: vec![],
            repeats: 0,
            classes: vec![],
        };
        reader.block(&body.root);
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

struct Reader<'a> {
    chunk: usize,
    body: Arc<Body>,
    out: &'a mut Declared,
    ordinals: IndexMap<SmolStr, usize>,
    conditions: Vec<Condition>,
    /// Inside a loop: what is assigned here is not what the name means.
    repeats: usize,
    /// The classes around: their members are no names of the module.
    classes: Vec<StmtId>,
}

impl Reader<'_> {
    fn block(&mut self, stmts: &[StmtId]) {
        let body = self.body.clone();
        for &id in stmts {
            let stmt = body.stmt(id);
            match stmt {
                Stmt::Function(def) => self.function(id, def),
                Stmt::Class { name, .. } => self.bind(name, Bound::Class { chunk: self.chunk, stmt: id }),
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
                Stmt::Import { modules } => {
                    for import in modules {
                        let root = import.path.split('.').next().unwrap_or_default();
                        let (name, path) = match &import.alias {
                            Some(alias) => (alias.clone(), import.path.clone()),
                            None => (root.into(), root.into()),
                        };
                        self.bind(&name, Bound::Module(path));
                    }
                }
                Stmt::ImportFrom { level, module, names } => {
                    if names.is_empty() && self.classes.is_empty() {
                        self.out.stars.push((*level, module.clone()));
                    }
                    for import in names {
                        let name = import.alias.clone().unwrap_or_else(|| import.path.clone());
                        self.bind(&name, Bound::Member { level: *level, module: module.clone(), member: import.path.clone() });
                    }
                }
                _ => {}
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
                Stmt::Class { body: members, .. } => {
                    self.classes.push(id);
                    self.block(members);
                    self.classes.pop();
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
        self.conditions.push(Condition { chunk: self.chunk, expr, holds });
        self.block(block);
        self.conditions.pop();
    }

    fn target(&mut self, target: ExprId, value: Option<ExprId>) {
        let body = self.body.clone();
        match body.expr(target) {
            Expr::Name(name) => {
                let bound = match value {
                    Some(value) if self.repeats == 0 => Bound::Value { chunk: self.chunk, value },
                    _ => Bound::Opaque,
                };
                self.bind(name, bound);
            }
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

    fn bind(&mut self, name: &SmolStr, to: Bound) {
        if !self.classes.is_empty() {
            return;
        }
        if to == Bound::Opaque || !self.conditions.is_empty() && !matches!(to, Bound::Module(_) | Bound::Member { .. }) {
            self.out.changes.insert(name.clone());
        }
        let ways = self.out.names.entry(name.clone()).or_default();
        if self.conditions.is_empty() {
            ways.clear();
        }
        // A file that binds one name over and over is not understood better by keeping all of it.
        if ways.len() < 16 {
            ways.push(Binding { conditions: self.conditions.clone(), to });
        }
    }

    fn function(&mut self, stmt: StmtId, def: &FunctionDef) {
        let next = self.ordinals.entry(def.name.clone()).or_default();
        let ordinal = *next;
        *next += 1;
        let index = self.out.definitions.len();
        self.out.definitions.push(Definition {
            name: def.name.clone(),
            chunk: self.chunk,
            stmt,
            ordinal,
            class: self.classes.last().copied(),
            is_conditional: !self.conditions.is_empty(),
        });
        self.bind(&def.name, Bound::Definition(index));
    }
}
