//! Effects of operations on memory: what they may write, how wide they access, under which mask.

use crate::{
    module::{Function, OpId, ValueId},
    ops::OpKind,
};

/// Bytes of the widest access of one thread.
pub const MAX_ACCESS_BYTES: u32 = 16;

/// An op that can make a load read something else, whatever its address.
pub fn may_write(function: &Function, op: OpId) -> bool {
    let mut pending = vec![op];
    while let Some(op) = pending.pop() {
        let op = function.op(op);
        if op.kind.may_write() {
            return true;
        }
        for &region in &op.regions {
            pending.extend(&function.block(region).ops);
        }
    }
    false
}

/// Bytes of what a pointer points to.
pub fn pointee_bytes(function: &Function, pointer: ValueId) -> u32 {
    function.ty(pointer).elem().pointee().map_or(1, |s| s.bytes())
}

/// The mask of an access to global memory.
pub fn mask_of(function: &Function, id: OpId) -> Option<ValueId> {
    let op = function.op(id);
    match op.kind {
        OpKind::Load(_) => op.operands.get(1).copied(),
        OpKind::Store(_) | OpKind::AtomicRmw { .. } | OpKind::AsyncCopy(_) => op.operands.get(2).copied(),
        _ => None,
    }
}
