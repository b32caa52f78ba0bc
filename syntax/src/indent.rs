//! Tokens to parser input: trivia dropped, blocks opened and closed.
//!
//! **Indentation is a decision between tokens, never a token of the tree.** A comment line before a dedent belongs to every
//! block that it is indented at least as far as.

use crate::kind::SyntaxKind::{self, *};
use crate::lexer::Tokens;

/// One token of the parser's input: a token of the text, or a decision in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lexeme {
    pub(crate) kind: SyntaxKind,
    /// The token of the text that it is or that it stands before.
    pub(crate) token: u32,
    pub(crate) is_virtual: bool,
}

/// As deep as Python lets blocks go.
const MAX_BLOCKS: usize = 100;

/// The column of a line's first character, with tabs to multiples of eight, and with tabs as one column. Lines that
/// compare differently under the two mix tabs and spaces in a way that has no one meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Column {
    wide: usize,
    narrow: usize,
}

/// Adds block structure; problems are (token, message).
pub(crate) fn lay_out(text: &str, tokens: &Tokens) -> (Vec<Lexeme>, Vec<(usize, &'static str)>) {
    let mut out = Vec::with_capacity(tokens.len());
    let mut errors = Vec::new();
    let mut blocks = vec![Column::default()];
    let mut column = Column::default();
    // A backslash in the indentation freezes the column.
    let mut joined = false;
    let mut line_start = true;
    // Comment lines since the last logical line, with the token after each one's line end.
    let mut comments: Vec<(Column, usize)> = Vec::new();
    let mut last_line_end = 0;
    let mut too_deep = false;
    let decision = |kind, token: usize| Lexeme { kind, token: token as u32, is_virtual: true };

    for index in 0..tokens.len() {
        let kind = tokens.kind(index);
        match kind {
            WHITESPACE => {
                let text = &text[tokens.range(index)];
                if text.starts_with('\\') {
                    joined = true;
                } else if text.ends_with(['\n', '\r']) {
                    (column, joined) = (Column::default(), false);
                } else if line_start && !joined {
                    for byte in text.bytes() {
                        match byte {
                            b' ' => column = Column { wide: column.wide + 1, narrow: column.narrow + 1 },
                            b'\t' => column = Column { wide: (column.wide / 8 + 1) * 8, narrow: column.narrow + 1 },
                            b'\x0c' => column = Column::default(),
                            _ => {}
                        }
                    }
                }
            }
            COMMENT => {
                if line_start {
                    comments.push((column, (index + 2).min(tokens.len())));
                }
            }
            _ => {
                if line_start && kind != NEWLINE {
                    let top = blocks[blocks.len() - 1];
                    if column.wide == top.wide {
                        if column.narrow != top.narrow {
                            errors.push((index, "this line mixes tabs and spaces differently from the lines above"));
                        }
                    } else if column.wide > top.wide {
                        if column.narrow <= top.narrow {
                            errors.push((index, "this line mixes tabs and spaces differently from the lines above"));
                        }
                        if blocks.len() > MAX_BLOCKS {
                            if !too_deep {
                                errors.push((index, "blocks are nested too deeply"));
                            }
                            too_deep = true;
                        } else {
                            blocks.push(column);
                            out.push(decision(INDENT, last_line_end));
                        }
                    } else {
                        dedent(column, &mut blocks, &comments, last_line_end, |token| out.push(decision(DEDENT, token)));
                        let top = blocks.len() - 1;
                        if blocks[top].wide != column.wide {
                            errors.push((index, "this line's indentation matches no block above"));
                            blocks[top] = column;
                        } else if blocks[top].narrow != column.narrow {
                            errors.push((index, "this line mixes tabs and spaces differently from the lines above"));
                        }
                    }
                }
                line_start = false;
                out.push(Lexeme { kind, token: index as u32, is_virtual: false });
                if kind == NEWLINE {
                    (line_start, column, joined) = (true, Column::default(), false);
                    comments.clear();
                    last_line_end = index + 1;
                }
            }
        }
    }
    if !line_start {
        out.push(decision(NEWLINE, tokens.len()));
        comments.clear();
        last_line_end = tokens.len();
    }
    dedent(Column::default(), &mut blocks, &comments, last_line_end, |token| out.push(decision(DEDENT, token)));
    out.push(decision(EOF, tokens.len()));
    (out, errors)
}

/// Closes the blocks that a line at `column` leaves, each before the first comment line that is outside it.
fn dedent(column: Column, blocks: &mut Vec<Column>, comments: &[(Column, usize)], line_end: usize, mut close: impl FnMut(usize)) {
    let mut place = line_end;
    let mut comments = comments.iter().peekable();
    while blocks.len() > 1 {
        let (top, below) = (blocks[blocks.len() - 1].wide, blocks[blocks.len() - 2].wide);
        // A line between two levels stays in the inner one, so that one mistake costs one message.
        if column.wide >= top || (column.wide > below) {
            break;
        }
        while let Some((_, after)) = comments.next_if(|(column, _)| column.wide >= top) {
            place = *after;
        }
        close(place);
        blocks.pop();
    }
}
