// Feature: The workspace
//
//! The Python files below the folders that the editor has open.
//!
//! **Invariant:** what is listed is sorted and bounded, and nothing is read to list it; environments, caches and hidden folders are left out.

use std::path::{Path, PathBuf};

use tritium_semantics::{Db as _, SourceFile};

use crate::ide::Analysis;

/// Folders that hold other people's code, or none.
pub const SKIPPED: &[&str] = &["node_modules", "__pycache__", "site-packages", "target"];
/// Files of a workspace that are looked at; a whole home folder may be open.
const MOST_FILES: usize = 20_000;
/// Longer files are no source.
const LARGEST: usize = 4 << 20;

impl Analysis {
    /// The Python files of the workspace; of a file that is in none, those beside it.
    pub fn workspace_files(&self, beside: Option<&Path>) -> Vec<PathBuf> {
        let system = self.db().system();
        let mut folders: Vec<PathBuf> = self.roots().to_vec();
        if let Some(path) = beside.map(|p| system.absolute(p))
            && !folders.iter().any(|root| path.starts_with(root))
            && let Some(folder) = path.parent()
        {
            folders.push(self.project_of_folder(folder).root.clone().unwrap_or_else(|| folder.to_owned()));
        }
        let mut out = Vec::new();
        while let Some(folder) = folders.pop() {
            salsa::Database::unwind_if_revision_cancelled(self.db());
            for entry in system.list(&folder).unwrap_or_default() {
                let Some(name) = entry.file_name().and_then(|n| n.to_str()) else { continue };
                if name.starts_with('.') || SKIPPED.contains(&name) {
                    continue;
                }
                let is_python = entry.extension().is_some_and(|e| e == "py");
                if is_python && system.is_file(&entry) {
                    out.push(entry);
                } else if entry.extension().is_none() && !system.is_file(&entry) && !system.is_file(&entry.join("pyvenv.cfg")) {
                    folders.push(entry);
                }
            }
            if out.len() >= MOST_FILES {
                break;
            }
        }
        out.sort();
        out.dedup();
        out
    }

    /// The text of a file without making it known for good: the buffer where it is open or known, else what is on disk.
    pub(crate) fn glance(&self, path: &Path) -> Option<String> {
        if let Some(file) = self.db().known(path) {
            return Some(file.text(self.db()).clone());
        }
        let (text, _) = self.db().system().source(path).ok()?;
        (text.len() <= LARGEST).then_some(text)
    }

    /// The files of the workspace whose text holds all of the words, in order, with those that are known already.
    pub(crate) fn files_with(&self, word: &str, beside: &Path) -> Vec<SourceFile> {
        let mut paths = self.workspace_files(Some(beside));
        let own = self.db().system().absolute(beside);
        if !paths.contains(&own) {
            paths.push(own);
        }
        let holds = |path: &PathBuf| {
            salsa::Database::unwind_if_revision_cancelled(self.db());
            self.glance(path).is_some_and(|text| text.contains(word))
        };
        paths.iter().filter(|path| holds(path)).filter_map(|path| self.file(path)).collect()
    }
}
