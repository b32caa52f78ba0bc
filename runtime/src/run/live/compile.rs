//! A living kernel as machine code: what a program's own compiler would be asked, answered by the same database.

use std::time::{Duration, Instant};

use smol_str::SmolStr;
use tritium_codegen::{self as codegen, CompileOptions, tensor_map::TensorMap};
use tritium_semantics::{
    ArgType, Argument, Database, Instance,
    diagnostics::Code,
    dtype::DType,
    elaborate::elaborate,
    instance::parse_argument,
    launch::LaunchOptions,
    project,
    target::{Feature, Sm},
};
use tritium_tile::{Module, OpKind, rewrite};

use super::{Live, LiveConst, LiveProblem, problems, told};
use crate::run::{Compiler, Naming, compare};

/// A specialisation that a program wants to launch.
#[derive(Debug, Clone)]
pub struct LiveKernel {
    pub module: String,
    pub kernel: String,
    /// One for each parameter, in order.
    pub arguments: Vec<LiveArgument>,
    pub options: LaunchOptions,
    pub sm: &'static Sm,
    /// What it is called where profilers look; nothing if that is the function's name.
    pub name: Option<String>,
    /// Whether the code says which lines it comes from.
    pub has_lines: bool,
    /// Whether `tl.device_assert` is compiled.
    pub assertions: bool,
    /// How `f32` is multiplied where a product does not say.
    pub fp32_default: Option<String>,
}

/// What Triton specialises a parameter for.
#[derive(Debug, Clone)]
pub enum LiveArgument {
    /// A run-time value by its type: `*fp16:16`, `i32`, `tensordesc<fp16[64, 64]>`.
    Typed(String),
    Const(LiveConst),
    Tuple(Vec<LiveArgument>),
}

/// How one argument of a launch becomes parameters of the compiled kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slot {
    /// It is known at compile time.
    Skip,
    Pointer,
    Int,
    /// In the kernel's type.
    Float(DType),
    Tuple(Vec<Slot>),
    /// A host `TensorDescriptor`: its base, its extents, and its strides but for the last. Of its parameters, `nan` was compiled in.
    Descriptor {
        rank: usize,
        nan: bool,
    },
}

/// A kernel that can be loaded.
#[derive(Debug, Clone)]
pub struct LiveCompiled {
    /// The name of the entry.
    pub name: String,
    /// A cubin, or PTX where there is no ptxas.
    pub image: Vec<u8>,
    pub is_cubin: bool,
    pub ptx: String,
    pub llvm: String,
    /// Dynamic shared memory of a CTA.
    pub shared_bytes: u32,
    /// One for each parameter of the function.
    pub slots: Vec<Slot>,
    /// Bytes of each parameter of the compiled kernel.
    pub sizes: Vec<u32>,
    /// Bytes for each program of the grid, in memory that a launch gives behind the kernel's own parameters if there are any.
    pub scratch_bytes: u32,
    pub tensor_maps: Vec<TensorMap>,
    /// Elements of a tile take what atomic operations give back, as places in a list: in an order that nobody promises.
    pub uses_atomic_results: bool,
    /// What Triton would warn of as it compiles.
    pub warnings: Vec<LiveProblem>,
    /// How long it took to make.
    pub taken: Duration,
    rounding: compare::Rounding,
}

impl LiveCompiled {
    /// How far results of this type may lie from another compiler's, as ‖a − b‖₂ / ‖b‖₂, where `extent` is the largest of a tensor's axis.
    pub fn bound(&self, dtype: DType, extent: u64) -> f64 {
        self.rounding.bound(dtype, extent)
    }
}

/// A specialisation, and a view of the database that others may go on using.
pub struct Prepared {
    db: Database,
    instance: Instance,
    options: CompileOptions,
    name: Option<String>,
    has_lines: bool,
}

impl Live {
    /// Finds the function and what it is specialised for. What comes of it is compiled without this.
    pub fn prepare(&mut self, asked: &LiveKernel) -> Result<Prepared, Vec<LiveProblem>> {
        self.renew_if_full();
        self.multiply_by_default(asked.fp32_default.as_deref());
        let function = self.function(&asked.module, &asked.kernel).map_err(refused)?;
        let arguments = asked.arguments.iter().map(|argument| self.argument(argument)).collect::<Result<Vec<_>, _>>();
        let arguments = arguments.map_err(refused)?;
        let version = project::triton(&self.db, function.file(&self.db));
        let instance = Instance::new(&self.db, function, arguments, SmolStr::from(version));
        let options = CompileOptions { assertions: asked.assertions, ..CompileOptions::new(asked.sm, asked.options) };
        Ok(Prepared { db: self.db.clone(), instance, options, name: asked.name.clone(), has_lines: asked.has_lines })
    }

    fn argument(&self, argument: &LiveArgument) -> Result<Argument, String> {
        Ok(match argument {
            LiveArgument::Typed(text) => parse_argument(text)?,
            LiveArgument::Const(value) => Argument::Constexpr(self.constant(value)?),
            LiveArgument::Tuple(items) => {
                Argument::Tuple(items.iter().map(|item| self.argument(item)).collect::<Result<_, _>>()?)
            }
        })
    }
}

