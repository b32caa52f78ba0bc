//! The documents of the client that a file's text stands in: the file itself, or the cells of a notebook one after the other.
//!
//! **Invariant:** a place outside a cell is moved to the nearest place inside it, and a line of a cell that is no Python has no place in the
//! file; of an ordinary file nothing is moved.

use std::{collections::HashMap, ops::Range};

use tower_lsp::ls_types as lsp;
use tritium_semantics::notebook::CellLines;
use tritium_syntax::{Encoding, LineIndex};

use tritium_ide as ide;

use crate::convert;

/// The protocol takes what is beyond a line for its end.
const END_OF_LINE: u32 = i32::MAX as u32;

/// One document of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) uri: lsp::Uri,
    /// Of a file that is not open, none.
    pub(crate) version: Option<i32>,
    /// Its lines in the file; all, where it is the file.
    place: Option<CellLines>,
}

impl Part {
    /// An offset moved into the part.
    fn clamped(&self, index: &LineIndex, offset: usize) -> usize {
        let Some(CellLines { lines, .. }) = &self.place else { return offset };
        let range = |line| index.line_range(line).unwrap_or_default();
        offset.clamp(range(lines.start).start().into(), range(lines.end - 1).end().into())
    }

    fn is_foreign(&self, line: u32) -> bool {
        self.place.as_ref().is_some_and(|cell| cell.foreign.binary_search(&line).is_ok())
    }

    fn first_line(&self) -> u32 {
        self.place.as_ref().map_or(0, |cell| cell.lines.start)
    }

