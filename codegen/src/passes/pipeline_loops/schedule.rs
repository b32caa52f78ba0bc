//! Which loads of a loop run ahead, and by how many trips.
//!
//! Stages are numbered from 0; the loop's own trip is the last. A load at stage `s` of `n` runs `n - 1 - s` trips ahead. Everything else
//! stays in the last stage; what a load's address and mask are computed from is repeated in the load's stage. An address that is itself
//! loaded asks for that load one stage earlier, in registers.
//!
//! **Invariant:** what a load at stage `s` is computed from is arithmetic, or loads of stage `s - 1`.

use std::cell::OnceCell;

use rustc_hash::FxHashMap;
use tritium_tile::{
    BlockId, Function, Module, OpId, OpKind, Type, ValueDef, ValueId,
    control::carried_place,
    facts,
    layout::{
        Layout, LayoutId, LayoutTable, SharedLayout,
        algebra::inverse_order,
        shared::{swizzled, swizzled_words},
        tma,
    },
    ops::{Constant, LoopAttrs},
    rewrite,
    scratch::async_copy_fits,
    types::Shape,
};

use super::{
    super::{CompileOptions, use_wgmma},
    Limits,
    window::{self, Window},
};
use crate::pressure::registers_in_layout;

/// More stages than this only lengthen the code in front of the loop.
const MAX_STAGES: u32 = 16;

/// Addresses that are loaded through addresses that are loaded…: deeper ones stay in their place.
const MAX_ADDRESS_LOADS: u32 = 3;

/// Registers a thread may spend on the next trip's elements of one load.
const MAX_PREFETCH_REGISTERS: u32 = 32;

/// Stages of a recurrence whose trips are shorter than the latency of memory: enough for any.
const STAGES_OF_SHORT_TRIPS: u32 = 5;

#[derive(Debug)]
pub(super) struct Schedule {
    pub(super) op: OpId,
    /// Of the expanded loop: `given`, and one for each step of indirection.
    pub(super) stages: u32,
    /// What was asked for, and what it gets.
    pub(super) wanted: u32,
    pub(super) given: u32,
    pub(super) fetches: Vec<Fetch>,
    /// Of the loads that the tensor memory accelerator does. Looked up only.
    pub(super) windows: FxHashMap<OpId, Window>,
    /// The rings have a slot more than stages: what a trip reads may be read until the end of the next.
    pub(super) spare: bool,
}

/// A load that runs ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fetch {
    pub(super) load: OpId,
    pub(super) stage: u32,
    /// The layout of the ring's buffers; `None` for registers.
    pub(super) ring: Option<LayoutId>,
}

/// The loop's last dot accumulates from trip to trip and is for warpgroups: their multiplication may run into the next trip. It is the
/// only one and accumulates directly, or nothing touches its accumulator before the trip's first dot.
fn runs_on(function: &Function, layouts: &LayoutTable, block: BlockId, options: &CompileOptions) -> bool {
    let body = &function.block(block).ops;
    if body.iter().any(|&id| function.op(id).kind.is_control()) {
        return false;
    }
    let dots: Vec<OpId> = body.iter().copied().filter(|&id| matches!(function.op(id).kind, OpKind::Dot { .. })).collect();
    let (Some(&first), Some(&last)) = (dots.first(), dots.last()) else { return false };
    let result = function.op(last).results[0];
    let Some(carried) = function.passed(block).iter().position(|&v| v == result) else { return false };
    let accumulator = function.block(block).for_args().carried[carried];
    let reads = |id: &OpId| function.op(*id).operands.contains(&accumulator);
    let fits = |dot: OpId| use_wgmma::grouping(function, dot, options).is_some();
    if function.ty(result).elem().bits() < 32 {
        return false;
    }
    if first == last {
        return function.op(last).operands[2] == accumulator && fits(last) && use_wgmma::is_free(function, layouts, last, 0);
    }
    fits(first) && fits(last) && !body.iter().take_while(|&&id| id != first).chain([&first]).any(reads)
}

impl Schedule {
    /// The stage of the loads that go into rings; it is one for all, so that one wait covers them.
    pub(super) fn ring_stage(&self) -> Option<u32> {
        self.fetches.iter().find(|f| f.ring.is_some()).map(|f| f.stage)
    }
}

