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
    fitted::WITHIN_TEXT,
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
    /// Of them, those that are live at once at the worst place.
    pub live_registers: f64,
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

/// The report of a module at L1 with shared memory assigned; `max_registers` are those a thread may have (`maxnreg`), `assembled` those that it
/// has where ptxas has said so.
pub fn report(
    module: &Module,
    gpu: Gpu,
    launch: Option<&Launch>,
    max_registers: Option<u32>,
    assembled: Option<u32>,
) -> KernelReport {
    let analyses = Analyses::of(module);
    let function = analyses.function;
    let profile = registers::profile(&analyses);
    let limit = registers_of_thread(gpu.sm, module.num_warps, max_registers);
    let (low, expected, high) = profile.registers();
    let clamp = |n: f64| (n.round().max(4.0) as u32).min(limit);
    let registers = Figure {
        value: clamp(expected),
        low: clamp(low),
        high: clamp(high),
        certainty: Certainty::Estimated,
        assumption: WITHIN_TEXT,
    };
    // Told where even the low end is beyond what a thread has: ptxas computes values again and lets others wait.
    let beyond = |n: f64| (4.0 * (n - f64::from(limit))).max(0.0) as u32;
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
    let occupancy = occupancy(gpu.sm, 32 * module.num_warps, assembled.unwrap_or(registers.value), shared, barriers.min(1));
    KernelReport {
        kernel: function.name.clone(),
        gpu: gpu.name().to_string(),
        compiler: "tritium",
        num_warps: module.num_warps,
        registers,
        live_registers: profile.live,
        pressure_origin: profile.worst.and_then(|at| profile.points.get(at)).map_or(u32::MAX, |point| point.origin),
        pressure: profile.points,
        spill_bytes: Figure {
            value: if beyond(low) > 0 { beyond(expected) } else { 0 },
            low: beyond(low),
            high: beyond(high),
            certainty: Certainty::Estimated,
            assumption: "what is live beyond the limit is spilled",
        },
        shared_bytes: Figure::exact(shared),
        buffers,
        loops,
        barriers,
        accesses: accesses(&analyses, launch),
        products: products(module, gpu.sm),
        passages: passages(&analyses, gpu.sm),
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
