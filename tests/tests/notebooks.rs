//! Notebooks as an editor sees them: every cell is a document of its own, and the names of one are known in the next.

use std::{collections::BTreeMap, fmt::Write as _};

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use tritium_tests::client::{Client, position};

const BOOK: &str = "file:///nowhere/book.ipynb";

fn uri_of(cell: &str) -> String {
    format!("vscode-notebook-cell:/nowhere/book.ipynb#{cell}")
}

/// What an editor holds of one cell.
#[derive(Clone)]
struct Cell {
    name: String,
    language: &'static str,
    version: i32,
    text: String,
}

impl Cell {
    fn entry(&self) -> Value {
        json!({ "kind": if self.language == "markdown" { 1 } else { 2 }, "document": uri_of(&self.name) })
    }

    fn document(&self) -> Value {
        json!({ "uri": uri_of(&self.name), "languageId": self.language, "version": self.version, "text": self.text })
    }

    fn identifier(&self) -> Value {
        json!({ "uri": uri_of(&self.name) })
    }

    /// A place as the protocol counts it, in bytes.
    fn offset(&self, position: &Value) -> usize {
        let number = |key: &str| position[key].as_u64().expect("a number") as usize;
        let lines: Vec<&str> = self.text.split('\n').collect();
        let line = lines.get(number("line")).unwrap_or_else(|| panic!("{} has no line {position}", self.name));
        let mut units = 0;
        let column = line.char_indices().find(|(_, c)| {
            units += c.len_utf16();
            units > number("character")
        });
        assert!(line.encode_utf16().count() >= number("character"), "{} has no place {position}", self.name);
        let before: usize = lines[..number("line")].iter().map(|line| line.len() + 1).sum();
        before + column.map_or(line.len(), |(at, _)| at)
    }

    fn slice(&self, range: &Value) -> &str {
        &self.text[self.offset(&range["start"])..self.offset(&range["end"])]
    }
}

/// Cells from a text: each begins with a line `§ name language`.
fn cells(text: &str) -> Vec<Cell> {
    let cell = |cell: &str| {
        let (head, text) = cell.split_once('\n').unwrap_or((cell, ""));
        let (name, language) = head.split_once(' ').unwrap_or((head, "python"));
        let language = match language {
            "markdown" => "markdown",
            "r" => "r",
            _ => "python",
        };
        Cell { name: name.to_owned(), language, version: 1, text: text.strip_suffix('\n').unwrap_or(text).to_owned() }
    };
    text.split("§ ").skip(1).map(cell).collect()
}

struct Editor {
    client: Client,
    cells: Vec<Cell>,
    version: i32,
    /// What was pushed last, by document.
    pushed: BTreeMap<String, Value>,
}

impl Editor {
    fn open(text: &str) -> Editor {
        let client = Client::start(&[("TRITIUM_CACHE", "off")], &json!({ "python": "none" }));
        let mut editor = Editor { client, cells: cells(text), version: 1, pushed: BTreeMap::new() };
        editor.open_again();
        editor
    }

    fn open_again(&mut self) {
        let entries: Vec<Value> = self.cells.iter().map(Cell::entry).collect();
        let documents: Vec<Value> = self.cells.iter().map(Cell::document).collect();
        let notebook = json!({ "uri": BOOK, "notebookType": "jupyter-notebook", "version": 1, "cells": entries });
        self.client.notify("notebookDocument/didOpen", json!({ "notebookDocument": notebook, "cellTextDocuments": documents }));
    }

    fn change(&mut self, cells: Value) {
        self.version += 1;
        let params = json!({ "notebookDocument": { "uri": BOOK, "version": self.version }, "change": { "cells": cells } });
        self.client.notify("notebookDocument/didChange", params);
    }

    fn cell(&self, name: &str) -> &Cell {
        self.cells.iter().find(|cell| cell.name == name).unwrap_or_else(|| panic!("no cell {name}"))
    }

