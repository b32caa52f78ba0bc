//! Registers of a thread under Triton's layouts: what is alive at once, by what it is, and whether a thread has as many.
//!
//! A tile takes what its layout gives a thread, pointers and indices only what does not differ by numbers, and one for all that one access
//! reaches. A load that runs ahead takes none, nor does an operand that lies in shared memory once it is there; fragments of `mma.sync` are
//! counted where they are multiplied. What a thread multiplies by itself is read as it goes, but for what a second product reads too: that stays.
//! What only passes on its way into a reduction or into what a loop carries goes through a few registers, one part after another; what nobody
//! reads takes none ([`unread`](super::unread)), nor what only the other way of an `if` does ([`branches`](super::branches)). **Invariant:** the
//! constants are in [`SHARES`] and [`WARPGROUPS`] and nowhere else, fitted to the looked-at rows of
//! `tests/data/accuracy/footprints.triton.tsv` and `spills.triton.tsv`.

use rustc_hash::{FxHashMap, FxHashSet};
use tritium_tile::{
    Function, OpId, OpKind, ValueDef, ValueId,
    layout::{Distributed, Side, algebra::shift_of},
};

use super::{
    branches::Branches,
    layouts::{Layouts, Unit},
    unread::without_unread,
};
use crate::registers::{Holds, Lives, Order, Span, is_name};

/// What takes registers, as far as ptxas treats it alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    /// A tile of numbers that something later waits for.
    Tile,
    /// One that passes.
    Passing,
    /// Fragments of `mma.sync`.
    Fragment,
    /// What a thread multiplies by itself, read as it goes.
    Factor,
    /// The same where more than one product reads it.
    Kept,
    /// Pointers and indices.
    Place,
    /// Those that are put together from fewer.
    Sum,
    Mask,
    Scalar,
}

/// How much of what each would take has a register of its own where there are too few, and how many are counted at most: beyond that many,
/// fragments and factors are read one part after another, masks are computed again, and what is one for all threads is in registers of its own.
const SHARES: [(Taken, f64, f64); 9] = [
    (Taken::Tile, 0.91, f64::INFINITY),
    (Taken::Passing, 0.17, f64::INFINITY),
    (Taken::Fragment, 0.75, 128.0),
    (Taken::Factor, 0.07, 64.0),
    (Taken::Kept, 1.03, f64::INFINITY),
    (Taken::Place, 0.64, f64::INFINITY),
    (Taken::Sum, 0.45, f64::INFINITY),
    (Taken::Mask, 1.07, 28.0),
    (Taken::Scalar, 0.89, 20.0),
];
/// What a kernel with `wgmma` takes beside: its operands and results lie in runs of registers.
const WARPGROUPS: f64 = 10.5;

/// Registers by what they count, as [`SHARES`] lists them.
type Counts = [f64; SHARES.len()];

fn index(of: Taken) -> usize {
    SHARES.iter().position(|(taken, ..)| *taken == of).unwrap_or(0)
}

fn shared_out(counts: &Counts) -> f64 {
    counts.iter().zip(SHARES).map(|(count, (_, share, most))| share * count.min(most)).sum()
}

