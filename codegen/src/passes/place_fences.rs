//! A fence between ordinary stores to shared memory and the reads of the asynchronous proxy.
//!
//! `wgmma` and the tensor memory accelerator read shared memory through another proxy than the stores that filled it. Forward over the structured
//! program with whether such a buffer was stored to since the last fence, a fence goes in front of the first barrier, `wgmma` or copy behind a store
//! to a buffer that one of them reads: the writers' fence, then the barrier, then the reader. Where that is in a loop which needs no fence for what it stores itself,
//! the fence goes in front of the loop.
//!
//! What `cp.async` has written and a wait and a barrier have published needs none: CUTLASS's Hopper main loop of such copies
//! (`sm90_mma_multistage_gmma_ss_warpspecialized.hpp`) and Triton have none there. It would cost a trip the way of all accesses that are under way.
//!
//! **Invariant:** only fences are added; running the pass again adds none.

use tritium_tile::{BlockId, Function, Module, OpId, OpKind, ValueId, rewrite};

use super::{CompileOptions, Fact, Pass, Unsupported};
use crate::scratch;

pub static PASS: Pass = Pass {
    name: "place_fences",
    summary: "Put a fence between writes to shared memory and the units that read them.",
    needs: &[Fact::HasLayouts],
    gives: &[Fact::FencesPlaced],
    run,
};

fn run(module: &mut Module, _options: &CompileOptions) -> Result<(), Unsupported> {
    let needed = needed(module.entry());
    rewrite::put_in_front(&mut module.functions[0], &needed, &OpKind::FenceAsync);
    Ok(())
}

/// How many fences are missing.
pub(super) fn missing(module: &Module) -> usize {
    needed(module.entry()).into_iter().filter(|&needed| needed).count()
}

/// By op: a fence goes in front of it.
fn needed(function: &Function) -> Vec<bool> {
    let mut fences = Fences { wanted: vec![false; function.ops.len()], needed: vec![false; function.ops.len()] };
    let mut any = false;
    function.walk(|_, id| {
        let op = function.op(id);
        if matches!(op.kind, OpKind::Wgmma { .. } | OpKind::TmaStore { .. }) {
            any = true;
            for &operand in &op.operands {
                if let Some(root) = root(function, operand) {
                    fences.wanted[root.index()] = true;
                }
            }
        }
    });
    if any {
        fences.block(function, function.body, false);
    }
    fences.needed
}

/// The allocation that a buffer is, or lies in.
fn root(function: &Function, value: ValueId) -> Option<OpId> {
    function.ty(value).is_buffer().then(|| function.def_op(scratch::buffer_of(function, value)))?
}

struct Fences {
    /// Allocations that the asynchronous proxy reads.
    wanted: Vec<bool>,
    needed: Vec<bool>,
}

impl Fences {
    fn is_wanted(&self, function: &Function, buffer: ValueId) -> bool {
        root(function, buffer).is_some_and(|root| self.wanted[root.index()])
    }

    fn publish(&mut self, id: OpId, stored: &mut bool) {
        self.needed[id.index()] |= std::mem::take(stored);
    }

    /// Whether something was stored since the last fence, behind the block.
    fn block(&mut self, function: &Function, block: BlockId, mut stored: bool) -> bool {
        for &id in &function.block(block).ops {
            let op = function.op(id);
            match op.kind {
                OpKind::LocalAlloc => stored |= !op.operands.is_empty() && self.wanted[id.index()],
                OpKind::LocalStore => stored |= op.operands.iter().any(|&v| self.is_wanted(function, v)),
                // The barrier that frees a ring's slot comes right in front of the copy into it.
                OpKind::AsyncCopy(_)
                | OpKind::TmaLoad { .. }
                | OpKind::TmaStore { .. }
                | OpKind::Wgmma { .. }
                | OpKind::Barrier => self.publish(id, &mut stored),
                OpKind::FenceAsync => stored = false,
                _ if op.regions.is_empty() => {}
                OpKind::If => {
                    let before = stored;
                    // Without an `else`, nothing may have happened.
                    stored &= op.regions.len() < 2;
                    for &region in &op.regions {
                        stored |= self.block(function, region, before);
                    }
                }
                _ => {
                    let needed = stored.then(|| self.needed.clone());
                    let mut after = self.trips(function, &op.regions, stored);
                    if let Some(needed) = needed {
                        // What was stored in front of the loop is published once, unless each trip has its fences all the same.
                        let each_trip = std::mem::replace(&mut self.needed, needed);
                        let after_fence = self.trips(function, &op.regions, false);
                        if self.needed != each_trip {
                            self.publish(id, &mut stored);
                            after = after_fence;
                        }
                    }
                    stored = after;
                }
            }
        }
        stored
    }

    /// Any number of trips, also none; a few rounds settle it.
    fn trips(&mut self, function: &Function, regions: &[BlockId], mut stored: bool) -> bool {
        loop {
            let before = stored;
            for &region in regions {
                stored |= self.block(function, region, stored);
            }
            if stored == before {
                return stored;
            }
        }
    }
}
