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
mod sharing;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;
use tritium_semantics::target::Feature;
use tritium_tile::{
    BlockId, Function, Module, OpId, OpKind, Scalar, ValueDef, ValueId, facts,
    layout::{Distributed, Side, algebra::shift_of},
    ops::{BinaryOp, Constant, LoopAttrs},
};

use self::{
    encoding::{Enc, Encoding},
    layouts::{Layouts, Unit},
};
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

const TURNED: &str = "mma.sync takes the transpose of it, which lies the other way round";

/// The footprint of a kernel at L0; `max_registers` are those a thread may have (`maxnreg`).
pub fn footprint(l0: &Module, options: &CompileOptions, max_registers: Option<u32>) -> Result<Footprint, Unsupported> {
    let mut module = l0.clone();
    for pass in [&passes::inline::PASS, &passes::canonicalise::PASS] {
        passes::run(pass, &mut module, options)?;
    }
    let shared = module.functions.iter_mut().map(sharing::share_loads).fold(false, |any, one| any | one);
    if shared {
        passes::run(&passes::canonicalise::PASS, &mut module, options)?;
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

fn is_zero(function: &Function, value: ValueId) -> bool {
    function.def_op(value).is_some_and(|op| match function.op(op).kind {
        OpKind::Constant(Constant::Float(number)) => number == 0.0,
        OpKind::Constant(Constant::Int(number)) => number == 0,
        _ => false,
    })
}

/// The dimension along which the first register steps.
fn contiguous_dim(map: &Distributed) -> Option<usize> {
    let step = *map.register.first()?;
    (0..map.shape.len()).find(|&d| step == 1 << shift_of(&map.shape, d))
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
    /// Loads that run ahead into registers.
    carried: FxHashSet<OpId>,
    /// The operands that products read from registers.
    fetches: Vec<Fetch>,
}

/// An operand that a product reads from registers.
struct Fetch {
    dot: OpId,
    side: Side,
    operand: ValueId,
    layout: Enc,
    /// The loads that it is made of, if that is all, with the layouts that it takes them in.
    leaves: Option<Vec<(ValueId, Enc)>>,
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
            carried: FxHashSet::default(),
            fetches: Vec::new(),
        };
        plan.fetch();
        plan
    }

    fn dots(&self) -> Vec<(OpId, Unit)> {
        let mut dots: Vec<(OpId, Unit)> = self.layouts.products.iter().map(|(&dot, product)| (dot, product.unit)).collect();
        dots.sort_by_key(|&(dot, _)| self.at[dot.index()]);
        dots
    }

    fn fetch(&mut self) {
        for (dot, unit) in self.dots() {
            for (n, side) in [Side::A, Side::B].into_iter().enumerate() {
                let operand = self.function.op(dot).operands[n];
                if unit == Unit::Warpgroup && (side == Side::B || self.reads_shared(dot)) {
                    continue;
                }
                let Some(layout) = self.layouts.operand(dot, side) else { continue };
                let leaves = self.layouts.fetched(operand, layout);
                self.fetches.push(Fetch { dot, side, operand, layout, leaves });
            }
        }
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
            // Neither what holds a loop nor what all threads wait in.
            let inner = |op: &OpId| matches!(self.function.op(*op).kind, OpKind::For(_) | OpKind::While | OpKind::Barrier);
            let mut nested = false;
            self.function.walk(|block, op| nested |= inner(&op) && self.is_inside(block, body));
            if nested || self.hands_on(id) || stages < 2 || !self.options.sm.has(Feature::CpAsync) {
                continue;
            }
            let mut kept_back = Vec::new();
            let mut kept_in_registers = Vec::new();
            let levels = self.levels(body, asked.is_some(), &mut kept_back, &mut kept_in_registers);
            let levels: Vec<(OpId, u32)> = levels.into_iter().filter(|&(_, level)| level < stages - 1).collect();
            let deepest = levels.iter().map(|&(_, level)| level).max().unwrap_or(0);
            let distance = (stages - 1) / (deepest + 1);
            if distance == 0 {
                continue;
            }
            self.carried.extend(kept_in_registers);
            for &(load, _) in &levels {
                let result = self.function.op(load).results[0];
                let by_warpgroups = self.feeds_warpgroups_alone(result);
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

    /// Whether a trip gets what the trip before the last has made.
    fn hands_on(&self, id: OpId) -> bool {
        let body = self.function.op(id).regions[0];
        let Some(&last) = self.function.block(body).ops.last() else { return false };
        let args = &self.function.block(body).args;
        self.function.op(last).operands.iter().enumerate().any(|(n, &value)| {
            matches!(self.function.value(value).def, ValueDef::Argument(block, _) if block == body)
                && args.get(n + 1) != Some(&value)
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

    /// The loads of a block that products wait for, each with the loads that lie between.
    fn levels(
        &self,
        body: BlockId,
        without_product: bool,
        kept_back: &mut Vec<(u32, &'static str)>,
        kept_in_registers: &mut Vec<OpId>,
    ) -> Vec<(OpId, u32)> {
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
                        if why == TURNED {
                            kept_in_registers.push(id);
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
        let mut orders: Vec<Option<usize>> = Vec::new();
        let mut buffers: Vec<u8> = Vec::new();
        for &(leaf, layout) in self.fetches.iter().filter_map(|fetch| fetch.leaves.as_ref()).flatten() {
            if leaf == result {
                match self.layouts.encodings.get(layout) {
                    Encoding::Linear(map) => orders.push(contiguous_dim(map)),
                    Encoding::Operand { side, .. } => buffers.push(self.buffer_kind(leaf, layout, *side)),
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

    /// Products that want different kinds of one value do not share its buffer.
    fn buffer_kind(&self, value: ValueId, wanted: Enc, side: Side) -> u8 {
        let is_half = matches!(*self.layouts.encodings.get(wanted), Encoding::Operand { bits: 16, .. });
        // Two bytes lie alike for both sides.
        if is_half && self.function.ty(value).elem().bits() == 16 { 1 } else { 2 + u8::from(side == Side::B) }
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
        let mut shared_already: FxHashSet<ValueId> = FxHashSet::default();
        let mut passed = FxHashMap::default();
        for (dot, unit) in self.dots() {
            for (n, side) in [Side::A, Side::B].into_iter().enumerate() {
                let operand = self.function.op(dot).operands[n];
                if unit == Unit::Warpgroup && (side == Side::B || self.reads_shared(dot)) {
                    let held = self.untransposed(operand);
                    let loaded = self.function.def_op(held).is_some_and(|op| self.ahead.contains(&op));
                    if !loaded && shared_already.insert(held) {
                        let until = self.layouts.users[operand.index()].iter().map(|&user| self.until(held, user)).max();
                        let alive = (self.made_at(held), until.unwrap_or(0).max(self.at[dot.index()]));
                        self.part(dot, "operand", 1, self.bytes(held), alive, 1024);
                    }
                } else if unit == Unit::Thread {
                    self.pass(dot, operand, 0, true, &mut passed);
                }
            }
        }
        let (mut wholes, mut leaves) = (Vec::new(), Vec::new());
        for fetch in std::mem::take(&mut self.fetches) {
            let is_carried = |leaf: ValueId| self.function.def_op(leaf).is_some_and(|op| self.carried.contains(&op));
            match &fetch.leaves {
                // A transpose moves behind the buffer.
                None => wholes.push((self.turned(fetch.operand), fetch)),
                // What changes in no trip of the loop moves before it as a whole, and what comes from the trip before is no load any more.
                Some(loads)
                    if loads.iter().all(|&(load, _)| self.is_before_loop(load, fetch.dot))
                        || loads.iter().any(|&(load, _)| is_carried(load))
                        || loads
                            .iter()
                            .any(|&(load, _)| self.function.def_op(load).is_some_and(|op| self.ahead.contains(&op)))
                            && loads.iter().any(|&(load, _)| {
                                let def = self.function.def_op(load);
                                self.is_before_loop(load, fetch.dot) && def.is_some_and(|op| self.layouts.is_expensive(op))
                            }) =>
                {
                    wholes.push((fetch.operand, fetch));
                }
                Some(loads) => {
                    leaves
                        .extend(loads.iter().map(|&(load, layout)| (fetch.dot, fetch.side, load == fetch.operand, load, layout)));
                }
            }
        }
        // Products of one loop that read one value alike change it once.
        let mut reads: FxHashMap<(ValueId, Enc, Option<OpId>), u32> = FxHashMap::default();
        for &(dot, _, _, load, layout) in &leaves {
            *reads.entry((load, layout, self.loop_of(dot))).or_default() += 1;
        }
        for (_, fetch) in &wholes {
            *reads.entry((fetch.operand, fetch.layout, self.loop_of(fetch.dot))).or_default() += 1;
        }
        let mut changed: FxHashSet<(ValueId, Enc, Option<OpId>)> = FxHashSet::default();
        for (held, Fetch { dot, side, operand, layout, .. }) in wholes {
            let key = (operand, layout, self.loop_of(dot));
            if changed.insert(key) && (held != operand || self.is_moved(operand, layout)) {
                let waits = reads[&key] == 1 || !self.is_before_loop(operand, dot);
                self.pass(dot, held, self.buffer_kind(held, layout, side), waits, &mut passed);
            }
        }
        for (dot, side, is_all, load, layout) in leaves {
            let Some(def) = self.function.def_op(load).filter(|op| !self.ahead.contains(op)) else { continue };
            if !matches!(self.layouts.encodings.get(layout), Encoding::Operand { .. }) {
                self.layouts.demand(load, layout, None);
            } else if self.is_moved(load, layout) {
                // Only what one product itself reads, or what a loop reads every time, waits in its buffer.
                let elsewhere = self.loop_of(def) != self.loop_of(dot);
                let waits = reads[&(load, layout, self.loop_of(dot))] == 1 && (is_all || elsewhere);
                self.pass(dot, load, self.buffer_kind(load, layout, side), waits, &mut passed);
            }
        }
    }

    /// Whether a value is there before the innermost loop around a product.
    fn is_before_loop(&self, value: ValueId, dot: OpId) -> bool {
        let Some(around) = self.loop_of(dot) else { return false };
        let block = match self.function.value(value).def {
            ValueDef::Result(op, _) => self.layouts.parents[op.index()],
            ValueDef::Argument(block, _) => Some(block),
        };
        block.is_some_and(|block| !self.function.op(around).regions.iter().any(|&region| self.is_inside(block, region)))
    }

    /// A value that an operand in registers is made of goes through shared memory, until its product where it waits for that. Products
    /// that read it from one kind of buffer share that.
    fn pass(&mut self, dot: OpId, value: ValueId, kind: u8, waits: bool, passed: &mut FxHashMap<(ValueId, u8), usize>) {
        let is_argument = matches!(self.function.value(value).def, ValueDef::Argument(..));
        let read = self.until(value, self.summed(dot));
        let made = if is_argument { self.at[self.summed(dot).index()] } else { self.made_at(value) };
        let alive = (made, if waits { read.max(made) } else { made });
        match passed.get(&(value, kind)) {
            Some(&part) => {
                let known: &mut Part = &mut self.parts[part];
                known.alive = (known.alive.0.min(alive.0), known.alive.1.max(alive.1));
            }
            None => {
                // Buffers of one value are filled before any is read.
                let others: Vec<usize> = (0..4).filter_map(|other| passed.get(&(value, other)).copied()).collect();
                let mut alive = alive;
                for &other in &others {
                    self.parts[other].alive.1 = self.parts[other].alive.1.max(made + 1);
                    alive.1 = alive.1.max(made + 1);
                }
                passed.insert((value, kind), self.parts.len());
                self.part(dot, "operand", 1, self.bytes(value), alive, 128);
            }
        }
    }

    /// The addition that a product of its own becomes the accumulator's of: it takes the place of the product.
    fn summed(&self, dot: OpId) -> OpId {
        let function = self.function;
        let op = function.op(dot);
        let zero = |value: ValueId| match function.def_op(value).map(|op| function.op(op)) {
            Some(op) if matches!(op.kind, OpKind::Splat) => is_zero(function, op.operands[0]),
            _ => is_zero(function, value),
        };
        match self.layouts.users[op.results[0].index()][..] {
            [user] if matches!(function.op(user).kind, OpKind::Binary(BinaryOp::AddF)) && zero(op.operands[2]) => {
                // Of two such products the right one.
                let right = function.def_op(function.op(user).operands[1]);
                let also = |op: OpId| {
                    matches!(function.op(op).kind, OpKind::Dot { .. })
                        && zero(function.op(op).operands[2])
                        && self.layouts.users[function.op(op).results[0].index()].len() == 1
                };
                if right.is_some_and(|right| right != dot && also(right)) { dot } else { user }
            }
            _ => dot,
        }
    }

    /// The innermost loop around an op.
    fn loop_of(&self, op: OpId) -> Option<OpId> {
        let mut block = self.layouts.parents[op.index()];
        while let Some(outer) = block.and_then(|b| self.layouts.owners[b.index()]) {
            if matches!(self.function.op(outer).kind, OpKind::For(_) | OpKind::While) {
                return Some(outer);
            }
            block = self.layouts.parents[outer.index()];
        }
        None
    }

    /// What a transpose of two dimensions turns.
    fn turned(&self, value: ValueId) -> ValueId {
        match self.function.def_op(value).map(|op| self.function.op(op)) {
            Some(op) if matches!(&op.kind, OpKind::Transpose { order } if order.len() == 2) => op.operands[0],
            _ => value,
        }
    }

    /// What is stored where a value is turned on its way.
    fn untransposed(&self, value: ValueId) -> ValueId {
        match self.function.def_op(value).map(|op| self.function.op(op)) {
            Some(op) if matches!(op.kind, OpKind::Transpose { .. }) => self.untransposed(op.operands[0]),
            _ => value,
        }
    }

    /// Whether a value has to change threads to be in a layout.
    fn is_moved(&mut self, value: ValueId, wanted: Enc) -> bool {
        let Some(home) = self.layouts.homes[value.index()] else {
            // What is computed from nothing is not computed again for a product; what is the same everywhere is there.
            let def = self.function.def_op(value).map(|op| &self.function.op(op).kind);
            return !matches!(def, Some(OpKind::Constant(_) | OpKind::Splat));
        };
        let shape = self.function.ty(value).shape().clone();
        let bits = self.function.ty(value).elem().bits();
        let (Some(from), Some(to)) = (self.layouts.encodings.map(home, &shape), self.layouts.encodings.map(wanted, &shape))
        else {
            return true;
        };
        scratch::conversion_bytes(&from, &to, bits, false) > 0
    }

    fn conversions(&mut self) {
        let matrix_stores = self.options.sm.has(Feature::Wgmma);
        for (conversion, user) in self.layouts.conversions.clone() {
            let ty = self.function.ty(conversion.value);
            let (shape, bits) = (ty.shape().clone(), ty.elem().bits());
            let maps = (self.layouts.encodings.map(conversion.from, &shape), self.layouts.encodings.map(conversion.to, &shape));
            let (Some(from), Some(to)) = maps else { continue };
            let bytes = scratch::conversion_bytes(&from, &to, bits, matrix_stores);
            let op = match self.function.value(conversion.value).def {
                ValueDef::Result(op, _) => Some(op),
                ValueDef::Argument(block, _) => self.layouts.owners[block.index()],
            };
            let at = user.map_or_else(|| self.made_at(conversion.value), |user| self.at[user.index()] - 1);
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

/// Places the parts as Triton does: large ones first, each into the lowest opening that it alone of all openings meets; what still lies on
/// another part that is alive with it moves past it, until nothing does. The bytes that all take.
fn place(parts: &mut [Part]) -> u32 {
    // What single operations go through is one after another, though it has one place here.
    let mut same: FxHashMap<u32, u64> = FxHashMap::default();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
    for part in &*parts {
        let (from, to) = (u64::from(part.alive.0) << 16, u64::from(part.alive.1) << 16);
        if part.is_at_once() {
            let turn = same.entry(part.alive.0).or_default();
            ranges.push((from + *turn, from + *turn + 1));
            *turn += 1;
        } else {
            ranges.push((from, to + (1 << 16)));
        }
    }
    let meet = |a: (u64, u64), b: (u64, u64)| a.0 < b.1 && b.0 < a.1;
    let mut openings: Vec<(u32, (u64, u64))> = vec![(0, (0, u64::MAX))];
    let mut open: Vec<usize> = (0..parts.len()).collect();
    while !open.is_empty() && !openings.is_empty() {
        let (offset, range) = openings.remove(0);
        let fits = |&n: &usize| meet(ranges[n], range) && !openings.iter().any(|&(_, other)| meet(ranges[n], other));
        let Some(chosen) = open.iter().position(|n| fits(n)) else { continue };
        let n = open.remove(chosen);
        let (part, own) = (&mut parts[n], ranges[n]);
        part.offset = offset.next_multiple_of(part.alignment);
        let mut add = |offset: u32, range: (u64, u64)| {
            let at = openings.partition_point(|&(other, _)| other <= offset);
            openings.insert(at, (offset, range));
        };
        add(part.offset + part.bytes, (range.0.max(own.0), range.1.min(own.1)));
        if range.0 < own.0 {
            add(offset, (range.0, own.1));
        }
        if own.1 < range.1 {
            add(offset, (own.0, range.1));
        }
    }
    // Every round moves something up; nothing has to move past all of the others more than once.
    for _ in 0..=parts.len() * parts.len() {
        let lies_on = |a: &Part, b: &Part| a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
        let met: Vec<Vec<usize>> = (0..parts.len())
            .map(|a| {
                (0..parts.len()).filter(|&b| a != b && meet(ranges[a], ranges[b]) && lies_on(&parts[a], &parts[b])).collect()
            })
            .collect();
        if met.iter().all(Vec::is_empty) {
            break;
        }
        // The largest of those that lie on each other stays.
        let mut colours: Vec<Option<usize>> = vec![None; parts.len()];
        colours[0] = Some(0);
        for n in 0..parts.len() {
            let taken: Vec<usize> = met[n].iter().filter_map(|&other| colours[other]).collect();
            colours[n] = (0..).find(|colour| !taken.contains(colour));
        }
        for n in 0..parts.len() {
            let past = met[n].iter().map(|&other| parts[other].offset + parts[other].bytes).max().unwrap_or(0);
            if colours[n] != Some(0) {
                parts[n].offset = past.next_multiple_of(parts[n].alignment);
            }
        }
    }
    let end = parts.iter().map(|part| part.offset + part.bytes).max().unwrap_or(0);
    parts.sort_by_key(|part| (part.offset, part.origin));
    end
}
