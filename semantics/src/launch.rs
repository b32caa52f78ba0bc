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
    host::{self, HostPlace, Kind},
    items,
};

mod arithmetic;
mod block;
mod limits;
mod options;
mod select;

pub(crate) use block::tensor;
pub use block::{WrittenName, launches_with_size, names_beside, spelled, written_names};
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

/// A launch in host code as far as it is known, whether or not all of it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PartialLaunch {
    pub kernel: Function,
    /// One for each parameter.
    pub given: Vec<Given>,
    pub options: GivenOptions,
}

/// What is known of an argument.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Given {
    Known(Const),
    OneOf(Vec<Const>),
    Tuple(Vec<Given>),
    Descriptor {
        elem: DType,
        block: Vec<u32>,
        nan: bool,
    },
    /// No more than what it is, whichever value it has, unless it is `None`; and the value that it has unless somebody says otherwise, if
    /// there is one.
    Open {
        kind: Kind,
        may_be_none: bool,
        usual: Option<Const>,
    },
}

impl Given {
    pub(crate) const UNKNOWN: Given = Given::Open { kind: Kind::Any, may_be_none: true, usual: None };

    /// Whether Triton would specialise for the same, whatever is not known of it.
    pub fn is_known(&self) -> bool {
        match self {
            Given::Known(_) | Given::Descriptor { .. } => true,
            Given::Open { kind: Kind::Tensor(Some(_)), may_be_none, .. } => !may_be_none,
            Given::Tuple(items) => items.iter().all(Given::is_known),
            Given::OneOf(_) | Given::Open { .. } => false,
        }
    }

    /// Whether what is known of an argument allows for what is known of it elsewhere.
    pub(crate) fn admits(&self, other: &Given) -> bool {
        let Given::Open { kind, may_be_none, .. } = self else {
            return match (self, other) {
                (Given::OneOf(all), Given::Known(one)) => all.contains(one),
                (Given::OneOf(all), Given::OneOf(some)) => some.iter().all(|one| all.contains(one)),
                (Given::Tuple(all), Given::Tuple(others)) => {
                    all.len() == others.len() && all.iter().zip(others).all(|(one, other)| one.admits(other))
                }
                _ => self == other,
            };
        };
        let takes = |of: Kind| *kind == Kind::Any || *kind == of || matches!((kind, of), (Kind::Tensor(None), Kind::Tensor(_)));
        match other {
            Given::Known(Const::None) => *may_be_none,
            Given::Known(value) => takes(Kind::of(value)),
            Given::OneOf(all) => all.iter().all(|one| self.admits(&Given::Known(one.clone()))),
            Given::Open { kind: of, may_be_none: or_none, .. } => takes(*of) && (*may_be_none || !or_none),
            Given::Tuple(_) | Given::Descriptor { .. } => *kind == Kind::Any,
        }
    }
    /// What is known of it, in words.
    pub fn description(&self) -> &'static str {
        match self {
            Given::Known(_) => "known",
            Given::OneOf(_) => "one of several values",
            Given::Tuple(_) => "a tuple",
            Given::Descriptor { .. } => "a tensor descriptor",
            Given::Open { kind, .. } => match kind {
                Kind::Any => "anything",
                Kind::Int => "an integer",
                Kind::Float => "a float",
                Kind::Bool => "a flag",
                Kind::Str => "a word",
                Kind::DType => "a dtype",
                Kind::Tensor(None) => "a tensor of some dtype",
                Kind::Tensor(Some(_)) => "a tensor or nothing",
                Kind::Ints => "some integers",
            },
        }
    }
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
    pub memory: MemoryPlace,
}

/// Where a tensor lies: two tensors of a launch may be views of one memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryPlace {
    /// Among the memories of its launch, numbered by their first tensor.
    pub index: usize,
    /// Elements before the tensor's first.
    pub offset: u64,
    /// Elements of the memory that lie behind the last one that the tensor reaches.
    pub behind: u64,
}

impl Tensor {
    /// From the first element to the last one that the shape and strides reach; `None` where that cannot be counted.
    pub fn span(&self) -> Option<u64> {
        if self.shape.contains(&0) {
            return Some(0);
        }
        let axes = self.shape.iter().zip(&self.strides);
        axes.into_iter().try_fold(1u64, |span, (&extent, &stride)| (extent - 1).checked_mul(stride)?.checked_add(span))
    }

