//! From tile IR to LLVM text: the passes that decide, the emitter that only writes down what was decided.
//!
//! The stages as queries are [`optimised`] and [`llvm_text`]; what comes after (PTX, machine code) is no query, see `tritium-runtime`.
//! **Invariant:** deciding and emitting are different files; every inline-PTX string is in [`ptx_strings`].

pub mod access;
pub mod banks;
pub mod cost;
pub mod footprint;
pub mod lints;
pub mod llvm;
pub mod occupancy;
pub mod passes;
mod pressure;
pub mod products;
pub mod ptx_strings;
mod queries;
pub mod registers;
pub mod resources;
pub mod source_lines;
pub mod tensor_map;

pub use passes::Unsupported;
pub use queries::{Configuration, Llvm, Options, launch_values, llvm_text, optimised, report, resource_lints, triton_footprint};
pub use source_lines::{SourceLines, source_lines};
pub use tritium_tile::scratch;
