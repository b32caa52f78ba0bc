//! Expressions, loosest binding first.
//!
//! **A missing operand leaves no node**: the accessors of the typed tree answer `None`.

use super::arguments::{argument_list, items, lambda_params};
use super::{name, patterns, strings};
use crate::PythonVersion;
use crate::kind::SyntaxKind::{self, *};
use crate::parser::Parser;

pub(crate) fn starts_expression(kind: SyntaxKind) -> bool {
    matches!(
        kind,
        IDENT
            | INT_NUMBER
            | FLOAT_NUMBER
            | IMAGINARY_NUMBER
            | STRING
            | FSTRING_START
            | TRUE_KW
            | FALSE_KW
            | NONE_KW
            | ELLIPSIS
            | L_PAREN
            | L_BRACK
            | L_CURLY
            | MINUS
            | PLUS
            | TILDE
            | STAR
            | NOT_KW
            | LAMBDA_KW
            | AWAIT_KW
            | YIELD_KW
            | ERROR_TOKEN
            | BANG
    )
}

/// `a` or `a, *b`: what may stand after `return` and after `in`.
pub(crate) fn expression_list(p: &mut Parser) {
    list_of(p, star_expression);
}

/// What may stand on a line of its own and right of `=`: a list or `yield`.
pub(crate) fn assignment_value(p: &mut Parser) {
    if p.at(YIELD_KW) { p.deeper(yield_expression) } else { expression_list(p) }
}

/// The subject of `match`: a list whose items may be `a := b`.
pub(crate) fn named_expression_list(p: &mut Parser) {
    list_of(p, named_expression);
}

/// The pattern of a `case`: one, or several with commas.
pub(crate) fn pattern_list(p: &mut Parser) {
    list_of(p, named_expression);
}

fn star_expression(p: &mut Parser) {
    if p.at(STAR) {
        starred(p);
    } else {
        let first = p.position();
        if p.at(IDENT) && p.nth(1) == COLON_EQ {
            named_expression(p);
            p.error_since(first, "an assignment with `:=` needs parentheses here");
        } else {
            expression(p);
        }
    }
}

/// The left side of `in`.
pub(crate) fn target_list(p: &mut Parser) {
    list_of(p, target);
}

/// One item, or a tuple without parentheses.
fn list_of(p: &mut Parser, item: fn(&mut Parser)) {
    let (start, first, star) = (p.checkpoint(), p.position(), p.at(STAR));
    item(p);
    if p.at(COMMA) {
        p.start_at(start, TUPLE_EXPR);
        while p.eat(COMMA) && starts_expression(p.current()) {
            item(p);
        }
        p.finish();
    } else if star {
        lone_star(p, first);
    }
}

fn lone_star(p: &mut Parser, first: usize) {
    p.error_since(first, "`*` unpacks into a list of values; a comma after this makes it one");
}

/// Something that can be assigned to: it binds tighter than comparisons, so that `in` ends it.
pub(crate) fn target(p: &mut Parser) {
    if p.at(STAR) {
        starred(p);
    } else {
        p.deeper(|p| binary(p, 0));
    }
}

/// `*a`.
pub(crate) fn starred(p: &mut Parser) {
    p.start(STARRED_EXPR);
    p.bump();
    p.deeper(|p| binary(p, 0));
    p.finish();
}

/// An element: `*a`, `a := b`, or an expression; in a pattern, a pattern.
pub(crate) fn named_expression(p: &mut Parser) {
    if p.at(STAR) {
        starred(p);
    } else if p.in_pattern {
        patterns::pattern(p);
    } else if p.at(IDENT) && p.nth(1) == COLON_EQ {
        p.start(NAMED_EXPR);
        name(p, "expected a name");
        p.bump();
        expression(p);
        p.finish();
    } else {
        expression(p);
    }
}

/// Alternatives of a pattern.
pub(crate) fn disjunct_of_patterns(p: &mut Parser) {
    p.deeper(|p| binary(p, 0));
}

/// An expression without commas; in a pattern, a pattern.
pub(crate) fn expression(p: &mut Parser) {
    if p.in_pattern {
        return patterns::pattern(p);
    }
    p.deeper(|p| match p.current() {
        LAMBDA_KW => lambda(p),
        YIELD_KW => {
            p.error("`yield` needs parentheses here");
            yield_expression(p);
        }
        STAR => {
            p.error("`*` cannot stand here");
            starred(p);
        }
        _ => {
            let start = p.checkpoint();
            disjunction(p);
            // A comprehension's `if` is read by the comprehension, which asks for disjunctions only.
            if p.at(IF_KW) {
                p.start_at(start, IF_EXPR);
                p.bump();
                disjunction(p);
                if p.expect(ELSE_KW, "expected `else`: a conditional expression needs both values") {
                    expression(p);
                }
                p.finish();
            }
        }
    });
}

