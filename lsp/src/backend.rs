//! The requests, one method each.
//!
//! **Invariant:** no method blocks or awaits before it has changed [`Files`]; analysis happens on snapshots ([`Owner::read`]); what the
//! server asks of the client is spawned, never awaited inside a handler.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use serde_json::Value;
use tokio::{
    sync::{Notify, mpsc},
    time::{Instant, timeout_at},
};
use tower_lsp::{
    Client, LanguageServer,
    jsonrpc::{Error, Result},
    ls_types as lsp,
};
use tritium_runtime::{exec::Runs, run::Findings};
use tritium_syntax::Encoding;

use tritium_ide::{self as ide, Host, Options, Python, code_lens::Deed};

use crate::{
    analysis::{Owner, ReadError, Refresh, Task},
    capabilities::{self, watched_files},
    convert,
    diagnosing::Diagnosing,
    diagnostic_cache::DiagnosticCache,
    editing::LastTokens,
    files::{Files, NewText},
    parts::Places,
    progress::shown,
    publishing::{self, Published},
    recorded, run, tuned,
    views::{self, ViewOptions},
    workspace,
};

pub(super) use crate::document::Document;

/// The server's own command: runs a kernel's launch and answers with what it printed.
pub(crate) const RUN: &str = "tritium.server.run";
/// The same under checks: what is found is also among the diagnostics.
pub(crate) const SANITIZE: &str = "tritium.server.sanitize";
/// The same again and again, by the clock.
pub(crate) const BENCH: &str = "tritium.server.bench";
pub(crate) const TUNE: &str = "tritium.server.tune";
/// What a launch takes that is not wholly known: the free names of the function around it, with their values.
pub(crate) const ASK: &str = "tritium.server.ask";
/// The client's command behind the ▶ Run lens.
pub(crate) const RUN_LENS: &str = "tritium.run";
/// Those behind the lenses beside it.
pub(crate) const SANITIZE_LENS: &str = "tritium.sanitize";
pub(crate) const BENCH_LENS: &str = "tritium.bench";
pub(crate) const TUNE_LENS: &str = "tritium.tune";

/// How long a hover holds back for an exact figure: an editor shows no hover at once anyway, and few kernels take longer. The wait holds no
/// snapshot, so nobody's typing waits for it.
const HOVER_PATIENCE: Duration = Duration::from_millis(400);

#[derive(Clone)]
pub(crate) struct Backend {
    pub(super) client: Client,
    pub(super) files: Arc<Files>,
    pub(super) cache: Arc<DiagnosticCache>,
    pub(super) owner: Owner,
    published: mpsc::UnboundedSender<Published>,
    encoding: Arc<OnceLock<Encoding>>,
    facts: Arc<OnceLock<capabilities::Client>>,
    /// Told whenever an exact figure has arrived.
    pub(super) arrivals: Arc<Notify>,
    /// What the person looks at, beside the settings.
    pub(super) view_options: Arc<ViewOptions>,
    pub(super) last_tokens: Arc<LastTokens>,
    pub(super) roots: Arc<Mutex<Vec<PathBuf>>>,
    pub(super) runs: Arc<Runs>,
    /// Whether the features that a Python server has too are offered.
    pub(super) generic_offered: Arc<Mutex<bool>>,
}

/// Tells the client to ask again for what may have changed; spawned, since handlers never wait for the client.
fn refresh(client: &Client, facts: &OnceLock<capabilities::Client>, runtime: &tokio::runtime::Handle) {
    let Some(facts) = facts.get().cloned() else { return };
    let client = client.clone();
    runtime.spawn(async move {
        if facts.refreshes("inlayHint") {
            let _ = client.inlay_hint_refresh().await;
        }
        if facts.refreshes("codeLens") {
            let _ = client.code_lens_refresh().await;
        }
    });
}

