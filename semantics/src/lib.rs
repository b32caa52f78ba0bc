//! What Python files with Triton kernels mean.
//!
//! The salsa database starts here: a file's text goes in; names, launches, specialisations, the type of every expression, tile IR (L0)
//! and problems come out. One evaluator checks and lowers in one step ([`elaborate`](mod@elaborate)), so the checker cannot disagree with
//! the compiler.
//!
//! **Invariants:** a query returns a value *and* problems, never `Err`; no byte offsets below `syntax` (positions come back through
//! source maps); nobody outside [`target`] compares architecture numbers, nobody outside `versions` compares Triton versions; files are
//! read only through [`Db::system`].

pub mod body;
pub mod builtins;
pub mod check;
pub mod configuration;
pub mod constant;
pub mod db;
pub mod diagnostics;
mod dims;
pub mod dtype;
pub mod elaborate;
pub mod globals;
pub mod host;
pub mod instance;
pub mod items;
pub mod launch;
pub mod lints;
pub mod notebook;
pub mod occupancy;
pub mod places;
pub mod problem;
pub mod program;
pub mod project;
pub mod python_names;
pub mod specialise;
pub mod target;
pub mod types;
pub mod upgrade;
pub mod versions;

/// A map in the order of insertion, for keys that nobody outside chooses: its hash is quick and has no secret.
pub(crate) type OrderedMap<K, V> = indexmap::IndexMap<K, V, rustc_hash::FxBuildHasher>;
pub(crate) type OrderedSet<T> = indexmap::IndexSet<T, rustc_hash::FxBuildHasher>;

/// The stack of a thread that understands files: deeply nested programs recurse, and what a thread has by itself is whatever its starter allows.
pub const DEEP_STACK_BYTES: usize = 64 << 20;

pub use db::{Chosen, Database, Db, Entry, FilePlace, Proposed, Settings, Shell, SourceFile, System};
pub use elaborate::Elaborated;
pub use instance::{ArgType, Argument, Function, Instance};

#[cfg(test)]
mod tests;
