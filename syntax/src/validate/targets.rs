//! What may be assigned to and deleted.

use super::Findings;
use crate::ast::{self, AnnAssignStmt, AssignStmt, AstNode, AugAssignStmt, DelStmt, Expr, WithItem};
use crate::kind::SyntaxKind::*;
use crate::tree::SyntaxNode;

/// `a = b = …`
pub(super) fn assignment(f: &mut Findings, node: &SyntaxNode) {
    let Some(statement) = AssignStmt::cast(node.clone()) else { return };
    for target in statement.targets() {
        assignable(f, &target);
    }
}

/// `a += …`
pub(super) fn augmented(f: &mut Findings, node: &SyntaxNode) {
    let Some(target) = AugAssignStmt::cast(node.clone()).and_then(|statement| statement.target()) else { return };
    single(f, &target, "only a name, an attribute or an element can be updated in place");
}

/// `a: int`
pub(super) fn annotated(f: &mut Findings, node: &SyntaxNode) {
    let Some(target) = AnnAssignStmt::cast(node.clone()).and_then(|statement| statement.target()) else { return };
    single(f, &target, "only a name, an attribute or an element can have an annotation");
}

/// `for a in …`, in statements and comprehensions.
pub(super) fn loop_variable(f: &mut Findings, node: &SyntaxNode) {
    let target = match ast::ForStmt::cast(node.clone()) {
        Some(statement) => statement.target(),
        None => ast::CompFor::cast(node.clone()).and_then(|clause| clause.target()),
    };
    if let Some(target) = target {
        assignable(f, &target);
    }
}

/// `with … as a`
pub(super) fn with_item(f: &mut Findings, node: &SyntaxNode) {
    if let Some(target) = WithItem::cast(node.clone()).and_then(|item| item.target()) {
        assignable(f, &target);
    }
}

/// `del a`
pub(super) fn deleted(f: &mut Findings, node: &SyntaxNode) {
    let mut waiting: Vec<Expr> = DelStmt::cast(node.clone()).and_then(|statement| statement.expr()).into_iter().collect();
    while let Some(target) = waiting.pop() {
        match target {
            Expr::NameExpr(_) | Expr::AttributeExpr(_) | Expr::SubscriptExpr(_) => {}
            Expr::TupleExpr(tuple) => waiting.extend(tuple.exprs()),
            Expr::ListExpr(list) => waiting.extend(list.exprs()),
            Expr::ParenExpr(paren) => waiting.extend(paren.expr()),
            other => f.report(other.range(), format!("{} cannot be deleted", what(&other))),
        }
    }
}

/// `__debug__` is a constant, wherever a name would be bound.
pub(super) fn debug(f: &mut Findings, node: &SyntaxNode) {
    let is_debug = node.first_token().is_some_and(|token| token.text() == "__debug__");
    if !is_debug {
        return;
    }
    let Some(parent) = node.parent() else { return };
    let binds = match parent.kind() {
        NAME_EXPR | ATTRIBUTE_EXPR => is_target(&parent),
        FUNCTION_DEF | CLASS_DEF | PARAM | ARG | EXCEPT_CLAUSE | NAMED_EXPR | TYPE_PARAM | PATTERN | TYPE_ALIAS_STMT => true,
        IMPORT_ALIAS => true,
        DOTTED_NAME => {
            let alias = parent.parent();
            parent.children().count() == 1
                && alias
                    .is_some_and(|alias| alias.kind() == IMPORT_ALIAS && !alias.children_with_tokens().any(|e| e.kind() == AS_KW))
        }
        _ => false,
    };
    if binds {
        f.report(node.text_range(), "`__debug__` is a constant of Python and cannot be assigned to or deleted");
    }
}

