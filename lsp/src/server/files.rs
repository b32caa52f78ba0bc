//! The buffers the editor has open: the first to know a change, before the database does.
//!
//! **Invariant:** notifications are applied here in the order they arrive, without an `await` in between, so ranges of an incremental
//! change always refer to the text before it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tower_lsp::ls_types::TextDocumentContentChangeEvent;
use tritium_syntax::{Encoding, LineIndex};

use crate::server::convert;

#[derive(Debug)]
struct OpenFile {
    text: String,
    version: i32,
}

#[derive(Debug, Default)]
pub(crate) struct Files {
    open: Mutex<BTreeMap<PathBuf, OpenFile>>,
}

impl Files {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, OpenFile>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn open(&self, path: PathBuf, text: String, version: i32) {
        self.lock().insert(path, OpenFile { text, version });
    }

    pub(crate) fn close(&self, path: &Path) {
        self.lock().remove(path);
    }

    pub(crate) fn is_open(&self, path: &Path) -> bool {
        self.lock().contains_key(path)
    }

    pub(crate) fn open_versions(&self) -> Vec<(PathBuf, i32)> {
        self.lock().iter().map(|(path, file)| (path.clone(), file.version)).collect()
    }

    /// Of an open file.
    pub(crate) fn version(&self, path: &Path) -> Option<i32> {
        self.lock().get(path).map(|file| file.version)
    }

    /// The text after the changes; `None` if the file was never opened.
    pub(crate) fn change(
        &self,
        path: &Path,
        version: i32,
        changes: Vec<TextDocumentContentChangeEvent>,
        encoding: Encoding,
    ) -> Option<String> {
        let mut open = self.lock();
        let file = open.get_mut(path)?;
        for change in changes {
            match change.range {
                None => file.text = change.text,
                Some(range) => {
                    let range = convert::offsets(&LineIndex::new(&file.text), range, encoding);
                    file.text.replace_range(range.start..range.end, &change.text);
                }
            }
        }
        file.version = version;
        Some(file.text.clone())
    }
}