/// What values are computed from inside a loop's body.
#[derive(Debug, Default)]
pub(in crate::passes) struct Slice {
    /// In the order of the body, without the loads.
    pub(in crate::passes) ops: Vec<OpId>,
    /// Carried values, counted from 0, in order.
    pub(in crate::passes) carried: Vec<usize>,
    pub(in crate::passes) loads: Vec<OpId>,
}

/// `None` if something in it must not be repeated.
pub(in crate::passes) fn slice(function: &Function, block: BlockId, roots: &[ValueId]) -> Option<Slice> {
    let body = function.block(block);
    let mut out = Slice::default();
    let mut seen = vec![false; function.values.len()];
    let mut taken = vec![false; function.ops.len()];
    let mut pending = roots.to_vec();
    while let Some(value) = pending.pop() {
        if std::mem::replace(&mut seen[value.index()], true) {
            continue;
        }
        match function.value(value).def {
            ValueDef::Argument(at, index) => {
                if let Some(carried) = carried_place(index).filter(|_| at == block) {
                    out.carried.push(carried);
                    pending.push(*function.passed(block).get(carried)?);
                }
            }
            ValueDef::Result(id, _) if !body.ops.contains(&id) => {}
            ValueDef::Result(id, _) => {
                let op = function.op(id);
                if matches!(op.kind, OpKind::Load(_)) {
                    if !out.loads.contains(&id) {
                        out.loads.push(id);
                    }
                    continue;
                }
                if !op.kind.is_cheap() {
                    return None;
                }
                taken[id.index()] = true;
                pending.extend(&op.operands);
            }
        }
    }
    out.ops = body.ops.iter().copied().filter(|op| taken[op.index()]).collect();
    out.carried.sort_unstable();
    Some(out)
}

pub(super) fn of_loop(module: &mut Module, id: OpId, options: &CompileOptions, limits: Limits) -> Option<Schedule> {
    let function = module.entry();
    let OpKind::For(attrs) = function.op(id).kind else { return None };
    let block = *function.op(id).regions.first()?;
    let short = attrs.apart && !exchanges(function, block);
    let asked = match attrs.num_stages {
        _ if short => STAGES_OF_SHORT_TRIPS,
        _ if attrs.apart => 2,
        stages => stages.unwrap_or(options.launch.num_stages),
    };
    let wanted = asked.min(MAX_STAGES);
    let given = wanted.min(limits.stages);
    if given < 2 || !bounds_are_exact(function, id, MAX_STAGES + MAX_ADDRESS_LOADS) {
        return None;
    }
    let effects = Effects::of(function, block)?;
    let targets = targets(function, block, attrs)?;
    let allowed = |load: OpId| attrs.apart || effects.allow(function, load);
    // How many loads lead to the address of a load, one behind the other.
    let level = |load: OpId| level(function, block, load, 0, &allowed);
    let mut rings: Vec<(OpId, LayoutId, u32)> = Vec::new();
    let mut plain: Vec<(OpId, u32)> = Vec::new();
    let users = rewrite::users(function);
    let mut layouts = module.layouts.clone();
    let facts = OnceCell::new();
    let never_negative = |value| facts.get_or_init(|| facts::of_function(function)).range(value).min >= 0;
    let mut windows: FxHashMap<OpId, Window> = FxHashMap::default();
    for load in targets {
        let Some(level) = level(load) else { continue };
        if attrs.apart && !short {
            plain.push((load, level));
            continue;
        }
        let window = window::of_load_ahead(function, &never_negative, load, options)
            .filter(|window| window_fits(function, &layouts, &users, load, window));
        if let Some(window) = window {
            rings.push((load, layouts.intern(Layout::Shared(window.layout.clone())), level));
            windows.insert(load, window);
            continue;
        }
        match ring_layout(function, &mut layouts, &users, load) {
            Some(ring) => rings.push((load, ring, level)),
            None if registers(module, function, load) <= MAX_PREFETCH_REGISTERS => plain.push((load, level)),
            None => {}
        }
    }
    for (load, ..) in rings.drain(limits.rings.min(rings.len())..) {
        windows.remove(&load);
    }
    let indirection = rings.iter().map(|(_, _, level)| *level).max();
    let stages = match indirection {
        Some(level) => level + given,
        None => plain.iter().map(|(_, level)| *level).max()? + 2,
    };
    let mut fetches: Vec<Fetch> = Vec::new();
    let mut pending: Vec<Fetch> = Vec::new();
    pending.extend(rings.iter().map(|&(load, ring, _)| Fetch { load, stage: indirection.unwrap_or(0), ring: Some(ring) }));
    // One trip ahead, if what leads there finds enough stages in front.
    let ahead = stages - 2;
    pending.extend(plain.iter().filter(|(_, l)| *l <= ahead).map(|&(load, _)| Fetch { load, stage: ahead, ring: None }));
    while let Some(fetch) = pending.pop() {
        if fetches.contains(&fetch) {
            continue;
        }
        for load in slice(function, block, &function.op(fetch.load).operands)?.loads {
            pending.push(Fetch { load, stage: fetch.stage.checked_sub(1)?, ring: None });
        }
        fetches.push(fetch);
    }
    if fetches.is_empty() {
        return None;
    }
    let place = |op: OpId| function.block(block).ops.iter().position(|&other| other == op);
    fetches.sort_by_key(|f| (f.stage, place(f.load), f.ring.is_some()));
    let products = function.block(block).ops.iter().filter(|&&id| matches!(function.op(id).kind, OpKind::Dot { .. })).count();
    // Of a single product, these are copied when the product before is done: see `overlap_wgmma`.
    let are_late = products == 1 && rings.iter().all(|(load, ..)| windows.contains_key(load));
    let spare = limits.spare && !are_late && indirection.is_some() && runs_on(function, &module.layouts, block, options);
    module.layouts = layouts;
    let given = if indirection.is_some() { given } else { 2 };
    Some(Schedule { op: id, stages, wanted, given, fetches, windows, spare })
}

