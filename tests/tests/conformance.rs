//! The server as the editors' own clients meet it: recorded `initialize` parameters of VS Code and Neovim, every request that was offered,
//! every answer read as the protocol's own type, in UTF-8 and UTF-16.

use std::{
    fs,
    time::{Duration, Instant},
};

use expect_test::expect;
use serde_json::{Value, json};
use tower_lsp::ls_types as lsp;
use tritium_tests::{
    client::{Client, position},
    repository,
};

/// Not ASCII before, on and after the lines that are asked about.
const KERNEL: &str = r#"# é😀
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):  # 😀
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    "😀"; inside = offs < n
    value = tl.load(x + offs, mask=inside, other=0.0)
    tl.store(y + offs, value * 2.0, mask=inside)


def launch(n=1000):
    x = torch.randn(n, device="cuda")
    y = torch.empty_like(x)
    scale[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
"#;

fn recorded(name: &str) -> Value {
    let path = repository().join("tests/data/clients").join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).expect("recorded parameters are JSON")
}

/// Reads an answer as the type the protocol has for it.
fn typed<T: serde::de::DeserializeOwned>(method: &str, answer: &Value) -> T {
    serde_json::from_value(answer.clone()).unwrap_or_else(|e| panic!("{method}: {e} in {answer}"))
}

/// The column of a place in the encoding that was agreed on.
fn column(line: &str, at: usize, utf8: bool) -> usize {
    if utf8 { at } else { line[..at].encode_utf16().count() }
}

fn at(needle: &str, utf8: bool) -> Value {
    let offset = KERNEL.find(needle).unwrap_or_else(|| panic!("`{needle}` is not there"));
    let line = KERNEL[..offset].matches('\n').count();
    let start = KERNEL[..offset].rfind('\n').map_or(0, |n| n + 1);
    json!({ "line": line, "character": column(&KERNEL[start..], offset - start, utf8) })
}

/// The text of a range.
fn text_of(range: &lsp::Range, utf8: bool) -> String {
    assert_eq!(range.start.line, range.end.line);
    let line = KERNEL.split('\n').nth(range.start.line as usize).expect("a line of the text");
    let offset = |character: u32| {
        (0..=line.len())
            .filter(|&i| line.is_char_boundary(i))
            .find(|&i| column(line, i, utf8) == character as usize)
            .unwrap_or_else(|| panic!("column {character} is inside a character of {line:?}"))
    };
    line[offset(range.start.character)..offset(range.end.character)].to_owned()
}

struct Session {
    client: Client,
    uri: String,
    utf8: bool,
}

impl Session {
    fn start(name: &str, python: &str) -> Session {
        let folder = tempfile::tempdir().expect("a temporary folder").keep();
        let path = folder.join("kernel.py");
        fs::write(&path, KERNEL).expect("the folder is ours");
        let mut parameters = recorded(name);
        let root = format!("file://{}", folder.display());
        parameters["rootUri"] = json!(root);
        parameters["rootPath"] = json!(folder);
        parameters["processId"] = json!(std::process::id());
        parameters["workspaceFolders"] = json!([{ "uri": root, "name": "w" }]);
        parameters["initializationOptions"] = json!({ "python": python });
        let mut client = Client::start_as(&[("TRITIUM_CACHE", "off")], parameters);
        let utf8 = client.offered["capabilities"]["positionEncoding"] == json!("utf-8");
        let uri = client.open(&path, KERNEL);
        assert_eq!(client.diagnostics(&uri, 1), Vec::<Value>::new());
        Session { client, uri, utf8 }
    }

    fn capability(&self, name: &str) -> bool {
        let offered = &self.client.offered["capabilities"][name];
        !offered.is_null() && *offered != json!(false)
    }

    fn registered(&self, method: &str) -> bool {
        let all = self.client.asked.iter().filter(|m| m["method"] == json!("client/registerCapability"));
        all.flat_map(|m| m["params"]["registrations"].as_array().cloned().unwrap_or_default())
            .any(|r| r["method"] == json!(method))
    }

