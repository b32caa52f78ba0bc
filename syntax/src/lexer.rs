//! Text to tokens.
//!
//! **The tokens, one after the other, are the text.** Brackets and f-strings are tracked here because they decide which
//! line ends are logical. A logical line is first read as Python reads it; if that runs into proof that a bracket was left
//! open, the line is read again and ends where its indentation says that the next statement starts.

use std::cell::Cell;

use crate::kind::SyntaxKind::{self, *};

/// A token of the given kind from `start` to the start of the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: SyntaxKind,
    pub start: u32,
}

/// The tokens of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    tokens: Vec<Token>,
    end: u32,
    /// Start, end and message.
    pub(crate) errors: Vec<(u32, u32, String)>,
    /// Lines beyond the one after a logical line's end were looked at, or something is wrong.
    pub(crate) looked_far: bool,
}

impl Tokens {
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    pub fn kind(&self, index: usize) -> SyntaxKind {
        self.tokens[index].kind
    }

    /// Where a token starts; one past the last token, where the text ends.
    pub fn start(&self, index: usize) -> usize {
        self.tokens.get(index).map_or(self.end, |token| token.start) as usize
    }

    pub fn range(&self, index: usize) -> std::ops::Range<usize> {
        self.start(index)..self.start(index + 1)
    }
}

/// Splits a text into tokens.
pub fn lex(text: &str) -> Tokens {
    let mut lexer = Lexer {
        text,
        bytes: text.as_bytes(),
        pos: 0,
        tokens: Vec::with_capacity(text.len() / 3),
        errors: Vec::new(),
        frames: Vec::new(),
        line_started: false,
        line: Line::default(),
        reread: 0,
        continues_until: 0,
        looked_far: Cell::new(false),
    };
    lexer.run();
    let looked_far = lexer.looked_far.get() || lexer.reread > 0 || !lexer.errors.is_empty();
    Tokens { tokens: lexer.tokens, end: text.len() as u32, errors: lexer.errors, looked_far }
}

/// Brackets and strings that are tracked at once; what opens beyond them is taken as text. CPython stops at 200.
const MAX_OPEN: usize = 1000;

/// How far the search for the definition under a decorator goes.
const MAX_DECORATOR_LINES: usize = 1000;

/// What is open at the current position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frame {
    Paren,
    Brack,
    Curly,
    /// The text of an f-string.
    FString {
        quote: u8,
        triple: bool,
        raw: bool,
        start: usize,
    },
    /// The expression between `{` and `}`.
    Replacement,
    /// The text between `:` and `}`.
    FormatSpec,
}

/// The logical line being read.
#[derive(Clone, Copy, Default)]
struct Line {
    indent: usize,
    /// It starts with a word that a block follows.
    compound: bool,
    /// Brackets end where indentation says so.
    cautious: bool,
}

enum Outcome {
    Done,
    /// A bracket of this logical line was never closed.
    LeftOpen,
}

struct Lexer<'t> {
    text: &'t str,
    bytes: &'t [u8],
    pos: usize,
    tokens: Vec<Token>,
    errors: Vec<(u32, u32, String)>,
    frames: Vec<Frame>,
    /// The current logical line has a token.
    line_started: bool,
    line: Line,
    /// Bytes read twice so far; beyond a budget every line is read cautiously, which keeps the whole linear.
    reread: usize,
    /// Lines that start before here were already found to go on with the current logical line.
    continues_until: usize,
    looked_far: Cell<bool>,
}

