//! Random typing, undo and redo, with requests and cancellations in between: the server's state is that of a fresh server on the final
//! text, no diagnostics are lost or stale, every request is answered, memory stays flat.
//!
//! `TRITIUM_RANDOM_EDITS=10000` for the long run, `TRITIUM_SEED=N` for another one; the failing text is printed with its seed.

use std::fs;

use serde_json::{Value, json};
use tritium_tests::{client::Client, repository};

/// Edits between two looks at the whole state.
const SETTLE: usize = 100;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// What people and tools put into kernels, whole and broken.
const PIECES: &[&str] = &[
    "x",
    "1",
    " ",
    "\n",
    "(",
    ")",
    "[",
    "]",
    ":",
    "=",
    ",",
    "\"",
    "'",
    "#",
    "\t",
    "é",
    "😀",
    "\r\n",
    "    ",
    "tl.",
    "\"\"\"",
    "@triton.jit\n",
    "    offs = tl.arange(0, BLOCK)\n",
    "    for i in range(4):\n",
    "if True:\n",
    "    v = tl.load(x + offs, mask=offs < n, other=0.0)\n",
    "def helper(a, BLOCK: tl.constexpr):\n    return a + BLOCK\n",
    ".to(tl.float16)",
    "[:, None]",
    "mask=",
    "tl.sum(v, axis=0)",
    "\\\n",
    "lambda",
];

const REQUESTS: &[&str] = &[
    "textDocument/hover",
    "textDocument/completion",
    "textDocument/signatureHelp",
    "textDocument/definition",
    "textDocument/typeDefinition",
    "textDocument/documentHighlight",
    "textDocument/prepareRename",
    "textDocument/documentSymbol",
    "textDocument/semanticTokens/full",
    "textDocument/foldingRange",
    "textDocument/codeLens",
    "textDocument/inlayHint",
    "textDocument/codeAction",
    "textDocument/selectionRange",
    "textDocument/diagnostic",
];

/// The position of an offset, worked out without the server's help.
fn position(text: &str, offset: usize) -> Value {
    let before = &text[..offset];
    let mut line = 0;
    let mut start = 0;
    let bytes = before.as_bytes();
    for (i, &byte) in bytes.iter().enumerate() {
        let ends = byte == b'\n' || byte == b'\r' && bytes.get(i + 1).or(text.as_bytes().get(i + 1)) != Some(&b'\n');
        if ends {
            line += 1;
            start = i + 1;
        }
    }
    json!({ "line": line, "character": before[start..].encode_utf16().count() })
}

fn boundary(text: &str, mut offset: usize) -> usize {
    offset = offset.min(text.len());
    // Between `\r` and `\n` there is no position.
    while !text.is_char_boundary(offset) || text[..offset].ends_with('\r') && text[offset..].starts_with('\n') {
        offset -= 1;
    }
    offset
}

fn params(method: &str, uri: &str, text: &str, random: &mut Random) -> Value {
    let at = position(text, boundary(text, random.below(text.len() + 1)));
    let range = json!({ "start": { "line": 0, "character": 0 }, "end": at });
    json!({
        "textDocument": { "uri": uri }, "position": at, "positions": [at], "range": range,
        "context": { "diagnostics": [], "includeDeclaration": true, "triggerKind": 1, "isRetrigger": false }, "method": method,
    })
}

/// What a server says of a text: its diagnostics and its answers at fixed places. Figures that arrive in their own time are left out.
fn state(client: &mut Client, uri: &str, text: &str) -> Vec<Value> {
    let pulled = client.request("textDocument/diagnostic", json!({ "textDocument": { "uri": uri } }));
    let mut out = vec![pulled["items"].clone()];
    let whole = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 100_000, "character": 0 } });
    for method in ["textDocument/documentSymbol", "textDocument/foldingRange", "textDocument/codeLens", "textDocument/inlayHint"]
    {
        out.push(client.request(method, json!({ "textDocument": { "uri": uri }, "range": whole })));
    }
    out.push(client.request("textDocument/semanticTokens/full", json!({ "textDocument": { "uri": uri } }))["data"].clone());
    for step in 0..24 {
        let at = position(text, boundary(text, text.len() * step / 24));
        let place = json!({ "textDocument": { "uri": uri }, "position": at });
        let hover = client.request("textDocument/hover", place.clone());
        let is_figure = hover["contents"]["value"].as_str().is_some_and(|t| t.contains("registers"));
        out.push(if is_figure { Value::Null } else { hover });
        out.push(client.request("textDocument/documentHighlight", place.clone()));
        out.push(client.request("textDocument/completion", place));
    }
    out
}

