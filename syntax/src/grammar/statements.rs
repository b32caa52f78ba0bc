//! Lines of small statements.
//!
//! **A broken line ends at its line end**: the next line is read as if nothing had happened.

use super::expressions::{self, assignment_value, expression, expression_list};
use super::{compound, name, patterns};
use crate::PythonVersion;
use crate::kind::SyntaxKind::{self, *};
use crate::parser::Parser;

/// Statements up to the end of the block or file.
pub(crate) fn statements(p: &mut Parser) {
    let mut unexpected_blocks = 0;
    let mut broken = false;
    while !p.at(EOF) {
        match p.current() {
            INDENT => {
                // Behind a broken line the block is most likely its body.
                if !broken {
                    p.bump();
                    p.error("this line is indented, but no block starts here");
                } else {
                    p.bump();
                }
                unexpected_blocks += 1;
            }
            DEDENT if unexpected_blocks > 0 => {
                p.bump();
                unexpected_blocks -= 1;
            }
            DEDENT => return,
            _ => {
                let (errors, position) = (p.error_count(), p.position());
                statement(p);
                broken = p.error_count() > errors;
                if p.position() == position {
                    error_line(p, "this is not a statement");
                }
            }
        }
    }
}

pub(crate) fn statement(p: &mut Parser) {
    match p.current() {
        NEWLINE => error_line(p, "an empty statement"),
        AT | DEF_KW | CLASS_KW => compound::definition(p),
        ASYNC_KW => compound::async_statement(p),
        IF_KW => compound::if_statement(p),
        FOR_KW => {
            let start = p.checkpoint();
            compound::for_statement(p, start);
        }
        WHILE_KW => compound::while_statement(p),
        WITH_KW => {
            let start = p.checkpoint();
            compound::with_statement(p, start);
        }
        TRY_KW => compound::try_statement(p),
        ELIF_KW | ELSE_KW => error_line(p, "this branch belongs to no statement above"),
        EXCEPT_KW | FINALLY_KW => error_line(p, "this clause belongs to no `try` above"),
        IDENT if patterns::at_match(p) => patterns::match_statement(p),
        _ => simple_statements(p),
    }
}

/// A whole line that is no statement.
pub(crate) fn error_line(p: &mut Parser, message: &str) {
    p.error(message);
    p.start(ERROR_STMT);
    while !p.at_line_end() {
        p.bump();
    }
    p.eat(NEWLINE);
    p.finish();
}

/// One logical line of statements without blocks.
pub(crate) fn simple_statements(p: &mut Parser) {
    if !starts_small_statement(p.current()) {
        let message = unexpected(p);
        return error_line(p, &message);
    }
    p.start(SIMPLE_STMTS);
    loop {
        small_statement(p);
        if !p.eat(SEMICOLON) || p.at_line_end() {
            break;
        }
    }
    if !p.at_line_end() {
        let message = unexpected(p);
        p.error(&message);
        p.skip_until(ERROR_STMT, |_| false);
    }
    p.eat(NEWLINE);
    p.finish();
}

/// What to say about a token that nothing can start or continue with.
fn unexpected(p: &Parser) -> String {
    match p.current() {
        R_PAREN | R_BRACK | R_CURLY => format!("this `{}` closes no bracket", p.current_text()),
        kind if kind.is_keyword() => format!("`{}` cannot stand here", p.current_text()),
        EQ => "`=` cannot stand here; did you mean `==`?".to_owned(),
        _ => format!("expected the end of the line, found `{}`", p.current_text().escape_debug()),
    }
}

fn starts_small_statement(kind: SyntaxKind) -> bool {
    expressions::starts_expression(kind)
        || matches!(
            kind,
            RETURN_KW
                | PASS_KW
                | BREAK_KW
                | CONTINUE_KW
                | ASSERT_KW
                | DEL_KW
                | RAISE_KW
                | IMPORT_KW
                | FROM_KW
                | GLOBAL_KW
                | NONLOCAL_KW
        )
}

fn small_statement(p: &mut Parser) {
    match p.current() {
        RETURN_KW => return_statement(p),
        PASS_KW => word_statement(p, PASS_STMT),
        BREAK_KW => word_statement(p, BREAK_STMT),
        CONTINUE_KW => word_statement(p, CONTINUE_STMT),
        ASSERT_KW => assert_statement(p),
        DEL_KW => del_statement(p),
        RAISE_KW => raise_statement(p),
        IMPORT_KW => import_statement(p),
        FROM_KW => import_from_statement(p),
        GLOBAL_KW => scope_statement(p, GLOBAL_STMT),
        NONLOCAL_KW => scope_statement(p, NONLOCAL_STMT),
        IDENT if at_type_alias(p) => type_alias(p),
        kind if expressions::starts_expression(kind) => expression_statement(p),
        _ => {
            let message = unexpected(p);
            p.error(&message);
        }
    }
}

