//! Registers of a thread under Triton's layouts: what is alive at once, by what it is, and whether a thread has as many.
//!
//! A tile takes what its layout gives a thread, once for every layout that it exists in ([`layout_replicas`](super::layout_replicas)); pointers and indices take
//! only what does not differ by numbers, and one for all that one access reaches. Fragments that wait in shared memory for their product are
//! counted where they are multiplied, what runs ahead in registers once for every trip ([`pipeline`](super::pipeline)). What only passes goes through
//! a few registers, one part after another. What nobody reads takes none ([`dead_code`](super::dead_code)), nor what only the other way of an `if`
//! does ([`path_liveness`](super::path_liveness)), nor what a comparison with a constant rules out ([`range_pruning`](super::range_pruning)).
//!
//! ptxas puts operations in an order between two: one after another over whole tiles, as the program has them, and through every run of them
//! one element after another ([`fusion`](super::fusion)). What is needed is the geometric mean of what the two orders need. **Invariant:** the
//! constants are in [`SHARES`], [`MASKS`], [`FACTORS`], [`FRAGMENTS`], [`ALWAYS`] and [`WARPGROUPS`] and nowhere else, fitted to the looked-at rows of
//! `tests/data/accuracy/footprints.triton.tsv` and `spills.triton.tsv` and to the fewest registers with which ptxas does not spill their PTX.
//! The shares are a tenth less than what fits best, so that a spill that is told is one: 1.11 was chosen by cross-validation.

use rustc_hash::FxHashMap;
use tritium_tile::{
    Function, OpId, OpKind, ValueDef, ValueId,
    layout::{Distributed, Side, algebra::shift_of},
    ops::CastOp,
};

use super::{
    contiguity::apart,
    dead_code::without_unread,
    dot_operands::Fetch,
    encoding::{Enc, Encoding},
    fusion::Runs,
    layout_replicas::{Copies, Copy, Key, Made},
    layouts::{Layouts, Unit},
    path_liveness::Branches,
    pipeline::RunsAhead,
    range_pruning::RuledOut,
};
use crate::registers::{Holds, Lives, Order, Span, held, is_name, is_slow};

/// What takes registers, as far as ptxas treats it alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    /// A tile of floats that something later waits for, or that goes through shared memory.
    Tile,
    /// One that ends in a reduction or in what a loop carries, one that the next operation makes wider or takes back, and the pointers of one
    /// access: never whole.
    Passing,
    /// What can be made again from something narrower: a float that was narrower, the numbers that a reduction compares along.
    Widened,
    /// What a product or a slow function gives: ptxas starts many before it needs the first, so that they lie beside what they are made of.
    Result,
    /// Fragments of `mma.sync` that are read or computed for a product, and what else is read from a ring.
    Fragment,
    /// What a thread multiplies by itself.
    Factor,
    /// Pointers and indices.
    Place,
    /// Whole numbers that are loaded or reduced: bytes are unpacked, pairs stay together.
    Number,
    Mask,
    Scalar,
}

/// How much of what each would take has a register of its own where there are too few.
const SHARES: [(Taken, f64); 10] = [
    (Taken::Tile, 0.894),
    (Taken::Passing, 0.25),
    (Taken::Widened, 0.446),
    (Taken::Result, 1.12),
    (Taken::Fragment, 0.45),
    (Taken::Factor, 0.418),
    (Taken::Place, 0.644),
    (Taken::Number, 1.44),
    (Taken::Mask, 0.727),
    (Taken::Scalar, 0.671),
];
/// So many masks are counted at most; beyond that they are computed again.
const MASKS: f64 = 16.3;
/// So many factors a thread reads as it goes; only what it multiplies beyond that lies in registers.
const FACTORS: f64 = 192.0;
/// So many registers of fragments are read ahead at most where a product reads them as it goes, step by step along its depth.
const FRAGMENTS: f64 = 128.0;
/// What every kernel takes beside, and what one with `wgmma` does: its operands and results lie in runs of registers.
const ALWAYS: f64 = 7.8;
const WARPGROUPS: f64 = 8.3;

