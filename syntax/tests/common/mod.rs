//! Trees as short text. **Trivia is left out; everything else is shown.**

use std::fmt::Write as _;

use tritium_syntax::{Encoding, LineIndex, NodeOrToken, Parse, PythonVersion, SyntaxKind, SyntaxNode, parse};

/// One line a statement, `(KIND child child)`; names stand for themselves, problems follow.
pub(crate) fn outline(text: &str) -> String {
    outline_for(text, PythonVersion::default())
}

pub(crate) fn outline_for(text: &str, version: PythonVersion) -> String {
    let parse = parse(text, version);
    assert_eq!(parse.syntax().text().to_string(), text);
    let mut out = String::new();
    for statement in parse.syntax().children() {
        node(&statement, 0, &mut out);
        out.push('\n');
    }
    out.push_str(&problems(text, &parse));
    out
}

fn problems(text: &str, parse: &Parse) -> String {
    let index = LineIndex::new(text);
    let mut out = String::new();
    for error in parse.errors() {
        let place = index.line_column(error.range.start(), Encoding::CodePoints);
        let shown = &text[error.range];
        writeln!(out, "{}:{} {shown:?} {}", place.line + 1, place.column + 1, error.message).unwrap();
    }
    out
}

fn node(syntax: &SyntaxNode, depth: usize, out: &mut String) {
    match syntax.kind() {
        SyntaxKind::NAME | SyntaxKind::NAME_EXPR | SyntaxKind::LITERAL_EXPR | SyntaxKind::STRING_LITERAL => {
            out.push_str(syntax.text().to_string().trim());
            return;
        }
        SyntaxKind::BLOCK => {
            out.push_str("(BLOCK");
            for child in syntax.children() {
                write!(out, "\n{:indent$}", "", indent = 2 * depth + 2).unwrap();
                node(&child, depth + 1, out);
            }
            out.push(')');
            return;
        }
        kind => write!(out, "({kind:?}").unwrap(),
    }
    for child in syntax.children_with_tokens() {
        match child {
            NodeOrToken::Node(child) => {
                out.push(' ');
                node(&child, depth, out);
            }
            NodeOrToken::Token(token) => match token.kind() {
                SyntaxKind::WHITESPACE | SyntaxKind::COMMENT | SyntaxKind::NEWLINE => {}
                _ => write!(out, " {}", token.text()).unwrap(),
            },
        }
    }
    out.push(')');
}
