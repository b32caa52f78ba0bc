//! Registers of a thread under Triton's layouts: what is alive at once, by what it is, and whether a thread has as many.
//!
//! A tile takes what its layout gives a thread, pointers and indices only what does not differ by numbers, and one for all that one access
//! reaches. A load that runs ahead takes none, nor does an operand that lies in shared memory once it is there; fragments of `mma.sync` are
//! counted where they are multiplied. What only passes goes through a few registers, one part after another. What nobody reads takes none
//! ([`unread`](super::unread)), nor what only the other way of an `if` does ([`branches`](super::branches)), nor what a comparison with a constant
//! rules out ([`ruled_out`](super::ruled_out)). **Invariant:** the constants are in [`SHARES`] and [`WARPGROUPS`] and nowhere else, fitted to the
//! looked-at rows of `tests/data/accuracy/footprints.triton.tsv` and `spills.triton.tsv`; so that a spill that is told is one, they are an eighth
//! less than what tells most rows.

use rustc_hash::{FxHashMap, FxHashSet};
use tritium_tile::{
    Function, OpId, OpKind, ValueDef, ValueId,
    layout::{Side, algebra::shift_of},
    ops::CastOp,
};

use super::{
    branches::Branches,
    layouts::{Layouts, Unit},
    ruled_out::RuledOut,
    unread::without_unread,
};
use crate::registers::{Holds, Lives, Order, Span, is_name, is_slow};

/// What takes registers, as far as ptxas treats it alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    /// A tile of floats that something later waits for.
    Tile,
    /// One that ends in a reduction or in what a loop carries, one that the next operation makes wider or takes back, and the pointers of one
    /// access: never whole.
    Passing,
    /// One that was narrower: it can be kept so and made wide again where it is asked for.
    Widened,
    /// What a product or a slow function gives: ptxas starts many before it needs the first, so that they lie beside what they are made of.
    Result,
    /// Fragments of `mma.sync`.
    Fragment,
    /// Pointers and indices.
    Place,
    /// Whole numbers that are loaded or reduced: bytes are unpacked, pairs stay together.
    Number,
    Mask,
    Scalar,
}

