//! What the editor has open: the first to know a change, before the database does.
//!
//! **Invariant:** notifications are applied here in the order they arrive, without an `await` in between, so ranges of an incremental
//! change always refer to the text before it. Every text has an [`Edition`] of its own: versions begin anew when a file is opened again.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tower_lsp::ls_types::{self as lsp, TextDocumentContentChangeEvent, Uri};
use tritium_syntax::{Encoding, LineIndex};

use crate::{convert, notebook::Notebook, parts::Parts};

/// One text of one open file; no two texts of a session share a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edition(u64);

impl Edition {
    #[cfg(test)]
    pub(crate) fn numbered(number: u64) -> Edition {
        Edition(number)
    }
}

/// A file's new text.
pub(crate) struct NewText {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    /// The documents it stands in.
    pub(crate) parts: Arc<Parts>,
    pub(crate) edition: Edition,
}

/// The text of one document.
#[derive(Debug)]
pub(crate) struct Buffer {
    pub(crate) version: i32,
    pub(crate) text: String,
}

impl Buffer {
    pub(crate) fn change(&mut self, version: i32, changes: Vec<TextDocumentContentChangeEvent>, encoding: Encoding) {
        for change in changes {
            match change.range {
                None => self.text = change.text,
                Some(range) => {
                    let range = convert::offsets(&LineIndex::new(&self.text), range, encoding);
                    self.text.replace_range(range, &change.text);
                }
            }
        }
        self.version = version;
    }
}

#[derive(Debug)]
enum Content {
    Text(Uri, Buffer),
    Notebook(Notebook),
}

#[derive(Debug)]
struct OpenFile {
    content: Content,
    edition: Edition,
}

impl OpenFile {
    fn new_text(&self, path: &Path) -> NewText {
        let (text, parts) = match &self.content {
            Content::Text(uri, buffer) => (buffer.text.clone(), Parts::whole(uri.clone(), Some(buffer.version))),
            Content::Notebook(notebook) => notebook.python(),
        };
        NewText { path: path.to_owned(), text, parts: Arc::new(parts), edition: self.edition }
    }
}

#[derive(Debug, Default)]
struct Open {
    files: BTreeMap<PathBuf, OpenFile>,
    editions: u64,
}

impl Open {
    fn next_edition(&mut self) -> Edition {
        self.editions += 1;
        Edition(self.editions)
    }

    fn open(&mut self, path: PathBuf, content: Content) -> NewText {
        let file = OpenFile { content, edition: self.next_edition() };
        let text = file.new_text(&path);
        self.files.insert(path, file);
        text
    }

    /// `None` if the file is not open as what is changed.
    fn change(&mut self, path: &Path, change: impl FnOnce(&mut Content) -> Option<()>) -> Option<NewText> {
        let edition = self.next_edition();
        let file = self.files.get_mut(path)?;
        change(&mut file.content)?;
        file.edition = edition;
        Some(file.new_text(path))
    }
}

#[derive(Debug, Default)]
pub(crate) struct Files(Mutex<Open>);

impl Files {
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file that a document stands for; `None` for documents of no file (`untitled:`, `git:`).
    pub(crate) fn path(&self, uri: &Uri) -> Option<PathBuf> {
        let holds = |file: &OpenFile| matches!(&file.content, Content::Notebook(notebook) if notebook.holds(uri));
        let notebook = self.lock().files.iter().find(|(_, file)| holds(file)).map(|(path, _)| path.clone());
        notebook.or_else(|| convert::path(uri))
    }

    pub(crate) fn open(&self, document: lsp::TextDocumentItem) -> Option<NewText> {
        let path = convert::path(&document.uri)?;
        let buffer = Buffer { version: document.version, text: document.text };
        Some(self.lock().open(path, Content::Text(document.uri, buffer)))
    }

    pub(crate) fn open_notebook(&self, params: lsp::DidOpenNotebookDocumentParams) -> Option<NewText> {
        let path = convert::path(&params.notebook_document.uri)?;
        let notebook = Notebook::new(params.notebook_document.cells, params.cell_text_documents);
        Some(self.lock().open(path, Content::Notebook(notebook)))
    }

    /// The file of a document that is closed, and all documents that it stood in.
    pub(crate) fn close(&self, uri: &Uri) -> Option<(PathBuf, Vec<Uri>)> {
        let path = convert::path(uri)?;
        let uris = match self.lock().files.remove(&path).map(|file| file.content) {
            Some(Content::Notebook(notebook)) => notebook.uris().cloned().collect(),
            Some(Content::Text(..)) | None => vec![uri.clone()],
        };
        Some((path, uris))
    }

    pub(crate) fn is_open(&self, path: &Path) -> bool {
        self.lock().files.contains_key(path)
    }

    pub(crate) fn open_paths(&self) -> Vec<PathBuf> {
        self.lock().files.keys().cloned().collect()
    }

    pub(crate) fn edition(&self, path: &Path) -> Option<Edition> {
        self.lock().files.get(path).map(|file| file.edition)
    }

    pub(crate) fn change(&self, params: lsp::DidChangeTextDocumentParams, encoding: Encoding) -> Option<NewText> {
        let lsp::DidChangeTextDocumentParams { text_document, content_changes } = params;
        self.lock().change(&convert::path(&text_document.uri)?, |content| {
            let Content::Text(_, buffer) = content else { return None };
            buffer.change(text_document.version, content_changes, encoding);
            Some(())
        })
    }

    pub(crate) fn change_notebook(&self, params: lsp::DidChangeNotebookDocumentParams, encoding: Encoding) -> Option<NewText> {
        let path = convert::path(&params.notebook_document.uri)?;
        // Outputs and metadata change nothing here.
        let change = params.change.cells?;
        self.lock().change(&path, |content| {
            let Content::Notebook(notebook) = content else { return None };
            notebook.change(change, encoding);
            Some(())
        })
    }
}