impl Lexer<'_> {
    fn run(&mut self) {
        if self.text.starts_with('\u{feff}') {
            self.push(WHITESPACE, '\u{feff}'.len_utf8());
        }
        while self.pos < self.bytes.len() {
            let (pos, tokens, errors) = (self.pos, self.tokens.len(), self.errors.len());
            self.frames.clear();
            self.line_started = false;
            self.line = Line { cautious: self.reread > 4096 + 4 * self.bytes.len(), ..Line::default() };
            if let Outcome::LeftOpen = self.logical_line() {
                self.reread += self.pos - pos;
                self.pos = pos;
                self.tokens.truncate(tokens);
                self.errors.truncate(errors);
                self.frames.clear();
                self.continues_until = 0;
                self.line_started = false;
                self.line = Line { cautious: true, ..Line::default() };
                self.logical_line();
            }
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.pos + ahead).copied().unwrap_or(0)
    }

    fn push(&mut self, kind: SyntaxKind, len: usize) {
        self.tokens.push(Token { kind, start: self.pos as u32 });
        self.pos += len;
    }

    fn error(&mut self, start: usize, end: usize, message: &str) {
        self.errors.push((start as u32, end as u32, message.to_owned()));
    }

    /// Reads to the end of the logical line, or one line of blanks and comments.
    fn logical_line(&mut self) -> Outcome {
        loop {
            match self.frames.last() {
                Some(Frame::FString { .. } | Frame::FormatSpec) => {
                    self.fstring_text();
                    continue;
                }
                Some(Frame::Paren | Frame::Brack | Frame::Curly | Frame::Replacement) | None => {}
            }
            if self.pos >= self.bytes.len() {
                return if self.frames.is_empty() || self.line.cautious { Outcome::Done } else { Outcome::LeftOpen };
            }
            match self.peek(0) {
                b' ' | b'\t' | b'\x0c' => {
                    let len = self.bytes[self.pos..].iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\x0c')).count();
                    self.push(WHITESPACE, len);
                }
                b'#' => {
                    let len = self.bytes[self.pos..].iter().take_while(|byte| !matches!(byte, b'\n' | b'\r')).count();
                    self.push(COMMENT, len);
                }
                b'\\' if self.newline_len(self.pos + 1) > 0 => {
                    let len = 1 + self.newline_len(self.pos + 1);
                    self.push(WHITESPACE, len);
                }
                b'\n' | b'\r' => {
                    let len = self.newline_len(self.pos);
                    if self.frames.is_empty() {
                        let kind = if self.line_started { NEWLINE } else { WHITESPACE };
                        self.push(kind, len);
                        return Outcome::Done;
                    }
                    if self.statement_follows(self.pos + len) {
                        if !self.line.cautious {
                            return Outcome::LeftOpen;
                        }
                        self.push(NEWLINE, len);
                        return Outcome::Done;
                    }
                    self.push(WHITESPACE, len);
                }
                byte => {
                    if !self.line_started {
                        self.line_started = true;
                        self.line.indent = self.indent_before(self.pos);
                        let word = word_at(self.bytes, self.pos);
                        self.line.compound = OPENS_BLOCK.contains(&word);
                    }
                    self.token(byte);
                }
            }
        }
    }

    fn newline_len(&self, at: usize) -> usize {
        match (self.bytes.get(at), self.bytes.get(at + 1)) {
            (Some(b'\r'), Some(b'\n')) => 2,
            (Some(b'\r' | b'\n'), _) => 1,
            _ => 0,
        }
    }

    /// Columns of white space before `pos` on its line.
    fn indent_before(&self, pos: usize) -> usize {
        self.bytes[..pos].iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\x0c')).count()
    }

    /// Inside brackets: whether the line that starts at `at` can only be, or cautiously probably is, a new statement.
    fn statement_follows(&mut self, at: usize) -> bool {
        let blank = |at: usize| at + self.bytes[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\x0c')).count();
        let first = blank(at);
        if NEVER_IN_EXPRESSION.contains(&word_at(self.bytes, first)) {
            return true;
        }
        if first == at && self.bytes.get(at) == Some(&b'@') && self.decorates(at) {
            return true;
        }
        if !self.line.cautious || at < self.continues_until {
            return false;
        }
        let in_one_line_string = self.frames.iter().any(|frame| matches!(frame, Frame::FString { triple: false, .. }));
        if in_one_line_string {
            return true;
        }
        let last = self.tokens.iter().rev().find(|token| !matches!(token.kind, WHITESPACE | COMMENT));
        if self.line.compound && last.is_some_and(|token| token.kind == COLON) {
            return true;
        }
        // Blank lines and comments say nothing; the first line that does decides.
        let (mut line, mut first) = (at, first);
        let answer = loop {
            let Some(&byte) = self.bytes.get(first) else { break true };
            match byte {
                b'\n' | b'\r' => line = first + self.newline_len(first),
                b'#' => {
                    let end = first + self.bytes[first..].iter().take_while(|b| !matches!(b, b'\n' | b'\r')).count();
                    line = end + self.newline_len(end);
                }
                b')' | b']' | b'}' => break false,
                _ if first - line <= self.line.indent => break true,
                // Deeper, but nothing could join it to the line before.
                _ => break last.is_some_and(|token| ends_operand(token.kind)) && self.starts_operand(first, byte),
            }
            first = blank(line);
        };
        if !answer {
            self.continues_until = first;
        }
        answer
    }

    /// Whether an operand that no operator or string can take up starts here.
    fn starts_operand(&self, at: usize, byte: u8) -> bool {
        let operators: [&[u8]; 10] = [b"and", b"or", b"not", b"in", b"is", b"if", b"else", b"for", b"async", b"as"];
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => !operators.contains(&word_at(self.bytes, at)),
            b'0'..=b'9' => true,
            _ => false,
        }
    }

    /// Whether the lines from `at` on are decorators of a definition at column 0.
    fn decorates(&self, at: usize) -> bool {
        self.looked_far.set(true);
        let mut line = at;
        for _ in 0..MAX_DECORATOR_LINES {
            match self.bytes.get(line).copied().unwrap_or(0) {
                b'@' | b' ' | b'\t' | b'#' | b')' | b']' | b'}' | b'\n' | b'\r' => {}
                _ => return matches!(word_at(self.bytes, line), b"def" | b"class" | b"async"),
            }
            let end = line + self.bytes[line..].iter().take_while(|b| !matches!(b, b'\n' | b'\r')).count();
            line = end + self.newline_len(end).max(1);
        }
        false
    }

    fn token(&mut self, byte: u8) {
        match byte {
            b'0'..=b'9' => self.number(),
            b'.' if self.peek(1).is_ascii_digit() => self.number(),
            b'"' | b'\'' => self.string(0),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.. => self.word(),
            _ => self.punctuation(byte),
        }
    }

    fn word(&mut self) {
        let rest = &self.text[self.pos..];
        let len = word_len(rest);
        if len == 0 {
            self.invalid_character(rest.chars().next().unwrap_or_default());
            return;
        }
        let word = &rest[..len];
        if len <= 2 && matches!(self.peek(len), b'"' | b'\'') && is_string_prefix(word) {
            self.string(len);
            return;
        }
        // No reserved word is longer than `continue` and `nonlocal` or shorter than `as`.
        let keyword = if (2..=8).contains(&len) { SyntaxKind::from_keyword(word) } else { None };
        self.push(keyword.unwrap_or(IDENT), len);
    }

    /// A character that no Python code has, with its repetitions: a binary file may hold millions of zeros.
    fn invalid_character(&mut self, first: char) {
        let count = self.text[self.pos..].chars().take_while(|&c| c == first).count();
        let message = format!("`{}` cannot be part of Python code", first.escape_debug());
        let len = count * first.len_utf8();
        self.error(self.pos, self.pos + len, &message);
        self.push(ERROR_TOKEN, len);
    }

    fn number(&mut self) {
        let bytes = &self.bytes[self.pos..];
        let (kind, len) = number(bytes);
        if kind == INT_NUMBER
            && bytes[0] == b'0'
            && len > 1
            && bytes[1..len].iter().all(|byte| matches!(byte, b'0'..=b'9' | b'_'))
            && bytes[1..len].iter().any(|byte| matches!(byte, b'1'..=b'9'))
        {
            let message = "leading zeros are not allowed in a decimal number; write `0o…` for an octal one";
            self.error(self.pos, self.pos + len, message);
        }
        self.push(kind, len);
    }

    /// A string whose prefix has the given length.
    fn string(&mut self, prefix: usize) {
        let quote = self.peek(prefix);
        let triple = self.peek(prefix + 1) == quote && self.peek(prefix + 2) == quote;
        let open = prefix + if triple { 3 } else { 1 };
        let letters = self.bytes[self.pos..self.pos + prefix].to_ascii_lowercase();
        if letters.iter().any(|letter| matches!(letter, b'f' | b't')) && self.frames.len() < MAX_OPEN {
            self.open(Frame::FString { quote, triple, raw: letters.contains(&b'r'), start: self.pos });
            self.push(FSTRING_START, open);
            return;
        }
        let mut at = self.pos + open;
        loop {
            match self.bytes.get(at) {
                None => {
                    if triple {
                        at = self.unterminated(self.pos + open);
                        self.error(self.pos, self.pos + open, "this triple-quoted string is never closed");
                    } else {
                        self.error(self.pos, at, "this string is never closed");
                    }
                    break;
                }
                Some(b'\\') => {
                    let newline = self.newline_len(at + 1);
                    at = (at + 1 + newline.max(1)).min(self.bytes.len());
                }
                Some(b'\n' | b'\r') if !triple => {
                    self.error(self.pos, at, "this string is never closed");
                    break;
                }
                Some(byte) if *byte == quote => {
                    if !triple {
                        at += 1;
                        break;
                    }
                    if self.bytes[at..].starts_with(&[quote; 3]) {
                        at += 3;
                        break;
                    }
                    at += 1;
                }
                Some(_) => at += 1,
            }
        }
        while !self.text.is_char_boundary(at) {
            at += 1;
        }
        self.push(STRING, at - self.pos);
    }

    /// Where to end a triple-quoted string that has no end: before the next definition or import at column 0.
    fn unterminated(&self, from: usize) -> usize {
        let mut line = from;
        loop {
            let end = line + self.bytes[line..].iter().take_while(|b| !matches!(b, b'\n' | b'\r')).count();
            line = end + self.newline_len(end);
            if line >= self.bytes.len() {
                return self.bytes.len();
            }
            let decorator = self.bytes[line] == b'@' && self.decorates(line);
            if decorator || matches!(word_at(self.bytes, line), b"def" | b"class" | b"import" | b"from") {
                return end;
            }
        }
    }

    /// Text of an f-string up to its end or the next `{` or `}` that means something.
    fn fstring_text(&mut self) {
        let in_spec = self.frames.last() == Some(&Frame::FormatSpec);
        let Some(base) = self.frames.iter().rposition(|frame| matches!(frame, Frame::FString { .. })) else {
            self.frames.pop();
            return;
        };
        let Frame::FString { quote, triple, raw, start: opening } = self.frames[base] else { return };
        let start = self.pos;
        let mut at = start;
        let flush = |lexer: &mut Self, end: usize| {
            if end > start {
                lexer.push(FSTRING_TEXT, end - start);
            }
        };
        loop {
            let Some(&byte) = self.bytes.get(at) else {
                flush(self, at);
                self.error(opening, at, "this f-string is never closed");
                self.frames.truncate(base);
                return;
            };
            match byte {
                b'\n' | b'\r' if !triple => {
                    flush(self, at);
                    self.error(opening, at, "this f-string is never closed");
                    self.frames.truncate(base);
                    return;
                }
                _ if byte == quote && (!triple || self.bytes[at..].starts_with(&[quote; 3])) => {
                    flush(self, at);
                    self.frames.truncate(base);
                    self.push(FSTRING_END, if triple { 3 } else { 1 });
                    return;
                }
                b'{' => {
                    if !in_spec && self.bytes.get(at + 1) == Some(&b'{') {
                        at += 2;
                        continue;
                    }
                    flush(self, at);
                    self.push(L_CURLY, 1);
                    self.open(Frame::Replacement);
                    return;
                }
                b'}' if in_spec => {
                    flush(self, at);
                    self.push(R_CURLY, 1);
                    self.frames.pop();
                    self.frames.pop();
                    return;
                }
                b'}' => {
                    if self.bytes.get(at + 1) == Some(&b'}') {
                        at += 1;
                    } else {
                        self.error(at, at + 1, "a single `}` is not allowed in an f-string; write `}}`");
                    }
                    at += 1;
                }
                b'\\' => {
                    at += 1;
                    match self.bytes.get(at) {
                        Some(b'{' | b'}') | None => {}
                        Some(b'N') if !raw && self.bytes.get(at + 1) == Some(&b'{') => {
                            let name = self.bytes[at..]
                                .iter()
                                .take_while(|byte| **byte != b'}' && **byte != quote && !matches!(byte, b'\n' | b'\r'))
                                .count();
                            at += name;
                            if self.bytes.get(at) == Some(&b'}') {
                                at += 1;
                            }
                        }
                        Some(_) => {
                            at += self.newline_len(at).max(1);
                            while !self.text.is_char_boundary(at) {
                                at += 1;
                            }
                        }
                    }
                }
                _ => at += 1,
            }
        }
    }

    fn punctuation(&mut self, byte: u8) {
        let in_replacement = self.frames.last() == Some(&Frame::Replacement);
        if in_replacement && byte == b':' {
            self.push(COLON, 1);
            self.open(Frame::FormatSpec);
            return;
        }
        let rest = &self.bytes[self.pos..];
        let (kind, len) = operator(rest);
        match (kind, byte) {
            (ERROR_TOKEN, b'\\') => self.error(self.pos, self.pos + 1, "only the end of the line may follow `\\`"),
            (ERROR_TOKEN, _) => return self.invalid_character(char::from(byte)),
            _ => {}
        }
        match kind {
            L_PAREN => self.open(Frame::Paren),
            L_BRACK => self.open(Frame::Brack),
            L_CURLY => self.open(Frame::Curly),
            R_PAREN => self.close(Frame::Paren),
            R_BRACK => self.close(Frame::Brack),
            R_CURLY if self.frames.last() == Some(&Frame::Curly) => {
                self.frames.pop();
            }
            R_CURLY => {
                let inner = |frame: &Frame| matches!(frame, Frame::Paren | Frame::Brack);
                let depth = self.frames.iter().rev().take_while(|frame| inner(frame)).count();
                let below = self.frames.len() - depth;
                if below > 0 && matches!(self.frames[below - 1], Frame::Curly | Frame::Replacement) {
                    self.frames.truncate(below - 1);
                }
            }
            _ => {}
        }
        self.push(kind, len);
    }

    fn open(&mut self, frame: Frame) {
        if self.frames.len() < MAX_OPEN {
            self.frames.push(frame);
        }
    }

    /// Closes a bracket and what was left open inside it; one that nothing opened closes nothing.
    fn close(&mut self, frame: Frame) {
        let floor = self.frames.iter().rposition(|frame| !matches!(frame, Frame::Paren | Frame::Brack | Frame::Curly));
        let floor = floor.map_or(0, |floor| floor + 1);
        if let Some(depth) = self.frames[floor..].iter().rposition(|open| *open == frame) {
            self.frames.truncate(floor + depth);
        }
    }
}