    /// The texts of tokens, each with the kind that the legend gives it, a line of the kernel on a line.
    fn coloured(&self, tokens: &[lsp::SemanticToken]) -> String {
        let legend = &self.client.offered["capabilities"]["semanticTokensProvider"]["legend"]["tokenTypes"];
        let (mut line, mut start, mut told) = (0, 0, String::new());
        for token in tokens {
            let first = told.is_empty();
            if token.delta_line > 0 {
                (line, start) = (line + token.delta_line, 0);
            }
            start += token.delta_start;
            let place = |character| lsp::Position { line, character };
            let text = text_of(&lsp::Range { start: place(start), end: place(start + token.length) }, self.utf8);
            told += if first {
                ""
            } else if token.delta_line > 0 {
                "\n"
            } else {
                " "
            };
            told += &format!("{text}:{}", legend[token.token_type as usize].as_str().expect("a kind of the legend"));
        }
        told
    }

    /// Waits until the server has registered, or taken back, what it was told to.
    fn settle(&mut self, method: &str, wanted: bool) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.registered(method) != wanted {
            assert!(Instant::now() < deadline, "{method}: registered is not {wanted}");
            // An answer brings along what was asked before it.
            self.client.request("textDocument/hover", self.place("# é"));
        }
    }

    fn document(&self) -> Value {
        json!({ "textDocument": { "uri": self.uri } })
    }

    fn place(&self, needle: &str) -> Value {
        json!({ "textDocument": { "uri": self.uri }, "position": at(needle, self.utf8) })
    }

    fn whole(&self) -> Value {
        let end = json!({ "line": 1000, "character": 0 });
        json!({ "textDocument": { "uri": self.uri }, "range": { "start": { "line": 0, "character": 0 }, "end": end } })
    }

    fn ask<T: serde::de::DeserializeOwned>(&mut self, method: &str, params: Value) -> T {
        let answer = self.client.request(method, params);
        typed(method, &answer)
    }
}

fn names<'a>(all: impl Iterator<Item = &'a str>) -> String {
    all.collect::<Vec<_>>().join(", ")
}

