//! How each memory op spreads over threads, and a first layout for everything else.
//!
//! Along the dimension in which addresses are contiguous a thread takes as many elements as one 16-byte access moves, then lanes, then
//! warps follow. Ops on tiles of one shape and order share the widest choice, so that data flows between them without conversion; but what is stored
//! as often as anything of the shape is loaded goes in one access for each run, or each access would fill half of the sectors that it touches; so does
//! what is added to memory. Rows that are reduced and whose accesses are of 8 bytes are taken two of them at a time. Where columns are scanned
//! a thread holds neighbouring rows: most of a scan then happens within a thread.
//!
//! **Invariant:** afterwards the module is at L1: every tile has a layout, and where two layouts meet there is a conversion.
//! `assign_layouts` removes almost all of them: it takes from here only what memory ops want.

use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use tritium_tile::{
    Function, Level, Module, OpId, OpKind, Shape, ValueId,
    effects::{MAX_ACCESS_BYTES, mask_of, pointee_bytes},
    facts::{self, Facts},
    layout::{Distributed, Layout, LayoutId, LayoutTable, blocked::blocked},
    ops::{BinaryOp, Predicate},
    rewrite,
};

use super::{self as passes, CompileOptions, Fact, Pass, Unsupported, use_wgmma, version_masks};

pub static PASS: Pass = Pass {
    name: "coalesce",
    summary: "Give every memory op the layout that makes its accesses wide and adjacent.",
    needs: &[Fact::OneFunction],
    gives: &[Fact::HasLayouts],
    run,
};

type Order = SmallVec<[u8; 4]>;

fn run(module: &mut Module, options: &CompileOptions) -> Result<(), Unsupported> {
    module.level = Level::L1;
    module.num_warps = options.launch.num_warps;
    let function = &mut module.functions[0];
    let facts = facts::of_function(function);
    let wanted = memory_layouts(function, &facts, &mut module.layouts, options);
    for value in 0..function.values.len() {
        let ty = &function.values[value].ty;
        if !ty.is_scalar() && ty.layout().is_none() {
            let layout = default_layout(ty.shape(), options.launch.num_warps);
            let layout = module.layouts.intern(Layout::Distributed(layout));
            function.values[value].ty = ty.with_layout(layout);
        }
    }
    insert_conversions(function, &mut module.layouts, &wanted);
    rewrite::compact(function);
    Ok(())
}

/// The layout for a tile that nothing is known of: rows first, one element at a time.
pub(super) fn default_layout(shape: &[u32], num_warps: u32) -> Distributed {
    rows(shape, 1, num_warps)
}

/// Rows first, `run` elements to a thread at a time.
pub(super) fn rows(shape: &[u32], run: u32, num_warps: u32) -> Distributed {
    let order: Order = (0..shape.len() as u8).rev().collect();
    spread(shape, run, &order, num_warps)
}

/// `run` elements of `order[0]` to a thread, then lanes and warps in order.
pub(super) fn spread(shape: &[u32], run: u32, order: &[u8], num_warps: u32) -> Distributed {
    spread_rows(shape, run, 32, None, order, num_warps)
}

/// The same with at most `row` lanes along `order[0]`, and what lanes and warps leave of the dimension `neighbours` in front of them: a thread
/// has neighbours along it.
fn spread_rows(shape: &[u32], run: u32, row: u32, neighbours: Option<u8>, order: &[u8], num_warps: u32) -> Distributed {
    let rank = shape.len();
    let mut size: Shape = SmallVec::from_elem(1, rank);
    size[order[0] as usize] = run;
    let mut left: Shape = shape.iter().zip(&size).map(|(n, s)| (n / s).max(1)).collect();
    let mut deal = |mut hands: u32, row: u32| {
        let mut dealt: Shape = SmallVec::from_elem(1, rank);
        for (place, &axis) in order.iter().enumerate() {
            let axis = axis as usize;
            dealt[axis] = left[axis].min(hands).min(if place == 0 { row } else { hands });
            left[axis] /= dealt[axis];
            hands /= dealt[axis];
        }
        // Surplus hands hold copies.
        if let Some(&last) = order.last() {
            dealt[last as usize] *= hands;
        }
        dealt
    };
    let lanes = deal(32, row);
    let warps = deal(num_warps, num_warps);
    if let Some(axis) = neighbours.map(usize::from) {
        size[axis] *= left[axis];
    }
    blocked(shape, &size, &lanes, &warps, order)
}

/// How a memory op would like its tile to be spread, by itself.
struct Choice {
    id: OpId,
    shape: Shape,
    order: Order,
    /// Elements of the first dimension for each thread; and at most, whatever the others of its shape want.
    run: u32,
    most: u32,
    /// Loops around it.
    depth: u32,
}

