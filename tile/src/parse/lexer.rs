//! The tokens of the text form. **Invariant:** every character belongs to a token, a space or a comment; a newline ends an operation
//! and so is a token.

use std::{fmt, iter::Peekable, str::Chars};

use super::{Parse, ParseError};

/// Where a token begins, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    line: u32,
    column: u32,
}

impl Place {
    pub(super) fn error(self, message: String) -> ParseError {
        ParseError { line: self.line, column: self.column, message }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// Letters, digits, `_`, `.` and a leading `-`: names, numbers, types.
    Word(String),
    /// `%name`
    Value(String),
    /// `@name` or `@12`
    At(String),
    /// `#name`
    Layout(String),
    /// `"text"`
    Text(String),
    Punctuation(char),
    Arrow,
    Newline,
    End,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Word(word) => write!(f, "`{word}`"),
            Token::Value(name) => write!(f, "`%{name}`"),
            Token::At(name) => write!(f, "`@{name}`"),
            Token::Layout(name) => write!(f, "`#{name}`"),
            Token::Text(text) => write!(f, "{text:?}"),
            Token::Punctuation(c) => write!(f, "`{c}`"),
            Token::Arrow => f.write_str("`->`"),
            Token::Newline => f.write_str("the end of the line"),
            Token::End => f.write_str("the end of the text"),
        }
    }
}

pub(super) struct Lexer<'t> {
    chars: Peekable<Chars<'t>>,
    place: Place,
}

fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '.'
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Lexer<'t> {
        Lexer { chars: text.chars().peekable(), place: Place { line: 1, column: 1 } }
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.chars.next()?;
        if c == '\n' {
            self.place = Place { line: self.place.line.saturating_add(1), column: 1 };
        } else {
            self.place.column = self.place.column.saturating_add(1);
        }
        Some(c)
    }

    pub(super) fn next(&mut self) -> Parse<(Place, Token)> {
        loop {
            let place = self.place;
            let Some(c) = self.bump() else { return Ok((place, Token::End)) };
            let token = match c {
                '\n' => Token::Newline,
                c if c.is_whitespace() => continue,
                '/' if self.chars.peek() == Some(&'/') => {
                    while self.chars.peek().is_some_and(|&c| c != '\n') {
                        self.bump();
                    }
                    continue;
                }
                '-' if self.chars.peek() == Some(&'>') => {
                    self.bump();
                    Token::Arrow
                }
                '-' => Token::Word(self.word('-')),
                c if in_word(c) => Token::Word(self.word(c)),
                '%' => Token::Value(self.name(place)?),
                '@' => Token::At(self.name(place)?),
                '#' => Token::Layout(self.name(place)?),
                '"' => Token::Text(self.text(place)?),
                '{' | '}' | '(' | ')' | '[' | ']' | ',' | ':' | '=' | '^' | '*' => Token::Punctuation(c),
                c => return Err(place.error(format!("`{}` begins nothing", c.escape_debug()))),
            };
            return Ok((place, token));
        }
    }

    fn word(&mut self, first: char) -> String {
        let mut word = String::from(first);
        loop {
            let number = word.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
            match self.chars.peek() {
                Some(&c) if in_word(c) => word.push(c),
                // The sign of an exponent.
                Some(&c @ ('-' | '+')) if number && word.ends_with('e') => word.push(c),
                _ => return word,
            }
            self.bump();
        }
    }

    fn name(&mut self, place: Place) -> Parse<String> {
        match self.chars.peek() {
            Some('"') => {
                self.bump();
                self.text(place)
            }
            Some(&c) if in_word(c) => {
                self.bump();
                let mut name = String::from(c);
                while let Some(&c) = self.chars.peek().filter(|&&c| in_word(c)) {
                    name.push(c);
                    self.bump();
                }
                Ok(name)
            }
            _ => Err(place.error("expected a name behind the sign".into())),
        }
    }

    fn text(&mut self, place: Place) -> Parse<String> {
        let mut text = String::new();
        loop {
            match self.bump() {
                Some('"') => return Ok(text),
                Some('\\') => match self.bump() {
                    Some('n') => text.push('\n'),
                    Some(c @ ('"' | '\\')) => text.push(c),
                    Some('u') if self.chars.peek() == Some(&'{') => {
                        self.bump();
                        let mut code = 0u32;
                        while let Some(digit) = self.chars.peek().and_then(|c| c.to_digit(16)) {
                            self.bump();
                            code = code.saturating_mul(16).saturating_add(digit);
                        }
                        match (self.bump(), char::from_u32(code)) {
                            (Some('}'), Some(c)) => text.push(c),
                            _ => return Err(place.error("a `\\u{…}` in this text names no character".into())),
                        }
                    }
                    _ => return Err(place.error("this text has an escape that is not \\n, \\\", \\\\ or \\u{…}".into())),
                },
                Some('\n') | None => return Err(place.error("this text has no closing `\"` on its line".into())),
                Some(c) => text.push(c),
            }
        }
    }
}