impl Prepared {
    /// The kernel as it would be loaded, or why there is none.
    pub fn compile(&self, compiler: &Compiler) -> Result<LiveCompiled, Vec<LiveProblem>> {
        let (db, begin) = (&self.db, Instant::now());
        let problems = problems(db, self.instance);
        if !problems.is_empty() {
            return Err(problems);
        }
        let elaborated = elaborate(db, self.instance);
        if let Some(why) = left_to_triton(&elaborated.module, self.options) {
            return Err(refused(why));
        }
        let entry = elaborated.module.entry();
        let sizes: Vec<u32> = entry.params.iter().map(|param| entry.parameter_bytes(param)).collect();
        let slots: Option<Vec<Slot>> = self.instance.arguments(db).iter().map(slot).collect();
        let slots = slots.ok_or_else(|| refused("an argument has a type that no launch passes".to_owned()))?;
        if slots.iter().map(Slot::parameters).sum::<usize>() != sizes.len() {
            return Err(refused("the compiled kernel has other parameters than the launch".to_owned()));
        }
        // An assertion says its line in any case.
        let has_lines = self.has_lines || self.options.assertions;
        let lines = if has_lines { codegen::source_lines(db, self.instance) } else { codegen::SourceLines::default() };
        let naming = Naming { entry: self.name.clone(), lines: Some(lines) };
        let compiled = compiler.compile_as(db, self.instance, self.options, &naming).map_err(refused)?;
        let llvm = codegen::llvm_text(db, self.instance, self.options).as_ref().map_err(|e| refused(e.message.clone()))?;
        Ok(LiveCompiled {
            name: compiled.kernel,
            is_cubin: compiled.registers.is_some(),
            image: compiled.image,
            ptx: compiled.ptx,
            llvm: llvm.text.clone(),
            shared_bytes: compiled.shared_bytes,
            slots,
            sizes,
            scratch_bytes: compiled.scratch_bytes,
            tensor_maps: compiled.tensor_maps,
            uses_atomic_results: uses_atomic_results(&elaborated.module),
            warnings: told(db, elaborated, |problem| WARNED_OF.contains(&problem.code)),
            taken: begin.elapsed(),
            rounding: compare::Rounding::of(&elaborated.module),
        })
    }
}

/// What Triton's front end warns of.
const WARNED_OF: [Code; 2] = [Code::DTY010, Code::LNG014];

/// Why Triton's code is the better one, if it is: products that accumulate in tensor memory are not compiled, and `mma.sync` is far slower there.
fn left_to_triton(module: &Module, options: CompileOptions) -> Option<String> {
    if !options.sm.has(Feature::TensorMemory) || options.launch.num_warps < 4 {
        return None;
    }
    let mut found = false;
    for function in &module.functions {
        function.walk(|_, op| {
            let op = function.op(op);
            if matches!(op.kind, OpKind::Dot { .. })
                && let &[.., m, n] = &function.ty(op.results[0]).shape()[..]
            {
                found |= m >= 64 && n >= 8;
            }
        });
    }
    found.then(|| {
        format!("products of 64 rows and more are left to Triton on {}, whose tensor memory is not used here", options.sm.name)
    })
}

/// Whether what an atomic operation gives back for the elements of a tile is used.
fn uses_atomic_results(module: &Module) -> bool {
    module.functions.iter().any(|function| {
        let counts = rewrite::use_counts(function);
        let mut found = false;
        function.walk(|_, op| {
            let op = function.op(op);
            found |= matches!(op.kind, OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. })
                && op.results.iter().any(|&result| counts[result.index()] > 0 && !function.ty(result).is_scalar());
        });
        found
    })
}

/// What nobody can point to.
fn refused(message: String) -> Vec<LiveProblem> {
    vec![LiveProblem { code: String::new(), message, place: None }]
}

impl Slot {
    /// How many parameters of the compiled kernel it fills.
    pub fn parameters(&self) -> usize {
        match self {
            Slot::Skip => 0,
            Slot::Pointer | Slot::Int | Slot::Float(_) => 1,
            Slot::Tuple(items) => items.iter().map(Slot::parameters).sum(),
            Slot::Descriptor { rank, .. } => 2 * rank,
        }
    }
}

fn slot(argument: &Argument) -> Option<Slot> {
    Some(match argument {
        Argument::Constexpr(_) => Slot::Skip,
        Argument::Runtime { ty: ArgType::Ptr { .. }, .. } => Slot::Pointer,
        Argument::Runtime { ty: ArgType::Scalar(dtype), .. } => match dtype {
            dtype if dtype.is_int() => Slot::Int,
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 => Slot::Float(*dtype),
            _ => return None,
        },
        Argument::Tuple(items) => Slot::Tuple(items.iter().map(slot).collect::<Option<_>>()?),
        Argument::Descriptor { block, nan, .. } => Slot::Descriptor { rank: block.len(), nan: *nan },
        Argument::Unknown => return None,
    })
}