/// What ops on tiles of one shape and order agree on.
#[derive(Default)]
struct Group {
    run: u32,
    /// Loops around the innermost of them.
    depth: u32,
}

/// By block, how many loops are around it.
fn loop_depths(function: &Function) -> Vec<u32> {
    let mut depths = vec![0; function.blocks.len()];
    let mut pending = vec![function.body];
    while let Some(block) = pending.pop() {
        for &op in &function.block(block).ops {
            let op = function.op(op);
            for &region in &op.regions {
                depths[region.index()] = depths[block.index()] + u32::from(op.kind.is_loop());
                pending.push(region);
            }
        }
    }
    depths
}

/// The value whose shape a memory op moves: its pointer.
fn memory_layouts(
    function: &Function,
    facts: &Facts,
    table: &mut LayoutTable,
    options: &CompileOptions,
) -> IndexMap<OpId, LayoutId> {
    let num_warps = options.launch.num_warps;
    let turned = turned(function, options);
    let depths = loop_depths(function);
    let multiplies = passes::multiplies(function);
    let reduced = shapes_along(function, |kind| match kind {
        OpKind::Reduce { axis } => Some(*axis),
        _ => None,
    });
    let scanned = shapes_along(function, |kind| match kind {
        OpKind::Scan { axis, .. } => Some(*axis),
        _ => None,
    });
    let multiplied = multiplied(function);
    let mut choices: Vec<Choice> = Vec::new();
    function.walk(|block, id| {
        let op = function.op(id);
        if !op.kind.is_access() {
            return;
        }
        let shape = function.ty(op.operands[0]).shape();
        if shape.is_empty() {
            return;
        }
        let (order, run) = choose(function, facts, id, &reduced, num_warps);
        let most = match op.kind {
            // What comes of a product is moved in front of the store anyway, so it goes as the store likes it.
            OpKind::Store(_) if multiplies => run,
            OpKind::Store(_) => widest(function, op.operands[0]),
            _ => u32::MAX,
        };
        choices.push(Choice { id, shape: shape.clone(), order, run, most, depth: depths[block.index()] });
    });
    let mut groups: IndexMap<(Shape, Order), Group> = IndexMap::new();
    for choice in &choices {
        let group = groups.entry((choice.shape.clone(), choice.order.clone())).or_default();
        group.run = group.run.max(choice.run);
        group.depth = group.depth.max(choice.depth);
    }
    for choice in &choices {
        if let Some(group) = groups.get_mut(&(choice.shape.clone(), choice.order.clone()))
            && choice.depth == group.depth
            && !multiplies
        {
            group.run = group.run.min(choice.most);
        }
    }
    choices
        .into_iter()
        .map(|Choice { id, shape, order, most, .. }| {
            let run = groups.get(&(shape.clone(), order.clone())).map_or(1, |group| group.run.max(1));
            // What a product takes goes through shared memory, in copies of 16 bytes.
            let run = if multiplies { run.min(most) } else { run };
            // Each access of an atomic is done by itself where the memory is, however much of a sector it is for.
            let run = if is_atomic(function, id) { run.min(widest(function, function.op(id).operands[0])) } else { run };
            let whole = if multiplies { version_masks::whole_run(function, facts, id, usize::from(order[0])) } else { None };
            let run = whole.map_or(run, |whole| run.max(whole.min(fair(function, id, num_warps)) as u32));
            let row = if turned.get(&id) == order.first() { TURNED_ROW } else { 32 };
            let neighbours = if multiplied.contains(&shape) { None } else { neighbours(function, facts, id, &scanned, &order) };
            (id, table.intern(Layout::Distributed(spread_rows(&shape, run, row, neighbours, &order, num_warps))))
        })
        .collect()
}

/// Lanes along a row that is written to shared memory as a column: 64 bytes, two whole sectors. With all lanes along it they would all
/// write to two banks, one after the other.
const TURNED_ROW: u32 = 4;

/// Loads of what warpgroups multiply and can only read along the products: elements of 32 bits, by the other dimension.
fn turned(function: &Function, options: &CompileOptions) -> FxHashMap<OpId, u8> {
    let mut found = FxHashMap::default();
    function.walk(|_, dot| {
        if !matches!(function.op(dot).kind, OpKind::Dot { .. }) || use_wgmma::grouping(function, dot, options).is_none() {
            return;
        }
        for (place, &operand) in function.op(dot).operands.iter().take(2).enumerate() {
            if function.ty(operand).elem().bits() == 32
                && let Some(load) = function.def_op(operand).filter(|&op| matches!(function.op(op).kind, OpKind::Load(_)))
            {
                found.insert(load, place as u8);
            }
        }
    });
    found
}

