//! Statements that own blocks.
//!
//! **A header without `:` or without a block still gets its block node**, so that what follows keeps its meaning.

use super::arguments::{argument_list, param_list, type_params};
use super::expressions::{expression, expression_list, named_expression, target, target_list};
use super::name;
use super::statements::{error_line, simple_statements, statements};
use crate::PythonVersion;
use crate::kind::SyntaxKind::*;
use crate::parser::Parser;
use crate::tree::Checkpoint;

/// `:` and what it announces; `after` names the header in messages.
pub(crate) fn block(p: &mut Parser, after: &str) {
    colon(p, after);
    if !p.at_line_end() {
        p.start(BLOCK);
        simple_statements(p);
        p.finish();
        return;
    }
    p.eat(NEWLINE);
    p.start_early(BLOCK);
    if p.eat(INDENT) {
        p.deeper_block(statements);
        p.eat(DEDENT);
    } else {
        p.error_missing(&format!("expected an indented block after {after}"));
    }
    p.finish();
}

pub(crate) fn colon(p: &mut Parser, after: &str) {
    if p.eat(COLON) {
        return;
    }
    p.error_missing(&format!("expected `:` after {after}"));
    p.skip_until(ERROR_EXPR, |kind| kind == COLON);
    p.eat(COLON);
}

/// Decorators and the function or class under them.
pub(crate) fn definition(p: &mut Parser) {
    let start = p.checkpoint();
    while p.at(AT) {
        p.start(DECORATOR);
        p.bump();
        named_expression(p);
        if !p.at_line_end() {
            p.error("expected the end of the line after the decorator");
            p.skip_until(ERROR_EXPR, |_| false);
        }
        p.eat(NEWLINE);
        p.finish();
    }
    match p.current() {
        DEF_KW => function(p, start),
        CLASS_KW => class(p, start),
        ASYNC_KW if p.nth(1) == DEF_KW => function(p, start),
        _ => {
            p.error_missing("expected a function or a class after the decorator");
            p.start_at(start, ERROR_STMT);
            p.finish();
        }
    }
}

fn function(p: &mut Parser, start: Checkpoint) {
    p.start_at(start, FUNCTION_DEF);
    p.eat(ASYNC_KW);
    p.bump();
    name(p, "expected the name of the function");
    if p.at(L_BRACK) {
        type_params(p);
    }
    if p.at(L_PAREN) {
        param_list(p);
    } else {
        p.error_missing("expected `(` and the parameters of the function");
    }
    if p.eat(THIN_ARROW) {
        expression(p);
    }
    block(p, "the function's header");
    p.finish();
}

fn class(p: &mut Parser, start: Checkpoint) {
    p.start_at(start, CLASS_DEF);
    p.bump();
    name(p, "expected the name of the class");
    if p.at(L_BRACK) {
        type_params(p);
    }
    if p.at(L_PAREN) {
        argument_list(p);
    }
    block(p, "the class's header");
    p.finish();
}

pub(crate) fn async_statement(p: &mut Parser) {
    let start = p.checkpoint();
    match p.nth(1) {
        DEF_KW => function(p, start),
        FOR_KW => for_statement(p, start),
        WITH_KW => with_statement(p, start),
        _ => error_line(p, "expected `def`, `for` or `with` after `async`"),
    }
}

pub(crate) fn if_statement(p: &mut Parser) {
    p.start(IF_STMT);
    p.bump();
    named_expression(p);
    block(p, "the condition");
    while p.at(ELIF_KW) {
        p.start(ELIF_CLAUSE);
        p.bump();
        named_expression(p);
        block(p, "the condition");
        p.finish();
    }
    else_clause(p);
    p.finish();
}

fn else_clause(p: &mut Parser) {
    if p.at(ELSE_KW) {
        p.start(ELSE_CLAUSE);
        p.bump();
        block(p, "`else`");
        p.finish();
    }
}

