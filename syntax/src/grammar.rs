//! Python's grammar, one function a production.
//!
//! **Every loop of a production takes a token or stops**; what a production does not know it leaves to its caller, and a
//! line takes what is left of it.

pub(crate) mod arguments;
pub(crate) mod compound;
pub(crate) mod expressions;
pub(crate) mod patterns;
pub(crate) mod statements;
pub(crate) mod strings;

use crate::kind::SyntaxKind::*;
use crate::parser::Parser;

/// A name; what stands in its place stays for the caller.
pub(crate) fn name(p: &mut Parser, message: &str) -> bool {
    if p.at(IDENT) {
        p.start(NAME);
        p.bump();
        p.finish();
        return true;
    }
    if p.current().is_keyword() {
        let word = p.current_text();
        p.error(&format!("{message}; `{word}` is a reserved word"));
    } else {
        p.error_missing(message);
    }
    false
}

/// A file, or one chunk of it.
pub(crate) fn module(p: &mut Parser) {
    p.start_early(MODULE);
    while !p.at(EOF) {
        statements::statements(p);
        // A dedent without a block cannot come from the layout; it is taken so that the loop ends.
        p.eat(DEDENT);
    }
}