/// The registers that a thread needs, and the op at which it needs most.
pub(super) fn needed(layouts: &mut Layouts<'_>, ahead: &FxHashSet<OpId>) -> (f64, Option<OpId>) {
    let (pruned, read) = without_unread(layouts.function);
    let function = &pruned;
    let mut encodings = layouts.homes.clone();
    for &(value, enc) in &layouts.demanded {
        encodings[value.index()].get_or_insert(enc);
    }
    for &load in ahead {
        for &result in &function.op(load).results {
            encodings[result.index()] = None;
        }
    }
    let maps = encodings.iter().zip(&function.values).map(|(enc, value)| layouts.encodings.map((*enc)?, value.ty.shape()));
    let lives = Lives { function, facts: layouts.facts, layouts: maps.collect() };
    let order = lives.order();
    let uses = lives.uses(&order);
    let places: Vec<usize> = (0..order.ops.len()).filter(|&at| waits(&function.op(order.ops[at]).kind)).collect();
    let passing = passing(function, &uses, &order);
    let sums = sums(&lives, &order, &uses);
    let branches = Branches::new(function, &order);
    let mut change: Vec<Counts> = vec![[0.0; SHARES.len()]; order.ops.len() + 2];
    let mut take = |taken: Taken, registers: f64, (from, to): (usize, usize)| {
        change[from][index(taken)] += registers;
        change[to + 1][index(taken)] -= registers;
    };
    for span in lives.spans(&order, &uses).into_iter().filter(|span| read[span.value.index()]) {
        let Span { value, from, to } = span;
        let (holds, registers) = weight(&lives, value);
        let is_scalar = function.ty(value).is_scalar();
        let carried = matches!(function.value(value).def, ValueDef::Argument(..));
        let between = places.get(places.partition_point(|&place| place < from)).is_some_and(|&place| place < to);
        let taken = match holds {
            // It is computed again wherever it is asked for.
            Holds::Mask if sums[value.index()] => continue,
            Holds::Mask => Taken::Mask,
            _ if is_scalar => Taken::Scalar,
            Holds::Address | Holds::Index if sums[value.index()] => Taken::Sum,
            Holds::Address | Holds::Index => Taken::Place,
            _ if passing[value.index()] && !carried && !between => Taken::Passing,
            Holds::Accumulator | Holds::Operand | Holds::Value | Holds::Scalar => Taken::Tile,
        };
        let to = if !is_scalar && lies_in_shared(layouts, &uses, value) { from } else { to };
        for part in branches.parts(function, &order, &uses[value.index()], &Span { value, from, to }) {
            take(taken, registers, part);
        }
    }
    let mut readers: FxHashMap<(ValueId, usize), Vec<usize>> = FxHashMap::default();
    for (at, op) in order.ops.iter().enumerate() {
        if layouts.products.get(op).is_some_and(|product| product.unit == Unit::Thread) {
            for side in 0..2 {
                readers.entry((function.op(*op).operands[side], side)).or_default().push(at);
            }
        }
    }
    for (at, &op) in order.ops.iter().enumerate() {
        if !layouts.products.contains_key(&op) {
            continue;
        }
        for (side, (taken, registers)) in operands(layouts, op).into_iter().enumerate() {
            match readers.get(&(function.op(op).operands[side], side)).map(Vec::as_slice) {
                Some(&[first, .., last]) if taken == Taken::Factor => {
                    if at == first {
                        take(Taken::Kept, registers, (first, last));
                    }
                }
                _ => take(taken, registers, (at, at)),
            }
        }
    }
    let warpgroups = layouts.products.values().any(|product| product.unit == Unit::Warpgroup);
    let (mut now, mut most, mut place) = ([0.0; SHARES.len()], 0.0, None);
    for (&op, change) in order.ops.iter().zip(&change) {
        now.iter_mut().zip(change).for_each(|(now, change)| *now += change);
        let here = shared_out(&now);
        if here > most {
            (most, place) = (here, Some(op));
        }
    }
    (most + if warpgroups { WARPGROUPS } else { 0.0 }, place)
}

/// What a value is and the registers that it takes: one pointer serves all that one access reaches.
fn weight(lives: &Lives<'_>, value: ValueId) -> (Holds, f64) {
    let (holds, registers) = lives.weight(value);
    match holds {
        Holds::Address => (holds, (registers / lives.unknown_run(value)).max(registers.min(2.0))),
        _ => (holds, registers),
    }
}

/// Of every value, whether it is a pointer, an index or a mask that is put together from what takes half as much or less, such as rows and
/// columns, and where it is used.
fn sums(lives: &Lives<'_>, order: &Order, uses: &[Vec<OpId>]) -> Vec<bool> {
    let function = lives.function;
    let around = |op: OpId| lives.loops_around(order, op).next();
    let mut sums = vec![false; function.values.len()];
    // What has to be there to make it.
    let mut costs = vec![None; function.values.len()];
    for &id in &order.ops {
        let op = function.op(id);
        let (OpKind::Binary(_) | OpKind::AddPtr | OpKind::Compare(_), &[value]) = (&op.kind, &op.results[..]) else { continue };
        let (holds, registers) = weight(lives, value);
        let is_mask = holds == Holds::Mask;
        if function.ty(value).is_scalar() || !(is_mask || matches!(holds, Holds::Address | Holds::Index)) {
            continue;
        }
        let mut parts: Vec<ValueId> = op.operands.iter().map(|&operand| named(function, operand)).collect();
        parts.sort_unstable();
        parts.dedup();
        parts.retain(|part| !function.ty(*part).is_scalar() && !is_constant(function, *part));
        let cost: f64 = parts.iter().map(|&part| costs[part.index()].unwrap_or_else(|| weight(lives, part).1)).sum();
        let (home, mut users) = (around(id), uses[value.index()].iter().filter(|user| !is_name(&function.op(**user).kind)));
        // What compares one tile with a number stays in predicates.
        if (parts.len() > 1 || !is_mask) && cost <= registers / 2.0 && users.all(|&user| around(user) == home) {
            sums[value.index()] = true;
            costs[value.index()] = Some(cost);
        }
    }
    sums
}

