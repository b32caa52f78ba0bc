//! A trip reads its own slots of the rings before it fills those of a later trip.
//!
//! Behind the wait and the barrier of a trip the tensor cores have nothing to do until the first fragments have been read. Copies that stand in front
//! of these reads, each with its address and its mask, take the first hundred cycles and more of every trip; behind them they are issued while products
//! are computed. A ring of two slots has its only copies under way then, and they had better begin early: it stays as it is. So does a loop that
//! carries much or has more than one product: addresses of copies wait in registers beside fragments, and there is more to hide them behind.
//!
//! Copies fill another slot than the one that is read, which the barrier in front of both has freed, so none is needed between them. Hence the pass
//! comes behind [`super::place_barriers`], which knows rings as wholes.
//!
//! **Invariant:** copies and their groups keep their order, and pass no store, no wait and no control flow.

use tritium_tile::{Function, Module, OpId, OpKind, ValueId};

use super::{CompileOptions, Fact, Pass, Unsupported};
use crate::pressure::{MAX_REGISTERS_HELD, registers};

pub static PASS: Pass = Pass {
    name: "sink_copies",
    summary: "Issue a trip's copies behind the reads of what has come.",
    needs: &[Fact::BarriersPlaced],
    gives: &[],
    run,
};

/// Products of a trip at most.
const MOST_PRODUCTS: usize = 1;

/// Trips that a loop loads ahead of which one more or less is no latency.
const LEAST_STAGES: u32 = 3;

fn run(module: &mut Module, options: &CompileOptions) -> Result<(), Unsupported> {
    let num_warps = options.launch.num_warps;
    let function = &mut module.functions[0];
    let mut bodies = Vec::new();
    function.walk(|_, id| {
        let op = function.op(id);
        if let (OpKind::For(attrs), &[body]) = (&op.kind, &op.regions[..])
            && attrs.stages.is_some_and(|stages| stages >= LEAST_STAGES)
            && op.results.iter().map(|&value| registers(function.ty(value), num_warps)).sum::<usize>() <= MAX_REGISTERS_HELD
            && function.block(body).ops.iter().filter(|&&id| matches!(function.op(id).kind, OpKind::Dot { .. })).count()
                <= MOST_PRODUCTS
        {
            bodies.push(body);
        }
    });
    for body in bodies {
        let ops = std::mem::take(&mut function.block_mut(body).ops);
        function.block_mut(body).ops = sunk(function, ops);
    }
    Ok(())
}

/// The ops of a body with its copies behind the last of the reads that they may pass.
fn sunk(function: &Function, ops: Vec<OpId>) -> Vec<OpId> {
    let is_copy = |id: &OpId| matches!(function.op(*id).kind, OpKind::AsyncCopy(_) | OpKind::AsyncCommit);
    let Some(first) = ops.iter().position(is_copy) else { return ops };
    let slots = ops.iter().filter_map(|&id| match function.op(id).kind {
        OpKind::AsyncCopy(_) => ring(function, function.op(id).operands[1]),
        _ => None,
    });
    let filled: Vec<ValueId> = slots.collect();
    // Other buffers are none of theirs.
    let ends = |id: &OpId| {
        let kind = &function.op(*id).kind;
        let is_local = matches!(kind, OpKind::LocalAlloc | OpKind::LocalStore);
        kind.is_control() || kind.may_write() && !is_local && !is_copy(id)
    };
    let end = ops[first..].iter().position(ends).map_or(ops.len(), |length| first + length);
    let reads = |&id: &OpId| {
        let op = function.op(id);
        matches!(op.kind, OpKind::LocalLoad) && ring(function, op.operands[0]).is_some_and(|ring| filled.contains(&ring))
    };
    let Some(last) = ops[first..end].iter().rposition(reads).map(|length| first + length) else { return ops };
    let (copies, others): (Vec<OpId>, Vec<OpId>) = ops[first..=last].iter().partition(|id| is_copy(id));
    [&ops[..first], &others, &copies, &ops[last + 1..]].concat()
}

/// The ring that a buffer is a slot of.
fn ring(function: &Function, buffer: ValueId) -> Option<ValueId> {
    let slot = function.op(function.def_op(buffer)?);
    matches!(slot.kind, OpKind::LocalIndex).then(|| slot.operands[0])
}