/// Shapes of tiles and the dimensions along which they are reduced, or scanned.
type Along = FxHashSet<(Shape, u8)>;

/// `axis`: the dimension along which an op of such a kind goes.
fn shapes_along(function: &Function, axis: impl Fn(&OpKind) -> Option<u8>) -> Along {
    let mut found = Along::default();
    function.walk(|_, id| {
        let op = function.op(id);
        if let Some(axis) = axis(&op.kind) {
            found.insert((function.ty(op.operands[0]).shape().clone(), axis));
        }
    });
    found
}

/// Shapes of what dots take and give: such tiles lie as the products want them.
fn multiplied(function: &Function) -> FxHashSet<Shape> {
    let mut found = FxHashSet::default();
    function.walk(|_, id| {
        let op = function.op(id);
        if matches!(op.kind, OpKind::Dot { .. }) {
            found.extend(op.operands.iter().chain(&op.results).map(|&value| function.ty(value).shape().clone()));
        }
    });
    found
}

/// Bytes of a row from which on the lanes of a warp may access rows that are not neighbours: a sector. Shorter rows share one with the next.
const WHOLE_SECTOR: u64 = 32;

/// The dimension along which a thread should have neighbours, as the tile is scanned along it. Where registers come above warps each of their
/// levels goes through shared memory for all of a thread's elements; where they come first it is one total of each column that is exchanged.
fn neighbours(function: &Function, facts: &Facts, id: OpId, scanned: &Along, order: &[u8]) -> Option<u8> {
    let pointer = function.op(id).operands[0];
    let shape = function.ty(pointer).shape();
    let (&first, others) = order.split_first()?;
    let row = facts.axis(pointer).contiguity[usize::from(first)].min(u64::from(shape[usize::from(first)]));
    if row * u64::from(pointee_bytes(function, pointer)) < WHOLE_SECTOR {
        return None;
    }
    others.iter().copied().find(|&axis| scanned.contains(&(shape.clone(), axis)))
}

/// Dimensions from most to least contiguous, and the elements of the first that one access may take.
fn choose(function: &Function, facts: &Facts, id: OpId, reduced: &Along, num_warps: u32) -> (Order, u32) {
    let op = function.op(id);
    let pointer = op.operands[0];
    let shape = function.ty(pointer).shape();
    let axis = facts.axis(pointer);
    let mut order: Order = (0..shape.len() as u8).rev().collect();
    // Neighbours that are never accessed are none.
    let mask = mask_of(function, id);
    let useful =
        |d: u8| axis.contiguity[d as usize].min(mask.map_or(u64::MAX, |mask| admitted(function, facts, mask, d as usize, 0)));
    // Stable: of equally contiguous dimensions the last comes first.
    order.sort_by_cached_key(|&d| std::cmp::Reverse(useful(d)));
    let run = access_run(function, facts, id, order[0] as usize) as u32;
    // Of half accesses two: rows are then exchanged by half as many lanes, twice as many at a time.
    let is_half = 2 * run == widest(function, pointer);
    let accesses = if is_half && reduced.contains(&(shape.clone(), order[0])) { 2 } else { 1 };
    (order, (accesses * run).min(fair(function, id, num_warps) as u32))
}

/// A thread's share of the elements that an op moves.
fn fair(function: &Function, id: OpId, num_warps: u32) -> u64 {
    (function.ty(function.op(id).operands[0]).num_elements() / u64::from(32 * num_warps)).max(1)
}

/// How many elements of a row along a dimension a mask may let through at most, as far as comparisons with known numbers say.
fn admitted(function: &Function, facts: &Facts, mask: ValueId, d: usize, depth: u32) -> u64 {
    let extent = u64::from(function.ty(mask).shape()[d]);
    let Some(op) = function.def_op(mask).map(|op| function.op(op)).filter(|_| depth < 16) else { return extent };
    let of = |value: ValueId, d: usize| admitted(function, facts, value, d, depth + 1);
    match op.kind {
        OpKind::Binary(BinaryOp::And) => of(op.operands[0], d).min(of(op.operands[1], d)),
        // Where it repeats one element, that element stands for all.
        OpKind::Broadcast if function.ty(op.operands[0]).shape()[d] == 1 => extent,
        OpKind::Broadcast => of(op.operands[0], d),
        OpKind::ExpandDims { axis } if usize::from(axis) == d => 1,
        OpKind::ExpandDims { axis } => of(op.operands[0], d - usize::from(d > usize::from(axis))),
        // Of the numbers from 0, those below a bound.
        OpKind::Compare(Predicate::LtS) => {
            let counts = function.def_op(op.operands[0]).map(|op| &function.op(op).kind);
            let below = facts.range(op.operands[1]).max;
            if matches!(counts, Some(OpKind::Iota { start: 0, .. })) { extent.min(below.max(0) as u64) } else { extent }
        }
        _ => extent,
    }
}