fn is_constant(function: &Function, value: ValueId) -> bool {
    function.def_op(value).is_some_and(|def| matches!(function.op(def).kind, OpKind::Constant(_)))
}

/// The value that this one is another name of.
fn named(function: &Function, mut value: ValueId) -> ValueId {
    while let Some(op) = function.def_op(value).map(|op| function.op(op)).filter(|op| is_name(&op.kind)) {
        value = op.operands[0];
    }
    value
}

/// All of its operands are there before any of its results is.
fn waits(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Dot { .. }
            | OpKind::Reduce { .. }
            | OpKind::Scan { .. }
            | OpKind::For(_)
            | OpKind::While
            | OpKind::Histogram
            | OpKind::Gather { .. }
            | OpKind::AtomicRmw { .. }
            | OpKind::AtomicCas { .. }
    )
}

/// Of every value, whether it ends in reductions and in what loops carry, and only elementwise operations are between.
fn passing(function: &Function, uses: &[Vec<OpId>], order: &Order) -> Vec<bool> {
    let mut passing = vec![false; function.values.len()];
    for &id in order.ops.iter().rev() {
        for &result in &function.op(id).results {
            let mut users = uses[result.index()].iter().filter(|&&user| !is_name(&function.op(user).kind)).peekable();
            passing[result.index()] = users.peek().is_some()
                && users.all(|&user| match &function.op(user).kind {
                    OpKind::Reduce { .. } | OpKind::Yield => true,
                    OpKind::AddPtr => false,
                    kind if kind.is_elementwise() => function.op(user).results.iter().all(|r| passing[r.index()]),
                    _ => false,
                });
        }
    }
    passing
}

/// Whether only `wgmma` reads a value, and from shared memory.
fn lies_in_shared(layouts: &Layouts<'_>, uses: &[Vec<OpId>], value: ValueId) -> bool {
    let function = layouts.function;
    let Some(def) = function.def_op(value) else { return false };
    let loaded = matches!(function.op(def).kind, OpKind::Load(_));
    let mut users = uses[value.index()].iter().filter(|&&user| !is_name(&function.op(user).kind)).peekable();
    let named = |mut operand: ValueId| {
        while operand != value
            && let Some(op) = function.def_op(operand).map(|op| function.op(op)).filter(|op| is_name(&op.kind))
        {
            operand = op.operands[0];
        }
        operand == value
    };
    users.peek().is_some()
        && users.all(|user| {
            let n = function.op(*user).operands.iter().position(|&operand| named(operand));
            layouts.products.get(user).is_some_and(|product| product.unit == Unit::Warpgroup)
                && (n == Some(1) || n == Some(0) && loaded)
        })
}

/// Registers into which a product reads its operands from shared memory, by what they count.
fn operands(layouts: &mut Layouts<'_>, dot: OpId) -> [(Taken, f64); 2] {
    let product = layouts.products[&dot];
    let function = layouts.function;
    let op = function.op(dot);
    let held = |layout: &Distributed| {
        let (free, ..) = layout.free_bits();
        layout.num_registers() as f64 / 2f64.powi(free.count_ones() as i32)
    };
    [Side::A, Side::B].map(|side| {
        let ty = function.ty(op.operands[side as usize]);
        let (shape, words) = (ty.shape().clone(), f64::from(ty.elem().bits()) / 32.0);
        match product.unit {
            Unit::Warpgroup => (Taken::Fragment, 0.0),
            Unit::Warp => {
                let map = layouts.operand(dot, side).and_then(|enc| layouts.encodings.map(enc, &shape));
                (Taken::Fragment, words * map.map_or(0.0, |map| held(&map)))
            }
            Unit::Thread => {
                let result = function.ty(op.results[0]).shape().clone();
                let Some(map) = layouts.encodings.map(product.layout, &result) else { return (Taken::Factor, 0.0) };
                let [.., rows, columns] = [shape.len() - 2, shape.len() - 1];
                let (axis, depth) = if side == Side::A { (rows, columns) } else { (columns, rows) };
                let along = ((result[axis].max(1) - 1) as u64) << shift_of(&result, axis);
                let bases = map.register.iter().filter(|&&base| u64::from(base) & along != 0).count();
                (Taken::Factor, words * f64::from(shape[depth]) * 2f64.powi(bases as i32))
            }
        }
    })
}
