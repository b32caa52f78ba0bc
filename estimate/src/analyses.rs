//! What the estimates of one compiled module share, worked out once.

use rustc_hash::FxHashSet;
use tritium_tile::{
    BlockId, Function, Module, OpId, OpKind,
    facts::{self, Facts},
};

/// A module at L1 or L2, and what is known of its kernel.
pub struct Analyses<'m> {
    pub module: &'m Module,
    pub function: &'m Function,
    pub facts: Facts,
    /// By operation: whether it is a load in front of a loop that is one of its first trips. The loop's own are masked off on as many of
    /// its last trips, so that counting the loop's counts all.
    pub first_trips: Vec<bool>,
    /// By operation: whether it is the same as another one, in the version of a loop or a store that runs where a condition allows no better one. It is not
    /// told of twice.
    pub written_beside: Vec<bool>,
}

impl<'m> Analyses<'m> {
    pub fn of(module: &'m Module) -> Analyses<'m> {
        let function = module.entry();
        Analyses {
            module,
            function,
            facts: facts::of_function(function),
            first_trips: first_trips(function),
            written_beside: written_beside(function),
        }
    }
}

/// Operations of two versions are of the same kind and origin.
fn written_beside(function: &Function) -> Vec<bool> {
    let mut beside = vec![false; function.ops.len()];
    // However it is done, a load is one.
    let kind = |id: OpId| (!is_load(function, id)).then(|| std::mem::discriminant(&function.op(id).kind));
    let key = |id: OpId| (function.op(id).origin, kind(id));
    function.walk(|_, id| {
        let op = function.op(id);
        if let (OpKind::If, &[first, second]) = (&op.kind, &op.regions[..]) {
            let chosen: FxHashSet<_> = all_of(function, first).into_iter().map(key).collect();
            for id in all_of(function, second) {
                beside[id.index()] |= chosen.contains(&key(id));
            }
        }
    });
    beside
}

fn is_load(function: &Function, id: OpId) -> bool {
    matches!(function.op(id).kind, OpKind::Load(_) | OpKind::AsyncCopy(_) | OpKind::TmaLoad { .. })
}

fn all_of(function: &Function, region: BlockId) -> Vec<OpId> {
    let (mut found, mut pending) = (Vec::new(), vec![region]);
    while let Some(block) = pending.pop() {
        for &id in &function.block(block).ops {
            pending.extend(&function.op(id).regions);
            found.push(id);
        }
    }
    found
}

fn first_trips(function: &Function) -> Vec<bool> {
    let mut ahead = vec![false; function.ops.len()];
    let is_load = |id: OpId| is_load(function, id);
    for block in &function.blocks {
        for (at, &id) in block.ops.iter().enumerate() {
            let op = function.op(id);
            if !matches!(op.kind, OpKind::For(attrs) if attrs.stages.is_some() || attrs.apart) {
                continue;
            }
            let same = |a: OpId, b: OpId| {
                let (a, b) = (function.op(a), function.op(b));
                a.origin == b.origin && std::mem::discriminant(&a.kind) == std::mem::discriminant(&b.kind)
            };
            let inside = op.regions.first().map_or(&[][..], |&region| &function.block(region).ops);
            for &before in block.ops[..at].iter().rev().take_while(|&&o| !matches!(function.op(o).kind, OpKind::For(_))) {
                if is_load(before) && inside.iter().any(|&load| is_load(load) && same(before, load)) {
                    ahead[before.index()] = true;
                }
            }
        }
    }
    ahead
}
