//! The whole workspace: its folders, its settings, and the diagnostics of all its files.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::PathBuf,
};

use serde_json::Value;
use tower_lsp::{jsonrpc::Result, ls_types as lsp};

use super::{
    analysis::{ReadError, Task},
    backend::{Backend, to_error},
    capabilities::{self, Change},
    convert,
    document::found,
    parts::{Part, Places},
    progress::shown,
};
use tritium_ide::Options;

pub(super) fn roots(params: &lsp::InitializeParams) -> Vec<PathBuf> {
    let folders = params.workspace_folders.iter().flatten().filter_map(|f| convert::path(&f.uri));
    let found: Vec<PathBuf> = folders.collect();
    #[expect(deprecated, reason = "older clients have one folder")]
    let root = params.root_uri.as_ref().and_then(convert::path);
    if found.is_empty() { root.into_iter().collect() } else { found }
}

impl Backend {
    pub(super) fn change_folders(&self, event: &lsp::WorkspaceFoldersChangeEvent) {
        let mut roots = self.roots.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let removed: Vec<PathBuf> = event.removed.iter().filter_map(|f| convert::path(&f.uri)).collect();
        roots.retain(|root| !removed.contains(root));
        for added in event.added.iter().filter_map(|f| convert::path(&f.uri)) {
            if !roots.contains(&added) {
                roots.push(added);
            }
        }
        self.owner.send(Task::Roots(roots.clone()));
    }

    /// Settings arrived; features that a Python server has come and go with them.
    pub(super) fn settle(&self, options: Options) {
        let (python, client) = (options.python, self.client_facts());
        self.configure(options);
        let mut offered = self.generic_offered.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Some(change) = capabilities::generic(&client, python, *offered) else { return };
        *offered = !*offered;
        let client = self.client.clone();
        tokio::spawn(async move {
            let _ = match change {
                Change::Register(all) if !all.is_empty() => client.register_capability(all).await,
                Change::Unregister(all) if !all.is_empty() => client.unregister_capability(all).await,
                _ => Ok(()),
            };
        });
    }

    /// Asks the client for its settings, where it can be asked.
    pub(super) fn ask_for_settings(&self) {
        if !self.client_facts().has_configuration() {
            return;
        }
        let (client, backend) = (self.client.clone(), self.clone());
        tokio::spawn(async move {
            let item = lsp::ConfigurationItem { scope_uri: None, section: Some("tritium".to_owned()) };
            if let Ok(all) = client.configuration(vec![item]).await
                && let Some(settings @ Value::Object(_)) = all.first()
            {
                backend.settle(Options::from_json(settings));
                backend.refresh();
            }
        });
    }

    pub(super) async fn pulled(&self, params: lsp::DocumentDiagnosticParams) -> Result<lsp::DocumentDiagnosticReportResult> {
        let items = self.document(&params.text_document.uri, |document| document.diagnostics()).await?.unwrap_or_default();
        let id = fingerprint(&items);
        let report = if params.previous_result_id.as_ref() == Some(&id) {
            lsp::DocumentDiagnosticReport::Unchanged(lsp::RelatedUnchangedDocumentDiagnosticReport {
                related_documents: None,
                unchanged_document_diagnostic_report: lsp::UnchangedDocumentDiagnosticReport { result_id: id },
            })
        } else {
            lsp::DocumentDiagnosticReport::Full(lsp::RelatedFullDocumentDiagnosticReport {
                related_documents: None,
                full_document_diagnostic_report: lsp::FullDocumentDiagnosticReport { result_id: Some(id), items },
            })
        };
        Ok(lsp::DocumentDiagnosticReportResult::Report(report))
    }

    /// File by file, so that typing goes on in between; a file that changed meanwhile is looked at again.
    pub(super) async fn pulled_everywhere(
        &self,
        params: lsp::WorkspaceDiagnosticParams,
    ) -> Result<lsp::WorkspaceDiagnosticReportResult> {
        let files = self.owner.read(|analysis| analysis.files_with_kernels());
        let files = files.await.map_err(to_error)?;
        let token = params.work_done_progress_params.work_done_token;
        let progress = shown(&self.client, token, "Checking kernels", |plain| plain.with_percentage(0)).await;
        let mut items = Vec::new();
        for (done, path) in files.iter().enumerate() {
            if let Some(progress) = progress.ongoing() {
                let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
                progress.report_with_message(name, (100 * done / files.len().max(1)) as u32).await;
            }
            let found = loop {
                let (path, encoding) = (path.clone(), self.encoding());
                let read = self.owner.read(move |analysis| {
                    let analysis = &analysis.at(&path);
                    let (parts, index) = (analysis.parts(&path)?, analysis.line_index(&path)?);
                    if !analysis.is_triton(&path) {
                        return None;
                    }
                    let found = Places { parts: &parts, index, encoding }.diagnostics(&found(analysis, &path));
                    Some(found.into_iter().map(|(part, items)| (part.clone(), items)).collect::<Vec<_>>())
                });
                match read.await {
                    Err(ReadError::Cancelled) => {}
                    // A file that cannot be checked must not cost the others.
                    Err(ReadError::Panicked(_)) => break None,
                    other => break other.map_err(to_error)?,
                }
            };
            for (Part { uri, version, .. }, found) in found.into_iter().flatten() {
                let version = version.map(i64::from);
                let id = fingerprint(&found);
                let known = params.previous_result_ids.iter().any(|p| p.uri == uri && p.value == id);
                items.push(if known {
                    lsp::WorkspaceDocumentDiagnosticReport::Unchanged(lsp::WorkspaceUnchangedDocumentDiagnosticReport {
                        uri,
                        version,
                        unchanged_document_diagnostic_report: lsp::UnchangedDocumentDiagnosticReport { result_id: id },
                    })
                } else {
                    lsp::WorkspaceDocumentDiagnosticReport::Full(lsp::WorkspaceFullDocumentDiagnosticReport {
                        uri,
                        version,
                        full_document_diagnostic_report: lsp::FullDocumentDiagnosticReport { result_id: Some(id), items: found },
                    })
                });
            }
        }
        progress.finish().await;
        Ok(lsp::WorkspaceDiagnosticReportResult::Report(lsp::WorkspaceDiagnosticReport { items }))
    }
}

/// The same for the same diagnostics.
fn fingerprint(items: &[lsp::Diagnostic]) -> String {
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(items).unwrap_or_default().hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
