//! What a kernel takes of a GPU when Triton compiles it: bytes of shared memory, and whether registers spill, without asking Triton.
//!
//! The rules follow what Triton's passes decide: the layout of every value ([`layouts`]), the loads that a loop fetches ahead and how many
//! buffers they get, the bytes that conversions, reductions and scans go through ([`scratch`]), and first-fit placement of all that is alive
//! at once. `cargo xtask accuracy footprints` compares them with recorded answers of Triton itself.
//!
//! **Invariant:** the kernel is read, never changed; every figure is an estimate and says what it rests on. Nothing of Tritium's own code
//! generation enters, so a change there changes no figure here.

mod encoding;
mod layouts;
mod pressure;
mod scratch;

use rustc_hash::FxHashSet;
use serde::Serialize;
use tritium_semantics::target::Feature;
use tritium_tile::{BlockId, Function, Module, OpId, OpKind, Scalar, ValueDef, ValueId, facts, layout::Side, ops::LoopAttrs};

use self::layouts::{Layouts, Unit};
use crate::{
    occupancy,
    passes::{self, CompileOptions, Unsupported},
    resources::{Certainty, Figure},
};

/// A part of shared memory that Triton sets aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Part {
    pub origin: u32,
    pub what: &'static str,
    /// So many buffers of so many bytes.
    pub buffers: u32,
    pub bytes: u32,
    pub offset: u32,
    #[serde(skip)]
    alive: (u32, u32),
    #[serde(skip)]
    alignment: u32,
}

impl Part {
    /// Whether both are alive at once; what single operations go through are one after another.
    fn meets(&self, other: &Part) -> bool {
        let at_once = |part: &Part| part.alive.0 == part.alive.1;
        !(at_once(self) && at_once(other)) && other.alive.0 <= self.alive.1 && self.alive.0 <= other.alive.1
    }
}

/// A loop that Triton may pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pipelined {
    pub origin: u32,
    pub stages: u32,
    /// Loads that run ahead.
    pub ahead: u32,
    /// A product in the loop takes what a load brings that does not run ahead: the load, and why.
    pub kept_back: Vec<(u32, &'static str)>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Footprint {
    /// Whose figures these are.
    pub compiler: &'static str,
    pub shared_bytes: Figure<u32>,
    /// In the order of their places.
    pub parts: Vec<Part>,
    pub loops: Vec<Pipelined>,
    /// 32-bit registers that a thread needs at the worst place.
    pub live_registers: u32,
    /// The op at that place.
    pub pressure_origin: u32,
    pub spills: Figure<bool>,
    pub products: Vec<Product>,
}

/// What a product is done with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Product {
    pub origin: u32,
    /// `wgmma`, `mma.sync` or `fma`.
    pub unit: &'static str,
    pub rows: u32,
    /// Operands of at most 16 bits, which `wgmma` takes.
    pub is_narrow: bool,
}

const SHARED_ASSUMPTION: &str = "Triton 3.6 lays out, pipelines and places as its rules say";
const SPILL_ASSUMPTION: &str = "what is alive at once, against the registers of a thread";

/// The footprint of a kernel at L0; `max_registers` are those a thread may have (`maxnreg`).
pub fn footprint(l0: &Module, options: &CompileOptions, max_registers: Option<u32>) -> Result<Footprint, Unsupported> {
    let mut module = l0.clone();
    for pass in [&passes::inline::PASS, &passes::canonicalise::PASS] {
        passes::run(pass, &mut module, options)?;
    }
    let function = module.entry();
    let facts = facts::of_function(function);
    let mut layouts = Layouts::new(function, &facts, options.sm, options.num_warps);
    let mut plan = Plan::new(&mut layouts, options);
    plan.loops();
    plan.products();
    plan.conversions();
    plan.collectives();
    let Plan { mut parts, loops, ahead, .. } = plan;
    let shared = place(&mut parts);
    let (needed, at) = pressure::needed(&mut layouts, &ahead);
    let spills = needed > f64::from(occupancy::registers_of_thread(options.sm, options.num_warps, max_registers));
    let products = layouts.products.iter().map(|(&dot, product)| {
        let op = function.op(dot);
        let (left, shape) = (function.ty(op.operands[0]), function.ty(op.results[0]).shape());
        Product {
            origin: op.origin.0,
            unit: match product.unit {
                Unit::Warpgroup => "wgmma",
                Unit::Warp => "mma.sync",
                Unit::Thread => "fma",
            },
            rows: shape.len().checked_sub(2).map_or(1, |row| shape[row]),
            is_narrow: left.elem().bits() <= 16,
        }
    });
    Ok(Footprint {
        compiler: "triton",
        shared_bytes: Figure {
            value: shared,
            low: shared,
            high: shared,
            certainty: Certainty::Estimated,
            assumption: SHARED_ASSUMPTION,
        },
        parts,
        live_registers: needed.round() as u32,
        pressure_origin: at.map_or(u32::MAX, |op| function.op(op).origin.0),
        spills: Figure {
            value: spills,
            low: spills,
            high: spills,
            certainty: Certainty::Estimated,
            assumption: SPILL_ASSUMPTION,
        },
        products: products.collect(),
        loops,
    })
}

