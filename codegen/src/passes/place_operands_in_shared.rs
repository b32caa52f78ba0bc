//! Operands of dots that other threads hold go through a swizzled buffer in shared memory.
//!
//! A buffer can be read by `ldmatrix`, filled early and kept over several trips; a conversion's scratch cannot.
//!
//! A dot that warpgroups do takes its right operand from a buffer always, its left one unless it is in the right registers already. What the
//! tensor core cannot read in the order of its registers lies along k: only 16-bit operands are transposed on the way. A transpose is read from
//! the buffer of what it is the transpose of, so the product of a tile with its own reads one buffer twice. Products that `mma.sync` does share
//! a buffer of their block where it fits so long.
//!
//! Where a dot leaves a loop short of registers, what was converted in front of the loop is read from shared memory on each trip as well.
//!
//! **Invariant:** only conversions into operand fragments, operands of warpgroups' dots, and conversions that such a loop holds change; conversions
//! that merely rename registers stay.

mod invariant_conversions;
mod pressure;

use rustc_hash::FxHashSet;
use tritium_tile::{
    BlockId, Function, Module, OpId, OpKind, Type, ValueId,
    effects::MAX_ACCESS_BYTES,
    layout::{
        Conversion, Distributed, Layout, LayoutTable, Side,
        convert::conversion,
        mma::dot_operand,
        shared::{swizzled, swizzled_words},
    },
    rewrite, scratch,
};

use super::{CompileOptions, Fact, Pass, Unsupported, assign_shared, use_wgmma};
use crate::pressure::registers_in_layout;

pub static PASS: Pass = Pass {
    name: "place_operands_in_shared",
    summary: "Send operands of dots through swizzled buffers in shared memory.",
    needs: &[Fact::HasLayouts, Fact::DotsPicked],
    gives: &[Fact::OperandsStaged],
    run,
};

/// The value is the result of a conversion that moves data between threads.
pub(super) fn is_costly_conversion(module: &Module, function: &Function, value: ValueId) -> bool {
    let Some(op) = function.def_op(value).map(|op| function.op(op)) else { return false };
    if !matches!(op.kind, OpKind::ConvertLayout) {
        return false;
    }
    let layout = |v: ValueId| function.ty(v).layout().and_then(|l| module.layouts.distributed(l));
    match (layout(op.operands[0]), layout(value)) {
        (Some(from), Some(to)) => !matches!(conversion(from, to), Conversion::Rename(_)),
        _ => false,
    }
}

/// What a buffer holds, the order of its dimensions, and the block that it is filled in.
type Contents = (ValueId, Vec<u8>, Option<BlockId>);

/// What goes through a buffer: the operand of a dot, and the conversion that the buffer replaces, if there is one.
struct Staged {
    place: usize,
    source: ValueId,
    convert: Option<OpId>,
}

/// A dot with the operands that it is the first to need.
struct StagedDot {
    dot: OpId,
    /// Warpgroups do it.
    warpgroups: bool,
    operands: Vec<Staged>,
}

fn run(module: &mut Module, options: &CompileOptions) -> Result<(), Unsupported> {
    let mut trial = module.clone();
    // What is read for several products stays there from the first to the last of them.
    if place(&mut trial, options, true) && !assign_shared::fits(&trial, options) {
        place(module, options, false);
    } else {
        *module = trial;
    }
    Ok(())
}

