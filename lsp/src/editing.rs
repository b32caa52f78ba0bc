//! What helps while writing: completion, signatures, colours, folds, selections.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::json;
use tower_lsp::{Client, jsonrpc::Result, ls_types as lsp};

use super::{
    backend::{Backend, to_error},
    document::Document,
};
use tritium_ide::{self as ide, Feature, TokenKind, semantic_tokens::MODIFIERS};

/// By document: the number of its tokens, and the tokens.
type SentTokens = BTreeMap<String, (u64, Vec<lsp::SemanticToken>)>;

/// The tokens each document was last told of, for deltas.
#[derive(Default)]
pub(super) struct LastTokens {
    state: Mutex<(u64, SentTokens)>,
    /// How often the client was asked to forget its tokens, and how often it has done so.
    asked_to_forget: AtomicU64,
    forgotten: AtomicU64,
}

impl LastTokens {
    /// Keeps the new tokens; gives their id, and the old ones if they were those of `previous`.
    fn replace(
        &self,
        uri: &lsp::Uri,
        tokens: &[lsp::SemanticToken],
        previous: Option<&str>,
    ) -> (String, Option<Vec<lsp::SemanticToken>>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 += 1;
        let id = state.0;
        let old = state.1.insert(uri.as_str().to_owned(), (id, tokens.to_vec()));
        (id.to_string(), old.filter(|(id, _)| Some(id.to_string().as_str()) == previous).map(|(_, tokens)| tokens))
    }

    /// How often the client has forgotten its tokens, unless it is about to: then a difference would be one from nothing.
    fn is_kept(&self) -> Option<u64> {
        let asked = self.asked_to_forget.load(Ordering::SeqCst);
        (asked == self.forgotten.load(Ordering::SeqCst)).then_some(asked)
    }

    /// Has the client ask for all tokens again.
    pub(super) async fn refresh(&self, client: &Client) {
        self.asked_to_forget.fetch_add(1, Ordering::SeqCst);
        let _ = client.semantic_tokens_refresh().await;
        self.forgotten.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn forget(&self, uri: &lsp::Uri) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1.remove(uri.as_str());
    }
}

pub(super) fn legend() -> lsp::SemanticTokensLegend {
    lsp::SemanticTokensLegend {
        token_types: TokenKind::ALL.iter().map(|(_, name)| lsp::SemanticTokenType::new(name)).collect(),
        token_modifiers: MODIFIERS.iter().map(|name| lsp::SemanticTokenModifier::new(name)).collect(),
    }
}

impl Backend {
    pub(super) async fn complete(&self, params: lsp::CompletionParams) -> Result<Option<lsp::CompletionResponse>> {
        let at = params.text_document_position;
        let answer = self.document(&at.text_document.uri, move |document| {
            if !document.wants(Feature::Completion) {
                return Vec::new();
            }
            let generic = document.wants(Feature::GenericCompletion);
            let Some(offset) = document.offset(at.position) else { return Vec::new() };
            let found = document.analysis.completions(&document.path, offset, generic);
            found.into_iter().enumerate().filter_map(|(i, item)| completion_item(document, i, item)).collect()
        });
        Ok(answer.await?.filter(|items| !items.is_empty()).map(lsp::CompletionResponse::Array))
    }

    pub(super) async fn document_completion(&self, mut item: lsp::CompletionItem) -> Result<lsp::CompletionItem> {
        let field = |name: &str| item.data.as_ref().and_then(|d| d[name].as_str()).map(str::to_owned);
        let (Some(page), path) = (field("page"), field("uri").and_then(|uri| self.files.path(&uri.parse().ok()?))) else {
            return Ok(item);
        };
        let answer = self.owner.read(move |analysis| analysis.completion_documentation(path.as_deref(), &page));
        if let Some(value) = answer.await.map_err(to_error)? {
            let markup = lsp::MarkupContent { kind: lsp::MarkupKind::Markdown, value };
            item.documentation = Some(lsp::Documentation::MarkupContent(markup));
        }
        Ok(item)
    }

