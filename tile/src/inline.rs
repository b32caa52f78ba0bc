//! A module as one function: calls become the bodies of their callees.
//!
//! **Invariant:** the result calls nothing, and its ops keep the origins they had. Recursion cannot be inlined and is refused.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use thiserror::Error;

use crate::{
    module::{BlockId, Function, FunctionId, Module, OpId},
    ops::{OpKind, Origin},
    rewrite::{self, ValueMap},
};

/// Operations of a kernel with everything it calls in it.
pub const MAX_INLINED_OPS: usize = 1 << 17;

/// Calls inside calls; more is recursion, or nobody's kernel.
const MAX_DEPTH: usize = 64;

/// Why a module does not become one function.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotInlined {
    /// A call leads back to itself, or too deep.
    #[error("`{callee}` calls itself or nests too deeply to be inlined; write the recursion as a loop")]
    Endless { origin: Origin, callee: String },
    /// The whole would have too many ops; `callee` has the largest part in it, and stands in it so many times.
    #[error(
        "the kernel with its helpers in place would be {ops} operations, and at most {max} are compiled: `{callee}` would stand in it {times} times. Call it once and use the result again",
        max = MAX_INLINED_OPS
    )]
    TooLarge { origin: Origin, callee: String, times: u64, ops: u64 },
}

impl NotInlined {
    pub fn origin(&self) -> Origin {
        match *self {
            NotInlined::Endless { origin, .. } | NotInlined::TooLarge { origin, .. } => origin,
        }
    }
}

/// The module's first function with everything it calls put in place of the calls, of at most so many ops.
pub fn inlined(module: &Module, max_ops: usize) -> Result<Cow<'_, Function>, NotInlined> {
    check_size(module, max_ops)?;
    let callees = &module.functions;
    let mut whole = Cow::Borrowed(&callees[0]);
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
            splice(whole, block, call, &callees[callee.index()], &mut results);
        }
        rewrite::replace_uses(whole, &results);
    }
}

/// What one function calls, with the call that does it first and how often.
type Calls = Vec<(usize, OpId, u64)>;

/// Counts what inlining would make before it makes it: helpers that call the next one twice double at every level.
fn check_size(module: &Module, max_ops: usize) -> Result<(), NotInlined> {
    let functions = &module.functions;
    let calls: Vec<Calls> = functions
        .iter()
        .map(|function| {
            let mut found: FxHashMap<usize, (OpId, u64)> = FxHashMap::default();
            function.walk(|_, op| {
                if let OpKind::Call { callee } = function.op(op).kind {
                    found.entry(callee.index()).or_insert((op, 0)).1 += 1;
                }
            });
            let mut found: Calls = found.into_iter().map(|(callee, (op, times))| (callee, op, times)).collect();
            found.sort_unstable_by_key(|&(_, op, _)| op);
            found
        })
        .collect();
    let order = callers_first(module, &calls)?;
    let mut times = vec![0u64; functions.len()];
    times[0] = 1;
    for &caller in &order {
        for &(callee, _, more) in &calls[caller] {
            times[callee] = times[callee].saturating_add(times[caller].saturating_mul(more));
        }
    }
    let ops_in_whole = |f: usize| times[f].saturating_mul(functions[f].ops.len() as u64);
    let ops = order.iter().map(|&f| ops_in_whole(f)).fold(0, u64::saturating_add);
    if ops <= max_ops as u64 {
        return Ok(());
    }
    let largest = order.iter().copied().max_by_key(|&f| (ops_in_whole(f), f)).unwrap_or(0);
    let origin = calls[0].first().map_or(Origin::NONE, |&(_, op, _)| functions[0].op(op).origin);
    Err(NotInlined::TooLarge { origin, callee: functions[largest].name.clone(), times: times[largest], ops })
}

/// The functions that the first one reaches, every caller before its callees.
fn callers_first(module: &Module, calls: &[Calls]) -> Result<Vec<usize>, NotInlined> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut state = vec![State::New; calls.len()];
    let mut order = Vec::new();
    let mut path: Vec<(usize, usize)> = vec![(0, 0)];
    state[0] = State::Open;
    while let Some((function, next)) = path.last_mut() {
        let function = *function;
        let Some(&(callee, op, _)) = calls[function].get(*next) else {
            state[function] = State::Done;
            order.push(function);
            path.pop();
            continue;
        };
        *next += 1;
        if state[callee] == State::Done {
            continue;
        }
        if state[callee] == State::Open || path.len() > MAX_DEPTH {
            let origin = module.functions[function].op(op).origin;
            return Err(NotInlined::Endless { origin, callee: module.functions[callee].name.clone() });
        }
        state[callee] = State::Open;
        path.push((callee, 0));
    }
    order.reverse();
    Ok(order)
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
