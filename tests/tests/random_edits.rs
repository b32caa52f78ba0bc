//! Random typing in six open files, undo and redo, several files changed at once, files closed and opened again, with requests and
//! cancellations in between: after each pause what was pushed last about every file is what a fresh server says of the same texts, every
//! request is answered, and memory stays flat.
//!
//! `TRITIUM_RANDOM_EDITS=50000` for the long run, `TRITIUM_SEED=N` for another one; the failing texts are printed with their seed.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tritium_tests::{client::Client, limits::resident_kb, repository};

/// Edits between two looks at the whole state.
const SETTLE: usize = 100;

/// How long pushes and returned memory may take before a test fails: only what never comes takes so long.
const LIMIT: Duration = Duration::from_secs(60);

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

/// What people and tools put into kernels and host code, whole and broken.
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
    "WIDTH",
    "\nWIDTH = tl.constexpr(64)\n",
    "\nWIDTH = WIDTH * 2\n",
    "from sizes import WIDTH\n",
    "[(4,)]",
    "num_warps=8",
];

const REQUESTS: &[&str] = &[
    "textDocument/hover",
    "textDocument/completion",
    "textDocument/signatureHelp",
    "textDocument/definition",
    "textDocument/typeDefinition",
    "textDocument/references",
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

/// What the others import.
const SIZES: &str = r#"import triton
import triton.language as tl

WIDTH = tl.constexpr(128)
ROWS = 4


@triton.jit
def scaled(values, by):
    return values * by + WIDTH
"#;

/// Kernels that are made of what another file has.
const USES: &str = r#"import triton
import triton.language as tl
from sizes import ROWS, WIDTH, scaled


@triton.jit
def double(out, values, n, BLOCK: tl.constexpr = 256):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, scaled(tl.load(values + offsets, mask=mask, other=0.0), 2.0), mask=mask)


@triton.jit
def widths(out):
    offsets = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    tl.store(out + offsets, offsets.to(tl.float32))
"#;

