//! Builds a loop after its schedule.
//!
//! Every stage but the last is a strand of its own: the loads of that stage, what they are computed from, and its own copies of the carried
//! values that this takes, advanced as many trips as the stage is ahead. A strand of a trip that does not come runs masked off.
//!
//! In front of the loop stand the strands of the first trips; in the loop, a trip waits for its data, runs the strands of later trips, and
//! then what the loop did before, reading from the rings. Behind it nothing is left over but a wait: copies that were masked off still
//! write zeros. A large tile is read from its ring where it is used rather than where it was loaded, if a product comes first, or an exchange where
//! registers are short: it stays there until the trip has ended.

use rustc_hash::FxHashMap;
use tritium_semantics::occupancy::registers_of_thread;
use tritium_tile::{
    Function, Module, OpId, OpKind, Origin, Scalar, Type, ValueId,
    control::{ForArgs, ForOperands},
    layout::{LayoutTable, tma},
    ops::{AsyncCopyAttrs, BinaryOp, CastOp, Constant, Predicate},
    rewrite::{self, ValueMap},
    scratch,
    types::Shape,
};

use super::{
    super::{CompileOptions, use_wgmma},
    schedule::{Carried, Fetch, Schedule, Slice, Turn, constant, slice},
    window::Window,
};
use crate::pressure::registers_in_layout;

