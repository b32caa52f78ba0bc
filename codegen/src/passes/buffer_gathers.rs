//! Gathers in loops from tiles that no trip changes.
//!
//! A gather writes its whole source to scratch, waits for all threads, and reads from it what the indices point to. Of a source that is the same on each
//! trip the first two are done once in front of the loop, and the thread no longer holds it in registers.
//!
//! **Invariant:** such a buffer is filled in front of a loop and of a barrier, and written by nothing else.

use rustc_hash::FxHashMap;
use tritium_tile::{
    Function, Module, OpId, OpKind, Type, ValueDef, ValueId,
    layout::{Layout, shared::row_major},
    rewrite,
};

use super::{CompileOptions, Fact, Pass, Unsupported, assign_shared};

pub static PASS: Pass = Pass {
    name: "buffer_gathers",
    summary: "Keep in shared memory what loops gather from.",
    needs: &[Fact::HasLayouts],
    gives: &[],
    run,
};

fn run(module: &mut Module, options: &CompileOptions) -> Result<(), Unsupported> {
    let gathers = gathers_in_loops(&module.functions[0]);
    if gathers.is_empty() {
        return Ok(());
    }
    let mut trial = module.clone();
    buffer(&mut trial, &gathers);
    if assign_shared::fits(&trial, options) {
        *module = trial;
    }
    Ok(())
}

/// Each gather in a loop that does not make its source, and the operation around it that stands in the block where that is made.
pub(super) fn gathers_in_loops(function: &Function) -> Vec<(OpId, OpId)> {
    let parents = rewrite::parent_blocks(function);
    let owners = rewrite::owner_ops(function);
    let around = |gather: OpId| {
        let source = function.op(gather).operands[0];
        let home = match function.value(source).def {
            ValueDef::Result(op, _) => parents[op.index()]?,
            ValueDef::Argument(block, _) => block,
        };
        let (mut outer, mut is_looped) = (gather, false);
        while parents[outer.index()]? != home {
            outer = owners[parents[outer.index()]?.index()]?;
            is_looped |= function.op(outer).kind.is_loop();
        }
        is_looped.then_some(outer)
    };
    let mut found = Vec::new();
    function.walk(|_, id| {
        let op = function.op(id);
        // Bytes at least: smaller elements share them.
        let has_bytes = || function.ty(op.operands[0]).elem().scalar().is_some_and(|elem| elem.bits() >= 8);
        if matches!(op.kind, OpKind::Gather { .. }) && has_bytes() {
            found.extend(around(id).map(|outer| (id, outer)));
        }
    });
    found
}

fn buffer(module: &mut Module, gathers: &[(OpId, OpId)]) {
    let function = &mut module.functions[0];
    let mut buffers: FxHashMap<(ValueId, OpId), ValueId> = FxHashMap::default();
    let mut filled_before: Vec<OpId> = Vec::new();
    for &(gather, outer) in gathers {
        let source = function.op(gather).operands[0];
        let ty = function.ty(source).clone();
        let Some(elem) = ty.elem().scalar() else { continue };
        let buffer = buffers.get(&(source, outer)).copied().unwrap_or_else(|| {
            let layout = module.layouts.intern(Layout::Shared(row_major(ty.shape())));
            let ty = Type::Shared { elem, shape: ty.shape().clone(), layout };
            let alloc = function.create_op(OpKind::LocalAlloc, &[source], [ty], &[], function.op(gather).origin);
            rewrite::insert_before(function, outer, alloc);
            if !filled_before.contains(&outer) {
                filled_before.push(outer);
            }
            function.op(alloc).results[0]
        });
        buffers.insert((source, outer), buffer);
        function.op_mut(gather).operands[0] = buffer;
    }
    for outer in filled_before {
        // Left to the gathers, it would stand in the loop.
        let barrier = function.create_op(OpKind::Barrier, &[], [], &[], function.op(outer).origin);
        rewrite::insert_before(function, outer, barrier);
    }
}
