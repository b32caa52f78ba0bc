//! What somebody types is let go of again: every number in a launch block or a compile-time default makes other specialisations, and a
//! server that has seen thousands of them holds what it held after the first few hundred.
//!
//! `TRITIUM_KEYSTROKES=50000` for the long run.
#![cfg(target_os = "linux")]

use std::fmt::Write as _;

use serde_json::{Value, json};
use tritium_tests::{client::Client, client::position, limits::resident_kb};

/// Both places that are typed in, and two kernels beside them that never change.
const KERNELS: &str = r#"# /// tritium
# [launch.typed]
# kernel = "scale"
# grid = ["cdiv(N, 128)"]
# sizes = { N = 1 }
# args = { X = "f32[N]", n = "N" }
# meta = { BLOCK = 128 }
# ///
import triton
import triton.language as tl


@triton.jit
def scaled(x, by):
    return x * by


@triton.jit
def scale(X, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n)
    tl.store(X + at, scaled(x, 2.0), mask=at < n)


@triton.jit
def shift(X, n, BY: tl.constexpr = 1):
    at = tl.program_id(0) * 256 + tl.arange(0, 256)
    x = tl.load(X + at, mask=at < n)
    tl.store(X + at, scaled(x, BY), mask=at < n)


@triton.jit
def copy(X, Y, n, BLOCK: tl.constexpr = 256):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + at, tl.load(X + at, mask=at < n), mask=at < n)
"#;

/// Where numbers are typed, each once.
const PLACES: [&str; 2] = ["sizes = { N = ", "BY: tl.constexpr = "];

/// Keystrokes in one place before the other is typed in.
const IN_A_ROW: usize = 50;

/// After so many the server is warm.
const WARM: usize = 500;

struct Session {
    client: Client,
    _folder: tempfile::TempDir,
    uri: String,
    text: String,
    version: i32,
}

impl Session {
    fn start() -> Session {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let settings = json!({ "python": "none" });
        // Without a compiler there are no figures that arrive in their own time.
        let mut client = Client::start(&[("TRITIUM_BIN", "/nonexistent"), ("TRITIUM_CACHE", "off")], &settings);
        let uri = client.open(&folder.path().join("typed.py"), KERNELS);
        Session { client, _folder: folder, uri, text: KERNELS.to_owned(), version: 1 }
    }

    /// Puts a number where another stands.
    fn type_number(&mut self, place: &str, number: usize) {
        let start = self.text.find(place).expect("the place is there") + place.len();
        let digits = self.text[start..].bytes().take_while(u8::is_ascii_digit).count();
        let at = |offset: usize| {
            let line = self.text[..offset].matches('\n').count();
            json!({ "line": line, "character": offset - self.text[..offset].rfind('\n').map_or(0, |at| at + 1) })
        };
        let range = json!({ "start": at(start), "end": at(start + digits) });
        self.version += 1;
        let document = json!({ "uri": self.uri, "version": self.version });
        let change = json!({ "range": range, "text": number.to_string() });
        self.client.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": [change] }));
        self.text.replace_range(start..start + digits, &number.to_string());
    }

    /// What an editor asks after a keystroke; the hover follows a mouse that rests now and then.
    fn look(&mut self, keystroke: usize) -> Value {
        let document = json!({ "uri": self.uri });
        if keystroke.is_multiple_of(5) {
            let whole = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 999, "character": 0 } });
            self.client.request("textDocument/inlayHint", json!({ "textDocument": document, "range": whole }));
            for needle in ["tl.load", "scaled(x, BY)"] {
                let place = json!({ "textDocument": document, "position": position(&self.text, needle) });
                self.client.request("textDocument/hover", place);
            }
        }
        self.client.request("textDocument/diagnostic", json!({ "textDocument": document }))["items"].clone()
    }

    fn resident_kb(&self) -> u64 {
        resident_kb(self.client.process()).expect("the server is there")
    }
}

#[test]
fn typed_numbers_leave_nothing_behind() {
    let keystrokes = std::env::var("TRITIUM_KEYSTROKES").ok().and_then(|n| n.parse().ok()).unwrap_or(5000);
    let mut session = Session::start();
    let clean = session.look(0);
    let (mut warm, mut most, mut series) = (0, 0, String::new());
    for keystroke in 1..=keystrokes {
        // Each number is new to the server.
        session.type_number(PLACES[keystroke / IN_A_ROW % PLACES.len()], 1000 + keystroke);
        let found = session.look(keystroke);
        assert_eq!(found, clean, "after {keystroke} keystrokes:\n{}", session.text);
        if keystroke.is_multiple_of(IN_A_ROW) {
            let now = session.resident_kb();
            if keystroke == WARM {
                warm = now;
            }
            if keystroke >= WARM {
                most = most.max(now);
            }
            let _ = write!(series, "{now} ");
        }
    }
    let end = session.resident_kb();
    eprintln!("{keystrokes} keystrokes: {warm} kB after {WARM}, at most {most} kB, at the end {end} kB");
    assert!(most * 10 <= warm * 11, "memory grew from {warm} to {most} kB: {series}");
    assert!(end * 10 >= warm * 9, "what {warm} kB held after {WARM} keystrokes is {end} kB at the end: {series}");
    session.client.stop();
}