/// How much of what each would take has a register of its own where there are too few, and how many are counted at most: beyond that many,
/// fragments are read one part after another, masks are computed again, and what is one for all threads is in registers of its own.
const SHARES: [(Taken, f64, f64); 9] = [
    (Taken::Tile, 0.85, f64::INFINITY),
    (Taken::Passing, 0.36, f64::INFINITY),
    (Taken::Widened, 0.50, f64::INFINITY),
    (Taken::Result, 1.21, f64::INFINITY),
    (Taken::Fragment, 0.63, 144.0),
    (Taken::Place, 0.66, f64::INFINITY),
    (Taken::Number, 1.42, f64::INFINITY),
    (Taken::Mask, 1.24, 16.0),
    (Taken::Scalar, 1.42, 39.0),
];
/// What a kernel with `wgmma` takes beside: its operands and results lie in runs of registers.
const WARPGROUPS: f64 = 10.4;

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
    let made_again = masks_made_again(&lives, &order, &uses);
    let ruled_out = RuledOut::new(function, layouts.facts, &order.ops);
    let branches = Branches::new(function, &order);
    let mut change: Vec<Counts> = vec![[0.0; SHARES.len()]; order.ops.len() + 2];
    let mut take = |taken: Taken, registers: f64, (from, to): (usize, usize)| {
        change[from][index(taken)] += registers;
        change[to + 1][index(taken)] -= registers;
    };
    for span in lives.spans(&order, &uses).into_iter().filter(|span| read[span.value.index()]) {
        let Span { value, from, to } = span;
        let (holds, registers) = weight(&lives, value);
        let registers = registers * ruled_out.share(value, lives.layouts[value.index()].as_ref());
        let is_scalar = function.ty(value).is_scalar();
        let carried = matches!(function.value(value).def, ValueDef::Argument(..));
        let between = places.get(places.partition_point(|&place| place < from)).is_some_and(|&place| place < to);
        let def = function.def_op(value).map(|def| &function.op(def).kind);
        let taken = match holds {
            // It is computed again wherever it is asked for.
            Holds::Mask if made_again[value.index()] => continue,
            Holds::Mask => Taken::Mask,
            _ if is_scalar => Taken::Scalar,
            Holds::Address | Holds::Index => match def {
                Some(OpKind::Load(_) | OpKind::Reduce { .. }) => Taken::Number,
                _ if serves_one_access(function, &uses[value.index()]) => Taken::Passing,
                _ => Taken::Place,
            },
            _ if passing[value.index()] && !carried && !between => Taken::Passing,
            _ if is_widened(function, value) => Taken::Widened,
            Holds::Accumulator | Holds::Operand | Holds::Value | Holds::Scalar => match def {
                Some(OpKind::Dot { .. }) => Taken::Result,
                Some(kind) if is_slow(kind) => Taken::Result,
                _ => Taken::Tile,
            },
        };
        let to = if !is_scalar && lies_in_shared(layouts, &lives, &order, &uses, value) { from } else { to };
        for part in branches.parts(function, &order, &uses[value.index()], &Span { value, from, to }) {
            let at_once = taken == Taken::Widened && part.0 == part.1;
            take(if at_once { Taken::Passing } else { taken }, registers, part);
        }
    }
    // What a thread multiplies by itself is read as it goes, but for what a second product reads too: that stays.
    let mut readers: FxHashMap<(ValueId, usize), Vec<usize>> = FxHashMap::default();
    for (at, op) in order.ops.iter().enumerate() {
        let Some(product) = layouts.products.get(op).copied() else { continue };
        for side in [Side::A, Side::B] {
            match product.unit {
                Unit::Thread => readers.entry((function.op(*op).operands[side as usize], side as usize)).or_default().push(at),
                Unit::Warp => take(Taken::Fragment, operand(layouts, *op, side), (at, at)),
                Unit::Warpgroup => {}
            }
        }
    }
    for ((_, side), places) in readers {
        if let [first, .., last] = places[..] {
            let side = if side == 0 { Side::A } else { Side::B };
            take(Taken::Tile, operand(layouts, order.ops[first], side), (first, last));
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

/// Whether a single access takes all pointers of a tile: each is computed right before it.
fn serves_one_access(function: &Function, uses: &[OpId]) -> bool {
    let mut users = uses.iter().filter(|user| !is_name(&function.op(**user).kind));
    users.next().is_some_and(|&user| {
        matches!(function.op(user).kind, OpKind::Load(_) | OpKind::Store(_)) && users.all(|&other| other == user)
    })
}

/// Whether a value is a narrower float made 32 bits wide.
fn is_widened(function: &Function, value: ValueId) -> bool {
    let def = function.def_op(value).map(|def| function.op(def)).filter(|op| matches!(op.kind, OpKind::Cast(CastOp::Float)));
    def.is_some_and(|op| function.ty(op.operands[0]).elem().bits() < 32) && function.ty(value).elem().bits() == 32
}

/// Of every value, whether it is a mask that is put together from what takes half as much or less, such as rows and columns, and where it is used.
fn masks_made_again(lives: &Lives<'_>, order: &Order, uses: &[Vec<OpId>]) -> Vec<bool> {
    let function = lives.function;
    let around = |op: OpId| lives.loops_around(order, op).next();
    let mut made_again = vec![false; function.values.len()];
    // What has to be there to make it, a pointer or an index too.
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
            made_again[value.index()] = is_mask;
            costs[value.index()] = Some(cost);
        }
    }
    made_again
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

/// Whether only products read a value, and from shared memory: `wgmma` what it has there, `mma.sync` what is loaded for it alone and where it
/// stands.
fn lies_in_shared(layouts: &Layouts<'_>, lives: &Lives<'_>, order: &Order, uses: &[Vec<OpId>], value: ValueId) -> bool {
    let function = layouts.function;
    let Some(def) = function.def_op(value) else { return false };
    let loaded = matches!(function.op(def).kind, OpKind::Load(_));
    let is_narrow = function.ty(value).elem().bits() <= 16;
    let depth = |op: OpId| lives.loops_around(order, op).count();
    let users: Vec<OpId> = uses[value.index()].iter().copied().filter(|&user| !is_name(&function.op(user).kind)).collect();
    !users.is_empty()
        && users.iter().all(|&user| match layouts.products.get(&user).map(|product| product.unit) {
            Some(Unit::Warpgroup) => {
                let n = function.op(user).operands.iter().position(|&operand| named(function, operand) == named(function, value));
                n == Some(1) || n == Some(0) && loaded
            }
            Some(Unit::Warp) => loaded && is_narrow && user == users[0] && depth(user) == depth(def),
            _ => false,
        })
}

/// Registers of an operand that a product reads: a fragment, or all that a thread multiplies by itself.
fn operand(layouts: &mut Layouts<'_>, dot: OpId, side: Side) -> f64 {
    let product = layouts.products[&dot];
    let function = layouts.function;
    let op = function.op(dot);
    let ty = function.ty(op.operands[side as usize]);
    let (shape, words) = (ty.shape().clone(), f64::from(ty.elem().bits()) / 32.0);
    if product.unit != Unit::Thread {
        let map = layouts.operand(dot, side).and_then(|enc| layouts.encodings.map(enc, &shape));
        return map.map_or(0.0, |layout| {
            let (free, ..) = layout.free_bits();
            words * layout.num_registers() as f64 / 2f64.powi(free.count_ones() as i32)
        });
    }
    let result = function.ty(op.results[0]).shape().clone();
    let Some(map) = layouts.encodings.map(product.layout, &result) else { return 0.0 };
    let [.., rows, columns] = [shape.len() - 2, shape.len() - 1];
    let (axis, depth) = if side == Side::A { (rows, columns) } else { (columns, rows) };
    let along = u64::from(result[axis].max(1) - 1) << shift_of(&result, axis);
    let bases = map.register.iter().filter(|&&base| u64::from(base) & along != 0).count();
    words * f64::from(shape[depth]) * 2f64.powi(bases as i32)
}
