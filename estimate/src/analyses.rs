//! What the estimates of one compiled module share, worked out once.

use tritium_tile::{
    Function, Module, OpId, OpKind,
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
}

impl<'m> Analyses<'m> {
    pub fn of(module: &'m Module) -> Analyses<'m> {
        let function = module.entry();
        Analyses { module, function, facts: facts::of_function(function), first_trips: first_trips(function) }
    }
}

fn first_trips(function: &Function) -> Vec<bool> {
    let mut ahead = vec![false; function.ops.len()];
    let is_load = |id: OpId| matches!(function.op(id).kind, OpKind::Load(_) | OpKind::AsyncCopy(_) | OpKind::TmaLoad { .. });
    for block in &function.blocks {
        for (at, &id) in block.ops.iter().enumerate() {
            let op = function.op(id);
            if !matches!(op.kind, OpKind::For(attrs) if attrs.stages.is_some()) {
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
