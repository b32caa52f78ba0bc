//! What a kernel takes of a GPU when Triton compiles it: bytes of shared memory, and the registers of a thread, without asking Triton.
//!
//! The rules follow what Triton's passes decide: the layout of every value ([`layouts`]), the loads that a loop fetches ahead and how many
//! buffers they get, the bytes that conversions, reductions and scans go through ([`scratch`]), and first-fit placement of all that is alive
//! at once. `cargo xtask accuracy footprints` compares them with recorded answers of Triton itself.
//!
//! **Invariant:** the kernel is read, never changed; every figure is an estimate and says what it rests on. No pass of Tritium's own
//! enters, so a change there changes no figure here; [`fold`] uses the same simplifier under Triton's policy.

mod allocation;
mod blocks;
mod dot_operands;
mod encoding;
mod fold;
mod layout_replicas;
mod layouts;
mod load_cse;
mod rematerialise;
mod scratch;
mod spills;
#[cfg(test)]
mod tests;

use rustc_hash::FxHashSet;
use serde::Serialize;
use tritium_semantics::target::{Feature, MAX_PROGRAMS_YZ};
use tritium_tile::{
    BlockId, Function, Module, OpId, OpKind, Scalar, ValueDef, ValueId,
    facts::{self, Launched, Range},
    inline::{self, MAX_INLINED_OPS},
    ops::LoopAttrs,
};

pub use self::spills::{Counts, Rules};
use self::{
    allocation::place,
    dot_operands::Fetch,
    encoding::{Enc, Encoding, contiguous_dim},
    layouts::{Layouts, Unit},
    spills::InRegisters,
};
use tritium_codegen::{CompileOptions, Unsupported};

