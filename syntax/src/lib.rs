//! Python text to a lossless tree, for Python 3.9 to 3.14.
//!
//! **The text of a tree is the text it was parsed from, byte for byte, for every input**; parsing never fails and never
//! panics. Problems come back beside the tree. This crate knows Python; it does not know Triton.
//!
//! ```
//! use tritium_syntax::{PythonVersion, ast, parse};
//!
//! let parse = parse("def f(x):\n    return x + 1\n", PythonVersion::default());
//! let Some(ast::Stmt::FunctionDef(function)) = parse.tree().stmts().next() else { panic!() };
//! assert_eq!(function.name().unwrap().text(), "f");
//! assert!(parse.errors().is_empty());
//! ```
//!
//! The way of a text: [`chunks`] splits a file at its top-level statements, `lexer` makes tokens, `indent` opens and closes
//! blocks, `grammar` reads them through `parser`, which builds the tree of [`tree`]; [`ast`] gives it types.

pub mod ast;
pub mod chunks;
mod grammar;
mod indent;
mod kind;
pub mod lexer;
pub mod line_index;
mod parsed;
mod parser;
pub mod source;
pub mod tree;
mod validate;
mod version;

pub use ast::{AstNode, AstPtr};
pub use chunks::{Chunk, Split, chunks, join, parse_chunk, split, split_again};
pub use line_index::{Encoding, LineColumn, LineIndex};
pub use parsed::{Parse, SyntaxError};
pub use tree::{
    Direction, Green, NodeOrToken, SyntaxElement, SyntaxKind, SyntaxNode, SyntaxToken, TextRange, TextSize, TokenAtOffset,
    WalkEvent,
};
pub use version::PythonVersion;

/// Parses a whole file: the chunks one by one, joined, and what only the whole file shows.
pub fn parse(text: &str, version: PythonVersion) -> Parse {
    let parts: Vec<Parse> = chunks(text).iter().map(|chunk| parse_chunk(chunk.text(text), version)).collect();
    let mut whole = join(&parts);
    if whole.errors.is_empty() {
        whole.errors = validate::across_chunks(&whole, version).into();
    }
    whole
}

/// The tree as indented text, one node or token a line: what tests and `emit --stage tree` show.
pub fn dump(node: &SyntaxNode) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    let mut depth = 0;
    for event in node.preorder_with_tokens() {
        match event {
            WalkEvent::Enter(element) => {
                let range = element.text_range();
                let (start, end) = (u32::from(range.start()), u32::from(range.end()));
                let indent = depth * 2;
                let _ = match &element {
                    NodeOrToken::Node(node) => writeln!(out, "{:indent$}{:?}@{start}..{end}", "", node.kind()),
                    NodeOrToken::Token(token) => {
                        writeln!(out, "{:indent$}{:?}@{start}..{end} {:?}", "", token.kind(), token.text())
                    }
                };
                depth += 1;
            }
            WalkEvent::Leave(_) => depth -= 1,
        }
    }
    out
}