    /// A line of the file as a line of the part.
    pub(crate) fn own_line(&self, line: u32) -> Option<u32> {
        let is_here = self.place.as_ref().is_none_or(|cell| cell.lines.contains(&line));
        is_here.then(|| line - self.first_line())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parts(Vec<Part>);

impl Parts {
    /// Of a file that is one document.
    pub(crate) fn whole(uri: lsp::Uri, version: Option<i32>) -> Parts {
        Parts(vec![Part { uri, version, place: None }])
    }

    /// Of a notebook, in the order of its cells.
    pub(crate) fn cells(cells: impl IntoIterator<Item = (lsp::Uri, i32, CellLines)>) -> Parts {
        let part = |(uri, version, place)| Part { uri, version: Some(version), place: Some(place) };
        Parts(cells.into_iter().map(part).collect())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Part> {
        self.0.iter()
    }

    /// The part that a client names. It may spell the name of a file in several ways.
    pub(crate) fn named(&self, uri: &lsp::Uri) -> Option<&Part> {
        self.iter().find(|part| part.place.is_none() || part.uri == *uri)
    }

    /// The part of an offset: between two parts the one before, and before all the first.
    fn at(&self, index: &LineIndex, offset: usize) -> Option<&Part> {
        let line = convert::position(index, offset, Encoding::Bytes).line;
        let after = self.0.partition_point(|part| part.first_line() <= line);
        self.0.get(after.saturating_sub(1))
    }
}

/// Between the places of a file's text and those of its parts.
#[derive(Clone, Copy)]
pub(crate) struct Places<'a> {
    pub(crate) parts: &'a Parts,
    pub(crate) index: &'a LineIndex,
    pub(crate) encoding: Encoding,
}

impl<'a> Places<'a> {
    /// `None` on a line that is no Python.
    pub(crate) fn offset(&self, part: &Part, position: lsp::Position) -> Option<usize> {
        let line = part.first_line().saturating_add(position.line);
        (!part.is_foreign(line)).then(|| self.nearest_offset(part, position))
    }

    fn nearest_offset(&self, part: &Part, position: lsp::Position) -> usize {
        let line = part.first_line().saturating_add(position.line);
        part.clamped(self.index, convert::offset(self.index, lsp::Position { line, ..position }, self.encoding))
    }

    pub(crate) fn offsets(&self, part: &Part, range: lsp::Range) -> Range<usize> {
        let (a, b) = (self.nearest_offset(part, range.start), self.nearest_offset(part, range.end));
        a.min(b)..a.max(b)
    }

    pub(crate) fn position(&self, part: &Part, offset: usize) -> lsp::Position {
        let offset = part.clamped(self.index, offset);
        let at = convert::position(self.index, offset, self.encoding);
        // Nobody here knows how long a line is that is no Python.
        let is_end = self.index.line_range(at.line).is_some_and(|line| usize::from(line.end()) == offset);
        let character = if is_end && part.is_foreign(at.line) { END_OF_LINE } else { at.character };
        lsp::Position { line: at.line - part.first_line(), character }
    }

    fn range(&self, part: &Part, range: &Range<usize>) -> lsp::Range {
        lsp::Range { start: self.position(part, range.start), end: self.position(part, range.end) }
    }

    /// What of a range stands in this part.
    pub(crate) fn within(&self, part: &Part, range: &Range<usize>) -> Option<lsp::Range> {
        let clamped = |offset| part.clamped(self.index, offset);
        let (first, last) = (clamped(0), clamped(usize::MAX));
        (part.place.is_none() || range.start <= last && first <= range.end).then(|| self.range(part, range))
    }

    /// Where a range stands, as far as it is in the part that it begins in.
    pub(crate) fn location(&self, range: &Range<usize>) -> Option<(&'a Part, lsp::Range)> {
        let part = self.parts.at(self.index, range.start)?;
        Some((part, self.range(part, range)))
    }

    pub(crate) fn edits(&self, edits: &[ide::TextEdit]) -> HashMap<lsp::Uri, Vec<lsp::TextEdit>> {
        let mut out: HashMap<lsp::Uri, Vec<lsp::TextEdit>> = HashMap::new();
        for edit in edits {
            let Some((part, range)) = self.location(&edit.range) else { continue };
            // A cell ends with its last line, not with the beginning of another.
            let is_behind = part.clamped(self.index, edit.range.start) < edit.range.start;
            let new_text = match edit.new_text.strip_suffix('\n') {
                Some(lines) if is_behind => format!("\n{lines}"),
                _ => edit.new_text.clone(),
            };
            out.entry(part.uri.clone()).or_default().push(lsp::TextEdit { range, new_text });
        }
        out
    }

    pub(crate) fn diagnostic(&self, d: &ide::Diagnostic) -> Option<(&'a Part, lsp::Diagnostic)> {
        let (part, range) = self.location(&d.range)?;
        let related = d.related.iter().filter_map(|r| {
            let (part, range) = self.location(&r.range)?;
            let location = lsp::Location { uri: part.uri.clone(), range };
            Some(lsp::DiagnosticRelatedInformation { location, message: r.message.clone() })
        });
        Some((part, convert::diagnostic(d, range, related.collect())))
    }

    /// Of each part what is found there.
    pub(crate) fn diagnostics(&self, found: &[ide::Diagnostic]) -> Vec<(&'a Part, Vec<lsp::Diagnostic>)> {
        let mut out: Vec<_> = self.parts.iter().map(|part| (part, Vec::new())).collect();
        for (part, diagnostic) in found.iter().filter_map(|d| self.diagnostic(d)) {
            if let Some((_, found)) = out.iter_mut().find(|(of, _)| std::ptr::eq(*of, part)) {
                found.push(diagnostic);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::expect;
    use tritium_semantics::notebook::NotebookPython;

    use super::*;

    /// Cells and their Python.
    fn notebook(sources: &[&str]) -> (String, Parts) {
        let mut python = NotebookPython::default();
        sources.iter().for_each(|source| python.push(source));
        let uri = |n: usize| format!("cell:{n}").parse().expect("a URI");
        let cells = python.cells.into_iter().zip(1..).map(|(lines, n)| (uri(n), 1, lines));
        (python.text, Parts::cells(cells))
    }

    #[test]
    fn every_place_of_a_cell_comes_back() {
        for sources in [&["a = 'é😀'\r\nb", "", "%%bash\nls", "x\n"][..], &["", "", "\n\n"], &[]] {
            let (text, parts) = notebook(sources);
            let index = LineIndex::new(&text);
            let places = Places { parts: &parts, index: &index, encoding: Encoding::Utf16 };
            for (part, source) in parts.iter().zip(sources) {
                let own = LineIndex::new(source);
                for at in (0..=source.len()).filter(|&at| source.is_char_boundary(at) && !source[..at].ends_with('\r')) {
                    let position = convert::position(&own, at, Encoding::Utf16);
                    let Some(offset) = places.offset(part, position) else { continue };
                    assert_eq!(places.position(part, offset), position, "{source:?}");
                    let (found, range) = places.location(&(offset..offset)).expect("it is somewhere");
                    assert_eq!((&found.uri, range.start), (&part.uri, position), "{source:?}");
                }
                let beyond = lsp::Position { line: 90, character: 90 };
                let end = places.position(part, places.nearest_offset(part, beyond));
                assert_eq!(convert::offset(&own, end, Encoding::Utf16), source.len(), "{source:?}");
            }
            // Nothing is nowhere, but in a notebook without cells.
            for at in (0..=text.len() + 1).filter(|&at| at > text.len() || text.is_char_boundary(at)) {
                assert_eq!(places.location(&(at..at)).is_some(), !sources.is_empty());
            }
        }
    }

    #[test]
    fn an_edit_behind_the_last_line_is_one_of_its_cell() {
        let (text, parts) = notebook(&["import a\n!pip install b", "x = 1\ny = 2"]);
        let index = LineIndex::new(&text);
        let places = Places { parts: &parts, index: &index, encoding: Encoding::Utf16 };
        let edit = |range: Range<usize>, new_text: &str| ide::TextEdit { range, new_text: new_text.to_owned() };
        let find = |needle: &str| text.find(needle).expect("it is there");
        let edits = [
            edit(0..0, "import first\n"),
            edit(find("# %% code cell 2")..find("# %% code cell 2"), "import b\n"),
            edit(find("x = ")..find("y = "), ""),
            edit(text.len()..text.len(), "z = 3\n"),
        ];
        let mut out = String::new();
        let changes = places.edits(&edits);
        for part in parts.iter() {
            for lsp::TextEdit { range: lsp::Range { start, end }, new_text } in &changes[&part.uri] {
                let (uri, at) = (part.uri.as_str(), |p: &lsp::Position| format!("{}:{}", p.line, p.character));
                let _ = writeln!(out, "{uri} {}-{} {new_text:?}", at(start), at(end));
            }
        }
        expect![[r#"
            cell:1 0:0-0:0 "import first\n"
            cell:1 1:2147483647-1:2147483647 "\nimport b"
            cell:2 0:0-1:0 ""
            cell:2 1:5-1:5 "\nz = 3"
        "#]]
        .assert_eq(&out);
    }
}