impl Backend {
    pub(crate) fn new(client: Client, host: Host, runs: Arc<Runs>) -> Backend {
        let files = Arc::<Files>::default();
        let encoding = Arc::<OnceLock<Encoding>>::default();
        let facts = Arc::<OnceLock<capabilities::Client>>::default();
        let published = publishing::spawn(client.clone(), Arc::clone(&files), Arc::clone(&facts));
        let cache = Arc::<DiagnosticCache>::default();
        let diagnosing = Diagnosing {
            client: client.clone(),
            files: Arc::clone(&files),
            cache: Arc::clone(&cache),
            encoding: Arc::clone(&encoding),
            published: published.clone(),
            runtime: tokio::runtime::Handle::current(),
            told: Mutex::default(),
        };
        let (told, again, runtime) = (client.clone(), Arc::clone(&facts), tokio::runtime::Handle::current());
        let arrivals = Arc::<Notify>::default();
        let arrived = Arc::clone(&arrivals);
        let refreshed: Refresh = Arc::new(move || refresh(&told, &again, &runtime));
        let (told, again, runtime) = (client.clone(), Arc::clone(&facts), tokio::runtime::Handle::current());
        let others = Arc::clone(&refreshed);
        // Who asks for diagnostics has them from before.
        let refreshes: Refresh = Arc::new(move || {
            others();
            if again.get().is_some_and(|facts| facts.refreshes("diagnostics") && !facts.takes_pushes()) {
                let client = told.clone();
                runtime.spawn(async move { client.workspace_diagnostic_refresh().await });
            }
        });
        host.artefacts().on_arrival(Arc::new(move || {
            arrived.notify_waiters();
            refreshed();
        }));
        let analyse = Arc::new(move |analysis, job: &_| diagnosing.analyse(analysis, job));
        let owner = Owner::spawn(Arc::clone(&files), host, tokio::runtime::Handle::current(), analyse, refreshes);
        tokio::spawn(recorded::watch(Arc::downgrade(&files), owner.clone()));
        Backend {
            client,
            files,
            cache,
            owner,
            published,
            encoding,
            facts,
            arrivals,
            view_options: Arc::default(),
            last_tokens: Arc::default(),
            roots: Arc::default(),
            runs,
            generic_offered: Arc::default(),
        }
    }

    pub(super) fn client_facts(&self) -> capabilities::Client {
        self.facts.get().cloned().unwrap_or_default()
    }

    /// Everything that settings and files decide is asked for again.
    pub(super) fn refresh(&self) {
        refresh(&self.client, &self.facts, &tokio::runtime::Handle::current());
        let (client, facts, tokens) = (self.client.clone(), self.client_facts(), Arc::clone(&self.last_tokens));
        tokio::spawn(async move {
            if facts.refreshes("semanticTokens") {
                tokens.refresh(&client).await;
            }
            if facts.refreshes("diagnostics") && !facts.takes_pushes() {
                let _ = client.workspace_diagnostic_refresh().await;
            }
        });
    }

    /// Shows what a run under checks has found, as long as the text that it is about is there.
    async fn hold_findings(&self, path: PathBuf, text: String, findings: Findings) {
        let (cache, files) = (Arc::clone(&self.cache), Arc::clone(&self.files));
        let held = self.owner.read(move |analysis| {
            let held = analysis.held_findings(&path, &text, &findings);
            cache.keep(&path, || files.is_open(&path), |remembered| remembered.findings = held);
        });
        // Where a newer text came in between, it is looked at anyway and marks are moved with it.
        if held.await.is_ok() {
            self.owner.send(Task::Reload { paths: vec![], tree_changed: false });
        }
    }

    pub(super) fn encoding(&self) -> Encoding {
        self.encoding.get().copied().unwrap_or(Encoding::Utf16)
    }

    fn changed(&self, new: Option<NewText>) {
        if let Some(new) = new {
            self.owner.send(Task::Change(new));
        }
    }

    fn closed(&self, uri: &lsp::Uri) {
        let Some((path, uris)) = self.files.close(uri) else { return };
        self.cache.forget(&path);
        self.owner.send(Task::Close { path: path.clone() });
        uris.iter().for_each(|uri| self.last_tokens.forget(uri));
        // The receiver ends with the server.
        let _ = self.published.send(Published::Closed { path, uris });
    }