/// The elements along a dimension that one access may take, as far as its addresses and its mask say: a power of two.
pub(super) fn access_run(function: &Function, facts: &Facts, id: OpId, d: usize) -> u64 {
    let run = address_run(function, facts, id, d);
    mask_of(function, id).map_or(run, |mask| run.min(facts.axis(mask).constancy[d]))
}

/// The same as far as addresses say.
pub(super) fn address_run(function: &Function, facts: &Facts, id: OpId, d: usize) -> u64 {
    let pointer = function.op(id).operands[0];
    let unit = pointee_bytes(function, pointer);
    facts.axis(pointer).aligned_run(d, u64::from(unit)).min(u64::from(widest(function, pointer)))
}

/// Elements that one access of a thread moves at most.
fn widest(function: &Function, pointer: ValueId) -> u32 {
    (MAX_ACCESS_BYTES / pointee_bytes(function, pointer)).max(1)
}

fn is_atomic(function: &Function, id: OpId) -> bool {
    matches!(function.op(id).kind, OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. })
}

/// Every op gets its operands as it needs them, and gives its results as their first layout says.
fn insert_conversions(function: &mut Function, table: &mut LayoutTable, wanted: &IndexMap<OpId, LayoutId>) {
    for block in 0..function.blocks.len() {
        let ops = std::mem::take(&mut function.blocks[block].ops);
        let mut out = Vec::with_capacity(ops.len());
        for id in ops {
            let operands = function.op(id).operands.clone();
            for (n, &operand) in operands.iter().enumerate() {
                let Some(layout) = operand_layout(function, table, wanted, id, n) else { continue };
                if function.ty(operand).layout() == Some(layout) {
                    continue;
                }
                let ty = function.ty(operand).with_layout(layout);
                let origin = function.op(id).origin;
                let convert = function.create_op(OpKind::ConvertLayout, &[operand], [ty], &[], origin);
                function.op_mut(id).operands[n] = function.op(convert).results[0];
                out.push(convert);
            }
            out.push(id);
            for n in 0..function.op(id).results.len() {
                let result = function.op(id).results[n];
                let Some(layout) = result_layout(function, table, wanted, id) else { continue };
                let ty = function.ty(result).clone();
                if ty.is_scalar() || ty.layout() == Some(layout) {
                    continue;
                }
                // The op gets a fresh result; the old value is what the conversion makes, so users need not change.
                let origin = function.op(id).origin;
                let convert = function.create_op(OpKind::ConvertLayout, &[], [ty.with_layout(layout)], &[], origin);
                let fresh = function.op(convert).results[0];
                function.op_mut(id).results[n] = fresh;
                function.values[fresh.index()].def = tritium_tile::ValueDef::Result(id, n as u32);
                function.op_mut(convert).results[0] = result;
                function.op_mut(convert).operands = [fresh].into_iter().collect();
                function.values[result.index()].def = tritium_tile::ValueDef::Result(convert, 0);
                out.push(convert);
            }
        }
        function.blocks[block].ops = out;
    }
}

/// The layout an op needs of an operand, where it is not the operand's own by construction.
fn operand_layout(
    function: &Function,
    table: &mut LayoutTable,
    wanted: &IndexMap<OpId, LayoutId>,
    id: OpId,
    n: usize,
) -> Option<LayoutId> {
    let op = function.op(id);
    if let Some(&layout) = wanted.get(&id) {
        return Some(layout);
    }
    let of_result = |table: &LayoutTable| {
        let layout = function.ty(*op.results.first()?).layout()?;
        table.distributed(layout).cloned()
    };
    let source = function.ty(op.operands[n]).shape().clone();
    if source.is_empty() {
        return None;
    }
    let layout = super::assign_layouts::source_layout(&op.kind, &source, &of_result(table)?)?;
    Some(table.intern(Layout::Distributed(layout)))
}

/// The layout an op gives its results, where it is not the default.
fn result_layout(function: &Function, table: &mut LayoutTable, wanted: &IndexMap<OpId, LayoutId>, id: OpId) -> Option<LayoutId> {
    let op = function.op(id);
    match op.kind {
        OpKind::Reduce { axis } => {
            let source = table.distributed(function.ty(op.operands[0]).layout()?)?;
            let layout = source.slice(axis as usize);
            Some(table.intern(Layout::Distributed(layout)))
        }
        _ => wanted.get(&id).copied(),
    }
}