/// Registers by what they count, as [`SHARES`] lists them.
type Counts = [f64; SHARES.len()];

/// What is taken from one place of the program to another: if whole tiles are worked out one after another, and if elements are.
struct Ledger {
    by_tile: Vec<Counts>,
    by_element: Vec<Counts>,
}

impl Ledger {
    fn new(places: usize) -> Ledger {
        Ledger { by_tile: vec![[0.0; SHARES.len()]; places], by_element: vec![[0.0; SHARES.len()]; places] }
    }

    fn take(&mut self, taken: Taken, registers: f64, part: (usize, usize)) {
        add(&mut self.by_tile, taken, registers, part);
        add(&mut self.by_element, taken, registers, part);
    }
}

fn add(places: &mut [Counts], taken: Taken, registers: f64, (from, to): (usize, usize)) {
    let kind = SHARES.iter().position(|(kind, ..)| *kind == taken).unwrap_or(0);
    places[from][kind] += registers;
    places[to + 1][kind] -= registers;
}

/// The most that is needed at once, and the place.
fn most(places: &[Counts]) -> (f64, usize) {
    let (mut now, mut most) = ([0.0; SHARES.len()], (0.0, 0));
    for (place, change) in places.iter().enumerate() {
        now.iter_mut().zip(change).for_each(|(now, change)| *now += change);
        let counted = |taken: Taken, count: f64| if taken == Taken::Mask { count.min(MASKS) } else { count };
        let here: f64 = now.iter().zip(SHARES).map(|(&count, (taken, share))| share * counted(taken, count)).sum();
        if here > most.0 {
            most = (here, place);
        }
    }
    most
}

/// The registers that a thread needs, and the op at which it needs most.
pub(super) fn needed(layouts: &mut Layouts<'_>, fetches: &[Fetch], ahead: &RunsAhead) -> (f64, Option<OpId>) {
    let (pruned, read) = without_unread(layouts.function);
    let function = &pruned;
    let copies = Copies::of(function, layouts, fetches);
    let values = Values::new(function, layouts);
    let order = &values.order;
    let mut needs = Needs {
        function,
        values: &values,
        ahead,
        ruled_out: RuledOut::new(function, layouts.facts, order, &copies),
        branches: Branches::new(function, order),
        runs: Runs::new(function, layouts, order),
        ledger: Ledger::new(order.ops.len() + 2),
    };
    for (&key, copy) in copies.all.iter().filter(|((value, _), _)| read[value.index()]) {
        needs.count(layouts, key, copy);
    }
    let mut ledger = needs.ledger;
    take_factors(&mut ledger, layouts, &copies, order);
    take_pairs(&mut ledger, layouts, order);
    let warpgroups = layouts.products.values().any(|product| product.unit == Unit::Warpgroup);
    let always = ALWAYS + if warpgroups { WARPGROUPS } else { 0.0 };
    let ((by_tile, place), (by_element, _)) = (most(&ledger.by_tile), most(&ledger.by_element));
    (((by_tile + always) * (by_element + always)).sqrt(), order.ops.get(place).copied())
}

/// What copies of values need, one after another.
struct Needs<'n, 'f> {
    function: &'f Function,
    values: &'n Values<'f>,
    ahead: &'n RunsAhead,
    ruled_out: RuledOut,
    branches: Branches,
    runs: Runs,
    ledger: Ledger,
}

