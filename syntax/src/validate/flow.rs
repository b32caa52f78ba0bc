//! Words that need something around them: a function, a loop, `async`.

use super::Findings;
use super::scope::{Scope, function_of, is_async, is_async_for, scope_of};
use crate::PythonVersion;
use crate::ast::{AstNode, ExceptClause, FunctionDef, ReturnStmt, TryStmt};
use crate::kind::SyntaxKind::*;
use crate::tree::SyntaxNode;

/// `return` outside a function, in `except*`, or with a value in an asynchronous generator.
pub(super) fn return_statement(f: &mut Findings, node: &SyntaxNode) {
    let Scope::Function(function) = scope_of(node) else {
        return f.report(node.text_range(), "`return` stands outside a function");
    };
    let with_value = ReturnStmt::cast(node.clone()).is_some_and(|statement| statement.expr().is_some());
    if with_value && is_async(&function) && yields(f, &function) {
        f.report(node.text_range(), "an asynchronous generator cannot return a value; `return` alone ends it");
    }
    if in_except_star(node, false) {
        f.report(node.text_range(), "`return` cannot leave the block of an `except*`");
    }
}

fn yields(f: &mut Findings, function: &FunctionDef) -> bool {
    let generator = || {
        let mut expressions = function.syntax().descendants().filter(|node| node.kind() == YIELD_EXPR);
        expressions.any(|node| scope_of(&node).node() == function.syntax())
    };
    *f.yields.entry(function.syntax().clone()).or_insert_with(generator)
}

/// `break` and `continue` outside a loop or in `except*`.
pub(super) fn loop_word(f: &mut Findings, node: &SyntaxNode) {
    let word = if node.kind() == BREAK_STMT { "break" } else { "continue" };
    if loop_of(node).is_none() {
        f.report(node.text_range(), format!("`{word}` stands outside a loop"));
    } else if in_except_star(node, true) {
        f.report(node.text_range(), format!("`{word}` cannot leave the block of an `except*`"));
    }
}

fn loop_of(node: &SyntaxNode) -> Option<SyntaxNode> {
    let mut child = node.clone();
    while let Some(parent) = child.parent() {
        match parent.kind() {
            FOR_STMT | WHILE_STMT if child.kind() == BLOCK => return Some(parent),
            FUNCTION_DEF | CLASS_DEF => return None,
            _ => child = parent,
        }
    }
    None
}

/// Whether an `except*` stands between the node and what it leaves: its loop or its function.
fn in_except_star(node: &SyntaxNode, stop_at_loop: bool) -> bool {
    let end = if stop_at_loop { loop_of(node) } else { None };
    node.ancestors()
        .take_while(|outer| Some(outer) != end.as_ref() && outer.kind() != FUNCTION_DEF)
        .filter_map(ExceptClause::cast)
        .any(|clause| clause.star_token().is_some())
}

/// `yield` outside a function, in a comprehension, or `yield from` in an `async` function.
pub(super) fn yield_expression(f: &mut Findings, node: &SyntaxNode) {
    match scope_of(node) {
        Scope::Function(function) => {
            let from = node.children_with_tokens().any(|element| element.kind() == FROM_KW);
            if from && is_async(&function) {
                f.report(node.text_range(), "`yield from` cannot stand in an `async` function");
            }
        }
        Scope::Lambda(_) => {}
        Scope::Comprehension(_) => f.report(node.text_range(), "`yield` cannot stand in a comprehension"),
        Scope::Class(_) | Scope::Module(_) => f.report(node.text_range(), "`yield` stands outside a function"),
    }
}

/// Whether an awaiting construct may run here: in an `async` function, or in a generator expression, which awaits when it is
/// itself iterated.
fn may_await(node: &SyntaxNode) -> bool {
    let mut at = node.clone();
    loop {
        match scope_of(&at) {
            Scope::Function(function) => return is_async(&function),
            Scope::Comprehension(comprehension) if comprehension.kind() == GENERATOR_EXPR => return true,
            Scope::Comprehension(comprehension) => at = comprehension,
            Scope::Lambda(_) | Scope::Class(_) | Scope::Module(_) => return false,
        }
    }
}

/// `await` outside an `async` function.
pub(super) fn await_expression(f: &mut Findings, node: &SyntaxNode) {
    if !may_await(node) {
        f.report(node.text_range(), "`await` stands outside an `async` function");
    }
}

/// `async for` and `async with` outside an `async` function.
pub(super) fn async_statement(f: &mut Findings, node: &SyntaxNode) {
    let is_async_with = node.kind() == WITH_STMT && node.children_with_tokens().any(|element| element.kind() == ASYNC_KW);
    if (is_async_with || is_async_for(node)) && !function_of(node).is_some_and(|function| is_async(&function)) {
        let word = if is_async_with { "with" } else { "for" };
        f.report(
            node.first_token().map_or(node.text_range(), |token| token.text_range()),
            format!("`async {word}` stands outside an `async` function"),
        );
    }
}

/// `async for` in a comprehension outside an `async` function.
pub(super) fn async_comprehension(f: &mut Findings, node: &SyntaxNode) {
    let is_async = node.children_with_tokens().any(|element| element.kind() == ASYNC_KW);
    let Some(comprehension) = node.parent().filter(|_| is_async) else { return };
    if comprehension.kind() != GENERATOR_EXPR && !may_await(&comprehension) {
        f.report(node.text_range(), "an asynchronous comprehension stands outside an `async` function");
    }
}

/// A bare `except` before others, `except` beside `except*`.
pub(super) fn handlers(f: &mut Findings, node: &SyntaxNode) {
    let Some(statement) = TryStmt::cast(node.clone()) else { return };
    let clauses: Vec<ExceptClause> = statement.except_clauses().collect();
    for (index, clause) in clauses.iter().enumerate() {
        let word = clause.except_token().map_or(clause.range(), |token| token.text_range());
        if clause.exception().is_none() && index + 1 < clauses.len() {
            f.report(word, "a bare `except` takes everything and must be the last");
        }
        if clause.star_token().is_some() != clauses[0].star_token().is_some() {
            f.report(word, "one `try` cannot have both `except` and `except*`");
        }
    }
}

/// Loops, `with` and `try` inside one another, in one function.
pub(super) fn nested_blocks(f: &mut Findings, node: &SyntaxNode) {
    let limit = if f.version < PythonVersion::Py314 { 20 } else { 40 };
    let mut depth = 0;
    for outer in node.ancestors() {
        match outer.kind() {
            FOR_STMT | WHILE_STMT | WITH_STMT | TRY_STMT => depth += 1,
            FUNCTION_DEF | CLASS_DEF => break,
            _ => {}
        }
    }
    if depth == limit + 1 {
        let word = node.first_token().map_or(node.text_range(), |token| token.text_range());
        f.report(word, format!("more than {limit} loops, `with` and `try` blocks are nested here"));
    }
}
