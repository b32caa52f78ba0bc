//! The tile IR: what a kernel means once its types, shapes and constants are known, down to who holds which element.
//!
//! One IR, three levels that [`verify`] tells apart: **L0** tile semantics without layouts, **L1** a [`layout`] on every tile and
//! shared memory explicit, **L2** asynchronous copies and barriers explicit. [`interpret`] defines what every operation means.
//!
//! **Invariants:** `parse(print(m)) == m` for every module; after [`verify`] later stages may refuse but never panic.
//! Knows nothing of Python, of files, of GPUs' names.

mod attributes;
pub mod control;
pub mod effects;
pub mod facts;
pub mod inline;
pub mod interpret;
pub mod layout;
pub mod libdevice;
pub mod math;
pub mod module;
pub mod names;
pub mod ops;
pub mod parse;
pub mod print;
pub mod rewrite;
pub mod sanitize;
pub mod scratch;
pub mod simplify;
pub mod simulate;
pub mod types;
pub mod verify;

pub use interpret::{Arg, Fault, FaultKind, Interpreter, Limits, Memory, interpret};
pub use module::{Block, BlockId, Builder, Function, FunctionId, Level, Module, OpId, Param, Value, ValueDef, ValueId};
pub use ops::{Op, OpKind, Origin};
pub use parse::{ParseError, parse};
pub use print::print;
pub use simulate::{Simulator, simulate};
pub use types::{Elem, Scalar, Shape, Type};
pub use verify::{Problem, verify};
