//! String literals and f-strings.
//!
//! **Adjacent literals are one expression.**

use super::expressions::assignment_value;
use super::name;
use crate::PythonVersion;
use crate::kind::SyntaxKind::*;
use crate::parser::Parser;

pub(crate) fn string(p: &mut Parser) {
    p.start(STRING_EXPR);
    loop {
        match p.current() {
            STRING => {
                p.start(STRING_LITERAL);
                p.bump();
                p.finish();
            }
            FSTRING_START => p.deeper(fstring),
            _ => break,
        }
    }
    p.finish();
}

fn fstring(p: &mut Parser) {
    let first = p.position();
    let template = p.current_text().contains(['t', 'T']);
    p.start(FSTRING);
    p.bump();
    fstring_parts(p);
    p.eat(FSTRING_END);
    p.finish();
    if template {
        p.require(PythonVersion::Py314, first, "a template string");
    }
}

fn fstring_parts(p: &mut Parser) {
    loop {
        match p.current() {
            FSTRING_TEXT => p.bump(),
            L_CURLY => p.deeper(replacement),
            _ => break,
        }
    }
}

fn replacement(p: &mut Parser) {
    p.start(REPLACEMENT);
    p.bump();
    if matches!(p.current(), R_CURLY | BANG | COLON) {
        p.error("expected an expression between `{` and `}`");
    } else {
        let outside = std::mem::replace(&mut p.in_pattern, false);
        assignment_value(p);
        p.in_pattern = outside;
    }
    p.eat(EQ);
    if p.eat(BANG) {
        name(p, "expected `r`, `s` or `a` after `!`");
    }
    if p.at(COLON) {
        p.start(FORMAT_SPEC);
        p.bump();
        fstring_parts(p);
        p.finish();
    }
    if !p.at(R_CURLY) {
        p.error("expected `}` after the expression in the f-string");
        p.skip_until(ERROR_EXPR, |kind| matches!(kind, R_CURLY | FSTRING_END | FSTRING_TEXT));
    }
    p.eat(R_CURLY);
    p.finish();
}
