//! Going from place to place: definitions, references, renames, symbols, call hierarchies.

use std::collections::HashMap;

use serde_json::json;
use tower_lsp::{
    jsonrpc::{Error, Result},
    ls_types as lsp,
};

use super::{
    backend::{Backend, to_error},
    document::{Document, Files},
};
use tritium_ide::{self as ide, Feature};

impl Backend {
    pub(super) async fn definition(&self, at: lsp::TextDocumentPositionParams) -> Result<Option<lsp::GotoDefinitionResponse>> {
        let answer = self.document(&at.text_document.uri, move |document| {
            let strings_only = !document.wants(Feature::GenericDefinition);
            let found = document.analysis.definition(&document.path, document.offset(at.position)?, strings_only);
            targets(document, found)
        });
        Ok(answer.await?.flatten())
    }

    pub(super) async fn shape_definition(
        &self,
        at: lsp::TextDocumentPositionParams,
    ) -> Result<Option<lsp::GotoDefinitionResponse>> {
        let answer = self.document(&at.text_document.uri, move |document| {
            if !document.wants(Feature::ShapeDefinition) {
                return None;
            }
            targets(document, document.analysis.shape_definition(&document.path, document.offset(at.position)?))
        });
        Ok(answer.await?.flatten())
    }

    pub(super) async fn find_references(&self, params: lsp::ReferenceParams) -> Result<Option<Vec<lsp::Location>>> {
        let at = params.text_document_position;
        let answer = self.document(&at.text_document.uri, move |document| {
            if !document.wants(Feature::References) {
                return None;
            }
            let declarations = params.context.include_declaration;
            let found = document.analysis.references(&document.path, document.offset(at.position)?, declarations);
            let files = document.files();
            Some(found.iter().filter_map(|r| files.location(&r.path, &r.range)).collect())
        });
        Ok(answer.await?.flatten())
    }

    pub(super) async fn highlights(&self, at: lsp::TextDocumentPositionParams) -> Result<Option<Vec<lsp::DocumentHighlight>>> {
        let answer = self.document(&at.text_document.uri, move |document| {
            if !document.wants(Feature::Highlight) {
                return None;
            }
            let found = document.analysis.highlights(&document.path, document.offset(at.position)?).into_iter();
            let highlight = |r: ide::Reference| {
                let kind = match r.kind {
                    ide::ReferenceKind::Declaration | ide::ReferenceKind::Write => lsp::DocumentHighlightKind::WRITE,
                    ide::ReferenceKind::Read => lsp::DocumentHighlightKind::READ,
                    ide::ReferenceKind::Text => lsp::DocumentHighlightKind::TEXT,
                };
                Some(lsp::DocumentHighlight { range: document.range(&r.range)?, kind: Some(kind) })
            };
            Some(found.filter_map(highlight).collect())
        });
        Ok(answer.await?.flatten())
    }

    pub(super) async fn may_rename(&self, at: lsp::TextDocumentPositionParams) -> Result<Option<lsp::PrepareRenameResponse>> {
        let answer = self.document(&at.text_document.uri, move |document| {
            if !document.wants(Feature::Rename) {
                return Ok(None);
            }
            let Some(offset) = document.offset(at.position) else { return Ok(None) };
            let (range, placeholder) = document.analysis.prepare_rename(&document.path, offset)?;
            let range = document.range(&range);
            Ok(range.map(|range| lsp::PrepareRenameResponse::RangeWithPlaceholder { range, placeholder }))
        });
        answer.await?.unwrap_or(Ok(None)).map_err(refused)
    }

    pub(super) async fn rename_everywhere(&self, params: lsp::RenameParams) -> Result<Option<lsp::WorkspaceEdit>> {
        let at = params.text_document_position;
        let answer = self.document(&at.text_document.uri, move |document| {
            if !document.wants(Feature::Rename) {
                return Ok(None);
            }
            let Some(offset) = document.offset(at.position) else { return Ok(None) };
            let found = document.analysis.rename(&document.path, offset, &params.new_name)?;
            let files = document.files();
            let changes: HashMap<_, _> = found.iter().flat_map(|f| files.edits(&f.path, &f.edits)).collect();
            Ok(Some(lsp::WorkspaceEdit { changes: Some(changes), ..Default::default() }))
        });
        answer.await?.unwrap_or(Ok(None)).map_err(refused)
    }

    pub(super) async fn outline(&self, uri: &lsp::Uri) -> Result<Option<lsp::DocumentSymbolResponse>> {
        let answer = self.document(uri, |document| {
            if !document.wants(Feature::DocumentSymbols) {
                return None;
            }
            let symbols = document.analysis.document_symbols(&document.path);
            Some(lsp::DocumentSymbolResponse::Nested(symbols.into_iter().filter_map(|s| outline(document, s)).collect()))
        });
        Ok(answer.await?.flatten())
    }

    pub(super) async fn symbols(&self, query: String) -> Result<Option<lsp::WorkspaceSymbolResponse>> {
        let encoding = self.encoding();
        let answer = self.owner.read(move |analysis| {
            if !analysis.options().offers(Feature::WorkspaceSymbols) {
                return None;
            }
            let files = Files::new(&analysis, encoding);
            let symbol = |s: ide::Located| {
                let location = files.location(&s.path, &s.range)?;
                let container = s.path.file_name().map(|n| n.to_string_lossy().into_owned());
                Some(lsp::WorkspaceSymbol {
                    name: s.name,
                    kind: symbol_kind(s.kind),
                    tags: None,
                    container_name: container,
                    location: lsp::OneOf::Left(location),
                    data: None,
                })
            };
            let found = analysis.workspace_symbols(&query).into_iter().filter_map(symbol).collect();
            Some(lsp::WorkspaceSymbolResponse::Nested(found))
        });
        answer.await.map_err(to_error)
    }

