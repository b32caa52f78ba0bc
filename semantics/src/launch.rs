//! Launches of kernels: from launch blocks, sidecar files, or evaluated host code.
//!
//! **Invariant:** a launch is complete: every argument, the grid and every compile-time value is known. What host evaluation could not
//! know makes no launch (and is said in a problem), never a guess.

use std::ops::Range;

use indexmap::IndexMap;
use smol_str::SmolStr;

use crate::{
    Db, Function, SourceFile,
    constant::Const,
    diagnostics::{Code, Severity},
    dtype::DType,
    host,
    items::{self, in_file},
};

mod arithmetic;
mod block;
mod limits;
mod options;
mod select;

pub use block::{WrittenName, names_beside, written_names};
pub use limits::{Impossible, grid, impossible_init, impossible_option, impossible_size, impossible_tensor, option};
pub use options::{GivenOptions, LaunchOptions};
pub use select::{LaunchId, is_of, select};

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
    pub options: LaunchOptions,
    /// The row of `@triton.autotune(configs=…)` that `meta` and the options come from.
    pub config: Option<u32>,
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
    Tuple(Vec<LaunchArg>),
    /// A tensor seen through a `TensorDescriptor`.
    Descriptor {
        tensor: usize,
        block: Vec<u32>,
        nan: bool,
    },
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

/// Every launch of a file that is known, and what is wrong with the others.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Launches {
    /// Of the block, then of the sidecar, then of host code.
    pub launches: Vec<Launch>,
    pub problems: Vec<LaunchProblem>,
    pub unknown: Vec<UnknownLaunch>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchProblem {
    pub code: Code,
    /// How much it matters here.
    pub severity: Severity,
    pub message: String,
    /// The launch of a block or sidecar that has it.
    pub launch: Option<SmolStr>,
    /// Bytes of the file; of a sidecar's problem, the file's start.
    pub range: Range<usize>,
}

/// A launch in host code that could not be evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownLaunch {
    pub kernel: Function,
    pub range: Range<usize>,
    pub reason: String,
}

#[salsa::tracked(returns(ref))]
pub fn launches(db: &dyn Db, file: SourceFile) -> Launches {
    let mut out = Launches::default();
    for block in block::of_text(file.text(db)) {
        block::read(db, file, &block, &mut out);
    }
    if let Some(text) = file.sidecar(db) {
        block::read(db, file, &block::of_sidecar(text), &mut out);
    }
    let host = host::host_launches(db, file);
    let range = |place: host::HostPlace| {
        let map = items::chunk_map(db, place.file, place.chunk)?;
        Some(in_file(map.0, *map.1.exprs.get(place.expr.0 as usize)?))
    };
    for found in &host.launches {
        let Some(at) = range(found.place) else { continue };
        let source = LaunchSource::Host { start: at.start as u32, end: at.end as u32 };
        out.launches.push(Launch { source, ..found.launch.clone() });
    }
    for problem in &host.problems {
        if let Some(range) = range(problem.place) {
            let (code, severity, message) = (problem.code, problem.severity, problem.message.clone());
            out.problems.push(LaunchProblem { code, severity, message, launch: None, range });
        }
    }
    for unknown in &host.unknown {
        if let Some(range) = range(unknown.place) {
            out.unknown.push(UnknownLaunch { kernel: unknown.kernel, range, reason: unknown.reason.clone() });
        }
    }
    out
}

/// The line, counted from 1, on which a launch begins: of the file, or of the `.launch.toml` beside it.
pub fn line_of(db: &dyn Db, file: SourceFile, launch: &Launch) -> Option<u32> {
    let line = |at: usize| items::line_number(db, file, at);
    match launch.source {
        LaunchSource::Host { start, .. } => Some(line(start as usize)),
        LaunchSource::Block => block::of_text(file.text(db)).iter().find_map(|block| block.header(&launch.name)).map(line),
        LaunchSource::Sidecar => {
            let block = block::of_sidecar(file.sidecar(db).as_ref()?);
            block.header(&launch.name).map(|at| block.line(at) as u32)
        }
    }
}

/// The launches of one kernel with their indices among the file's, less where they stand: what reads no more than this is not asked again
/// when lines come or go above them.
#[salsa::tracked(returns(ref))]
pub(crate) fn unplaced(db: &dyn Db, kernel: Function) -> Vec<(usize, Launch)> {
    let all = launches(db, kernel.file(db)).launches.iter().enumerate();
    let mine = all.filter(|(_, launch)| launch.kernel == kernel);
    mine.map(|(index, launch)| {
        let source = match launch.source {
            LaunchSource::Host { .. } => LaunchSource::Host { start: 0, end: 0 },
            LaunchSource::Block | LaunchSource::Sidecar => launch.source.clone(),
        };
        (index, Launch { source, ..launch.clone() })
    })
    .collect()
}

/// The launches of one kernel.
pub fn launches_of(db: &dyn Db, kernel: Function) -> impl Iterator<Item = &Launch> {
    launches(db, kernel.file(db)).launches.iter().filter(move |l| l.kernel == kernel)
}
