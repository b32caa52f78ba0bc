//! What a decorator makes of a `def`.
//!
//! Decorators that a project defines itself are evaluated as far as this needs: which of them end in `triton.jit`. **Invariant:** asks
//! [`declared`](super::declare::declared) and the bodies of decorators, never [`items`](super::items), which asks it.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smol_str::{SmolStr, format_smolstr};

use super::{
    Node, chunk_body,
    declare::declared,
    names::{Folding, Meaning, meanings_at},
    walk,
};
use crate::{
    Db, SourceFile,
    body::{ArgKind, Body, Expr, ExprId, FunctionDef, Stmt, StmtId},
};

/// What a decorator does, as far as kernels are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DecoratorEffect {
    /// The function itself, or something around it that is not followed.
    Other,
    /// `triton.constexpr_function`
    ConstexprFunction,
    /// `triton.autotune`, `triton.heuristics`: of a kernel, the same kernel.
    Tuned,
    /// `triton.jit`, or `triton.jit` on one of its ways.
    Jit,
}

/// Decorators that call decorators.
const DEPTH: u32 = 8;

/// The decorators of one file. Most are a few names over and over, each of which may lead through several functions.
pub(super) struct Decorators<'db> {
    db: &'db dyn Db,
    file: SourceFile,
    /// By the name, and whether it is called.
    known: FxHashMap<(SmolStr, bool), DecoratorEffect>,
}

impl<'db> Decorators<'db> {
    pub(super) fn new(db: &'db dyn Db, file: SourceFile) -> Decorators<'db> {
        Decorators { db, file, known: FxHashMap::default() }
    }

    pub(super) fn makes(&mut self, body: &Body, expr: ExprId) -> DecoratorEffect {
        let (name, is_called) = match body.expr(expr) {
            Expr::Call { callee, .. } => (dotted(body, *callee), true),
            _ => (dotted(body, expr), false),
        };
        // What `partial` is called with decides.
        let Some(name) = name.filter(|name| !name.ends_with("partial")) else { return decorator(self.db, self.file, body, expr) };
        *self.known.entry((name, is_called)).or_insert_with(|| decorator(self.db, self.file, body, expr))
    }
}

/// `a.b.c` as it is written.
fn dotted(body: &Body, expr: ExprId) -> Option<SmolStr> {
    match body.expr(expr) {
        Expr::Name(name) => Some(name.clone()),
        Expr::Attribute { receiver, name } => Some(format_smolstr!("{}.{name}", dotted(body, *receiver)?)),
        _ => None,
    }
}

/// What a decorator of a `def` does.
fn decorator(db: &dyn Db, file: SourceFile, body: &Body, expr: ExprId) -> DecoratorEffect {
    Reader { db, file, body, function: None }.decorator(expr, DEPTH)
}

/// Whether calling an expression on a function compiles the function: `triton.jit`, `triton.jit(noinline=True)`, …
pub(crate) fn compiles(db: &dyn Db, file: SourceFile, body: &Body, expr: ExprId) -> bool {
    decorator(db, file, body, expr) == DecoratorEffect::Jit
}

pub(super) fn of_path(path: &str) -> DecoratorEffect {
    match path {
        "triton.jit" | "triton.runtime.jit" | "triton.runtime.jit.jit" => DecoratorEffect::Jit,
        "triton.constexpr_function" | "triton.language.constexpr_function" | "triton.runtime.jit.constexpr_function" => {
            DecoratorEffect::ConstexprFunction
        }
        _ if path.starts_with("triton.") && (path.ends_with(".autotune") || path.ends_with(".heuristics")) => {
            DecoratorEffect::Tuned
        }
        _ => DecoratorEffect::Other,
    }
}

/// Reads a decorator's expression, or the body of the function it is.
struct Reader<'a> {
    db: &'a dyn Db,
    file: SourceFile,
    body: &'a Body,
    /// The function whose local names count.
    function: Option<&'a FunctionDef>,
}

