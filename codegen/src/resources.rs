//! What a kernel takes and costs, as one report.
//!
//! **Invariant:** every figure says which compiler it is about and whether it is exact or an estimate, and an estimate says what it rests
//! on. Registers are an estimate here; ptxas makes them exact later.

use serde::Serialize;
use tritium_semantics::target::Gpu;
use tritium_tile::{
    BlockId, Elem, Function, Module, Op, OpId, OpKind, Type, ValueId,
    facts::{self, Facts},
    ops::LoopAttrs,
    rewrite,
};

use crate::{
    access::{Access, accesses},
    cost::{self, Cost, Launch},
    occupancy::{Occupancy, occupancy},
    scratch,
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
    /// Per thread.
    pub spill_bytes: Figure<u32>,
    pub shared_bytes: Figure<u32>,
    pub buffers: Vec<Buffer>,
    pub loops: Vec<Stages>,
    /// In the text of the kernel, those inside of reductions and conversions included.
    pub barriers: u32,
    pub accesses: Vec<Access>,
    pub occupancy: Option<Occupancy>,
    pub cost: Cost,
    pub cost_assumption: &'static str,
}

/// The report of a module at L1 with shared memory assigned.
pub fn report(module: &Module, gpu: Gpu, launch: Option<&Launch>) -> KernelReport {
    let function = module.entry();
    let (live, at) = pressure(module, function);
    let registers = registers(function, live, gpu.sm.max_registers_per_thread);
    let limit = gpu.sm.max_registers_per_thread;
    let spill = |registers: f64| ((registers - f64::from(limit)).max(0.0) * 4.0) as u32;
    let estimate = BASE + PER_LIVE * live;
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
        pressure_origin: at.map_or(u32::MAX, |op| function.op(op).origin.0),
        spill_bytes: Figure {
            value: spill(estimate),
            low: 0,
            high: spill(estimate + f64::from(registers.high - registers.value)),
            certainty: Certainty::Estimated,
            assumption: "what is live beyond the limit is spilled",
        },
        shared_bytes: Figure::exact(shared),
        buffers,
        loops,
        barriers,
        accesses: accesses(module, launch),
        cost: cost::cost(module, launch, gpu.board, occupancy.as_ref()),
        occupancy,
        cost_assumption: cost::ASSUMPTIONS,
    }
}

fn fewer(function: &Function, of: &Op) -> &'static str {
    let copies =
        |region: &BlockId| function.block(*region).ops.iter().any(|&op| matches!(function.op(op).kind, OpKind::AsyncCopy(_)));
    if of.regions.iter().any(copies) {
        "rings of more buffers do not fit the shared memory of a CTA"
    } else {
        "asynchronous copies cannot do these loads; they go to registers, one trip ahead"
    }
}

/// Registers for addresses, indices and temporaries, and what ptxas takes for a live one: fitted to kernels that were compiled.
const BASE: f64 = 14.0;
const PER_LIVE: f64 = 1.1;

fn registers(function: &Function, live: f64, limit: u32) -> Figure<u32> {
    let mut dots = false;
    function.walk(|_, op| dots |= matches!(function.op(op).kind, OpKind::Dot { .. } | OpKind::Wgmma { .. }));
    // Address arithmetic around dots is unrolled and kept in registers; streaming kernels are predicted better.
    let (below, above) = if dots { (10.0, 60.0) } else { (16.0, 12.0) };
    let estimate = BASE + PER_LIVE * live;
    let clamp = |n: f64| (n.round().max(8.0) as u32).min(limit);
    Figure {
        value: clamp(estimate),
        low: clamp(estimate - below),
        high: clamp(estimate + above),
        certainty: Certainty::Estimated,
        assumption: "live values per thread, scaled to what ptxas allocates",
    }
}

