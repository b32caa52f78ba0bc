//! Offsets to lines and columns and back.
//!
//! **Every offset has a line and a column, and every pair is clamped to a place in the text.** Lines end as Python ends
//! them: `\n`, `\r\n` or `\r`. Lines and columns count from 0.

use crate::tree::{TextRange, TextSize};

/// What a column counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    Bytes,
    CodePoints,
    Utf16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineColumn {
    pub line: u32,
    pub column: u32,
}

/// A character of more than one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Wide {
    offset: u32,
    bytes: u8,
}

impl Wide {
    fn units(self, encoding: Encoding) -> u32 {
        match encoding {
            Encoding::Bytes => u32::from(self.bytes),
            Encoding::CodePoints => 1,
            Encoding::Utf16 => 1 + u32::from(self.bytes == 4),
        }
    }
}

/// The lines of one text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LineIndex {
    starts: Vec<u32>,
    /// Ends of the lines without their line ends.
    ends: Vec<u32>,
    wide: Vec<Wide>,
    len: u32,
}

impl LineIndex {
    pub fn new(text: &str) -> LineIndex {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        let mut ends = Vec::new();
        for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
            let follows_return = at > 0 && bytes[at - 1] == b'\r';
            match bytes[at] {
                b'\n' if follows_return => {}
                _ => ends.push(at as u32),
            }
            if bytes[at] == b'\n' || bytes.get(at + 1) != Some(&b'\n') {
                starts.push(at as u32 + 1);
            }
        }
        ends.push(bytes.len() as u32);
        // Most files have none: that is seen sixteen bytes at a time.
        let mut wide = Vec::new();
        if !text.is_ascii() {
            let all = text.char_indices().filter(|(_, c)| !c.is_ascii());
            wide.extend(all.map(|(at, c)| Wide { offset: at as u32, bytes: c.len_utf8() as u8 }));
        }
        LineIndex { starts, ends, wide, len: bytes.len() as u32 }
    }

    pub fn line_count(&self) -> u32 {
        self.starts.len() as u32
    }

    /// A line without its line end.
    pub fn line_range(&self, line: u32) -> Option<TextRange> {
        let start = *self.starts.get(line as usize)?;
        Some(TextRange::new(start.into(), self.ends[line as usize].into()))
    }

    pub fn line_column(&self, offset: TextSize, encoding: Encoding) -> LineColumn {
        let offset = u32::from(offset).min(self.len);
        let line = self.starts.partition_point(|start| *start <= offset) - 1;
        let start = self.starts[line];
        let mut column = offset - start;
        for wide in self.wide_from(start) {
            if wide.offset + u32::from(wide.bytes) > offset {
                // Inside a character counts as before it.
                if wide.offset < offset && encoding != Encoding::Bytes {
                    column -= offset - wide.offset;
                }
                break;
            }
            column -= u32::from(wide.bytes) - wide.units(encoding);
        }
        LineColumn { line: line as u32, column }
    }

    pub fn offset(&self, place: LineColumn, encoding: Encoding) -> TextSize {
        let Some(&start) = self.starts.get(place.line as usize) else { return self.len.into() };
        let end = self.ends[place.line as usize];
        // Bytes and units walked so far on this line.
        let (mut at, mut units) = (start, 0);
        for wide in self.wide_from(start) {
            let narrow = wide.offset - at;
            if wide.offset >= end || units + narrow + wide.units(encoding) > place.column {
                let rest = (place.column - units).min(narrow);
                return (at + rest).min(end).into();
            }
            units += narrow + wide.units(encoding);
            at = wide.offset + u32::from(wide.bytes);
        }
        at.saturating_add(place.column - units).min(end).into()
    }

    fn wide_from(&self, start: u32) -> impl Iterator<Item = Wide> + '_ {
        let first = self.wide.partition_point(|wide| wide.offset < start);
        self.wide[first..].iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_in_every_encoding_come_back() {
        let text = "a\r\né = '𝄞x'\rlast\n\nend é";
        let index = LineIndex::new(text);
        assert_eq!(index.line_count(), 5);
        for (offset, _) in text.char_indices().chain([(text.len(), ' ')]) {
            for encoding in [Encoding::Bytes, Encoding::CodePoints, Encoding::Utf16] {
                let place = index.line_column(TextSize::from(offset as u32), encoding);
                let back = index.offset(place, encoding);
                // Between `\r` and `\n` there is no place of its own: it clamps to the end of the line.
                if !text[..offset].ends_with('\r') || !text[offset..].starts_with('\n') {
                    assert_eq!(usize::from(back), offset, "{place:?} {encoding:?}");
                }
            }
        }
        let x = text.find('x').unwrap() as u32;
        let column = |encoding| index.line_column(x.into(), encoding).column;
        assert_eq!(column(Encoding::Bytes), 10);
        assert_eq!(column(Encoding::CodePoints), 6);
        assert_eq!(column(Encoding::Utf16), 7);
        assert_eq!(&text[index.line_range(1).unwrap()], "é = '𝄞x'");
        assert_eq!(index.offset(LineColumn { line: 9, column: 9 }, Encoding::Utf16), TextSize::of(text));
        assert_eq!(index.offset(LineColumn { line: 2, column: 99 }, Encoding::Utf16), TextSize::from(20));
    }
}
