//! The bytes of a file to text, as Python reads them: byte order mark, encoding comment, UTF-8 otherwise.
//!
//! **Every file has a text**: what cannot be decoded is replaced and told as a problem, never refused.

use std::borrow::Cow;

use crate::SyntaxError;
use crate::tree::{TextRange, TextSize};

/// A file's text. `problem` is what Python would refuse the whole file for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source<'b> {
    pub text: Cow<'b, str>,
    pub problem: Option<SyntaxError>,
    charset: Charset,
}

impl Source<'_> {
    /// The text in the bytes of the file's encoding; what was decoded without a problem comes back as it was.
    pub fn encode(&self) -> Vec<u8> {
        match self.charset {
            Charset::Utf8 | Charset::Ascii => self.text.as_bytes().to_vec(),
            Charset::Latin1 => self.text.chars().map(|c| u8::try_from(c).unwrap_or(b'?')).collect(),
            Charset::Other(other) => other.encode(&self.text).0.into_owned(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Charset {
    Utf8,
    Ascii,
    Latin1,
    Other(&'static encoding_rs::Encoding),
}

const BOM: &[u8] = b"\xef\xbb\xbf";

/// Reads the bytes of a file.
pub fn decode(bytes: &[u8]) -> Source<'_> {
    if let Some(text) = decode_utf16(bytes) {
        let message = "the file is in UTF-16, which Python does not read; save it as UTF-8".to_owned();
        return Source { text: text.into(), problem: Some(problem(0..0, message)), charset: Charset::Utf8 };
    }
    if let Some(at) = memchr::memchr(0, bytes) {
        let message = "the file holds a null byte, which Python refuses: it is no text, or it is damaged";
        return refused(bytes, at..at + 1, message.to_owned());
    }
    let marked = bytes.starts_with(BOM);
    let declared = declared_encoding(if marked { &bytes[BOM.len()..] } else { bytes });
    let Some((name, start)) = declared else { return decode_as(bytes, Charset::Utf8, 0..0) };
    let start = start + if marked { BOM.len() } else { 0 };
    let place = start..start + name.len();
    let normal = normalise(name);
    if marked && !(normal == "utf-8" || normal.starts_with("utf-8-")) {
        let message = format!("the file starts with the mark of UTF-8 but declares `{name}`; write `utf-8`");
        return refused(bytes, place, message);
    }
    match charset(&normal) {
        Some(charset) => decode_as(bytes, charset, place),
        None => refused(bytes, place, format!("`{name}` is no encoding that Python knows; write `utf-8`")),
    }
}

/// The text of a file that starts with the mark of UTF-16.
fn decode_utf16(bytes: &[u8]) -> Option<String> {
    let charset = match bytes {
        // The mark of UTF-32 starts in the same way.
        [0xff, 0xfe, 0, 0, ..] => return None,
        [0xff, 0xfe, ..] => encoding_rs::UTF_16LE,
        [0xfe, 0xff, ..] => encoding_rs::UTF_16BE,
        _ => return None,
    };
    Some(charset.decode_with_bom_removal(bytes).0.into_owned())
}

fn refused(bytes: &[u8], place: std::ops::Range<usize>, message: String) -> Source<'_> {
    Source { text: String::from_utf8_lossy(bytes), problem: Some(problem(place, message)), charset: Charset::Utf8 }
}

fn problem(place: std::ops::Range<usize>, message: String) -> SyntaxError {
    SyntaxError { message, range: TextRange::new(TextSize::from(place.start as u32), TextSize::from(place.end as u32)) }
}

fn decode_as(bytes: &[u8], charset: Charset, place: std::ops::Range<usize>) -> Source<'_> {
    let (text, broken) = match charset {
        Charset::Utf8 | Charset::Ascii => match std::str::from_utf8(bytes) {
            Ok(text) if charset == Charset::Utf8 || text.is_ascii() => (Cow::Borrowed(text), None),
            Ok(text) => (Cow::Borrowed(text), bytes.iter().position(|byte| !byte.is_ascii())),
            Err(error) => (String::from_utf8_lossy(bytes), Some(error.valid_up_to())),
        },
        Charset::Latin1 => (encoding_rs::mem::decode_latin1(bytes), None),
        Charset::Other(other) => {
            let (text, broken) = other.decode_without_bom_handling(bytes);
            (text, broken.then_some(place.start))
        }
    };
    let problem = broken.map(|at| {
        let message = match (place.is_empty(), charset) {
            (true, _) => {
                format!("the byte 0x{:02x} is no UTF-8, and the file declares no other encoding; save it as UTF-8", bytes[at])
            }
            (false, _) => {
                "the file holds bytes that the encoding declared here does not have; save it as UTF-8 and declare `utf-8`"
                    .to_owned()
            }
        };
        let end = text[at..].chars().next().map_or(at, |c| at + c.len_utf8());
        problem(if place.is_empty() { at..end } else { place.clone() }, message)
    });
    Source { text, problem, charset }
}

/// The name in an encoding comment (`coding: name`) on the first two lines, and where it starts. The second line counts
/// only if the first is blank or a comment.
fn declared_encoding(bytes: &[u8]) -> Option<(&str, usize)> {
    let mut start = 0;
    for _ in 0..2 {
        let line = &bytes[start..];
        let len = line.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(line.len());
        let line = &line[..len];
        let blank = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\x0c')).count();
        match line.get(blank) {
            Some(b'#') => {
                if let Some((name, at)) = in_comment(&line[blank..]) {
                    return Some((name, start + blank + at));
                }
            }
            None => {}
            Some(_) => return None,
        }
        start += len;
        start += if bytes[start..].starts_with(b"\r\n") { 2 } else { 1 };
        if start >= bytes.len() {
            return None;
        }
    }
    None
}

fn in_comment(comment: &[u8]) -> Option<(&str, usize)> {
    let mut from = 0;
    loop {
        let at = from + comment[from..].windows(6).position(|window| window == b"coding")? + 6;
        from = at;
        if !matches!(comment.get(at), Some(b':' | b'=')) {
            continue;
        }
        let start = at + 1 + comment[at + 1..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let len = comment[start..].iter().take_while(is_name).count();
        if len > 0 {
            return std::str::from_utf8(&comment[start..start + len]).ok().map(|name| (name, start));
        }
    }
}

fn normalise(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}

/// Python's names of the encodings that source text is written in; the WHATWG labels cover the rest.
fn charset(name: &str) -> Option<Charset> {
    use encoding_rs as e;
    Some(match name {
        "utf-8" | "utf8" | "u8" | "utf" | "utf-8-sig" | "cp65001" | "utf8-ucs2" | "utf8-ucs4" => Charset::Utf8,
        "ascii" | "us-ascii" | "646" | "ansi-x3.4-1968" | "ansi-x3.4-1986" | "iso646-us" => Charset::Ascii,
        "latin-1" | "latin1" | "latin" | "l1" | "iso-8859-1" | "iso8859-1" | "8859" | "cp819" | "iso-latin-1" => Charset::Latin1,
        "cp1250" => Charset::Other(e::WINDOWS_1250),
        "cp1251" => Charset::Other(e::WINDOWS_1251),
        "cp1252" => Charset::Other(e::WINDOWS_1252),
        "cp932" | "ms932" | "mskanji" | "ms-kanji" | "shiftjis" => Charset::Other(e::SHIFT_JIS),
        "cp949" | "949" | "ms949" | "uhc" => Charset::Other(e::EUC_KR),
        "cp936" | "936" | "ms936" => Charset::Other(e::GBK),
        "cp950" | "950" | "ms950" => Charset::Other(e::BIG5),
        "mac-roman" | "macroman" => Charset::Other(e::MACINTOSH),
        "utf-16" | "utf-16-le" | "utf-16-be" | "utf16" | "utf-32" => return None,
        // Python reads `utf-8-anything` as UTF-8 and `latin-1-unix` as Latin-1.
        _ if name.starts_with("utf-8-") => Charset::Utf8,
        _ if ["latin-1-", "iso-8859-1-", "iso-latin-1-"].iter().any(|start| name.starts_with(start)) => Charset::Latin1,
        _ => {
            let found = e::Encoding::for_label(name.as_bytes()).or_else(|| {
                // `iso8859-15`, `koi8_r`, `euc_jp`.
                let spelled = name.strip_prefix("iso8859-").map(|part| format!("iso-8859-{part}"));
                let spelled = spelled.unwrap_or_else(|| name.replace('-', "_"));
                e::Encoding::for_label(spelled.as_bytes())
            })?;
            if found == e::UTF_16LE || found == e::UTF_16BE || found == e::REPLACEMENT {
                return None;
            }
            Charset::Other(found)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: &[u8]) -> String {
        let source = decode(bytes);
        if source.problem.is_none() {
            assert_eq!(source.encode(), bytes);
        }
        match source.problem {
            None => format!("{:?}", source.text),
            Some(problem) => format!("{:?}: {}", problem.range, problem.message),
        }
    }

    #[test]
    fn files_are_read_as_they_declare() {
        let cases: &[(&[u8], &str)] = &[
            (b"x = 1\n", r#""x = 1\n""#),
            (b"\xef\xbb\xbfx\n", r#""\u{feff}x\n""#),
            (b"# coding: latin-1\n'\xe9'\n", r##""# coding: latin-1\n'é'\n""##),
            (b"#!/x\n# -*- coding: koi8_r -*-\n'\xc1'\n", r##""#!/x\n# -*- coding: koi8_r -*-\n'а'\n""##),
            (
                b"x\n# coding: latin-1\n'\xe9'\n",
                "21..24: the byte 0xe9 is no UTF-8, and the file declares no other encoding; save it as UTF-8",
            ),
            (
                b"# coding: ascii\n'\xc3\xa9'\n",
                "10..15: the file holds bytes that the encoding declared here does not have; save it as UTF-8 and declare `utf-8`",
            ),
            (b"# coding: uft-8\n", "10..15: `uft-8` is no encoding that Python knows; write `utf-8`"),
            (
                b"\xef\xbb\xbf# coding: utf8\n",
                "13..17: the file starts with the mark of UTF-8 but declares `utf8`; write `utf-8`",
            ),
            (b"\xff\xfex\0\n\0", "0..0: the file is in UTF-16, which Python does not read; save it as UTF-8"),
            (b"\xfe\xff\0x\0\n", "0..0: the file is in UTF-16, which Python does not read; save it as UTF-8"),
            (b"x\0\n", "1..2: the file holds a null byte, which Python refuses: it is no text, or it is damaged"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(shown(bytes), *expected, "{}", bytes.escape_ascii());
        }
        assert_eq!(decode(b"\xff\xfex\0\n\0").text, "x\n");
    }
}
