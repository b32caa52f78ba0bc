//! Where registers are short while dots are computed.
//!
//! A thread holds what the loops around a dot carry, the fragments that were read in front of the innermost loop, the tiles that wait to be operands
//! of later dots, and what the dot itself takes. Where that is more than there are registers, tiles that wait go to shared memory as soon as they are
//! there, and fragments are read again on every trip.

use rustc_hash::FxHashSet;
use tritium_tile::{BlockId, Function, Module, OpId, OpKind, ValueId, rewrite};

use super::{StagedDot, words};
use crate::{options::CompileOptions, pressure::is_heavy};

/// Registers of a thread for addresses, masks and what is computed between dots.
const REGISTERS_BESIDE: u32 = 32;

/// The blocks in which registers are short while some dot is computed.
pub(super) fn crowded_blocks(
    module: &Module,
    parents: &[Option<BlockId>],
    staged: &[StagedDot],
    options: &CompileOptions,
) -> FxHashSet<BlockId> {
    let function = &module.functions[0];
    let threads = 32 * options.launch.num_warps;
    let limit = options.sm.max_registers_per_thread.min(options.sm.registers_per_sm / threads).saturating_sub(REGISTERS_BESIDE);
    let mut crowded = FxHashSet::default();
    for (at, dot) in staged.iter().enumerate() {
        let Some(block) = parents[dot.dot.index()] else { continue };
        let later = staged[at + 1..].iter().filter(|other| parents[other.dot.index()] == Some(block));
        let waiting = waiting(module, block, dot.dot, later);
        let heavy = waiting.iter().any(|&op| is_heavy(function, op, options.launch.num_warps));
        let waiting: u32 = waiting.iter().map(|&op| words(&module.layouts, function.ty(function.op(op).results[0]))).sum();
        if heavy || waiting + carried(module, block) + taken(module, block, dot) > limit {
            crowded.insert(block);
        }
    }
    crowded
}

/// What later dots of the block wait for that is there before this one.
fn waiting<'s>(module: &Module, block: BlockId, dot: OpId, later: impl Iterator<Item = &'s StagedDot>) -> Vec<OpId> {
    let function = &module.functions[0];
    let before: FxHashSet<OpId> = function.block(block).ops.iter().copied().take_while(|&op| op != dot).collect();
    let converted = later.flat_map(|dot| &dot.operands).filter(|operand| operand.convert.is_some());
    converted.filter_map(|operand| function.def_op(operand.source)).filter(|def| before.contains(def)).collect()
}

/// Registers for the tiles that the loops around a block carry.
fn carried(module: &Module, block: BlockId) -> u32 {
    let function = &module.functions[0];
    let loops = around(function, block);
    loops.flat_map(|id| &function.op(id).results).map(|&value| words(&module.layouts, function.ty(value))).sum()
}

/// Registers for what a dot reads from registers, and for a result that begins at zero.
fn taken(module: &Module, block: BlockId, dot: &StagedDot) -> u32 {
    let function = &module.functions[0];
    let op = function.op(dot.dot);
    let is_new = |value: ValueId| function.def_op(value).is_some_and(|def| matches!(function.op(def).kind, OpKind::Constant(_)));
    let result = op.operands.get(2).copied().filter(|&value| is_new(value));
    let operands = op.operands[..2].iter().copied().filter(|_| !dot.warpgroups);
    let outside = values_outside(function, block);
    let mut held: FxHashSet<ValueId> = operands.chain(result).collect();
    // What the other dots of the loop have read in front of it is there too.
    if let Some(outside) = outside {
        for &id in &function.block(block).ops {
            let other = function.op(id);
            if matches!(other.kind, OpKind::Dot { .. }) {
                held.extend(other.operands[..2].iter().copied().filter(|value| outside[value.index()]));
            }
        }
    }
    held.into_iter().map(|value| words(&module.layouts, function.ty(value))).sum()
}

/// Of each value whether it is defined outside of the innermost loop around a block; `None` if there is none.
pub(super) fn values_outside(function: &Function, block: BlockId) -> Option<Vec<bool>> {
    let innermost = around(function, block).next()?;
    let inside = rewrite::values_inside(function, &function.op(innermost).regions);
    Some(inside.into_iter().map(|inside| !inside).collect())
}

/// The loops around a block, innermost first.
fn around(function: &Function, block: BlockId) -> impl Iterator<Item = OpId> {
    let (owners, parents) = (rewrite::owner_ops(function), rewrite::parent_blocks(function));
    let mut owner = owners[block.index()];
    std::iter::from_fn(move || {
        let id = owner?;
        owner = parents[id.index()].and_then(|block| owners[block.index()]);
        Some(id)
    })
    .filter(|&id| function.op(id).kind.is_loop())
}