/// Words that start a statement and never occur in an expression.
const NEVER_IN_EXPRESSION: &[&[u8]] = &[
    b"def",
    b"class",
    b"return",
    b"import",
    b"while",
    b"try",
    b"with",
    b"pass",
    b"raise",
    b"assert",
    b"del",
    b"global",
    b"nonlocal",
    b"break",
    b"continue",
    b"elif",
    b"except",
    b"finally",
];

/// Words that start a statement that ends in a block.
const OPENS_BLOCK: &[&[u8]] = &[
    b"def", b"class", b"if", b"elif", b"else", b"for", b"while", b"with", b"try", b"except", b"finally", b"async", b"match",
    b"case",
];

/// Tokens after which an expression is complete.
fn ends_operand(kind: SyntaxKind) -> bool {
    matches!(
        kind,
        IDENT
            | INT_NUMBER
            | FLOAT_NUMBER
            | IMAGINARY_NUMBER
            | TRUE_KW
            | FALSE_KW
            | NONE_KW
            | ELLIPSIS
            | R_PAREN
            | R_BRACK
            | R_CURLY
    )
}

/// The ASCII word at a position; empty if it goes on with other letters.
fn word_at(bytes: &[u8], at: usize) -> &[u8] {
    let Some(rest) = bytes.get(at..) else { return &[] };
    let len = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    match rest.get(len) {
        Some(0x80..) => &[],
        _ => &rest[..len],
    }
}