impl Needs<'_, '_> {
    fn count(&mut self, layouts: &mut Layouts<'_>, (value, enc): Key, copy: &Copy) {
        let Needs { function, values: Values { lives, order, .. }, .. } = *self;
        let Some(mut span) = copy.span(lives, order, value) else { return };
        let layout = enc.and_then(|enc| layouts.encodings.map(enc, function.ty(value).shape()));
        let (holds, mut registers) = weight(lives, value, layout.as_ref(), &self.values.apart);
        let is_fragment = enc.is_some_and(|enc| matches!(layouts.encodings.get(enc), Encoding::Operand { .. }));
        let Some(taken) = self.values.taken(copy, enc, &span, holds, is_fragment) else { return };
        registers *= self.ruled_out.share((value, enc), layout.as_ref());
        if taken == Taken::Place && is_made_wide(function, value, &copy.uses) {
            registers *= 2.0;
        }
        let is_data = !matches!(holds, Holds::Mask | Holds::Address | Holds::Index);
        if let (true, Some(enc)) = (is_data && span.from == span.to, enc) {
            registers = registers.min(self.values.lines(layouts, value, enc));
        }
        let def = function.def_op(value).filter(|_| copy.made == Made::AtHome);
        if let Some(&(around, trips)) = def.and_then(|def| self.ahead.loads.get(&def)) {
            (span.from, span.to) = (order.start[around.index()] + 1, order.end[around.index()]);
            registers *= f64::from(trips);
        }
        if let (Some(waiting), Some(layout)) = (self.ahead.waiting(function, order, (value, enc), copy), &layout) {
            let words = f64::from(function.ty(value).elem().bits().div_ceil(32));
            // Of what is compared nothing can be put together again.
            let each = if waiting.is_place { registers } else { held(layout) * words };
            let taken = if holds == Holds::Mask { Taken::Mask } else { Taken::Tile };
            let body = (order.start[waiting.around.index()] + 1, order.end[waiting.around.index()]);
            return self.ledger.take(taken, each * f64::from(waiting.trips), body);
        }
        // A sum that begins at nothing grows while the factors are read.
        let begins = |op: &OpId| {
            matches!(function.op(*op).kind, OpKind::Dot { .. }) && is_constant(function, function.op(*op).operands[2])
        };
        if let Some(dot) = def.filter(begins) {
            let at = order.start[dot.index()];
            self.ledger.take(Taken::Widened, registers, (at, at));
        }
        let by_element = match self.runs.by_element(function, order, copy, &span) {
            _ if function.ty(value).is_scalar() => (taken, span),
            Some(span) => (taken, span),
            None => (Taken::Passing, span),
        };
        let orders = [(&mut self.ledger.by_tile, (taken, span)), (&mut self.ledger.by_element, by_element)];
        for (places, (taken, span)) in orders {
            for part in self.branches.parts(function, order, &copy.uses, &span) {
                let at_once = taken == Taken::Widened && part.0 == part.1;
                add(places, if at_once { Taken::Passing } else { taken }, registers, part);
            }
        }
    }
}

/// What products read as they go. What a thread multiplies by itself and a second product reads too stays.
fn take_factors(ledger: &mut Ledger, layouts: &mut Layouts<'_>, copies: &Copies, order: &Order) {
    let function = layouts.function;
    let mut readers: FxHashMap<(ValueId, usize), Vec<usize>> = FxHashMap::default();
    for (at, &id) in order.ops.iter().enumerate() {
        let Some(unit) = layouts.products.get(&id).map(|product| product.unit) else { continue };
        let mut factors = 0.0;
        for side in [Side::A, Side::B] {
            let n = side as usize;
            if unit == Unit::Thread {
                factors += operand(layouts, id, side);
                readers.entry((function.op(id).operands[n], n)).or_default().push(at);
            } else if copies.read_as_it_goes.contains(&(id, n)) {
                ledger.take(Taken::Fragment, operand(layouts, id, side).min(FRAGMENTS), (at, at));
            }
        }
        if factors > FACTORS {
            ledger.take(Taken::Factor, factors - FACTORS, (at, at));
        }
    }
    for ((_, n), places) in readers {
        if let [first, .., last] = places[..] {
            let side = if n == 0 { Side::A } else { Side::B };
            ledger.take(Taken::Tile, operand(layouts, order.ops[first], side), (first, last));
        }
    }
}