/// Threads exchange numbers in the body of a loop, which takes about as long as memory does.
fn exchanges(function: &Function, block: BlockId) -> bool {
    function.block(block).ops.iter().any(|&op| {
        matches!(
            function.op(op).kind,
            OpKind::Reduce { .. } | OpKind::Scan { .. } | OpKind::ConvertLayout | OpKind::Gather { .. }
        )
    })
}

/// Whether "is there a trip `n` ahead" can be computed without overflow: always for i32, for i64 with a known step.
fn bounds_are_exact(function: &Function, id: OpId, stages: u32) -> bool {
    let step = function.op(id).for_operands().step;
    if function.ty(step).elem().bits() <= 32 {
        return true;
    }
    constant(function, step).is_some_and(|step| step > 0 && step.checked_mul(i64::from(stages)).is_some())
}

pub(in crate::passes) fn constant(function: &Function, value: ValueId) -> Option<i64> {
    match function.op(function.def_op(value)?).kind {
        OpKind::Constant(Constant::Int(value)) => Some(value),
        _ => None,
    }
}

/// What a loop's body does to global memory.
pub(in crate::passes) struct Effects {
    /// Roots of the pointers it writes through; `None` for one that is not known.
    written: Vec<Option<ValueId>>,
}

impl Effects {
    /// `None` if other programs or threads may be waited for inside, or loops are nested: then nothing moves.
    pub(in crate::passes) fn of(function: &Function, block: BlockId) -> Option<Effects> {
        let mut written = Vec::new();
        let users = rewrite::use_counts(function);
        let mut pending = vec![block];
        while let Some(block) = pending.pop() {
            for &id in &function.block(block).ops {
                let op = function.op(id);
                match &op.kind {
                    OpKind::Store(_) => written.push(root(function, op.operands[0])),
                    // Whoever looks at the old value may be taking a lock.
                    OpKind::AtomicRmw { .. } if users[op.results[0].index()] == 0 => written.push(root(function, op.operands[0])),
                    // Of shared memory and of what starts by itself.
                    OpKind::LocalAlloc
                    | OpKind::LocalStore
                    | OpKind::GridLaunch
                    | OpKind::FenceAsync
                    | OpKind::MbarrierInit { .. }
                    | OpKind::MbarrierInvalidate
                    | OpKind::Wgmma { .. }
                    | OpKind::WgmmaWait { .. } => {}
                    kind if kind.is_loop() || kind.may_write() => return None,
                    _ => {}
                }
                pending.extend(&op.regions);
            }
        }
        Some(Effects { written })
    }

    /// A load may run ahead if nothing in the loop writes where it reads. Tensors of different arguments are taken as different, as
    /// Triton takes them.
    fn allow(&self, function: &Function, load: OpId) -> bool {
        let op = function.op(load);
        let OpKind::Load(attrs) = op.kind else { return false };
        let from = root(function, op.operands[0]);
        !attrs.volatile && self.written.iter().all(|&to| to.is_some() && from.is_some() && to != from)
    }
}

