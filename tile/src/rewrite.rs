//! What every pass needs to change a function: uses, replacement, removal, placement, cloning, compaction.
//!
//! **Invariant:** nothing here changes what a verified function means, except `replace_all_uses`, `detach` and `insert`, whose callers
//! answer for it. Use counts, parents and owners are computed when asked for and are stale after the next change.

use rustc_hash::FxHashMap;

use crate::{
    module::{Block, BlockId, Function, Module, OpId, Value, ValueDef, ValueId},
    ops::{Op, OpKind, Origin},
};

/// Old value to new value; what is absent stands for itself.
pub type ValueMap = FxHashMap<ValueId, ValueId>;

/// How often each value is an operand of an op that stands in a block.
pub fn use_counts(function: &Function) -> Vec<u32> {
    let mut counts = vec![0; function.values.len()];
    function.walk(|_, op| {
        for &operand in &function.op(op).operands {
            counts[operand.index()] += 1;
        }
    });
    counts
}

/// The ops that use each value, in program order; an op that uses a value twice is listed twice.
pub fn users(function: &Function) -> Vec<Vec<OpId>> {
    let mut users = vec![Vec::new(); function.values.len()];
    function.walk(|_, op| {
        for &operand in &function.op(op).operands {
            users[operand.index()].push(op);
        }
    });
    users
}

/// The block each op stands in; `None` for dead ops.
pub fn parent_blocks(function: &Function) -> Vec<Option<BlockId>> {
    let mut parents = vec![None; function.ops.len()];
    function.walk(|block, op| parents[op.index()] = Some(block));
    parents
}

/// The op whose region each block is; `None` for the body and for dead blocks.
pub fn owner_ops(function: &Function) -> Vec<Option<OpId>> {
    let mut owners = vec![None; function.blocks.len()];
    function.walk(|_, op| {
        for &region in &function.op(op).regions {
            owners[region.index()] = Some(op);
        }
    });
    owners
}

/// The block an op stands in and its place there.
pub fn position(function: &Function, op: OpId) -> Option<(BlockId, usize)> {
    let mut found = None;
    function.walk(|block, other| {
        if other == op {
            found = Some(block);
        }
    });
    let block = found?;
    let index = function.block(block).ops.iter().position(|&other| other == op)?;
    Some((block, index))
}

/// The operands of an operation and of all in its regions.
pub fn read_by(function: &Function, op: OpId) -> Vec<ValueId> {
    let mut values = Vec::new();
    let mut pending = vec![op];
    while let Some(op) = pending.pop() {
        let op = function.op(op);
        values.extend(&op.operands);
        for &region in &op.regions {
            pending.extend(&function.block(region).ops);
        }
    }
    values
}

/// Which values are made inside these regions.
pub fn values_inside(function: &Function, regions: &[BlockId]) -> Vec<bool> {
    let mut inside = vec![false; function.values.len()];
    let mut pending = regions.to_vec();
    while let Some(block) = pending.pop() {
        for &arg in &function.block(block).args {
            inside[arg.index()] = true;
        }
        for &op in &function.block(block).ops {
            for &result in &function.op(op).results {
                inside[result.index()] = true;
            }
            pending.extend(&function.op(op).regions);
        }
    }
    inside
}

/// Every use of `from`, in live and in dead ops, becomes a use of `to`.
pub fn replace_all_uses(function: &mut Function, from: ValueId, to: ValueId) {
    for op in &mut function.ops {
        for operand in &mut op.operands {
            if *operand == from {
                *operand = to;
            }
        }
    }
}

/// Applies many replacements in one sweep; chains (`a` to `b`, `b` to `c`) are followed.
pub fn replace_uses(function: &mut Function, map: &ValueMap) {
    if map.is_empty() {
        return;
    }
    for op in &mut function.ops {
        for operand in &mut op.operands {
            // A chain is at most as long as the map, so a cycle made by mistake cannot hang.
            for _ in 0..=map.len() {
                match map.get(operand) {
                    Some(&next) if next != *operand => *operand = next,
                    _ => break,
                }
            }
        }
    }
}

/// Places `op`, which stands in no block, in front of `anchor`. False if `anchor` stands in no block.
pub fn insert_before(function: &mut Function, anchor: OpId, op: OpId) -> bool {
    insert(function, anchor, 0, op)
}

/// Places `op`, which stands in no block, behind `anchor`. False if `anchor` stands in no block.
pub fn insert_after(function: &mut Function, anchor: OpId, op: OpId) -> bool {
    insert(function, anchor, 1, op)
}

fn insert(function: &mut Function, anchor: OpId, behind: usize, op: OpId) -> bool {
    match position(function, anchor) {
        Some((block, index)) => {
            function.block_mut(block).ops.insert(index + behind, op);
            true
        }
        None => false,
    }
}