pub(crate) fn for_statement(p: &mut Parser, start: Checkpoint) {
    p.start_at(start, FOR_STMT);
    p.eat(ASYNC_KW);
    p.bump();
    target_list(p);
    if p.expect(IN_KW, "expected `in` after the loop variable") {
        expression_list(p);
    }
    block(p, "the loop's header");
    else_clause(p);
    p.finish();
}

pub(crate) fn while_statement(p: &mut Parser) {
    p.start(WHILE_STMT);
    p.bump();
    named_expression(p);
    block(p, "the condition");
    else_clause(p);
    p.finish();
}

pub(crate) fn with_statement(p: &mut Parser, start: Checkpoint) {
    p.start_at(start, WITH_STMT);
    p.eat(ASYNC_KW);
    p.bump();
    if p.at(L_PAREN) && items_are_parenthesised(p) {
        p.bump();
        while !p.at(R_PAREN) && !p.at_line_end() {
            let position = p.position();
            with_item(p);
            if !p.eat(COMMA) || p.position() == position {
                break;
            }
        }
        p.expect(R_PAREN, "expected `)` after the context managers");
    } else {
        loop {
            with_item(p);
            if !p.eat(COMMA) {
                break;
            }
        }
    }
    block(p, "the header of `with`");
    p.finish();
}

/// Whether the bracket after `with` holds items rather than starting an expression.
fn items_are_parenthesised(p: &Parser) -> bool {
    let (mut depth, mut before) = (0, EOF);
    let (mut has_as, mut expression_only) = (false, false);
    let mut rest = p.rest_of_line();
    for kind in rest.by_ref() {
        match kind {
            L_PAREN | L_BRACK | L_CURLY => depth += 1,
            R_PAREN if depth == 1 && before == L_PAREN => return false,
            R_PAREN | R_BRACK | R_CURLY => depth -= 1,
            AS_KW if depth == 1 => has_as = true,
            FOR_KW | COLON_EQ | YIELD_KW if depth == 1 => expression_only = true,
            STAR if depth == 1 && matches!(before, L_PAREN | COMMA) => expression_only = true,
            _ => {}
        }
        before = kind;
        if depth == 0 {
            break;
        }
    }
    has_as || (!expression_only && rest.next() == Some(COLON))
}

fn with_item(p: &mut Parser) {
    p.start(WITH_ITEM);
    expression(p);
    if p.eat(AS_KW) {
        target(p);
    }
    p.finish();
}

pub(crate) fn try_statement(p: &mut Parser) {
    p.start(TRY_STMT);
    p.bump();
    block(p, "`try`");
    if !matches!(p.current(), EXCEPT_KW | FINALLY_KW) {
        p.error_missing("expected `except` or `finally` after the block of `try`");
    }
    let handled = p.at(EXCEPT_KW);
    while p.at(EXCEPT_KW) {
        except_clause(p);
    }
    if p.at(ELSE_KW) && !handled {
        p.error("`else` needs an `except` above it");
    }
    else_clause(p);
    if p.at(FINALLY_KW) {
        p.start(FINALLY_CLAUSE);
        p.bump();
        block(p, "`finally`");
        p.finish();
    }
    p.finish();
}

fn except_clause(p: &mut Parser) {
    p.start(EXCEPT_CLAUSE);
    p.bump();
    let first = p.position();
    if p.eat(STAR) {
        p.require(PythonVersion::Py311, first, "`except*`");
        if p.at(COLON) {
            p.error("`except*` needs the kind of exception");
        }
    }
    if !p.at(COLON) && !p.at_line_end() {
        let (first, start) = (p.position(), p.checkpoint());
        expression(p);
        if p.at(COMMA) {
            p.start_at(start, TUPLE_EXPR);
            while p.eat(COMMA) {
                expression(p);
            }
            p.finish();
            p.require(PythonVersion::Py314, first, "more than one exception without parentheses");
            if p.at(AS_KW) {
                p.error("several exceptions need parentheses before `as`");
            }
        }
        if p.eat(AS_KW) {
            name(p, "expected a name after `as`");
        }
    }
    block(p, "`except`");
    p.finish();
}