fn lambda(p: &mut Parser) {
    p.start(LAMBDA_EXPR);
    p.bump();
    lambda_params(p);
    if p.expect(COLON, "expected `:` after the parameters of `lambda`") {
        expression(p);
    }
    p.finish();
}

fn yield_expression(p: &mut Parser) {
    p.start(YIELD_EXPR);
    p.bump();
    if p.eat(FROM_KW) {
        expression(p);
    } else if starts_expression(p.current()) {
        expression_list(p);
    }
    p.finish();
}

/// `or`, which binds loosest of the operators.
pub(crate) fn disjunction(p: &mut Parser) {
    logical(p, OR_KW, |p| logical(p, AND_KW, inversion));
}

fn logical(p: &mut Parser, operator: SyntaxKind, operand: fn(&mut Parser)) {
    let start = p.checkpoint();
    operand(p);
    while p.at(operator) {
        if p.too_high(start) {
            return;
        }
        p.start_at(start, BOOL_EXPR);
        p.bump();
        operand(p);
        p.finish();
    }
}

fn inversion(p: &mut Parser) {
    if p.at(NOT_KW) {
        p.start(UNARY_EXPR);
        p.bump();
        p.deeper(inversion);
        p.finish();
    } else {
        comparison(p);
    }
}

fn at_comparison(p: &Parser) -> bool {
    match p.current() {
        LESS | GREATER | LESS_EQ | GREATER_EQ | EQ2 | NOT_EQ | IN_KW | IS_KW => true,
        NOT_KW => p.nth(1) == IN_KW,
        _ => false,
    }
}

fn comparison(p: &mut Parser) {
    let start = p.checkpoint();
    binary(p, 0);
    if at_comparison(p) {
        p.start_at(start, COMPARE_EXPR);
        while at_comparison(p) {
            p.start(COMPARE_OP);
            let first = p.current();
            p.bump();
            match first {
                NOT_KW => p.bump(),
                IS_KW => {
                    p.eat(NOT_KW);
                }
                _ => {}
            }
            p.finish();
            binary(p, 0);
        }
        p.finish();
    }
}

/// How tightly a binary operator binds.
fn power_of(kind: SyntaxKind) -> Option<u8> {
    Some(match kind {
        PIPE => 1,
        CARET => 2,
        AMP => 3,
        SHL | SHR => 4,
        PLUS | MINUS => 5,
        STAR | SLASH | SLASH2 | PERCENT | AT => 6,
        _ => return None,
    })
}

/// Operators that bind tighter than `above`, all of them left to right.
fn binary(p: &mut Parser, above: u8) {
    let start = p.checkpoint();
    unary(p);
    while let Some(power) = power_of(p.current()).filter(|power| *power > above) {
        if p.too_high(start) {
            return;
        }
        p.start_at(start, BINARY_EXPR);
        p.bump();
        binary(p, power);
        p.finish();
    }
}

fn unary(p: &mut Parser) {
    if matches!(p.current(), MINUS | PLUS | TILDE) {
        p.start(UNARY_EXPR);
        p.bump();
        p.deeper(unary);
        p.finish();
        return;
    }
    let start = p.checkpoint();
    awaited(p);
    if p.at(STAR2) {
        p.start_at(start, BINARY_EXPR);
        p.bump();
        p.deeper(unary);
        p.finish();
    }
}

fn awaited(p: &mut Parser) {
    if p.at(AWAIT_KW) {
        p.start(AWAIT_EXPR);
        p.bump();
        primary(p);
        p.finish();
    } else {
        primary(p);
    }
}

/// Calls, subscripts and attributes.
fn primary(p: &mut Parser) {
    let start = p.checkpoint();
    if !atom(p) {
        return;
    }
    while matches!(p.current(), L_PAREN | L_BRACK | DOT) {
        if p.too_high(start) {
            return;
        }
        match p.current() {
            L_PAREN => {
                p.start_at(start, CALL_EXPR);
                p.deeper(argument_list);
            }
            L_BRACK => {
                p.start_at(start, SUBSCRIPT_EXPR);
                p.deeper(subscript);
            }
            _ => {
                p.start_at(start, ATTRIBUTE_EXPR);
                p.bump();
                name(p, "expected a name after `.`");
            }
        }
        p.finish();
    }
}

