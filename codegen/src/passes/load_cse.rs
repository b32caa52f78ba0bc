//! What memory holds is asked for once: equal loads become one, and loads of an invariant address leave their loop.
//!
//! Pointers of a kernel may alias, so anything that may write ends what is known of memory: a store, an atomic, a barrier (behind which
//! another thread's store shows), a call, machine instructions with effects. **Invariant:** a load moves only over what does not write,
//! and a load that a loop without trips would not have run is masked off when there is no trip. Volatile loads stay where they are.

use rustc_hash::FxHashMap;
use tritium_tile::{
    BlockId, Elem, Function, Module, OpId, OpKind, Scalar, Type, ValueId,
    control::ForOperands,
    effects::may_write,
    facts::{self, Facts},
    ops::{BinaryOp, CacheOp, LoadAttrs, Op, Predicate},
    rewrite::{self, ValueMap},
};

use super::{CompileOptions, Pass, Unsupported};
use crate::pressure::is_heavy;

pub static PASS: Pass =
    Pass { name: "load_cse", summary: "Load once what nothing writes in between.", needs: &[], gives: &[], run };

fn run(module: &mut Module, options: &CompileOptions) -> Result<(), Unsupported> {
    for function in &mut module.functions {
        let mut sharing = Sharing { function, age: 0, known: FxHashMap::default(), replaced: ValueMap::default() };
        sharing.block(function.body);
        let replaced = sharing.replaced;
        rewrite::replace_uses(function, &replaced);
        hoist(function, options.launch.num_warps);
        rewrite::erase_dead(function);
        rewrite::compact(function);
    }
    Ok(())
}

/// A load that may be left out if the same was read before.
pub(super) fn is_plain(attrs: LoadAttrs) -> bool {
    !attrs.volatile && attrs.cache != CacheOp::Cv
}

type Key = (LoadAttrs, Vec<ValueId>);

struct Sharing<'f> {
    function: &'f Function,
    /// Counts the writes so far.
    age: u32,
    /// Of a load in this block or around it: its result, and how old memory was.
    known: FxHashMap<Key, (ValueId, u32)>,
    replaced: ValueMap,
}

impl Sharing<'_> {
    fn block(&mut self, block: BlockId) {
        let function = self.function;
        let mut before: Vec<(Key, Option<(ValueId, u32)>)> = Vec::new();
        for &id in &function.block(block).ops {
            let op = function.op(id);
            // The first trip finds memory as it was, the second as the first has left it; and who waits in a `while` waits for others.
            if matches!(op.kind, OpKind::While { .. }) || matches!(op.kind, OpKind::For(_)) && may_write(function, id) {
                self.age += 1;
            }
            for &region in &op.regions {
                self.block(region);
            }
            match op.kind {
                OpKind::Load(attrs) if is_plain(attrs) => {
                    let operands = op.operands.iter().map(|v| *self.replaced.get(v).unwrap_or(v)).collect();
                    let key = (attrs, operands);
                    match self.known.get(&key) {
                        Some(&(value, age)) if age == self.age && function.ty(value) == function.ty(op.results[0]) => {
                            self.replaced.insert(op.results[0], value);
                        }
                        _ => {
                            let old = self.known.insert(key.clone(), (op.results[0], self.age));
                            before.push((key, old));
                        }
                    }
                }
                _ if op.regions.is_empty() && may_write(function, id) => self.age += 1,
                _ => {}
            }
        }
        // What this block has read is nobody's business outside of it.
        for (key, old) in before.into_iter().rev() {
            match old {
                Some(old) => self.known.insert(key, old),
                None => self.known.remove(&key),
            };
        }
    }
}

/// Loads of invariant addresses leave loops that write nothing.
fn hoist(function: &mut Function, num_warps: u32) {
    let facts = facts::of_function(function);
    let mut loops: Vec<(BlockId, OpId)> = Vec::new();
    function.walk(|block, op| {
        if matches!(function.op(op).kind, OpKind::For(_)) && !may_write(function, op) {
            loops.push((block, op));
        }
    });
    for (block, id) in loops.into_iter().rev() {
        let region = function.op(id).regions[0];
        let inside = rewrite::values_inside(function, &[region]);
        let mut moved = Vec::new();
        let mut guarded = false;
        let mut kept = Vec::new();
        for op in std::mem::take(&mut function.block_mut(region).ops) {
            let this = function.op(op);
            // What an assertion guards is not read before it.
            guarded |= matches!(this.kind, OpKind::Assert { .. });
            let leaves = matches!(this.kind, OpKind::Load(attrs) if is_plain(attrs))
                && !is_heavy(function, op, num_warps)
                && this.operands.iter().all(|v| !inside[v.index()]);
            if leaves && !guarded { moved.push(op) } else { kept.push(op) }
        }
        function.block_mut(region).ops = kept;
        if moved.is_empty() {
            continue;
        }
        let mut placed = Vec::new();
        if !surely_runs(function, &facts, id) {
            let ForOperands { lower, upper, .. } = function.op(id).for_operands();
            let origin = function.op(id).origin;
            let runs =
                function.create_op(OpKind::Compare(Predicate::LtS), &[lower, upper], [Type::scalar(Scalar::I1)], &[], origin);
            placed.push(runs);
            let runs = function.op(runs).results[0];
            for &load in &moved {
                guard(function, load, runs, &mut placed);
            }
        }
        placed.extend(moved);
        let list = &mut function.block_mut(block).ops;
        let at = list.iter().position(|&other| other == id).unwrap_or(list.len());
        list.splice(at..at, placed);
    }
}

fn surely_runs(function: &Function, facts: &Facts, id: OpId) -> bool {
    let ForOperands { lower, upper, .. } = function.op(id).for_operands();
    facts.range(lower).max < facts.range(upper).min
}

/// Masks a load off where `runs` is false; what that takes is to stand in front of it.
pub(super) fn guard(function: &mut Function, load: OpId, runs: ValueId, placed: &mut Vec<OpId>) {
    let Op { operands, results, origin, .. } = function.op(load).clone();
    let ty = function.ty(results[0]).clone();
    let mask = match ty.layout() {
        _ if ty.is_scalar() => Type::scalar(Scalar::I1),
        None => Type::tile(Elem::Scalar(Scalar::I1), ty.shape().as_slice()),
        Some(layout) => Type::tile(Elem::Scalar(Scalar::I1), ty.shape().as_slice()).with_layout(layout),
    };
    let mut all = runs;
    if !ty.is_scalar() {
        let splat = function.create_op(OpKind::Splat, &[runs], [mask.clone()], &[], origin);
        placed.push(splat);
        all = function.op(splat).results[0];
    }
    if let Some(&own) = operands.get(1) {
        let both = function.create_op(OpKind::Binary(BinaryOp::And), &[own, all], [mask], &[], origin);
        placed.push(both);
        all = function.op(both).results[0];
    }
    match function.op_mut(load).operands.get_mut(1) {
        Some(own) => *own = all,
        None => function.op_mut(load).operands.push(all),
    }
}
