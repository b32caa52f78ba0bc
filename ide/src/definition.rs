// Feature: Definition
//
//! Where a name is bound; and where a shape comes from: the `arange` behind each extent of a value, and from there the compile-time
//! parameter that says how long it is.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use tritium_semantics::{
    items,
    problem::{At, Place},
    types::{Dim, Ty},
};

use tritium_syntax::SyntaxKind::*;

use crate::{
    Analysis,
    call_at::token_at,
    naming::{Role, Symbol, names},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub path: PathBuf,
    pub range: Range<usize>,
}

impl Analysis {
    /// Where what is named at an offset is bound. `strings_only`: asked beside a Python server, which knows names but no strings and
    /// launch keywords.
    pub fn definition(&self, path: &Path, offset: usize, strings_only: bool) -> Vec<Target> {
        let Some(place) = self.linked_at(path, offset) else { return Vec::new() };
        if strings_only && !matches!(place.role, Role::Text | Role::Keyword) {
            return Vec::new();
        }
        let mut out: Vec<Target> = place.symbols.iter().flat_map(|symbol| self.bindings(symbol, path, offset)).collect();
        out.dedup();
        out
    }

    fn bindings(&self, symbol: &Symbol, path: &Path, offset: usize) -> Vec<Target> {
        let db = self.db();
        match symbol {
            Symbol::Outside(_) => Vec::new(),
            Symbol::Module(file) => vec![Target { path: file.path(db).clone(), range: 0..0 }],
            Symbol::Name(file, scope, name) => {
                let names = names(db, *file);
                let bound = |role: Role| {
                    let here = names.occurrences.iter().filter(move |o| o.role == role && &o.name == name);
                    here.filter(|o| names.resolve(o.scope, &o.name) == *scope).map(|o| o.range.clone()).collect::<Vec<_>>()
                };
                let target = |range: Range<usize>| Target { path: file.path(db).clone(), range };
                let declared = bound(Role::Declaration);
                if !declared.is_empty() {
                    return declared.into_iter().map(target).collect();
                }
                // The assignment that was read last, as the text goes.
                let written = bound(Role::Write);
                // `total = total + x` reads before it writes.
                let own = self.assignment_at(path, offset).unwrap_or(offset..offset);
                let before = written.iter().rfind(|range| range.end < offset && !own.contains(&range.start));
                before.or(written.first()).cloned().map(target).into_iter().collect()
            }
        }
    }

    /// The assignment around an offset.
    fn assignment_at(&self, path: &Path, offset: usize) -> Option<Range<usize>> {
        let (base, token) = token_at(self.db(), self.file(path)?, offset)?;
        let is_one = |kind| matches!(kind, ASSIGN_STMT | ANN_ASSIGN_STMT | AUG_ASSIGN_STMT);
        let statement = token.parent_ancestors().find(|node| is_one(node.kind()))?;
        Some(items::in_file(base, statement.text_range()))
    }

    /// Where the extents of the value at an offset come from.
    pub fn shape_definition(&self, path: &Path, offset: usize) -> Vec<Target> {
        let Some(found) = self.typed_at(path, offset) else { return Vec::new() };
        let dims: &[Dim] = match &found.ty {
            Ty::Tile(ty) | Ty::Type(ty) | Ty::BlockPointer(ty) | Ty::Descriptor(ty) => &ty.shape,
            _ => &[],
        };
        let params = |name: &str| {
            let item = items::items(self.db(), found.function.file(self.db())).function(found.function)?;
            let index = item.params.iter().position(|p| p.name == name)?;
            Some(Place { function: found.function, at: At::Param(index as u32) })
        };
        let target = |place| {
            let (file, range) = tritium_semantics::places::range_of(self.db(), place)?;
            Some(Target { path: file.path(self.db()).clone(), range })
        };
        let own = self.assignment_at(path, found.range.end).unwrap_or(offset..offset);
        let mut out: Vec<Target> = Vec::new();
        for dim in dims {
            let made = dim.origin.and_then(target);
            // Where the extent is made, the way goes on to the parameter that it is made of.
            let is_here = made.as_ref().is_none_or(|made| made.path == path && own.contains(&made.range.start));
            let given = dim.symbol.as_deref().filter(|_| is_here).and_then(params).and_then(target);
            if let Some(target) = given.or(made)
                && !out.contains(&target)
            {
                out.push(target);
            }
        }
        out
    }
}
