//! The machine under the grammar: looks at tokens, builds the tree, collects problems.
//!
//! **Every token of the text enters the tree exactly once, in order**, because only `bump` moves on and it takes the trivia
//! in front along. Nodes start at their first token, not at trivia; blocks start right after the line end of their header.

use crate::PythonVersion;
use crate::SyntaxError;
use crate::indent::{self, Lexeme};
use crate::kind::SyntaxKind::{self, *};
use crate::lexer::{self, Tokens};
use crate::tree::{Checkpoint, Green, TextRange, TextSize, TreeBuilder};

/// Nested constructs that the parser follows. A bracket and the expression in it count as two; CPython allows 200 brackets.
const MAX_DEPTH: u32 = 400;
/// Height of an expression: bounds chains such as `a + b + …`, which nest without recursion.
const MAX_HEIGHT: u32 = 1000;

pub(crate) struct Parser<'t> {
    text: &'t str,
    tokens: Tokens,
    input: Vec<Lexeme>,
    /// The current lexeme.
    pos: usize,
    /// The first token that is not in the tree yet.
    next_token: usize,
    builder: TreeBuilder,
    errors: Vec<SyntaxError>,
    last_error: Option<usize>,
    depth: u32,
    version: PythonVersion,
    /// Inside a `case` pattern, where `|` and `as` build patterns and `if` starts the guard.
    pub(crate) in_pattern: bool,
}

impl<'t> Parser<'t> {
    pub(crate) fn new(text: &'t str, version: PythonVersion) -> Parser<'t> {
        let tokens = lexer::lex(text);
        let (input, layout_errors) = indent::lay_out(text, &tokens);
        let mut errors: Vec<SyntaxError> = Vec::new();
        for (start, end, message) in &tokens.errors {
            errors.push(SyntaxError { message: message.clone(), range: TextRange::new((*start).into(), (*end).into()) });
        }
        for (token, message) in layout_errors {
            errors.push(SyntaxError { message: message.to_owned(), range: text_range(tokens.range(token)) });
        }
        Parser {
            text,
            tokens,
            input,
            pos: 0,
            next_token: 0,
            builder: TreeBuilder::new(),
            errors,
            last_error: None,
            depth: 0,
            version,
            in_pattern: false,
        }
    }

    /// The tree, with whatever is left of the text at its end.
    pub(crate) fn finish_module(mut self) -> (Green, Vec<SyntaxError>) {
        self.flush(self.tokens.len());
        self.builder.finish();
        self.errors.sort_by_key(|error| (error.range.start(), error.range.end()));
        (self.builder.build(), self.errors)
    }

    // ---- looking

    pub(crate) fn current(&self) -> SyntaxKind {
        self.nth(0)
    }

    pub(crate) fn nth(&self, ahead: usize) -> SyntaxKind {
        self.input.get(self.pos + ahead).map_or(EOF, |lexeme| lexeme.kind)
    }

    /// The kind of a lexeme that was taken already, by its number.
    pub(crate) fn taken(&self, position: usize) -> SyntaxKind {
        self.input.get(position).map_or(EOF, |lexeme| lexeme.kind)
    }

    pub(crate) fn at(&self, kind: SyntaxKind) -> bool {
        self.current() == kind
    }

    /// At the end of the logical line, or past every line.
    pub(crate) fn at_line_end(&self) -> bool {
        matches!(self.current(), NEWLINE | EOF | DEDENT | INDENT)
    }

    /// The current token's text; empty for decisions.
    pub(crate) fn current_text(&self) -> &'t str {
        match self.input.get(self.pos) {
            Some(lexeme) if !lexeme.is_virtual => &self.text[self.tokens.range(lexeme.token as usize)],
            _ => "",
        }
    }

    pub(crate) fn at_word(&self, word: &str) -> bool {
        self.at(IDENT) && self.current_text() == word
    }

    // ---- moving

    /// Puts tokens before `until` into the tree.
    fn flush(&mut self, until: usize) {
        while self.next_token < until {
            let range = self.tokens.range(self.next_token);
            self.builder.token(self.tokens.kind(self.next_token), &self.text[range]);
            self.next_token += 1;
        }
    }

    /// Puts the trivia before the current token into the tree.
    fn flush_trivia(&mut self) {
        if let Some(lexeme) = self.input.get(self.pos) {
            self.flush(lexeme.token as usize);
        }
    }

    pub(crate) fn bump(&mut self) {
        self.bump_as(self.current());
    }

    /// Takes the current token under another kind, for words that are keywords only here.
    pub(crate) fn bump_as(&mut self, kind: SyntaxKind) {
        let Some(lexeme) = self.input.get(self.pos).copied() else { return };
        self.flush(lexeme.token as usize);
        if !lexeme.is_virtual {
            let range = self.tokens.range(self.next_token);
            self.builder.token(kind, &self.text[range]);
            self.next_token += 1;
        }
        if lexeme.kind != EOF {
            self.pos += 1;
        }
    }

    pub(crate) fn eat(&mut self, kind: SyntaxKind) -> bool {
        let eaten = self.at(kind);
        if eaten {
            self.bump();
        }
        eaten
    }

    /// Takes the token, or says what is missing.
    pub(crate) fn expect(&mut self, kind: SyntaxKind, message: &str) -> bool {
        let eaten = self.eat(kind);
        if !eaten {
            self.error_missing(message);
        }
        eaten
    }

