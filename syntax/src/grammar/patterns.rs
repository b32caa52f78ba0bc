//! `match` and its patterns.
//!
//! **A pattern is read by the expression grammar with `in_pattern` set**; `x as y` becomes a nested pattern node.

use super::compound::{block, colon};
use super::expressions::{self, named_expression, named_expression_list, starts_expression};
use super::name;
use super::statements::{error_line, statement};
use crate::PythonVersion;
use crate::kind::SyntaxKind::*;
use crate::parser::Parser;

/// Whether the word `match` starts a statement here: a subject follows and the line ends in `:`.
pub(crate) fn at_match(p: &Parser) -> bool {
    if !p.at_word("match") {
        return false;
    }
    match p.nth(1) {
        // Nothing else may put these behind a name.
        IDENT | INT_NUMBER | FLOAT_NUMBER | IMAGINARY_NUMBER | STRING | FSTRING_START => true,
        kind => (starts_expression(kind) || kind == STAR) && p.rest_of_line().last() == Some(COLON),
    }
}

pub(crate) fn match_statement(p: &mut Parser) {
    let first = p.position();
    p.start(MATCH_STMT);
    p.bump_as(MATCH_KW);
    p.require(PythonVersion::Py310, first, "`match`");
    named_expression_list(p);
    colon(p, "the subject of `match`");
    p.eat(NEWLINE);
    if p.eat(INDENT) {
        while !matches!(p.current(), DEDENT | EOF) {
            if p.at_word("case") {
                case_clause(p);
            } else if p.at(INDENT) {
                p.bump();
                p.deeper_block(super::statements::statements);
                p.eat(DEDENT);
            } else {
                let position = p.position();
                p.error("expected `case`");
                statement(p);
                if p.position() == position {
                    error_line(p, "expected `case`");
                }
            }
        }
        p.eat(DEDENT);
    } else {
        p.error_missing("expected an indented block of `case` clauses");
    }
    p.finish();
}

fn case_clause(p: &mut Parser) {
    p.start(CASE_CLAUSE);
    p.bump_as(CASE_KW);
    p.start(PATTERN);
    let outside = std::mem::replace(&mut p.in_pattern, true);
    expressions::pattern_list(p);
    p.in_pattern = outside;
    p.finish();
    if p.eat(IF_KW) {
        named_expression(p);
    }
    block(p, "the pattern");
    p.finish();
}

/// One pattern, with its `as`.
pub(crate) fn pattern(p: &mut Parser) {
    let start = p.checkpoint();
    expressions::disjunct_of_patterns(p);
    if p.at(AS_KW) {
        p.start_at(start, PATTERN);
        p.bump();
        name(p, "expected a name after `as`");
        p.finish();
    }
}
