//! Calls become the bodies of their callees.
//!
//! **Invariant:** afterwards the module is its first function alone. Recursion cannot be inlined and is refused.

use rustc_hash::FxHashMap;
use tritium_tile::{
    BlockId, Function, FunctionId, Module, OpId, OpKind,
    rewrite::{self, ValueMap},
};

use super::{CompileOptions, Fact, Pass, Unsupported};

pub static PASS: Pass = Pass {
    name: "inline",
    summary: "Put the body of every callee in place of its call.",
    needs: &[],
    gives: &[Fact::OneFunction],
    run,
};

/// Calls inside calls; more is recursion, or nobody's kernel.
const MAX_DEPTH: usize = 64;

/// Ops of the kernel after inlining.
const MAX_OPS: usize = 1 << 20;

fn run(module: &mut Module, _options: &CompileOptions) -> Result<(), Unsupported> {
    let callees = std::mem::take(&mut module.functions);
    let mut kernel = callees[0].clone();
    let mut depth: FxHashMap<OpId, usize> = FxHashMap::default();
    loop {
        let mut calls: Vec<(BlockId, OpId, FunctionId)> = Vec::new();
        kernel.walk(|block, op| {
            if let OpKind::Call { callee } = kernel.op(op).kind {
                calls.push((block, op, callee));
            }
        });
        if calls.is_empty() {
            break;
        }
        let mut results = ValueMap::default();
        for (block, call, callee) in calls {
            let source = &callees[callee.index()];
            let here = depth.get(&call).copied().unwrap_or(0) + 1;
            let origin = kernel.op(call).origin;
            if here > MAX_DEPTH || kernel.ops.len() > MAX_OPS {
                let message =
                    format!("`{}` calls itself or nests too deeply to be inlined; write the recursion as a loop", source.name);
                return Err(Unsupported::new(origin, message));
            }
            let first_new = kernel.ops.len();
            splice(&mut kernel, block, call, source, &mut results);
            for op in first_new..kernel.ops.len() {
                depth.insert(OpId(op as u32), here);
            }
        }
        rewrite::replace_uses(&mut kernel, &results);
    }
    module.functions = vec![kernel];
    Ok(())
}

fn splice(kernel: &mut Function, block: BlockId, call: OpId, source: &Function, results: &mut ValueMap) {
    let mut map = ValueMap::default();
    for (&arg, &operand) in source.block(source.body).args.iter().zip(&kernel.op(call).operands) {
        map.insert(arg, operand);
    }
    // A verified callee uses nothing but its own values.
    let Some((ops, passed)) = rewrite::import_body(source, kernel, &mut map) else { return };
    for (&old, &new) in kernel.op(call).results.iter().zip(&passed) {
        results.insert(old, new);
    }
    let ops_of = &mut kernel.block_mut(block).ops;
    if let Some(at) = ops_of.iter().position(|&op| op == call) {
        ops_of.splice(at..=at, ops);
    }
}
