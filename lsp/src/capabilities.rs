//! What the server offers, and what the client says of itself.
//!
//! Hover and signatures are registered after the first analysis where the client allows it: editors put the provider that came last first,
//! and a Python server beside us answers for the same places. **Invariant:** a feature that is off ([`tritium_ide::coexistence`]) is not offered.

use serde_json::{Value, json};
use tower_lsp::ls_types as lsp;
use tritium_syntax::Encoding;

use super::{
    backend::{ASK, BENCH, RUN, SANITIZE, TUNE},
    convert, editing, tuned,
    views::ACTIVATE,
};
use tritium_ide::{Feature, Options, Python};

/// What the client can do.
#[derive(Debug, Clone, Default)]
pub(super) struct Client {
    capabilities: Value,
}

impl Client {
    pub(super) fn new(capabilities: &lsp::ClientCapabilities) -> Client {
        Client { capabilities: serde_json::to_value(capabilities).unwrap_or_default() }
    }

    fn says(&self, pointer: &str) -> bool {
        self.capabilities.pointer(pointer) == Some(&Value::Bool(true))
    }

    fn has(&self, pointer: &str) -> bool {
        self.capabilities.pointer(pointer).is_some_and(|v| !v.is_null())
    }

    /// Diagnostics are pushed, but to a client that only asks for them; one that did both would show every mistake twice.
    pub(super) fn takes_pushes(&self) -> bool {
        self.has("/textDocument/publishDiagnostics") || !self.has("/textDocument/diagnostic")
    }

    pub(super) fn refreshes(&self, what: &str) -> bool {
        self.says(&format!("/workspace/{what}/refreshSupport"))
    }

    pub(super) fn registers(&self, method: &str) -> bool {
        let method = if method == "textDocument/prepareCallHierarchy" { "textDocument/callHierarchy" } else { method };
        self.says(&format!("/{method}/dynamicRegistration"))
    }

    pub(super) fn has_configuration(&self) -> bool {
        self.says("/workspace/configuration")
    }

    /// The client's command that shows the report of a kernel, if it has one and follows links to commands: its hovers are short then.
    pub(super) fn report_command(&self) -> Option<String> {
        self.capabilities.pointer("/experimental/reportCommand").and_then(Value::as_str).map(str::to_owned)
    }

    pub(super) fn resolves_hints(&self) -> bool {
        let listed = self.capabilities.pointer("/textDocument/inlayHint/resolveSupport/properties").and_then(Value::as_array);
        listed.is_some_and(|all| all.iter().any(|p| p == "tooltip"))
    }
}

/// Registered once a Triton file has been analysed, where the client allows it.
pub(super) const LATE: [&str; 2] = ["textDocument/hover", "textDocument/signatureHelp"];

/// What a Python server answers too, by method.
const GENERIC: &[(&str, Feature)] = &[
    ("textDocument/references", Feature::References),
    ("textDocument/documentHighlight", Feature::Highlight),
    ("textDocument/rename", Feature::Rename),
    ("textDocument/documentSymbol", Feature::DocumentSymbols),
    ("workspace/symbol", Feature::WorkspaceSymbols),
    ("textDocument/prepareCallHierarchy", Feature::CallHierarchy),
    ("textDocument/foldingRange", Feature::Folding),
    ("textDocument/selectionRange", Feature::Selection),
];

