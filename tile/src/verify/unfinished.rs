//! Results of asynchronous multiplications are left alone until they are waited for.
//!
//! **Invariant:** an unfinished value is an accumulator of the next `wgmma`, passes through a `wgmma_wait` or around a loop, and goes nowhere
//! else: until the wait its registers belong to the tensor core.

use crate::{
    module::{Function, OpId, ValueId},
    ops::OpKind,
    rewrite::{owner_ops, parent_blocks},
};

/// Which values are unfinished, by value. A loop carries an unfinished value if any trip passes one on.
fn unfinished(function: &Function) -> Vec<bool> {
    let mut unfinished = vec![false; function.values.len()];
    let mut ops: Vec<OpId> = Vec::new();
    function.walk(|_, op| ops.push(op));
    let owners = owner_ops(function);
    let parents = parent_blocks(function);
    loop {
        let mut marks: Vec<ValueId> = Vec::new();
        for &id in &ops {
            let op = function.op(id);
            match op.kind {
                OpKind::Wgmma { .. } => marks.extend(&op.results),
                OpKind::WgmmaWait { pending } if pending > 0 => marks.extend(&op.results),
                OpKind::Yield => {
                    let Some(owner) = parents[id.index()].and_then(|b| owners[b.index()]) else { continue };
                    let around = function.for_loop(owner);
                    for (n, _) in op.operands.iter().enumerate().filter(|(_, operand)| unfinished[operand.index()]) {
                        marks.extend(function.op(owner).results.get(n));
                        marks.extend(around.and_then(|around| around.args.get(n)));
                    }
                }
                _ => {}
            }
        }
        let mut changed = false;
        for value in marks {
            changed |= !std::mem::replace(&mut unfinished[value.index()], true);
        }
        if !changed {
            return unfinished;
        }
    }
}

pub(super) fn problems(function: &Function) -> Vec<(OpId, String)> {
    let mut any = false;
    function.walk(|_, op| any |= matches!(function.op(op).kind, OpKind::Wgmma { .. }));
    if !any {
        return Vec::new();
    }
    let unfinished = unfinished(function);
    let owners = owner_ops(function);
    let parents = parent_blocks(function);
    let mut problems = Vec::new();
    function.walk(|_, id| {
        let op = function.op(id);
        for (n, operand) in op.operands.iter().enumerate() {
            if !unfinished[operand.index()] {
                continue;
            }
            let allowed = match op.kind {
                OpKind::Wgmma { .. } => n == 2,
                OpKind::WgmmaWait { .. } => true,
                OpKind::Yield => {
                    let owner = parents[id.index()].and_then(|b| owners[b.index()]);
                    owner.is_some_and(|owner| matches!(function.op(owner).kind, OpKind::For(_)))
                }
                _ => false,
            };
            if !allowed {
                problems.push((id, format!("`{}` uses the result of a `wgmma` before it is waited for", op.kind.name())));
            }
        }
    });
    problems
}
