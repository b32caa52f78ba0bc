//! Between our offsets and LSP's positions: the only place where UTF-16 exists.
//!
//! **Invariant:** total in both directions. A position outside the text is moved to the nearest place inside it.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use tower_lsp::ls_types::{self as lsp, Position, PositionEncodingKind, Uri};
use tritium_syntax::{Encoding, LineColumn, LineIndex, TextSize};

use tritium_ide as ide;

/// UTF-8 if the client offers it, else what it must support.
pub(crate) fn negotiate(offered: Option<&[PositionEncodingKind]>) -> Encoding {
    match offered {
        Some(kinds) if kinds.contains(&PositionEncodingKind::UTF8) => Encoding::Bytes,
        _ => Encoding::Utf16,
    }
}

pub(crate) fn encoding_kind(encoding: Encoding) -> PositionEncodingKind {
    match encoding {
        Encoding::Bytes => PositionEncodingKind::UTF8,
        Encoding::Utf16 => PositionEncodingKind::UTF16,
        Encoding::CodePoints => PositionEncodingKind::UTF32,
    }
}

pub(crate) fn offset(index: &LineIndex, position: Position, encoding: Encoding) -> usize {
    index.offset(LineColumn { line: position.line, column: position.character }, encoding).into()
}

pub(crate) fn offsets(index: &LineIndex, range: lsp::Range, encoding: Encoding) -> Range<usize> {
    let (a, b) = (offset(index, range.start, encoding), offset(index, range.end, encoding));
    a.min(b)..a.max(b)
}

pub(crate) fn position(index: &LineIndex, offset: usize, encoding: Encoding) -> Position {
    let at = index.line_column(TextSize::try_from(offset).unwrap_or_default(), encoding);
    Position { line: at.line, character: at.column }
}

/// The file a document stands for; `None` for documents that are not files (`untitled:`, `git:`).
pub(crate) fn path(uri: &Uri) -> Option<PathBuf> {
    if uri.scheme().as_str() == "file" { uri.to_file_path().map(|p| p.into_owned()) } else { None }
}

pub(crate) fn uri(path: &Path) -> Option<Uri> {
    Uri::from_file_path(path)
}

pub(crate) fn severity(severity: ide::Severity) -> lsp::DiagnosticSeverity {
    match severity {
        ide::Severity::Error => lsp::DiagnosticSeverity::ERROR,
        ide::Severity::Warning => lsp::DiagnosticSeverity::WARNING,
        ide::Severity::Performance => lsp::DiagnosticSeverity::INFORMATION,
        ide::Severity::Hint => lsp::DiagnosticSeverity::HINT,
    }
}

pub(crate) fn diagnostic(
    d: &ide::Diagnostic,
    range: lsp::Range,
    related: Vec<lsp::DiagnosticRelatedInformation>,
) -> lsp::Diagnostic {
    // In which configurations it holds, on a line of its own: lists show the first.
    let message = d.note().map_or_else(|| d.message.clone(), |note| format!("{}\n{note}", d.message));
    lsp::Diagnostic {
        range,
        severity: Some(severity(d.severity)),
        code: Some(lsp::NumberOrString::String(d.code.to_owned())),
        code_description: d.href.parse().ok().map(|href| lsp::CodeDescription { href }),
        source: Some("tritium".to_owned()),
        message,
        related_information: Some(related),
        tags: None,
        data: None,
    }
}

/// `command:NAME?ARGUMENTS`, as editors read it in Markdown.
pub(super) fn command_link(command: &str, arguments: &serde_json::Value) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(byte);
    let encoded = |byte: u8| if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    format!("command:{command}?{}", arguments.to_string().bytes().map(encoded).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_boundary_survives_in_every_encoding() {
        let text = "a = 'é😀'\r\nβ\n\nend";
        let index = LineIndex::new(text);
        for encoding in [Encoding::Bytes, Encoding::Utf16, Encoding::CodePoints] {
            for at in (0..=text.len()).filter(|&i| text.is_char_boundary(i) && !text[..i].ends_with('\r')) {
                let p = position(&index, at, encoding);
                assert_eq!(offset(&index, p, encoding), at, "{encoding:?} {p:?}");
            }
        }
        let emoji_end = text.find('😀').expect("it is there") + '😀'.len_utf8();
        assert_eq!(position(&index, emoji_end, Encoding::Utf16).character, 8);
        assert_eq!(offset(&index, Position { line: 99, character: 0 }, Encoding::Utf16), text.len());
        assert_eq!(offset(&index, Position { line: 1, character: 99 }, Encoding::Utf16), text.find("\n\n").expect("blank line"));
    }
}
