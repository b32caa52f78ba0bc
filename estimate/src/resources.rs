//! What a kernel takes and costs, as one report.
//!
//! **Invariant:** every figure says which compiler it is about and whether it is exact or an estimate, and an estimate says what it rests
//! on. Registers are an estimate here; ptxas makes them exact later.

use serde::Serialize;
use tritium_semantics::target::Gpu;
use tritium_tile::{BlockId, Function, Module, Op, OpId, OpKind, ops::LoopAttrs, scratch};

use crate::{
    access::{Access, accesses},
    analyses::Analyses,
    banks::{Passage, passages},
    cost::{self, Cost, Launch},
    occupancy::{Occupancy, occupancy, registers_of_thread},
    products::{Product, products},
    registers,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    Exact,
    Estimated,
}

/// A figure with its certainty and what it rests on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figure<T> {
    pub value: T,
    /// Between these for all we know; both are `value` when exact.
    pub low: T,
    pub high: T,
    pub certainty: Certainty,
    pub assumption: &'static str,
}

impl<T: Copy> Figure<T> {
    pub fn exact(value: T) -> Figure<T> {
        Figure { value, low: value, high: value, certainty: Certainty::Exact, assumption: "" }
    }
}

/// A part of shared memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Buffer {
    pub origin: u32,
    /// The operation it belongs to.
    pub what: &'static str,
    pub offset: u32,
    pub bytes: u32,
}

/// A loop whose loads run ahead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stages {
    pub origin: u32,
    /// `num_stages`, and the stages that there are.
    pub wanted: u32,
    pub given: u32,
    /// Why there are fewer.
    pub reason: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelReport {
    pub kernel: String,
    pub gpu: String,
    /// Whose figures these are.
    pub compiler: &'static str,
    pub num_warps: u32,
    /// Per thread.
    pub registers: Figure<u32>,
    /// The op at which most registers are live.
    pub pressure_origin: u32,
    /// What is live at each place of the source, at its worst; in the order of the program.
    pub pressure: Vec<registers::Point>,
    /// Per thread.
    pub spill_bytes: Figure<u32>,
    pub shared_bytes: Figure<u32>,
    pub buffers: Vec<Buffer>,
    pub loops: Vec<Stages>,
    /// In the text of the kernel, those inside of reductions and conversions included.
    pub barriers: u32,
    pub accesses: Vec<Access>,
    pub products: Vec<Product>,
    /// Through shared memory.
    pub passages: Vec<Passage>,
    pub occupancy: Option<Occupancy>,
    pub cost: Cost,
    pub cost_assumption: &'static str,
}

impl KernelReport {
    /// Where most registers are live.
    pub fn worst(&self) -> Option<&registers::Point> {
        self.pressure.iter().find(|point| point.origin == self.pressure_origin)
    }
}

/// The report of a module at L1 with shared memory assigned; `max_registers` are those a thread may have (`maxnreg`).
pub fn report(module: &Module, gpu: Gpu, launch: Option<&Launch>, max_registers: Option<u32>) -> KernelReport {
    let analyses = Analyses::of(module);
    let function = analyses.function;
    let profile = registers::profile(&analyses);
    let limit = registers_of_thread(gpu.sm, module.num_warps, max_registers);
    let registers = estimated(function, profile.estimate, limit);
    let bound = f64::from(limit);
    // Far more is live than there is room for, and the whole count says so too.
    let spill = |live: f64, estimate: f64| {
        let is_some = live > SPILLS_FROM * bound && estimate > FULL_FROM * bound;
        if is_some { ((live - bound) * 4.0) as u32 } else { 0 }
    };
    let (live, estimate) = (profile.live, profile.estimate);
    let mut buffers = Vec::new();
    let mut loops = Vec::new();
    let mut barriers = 0;
    function.walk(|_, id| {
        let op = function.op(id);
        let bytes = scratch::bytes(module, function, id);
        if bytes > 0 {
            buffers.push(Buffer { origin: op.origin.0, what: op.kind.name(), offset: op.shared_offset.unwrap_or(0), bytes });
        }
        if let OpKind::For(LoopAttrs { num_stages: Some(wanted), stages: Some(given), .. }) = op.kind {
            loops.push(Stages { origin: op.origin.0, wanted, given, reason: (given < wanted).then(|| fewer(function, op)) });
        }
        let inside = bytes > 0 && !matches!(op.kind, OpKind::LocalAlloc);
        barriers += u32::from(matches!(op.kind, OpKind::Barrier) || inside);
    });
    let shared = module.shared_bytes.unwrap_or(0);
    let occupancy = occupancy(gpu.sm, 32 * module.num_warps, registers.value, shared, barriers.min(1));
    KernelReport {
        kernel: function.name.clone(),
        gpu: gpu.name().to_string(),
        compiler: "tritium",
        num_warps: module.num_warps,
        registers,
        pressure_origin: profile.worst.and_then(|at| profile.points.get(at)).map_or(u32::MAX, |point| point.origin),
        pressure: profile.points,
        spill_bytes: Figure {
            value: spill(live, estimate),
            low: 0,
            high: spill(live * HIGH, estimate * HIGH),
            certainty: Certainty::Estimated,
            assumption: "what is live beyond the limit is spilled",
        },
        shared_bytes: Figure::exact(shared),
        buffers,
        loops,
        barriers,
        accesses: accesses(&analyses, launch),
        products: products(module, gpu.sm),
        passages: passages(&analyses),
        cost: cost::cost(&analyses, launch, gpu, occupancy.as_ref()),
        occupancy,
        cost_assumption: if gpu.measured.is_some() { cost::ASSUMPTIONS_MEASURED } else { cost::ASSUMPTIONS },
    }
}

fn fewer(function: &Function, of: &Op) -> &'static str {
    let is_copy = |op: OpId| matches!(function.op(op).kind, OpKind::AsyncCopy(_) | OpKind::TmaLoad { .. });
    let copies = |region: &BlockId| function.block(*region).ops.iter().any(|&op| is_copy(op));
    if of.regions.iter().any(copies) {
        "rings of more buffers do not fit the shared memory of a CTA"
    } else {
        "asynchronous copies cannot do these loads; they go to registers, one trip ahead"
    }
}

/// Live over the limit by this factor a kernel is expected to spill: up to there ptxas computes values again and lets others wait.
const SPILLS_FROM: f64 = 1.5;
/// The part of the limit from which on a thread is expected to have all that it may.
const FULL_FROM: f64 = 0.95;
/// How much more than estimated it may be.
const HIGH: f64 = 1.35;

fn estimated(function: &Function, estimate: f64, limit: u32) -> Figure<u32> {
    let mut dots = false;
    function.walk(|_, op| dots |= matches!(function.op(op).kind, OpKind::Dot { .. } | OpKind::Wgmma { .. }));
    // Address arithmetic around dots is unrolled and kept in registers; streaming kernels are predicted better.
    let (below, above) = if dots { (0.25, 0.35) } else { (0.2, 0.25) };
    let clamp = |n: f64| (n.round().max(4.0) as u32).min(limit);
    Figure {
        value: clamp(estimate),
        low: clamp(estimate * (1.0 - below)),
        high: clamp(estimate * (1.0 + above)),
        certainty: Certainty::Estimated,
        assumption: "live values per thread, scaled to what ptxas allocates",
    }
}
