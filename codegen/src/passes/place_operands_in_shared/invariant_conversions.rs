//! Conversions in front of loops that are short of registers.
//!
//! A conversion that no trip changes is done once in front of the loop, and a thread holds what it gives through all of it. Where registers are short,
//! ptxas spills what the loop carries instead, which is stored and loaded again on each trip, while this is in shared memory already, where the
//! conversion has put it. Here it stays there: the conversion's scratch becomes a buffer, read on each trip right in front of the first use.
//! What is merely computed stays in registers: storing it would be a spill as well.
//!
//! **Invariant:** a buffer is read in one loop, and filled in front of it and of a barrier.

use rustc_hash::FxHashSet;
use tritium_tile::{
    BlockId, Function, Module, OpId, OpKind, Type, ValueId, kinds,
    layout::{Conversion, Distributed, Layout, LayoutTable, SharedLayout, convert},
    rewrite,
};

use crate::{options::CompileOptions, passes::assign_shared, pressure::registers_in_layout};

/// Registers of a thread that a conversion makes, at least: fewer are not worth the reads of each trip.
const LEAST_REGISTERS: u32 = 16;

/// A conversion in front of the loop that alone uses what it gives.
struct Held {
    convert: OpId,
    scratch: SharedLayout,
    /// What gives the tile another shape in front of the loop, operands first.
    shapes: Vec<OpId>,
    /// The operation of the loop's body that the first use stands in.
    first: OpId,
}

/// Reads on each trip what conversions in front of the loops around these blocks give, if shared memory has room for it.
pub(super) fn read_in_loops(module: &mut Module, options: &CompileOptions, short_of_registers: &FxHashSet<BlockId>) {
    let held = held(module, short_of_registers);
    if held.is_empty() {
        return;
    }
    let mut trial = module.clone();
    for conversion in held {
        read_on_each_trip(&mut trial, conversion);
    }
    if assign_shared::fits(&trial, options) {
        *module = trial;
    }
}

fn held(module: &Module, short_of_registers: &FxHashSet<BlockId>) -> Vec<Held> {
    let function = &module.functions[0];
    let parents = rewrite::parent_blocks(function);
    let owners = rewrite::owner_ops(function);
    let users = rewrite::users(function);
    // A block, the operation that it is a region of, and so on outwards.
    let around = |block: BlockId| {
        std::iter::successors(Some((block, owners[block.index()])), |&(_, owner)| {
            let block = parents[owner?.index()]?;
            Some((block, owners[block.index()]))
        })
    };
    let is_loop = |owner: Option<OpId>| owner.is_some_and(|owner| function.op(owner).kind.is_loop());
    let innermost = |&block: &BlockId| around(block).find(|&(_, owner)| is_loop(owner)).map(|(block, _)| block);
    let bodies: FxHashSet<BlockId> = short_of_registers.iter().filter_map(innermost).collect();
    // The body around an operation, and the operation of it that this stands in.
    let place = |id: OpId| {
        let mut inner = id;
        for (block, owner) in around(parents[id.index()]?) {
            if bodies.contains(&block) {
                return Some((block, inner));
            }
            inner = owner?;
        }
        None
    };
    let mut held = Vec::new();
    function.walk(|_, convert| {
        let Some(scratch) = scratch(&module.layouts, function, convert) else { return };
        let (shapes, uses) = uses(function, &users, convert, |id| place(id).is_some());
        let places: Option<Vec<(BlockId, OpId)>> = uses.into_iter().map(place).collect();
        let Some(places) = places else { return };
        let Some(&(body, _)) = places.first() else { return };
        let is_outside = parents[convert.index()].is_some_and(|block| around(block).all(|(block, _)| block != body));
        if !is_outside || places.iter().any(|&(other, _)| other != body) {
            return;
        }
        let first = function.block(body).ops.iter().find(|&&op| places.iter().any(|&(_, place)| place == op));
        held.extend(first.map(|&first| Held { convert, scratch, shapes, first }));
    });
    held
}

/// Where a conversion puts a tile that takes many registers, if it takes it through shared memory.
fn scratch(layouts: &LayoutTable, function: &Function, id: OpId) -> Option<SharedLayout> {
    let op = function.op(id);
    if !matches!(op.kind, OpKind::ConvertLayout) {
        return None;
    }
    let (source, result) = (function.ty(op.operands[0]), function.ty(op.results[0]));
    let layout = |ty: &Type| -> Option<&Distributed> { layouts.distributed(ty.layout()?) };
    let (from, to) = (layout(source)?, layout(result)?);
    let is_large = registers_in_layout(layouts, result)? >= LEAST_REGISTERS;
    let through_shared = matches!(convert::conversion(from, to), Conversion::Shared);
    (is_large && through_shared).then(|| convert::scratch(from, to, source.elem().bits()))
}

/// What gives the result of an operation another shape outside of loops, and what uses it in any of these shapes.
fn uses(function: &Function, users: &[Vec<OpId>], id: OpId, is_inside: impl Fn(OpId) -> bool) -> (Vec<OpId>, Vec<OpId>) {
    let (mut shapes, mut uses) = (Vec::new(), Vec::new());
    let mut pending = vec![id];
    while let Some(id) = pending.pop() {
        for &user in function.op(id).results.iter().flat_map(|result: &ValueId| &users[result.index()]) {
            if matches!(function.op(user).kind, kinds!(Shape)) && !is_inside(user) {
                shapes.push(user);
                pending.push(user);
            } else {
                uses.push(user);
            }
        }
    }
    (shapes, uses)
}

fn read_on_each_trip(module: &mut Module, Held { convert, scratch, shapes, first }: Held) {
    let function = &mut module.functions[0];
    let (source, origin) = (function.op(convert).operands[0], function.op(convert).origin);
    let ty = function.ty(source);
    let Some(elem) = ty.elem().scalar() else { return };
    let layout = module.layouts.intern(Layout::Shared(scratch));
    let ty = Type::Shared { elem, shape: ty.shape().clone(), layout };
    let alloc = function.create_op(OpKind::LocalAlloc, &[source], [ty], &[], origin);
    // The conversion had one as well; left to the reads, it would stand in the loop.
    let barrier = function.create_op(OpKind::Barrier, &[], [], &[], origin);
    rewrite::insert_before(function, convert, alloc);
    rewrite::insert_before(function, convert, barrier);
    let buffer = function.op(alloc).results[0];
    let read = function.op_mut(convert);
    read.kind = OpKind::LocalLoad;
    read.operands = [buffer].into_iter().collect();
    for id in std::iter::once(convert).chain(shapes) {
        rewrite::detach(function, id);
        rewrite::insert_before(function, first, id);
    }
}
