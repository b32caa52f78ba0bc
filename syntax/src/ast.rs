//! The typed tree.
//!
//! **A typed node is a checked view of a tree node and nothing more**; after a syntax error any child may be missing, so every
//! accessor answers an `Option` or an iterator. `generated.rs` holds what the grammar says; this file holds what it cannot
//! say: which of several children of one type is which. Operators and literal values are in files beside it.

mod generated;
mod literals;
mod operators;
mod ptr;

pub use generated::*;
pub use literals::{Literal, StringValue};
pub use operators::{BinaryOp, BoolOp, CompareOperator, UnaryOp};
pub use ptr::{AstPtr, SyntaxNodePtr};

use std::marker::PhantomData;

use crate::kind::SyntaxKind::{self, *};
use crate::tree::{NodeOrToken, SyntaxElement, SyntaxNode, SyntaxNodeChildren, SyntaxToken, TextRange};

/// A node of a known kind.
pub trait AstNode: Sized {
    fn can_cast(kind: SyntaxKind) -> bool;
    fn cast(syntax: SyntaxNode) -> Option<Self>;
    fn syntax(&self) -> &SyntaxNode;

    fn range(&self) -> TextRange {
        self.syntax().text_range()
    }
}

/// The children of one type.
#[derive(Clone, Debug)]
pub struct AstChildren<N> {
    inner: SyntaxNodeChildren,
    node: PhantomData<N>,
}

impl<N: AstNode> Iterator for AstChildren<N> {
    type Item = N;

    fn next(&mut self) -> Option<N> {
        self.inner.find_map(N::cast)
    }
}

mod support {
    use super::*;

    // What is asked for by kind makes no cursors for the elements before it.

    pub(super) fn child<N: AstNode>(parent: &SyntaxNode) -> Option<N> {
        parent.first_child_by_kind(&N::can_cast).and_then(N::cast)
    }

    pub(super) fn children<N: AstNode>(parent: &SyntaxNode) -> AstChildren<N> {
        AstChildren { inner: parent.children(), node: PhantomData }
    }

    pub(super) fn token(parent: &SyntaxNode, kind: SyntaxKind) -> Option<SyntaxToken> {
        token_where(parent, |other| other == kind)
    }

    pub(super) fn token_where(parent: &SyntaxNode, test: impl Fn(SyntaxKind) -> bool) -> Option<SyntaxToken> {
        parent.children_with_tokens().by_kind(test).find_map(NodeOrToken::into_token)
    }

    fn node<N: AstNode>(element: SyntaxElement) -> Option<N> {
        element.into_node().and_then(N::cast)
    }

    /// The first child of the type before the first element that `mark` names.
    pub(super) fn before<N: AstNode>(parent: &SyntaxNode, mark: impl Fn(SyntaxKind) -> bool) -> Option<N> {
        parent.children_with_tokens().take_while(|element| !mark(element.kind())).find_map(node)
    }

    /// The first child of the type between the first `mark` and the next `end`.
    pub(super) fn between<N: AstNode>(
        parent: &SyntaxNode,
        mark: impl Fn(SyntaxKind) -> bool,
        end: impl Fn(SyntaxKind) -> bool,
    ) -> Option<N> {
        parent
            .children_with_tokens()
            .skip_while(|element| !mark(element.kind()))
            .skip(1)
            .take_while(|element| !end(element.kind()))
            .find_map(node)
    }

    /// The first child of the type after the first `mark`.
    pub(super) fn after<N: AstNode>(parent: &SyntaxNode, mark: impl Fn(SyntaxKind) -> bool) -> Option<N> {
        between(parent, mark, |_| false)
    }
}

fn is(kind: SyntaxKind) -> impl Fn(SyntaxKind) -> bool {
    move |other| other == kind
}

impl Name {
    pub fn text(&self) -> String {
        self.ident_token().map(|token| token.text().to_owned()).unwrap_or_default()
    }
}