/// What a reduction of several tiles compares and carries along, such as values and their places.
fn take_pairs(ledger: &mut Ledger, layouts: &mut Layouts<'_>, order: &Order) {
    let function = layouts.function;
    for (at, &id) in order.ops.iter().enumerate() {
        let op = function.op(id);
        if !matches!(op.kind, OpKind::Reduce { .. } | OpKind::Scan { .. }) || op.operands.len() < 2 {
            continue;
        }
        let layout = op.operands.iter().find_map(|operand| layouts.homes[operand.index()]);
        for ty in op.operands.iter().map(|&operand| function.ty(operand)) {
            let elements = layout.and_then(|enc| layouts.encodings.map(enc, ty.shape())).map_or(0.0, |layout| held(&layout));
            ledger.take(Taken::Widened, elements * f64::from(ty.elem().bits().max(32)) / 32.0, (at, at));
        }
    }
}

/// What is known of values wherever they lie.
struct Values<'f> {
    lives: Lives<'f>,
    order: Order,
    /// The places of operations that need all of their operands at once.
    waits: Vec<usize>,
    passing: Vec<bool>,
    apart: Vec<u64>,
    made_again: Vec<bool>,
    /// The rows and columns that a tile is computed from, if from nothing else.
    spread: Vec<Option<Vec<ValueId>>>,
    /// Where a narrow value is loaded one element at a time, each into a register of its own.
    alone: Vec<Option<Enc>>,
}

impl<'f> Values<'f> {
    fn new<'l: 'f>(function: &'f Function, layouts: &mut Layouts<'l>) -> Values<'f> {
        let mut encodings = layouts.homes.clone();
        for &(value, enc) in &layouts.demanded {
            encodings[value.index()].get_or_insert(enc);
        }
        let maps = encodings.iter().zip(&function.values).map(|(enc, value)| layouts.encodings.map((*enc)?, value.ty.shape()));
        let lives = Lives { function, facts: layouts.facts, layouts: maps.collect() };
        let order = lives.order();
        let uses = lives.uses(&order);
        let waits = (0..order.ops.len()).filter(|&at| waits(&function.op(order.ops[at]).kind)).collect();
        let passing = passing(function, &uses, &order);
        let apart = apart(layouts, function, &order);
        let made_again = masks_made_again(&lives, &order, &uses, &apart);
        let mut alone = vec![None; function.values.len()];
        for &id in &order.ops {
            if let (OpKind::Load(_), &[result]) = (&function.op(id).kind, &function.op(id).results[..]) {
                let is_alone = !function.ty(result).is_scalar() && layouts.copied(id, None) <= 1;
                alone[result.index()] = layouts.homes[result.index()].filter(|_| is_alone);
            }
        }
        let spread = spread(&lives, &order);
        Values { lives, order, waits, passing, apart, made_again, spread, alone }
    }

    /// Registers of the rows and columns that a tile is computed from, which stay where it passes; without end if it is made of others too.
    fn lines(&self, layouts: &mut Layouts<'_>, value: ValueId, enc: Enc) -> f64 {
        let function = self.lives.function;
        let mut line =
            |line: &ValueId| layouts.encodings.map(enc, function.ty(*line).shape()).map_or(0.0, |layout| held(&layout));
        self.spread[value.index()].as_ref().map_or(f64::INFINITY, |lines| lines.iter().map(&mut line).sum())
    }

    /// Whether a value is made of a narrow one that lies alone, if `enc` is where that was loaded.
    fn is_alone(&self, value: ValueId, enc: Option<Enc>) -> bool {
        let function = self.lives.function;
        function.def_op(value).is_some_and(|def| {
            let source = named(function, function.op(def).operands[0]);
            self.alone[source.index()].is_some_and(|home| Some(home) == enc)
        })
    }

    /// As what a copy takes registers; `None` if it takes none.
    fn taken(
        &self,
        copy: &Copy,
        enc: Option<Enc>,
        &Span { value, from, to }: &Span,
        holds: Holds,
        is_fragment: bool,
    ) -> Option<Taken> {
        let function = self.lives.function;
        let def = function.def_op(value).map(|def| &function.op(def).kind);
        let is_carried = matches!(function.value(value).def, ValueDef::Argument(..));
        let between = self.waits.get(self.waits.partition_point(|&place| place < from)).is_some_and(|&place| place < to);
        let last = copy.uses.iter().map(|user| self.order.start[user.index()]).max();
        Some(match holds {
            // It is computed again wherever it is asked for.
            Holds::Mask if self.made_again[value.index()] => return None,
            Holds::Mask => Taken::Mask,
            _ if function.ty(value).is_scalar() => Taken::Scalar,
            Holds::Address | Holds::Index => match def {
                Some(OpKind::Load(_) | OpKind::Reduce { .. }) => Taken::Number,
                _ if serves_one_access(function, &copy.uses) => Taken::Passing,
                _ => Taken::Place,
            },
            _ if copy.made == Made::FromRing => Taken::Fragment,
            _ if copy.made.is_fetched() => Taken::Tile,
            _ if self.passing[value.index()] && !is_carried && !between => Taken::Passing,
            _ if copy.only_passes_on(function, value) => Taken::Tile,
            // What a loop reads that it does not change is made wide before it.
            _ if is_widened(function, value) && !self.is_alone(value, enc) && last.is_none_or(|last| to <= last) => {
                Taken::Widened
            }
            Holds::Accumulator | Holds::Operand | Holds::Value | Holds::Scalar => match def {
                Some(OpKind::Dot { .. }) => Taken::Result,
                Some(kind) if is_slow(kind) => Taken::Result,
                _ if is_fragment && feeds_products(function, &copy.uses) => Taken::Fragment,
                _ => Taken::Tile,
            },
        })
    }
}

