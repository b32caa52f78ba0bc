//! What runs ahead of the body of its loop: loads that a ring or registers hold for later trips, and what is made for them.
//!
//! **Invariant:** an address or a mask is made in the trip of its load. Where the rest of the body asks for it too, it waits for that in
//! registers, once for every trip between.

use rustc_hash::{FxHashMap, FxHashSet};
use tritium_tile::{Function, OpId, OpKind};

use super::{
    encoding::Enc,
    layout_replicas::{Copy, Key},
    layouts::Layouts,
};
use crate::registers::Order;

/// A loop, and how many trips of it.
pub(super) type Trips = (OpId, u32);

#[derive(Default)]
pub(super) struct RunsAhead {
    /// Loads that run ahead into registers.
    pub loads: FxHashMap<OpId, Trips>,
    /// What is made for loads that run ahead, in its layout.
    made: FxHashMap<Key, Trips>,
    /// The operations that make it.
    makers: FxHashSet<OpId>,
}

/// What waits for the rest of a loop's body.
pub(super) struct Waiting {
    pub around: OpId,
    pub trips: u32,
    /// Whether accesses alone ask for it, each for the first of its elements.
    pub is_place: bool,
}

impl RunsAhead {
    /// What a load of a loop asks for is made as many trips ahead as the load is.
    pub(super) fn prepare(&mut self, layouts: &mut Layouts<'_>, id: OpId, (load, layout): (OpId, Option<Enc>), trips: u32) {
        let function = layouts.function;
        let body = function.op(id).regions[0];
        let mut pending = vec![(load, layout)];
        while let Some((op, layout)) = pending.pop() {
            for (n, &value) in function.op(op).operands.iter().enumerate() {
                let layout = layouts.needed(op, layout, n);
                let def = function.def_op(value).filter(|def| layouts.parents[def.index()] == Some(body));
                let Some(def) = def.filter(|&def| !matches!(function.op(def).kind, OpKind::Load(_))) else { continue };
                let known = self.made.entry((value, layout.or(layouts.homes[value.index()]))).or_insert((id, 0));
                if known.1 < trips {
                    known.1 = trips;
                    self.makers.insert(def);
                    pending.push((def, layout));
                }
            }
        }
    }

    /// How a copy waits that is made for a load and that others in the loop ask for too.
    pub(super) fn waiting(&self, function: &Function, order: &Order, key: Key, copy: &Copy) -> Option<Waiting> {
        let &(around, trips) = self.made.get(&key)?;
        let inside = order.start[around.index()]..=order.end[around.index()];
        let is_early = |user: &OpId| matches!(function.op(*user).kind, OpKind::Load(_)) || self.makers.contains(user);
        let is_late = |user: &&OpId| inside.contains(&order.start[user.index()]) && !is_early(user);
        let mut late = copy.uses.iter().filter(is_late).peekable();
        late.peek()?;
        let is_place = late.all(|user| matches!(function.op(*user).kind, OpKind::AddPtr | OpKind::Store(_)));
        Some(Waiting { around, trips, is_place })
    }
}