    pub(super) async fn callers_of(&self, at: lsp::TextDocumentPositionParams) -> Result<Option<Vec<lsp::CallHierarchyItem>>> {
        let answer = self.document(&at.text_document.uri, move |document| {
            if !document.wants(Feature::CallHierarchy) {
                return None;
            }
            let found = document.analysis.call_hierarchy(&document.path, document.offset(at.position)?);
            let files = document.files();
            Some(found.into_iter().filter_map(|c| call_item(&files, c)).collect::<Vec<_>>()).filter(|items| !items.is_empty())
        });
        Ok(answer.await?.flatten())
    }

    pub(super) async fn incoming(&self, item: lsp::CallHierarchyItem) -> Result<Option<Vec<lsp::CallHierarchyIncomingCall>>> {
        let (offset, kind) = item_data(&item)?;
        let answer = self.document(&item.uri, move |document| {
            let files = document.files();
            let step = |step: ide::CallStep| {
                let path = step.to.path.clone();
                let from_ranges = step.ranges.iter().filter_map(|r| Some(files.location(&path, r)?.range)).collect();
                Some(lsp::CallHierarchyIncomingCall { from: call_item(&files, step.to)?, from_ranges })
            };
            document.analysis.incoming_calls(&document.path, offset, kind).into_iter().filter_map(step).collect()
        });
        answer.await
    }

    pub(super) async fn outgoing(&self, item: lsp::CallHierarchyItem) -> Result<Option<Vec<lsp::CallHierarchyOutgoingCall>>> {
        let (offset, kind) = item_data(&item)?;
        let answer = self.document(&item.uri, move |document| {
            let files = document.files();
            let step = |step: ide::CallStep| {
                let from_ranges = step.ranges.iter().filter_map(|r| document.range(r)).collect();
                Some(lsp::CallHierarchyOutgoingCall { to: call_item(&files, step.to)?, from_ranges })
            };
            document.analysis.outgoing_calls(&document.path, offset, kind).into_iter().filter_map(step).collect()
        });
        answer.await
    }
}

/// Why a rename cannot be: the editor shows the message.
fn refused(message: String) -> Error {
    Error { message: message.into(), ..Error::invalid_params(String::new()) }
}

fn targets(document: &Document<'_>, found: Vec<ide::Target>) -> Option<lsp::GotoDefinitionResponse> {
    let files = document.files();
    let locations: Vec<lsp::Location> = found.iter().filter_map(|t| files.location(&t.path, &t.range)).collect();
    (!locations.is_empty()).then_some(lsp::GotoDefinitionResponse::Array(locations))
}

fn symbol_kind(kind: ide::SymbolKind) -> lsp::SymbolKind {
    match kind {
        ide::SymbolKind::Kernel | ide::SymbolKind::Helper | ide::SymbolKind::Function => lsp::SymbolKind::FUNCTION,
        ide::SymbolKind::Class => lsp::SymbolKind::CLASS,
        ide::SymbolKind::Configuration => lsp::SymbolKind::OBJECT,
        ide::SymbolKind::Launch => lsp::SymbolKind::EVENT,
    }
}

fn kind_word(kind: ide::SymbolKind) -> &'static str {
    match kind {
        ide::SymbolKind::Kernel => "kernel",
        ide::SymbolKind::Helper => "helper",
        ide::SymbolKind::Function | ide::SymbolKind::Class | ide::SymbolKind::Configuration => "",
        ide::SymbolKind::Launch => "launch",
    }
}

fn outline(document: &Document<'_>, symbol: ide::Outline) -> Option<lsp::DocumentSymbol> {
    let word = kind_word(symbol.kind);
    let detail = if word.is_empty() || symbol.detail == word { symbol.detail } else { format!("{word} {}", symbol.detail) };
    #[expect(deprecated, reason = "the field has no default, and the protocol has replaced it")]
    let shown = lsp::DocumentSymbol {
        name: symbol.name,
        detail: Some(detail),
        kind: symbol_kind(symbol.kind),
        tags: None,
        deprecated: None,
        range: document.range(&symbol.range)?,
        selection_range: document.range(&symbol.selection)?,
        children: Some(symbol.children.into_iter().filter_map(|child| outline(document, child)).collect()),
    };
    Some(shown)
}

fn call_item(files: &Files<'_>, caller: ide::Caller) -> Option<lsp::CallHierarchyItem> {
    let whole = files.location(&caller.path, &caller.range)?;
    let name = files.location(&caller.path, &caller.selection)?;
    let word = kind_word(caller.kind);
    let detail =
        if word.is_empty() || caller.detail.starts_with(word) { caller.detail } else { format!("{word} · {}", caller.detail) };
    Some(lsp::CallHierarchyItem {
        name: caller.name,
        kind: symbol_kind(caller.kind),
        tags: None,
        detail: Some(detail),
        uri: whole.uri,
        range: whole.range,
        selection_range: name.range,
        data: Some(json!({ "offset": caller.selection.start, "launch": caller.kind == ide::SymbolKind::Launch })),
    })
}

fn item_data(item: &lsp::CallHierarchyItem) -> Result<(usize, ide::SymbolKind)> {
    let data = item.data.as_ref().ok_or_else(|| Error::invalid_params("the item is none of this server's"))?;
    let offset = data["offset"].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or_default();
    let kind = if data["launch"] == json!(true) { ide::SymbolKind::Launch } else { ide::SymbolKind::Function };
    Ok((offset, kind))
}
