//! The base protocol: a header, then as many bytes of JSON as it says.
//!
//! **Invariant:** whatever the bytes are, memory stays bounded and every byte is either part of a message or told of as none. What cannot be
//! read is skipped to the next header: `Content-Length: 12` and the end of its line stand in no JSON.

use std::io;

use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tower_lsp::jsonrpc::{Error, ErrorCode, Id, Request, Response};

/// The largest message that is read: a document of this size is no source.
const MAX_MESSAGE_BYTES: usize = 256 << 20;
/// The largest header that is waited for.
const MAX_HEADER_BYTES: usize = 4 << 10;
const LENGTH: &[u8] = b"content-length:";
/// A number of bytes, and the blanks around it.
const MAX_NUMBER_BYTES: usize = 24;

pub(super) enum Frame {
    Request(Request),
    Response(Response),
    /// No message; the answer says why.
    Malformed(Response),
    /// Nothing more comes.
    End,
    /// Nothing more comes, and what came last was no whole message.
    Torn(String),
}

#[derive(Debug)]
enum Place {
    Header,
    /// So many bytes long, of which so many were searched for another header.
    Body {
        length: usize,
        searched: usize,
    },
    /// After what could not be read.
    Lost,
}

pub(super) struct Frames<R> {
    input: R,
    bytes: Vec<u8>,
    place: Place,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Message {
    Response(Response),
    Request(Request),
}

impl<R: AsyncRead + Unpin> Frames<R> {
    pub(super) fn new(input: R) -> Frames<R> {
        Frames { input, bytes: Vec::new(), place: Place::Header }
    }

    /// The next frame. Nothing is lost where the future is dropped.
    pub(super) async fn next(&mut self) -> io::Result<Frame> {
        loop {
            if let Some(frame) = self.parse() {
                return Ok(frame);
            }
            if self.input.read_buf(&mut self.bytes).await? == 0 {
                return Ok(self.end());
            }
        }
    }

    fn end(&self) -> Frame {
        match self.place {
            Place::Header if self.bytes.iter().all(u8::is_ascii_whitespace) => Frame::End,
            Place::Header => Frame::Torn("the input ends in the middle of a header".to_owned()),
            Place::Body { length, .. } => Frame::Torn(format!(
                "the input ends after {} of the {length} bytes that `Content-Length` announces",
                self.bytes.len()
            )),
            Place::Lost => Frame::Torn("the input ends without another message after one that cannot be read".to_owned()),
        }
    }

