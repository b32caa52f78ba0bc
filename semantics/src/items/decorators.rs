//! What a decorator makes of a `def`.
//!
//! Decorators that a project defines itself are evaluated as far as this needs: which of them end in `triton.jit`. **Invariant:** asks
//! [`declared`](super::declare::declared) and the bodies of decorators, never [`items`](super::items), which asks it.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smol_str::{SmolStr, format_smolstr};

use super::{
    chunk_body,
    declare::{Bound, Definition, declared},
    enclosing::enclosing,
    names::{Folding, Meaning, imported, meanings_at},
};
use crate::{
    Db, SourceFile,
    body::{ArgKind, Body, Expr, ExprId, Stmt, StmtId},
};

/// What a decorator does, as far as kernels are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DecoratorEffect {
    /// The function itself, or something around it that is not followed.
    Other,
    /// `triton.must_use_result`: the function itself.
    Same,
    /// `triton.constexpr_function`
    ConstexprFunction,
    /// `triton.autotune`, `triton.heuristics`: of a kernel, the same kernel.
    Tuned,
    /// `gluon.jit`: a kernel of another language.
    Gluon,
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

    /// What each decorator of a `def` does.
    pub(super) fn of_definition(&mut self, definition: &Definition) -> Vec<DecoratorEffect> {
        let Some(body) = chunk_body(self.db, self.file, definition.chunk) else { return vec![] };
        let Stmt::Function(def) = body.stmt(definition.stmt) else { return vec![] };
        def.decorators.iter().map(|&d| self.makes(&body, d, definition.outer)).collect()
    }

    /// Of a function inside the definition `outer`.
    fn makes(&mut self, body: &Body, expr: ExprId, outer: Option<usize>) -> DecoratorEffect {
        let (name, is_called) = match body.expr(expr) {
            Expr::Call { callee, .. } => (dotted(body, *callee), true),
            _ => (dotted(body, expr), false),
        };
        let is_own = |name: &str| enclosing(self.db, self.file, outer, name.split('.').next().unwrap_or(name)).is_some();
        // What `partial` is called with decides, or what a function around binds.
        let Some(name) = name.filter(|name| !name.ends_with("partial") && !is_own(name)) else {
            return decorator(self.db, self.file, body, expr, outer);
        };
        *self.known.entry((name, is_called)).or_insert_with(|| decorator(self.db, self.file, body, expr, None))
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

/// What a decorator of a `def` does, or a callee in the definition `outer`.
fn decorator(db: &dyn Db, file: SourceFile, body: &Body, expr: ExprId, outer: Option<usize>) -> DecoratorEffect {
    Reader { db, file, body, function: outer }.decorator(expr, DEPTH)
}

/// Whether calling an expression on a function compiles the function: `triton.jit`, `triton.jit(noinline=True)`, …
pub(crate) fn compiles(db: &dyn Db, file: SourceFile, body: &Body, expr: ExprId, outer: Option<usize>) -> bool {
    decorator(db, file, body, expr, outer) == DecoratorEffect::Jit
}

pub(super) fn of_path(path: &str) -> DecoratorEffect {
    match path {
        "triton.jit" | "triton.runtime.jit" | "triton.runtime.jit.jit" => DecoratorEffect::Jit,
        "triton.must_use_result" | "triton.language.core.must_use_result" => DecoratorEffect::Same,
        "triton.constexpr_function" | "triton.language.constexpr_function" | "triton.runtime.jit.constexpr_function" => {
            DecoratorEffect::ConstexprFunction
        }
        "triton.experimental.gluon.jit" | "triton.experimental.gluon._runtime.jit" => DecoratorEffect::Gluon,
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
    /// The function whose local names count, with those of the functions around it: an index into the file's definitions.
    function: Option<usize>,
}

impl Reader<'_> {
    /// `@expr`
    fn decorator(&self, expr: ExprId, depth: u32) -> DecoratorEffect {
        let Some(depth) = depth.checked_sub(1) else { return DecoratorEffect::Other };
        match self.body.expr(expr) {
            Expr::Call { callee, args } => match self.named(*callee) {
                Found::Path(path) => match (path.as_str(), args.first()) {
                    ("functools.partial", Some(first)) => self.decorator(first.value, depth),
                    _ => of_path(&path),
                },
                // A function that makes a decorator.
                Found::Definition(file, index) => {
                    self.returned(file, index, depth, |reader, value, depth| reader.decorator(value, depth))
                }
                Found::Value(file, body, function, expr) => {
                    Reader { db: self.db, file, body: &body, function }.factory(expr, depth)
                }
                Found::Nothing => DecoratorEffect::Other,
            },
            Expr::Name(_) | Expr::Attribute { .. } => match self.named(expr) {
                Found::Path(path) => of_path(&path),
                Found::Definition(file, index) => {
                    self.returned(file, index, depth, |reader, value, depth| reader.applied(value, depth))
                }
                Found::Value(file, body, function, expr) => {
                    Reader { db: self.db, file, body: &body, function }.decorator(expr, depth)
                }
                Found::Nothing => DecoratorEffect::Other,
            },
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
                Found::Path(path) => of_path(&path),
                _ => DecoratorEffect::Other,
            },
            Expr::Call { callee, args } => match (self.named(*callee), args.first()) {
                (Found::Path(path), Some(first)) if path == "functools.partial" => self.decorator(first.value, depth),
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
            Expr::Name(name) => match self.local(name) {
                Some((_, Bound::Definition(index))) => {
                    self.returned(self.file, *index, depth, |reader, value, depth| reader.applied(value, depth))
                }
                Some((function, Bound::Value { value, .. })) if *value != expr => {
                    Reader { function: Some(function), ..*self }.applied(*value, depth)
                }
                _ => DecoratorEffect::Other,
            },
            Expr::If { then, otherwise, .. } => self.applied(*then, depth).max(self.applied(*otherwise, depth)),
            _ => DecoratorEffect::Other,
        }
    }

    /// Over everything a definition returns.
    fn returned(
        &self,
        file: SourceFile,
        index: usize,
        depth: u32,
        of: impl Fn(&Reader<'_>, ExprId, u32) -> DecoratorEffect,
    ) -> DecoratorEffect {
        let definition = declared(self.db, file).definitions.get(index);
        let Some((body, stmt)) = definition.and_then(|d| Some((chunk_body(self.db, file, d.chunk)?, d.stmt))) else {
            return DecoratorEffect::Other;
        };
        let Stmt::Function(def) = body.stmt(stmt) else { return DecoratorEffect::Other };
        let reader = Reader { db: self.db, file, body: &body, function: Some(index) };
        let mut out = DecoratorEffect::Other;
        returns(&body, &def.body, &mut |value| out = out.max(of(&reader, value, depth)));
        out
    }

    /// The last of the bindings of a function's own name, and the function.
    fn local(&self, name: &str) -> Option<(usize, &Bound)> {
        let found = enclosing(self.db, self.file, self.function, name)?;
        Some((found.function, found.all.last()?))
    }

    fn named(&self, expr: ExprId) -> Found {
        // A function's own names hide the module's.
        if let Expr::Name(name) = self.body.expr(expr)
            && let Some((function, bound)) = self.local(name)
        {
            return match bound {
                Bound::Definition(index) => Found::Definition(self.file, *index),
                Bound::Value { chunk, value } if *value != expr => match chunk_body(self.db, self.file, *chunk) {
                    Some(body) => Found::Value(self.file, body, Some(function), *value),
                    None => Found::Nothing,
                },
                Bound::Module(module) => Found::of(self.db, imported(self.db, self.file, 0, module, None)),
                Bound::Member { level, module, member } => {
                    Found::of(self.db, imported(self.db, self.file, *level, module, Some(member)))
                }
                Bound::Value { .. } | Bound::Class { .. } | Bound::Opaque => Found::Nothing,
            };
        }
        let found = meanings_at::<Folding>(self.db, self.file, self.body, expr, None);
        let jit = found.iter().find(|m| matches!(m, Meaning::Path(p) if of_path(p) != DecoratorEffect::Other));
        Found::of(self.db, jit.or(found.first()).cloned())
    }
}

enum Found {
    Path(SmolStr),
    Definition(SourceFile, usize),
    /// With the function that it is a value of.
    Value(SourceFile, Arc<Body>, Option<usize>, ExprId),
    Nothing,
}

impl Found {
    fn of(db: &dyn Db, meaning: Option<Meaning>) -> Found {
        match meaning {
            Some(Meaning::Path(path)) => Found::Path(path),
            Some(Meaning::Definition(file, index)) => Found::Definition(file, index),
            Some(Meaning::Value(file, chunk, value)) => match chunk_body(db, file, chunk) {
                Some(body) => Found::Value(file, body, None, value),
                None => Found::Nothing,
            },
            _ => Found::Nothing,
        }
    }
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