/// Length of the identifier at the start of a text.
fn word_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    let ascii = bytes.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    if ascii > 0 && !bytes[0].is_ascii_digit() && bytes.get(ascii).is_none_or(u8::is_ascii) {
        return ascii;
    }
    let mut chars = text.char_indices();
    match chars.next() {
        Some((_, c)) if c == '_' || unicode_ident::is_xid_start(c) => {}
        _ => return 0,
    }
    chars.find(|(_, c)| !unicode_ident::is_xid_continue(*c)).map_or(text.len(), |(at, _)| at)
}

fn is_string_prefix(word: &str) -> bool {
    matches!(word.to_ascii_lowercase().as_str(), "r" | "u" | "b" | "f" | "t" | "br" | "rb" | "fr" | "rf" | "tr" | "rt")
}

/// Kind and length of the number at the start.
fn number(bytes: &[u8]) -> (SyntaxKind, usize) {
    let at = |index: usize| bytes.get(index).copied().unwrap_or(0);
    // Digits with single underscores between them.
    let digits = |mut index: usize, is_digit: fn(u8) -> bool| {
        while is_digit(at(index)) || (at(index) == b'_' && is_digit(at(index + 1))) {
            index += 1;
        }
        index
    };
    let decimal: fn(u8) -> bool = |byte| byte.is_ascii_digit();
    if at(0) == b'0' {
        let is_digit: Option<fn(u8) -> bool> = match at(1) {
            b'x' | b'X' => Some(|byte| byte.is_ascii_hexdigit()),
            b'o' | b'O' => Some(|byte| matches!(byte, b'0'..=b'7')),
            b'b' | b'B' => Some(|byte| matches!(byte, b'0' | b'1')),
            _ => None,
        };
        if let Some(is_digit) = is_digit {
            let end = digits(2, is_digit);
            if end > 2 {
                return (INT_NUMBER, end);
            }
        }
    }
    let mut kind = INT_NUMBER;
    let mut end = digits(0, decimal);
    if at(end) == b'.' {
        kind = FLOAT_NUMBER;
        end += 1;
        if at(end).is_ascii_digit() {
            end = digits(end, decimal);
        }
    }
    if matches!(at(end), b'e' | b'E') {
        let sign = usize::from(matches!(at(end + 1), b'+' | b'-'));
        if at(end + 1 + sign).is_ascii_digit() {
            kind = FLOAT_NUMBER;
            end = digits(end + 1 + sign, decimal);
        }
    }
    if matches!(at(end), b'j' | b'J') {
        return (IMAGINARY_NUMBER, end + 1);
    }
    (kind, end)
}