/// False if the loop is not as its schedule takes it to be; then nothing has changed.
pub(super) fn expand(module: &mut Module, schedule: &Schedule, options: &CompileOptions) -> bool {
    let Module { functions, layouts, .. } = module;
    let function = &mut functions[0];
    let Some((parent, _)) = rewrite::position(function, schedule.op) else { return false };
    let source = function.op(schedule.op).clone();
    let (OpKind::For(mut attrs), &[region]) = (source.kind.clone(), &source.regions[..]) else { return false };
    let mut strands = Vec::new();
    for stage in 0..schedule.stages - 1 {
        let fetches: Vec<Fetch> = schedule.fetches.iter().copied().filter(|f| f.stage == stage).collect();
        let roots = |f: &Fetch| match schedule.windows.get(&f.load).filter(|_| f.ring.is_some()) {
            Some(window) => window.roots(),
            None => function.op(f.load).operands.to_vec(),
        };
        let roots: Vec<ValueId> = fetches.iter().flat_map(roots).collect();
        let Some(slice) = slice(function, region, &roots) else { return false };
        strands.push(Strand { stage, fetches, slice });
    }
    let body = function.block(region).clone();
    let args = body.for_args();
    let Some((&last, old_ops)) = body.ops.split_last() else { return false };
    let yielded = function.op(last).operands.to_vec();
    let old = OldBody { args, yielded: &yielded };
    let last_origin = function.op(last).origin;
    let bounds = source.for_operands();

    let mut expander = Expander {
        function,
        layouts,
        out: Vec::new(),
        origin: source.origin,
        rings: FxHashMap::default(),
        windows: &schedule.windows,
        mbarriers: None,
    };
    let e = &mut expander;

    let slot_count = schedule.given + u32::from(schedule.spare);
    // In front of the loop.
    for fetch in &schedule.fetches {
        if let Some(layout) = fetch.ring {
            let ty = e.function.ty(e.function.op(fetch.load).results[0]).clone();
            let mut shape: Shape = [slot_count].into_iter().collect();
            shape.extend(ty.shape().iter().copied());
            let Some(elem) = ty.elem().scalar() else { return false };
            e.origin = e.function.op(fetch.load).origin;
            let ring = e.value(OpKind::LocalAlloc, &[], Type::Shared { elem, shape, layout });
            e.rings.insert(fetch.load, ring);
        }
    }
    e.origin = source.origin;
    let blocks = schedule.windows.len() as u32;
    // Each copy is a group of its own.
    let copies = schedule.fetches.iter().filter(|f| f.ring.is_some() && !schedule.windows.contains_key(&f.load)).count() as u32;
    if blocks > 0 {
        e.make_mbarriers(slot_count, blocks);
    }
    let ring_stage = schedule.ring_stage();
    let ahead = |stage: u32| schedule.stages - 1 - stage;
    let mut states: Vec<Vec<ValueId>> =
        strands.iter().map(|s| s.slice.carried.iter().map(|&index| bounds.init[index]).collect()).collect();
    let mut carried = Carried::default();
    for time in 0..schedule.stages - 1 {
        // Later stages first: they take what earlier ones gave at the time before.
        for (strand, state) in strands.iter().zip(&mut states).rev().filter(|(s, _)| s.stage <= time && !s.is_empty()) {
            let trip = time - strand.stage;
            let counter = e.ahead(bounds.lower, bounds.step, trip);
            let bound = e.bound(&bounds, trip);
            let comes = e.compare(Predicate::LtS, bounds.lower, bound);
            let slot = e.int(i64::from(trip), Scalar::I32);
            e.strand(strand, old, Trip { counter, comes, slot }, state, &mut carried);
        }
    }
    let distances: Vec<(ValueId, ValueId)> =
        strands.iter().map(|s| (e.bound(&bounds, ahead(s.stage)), e.multiple(bounds.step, ahead(s.stage)))).collect();
    let slots = ring_stage.map(|_| (e.int(i64::from(schedule.given) - 1, Scalar::I32), e.int(0, Scalar::I32)));
    let parity = e.mbarriers.map(|_| e.int(0, Scalar::I32));
    let before = std::mem::take(&mut e.out);

    // The loop.
    let block = e.function.add_block();
    let arg = |e: &mut Expander<'_>, like: ValueId| {
        let ty = e.function.ty(like).clone();
        e.function.add_block_arg(block, ty)
    };
    let mut map = ValueMap::default();
    let counter = arg(e, args.induction);
    map.insert(args.induction, counter);
    let mut initial = bounds.init.to_vec();
    for &old in args.carried {
        let new = arg(e, old);
        map.insert(old, new);
    }
    for state in &mut states {
        for value in state {
            initial.push(*value);
            *value = arg(e, *value);
        }
    }
    let mut keys: Vec<(OpId, u32)> = carried.keys().copied().collect();
    keys.sort_unstable();
    for key in &keys {
        let value = carried[key];
        initial.push(value);
        let new = arg(e, value);
        carried.insert(*key, new);
    }
    let slots = slots.map(|(write, read)| {
        initial.extend([write, read]);
        (arg(e, write), arg(e, read))
    });

    let parity = parity.map(|parity| {
        initial.push(parity);
        arg(e, parity)
    });
    if let Some(stage) = ring_stage.filter(|_| copies > 0) {
        e.effect(OpKind::AsyncWait { pending: (ahead(stage) - 1) * copies }, &[]);
    }
    if let (Some((_, read)), Some(parity)) = (slots, parity)
        && let Some(mbarrier) = e.mbarrier(read)
    {
        e.effect(OpKind::MbarrierWait, &[mbarrier, parity]);
    }
    let arrived: FxHashMap<OpId, ValueId> = schedule
        .fetches
        .iter()
        .filter(|f| f.ring.is_none())
        .filter_map(|f| Some((f.load, *carried.get(&(f.load, schedule.stages - 2))?)))
        .collect();
    let slot = slots.map_or(counter, |(write, _)| write);
    for (strand, state) in strands.iter().zip(&mut states).rev().filter(|(s, _)| !s.is_empty()) {
        let (bound, distance) = distances[strand.stage as usize];
        let ty = e.function.ty(counter).clone();
        let later = e.value(OpKind::Binary(BinaryOp::AddI), &[counter, distance], ty);
        let comes = e.compare(Predicate::LtS, counter, bound);
        e.strand(strand, old, Trip { counter: later, comes, slot }, state, &mut carried);
    }
    let mut results: Vec<ValueId> = Vec::new();
    let mut views: Vec<(OpId, ValueId)> = Vec::new();
    if let Some((write, read)) = slots {
        let next = e.next_slot(read, slot_count);
        // The buffer read on this trip is filled again on the next, or, with one to spare, on the one after that.
        results = vec![if schedule.spare { e.next_slot(write, slot_count) } else { read }, next];
        // Around the ring, every mbarrier is in its other phase.
        results.extend(parity.map(|parity| e.next_parity(parity, next)));
        for fetch in schedule.fetches.iter().filter(|f| f.ring.is_some()) {
            e.origin = e.function.op(fetch.load).origin;
            let ring = e.rings[&fetch.load];
            if let Some(ty) = e.function.ty(ring).slot() {
                let view = e.value(OpKind::LocalIndex, &[ring, read], ty);
                views.push((fetch.load, view));
            }
        }
    }
    // What is loaded into registers for a later trip waits neither for copies nor for stores of this one; addresses are made of registers alone.
    let trip = std::mem::take(&mut e.out);
    let (mut ops, trip) = split_loads(e.function, trip);
    // What the trip stores of the trip before it waits for no data of its own.
    let first_read = old_ops.iter().position(|id| e.rings.contains_key(id)).unwrap_or(0);
    let stores_before = old_ops[..first_read].iter().any(|&id| matches!(e.function.op(id).kind, OpKind::Store(_)));
    let (early, late) = old_ops.split_at(if stores_before { first_read } else { 0 });
    ops.extend(early.iter().copied().chain(trip).chain(late.iter().copied()));
    let mut passed: Vec<ValueId> = yielded.clone();
    passed.extend(states.iter().flatten());
    passed.extend(keys.iter().map(|key| carried[key]));
    passed.extend(results);
    let end = e.function.create_op(OpKind::Yield, &passed, [], &[], last_origin);
    ops.push(end);
    e.function.block_mut(block).ops = ops;
    if !attrs.apart {
        attrs.num_stages = Some(schedule.wanted);
        attrs.stages = Some(schedule.given);
    }
    let types: Vec<Type> = initial.iter().map(|&v| e.function.ty(v).clone()).collect();
    let operands = [&bounds.bounds()[..], &initial].concat();
    let new = e.function.create_op(OpKind::For(attrs), &operands, types, &[block], source.origin);
    for (&old, &new) in source.results.iter().zip(&e.function.op(new).results) {
        map.insert(old, new);
    }
    // Behind the loop.
    e.origin = source.origin;
    if copies > 0 {
        e.effect(OpKind::AsyncWait { pending: 0 }, &[]);
    }
    if let Some(mbarriers) = e.mbarriers {
        e.effect(OpKind::MbarrierInvalidate, &[mbarriers]);
    }
    let after = std::mem::take(&mut e.out);
    let Expander { function, layouts, .. } = expander;
    let list = &mut function.block_mut(parent).ops;
    if let Some(at) = list.iter().position(|&op| op == schedule.op) {
        list.splice(at..=at, before.into_iter().chain([new]).chain(after));
    }
    for (load, value) in arrived {
        // Its own place in the loop is empty now: the trip before has it.
        map.insert(function.op(load).results[0], value);
        rewrite::detach(function, load);
    }
    rewrite::replace_uses(function, &map);
    for &(load, view) in &views {
        read_from(function, layouts, load, view);
    }
    drop_dead_carried(function, new);
    // What filled the buffers that the rings replace uses the tiles no longer.
    rewrite::erase_dead(function);
    let views: Vec<ValueId> = views.into_iter().map(|(_, view)| view).collect();
    let late = reads_late(module, new, &views, options);
    module.functions[0].block_mut(block).ops = late;
    true
}

