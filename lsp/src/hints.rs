//! Hovers over a selection, inlay hints and code actions.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;
use tower_lsp::{jsonrpc::Result, ls_types as lsp};

use super::backend::Backend;
use tritium_ide::{self as ide, ActionKind};

/// A hover whose `position` is a range; see [`super::hover_range_request`].
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RangedHover {
    text_document: lsp::TextDocumentIdentifier,
    position: lsp::Range,
}

impl Backend {
    pub(crate) async fn hover_selection(&self, params: RangedHover) -> Result<Option<lsp::Hover>> {
        let answer = self.document(&params.text_document.uri, move |document| {
            let range = document.offsets(params.position);
            let hover = if range.is_empty() {
                document.analysis.hover(&document.path, range.start)?
            } else {
                document.analysis.hover_selection(&document.path, range)?
            };
            let contents = lsp::MarkupContent { kind: lsp::MarkupKind::Markdown, value: hover.markdown };
            Some(lsp::Hover { contents: lsp::HoverContents::Markup(contents), range: document.range(&hover.range) })
        });
        Ok(answer.await?.flatten())
    }

    pub(super) async fn hints(&self, params: lsp::InlayHintParams) -> Result<Option<Vec<lsp::InlayHint>>> {
        let later = self.client_facts().resolves_hints();
        let answer = self.document(&params.text_document.uri, move |document| {
            let visible = document.offsets(params.range);
            let hints = document.analysis.inlay_hints(&document.path);
            let hints = hints.into_iter().filter(|hint| visible.start <= hint.offset && hint.offset <= visible.end);
            hints
                .map(|hint| lsp::InlayHint {
                    position: document.position(hint.offset),
                    kind: hint.is_type.then_some(lsp::InlayHintKind::TYPE),
                    text_edits: None,
                    tooltip: (!later).then_some(lsp::InlayHintTooltip::String(hint.tooltip)),
                    padding_left: Some(!hint.is_type),
                    padding_right: Some(false),
                    data: later.then_some(json!({ "uri": document.part.uri.as_str() })),
                    label: lsp::InlayHintLabel::String(hint.label),
                })
                .collect()
        });
        answer.await
    }

    /// The tooltip of a hint, if the hint is still true.
    pub(super) async fn explain_hint(&self, mut hint: lsp::InlayHint) -> Result<lsp::InlayHint> {
        let uri = hint.data.as_ref().and_then(|d| d["uri"].as_str()?.parse::<lsp::Uri>().ok());
        let (Some(uri), lsp::InlayHintLabel::String(label)) = (uri, hint.label.clone()) else { return Ok(hint) };
        let position = hint.position;
        let answer = self.document(&uri, move |document| {
            let offset = document.offset(position)?;
            let hints = document.analysis.inlay_hints(&document.path).into_iter();
            hints.filter(|h| h.offset == offset && h.label == label).map(|h| h.tooltip).next()
        });
        hint.tooltip = answer.await?.flatten().map(lsp::InlayHintTooltip::String);
        Ok(hint)
    }

    pub(super) async fn actions(&self, params: lsp::CodeActionParams) -> Result<Option<lsp::CodeActionResponse>> {
        // An editor that looks for a light bulb to show asks with every step of the cursor.
        let is_asked = params.context.trigger_kind != Some(lsp::CodeActionTriggerKind::AUTOMATIC);
        let (only, cache) = (params.context.only, Arc::clone(&self.cache));
        let answer = self.document(&params.text_document.uri, move |document| {
            let range = document.offsets(params.range);
            let wants = |kind: ActionKind| {
                let kind = protocol_kind(kind);
                // `refactor` asks for all of its parts.
                let holds = |asked: &lsp::CodeActionKind| {
                    kind == *asked || kind.as_str().strip_prefix(asked.as_str()).is_some_and(|rest| rest.starts_with('.'))
                };
                only.as_ref().is_none_or(|only| only.iter().any(holds))
            };
            let remarks = match is_asked {
                true => document.analysis.remarks(&document.path),
                false => cache.of(&document.path).remarks.in_text(&document.analysis.text(&document.path).unwrap_or_default()),
            };
            let actions = document.analysis.code_actions(&document.path, range, &remarks, wants).into_iter();
            actions
                .map(|action| {
                    let changes = document.places.edits(&action.edits);
                    lsp::CodeActionOrCommand::CodeAction(lsp::CodeAction {
                        title: action.title,
                        kind: Some(protocol_kind(action.kind)),
                        diagnostics: action.diagnostic.as_ref().and_then(|d| Some(vec![document.places.diagnostic(d)?.1])),
                        edit: Some(lsp::WorkspaceEdit { changes: Some(changes), ..Default::default() }),
                        is_preferred: Some(
                            action.applicability == ide::Applicability::Safe && action.kind == ActionKind::QuickFix,
                        ),
                        ..Default::default()
                    })
                })
                .collect()
        });
        answer.await
    }
}

fn protocol_kind(kind: ide::ActionKind) -> lsp::CodeActionKind {
    match kind {
        ActionKind::QuickFix => lsp::CodeActionKind::QUICKFIX,
        ActionKind::Extract => lsp::CodeActionKind::REFACTOR_EXTRACT,
        ActionKind::Rewrite => lsp::CodeActionKind::REFACTOR_REWRITE,
        ActionKind::FixAll => lsp::CodeActionKind::SOURCE_FIX_ALL,
    }
}