/// Places all, and says whether products share a buffer, which they do only if they may.
fn place(module: &mut Module, options: &CompileOptions, may_share: bool) -> bool {
    let function = &module.functions[0];
    let parents = rewrite::parent_blocks(function);
    let users = rewrite::users(function);
    let mut staged: Vec<StagedDot> = Vec::new();
    let mut seen = vec![false; function.ops.len()];
    function.walk(|_, id| {
        let op = function.op(id);
        if !matches!(op.kind, OpKind::Dot { .. }) {
            return;
        }
        let warpgroups = use_wgmma::grouping(function, id, options).is_some();
        let mut operands = Vec::new();
        for (place, &operand) in op.operands[..2].iter().enumerate() {
            if is_costly_conversion(module, function, operand)
                && let Some(convert) = function.def_op(operand)
            {
                if !std::mem::replace(&mut seen[convert.index()], true) {
                    operands.push(Staged { place, source: function.op(convert).operands[0], convert: Some(convert) });
                }
            } else if warpgroups
                && (place == 1 || fragment(module, function, id, place).is_some_and(|f| !is_at(module, function, operand, &f)))
            {
                operands.push(Staged { place, source: operand, convert: None });
            }
        }
        staged.push(StagedDot { dot: id, warpgroups, operands });
    });
    let short_of_registers = pressure::blocks_short_of_registers(module, &parents, &staged, options);
    // Buffers by what they hold, how, and in which block they are filled: for warpgroups, and for what is converted.
    let mut filled: Vec<(Contents, ValueId)> = Vec::new();
    let mut converted: Vec<(Contents, ValueId)> = Vec::new();
    let mut shares = false;
    let is_next = |function: &Function, convert: OpId, dot: OpId| {
        let first_user = users[function.op(convert).results[0].index()].first();
        parents[convert.index()] == parents[dot.index()] && first_user == Some(&dot)
    };
    // What products that `mma.sync` does read from buffers right in front of them, by their blocks.
    let mut sources: FxHashSet<(ValueId, Option<BlockId>)> = FxHashSet::default();
    for StagedDot { dot, operands, .. } in staged.iter().filter(|dot| may_share && !dot.warpgroups) {
        let converts = operands.iter().filter(|operand| operand.convert.is_some_and(|convert| is_next(function, convert, *dot)));
        sources.extend(converts.map(|operand| (operand.source, parents[dot.index()])));
    }
    let mut words: FxHashSet<ValueId> = FxHashSet::default();
    for StagedDot { dot, operands, .. } in staged.iter().filter(|dot| !dot.warpgroups) {
        for &Staged { place, source, .. } in operands {
            let turned = transposed(function, source).filter(|&of| sources.contains(&(of, parents[dot.index()])));
            let value = turned.unwrap_or(source);
            if goes_by_words(&module.layouts, function, value, if turned.is_some() { 1 - place } else { place }) {
                words.insert(value);
            }
        }
    }
    for StagedDot { dot, warpgroups, operands } in staged {
        let mut fills = Vec::new();
        let mut reads = Vec::new();
        for Staged { place, source: value, convert } in operands {
            let side = if place == 0 { Side::A } else { Side::B };
            let wanted = fragment(module, &module.functions[0], dot, place);
            let function = &mut module.functions[0];
            let operand = function.ty(value).clone();
            // A conversion that goes right in front of its dot.
            let is_next = convert.is_some_and(|convert| is_next(function, convert, dot));
            let is_shared = |value: ValueId| is_next && !warpgroups && sources.contains(&(value, parents[dot.index()]));
            // A buffer is turned for nothing, and holds what other operands may need as it is.
            let turned = transposed(function, value).filter(|&of| if convert.is_none() { warpgroups } else { is_shared(of) });
            let value = turned.unwrap_or(value);
            let source = function.ty(value).clone();
            let Some(elem) = source.elem().scalar() else { continue };
            let mut order =
                source.layout().and_then(|l| module.layouts.distributed(l)).map_or_else(Vec::new, Distributed::fastest_first);
            let mut buffer = match elem.bits() {
                32 if words.contains(&value) && !warpgroups => swizzled_words(source.shape(), &order),
                bits => swizzled(source.shape(), bits, &order),
            };
            let read = if turned.is_some() { buffer.transpose(&[1, 0]) } else { buffer.clone() };
            if warpgroups && !use_wgmma::can_read(function, &module.layouts, dot, side, &read, elem.bits()) {
                order = if (side == Side::A) == turned.is_none() { vec![1, 0] } else { vec![0, 1] };
                buffer = swizzled(source.shape(), elem.bits(), &order);
            }
            let layout = module.layouts.intern(Layout::Shared(buffer));
            let ty = Type::Shared { elem, shape: source.shape().clone(), layout };
            let origin = function.op(convert.unwrap_or(dot)).origin;
            let fill = |function: &mut Function| {
                let alloc = function.create_op(OpKind::LocalAlloc, &[value], [ty.clone()], &[], origin);
                (alloc, function.op(alloc).results[0])
            };
            match (convert, wanted) {
                (Some(convert), _) => {
                    let key = (value, order, parents[dot.index()]);
                    let earlier = converted.iter().find(|(k, _)| is_shared(value) && *k == key).map(|&(_, buffer)| buffer);
                    shares |= earlier.is_some();
                    let buffer = earlier.unwrap_or_else(|| {
                        let (alloc, buffer) = fill(function);
                        // Where registers are short, as soon as it is there.
                        let is_short = parents[dot.index()].is_some_and(|block| short_of_registers.contains(&block));
                        let is_near = |def: &OpId| is_short && parents[def.index()] == parents[dot.index()];
                        match function.def_op(value).filter(is_near) {
                            _ if !is_next => {
                                rewrite::insert_before(function, convert, alloc);
                            }
                            Some(def) => {
                                rewrite::insert_after(function, def, alloc);
                            }
                            None => fills.push(alloc),
                        }
                        if is_shared(value) {
                            converted.push((key, buffer));
                        }
                        buffer
                    });
                    let result = function.ty(function.op(convert).results[0]).layout();
                    let held = result.and_then(|l| module.layouts.distributed(l)).filter(|_| turned.is_some());
                    let read = function.op_mut(convert);
                    read.kind = OpKind::LocalLoad;
                    read.operands = [buffer].into_iter().collect();
                    if let Some(held) = held.map(|held| held.transpose(&[1, 0])) {
                        let ty = source.with_layout(module.layouts.intern(Layout::Distributed(held)));
                        let load = function.create_op(OpKind::LocalLoad, &[buffer], [ty], &[], origin);
                        let read = function.op(load).results[0];
                        let turn = function.op_mut(convert);
                        turn.kind = OpKind::Transpose { order: [1, 0].into_iter().collect() };
                        turn.operands = [read].into_iter().collect();
                        reads.push(load);
                    }
                    if is_next {
                        reads.push(convert);
                    }
                }
                (None, Some(wanted)) => {
                    // Filled where the value is made if that is outside of the dot's loop.
                    let def = function.def_op(value);
                    let home = def.and_then(|def| parents[def.index()]).filter(|&block| Some(block) != parents[dot.index()]);
                    let key = (value, order, home.or(parents[dot.index()]));
                    let buffer = match filled.iter().find(|(k, _)| *k == key) {
                        Some(&(_, buffer)) => buffer,
                        None => {
                            let (alloc, buffer) = fill(function);
                            match (home, def) {
                                (Some(_), Some(def)) => {
                                    rewrite::insert_after(function, def, alloc);
                                }
                                _ => match joined(function, parents[dot.index()], &filled, value) {
                                    Some(earlier) => {
                                        rewrite::insert_after(function, earlier, alloc);
                                    }
                                    None => fills.push(alloc),
                                },
                            }
                            filled.push((key, buffer));
                            buffer
                        }
                    };
                    let held = if turned.is_some() { wanted.transpose(&[1, 0]) } else { wanted.clone() };
                    let layout = module.layouts.intern(Layout::Distributed(held));
                    let load = function.create_op(OpKind::LocalLoad, &[buffer], [source.with_layout(layout)], &[], origin);
                    let mut read = function.op(load).results[0];
                    reads.push(load);
                    if turned.is_some() {
                        let layout = module.layouts.intern(Layout::Distributed(wanted));
                        let kind = OpKind::Transpose { order: [1, 0].into_iter().collect() };
                        let turn = function.create_op(kind, &[read], [operand.with_layout(layout)], &[], origin);
                        read = function.op(turn).results[0];
                        reads.push(turn);
                    }
                    function.op_mut(dot).operands[place] = read;
                }
                (None, None) => {}
            }
        }
        let function = &mut module.functions[0];
        let Some(block) = parents[dot.index()] else { continue };
        together(function, block, dot, &fills, &reads);
    }
    read_again(module, options, &short_of_registers);
    invariant_conversions::read_in_loops(module, options, &short_of_registers);
    fill_in_order(module, options);
    rewrite::compact(&mut module.functions[0]);
    shares
}