/// Whether an expression stands where something is bound or deleted.
pub(super) fn is_target(expr: &SyntaxNode) -> bool {
    let mut at = expr.clone();
    loop {
        let Some(parent) = at.parent() else { return false };
        let before = |word| {
            let found = parent.children_with_tokens().find(|element| element.kind() == word);
            found.is_none_or(|found| at.text_range().end() <= found.text_range().start())
        };
        match parent.kind() {
            TUPLE_EXPR | LIST_EXPR | PAREN_EXPR | STARRED_EXPR => at = parent,
            ASSIGN_STMT => return parent.last_child().as_ref() != Some(&at),
            AUG_ASSIGN_STMT => return before(AUG_OP),
            ANN_ASSIGN_STMT => return before(COLON),
            FOR_STMT | COMP_FOR => return before(IN_KW) && !matches!(at.kind(), BLOCK | ELSE_CLAUSE),
            WITH_ITEM => return parent.children_with_tokens().any(|e| e.kind() == AS_KW) && !before(AS_KW),
            DEL_STMT => return true,
            _ => return false,
        }
    }
}

fn single(f: &mut Findings, target: &Expr, otherwise: &str) {
    match target.clone().without_parens() {
        Some(Expr::NameExpr(_) | Expr::AttributeExpr(_) | Expr::SubscriptExpr(_)) | None => {}
        Some(other) => f.report(other.range(), format!("{} cannot stand here: {otherwise}", what(&other))),
    }
}

fn assignable(f: &mut Findings, target: &Expr) {
    // The flag: inside a tuple or list, where a star may stand.
    let mut waiting = vec![(target.clone(), false)];
    while let Some((target, in_list)) = waiting.pop() {
        match target {
            Expr::NameExpr(_) | Expr::AttributeExpr(_) | Expr::SubscriptExpr(_) => {}
            Expr::TupleExpr(tuple) => elements(f, tuple.exprs().collect(), &mut waiting),
            Expr::ListExpr(list) => elements(f, list.exprs().collect(), &mut waiting),
            Expr::ParenExpr(paren) => waiting.extend(paren.expr().map(|inner| (inner, false))),
            Expr::StarredExpr(starred) if in_list => waiting.extend(starred.expr().map(|inner| (inner, false))),
            other => f.report(other.range(), format!("{} cannot be assigned to", what(&other))),
        }
    }
}

fn elements(f: &mut Findings, elements: Vec<Expr>, waiting: &mut Vec<(Expr, bool)>) {
    let mut stars = elements.iter().filter(|element| matches!(element, Expr::StarredExpr(_)));
    if let Some(second) = stars.nth(1) {
        f.report(second.range(), "only one of these targets can take the rest with `*`");
    }
    waiting.extend(elements.into_iter().map(|element| (element, true)));
}

/// What to call an expression that is no target.
fn what(expr: &Expr) -> &'static str {
    match expr {
        Expr::NameExpr(_) => "a name",
        Expr::LiteralExpr(_) | Expr::StringExpr(_) => "a constant",
        Expr::ParenExpr(_) => "an expression",
        Expr::TupleExpr(_) => "a tuple",
        Expr::ListExpr(_) => "a list",
        Expr::SetExpr(_) => "a set",
        Expr::DictExpr(_) => "a dictionary",
        Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) => "a comprehension",
        Expr::GeneratorExpr(_) => "a generator expression",
        Expr::UnaryExpr(_) | Expr::BinaryExpr(_) | Expr::BoolExpr(_) => "the result of an operator",
        Expr::CompareExpr(_) => "a comparison",
        Expr::IfExpr(_) => "a conditional expression",
        Expr::LambdaExpr(_) => "a lambda",
        Expr::NamedExpr(_) => "an assignment with `:=`",
        Expr::AwaitExpr(_) => "an awaited value",
        Expr::YieldExpr(_) => "a `yield`",
        Expr::CallExpr(_) => "the result of a call",
        Expr::AttributeExpr(_) => "an attribute",
        Expr::SubscriptExpr(_) => "an element",
        Expr::SliceExpr(_) => "a slice",
        Expr::StarredExpr(_) => "a `*` outside a list of targets",
        Expr::ErrorExpr(_) => "this",
    }
}
