//! A fence between ordinary writes to shared memory and the reads of the asynchronous proxy.
//!
//! `wgmma` reads shared memory through another proxy than the stores and copies that filled it. Forward over the structured program with
//! the buffers written since the last fence (asynchronous copies write when they are waited for), a fence goes in front of the first
//! barrier, `wgmma` or copy behind a write to a buffer that some `wgmma` reads: the writers' fence, then the barrier, then the reader. Where that
//! is in a loop which needs no fence for what it writes itself, the fence goes in front of the loop.
//!
//! **Invariant:** only fences are added; running the pass again adds none.

use tritium_tile::{BlockId, Function, Module, OpId, OpKind, Type, ValueId, rewrite};

use super::{CompileOptions, Fact, Pass, Unsupported};
use crate::scratch;

pub static PASS: Pass = Pass {
    name: "place_fences",
    summary: "Put a fence between writes to shared memory and the tensor core that reads them.",
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
        if matches!(op.kind, OpKind::Wgmma { .. }) {
            any = true;
            for &operand in &op.operands {
                if let Some(root) = root(function, operand) {
                    fences.wanted[root.index()] = true;
                }
            }
        }
    });
    if any {
        fences.block(function, function.body, Written::default());
    }
    fences.needed
}

/// The allocation that a buffer is, or lies in.
fn root(function: &Function, value: ValueId) -> Option<OpId> {
    matches!(function.ty(value), Type::Shared { .. }).then(|| function.def_op(scratch::buffer_of(function, value)))?
}

/// Since the last fence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Written {
    stored: bool,
    /// Copies that nobody has waited for.
    copying: bool,
}

impl Written {
    fn join(self, other: Written) -> Written {
        Written { stored: self.stored | other.stored, copying: self.copying | other.copying }
    }
}

struct Fences {
    /// Allocations that a `wgmma` reads.
    wanted: Vec<bool>,
    needed: Vec<bool>,
}

impl Fences {
    fn is_wanted(&self, function: &Function, buffer: ValueId) -> bool {
        root(function, buffer).is_some_and(|root| self.wanted[root.index()])
    }

    fn publish(&mut self, id: OpId, written: &mut Written) {
        self.needed[id.index()] |= std::mem::take(&mut written.stored);
    }

    fn block(&mut self, function: &Function, block: BlockId, mut written: Written) -> Written {
        for &id in &function.block(block).ops {
            let op = function.op(id);
            match op.kind {
                OpKind::LocalAlloc => written.stored |= !op.operands.is_empty() && self.wanted[id.index()],
                OpKind::LocalStore => written.stored |= op.operands.iter().any(|&v| self.is_wanted(function, v)),
                // The barrier that frees a ring's slot comes right in front of the copy into it.
                OpKind::AsyncCopy(_) => {
                    self.publish(id, &mut written);
                    written.copying |= op.operands.iter().any(|&v| self.is_wanted(function, v));
                }
                OpKind::TmaLoad { .. } => self.publish(id, &mut written),
                OpKind::AsyncWait { .. } => written.stored |= written.copying,
                OpKind::FenceAsync => written.stored = false,
                OpKind::Wgmma { .. } | OpKind::Barrier => self.publish(id, &mut written),
                _ if op.regions.is_empty() => {}
                OpKind::If => {
                    let before = written;
                    // Without an `else`, nothing may have happened.
                    written = if op.regions.len() < 2 { before } else { Written::default() };
                    for &region in &op.regions {
                        written = written.join(self.block(function, region, before));
                    }
                }
                _ => {
                    let needed = written.stored.then(|| self.needed.clone());
                    let mut after = self.trips(function, &op.regions, written);
                    if let Some(needed) = needed {
                        // What was written in front of the loop is published once, unless each trip has its fences all the same.
                        let each_trip = std::mem::replace(&mut self.needed, needed);
                        let after_fence = self.trips(function, &op.regions, Written { stored: false, ..written });
                        if self.needed != each_trip {
                            self.publish(id, &mut written);
                            after = after_fence;
                        }
                    }
                    written = after;
                }
            }
        }
        written
    }

    /// Any number of trips, also none; the sets only grow, so a few rounds settle it.
    fn trips(&mut self, function: &Function, regions: &[BlockId], mut written: Written) -> Written {
        loop {
            let before = written;
            for &region in regions {
                written = written.join(self.block(function, region, written));
            }
            if written == before {
                return written;
            }
        }
    }
}