    // ---- building

    pub(crate) fn start(&mut self, kind: SyntaxKind) {
        self.flush_trivia();
        self.builder.start(kind);
    }

    /// Opens a node in front of the trivia.
    pub(crate) fn start_early(&mut self, kind: SyntaxKind) {
        self.builder.start(kind);
    }

    pub(crate) fn checkpoint(&mut self) -> Checkpoint {
        self.flush_trivia();
        self.builder.checkpoint()
    }

    pub(crate) fn start_at(&mut self, checkpoint: Checkpoint, kind: SyntaxKind) {
        self.builder.start_at(checkpoint, kind);
    }

    pub(crate) fn finish(&mut self) {
        self.builder.finish();
    }

    // ---- problems

    /// A problem with the current token. One mistake, one message: a second one at the same token is dropped.
    pub(crate) fn error(&mut self, message: &str) {
        if self.at(ERROR_TOKEN) {
            // The lexer has said so.
            self.last_error = Some(self.pos);
            return;
        }
        let range = match self.input.get(self.pos) {
            Some(lexeme) if !lexeme.is_virtual && lexeme.kind != NEWLINE => self.tokens.range(lexeme.token as usize),
            _ => return self.error_missing(message),
        };
        self.error_here(message, text_range(range));
    }

    /// A problem with what is not there, shown where the text before ends.
    pub(crate) fn error_missing(&mut self, message: &str) {
        let end = match self
            .pos
            .checked_sub(1)
            .and_then(|before| self.input[..=before].iter().rev().find(|lexeme| !lexeme.is_virtual && lexeme.kind != NEWLINE))
        {
            Some(lexeme) => self.tokens.range(lexeme.token as usize).end,
            None => 0,
        };
        self.error_here(message, text_range(end..end));
    }

    fn error_here(&mut self, message: &str, range: TextRange) {
        if self.last_error == Some(self.pos) || self.errors.last().is_some_and(|last| last.range == range) {
            return;
        }
        self.last_error = Some(self.pos);
        self.errors.push(SyntaxError { message: message.to_owned(), range });
    }

    /// A problem with a range of tokens that are in the tree already; never dropped.
    pub(crate) fn error_since(&mut self, first: usize, message: &str) {
        let (Some(from), Some(to)) = (self.input.get(first), self.pos.checked_sub(1).and_then(|at| self.input.get(at))) else {
            return;
        };
        let start = self.tokens.start(from.token as usize);
        let end = if to.is_virtual { start } else { self.tokens.range(to.token as usize).end };
        self.errors.push(SyntaxError { message: message.to_owned(), range: text_range(start..end.max(start)) });
    }

    /// A construct that `since` brought; the range starts at the given lexeme.
    pub(crate) fn require(&mut self, since: PythonVersion, first: usize, what: &str) {
        if self.version < since {
            let message = format!("{what} needs Python {since}; this file is read as Python {}", self.version);
            self.error_since(first, &message);
        }
    }

    /// How many problems there are so far.
    pub(crate) fn error_count(&self) -> usize {
        self.errors.len()
    }

    /// The number of the current lexeme.
    pub(crate) fn position(&self) -> usize {
        self.pos
    }

    // ---- recovery

    /// Puts tokens into one error node until the line ends or `stop` says so. Takes nothing if it is there already.
    pub(crate) fn skip_until(&mut self, node: SyntaxKind, stop: impl Fn(SyntaxKind) -> bool) {
        if self.at_line_end() || stop(self.current()) {
            return;
        }
        self.start(node);
        while !self.at_line_end() && !stop(self.current()) {
            self.bump();
        }
        self.finish();
    }

    /// Runs a production one level deeper; at the limit it takes the rest of the line unread.
    pub(crate) fn deeper(&mut self, production: impl FnOnce(&mut Self)) {
        if self.depth >= MAX_DEPTH {
            self.too_deep();
            return;
        }
        self.depth += 1;
        production(self);
        self.depth -= 1;
    }

    /// Runs the statements of a block. Its expressions have the whole depth again: the layout bounds how deep blocks go.
    pub(crate) fn deeper_block(&mut self, production: impl FnOnce(&mut Self)) {
        let depth = std::mem::take(&mut self.depth);
        production(self);
        self.depth = depth;
    }

    /// Whether a node around what was finished since the checkpoint would grow the tree too high.
    pub(crate) fn too_high(&mut self, checkpoint: Checkpoint) -> bool {
        let high = self.builder.height_since(checkpoint) >= MAX_HEIGHT;
        if high {
            self.too_deep();
        }
        high
    }

    fn too_deep(&mut self) {
        self.error("this expression is nested too deeply");
        self.skip_until(ERROR_EXPR, |_| false);
        // What is missing after the skipped text is no second mistake.
        self.last_error = Some(self.pos);
    }

    // ---- looking further

    /// Kinds of the lexemes from the current one to the end of the logical line.
    pub(crate) fn rest_of_line(&self) -> impl Iterator<Item = SyntaxKind> + '_ {
        self.input[self.pos.min(self.input.len())..]
            .iter()
            .map(|lexeme| lexeme.kind)
            .take_while(|kind| !matches!(kind, NEWLINE | EOF | INDENT | DEDENT))
    }
}

fn text_range(range: std::ops::Range<usize>) -> TextRange {
    TextRange::new(TextSize::from(range.start as u32), TextSize::from(range.end as u32))
}
