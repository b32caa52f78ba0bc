// Feature: Active specialisation
//
//! The kernels of a file, each with its configurations, and the one of them that answers for it: the one that the person chose, else the
//! first launch, else what is assumed.
//!
//! **Invariant:** every configuration of a kernel has a name of its own ([`Configuration::id`]) that stays as long as the launch does; a chosen
//! name that is gone means the first.

use std::{collections::BTreeMap, ops::Range, path::Path};

use tritium_semantics::{
    Function, Instance, SourceFile, check,
    configuration::{Configuration, configurations},
    elaborate::{self, Elaborated},
    items::{self, Unchecked},
    problem::{At, Place},
};

use crate::Analysis;

/// A function that can be launched.
#[derive(Debug, Clone)]
pub struct Kernel {
    pub function: Function,
    pub name: String,
    /// The name in its `def`.
    pub range: Range<usize>,
    pub active: Configuration,
}

impl Analysis {
    pub fn is_triton(&self, path: &Path) -> bool {
        self.file(path).is_some_and(|file| items::is_triton_file(self.db(), file))
    }

    pub fn kernels(&self, path: &Path) -> Vec<Kernel> {
        let Some(file) = self.file(path) else { return Vec::new() };
        let functions = items::kernels(self.db(), file);
        functions.iter().filter_map(|&function| self.kernel(function)).collect()
    }

    pub fn kernel_count(&self, path: &Path) -> usize {
        self.file(path).map_or(0, |file| self.all_kernels(file).count())
    }

    /// Those in the file's string literals too.
    fn all_kernels(&self, file: SourceFile) -> impl Iterator<Item = Function> {
        items::kernels(self.db(), file).iter().copied().chain(items::string_kernels(self.db(), file))
    }

    /// How many kernels of the file are not checked, by why.
    pub fn unchecked_kernels(&self, path: &Path) -> BTreeMap<Unchecked, usize> {
        let mut out = BTreeMap::new();
        for found in self.file(path).into_iter().flat_map(|file| items::unchecked_kernels(self.db(), file)) {
            *out.entry(found.why).or_default() += found.count;
        }
        out
    }

    /// Under how many distinct specialisations the file's kernels are checked.
    pub fn specialisation_count(&self, path: &Path) -> usize {
        let Some(file) = self.file(path) else { return 0 };
        self.all_kernels(file).map(|kernel| check::visited(self.db(), kernel).count()).sum()
    }

    pub fn kernel(&self, function: Function) -> Option<Kernel> {
        let range = self.range(Place { function, at: At::Name })?;
        let active = self.active(function)?;
        Some(Kernel { function, name: function.name(self.db()).to_string(), range, active })
    }

    /// The configuration that answers for a kernel.
    pub(crate) fn active(&self, function: Function) -> Option<Configuration> {
        let db = self.db();
        let key = (function.file(db).path(db).to_owned(), function.name(db).to_string());
        let all = configurations(db, function).as_slice();
        let chosen = self.options().active.get(&key);
        let found = chosen.and_then(|chosen| all.iter().find(|configuration| configuration.id(db).to_string() == *chosen));
        found.or(all.first()).copied()
    }

    pub fn elaborated(&self, instance: Instance) -> &Elaborated {
        elaborate::elaborate(self.db(), instance)
    }

    /// Where a place is in its file now.
    pub fn range(&self, place: Place) -> Option<Range<usize>> {
        tritium_semantics::places::range_of(self.db(), place).map(|(_, range)| range)
    }
}