/// What a value is and the registers that it takes. Accesses of several elements ask for the first alone.
fn weight(lives: &Lives<'_>, value: ValueId, layout: Option<&Distributed>, apart: &[u64]) -> (Holds, f64) {
    let (holds, registers) = lives.weight_in(value, layout);
    match (holds, layout) {
        (Holds::Address | Holds::Index, Some(layout)) if apart[value.index()] > 0 => {
            let each = f64::from(lives.function.ty(value).elem().bits()) / 32.0;
            let together = lives.equal_run(value, layout).max(apart[value.index()] as f64);
            (holds, each * (held(layout) / together).max(1.0))
        }
        (Holds::Address, _) => (holds, (registers / lives.unknown_run(value, layout)).max(registers.min(2.0))),
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

fn feeds_products(function: &Function, uses: &[OpId]) -> bool {
    uses.iter().all(|&user| matches!(function.op(user).kind, OpKind::Dot { .. }))
}

/// Whether several pointers are made of an index of 32 bits: it is kept as the distance in bytes, which has 64.
fn is_made_wide(function: &Function, value: ValueId, uses: &[OpId]) -> bool {
    let adds = |user: &&OpId| matches!(function.op(**user).kind, OpKind::AddPtr);
    uses.len() > 1 && function.ty(value).elem().bits() == 32 && uses.iter().all(|user| adds(&user))
}

/// Whether a value is a narrower float made 32 bits wide.
fn is_widened(function: &Function, value: ValueId) -> bool {
    let def = function.def_op(value).map(|def| function.op(def)).filter(|op| matches!(op.kind, OpKind::Cast(CastOp::Float)));
    def.is_some_and(|op| function.ty(op.operands[0]).elem().bits() < 32) && function.ty(value).elem().bits() == 32
}

/// Of every value, whether it is a mask that is put together from what takes half as much or less, such as rows and columns, and where it is used.
fn masks_made_again(lives: &Lives<'_>, order: &Order, uses: &[Vec<OpId>], apart: &[u64]) -> Vec<bool> {
    let function = lives.function;
    let around = |op: OpId| lives.loops_around(order, op).next();
    let mut made_again = vec![false; function.values.len()];
    // What has to be there to make it, a pointer or an index too.
    let mut costs = vec![None; function.values.len()];
    for &id in &order.ops {
        let op = function.op(id);
        let (OpKind::Binary(_) | OpKind::AddPtr | OpKind::Compare(_), &[value]) = (&op.kind, &op.results[..]) else { continue };
        let (holds, registers) = weight(lives, value, lives.layouts[value.index()].as_ref(), apart);
        let is_mask = holds == Holds::Mask;
        if function.ty(value).is_scalar() || !(is_mask || matches!(holds, Holds::Address | Holds::Index)) {
            continue;
        }
        let mut parts: Vec<ValueId> = op.operands.iter().map(|&operand| named(function, operand)).collect();
        parts.sort_unstable();
        parts.dedup();
        parts.retain(|part| !function.ty(*part).is_scalar() && !is_constant(function, *part));
        let cost: f64 = parts
            .iter()
            .map(|&part| {
                costs[part.index()].unwrap_or_else(|| weight(lives, part, lives.layouts[part.index()].as_ref(), apart).1)
            })
            .sum();
        let (home, mut users) = (around(id), uses[value.index()].iter().filter(|user| !is_name(&function.op(**user).kind)));
        // What compares one tile with a number stays in predicates.
        if (parts.len() > 1 || !is_mask) && cost <= registers / 2.0 && users.all(|&user| around(user) == home) {
            made_again[value.index()] = is_mask;
            costs[value.index()] = Some(cost);
        }
    }
    made_again
}

/// Of every tile, the rows and columns that it is computed from, if from nothing else.
fn spread(lives: &Lives<'_>, order: &Order) -> Vec<Option<Vec<ValueId>>> {
    let function = lives.function;
    let mut spread: Vec<Option<Vec<ValueId>>> = vec![None; function.values.len()];
    for &id in &order.ops {
        let op = function.op(id);
        let &[value] = &op.results[..] else { continue };
        if function.ty(value).is_scalar() {
            continue;
        }
        spread[value.index()] = match &op.kind {
            OpKind::Splat | OpKind::Constant(_) => Some(Vec::new()),
            OpKind::Broadcast => Some(vec![op.operands[0]]),
            kind if kind.is_elementwise() => {
                let parts: Option<Vec<_>> = op.operands.iter().map(|operand| spread[operand.index()].as_ref()).collect();
                parts.map(|parts| {
                    let mut parts: Vec<ValueId> = parts.into_iter().flatten().copied().collect();
                    parts.sort_unstable();
                    parts.dedup();
                    parts
                })
            }
            _ => None,
        };
    }
    spread
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

/// Registers of an operand that a product reads: a fragment, or all that a thread multiplies by itself.
fn operand(layouts: &mut Layouts<'_>, dot: OpId, side: Side) -> f64 {
    let product = layouts.products[&dot];
    let function = layouts.function;
    let op = function.op(dot);
    let ty = function.ty(op.operands[side as usize]);
    let (shape, words) = (ty.shape().clone(), f64::from(ty.elem().bits()) / 32.0);
    if product.unit != Unit::Thread {
        let map = layouts.operand(dot, side).and_then(|enc| layouts.encodings.map(enc, &shape));
        return map.map_or(0.0, |layout| words * held(&layout));
    }
    let result = function.ty(op.results[0]).shape().clone();
    let Some(map) = layouts.encodings.map(product.layout, &result) else { return 0.0 };
    let [.., rows, columns] = [shape.len() - 2, shape.len() - 1];
    let (axis, depth) = if side == Side::A { (rows, columns) } else { (columns, rows) };
    let along = u64::from(result[axis].max(1) - 1) << shift_of(&result, axis);
    let bases = map.register.iter().filter(|&&base| u64::from(base) & along != 0).count();
    words * f64::from(shape[depth]) * 2f64.powi(bases as i32)
}
