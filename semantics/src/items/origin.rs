//! Where an import leads, for those who follow names through files.
//!
//! **Invariant:** only what an import itself says; what the name is bound to there is for the asker to look up.

use smol_str::SmolStr;

use super::names::{Meaning, module_at};
use crate::{Db, SourceFile};

/// The module that an import names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Module {
    File(SourceFile),
    /// A library's, by its path.
    Outside(SmolStr),
}

/// `level` counts the dots of a relative import.
pub fn module(db: &dyn Db, file: SourceFile, level: u32, name: &str) -> Option<Module> {
    match module_at(db, file, level, name)? {
        Meaning::File(other) => Some(Module::File(other)),
        Meaning::Path(path) => Some(Module::Outside(path)),
        _ => None,
    }
}
