//! The small expressions of launch blocks: numbers, sizes by name, `+ - * // %`, `cdiv`, `next_power_of_2`, `min`, `max`.
//!
//! **Invariant:** evaluation is total; a message names the word or sign that cannot be followed.

use crate::{
    body::BinaryOp,
    constant::{self, Const},
    items::{cdiv, next_power_of_2},
};

/// Nested parentheses and calls.
const MAX_NESTING: u32 = 64;

/// Reads text from left to right.
pub(super) struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: u32,
}

/// What names stand for.
pub(super) type Names<'a> = &'a dyn Fn(&str) -> Option<Const>;

/// The value of the whole text.
pub(super) fn evaluate(text: &str, names: Names<'_>) -> Result<Const, String> {
    let mut reader = Reader::new(text);
    let value = reader.expression(names)?;
    reader.end()?;
    Ok(value)
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str) -> Reader<'t> {
        Reader { text, at: 0, depth: 0 }
    }

    fn rest(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    pub(super) fn eat(&mut self, sign: &str) -> bool {
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len();
        }
        found
    }

    pub(super) fn expect(&mut self, sign: &str) -> Result<(), String> {
        if self.eat(sign) { Ok(()) } else { Err(format!("expected `{sign}` {}", self.here())) }
    }

    pub(super) fn end(&mut self) -> Result<(), String> {
        if self.rest().is_empty() { Ok(()) } else { Err(format!("cannot follow {}", self.here())) }
    }

    fn here(&mut self) -> String {
        match self.rest().split_whitespace().next() {
            Some(word) => format!("`{}`", word.chars().take(20).collect::<String>()),
            None => "at the end".to_owned(),
        }
    }

    pub(super) fn word(&mut self) -> Option<&'t str> {
        let rest = self.rest();
        let len = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).unwrap_or(rest.len());
        let word = &rest[..len];
        if !word.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return None;
        }
        self.at += len;
        Some(word)
    }

    pub(super) fn string(&mut self) -> Result<String, String> {
        let rest = self.rest();
        let quote = rest
            .chars()
            .next()
            .filter(|c| matches!(c, '"' | '\''))
            .ok_or_else(|| format!("expected a string {}", self.here()))?;
        let end = rest[1..].find(quote).ok_or("a string is not closed")?;
        self.at += end + 2;
        Ok(rest[1..=end].to_owned())
    }

    pub(super) fn expression(&mut self, names: Names<'_>) -> Result<Const, String> {
        let mut value = self.term(names)?;
        loop {
            let op = match () {
                () if self.eat("+") => BinaryOp::Add,
                () if self.eat("-") => BinaryOp::Sub,
                () => return Ok(value),
            };
            value = apply(op, value, self.term(names)?)?;
        }
    }

    fn term(&mut self, names: Names<'_>) -> Result<Const, String> {
        let mut value = self.factor(names)?;
        loop {
            let op = match () {
                () if self.eat("*") => BinaryOp::Mul,
                () if self.eat("//") => BinaryOp::FloorDiv,
                () if self.eat("%") => BinaryOp::Mod,
                () => return Ok(value),
            };
            value = apply(op, value, self.factor(names)?)?;
        }
    }

    fn factor(&mut self, names: Names<'_>) -> Result<Const, String> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err("the expression nests too deeply".to_owned());
        }
        let value = self.atom(names);
        self.depth -= 1;
        value
    }

    fn atom(&mut self, names: Names<'_>) -> Result<Const, String> {
        if self.eat("-") {
            let value = self.factor(names)?;
            return constant::unary(crate::body::UnaryOp::Neg, &value).ok_or_else(|| format!("`-{value}` has no value"));
        }
        if self.eat("(") {
            let value = self.expression(names)?;
            self.expect(")")?;
            return Ok(value);
        }
        if let Some(word) = self.word() {
            if self.eat("(") {
                return self.call(word, names);
            }
            return match word {
                "inf" => Ok(Const::float(f64::INFINITY)),
                "nan" => Ok(Const::float(f64::NAN)),
                _ => names(word).ok_or_else(|| format!("`{word}` is no size")),
            };
        }
        self.number()
    }

    fn call(&mut self, name: &str, names: Names<'_>) -> Result<Const, String> {
        let mut args = Vec::new();
        while !self.eat(")") {
            args.push(self.expression(names)?);
            if !self.eat(",") {
                self.expect(")")?;
                break;
            }
        }
        let ints: Option<Vec<i128>> = args.iter().map(Const::as_int).collect();
        let value = match (name, ints.as_deref()) {
            ("cdiv", Some([a, b])) => cdiv(*a, *b),
            ("next_power_of_2", Some([n])) => next_power_of_2(*n),
            ("min", Some(all)) => all.iter().copied().min(),
            ("max", Some(all)) => all.iter().copied().max(),
            ("cdiv" | "next_power_of_2", _) => None,
            _ => return Err(format!("`{name}` is none of `cdiv`, `next_power_of_2`, `min`, `max`")),
        };
        value.map(Const::Int).ok_or_else(|| format!("`{name}` has no value for these arguments"))
    }

    fn number(&mut self) -> Result<Const, String> {
        let rest = self.rest();
        let mut len = 0;
        for (i, c) in rest.char_indices() {
            let signed = matches!(c, '+' | '-') && rest[..i].ends_with(['e', 'E']);
            if !(c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '_') || signed) {
                break;
            }
            len = i + 1;
        }
        let text = rest[..len].replace('_', "");
        self.at += len;
        let int = text.parse::<i128>().ok().map(Const::Int);
        int.or_else(|| text.parse::<f64>().ok().map(Const::float))
            .ok_or_else(|| format!("expected a number or a size {}", self.here()))
    }
}

fn apply(op: BinaryOp, lhs: Const, rhs: Const) -> Result<Const, String> {
    constant::binary(op, &lhs, &rhs).ok_or_else(|| format!("`{lhs} {op} {rhs}` has no value"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<Const, String> {
        evaluate(text, &|name| match name {
            "M" => Some(Const::Int(100)),
            "N" => Some(Const::Int(32)),
            _ => None,
        })
    }

    #[test]
    fn sizes() {
        for (text, expected) in [
            ("M", 100),
            ("M + 2*N", 164),
            ("(M + 2) * N", 3264),
            ("cdiv(M, N)", 4),
            ("next_power_of_2(M)", 128),
            ("min(M, N, 7)", 7),
            ("M // -7", -15),
            ("M % 7 - -1", 3),
            ("1_000", 1000),
        ] {
            assert_eq!(value(text), Ok(Const::Int(expected)), "{text}");
        }
        for (text, expected) in [
            ("K", "`K` is no size"),
            ("M +", "expected a number or a size at the end"),
            ("M N", "cannot follow `N`"),
            ("M // 0", "`100 // 0` has no value"),
            ("foo(M)", "`foo` is none of `cdiv`, `next_power_of_2`, `min`, `max`"),
        ] {
            assert_eq!(value(text), Err(expected.to_owned()), "{text}");
        }
        assert!(value(&"(".repeat(100_000)).is_err());
    }
}
