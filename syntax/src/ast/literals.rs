//! Values of literals.
//!
//! **A value is what Python would make of the text, or `None`**: never a guess.

use super::{Expr, FString, LiteralExpr, StringExpr, StringLiteral, StringPart, support};
use crate::kind::SyntaxKind::{self, *};
use crate::tree::SyntaxToken;

/// A literal that is no string.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Literal {
    /// The text, which may be too large for any machine integer.
    Int(String),
    Float(String),
    Imaginary(String),
    True,
    False,
    None,
    Ellipsis,
}

fn is_literal(kind: SyntaxKind) -> bool {
    matches!(kind, INT_NUMBER | FLOAT_NUMBER | IMAGINARY_NUMBER | TRUE_KW | FALSE_KW | NONE_KW | ELLIPSIS)
}

impl LiteralExpr {
    pub fn token(&self) -> Option<SyntaxToken> {
        support::token_where(&self.syntax, is_literal)
    }

    pub fn kind(&self) -> Option<Literal> {
        let token = self.token()?;
        let text = || token.text().to_owned();
        Some(match token.kind() {
            INT_NUMBER => Literal::Int(text()),
            FLOAT_NUMBER => Literal::Float(text()),
            IMAGINARY_NUMBER => Literal::Imaginary(text()),
            TRUE_KW => Literal::True,
            FALSE_KW => Literal::False,
            NONE_KW => Literal::None,
            ELLIPSIS => Literal::Ellipsis,
            _ => return None,
        })
    }

    /// The value of an integer that fits.
    pub fn int_value(&self) -> Option<i128> {
        let token = self.token().filter(|token| token.kind() == INT_NUMBER)?;
        int_value(token.text())
    }

    /// The value of a float, rounded as Python rounds it.
    pub fn float_value(&self) -> Option<f64> {
        let token = self.token().filter(|token| token.kind() == FLOAT_NUMBER)?;
        token.text().replace('_', "").parse().ok()
    }
}

fn int_value(text: &str) -> Option<i128> {
    let text = text.replace('_', "");
    let digits = text.as_bytes();
    let radix = match (digits.first(), digits.get(1)) {
        (Some(b'0'), Some(b'x' | b'X')) => 16,
        (Some(b'0'), Some(b'o' | b'O')) => 8,
        (Some(b'0'), Some(b'b' | b'B')) => 2,
        _ => 10,
    };
    i128::from_str_radix(if radix == 10 { &text } else { &text[2..] }, radix).ok()
}

/// What a string literal stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StringValue {
    Str(String),
    Bytes(Vec<u8>),
}

/// A literal's text cut into its parts.
struct Parts<'t> {
    prefix: &'t str,
    body: &'t str,
    quote_len: usize,
}

fn parts(text: &str) -> Option<Parts<'_>> {
    let prefix_len = text.find(['"', '\''])?;
    let (prefix, rest) = text.split_at(prefix_len);
    let quote = &rest[..1];
    let triple = rest.len() >= 3 && rest.as_bytes()[..3].iter().all(|byte| *byte == quote.as_bytes()[0]);
    let quote_len = if triple { 3 } else { 1 };
    let body = rest.get(quote_len..)?.strip_suffix(&quote.repeat(quote_len))?;
    Some(Parts { prefix, body, quote_len })
}

impl StringLiteral {
    pub fn is_bytes(&self) -> bool {
        self.has_prefix('b')
    }

    pub fn is_raw(&self) -> bool {
        self.has_prefix('r')
    }

    fn has_prefix(&self, letter: char) -> bool {
        let Some(token) = self.string_token() else { return false };
        token.text().chars().take_while(char::is_ascii_alphabetic).any(|c| c.eq_ignore_ascii_case(&letter))
    }

    /// Lengths of what stands before and after the contents; `None` if the literal is never closed.
    pub fn affixes(&self) -> Option<(usize, usize)> {
        let token = self.string_token()?;
        let parts = parts(token.text())?;
        Some((parts.prefix.len() + parts.quote_len, parts.quote_len))
    }

    /// The value; `None` if the literal is broken or names a character (`\N{…}`) or half of a pair.
    pub fn value(&self) -> Option<StringValue> {
        let token = self.string_token()?;
        let Parts { prefix, body, .. } = parts(token.text())?;
        let bytes = prefix.contains(['b', 'B']);
        let raw = prefix.contains(['r', 'R']);
        // Python reads every line end in a literal as `\n`.
        let body = if body.contains('\r') { body.replace("\r\n", "\n").replace('\r', "\n") } else { body.to_owned() };
        if bytes {
            if !body.is_ascii() {
                return None;
            }
            return if raw { Some(StringValue::Bytes(body.into_bytes())) } else { unescape(&body, true).map(to_bytes)? };
        }
        if raw { Some(StringValue::Str(body)) } else { unescape(&body, false).map(StringValue::Str) }
    }
}

