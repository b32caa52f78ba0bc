//! One document of a snapshot, with what turns its places into the protocol's, and those of other files.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    ops::Range,
    path::{Path, PathBuf},
};

use tower_lsp::ls_types as lsp;
use tritium_syntax::{Encoding, LineIndex};

use tritium_ide::{self as ide, Analysis, Feature};

use crate::convert;

pub(super) struct Document<'a> {
    pub(super) analysis: &'a Analysis,
    pub(super) path: PathBuf,
    pub(super) uri: lsp::Uri,
    pub(super) index: &'a LineIndex,
    pub(super) encoding: Encoding,
}

impl Document<'_> {
    pub(super) fn wants(&self, feature: Feature) -> bool {
        self.analysis.options().offers(feature)
    }

    pub(super) fn offset(&self, position: lsp::Position) -> usize {
        convert::offset(self.index, position, self.encoding)
    }

    pub(super) fn position(&self, offset: usize) -> lsp::Position {
        convert::position(self.index, offset, self.encoding)
    }

    pub(super) fn range(&self, range: &Range<usize>) -> lsp::Range {
        convert::range(self.index, range, self.encoding)
    }

    pub(super) fn diagnostic(&self, diagnostic: &ide::Diagnostic) -> lsp::Diagnostic {
        convert::diagnostic(diagnostic, &self.uri, self.index, self.encoding)
    }

    pub(super) fn diagnostics(&self) -> Vec<lsp::Diagnostic> {
        if self.analysis.is_excluded(&self.path) {
            return Vec::new();
        }
        self.analysis.diagnostics_to_show(&self.path).iter().map(|d| self.diagnostic(d)).collect()
    }

    pub(super) fn files(&self) -> Files<'_> {
        Files::new(self.analysis, self.encoding)
    }
}

/// Places in any file of a snapshot.
pub(super) struct Files<'a> {
    analysis: &'a Analysis,
    encoding: Encoding,
    indices: RefCell<BTreeMap<PathBuf, Option<(lsp::Uri, LineIndex)>>>,
}

impl<'a> Files<'a> {
    pub(super) fn new(analysis: &'a Analysis, encoding: Encoding) -> Files<'a> {
        Files { analysis, encoding, indices: RefCell::default() }
    }

    /// `None` where the file cannot be read any more.
    pub(super) fn location(&self, path: &Path, range: &Range<usize>) -> Option<lsp::Location> {
        self.with(path, |uri, index| lsp::Location { uri: uri.clone(), range: convert::range(index, range, self.encoding) })
    }

    pub(super) fn edits(&self, path: &Path, edits: &[ide::TextEdit]) -> Option<(lsp::Uri, Vec<lsp::TextEdit>)> {
        self.with(path, |uri, index| (uri.clone(), convert::text_edits(edits, index, self.encoding)))
    }

    fn with<T>(&self, path: &Path, read: impl FnOnce(&lsp::Uri, &LineIndex) -> T) -> Option<T> {
        let mut indices = self.indices.borrow_mut();
        let entry = indices.entry(path.to_owned()).or_insert_with(|| {
            let text = self.analysis.glance(path)?;
            Some((convert::uri(path)?, LineIndex::new(&text)))
        });
        entry.as_ref().map(|(uri, index)| read(uri, index))
    }
}
