//! The buffers the editor has open: the first to know a change, before the database does.
//!
//! **Invariant:** notifications are applied here in the order they arrive, without an `await` in between, so ranges of an incremental
//! change always refer to the text before it. Every text has an [`Edition`] of its own: versions begin anew when a file is opened again.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tower_lsp::ls_types::{TextDocumentContentChangeEvent, Uri};
use tritium_syntax::{Encoding, LineIndex};

use crate::convert;

/// One text of one open file; no two texts of a session share a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edition(u64);

impl Edition {
    #[cfg(test)]
    pub(crate) fn numbered(number: u64) -> Edition {
        Edition(number)
    }
}

/// How the client names an open file and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) uri: Uri,
    pub(crate) version: i32,
}

#[derive(Debug)]
struct OpenFile {
    named: Named,
    text: String,
    edition: Edition,
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
}

#[derive(Debug, Default)]
pub(crate) struct Files(Mutex<Open>);

impl Files {
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn open(&self, path: PathBuf, named: Named, text: String) -> Edition {
        let mut open = self.lock();
        let edition = open.next_edition();
        open.files.insert(path, OpenFile { named, text, edition });
        edition
    }

    pub(crate) fn close(&self, path: &Path) {
        self.lock().files.remove(path);
    }

    pub(crate) fn is_open(&self, path: &Path) -> bool {
        self.lock().files.contains_key(path)
    }

    pub(crate) fn edition(&self, path: &Path) -> Option<Edition> {
        self.lock().files.get(path).map(|file| file.edition)
    }

    /// Version of an open file.
    pub(crate) fn version(&self, path: &Path) -> Option<i32> {
        self.lock().files.get(path).map(|file| file.named.version)
    }

    /// `None` where this is not the text of an open file any more.
    pub(crate) fn named(&self, path: &Path, edition: Edition) -> Option<Named> {
        self.lock().files.get(path).filter(|file| file.edition == edition).map(|file| file.named.clone())
    }

    /// The text after the changes; `None` if the file was never opened.
    pub(crate) fn change(
        &self,
        path: &Path,
        version: i32,
        changes: Vec<TextDocumentContentChangeEvent>,
        encoding: Encoding,
    ) -> Option<(String, Edition)> {
        let mut open = self.lock();
        let edition = open.next_edition();
        let file = open.files.get_mut(path)?;
        for change in changes {
            match change.range {
                None => file.text = change.text,
                Some(range) => {
                    let range = convert::offsets(&LineIndex::new(&file.text), range, encoding);
                    file.text.replace_range(range.start..range.end, &change.text);
                }
            }
        }
        file.named.version = version;
        file.edition = edition;
        Some((file.text.clone(), edition))
    }
}