/// The pointer parameter that an address is computed from, on every way that it may come.
pub(in crate::passes) fn root(function: &Function, pointer: ValueId) -> Option<ValueId> {
    let mut found: Option<ValueId> = None;
    let mut seen = vec![false; function.values.len()];
    let mut pending = vec![pointer];
    while let Some(value) = pending.pop() {
        if std::mem::replace(&mut seen[value.index()], true) {
            continue;
        }
        match function.value(value).def {
            ValueDef::Argument(block, _) if block == function.body => {
                if found.is_some_and(|other| other != value) {
                    return None;
                }
                found = Some(value);
            }
            ValueDef::Argument(block, index) => {
                let owner = function.ops.iter().position(|op| op.regions.contains(&block))?;
                let carried = function.for_loop(OpId(owner as u32))?.of_argument(index)?;
                pending.extend([carried.init, carried.next]);
            }
            ValueDef::Result(id, index) => {
                let op = function.op(id);
                match &op.kind {
                    kind if kind.keeps_tensor() => pending.push(op.operands[0]),
                    OpKind::Select | OpKind::Choose => pending.extend(&op.operands[1..]),
                    OpKind::For(_) => {
                        let carried = function.for_loop(id)?.carried(index as usize)?;
                        pending.extend([carried.init, carried.next]);
                    }
                    OpKind::If => {
                        for &region in &op.regions {
                            pending.push(*function.passed(region).get(index as usize)?);
                        }
                    }
                    _ => return None,
                }
            }
        }
    }
    found
}

/// The loads worth running ahead: those that the operands of dots are computed from; all, if there is no dot and the loop itself says
/// that it has stages, or its stores are apart.
fn targets(function: &Function, block: BlockId, attrs: LoopAttrs) -> Option<Vec<OpId>> {
    let body = &function.block(block).ops;
    let mut pending: Vec<ValueId> = Vec::new();
    for &id in body {
        let op = function.op(id);
        if let OpKind::Dot { .. } = op.kind {
            pending.extend(&op.operands[..2]);
        }
    }
    let is_tile = |id: OpId| !function.ty(function.op(id).operands[0]).is_scalar();
    let is_load = |id: OpId| matches!(function.op(id).kind, OpKind::Load(_));
    if pending.is_empty() {
        let loads: Vec<OpId> = body.iter().copied().filter(|&id| is_load(id) && (attrs.apart || is_tile(id))).collect();
        return ((attrs.apart || attrs.num_stages.is_some()) && !loads.is_empty()).then_some(loads);
    }
    let mut seen = vec![false; function.values.len()];
    let mut found = vec![false; function.ops.len()];
    while let Some(value) = pending.pop() {
        if std::mem::replace(&mut seen[value.index()], true) {
            continue;
        }
        let Some(id) = function.def_op(value).filter(|id| body.contains(id)) else { continue };
        let op = function.op(id);
        if is_load(id) {
            found[id.index()] = true;
        } else if op.kind.is_pure() || matches!(op.kind, OpKind::LocalAlloc | OpKind::LocalLoad) {
            pending.extend(&op.operands);
        }
    }
    Some(body.iter().copied().filter(|id| found[id.index()]).collect())
}

/// `None` if the load cannot run ahead.
fn level(function: &Function, block: BlockId, load: OpId, depth: u32, allowed: &dyn Fn(OpId) -> bool) -> Option<u32> {
    if depth > MAX_ADDRESS_LOADS || !allowed(load) {
        return None;
    }
    let before = slice(function, block, &function.op(load).operands)?.loads;
    let mut most = 0;
    for load in before {
        most = most.max(level(function, block, load, depth + 1, allowed)? + 1);
    }
    (most <= MAX_ADDRESS_LOADS).then_some(most)
}

/// 32-bit registers of a thread that a load fills.
pub(in crate::passes) fn registers(module: &Module, function: &Function, load: OpId) -> u32 {
    registers_in_layout(&module.layouts, function.ty(function.op(load).results[0])).unwrap_or(1)
}

/// The readers of a load can read what the tensor memory accelerator leaves: a buffer in the layout they ask for, with its rows' chunks in another order
/// or, of 16-bit elements, in its transpose's.
pub(in crate::passes) fn window_fits(
    function: &Function,
    layouts: &LayoutTable,
    users: &[Vec<OpId>],
    load: OpId,
    window: &Window,
) -> bool {
    let result = function.op(load).results[0];
    let ty = function.ty(result);
    let fits = |layout: SharedLayout| {
        layout == window.layout
            || ty.elem().bits() == 32 && layout == swizzled_words(ty.shape(), &tma::order(ty.shape().len(), window.contiguous))
    };
    ty.elem().bits() == 16 || reader_layout(function, layouts, users, result).is_none_or(fits)
}

