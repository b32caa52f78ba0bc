// Feature: The workspace
//
//! The Python files below folders: those that the editor has open, or those that a command names.
//!
//! **Invariant:** what is listed is sorted, and nothing is read to list it; symbolic links are not followed, so a walk ends and stays where
//! it began; environments, caches and hidden folders are left out.

use std::{
    collections::{BTreeSet, VecDeque},
    io,
    path::{Path, PathBuf},
};

use tritium_semantics::{Db as _, SourceFile, System};

use crate::Analysis;

/// Folders that hold other people's code, or none.
const SKIPPED: &[&str] = &["node_modules", "__pycache__", "site-packages", "target"];
/// Files and folders of a workspace that are looked at, those near its top first; a whole home folder may be open.
const MAX_FILES: usize = 20_000;
const MAX_FOLDERS: usize = 20_000;
/// Longer files are no source.
const LARGEST: usize = 4 << 20;

/// Goes through folders, those near the top first.
pub struct FolderWalk<'a> {
    system: &'a dyn System,
    /// With whether it was asked for by name.
    pending: VecDeque<(PathBuf, bool)>,
    seen: BTreeSet<PathBuf>,
    extensions: &'static [&'static str],
}

impl<'a> FolderWalk<'a> {
    pub fn new(system: &'a dyn System, folders: impl IntoIterator<Item = PathBuf>) -> FolderWalk<'a> {
        let pending = folders.into_iter().map(|folder| (folder, true)).collect();
        FolderWalk { system, pending, seen: BTreeSet::new(), extensions: &["py"] }
    }

    /// Notebooks too, whose places are cells: not for who shows places of files.
    #[must_use]
    pub fn with_notebooks(self) -> FolderWalk<'a> {
        FolderWalk { extensions: &["py", "ipynb"], ..self }
    }
}

/// The Python files of one folder, or why it cannot be read.
impl Iterator for FolderWalk<'_> {
    type Item = (PathBuf, io::Result<Vec<PathBuf>>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (folder, is_named) = self.pending.pop_front()?;
            if !self.seen.insert(folder.clone()) {
                continue;
            }
            let entries = match self.system.entries(&folder) {
                Ok(entries) => entries,
                Err(error) => return Some((folder, Err(error))),
            };
            if !is_named && entries.iter().any(|entry| entry.path.ends_with("pyvenv.cfg")) {
                continue;
            }
            let mut files = Vec::new();
            for entry in entries {
                let Some(name) = entry.path.file_name().and_then(|name| name.to_str()) else { continue };
                if !entry.is_folder {
                    if entry.path.extension().is_some_and(|found| self.extensions.iter().any(|extension| found == *extension)) {
                        files.push(entry.path);
                    }
                } else if !name.starts_with('.') && !SKIPPED.contains(&name) {
                    self.pending.push_back((entry.path, false));
                }
            }
            return Some((folder, Ok(files)));
        }
    }
}

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
        for (_, files) in FolderWalk::new(system, folders).take(MAX_FOLDERS) {
            salsa::Database::unwind_if_revision_cancelled(self.db());
            // A folder that cannot be read is somebody else's.
            out.extend(files.unwrap_or_default());
            if out.len() >= MAX_FILES {
                break;
            }
        }
        out.sort();
        out
    }

    /// The text of a file without making it known for good: the buffer where it is open or known, else what is on disk.
    pub fn glance(&self, path: &Path) -> Option<String> {
        if let Some(file) = self.db().known(path) {
            return Some(file.text(self.db()).clone());
        }
        let (text, _) = self.db().system().source(path).ok()?;
        (text.len() <= LARGEST).then_some(text)
    }

    /// The files of the workspace that mention Triton.
    pub fn files_with_kernels(&self) -> Vec<PathBuf> {
        let mentions = |path: &PathBuf| self.glance(path).is_some_and(|text| text.contains("triton"));
        self.workspace_files(None).into_iter().filter(mentions).collect()
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