impl Reader<'_> {
    /// `@expr`
    fn decorator(&self, expr: ExprId, depth: u32) -> DecoratorEffect {
        let Some(depth) = depth.checked_sub(1) else { return DecoratorEffect::Other };
        match self.body.expr(expr) {
            Expr::Call { callee, args } => {
                let found = self.named(*callee);
                if let Some(Meaning::Path(path)) = &found {
                    return match (path.as_str(), args.first()) {
                        ("functools.partial", Some(first)) => self.decorator(first.value, depth),
                        _ => of_path(path),
                    };
                }
                // A function that makes a decorator.
                match self.local_or(*callee, found) {
                    Found::Local(def) => self.inside(def).makes(def, depth, Reader::decorator),
                    Found::Elsewhere(file, body, stmt) => match body.stmt(stmt) {
                        Stmt::Function(def) => {
                            Reader { db: self.db, file, body: &body, function: Some(def) }.makes(def, depth, Reader::decorator)
                        }
                        _ => DecoratorEffect::Other,
                    },
                    Found::Value(file, body, expr) => {
                        Reader { db: self.db, file, body: &body, function: None }.factory(expr, depth)
                    }
                    Found::Expr(expr) => self.factory(expr, depth),
                    Found::Nothing => DecoratorEffect::Other,
                }
            }
            Expr::Name(_) | Expr::Attribute { .. } => {
                let found = self.named(expr);
                if let Some(Meaning::Path(path)) = &found {
                    return of_path(path);
                }
                match self.local_or(expr, found) {
                    Found::Local(def) => self.inside(def).makes(def, depth, Reader::applied),
                    Found::Elsewhere(file, body, stmt) => match body.stmt(stmt) {
                        Stmt::Function(def) => {
                            Reader { db: self.db, file, body: &body, function: Some(def) }.makes(def, depth, Reader::applied)
                        }
                        _ => DecoratorEffect::Other,
                    },
                    Found::Value(file, body, expr) => {
                        Reader { db: self.db, file, body: &body, function: None }.decorator(expr, depth)
                    }
                    Found::Expr(expr) => self.decorator(expr, depth),
                    Found::Nothing => DecoratorEffect::Other,
                }
            }
            Expr::If { then, otherwise, .. } => self.decorator(*then, depth).max(self.decorator(*otherwise, depth)),
            Expr::Bool2 { lhs, rhs, .. } => self.decorator(*lhs, depth).max(self.decorator(*rhs, depth)),
            Expr::Lambda { body, .. } => self.applied(*body, depth),
            _ => DecoratorEffect::Other,
        }
    }

    /// What `expr(…)` decorates, where `expr` is bound to a value: a lambda, a choice.
    fn factory(&self, expr: ExprId, depth: u32) -> DecoratorEffect {
        let Some(depth) = depth.checked_sub(1) else { return DecoratorEffect::Other };
        match self.body.expr(expr) {
            Expr::Lambda { body, .. } => self.decorator(*body, depth),
            Expr::If { then, otherwise, .. } => self.factory(*then, depth).max(self.factory(*otherwise, depth)),
            Expr::Name(_) | Expr::Attribute { .. } => match self.named(expr) {
                Some(Meaning::Path(path)) => of_path(&path),
                _ => DecoratorEffect::Other,
            },
            Expr::Call { callee, args } => match (self.named(*callee), args.first()) {
                (Some(Meaning::Path(path)), Some(first)) if path == "functools.partial" => self.decorator(first.value, depth),
                _ => DecoratorEffect::Other,
            },
            _ => DecoratorEffect::Other,
        }
    }

    /// What a decorator's result is: `triton.jit(fn)`, `fn`, a wrapper.
    fn applied(&self, expr: ExprId, depth: u32) -> DecoratorEffect {
        let Some(depth) = depth.checked_sub(1) else { return DecoratorEffect::Other };
        match self.body.expr(expr) {
            Expr::Call { callee, args } if args.iter().any(|a| a.kind == ArgKind::Positional) => {
                // `libentry(triton.jit(fn))`
                let inner = args.iter().filter(|a| a.kind == ArgKind::Positional).map(|a| self.applied(a.value, depth));
                inner.fold(self.decorator(*callee, depth), DecoratorEffect::max)
            }
            Expr::Name(name) => match self.function.and_then(|f| local(self.body, f, name)) {
                Some(Local::Function(def)) => self.inside(def).makes(def, depth, Reader::applied),
                Some(Local::Value(value)) if value != expr => self.applied(value, depth),
                _ => DecoratorEffect::Other,
            },
            Expr::If { then, otherwise, .. } => self.applied(*then, depth).max(self.applied(*otherwise, depth)),
            _ => DecoratorEffect::Other,
        }
    }

    fn inside<'b>(&'b self, def: &'b FunctionDef) -> Reader<'b> {
        Reader { db: self.db, file: self.file, body: self.body, function: Some(def) }
    }

    /// Over everything a function returns.
    fn makes(&self, def: &FunctionDef, depth: u32, of: impl Fn(&Self, ExprId, u32) -> DecoratorEffect) -> DecoratorEffect {
        let mut out = DecoratorEffect::Other;
        returns(self.body, &def.body, &mut |value| out = out.max(of(self, value, depth)));
        out
    }

    fn named(&self, expr: ExprId) -> Option<Meaning> {
        // A function's own names hide the module's.
        if let (Expr::Name(name), Some(function)) = (self.body.expr(expr), self.function)
            && (function.params.iter().any(|p| p.name == *name) || local(self.body, function, name).is_some())
        {
            return None;
        }
        let found = meanings_at::<Folding>(self.db, self.file, self.body, expr, None);
        let jit = found.iter().find(|m| matches!(m, Meaning::Path(p) if of_path(p) != DecoratorEffect::Other));
        jit.or(found.first()).cloned()
    }

    fn local_or<'b>(&'b self, expr: ExprId, meaning: Option<Meaning>) -> Found<'b> {
        if let (Expr::Name(name), Some(function)) = (self.body.expr(expr), self.function) {
            match local(self.body, function, name) {
                Some(Local::Function(def)) => return Found::Local(def),
                Some(Local::Value(value)) if value != expr => return Found::Expr(value),
                _ => {}
            }
        }
        match meaning {
            Some(Meaning::Definition(file, index)) => {
                let found = declared(self.db, file).definitions.get(index);
                match found.and_then(|d| Some((chunk_body(self.db, file, d.chunk)?, d.stmt))) {
                    Some((body, stmt)) => Found::Elsewhere(file, body, stmt),
                    None => Found::Nothing,
                }
            }
            Some(Meaning::Value(file, chunk, value)) => match chunk_body(self.db, file, chunk) {
                Some(body) => Found::Value(file, body, value),
                None => Found::Nothing,
            },
            _ => Found::Nothing,
        }
    }
}