struct Plan<'l, 'f> {
    layouts: &'l mut Layouts<'f>,
    function: &'f Function,
    options: &'l CompileOptions,
    /// Of every op its place in the program, and the place of the last op inside of it: even; what is made is there right after.
    at: Vec<u32>,
    end: Vec<u32>,
    parts: Vec<Part>,
    loops: Vec<Pipelined>,
    /// Loads that have a ring of buffers.
    ahead: FxHashSet<OpId>,
}

impl<'l, 'f> Plan<'l, 'f> {
    fn new(layouts: &'l mut Layouts<'f>, options: &'l CompileOptions) -> Plan<'l, 'f> {
        let function = layouts.function;
        let order = layouts.ops();
        let mut at = vec![0; function.ops.len()];
        for (place, &op) in order.iter().enumerate() {
            at[op.index()] = 2 * place as u32 + 2;
        }
        let mut end = at.clone();
        for &op in order.iter().rev() {
            if let Some(outer) = layouts.parents[op.index()].and_then(|b| layouts.owners[b.index()]) {
                end[outer.index()] = end[outer.index()].max(end[op.index()]);
            }
        }
        Plan { layouts, function, options, at, end, parts: Vec::new(), loops: Vec::new(), ahead: FxHashSet::default() }
    }

    fn bytes(&self, value: ValueId) -> u32 {
        let ty = self.function.ty(value);
        (ty.num_elements() * u64::from(ty.elem().bits().div_ceil(8))).min(1 << 30) as u32
    }

    fn part(&mut self, op: OpId, what: &'static str, buffers: u32, bytes: u32, alive: (u32, u32), alignment: u32) {
        if bytes > 0 {
            let origin = self.function.op(op).origin.0;
            self.parts.push(Part { origin, what, buffers, bytes, offset: 0, alive, alignment });
        }
    }

    /// The loads of innermost loops that run ahead get their buffers.
    fn loops(&mut self) {
        for id in self.layouts.ops() {
            let OpKind::For(LoopAttrs { num_stages: asked, .. }) = self.function.op(id).kind else { continue };
            let stages = asked.unwrap_or(self.options.num_stages);
            let body = self.function.op(id).regions[0];
            let inner = |op: &OpId| matches!(self.function.op(*op).kind, OpKind::For(_) | OpKind::While);
            let mut nested = false;
            self.function.walk(|block, op| nested |= inner(&op) && self.is_inside(block, body));
            if nested || stages < 2 || !self.options.sm.has(Feature::CpAsync) {
                continue;
            }
            let mut kept_back = Vec::new();
            let levels = self.levels(body, asked.is_some(), &mut kept_back);
            let levels: Vec<(OpId, u32)> = levels.into_iter().filter(|&(_, level)| level < stages - 1).collect();
            let deepest = levels.iter().map(|&(_, level)| level).max().unwrap_or(0);
            let distance = (stages - 1) / (deepest + 1);
            if distance == 0 {
                continue;
            }
            for &(load, _) in &levels {
                let result = self.function.op(load).results[0];
                let by_warpgroups = self.feeds_warpgroup_alone(result);
                let buffers = distance + u32::from(by_warpgroups);
                let alive = (self.at[id.index()], self.end[id.index()]);
                let alignment = if by_warpgroups { 1024 } else { 128 };
                self.part(load, "pipelined load", buffers, self.bytes(result) * buffers, alive, alignment);
                self.ahead.insert(load);
            }
            if !levels.is_empty() || !kept_back.is_empty() {
                let origin = self.function.op(id).origin.0;
                self.loops.push(Pipelined { origin, stages, ahead: levels.len() as u32, kept_back });
            }
        }
    }

    fn is_inside(&self, block: BlockId, of: BlockId) -> bool {
        let mut block = Some(block);
        while let Some(here) = block {
            if here == of {
                return true;
            }
            block = self.layouts.owners[here.index()].and_then(|op| self.layouts.parents[op.index()]);
        }
        false
    }