/// Every feature, read as its type and looked at.
fn every_request(name: &str) {
    let mut s = Session::start(name, "none");
    let utf8 = s.utf8;
    typed::<lsp::InitializeResult>("initialize", &s.client.offered.clone());
    for (capability, method) in [("hoverProvider", "textDocument/hover"), ("signatureHelpProvider", "textDocument/signatureHelp")]
    {
        // Registered late where the client allows it, offered at once where not; never both.
        assert!(s.capability(capability) != s.registered(method), "{name}: {capability}");
    }

    let place = s.place("value = tl.load");
    let hover: Option<lsp::Hover> = s.ask("textDocument/hover", place.clone());
    let hover = hover.expect("a hover");
    assert_eq!(text_of(&hover.range.expect("a range"), utf8), "value");

    let place = s.place("inside = offs");
    let highlights: Option<Vec<lsp::DocumentHighlight>> = s.ask("textDocument/documentHighlight", place.clone());
    let highlights = highlights.expect("highlights");
    assert_eq!(highlights.len(), 3);
    assert!(highlights.iter().all(|h| text_of(&h.range, utf8) == "inside"));

    let mut references = s.place("BLOCK: tl");
    references["context"] = json!({ "includeDeclaration": true });
    let found: Option<Vec<lsp::Location>> = s.ask("textDocument/references", references);
    let found = found.expect("references");
    assert_eq!(found.len(), 6, "{found:?}");
    assert!(found.iter().all(|l| text_of(&l.range, utf8) == "BLOCK"));

    let prepared: Option<lsp::PrepareRenameResponse> = s.ask("textDocument/prepareRename", s.place("BLOCK: tl"));
    assert!(
        matches!(prepared, Some(lsp::PrepareRenameResponse::RangeWithPlaceholder { placeholder, .. }) if placeholder == "BLOCK")
    );
    let mut rename = s.place("BLOCK: tl");
    rename["newName"] = json!("TILE");
    let edit: Option<lsp::WorkspaceEdit> = s.ask("textDocument/rename", rename);
    assert_eq!(edit.and_then(|e| e.changes).expect("changes").values().map(Vec::len).sum::<usize>(), 6);
    let refused = s.client.try_request("textDocument/prepareRename", s.place("arange"));
    assert!(refused["error"]["message"].as_str().expect("a reason").contains("not defined in this workspace"), "{refused}");

    let definition: Option<lsp::GotoDefinitionResponse> = s.ask("textDocument/definition", s.place("BLOCK\"]),)"));
    assert!(matches!(definition, Some(lsp::GotoDefinitionResponse::Array(all)) if all.len() == 1));
    let shape: Option<lsp::GotoDefinitionResponse> = s.ask("textDocument/typeDefinition", s.place("value = tl.load"));
    assert!(shape.is_some());

    let symbols: Option<lsp::DocumentSymbolResponse> = s.ask("textDocument/documentSymbol", s.document());
    let Some(lsp::DocumentSymbolResponse::Nested(symbols)) = symbols else { panic!("nested symbols") };
    assert_eq!(names(symbols.iter().map(|s| s.name.as_str())), "scale, launch");
    // The protocol's older form of a symbol would read these too, so the newer is asked for by name.
    let symbols: Option<Vec<lsp::WorkspaceSymbol>> = s.ask("workspace/symbol", json!({ "query": "sc" }));
    assert_eq!(names(symbols.expect("symbols").iter().map(|s| s.name.as_str())), "scale, scale[…]");

    let items: Option<Vec<lsp::CallHierarchyItem>> = s.ask("textDocument/prepareCallHierarchy", s.place("scale(x"));
    let item = items.expect("an item").remove(0);
    let calls: Option<Vec<lsp::CallHierarchyIncomingCall>> = s.ask("callHierarchy/incomingCalls", json!({ "item": item }));
    let launch = calls.expect("a launch").remove(0).from;
    let calls: Option<Vec<lsp::CallHierarchyIncomingCall>> = s.ask("callHierarchy/incomingCalls", json!({ "item": launch }));
    let host = calls.expect("the host function").remove(0).from;
    assert_eq!(host.name, "launch");
    let calls: Option<Vec<lsp::CallHierarchyOutgoingCall>> = s.ask("callHierarchy/outgoingCalls", json!({ "item": host }));
    assert_eq!(calls.expect("the launch").len(), 1);

    let tokens: Option<lsp::SemanticTokensResult> = s.ask("textDocument/semanticTokens/full", s.document());
    let Some(lsp::SemanticTokensResult::Tokens(tokens)) = tokens else { panic!("tokens") };
    expect![[r#"
        x:pointer y:pointer n:scalar BLOCK:constexpr
        offs:tile BLOCK:constexpr BLOCK:constexpr
        inside:mask offs:tile n:scalar
        value:tile x:pointer offs:tile inside:mask
        y:pointer offs:tile value:tile inside:mask
        scale:launch"#]]
    .assert_eq(&s.coloured(&tokens.data));
    let mut again = s.document();
    again["previousResultId"] = json!(tokens.result_id);
    let delta: Option<lsp::SemanticTokensFullDeltaResult> = s.ask("textDocument/semanticTokens/full/delta", again);
    assert!(matches!(delta, Some(lsp::SemanticTokensFullDeltaResult::TokensDelta(delta)) if delta.edits.is_empty()));
    let range: Option<lsp::SemanticTokensRangeResult> = s.ask("textDocument/semanticTokens/range", s.whole());
    assert!(matches!(range, Some(lsp::SemanticTokensRangeResult::Tokens(part)) if part.data == tokens.data));

    let folds: Option<Vec<lsp::FoldingRange>> = s.ask("textDocument/foldingRange", s.document());
    assert!(folds.expect("folds").len() >= 3);
    let mut select = s.document();
    select["positions"] = json!([at("offs < n", utf8)]);
    let rows: Option<Vec<lsp::SelectionRange>> = s.ask("textDocument/selectionRange", select);
    assert_eq!(text_of(&rows.expect("a row")[0].range, utf8), "offs");

    let hints: Option<Vec<lsp::InlayHint>> = s.ask("textDocument/inlayHint", s.whole());
    let hint = hints.expect("hints").remove(0);
    let resolved: lsp::InlayHint = s.ask("inlayHint/resolve", json!(hint));
    assert!(resolved.tooltip.is_some(), "{name}");
    let lenses: Option<Vec<lsp::CodeLens>> = s.ask("textDocument/codeLens", s.document());
    // Nothing calls the function that launches: what it takes is asked for.
    let titles: Vec<String> = lenses.expect("lenses").into_iter().filter_map(|lens| Some(lens.command?.title)).collect();
    assert_eq!(titles, ["▶ Run…", "Sanitize…", "Bench…"], "{name}");
    let mut actions = s.whole();
    actions["range"]["start"] = at("offs = tl.program_id", utf8);
    actions["range"]["end"] = actions["range"]["start"].clone();
    actions["context"] = json!({ "diagnostics": [], "only": ["refactor"] });
    let actions: Option<lsp::CodeActionResponse> = s.ask("textDocument/codeAction", actions);
    for action in actions.expect("actions") {
        let lsp::CodeActionOrCommand::CodeAction(action) = action else { panic!("a command") };
        assert!(action.kind.expect("a kind").as_str().starts_with("refactor."));
    }
    let signature: Option<lsp::SignatureHelp> = s.ask("textDocument/signatureHelp", s.place("mask=inside, other"));
    assert!(signature.expect("a signature").signatures[0].label.starts_with("tl.load("));
    let completion: Option<lsp::CompletionResponse> = s.ask("textDocument/completion", s.place("inside, other"));
    let Some(lsp::CompletionResponse::Array(items)) = completion else { panic!("completions") };
    assert_eq!(items[0].label, "inside");
    let resolved: lsp::CompletionItem = s.ask("completionItem/resolve", json!(items[0]));
    assert_eq!(resolved.label, "inside");
    let report: lsp::DocumentDiagnosticReportResult = s.ask("textDocument/diagnostic", s.document());
    let lsp::DocumentDiagnosticReportResult::Report(lsp::DocumentDiagnosticReport::Full(report)) = report else {
        panic!("a report")
    };
    let mut again = s.document();
    again["previousResultId"] = json!(report.full_document_diagnostic_report.result_id);
    let report: lsp::DocumentDiagnosticReportResult = s.ask("textDocument/diagnostic", again);
    assert!(matches!(report, lsp::DocumentDiagnosticReportResult::Report(lsp::DocumentDiagnosticReport::Unchanged(_))));
    let report: lsp::WorkspaceDiagnosticReportResult =
        s.ask("workspace/diagnostic", json!({ "previousResultIds": [], "workDoneToken": "check" }));
    assert!(matches!(report, lsp::WorkspaceDiagnosticReportResult::Report(report) if report.items.len() == 1));
    let progress = s.client.take_notifications("$/progress");
    assert!(progress.len() >= 2 && progress.iter().all(|p| p["token"] == json!("check")), "{progress:?}");
    // A token is good for no longer than the request.
    assert_eq!(progress.last().map(|p| &p["value"]["kind"]), Some(&json!("end")), "{progress:?}");

    // A range for a position gives the sum of the selection.
    let mut selection = s.whole();
    selection["position"] = json!({ "start": at("value = tl.load", utf8), "end": at("tl.store", utf8) });
    let sum: Option<lsp::Hover> = s.ask("textDocument/hover", selection);
    assert!(format!("{:?}", sum.expect("a sum").contents).contains("1 load\\n"));
    only_what_the_client_takes(name, &s);
    s.client.stop();
}

/// What is asked of the client, it said it can do.
fn only_what_the_client_takes(name: &str, session: &Session) {
    let capabilities = recorded(name)["capabilities"].clone();
    let says = |pointer: String| capabilities.pointer(&pointer) == Some(&json!(true));
    for message in &session.client.asked {
        match message["method"].as_str().expect("a method") {
            "client/registerCapability" => {
                for registration in message["params"]["registrations"].as_array().expect("registrations") {
                    let method = registration["method"].as_str().expect("a method");
                    // The one method whose capability has another name.
                    let capability = method.replace("prepareCallHierarchy", "callHierarchy");
                    assert!(says(format!("/{capability}/dynamicRegistration")), "{name} does not register {method}");
                }
            }
            "workspace/configuration" => assert!(says("/workspace/configuration".to_owned()), "{name}"),
            "workspace/inlayHint/refresh" => assert!(says("/workspace/inlayHint/refreshSupport".to_owned()), "{name}"),
            "workspace/codeLens/refresh" => assert!(says("/workspace/codeLens/refreshSupport".to_owned()), "{name}"),
            "workspace/semanticTokens/refresh" => assert!(says("/workspace/semanticTokens/refreshSupport".to_owned()), "{name}"),
            other => panic!("{name}: the server asks for {other}"),
        }
    }
}

#[test]
fn every_request_of_vs_code() {
    every_request("vscode.json");
}

#[test]
fn every_request_of_neovim() {
    every_request("nvim.json");
}

/// Beside a Python server nothing is offered or answered that it has.
#[test]
fn beside_a_python_server_its_features_are_left_to_it() {
    for name in ["vscode.json", "nvim.json"] {
        let mut s = Session::start(name, "auto");
        for capability in [
            "referencesProvider",
            "documentHighlightProvider",
            "renameProvider",
            "documentSymbolProvider",
            "workspaceSymbolProvider",
            "callHierarchyProvider",
            "foldingRangeProvider",
            "selectionRangeProvider",
        ] {
            assert!(!s.capability(capability), "{name}: {capability}");
        }
        let mut references = s.place("BLOCK: tl");
        references["context"] = json!({ "includeDeclaration": true });
        assert_eq!(s.client.request("textDocument/references", references), Value::Null);
        assert_eq!(s.client.request("textDocument/documentSymbol", s.document()), Value::Null);
        assert_eq!(s.client.request("textDocument/completion", s.place("arange(0")), Value::Null);
        assert_eq!(s.client.request("textDocument/definition", s.place("offs < n")), Value::Null);
        // Strings are ours alone.
        assert!(s.client.request("textDocument/definition", s.place("BLOCK\"]),)")).is_array());
        // The setting changes what is offered, where the client lets it.
        s.client.notify("workspace/didChangeConfiguration", json!({ "settings": { "tritium": { "python": "none" } } }));
        assert!(s.client.request("textDocument/documentSymbol", s.document()).is_array());
        let dynamic = recorded(name)["capabilities"]["textDocument"]["references"]["dynamicRegistration"] == json!(true);
        s.settle("textDocument/references", dynamic);
        only_what_the_client_takes(name, &s);
        s.client.stop();
    }
}

/// Files without Triton get nothing, whatever is asked.
#[test]
fn a_file_without_triton_gets_nothing() {
    let mut s = Session::start("vscode.json", "none");
    let text = "import numpy as np\n\n\ndef f(x):\n    return np.sum(x\n";
    let uri = s.client.open(std::path::Path::new("/nowhere/plain.py"), text);
    assert!(s.client.diagnostics(&uri, 1).is_empty());
    let place = json!({ "textDocument": { "uri": uri }, "position": position(text, "np.sum") });
    let document = json!({ "textDocument": { "uri": uri } });
    let mut range = document.clone();
    range["range"] = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 5, "character": 0 } });
    range["context"] = json!({ "diagnostics": [] });
    let mut references = place.clone();
    references["context"] = json!({ "includeDeclaration": true });
    for (method, params) in [
        ("textDocument/hover", &place),
        ("textDocument/completion", &place),
        ("textDocument/signatureHelp", &place),
        ("textDocument/definition", &place),
        ("textDocument/typeDefinition", &place),
        ("textDocument/references", &references),
        ("textDocument/documentHighlight", &place),
        ("textDocument/documentSymbol", &document),
        ("textDocument/semanticTokens/full", &document),
        ("textDocument/foldingRange", &document),
        ("textDocument/inlayHint", &range),
        ("textDocument/codeLens", &document),
        ("textDocument/codeAction", &range),
    ] {
        assert_eq!(s.client.request(method, params.clone()), Value::Null, "{method}");
    }
    s.client.stop();
}