/// Puts an op without operands or results in front of every op that `wanted` marks, and says how many it put.
pub fn put_in_front(function: &mut Function, wanted: &[bool], kind: &OpKind) -> usize {
    let mut put = 0;
    for block in 0..function.blocks.len() {
        let ops = std::mem::take(&mut function.blocks[block].ops);
        let mut out = Vec::with_capacity(ops.len());
        for op in ops {
            if wanted[op.index()] {
                out.push(function.create_op(kind.clone(), &[], [], &[], Origin::NONE));
                put += 1;
            }
            out.push(op);
        }
        function.blocks[block].ops = out;
    }
    put
}

/// Takes `op` out of its block; it and its regions are dead until placed again.
pub fn detach(function: &mut Function, op: OpId) {
    if let Some((block, index)) = position(function, op) {
        function.block_mut(block).ops.remove(index);
    }
}

/// May an op be dropped when nothing uses its results? Looks into regions; a `while` may not, for it may not end.
pub fn is_removable(function: &Function, op: OpId) -> bool {
    let mut pending = vec![op];
    while let Some(op) = pending.pop() {
        let op = function.op(op);
        if !op.kind.is_removable() {
            return false;
        }
        for &region in &op.regions {
            pending.extend(&function.block(region).ops);
        }
    }
    true
}

/// Removes every op without effect whose results nobody uses; says how many left their blocks.
pub fn erase_dead(function: &mut Function) -> usize {
    let mut counts = use_counts(function);
    let mut pending = Vec::with_capacity(function.ops.len());
    function.walk(|_, op| pending.push(op));
    let mut erased = vec![false; function.ops.len()];
    let mut total = 0;
    // Later ops first, so that what they alone use is dead when its turn comes; what dies out of turn gets another.
    while let Some(id) = pending.pop() {
        let op = function.op(id);
        let unused = op.results.iter().all(|r| counts[r.index()] == 0);
        if erased[id.index()] || !unused || op.kind.is_terminator() || !is_removable(function, id) {
            continue;
        }
        let mut dying = vec![id];
        while let Some(dead) = dying.pop() {
            if std::mem::replace(&mut erased[dead.index()], true) {
                continue;
            }
            total += 1;
            let dead = function.op(dead);
            for operand in &dead.operands {
                counts[operand.index()] -= 1;
                if counts[operand.index()] == 0 {
                    pending.extend(function.def_op(*operand));
                }
            }
            for &region in &dead.regions {
                dying.extend(&function.block(region).ops);
            }
        }
    }
    for block in &mut function.blocks {
        block.ops.retain(|op| !erased[op.index()]);
    }
    total
}

/// A copy of `op`, its regions included, that stands in no block. Operands go through `map`; the copy's results and arguments enter it.
pub fn clone_op(function: &mut Function, op: OpId, map: &mut ValueMap) -> OpId {
    let source = function.op(op).clone();
    let result_types: Vec<_> = source.results.iter().map(|&r| function.ty(r).clone()).collect();
    let operands: Vec<ValueId> = source.operands.iter().map(|v| *map.get(v).unwrap_or(v)).collect();
    let regions: Vec<BlockId> = source.regions.iter().map(|&region| clone_region(function, region, map)).collect();
    let copy = function.create_op(source.kind, &operands, result_types, &regions, source.origin);
    function.op_mut(copy).shared_offset = source.shared_offset;
    for (&old, &new) in source.results.iter().zip(&function.op(copy).results) {
        map.insert(old, new);
    }
    copy
}

/// A copy of a block: fresh arguments, fresh ops, its terminator too. `map` as in [`clone_op`].
pub fn clone_region(function: &mut Function, region: BlockId, map: &mut ValueMap) -> BlockId {
    let copy = function.add_block();
    let source = function.block(region).clone();
    for arg in source.args {
        let ty = function.ty(arg).clone();
        let new = function.add_block_arg(copy, ty);
        map.insert(arg, new);
    }
    let ops = source.ops.into_iter().map(|op| clone_op(function, op, map)).collect();
    function.block_mut(copy).ops = ops;
    copy
}

/// Copies the ops of a block, without its terminator, to be placed anywhere. The block's arguments must be in `map` already (they are
/// what the ops read); the answer is the copies and what the terminator passes on, in terms of the copies.
pub fn clone_ops(function: &mut Function, block: BlockId, map: &mut ValueMap) -> (Vec<OpId>, Vec<ValueId>) {
    let source = function.block(block).ops.clone();
    let mut copies = Vec::with_capacity(source.len());
    let mut passed = Vec::new();
    for op in source {
        if function.op(op).kind.is_terminator() {
            passed = function.op(op).operands.iter().map(|v| *map.get(v).unwrap_or(v)).collect();
        } else {
            copies.push(clone_op(function, op, map));
        }
    }
    (copies, passed)
}