/// A kernel whose blocks a tuner gives.
const TUNED: &str = r#"import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 32, "BLOCK_N": 64}, num_warps=4),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 64}, num_warps=8, num_stages=3),
    ],
    key=["n"],
)
@triton.jit
def transpose(out, values, m, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tile = tl.load(values + rows[:, None] * n + columns[None, :], mask=mask)
    tl.store(out + columns[:, None] * m + rows[None, :], tl.trans(tile), mask=tl.trans(mask))


def transposed(values):
    m, n = values.shape
    out = torch.empty((n, m), device=values.device, dtype=values.dtype)
    grid = lambda meta: (triton.cdiv(m, meta["BLOCK_M"]), triton.cdiv(n, meta["BLOCK_N"]))
    transpose[grid](out, values, m, n)
    return out
"#;

/// Host code that launches what the others define.
const HOST: &str = r#"import torch
import triton
from sizes import ROWS
from uses import double, widths

SHAPES = [(ROWS, 512), (8, 1024)]


def run(rows, columns, block=512):
    values = torch.ones((rows, columns), device="cuda")
    out = torch.empty_like(values)
    n = values.numel()
    double[(triton.cdiv(n, block),)](out, values, n, BLOCK=block)
    widths[(ROWS,)](out)
    return out


if __name__ == "__main__":
    for rows, columns in SHAPES:
        run(rows, columns)
"#;

/// Python without Triton.
const PLAIN: &str = r#"import json
from dataclasses import dataclass


@dataclass
class Row:
    name: str
    size: int = 0


def rows(text):
    return [Row(**entry) for entry in json.loads(text) if entry.get("size", 0) > 1]
"#;

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

/// What a server answers about a text at fixed places. Figures that arrive in their own time are left out.
fn state(client: &mut Client, uri: &str, text: &str) -> Vec<Value> {
    let mut out = Vec::new();
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

fn pulled(client: &mut Client, uri: &str) -> Value {
    client.request("textDocument/diagnostic", json!({ "textDocument": { "uri": uri } }))["items"].clone()
}

fn resident_megabytes(client: &Client) -> Option<f64> {
    Some(resident_kb(client.process())? as f64 / 1024.0)
}

/// Waits until a server that rests holds no more than this; the last figure.
fn at_most(client: &Client, megabytes: f64) -> Option<f64> {
    let deadline = Instant::now() + LIMIT;
    loop {
        let now = resident_megabytes(client)?;
        if now <= megabytes || Instant::now() > deadline {
            return Some(now);
        }
        thread::sleep(Duration::from_millis(100));
    }
}

fn start(folder: &Path) -> Client {
    let root = format!("file://{}", folder.display());
    let parameters = json!({
        "capabilities": {
            "general": { "positionEncodings": ["utf-16"] },
            "textDocument": { "publishDiagnostics": { "versionSupport": true } },
        },
        "rootUri": root,
        "workspaceFolders": [{ "uri": root, "name": "random" }],
        "initializationOptions": { "python": "none" },
    });
    // Without a compiler there are no figures that arrive in their own time.
    Client::start_as(&[("TRITIUM_BIN", "/nonexistent"), ("TRITIUM_CACHE", "off")], parameters)
}

/// One file, as the person's editor has it.
struct Editor {
    path: PathBuf,
    uri: String,
    original: String,
    text: String,
    version: i32,
    is_open: bool,
    /// Texts to go back to, and forward to.
    undo: Vec<String>,
    redo: Vec<String>,
}

impl Editor {
    /// A file of a folder, on the disk too.
    fn new(folder: &Path, name: &str, text: &str) -> Editor {
        let path = folder.join(name);
        fs::write(&path, text).expect("the folder is ours");
        let uri = format!("file://{}", path.display());
        let (original, text) = (text.to_owned(), text.to_owned());
        Editor { path, uri, original, text, version: 0, is_open: false, undo: Vec::new(), redo: Vec::new() }
    }

    fn open(&mut self, client: &mut Client) {
        self.version += 1;
        self.is_open = true;
        let document = json!({ "uri": self.uri, "languageId": "python", "version": self.version, "text": self.text });
        client.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    fn close(&mut self, client: &mut Client) {
        self.is_open = false;
        client.notify("textDocument/didClose", json!({ "textDocument": { "uri": self.uri } }));
    }

    fn send(&mut self, client: &mut Client, changes: &[Value]) {
        self.version += 1;
        let document = json!({ "uri": self.uri, "version": self.version });
        client.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
    }

    /// Back to what the file was.
    fn reset(&mut self, client: &mut Client) {
        let change = difference(&self.text, &self.original);
        self.text.clone_from(&self.original);
        self.undo.clear();
        self.redo.clear();
        self.send(client, &[change]);
    }

    /// One step of the person.
    fn step(&mut self, client: &mut Client, random: &mut Random) {
        if !self.is_open {
            self.open(client);
        } else if random.one_in(150) {
            self.close(client);
        } else {
            let changes = self.changes(random);
            self.send(client, &changes);
        }
    }

    /// The changes of one step, applied to the text as they are told.
    fn changes(&mut self, random: &mut Random) -> Vec<Value> {
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

/// What was pushed last about each file: the version and the diagnostics.
#[derive(Default)]
struct Pushed(BTreeMap<String, (i64, Value)>);

impl Pushed {
    /// A push about an older text never follows one about a newer.
    fn keep(&mut self, push: &Value, what: &str) {
        let uri = push["uri"].as_str().expect("a file").to_owned();
        // What says that a file was closed has no version.
        let Some(version) = push["version"].as_i64() else { return };
        let newest = self.0.get(&uri).map_or(0, |(version, _)| *version);
        assert!(version >= newest, "{what}: stale diagnostics of version {version} of {uri} after {newest}");
        self.0.insert(uri, (version, push["diagnostics"].clone()));
    }

    /// Waits until what was pushed last about every file is what a fresh server says.
    fn settle(&mut self, client: &mut Client, editors: &[Editor], expected: &BTreeMap<String, (i64, Value)>, what: &str) {
        let deadline = Instant::now() + LIMIT;
        loop {
            for push in client.take_notifications("textDocument/publishDiagnostics") {
                self.keep(&push, what);
            }
            let Some(wrong) = editors.iter().find(|editor| self.0.get(&editor.uri) != expected.get(&editor.uri)) else { return };
            if Instant::now() > deadline {
                let texts: Vec<String> = editors.iter().map(|e| format!("---- {}\n{}", e.uri, e.text)).collect();
                let (ours, theirs) = (self.0.get(&wrong.uri), expected.get(&wrong.uri));
                panic!("{what}: wrong for ever is {}: {ours:?} instead of {theirs:?}\n{}", wrong.uri, texts.join("\n"));
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn the_state_is_that_of_a_fresh_server() {
    let edits = number("TRITIUM_RANDOM_EDITS").unwrap_or(800) as usize;
    let seed = number("TRITIUM_SEED").unwrap_or(0x9E37_79B9_7F4A_7C15);
    let mut random = Random(seed | 1);
    let folder = TempDir::new().expect("a temporary folder");
    let softmax = fs::read_to_string(repository().join("examples/softmax.py")).expect("the example is there");
    let files = [
        ("blocks.py", softmax.as_str()),
        ("sizes.py", SIZES),
        ("uses.py", USES),
        ("tuned.py", TUNED),
        ("host.py", HOST),
        ("plain.py", PLAIN),
    ];
    let mut editors: Vec<Editor> = files.iter().map(|(name, text)| Editor::new(folder.path(), name, text)).collect();
    let mut client = start(folder.path());
    editors.iter_mut().for_each(|editor| editor.open(&mut client));
    let mut pushed = Pushed::default();
    let mut waiting: Vec<i64> = Vec::new();
    let mut memory: Vec<(usize, f64)> = Vec::new();
    let mut edit = 0;
    while edit < edits {
        let pause = (edit / SETTLE + 1) * SETTLE;
        while edit < pause.min(edits) {
            // A tool that changes several files at once does not wait between them.
            let burst = if random.one_in(5) { 2 + random.below(5) } else { 1 };
            let first = random.below(editors.len());
            for at in 0..burst {
                let at = (first + at) % editors.len();
                editors[at].step(&mut client, &mut random);
                edit += 1;
            }
            for _ in 0..random.below(3) {
                let (method, editor) = (*random.pick(REQUESTS), &editors[random.below(files.len())]);
                let params = params(method, &editor.uri, &editor.text, &mut random);
                let id = client.ask(method, params);
                if random.one_in(2) {
                    client.cancel(id);
                }
                waiting.push(id);
            }
        }
        let what = format!("seed {seed}, edit {edit}");
        for id in waiting.drain(..) {
            let answer = client.answer(id);
            if let Some(error) = answer.get("error") {
                // Cancelled, changed meanwhile, or no name to rename: all are answers.
                let code = error["code"].as_i64().expect("a code");
                assert!([-32800, -32801, -32602].contains(&code), "{what}: {error}");
            }
        }
        editors.iter_mut().filter(|editor| !editor.is_open).for_each(|editor| editor.open(&mut client));
        let mut fresh = start(folder.path());
        for editor in &editors {
            fresh.open(&editor.path, &editor.text);
        }
        let mut expected = BTreeMap::new();
        for editor in &editors {
            let theirs = pulled(&mut fresh, &editor.uri);
            assert_eq!(pulled(&mut client, &editor.uri), theirs, "{what}: {}\n{}", editor.uri, editor.text);
            expected.insert(editor.uri.clone(), (i64::from(editor.version), theirs));
        }
        pushed.settle(&mut client, &editors, &expected, &what);
        let editor = random.pick(&editors);
        let (ours, theirs) = (state(&mut client, &editor.uri, &editor.text), state(&mut fresh, &editor.uri, &editor.text));
        for (i, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            assert_eq!(ours, theirs, "{what}, answer {i} about {}:\n{}", editor.uri, editor.text);
        }
        fresh.stop();
        memory.extend(resident_megabytes(&client).map(|megabytes| (edit, megabytes)));
        // Texts that drifted too far from kernels test little.
        for editor in &mut editors {
            if editor.text.len() > 3 * editor.original.len() || random.one_in(4) {
                editor.reset(&mut client);
            }
        }
    }
    // Flat: what the first thousand edits needed (in a short run, the first half) is about what all of them need.
    let early = memory.iter().find(|(edit, _)| *edit >= edits.div_ceil(2).min(1000)).map(|(_, megabytes)| *megabytes);
    if let Some(early) = early {
        let late = at_most(&client, 1.5 * early).expect("it was there before");
        eprintln!("{edits} edits: {early:.0} MB, at the end {late:.0} MB; {memory:.0?}");
        assert!(late <= 1.5 * early, "seed {seed}: memory grew from {early:.0} to {late:.0} MB: {memory:.0?}");
    }
    client.stop();
}
