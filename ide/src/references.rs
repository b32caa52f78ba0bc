// Feature: References
//
//! Every place that names the same thing: Python's names, and for a kernel's parameters also `key=[…]`, `Config({…})`, heuristics, grids,
//! launch keywords and launch blocks.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use tritium_semantics::SourceFile;

use crate::{
    Analysis,
    naming::{self, Linked, Role, Symbol, names},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    pub path: PathBuf,
    pub range: Range<usize>,
    pub kind: ReferenceKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceKind {
    Declaration,
    Write,
    Read,
    /// A string or keyword that names a parameter.
    Text,
}

impl From<Role> for ReferenceKind {
    fn from(role: Role) -> ReferenceKind {
        match role {
            Role::Declaration => ReferenceKind::Declaration,
            Role::Write => ReferenceKind::Write,
            Role::Read | Role::Import => ReferenceKind::Read,
            Role::Keyword | Role::Text => ReferenceKind::Text,
        }
    }
}

/// One place of a rename or of references.
pub(crate) struct Found {
    pub(crate) file: SourceFile,
    pub(crate) place: Linked,
}

impl Analysis {
    /// The places that name what is named at an offset, in the order of paths and texts.
    pub fn references(&self, path: &Path, offset: usize, declarations: bool) -> Vec<Reference> {
        let Some(start) = self.linked_at(path, offset) else { return Vec::new() };
        let found = self.found(path, &start).into_iter();
        found
            .map(|f| Reference { path: f.file.path(self.db()).clone(), range: f.place.range, kind: f.place.role.into() })
            .filter(|r| declarations || r.kind != ReferenceKind::Declaration)
            .collect()
    }

    /// The same within the file.
    pub fn highlights(&self, path: &Path, offset: usize) -> Vec<Reference> {
        let (Some(start), Some(file)) = (self.linked_at(path, offset), self.file(path)) else { return Vec::new() };
        let linked = naming::linked(self.db(), file);
        let same = linked.iter().filter(|l| l.symbols.iter().any(|s| start.symbols.contains(s)));
        same.map(|l| Reference { path: path.to_owned(), range: l.range.clone(), kind: l.role.into() }).collect()
    }

    /// What is named at an offset; an end of a name counts.
    pub(crate) fn linked_at(&self, path: &Path, offset: usize) -> Option<Linked> {
        let linked = naming::linked(self.db(), self.file(path)?);
        let touching = linked.iter().filter(|l| l.range.start <= offset && offset <= l.range.end);
        // At a border the name that begins there is meant.
        touching.max_by_key(|l| l.range.start).cloned()
    }

    /// Every place that stands for what `start` does, files in the order of their paths.
    pub(crate) fn found(&self, path: &Path, start: &Linked) -> Vec<Found> {
        let db = self.db();
        let Some(own) = self.file(path) else { return Vec::new() };
        let mut wanted = start.symbols.clone();
        let mut files = vec![own];
        for symbol in &start.symbols {
            let word = match symbol {
                Symbol::Name(file, scope, name) if self.is_seen_elsewhere(*file, *scope, name) => {
                    files.push(*file);
                    name.to_string()
                }
                Symbol::Module(file) => file.path(db).file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default(),
                // What a library defines is looked for here alone.
                Symbol::Name(..) | Symbol::Outside(_) => continue,
            };
            files.extend(self.files_with(&word, path));
        }
        files.sort_by_key(|file| file.path(db));
        files.dedup();
        let mut out: Vec<Found>;
        loop {
            out = Vec::new();
            let mut more: Vec<Symbol> = Vec::new();
            for &file in &files {
                for place in naming::linked(db, file).iter() {
                    if !place.symbols.iter().any(|s| wanted.contains(s)) {
                        continue;
                    }
                    // A string that two kernels share ties their parameters together.
                    more.extend(place.symbols.iter().filter(|s| !wanted.contains(s)).cloned());
                    out.push(Found { file, place: place.clone() });
                }
            }
            if more.is_empty() {
                break;
            }
            more.dedup();
            wanted.extend(more);
        }
        self.add_keys_elsewhere(&wanted, &mut out);
        out
    }

    /// Keys of configurations that another file makes.
    fn add_keys_elsewhere(&self, wanted: &[Symbol], out: &mut Vec<Found>) {
        let db = self.db();
        for symbol in wanted {
            let Symbol::Name(file, function, name) = symbol else { continue };
            if !self.is_parameter(*file, *function, name) {
                continue;
            }
            for (other, owner) in naming::reached(db, *file, *function) {
                if other == *file {
                    continue;
                }
                for range in naming::keys_of(&names(db, other), &owner, name) {
                    if !out.iter().any(|f| f.file == other && f.place.range == range) {
                        let place = Linked { range, text: name.clone(), role: Role::Text, symbols: vec![symbol.clone()] };
                        out.push(Found { file: other, place });
                    }
                }
            }
        }
    }

    pub(crate) fn is_parameter(&self, file: SourceFile, scope: usize, name: &str) -> bool {
        names(self.db(), file).scopes.get(scope).is_some_and(|s| s.params.iter().any(|(n, _)| n == name))
    }

    /// Names of a module, and parameters, which callers may name.
    fn is_seen_elsewhere(&self, file: SourceFile, scope: usize, name: &str) -> bool {
        scope == 0 || self.is_parameter(file, scope, name)
    }
}
