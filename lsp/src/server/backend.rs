//! The requests, one method each.
//!
//! **Invariant:** no method blocks or awaits before it has changed [`Files`]; analysis happens on snapshots ([`Owner::read`]); what the
//! server asks of the client is spawned, never awaited inside a handler.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use serde_json::Value;
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};
use tower_lsp::{
    Client, LanguageServer,
    jsonrpc::{Error, Result},
    ls_types as lsp,
};
use tritium_syntax::{Encoding, LineIndex};

use crate::{
    ide::{self, Analysis, Host, Options},
    server::{
        analysis::{AfterChange, Owner, ReadError, Task},
        convert,
        files::Files,
        run,
        views::{self, LookedAt},
    },
};

/// The server's own command: runs a kernel's launch and answers with what it printed.
pub(crate) const RUN: &str = "tritium.server.run";
/// The client's command behind the ▶ Run lens.
pub(crate) const RUN_LENS: &str = "tritium.run";

/// How long a hover holds back for an exact figure: an editor shows no hover at once anyway, and few kernels take longer. The wait holds no
/// snapshot, so nobody's typing waits for it.
const HOVER_PATIENCE: Duration = Duration::from_millis(400);

pub(crate) struct Backend {
    client: Client,
    files: Arc<Files>,
    pub(super) owner: Owner,
    encoding: Arc<OnceLock<Encoding>>,
    refreshes: Arc<OnceLock<Refreshes>>,
    /// The client tells of files that change, if it is asked to.
    watches: OnceLock<bool>,
    /// Told whenever an exact figure has arrived.
    pub(super) arrivals: Arc<Notify>,
    /// What the person looks at, beside the settings.
    pub(super) looked_at: LookedAt,
}

/// What the client asks for again when told to.
#[derive(Debug, Clone, Copy)]
struct Refreshes {
    hints: bool,
    lenses: bool,
}

/// Tells the client to ask for hints and lenses again; spawned, since handlers never wait for the client.
fn refresh(client: &Client, refreshes: &OnceLock<Refreshes>, runtime: &tokio::runtime::Handle) {
    let Some(&Refreshes { hints, lenses }) = refreshes.get() else { return };
    let client = client.clone();
    runtime.spawn(async move {
        if hints {
            let _ = client.inlay_hint_refresh().await;
        }
        if lenses {
            let _ = client.code_lens_refresh().await;
        }
    });
}

impl Backend {
    pub(crate) fn new(client: Client, host: Host) -> Backend {
        let files = Arc::<Files>::default();
        let encoding = Arc::<OnceLock<Encoding>>::default();
        let refreshes = Arc::<OnceLock<Refreshes>>::default();
        let publish = publisher(client.clone(), Arc::clone(&files), Arc::clone(&encoding));
        let (told, again, runtime) = (client.clone(), Arc::clone(&refreshes), tokio::runtime::Handle::current());
        let arrivals = Arc::<Notify>::default();
        let arrived = Arc::clone(&arrivals);
        host.artefacts().on_arrival(Arc::new(move || {
            arrived.notify_waiters();
            refresh(&told, &again, &runtime);
        }));
        let owner = Owner::spawn(Arc::clone(&files), host, tokio::runtime::Handle::current(), publish);
        Backend { client, files, owner, encoding, refreshes, watches: OnceLock::new(), arrivals, looked_at: LookedAt::default() }
    }

    pub(super) fn refresh(&self) {
        refresh(&self.client, &self.refreshes, &tokio::runtime::Handle::current());
    }

    fn encoding(&self) -> Encoding {
        self.encoding.get().copied().unwrap_or(Encoding::Utf16)
    }

    /// Reads one document through the façade, with what is needed to convert positions.
    pub(super) async fn document<T: Send + 'static>(
        &self,
        uri: &lsp::Uri,
        read: impl FnOnce(&Document) -> T + Send + 'static,
    ) -> Result<Option<T>> {
        let Some(path) = convert::path(uri) else { return Ok(None) };
        let (uri, encoding) = (uri.clone(), self.encoding());
        let answer = self.owner.read(move |analysis| {
            let analysis = analysis.at(&path);
            let text = analysis.text(&path)?;
            if !analysis.is_triton(&path) {
                return None;
            }
            let index = LineIndex::new(&text);
            Some(read(&Document { analysis: &analysis, path, uri, index, encoding }))
        });
        answer.await.map_err(to_error)
    }
}