/// The brackets of a subscript.
fn subscript(p: &mut Parser) {
    p.bump();
    let outside = std::mem::replace(&mut p.in_pattern, false);
    if p.at(R_BRACK) {
        p.error("expected an index between `[` and `]`");
    } else {
        let (start, first, star) = (p.checkpoint(), p.position(), p.at(STAR));
        slice(p);
        if p.at(COMMA) || star {
            p.start_at(start, TUPLE_EXPR);
            while p.eat(COMMA) && (starts_expression(p.current()) || p.at(COLON)) {
                slice(p);
            }
            p.finish();
        }
        if star {
            p.require(PythonVersion::Py311, first, "`*` in an index");
        }
    }
    p.in_pattern = outside;
    if !p.at(R_BRACK) {
        p.error_missing("expected `]` after the index");
        p.skip_until(ERROR_EXPR, closes);
    }
    p.eat(R_BRACK);
}

/// Tokens at which a broken bracket gives up.
fn closes(kind: SyntaxKind) -> bool {
    matches!(kind, R_PAREN | R_BRACK | R_CURLY | FSTRING_END | COLON | SEMICOLON)
}

fn slice(p: &mut Parser) {
    let (start, first) = (p.checkpoint(), p.position());
    let is_plain = !p.at(STAR) && p.nth(1) != COLON_EQ;
    if !p.at(COLON) {
        named_expression(p);
        if first < p.position() && !is_plain {
            p.require(PythonVersion::Py310, first, "`*` or `:=` in an index");
        }
    }
    if p.at(COLON) {
        if !is_plain {
            p.error("a bound of a slice cannot be `*a` or `a := b`");
        }
        p.start_at(start, SLICE_EXPR);
        p.bump();
        if starts_expression(p.current()) {
            expression(p);
        }
        if p.eat(COLON) && starts_expression(p.current()) {
            expression(p);
        }
        p.finish();
    }
}

/// The smallest expressions; says so and answers `false` if there is none.
fn atom(p: &mut Parser) -> bool {
    match p.current() {
        IDENT => {
            p.start(NAME_EXPR);
            name(p, "expected a name");
            p.finish();
        }
        INT_NUMBER | FLOAT_NUMBER | IMAGINARY_NUMBER | TRUE_KW | FALSE_KW | NONE_KW | ELLIPSIS => {
            p.start(LITERAL_EXPR);
            p.bump();
            p.finish();
        }
        STRING | FSTRING_START => strings::string(p),
        L_PAREN => p.deeper(parenthesised),
        L_BRACK => p.deeper(list),
        L_CURLY => p.deeper(dict_or_set),
        // These were read by `expression`; here they are an operand, which is a mistake worth reading on after.
        LAMBDA_KW => {
            p.error("`lambda` needs parentheses here");
            p.deeper(lambda);
        }
        YIELD_KW => {
            p.error("`yield` needs parentheses here");
            p.deeper(yield_expression);
        }
        NOT_KW => {
            p.error("`not` needs parentheses here");
            p.deeper(inversion);
        }
        ERROR_TOKEN => {
            p.start(ERROR_EXPR);
            p.bump();
            p.finish();
        }
        BANG => {
            p.error("`!` cannot stand here; did you mean `not`?");
            p.start(ERROR_EXPR);
            p.bump();
            if starts_expression(p.current()) {
                p.deeper(unary);
            }
            p.finish();
        }
        kind if kind.is_keyword() => {
            p.error(&format!("expected an expression, found `{}`", p.current_text()));
            return false;
        }
        _ => {
            p.error_missing("expected an expression");
            return false;
        }
    }
    true
}

fn parenthesised(p: &mut Parser) {
    let start = p.checkpoint();
    p.bump();
    if p.eat(R_PAREN) {
        p.start_at(start, TUPLE_EXPR);
        p.finish();
        return;
    }
    if p.at(YIELD_KW) {
        p.deeper(yield_expression);
        p.start_at(start, PAREN_EXPR);
        close(p, R_PAREN, "expected `)`");
        p.finish();
        return;
    }
    let (first, star) = (p.position(), p.at(STAR));
    named_expression(p);
    if star && !p.at(COMMA) {
        if p.in_pattern { sequence_only(p, first) } else { lone_star(p, first) }
    }
    if matches!(p.current(), FOR_KW | ASYNC_KW) {
        p.start_at(start, GENERATOR_EXPR);
        comprehension_clauses(p);
        close(p, R_PAREN, "expected `)`");
    } else if p.at(COMMA) {
        p.start_at(start, TUPLE_EXPR);
        p.bump();
        items(p, R_PAREN, "expected `)`", starts_expression, named_expression);
    } else {
        p.start_at(start, PAREN_EXPR);
        close(p, R_PAREN, "expected `)`");
    }
    p.finish();
}