    pub(super) async fn signatures(&self, params: lsp::SignatureHelpParams) -> Result<Option<lsp::SignatureHelp>> {
        let at = params.text_document_position_params;
        let answer = self.document(&at.text_document.uri, move |document| {
            if !document.wants(Feature::SignatureHelp) {
                return None;
            }
            let triton_only = !document.wants(Feature::GenericCompletion);
            let help = document.analysis.signature_help(&document.path, document.offset(at.position)?, triton_only)?;
            let active = help.active_parameter.and_then(|n| u32::try_from(n).ok());
            let signatures = help.signatures.into_iter().map(|s| lsp::SignatureInformation {
                // Offsets into a label count UTF-16; what is not ASCII would need more than its bytes.
                parameters: Some(s.parameters.iter().map(|range| parameter(&s.label, range)).collect()),
                documentation: (!s.documentation.is_empty()).then(|| {
                    let markup = lsp::MarkupContent { kind: lsp::MarkupKind::Markdown, value: s.documentation.clone() };
                    lsp::Documentation::MarkupContent(markup)
                }),
                label: s.label,
                active_parameter: None,
            });
            Some(lsp::SignatureHelp { signatures: signatures.collect(), active_signature: Some(0), active_parameter: active })
        });
        Ok(answer.await?.flatten())
    }

    pub(super) async fn tokens(&self, uri: lsp::Uri, within: Option<lsp::Range>) -> Result<Option<Vec<lsp::SemanticToken>>> {
        let answer = self.document(&uri, move |document| {
            if !document.wants(Feature::SemanticTokens) {
                return None;
            }
            let visible = within.map(|range| document.offsets(range));
            let tokens = document.analysis.semantic_tokens(&document.path);
            let seen = |t: &&ide::Token| visible.as_ref().is_none_or(|v| v.start <= t.range.end && t.range.start <= v.end);
            Some(relative(document, tokens.iter().filter(seen)))
        });
        Ok(answer.await?.flatten())
    }

    pub(super) async fn all_tokens(&self, uri: lsp::Uri) -> Result<Option<lsp::SemanticTokensResult>> {
        let Some(data) = self.tokens(uri.clone(), None).await? else { return Ok(None) };
        let (id, _) = self.last_tokens.replace(&uri, &data, None);
        Ok(Some(lsp::SemanticTokensResult::Tokens(lsp::SemanticTokens { result_id: Some(id), data })))
    }

    pub(super) async fn changed_tokens(
        &self,
        params: lsp::SemanticTokensDeltaParams,
    ) -> Result<Option<lsp::SemanticTokensFullDeltaResult>> {
        let uri = params.text_document.uri;
        let kept = self.last_tokens.is_kept();
        let Some(data) = self.tokens(uri.clone(), None).await? else { return Ok(None) };
        let previous = (kept.is_some() && self.last_tokens.is_kept() == kept).then_some(params.previous_result_id.as_str());
        let (id, old) = self.last_tokens.replace(&uri, &data, previous);
        Ok(Some(match old {
            None => lsp::SemanticTokens { result_id: Some(id), data }.into(),
            Some(old) => lsp::SemanticTokensDelta { result_id: Some(id), edits: delta(&old, &data) }.into(),
        }))
    }

    pub(super) async fn foldings(&self, uri: &lsp::Uri) -> Result<Option<Vec<lsp::FoldingRange>>> {
        let answer = self.document(uri, |document| {
            if !document.wants(Feature::Folding) {
                return None;
            }
            let fold = |fold: ide::Fold| {
                let range = document.range(&fold.range).filter(|range| range.start.line < range.end.line)?;
                Some(lsp::FoldingRange {
                    start_line: range.start.line,
                    start_character: None,
                    end_line: range.end.line,
                    end_character: None,
                    kind: match fold.kind {
                        ide::FoldKind::Code => None,
                        ide::FoldKind::Comment => Some(lsp::FoldingRangeKind::Comment),
                        ide::FoldKind::Imports => Some(lsp::FoldingRangeKind::Imports),
                    },
                    collapsed_text: None,
                })
            };
            Some(document.analysis.folds(&document.path).into_iter().filter_map(fold).collect())
        });
        Ok(answer.await?.flatten())
    }

    pub(super) async fn selections(&self, params: lsp::SelectionRangeParams) -> Result<Option<Vec<lsp::SelectionRange>>> {
        let answer = self.document(&params.text_document.uri, move |document| {
            if !document.wants(Feature::Selection) {
                return None;
            }
            let row = |position: &lsp::Position| {
                let ranges = document.offset(*position).map(|at| document.analysis.selections(&document.path, at));
                let ranges = ranges.unwrap_or_default().into_iter().rev().filter_map(|range| document.range(&range));
                let nested = ranges.fold(None, |parent, range| Some(Box::new(lsp::SelectionRange { range, parent })));
                nested.map_or_else(|| lsp::SelectionRange { range: lsp::Range::new(*position, *position), parent: None }, |r| *r)
            };
            Some(params.positions.iter().map(row).collect())
        });
        Ok(answer.await?.flatten())
    }
}

