//! From tile IR to LLVM text: the passes that decide, the emitter that only writes down what was decided.
//!
//! **Invariant:** deciding and emitting are different files; every inline-PTX string is in [`ptx_strings`].

pub mod access;
pub mod cost;
pub mod llvm;
pub mod occupancy;
pub mod passes;
pub mod ptx_strings;
pub mod resources;
pub mod scratch;