impl NameExpr {
    pub fn text(&self) -> String {
        self.name().map(|name| name.text()).unwrap_or_default()
    }
}

impl DottedName {
    /// `a.b.c`, without the blanks that Python allows around the dots.
    pub fn text(&self) -> String {
        self.names().map(|name| name.text()).collect::<Vec<_>>().join(".")
    }
}

impl Dots {
    /// How many packages up a relative import goes.
    pub fn level(&self) -> u32 {
        let tokens = self.syntax.children_with_tokens().filter_map(NodeOrToken::into_token);
        tokens
            .map(|token| match token.kind() {
                DOT => 1,
                ELLIPSIS => 3,
                _ => 0,
            })
            .sum()
    }
}

impl AssignStmt {
    /// What is assigned to, left to right.
    pub fn targets(&self) -> impl Iterator<Item = Expr> + use<> {
        let value = self.value().map(|value| value.range());
        self.exprs().filter(move |expr| Some(expr.range()) != value)
    }

    /// What stands behind the last `=`.
    pub fn value(&self) -> Option<Expr> {
        let last = self.syntax.children_with_tokens().filter(|element| element.kind() == EQ).last()?;
        let start = last.text_range().end();
        self.exprs().find(|expr| expr.range().start() >= start)
    }
}

impl AugAssignStmt {
    pub fn target(&self) -> Option<Expr> {
        support::before(&self.syntax, is(AUG_OP))
    }

    pub fn value(&self) -> Option<Expr> {
        support::after(&self.syntax, is(AUG_OP))
    }
}

impl AnnAssignStmt {
    pub fn target(&self) -> Option<Expr> {
        support::before(&self.syntax, is(COLON))
    }

    pub fn annotation(&self) -> Option<Expr> {
        support::between(&self.syntax, is(COLON), is(EQ))
    }

    pub fn value(&self) -> Option<Expr> {
        support::after(&self.syntax, is(EQ))
    }
}

impl AssertStmt {
    pub fn test(&self) -> Option<Expr> {
        support::before(&self.syntax, is(COMMA))
    }

    pub fn message(&self) -> Option<Expr> {
        support::after(&self.syntax, is(COMMA))
    }
}

impl RaiseStmt {
    pub fn exception(&self) -> Option<Expr> {
        support::before(&self.syntax, is(FROM_KW))
    }

    pub fn cause(&self) -> Option<Expr> {
        support::after(&self.syntax, is(FROM_KW))
    }
}

impl ImportFromStmt {
    /// How many packages up the module is; 0 for an absolute import.
    pub fn level(&self) -> u32 {
        self.dots().map_or(0, |dots| dots.level())
    }
}

impl ImportAlias {
    /// The name that the import binds: the alias, or the first part of the path.
    pub fn bound_name(&self) -> Option<Name> {
        self.alias().or_else(|| self.path()?.names().next())
    }
}

impl TypeParam {
    pub fn bound(&self) -> Option<Expr> {
        support::between(&self.syntax, is(COLON), is(EQ))
    }

    pub fn default(&self) -> Option<Expr> {
        support::after(&self.syntax, is(EQ))
    }
}

impl Param {
    pub fn annotation(&self) -> Option<Expr> {
        support::between(&self.syntax, is(COLON), is(EQ))
    }

    pub fn default(&self) -> Option<Expr> {
        support::after(&self.syntax, is(EQ))
    }
}

impl FunctionDef {
    pub fn params(&self) -> impl Iterator<Item = Param> + use<> {
        self.param_list().into_iter().flat_map(|list| list.params())
    }

    /// The string that the body starts with.
    pub fn docstring(&self) -> Option<StringExpr> {
        docstring(self.body()?.stmts())
    }
}

impl ClassDef {
    pub fn docstring(&self) -> Option<StringExpr> {
        docstring(self.body()?.stmts())
    }
}