use crate::{
    occupancy,
    resources::{Certainty, Figure},
    spills::Pressure,
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
    /// Whether a single operation goes through it.
    fn is_at_once(&self) -> bool {
        self.alive.0 == self.alive.1
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
    pub pressure: Pressure,
    /// The op at that place.
    pub pressure_origin: u32,
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

/// LLVM knows how many programs a grid has at most along its second and third axes. Along the first there may be so many that an index of
/// 32 bits wraps.
const GRID: [Option<Range>; 3] = [None, Some(ASIDE), Some(ASIDE)];
const ASIDE: Range = Range { min: 1, max: MAX_PROGRAMS_YZ as i64 };

const TURNED: &str = "mma.sync takes the transpose of it, which lies the other way round";

/// The footprint of a kernel at L0.
pub fn footprint(l0: &Module, options: &CompileOptions) -> Result<Footprint, Unsupported> {
    Ok(modelled(l0, options, &[])?.0)
}

/// The places of a kernel at L0 at which most registers are live, under each of some rules.
pub fn worst_places(l0: &Module, options: &CompileOptions, rules: &[Rules]) -> Result<Vec<Vec<Counts>>, Unsupported> {
    Ok(modelled(l0, options, rules)?.1)
}

fn modelled(l0: &Module, options: &CompileOptions, rules: &[Rules]) -> Result<(Footprint, Vec<Vec<Counts>>), Unsupported> {
    let mut module = l0.clone();
    module.functions = vec![inline::inlined(&module, MAX_INLINED_OPS)?.into_owned()];
    fold::fold(&mut module);
    let shared = module.functions.iter_mut().map(load_cse::merge_equal_loads).fold(false, |any, one| any | one);
    if shared {
        fold::fold(&mut module);
    }
    let function = module.entry();
    let facts = facts::of_launched(function, &Launched { grid: GRID, ..Launched::default() });
    let mut layouts = Layouts::new(function, &facts, options.sm, options.launch.num_warps);
    let mut plan = Plan::new(&mut layouts, options);
    plan.loops();
    plan.products();
    plan.layouts.read_from_rings(&plan.ahead);
    plan.conversions();
    plan.collectives();
    plan.blocks();
    let Plan { mut parts, loops, fetches, in_registers, .. } = plan;
    let shared = place(&mut parts);
    let places = rules.iter().map(|&rules| spills::worst_places(&mut layouts, &fetches, &in_registers, rules)).collect();
    let (needed, at) = spills::needed(&mut layouts, &fetches, &in_registers);
    // ptxas takes the bound at its word, even where so many threads do not have as many registers.
    let has = match options.launch.max_registers {
        Some(bound) => bound.min(options.sm.max_registers_per_thread),
        None => occupancy::registers_of_thread(options.sm, options.launch.num_warps, None),
    };
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
    let footprint = Footprint {
        compiler: "triton",
        shared_bytes: Figure {
            value: shared,
            low: shared,
            high: shared,
            certainty: Certainty::Estimated,
            assumption: SHARED_ASSUMPTION,
        },
        parts,
        pressure: Pressure::new(needed, has),
        pressure_origin: at.map_or(u32::MAX, |op| function.op(op).origin.0),
        products: products.collect(),
        loops,
    };
    Ok((footprint, places))
}

/// A load, and the layout that it is made in where that is not its own.
type Ahead = (OpId, Option<Enc>);

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
    /// Loads that run ahead beside them.
    in_registers: InRegisters,
    /// The operands that products read from registers.
    fetches: Vec<Fetch>,
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
        let mut plan = Plan {
            layouts,
            function,
            options,
            at,
            end,
            parts: Vec::new(),
            loops: Vec::new(),
            ahead: FxHashSet::default(),
            in_registers: InRegisters::default(),
            fetches: Vec::new(),
        };
        plan.fetch();
        plan
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
            let stages = asked.unwrap_or(self.options.launch.num_stages);
            let body = self.function.op(id).regions[0];
            // Neither what holds a loop nor what all threads wait in.
            let inner = |op: &OpId| matches!(self.function.op(*op).kind, OpKind::For(_) | OpKind::While { .. } | OpKind::Barrier);
            let mut nested = false;
            self.function.walk(|block, op| nested |= inner(&op) && self.is_inside(block, body));
            if nested || self.hands_on(id) || stages < 2 || !self.options.sm.has(Feature::CpAsync) {
                continue;
            }
            let mut kept_back = Vec::new();
            let mut kept_in_registers = Vec::new();
            let levels = self.levels(body, asked.is_some(), &mut kept_back, &mut kept_in_registers);
            let levels: Vec<(Ahead, u32)> = levels.into_iter().filter(|&(_, level)| level < stages - 1).collect();
            let deepest = levels.iter().map(|&(_, level)| level).max().unwrap_or(0);
            let distance = (stages - 1) / (deepest + 1);
            if distance == 0 {
                continue;
            }
            self.in_registers.extend(kept_in_registers.into_iter().map(|load| (load, (id, distance))));
            let mut slots = 0;
            for &((load, _), _) in &levels {
                let result = self.function.op(load).results[0];
                let by_warpgroups = self.feeds_warpgroups_alone(result);
                let buffers = distance + u32::from(by_warpgroups);
                let alive = (self.at[id.index()], self.end[id.index()]);
                let alignment = if by_warpgroups { 1024 } else { 16 };
                self.part(load, "pipelined load", buffers, self.bytes(result) * buffers, alive, alignment);
                self.ahead.insert(load);
                slots = slots.max(buffers);
            }
            let loads: Vec<OpId> = levels.iter().map(|&((load, _), _)| load).collect();
            self.mbarriers(&loads, slots, (self.at[id.index()], self.end[id.index()]));
            if !levels.is_empty() || !kept_back.is_empty() {
                let origin = self.function.op(id).origin.0;
                self.loops.push(Pipelined { origin, stages, ahead: levels.len() as u32, kept_back });
            }
        }
    }

    /// Whether a trip gets what the trip before the last has made.
    fn hands_on(&self, id: OpId) -> bool {
        let Some(around) = self.function.for_loop(id) else { return false };
        around.next.iter().zip(around.args).any(|(&value, &arg)| {
            matches!(self.function.value(value).def, ValueDef::Argument(block, _) if block == around.body) && arg != value
        })
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

    /// The loads of a block that products wait for, each with the loads that lie between. A small one is loaded again in every layout that it
    /// is needed in.
    fn levels(
        &mut self,
        body: BlockId,
        without_product: bool,
        kept_back: &mut Vec<(u32, &'static str)>,
        kept_in_registers: &mut Vec<OpId>,
    ) -> Vec<(Ahead, u32)> {
        let function = self.function;
        let ops = &function.block(body).ops;
        let dots: Vec<OpId> = ops.iter().copied().filter(|&op| matches!(function.op(op).kind, OpKind::Dot { .. })).collect();
        let mut found: Vec<(Ahead, u32)> = Vec::new();
        let mut excluded = FxHashSet::default();
        let roots: Vec<OpId> = match (&dots[..], without_product) {
            ([], false) => return found,
            ([], true) => ops.iter().copied().filter(|&op| !matches!(function.op(op).kind, OpKind::Load(_))).collect(),
            _ => dots,
        };
        for root in roots {
            let mut seen = FxHashSet::default();
            let mut pending = vec![((root, None), 0u32)];
            while let Some(((id, layout), level)) = pending.pop() {
                if !seen.insert((id, layout)) || excluded.contains(&(id, layout)) {
                    continue;
                }
                let op = function.op(id);
                let mut level = level;
                if matches!(op.kind, OpKind::Load(_)) {
                    if let Some(why) = self.cannot_run_ahead(id, layout) {
                        if level == 0 && !kept_back.iter().any(|&(origin, _)| origin == op.origin.0) {
                            kept_back.push((op.origin.0, why));
                        }
                        if why == TURNED {
                            kept_in_registers.push(id);
                        }
                        continue;
                    }
                    match found.iter().position(|&(load, _)| load == (id, layout)) {
                        Some(n) if found[n].1 != level => {
                            found.remove(n);
                            excluded.insert((id, layout));
                            continue;
                        }
                        Some(_) => {}
                        None => found.push(((id, layout), level)),
                    }
                    level += 1;
                }
                let own = if matches!(op.kind, OpKind::Dot { .. }) { 2 } else { op.operands.len() };
                for n in (0..own).rev() {
                    if let Some(def) = function.def_op(op.operands[n])
                        && self.layouts.parents[def.index()] == Some(body)
                    {
                        let layout = self.layouts.needed(id, layout, n);
                        pending.push(((def, layout), level));
                    }
                }
            }
        }
        found
    }

    /// Why a load is not copied asynchronously; `None` if it is.
    fn cannot_run_ahead(&mut self, load: OpId, layout: Option<Enc>) -> Option<&'static str> {
        let op = self.function.op(load);
        // However it is aligned.
        if self.is_block(load) {
            return None;
        }
        let result = op.results[0];
        let bits = u64::from(self.function.ty(result).elem().bits());
        if self.layouts.copied(load, layout) * bits < 32 {
            return Some("fewer than 4 neighbouring bytes are known to be adjacent, aligned and under one mask");
        }
        let mut orders: Vec<Option<usize>> = Vec::new();
        let mut buffers: Vec<u8> = Vec::new();
        for &(leaf, layout) in self.fetches.iter().filter_map(|fetch| fetch.leaves.as_ref()).flatten() {
            if leaf == result {
                match self.layouts.encodings.get(layout) {
                    Encoding::Linear(map) => orders.push(contiguous_dim(map)),
                    // What is broadcast is read by all in one way.
                    Encoding::Operand { side, .. } if !self.function.ty(leaf).shape().contains(&1) => {
                        buffers.push(self.buffer_kind(leaf, layout, *side, false));
                    }
                    _ => {}
                }
            }
        }
        buffers.sort_unstable();
        buffers.dedup();
        let own = self.layouts.order(load).map(usize::from);
        let is_turned = orders.iter().any(|&order| order != own);
        orders.sort_unstable();
        orders.dedup();
        if buffers.len() > 1 || orders.len() > 1 || is_turned && !buffers.is_empty() {
            return Some("products read it in two ways");
        }
        if is_turned {
            return Some(TURNED);
        }
        // One element of a copy is contiguous then.
        if bits < 32 && self.order_forced(result).is_some_and(|order| self.layouts.order(load) != Some(order)) {
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

    /// Whether all that reads a value is products that `wgmma` does from shared memory.
    fn feeds_warpgroups_alone(&self, value: ValueId) -> bool {
        let users = &self.layouts.users[value.index()];
        !users.is_empty()
            && users.iter().all(|&user| match self.function.op(user).kind {
                OpKind::Dot { .. } => {
                    let is_warpgroup = self.layouts.products.get(&user).is_some_and(|p| p.unit == Unit::Warpgroup);
                    let operands = &self.function.op(user).operands;
                    is_warpgroup && operands[2] != value && (operands[0] != value || self.reads_shared(user))
                }
                OpKind::Transpose { .. } => self.feeds_warpgroups_alone(self.function.op(user).results[0]),
                _ => false,
            })
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
            if self.function.op(outer).kind.is_loop() {
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

    fn conversions(&mut self) {
        let matrix_stores = self.options.sm.has(Feature::Wgmma);
        for (conversion, user) in self.layouts.conversions.clone() {
            // A block is stored from any layout.
            if user.is_some_and(|user| self.is_block(user)) {
                continue;
            }
            let ty = self.function.ty(conversion.value);
            let (shape, bits) = (ty.shape().clone(), ty.elem().bits());
            let maps = (self.layouts.encodings.map(conversion.from, &shape), self.layouts.encodings.map(conversion.to, &shape));
            let (Some(from), Some(to)) = maps else { continue };
            let bytes = scratch::conversion_bytes(&from, &to, bits, matrix_stores);
            let op = match self.function.value(conversion.value).def {
                ValueDef::Result(op, _) => Some(op),
                ValueDef::Argument(block, _) => self.layouts.owners[block.index()],
            };
            // A transpose moves up to what it turns, and its conversions with it.
            let turned = self.turned(conversion.value);
            let at = if turned == conversion.value {
                user.map_or_else(|| self.made_at(conversion.value), |user| self.at[user.index()] - 1)
            } else {
                self.made_at(turned)
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