struct Strand {
    stage: u32,
    fetches: Vec<Fetch>,
    slice: Slice,
}

impl Strand {
    fn is_empty(&self) -> bool {
        self.fetches.is_empty()
    }
}

/// The body of the loop as it was: what it is given, and what it passes on.
#[derive(Clone, Copy)]
struct OldBody<'b> {
    args: ForArgs<'b>,
    yielded: &'b [ValueId],
}

/// The trip that a strand runs for: its induction variable, whether it comes, and the slot of the rings that it fills.
#[derive(Clone, Copy)]
struct Trip {
    counter: ValueId,
    comes: ValueId,
    slot: ValueId,
}

struct Expander<'m> {
    function: &'m mut Function,
    layouts: &'m mut LayoutTable,
    /// Where the next operation goes; placed by the caller.
    out: Vec<OpId>,
    origin: Origin,
    /// By load.
    rings: FxHashMap<OpId, ValueId>,
    windows: &'m FxHashMap<OpId, Window>,
    /// One for each slot of the rings, if the tensor memory accelerator fills one.
    mbarriers: Option<ValueId>,
}

impl Expander<'_> {
    fn effect(&mut self, kind: OpKind, operands: &[ValueId]) {
        let op = self.function.create_op(kind, operands, [], &[], self.origin);
        self.out.push(op);
    }

    fn value(&mut self, kind: OpKind, operands: &[ValueId], ty: Type) -> ValueId {
        let op = self.function.create_op(kind, operands, [ty], &[], self.origin);
        self.out.push(op);
        self.function.op(op).results[0]
    }

    fn int(&mut self, value: i64, scalar: Scalar) -> ValueId {
        self.value(OpKind::Constant(Constant::Int(value)), &[], Type::scalar(scalar))
    }

    fn compare(&mut self, predicate: Predicate, a: ValueId, b: ValueId) -> ValueId {
        self.value(OpKind::Compare(predicate), &[a, b], Type::scalar(Scalar::I1))
    }

    /// Mbarriers that `blocks` copies arrive at, in front of the loop. What this thread has written where the blocks will be is fenced.
    fn make_mbarriers(&mut self, slots: u32, blocks: u32) {
        let ty = tma::mbarriers(self.layouts, slots);
        let ring = self.value(OpKind::LocalAlloc, &[], ty);
        self.effect(OpKind::MbarrierInit { count: blocks }, &[ring]);
        self.effect(OpKind::FenceAsync, &[]);
        self.mbarriers = Some(ring);
    }

    fn mbarrier(&mut self, slot: ValueId) -> Option<ValueId> {
        let ring = self.mbarriers?;
        let ty = self.function.ty(ring).slot()?;
        Some(self.value(OpKind::LocalIndex, &[ring, slot], ty))
    }

    fn next_parity(&mut self, parity: ValueId, next: ValueId) -> ValueId {
        let zero = self.int(0, Scalar::I32);
        let one = self.int(1, Scalar::I32);
        let scalar = Type::scalar(Scalar::I32);
        let around = self.compare(Predicate::Eq, next, zero);
        let other = self.value(OpKind::Binary(BinaryOp::Xor), &[parity, one], scalar.clone());
        self.value(OpKind::Select, &[around, other, parity], scalar)
    }

    /// The copy of a window of a trip into a buffer.
    fn block(&mut self, window: &Window, map: &ValueMap, buffer: ValueId, slot: ValueId, comes: ValueId) -> Option<()> {
        let mbarrier = self.mbarrier(slot)?;
        let mut operands = window.operands(|value| *map.get(&value).unwrap_or(&value), |number, scalar| self.int(number, scalar));
        operands.extend([buffer, mbarrier, comes]);
        self.effect(OpKind::TmaLoad { contiguous: window.contiguous, own_map: window.own_map }, &operands);
        Some(())
    }

    fn next_slot(&mut self, slot: ValueId, count: u32) -> ValueId {
        let one = self.int(1, Scalar::I32);
        let zero = self.int(0, Scalar::I32);
        let count = self.int(i64::from(count), Scalar::I32);
        let scalar = Type::scalar(Scalar::I32);
        let next = self.value(OpKind::Binary(BinaryOp::AddI), &[slot, one], scalar.clone());
        let more = self.compare(Predicate::LtS, next, count);
        self.value(OpKind::Select, &[more, next, zero], scalar)
    }

    fn scalar_of(&self, value: ValueId) -> Scalar {
        self.function.ty(value).elem().scalar().unwrap_or(Scalar::I32)
    }

    /// `step · trips`; it may wrap where no trip is so far ahead.
    fn multiple(&mut self, step: ValueId, trips: u32) -> ValueId {
        let scalar = self.scalar_of(step);
        if let Some(step) = constant(self.function, step) {
            return self.int(step.wrapping_mul(i64::from(trips)), scalar);
        }
        let trips = self.int(i64::from(trips), scalar);
        self.value(OpKind::Binary(BinaryOp::MulI), &[step, trips], Type::scalar(scalar))
    }

    fn ahead(&mut self, counter: ValueId, step: ValueId, trips: u32) -> ValueId {
        if trips == 0 {
            return counter;
        }
        let ty = self.function.ty(counter).clone();
        let distance = self.multiple(step, trips);
        self.value(OpKind::Binary(BinaryOp::AddI), &[counter, distance], ty)
    }

    /// The number that a counter is below when there is a trip so many ahead of its own: `upper - trips · step`, computed so that
    /// nothing wraps.
    fn bound(&mut self, bounds: &ForOperands<'_>, trips: u32) -> ValueId {
        if trips == 0 {
            return bounds.upper;
        }
        let scalar = self.scalar_of(bounds.upper);
        let least = |bits: u32| -1i64 << (bits - 1);
        let binary = |e: &mut Self, op, a, b, scalar| e.value(OpKind::Binary(op), &[a, b], Type::scalar(scalar));
        if scalar.bits() == 64 {
            // The schedule asks for a known step here.
            let distance = constant(self.function, bounds.step).unwrap_or(0).saturating_mul(i64::from(trips));
            let lowest = self.int(least(64).saturating_add(distance), scalar);
            let upper = binary(self, BinaryOp::MaxS, bounds.upper, lowest, scalar);
            let distance = self.int(distance, scalar);
            return binary(self, BinaryOp::SubI, upper, distance, scalar);
        }
        let wide = |e: &mut Self, v| e.value(OpKind::Cast(CastOp::ExtS), &[v], Type::scalar(Scalar::I64));
        let (upper, step) = (wide(self, bounds.upper), wide(self, bounds.step));
        let trips = self.int(i64::from(trips), Scalar::I64);
        let distance = binary(self, BinaryOp::MulI, step, trips, Scalar::I64);
        let bound = binary(self, BinaryOp::SubI, upper, distance, Scalar::I64);
        let lowest = self.int(least(scalar.bits()), Scalar::I64);
        let bound = binary(self, BinaryOp::MaxS, bound, lowest, Scalar::I64);
        self.value(OpKind::Cast(CastOp::Trunc), &[bound], Type::scalar(scalar))
    }

    /// `value` in every element of a tile shaped and laid out like `like`.
    fn spread(&mut self, value: ValueId, like: &Type) -> ValueId {
        let elem = self.function.ty(value).elem();
        if like.is_scalar() { value } else { self.value(OpKind::Splat, &[value], like.with_elem(elem)) }
    }

    /// One trip of a strand: `state` are its carried values and advances, `carried` is what the loads into registers gave on the trip
    /// before and gives what they give on this one.
    fn strand(
        &mut self,
        strand: &Strand,
        old: OldBody<'_>,
        Trip { counter, comes, slot }: Trip,
        state: &mut [ValueId],
        carried: &mut Carried,
    ) {
        let mut map = ValueMap::default();
        map.insert(old.args.induction, counter);
        for (&index, &value) in strand.slice.carried.iter().zip(state.iter()) {
            map.insert(old.args.carried[index], value);
        }
        for &load in &strand.slice.loads {
            if let Some(&value) = strand.stage.checked_sub(1).and_then(|stage| carried.get(&(load, stage))) {
                map.insert(self.function.op(load).results[0], value);
            }
        }
        for &op in &strand.slice.ops {
            let copy = rewrite::clone_op(self.function, op, &mut map);
            self.origin = self.function.op(copy).origin;
            self.tame(copy, comes);
            self.out.push(copy);
        }
        for (&index, value) in strand.slice.carried.iter().zip(state) {
            let next = old.yielded[index];
            *value = *map.get(&next).unwrap_or(&next);
        }
        for fetch in &strand.fetches {
            let load = self.function.op(fetch.load).clone();
            self.origin = load.origin;
            let OpKind::Load(attrs) = load.kind else { continue };
            let window = self.windows.get(&fetch.load).filter(|_| fetch.ring.is_some());
            if let (Some(window), Some(&ring)) = (window, self.rings.get(&fetch.load)) {
                let Some(ty) = self.function.ty(ring).slot() else { continue };
                let buffer = self.value(OpKind::LocalIndex, &[ring, slot], ty);
                self.block(window, &map, buffer, slot, comes);
                continue;
            }
            let mut operands: Vec<ValueId> = load.operands.iter().map(|v| *map.get(v).unwrap_or(v)).collect();
            let pointer = self.function.ty(operands[0]).clone();
            let mut mask = self.spread(comes, &pointer);
            if let Some(&own) = operands.get(1) {
                // Not `and`: of a trip that does not come, the mask may be anything.
                let ty = self.function.ty(own).clone();
                let never = self.value(OpKind::Constant(Constant::Int(0)), &[], ty.clone());
                mask = self.value(OpKind::Select, &[mask, own, never], ty);
                operands[1] = mask;
            } else {
                operands.push(mask);
            }
            match self.rings.get(&fetch.load).copied().filter(|_| fetch.ring.is_some()) {
                Some(ring) => {
                    let Some(ty) = self.function.ty(ring).slot() else { continue };
                    let buffer = self.value(OpKind::LocalIndex, &[ring, slot], ty);
                    let attrs = AsyncCopyAttrs { vector: attrs.vector, cache: attrs.cache, eviction: attrs.eviction };
                    self.effect(OpKind::AsyncCopy(attrs), &[operands[0], buffer, mask]);
                    self.effect(OpKind::AsyncCommit, &[]);
                }
                None => {
                    let ty = self.function.ty(load.results[0]).clone();
                    let value = self.value(OpKind::Load(attrs), &operands, ty);
                    carried.insert((fetch.load, fetch.stage), value);
                }
            }
        }
    }

    /// Division is the one arithmetic that must not be given anything: of a trip that does not come, it divides by 1.
    fn tame(&mut self, op: OpId, comes: ValueId) {
        let division = match self.function.op(op).kind {
            OpKind::Binary(BinaryOp::DivS | BinaryOp::DivU | BinaryOp::RemS | BinaryOp::RemU) => self.function.op(op).operands[1],
            _ => return,
        };
        if self.never_zero(division) {
            return;
        }
        let ty = self.function.ty(division).clone();
        let condition = self.spread(comes, &ty);
        let one = self.value(OpKind::Constant(Constant::Int(1)), &[], ty.clone());
        let divisor = self.value(OpKind::Select, &[condition, division, one], ty);
        self.function.op_mut(op).operands[1] = divisor;
    }

    fn never_zero(&self, value: ValueId) -> bool {
        let Some(op) = self.function.def_op(value).map(|op| self.function.op(op)) else { return false };
        match op.kind {
            OpKind::Constant(Constant::Int(value)) => value > 0,
            OpKind::Splat | OpKind::Broadcast => self.never_zero(op.operands[0]),
            _ => false,
        }
    }
}

