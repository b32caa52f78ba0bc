//! A barrier between any two accesses to the same bytes of shared memory by different threads of which one writes.
//!
//! Forward over the structured program with the byte intervals read and written since the last barrier; a loop's end flows into its
//! start. An op with scratch writes it, has its own barrier inside, and reads it: what was pending before is settled by that barrier, the
//! read is pending afterwards.
//!
//! An asynchronous copy is under way until a wait, whatever barriers come in between. A wait makes what was under way a write of this
//! thread, which a barrier settles; likewise a `wgmma` reads until it is waited for. That nobody touches the part of a ring that a copy is
//! under way to, or writes the part that a `wgmma` reads, is for the maker of the ring to see to: it is a matter of slots, not of barriers.
//!
//! A block that the tensor memory accelerator copies lands before the wait for its mbarrier ends, in every thread that waits, so nothing is
//! pending of it; what was read or written there before is.
//!
//! **Invariant:** only barriers are added, each right in front of the access that needs it; running the pass again adds none.

use tritium_tile::{BlockId, Function, Module, OpId, OpKind, ValueDef, ValueId, layout::tma, rewrite};

use super::{CompileOptions, Fact, Pass, Unsupported};
use crate::scratch;

pub static PASS: Pass = Pass {
    name: "place_barriers",
    summary: "Put a barrier between conflicting accesses to shared memory.",
    needs: &[Fact::SharedAssigned],
    gives: &[Fact::BarriersPlaced],
    run,
};

fn run(module: &mut Module, _options: &CompileOptions) -> Result<(), Unsupported> {
    place(module);
    Ok(())
}

/// Places what is missing and says how many that were.
pub(super) fn place(module: &mut Module) -> usize {
    let effects = effects(module);
    let function = &mut module.functions[0];
    let mut barriers = Barriers { effects, needed: vec![false; function.ops.len()] };
    barriers.block(function, function.body, Pending::default());
    rewrite::put_in_front(function, &barriers.needed, &OpKind::Barrier)
}

type Bytes = (u32, u32);

#[derive(Debug, Clone, Default)]
struct Effect {
    reads: Vec<Bytes>,
    writes: Vec<Bytes>,
    /// Works in scratch: the write is behind an internal barrier when the op ends, the read is not.
    internal_barrier: bool,
    /// Under way until a wait.
    copies: Vec<Bytes>,
    /// The reads go on until a wait.
    in_flight: bool,
    /// Written by a unit that all threads wait for before they touch it.
    lands: Vec<Bytes>,
    /// Written by the first warp, which needs no barrier between what it writes itself.
    first_warp: Vec<Bytes>,
}

/// Since the last barrier.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Pending {
    reads: Vec<Bytes>,
    writes: Vec<Bytes>,
    /// Writes of the first warp.
    first_warp: Vec<Bytes>,
    /// Copies that nobody has waited for.
    copies: Vec<Bytes>,
    /// Reads of multiplications that nobody has waited for, with the number of later ones.
    in_flight: Vec<(u32, Bytes)>,
}

/// More multiplications than ever are under way; beyond it they are not told apart.
const MAX_WGMMA_IN_FLIGHT: u32 = 16;

impl Pending {
    fn multiply(&mut self, reads: &[Bytes]) {
        for (later, _) in &mut self.in_flight {
            *later = (*later + 1).min(MAX_WGMMA_IN_FLIGHT);
        }
        self.in_flight.extend(reads.iter().map(|&bytes| (0, bytes)));
    }

    /// At most `left` multiplications go on; what the others read is a read of the past.
    fn retire(&mut self, left: u32) {
        let (going_on, done): (Vec<_>, Vec<_>) = self.in_flight.iter().copied().partition(|(later, _)| *later < left);
        self.in_flight = going_on;
        self.reads.extend(done.into_iter().map(|(_, bytes)| bytes));
        self.reads.sort_unstable();
        self.reads.dedup();
    }

    fn join(&mut self, other: &Pending) {
        self.in_flight.extend(&other.in_flight);
        self.in_flight.sort_unstable();
        self.in_flight.dedup();
        let all = [
            (&mut self.reads, &other.reads),
            (&mut self.writes, &other.writes),
            (&mut self.first_warp, &other.first_warp),
            (&mut self.copies, &other.copies),
        ];
        for (mine, theirs) in all {
            mine.extend(theirs);
            mine.sort_unstable();
            mine.dedup();
        }
    }

    /// What a barrier does.
    fn settle(&mut self) {
        self.reads.clear();
        self.writes.clear();
        self.first_warp.clear();
    }

    /// What a wait does: any of the copies may have been among those it waited for.
    fn wait(&mut self, for_all: bool) {
        self.writes.extend(&self.copies);
        self.writes.sort_unstable();
        self.writes.dedup();
        if for_all {
            self.copies.clear();
        }
    }
}

fn overlap(a: &[Bytes], b: &[Bytes]) -> bool {
    a.iter().any(|x| b.iter().any(|y| x.0 < y.1 && y.0 < x.1))
}

