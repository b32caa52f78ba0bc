//! Arguments, parameters and type parameters.
//!
//! **A list always ends at its bracket or at the line end**, with one message for what is wrong between two commas.

use super::expressions::{comprehension_clauses, expression, named_expression, starred, starts_expression};
use super::name;
use crate::PythonVersion;
use crate::kind::SyntaxKind::{self, *};
use crate::parser::Parser;

/// Items between brackets; the opening one is current.
pub(crate) fn delimited(p: &mut Parser, close: SyntaxKind, message: &str, starts: fn(SyntaxKind) -> bool, item: fn(&mut Parser)) {
    p.bump();
    items(p, close, message, starts, item);
}

/// Items up to the closing bracket, which is taken.
pub(crate) fn items(p: &mut Parser, close: SyntaxKind, message: &str, starts: fn(SyntaxKind) -> bool, item: fn(&mut Parser)) {
    while !p.at(close) && !p.at_line_end() {
        if starts(p.current()) {
            let position = p.position();
            item(p);
            if p.at(COMMA) {
                p.bump();
                continue;
            }
            if p.position() > position && starts(p.current()) {
                p.error_missing("expected `,`");
                continue;
            }
        } else if p.at(COMMA) {
            p.error("expected something before this `,`");
            p.bump();
            continue;
        }
        if p.at(close) || p.at_line_end() {
            break;
        }
        if matches!(p.current(), R_PAREN | R_BRACK | R_CURLY | FSTRING_END) {
            break;
        }
        p.error(&format!("`{}` cannot stand here", p.current_text().escape_debug()));
        p.skip_until(ERROR_EXPR, |kind| matches!(kind, COMMA | R_PAREN | R_BRACK | R_CURLY | FSTRING_END));
        p.eat(COMMA);
    }
    p.expect(close, message);
}

pub(crate) fn argument_list(p: &mut Parser) {
    p.start(ARG_LIST);
    delimited(p, R_PAREN, "expected `)` after the arguments", |kind| starts_expression(kind) || kind == STAR2, argument);
    p.finish();
}

fn argument(p: &mut Parser) {
    p.start(ARG);
    if matches!(p.current(), STAR | STAR2) {
        p.bump();
        expression(p);
    } else if p.at(IDENT) && p.nth(1) == EQ {
        name(p, "expected a name");
        p.bump();
        expression(p);
    } else {
        let start = p.checkpoint();
        named_expression(p);
        if matches!(p.current(), FOR_KW | ASYNC_KW) {
            p.start_at(start, GENERATOR_EXPR);
            comprehension_clauses(p);
            p.finish();
        }
    }
    p.finish();
}

fn starts_param(kind: SyntaxKind) -> bool {
    matches!(kind, IDENT | STAR | STAR2 | SLASH)
}

pub(crate) fn param_list(p: &mut Parser) {
    p.start(PARAM_LIST);
    delimited(p, R_PAREN, "expected `)` after the parameters", starts_param, param);
    p.finish();
}

fn param(p: &mut Parser) {
    let first = p.position();
    param_name(p);
    let takes_rest = p.taken(first) == STAR;
    if p.eat(COLON) {
        if takes_rest && p.at(STAR) {
            let first = p.position();
            starred(p);
            p.require(PythonVersion::Py311, first, "`*` in an annotation");
        } else {
            expression(p);
        }
    }
    param_default(p);
}

/// Opens a parameter up to its name.
fn param_name(p: &mut Parser) {
    p.start(PARAM);
    let star = matches!(p.current(), STAR | STAR2 | SLASH).then(|| {
        let kind = p.current();
        p.bump();
        kind
    });
    match star {
        None | Some(STAR2) => {
            name(p, "expected the name of a parameter");
        }
        Some(STAR) if p.at(IDENT) => {
            name(p, "expected the name of a parameter");
        }
        Some(_) => {}
    }
}

/// Closes a parameter.
fn param_default(p: &mut Parser) {
    if p.eat(EQ) {
        expression(p);
    }
    p.finish();
}

pub(crate) fn lambda_params(p: &mut Parser) {
    p.start(LAMBDA_PARAMS);
    while starts_param(p.current()) {
        param_name(p);
        param_default(p);
        if !p.eat(COMMA) {
            break;
        }
    }
    p.finish();
}

pub(crate) fn type_params(p: &mut Parser) {
    let first = p.position();
    p.start(TYPE_PARAMS);
    let starts = |kind| matches!(kind, IDENT | STAR | STAR2);
    if p.nth(1) == R_BRACK {
        p.error("a list of type parameters cannot be empty");
    }
    delimited(p, R_BRACK, "expected `]` after the type parameters", starts, type_param);
    p.finish();
    p.require(PythonVersion::Py312, first, "a list of type parameters");
}

fn type_param(p: &mut Parser) {
    p.start(TYPE_PARAM);
    let kind = p.current();
    if matches!(kind, STAR | STAR2) {
        p.bump();
    }
    name(p, "expected the name of a type parameter");
    if p.at(COLON) {
        if matches!(kind, STAR | STAR2) {
            p.error("only a plain type parameter can have a bound");
        }
        p.bump();
        expression(p);
    }
    let first = p.position();
    if p.eat(EQ) {
        if kind == STAR && p.at(STAR) {
            starred(p)
        } else {
            expression(p)
        }
        p.require(PythonVersion::Py313, first, "a default of a type parameter");
    }
    p.finish();
}