/// The loads among operations that follow one another, with what they are computed from, and the others.
fn split_loads(function: &Function, ops: Vec<OpId>) -> (Vec<OpId>, Vec<OpId>) {
    let mut wanted = vec![false; function.values.len()];
    let mut first = vec![false; function.ops.len()];
    for &id in ops.iter().rev() {
        let op = function.op(id);
        if matches!(op.kind, OpKind::Load(_)) || op.results.iter().any(|result| wanted[result.index()]) {
            first[id.index()] = true;
            op.operands.iter().for_each(|operand| wanted[operand.index()] = true);
        }
    }
    ops.into_iter().partition(|id| first[id.index()])
}

/// What a load gave is read from a buffer: directly, where the reader would have filled an equal one first.
fn read_from(function: &mut Function, layouts: &mut LayoutTable, load: OpId, view: ValueId) {
    let result = function.op(load).results[0];
    let users = rewrite::users(function);
    let mut ways: Vec<(ValueId, Vec<OpId>)> = vec![(result, Vec::new())];
    while let Some((value, way)) = ways.pop() {
        for &user in &users[value.index()] {
            let op = function.op(user);
            if Turn::of(&op.kind).is_some() {
                let mut further = way.clone();
                further.push(user);
                ways.push((op.results[0], further));
            } else if matches!(op.kind, OpKind::ConvertLayout) && way.is_empty() {
                // A buffer is read in any layout.
                let convert = function.op_mut(user);
                convert.kind = OpKind::LocalLoad;
                convert.operands = [view].into_iter().collect();
            } else if matches!(op.kind, OpKind::LocalAlloc) {
                let buffer = op.results[0];
                if way.is_empty() && function.ty(buffer) == function.ty(view) {
                    rewrite::replace_all_uses(function, buffer, view);
                } else {
                    for &reader in &users[buffer.index()] {
                        if matches!(function.op(reader).kind, OpKind::LocalLoad) {
                            read_turned(function, layouts, reader, &way, view);
                        }
                    }
                }
            }
        }
    }
    // Whoever wants it as it was loaded.
    let op = function.op_mut(load);
    op.kind = OpKind::LocalLoad;
    op.operands = [view].into_iter().collect();
}

