// Feature: Refactorings
//
//! Changes a person asks for at a place: each looks at the syntax and the types there and gives its edits, or nothing.
//!
//! **Invariant:** what is offered can be applied as it is; where a part is not known (a bound, a stride), nothing is offered.

mod add_mask;
mod descriptor;
mod extract;
mod int64;

use std::{ops::Range, path::Path};

use tritium_semantics::{Function, SourceFile, items, types::Ty};
use tritium_syntax::{
    AstNode, NodeOrToken,
    SyntaxKind::{COMMENT, NEWLINE, WHITESPACE},
    SyntaxNode, TextRange, TextSize,
};

use crate::{Analysis, TextEdit, call_at::Callee, kernels::Kernel};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefactorKind {
    Extract,
    Rewrite,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Refactor {
    pub title: String,
    pub kind: RefactorKind,
    pub edits: Vec<TextEdit>,
}

/// What a refactoring sees.
struct Context<'a> {
    analysis: &'a Analysis,
    path: &'a Path,
    file: SourceFile,
    /// The selection; empty at a cursor.
    range: Range<usize>,
    function: Function,
    kernel: &'a Kernel,
    /// Where the chunk begins in the file.
    base: u32,
    /// The smallest node around the selection.
    node: SyntaxNode,
    text: &'a str,
}

const ALL: &[fn(&Context<'_>) -> Option<Refactor>] =
    &[add_mask::refactor, int64::refactor, descriptor::refactor, extract::refactor];

impl Analysis {
    /// What can be done to a kernel at a selection.
    pub fn refactors(&self, path: &Path, range: Range<usize>) -> Vec<Refactor> {
        let Some(file) = self.file(path) else { return Vec::new() };
        let kernels = self.kernels(path);
        let Some(function) =
            self.functions_at(path, range.start).find(|f| self.body_range(*f).is_some_and(|r| range.end <= r.end))
        else {
            return Vec::new();
        };
        let (Some(kernel), Some((base, node))) = (self.seen_by(function, &kernels), self.covering(file, &range)) else {
            return Vec::new();
        };
        let text = file.text(self.db());
        let context = Context { analysis: self, path, file, range, function, kernel, base, node, text };
        ALL.iter().filter_map(|refactor| refactor(&context)).collect()
    }

    /// The smallest node around a range, without the blanks at its ends.
    fn covering(&self, file: SourceFile, range: &Range<usize>) -> Option<(u32, SyntaxNode)> {
        let db = self.db();
        let (start, chunk) = items::chunks(db, file).iter().rev().find(|(start, _)| *start as usize <= range.start)?;
        let tree = items::chunk_tree(db, *chunk).syntax();
        let size = |at: usize| TextSize::try_from(at.checked_sub(*start as usize)?).ok();
        let wanted = TextRange::new(size(range.start)?, size(range.end)?);
        if !tree.text_range().contains_range(wanted) {
            return None;
        }
        let node = if wanted.is_empty() {
            let is_blank = |k| matches!(k, WHITESPACE | NEWLINE | COMMENT);
            let tokens = tree.token_at_offset(wanted.start());
            tokens.max_by_key(|t| (!is_blank(t.kind()), t.text_range().start()))?.parent()?
        } else {
            match tree.covering_element(wanted) {
                NodeOrToken::Node(node) => node,
                NodeOrToken::Token(token) => token.parent()?,
            }
        };
        Some((*start, node))
    }
}

impl<'a> Context<'a> {
    fn in_file(&self, node: &impl AstNode) -> Range<usize> {
        items::in_file(self.base, node.range())
    }

    fn source(&self, node: &impl AstNode) -> &'a str {
        self.text.get(self.in_file(node)).unwrap_or_default()
    }

    /// The type of the expression that is exactly there.
    fn ty(&self, node: &impl AstNode) -> Option<&'a Ty> {
        let db = self.analysis.db();
        let (start, map) = items::source_map(db, self.function)?;
        let wanted = self.in_file(node);
        let types = self.analysis.elaborated(self.kernel.active.instance).types.get(&self.function)?;
        types
            .iter()
            .find(|(id, _)| map.exprs.get(id.0 as usize).is_some_and(|r| items::in_file(start, *r) == wanted))
            .map(|(_, ty)| ty)
    }

    /// The builtin that a call calls, and whether as a method.
    fn builtin(&self, call: &tritium_syntax::ast::CallExpr) -> Option<(tritium_semantics::builtins::Builtin, bool)> {
        let inside = items::in_file(self.base, call.arg_list()?.range()).start + 1;
        match self.analysis.call_at(self.path, inside)?.callee {
            Callee::Builtin { builtin, method } => Some((builtin, method)),
            _ => None,
        }
    }

    /// The `def` around the selection.
    fn def(&self) -> Option<tritium_syntax::ast::FunctionDef> {
        self.node.ancestors().filter_map(tritium_syntax::ast::FunctionDef::cast).last()
    }

    /// What stands before the first word of the line of an offset.
    fn indentation(&self, offset: usize) -> &'a str {
        let start = self.text[..offset].rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let line = &self.text[start..];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }
}

/// An argument by keyword or by position.
fn argument(call: &tritium_syntax::ast::CallExpr, name: &str, position: usize) -> Option<tritium_syntax::ast::Expr> {
    if let Some(value) = call.keyword(name) {
        return Some(value);
    }
    let plain = |a: &tritium_syntax::ast::Arg| a.name().is_none() && a.star_token().is_none() && a.star2_token().is_none();
    call.args().filter(plain).nth(position)?.value()
}

/// How this file spells `triton.language`: the receiver of the call, `tl`.
fn language(call: &tritium_syntax::ast::CallExpr, text: impl Fn(&tritium_syntax::ast::Expr) -> String) -> Option<String> {
    match call.callee()? {
        tritium_syntax::ast::Expr::AttributeExpr(attribute) => Some(text(&attribute.receiver()?)),
        _ => None,
    }
}
