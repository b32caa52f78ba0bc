//! From tile IR to LLVM text: the passes that decide, the emitter that only writes down what was decided.
//!
//! **Invariant:** deciding and emitting are different files; every inline-PTX string is in [`ptx_strings`].

pub mod llvm;
pub mod passes;
pub mod ptx_strings;
pub mod scratch;
