//! One document of a snapshot, with what turns its places into the protocol's, and those of other files.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap},
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use tower_lsp::ls_types as lsp;
use tritium_syntax::{Encoding, LineIndex};

use tritium_ide::{self as ide, Feature};

use crate::{
    analysis::Snapshot,
    parts::{Part, Parts, Places},
};

pub(super) struct Document<'a> {
    pub(super) analysis: &'a Snapshot,
    pub(super) path: PathBuf,
    /// What was asked about: the file, or one cell of it.
    pub(super) part: &'a Part,
    pub(super) places: Places<'a>,
}

impl<'a> Document<'a> {
    pub(super) fn wants(&self, feature: Feature) -> bool {
        self.analysis.options().offers(feature)
    }

    /// `None` where no Python stands.
    pub(super) fn offset(&self, position: lsp::Position) -> Option<usize> {
        self.places.offset(self.part, position)
    }

    pub(super) fn offsets(&self, range: lsp::Range) -> Range<usize> {
        self.places.offsets(self.part, range)
    }

    pub(super) fn position(&self, offset: usize) -> lsp::Position {
        self.places.position(self.part, offset)
    }

    /// What of a range stands in this document.
    pub(super) fn range(&self, range: &Range<usize>) -> Option<lsp::Range> {
        self.places.within(self.part, range)
    }

    pub(super) fn diagnostics(&self) -> Vec<lsp::Diagnostic> {
        let found = found(self.analysis, &self.path);
        let here = found.iter().filter_map(|d| self.places.diagnostic(d)).filter(|(part, _)| std::ptr::eq(*part, self.part));
        here.map(|(_, diagnostic)| diagnostic).collect()
    }

    pub(super) fn files(&self) -> Files<'a> {
        Files::new(self.analysis, self.places.encoding)
    }
}

/// What is shown of a file.
pub(super) fn found(analysis: &Snapshot, path: &Path) -> Vec<ide::Diagnostic> {
    if analysis.is_excluded(path) { Vec::new() } else { analysis.diagnostics_to_show(path) }
}

/// `None` of a file that cannot be read any more.
type Known = Option<(Arc<Parts>, LineIndex)>;

/// Places in any file of a snapshot.
pub(super) struct Files<'a> {
    analysis: &'a Snapshot,
    encoding: Encoding,
    known: RefCell<BTreeMap<PathBuf, Known>>,
}

impl<'a> Files<'a> {
    pub(super) fn new(analysis: &'a Snapshot, encoding: Encoding) -> Files<'a> {
        Files { analysis, encoding, known: RefCell::default() }
    }

    /// `None` where the file cannot be read any more.
    pub(super) fn location(&self, path: &Path, range: &Range<usize>) -> Option<lsp::Location> {
        self.with(path, |places| {
            let (part, range) = places.location(range)?;
            Some(lsp::Location { uri: part.uri.clone(), range })
        })?
    }

    pub(super) fn edits(&self, path: &Path, edits: &[ide::TextEdit]) -> HashMap<lsp::Uri, Vec<lsp::TextEdit>> {
        self.with(path, |places| places.edits(edits)).unwrap_or_default()
    }

    fn with<T>(&self, path: &Path, read: impl FnOnce(Places<'_>) -> T) -> Option<T> {
        let mut known = self.known.borrow_mut();
        let entry = known.entry(path.to_owned()).or_insert_with(|| {
            let text = self.analysis.glance(path)?;
            Some((self.analysis.parts(path)?, LineIndex::new(&text)))
        });
        let (parts, index) = entry.as_ref()?;
        Some(read(Places { parts, index, encoding: self.encoding }))
    }
}