    fn cell_of(&self, uri: &Value) -> &Cell {
        let uri = uri.as_str().expect("a URI");
        self.cells.iter().find(|cell| uri_of(&cell.name) == uri).unwrap_or_else(|| panic!("no cell {uri}"))
    }

    /// Types one text in the place of another, as an incremental change.
    fn replace(&mut self, name: &str, old: &str, new: &str) {
        let cell = self.cells.iter_mut().find(|cell| cell.name == name).expect("the cell is there");
        let end = cell.text.find(old).expect("the text is there") + old.len();
        let start = position(&cell.text, old);
        let lines: Vec<&str> = cell.text[..end].split('\n').collect();
        let end = json!({ "line": lines.len() - 1, "character": lines.last().expect("a line").encode_utf16().count() });
        cell.text = cell.text.replacen(old, new, 1);
        cell.version += 1;
        let document = json!({ "uri": uri_of(name), "version": cell.version });
        let change = json!({ "range": { "start": start, "end": end }, "text": new });
        self.change(json!({ "textContent": [{ "document": document, "changes": [change] }] }));
    }

    /// Where a text first stands in a cell.
    fn at(&self, name: &str, needle: &str) -> Value {
        let cell = self.cell(name);
        json!({ "textDocument": cell.identifier(), "position": position(&cell.text, needle) })
    }

    fn ask(&mut self, method: &str, name: &str, needle: &str, more: &Value) -> Value {
        let mut params = self.at(name, needle);
        params.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
        self.client.request(method, params)
    }

    fn ask_all(&mut self, method: &str, name: &str) -> Value {
        let start = json!({ "line": 0, "character": 0 });
        let range = json!({ "start": start, "end": { "line": 10_000, "character": 0 } });
        let context = json!({ "diagnostics": [] });
        let cell = self.cell(name).identifier();
        self.client.request(method, json!({ "textDocument": cell, "range": range, "context": context }))
    }

    /// `cell: what stands there` of each place.
    fn places(&self, locations: &Value) -> String {
        let locations = locations.as_array().cloned().unwrap_or_default();
        let line = |location: &Value| {
            let cell = self.cell_of(&location["uri"]);
            let line = location["range"]["start"]["line"].as_u64().expect("a line") + 1;
            format!("{}:{line} `{}`", cell.name, cell.slice(&location["range"]))
        };
        locations.iter().map(line).collect::<Vec<_>>().join(", ")
    }

    fn hover(&mut self, name: &str, needle: &str) -> String {
        let hover = self.ask("textDocument/hover", name, needle, &json!({}));
        if hover.is_null() {
            return "nothing".to_owned();
        }
        let of = self.cell(name).slice(&hover["range"]).to_owned();
        let text = hover["contents"]["value"].as_str().expect("markdown").to_owned();
        let said = text.lines().find(|line| !line.is_empty() && !line.starts_with("```")).unwrap_or_default();
        format!("`{of}` {said}")
    }

    /// What the newest diagnostics of all cells are, as pulled.
    fn found(&mut self) -> String {
        let mut out = String::new();
        for cell in self.cells.clone() {
            let report = self.client.request("textDocument/diagnostic", json!({ "textDocument": cell.identifier() }));
            out += &self.diagnostics(&cell, &report["items"]);
        }
        out
    }

    fn diagnostics(&self, cell: &Cell, all: &Value) -> String {
        let mut out = String::new();
        for d in all.as_array().expect("a list") {
            let _ = writeln!(out, "{}: {} `{}`", cell.name, d["code"].as_str().expect("a code"), cell.slice(&d["range"]));
            for related in d["relatedInformation"].as_array().into_iter().flatten() {
                let _ = writeln!(out, "    {}", self.places(&json!([related["location"]])));
            }
        }
        out
    }

