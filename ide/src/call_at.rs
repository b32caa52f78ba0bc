// Feature: The call around a place
//
//! Which call's arguments a place is in, which function that is, and which argument: what signature help and completion begin with.
//!
//! **Invariant:** an unfinished call answers like a finished one.

use std::{ops::Range, path::Path};

use tritium_semantics::{
    SourceFile,
    builtins::{self, Builtin, Known, Library},
    globals::{self, Global},
    items,
};
use tritium_syntax::{
    AstNode, NodeOrToken,
    SyntaxKind::*,
    SyntaxNode, SyntaxToken, TextSize,
    ast::{self, Expr},
};

use crate::{
    Analysis,
    naming::{self, ScopeId, Symbol, names},
};

/// What is called.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Callee {
    /// `method`: on a tile, which is its first argument.
    Builtin {
        builtin: Builtin,
        method: bool,
    },
    Library(Library),
    /// `launch`: `kernel[grid](…)`.
    Function {
        file: SourceFile,
        scope: ScopeId,
        launch: bool,
    },
    /// `triton.Config(…)`
    Config,
    /// `triton.autotune(…)`, and where the function it decorates begins.
    Autotune,
}

pub(crate) struct CallAt {
    pub(crate) call: ast::CallExpr,
    pub(crate) callee: Callee,
    /// Where the chunk of the call begins in the file.
    pub(crate) base: u32,
    /// Commas before the place.
    pub(crate) position: usize,
    /// `name=` before the place.
    pub(crate) keyword: Option<String>,
}

impl CallAt {
    pub(crate) fn range(&self, node: &SyntaxNode) -> Range<usize> {
        items::in_file(self.base, node.text_range())
    }

    /// The argument given for a parameter, by keyword or by position.
    pub(crate) fn argument(&self, name: &str, position: usize) -> Option<Expr> {
        if let Some(value) = self.call.keyword(name) {
            return Some(value);
        }
        let mut positional =
            self.call.args().filter(|a| a.name().is_none() && a.star_token().is_none() && a.star2_token().is_none());
        positional.nth(position)?.value()
    }

    /// Keywords given already.
    pub(crate) fn given(&self) -> Vec<String> {
        self.call.args().filter_map(|a| Some(a.name()?.text())).collect()
    }
}

/// The token at an offset of a file: the one that ends there if it is a word or a string, and where its chunk begins.
pub(crate) fn token_at(db: &dyn tritium_semantics::Db, file: SourceFile, offset: usize) -> Option<(u32, SyntaxToken)> {
    let chunks = items::chunks(db, file);
    let (start, chunk) = chunks.iter().rev().find(|(start, _)| (*start as usize) < offset).or(chunks.first())?;
    let tree = items::chunk_tree(db, *chunk).syntax();
    let at = TextSize::try_from(offset.checked_sub(*start as usize)?).ok()?;
    if at > tree.text_range().end() {
        return None;
    }
    Some((*start, tree.token_at_offset(at).left_biased()?))
}

impl Analysis {
    /// The innermost call whose parentheses are around an offset.
    pub(crate) fn call_at(&self, path: &Path, offset: usize) -> Option<CallAt> {
        let (db, file) = (self.db(), self.file(path)?);
        let (base, mut token) = token_at(db, file, offset)?;
        let place = TextSize::try_from(offset - base as usize).ok()?;
        // The space behind `f(x, ` is no part of a call that is not closed.
        while matches!(token.kind(), WHITESPACE | COMMENT) {
            token = token.prev_token()?;
        }
        for list in token.parent_ancestors().filter_map(ast::ArgList::cast) {
            let opened = list.l_paren_token().is_some_and(|t| t.text_range().end() <= place);
            let closed = list.r_paren_token().is_some_and(|t| t.text_range().end() <= place);
            let Some(call) = list.syntax().parent().and_then(ast::CallExpr::cast).filter(|_| opened && !closed) else { continue };
            let callee = self.callee(file, base, &call)?;
            let before = |end: TextSize| end <= place;
            let tokens = list.syntax().children_with_tokens().filter_map(NodeOrToken::into_token);
            let position = tokens.filter(|t| t.kind() == COMMA && before(t.text_range().end())).count();
            let comma = list.syntax().children_with_tokens().filter(|e| e.kind() == COMMA && before(e.text_range().end())).last();
            let after = comma.map_or(list.syntax().text_range().start(), |c| c.text_range().end());
            let current = list.args().filter(|a| a.range().start() >= after && a.range().start() < place).last();
            let keyword = current.filter(|a| a.eq_token().is_some_and(|t| before(t.text_range().end()))).and_then(|a| a.name());
            return Some(CallAt { call, callee, base, position, keyword: keyword.map(|n| n.text()) });
        }
        None
    }

    fn callee(&self, file: SourceFile, base: u32, call: &ast::CallExpr) -> Option<Callee> {
        let callee = call.callee()?.without_parens()?;
        let (expr, launch) = match callee {
            Expr::SubscriptExpr(launch) => (launch.receiver()?, true),
            other => (other, false),
        };
        let at = items::in_file(base, expr.range());
        let found = naming::dotted(&expr).and_then(|path| {
            let scope = names(self.db(), file).scope_at(at.start);
            self.callee_of_path(file, scope, &path, launch)
        });
        if found.is_some() || launch {
            return found;
        }
        // `x.sum(…)` on a value of a kernel.
        let Expr::AttributeExpr(attribute) = &expr else { return None };
        let builtin = Builtin::method(&attribute.name()?.text())?;
        let path = file.path(self.db()).clone();
        self.functions_at(&path, at.start).next()?;
        Some(Callee::Builtin { builtin, method: true })
    }

    pub(crate) fn callee_of_path(
        &self,
        file: SourceFile,
        scope: ScopeId,
        path: &[smol_str::SmolStr],
        launch: bool,
    ) -> Option<Callee> {
        let db = self.db();
        let meaning = |path: &str| match path {
            "triton.Config" | "triton.runtime.autotuner.Config" => Some(Callee::Config),
            "triton.autotune" | "triton.runtime.autotuner.autotune" => Some(Callee::Autotune),
            _ => match builtins::find(path)? {
                Known::Builtin(builtin) => Some(Callee::Builtin { builtin, method: false }),
                Known::Library(library) => Some(Callee::Library(library)),
                _ => None,
            },
        };
        match naming::symbol_of_path(db, file, scope, path)? {
            Symbol::Outside(path) => meaning(&path),
            Symbol::Module(_) => None,
            Symbol::Name(file, scope, name) => {
                if let Some(function) = names(db, file).functions(scope, &name).last() {
                    return Some(Callee::Function { file, scope: function, launch });
                }
                match globals::resolve(db, file, name)? {
                    Global::Builtin(path) => meaning(&path),
                    _ => None,
                }
            }
        }
    }

    /// The `def` of a scope.
    pub(crate) fn function_node(&self, file: SourceFile, scope: ScopeId) -> Option<(u32, ast::FunctionDef)> {
        let db = self.db();
        let names = names(db, file);
        let (_, name) = names.scopes.get(scope)?.name.clone()?;
        let (base, token) = token_at(db, file, name.end)?;
        let def = token.parent_ancestors().find_map(ast::FunctionDef::cast)?;
        Some((base, def))
    }
}