fn resident_megabytes(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|l| l.starts_with("VmRSS:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
}

fn start() -> Client {
    // Without a compiler there are no figures that arrive in their own time.
    Client::start(&[("TRITIUM_BIN", "/nonexistent"), ("TRITIUM_CACHE", "off")], &json!({ "python": "none" }))
}

struct Editor {
    text: String,
    version: i32,
    /// Texts to go back to, and forward to.
    undo: Vec<String>,
    redo: Vec<String>,
}

impl Editor {
    /// The changes of one step, applied to the text as they are told.
    fn step(&mut self, random: &mut Random) -> Vec<Value> {
        let target = if random.one_in(6) && !self.undo.is_empty() {
            let target = self.undo.pop().expect("it is not empty");
            self.redo.push(self.text.clone());
            Some(target)
        } else if random.one_in(8) && !self.redo.is_empty() {
            let target = self.redo.pop().expect("it is not empty");
            self.undo.push(self.text.clone());
            Some(target)
        } else {
            None
        };
        self.version += 1;
        if let Some(target) = target {
            let change = difference(&self.text, &target);
            self.text = target;
            return vec![change];
        }
        self.undo.push(self.text.clone());
        // Nobody goes back for ever.
        if self.undo.len() > 40 {
            self.undo.remove(0);
        }
        self.redo.clear();
        if random.one_in(200) {
            return vec![json!({ "text": self.text })];
        }
        let mut changes = Vec::new();
        for _ in 0..1 + usize::from(random.one_in(5)) {
            let start = boundary(&self.text, random.below(self.text.len() + 1));
            let length = if random.one_in(3) { random.below(60) } else { random.below(3) };
            let end = boundary(&self.text, start + length).max(start);
            let new_text = if random.one_in(3) { String::new() } else { (*random.pick(PIECES)).to_owned() };
            let range = json!({ "start": position(&self.text, start), "end": position(&self.text, end) });
            changes.push(json!({ "range": range, "text": new_text }));
            self.text.replace_range(start..end, &new_text);
        }
        changes
    }
}

/// One change that turns a text into another.
fn difference(old: &str, new: &str) -> Value {
    let mut start = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    start = boundary(old, start).min(boundary(new, start));
    let same = old[start..].bytes().rev().zip(new[start..].bytes().rev()).take_while(|(a, b)| a == b).count();
    let mut tail = same;
    let splits = |text: &str, tail: usize| boundary(text, text.len() - tail) != text.len() - tail;
    while tail > 0 && (splits(old, tail) || splits(new, tail)) {
        tail -= 1;
    }
    let range = json!({ "start": position(old, start), "end": position(old, old.len() - tail) });
    json!({ "range": range, "text": new[start..new.len() - tail] })
}

#[test]
fn the_state_is_that_of_a_fresh_server() {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let edits = number("TRITIUM_RANDOM_EDITS").unwrap_or(600) as usize;
    let seed = number("TRITIUM_SEED").unwrap_or(0x9E37_79B9_7F4A_7C15);
    let mut random = Random(seed | 1);
    let path = repository().join("examples/softmax.py");
    let original = fs::read_to_string(&path).expect("the example is there");
    let mut editor = Editor { text: original.clone(), version: 1, undo: Vec::new(), redo: Vec::new() };
    let mut client = start();
    let uri = client.open(&path, &editor.text);
    client.diagnostics(&uri, 1);
    let mut waiting: Vec<i64> = Vec::new();
    let mut last_pushed = 0;
    let mut memory = Vec::new();
    for edit in 1..=edits {
        let changes = editor.step(&mut random);
        let document = json!({ "uri": uri, "version": editor.version });
        client.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
        for _ in 0..random.below(3) {
            let method = *random.pick(REQUESTS);
            let params = params(method, &uri, &editor.text, &mut random);
            let id = client.ask(method, params);
            if random.one_in(2) {
                client.cancel(id);
            }
            waiting.push(id);
        }
        if edit % SETTLE != 0 && edit != edits {
            continue;
        }
        for id in waiting.drain(..) {
            let answer = client.answer(id);
            if let Some(error) = answer.get("error") {
                // Cancelled, changed meanwhile, or no name to rename: all are answers.
                let code = error["code"].as_i64().expect("a code");
                assert!([-32800, -32801, -32602].contains(&code), "seed {seed}: {error}");
            }
        }
        let pushed = client.diagnostics(&uri, editor.version);
        for earlier in client.take_notifications("textDocument/publishDiagnostics") {
            let version = earlier["version"].as_i64().expect("a version");
            assert!(version >= last_pushed && version < i64::from(editor.version), "seed {seed}: stale diagnostics of {version}");
            last_pushed = version;
        }
        last_pushed = i64::from(editor.version);
        let mut fresh = start();
        fresh.open(&path, &editor.text);
        let expected = fresh.diagnostics(&uri, 1);
        assert_eq!(pushed, expected, "seed {seed}, edit {edit}:\n{}", editor.text);
        let (ours, theirs) = (state(&mut client, &uri, &editor.text), state(&mut fresh, &uri, &editor.text));
        for (i, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            assert_eq!(ours, theirs, "seed {seed}, edit {edit}, answer {i}:\n{}", editor.text);
        }
        fresh.stop();
        memory.extend(resident_megabytes(client.process()));
        // A text that drifted too far from a kernel tests little.
        if editor.text.len() > 3 * original.len() || random.one_in(4) {
            let change = difference(&editor.text, &original);
            editor.text.clone_from(&original);
            editor.version += 1;
            editor.undo.clear();
            editor.redo.clear();
            let document = json!({ "uri": uri, "version": editor.version });
            client.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": [change] }));
        }
    }
    // Flat: what the first fifth of the edits needed is about what all of them need.
    if let (Some(early), Some(late)) = (memory.get(memory.len() / 5), memory.last())
        && edits >= 2000
    {
        assert!(*late < 1.5 * early + 40.0, "seed {seed}: memory grew from {early:.0} to {late:.0} MB");
    }
    client.stop();
}