    /// `None`: more bytes are needed.
    fn parse(&mut self) -> Option<Frame> {
        loop {
            match self.place {
                Place::Header => match header(&self.bytes) {
                    Header::Partial => return None,
                    Header::Whole { end, length } => {
                        self.bytes.drain(..end);
                        self.place = Place::Body { length, searched: 0 };
                    }
                    Header::Wrong(why) => {
                        self.place = Place::Lost;
                        // A header that is wrong itself must not be found again.
                        let skipped = if starts_with_length(&self.bytes) { LENGTH.len() } else { 0 };
                        self.bytes.drain(..skipped);
                        return Some(malformed(ErrorCode::ParseError, &why, Id::Null));
                    }
                },
                Place::Body { length, searched } => {
                    let here = &self.bytes[..length.min(self.bytes.len())];
                    if let Some(at) = next_header(here, searched) {
                        self.bytes.drain(..at);
                        self.place = Place::Header;
                        let why =
                            format!("the next message begins after {at} of the {length} bytes that `Content-Length` announces");
                        return Some(malformed(ErrorCode::ParseError, &why, Id::Null));
                    }
                    if self.bytes.len() < length {
                        self.place = Place::Body { length, searched: here.len() };
                        return None;
                    }
                    let frame = message(here);
                    // Where the length was too large, the body ends with the beginning of the next header.
                    let end = if matches!(frame, Frame::Malformed(_)) { begun_header(here) } else { length };
                    self.bytes.drain(..end);
                    self.bytes.shrink_to(MAX_HEADER_BYTES.max(self.bytes.len()));
                    self.place = Place::Header;
                    return Some(frame);
                }
                Place::Lost => match next_header(&self.bytes, 0) {
                    Some(at) => {
                        self.bytes.drain(..at);
                        self.place = Place::Header;
                    }
                    None => {
                        // A header may have come in part.
                        let kept = self.bytes.len().min(MAX_HEADER_BYTES);
                        self.bytes.drain(..self.bytes.len() - kept);
                        return None;
                    }
                },
            }
        }
    }
}

enum Header {
    Partial,
    Whole { end: usize, length: usize },
    Wrong(String),
}

fn header(bytes: &[u8]) -> Header {
    // Nothing that is no name begins a header; without this, what follows a length that is too small would be waited on.
    if bytes.first().is_some_and(|byte| !byte.is_ascii_alphabetic()) {
        return Header::Wrong("a message begins with `Content-Length: ` and the number of its bytes".to_owned());
    }
    let Some(end) = bytes.windows(4).take(MAX_HEADER_BYTES).position(|four| four == b"\r\n\r\n") else {
        let is_long = bytes.len() >= MAX_HEADER_BYTES;
        return if is_long { Header::Wrong(format!("no header ends within {MAX_HEADER_BYTES} bytes")) } else { Header::Partial };
    };
    let mut length = None;
    for line in bytes[..end].split(|&byte| byte == b'\n') {
        let line = String::from_utf8_lossy(line);
        let Some((name, value)) = line.split_once(':') else {
            return Header::Wrong(format!("`{}` is no line of a header", line.trim()));
        };
        if name.eq_ignore_ascii_case("content-length") {
            let value = value.trim();
            match value.parse::<usize>() {
                Ok(bytes) if bytes <= MAX_MESSAGE_BYTES => length = Some(bytes),
                Ok(_) => return Header::Wrong(format!("a message of {value} bytes; at most {MAX_MESSAGE_BYTES} are read")),
                Err(_) => return Header::Wrong(format!("`Content-Length: {value}` is no number of bytes")),
            }
        }
    }
    match length {
        Some(length) => Header::Whole { end: end + 4, length },
        None => Header::Wrong("the header says no `Content-Length`".to_owned()),
    }
}

fn starts_with_length(bytes: &[u8]) -> bool {
    bytes.get(..LENGTH.len()).is_some_and(|start| start.eq_ignore_ascii_case(LENGTH))
}

/// Where `Content-Length: 12`, with the end of its line, begins; no line ends before `searched`.
fn next_header(bytes: &[u8], searched: usize) -> Option<usize> {
    let mut from = searched;
    while let Some(end) = bytes[from..].iter().position(|&byte| byte == b'\n').map(|n| from + n) {
        let is_header = |&at: &usize| {
            let number = bytes[at + LENGTH.len()..end].trim_ascii();
            starts_with_length(&bytes[at..]) && !number.is_empty() && number.iter().all(u8::is_ascii_digit)
        };
        // The name and a number are short, so only the end of a long line is looked at.
        let first = end.saturating_sub(LENGTH.len() + MAX_NUMBER_BYTES);
        if bytes[..end].ends_with(b"\r")
            && let Some(at) = (first..end.saturating_sub(LENGTH.len())).find(is_header)
        {
            return Some(at);
        }
        from = end + 1;
    }
    None
}

/// Where the beginning of a header begins that these bytes end with; their end if with none.
fn begun_header(bytes: &[u8]) -> usize {
    let is_begun = |&at: &usize| {
        let (name, number) = bytes[at..].split_at(LENGTH.len().min(bytes.len() - at));
        let number = number.trim_ascii();
        name.eq_ignore_ascii_case(&LENGTH[..name.len()]) && number.iter().all(u8::is_ascii_digit)
    };
    let first = bytes.len().saturating_sub(LENGTH.len() + MAX_NUMBER_BYTES);
    (first..bytes.len()).find(is_begun).unwrap_or(bytes.len())
}

fn message(body: &[u8]) -> Frame {
    match serde_json::from_slice(body) {
        Ok(Message::Request(request)) => Frame::Request(request),
        Ok(Message::Response(response)) => Frame::Response(response),
        Err(error) => match serde_json::from_slice::<Value>(body) {
            // Its sender waits for an answer.
            Ok(value) => {
                let id = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok()).unwrap_or_default();
                malformed(ErrorCode::InvalidRequest, "JSON, but no message of JSON-RPC 2.0", id)
            }
            Err(_) => malformed(ErrorCode::ParseError, &format!("no JSON: {error}"), Id::Null),
        },
    }
}

