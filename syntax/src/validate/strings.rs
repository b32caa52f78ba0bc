//! String literals: escapes, bytes, and what f-strings could not hold before Python 3.12.

use super::Findings;
use crate::PythonVersion;
use crate::ast::{AstNode, FString, Replacement, StringExpr, StringLiteral, StringPart};
use crate::kind::SyntaxKind::*;
use crate::tree::{SyntaxNode, TextRange, TextSize};

/// Neighbours of different kinds: text, bytes, templates.
pub(super) fn mixed(f: &mut Findings, node: &SyntaxNode) {
    let Some(string) = StringExpr::cast(node.clone()) else { return };
    let kind = |part: &StringPart| match part {
        StringPart::StringLiteral(literal) if literal.is_bytes() => "bytes",
        StringPart::FString(string) if string.is_template() => "a template string",
        StringPart::StringLiteral(_) | StringPart::FString(_) => "text",
    };
    let mut parts = string.string_parts();
    let Some(first) = parts.next() else { return };
    if let Some(other) = parts.find(|part| kind(part) != kind(&first)) {
        f.report(other.syntax().text_range(), format!("{} cannot follow {} in one literal", kind(&other), kind(&first)));
    }
}

/// Escapes, and characters that bytes cannot hold.
pub(super) fn literal(f: &mut Findings, node: &SyntaxNode) {
    let Some(literal) = StringLiteral::cast(node.clone()) else { return };
    let Some(token) = literal.string_token() else { return };
    let (is_bytes, text) = (literal.is_bytes(), token.text());
    let start = token.text_range().start();
    if is_bytes && let Some((at, c)) = text.char_indices().find(|(_, c)| !c.is_ascii()) {
        let place = TextRange::at(start + TextSize::from(at as u32), TextSize::of(c));
        f.report(place, "bytes hold ASCII characters only; write others as `\\x…`");
    }
    if !literal.is_raw() {
        escapes(f, text, start, is_bytes);
    }
}

/// Escapes in the text between replacements.
pub(super) fn pieces(f: &mut Findings, node: &SyntaxNode) {
    let Some(string) = FString::cast(node.clone()) else { return };
    if string.is_raw() {
        return;
    }
    let nested = |kind| matches!(kind, REPLACEMENT | FORMAT_SPEC);
    let mut waiting = vec![node.clone()];
    while let Some(node) = waiting.pop() {
        for element in node.children_with_tokens() {
            match element {
                crate::NodeOrToken::Node(child) if nested(child.kind()) => waiting.push(child),
                crate::NodeOrToken::Token(token) if token.kind() == FSTRING_TEXT => {
                    escapes(f, token.text(), token.text_range().start(), false);
                }
                _ => {}
            }
        }
    }
}

fn escapes(f: &mut Findings, text: &str, start: TextSize, is_bytes: bool) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(found) = bytes[at..].iter().position(|byte| *byte == b'\\') {
        at += found;
        let digits = match bytes.get(at + 1) {
            Some(b'x') => 2,
            Some(b'u') if !is_bytes => 4,
            Some(b'U') if !is_bytes => 8,
            Some(b'N') if !is_bytes => {
                let name = bytes[at + 2..].strip_prefix(b"{").and_then(|rest| rest.iter().position(|byte| *byte == b'}'));
                if name.is_none_or(|len| len == 0) {
                    let place = TextRange::at(start + TextSize::from(at as u32), TextSize::from(2));
                    f.report(place, "`\\N` needs the name of a character: `\\N{…}`");
                }
                0
            }
            _ => 0,
        };
        let found = bytes[at + 1..].iter().skip(1).take(digits).take_while(|byte| byte.is_ascii_hexdigit()).count();
        let place = TextRange::at(start + TextSize::from(at as u32), TextSize::from((2 + found) as u32));
        if found < digits {
            f.report(place, format!("`\\{}` needs {digits} hexadecimal digits", bytes[at + 1] as char));
        } else if digits == 8 && u32::from_str_radix(&text[at + 2..at + 10], 16).is_ok_and(|code| code > 0x10ffff) {
            f.report(place, "no character has this number; the last is `\\U0010ffff`");
        }
        at += 2;
        if at > bytes.len() {
            return;
        }
    }
}

/// `!r`, and how deep replacements may nest.
pub(super) fn replacement(f: &mut Findings, node: &SyntaxNode) {
    let Some(replacement) = Replacement::cast(node.clone()) else { return };
    if let (Some(bang), Some(name)) = (replacement.bang_token(), replacement.conversion()) {
        let touching = bang.text_range().end() == name.range().start();
        if !touching || !matches!(name.text().as_str(), "r" | "s" | "a") {
            f.report(name.range(), "`r`, `s` or `a` must follow `!` at once");
        }
    }
    let specs = node.ancestors().take_while(|outer| outer.kind() != FSTRING).filter(|outer| outer.kind() == FORMAT_SPEC);
    let (limit, times) = if f.version < PythonVersion::Py312 { (1, "once") } else { (2, "twice") };
    if specs.count() > limit {
        f.report(node.text_range(), format!("replacements in a format can be nested only {times}"));
    }
}

/// Before Python 3.12 an f-string was a plain string first.
pub(super) fn before_3_12(f: &mut Findings, node: &SyntaxNode) {
    if f.version >= PythonVersion::Py312 {
        return;
    }
    let Some(string) = FString::cast(node.clone()) else { return };
    let Some(quote) = string.fstring_start_token() else { return };
    let quote = quote.text().trim_start_matches(|c: char| c.is_ascii_alphabetic()).to_owned();
    let since = |what: &str, version: PythonVersion| {
        format!("{what} in a replacement needs Python 3.12; this file is read as Python {version}")
    };
    for replacement in string.replacements() {
        let text = replacement.syntax().text().to_string();
        let range = replacement.range();
        let expression = replacement.value().map(|value| value.range());
        let version = f.version;
        if text.contains(&quote) {
            f.report(range, since("the quote of the f-string", version));
        } else if quote.len() == 1 && text.contains(['\n', '\r']) {
            f.report(range, since("a line end", version));
        }
        let before_spec = replacement.format_spec().map_or(range.end(), |spec| spec.range().start());
        let part = &text[..usize::from(before_spec - range.start())];
        if part.contains('\\') {
            f.report(expression.unwrap_or(range), since("a backslash", version));
        }
        let comment = replacement.syntax().descendants_with_tokens().find(|element| element.kind() == COMMENT);
        if let Some(comment) = comment {
            f.report(comment.text_range(), since("a comment", version));
        }
    }
}