pub(super) fn offered(encoding: Encoding, client: &Client, options: &Options) -> lsp::ServerCapabilities {
    let on = |feature| options.offers(feature);
    let late = |method: &str| client.registers(method);
    lsp::ServerCapabilities {
        position_encoding: Some(convert::encoding_kind(encoding)),
        text_document_sync: Some(lsp::TextDocumentSyncCapability::Kind(lsp::TextDocumentSyncKind::INCREMENTAL)),
        notebook_document_sync: Some(lsp::OneOf::Left(lsp::NotebookDocumentSyncOptions {
            notebook_selector: vec![lsp::NotebookSelector::ByNotebook {
                notebook: lsp::Notebook::String("*".to_owned()),
                cells: Some(vec![lsp::NotebookCellSelector { language: "python".to_owned() }]),
            }],
            save: None,
        })),
        hover_provider: (!late(LATE[0])).then_some(lsp::HoverProviderCapability::Simple(true)),
        signature_help_provider: (!late(LATE[1])).then(signature_options),
        inlay_hint_provider: Some(lsp::OneOf::Right(lsp::InlayHintServerCapabilities::Options(lsp::InlayHintOptions {
            resolve_provider: Some(true),
            ..Default::default()
        }))),
        code_lens_provider: Some(lsp::CodeLensOptions { resolve_provider: Some(false) }),
        code_action_provider: Some(lsp::CodeActionProviderCapability::Options(lsp::CodeActionOptions {
            code_action_kinds: Some(vec![
                lsp::CodeActionKind::QUICKFIX,
                lsp::CodeActionKind::REFACTOR_EXTRACT,
                lsp::CodeActionKind::REFACTOR_REWRITE,
                lsp::CodeActionKind::SOURCE_FIX_ALL,
            ]),
            ..Default::default()
        })),
        completion_provider: Some(lsp::CompletionOptions {
            resolve_provider: Some(true),
            trigger_characters: Some(["=", "\"", "'", "[", "{", "(", ",", ".", " "].map(str::to_owned).into()),
            ..Default::default()
        }),
        semantic_tokens_provider: Some(lsp::SemanticTokensServerCapabilities::SemanticTokensOptions(
            lsp::SemanticTokensOptions {
                legend: editing::legend(),
                range: Some(true),
                full: Some(lsp::SemanticTokensFullOptions::Delta { delta: Some(true) }),
                ..Default::default()
            },
        )),
        // Of strings that name parameters, always; of Python's names, where nobody else answers.
        definition_provider: Some(lsp::OneOf::Left(true)),
        type_definition_provider: Some(lsp::TypeDefinitionProviderCapability::Simple(true)),
        references_provider: yes(on(Feature::References)),
        document_highlight_provider: yes(on(Feature::Highlight)),
        document_symbol_provider: yes(on(Feature::DocumentSymbols)),
        workspace_symbol_provider: yes(on(Feature::WorkspaceSymbols)),
        rename_provider: on(Feature::Rename).then(|| {
            lsp::OneOf::Right(lsp::RenameOptions {
                prepare_provider: Some(true),
                work_done_progress_options: lsp::WorkDoneProgressOptions::default(),
            })
        }),
        call_hierarchy_provider: on(Feature::CallHierarchy).then_some(lsp::CallHierarchyServerCapability::Simple(true)),
        folding_range_provider: on(Feature::Folding).then_some(lsp::FoldingRangeProviderCapability::Simple(true)),
        selection_range_provider: on(Feature::Selection).then_some(lsp::SelectionRangeProviderCapability::Simple(true)),
        // Pulled diagnostics are always answered, but offered only to a client that takes no pushed ones.
        diagnostic_provider: (!client.takes_pushes()).then(|| {
            lsp::DiagnosticServerCapabilities::Options(lsp::DiagnosticOptions {
                identifier: Some("tritium".to_owned()),
                inter_file_dependencies: true,
                workspace_diagnostics: true,
                work_done_progress_options: lsp::WorkDoneProgressOptions { work_done_progress: Some(true) },
            })
        }),
        execute_command_provider: Some(lsp::ExecuteCommandOptions {
            commands: vec![
                RUN.to_owned(),
                SANITIZE.to_owned(),
                BENCH.to_owned(),
                TUNE.to_owned(),
                tuned::WRITE.to_owned(),
                ASK.to_owned(),
                ACTIVATE.to_owned(),
            ],
            ..Default::default()
        }),
        workspace: Some(lsp::WorkspaceServerCapabilities {
            workspace_folders: Some(lsp::WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(lsp::OneOf::Left(true)),
            }),
            file_operations: None,
        }),
        // As rust-analyzer has it: `position` of a hover may be a range.
        experimental: Some(json!({ "hoverRange": true })),
        ..Default::default()
    }
}

fn yes<T>(on: bool) -> Option<lsp::OneOf<bool, T>> {
    on.then_some(lsp::OneOf::Left(true))
}

fn signature_options() -> lsp::SignatureHelpOptions {
    lsp::SignatureHelpOptions {
        trigger_characters: Some(vec!["(".to_owned(), ",".to_owned()]),
        retrigger_characters: Some(vec!["=".to_owned()]),
        ..Default::default()
    }
}

fn registration(client: &Client, method: &str, mut options: Value) -> lsp::Registration {
    let file = json!({ "language": "python", "scheme": "file" });
    let cell = client.has("/notebookDocument/synchronization").then(|| json!({ "language": "python", "notebook": "*" }));
    options["documentSelector"] = std::iter::once(file).chain(cell).collect();
    lsp::Registration { id: format!("tritium-{method}"), method: method.to_owned(), register_options: Some(options) }
}

/// Hover and signatures, for after the first analysis.
pub(super) fn late(client: &Client) -> Vec<lsp::Registration> {
    let options = |method: &str| match method {
        "textDocument/signatureHelp" => serde_json::to_value(signature_options()).unwrap_or_default(),
        _ => json!({}),
    };
    LATE.iter().filter(|m| client.registers(m)).map(|m| registration(client, m, options(m))).collect()
}

/// What changes when a Python server comes or goes: registrations to make, or to take back.
pub(super) enum Change {
    Register(Vec<lsp::Registration>),
    Unregister(Vec<lsp::Unregistration>),
}

/// `offered`: whether the generic features are registered now.
pub(super) fn generic(client: &Client, python: Python, offered: bool) -> Option<Change> {
    let methods = || GENERIC.iter().map(|(method, _)| *method).filter(|m| client.registers(m));
    let options = |method: &str| if method == "textDocument/rename" { json!({ "prepareProvider": true }) } else { json!({}) };
    match (python, offered) {
        (Python::None, false) => Some(Change::Register(methods().map(|m| registration(client, m, options(m))).collect())),
        (Python::Served, true) => Some(Change::Unregister(
            methods().map(|m| lsp::Unregistration { id: format!("tritium-{m}"), method: m.to_owned() }).collect(),
        )),
        _ => None,
    }
}

/// Python files, launches beside them, and configuration.
pub(super) fn watched_files() -> lsp::Registration {
    let watchers = ["**/*.py", "**/*.launch.toml", "**/pyproject.toml"].map(|glob| json!({ "globPattern": glob }));
    lsp::Registration {
        id: "watched-files".to_owned(),
        method: "workspace/didChangeWatchedFiles".to_owned(),
        register_options: Some(json!({ "watchers": watchers })),
    }
}
