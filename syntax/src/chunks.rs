//! A file as a row of top-level statements, each parsed on its own.
//!
//! **The chunks, one after the other, are the text**, and a file's tree is by definition the joined trees of its chunks. So a
//! keystroke in one kernel changes the text, and with it the memoised parse, of one chunk only.
//!
//! A chunk is one top-level statement with its decorators, its `else`s and its indented blocks. Blank lines and indented
//! comments go with the statement above them, comments from column 0 on with the statement below; the last chunk takes the
//! rest.

use crate::kind::SyntaxKind::*;
use crate::lexer::lex;
use crate::parser::Parser;
use crate::tree::{Green, TextRange, TextSize};
use crate::{Parse, PythonVersion, SyntaxError, grammar, validate};

/// One top-level statement of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chunk {
    pub range: TextRange,
}

impl Chunk {
    /// Its part of the file's text.
    pub fn text<'t>(&self, file: &'t str) -> &'t str {
        &file[usize::from(self.range.start())..usize::from(self.range.end())]
    }
}

/// Splits a file. An empty file is one empty chunk.
pub fn chunks(text: &str) -> Vec<Chunk> {
    let tokens = lex(text);
    let mut starts: Vec<usize> = Vec::new();
    // Where the chunk of the next statement would begin.
    let mut boundary = 0;
    // The last significant line allows no break behind it: it is a decorator.
    let mut decorated = false;
    let mut has_statement = false;
    let mut line_start = true;
    let mut column_is_zero = true;
    // A comment at column 0 was seen since the last statement: nothing more belongs to the statement above.
    let mut boundary_is_fixed = true;
    for index in 0..tokens.len() {
        let kind = tokens.kind(index);
        if !line_start && kind != NEWLINE {
            continue;
        }
        let range = tokens.range(index);
        match kind {
            WHITESPACE => {
                let ends_line = text[range.clone()].ends_with(['\n', '\r']);
                if line_start {
                    if ends_line && !boundary_is_fixed {
                        boundary = range.end;
                    }
                    let is_mark = text[range.clone()].starts_with('\u{feff}');
                    column_is_zero = (ends_line && !text[range].starts_with('\\')) || (is_mark && column_is_zero);
                }
            }
            COMMENT => {
                boundary_is_fixed |= line_start && column_is_zero;
            }
            kind => {
                if line_start && kind != NEWLINE {
                    // A byte order mark begins a file and so a first chunk only.
                    let is_mark = kind == ERROR_TOKEN && text[range.clone()].starts_with('\u{feff}');
                    let continues = decorated || is_mark || matches!(kind, ELIF_KW | ELSE_KW | EXCEPT_KW | FINALLY_KW);
                    if column_is_zero {
                        if has_statement && !continues {
                            starts.push(boundary);
                        }
                        decorated = kind == AT;
                    }
                    has_statement = true;
                }
                line_start = false;
                if kind == NEWLINE {
                    line_start = true;
                    column_is_zero = true;
                    boundary = range.end;
                    boundary_is_fixed = false;
                }
            }
        }
    }
    let mut out = Vec::with_capacity(starts.len() + 1);
    let mut from = 0;
    for end in starts.into_iter().chain([text.len()]) {
        out.push(Chunk { range: TextRange::new(TextSize::from(from as u32), TextSize::from(end as u32)) });
        from = end;
    }
    out
}

/// Parses one chunk as if it were a file; ranges count from its start.
pub fn parse_chunk(text: &str, version: PythonVersion) -> Parse {
    let mut parser = Parser::new(text, version);
    grammar::module(&mut parser);
    let (green, mut errors) = parser.finish_module();
    if errors.is_empty() {
        errors = validate::chunk(&green.syntax(), version);
    }
    Parse::new(green, errors)
}

/// Puts the parses of a file's chunks, in order, together.
pub fn join<'a>(parts: impl IntoIterator<Item = &'a Parse> + Clone) -> Parse {
    let mut errors = Vec::new();
    let mut offset = TextSize::from(0);
    for part in parts.clone() {
        errors.extend(
            part.errors().iter().map(|error| SyntaxError { message: error.message.clone(), range: error.range + offset }),
        );
        offset += part.green().text_len();
    }
    Parse::new(Green::concatenate(MODULE, parts.into_iter().map(Parse::green)), errors)
}
