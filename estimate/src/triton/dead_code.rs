//! A kernel without what it computes for nothing, as LLVM leaves it to ptxas.
//!
//! Triton's passes keep a sum that a loop carries from trip to trip though nobody reads it in the end; LLVM sees that only the sum itself does
//! and drops it with all that it is made of. **Invariant:** values and operations keep their numbers; only a value that no store, atomic
//! operation, condition or message depends on is gone.

use tritium_tile::{Function, OpId, OpKind, ValueDef, ValueId, rewrite};

/// A copy of the function in which loops hand on unchanged what nobody reads, and what was computed for it is erased; of every value, whether
/// anybody reads it.
pub(super) fn without_unread(function: &Function) -> (Function, Vec<bool>) {
    let read = read(function);
    let mut pruned = function.clone();
    function.walk(|_, id| {
        let op = function.op(id);
        let (OpKind::For(_), Some(&body)) = (&op.kind, op.regions.first()) else { return };
        let (args, Some(&last)) = (&function.block(body).args, function.block(body).ops.last()) else { return };
        for (n, &result) in op.results.iter().enumerate() {
            if let Some(&arg) = args.get(n + 1)
                && !read[result.index()]
                && !read[arg.index()]
            {
                pruned.op_mut(last).operands[n] = arg;
            }
        }
    });
    rewrite::erase_dead(&mut pruned);
    (pruned, read)
}

/// Of every value, whether anything that is seen outside depends on it.
fn read(function: &Function) -> Vec<bool> {
    let owners = rewrite::owner_ops(function);
    let last = |op: OpId, region: usize| {
        let block = function.op(op).regions.get(region).map(|&region| function.block(region));
        block.and_then(|block| block.ops.last()).map(|&last| function.op(last).operands.to_vec()).unwrap_or_default()
    };
    let mut read = vec![false; function.values.len()];
    let mut pending: Vec<ValueId> = Vec::new();
    function.walk(|block, id| {
        let op = function.op(id);
        match &op.kind {
            OpKind::For(_) => pending.extend(op.operands.iter().take(3)),
            // What a loop or a branch hands on is read where its results are.
            OpKind::Yield
                if owners[block.index()].is_some_and(|owner| matches!(function.op(owner).kind, OpKind::For(_) | OpKind::If)) => {}
            OpKind::Load(attrs) if !attrs.volatile => {}
            kind if kind.is_pure() => {}
            _ => pending.extend(&op.operands),
        }
    });
    while let Some(value) = pending.pop() {
        if std::mem::replace(&mut read[value.index()], true) {
            continue;
        }
        let (owner, carried) = match function.value(value).def {
            ValueDef::Result(id, n) => (Some(id), Some(n as usize)),
            ValueDef::Argument(block, n) => (owners[block.index()], (n as usize).checked_sub(1)),
        };
        let Some(id) = owner else { continue };
        let op = function.op(id);
        match (&op.kind, carried) {
            (OpKind::For(_), Some(n)) => {
                pending.extend(op.operands.get(n + 3));
                pending.extend(last(id, 0).get(n));
                pending.extend(op.regions.first().and_then(|&body| function.block(body).args.get(n + 1)));
            }
            (OpKind::For(_), None) => {}
            (OpKind::If, Some(n)) if matches!(function.value(value).def, ValueDef::Result(..)) => {
                pending.extend([last(id, 0), last(id, 1)].iter().filter_map(|values| values.get(n)));
            }
            _ => pending.extend(&op.operands),
        }
    }
    read
}
