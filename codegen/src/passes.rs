//! From tile semantics (L0) to tiles in registers (L1): the pipeline and its runner.
//!
//! A pass is one file, one decision, one static. **Invariant:** a pass may rely on its `needs` and on nothing else of the passes before
//! it; what it `gives` is tested after it has run (in debug builds and tests), not believed. Passes refuse with [`Unsupported`], they
//! never panic on a verified module.

pub(crate) mod asked_scratch;
pub mod assign_layouts;
pub mod assign_shared;
pub mod balance_selects;
pub mod buffer_gathers;
pub mod canonicalise;
pub mod coalesce;
pub mod compute_converted;
pub mod decompose_dot;
pub mod drop_assertions;
pub mod flatten_branches;
pub mod inline;
pub mod load_blocks;
pub mod load_cse;
pub mod overlap_wgmma;
pub mod pick_mma;
pub mod pipeline_loops;
pub mod place_barriers;
pub mod place_fences;
pub mod place_operands_in_shared;
pub mod reduce_induction_tiles;
pub mod share_fma_operands;
pub mod sink_copies;
pub mod split_addresses;
pub mod store_blocks;
pub mod unroll_loops;
pub mod use_wgmma;
pub mod vectorise;
pub mod version_loops;
pub mod version_masks;
mod versions;
pub mod write_tensor_maps;

use tritium_tile::{Function, Level, Module, OpId, OpKind, Type};

use crate::{CompileOptions, Unsupported};

pub struct Pass {
    /// Also the name of its tests' directory and of its dump.
    pub name: &'static str,
    pub summary: &'static str,
    pub needs: &'static [Fact],
    pub gives: &'static [Fact],
    pub run: fn(&mut Module, &CompileOptions) -> Result<(), Unsupported>,
}

/// A promise about a module that can be tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact {
    /// Nothing is called.
    OneFunction,
    /// Every dot has operands that a tensor core, or single threads, multiply as they are.
    DotsFit,
    /// Every tile has a layout.
    HasLayouts,
    /// Every dot that a tensor core takes accumulates in its layout.
    DotsPicked,
    /// Operands of dots come from registers or from shared memory, never from a conversion through scratch.
    OperandsStaged,
    /// Every load and store knows how many elements it moves at once.
    Vectorised,
    /// Every buffer and scratch has its place.
    SharedAssigned,
    /// What the asynchronous proxy reads is behind a fence of the ordinary writes.
    FencesPlaced,
    /// No two conflicting accesses to shared memory without a barrier between them.
    BarriersPlaced,
}

/// The order of the passes, one screen. A pass that an SM has no use for leaves the module as it is.
pub static PIPELINE: [&Pass; 33] = [
    // L0
    &inline::PASS,
    &drop_assertions::PASS,
    &canonicalise::PASS,
    &unroll_loops::PASS,
    &canonicalise::PASS,
    &flatten_branches::PASS,
    &load_cse::PASS,
    &decompose_dot::PASS,
    &reduce_induction_tiles::PASS,
    &split_addresses::PASS,
    &canonicalise::PASS,
    &balance_selects::PASS,
    // L1
    &coalesce::PASS,
    &pick_mma::PASS,
    &assign_layouts::PASS,
    &compute_converted::PASS,
    &canonicalise::PASS,
    &place_operands_in_shared::PASS,
    &buffer_gathers::PASS,
    &version_masks::PASS,
    &vectorise::PASS,
    &version_loops::PASS,
    // L2, where loads run ahead or warpgroups multiply
    &pipeline_loops::PASS,
    &load_blocks::PASS,
    &use_wgmma::PASS,
    &overlap_wgmma::PASS,
    &store_blocks::PASS,
    &write_tensor_maps::PASS,
    &share_fma_operands::PASS,
    &assign_shared::PASS,
    &place_fences::PASS,
    &place_barriers::PASS,
    &sink_copies::PASS,
];

/// Runs the pipeline. `observe` sees the module after each pass and may stop the run by unwinding (cancellation).
pub fn lower(l0: &Module, options: &CompileOptions) -> Result<Module, Unsupported> {
    lower_observed(l0, options, &mut |_, _| {})
}