/// A read of a buffer that was filled behind the shape operations `way` becomes a read of `view` in front of them.
fn read_turned(function: &mut Function, layouts: &mut LayoutTable, reader: OpId, way: &[OpId], view: ValueId) -> Option<()> {
    let result = function.op(reader).results[0];
    // From the last operation back to the first.
    let mut types = vec![function.ty(result).clone()];
    for &op in way.iter().rev() {
        let op = function.op(op);
        let shape = function.ty(op.operands[0]).shape().clone();
        let back = Turn::of(&op.kind)?.tile_back(layouts, types.last()?, &shape)?;
        types.push(back);
    }
    let origin = function.op(reader).origin;
    let first = function.create_op(OpKind::LocalLoad, &[view], [types.pop()?], &[], origin);
    rewrite::insert_before(function, reader, first);
    let mut value = function.op(first).results[0];
    for &op in way {
        let (kind, origin) = (function.op(op).kind.clone(), function.op(op).origin);
        let turned = function.create_op(kind, &[value], [types.pop()?], &[], origin);
        rewrite::insert_before(function, reader, turned);
        value = function.op(turned).results[0];
    }
    rewrite::replace_all_uses(function, result, value);
    Some(())
}

/// 32-bit registers of a thread from which on a tile is read from its ring behind what does not take it.
const MIN_REGISTERS_LATE: u32 = 32;