    /// The same of what was pushed last of each cell, once all that is pulled now has been pushed.
    fn pushed(&mut self) -> String {
        let expected = self.found();
        loop {
            let mut out = String::new();
            for cell in &self.cells {
                let push = self.pushed.get(&uri_of(&cell.name)).filter(|push| push["version"] == json!(cell.version));
                out += &push.map(|push| self.diagnostics(cell, &push["diagnostics"])).unwrap_or_default();
            }
            if out == expected && !self.pushed.is_empty() {
                return out;
            }
            let push = self.client.notification("textDocument/publishDiagnostics", |_| true);
            self.pushed.insert(push["uri"].as_str().expect("a URI").to_owned(), push);
        }
    }

    /// The cells after an edit.
    fn edited(&self, edit: &Value) -> String {
        let mut cells = self.cells.clone();
        for (uri, edits) in edit["changes"].as_object().expect("changes") {
            let mut edits: Vec<Value> = edits.as_array().cloned().expect("edits");
            let cell = cells.iter_mut().find(|cell| uri_of(&cell.name) == *uri).unwrap_or_else(|| panic!("no cell {uri}"));
            let before = cell.clone();
            edits.sort_by_key(|edit| before.offset(&edit["range"]["start"]));
            for edit in edits.iter().rev() {
                let range = before.offset(&edit["range"]["start"])..before.offset(&edit["range"]["end"]);
                cell.text.replace_range(range, edit["newText"].as_str().expect("a text"));
            }
        }
        let mut out = String::new();
        for (new, old) in cells.iter().zip(&self.cells).filter(|(new, old)| new.text != old.text) {
            for line in new.text.lines().filter(|line| !old.text.lines().any(|old| old == *line)) {
                let _ = writeln!(out, "{}: {line}", new.name);
            }
        }
        out
    }

    fn action(&mut self, name: &str, needle: &str, title: &str) -> String {
        let at = self.at(name, needle)["position"].clone();
        let params = json!({ "textDocument": self.cell(name).identifier(), "range": { "start": at, "end": at },
            "context": { "diagnostics": [] } });
        let actions = self.client.request("textDocument/codeAction", params);
        let actions = actions.as_array().cloned().unwrap_or_default();
        let action = actions.iter().find(|action| action["title"].as_str().is_some_and(|t| t.starts_with(title)));
        self.edited(&action.unwrap_or_else(|| panic!("no `{title}` among {actions:?}"))["edit"])
    }
}

fn check(actual: impl AsRef<str>, expected: Expect) {
    expected.assert_eq(actual.as_ref());
}

const ROWS: &str = r#"§ title markdown
# Rows of *a matrix*
§ setup
%matplotlib inline
import torch
import triton
import triton.language as tl

LANES = tl.constexpr(64)
§ install
%%bash
pip install triton
§ helper
@triton.jit
def twice(x):
    return x * 2  # "é😀"
§ other r
plot(LANES)
§ kernel
@triton.jit
def double(out, rows, n):
    lane = tl.arange(0, LANES)
    row = twice(tl.load(rows + lane, mask=lane < n)) ; "😀"; more = twice(row)
    tl.store(out + lane, row + more, mask=lane)
§ launch
rows = torch.zeros(64, device="cuda")
%time double[(1,)](torch.empty_like(rows), rows, 64)
double[(1,)](torch.empty_like(rows), rows, 64)"#;