fn effects(module: &Module) -> Vec<Effect> {
    let function = module.entry();
    let mut effects = vec![Effect::default(); function.ops.len()];
    let everything = (0, module.shared_bytes.unwrap_or(u32::MAX).max(1));
    let own = |id: OpId| -> Option<Bytes> {
        let bytes = scratch::bytes(module, function, id);
        let at = function.op(id).shared_offset?;
        (bytes > 0).then_some((at, at + bytes))
    };
    let buffer = |v: ValueId| match function.value(scratch::buffer_of(function, v)).def {
        ValueDef::Result(op, _) if matches!(function.op(op).kind, OpKind::LocalAlloc) => own(op).unwrap_or(everything),
        // A buffer under another name may be any.
        _ => everything,
    };
    function.walk(|_, id| {
        let op = function.op(id);
        let effect = &mut effects[id.index()];
        match op.kind {
            OpKind::LocalAlloc if !op.operands.is_empty() => effect.writes.extend(own(id)),
            OpKind::LocalAlloc | OpKind::LocalIndex => {}
            OpKind::MbarrierInit { .. } | OpKind::MbarrierInvalidate => effect.writes.push(buffer(op.operands[0])),
            OpKind::MbarrierWait => effect.reads.push(buffer(op.operands[0])),
            OpKind::TmaLoad { .. } => {
                let operands = tma::Operands::of(&op.operands);
                effect.reads.push(operands.map_or(everything, |o| buffer(o.barrier)));
                effect.lands.push(operands.map_or(everything, |o| buffer(o.copied.buffer)));
            }
            OpKind::TmaStore { .. } => {
                effect.reads.push(tma::Copied::of_store(&op.operands).map_or(everything, |copied| buffer(copied.buffer)));
            }
            OpKind::WriteTensorMap { .. } => effect.first_warp.extend(own(id)),
            OpKind::AsyncCopy(_) => effect.copies.push(buffer(op.operands[1])),
            OpKind::Wgmma { .. } => {
                let buffers = op.operands.iter().filter(|&&v| function.ty(v).is_buffer());
                effect.reads.extend(buffers.map(|&v| buffer(v)));
                effect.in_flight = true;
            }
            OpKind::LocalLoad => effect.reads.push(buffer(op.operands[0])),
            OpKind::Gather { .. } if function.ty(op.operands[0]).is_buffer() => {
                effect.reads.push(buffer(op.operands[0]));
            }
            OpKind::LocalStore => {
                if let Some(&v) = op.operands.iter().find(|&&v| function.ty(v).is_buffer()) {
                    effect.writes.push(buffer(v));
                }
            }
            _ => {
                if matches!(op.kind, OpKind::Dot { .. }) {
                    let buffers = op.operands.iter().filter(|&&v| function.ty(v).is_buffer());
                    effect.reads.extend(buffers.map(|&v| buffer(v)));
                }
                if let Some(bytes) = own(id) {
                    effect.reads.push(bytes);
                    effect.writes.push(bytes);
                    effect.internal_barrier = true;
                }
            }
        }
    });
    effects
}

struct Barriers {
    effects: Vec<Effect>,
    /// A barrier goes in front of this op.
    needed: Vec<bool>,
}

impl Barriers {
    fn block(&mut self, function: &Function, block: BlockId, mut pending: Pending) -> Pending {
        for &id in &function.block(block).ops {
            let op = function.op(id);
            match op.kind {
                OpKind::Barrier => pending.settle(),
                OpKind::AsyncWait { pending: left } => pending.wait(left == 0),
                OpKind::WgmmaWait { pending: left } => pending.retire(left),
                OpKind::For(_) => pending = self.trips(pending, |this, p| this.block(function, op.regions[0], p)),
                OpKind::While { .. } => {
                    // The first region always runs, and runs last.
                    let after = self.trips(pending.clone(), |this, p| {
                        let p = this.block(function, op.regions[0], p);
                        this.block(function, op.regions[1], p)
                    });
                    pending = self.block(function, op.regions[0], after);
                }
                OpKind::If => {
                    let before = pending;
                    pending = Pending::default();
                    for &region in &op.regions {
                        let after = self.block(function, region, before.clone());
                        pending.join(&after);
                    }
                    if op.regions.len() < 2 {
                        pending.join(&before);
                    }
                }
                _ => self.access(id, &mut pending),
            }
        }
        pending
    }

    /// What is pending after any number of trips, also none.
    fn trips(&mut self, before: Pending, mut body: impl FnMut(&mut Self, Pending) -> Pending) -> Pending {
        let mut pending = before;
        loop {
            let mut next = pending.clone();
            next.join(&body(self, pending.clone()));
            if next == pending {
                return pending;
            }
            pending = next;
        }
    }

    fn access(&mut self, id: OpId, pending: &mut Pending) {
        let effect = &self.effects[id.index()];
        if effect.reads.is_empty() && effect.writes.is_empty() && effect.copies.is_empty() && effect.first_warp.is_empty() {
            return;
        }
        let reads: &[Bytes] = if effect.internal_barrier { &[] } else { &effect.reads };
        let all_threads = [&effect.writes, &effect.copies, &effect.lands];
        let conflict = all_threads
            .iter()
            .any(|bytes| [&pending.reads, &pending.writes, &pending.first_warp].iter().any(|other| overlap(bytes, other)))
            || overlap(reads, &pending.writes)
            || overlap(reads, &pending.first_warp)
            || overlap(&effect.first_warp, &pending.reads)
            || overlap(&effect.first_warp, &pending.writes);
        if conflict || self.needed[id.index()] {
            self.needed[id.index()] = true;
            pending.settle();
        }
        if effect.in_flight {
            pending.multiply(&effect.reads);
            return;
        }
        let mut done = Pending {
            reads: effect.reads.clone(),
            writes: effect.writes.clone(),
            first_warp: effect.first_warp.clone(),
            copies: effect.copies.clone(),
            in_flight: Vec::new(),
        };
        if effect.internal_barrier {
            pending.settle();
            done.writes.clear();
        }
        pending.join(&done);
    }
}
