//! Launches of kernels: from launch blocks, sidecar files, or evaluated host code.
//!
//! **Invariant:** a launch is complete: every argument, the grid and every compile-time value is known. What host evaluation could not
//! know makes no launch (and is said in a problem), never a guess.

use indexmap::IndexMap;
use smol_str::SmolStr;

use crate::{Function, constant::Const, dtype::DType};

#[derive(Debug, Clone, PartialEq)]
pub struct Launch {
    /// `[launch.NAME]`, or the kernel's name (`softmax`, `softmax#2`, …) where host code launches it.
    pub name: SmolStr,
    pub kernel: Function,
    /// Programs along x, y, z.
    pub grid: [u64; 3],
    /// By parameter name, in the kernel's parameter order; compile-time ones are in `meta`.
    pub args: IndexMap<SmolStr, LaunchArg>,
    pub meta: IndexMap<SmolStr, Const>,
    pub num_warps: u32,
    pub num_stages: u32,
    pub tensors: Vec<Tensor>,
    /// `expect`: tensor name to an expression over the inputs, as written.
    pub expect: IndexMap<SmolStr, String>,
    /// Relative error allowed against `expect`; `None` means the default bound.
    pub tolerance: Option<f64>,
    /// From a block or sidecar (byte range in that text) or from host code (byte range in the file).
    pub source: LaunchSource,
}

#[derive(Debug, Clone, PartialEq)]
pub enum LaunchArg {
    /// Index into [`Launch::tensors`], and an offset in elements from its base.
    Tensor(usize),
    Int(i128),
    Float(f64),
    Bool(bool),
    None,
}

/// A tensor to allocate before the launch.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// The host's or block's name for it.
    pub name: SmolStr,
    pub dtype: DType,
    pub shape: Vec<u64>,
    /// In elements.
    pub strides: Vec<u64>,
    pub init: Init,
}

/// How a tensor's elements are made, in row-major order, by the one generator in `tritium-runtime`.
#[derive(Debug, Clone, PartialEq)]
pub enum Init {
    /// Contents do not matter (`torch.empty`); the runtime fills it with a pattern that shows what was not written.
    Empty,
    Zeros,
    Ones,
    Full(f64),
    Normal {
        mean: f64,
        std: f64,
    },
    Uniform {
        low: f64,
        high: f64,
    },
    /// `low <= x < high`
    RandInt {
        low: i64,
        high: i64,
    },
    Arange,
    File(String),
}

#[derive(Debug, Clone, PartialEq)]
pub enum LaunchSource {
    Block,
    Sidecar,
    /// The file's own `kernel[grid](…)`, at this byte range.
    Host {
        start: u32,
        end: u32,
    },
}
