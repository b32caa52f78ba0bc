//! A notebook that the client has open: its cells in order, and their texts.
//!
//! **Invariant:** after every notification the texts are those of the cells in order; what the client says of a cell that is not there is
//! passed over.

use std::collections::HashMap;

use tower_lsp::ls_types::{self as lsp, NotebookCellKind};
use tritium_semantics::notebook::NotebookPython;
use tritium_syntax::Encoding;

use crate::{files::Buffer, parts::Parts};

#[derive(Debug)]
pub(crate) struct Notebook {
    cells: Vec<lsp::NotebookCell>,
    texts: HashMap<lsp::Uri, Text>,
}

#[derive(Debug)]
struct Text {
    is_python: bool,
    buffer: Buffer,
}

impl Notebook {
    pub(crate) fn new(cells: Vec<lsp::NotebookCell>, texts: Vec<lsp::TextDocumentItem>) -> Notebook {
        let mut notebook = Notebook { cells, texts: HashMap::new() };
        notebook.open(texts);
        notebook
    }

    fn open(&mut self, texts: Vec<lsp::TextDocumentItem>) {
        for lsp::TextDocumentItem { uri, language_id, version, text } in texts {
            let is_python = language_id == "python";
            self.texts.insert(uri, Text { is_python, buffer: Buffer { version, text } });
        }
    }

    pub(crate) fn holds(&self, uri: &lsp::Uri) -> bool {
        self.texts.contains_key(uri)
    }

    pub(crate) fn uris(&self) -> impl Iterator<Item = &lsp::Uri> {
        self.texts.keys()
    }

    pub(crate) fn change(&mut self, change: lsp::NotebookDocumentCellChange, encoding: Encoding) {
        if let Some(structure) = change.structure {
            let lsp::NotebookCellArrayChange { start, delete_count, cells } = structure.array;
            let start = (start as usize).min(self.cells.len());
            let end = start.saturating_add(delete_count as usize).min(self.cells.len());
            self.cells.splice(start..end, cells.unwrap_or_default());
            for closed in structure.did_close.unwrap_or_default() {
                self.texts.remove(&closed.uri);
            }
            self.open(structure.did_open.unwrap_or_default());
        }
        for cell in change.data.unwrap_or_default() {
            if let Some(known) = self.cells.iter_mut().find(|known| known.document == cell.document) {
                *known = cell;
            }
        }
        for lsp::NotebookDocumentChangeTextContent { document, changes } in change.text_content.unwrap_or_default() {
            if let Some(text) = self.texts.get_mut(&document.uri) {
                text.buffer.change(document.version, changes, encoding);
            }
        }
    }

    /// Its Python, and the cells that it stands in.
    pub(crate) fn python(&self) -> (String, Parts) {
        let mut python = NotebookPython::default();
        let mut shown = Vec::new();
        for cell in self.cells.iter().filter(|cell| cell.kind == NotebookCellKind::CODE) {
            if let Some(text) = self.texts.get(&cell.document).filter(|text| text.is_python) {
                python.push(&text.buffer.text);
                shown.push((cell.document.clone(), text.buffer.version));
            }
        }
        let cells = shown.into_iter().zip(python.cells).map(|((uri, version), lines)| (uri, version, lines));
        (python.text, Parts::cells(cells))
    }
}