    /// Reads one document through the façade, with what is needed to convert positions. A change of another document is no reason not to
    /// answer: what it cancels is read again.
    pub(super) async fn document<T: Send + 'static>(
        &self,
        uri: &lsp::Uri,
        read: impl Fn(&Document) -> T + Send + Sync + 'static,
    ) -> Result<Option<T>> {
        let Some(asked_path) = self.files.path(uri) else { return Ok(None) };
        let (read, encoding) = (Arc::new(read), self.encoding());
        let edition = self.files.edition(&asked_path);
        loop {
            let (read, path, uri) = (Arc::clone(&read), asked_path.clone(), uri.clone());
            let answer = self.owner.read(move |analysis| {
                if !analysis.is_triton(&path) {
                    return None;
                }
                let analysis = &analysis.at(&path);
                let parts = analysis.parts(&path)?;
                let places = Places { parts: &parts, index: analysis.line_index(&path)?, encoding };
                Some(read(&Document { analysis, path, part: parts.named(&uri)?, places }))
            });
            match answer.await {
                Err(ReadError::Cancelled) if self.files.edition(&asked_path) == edition => {}
                answer => return answer.map_err(to_error),
            }
        }
    }
}

pub(super) fn to_error(error: ReadError) -> Error {
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

impl LanguageServer for Backend {
    async fn initialize(&self, params: lsp::InitializeParams) -> Result<lsp::InitializeResult> {
        let facts = capabilities::Client::new(&params.capabilities);
        let _ = self.facts.set(facts.clone());
        let roots = workspace::roots(&params);
        self.roots.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone_from(&roots);
        self.owner.send(Task::Roots(roots));
        let offered = params.capabilities.general.and_then(|g| g.position_encodings);
        let encoding = *self.encoding.get_or_init(|| convert::negotiate(offered.as_deref()));
        let options = params.initialization_options.as_ref().map(Options::from_json).unwrap_or_default();
        *self.generic_offered.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = options.python == Python::None;
        let capabilities = capabilities::offered(encoding, &facts, &options);
        self.configure(options);
        Ok(lsp::InitializeResult {
            capabilities,
            server_info: Some(lsp::ServerInfo {
                name: "tritium".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
            ..Default::default()
        })
    }

    async fn initialized(&self, _: lsp::InitializedParams) {
        tracing::info!("ready");
        if self.client_facts().registers("workspace/didChangeWatchedFiles") {
            let client = self.client.clone();
            tokio::spawn(async move { client.register_capability(vec![watched_files()]).await });
        }
        self.ask_for_settings();
    }

    async fn shutdown(&self) -> Result<()> {
        self.runs.end_all();
        self.owner.send(Task::Stop);
        Ok(())
    }

    async fn did_open(&self, params: lsp::DidOpenTextDocumentParams) {
        self.changed(self.files.open(params.text_document));
    }

    async fn did_change(&self, params: lsp::DidChangeTextDocumentParams) {
        self.changed(self.files.change(params, self.encoding()));
    }

    async fn did_close(&self, params: lsp::DidCloseTextDocumentParams) {
        self.closed(&params.text_document.uri);
    }

    async fn notebook_did_open(&self, params: lsp::DidOpenNotebookDocumentParams) {
        self.changed(self.files.open_notebook(params));
    }

    async fn notebook_did_change(&self, params: lsp::DidChangeNotebookDocumentParams) {
        self.changed(self.files.change_notebook(params, self.encoding()));
    }

    async fn notebook_did_save(&self, _: lsp::DidSaveNotebookDocumentParams) {}

    async fn notebook_did_close(&self, params: lsp::DidCloseNotebookDocumentParams) {
        self.closed(&params.notebook_document.uri);
    }

    async fn did_change_watched_files(&self, params: lsp::DidChangeWatchedFilesParams) {
        let paths = params.changes.iter().filter_map(|change| convert::path(&change.uri)).collect();
        let tree_changed = params.changes.iter().any(|change| change.typ != lsp::FileChangeType::CHANGED);
        self.owner.send(Task::Reload { paths, tree_changed });
        self.refresh();
    }

    async fn did_change_configuration(&self, params: lsp::DidChangeConfigurationParams) {
        let settings = params.settings.get("tritium").unwrap_or(&params.settings);
        if !settings.is_object() {
            // The client only says that something changed.
            return self.ask_for_settings();
        }
        self.settle(Options::from_json(settings));
        self.refresh();
    }

    async fn did_change_workspace_folders(&self, params: lsp::DidChangeWorkspaceFoldersParams) {
        self.change_folders(&params.event);
    }

    async fn diagnostic(&self, params: lsp::DocumentDiagnosticParams) -> Result<lsp::DocumentDiagnosticReportResult> {
        self.pulled(params).await
    }

    async fn workspace_diagnostic(&self, params: lsp::WorkspaceDiagnosticParams) -> Result<lsp::WorkspaceDiagnosticReportResult> {
        self.pulled_everywhere(params).await
    }

    async fn goto_definition(&self, params: lsp::GotoDefinitionParams) -> Result<Option<lsp::GotoDefinitionResponse>> {
        self.definition(params.text_document_position_params).await
    }

    async fn goto_type_definition(&self, params: lsp::GotoDefinitionParams) -> Result<Option<lsp::GotoDefinitionResponse>> {
        self.shape_definition(params.text_document_position_params).await
    }

    async fn references(&self, params: lsp::ReferenceParams) -> Result<Option<Vec<lsp::Location>>> {
        self.find_references(params).await
    }

    async fn document_highlight(&self, params: lsp::DocumentHighlightParams) -> Result<Option<Vec<lsp::DocumentHighlight>>> {
        self.highlights(params.text_document_position_params).await
    }

    async fn prepare_rename(&self, params: lsp::TextDocumentPositionParams) -> Result<Option<lsp::PrepareRenameResponse>> {
        self.may_rename(params).await
    }

    async fn rename(&self, params: lsp::RenameParams) -> Result<Option<lsp::WorkspaceEdit>> {
        self.rename_everywhere(params).await
    }

    async fn document_symbol(&self, params: lsp::DocumentSymbolParams) -> Result<Option<lsp::DocumentSymbolResponse>> {
        self.outline(&params.text_document.uri).await
    }

    async fn symbol(&self, params: lsp::WorkspaceSymbolParams) -> Result<Option<lsp::WorkspaceSymbolResponse>> {
        self.symbols(params.query).await
    }

    async fn prepare_call_hierarchy(
        &self,
        params: lsp::CallHierarchyPrepareParams,
    ) -> Result<Option<Vec<lsp::CallHierarchyItem>>> {
        self.callers_of(params.text_document_position_params).await
    }

    async fn incoming_calls(
        &self,
        params: lsp::CallHierarchyIncomingCallsParams,
    ) -> Result<Option<Vec<lsp::CallHierarchyIncomingCall>>> {
        self.incoming(params.item).await
    }

    async fn outgoing_calls(
        &self,
        params: lsp::CallHierarchyOutgoingCallsParams,
    ) -> Result<Option<Vec<lsp::CallHierarchyOutgoingCall>>> {
        self.outgoing(params.item).await
    }

    async fn completion(&self, params: lsp::CompletionParams) -> Result<Option<lsp::CompletionResponse>> {
        self.complete(params).await
    }

    async fn completion_resolve(&self, item: lsp::CompletionItem) -> Result<lsp::CompletionItem> {
        self.document_completion(item).await
    }

    async fn signature_help(&self, params: lsp::SignatureHelpParams) -> Result<Option<lsp::SignatureHelp>> {
        self.signatures(params).await
    }

    async fn semantic_tokens_full(&self, params: lsp::SemanticTokensParams) -> Result<Option<lsp::SemanticTokensResult>> {
        self.all_tokens(params.text_document.uri).await
    }

    async fn semantic_tokens_full_delta(
        &self,
        params: lsp::SemanticTokensDeltaParams,
    ) -> Result<Option<lsp::SemanticTokensFullDeltaResult>> {
        self.changed_tokens(params).await
    }

    async fn semantic_tokens_range(
        &self,
        params: lsp::SemanticTokensRangeParams,
    ) -> Result<Option<lsp::SemanticTokensRangeResult>> {
        let data = self.tokens(params.text_document.uri, Some(params.range)).await?;
        Ok(data.map(|data| lsp::SemanticTokensRangeResult::Tokens(lsp::SemanticTokens { result_id: None, data })))
    }

    async fn folding_range(&self, params: lsp::FoldingRangeParams) -> Result<Option<Vec<lsp::FoldingRange>>> {
        self.foldings(&params.text_document.uri).await
    }

    async fn selection_range(&self, params: lsp::SelectionRangeParams) -> Result<Option<Vec<lsp::SelectionRange>>> {
        self.selections(params).await
    }

    async fn hover(&self, params: lsp::HoverParams) -> Result<Option<lsp::Hover>> {
        let at = params.text_document_position_params;
        let deadline = Instant::now() + HOVER_PATIENCE;
        let (uri, command) = (at.text_document.uri.clone(), self.client_facts().report_command());
        loop {
            // Made before the question, so that no arrival after it is missed.
            let arrival = self.arrivals.notified();
            let (asked_uri, command) = (uri.clone(), command.clone());
            let answer = self.document(&uri, move |document| {
                let hover = document.analysis.hover(&document.path, document.offset(at.position)?)?;
                let link = command.as_ref().filter(|_| !hover.rest.is_empty()).and_then(|command| {
                    let text = document.analysis.text(&document.path)?;
                    let argument = serde_json::json!([{ "uri": asked_uri.as_str(), "kernel": text.get(hover.range.clone())? }]);
                    Some(format!("\n[Report]({})\n", convert::command_link(command, &argument)))
                });
                let value = link.map_or_else(|| hover.whole(), |link| format!("{}{link}", hover.markdown));
                let contents = lsp::MarkupContent { kind: lsp::MarkupKind::Markdown, value };
                let range = document.range(&hover.range);
                Some((lsp::Hover { contents: lsp::HoverContents::Markup(contents), range }, hover.awaits_exact))
            });
            let Some((hover, awaits_exact)) = answer.await?.flatten() else { return Ok(None) };
            if !awaits_exact || timeout_at(deadline, arrival).await.is_err() {
                return Ok(Some(hover));
            }
        }
    }

    async fn inlay_hint(&self, params: lsp::InlayHintParams) -> Result<Option<Vec<lsp::InlayHint>>> {
        self.hints(params).await
    }

    async fn inlay_hint_resolve(&self, hint: lsp::InlayHint) -> Result<lsp::InlayHint> {
        self.explain_hint(hint).await
    }

    async fn code_lens(&self, params: lsp::CodeLensParams) -> Result<Option<Vec<lsp::CodeLens>>> {
        let uri = params.text_document.uri.clone();
        let answer = self.document(&params.text_document.uri, move |document| {
            let lenses = document.analysis.code_lenses(&document.path).into_iter();
            let lens = |lens: ide::Lens| {
                let mut argument = serde_json::json!({ "uri": uri.as_str(), "launch": lens.launch, "kernel": lens.kernel });
                if lens.launch.is_none() {
                    argument["ask"] = true.into();
                }
                let command = match lens.deed {
                    Deed::Run => RUN_LENS,
                    Deed::Sanitize => SANITIZE_LENS,
                    Deed::Bench => BENCH_LENS,
                    Deed::Tune => TUNE_LENS,
                };
                let command = lsp::Command { title: lens.title, command: command.to_owned(), arguments: Some(vec![argument]) };
                Some(lsp::CodeLens { range: document.range(&lens.range)?, command: Some(command), data: None })
            };
            lenses.filter_map(lens).collect()
        });
        answer.await
    }

    async fn code_action(&self, params: lsp::CodeActionParams) -> Result<Option<lsp::CodeActionResponse>> {
        self.actions(params).await
    }

    async fn execute_command(&self, params: lsp::ExecuteCommandParams) -> Result<Option<Value>> {
        if params.command == views::ACTIVATE {
            return self.activate(params.arguments.into_iter().next().unwrap_or_default());
        }
        if params.command == tuned::WRITE {
            return self.write_tuned(params.arguments.into_iter().next().unwrap_or_default()).await;
        }
        let is_asked = params.command == ASK;
        let deed = match params.command.as_str() {
            ASK | RUN => Deed::Run,
            SANITIZE => Deed::Sanitize,
            BENCH => Deed::Bench,
            TUNE => Deed::Tune,
            other => return Err(Error::invalid_params(format!("unknown command {other}"))),
        };
        let argument = params.arguments.first().cloned().unwrap_or_default();
        let request = run::Request::from_json(&argument).map_err(Error::invalid_params)?;
        let path = self.files.path(&request.uri).ok_or_else(|| Error::invalid_params("only files can be run"))?;
        let read_path = path.clone();
        let token = params.work_done_progress_params.work_done_token;
        if let Some(set) = request.set.clone().or_else(|| is_asked.then(Vec::new)) {
            let entered =
                self.owner.read(move |analysis| run::Entered::of(&analysis, read_path, request.kernel.as_deref(), &set));
            let run::Entered { asked, options, given, block } = match entered.await.map_err(to_error)? {
                Ok(found) => found,
                Err(why) => return Ok(Some(run::failed(why))),
            };
            if is_asked {
                return Ok(Some(serde_json::json!({ "ok": true, "function": given.function, "names": given.names })));
            }
            let mut outcome = self.done(asked, deed, &options, token).await;
            if let Value::Object(fields) = &mut outcome {
                let told = fields.get("text").and_then(Value::as_str).unwrap_or_default();
                fields.insert("text".to_owned(), format!("entered {given}\n\n{told}").into());
                fields.insert("entered".to_owned(), serde_json::json!(given));
                fields.insert("block".to_owned(), serde_json::json!(block));
            }
            return Ok(Some(outcome));
        }
        let found = self.owner.read(move |analysis| {
            let launch = analysis.launch_to_run(&read_path, request.kernel.as_deref(), request.launch.as_deref());
            Some((run::Asked::of(&analysis, read_path, launch)?, analysis.options().clone()))
        });
        let found = found.await.map_err(to_error)?;
        let (asked, options) = found.ok_or_else(|| Error::invalid_params(format!("{} cannot be read", path.display())))?;
        Ok(Some(self.done(asked, deed, &options, token).await))
    }
}

impl Backend {
    /// Does with a launch what is wanted, with its progress shown.
    async fn done(&self, asked: run::Asked, deed: Deed, options: &Options, token: Option<lsp::ProgressToken>) -> Value {
        let doing = match deed {
            Deed::Run => "Running",
            Deed::Sanitize => "Checking",
            Deed::Bench => "Timing",
            Deed::Tune => "Tuning",
        };
        let title = format!("{doing} {}", asked.launch.as_deref().unwrap_or("a kernel"));
        let progress = shown(&self.client, token, &title, |plain| plain).await;
        let runner = run::Runner { options, runs: &self.runs, progress: &progress };
        let outcome = match deed {
            Deed::Run => runner.run(asked).await,
            Deed::Bench => runner.bench(asked).await,
            Deed::Tune => {
                let path = asked.path.clone();
                let (outcome, tuning) = runner.tune(asked).await;
                match tuning {
                    Some(tuning) => self.with_offer(outcome, path, tuning).await,
                    None => outcome,
                }
            }
            Deed::Sanitize => {
                let (path, text) = (asked.path.clone(), asked.text.clone());
                let (outcome, findings) = runner.sanitize(asked).await;
                if let Some(findings) = findings {
                    self.hold_findings(path, text, findings).await;
                }
                outcome
            }
        };
        progress.finish().await;
        outcome
    }
}