/// Python files, launches beside them, and configuration.
fn watched_files() -> lsp::Registration {
    let watchers = ["**/*.py", "**/*.launch.toml", "**/pyproject.toml"].map(|glob| serde_json::json!({ "globPattern": glob }));
    lsp::Registration {
        id: "watched-files".to_owned(),
        method: "workspace/didChangeWatchedFiles".to_owned(),
        register_options: Some(serde_json::json!({ "watchers": watchers })),
    }
}

/// A document of one snapshot.
pub(super) struct Document<'a> {
    pub(super) analysis: &'a Analysis,
    pub(super) path: PathBuf,
    uri: lsp::Uri,

    index: LineIndex,
    encoding: Encoding,
}

impl Document<'_> {
    pub(super) fn offset(&self, position: lsp::Position) -> usize {
        convert::offset(&self.index, position, self.encoding)
    }

    fn position(&self, offset: usize) -> lsp::Position {
        convert::position(&self.index, offset, self.encoding)
    }

    fn range(&self, range: &std::ops::Range<usize>) -> lsp::Range {
        convert::range(&self.index, range, self.encoding)
    }

    fn diagnostics(&self) -> Vec<lsp::Diagnostic> {
        let convert = |d: &ide::Diagnostic| convert::diagnostic(d, &self.uri, &self.index, self.encoding);
        if self.analysis.is_excluded(&self.path) {
            return Vec::new();
        }
        self.analysis.diagnostics(&self.path).iter().map(convert).collect()
    }
}

fn to_error(error: ReadError) -> Error {
    match error {
        ReadError::Cancelled => Error::content_modified(),
        ReadError::Panicked(what) => {
            let mut error = Error::internal_error();
            error.message = format!("Tritium failed on this request and goes on with the next: {what}").into();
            error
        }
        ReadError::Stopped => Error::request_cancelled(),
    }
}

/// Sends the diagnostics of a snapshot, unless the editor already has a newer text.
fn publisher(client: Client, files: Arc<Files>, encoding: Arc<OnceLock<Encoding>>) -> AfterChange {
    let runtime = tokio::runtime::Handle::current();
    // What is wrong with a configuration is told once.
    let told = std::sync::Mutex::new(std::collections::BTreeSet::new());
    Arc::new(move |analysis, path, version| {
        let Some(uri) = convert::uri(&path) else { return };
        let text = analysis.text(&path).unwrap_or_default();
        let index = LineIndex::new(&text);
        let encoding = encoding.get().copied().unwrap_or(Encoding::Utf16);
        let wanted = analysis.is_triton(&path) && !analysis.is_excluded(&path);
        let found = if wanted { analysis.diagnostics(&path) } else { Vec::new() };
        let found: Vec<lsp::Diagnostic> = found.iter().map(|d| convert::diagnostic(d, &uri, &index, encoding)).collect();
        for problem in analysis.project(&path).map_or(&[][..], |p| &p.problems) {
            let text = format!("Tritium: {problem}");
            if told.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(text.clone()) {
                let client = client.clone();
                runtime.spawn(async move { client.show_message(lsp::MessageType::WARNING, text).await });
            }
        }
        if files.get(&path).is_some_and(|file| file.version == version) {
            let client = client.clone();
            runtime.spawn(async move { client.publish_diagnostics(uri, found, Some(version)).await });
        }
    })
}

