//! Kernels of a file that nobody checks: written in Gluon, in a string that is no module, as a lambda.
//!
//! **Invariant:** every definition of a kernel in a file is one of [`items`], stands in one of [`super::string_modules`], or is counted here.

use smol_str::SmolStr;

use super::{Chunk, Node, chunk_map, chunks, decorators, in_file, items, lowered, strings, walk};
use crate::{
    Db, SourceFile,
    body::{ArgKind, BinaryOp, Body, Expr, ExprId, FStringPart, Stmt},
};

/// Why kernels are not checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unchecked {
    /// `@gluon.jit`: another language.
    Gluon,
    /// In a string that cannot be read as it stands.
    Text,
    /// In a string with holes that are filled first.
    Template,
    /// `triton.jit(lambda …)`: Triton reads the text of a `def`.
    Lambda,
}

impl Unchecked {
    /// In a record.
    pub fn name(self) -> &'static str {
        match self {
            Unchecked::Gluon => "gluon",
            Unchecked::Text => "text",
            Unchecked::Template => "template",
            Unchecked::Lambda => "lambda",
        }
    }

    /// `3 kernels in strings`
    pub fn counted(self, count: usize) -> String {
        match (self, count) {
            (Unchecked::Gluon, 1) => "1 Gluon kernel".to_owned(),
            (Unchecked::Gluon, _) => format!("{count} Gluon kernels"),
            (Unchecked::Text, 1) => "1 kernel in a string".to_owned(),
            (Unchecked::Text, _) => format!("{count} kernels in strings"),
            (Unchecked::Template, 1) => "1 kernel in a string with holes".to_owned(),
            (Unchecked::Template, _) => format!("{count} kernels in strings with holes"),
            (Unchecked::Lambda, 1) => "1 lambda".to_owned(),
            (Unchecked::Lambda, _) => format!("{count} lambdas"),
        }
    }
}

/// Kernels that are not checked, at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UncheckedKernels {
    pub why: Unchecked,
    /// Where it has one.
    pub name: Option<SmolStr>,
    pub count: usize,
    /// Bytes of the file.
    pub range: std::ops::Range<usize>,
    /// Around it stands a `try` or a `with`, which may expect that it is refused.
    pub may_be_caught: bool,
}

/// The kernels of a file that are not checked, in the order of the text.
#[salsa::tracked(returns(ref))]
pub fn unchecked_kernels(db: &dyn Db, file: SourceFile) -> Vec<UncheckedKernels> {
    let mut out = Vec::new();
    for &index in &items(db, file).gluon {
        let Some(definition) = super::declared(db, file).definitions.get(index) else { continue };
        let Some((start, map)) = chunk_map(db, file, definition.chunk) else { continue };
        let Some((_, name, _)) = map.functions.iter().find(|f| f.0 == definition.stmt) else { continue };
        let range = in_file(start, *name);
        let name = Some(definition.name.clone());
        out.push(UncheckedKernels { why: Unchecked::Gluon, name, count: 1, range, may_be_caught: false });
    }
    for (start, chunk) in chunks(db, file) {
        for found in written(db, *chunk) {
            let mut found = found.clone();
            let lowered = lowered(db, *chunk);
            if found.callee.is_some_and(|callee| !decorators::compiles(db, file, &lowered.body, callee, None)) {
                continue;
            }
            let Some(range) = lowered.map.exprs.get(found.expr.0 as usize) else { continue };
            let range = in_file(*start, *range);
            if found.why == Unchecked::Text {
                if strings::string_modules(db, file).iter().any(|module| module.literal == range) {
                    continue;
                }
                if file.text(db).get(range.clone()).is_some_and(strings::has_holes) {
                    found.why = Unchecked::Template;
                }
            }
            let may_be_caught = found.why == Unchecked::Lambda && may_be_caught(&lowered.body, found.expr);
            out.push(UncheckedKernels { why: found.why, name: None, count: found.count, range, may_be_caught });
        }
    }
    out.sort_by_key(|found| found.range.start);
    out
}

