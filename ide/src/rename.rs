// Feature: Rename
//
//! A new name in every place that [references](super::references) finds: decorator strings, `Config` dictionaries, launch keywords and
//! launch blocks and `.launch.toml` included. **Invariant:** all of it or nothing; what would change another meaning is refused with the reason.

use std::{
    collections::BTreeMap,
    ops::Range,
    path::{Path, PathBuf},
};

use tritium_semantics::{SourceFile, db::sidecar_of};

use crate::{
    Analysis, TextEdit,
    naming::{Linked, Role, Symbol, linked_beside, names},
    references::Found,
};

/// The edits of one file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileEdits {
    pub path: PathBuf,
    pub edits: Vec<TextEdit>,
}

#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
    "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try",
    "while", "with", "yield",
];

impl Analysis {
    /// What a rename at an offset would change: its range and name, or why it cannot be.
    pub fn prepare_rename(&self, path: &Path, offset: usize) -> Result<(Range<usize>, String), String> {
        let place = self.linked_at(path, offset).ok_or("there is no name here")?;
        self.may_rename(&place)?;
        Ok((place.range, place.text.to_string()))
    }

    pub fn rename(&self, path: &Path, offset: usize, new_name: &str) -> Result<Vec<FileEdits>, String> {
        let place = self.linked_at(path, offset).ok_or("there is no name here")?;
        self.may_rename(&place)?;
        let mut letters = new_name.chars();
        let is_name =
            letters.next().is_some_and(|c| c == '_' || c.is_alphabetic()) && letters.all(|c| c == '_' || c.is_alphanumeric());
        if !is_name || KEYWORDS.contains(&new_name) {
            return Err(format!("`{new_name}` is no name in Python"));
        }
        let found = self.found(path, &place);
        for symbol in found.iter().flat_map(|f| &f.place.symbols).chain(&place.symbols) {
            let Symbol::Name(file, scope, _) = symbol else { continue };
            if let Some(holder) = self.bound_already(*file, *scope, new_name) {
                return Err(format!("`{new_name}` already means something else in {holder}"));
            }
        }
        // Where it is imported under its own name, the new one arrives.
        let is_brought = |f: &&Found| f.place.text == place.text && f.place.role == Role::Import;
        for f in found.iter().filter(is_brought).chain(self.brought_by_stars(&found)) {
            if let Some(holder) = self.bound_already(f.file, 0, new_name) {
                return Err(format!("`{new_name}` already means something else in {holder}"));
            }
        }
        let mut files: BTreeMap<PathBuf, Vec<TextEdit>> = BTreeMap::new();
        for (path, range) in self.beside(path, &place, &found) {
            files.entry(path).or_default().push(TextEdit { range, new_text: new_name.to_owned() });
        }
        // Where an import gives it another name, that name stays.
        for f in found.into_iter().filter(|f| f.place.text == place.text) {
            let edit = TextEdit { range: f.place.range, new_text: new_name.to_owned() };
            files.entry(f.file.path(self.db()).clone()).or_default().push(edit);
        }
        Ok(files.into_iter().map(|(path, edits)| FileEdits { path, edits }).collect())
    }

    /// Those in files to which `from module import *` brings the name.
    fn brought_by_stars<'a>(&self, found: &'a [Found]) -> impl Iterator<Item = &'a Found> {
        let db = self.db();
        found.iter().filter(move |f| {
            let names = names(db, f.file);
            let is_own = |s: &Symbol| matches!(s, Symbol::Name(file, ..) if *file == f.file);
            !names.stars.is_empty() && !f.place.symbols.iter().any(is_own)
        })
    }

    /// The places in the `.launch.toml` beside each file that is touched.
    fn beside(&self, path: &Path, place: &Linked, found: &[Found]) -> Vec<(PathBuf, Range<usize>)> {
        let db = self.db();
        let wanted: Vec<&Symbol> = found.iter().flat_map(|f| &f.place.symbols).chain(&place.symbols).collect();
        let files: BTreeMap<&PathBuf, SourceFile> =
            found.iter().map(|f| f.file).chain(self.file(path)).map(|file| (file.path(db), file)).collect();
        let mut out = Vec::new();
        for (path, file) in files {
            let Some(sidecar) = sidecar_of(path) else { continue };
            let meant = linked_beside(db, file).into_iter().filter(|(_, symbols)| symbols.iter().any(|s| wanted.contains(&s)));
            out.extend(
                meant.filter(|(written, _)| written.name == place.text).map(|(written, _)| (sidecar.clone(), written.range)),
            );
        }
        // In the order of the texts.
        out.sort_by(|a: &(PathBuf, Range<usize>), b| (&a.0, a.1.start).cmp(&(&b.0, b.1.start)));
        out
    }

    fn may_rename(&self, place: &Linked) -> Result<(), String> {
        for symbol in &place.symbols {
            match symbol {
                Symbol::Outside(path) => return Err(format!("`{path}` is not defined in this workspace")),
                Symbol::Module(_) => return Err("a module is renamed with its file".to_owned()),
                Symbol::Name(file, scope, name) => {
                    let names = names(self.db(), *file);
                    if !names.scopes.get(*scope).is_some_and(|s| s.bound.contains(name)) {
                        return Err(format!("nothing in this workspace defines `{name}`"));
                    }
                    let path = file.path(self.db());
                    if path.components().any(|c| c.as_os_str() == "site-packages") {
                        return Err(format!("`{name}` is defined in an installed package, {}", path.display()));
                    }
                }
            }
        }
        Ok(())
    }

    fn bound_already(&self, file: SourceFile, scope: usize, name: &str) -> Option<String> {
        let names = names(self.db(), file);
        let scope = names.scopes.get(scope)?;
        scope.bound.contains(name).then(|| match &scope.name {
            Some((function, _)) => format!("`{function}`"),
            None => file.path(self.db()).file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default(),
        })
    }
}
