//! A loop's `wgmma` runs on while the next trip waits for its data: it is waited for one trip later.
//!
//! The accumulator is carried unfinished around the loop and finished behind it. A loop's only multiplication accumulates into it directly,
//! and is waited for when the next one is under way. The last of several runs on if the trip touches its accumulator only behind the first
//! one's wait, which finishes both: in attention, the second product runs while the next trip waits for its keys.
//!
//! What a multiplication reads must stay until then: a buffer that is filled once does; a ring's slot does if the trip after its own writes
//! another one, so a ring has a slot to spare; or if that trip has the tensor memory accelerator write it behind the wait for this multiplication,
//! which takes no more than one thread. Registers that it reads are ptxas's to keep.
//!
//! **Invariant:** at most two multiplications are under way, and nothing touches the accumulator of one that is; the slot that a trip writes was read by a
//! multiplication that this trip or the one before has waited for.

use tritium_tile::{
    Function, Module, OpId, OpKind, Type, ValueDef, ValueId,
    control::ForLoop,
    ops::{BinaryOp, Predicate},
    rewrite::{self, ValueMap},
};

use super::{CompileOptions, Fact, Pass, Unsupported, pipeline_loops::schedule::constant};
use crate::scratch;

pub static PASS: Pass = Pass {
    name: "overlap_wgmma",
    summary: "Let a loop's warpgroup multiplication run into the next trip.",
    needs: &[Fact::HasLayouts],
    gives: &[],
    run,
};

/// A multiplication that may run on: its wait, and which of the loop's carried values it accumulates into.
struct Relaxed {
    wait: OpId,
    owner: OpId,
    carried: usize,
    /// The wait of another multiplication that finishes it on the next trip; without one it is waited for behind the next.
    finisher: Option<OpId>,
    /// Copies of the trip into slots that it has read, which go behind its wait.
    late: Vec<OpId>,
}

fn run(module: &mut Module, _options: &CompileOptions) -> Result<(), Unsupported> {
    let function = module.entry();
    let mut loops = Vec::new();
    function.walk(|_, id| {
        if matches!(function.op(id).kind, OpKind::For(_)) {
            loops.push(id);
        }
    });
    let relaxed: Vec<Relaxed> = loops.into_iter().filter_map(|id| of_loop(module, function, id)).collect();
    if relaxed.is_empty() {
        return Ok(());
    }
    let function = &mut module.functions[0];
    for Relaxed { wait, owner, carried, finisher, late } in relaxed {
        let origin = function.op(wait).origin;
        match finisher {
            None => {
                function.op_mut(wait).kind = OpKind::WgmmaWait { pending: 1 };
                for copy in late.into_iter().rev() {
                    rewrite::detach(function, copy);
                    rewrite::insert_after(function, wait, copy);
                }
            }
            Some(finisher) => {
                let (unfinished, finished) = (function.op(wait).operands[0], function.op(wait).results[0]);
                rewrite::replace_all_uses(function, finished, unfinished);
                rewrite::detach(function, wait);
                let block = function.op(owner).regions[0];
                let accumulator = function.block(block).for_args().carried[carried];
                let old = function.op(finisher).clone();
                let operands: Vec<ValueId> = old.operands.iter().copied().chain([accumulator]).collect();
                let types: Vec<Type> = operands.iter().map(|&v| function.ty(v).clone()).collect();
                let both = function.create_op(old.kind, &operands, types, &[], old.origin);
                let results = function.op(both).results.clone();
                let mut map: ValueMap = old.results.iter().copied().zip(results.iter().copied()).collect();
                map.extend(results.last().map(|&last| (accumulator, last)));
                rewrite::replace_uses(function, &map);
                function.op_mut(both).operands = operands.into_iter().collect();
                rewrite::insert_before(function, finisher, both);
                rewrite::detach(function, finisher);
            }
        }
        let result = function.op(owner).results[carried];
        let ty = function.ty(result).clone();
        let finish = function.create_op(OpKind::WgmmaWait { pending: 0 }, &[result], [ty], &[], origin);
        let finished = function.op(finish).results[0];
        let mut map = ValueMap::default();
        map.insert(result, finished);
        rewrite::replace_uses(function, &map);
        function.op_mut(finish).operands = [result].into_iter().collect();
        rewrite::insert_after(function, owner, finish);
    }
    rewrite::compact(function);
    Ok(())
}

