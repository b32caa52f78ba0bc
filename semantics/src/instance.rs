//! A function with everything its meaning depends on: the key of elaboration and of code generation.
//!
//! **Invariant:** the constexprs and argument facts that a body can read, and the language version; `num_warps`, `num_stages`, `maxnreg`
//! and the board are not part of it.
//!
//! Both are interned for good (`revisions = usize::MAX`), which is what makes ids without a lifetime sound; their number is bounded by the
//! functions and specialisations a session has seen, not by keystrokes.

use smol_str::SmolStr;

use crate::{SourceFile, constant::Const, dtype::DType};

/// A `@triton.jit` function of a file: by name, and by position among functions of that name (the last one wins in Python).
#[salsa::interned(unsafe(no_lifetime), revisions = usize::MAX, debug)]
pub struct Function {
    #[returns(copy)]
    pub file: SourceFile,
    #[returns(ref)]
    pub name: SmolStr,
    #[returns(copy)]
    pub nth: u32,
}

#[salsa::interned(unsafe(no_lifetime), revisions = usize::MAX, debug)]
pub struct Instance {
    #[returns(copy)]
    pub function: Function,
    /// One for each parameter, in order.
    #[returns(ref)]
    pub arguments: Vec<Argument>,
    /// The row of `versions` it is read under.
    #[returns(ref)]
    pub triton: SmolStr,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Argument {
    /// A value that arrives at launch. `divisible_by_16`: the integer, or the pointer's address in bytes.
    Runtime { ty: ArgType, divisible_by_16: bool },
    /// Known at compile time: a `tl.constexpr` parameter, `None`, or an integer 1 that Triton specialises.
    Constexpr(Const),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ArgType {
    Scalar(DType),
    Ptr { elem: DType, is_const: bool },
}