/// The body of a loop with large tiles read from their rings in front of their first users where these stand behind a product: no slot that is read on
/// a trip is filled before the next one begins, and registers that hold a tile while something else is multiplied are spilled. A product that
/// warpgroups do reads shared memory itself, and a tile that is read before it is waited for is there at once. Where a trip carries and reads more
/// than a thread has registers, the same goes for what threads exchange through shared memory, which no read passes later on.
fn reads_late(module: &Module, id: OpId, views: &[ValueId], options: &CompileOptions) -> Vec<OpId> {
    let function = module.entry();
    let size = |value: ValueId| registers_in_layout(&module.layouts, function.ty(value)).unwrap_or(0);
    let users = rewrite::users(function);
    let mut list = function.block(function.op(id).regions[0]).ops.clone();
    let reads = views.iter().flat_map(|view| &users[view.index()]).copied();
    let reads: Vec<OpId> = reads.filter(|&read| matches!(function.op(read).kind, OpKind::LocalLoad)).collect();
    let read = |id: &OpId| size(function.op(*id).results[0]);
    let held = reads.iter().map(read).sum::<u32>() + function.op(id).results.iter().map(|&value| size(value)).sum::<u32>();
    let is_short = held > registers_of_thread(options.sm, options.launch.num_warps, None);
    let keeps = |&id: &OpId| match function.op(id).kind {
        OpKind::Dot { .. } => use_wgmma::grouping(function, id, options).is_none(),
        _ => is_short && scratch::bytes(module, function, id) > 0,
    };
    for &id in reads.iter().filter(|&id| read(id) >= MIN_REGISTERS_LATE) {
        let place = |op: &OpId| list.iter().position(|other| other == op);
        let places: Option<Vec<usize>> = users[function.op(id).results[0].index()].iter().map(place).collect();
        let (Some(from), Some(first)) = (place(&id), places.and_then(|places| places.into_iter().min())) else { continue };
        if list[from..first].iter().any(keeps) {
            list[from..first].rotate_left(1);
        }
    }
    list
}