/// Kind and length of the punctuation at the start, the longest that fits.
fn operator(bytes: &[u8]) -> (SyntaxKind, usize) {
    let at = |index: usize| bytes.get(index).copied().unwrap_or(0);
    let assign = |plain: SyntaxKind, with: SyntaxKind| if at(1) == b'=' { (with, 2) } else { (plain, 1) };
    let twice = |plain, with, double, double_with| {
        if at(1) != at(0) {
            assign(plain, with)
        } else if at(2) == b'=' {
            (double_with, 3)
        } else {
            (double, 2)
        }
    };
    match at(0) {
        b'(' => (L_PAREN, 1),
        b')' => (R_PAREN, 1),
        b'[' => (L_BRACK, 1),
        b']' => (R_BRACK, 1),
        b'{' => (L_CURLY, 1),
        b'}' => (R_CURLY, 1),
        b',' => (COMMA, 1),
        b';' => (SEMICOLON, 1),
        b'~' => (TILDE, 1),
        b'.' if at(1) == b'.' && at(2) == b'.' => (ELLIPSIS, 3),
        b'.' => (DOT, 1),
        b':' => assign(COLON, COLON_EQ),
        b'=' => assign(EQ, EQ2),
        b'!' => assign(BANG, NOT_EQ),
        b'+' => assign(PLUS, PLUS_EQ),
        b'-' if at(1) == b'>' => (THIN_ARROW, 2),
        b'-' => assign(MINUS, MINUS_EQ),
        b'*' => twice(STAR, STAR_EQ, STAR2, STAR2_EQ),
        b'/' => twice(SLASH, SLASH_EQ, SLASH2, SLASH2_EQ),
        b'%' => assign(PERCENT, PERCENT_EQ),
        b'@' => assign(AT, AT_EQ),
        b'&' => assign(AMP, AMP_EQ),
        b'|' => assign(PIPE, PIPE_EQ),
        b'^' => assign(CARET, CARET_EQ),
        b'<' => twice(LESS, LESS_EQ, SHL, SHL_EQ),
        b'>' => twice(GREATER, GREATER_EQ, SHR, SHR_EQ),
        _ => (ERROR_TOKEN, 1),
    }
}