pub fn lower_observed(
    l0: &Module,
    options: &CompileOptions,
    observe: &mut dyn FnMut(&'static Pass, &Module),
) -> Result<Module, Unsupported> {
    options.check()?;
    check_tiles(l0, options)?;
    let mut module = l0.clone();
    for pass in PIPELINE {
        run(pass, &mut module, options)?;
        observe(pass, &module);
    }
    Ok(module)
}

/// Elements of one tile that a thread may hold: LLVM and ptxas take minutes for more.
const MAX_ELEMENTS_PER_THREAD: u64 = 2048;

fn check_tiles(l0: &Module, options: &CompileOptions) -> Result<(), Unsupported> {
    let threads = u64::from(32 * options.launch.num_warps);
    for function in &l0.functions {
        for op in &function.ops {
            for &result in &op.results {
                let elements = function.ty(result).num_elements();
                if elements / threads > MAX_ELEMENTS_PER_THREAD {
                    let message = format!(
                        "a tile of {elements} elements over {} warps is {} elements for each thread, and at most {MAX_ELEMENTS_PER_THREAD} are compiled: use a smaller block, or more warps",
                        options.launch.num_warps,
                        elements / threads
                    );
                    return Err(Unsupported::new(op.origin, message));
                }
            }
        }
    }
    Ok(())
}

/// Runs one pass and, in debug builds, tests what it was promised and what it promises.
pub fn run(pass: &'static Pass, module: &mut Module, options: &CompileOptions) -> Result<(), Unsupported> {
    let _span = tracing::debug_span!("pass", name = pass.name).entered();
    if cfg!(debug_assertions) {
        expect(pass, "needs", pass.needs, module, options);
    }
    (pass.run)(module, options)?;
    prune_layouts(module);
    if cfg!(debug_assertions) {
        if let Err(problem) = well_formed(module) {
            panic!("`{}` made a module that does not verify: {problem}\n{module}", pass.name);
        }
        expect(pass, "gives", pass.gives, module, options);
    }
    Ok(())
}

/// Keeps the layouts that some value has, numbered in the order of the text.
fn prune_layouts(module: &mut Module) {
    let old = std::mem::take(&mut module.layouts);
    for function in &mut module.functions {
        for value in &mut function.values {
            if let Some(layout) = value.ty.layout() {
                let kept = module.layouts.intern(old.get(layout).clone());
                value.ty = value.ty.with_layout(kept);
            }
        }
    }
}

fn well_formed(module: &Module) -> Result<(), String> {
    match &tritium_tile::verify::verify(module)[..] {
        [] => Ok(()),
        problems => Err(format!("{problems:?}")),
    }
}

fn expect(pass: &Pass, what: &str, facts: &[Fact], module: &Module, options: &CompileOptions) {
    for fact in facts {
        if let Err(problem) = fact.test(module, options) {
            panic!("`{}` {what} {fact:?}, but {problem}", pass.name);
        }
    }
}

/// Some product is computed.
pub(crate) fn multiplies(function: &Function) -> bool {
    let mut found = false;
    function.walk(|_, id| found |= matches!(function.op(id).kind, OpKind::Dot { .. } | OpKind::Wgmma { .. }));
    found
}

/// The first op of the kernel that `wrong` has something to say about.
fn first_wrong(function: &Function, wrong: impl Fn(OpId) -> Option<String>) -> Result<(), String> {
    let mut problem = None;
    function.walk(|_, op| {
        if problem.is_none() {
            problem = wrong(op);
        }
    });
    problem.map_or(Ok(()), Err)
}

impl Fact {
    pub fn test(self, module: &Module, options: &CompileOptions) -> Result<(), String> {
        let function = module.entry();
        let each = |wrong: &dyn Fn(OpId) -> Option<String>| first_wrong(function, wrong);
        let layout_of = |v| function.ty(v).layout().and_then(|l| module.layouts.distributed(l));
        match self {
            Fact::OneFunction => {
                each(&|op| matches!(function.op(op).kind, OpKind::Call { .. }).then(|| "a function is called".to_string()))
            }
            Fact::DotsFit => each(&|op| match function.op(op).kind {
                OpKind::Dot { precision, .. } => {
                    let unit = pick_mma::unit(function, op, precision, options);
                    unit.is_none().then(|| format!("{op:?} is a dot that nothing multiplies as it is"))
                }
                _ => None,
            }),
            Fact::HasLayouts => {
                if module.level < Level::L1 {
                    return Err("the module is at L0".to_string());
                }
                each(&|op| {
                    let bare = |ty: &Type| !ty.is_scalar() && ty.layout().is_none();
                    let results = function.op(op).results.iter().any(|&r| bare(function.ty(r)));
                    results.then(|| format!("{op:?} has a tile without a layout"))
                })
            }
            Fact::DotsPicked => each(&|op| match function.op(op).kind {
                OpKind::Dot { precision, .. } => {
                    let tensor_core = pick_mma::unit(function, op, precision, options) == Some(pick_mma::Unit::TensorCore);
                    let picked = layout_of(function.op(op).results[0]).is_some_and(tritium_tile::layout::mma::is_accumulator);
                    (tensor_core && !picked).then(|| format!("{op:?} accumulates elsewhere"))
                }
                _ => None,
            }),
            Fact::OperandsStaged => each(&|op| {
                let OpKind::Dot { .. } = function.op(op).kind else { return None };
                let through_scratch = |v| place_operands_in_shared::is_costly_conversion(module, function, v);
                let wrong = function.op(op).operands[..2].iter().any(|&v| through_scratch(v));
                wrong.then(|| format!("{op:?} has an operand that is converted through scratch"))
            }),
            Fact::Vectorised => each(&|op| match function.op(op).kind {
                OpKind::Load(attrs) => (attrs.vector == 0).then(|| format!("{op:?} does not know its width")),
                OpKind::Store(attrs) => (attrs.vector == 0).then(|| format!("{op:?} does not know its width")),
                OpKind::AsyncCopy(attrs) => (attrs.vector == 0).then(|| format!("{op:?} does not know its width")),
                _ => None,
            }),
            Fact::SharedAssigned => {
                let Some(total) = module.shared_bytes else { return Err("nothing is assigned".to_string()) };
                each(&|op| {
                    let bytes = crate::scratch::bytes(module, function, op);
                    let end = function.op(op).shared_offset.map(|o| o + bytes);
                    (bytes > 0 && end.is_none_or(|end| end > total)).then(|| format!("{op:?} has no place"))
                })
            }
            Fact::FencesPlaced => match place_fences::missing(module) {
                0 => Ok(()),
                n => Err(format!("{n} fences are missing")),
            },
            Fact::BarriersPlaced => {
                let mut copy = module.clone();
                match place_barriers::place(&mut copy) {
                    0 => Ok(()),
                    n => Err(format!("{n} barriers are missing")),
                }
            }
        }
    }
}