enum Found<'a> {
    Local(&'a FunctionDef),
    Expr(ExprId),
    Elsewhere(SourceFile, Arc<Body>, StmtId),
    Value(SourceFile, Arc<Body>, ExprId),
    Nothing,
}

enum Local<'a> {
    Function(&'a FunctionDef),
    Value(ExprId),
}

/// What a name is bound to in a function: the last of its bindings.
fn local<'a>(body: &'a Body, function: &FunctionDef, name: &str) -> Option<Local<'a>> {
    let mut found = None;
    walk(body, &function.body, &mut |node| {
        let Node::Stmt(id) = node else { return };
        match body.stmt(id) {
            Stmt::Function(def) if def.name == name => found = Some(Local::Function(def)),
            Stmt::Assign { targets, value } if targets.iter().any(|&t| matches!(body.expr(t), Expr::Name(n) if n == name)) => {
                found = Some(Local::Value(*value));
            }
            _ => {}
        }
    });
    found
}

/// The values that a block returns, without those of functions inside it.
fn returns(body: &Body, stmts: &[StmtId], visit: &mut dyn FnMut(ExprId)) {
    for &id in stmts {
        let stmt = body.stmt(id);
        if let Stmt::Return(Some(value)) = stmt {
            visit(*value);
        }
        if !matches!(stmt, Stmt::Class { .. }) {
            super::module_blocks(stmt).into_iter().for_each(|block| returns(body, block, visit));
        }
    }
}