/// Registers that hold a value: 0 for what is made again at its use or is another name.
fn weight(module: &Module, function: &Function, facts: &Facts, value: ValueId) -> f64 {
    let ty = function.ty(value);
    if matches!(ty, Type::Shared { .. }) {
        return 0.0;
    }
    if let Some(op) = function.def_op(value).map(|op| function.op(op)) {
        let free = matches!(
            op.kind,
            OpKind::Constant(_)
                | OpKind::Iota { .. }
                | OpKind::Splat
                | OpKind::Broadcast
                | OpKind::ExpandDims { .. }
                | OpKind::Reshape { .. }
                | OpKind::Transpose { .. }
        );
        if free {
            return 0.0;
        }
    }
    let layout = ty.layout().and_then(|l| module.layouts.distributed(l));
    let each = match ty.elem() {
        // Predicates have their own registers.
        Elem::Scalar(s) if s.bits() == 1 => 0.0,
        elem => f64::from(elem.bits()) / 32.0,
    };
    match (layout, ty.elem()) {
        (None, _) => each.ceil(),
        // Adjacent elements share an address.
        (Some(l), Elem::Ptr(_)) => {
            let run = (0..l.shape.len()).map(|d| l.contiguous_registers(d)).max().unwrap_or(1);
            each * (l.num_registers() as f64 / f64::from(run)).max(1.0)
        }
        // So do indices that count up or stay equal: one is kept, the others are immediates.
        (Some(l), Elem::Scalar(s)) if s.is_int() => {
            let axis = facts.axis(value);
            let run = |d: usize| u64::from(l.contiguous_registers(d)).min(axis.contiguity[d].max(axis.constancy[d]));
            let run = (0..l.shape.len()).map(run).max().unwrap_or(1);
            each * (l.num_registers() as f64 / run as f64).max(1.0)
        }
        (Some(l), Elem::Scalar(_)) => each * l.num_registers() as f64,
    }
}

/// The most registers live at once and the op where.
fn pressure(module: &Module, function: &Function) -> (f64, Option<OpId>) {
    let mut order: Vec<OpId> = Vec::new();
    let mut start = vec![0usize; function.ops.len()];
    function.walk(|_, op| {
        start[op.index()] = order.len();
        order.push(op);
    });
    let owners = rewrite::owner_ops(function);
    let parents = rewrite::parent_blocks(function);
    // The last op inside each op, itself if it has no regions.
    let mut end = start.clone();
    for &op in order.iter().rev() {
        let last = end[op.index()];
        if let Some(outer) = parents[op.index()].and_then(|b| owners[b.index()]) {
            end[outer.index()] = end[outer.index()].max(last);
        }
    }
    let facts = facts::of_function(function);
    let mut change = vec![0.0; order.len() + 2];
    let mut live = |value: ValueId, from: usize, to: usize| {
        let weight = weight(module, function, &facts, value);
        if to >= from {
            change[from] += weight;
            change[to + 1] -= weight;
        }
    };
    let users = rewrite::users(function);
    let last_use = |value: ValueId, defined_in: Option<OpId>| {
        let mut last = None;
        for &user in &users[value.index()] {
            let mut at = start[user.index()];
            // A use in a loop that the value comes from outside of keeps it alive on every trip.
            let mut inside = parents[user.index()].and_then(|b| owners[b.index()]);
            while let Some(outer) = inside
                && Some(outer) != defined_in
            {
                if matches!(function.op(outer).kind, OpKind::For(_) | OpKind::While) {
                    at = at.max(end[outer.index()]);
                }
                inside = parents[outer.index()].and_then(|b| owners[b.index()]);
            }
            last = last.max(Some(at));
        }
        last
    };
    for &op in &order {
        let owner = parents[op.index()].and_then(|b| owners[b.index()]);
        let is_loop = matches!(function.op(op).kind, OpKind::For(_) | OpKind::While);
        for &result in &function.op(op).results {
            // A result takes the registers of operands that die; what a loop carries is counted as its arguments while it runs.
            let from = if is_loop { end[op.index()] + 1 } else { start[op.index()] + 1 };
            if let Some(last) = last_use(result, owner) {
                live(result, from, last);
            }
        }
        if let Some(&region) = function.op(op).regions.first()
            && is_loop
        {
            for &arg in &function.block(region).args {
                // From its last use on a trip, what the trip passes on takes its registers.
                if let Some(last) = last_use(arg, Some(op)) {
                    live(arg, start[op.index()] + 1, last);
                }
            }
        }
    }
    // Parameters are in constant memory: they take no registers.
    let mut now = 0.0;
    let mut most = (0.0, None);
    for (index, &op) in order.iter().enumerate() {
        now += change[index];
        if now > most.0 {
            most = (now, Some(op));
        }
    }
    most
}