#[test]
fn what_is_found_is_told_in_its_cell() {
    let mut editor = Editor::open(ROWS);
    check(
        editor.pushed(),
        expect![[r#"
            kernel: DTY011 `lane`
        "#]],
    );
    // An edit of one cell speaks of that one alone; its places follow.
    editor.client.take_notifications("textDocument/publishDiagnostics");
    editor.replace("setup", "import torch\n", "import torch\n\n# 😀\n");
    editor.found();
    for push in editor.client.take_notifications("textDocument/publishDiagnostics") {
        assert_eq!((&push["uri"], &push["version"]), (&json!(uri_of("setup")), &json!(2)));
    }
    editor.replace("kernel", "mask=lane)", "mask=row)");
    check(
        editor.pushed(),
        expect![[r#"
            kernel: DTY011 `row`
        "#]],
    );
    let last = editor.client.take_notifications("textDocument/publishDiagnostics");
    assert_eq!(last, Vec::<Value>::new());
    // What an earlier cell binds decides what a later one means.
    editor.replace("setup", "constexpr(64)", "constexpr(48)");
    check(
        editor.pushed(),
        expect![[r#"
            kernel: SHP002 `LANES`
        "#]],
    );
    editor.client.stop();
}

#[test]
fn every_request_is_answered_in_its_cell() {
    let mut editor = Editor::open(ROWS);
    assert_eq!(
        editor.client.offered["capabilities"]["notebookDocumentSync"],
        json!({ "notebookSelector": [{ "notebook": "*", "cells": [{ "language": "python" }] }] })
    );
    let mut out = String::new();
    for (cell, needle) in [
        ("kernel", "lane = "),
        ("kernel", "more = "),
        ("kernel", "LANES"),
        ("kernel", "twice"),
        ("helper", "x * 2"),
        ("setup", "%matplotlib"),
        ("install", "pip"),
        ("launch", "time"),
        ("launch", "double[(1,)](torch.empty_like(rows), rows, 64)"),
    ] {
        let _ = writeln!(out, "{cell} {needle}: {}", editor.hover(cell, needle));
    }
    check(
        out,
        expect![[r#"
            kernel lane = : `lane` lane: i32[64]
            kernel more = : `more` more: f32[64]
            kernel LANES: `LANES` LANES: constexpr[64]
            kernel twice: `twice` twice: constexpr[<function>]
            helper x * 2: `x` x: f32[64]
            setup %matplotlib: nothing
            install pip: nothing
            launch time: nothing
            launch double[(1,)](torch.empty_like(rows), rows, 64): nothing
        "#]],
    );

    let definition = editor.ask("textDocument/definition", "kernel", "twice", &json!({}));
    check(editor.places(&definition), expect!["helper:2 `twice`"]);
    let context = json!({ "context": { "includeDeclaration": true } });
    let references = editor.ask("textDocument/references", "setup", "LANES", &context);
    check(editor.places(&references), expect!["setup:6 `LANES`, kernel:3 `LANES`"]);
    let references = editor.ask("textDocument/references", "launch", "rows = ", &context);
    check(
        editor.places(&references),
        expect!["launch:1 `rows`, launch:2 `rows`, launch:2 `rows`, launch:3 `rows`, launch:3 `rows`"],
    );

    let highlights = editor.ask("textDocument/documentHighlight", "kernel", "LANES", &json!({}));
    let kernel = editor.cell("kernel").clone();
    let ranges = |found: &Value, key: &str| -> String {
        let all = found.as_array().cloned().unwrap_or_default();
        all.iter().map(|one| format!("{:?}", kernel.slice(&one[key]))).collect::<Vec<_>>().join(" ")
    };
    check(ranges(&highlights, "range"), expect![[r#""LANES""#]]);

    let renamed = editor.ask("textDocument/rename", "kernel", "twice", &json!({ "newName": "doubled" }));
    check(
        editor.edited(&renamed),
        expect![[r#"
            helper: def doubled(x):
            kernel:     row = doubled(tl.load(rows + lane, mask=lane < n)) ; "😀"; more = doubled(row)
        "#]],
    );
    let prepared = editor.ask("textDocument/prepareRename", "kernel", "more", &json!({}));
    assert_eq!(kernel.slice(&prepared["range"]), "more");
    check(
        editor.action("kernel", "lane)", "Compare"),
        expect![[r#"
            kernel:     tl.store(out + lane, row + more, mask=lane != 0)
        "#]],
    );

    let hints = editor.ask_all("textDocument/inlayHint", "kernel");
    let hint = |hint: &Value| {
        let at = kernel.offset(&hint["position"]);
        format!("{}‹{}›", &kernel.text[..at].lines().last().unwrap_or_default().trim(), hint["label"].as_str().expect("text"))
    };
    check(
        hints.as_array().expect("hints").iter().map(hint).collect::<Vec<_>>().join("\n"),
        expect![[r#"
            lane‹: i32[64]›
            row‹: f32[64]›
            row = twice(tl.load(rows + lane, mask=lane < n)) ; "😀"; more‹: f32[64]›"#]],
    );

    let tokens = editor.ask_all("textDocument/semanticTokens/full", "kernel");
    let (mut line, mut column) = (0, 0);
    let mut named = Vec::new();
    for token in tokens["data"].as_array().expect("tokens").chunks(5) {
        let number = |at: usize| token[at].as_u64().expect("a number");
        column = if number(0) == 0 { column + number(1) } else { number(1) };
        line += number(0);
        let at = |character: u64| json!({ "line": line, "character": character });
        named.push(kernel.slice(&json!({ "start": at(column), "end": at(column + number(2)) })).to_owned());
    }
    check(named.join(" "), expect!["out rows n lane LANES row twice rows lane lane n more twice row out lane row more lane"]);

    let lenses = editor.ask_all("textDocument/codeLens", "kernel");
    check(
        format!("{} {} {}", ranges(&lenses, "range"), lenses[0]["command"]["title"], lenses[0]["command"]["arguments"][0]),
        expect![[
            r#""double" "double" "double" "▶ Run" {"uri":"vscode-notebook-cell:/nowhere/book.ipynb#kernel","launch":"double","kernel":"double"}"#
        ]],
    );
    assert_eq!(editor.ask_all("textDocument/codeLens", "helper"), json!([]));
    let symbols = editor.ask_all("textDocument/documentSymbol", "kernel");
    check(format!("{} {}", symbols[0]["name"], ranges(&symbols, "selectionRange")), expect![[r#""double" "double""#]]);
    let folds = editor.ask_all("textDocument/foldingRange", "kernel");
    check(folds.to_string(), expect![[r#"[{"startLine":1,"endLine":4}]"#]]);
    let folds = editor.ask_all("textDocument/foldingRange", "install");
    check(folds.to_string(), expect!["[]"]);
    let position = editor.at("kernel", "more, mask")["position"].clone();
    let selections = editor
        .client
        .request("textDocument/selectionRange", json!({ "textDocument": kernel.identifier(), "positions": [position] }));
    let mut widest = &selections[0];
    while widest["parent"].is_object() {
        widest = &widest["parent"];
    }
    assert_eq!(kernel.slice(&widest["range"]), kernel.text);

    editor.replace("launch", "double[(1,)](torch.empty_like(rows), rows, 64)", "do\nls");
    let completions = editor.ask("textDocument/completion", "launch", "\nls", &json!({}));
    let completions = completions.as_array().cloned().unwrap_or_default();
    let double = completions.iter().find(|one| one["label"] == json!("double")).unwrap_or_else(|| panic!("{completions:?}"));
    assert_eq!(editor.cell("launch").slice(&double["textEdit"]["range"]), "do");
    assert_eq!(editor.ask("textDocument/completion", "install", "\npip", &json!({})), Value::Null);
    editor.replace("launch", "\nls", "\ntwice(");
    let help = editor.ask("textDocument/signatureHelp", "kernel", "row + more", &json!({}));
    check(
        help["signatures"][0]["label"].as_str().unwrap_or_default(),
        expect![[
            r#"tl.store(pointer: ptr[T, S], value: tile[T, S], mask: tile[i1, S] = None, boundary_check: const tuple = (), cache_modifier: const str = "", eviction_policy: const str = "") -> None"#
        ]],
    );

    let prepared = editor.ask("textDocument/prepareCallHierarchy", "helper", "twice", &json!({}));
    assert_eq!(editor.cell("helper").slice(&prepared[0]["selectionRange"]), "twice");
    let calls = editor.client.request("callHierarchy/incomingCalls", json!({ "item": prepared[0] }));
    let from: Vec<&str> = calls[0]["fromRanges"].as_array().expect("ranges").iter().map(|range| kernel.slice(range)).collect();
    check(
        format!("{} {from:?}", calls[0]["from"]["uri"]),
        expect![[r#""vscode-notebook-cell:/nowhere/book.ipynb#kernel" ["twice", "twice"]"#]],
    );

    editor.replace("kernel", "mask=lane)", "mask=lane < n)");
    let view = editor.ask("tritium/view", "kernel", "lane", &json!({ "stage": "tile" }));
    let store = view["text"].as_str().expect("a text").lines().position(|line| line.contains("store")).expect("a store");
    check(view["lines"][store].to_string(), expect!["[4]"]);
    let hover = editor.ask("textDocument/hover", "kernel", "double", &json!({}));
    let live = hover["contents"]["value"].as_str().and_then(|text| text.lines().find(|line| line.contains("are live")));
    check(
        live.unwrap_or_default(),
        expect!["- most registers are live in line 5 of cell 4: values 2, ptrs 2, masks 1 (estimated)"],
    );
    let command = json!({ "command": "tritium.server.run", "arguments": [lenses[0]["command"]["arguments"][0]] });
    let outcome = editor.client.request("workspace/executeCommand", command);
    check(outcome["summary"].as_str().unwrap_or_default(), expect!["double: ran, nothing compared"]);
    editor.client.stop();
}

/// The notebook itself, a cell that is closed and a notebook on disk are no documents.
#[test]
fn cells_come_go_and_move() {
    let mut editor = Editor::open(
        "§ setup\nimport triton\nimport triton.language as tl\n§ kernel\n@triton.jit\ndef fill(x):\n    tl.store(x + tl.arange(0, LANES), 1.0)\n",
    );
    check(
        editor.pushed(),
        expect![[r#"
        kernel: LNG018 `LANES`
    "#]],
    );
    // A new cell, put before the kernel.
    let size = Cell { name: "size".to_owned(), language: "python", version: 1, text: "LANES = tl.constexpr(48)".to_owned() };
    editor.cells.insert(1, size.clone());
    let array = json!({ "start": 1, "deleteCount": 0, "cells": [size.entry()] });
    editor.change(json!({ "structure": { "array": array, "didOpen": [size.document()] } }));
    check(
        editor.pushed(),
        expect![[r#"
        kernel: SHP002 `LANES`
    "#]],
    );
    // It is moved behind: its document stays open. A kernel runs after both cells have.
    editor.cells.swap(1, 2);
    let entries: Vec<Value> = editor.cells[1..].iter().map(Cell::entry).collect();
    editor.change(json!({ "structure": { "array": { "start": 1, "deleteCount": 2, "cells": entries } } }));
    editor.replace("size", "48", "32");
    check(editor.pushed(), expect![[r#""#]]);
    check(editor.hover("kernel", "LANES"), expect!["`LANES` LANES: constexpr[32]"]);
    // One is emptied, one becomes text, one goes.
    editor.replace("size", "LANES = tl.constexpr(32)", "");
    check(
        editor.pushed(),
        expect![[r#"
        kernel: LNG018 `LANES`
    "#]],
    );
    editor.replace("size", "", "LANES = tl.constexpr(64)");
    let text = json!({ "kind": 1, "document": uri_of("size") });
    editor.change(json!({ "data": [text] }));
    check(
        editor.pushed(),
        expect![[r#"
        kernel: LNG018 `LANES`
    "#]],
    );
    editor.change(json!({ "data": [size.entry()] }));
    check(editor.pushed(), expect![[r#""#]]);
    let gone = editor.cells.remove(2);
    let array = json!({ "start": 2, "deleteCount": 1 });
    editor.change(json!({ "structure": { "array": array, "didClose": [gone.identifier()] } }));
    check(
        editor.pushed(),
        expect![[r#"
        kernel: LNG018 `LANES`
    "#]],
    );
    for params in [gone.identifier(), json!({ "uri": BOOK })] {
        assert_eq!(editor.client.request("textDocument/codeLens", json!({ "textDocument": params })), Value::Null);
    }
    // What is no change of cells is none.
    editor.change(Value::Null);
    let array = json!({ "start": 90, "deleteCount": 90 });
    editor.change(json!({ "structure": { "array": array } }));
    let document = json!({ "uri": uri_of("nowhere"), "version": 3 });
    editor.change(json!({ "textContent": [{ "document": document, "changes": [{ "text": "import" }] }] }));
    check(
        editor.pushed(),
        expect![[r#"
        kernel: LNG018 `LANES`
    "#]],
    );
    // Nothing is left of what was said of a cell that goes.
    let gone = editor.cells.remove(1);
    let array = json!({ "start": 1, "deleteCount": 1 });
    editor.change(json!({ "structure": { "array": array, "didClose": [gone.identifier()] } }));
    editor.client.notification("textDocument/publishDiagnostics", |push| {
        push["uri"] == json!(uri_of("kernel")) && push["diagnostics"] == json!([])
    });
    editor.client.stop();
}

#[test]
fn a_notebook_that_is_closed_is_silent_and_opens_again() {
    let mut editor = Editor::open(ROWS);
    let first = editor.pushed();
    let cells: Vec<Value> = editor.cells.iter().map(Cell::identifier).collect();
    editor.client.take_notifications("textDocument/publishDiagnostics");
    editor.client.notify("notebookDocument/didClose", json!({ "notebookDocument": { "uri": BOOK }, "cellTextDocuments": cells }));
    let kernel = uri_of("kernel");
    let push = editor.client.notification("textDocument/publishDiagnostics", |push| push["uri"] == json!(kernel));
    assert_eq!(push["diagnostics"], json!([]));
    let answer = editor.client.request("textDocument/hover", editor.at("kernel", "lane"));
    assert_eq!(answer, Value::Null);
    editor.open_again();
    assert_eq!(editor.pushed(), first);
    editor.client.stop();
}

const PAIR: &str = r"§ setup
import triton
import triton.language as tl
import torch
§ one
@triton.jit
def one(x, LANES):
    at = tl.arange(0, LANES)
    tl.store(x + at, 1.0)
§ two
@triton.jit
def two(x):
    at = tl.arange(0, 64)
    tl.store(x + at, tl.exp(at.to(tl.float32)) + tl.where(at, 1.0, 0.0))
§ three
@triton.jit
def three(x):
    at = tl.arange(0, 64)
    tl.store(x + at, tl.where(at, 1.0, 0.0))
§ launch
x = torch.zeros(64, device='cuda')
one[(1,)](x, 64)
two[(1,)](x)
%timeit -n 3 three[(1,)](x)
";

/// Every edit goes to the cell whose text it changes, also where a line is added behind the last one.
#[test]
fn fixes_stay_in_their_cells() {
    let mut editor = Editor::open(PAIR);
    check(
        editor.found(),
        expect![[r#"
            one: SHP003 `LANES`
                one:2 `LANES`
            two: DTY010 `at`
            three: DTY010 `at`
        "#]],
    );
    check(
        editor.action("one", "LANES)\n", "Annotate"),
        expect![[r#"
        one: def one(x, LANES: tl.constexpr):
    "#]],
    );
    check(
        editor.action("two", "at, 1.0", "Fix all"),
        expect![[r#"
        two:     tl.store(x + at, tl.exp(at.to(tl.float32)) + tl.where(at != 0, 1.0, 0.0))
        three:     tl.store(x + at, tl.where(at != 0, 1.0, 0.0))
    "#]],
    );
    let two = editor.cell("two").clone();
    let at = two.text.find("tl.exp").expect("it is there");
    let point = |offset: usize| position(&two.text, &two.text[offset..]);
    let range = json!({ "start": point(at), "end": point(at + "tl.exp(at.to(tl.float32))".len()) });
    let params = json!({ "textDocument": two.identifier(), "range": range,
        "context": { "diagnostics": [], "only": ["refactor.extract"] } });
    let actions = editor.client.request("textDocument/codeAction", params);
    check(
        editor.edited(&actions[0]["edit"]),
        expect![[r#"
        two: def helper(at):
        two:     return tl.exp(at.to(tl.float32))
        two: 
        two: 
        two:     tl.store(x + at, helper(at) + tl.where(at, 1.0, 0.0))
    "#]],
    );
    editor.client.stop();
}

/// A bracket or a string that is open ends with its cell, as Python reads each cell by itself.
#[test]
fn an_unfinished_cell_costs_no_other() {
    for unfinished in ["total = sum(", "text = '''", "if LANES:", "x = [1, 2", "def half(x):\n    return (x,"] {
        let mut editor = Editor::open(ROWS);
        let before = editor.found();
        editor.replace("helper", "    return x * 2", &format!("    return x * 2\n\n{unfinished}"));
        let found = editor.found();
        let others: String = found.lines().filter(|line| !line.starts_with("helper")).map(|line| format!("{line}\n")).collect();
        assert_eq!(others, before, "{unfinished}: {found}");
        editor.client.stop();
    }
}

/// As plugins do in an editor that has no notebooks: the buffer has the notebook's name and is a script.
#[test]
fn a_notebook_shown_as_a_script_is_that_script() {
    let mut client = Client::start(&[], &json!({}));
    let text = "# %%\nimport triton\nimport triton.language as tl\nLANES = tl.constexpr(16)\n\n# %%\n@triton.jit\ndef fill(x):\n    \
                lane = tl.arange(0, LANES)\n    tl.store(x + lane, 1.0, mask=lane)\n";
    let uri = client.open(std::path::Path::new("/nowhere/script.ipynb"), text);
    let found = client.diagnostics(&uri, 1);
    assert_eq!((&found[0]["code"], &found[0]["range"]["start"]["line"]), (&json!("DTY011"), &json!(9)));
    assert!(client.hover(&uri, text, "lane = ").contains("i32[16]"));
    let kernel = client.hover(&uri, text, "fill(x)");
    assert!(!kernel.contains("of cell"), "{kernel}");
    client.stop();
}

/// Hover and signatures are registered for cells too, with a client that has notebooks.
#[test]
fn late_features_are_registered_for_cells() {
    let dynamic = json!({ "dynamicRegistration": true });
    let document = json!({ "publishDiagnostics": {}, "hover": dynamic, "signatureHelp": dynamic });
    for notebooks in [true, false] {
        let mut capabilities = json!({ "textDocument": document });
        if notebooks {
            capabilities["notebookDocument"] = json!({ "synchronization": dynamic });
        }
        let mut client = Client::start_as(&[], json!({ "capabilities": capabilities }));
        let uri = client.open(std::path::Path::new("/nowhere/fill.py"), "import triton\n");
        client.diagnostics(&uri, 1);
        let is_registration = |asked: &&Value| asked["method"] == json!("client/registerCapability");
        let registered = client.asked.iter().filter(is_registration).find_map(|asked| {
            let all = asked["params"]["registrations"].as_array()?.clone();
            all.into_iter().find(|one| one["method"] == json!("textDocument/hover"))
        });
        let mut selector = vec![json!({ "language": "python", "scheme": "file" })];
        selector.extend(notebooks.then(|| json!({ "language": "python", "notebook": "*" })));
        assert_eq!(registered.expect("a registration")["registerOptions"]["documentSelector"], json!(selector));
        client.stop();
    }
}