/// The layout of the ring that a load can be copied to: that of the buffer its reader fills with it, or one of its own. `None` if
/// `cp.async` cannot do it.
fn ring_layout(function: &Function, layouts: &mut LayoutTable, users: &[Vec<OpId>], load: OpId) -> Option<LayoutId> {
    let op = function.op(load);
    let OpKind::Load(attrs) = op.kind else { return None };
    let (pointer, result) = (op.operands[0], op.results[0]);
    let ty = function.ty(result).clone();
    let elem = ty.elem().scalar()?;
    if elem.bits() < 8 || op.operands.get(2).is_some_and(|&other| !is_zero(function, other)) {
        return None;
    }
    let tile = layouts.distributed(function.ty(pointer).layout()?)?.clone();
    let layout = match reader_layout(function, layouts, users, result) {
        Some(layout) => layout,
        None => {
            let fastest = (0..tile.shape.len()).max_by_key(|&d| (tile.contiguous_registers(d), d))?;
            let mut order: Vec<u8> = (0..tile.shape.len() as u8).rev().filter(|&d| d as usize != fastest).collect();
            order.insert(0, fastest as u8);
            swizzled(&tile.shape, elem.bits(), &order)
        }
    };
    let fits = async_copy_fits(&tile, &layout, elem.bits(), u32::from(attrs.vector));
    fits.then(|| layouts.intern(Layout::Shared(layout)))
}

pub(super) fn is_zero(function: &Function, value: ValueId) -> bool {
    let Some(op) = function.def_op(value).map(|op| function.op(op)) else { return false };
    match op.kind {
        OpKind::Constant(Constant::Int(value)) => value == 0,
        OpKind::Constant(Constant::Float(value)) => value.to_bits() == 0,
        OpKind::Splat | OpKind::Broadcast => is_zero(function, op.operands[0]),
        _ => false,
    }
}

/// The layout of a buffer that is filled with this value, turned back through the shape operations in between.
fn reader_layout(function: &Function, layouts: &LayoutTable, users: &[Vec<OpId>], value: ValueId) -> Option<SharedLayout> {
    users[value.index()].iter().find_map(|&user| {
        let op = function.op(user);
        match &op.kind {
            OpKind::LocalAlloc => layouts.shared(function.ty(op.results[0]).layout()?).cloned(),
            kind => {
                let turn = Turn::of(kind)?;
                let layout = reader_layout(function, layouts, users, op.results[0])?;
                Some(turn.shared_back(&layout, function.ty(value).shape()))
            }
        }
    })
}

/// A shape operation through which a buffer can be read directly.
#[derive(Debug, Clone)]
pub(super) enum Turn {
    /// Flat indices stay.
    Flat,
    Transpose(Vec<u8>),
}

impl Turn {
    pub(super) fn of(kind: &OpKind) -> Option<Turn> {
        match kind {
            OpKind::ExpandDims { .. } | OpKind::Reshape { reorder: false } => Some(Turn::Flat),
            OpKind::Transpose { order } => Some(Turn::Transpose(order.to_vec())),
            _ => None,
        }
    }

    /// The operand's layout, of this shape, for the result's.
    fn shared_back(&self, result: &SharedLayout, shape: &[u32]) -> SharedLayout {
        match self {
            Turn::Flat => SharedLayout { shape: Shape::from_slice(shape), offset: result.offset.clone() },
            Turn::Transpose(order) => result.transpose(&inverse_order(order)),
        }
    }

    /// The operand's type, of this shape, for the result's.
    pub(super) fn tile_back(&self, layouts: &mut LayoutTable, result: &Type, shape: &Shape) -> Option<Type> {
        let layout = layouts.distributed(result.layout()?)?;
        let layout = match self {
            Turn::Flat => layout.reshape(shape),
            Turn::Transpose(order) => layout.transpose(&inverse_order(order)),
        };
        let layout = layouts.intern(Layout::Distributed(layout));
        Some(Type::Tile { elem: result.elem(), shape: shape.clone(), layout: Some(layout) })
    }
}

/// By load and stage, the value that the load gave on the trip before.
pub(super) type Carried = FxHashMap<(OpId, u32), ValueId>;