/// As [`clone_ops`] from the body of another function: what inlining needs. Parameters of `source` must be in `map`.
/// `None` if the body uses a value that is neither its own nor in `map`.
pub fn import_body(source: &Function, target: &mut Function, map: &mut ValueMap) -> Option<(Vec<OpId>, Vec<ValueId>)> {
    let mut copies = Vec::new();
    for &op in &source.block(source.body).ops {
        if source.op(op).kind.is_terminator() {
            let passed = source.op(op).operands.iter().map(|v| map.get(v).copied()).collect::<Option<_>>()?;
            return Some((copies, passed));
        }
        copies.push(import_op(source, target, op, map)?);
    }
    Some((copies, Vec::new()))
}

fn import_op(source: &Function, target: &mut Function, op: OpId, map: &mut ValueMap) -> Option<OpId> {
    let op = source.op(op);
    let operands = op.operands.iter().map(|v| map.get(v).copied()).collect::<Option<Vec<_>>>()?;
    let mut regions = Vec::with_capacity(op.regions.len());
    for &region in &op.regions {
        let block = target.add_block();
        for &arg in &source.block(region).args {
            let new = target.add_block_arg(block, source.ty(arg).clone());
            map.insert(arg, new);
        }
        for &inner in &source.block(region).ops {
            let copy = import_op(source, target, inner, map)?;
            target.block_mut(block).ops.push(copy);
        }
        regions.push(block);
    }
    let types: Vec<_> = op.results.iter().map(|&r| source.ty(r).clone()).collect();
    let copy = target.create_op(op.kind.clone(), &operands, types, &regions, op.origin);
    target.op_mut(copy).shared_offset = op.shared_offset;
    for (&old, &new) in op.results.iter().zip(&target.op(copy).results) {
        map.insert(old, new);
    }
    Some(copy)
}

/// Drops dead ops, values and blocks and numbers the rest canonically, which is in the order of the text: a block, its arguments, then
/// each op, its results, its regions. Two functions with the same text are equal once compacted.
pub fn compact(function: &mut Function) {
    let mut compaction = Compaction {
        values: vec![None; function.values.len()],
        blocks: vec![None; function.blocks.len()],
        out: Function { body: BlockId(0), ops: vec![], values: vec![], blocks: vec![], ..function.clone() },
        source: function,
    };
    // A use may precede its definition in a function that does not verify; a second walk renames the operands.
    let body = compaction.source.body;
    let body = compaction.block(body);
    let Compaction { values, mut out, .. } = compaction;
    out.body = body;
    for op in &mut out.ops {
        for operand in &mut op.operands {
            *operand = values.get(operand.index()).copied().flatten().unwrap_or(ValueId(u32::MAX));
        }
    }
    for param in &mut out.params {
        param.value = values.get(param.value.index()).copied().flatten().unwrap_or(ValueId(u32::MAX));
    }
    *function = out;
}

/// [`compact`] for every function.
pub fn compact_module(module: &mut Module) {
    module.functions.iter_mut().for_each(compact);
}

struct Compaction<'f> {
    source: &'f Function,
    values: Vec<Option<ValueId>>,
    blocks: Vec<Option<BlockId>>,
    out: Function,
}

impl Compaction<'_> {
    fn value(&mut self, old: ValueId, def: ValueDef) -> ValueId {
        let new = ValueId(self.out.values.len() as u32);
        self.out.values.push(Value { ty: self.source.ty(old).clone(), def });
        self.values[old.index()] = Some(new);
        new
    }

    fn block(&mut self, old: BlockId) -> BlockId {
        if let Some(new) = self.blocks[old.index()] {
            return new;
        }
        let source = self.source;
        let new = BlockId(self.out.blocks.len() as u32);
        self.blocks[old.index()] = Some(new);
        self.out.blocks.push(Block::default());
        for (index, &arg) in source.block(old).args.iter().enumerate() {
            let arg = self.value(arg, ValueDef::Argument(new, index as u32));
            self.out.block_mut(new).args.push(arg);
        }
        for &op in &source.block(old).ops {
            let id = OpId(self.out.ops.len() as u32);
            let op = source.op(op);
            let results = op.results.iter().enumerate();
            let results = results.map(|(index, &r)| self.value(r, ValueDef::Result(id, index as u32))).collect();
            self.out.ops.push(Op { results, regions: Default::default(), ..op.clone() });
            self.out.block_mut(new).ops.push(id);
            for &region in &op.regions {
                let region = self.block(region);
                self.out.op_mut(id).regions.push(region);
            }
        }
        new
    }
}