/// The strings of a chunk that are the text of kernels as they stand there, with how many.
pub(super) fn texts_with_kernels<'db>(db: &'db dyn Db, chunk: Chunk<'db>) -> impl Iterator<Item = (ExprId, usize)> {
    written(db, chunk).iter().filter(|found| found.why == Unchecked::Text).map(|found| (found.expr, found.count))
}

#[derive(Debug, Clone, PartialEq)]
struct Written {
    why: Unchecked,
    expr: ExprId,
    count: usize,
    /// What must turn out to be `triton.jit`.
    callee: Option<ExprId>,
}

/// Strings with kernels in them, and lambdas that are given to something.
#[salsa::tracked(returns(ref))]
fn written<'db>(db: &'db dyn Db, chunk: Chunk<'db>) -> Vec<Written> {
    let body = &lowered(db, chunk).body;
    let mut out: Vec<Written> = Vec::new();
    if !chunk.text(db).contains("jit") {
        return out;
    }
    for (expr, id) in body.exprs.iter().zip(0..) {
        let expr_id = ExprId(id);
        match expr {
            Expr::Str(text) => {
                let count = kernels_in(text);
                if count > 0 && !is_docstring(body, expr_id) {
                    out.push(Written { why: Unchecked::Text, expr: expr_id, count, callee: None });
                }
            }
            Expr::FString(parts) => {
                let pieces = parts.iter().map(|part| match part {
                    FStringPart::Text(text) => text.as_str(),
                    FStringPart::Value { .. } => "_",
                });
                let count = kernels_in(&pieces.collect::<String>());
                let why = match &parts[..] {
                    [FStringPart::Text(_)] => Unchecked::Text,
                    _ => Unchecked::Template,
                };
                if count > 0 {
                    out.push(Written { why, expr: expr_id, count, callee: None });
                }
            }
            // `text.format(…)`, `text % …`
            Expr::Attribute { receiver: text, name } if name == "format" => fill(&mut out, *text),
            Expr::Binary { op: BinaryOp::Mod, lhs: text, .. } => fill(&mut out, *text),
            Expr::Call { callee, args } => {
                if let Some(arg) = args.first()
                    && arg.kind == ArgKind::Positional
                    && matches!(body.expr(arg.value), Expr::Lambda { .. })
                {
                    out.push(Written { why: Unchecked::Lambda, expr: arg.value, count: 1, callee: Some(*callee) });
                }
            }
            _ => {}
        }
    }
    out
}

fn fill(out: &mut [Written], text: ExprId) {
    out.iter_mut().filter(|found| found.expr == text && found.why == Unchecked::Text).for_each(|f| f.why = Unchecked::Template);
}

fn may_be_caught(body: &Body, expr: ExprId) -> bool {
    body.stmts.iter().any(|stmt| match stmt {
        Stmt::Try { body: guarded, .. } | Stmt::With { body: guarded, .. } => {
            let mut is_inside = false;
            walk(body, guarded, &mut |node| is_inside |= node == Node::Expr(expr));
            is_inside
        }
        _ => false,
    })
}

/// A string that is a statement does nothing.
fn is_docstring(body: &Body, string: ExprId) -> bool {
    body.stmts.iter().any(|stmt| matches!(stmt, Stmt::Expr(expr) if *expr == string))
}

/// How many functions a text decorates with a `jit`.
fn kernels_in(text: &str) -> usize {
    let is_decorator = |line: &str| {
        let name = line.trim_start().strip_prefix('@').map(|rest| rest.split('(').next().unwrap_or(rest).trim_end());
        matches!(name, Some("jit" | "triton.jit" | "gluon.jit" | "tr.jit"))
    };
    let mut lines = text.lines();
    let mut count = 0;
    while let Some(line) = lines.next() {
        // Other decorators, and arguments of this one, may stand between.
        if is_decorator(line) && lines.clone().take(MAX_LINES_TO_DEF).any(|line| line.trim_start().starts_with("def ")) {
            count += 1;
        }
    }
    count
}

/// Lines between a decorator and its `def`.
const MAX_LINES_TO_DEF: usize = 16;