impl Module {
    pub fn docstring(&self) -> Option<StringExpr> {
        docstring(self.stmts())
    }
}

fn docstring(mut stmts: impl Iterator<Item = Stmt>) -> Option<StringExpr> {
    let Stmt::SimpleStmts(line) = stmts.next()? else { return None };
    let SmallStmt::ExprStmt(statement) = line.small_stmts().next()? else { return None };
    match statement.expr()? {
        Expr::StringExpr(string) => Some(string),
        _ => None,
    }
}

impl ForStmt {
    pub fn target(&self) -> Option<Expr> {
        support::before(&self.syntax, is(IN_KW))
    }

    pub fn iterable(&self) -> Option<Expr> {
        support::after(&self.syntax, is(IN_KW))
    }
}

impl WithItem {
    pub fn context(&self) -> Option<Expr> {
        support::before(&self.syntax, is(AS_KW))
    }

    pub fn target(&self) -> Option<Expr> {
        support::after(&self.syntax, is(AS_KW))
    }
}

impl CompFor {
    pub fn target(&self) -> Option<Expr> {
        support::before(&self.syntax, is(IN_KW))
    }

    pub fn iterable(&self) -> Option<Expr> {
        support::after(&self.syntax, is(IN_KW))
    }
}

impl DictItem {
    /// `None` for `**value`.
    pub fn key(&self) -> Option<Expr> {
        match self.star2_token() {
            Some(_) => None,
            None => support::before(&self.syntax, is(COLON)),
        }
    }

    pub fn value(&self) -> Option<Expr> {
        match self.star2_token() {
            Some(_) => support::child(&self.syntax),
            None => support::after(&self.syntax, is(COLON)),
        }
    }
}

impl IfExpr {
    pub fn then(&self) -> Option<Expr> {
        support::before(&self.syntax, is(IF_KW))
    }

    pub fn condition(&self) -> Option<Expr> {
        support::between(&self.syntax, is(IF_KW), is(ELSE_KW))
    }

    pub fn otherwise(&self) -> Option<Expr> {
        support::after(&self.syntax, is(ELSE_KW))
    }
}

impl LambdaExpr {
    pub fn params(&self) -> impl Iterator<Item = Param> + use<> {
        self.lambda_params().into_iter().flat_map(|list| list.params())
    }
}

impl CallExpr {
    pub fn args(&self) -> impl Iterator<Item = Arg> + use<> {
        self.arg_list().into_iter().flat_map(|list| list.args())
    }

    /// The value passed as `name=value`.
    pub fn keyword(&self, name: &str) -> Option<Expr> {
        self.args().find(|arg| arg.name().is_some_and(|other| other.text() == name))?.value()
    }
}

impl SubscriptExpr {
    pub fn receiver(&self) -> Option<Expr> {
        support::before(&self.syntax, is(L_BRACK))
    }

    pub fn index(&self) -> Option<Expr> {
        support::after(&self.syntax, is(L_BRACK))
    }
}

impl SliceExpr {
    /// The child between the `skip`th colon and the next one.
    fn part(&self, skip: usize) -> Option<Expr> {
        let mut colons = 0;
        self.syntax.children_with_tokens().find_map(|element| {
            if element.kind() == COLON {
                colons += 1;
                return None;
            }
            element.into_node().filter(|_| colons == skip).and_then(Expr::cast)
        })
    }

    pub fn lower(&self) -> Option<Expr> {
        self.part(0)
    }

    pub fn upper(&self) -> Option<Expr> {
        self.part(1)
    }

    pub fn step(&self) -> Option<Expr> {
        self.part(2)
    }
}

impl Expr {
    /// The expression inside any parentheses.
    pub fn without_parens(self) -> Option<Expr> {
        let mut expr = self;
        while let Expr::ParenExpr(paren) = expr {
            expr = paren.expr()?;
        }
        Some(expr)
    }
}