fn word_statement(p: &mut Parser, node: SyntaxKind) {
    p.start(node);
    p.bump();
    p.finish();
}

fn return_statement(p: &mut Parser) {
    p.start(RETURN_STMT);
    p.bump();
    if expressions::starts_expression(p.current()) {
        expression_list(p);
    }
    p.finish();
}

fn assert_statement(p: &mut Parser) {
    p.start(ASSERT_STMT);
    p.bump();
    expression(p);
    if p.eat(COMMA) {
        expression(p);
    }
    p.finish();
}

fn del_statement(p: &mut Parser) {
    p.start(DEL_STMT);
    p.bump();
    expression_list(p);
    p.finish();
}

fn raise_statement(p: &mut Parser) {
    p.start(RAISE_STMT);
    p.bump();
    if expressions::starts_expression(p.current()) {
        expression(p);
        if p.eat(FROM_KW) {
            expression(p);
        }
    }
    p.finish();
}

fn scope_statement(p: &mut Parser, node: SyntaxKind) {
    p.start(node);
    p.bump();
    while name(p, "expected a name") && p.eat(COMMA) {}
    p.finish();
}

fn import_statement(p: &mut Parser) {
    p.start(IMPORT_STMT);
    p.bump();
    loop {
        p.start(IMPORT_ALIAS);
        dotted_name(p);
        import_as(p);
        p.finish();
        if !p.eat(COMMA) {
            break;
        }
    }
    p.finish();
}

fn import_as(p: &mut Parser) {
    if p.eat(AS_KW) {
        name(p, "expected a name after `as`");
    }
}

fn dotted_name(p: &mut Parser) {
    p.start(DOTTED_NAME);
    while name(p, "expected the name of a module") && p.eat(DOT) {}
    p.finish();
}

fn import_from_statement(p: &mut Parser) {
    p.start(IMPORT_FROM_STMT);
    p.bump();
    if matches!(p.current(), DOT | ELLIPSIS) {
        p.start(DOTS);
        while matches!(p.current(), DOT | ELLIPSIS) {
            p.bump();
        }
        p.finish();
        if p.at(IDENT) {
            dotted_name(p);
        }
    } else {
        dotted_name(p);
    }
    if p.expect(IMPORT_KW, "expected `import`") && !p.eat(STAR) {
        let parenthesised = p.eat(L_PAREN);
        loop {
            p.start(IMPORT_ALIAS);
            p.start(DOTTED_NAME);
            let named = name(p, "expected a name to import");
            p.finish();
            import_as(p);
            p.finish();
            if !named || !p.eat(COMMA) || (parenthesised && p.at(R_PAREN)) {
                break;
            }
        }
        if parenthesised {
            p.expect(R_PAREN, "expected `)` after the imported names");
        }
    }
    p.finish();
}

fn at_type_alias(p: &Parser) -> bool {
    p.at_word("type") && p.nth(1) == IDENT && matches!(p.nth(2), EQ | L_BRACK)
}

fn type_alias(p: &mut Parser) {
    let first = p.position();
    p.start(TYPE_ALIAS_STMT);
    p.bump_as(TYPE_KW);
    p.require(PythonVersion::Py312, first, "a `type` statement");
    name(p, "expected the name of the type");
    if p.at(L_BRACK) {
        super::arguments::type_params(p);
    }
    if p.expect(EQ, "expected `=`") {
        expression(p);
    }
    p.finish();
}

fn augmented(kind: SyntaxKind) -> bool {
    matches!(
        kind,
        PLUS_EQ
            | MINUS_EQ
            | STAR_EQ
            | SLASH_EQ
            | SLASH2_EQ
            | PERCENT_EQ
            | STAR2_EQ
            | AT_EQ
            | AMP_EQ
            | PIPE_EQ
            | CARET_EQ
            | SHL_EQ
            | SHR_EQ
    )
}

fn expression_statement(p: &mut Parser) {
    let start = p.checkpoint();
    assignment_value(p);
    match p.current() {
        EQ => {
            p.start_at(start, ASSIGN_STMT);
            while p.eat(EQ) {
                assignment_value(p);
            }
        }
        COLON => {
            p.start_at(start, ANN_ASSIGN_STMT);
            p.bump();
            expression(p);
            if p.eat(EQ) {
                assignment_value(p);
            }
        }
        kind if augmented(kind) => {
            p.start_at(start, AUG_ASSIGN_STMT);
            p.start(AUG_OP);
            p.bump();
            p.finish();
            assignment_value(p);
        }
        _ => p.start_at(start, EXPR_STMT),
    }
    p.finish();
}