/// Lanes read or write single words of the operand, or two: it does not lie along k, as `ldmatrix` reads it, or a thread holds less than 16 bytes of a row.
fn goes_by_words(layouts: &LayoutTable, function: &Function, operand: ValueId, place: usize) -> bool {
    let ty = function.ty(operand);
    let k = if place == 0 { ty.shape().len() - 1 } else { ty.shape().len() - 2 };
    let Some(layout) = ty.layout().and_then(|l| layouts.distributed(l)) else { return false };
    layout.fastest_first().first() != Some(&(k as u8)) || layout.contiguous_registers(k) * ty.elem().bits() < 8 * MAX_ACCESS_BYTES
}

/// One number everywhere is in every layout, so a buffer of it is filled as the buffer lies.
fn fill_in_order(module: &mut Module, options: &CompileOptions) {
    let function = &mut module.functions[0];
    let mut fills: Vec<OpId> = Vec::new();
    function.walk(|_, id| {
        if matches!(function.op(id).kind, OpKind::LocalAlloc) {
            fills.push(id);
        }
    });
    for alloc in fills {
        let Some(&value) = function.op(alloc).operands.first() else { continue };
        let Some(OpKind::Constant(constant)) = function.def_op(value).map(|def| &function.op(def).kind) else { continue };
        let (constant, origin, ty) = (*constant, function.op(alloc).origin, function.ty(value).clone());
        let buffer = function.ty(function.op(alloc).results[0]).layout().and_then(|layout| module.layouts.shared(layout));
        let Some(buffer) = buffer else { continue };
        let layout = Layout::Distributed(buffer.in_order(ty.elem().bits(), options.launch.num_warps));
        let ty = ty.with_layout(module.layouts.intern(layout));
        let laid_out = function.create_op(OpKind::Constant(constant), &[], [ty], &[], origin);
        function.op_mut(alloc).operands[0] = function.op(laid_out).results[0];
        rewrite::insert_before(function, alloc, laid_out);
    }
    rewrite::erase_dead(function);
}

