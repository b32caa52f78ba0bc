//! Registers of a thread under Triton's layouts: what is live at once, by whether ptxas keeps all of it in registers of its own.
//!
//! A tile takes what its layout gives a thread, once for every layout that it exists in ([`layout_replicas`](super::layout_replicas)); pointers and
//! indices take only what does not differ by numbers, masks nothing. Operands that wait in shared memory for their product are counted where they are
//! multiplied, loads that run ahead in registers once for every trip.
//!
//! **Invariant:** every constant is in [`crate::fitted`], and what follows from a need beside the registers that there are is decided in
//! [`crate::spills`]. `docs/accuracy.md` says what each rule of [`Rules`] is worth; one that is worth nothing is deleted.

use rustc_hash::{FxHashMap, FxHashSet};
use tritium_tile::{
    Function, OpId, OpKind, ValueDef, ValueId,
    layout::{Side, algebra::shift_of},
    ops::CastOp,
};

use super::{
    dot_operands::Fetch,
    encoding::{Enc, Encoding},
    layout_replicas::{Copies, Copy, Key, Made},
    layouts::{Layouts, Unit},
};
use crate::{
    fitted::{ALWAYS, HALF, WHOLE},
    registers::{Holds, Lives, Order, Span, held, is_name},
};

/// Loads that run ahead into registers: the loop, and how many trips of it.
pub(super) type InRegisters = FxHashMap<OpId, (OpId, u32)>;

/// How what is live takes registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    /// What something later waits for, what goes through shared memory, what products give, numbers that are loaded.
    Whole,
    /// What is there a part at a time or can be made again: operands of products, what was narrower, what ends in a reduction or in what a loop carries,
    /// pointers, indices, scalars.
    Half,
}

/// Registers that are live at one place of the program, by [`Taken`].
pub type Counts = [f64; 2];

/// Registers that a thread needs for what is live at a place.
fn needed_at([whole, half]: Counts) -> f64 {
    ALWAYS + WHOLE * whole + HALF * half
}

/// Which rules count: all of them, but where `cargo xtask fit` asks what one is worth.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// A value takes registers in every layout that it exists in; else in its own alone.
    copies: bool,
    /// What ends in reductions and in what loops carry is never there as a whole.
    passing: bool,
    /// A tile of rows and columns takes no more than those where it is read at once.
    lines: bool,
    /// What a thread multiplies by itself takes registers where it is multiplied.
    factors: bool,
}

impl Rules {
    pub const ALL: Rules = Rules { copies: true, passing: true, lines: true, factors: true };

    /// Every rule off by itself, by name.
    pub const WITHOUT: [(&str, Rules); 4] = [
        ("copies in other layouts", Rules { copies: false, ..Rules::ALL }),
        ("values that pass", Rules { passing: false, ..Rules::ALL }),
        ("rows and columns", Rules { lines: false, ..Rules::ALL }),
        ("factors of threads", Rules { factors: false, ..Rules::ALL }),
    ];
}

/// The registers that a thread needs, and the op at which it needs most.
pub(super) fn needed(layouts: &mut Layouts<'_>, fetches: &[Fetch], ahead: &InRegisters) -> (f64, Option<OpId>) {
    let (places, ops) = places(layouts, fetches, ahead, Rules::ALL);
    let most =
        places.into_iter().map(needed_at).enumerate().fold((0, 0.0), |most, here| if here.1 > most.1 { here } else { most });
    (most.1, ops.get(most.0).copied())
}

/// What is live where, without the places at which no more of anything is live than at another, in whole registers.
pub(super) fn worst_places(layouts: &mut Layouts<'_>, fetches: &[Fetch], ahead: &InRegisters, rules: Rules) -> Vec<Counts> {
    let is_covered = |a: &Counts, b: &Counts| a.iter().zip(b).all(|(a, b)| a <= b);
    let mut worst: Vec<Counts> = Vec::new();
    for here in places(layouts, fetches, ahead, rules).0 {
        let here = here.map(|count| count.round() + 0.0);
        if !worst.iter().any(|known| is_covered(&here, known)) {
            worst.retain(|known| !is_covered(known, &here));
            worst.push(here);
        }
    }
    worst
}

fn places(layouts: &mut Layouts<'_>, fetches: &[Fetch], ahead: &InRegisters, rules: Rules) -> (Vec<Counts>, Vec<OpId>) {
    let function = layouts.function;
    let copies = if rules.copies { Copies::of(layouts, fetches) } else { Copies::at_home(layouts, fetches) };
    let values = Values::new(layouts, rules);
    let mut needs = Needs { function, values: &values, ahead, rules, changes: vec![[0.0; 2]; values.order.ops.len() + 2] };
    for (&key, copy) in &copies.all {
        needs.count(layouts, key, copy);
    }
    needs.take_operands(layouts, &copies.read_as_it_goes);
    let mut now = [0.0; 2];
    let mut places = needs.changes;
    for place in &mut places {
        now.iter_mut().zip(&*place).for_each(|(now, change)| *now += change);
        *place = now;
    }
    (places, values.order.ops)
}

/// What copies of values need, one after another.
struct Needs<'n, 'f> {
    function: &'f Function,
    values: &'n Values<'f>,
    ahead: &'n InRegisters,
    rules: Rules,
    /// From one place of the program to the next.
    changes: Vec<Counts>,
}

impl Needs<'_, '_> {
    fn take(&mut self, taken: Taken, registers: f64, (from, to): (usize, usize)) {
        self.changes[from][taken as usize] += registers;
        self.changes[to + 1][taken as usize] -= registers;
    }

