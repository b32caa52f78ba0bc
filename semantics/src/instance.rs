//! A function with everything its meaning depends on: the key of elaboration and of code generation.
//!
//! **Invariant:** the constexprs and argument facts that a body can read, and the language version; `num_warps`, `num_stages`, `maxnreg`
//! and the board are not part of it.
//!
//! Both are interned for good (`revisions = usize::MAX`), which is what makes ids without a lifetime sound. A person who types names and
//! numbers makes one after another; a language server counts them and makes its database anew ([`crate::Database::keys`]).

mod spelling;

use std::fmt;

use smol_str::SmolStr;

use crate::{SourceFile, constant::Const, dtype::DType};

pub use spelling::parse_argument;

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
    /// A tuple, item by item; each is specialised for itself.
    Tuple(Vec<Argument>),
    /// A host `TensorDescriptor`: base, extents and strides arrive at launch, its block is known.
    Descriptor { elem: DType, block: Vec<u32>, nan: bool },
    /// Assumed for a parameter of which nothing is known.
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ArgType {
    Scalar(DType),
    Ptr { elem: DType, is_const: bool },
}

impl Argument {
    /// What a launch promises beyond the type, as a phrase.
    pub fn fact(&self) -> Option<&'static str> {
        match self {
            Argument::Runtime { ty: ArgType::Ptr { .. }, divisible_by_16: true } => Some("address divisible by 16"),
            Argument::Runtime { ty: ArgType::Scalar(_), divisible_by_16: true } => Some("divisible by 16"),
            Argument::Descriptor { .. } => Some("address and strides divisible by 16 bytes"),
            Argument::Runtime { .. } | Argument::Constexpr(_) | Argument::Tuple(_) | Argument::Unknown => None,
        }
    }
}

/// `f32`, `*f16`, `constexpr[4]`.
impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Argument::Runtime { ty, .. } => write!(f, "{ty}"),
            Argument::Constexpr(value) => write!(f, "constexpr[{value}]"),
            Argument::Tuple(items) => {
                let items: Vec<String> = items.iter().map(Argument::to_string).collect();
                if items.len() == 1 { write!(f, "({},)", items[0]) } else { write!(f, "({})", items.join(", ")) }
            }
            Argument::Descriptor { elem, block, .. } => {
                let block: Vec<String> = block.iter().map(u32::to_string).collect();
                write!(f, "tensordesc<{elem}[{}]>", block.join(", "))
            }
            Argument::Unknown => f.write_str("unknown"),
        }
    }
}

impl fmt::Display for ArgType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArgType::Scalar(dtype) => write!(f, "{dtype}"),
            ArgType::Ptr { elem, .. } => write!(f, "*{elem}"),
        }
    }
}
