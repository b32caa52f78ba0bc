//! A file as a row of top-level statements, each parsed on its own.
//!
//! **The chunks, one after the other, are the text**, and a file's tree is by definition the joined trees of its chunks. So a
//! keystroke in one kernel changes the text, and with it the memoised parse, of one chunk only.
//!
//! A chunk is one top-level statement with its decorators, its `else`s and its indented blocks. Blank lines and indented
//! comments go with the statement above them, comments from column 0 on with the statement below; the last chunk takes the
//! rest.

use crate::kind::SyntaxKind::*;
use crate::lexer::{Tokens, lex};
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
    split(text).chunks
}

/// How a file was split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    pub chunks: Vec<Chunk>,
    /// Where each chunk ends hangs on its own text and on the first word of the next one alone.
    is_local: bool,
}

/// [`chunks`], to be gone on from after an edit.
pub fn split(text: &str) -> Split {
    let tokens = lex(text);
    Split { chunks: cut(text, &tokens), is_local: !tokens.looked_far }
}

/// What [`split`] says of `text`, given what it said of `old_text`: where that is enough, only the chunks around the edit are read.
pub fn split_again(old_text: &str, old: &Split, text: &str) -> Split {
    around_edit(old_text, old, text).unwrap_or_else(|| split(text))
}

/// Reads from the chunk before the edit to the chunk behind it; if that one still begins where it did, nothing beyond has changed.
fn around_edit(old_text: &str, old: &Split, text: &str) -> Option<Split> {
    if !old.is_local {
        return None;
    }
    let head = same_at_start(old_text.as_bytes(), text.as_bytes());
    let tail = same_at_end(&old_text.as_bytes()[head..], &text.as_bytes()[head..]);
    let touched = |at: usize| old.chunks.partition_point(|chunk| usize::from(chunk.range.start()) <= at).saturating_sub(1);
    let moved = |at: TextSize| usize::from(at) + text.len() - old_text.len();
    let first = touched(head).saturating_sub(1);
    let last = touched(old_text.len() - tail) + 1;
    let kept = old.chunks.get(last + 1..).unwrap_or_default();
    let from = usize::from(old.chunks[first].range.start());
    let to = kept.first().map_or(text.len(), |chunk| moved(chunk.range.start()));
    let window = &text[from..to];
    // The mark is nothing at the start of a file, and an error elsewhere.
    if from > 0 && window.starts_with('\u{feff}') {
        return None;
    }
    let part = split(window);
    let is_in_step = kept.is_empty() || {
        let start = |chunk: &Chunk| usize::from(chunk.range.start());
        part.chunks.last().map(|chunk| from + start(chunk)) == old.chunks.get(last).map(|chunk| moved(chunk.range.start()))
    };
    if !part.is_local || !is_in_step {
        return None;
    }
    let at = |start: usize, end: usize| Chunk { range: TextRange::new(TextSize::from(start as u32), TextSize::from(end as u32)) };
    let mut chunks = old.chunks[..first].to_vec();
    chunks.extend(part.chunks.iter().map(|chunk| Chunk { range: chunk.range + TextSize::from(from as u32) }));
    chunks.extend(kept.iter().map(|chunk| at(moved(chunk.range.start()), moved(chunk.range.end()))));
    Some(Split { chunks, is_local: true })
}

/// Compared at once: more than a statement, less than what would be read for nothing.
const BLOCK: usize = 256;

fn same_at_start(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK)).take_while(|(a, b)| a == b).count() * BLOCK;
    blocks + a[blocks..].iter().zip(&b[blocks..]).take_while(|(a, b)| a == b).count()
}

fn same_at_end(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.rchunks_exact(BLOCK).zip(b.rchunks_exact(BLOCK)).take_while(|(a, b)| a == b).count() * BLOCK;
    let (a, b) = (&a[..a.len() - blocks], &b[..b.len() - blocks]);
    blocks + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

fn cut(text: &str, tokens: &Tokens) -> Vec<Chunk> {
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
        errors = validate::chunk(&green.syntax(), text, version);
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
