//! From tile IR to LLVM text: the passes that decide, the emitter that only writes down what was decided.
//!
//! The stages as queries are [`optimised`] and [`llvm_text`]; what comes after (PTX, machine code) is no query, see `tritium-runtime`.
//! **Invariant:** deciding and emitting are different files; every inline-PTX string is in [`ptx_strings`].

mod cubin_lines;
pub mod llvm;
mod options;
pub mod passes;
mod pressure;
pub mod ptx_strings;
mod queries;
pub mod source_lines;
pub mod tensor_map;

pub use options::{CompileOptions, Unsupported};
pub use queries::{Llvm, llvm_text, optimised, verified};
pub use source_lines::{SourceLines, source_lines};
pub use tritium_tile::scratch;