/// Bytes of a buffer that is filled for an earlier dot than it is for, at most: it takes its place beside that one's.
pub(super) const MAX_JOINED_BYTES: u64 = 16 << 10;

/// The last fill of an earlier dot of the block that comes behind what a buffer is to hold: filled there, one barrier serves both.
fn joined(function: &Function, block: Option<BlockId>, filled: &[(Contents, ValueId)], value: ValueId) -> Option<OpId> {
    if bytes_of(function, value) > MAX_JOINED_BYTES {
        return None;
    }
    let list = &function.block(block?).ops;
    let place = |value: ValueId| list.iter().position(|&op| Some(op) == function.def_op(value));
    let there = place(value)?;
    if waits_for_loads(function, list, value) {
        return None;
    }
    let fills = filled.iter().filter(|((_, _, home), _)| *home == block).filter_map(|&(_, buffer)| place(buffer));
    fills.max().filter(|&fill| there < fill).map(|fill| list[fill])
}

/// Bytes of a buffer of the tile.
pub(super) fn bytes_of(function: &Function, tile: ValueId) -> u64 {
    let ty = function.ty(tile);
    ty.num_elements() * u64::from(scratch::element_bytes(ty.elem()))
}

/// The value is computed from what this block loads: stored earlier, it would be waited for sooner.
pub(super) fn waits_for_loads(function: &Function, list: &[OpId], value: ValueId) -> bool {
    let (mut pending, mut seen) = (vec![value], FxHashSet::default());
    while let Some(value) = pending.pop() {
        let Some(def) = function.def_op(value).filter(|def| list.contains(def) && seen.insert(*def)) else { continue };
        let op = function.op(def);
        match &op.kind {
            OpKind::Load(_) => return true,
            kind if kind.is_pure() => pending.extend(&op.operands),
            _ => {}
        }
    }
    false
}

/// What a tile is the transpose of.
fn transposed(function: &Function, tile: ValueId) -> Option<ValueId> {
    let op = function.op(function.def_op(tile)?);
    matches!(&op.kind, OpKind::Transpose { order } if order[..] == [1, 0]).then(|| op.operands[0])
}

/// The layout in which a dot takes an operand from registers.
fn fragment(module: &Module, function: &Function, dot: OpId, place: usize) -> Option<Distributed> {
    let op = function.op(dot);
    let parent = function.ty(op.results[0]).layout().and_then(|l| module.layouts.distributed(l))?;
    let ty = function.ty(op.operands[place]);
    Some(dot_operand(if place == 0 { Side::A } else { Side::B }, parent, ty.shape(), ty.elem().bits()))
}

