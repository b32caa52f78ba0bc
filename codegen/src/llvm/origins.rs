//! Where values come from: which loop makes them, and whether a thread's number alone decides them.
//!
//! **Invariant:** computed once from the function; values of the same loop have the same answer.

use rustc_hash::{FxHashMap, FxHashSet};
use tritium_tile::{BlockId, Function, OpId, OpKind, ValueId, effects::mask_of, kinds, ops::BinaryOp};

pub(super) struct Origins {
    /// The body of the innermost loop that makes a value.
    loops: Vec<Option<BlockId>>,
    fixed: Vec<bool>,
    /// Something beside a change of shape reads it in the loop that makes it.
    read_at_home: Vec<bool>,
    /// A loop of the block that makes it stands between it and the first that reads it.
    read_behind_loops: Vec<bool>,
    has_loops: bool,
    has_quotients: bool,
    /// The block that makes a value; of a value of other shape, or of a conjunction, another one that makes what it is of.
    blocks: Vec<Option<BlockId>>,
    /// Accesses outside loops under masks that another block makes. Looked up only.
    far_masks: FxHashSet<OpId>,
}

impl Origins {
    pub(super) fn of(function: &Function) -> Origins {
        let mut origins = Origins {
            loops: vec![None; function.values.len()],
            fixed: vec![false; function.values.len()],
            read_at_home: vec![false; function.values.len()],
            read_behind_loops: vec![false; function.values.len()],
            has_loops: false,
            has_quotients: false,
            blocks: vec![None; function.values.len()],
            far_masks: FxHashSet::default(),
        };
        origins.block(function, function.body, None);
        origins
    }

    /// The body of the innermost loop that makes the value; `None` outside of all loops.
    pub(super) fn innermost_loop(&self, value: ValueId) -> Option<BlockId> {
        self.loops[value.index()]
    }

    /// Tiles are divided: a flat index becomes rows.
    pub(super) fn has_quotients(&self) -> bool {
        self.has_quotients
    }

    /// Another block makes the mask of an access outside loops.
    pub(super) fn has_far_mask(&self, op: OpId) -> bool {
        self.far_masks.contains(&op)
    }

    /// It is made of `iota` and numbers only.
    pub(super) fn is_fixed(&self, value: ValueId) -> bool {
        self.fixed[value.index()]
    }

    /// Only loops inside its own read it, so a register holds it on all their trips.
    pub(super) fn is_held_for_loops(&self, value: ValueId) -> bool {
        self.has_loops && !self.read_at_home[value.index()]
    }

    /// Nothing in its block reads it in front of a loop's end, and something does behind it.
    pub(super) fn is_read_behind_loops(&self, value: ValueId) -> bool {
        self.read_behind_loops[value.index()]
    }

    fn block(&mut self, function: &Function, block: BlockId, home: Option<BlockId>) {
        self.has_loops |= home.is_some();
        for &arg in &function.block(block).args {
            self.loops[arg.index()] = home;
        }
        for &id in &function.block(block).ops {
            let op = function.op(id);
            self.has_quotients |= matches!(op.kind, OpKind::Binary(BinaryOp::DivS)) && !function.ty(op.results[0]).is_scalar();
            let known = match op.kind {
                OpKind::Constant(_) | OpKind::Iota { .. } => true,
                kinds!(Shape)
                | OpKind::Binary(BinaryOp::AddI | BinaryOp::MulI | BinaryOp::And | BinaryOp::Shl | BinaryOp::ShrU) => {
                    op.operands.iter().all(|v| self.fixed[v.index()])
                }
                _ => false,
            };
            if home.is_none() && mask_of(function, id).is_some_and(|mask| self.blocks[mask.index()] != Some(block)) {
                self.far_masks.insert(id);
            }
            let made = match op.kind {
                kinds!(Shape) | OpKind::Binary(BinaryOp::And) => {
                    op.operands.iter().filter_map(|v| self.blocks[v.index()]).find(|&made| made != block).unwrap_or(block)
                }
                _ => block,
            };
            for &result in &op.results {
                self.blocks[result.index()] = Some(made);
                self.loops[result.index()] = home;
                self.fixed[result.index()] = known;
            }
            for &region in &op.regions {
                let inner = if op.kind.is_loop() { Some(region) } else { home };
                self.block(function, region, inner);
            }
        }
        self.mark_read_behind_loops(function, block);
        // Whoever reads a value comes behind it.
        for &id in function.block(block).ops.iter().rev() {
            let op = function.op(id);
            let reads = !matches!(op.kind, kinds!(Shape)) || op.results.iter().any(|result| self.read_at_home[result.index()]);
            for operand in op.operands.iter().filter(|_| reads) {
                self.read_at_home[operand.index()] |= self.loops[operand.index()] == home;
            }
        }
    }

    fn mark_read_behind_loops(&mut self, function: &Function, block: BlockId) {
        // For each value that this block has made so far and nothing has read, how many loops had ended by then.
        let mut unread: FxHashMap<ValueId, u32> = FxHashMap::default();
        let mut ended = 0;
        for &id in &function.block(block).ops {
            let op = function.op(id);
            let (mut read, mut is_loop) = (op.operands.to_vec(), op.kind.is_loop());
            function.walk_regions(&op.regions, |_, inner| {
                let inner = function.op(inner);
                read.extend(&inner.operands);
                is_loop |= inner.kind.is_loop();
            });
            for operand in read {
                if let Some(made) = unread.remove(&operand) {
                    self.read_behind_loops[operand.index()] = made < ended;
                }
            }
            ended += u32::from(is_loop);
            unread.extend(op.results.iter().map(|&result| (result, ended)));
        }
    }
}