fn malformed(code: ErrorCode, why: &str, id: Id) -> Frame {
    tracing::error!(why, "a message cannot be read");
    Frame::Malformed(Response::from_error(
        id,
        Error { code, message: format!("a message cannot be read: {why}").into(), data: None },
    ))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn framed(body: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    }

    fn hover(id: u32) -> String {
        framed(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"hover\"}}"))
    }

    /// What is read of the bytes, however they arrive.
    fn check(bytes: impl AsRef<[u8]>, expected: &Expect) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let read = |step: usize| {
            let mut told = String::new();
            runtime.block_on(async {
                let mut frames = Frames::new(slow_reader(bytes.as_ref(), step));
                loop {
                    let (line, is_last) = match frames.next().await.expect("reading memory") {
                        Frame::Request(request) => (format!("{} {:?}", request.method(), request.id()), false),
                        Frame::Response(response) => (format!("answer {}", response.id()), false),
                        Frame::Malformed(response) => {
                            let error = response.error().expect("an error");
                            (format!("{} to {}: {}", error.code.code(), response.id(), error.message), false)
                        }
                        Frame::End => ("end".to_owned(), true),
                        Frame::Torn(why) => (format!("torn: {why}"), true),
                    };
                    told += &line;
                    told.push('\n');
                    if is_last {
                        break;
                    }
                }
            });
            told
        };
        let whole = read(usize::MAX);
        expected.assert_eq(&whole);
        for step in [1, 7] {
            assert_eq!(read(step), whole, "{step} bytes at a time");
        }
    }

    /// Hands out so many bytes at a time.
    fn slow_reader(bytes: &[u8], step: usize) -> impl AsyncRead + Unpin + use<'_> {
        struct Slow<'a>(&'a [u8], usize);
        impl AsyncRead for Slow<'_> {
            fn poll_read(
                mut self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
                out: &mut tokio::io::ReadBuf<'_>,
            ) -> std::task::Poll<io::Result<()>> {
                let count = self.1.min(self.0.len()).min(out.remaining());
                let (now, later) = self.0.split_at(count);
                out.put_slice(now);
                self.0 = later;
                std::task::Poll::Ready(Ok(()))
            }
        }
        Slow(bytes, step)
    }

    #[test]
    fn messages_are_read() {
        let typed = "content-length: 38\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n";
        let notification = "{\"jsonrpc\":\"2.0\",\"method\":\"é\"}       ";
        check(
            format!("{}{typed}{notification}{}", hover(1), framed("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":null}")),
            &expect![[r#"
                hover Some(Number(1))
                é None
                answer 7
                end
            "#]],
        );
    }

    #[test]
    fn what_is_no_json_is_told_and_skipped() {
        check(
            format!("{}{}{}", framed("{\"jsonrpc\":"), framed(""), hover(1)),
            &expect![[r#"
            -32700 to null: a message cannot be read: no JSON: EOF while parsing a value at line 1 column 11
            -32700 to null: a message cannot be read: no JSON: EOF while parsing a value at line 1 column 0
            hover Some(Number(1))
            end
        "#]],
        );
        check(
            [b"Content-Length: 4\r\n\r\n\"\xff\xfe\"", hover(1).as_bytes()].concat(),
            &expect![[r#"
            -32700 to null: a message cannot be read: no JSON: invalid unicode code point at line 1 column 2
            hover Some(Number(1))
            end
        "#]],
        );
        check(
            format!("{}{}{}", framed("[]"), framed("{\"id\":\"a\",\"method\":3}"), hover(1)),
            &expect![[r#"
            -32600 to null: a message cannot be read: JSON, but no message of JSON-RPC 2.0
            -32600 to "a": a message cannot be read: JSON, but no message of JSON-RPC 2.0
            hover Some(Number(1))
            end
        "#]],
        );
    }

    #[test]
    fn a_wrong_length_costs_its_message_alone() {
        let announced = |length: &str| hover(1).replace("Content-Length: 41", &format!("Content-Length: {length}"));
        let then = |length: &str| format!("{}{}{}", announced(length), hover(2), hover(3));
        check(
            then("20"),
            &expect![[r#"
            -32700 to null: a message cannot be read: no JSON: EOF while parsing a string at line 1 column 20
            -32700 to null: a message cannot be read: a message begins with `Content-Length: ` and the number of its bytes
            hover Some(Number(2))
            hover Some(Number(3))
            end
        "#]],
        );
        check(
            then("50"),
            &expect![[r#"
            -32700 to null: a message cannot be read: no JSON: trailing characters at line 1 column 42
            hover Some(Number(2))
            hover Some(Number(3))
            end
        "#]],
        );
        check(
            then("60"),
            &expect![[r#"
            -32700 to null: a message cannot be read: no JSON: trailing characters at line 1 column 42
            hover Some(Number(2))
            hover Some(Number(3))
            end
        "#]],
        );
        check(
            then("70"),
            &expect![[r#"
            -32700 to null: a message cannot be read: the next message begins after 41 of the 70 bytes that `Content-Length` announces
            hover Some(Number(2))
            hover Some(Number(3))
            end
        "#]],
        );
        check(
            then("99999999999"),
            &expect![[r#"
            -32700 to null: a message cannot be read: a message of 99999999999 bytes; at most 268435456 are read
            hover Some(Number(2))
            hover Some(Number(3))
            end
        "#]],
        );
        check(
            then("99999999999999999999999"),
            &expect![[r#"
            -32700 to null: a message cannot be read: `Content-Length: 99999999999999999999999` is no number of bytes
            hover Some(Number(2))
            hover Some(Number(3))
            end
        "#]],
        );
        check(
            then("-1"),
            &expect![[r#"
            -32700 to null: a message cannot be read: `Content-Length: -1` is no number of bytes
            hover Some(Number(2))
            hover Some(Number(3))
            end
        "#]],
        );
    }

    #[test]
    fn a_header_that_is_none_is_told_and_skipped() {
        check(
            format!("{{\"jsonrpc\":\"2.0\"}}\n{}", hover(1)),
            &expect![[r#"
            -32700 to null: a message cannot be read: a message begins with `Content-Length: ` and the number of its bytes
            hover Some(Number(1))
            end
        "#]],
        );
        check(
            format!("Content-Type: text\r\n\r\n{}", hover(1)),
            &expect![[r#"
            -32700 to null: a message cannot be read: the header says no `Content-Length`
            hover Some(Number(1))
            end
        "#]],
        );
        check(
            format!("hello there\r\n\r\n{}", hover(1)),
            &expect![[r#"
            -32700 to null: a message cannot be read: `hello there` is no line of a header
            hover Some(Number(1))
            end
        "#]],
        );
        check(
            format!("{}{}", "x".repeat(3 * MAX_HEADER_BYTES), hover(1)),
            &expect![[r#"
            -32700 to null: a message cannot be read: no header ends within 4096 bytes
            hover Some(Number(1))
            end
        "#]],
        );
    }

    #[test]
    fn input_that_ends_too_soon_is_told() {
        check(
            "",
            &expect![[r#"
            end
        "#]],
        );
        check(
            "Content-Length: 4",
            &expect![[r#"
            torn: the input ends in the middle of a header
        "#]],
        );
        check(
            &hover(1)[..30],
            &expect![[r#"
            torn: the input ends after 8 of the 41 bytes that `Content-Length` announces
        "#]],
        );
        check(
            "{}",
            &expect![[r#"
            -32700 to null: a message cannot be read: a message begins with `Content-Length: ` and the number of its bytes
            torn: the input ends without another message after one that cannot be read
        "#]],
        );
    }
}