fn completion_item(document: &Document<'_>, position: usize, item: ide::Completion) -> Option<lsp::CompletionItem> {
    let kind = match item.kind {
        ide::CompletionKind::Value => lsp::CompletionItemKind::VALUE,
        ide::CompletionKind::Variable => lsp::CompletionItemKind::VARIABLE,
        ide::CompletionKind::Parameter => lsp::CompletionItemKind::FIELD,
        ide::CompletionKind::Function => lsp::CompletionItemKind::FUNCTION,
        ide::CompletionKind::Type => lsp::CompletionItemKind::TYPE_PARAMETER,
    };
    // Neovim takes an edit only as far as its first space. What has one replaces no more than the word that any editor would replace.
    let (text_edit, insert_text) = if item.insert.contains(' ') {
        (None, Some(item.insert.clone()))
    } else {
        let edit = lsp::TextEdit { range: document.range(&item.replace)?, new_text: item.insert.clone() };
        (Some(lsp::CompletionTextEdit::Edit(edit)), None)
    };
    Some(lsp::CompletionItem {
        // What is typed already must match, quotes included.
        filter_text: Some(item.insert),
        text_edit,
        insert_text,
        // What fits best comes first, before what others offer.
        sort_text: Some(format!("!{position:04}")),
        preselect: (position == 0).then_some(true),
        data: item.page.map(|page| json!({ "page": page, "uri": document.part.uri.as_str() })),
        detail: Some(item.detail).filter(|d| !d.is_empty()),
        kind: Some(kind),
        label: item.label,
        ..Default::default()
    })
}

fn parameter(label: &str, range: &std::ops::Range<usize>) -> lsp::ParameterInformation {
    let units = |end: usize| label[..end].encode_utf16().count() as u32;
    lsp::ParameterInformation {
        label: lsp::ParameterLabel::LabelOffsets([units(range.start), units(range.end)]),
        documentation: None,
    }
}

/// Each token relative to the one before.
fn relative<'a>(document: &Document<'_>, tokens: impl Iterator<Item = &'a ide::Token>) -> Vec<lsp::SemanticToken> {
    let mut last = lsp::Position::default();
    tokens
        .filter_map(|token| {
            let range = document.range(&token.range)?;
            let delta_line = range.start.line - last.line;
            let delta_start = if delta_line == 0 { range.start.character - last.character } else { range.start.character };
            last = range.start;
            let kind = TokenKind::ALL.iter().position(|(kind, _)| *kind == token.kind).unwrap_or_default();
            Some(lsp::SemanticToken {
                delta_line,
                delta_start,
                length: range.end.character.saturating_sub(range.start.character),
                token_type: kind as u32,
                token_modifiers_bitset: token.modifiers,
            })
        })
        .collect()
}

/// One edit between what is the same at both ends; none if nothing changed.
fn delta(old: &[lsp::SemanticToken], new: &[lsp::SemanticToken]) -> Vec<lsp::SemanticTokensEdit> {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[start..], &new[start..]);
    let same = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[..old.len() - same], &new[..new.len() - same]);
    if old.is_empty() && new.is_empty() {
        return Vec::new();
    }
    // The protocol counts numbers, five a token.
    vec![lsp::SemanticTokensEdit { start: 5 * start as u32, delete_count: 5 * old.len() as u32, data: Some(new.to_vec()) }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delta_turns_the_old_tokens_into_the_new() {
        let token = |n: u32| lsp::SemanticToken { delta_line: n, ..Default::default() };
        let rows = [vec![], vec![1], vec![1, 2, 3], vec![1, 9, 3], vec![1, 1, 1], vec![1, 1], vec![2, 3], vec![1, 2, 2, 3]];
        for old in &rows {
            for new in &rows {
                let old: Vec<_> = old.iter().map(|&n| token(n)).collect();
                let new: Vec<_> = new.iter().map(|&n| token(n)).collect();
                let mut patched = old.clone();
                for edit in delta(&old, &new) {
                    let start = edit.start as usize / 5;
                    patched.splice(start..start + edit.delete_count as usize / 5, edit.data.unwrap_or_default());
                }
                assert_eq!(patched, new);
            }
        }
    }
}