fn sequence_only(p: &mut Parser, first: usize) {
    p.error_since(first, "`*` stands in a pattern of a sequence only; a comma after this makes it one");
}

/// The closing bracket, past what does not belong.
fn close(p: &mut Parser, kind: SyntaxKind, message: &str) {
    if !p.at(kind) {
        p.error_missing(message);
        p.skip_until(ERROR_EXPR, closes);
    }
    p.eat(kind);
}

fn list(p: &mut Parser) {
    let start = p.checkpoint();
    p.bump();
    if starts_expression(p.current()) {
        let star = p.at(STAR);
        named_expression(p);
        if matches!(p.current(), FOR_KW | ASYNC_KW) {
            if star {
                p.error("a comprehension cannot unpack with `*`");
            }
            p.start_at(start, LIST_COMP);
            comprehension_clauses(p);
            close(p, R_BRACK, "expected `]`");
            p.finish();
            return;
        }
        p.start_at(start, LIST_EXPR);
        separated(p);
    } else {
        p.start_at(start, LIST_EXPR);
    }
    items(p, R_BRACK, "expected `]`", starts_expression, named_expression);
    p.finish();
}

/// The comma after a first item that was read apart.
fn separated(p: &mut Parser) {
    if !p.eat(COMMA) && starts_expression(p.current()) {
        p.error_missing("expected `,`");
    }
}

fn dict_or_set(p: &mut Parser) {
    let start = p.checkpoint();
    p.bump();
    let outside = p.in_pattern;
    if !starts_expression(p.current()) && !p.at(STAR2) {
        p.start_at(start, DICT_EXPR);
        items(p, R_CURLY, "expected `}`", starts_dict_item, dict_item);
        p.finish();
        p.in_pattern = outside;
        return;
    }
    let first = p.checkpoint();
    let unpacks = matches!(p.current(), STAR | STAR2);
    let is_dict = if p.at(STAR2) {
        dict_item(p);
        true
    } else {
        let is_key = !unpacks && p.nth(1) != COLON_EQ;
        named_expression(p);
        if p.at(COLON) {
            if !is_key {
                p.error("a key of a dictionary cannot be `*a` or `a := b`");
            }
            p.start_at(first, DICT_ITEM);
            p.bump();
            expression(p);
            p.finish();
            true
        } else {
            false
        }
    };
    if matches!(p.current(), FOR_KW | ASYNC_KW) {
        if unpacks {
            p.error("a comprehension cannot unpack with `*` or `**`");
        }
        p.start_at(start, if is_dict { DICT_COMP } else { SET_COMP });
        comprehension_clauses(p);
        close(p, R_CURLY, "expected `}`");
    } else if is_dict {
        p.start_at(start, DICT_EXPR);
        separated(p);
        items(p, R_CURLY, "expected `}`", starts_dict_item, dict_item);
    } else {
        p.start_at(start, SET_EXPR);
        separated(p);
        items(p, R_CURLY, "expected `}`", starts_expression, named_expression);
    }
    p.finish();
}

fn starts_dict_item(kind: SyntaxKind) -> bool {
    starts_expression(kind) || kind == STAR2
}

fn dict_item(p: &mut Parser) {
    p.start(DICT_ITEM);
    if p.eat(STAR2) {
        p.deeper(|p| binary(p, 0));
    } else {
        expression(p);
        if p.expect(COLON, "expected `:` and a value after the key") {
            expression(p);
        }
    }
    p.finish();
}

/// `for … in …` and `if …`, any number of them.
pub(crate) fn comprehension_clauses(p: &mut Parser) {
    loop {
        match p.current() {
            FOR_KW | ASYNC_KW => {
                p.start(COMP_FOR);
                p.eat(ASYNC_KW);
                p.expect(FOR_KW, "expected `for` after `async`");
                target_list(p);
                if p.expect(IN_KW, "expected `in` after the loop variable") {
                    p.deeper(disjunction);
                }
                p.finish();
            }
            IF_KW => {
                p.start(COMP_IF);
                p.bump();
                if p.at(IDENT) && p.nth(1) == COLON_EQ {
                    p.error("an assignment with `:=` needs parentheses here");
                    named_expression(p);
                } else {
                    p.deeper(disjunction);
                }
                p.finish();
            }
            _ => return,
        }
    }
}
