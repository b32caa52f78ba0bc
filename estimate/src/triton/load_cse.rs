//! Equal loads of one block with no write in between are one, as Triton leaves them.
//!
//! **Invariant:** nothing moves; a later load's uses become an earlier one's.

use rustc_hash::FxHashMap;
use tritium_tile::{
    BlockId, Function, OpKind, ValueId,
    effects::may_write,
    ops::LoadAttrs,
    rewrite::{self, ValueMap},
};

/// Whether there were some.
pub(super) fn merge_equal_loads(function: &mut Function) -> bool {
    let mut blocks: Vec<BlockId> = Vec::new();
    function.walk(|block, _| {
        if blocks.last() != Some(&block) {
            blocks.push(block);
        }
    });
    blocks.sort_unstable();
    blocks.dedup();
    let mut replaced = ValueMap::default();
    for block in blocks {
        let mut known: FxHashMap<(LoadAttrs, Vec<ValueId>), ValueId> = FxHashMap::default();
        for &id in &function.block(block).ops {
            let op = function.op(id);
            match op.kind {
                OpKind::Load(attrs) if !attrs.volatile => {
                    let operands = op.operands.iter().map(|v| *replaced.get(v).unwrap_or(v)).collect();
                    let first = *known.entry((attrs, operands)).or_insert(op.results[0]);
                    if first != op.results[0] && function.ty(first) == function.ty(op.results[0]) {
                        replaced.insert(op.results[0], first);
                    }
                }
                _ if may_write(function, id) => known.clear(),
                _ => {}
            }
        }
    }
    if replaced.is_empty() {
        return false;
    }
    rewrite::replace_uses(function, &replaced);
    rewrite::erase_dead(function);
    rewrite::compact(function);
    true
}