    fn count(&mut self, layouts: &mut Layouts<'_>, (value, enc): Key, copy: &Copy) {
        let Needs { function, values: Values { lives, order, .. }, .. } = *self;
        let Some(mut span) = copy.span(lives, order, value) else { return };
        let layout = enc.and_then(|enc| layouts.encodings.map(enc, function.ty(value).shape()));
        let (holds, mut registers) = lives.weight_in(value, layout.as_ref());
        let is_fragment = enc.is_some_and(|enc| matches!(layouts.encodings.get(enc), Encoding::Operand { .. }));
        let Some(taken) = self.values.taken(copy, &span, holds, is_fragment) else { return };
        let is_data = !matches!(holds, Holds::Address | Holds::Index);
        if let (true, Some(enc)) = (is_data && span.from == span.to, enc) {
            registers = registers.min(self.values.lines(layouts, value, enc));
        }
        let def = function.def_op(value).filter(|_| copy.made == Made::AtHome);
        if let Some(&(around, trips)) = def.and_then(|def| self.ahead.get(&def)) {
            (span.from, span.to) = (order.start[around.index()] + 1, order.end[around.index()]);
            registers *= f64::from(trips);
        }
        self.take(taken, registers, (span.from, span.to));
    }

    /// What products read as they go.
    fn take_operands(&mut self, layouts: &mut Layouts<'_>, read_as_it_goes: &FxHashSet<(OpId, usize)>) {
        let values = self.values;
        for (at, &id) in values.order.ops.iter().enumerate() {
            let Some(unit) = layouts.products.get(&id).map(|product| product.unit) else { continue };
            for side in [Side::A, Side::B] {
                let is_read =
                    if unit == Unit::Thread { self.rules.factors } else { read_as_it_goes.contains(&(id, side as usize)) };
                if is_read {
                    self.take(Taken::Half, operand(layouts, id, side), (at, at));
                }
            }
        }
    }
}

/// What is known of values wherever they lie.
struct Values<'f> {
    lives: Lives<'f>,
    order: Order,
    passing: Vec<bool>,
    /// The rows and columns that a tile is computed from, if from nothing else.
    spread: Vec<Option<Vec<ValueId>>>,
}

impl<'f> Values<'f> {
    fn new(layouts: &mut Layouts<'f>, rules: Rules) -> Values<'f> {
        let function = layouts.function;
        let mut encodings = layouts.homes.clone();
        for &(value, enc) in &layouts.demanded {
            encodings[value.index()].get_or_insert(enc);
        }
        let maps = encodings.iter().zip(&function.values).map(|(enc, value)| layouts.encodings.map((*enc)?, value.ty.shape()));
        let lives = Lives { function, facts: layouts.facts, layouts: maps.collect() };
        let order = lives.order();
        let passing = match rules.passing {
            true => passing(function, &lives.uses(&order), &order),
            false => vec![false; function.values.len()],
        };
        let spread = if rules.lines { spread(function, &order) } else { vec![None; function.values.len()] };
        Values { lives, order, passing, spread }
    }

    /// Registers of the rows and columns that a tile is computed from, which stay where it passes; without end if it is made of others too.
    fn lines(&self, layouts: &mut Layouts<'_>, value: ValueId, enc: Enc) -> f64 {
        let function = self.lives.function;
        let mut line =
            |line: &ValueId| layouts.encodings.map(enc, function.ty(*line).shape()).map_or(0.0, |layout| held(&layout));
        self.spread[value.index()].as_ref().map_or(f64::INFINITY, |lines| lines.iter().map(&mut line).sum())
    }

    /// As what a copy takes registers; `None` if it takes none: masks have registers of their own.
    fn taken(&self, copy: &Copy, &Span { value, to, .. }: &Span, holds: Holds, is_fragment: bool) -> Option<Taken> {
        let function = self.lives.function;
        let is_carried = matches!(function.value(value).def, ValueDef::Argument(..));
        let last = copy.uses.iter().map(|user| self.order.start[user.index()]).max();
        // What a loop reads that it does not change is made wide before it.
        let is_made_again = || is_widened(function, value) && last.is_none_or(|last| to <= last);
        let is_half = match holds {
            Holds::Mask => return None,
            _ if function.ty(value).is_scalar() => true,
            Holds::Address | Holds::Index => {
                let def = function.def_op(value).map(|def| &function.op(def).kind);
                !matches!(def, Some(OpKind::Load(_) | OpKind::Reduce { .. }))
            }
            _ if copy.made == Made::FromRing => true,
            _ if copy.made.is_fetched() => false,
            _ => {
                let is_passing = self.passing[value.index()] && !is_carried;
                is_passing || is_made_again() || is_fragment && feeds_products(function, &copy.uses)
            }
        };
        Some(if is_half { Taken::Half } else { Taken::Whole })
    }
}

fn feeds_products(function: &Function, uses: &[OpId]) -> bool {
    uses.iter().all(|&user| matches!(function.op(user).kind, OpKind::Dot { .. }))
}

/// Whether a value is a narrower float made 32 bits wide.
fn is_widened(function: &Function, value: ValueId) -> bool {
    let def = function.def_op(value).map(|def| function.op(def)).filter(|op| matches!(op.kind, OpKind::Cast(CastOp::Float)));
    def.is_some_and(|op| function.ty(op.operands[0]).elem().bits() < 32) && function.ty(value).elem().bits() == 32
}

/// Of every tile, the rows and columns that it is computed from, if from nothing else.
fn spread(function: &Function, order: &Order) -> Vec<Option<Vec<ValueId>>> {
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