    /// The loads of a block that products wait for, each with the loads that lie between.
    fn levels(&self, body: BlockId, without_product: bool, kept_back: &mut Vec<(u32, &'static str)>) -> Vec<(OpId, u32)> {
        let function = self.function;
        let ops = &function.block(body).ops;
        let dots: Vec<OpId> = ops.iter().copied().filter(|&op| matches!(function.op(op).kind, OpKind::Dot { .. })).collect();
        let mut found: Vec<(OpId, u32)> = Vec::new();
        let mut excluded = FxHashSet::default();
        let roots: Vec<OpId> = match (&dots[..], without_product) {
            ([], false) => return found,
            ([], true) => ops.iter().copied().filter(|&op| !matches!(function.op(op).kind, OpKind::Load(_))).collect(),
            _ => dots,
        };
        for root in roots {
            let mut seen = FxHashSet::default();
            let mut pending = vec![(root, 0u32)];
            while let Some((id, level)) = pending.pop() {
                if !seen.insert(id) || excluded.contains(&id) {
                    continue;
                }
                let op = function.op(id);
                let mut level = level;
                if matches!(op.kind, OpKind::Load(_)) {
                    if let Some(why) = self.cannot_run_ahead(id) {
                        if level == 0 && !kept_back.iter().any(|&(origin, _)| origin == op.origin.0) {
                            kept_back.push((op.origin.0, why));
                        }
                        continue;
                    }
                    match found.iter().position(|&(load, _)| load == id) {
                        Some(n) if found[n].1 != level => {
                            found.remove(n);
                            excluded.insert(id);
                            continue;
                        }
                        Some(_) => {}
                        None => found.push((id, level)),
                    }
                    level += 1;
                }
                let operands = if matches!(op.kind, OpKind::Dot { .. }) { &op.operands[..2] } else { &op.operands[..] };
                for &operand in operands.iter().rev() {
                    if let Some(def) = function.def_op(operand)
                        && self.layouts.parents[def.index()] == Some(body)
                    {
                        pending.push((def, level));
                    }
                }
            }
        }
        found
    }

    /// Why a load is not copied asynchronously; `None` if it is.
    fn cannot_run_ahead(&self, load: OpId) -> Option<&'static str> {
        let op = self.function.op(load);
        let result = op.results[0];
        if self.function.ty(result).is_scalar() {
            return Some("it loads a scalar");
        }
        let bits = u64::from(self.function.ty(result).elem().bits());
        if self.layouts.copied(load) * bits < 32 {
            return Some("fewer than 4 neighbouring bytes are known to be adjacent, aligned and under one mask");
        }
        if self.is_turned_left(result) {
            return Some("it is the transpose of it that mma.sync takes as its left operand");
        }
        if self.order_forced(result).is_some_and(|order| self.layouts.order(load) != Some(order)) {
            return Some("the tensor core reads it along the other dimension");
        }
        None
    }

    /// The dimension that must be contiguous in shared memory for the product that reads this: of what `wgmma` cannot turn.
    fn order_forced(&self, value: ValueId) -> Option<u8> {
        for &user in &self.layouts.users[value.index()] {
            let op = self.function.op(user);
            match &op.kind {
                OpKind::Dot { .. } => {
                    let product = self.layouts.products.get(&user)?;
                    let scalar = self.function.ty(value).elem().scalar()?;
                    if product.unit == Unit::Warpgroup && !matches!(scalar, Scalar::F16 | Scalar::BF16) {
                        return Some(u8::from(op.operands[0] == value));
                    }
                }
                OpKind::Transpose { order } if order.len() == 2 => {
                    return self.order_forced(op.results[0]).map(|d| order[usize::from(d)]);
                }
                _ => {}
            }
        }
        None
    }

    /// Whether `mma.sync` takes the transpose of a value as its left operand.
    fn is_turned_left(&self, value: ValueId) -> bool {
        self.layouts.users[value.index()].iter().any(|&user| {
            let op = self.function.op(user);
            matches!(op.kind, OpKind::Transpose { .. })
                && self.layouts.users[op.results[0].index()].iter().any(|&dot| {
                    self.function.op(dot).operands.first() == Some(&op.results[0])
                        && self.layouts.products.get(&dot).is_some_and(|p| p.unit == Unit::Warp)
                })
        })
    }

