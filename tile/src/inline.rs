//! A module as one function: calls become the bodies of their callees.
//!
//! **Invariant:** the result calls nothing, and its ops keep the origins they had. Recursion cannot be inlined and is refused.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::{
    module::{BlockId, Function, FunctionId, Module, OpId},
    ops::{OpKind, Origin},
    rewrite::{self, ValueMap},
};

/// Calls inside calls; more is recursion, or nobody's kernel.
const MAX_DEPTH: usize = 64;

/// Ops of the whole after inlining.
const MAX_OPS: usize = 1 << 20;

/// A call that cannot be inlined: it leads back to itself, or too deep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endless {
    pub origin: Origin,
    pub callee: String,
}

/// The module's first function with everything it calls put in place of the calls.
pub fn inlined(module: &Module) -> Result<Cow<'_, Function>, Endless> {
    let callees = &module.functions;
    let mut whole = Cow::Borrowed(&callees[0]);
    let mut depth: FxHashMap<OpId, usize> = FxHashMap::default();
    loop {
        let mut calls: Vec<(BlockId, OpId, FunctionId)> = Vec::new();
        whole.walk(|block, op| {
            if let OpKind::Call { callee } = whole.op(op).kind {
                calls.push((block, op, callee));
            }
        });
        if calls.is_empty() {
            return Ok(whole);
        }
        let whole = whole.to_mut();
        let mut results = ValueMap::default();
        for (block, call, callee) in calls {
            let source = &callees[callee.index()];
            let here = depth.get(&call).copied().unwrap_or(0) + 1;
            if here > MAX_DEPTH || whole.ops.len() > MAX_OPS {
                return Err(Endless { origin: whole.op(call).origin, callee: source.name.clone() });
            }
            let first_new = whole.ops.len();
            splice(whole, block, call, source, &mut results);
            for op in first_new..whole.ops.len() {
                depth.insert(OpId(op as u32), here);
            }
        }
        rewrite::replace_uses(whole, &results);
    }
}

fn splice(whole: &mut Function, block: BlockId, call: OpId, source: &Function, results: &mut ValueMap) {
    let mut map = ValueMap::default();
    for (&arg, &operand) in source.block(source.body).args.iter().zip(&whole.op(call).operands) {
        map.insert(arg, operand);
    }
    // A verified callee uses nothing but its own values.
    let Some((ops, passed)) = rewrite::import_body(source, whole, &mut map) else { return };
    for (&old, &new) in whole.op(call).results.iter().zip(&passed) {
        results.insert(old, new);
    }
    let ops_of = &mut whole.block_mut(block).ops;
    if let Some(at) = ops_of.iter().position(|&op| op == call) {
        ops_of.splice(at..=at, ops);
    }
}
