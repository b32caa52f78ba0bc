//! Registers of a thread under Triton's layouts: what is alive at once, by what it is, and whether a thread has as many.
//!
//! A tile takes what its layout gives a thread, pointers and indices only what does not differ by numbers. A load that runs ahead takes none,
//! nor does an operand that lies in shared memory once it is there; fragments of `mma.sync` are counted where they are multiplied. What only
//! passes on its way into a reduction or into what a loop carries goes through a few registers, one part after another; what nobody reads
//! takes none ([`unread`](super::unread)). **Invariant:** the constants are in [`SHARES`] and [`ALWAYS`] and nowhere else, fitted to the
//! looked-at half of `tests/data/accuracy/footprints.triton.tsv` and `spills.triton.tsv`.

use rustc_hash::FxHashSet;
use tritium_tile::{
    Function, OpId, OpKind, ValueDef, ValueId,
    layout::{Distributed, Side, algebra::shift_of},
};

use super::{
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
    /// What a thread multiplies by itself.
    Factor,
    /// Pointers and indices.
    Place,
    Mask,
    Scalar,
}

/// How much of what each would take has a register of its own where there are too few.
const SHARES: &[(Taken, f64)] = &[
    (Taken::Tile, 0.977),
    (Taken::Passing, 0.086),
    (Taken::Fragment, 0.356),
    (Taken::Factor, 0.719),
    (Taken::Place, 0.349),
    (Taken::Mask, 0.610),
    (Taken::Scalar, 0.617),
];
/// What every kernel takes.
const ALWAYS: f64 = 3.4;

fn share(of: Taken) -> f64 {
    SHARES.iter().find(|(taken, _)| *taken == of).map_or(1.0, |&(_, share)| share)
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
    let mut change = vec![0.0; order.ops.len() + 2];
    for Span { value, from, to } in lives.spans(&order, &uses).into_iter().filter(|span| read[span.value.index()]) {
        let (holds, registers) = lives.weight(value);
        let is_scalar = function.ty(value).is_scalar();
        let carried = matches!(function.value(value).def, ValueDef::Argument(..));
        let between = places.get(places.partition_point(|&place| place < from)).is_some_and(|&place| place < to);
        let taken = match holds {
            Holds::Mask => Taken::Mask,
            _ if is_scalar => Taken::Scalar,
            Holds::Address | Holds::Index => Taken::Place,
            _ if passing[value.index()] && !carried && !between => Taken::Passing,
            Holds::Accumulator | Holds::Operand | Holds::Value | Holds::Scalar => Taken::Tile,
        };
        let to = if !is_scalar && lies_in_shared(layouts, &uses, value) { from } else { to };
        change[from] += share(taken) * registers;
        change[to + 1] -= share(taken) * registers;
    }
    let (mut now, mut most, mut place) = (0.0, 0.0, None);
    for (&op, change) in order.ops.iter().zip(&change) {
        now += change;
        let here = now + if layouts.products.contains_key(&op) { operands(layouts, op) } else { 0.0 };
        if here > most {
            (most, place) = (here, Some(op));
        }
    }
    (ALWAYS + most, place)
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
fn operands(layouts: &mut Layouts<'_>, dot: OpId) -> f64 {
    let product = layouts.products[&dot];
    let function = layouts.function;
    let op = function.op(dot);
    let held = |layout: &Distributed| {
        let (free, ..) = layout.free_bits();
        layout.num_registers() as f64 / 2f64.powi(free.count_ones() as i32)
    };
    let mut sum = 0.0;
    for (n, side) in [Side::A, Side::B].into_iter().enumerate() {
        let ty = function.ty(op.operands[n]);
        let (shape, words) = (ty.shape().clone(), f64::from(ty.elem().bits()) / 32.0);
        sum += match product.unit {
            Unit::Warpgroup => 0.0,
            Unit::Warp => {
                let map = layouts.operand(dot, side).and_then(|enc| layouts.encodings.map(enc, &shape));
                share(Taken::Fragment) * words * map.map_or(0.0, |map| held(&map))
            }
            Unit::Thread => {
                let result = function.ty(op.results[0]).shape().clone();
                let Some(map) = layouts.encodings.map(product.layout, &result) else { continue };
                let [.., rows, columns] = [shape.len() - 2, shape.len() - 1];
                let (axis, depth) = if side == Side::A { (rows, columns) } else { (columns, rows) };
                let along = ((result[axis].max(1) - 1) as u64) << shift_of(&result, axis);
                let bases = map.register.iter().filter(|&&base| u64::from(base) & along != 0).count();
                share(Taken::Factor) * words * f64::from(shape[depth]) * 2f64.powi(bases as i32)
            }
        };
    }
    sum
}