impl LanguageServer for Backend {
    async fn initialize(&self, params: lsp::InitializeParams) -> Result<lsp::InitializeResult> {
        let takes_pushes = params.capabilities.text_document.as_ref().is_some_and(|t| t.publish_diagnostics.is_some());
        let workspace = params.capabilities.workspace.as_ref();
        let refreshes = Refreshes {
            hints: workspace.and_then(|w| w.inlay_hint.as_ref()).is_some_and(|h| h.refresh_support == Some(true)),
            lenses: workspace.and_then(|w| w.code_lens.as_ref()).is_some_and(|l| l.refresh_support == Some(true)),
        };
        let _ = self.refreshes.set(refreshes);
        let watched = workspace.and_then(|w| w.did_change_watched_files.as_ref());
        let _ = self.watches.set(watched.is_some_and(|w| w.dynamic_registration == Some(true)));
        let offered = params.capabilities.general.and_then(|g| g.position_encodings);
        let encoding = *self.encoding.get_or_init(|| convert::negotiate(offered.as_deref()));
        if let Some(options) = params.initialization_options {
            self.configure(Options::from_json(&options));
        }
        Ok(lsp::InitializeResult {
            capabilities: lsp::ServerCapabilities {
                position_encoding: Some(convert::encoding_kind(encoding)),
                text_document_sync: Some(lsp::TextDocumentSyncCapability::Kind(lsp::TextDocumentSyncKind::INCREMENTAL)),
                hover_provider: Some(lsp::HoverProviderCapability::Simple(true)),
                inlay_hint_provider: Some(lsp::OneOf::Left(true)),
                code_lens_provider: Some(lsp::CodeLensOptions { resolve_provider: Some(false) }),
                code_action_provider: Some(lsp::CodeActionProviderCapability::Options(lsp::CodeActionOptions {
                    code_action_kinds: Some(vec![lsp::CodeActionKind::QUICKFIX]),
                    ..Default::default()
                })),
                // Pulled diagnostics are always answered, but offered only to a client that takes no pushed ones: editors that do both
                // would show every mistake twice.
                diagnostic_provider: (!takes_pushes).then(|| {
                    lsp::DiagnosticServerCapabilities::Options(lsp::DiagnosticOptions {
                        identifier: Some("tritium".to_owned()),
                        inter_file_dependencies: true,
                        workspace_diagnostics: false,
                        ..Default::default()
                    })
                }),
                execute_command_provider: Some(lsp::ExecuteCommandOptions {
                    commands: vec![RUN.to_owned(), views::ACTIVATE.to_owned()],
                    ..Default::default()
                }),
                ..Default::default()
            },
            server_info: Some(lsp::ServerInfo {
                name: "tritium".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
            ..Default::default()
        })
    }

    async fn initialized(&self, _: lsp::InitializedParams) {
        tracing::info!("ready");
        if self.watches.get() == Some(&true) {
            let client = self.client.clone();
            tokio::spawn(async move { client.register_capability(vec![watched_files()]).await });
        }
    }

    async fn shutdown(&self) -> Result<()> {
        self.owner.send(Task::Stop);
        Ok(())
    }

    async fn did_open(&self, params: lsp::DidOpenTextDocumentParams) {
        let document = params.text_document;
        let Some(path) = convert::path(&document.uri) else { return };
        self.files.open(path.clone(), document.text.clone(), document.version);
        self.owner.send(Task::Change { path, text: document.text, version: document.version });
    }

    async fn did_change(&self, params: lsp::DidChangeTextDocumentParams) {
        let Some(path) = convert::path(&params.text_document.uri) else { return };
        let version = params.text_document.version;
        if let Some(text) = self.files.change(&path, version, params.content_changes, self.encoding()) {
            self.owner.send(Task::Change { path, text, version });
        }
    }

    async fn did_close(&self, params: lsp::DidCloseTextDocumentParams) {
        let uri = params.text_document.uri;
        let Some(path) = convert::path(&uri) else { return };
        self.files.close(&path);
        self.owner.send(Task::Close { path });
        let client = self.client.clone();
        tokio::spawn(async move { client.publish_diagnostics(uri, Vec::new(), None).await });
    }

    async fn did_change_watched_files(&self, params: lsp::DidChangeWatchedFilesParams) {
        let paths = params.changes.iter().filter_map(|change| convert::path(&change.uri)).collect();
        let tree_changed = params.changes.iter().any(|change| change.typ != lsp::FileChangeType::CHANGED);
        self.owner.send(Task::Reload { paths, tree_changed });
    }

    async fn did_change_configuration(&self, params: lsp::DidChangeConfigurationParams) {
        let settings = params.settings.get("tritium").unwrap_or(&params.settings);
        self.configure(Options::from_json(settings));
        self.refresh();
    }

    async fn diagnostic(&self, params: lsp::DocumentDiagnosticParams) -> Result<lsp::DocumentDiagnosticReportResult> {
        let items = self.document(&params.text_document.uri, |document| document.diagnostics()).await?.unwrap_or_default();
        Ok(lsp::DocumentDiagnosticReportResult::Report(lsp::DocumentDiagnosticReport::Full(
            lsp::RelatedFullDocumentDiagnosticReport {
                related_documents: None,
                full_document_diagnostic_report: lsp::FullDocumentDiagnosticReport { result_id: None, items },
            },
        )))
    }

    async fn hover(&self, params: lsp::HoverParams) -> Result<Option<lsp::Hover>> {
        let at = params.text_document_position_params;
        let deadline = Instant::now() + HOVER_PATIENCE;
        loop {
            // Made before the question, so that no arrival after it is missed.
            let arrival = self.arrivals.notified();
            let answer = self.document(&at.text_document.uri, move |document| {
                let hover = document.analysis.hover(&document.path, document.offset(at.position))?;
                let contents = lsp::MarkupContent { kind: lsp::MarkupKind::Markdown, value: hover.markdown };
                let range = Some(document.range(&hover.range));
                Some((lsp::Hover { contents: lsp::HoverContents::Markup(contents), range }, hover.awaits_exact))
            });
            let Some((hover, awaits_exact)) = answer.await?.flatten() else { return Ok(None) };
            if !awaits_exact || timeout_at(deadline, arrival).await.is_err() {
                return Ok(Some(hover));
            }
        }
    }

    async fn inlay_hint(&self, params: lsp::InlayHintParams) -> Result<Option<Vec<lsp::InlayHint>>> {
        let answer = self.document(&params.text_document.uri, move |document| {
            let visible = convert::offsets(&document.index, params.range, document.encoding);
            let hints = document.analysis.inlay_hints(&document.path);
            let hints = hints.into_iter().filter(|hint| visible.start <= hint.offset && hint.offset <= visible.end);
            hints
                .map(|hint| lsp::InlayHint {
                    position: document.position(hint.offset),
                    label: lsp::InlayHintLabel::String(hint.label),
                    kind: hint.is_type.then_some(lsp::InlayHintKind::TYPE),
                    text_edits: None,
                    tooltip: Some(lsp::InlayHintTooltip::String(hint.tooltip)),
                    padding_left: Some(!hint.is_type),
                    padding_right: Some(false),
                    data: None,
                })
                .collect()
        });
        answer.await
    }

    async fn code_lens(&self, params: lsp::CodeLensParams) -> Result<Option<Vec<lsp::CodeLens>>> {
        let uri = params.text_document.uri.clone();
        let answer = self.document(&params.text_document.uri, move |document| {
            let lenses = document.analysis.code_lenses(&document.path).into_iter();
            lenses
                .map(|lens| lsp::CodeLens {
                    range: document.range(&lens.range),
                    command: Some(lsp::Command {
                        title: lens.title,
                        command: RUN_LENS.to_owned(),
                        arguments: Some(vec![
                            serde_json::json!({ "uri": uri.as_str(), "launch": lens.launch, "kernel": lens.kernel }),
                        ]),
                    }),
                    data: None,
                })
                .collect()
        });
        answer.await
    }

    async fn code_action(&self, params: lsp::CodeActionParams) -> Result<Option<lsp::CodeActionResponse>> {
        let answer = self.document(&params.text_document.uri, move |document| {
            let range = convert::offsets(&document.index, params.range, document.encoding);
            let actions = document.analysis.code_actions(&document.path, range).into_iter();
            actions
                .map(|action| {
                    let edits = convert::text_edits(&action.edits, &document.index, document.encoding);
                    let diagnostic = &action.diagnostic;
                    lsp::CodeActionOrCommand::CodeAction(lsp::CodeAction {
                        title: action.title,
                        kind: Some(lsp::CodeActionKind::QUICKFIX),
                        diagnostics: Some(vec![convert::diagnostic(
                            diagnostic,
                            &document.uri,
                            &document.index,
                            document.encoding,
                        )]),
                        edit: Some(lsp::WorkspaceEdit {
                            changes: Some([(document.uri.clone(), edits)].into_iter().collect()),
                            ..Default::default()
                        }),
                        is_preferred: Some(action.safe),
                        ..Default::default()
                    })
                })
                .collect()
        });
        answer.await
    }

    async fn execute_command(&self, params: lsp::ExecuteCommandParams) -> Result<Option<Value>> {
        if params.command == views::ACTIVATE {
            return self.activate(params.arguments.into_iter().next().unwrap_or_default());
        }
        if params.command != RUN {
            return Err(Error::invalid_params(format!("unknown command {}", params.command)));
        }
        let argument = params.arguments.first().cloned().unwrap_or_default();
        let request = run::Request::from_json(&argument).map_err(Error::invalid_params)?;
        let path = convert::path(&request.uri).ok_or_else(|| Error::invalid_params("only files can be run"))?;
        let read_path = path.clone();
        let found = self.owner.read(move |analysis| {
            (analysis.text(&read_path), analysis.options().clone(), analysis.project(&read_path).cloned().unwrap_or_default())
        });
        let (text, options, project) = found.await.map_err(to_error)?;
        let text = text.ok_or_else(|| Error::invalid_params(format!("{} cannot be read", path.display())))?;
        Ok(Some(run::run(path, text, request, &options, &project).await))
    }
}
