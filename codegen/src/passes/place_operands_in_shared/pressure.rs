//! Where registers are short while dots are computed.
//!
//! A thread holds what the loops around a dot carry, the fragments that were read in front of the innermost loop, the tiles that wait to be operands
//! of later dots, and what the dot itself takes. Where that is more than there are registers, tiles that wait go to shared memory as soon as they are
//! there, and fragments are read again on every trip.

use rustc_hash::{FxHashMap, FxHashSet};
use tritium_semantics::occupancy::registers_of_thread;
use tritium_tile::{BlockId, Function, Module, OpId, OpKind, ValueId, rewrite};

use super::StagedDot;
use crate::{
    options::CompileOptions,
    pressure::{is_heavy, registers_in_layout},
};

/// Registers of a thread for addresses, masks and what is computed between dots.
const REGISTERS_BESIDE: u32 = 32;

/// The blocks in which registers are short while some dot is computed.
pub(super) fn blocks_short_of_registers(
    module: &Module,
    parents: &[Option<BlockId>],
    staged: &[StagedDot],
    options: &CompileOptions,
) -> FxHashSet<BlockId> {
    let function = &module.functions[0];
    let limit = registers_of_thread(options.sm, options.launch.num_warps, None).saturating_sub(REGISTERS_BESIDE);
    let mut loops: FxHashMap<BlockId, Around> = FxHashMap::default();
    let mut short = FxHashSet::default();
    for (at, dot) in staged.iter().enumerate() {
        let Some(block) = parents[dot.dot.index()].filter(|block| !short.contains(block)) else { continue };
        let later = staged[at + 1..].iter().filter(|other| parents[other.dot.index()] == Some(block));
        let waiting = waiting(function, block, dot.dot, later);
        let heavy = waiting.iter().any(|&op| is_heavy(function, op, options.launch.num_warps));
        let waiting: u32 =
            waiting.iter().filter_map(|&op| registers_in_layout(&module.layouts, function.ty(function.op(op).results[0]))).sum();
        let around = loops.entry(block).or_insert_with(|| Around::of(module, block));
        if heavy || waiting + around.carried + taken(module, around, dot) > limit {
            short.insert(block);
        }
    }
    short
}

/// What later dots of the block wait for that is there before this one.
fn waiting<'s>(function: &Function, block: BlockId, dot: OpId, later: impl Iterator<Item = &'s StagedDot>) -> Vec<OpId> {
    let before: FxHashSet<OpId> = function.block(block).ops.iter().copied().take_while(|&op| op != dot).collect();
    let converted = later.flat_map(|dot| &dot.operands).filter(|operand| operand.convert.is_some());
    converted.filter_map(|operand| function.def_op(operand.source)).filter(|def| before.contains(def)).collect()
}

/// What is held through a block.
struct Around {
    /// Registers for the tiles that the loops around it carry.
    carried: u32,
    /// Fragments of its dots that were read in front of the innermost loop.
    fragments: Vec<ValueId>,
}

impl Around {
    fn of(module: &Module, block: BlockId) -> Around {
        let function = &module.functions[0];
        let results = loops_around(function, block).into_iter().flat_map(|id| &function.op(id).results);
        let carried = results.filter_map(|&value| registers_in_layout(&module.layouts, function.ty(value))).sum();
        let outside = values_outside(function, block);
        let dots = function.block(block).ops.iter().map(|&id| function.op(id)).filter(|op| matches!(op.kind, OpKind::Dot { .. }));
        let fragments = dots.flat_map(|op| &op.operands[..2]).copied();
        let fragments = fragments.filter(|value| outside.as_ref().is_some_and(|outside| outside[value.index()])).collect();
        Around { carried, fragments }
    }
}

/// Registers for what a dot and those of its block read from registers, and for a result that begins at zero.
fn taken(module: &Module, around: &Around, dot: &StagedDot) -> u32 {
    let function = &module.functions[0];
    let op = function.op(dot.dot);
    let is_new =
        |value: &ValueId| function.def_op(*value).is_some_and(|def| matches!(function.op(def).kind, OpKind::Constant(_)));
    let result = op.operands.get(2).copied().filter(is_new);
    let operands = op.operands[..2].iter().copied().filter(|_| !dot.warpgroups);
    let held: FxHashSet<ValueId> = operands.chain(result).chain(around.fragments.iter().copied()).collect();
    held.into_iter().filter_map(|value| registers_in_layout(&module.layouts, function.ty(value))).sum()
}

/// Of each value whether it is defined outside of the innermost loop around a block; `None` if there is none.
pub(super) fn values_outside(function: &Function, block: BlockId) -> Option<Vec<bool>> {
    let innermost = *loops_around(function, block).first()?;
    let inside = rewrite::values_inside(function, &function.op(innermost).regions);
    Some(inside.into_iter().map(|inside| !inside).collect())
}

/// Innermost first.
fn loops_around(function: &Function, block: BlockId) -> Vec<OpId> {
    let (owners, parents) = (rewrite::owner_ops(function), rewrite::parent_blocks(function));
    let owner = |block: BlockId| owners[block.index()];
    let operations = std::iter::successors(owner(block), |id| parents[id.index()].and_then(owner));
    operations.filter(|&id| function.op(id).kind.is_loop()).collect()
}