/// A carried value that only makes its own next one leaves the loop.
fn drop_dead_carried(function: &mut Function, id: OpId) {
    let block = function.op(id).regions[0];
    let counts = rewrite::use_counts(function);
    let op = function.op(id).clone();
    let operands = op.for_operands();
    let body = function.block(block).clone();
    let args = body.for_args();
    let Some(&end) = body.ops.last() else { return };
    let yielded = function.op(end).operands.clone();
    let mut live = vec![false; function.values.len()];
    let mut pending: Vec<ValueId> = Vec::new();
    let mut definer = vec![None; function.values.len()];
    for &inner in &function.block(block).ops {
        for &result in &function.op(inner).results {
            definer[result.index()] = Some(inner);
        }
        if inner != end && !rewrite::is_removable(function, inner) {
            pending.extend(rewrite::read_by(function, inner));
        }
    }
    for (&result, &value) in op.results.iter().zip(&yielded) {
        if counts[result.index()] > 0 {
            pending.push(value);
        }
    }
    loop {
        while let Some(value) = pending.pop() {
            if std::mem::replace(&mut live[value.index()], true) {
                continue;
            }
            if let Some(inner) = definer[value.index()] {
                pending.extend(rewrite::read_by(function, inner));
            }
        }
        // What a live argument is on the next trip, and an argument whose result is used on the last, must be there too.
        for (k, &arg) in args.carried.iter().enumerate() {
            if live[arg.index()] && !live[yielded[k].index()] {
                pending.push(yielded[k]);
            }
        }
        if pending.is_empty() {
            break;
        }
    }
    let kept: Vec<usize> =
        (0..yielded.len()).filter(|&k| live[args.carried[k].index()] || counts[op.results[k].index()] > 0).collect();
    let new = function.op_mut(id);
    new.operands = operands.bounds().into_iter().chain(kept.iter().map(|&k| operands.init[k])).collect();
    new.results = kept.iter().map(|&k| op.results[k]).collect();
    function.op_mut(end).operands = kept.iter().map(|&k| yielded[k]).collect();
    function.block_mut(block).args = [args.induction].into_iter().chain(kept.iter().map(|&k| args.carried[k])).collect();
    // Operations that used the dropped ones are dead; they must not name what is gone.
    let dropped: Vec<ValueId> = (0..yielded.len()).filter(|k| !kept.contains(k)).map(|k| args.carried[k]).collect();
    let mut gone = vec![false; function.values.len()];
    for value in dropped {
        gone[value.index()] = true;
    }
    let ops = std::mem::take(&mut function.block_mut(block).ops);
    let mut out = Vec::with_capacity(ops.len());
    for inner in ops {
        if rewrite::read_by(function, inner).iter().any(|v| gone[v.index()]) {
            for &result in &function.op(inner).results {
                gone[result.index()] = true;
            }
        } else {
            out.push(inner);
        }
    }
    function.block_mut(block).ops = out;
}