    /// The one product, if `wgmma` does it, that reads a value from shared memory and that alone reads it.
    fn feeds_warpgroup_alone(&self, value: ValueId) -> bool {
        match self.layouts.users[value.index()][..] {
            [user] => match self.function.op(user).kind {
                OpKind::Dot { .. } => {
                    let is_warpgroup = self.layouts.products.get(&user).is_some_and(|p| p.unit == Unit::Warpgroup);
                    is_warpgroup && (self.function.op(user).operands[1] == value || self.reads_shared(user))
                }
                OpKind::Transpose { .. } => self.feeds_warpgroup_alone(self.function.op(user).results[0]),
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether `wgmma` reads its left operand from shared memory: as loaded, or handed on by a loop.
    fn reads_shared(&self, dot: OpId) -> bool {
        let left = self.untransposed(self.function.op(dot).operands[0]);
        match self.function.value(left).def {
            ValueDef::Argument(..) => true,
            ValueDef::Result(op, _) => matches!(self.function.op(op).kind, OpKind::Load(_)),
        }
    }

    /// The last place of a block at which a value is alive that is used here.
    fn until(&self, value: ValueId, user: OpId) -> u32 {
        let home = match self.function.value(value).def {
            ValueDef::Result(op, _) => self.layouts.parents[op.index()],
            ValueDef::Argument(block, _) => Some(block),
        };
        let mut last = self.at[user.index()];
        let mut block = self.layouts.parents[user.index()];
        while block != home {
            let Some(outer) = block.and_then(|b| self.layouts.owners[b.index()]) else { break };
            if matches!(self.function.op(outer).kind, OpKind::For(_) | OpKind::While) {
                last = last.max(self.end[outer.index()]);
            }
            block = self.layouts.parents[outer.index()];
        }
        last
    }

    fn made_at(&self, value: ValueId) -> u32 {
        match self.function.value(value).def {
            ValueDef::Result(op, _) => self.end[op.index()] + 1,
            ValueDef::Argument(block, _) => self.layouts.owners[block.index()].map_or(0, |op| self.at[op.index()] + 1),
        }
    }

    /// Operands that no ring holds.
    fn products(&mut self) {
        let dots: Vec<(OpId, Unit)> = self.layouts.products.iter().map(|(&dot, product)| (dot, product.unit)).collect();
        let mut done: FxHashSet<(ValueId, Option<Side>)> = FxHashSet::default();
        for (dot, unit) in dots {
            for (n, side) in [Side::A, Side::B].into_iter().enumerate() {
                let operand = self.function.op(dot).operands[n];
                let shared = unit == Unit::Warpgroup && (side == Side::B || self.reads_shared(dot));
                if shared {
                    let held = self.untransposed(operand);
                    let loaded = self.function.def_op(held).is_some_and(|op| self.ahead.contains(&op));
                    if !loaded && done.insert((held, None)) {
                        let until = self.layouts.users[operand.index()].iter().map(|&user| self.until(held, user)).max();
                        let alive = (self.made_at(held), until.unwrap_or(0).max(self.at[dot.index()]));
                        self.part(dot, "operand", 1, self.bytes(held), alive, 1024);
                    }
                    continue;
                }
                // Only in a loop, where it may run ahead, is what a chain loads fetched by itself.
                let leaves = if self.is_in_loop(dot) { self.layouts.fetched(operand) } else { vec![self.untransposed(operand)] };
                for leaf in leaves {
                    let def = self.function.def_op(leaf);
                    let loaded = def.is_some_and(|op| matches!(self.function.op(op).kind, OpKind::Load(_)));
                    if def
                        .is_some_and(|op| self.ahead.contains(&op) || loaded && leaf != operand && !self.layouts.is_expensive(op))
                        || !self.is_moved(dot, side, operand, leaf)
                        || !done.insert((leaf, Some(side)))
                    {
                        continue;
                    }
                    let made = self.made_at(leaf);
                    // What was loaded, or made before the loop, waits there for the product; what was computed passes through.
                    let elsewhere = def.is_none_or(|op| self.layouts.parents[op.index()] != self.layouts.parents[dot.index()]);
                    let alive = (made, if loaded || elsewhere { self.until(leaf, dot) } else { made });
                    self.part(dot, "operand", 1, self.bytes(leaf), alive, 128);
                }
            }
        }
    }

    fn is_in_loop(&self, op: OpId) -> bool {
        let owner = self.layouts.parents[op.index()].and_then(|b| self.layouts.owners[b.index()]);
        owner.is_some_and(|owner| matches!(self.function.op(owner).kind, OpKind::For(_)))
    }

    /// What is stored where a value is turned on its way.
    fn untransposed(&self, value: ValueId) -> ValueId {
        match self.function.def_op(value).map(|op| self.function.op(op)) {
            Some(op) if matches!(op.kind, OpKind::Transpose { .. }) => self.untransposed(op.operands[0]),
            _ => value,
        }
    }

    /// Whether an operand that is read from registers has to change threads to get there.
    fn is_moved(&mut self, dot: OpId, side: Side, operand: ValueId, leaf: ValueId) -> bool {
        let Some(home) = self.layouts.homes[leaf.index()] else { return false };
        let Some(wanted) = self.layouts.operand(dot, side) else { return true };
        if leaf != operand {
            return true;
        }
        let shape = self.function.ty(leaf).shape().clone();
        let bits = self.function.ty(leaf).elem().bits();
        let (Some(from), Some(to)) = (self.layouts.encodings.map(home, &shape), self.layouts.encodings.map(wanted, &shape))
        else {
            return true;
        };
        scratch::conversion_bytes(&from, &to, bits, false) > 0
    }

    fn conversions(&mut self) {
        let matrix_stores = self.options.sm.has(Feature::Wgmma);
        for conversion in self.layouts.conversions.clone() {
            let ty = self.function.ty(conversion.value);
            let (shape, bits) = (ty.shape().clone(), ty.elem().bits());
            let maps = (self.layouts.encodings.map(conversion.from, &shape), self.layouts.encodings.map(conversion.to, &shape));
            let (Some(from), Some(to)) = maps else { continue };
            let bytes = scratch::conversion_bytes(&from, &to, bits, matrix_stores);
            let at = self.made_at(conversion.value);
            let op = match self.function.value(conversion.value).def {
                ValueDef::Result(op, _) => Some(op),
                ValueDef::Argument(block, _) => self.layouts.owners[block.index()],
            };
            if let Some(op) = op {
                self.part(op, "layout conversion", 1, bytes, (at, at), 128);
            }
        }
    }

    fn collectives(&mut self) {
        for id in self.layouts.ops() {
            let op = self.function.op(id);
            let widths: Vec<u32> = op.operands.iter().map(|&v| self.function.ty(v).elem().bits()).collect();
            let shape = op.operands.first().map(|&v| self.function.ty(v).shape().clone()).unwrap_or_default();
            let (what, bytes) = match op.kind {
                OpKind::Reduce { axis } => {
                    let enc = self.layouts.reduced(id, axis);
                    let map = self.layouts.encodings.map(enc, &shape);
                    ("reduction", map.map_or(0, |map| scratch::reduction_bytes(&map, axis.into(), &widths)))
                }
                OpKind::Scan { axis, .. } => {
                    let home = op.results.first().and_then(|r| self.layouts.homes[r.index()]);
                    let map = home.and_then(|home| self.layouts.encodings.map(home, &shape));
                    ("scan", map.map_or(0, |map| scratch::scan_bytes(&map, axis.into(), &widths)))
                }
                OpKind::Histogram => {
                    let bins = self.function.ty(op.results[0]).num_elements().max(32) as u32;
                    ("histogram", bins * 4)
                }
                OpKind::Gather { .. } => ("gather", self.bytes(op.operands[0])),
                OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. } => {
                    let result = op.results[0];
                    let used = !self.layouts.users[result.index()].is_empty();
                    let bytes = if !used {
                        0
                    } else if self.function.ty(result).is_scalar() {
                        self.function.ty(result).elem().bits().div_ceil(8)
                    } else {
                        let map = self.layouts.memory.get(&id).copied().and_then(|enc| self.layouts.encodings.map(enc, &shape));
                        let repeated = map.is_some_and(|map| {
                            let (_, lane, warp) = map.free_bits();
                            lane != 0 || warp != 0
                        });
                        if repeated { self.bytes(result) } else { 0 }
                    };
                    ("atomic", bytes)
                }
                _ => continue,
            };
            let at = self.at[id.index()];
            self.part(id, what, 1, bytes, (at, at), 128);
        }
    }
}

/// First-fit, large parts first: each at the lowest place that is free while it is alive. The bytes that all take.
fn place(parts: &mut [Part]) -> u32 {
    parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
    let mut end = 0;
    for n in 0..parts.len() {
        let (placed, rest) = parts.split_at_mut(n);
        let part = &mut rest[0];
        let mut taken: Vec<(u32, u32)> =
            placed.iter().filter(|other| other.meets(part)).map(|other| (other.offset, other.offset + other.bytes)).collect();
        taken.sort_unstable();
        let mut offset = 0u32;
        for (from, to) in taken {
            if offset.next_multiple_of(part.alignment) + part.bytes <= from {
                break;
            }
            offset = offset.max(to);
        }
        part.offset = offset.next_multiple_of(part.alignment);
        end = end.max(part.offset + part.bytes);
    }
    parts.sort_by_key(|part| (part.offset, part.origin));
    end
}
