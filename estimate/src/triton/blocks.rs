//! Shared memory of what goes through tensor descriptors on Hopper: buffers of blocks, and the mbarriers that loads are waited for at.
//!
//! A load that no loop runs ahead has a buffer while it is under way, unless a product of warpgroups reads it where it is; a store has one, which a
//! `for` around it keeps for all its trips and its stores of equal tiles. Loads that run ahead share mbarriers if one operation reads them first.

use tritium_semantics::target::Feature;
use tritium_tile::{OpId, OpKind, Type, layout::tma::MBARRIER_BYTES, ops::DescriptorSource};

use super::Plan;

/// Where Triton's buffers begin that no unit swizzles.
const ALIGNMENT: u32 = 16;

impl Plan<'_, '_> {
    /// Whether the tensor memory accelerator does this access.
    pub(super) fn is_block(&self, id: OpId) -> bool {
        let descriptor = match self.function.op(id).kind {
            OpKind::Load(attrs) => attrs.descriptor,
            OpKind::Store(attrs) => attrs.descriptor,
            _ => return false,
        };
        descriptor != DescriptorSource::None && self.options.sm.has(Feature::Tma)
    }

    /// The mbarriers of loads that a loop runs ahead, so many slots each.
    pub(super) fn mbarriers(&mut self, loads: &[OpId], slots: u32, alive: (u32, u32)) {
        let mut readers: Vec<OpId> = Vec::new();
        for &load in loads {
            if !self.is_block(load) {
                continue;
            }
            let reader = self.reader(load);
            if !readers.contains(&reader) {
                readers.push(reader);
                self.part(load, "mbarriers", slots, MBARRIER_BYTES * slots, alive, ALIGNMENT);
            }
        }
    }

    /// What reads a tile first, through transposes.
    fn reader(&self, op: OpId) -> OpId {
        let users = &self.layouts.users[self.function.op(op).results[0].index()];
        match users.iter().min_by_key(|user| self.at[user.index()]) {
            Some(&user) if matches!(self.function.op(user).kind, OpKind::Transpose { .. }) => self.reader(user),
            Some(&user) => user,
            None => op,
        }
    }

    /// The other loads, and stores.
    pub(super) fn blocks(&mut self) {
        let mut kept: Vec<(OpId, Type)> = Vec::new();
        for id in self.layouts.ops() {
            if !self.is_block(id) || self.ahead.contains(&id) {
                continue;
            }
            let op = self.function.op(id);
            let here = (self.at[id.index()], self.at[id.index()]);
            if matches!(op.kind, OpKind::Load(_)) {
                let tile = op.results[0];
                if !self.feeds_warpgroups_alone(tile) {
                    self.part(id, "block of a descriptor", 1, self.bytes(tile), here, 1024);
                }
                // What the block is read from, or made into, is there already.
                self.part(id, "mbarriers", 1, MBARRIER_BYTES, (here.0, here.1 + 1), ALIGNMENT);
            } else {
                let around = self.loop_around(id);
                if let Some(around) = around {
                    let buffer = (around, self.function.ty(op.operands[1]).clone());
                    if kept.contains(&buffer) {
                        continue;
                    }
                    kept.push(buffer);
                }
                let alive = around.map_or(here, |around| (self.at[around.index()], self.end[around.index()]));
                self.part(id, "block of a descriptor", 1, self.bytes(op.operands[1]), alive, 1024);
            }
        }
    }

    fn loop_around(&self, id: OpId) -> Option<OpId> {
        let mut block = self.layouts.parents[id.index()];
        while let Some(owner) = block.and_then(|block| self.layouts.owners[block.index()]) {
            if matches!(self.function.op(owner).kind, OpKind::For(_)) {
                return Some(owner);
            }
            block = self.layouts.parents[owner.index()];
        }
        None
    }
}