fn of_loop(module: &Module, function: &Function, owner: OpId) -> Option<Relaxed> {
    let around = function.for_loop(owner)?;
    let body = function.block(around.body);
    let mut multiplications = Vec::new();
    for &id in &body.ops {
        match function.op(id).kind {
            OpKind::Wgmma { .. } => multiplications.push(id),
            // Behind a branch or in a loop, which one is under way is no longer plain.
            ref kind if kind.is_control() => return None,
            _ => {}
        }
    }
    let multiply = *multiplications.last()?;
    let users = rewrite::users(function);
    let sole = |v: ValueId| match &users[v.index()][..] {
        &[user] => Some(user),
        _ => None,
    };
    let wait_of = |multiply: OpId| {
        let wait = sole(function.op(multiply).results[0])?;
        let plain = function.op(wait).kind == (OpKind::WgmmaWait { pending: 0 }) && function.op(wait).operands.len() == 1;
        plain.then_some(wait)
    };
    let wgmma = function.op(multiply);
    let wait = wait_of(multiply)?;
    let end = *body.ops.last()?;
    let finished = *function.op(wait).results.first()?;
    let carried = around.next.iter().position(|&v| v == finished)?;
    let accumulator = *around.args.get(carried)?;
    // Accumulators of f16 are carried one by one and packed on each trip, which the multiplication would have to be waited for.
    if function.ty(finished).elem().bits() < 32 {
        return None;
    }
    if sole(finished)? != end || around.next.iter().filter(|&&v| v == finished).count() != 1 {
        return None;
    }
    let finisher = match &multiplications[..] {
        [_] if wgmma.operands[2] == accumulator && sole(accumulator)? == multiply => None,
        [] | [_] => return None,
        [first, ..] => {
            let finisher = wait_of(*first)?;
            let at = body.ops.iter().position(|&id| id == finisher)?;
            let behind = |user: &OpId| body.ops[at + 1..].contains(user);
            if !users[accumulator.index()].iter().all(behind) {
                return None;
            }
            Some(finisher)
        }
    };
    let buffers = wgmma.operands[..2].iter().filter(|&&v| function.ty(v).is_buffer());
    // With one multiplication, the accumulator is an operand of the next: registers of the left operand would be carried beside it.
    let registers = !function.ty(wgmma.operands[0]).is_buffer();
    if registers && finisher.is_none() {
        return None;
    }
    let mut late = Vec::new();
    for &buffer in buffers {
        late.extend(stays(module, function, around, buffer)?);
    }
    // In the order of the trip.
    let at = |id: &OpId| body.ops.iter().position(|other| other == id);
    late.sort_by_key(at);
    late.dedup();
    (late.is_empty() || finisher.is_none()).then_some(Relaxed { wait, owner, carried, finisher, late })
}

/// The copies that must go behind the next wait so that what a buffer holds is still there one trip later; `None` if that does not do.
fn stays(module: &Module, function: &Function, around: ForLoop<'_>, buffer: ValueId) -> Option<Vec<OpId>> {
    let def = function.def_op(buffer)?;
    let op = function.op(def);
    if matches!(op.kind, OpKind::LocalAlloc) {
        // Filled in front of the loop and not again.
        let mut written = function.block(around.body).ops.contains(&def) || op.operands.is_empty();
        function.walk(|_, id| {
            let other = function.op(id);
            written |= scratch::written_buffer(other) == Some(buffer);
        });
        return (!written).then(Vec::new);
    }
    let (OpKind::LocalIndex, &[ring, slot]) = (&op.kind, &op.operands[..]) else { return None };
    let slots = module.layouts.ring_slots(function.ty(ring))?;
    let read = Cursor::of(function, around, slot, slots)?;
    // Everything that writes the ring inside the loop writes far enough away, or late enough.
    let mut late = Vec::new();
    for &id in &function.block(around.body).ops {
        let other = function.op(id);
        let writes = scratch::written_buffer(other).filter(|&v| scratch::buffer_of(function, v) == ring);
        let Some(written) = writes else { continue };
        let index = function.def_op(written).map(|op| function.op(op)).filter(|op| matches!(op.kind, OpKind::LocalIndex));
        let write = index.and_then(|op| Cursor::of(function, around, op.operands[1], slots))?;
        // The slot written on a trip is read `ahead` trips later, and was read `slots - ahead` trips before.
        match (write.first + slots - read.first) % slots {
            0 => return None,
            ahead if slots - ahead >= 2 => {}
            _ if matches!(other.kind, OpKind::TmaLoad { .. }) => late.push(id),
            _ => return None,
        }
    }
    Some(late)
}

/// A number that a loop counts up by one a trip, around a ring.
struct Cursor {
    first: u32,
}

impl Cursor {
    /// It counts itself, or is on each trip what another that does so was on the trip before.
    fn of(function: &Function, around: ForLoop<'_>, value: ValueId, slots: u32) -> Option<Cursor> {
        Cursor::counting(function, around, value, slots).or_else(|| {
            let (first, next) = Cursor::carried(function, around, value, slots)?;
            let other = Cursor::counting(function, around, next, slots)?;
            ((first + 1) % slots == other.first).then_some(Cursor { first })
        })
    }

    /// Its number on the first trip, and what it is on the next.
    fn carried(function: &Function, around: ForLoop<'_>, value: ValueId, slots: u32) -> Option<(u32, ValueId)> {
        let ValueDef::Argument(at, index) = function.value(value).def else { return None };
        let carried = around.of_argument(index).filter(|_| at == around.body)?;
        let first = u32::try_from(constant(function, carried.init)?).ok().filter(|&first| first < slots)?;
        Some((first, carried.next))
    }

    fn counting(function: &Function, around: ForLoop<'_>, value: ValueId, slots: u32) -> Option<Cursor> {
        let (first, next) = Cursor::carried(function, around, value, slots)?;
        let int = |value: ValueId| constant(function, value);
        // next = value + 1 < slots ? value + 1 : 0
        let select = function.op(function.def_op(next)?);
        let (OpKind::Select, &[more, next, zero]) = (&select.kind, &select.operands[..]) else { return None };
        let compare = function.op(function.def_op(more)?);
        let add = function.op(function.def_op(next)?);
        let counts = matches!(compare.kind, OpKind::Compare(Predicate::LtS))
            && compare.operands[0] == next
            && int(compare.operands[1]) == Some(i64::from(slots))
            && matches!(add.kind, OpKind::Binary(BinaryOp::AddI))
            && add.operands[0] == value
            && int(add.operands[1]) == Some(1)
            && int(zero) == Some(0);
        counts.then_some(Cursor { first })
    }
}