    /// Whether it is all of its memory.
    pub fn is_whole(&self) -> bool {
        self.memory.offset == 0 && self.memory.behind == 0
    }
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
    /// Host code computes them: the file's program says how.
    Computed,
}

/// Where a launch is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaunchSource {
    Block,
    Sidecar,
    /// A program has made it.
    Recorded,
    /// The file's own `kernel[grid](…)`.
    Host(HostPlace),
}

/// Where something is wrong with a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchPlace {
    /// Bytes of the TOML of a launch block, counted among those of the file.
    Block {
        nth: usize,
        span: Range<usize>,
    },
    /// The message names the line.
    Sidecar,
    Host(HostPlace),
}

impl LaunchPlace {
    /// Bytes of the file; of a sidecar's, the file's start.
    pub fn range(&self, db: &dyn Db, file: SourceFile) -> Option<Range<usize>> {
        match self {
            LaunchPlace::Block { nth, span } => Some(block::of_text(file.text(db)).get(*nth)?.range_or_opening(span)),
            LaunchPlace::Sidecar => Some(0..0),
            LaunchPlace::Host(place) => place.range(db),
        }
    }
}

/// Every launch of a file that is known, and what is wrong with the others.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Launches {
    /// Of the block, then of the sidecar, then those that programs have made, then of host code.
    pub launches: Vec<Launch>,
    /// One for each of them. It stands beside the launch, so that one which only moves stays what it was.
    pub sources: Vec<LaunchSource>,
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
    pub place: LaunchPlace,
}

/// A launch in host code that could not be evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownLaunch {
    pub place: HostPlace,
    pub kernel: Function,
    pub reason: String,
}

#[salsa::tracked(returns(ref))]
pub fn launches(db: &dyn Db, file: SourceFile) -> Launches {
    let mut out = Launches::default();
    for (nth, block) in block::blocks(db, file).iter().enumerate() {
        block::read(db, file, block, nth, &mut out);
    }
    if let Some(text) = file.sidecar(db) {
        block::read(db, file, &block::of_sidecar(text), 0, &mut out);
    }
    if let Some(text) = db.settings().chosen(db).recorded.get(file.path(db)) {
        block::read_recorded(db, file, text, &mut out);
    }
    let host = &host::host_launches(db, file).found;
    out.launches.extend(host.launches.iter().cloned());
    out.sources.extend(&host.sources);
    out.problems.extend(host.problems.iter().cloned());
    out.unknown.extend(host.unknown.iter().cloned());
    out
}

/// The line, counted from 1, on which a launch begins: of the file, or of the `.launch.toml` beside it.
pub fn line_of(db: &dyn Db, file: SourceFile, launch: &Launch) -> Option<u32> {
    let line = |at: usize| items::line_number(db, file, at);
    let all = launches(db, file);
    let is_same = |other: &Launch| other.kernel == launch.kernel && other.id() == launch.id();
    match *all.sources.get(all.launches.iter().position(is_same)?)? {
        LaunchSource::Host(place) => place.range(db).map(|range| line(range.start)),
        LaunchSource::Block => block::of_text(file.text(db)).iter().find_map(|block| block.header(&launch.name)).map(line),
        LaunchSource::Recorded => None,
        LaunchSource::Sidecar => block::of_sidecar(file.sidecar(db).as_ref()?).header_line(&launch.name),
    }
}

/// Where the so-many-th launch of a kernel is written.
pub(crate) fn source_of(db: &dyn Db, kernel: Function, index: usize) -> Option<LaunchSource> {
    let all = launches(db, kernel.file(db));
    let mut mine = all.launches.iter().zip(&all.sources).filter(|(launch, _)| launch.kernel == kernel);
    mine.nth(index).map(|(_, source)| *source)
}

/// The launches of one kernel: what reads no more than this is not asked again when another kernel's launches change, or these move.
#[salsa::tracked(returns(ref))]
pub fn launches_of(db: &dyn Db, kernel: Function) -> Vec<Launch> {
    launches(db, kernel.file(db)).launches.iter().filter(|launch| launch.kernel == kernel).cloned().collect()
}