/// Every thread holds what the layout says.
fn is_at(module: &Module, function: &Function, value: ValueId, layout: &Distributed) -> bool {
    let mine = function.ty(value).layout().and_then(|l| module.layouts.distributed(l));
    mine.is_some_and(|mine| matches!(conversion(mine, layout), Conversion::Rename(_)))
}

/// 32-bit registers that the accumulator and the fragments of one dot may take, all together, before a fragment that another dot has
/// read is read a second time instead of waiting through the filling of further buffers.
const MAX_OPERAND_REGISTERS: u32 = 192;

/// A dot that comes after further buffers are filled reads a fragment of an earlier dot again, and one in a loop a fragment that was read in front
/// of the loop, if registers are short and shared memory is not.
fn read_again(module: &mut Module, options: &CompileOptions, short_of_registers: &FxHashSet<BlockId>) {
    let function = &module.functions[0];
    let mut bytes = 0u64;
    let mut blocks = Vec::new();
    function.walk(|block, id| {
        let op = function.op(id);
        match op.kind {
            OpKind::LocalAlloc => bytes += u64::from(scratch::bytes(module, function, id)),
            OpKind::Dot { .. } if blocks.last() != Some(&block) => blocks.push(block),
            _ => {}
        }
    });
    // Every buffer beside every other.
    if bytes > options.sm.shared_per_cta.into() {
        return;
    }
    for block in blocks {
        let function = &mut module.functions[0];
        let outside = short_of_registers.contains(&block).then(|| pressure::values_outside(function, block)).flatten();
        let mut list = function.block(block).ops.clone();
        let mut place = 0;
        while place < list.len() {
            let dot = list[place];
            let op = function.op(dot).clone();
            if matches!(op.kind, OpKind::Dot { .. }) {
                let is_large =
                    op.operands.iter().filter_map(|&v| registers_in_layout(&module.layouts, function.ty(v))).sum::<u32>()
                        > MAX_OPERAND_REGISTERS;
                for (n, &fragment) in op.operands[..2].iter().enumerate() {
                    let is_read_early = |load: &OpId| {
                        let waits = outside.as_ref().is_some_and(|outside| outside[fragment.index()]);
                        waits && matches!(function.op(*load).kind, OpKind::LocalLoad)
                            || is_large && was_read_for_another(function, &list[..place], *load)
                    };
                    let Some(load) = function.def_op(fragment).filter(is_read_early) else { continue };
                    let load = function.op(load).clone();
                    let again =
                        function.create_op(OpKind::LocalLoad, &load.operands, [function.ty(fragment).clone()], &[], load.origin);
                    let fresh = function.op(again).results[0];
                    function.op_mut(dot).operands[n] = fresh;
                    list.insert(place, again);
                    place += 1;
                }
            }
            place += 1;
        }
        function.block_mut(block).ops = list;
    }
}

/// The op reads a fragment for a dot of this list, and a buffer is filled after that dot.
fn was_read_for_another(function: &Function, before: &[OpId], load: OpId) -> bool {
    if !matches!(function.op(load).kind, OpKind::LocalLoad) {
        return false;
    }
    let fragment = function.op(load).results[0];
    let dot = before
        .iter()
        .rposition(|&id| matches!(function.op(id).kind, OpKind::Dot { .. }) && function.op(id).operands.contains(&fragment));
    dot.is_some_and(|dot| before[dot..].iter().any(|&id| matches!(function.op(id).kind, OpKind::LocalAlloc)))
}

/// All buffers of a dot are filled, then all are read, right in front of it: one pair of barriers serves them all, and every global load
/// of the dot is under way before the first wait.
fn together(function: &mut Function, block: BlockId, dot: OpId, fills: &[OpId], reads: &[OpId]) {
    let mut list = std::mem::take(&mut function.block_mut(block).ops);
    list.retain(|op| !reads.contains(op));
    let at = list.iter().position(|op| *op == dot).unwrap_or(list.len());
    list.splice(at..at, fills.iter().chain(reads).copied());
    function.block_mut(block).ops = list;
}