/// Bytes travel as the characters of the same numbers.
fn to_bytes(text: String) -> Option<StringValue> {
    text.chars().map(|c| u8::try_from(c).ok()).collect::<Option<Vec<u8>>>().map(StringValue::Bytes)
}

fn unescape(body: &str, bytes: bool) -> Option<String> {
    let mut out = String::with_capacity(body.len());
    let mut chars = body.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let escaped = chars.next()?;
        let hex_len = match escaped {
            'x' => 2,
            'u' if !bytes => 4,
            'U' if !bytes => 8,
            _ => 0,
        };
        if hex_len > 0 {
            let mut code = 0;
            for _ in 0..hex_len {
                code = code * 16 + chars.next()?.to_digit(16)?;
            }
            out.push(char::from_u32(code)?);
            continue;
        }
        match escaped {
            '\n' => {}
            '\\' | '\'' | '"' => out.push(escaped),
            'a' => out.push('\x07'),
            'b' => out.push('\x08'),
            'f' => out.push('\x0c'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'v' => out.push('\x0b'),
            '0'..='7' => {
                let mut code = escaped.to_digit(8)?;
                for _ in 0..2 {
                    match chars.peek().and_then(|c| c.to_digit(8)) {
                        Some(digit) => {
                            code = code * 8 + digit;
                            chars.next();
                        }
                        None => break,
                    }
                }
                out.push(char::from_u32(if bytes { code & 0xff } else { code })?);
            }
            'N' if !bytes => return None,
            other => {
                out.push('\\');
                out.push(other);
            }
        }
    }
    Some(out)
}

impl StringPart {
    /// The value of a part that is known without running anything.
    pub fn value(&self) -> Option<StringValue> {
        match self {
            StringPart::StringLiteral(literal) => literal.value(),
            StringPart::FString(string) => string.constant().map(StringValue::Str),
        }
    }
}

impl FString {
    pub fn is_raw(&self) -> bool {
        self.fstring_start_token().is_some_and(|token| token.text().contains(['r', 'R']))
    }

    /// Whether this is a template string (`t"…"`), whose value is no string.
    pub fn is_template(&self) -> bool {
        self.fstring_start_token().is_some_and(|token| token.text().contains(['t', 'T']))
    }

    /// The text of a piece between replacements, with its escapes and doubled braces read.
    pub fn piece(&self, token: &SyntaxToken) -> Option<String> {
        let text = token.text().replace("{{", "{").replace("}}", "}").replace("\r\n", "\n").replace('\r', "\n");
        if self.is_raw() { Some(text) } else { unescape(&text, false) }
    }

    /// The value of an f-string without replacements.
    fn constant(&self) -> Option<String> {
        if self.is_template() || self.replacements().next().is_some() {
            return None;
        }
        self.fstring_end_token()?;
        let mut out = String::new();
        for element in self.syntax.children_with_tokens() {
            if let Some(token) = element.into_token().filter(|token| token.kind() == FSTRING_TEXT) {
                out.push_str(&self.piece(&token)?);
            }
        }
        Some(out)
    }
}

impl StringExpr {
    /// The value of all adjacent parts together.
    pub fn value(&self) -> Option<StringValue> {
        let mut parts = self.string_parts().map(|part| part.value());
        let mut whole = parts.next()??;
        for part in parts {
            match (&mut whole, part?) {
                (StringValue::Str(whole), StringValue::Str(part)) => whole.push_str(&part),
                (StringValue::Bytes(whole), StringValue::Bytes(part)) => whole.extend(part),
                (StringValue::Str(_), StringValue::Bytes(_)) | (StringValue::Bytes(_), StringValue::Str(_)) => return None,
            }
        }
        Some(whole)
    }

    /// The value if it is text.
    pub fn text_value(&self) -> Option<String> {
        match self.value()? {
            StringValue::Str(text) => Some(text),
            StringValue::Bytes(_) => None,
        }
    }
}

impl Expr {
    /// The text of a constant string.
    pub fn as_text(&self) -> Option<String> {
        match self {
            Expr::StringExpr(string) => string.text_value(),
            _ => None,
        }
    }

    /// The value of an integer literal, without a sign.
    pub fn as_int(&self) -> Option<i128> {
        match self {
            Expr::LiteralExpr(literal) => literal.int_value(),
            _ => None,
        }
    }
}
