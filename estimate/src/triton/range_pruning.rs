//! What a comparison with a constant rules out: the end of a block that is wider than the row it covers.
//!
//! LLVM and ptxas see that `arange(0, 4096) < 100` is false in most registers of a thread. What is loaded there is the number instead, what is
//! computed from it is one number for all, and nothing is stored. **Invariant:** an extent is never less than what some thread needs.

use rustc_hash::{FxHashMap, FxHashSet};
use tritium_tile::{
    Function, OpId, OpKind, Shape, ValueId,
    facts::{Facts, Range, Symbol},
    layout::{Distributed, algebra::shift_of},
    ops::{BinaryOp, CastOp, Constant, Predicate},
};

use super::layout_replicas::{Copies, Key};
use crate::registers::Order;

/// So often what loops carry is assumed anew, less each time, before nothing is.
const ROUNDS: usize = 8;

/// Of tiles the leading part along every dimension beyond which nothing needs a register; of others, all.
pub(super) struct RuledOut {
    /// What is one number beyond, unless it comes out of shared memory.
    made: FxHashMap<ValueId, Shape>,
    /// What nobody asks for beyond, of values and of their copies.
    asked: FxHashMap<ValueId, Shape>,
    asked_copies: FxHashMap<Key, Shape>,
    /// The copies that are made of what comes out of shared memory.
    fetched: FxHashSet<Key>,
}

impl RuledOut {
    pub(super) fn new(function: &Function, facts: &Facts, order: &Order, copies: &Copies) -> RuledOut {
        let ops = &order.ops[..];
        let mut carried = Carried::new(function, ops);
        let mut made = forward(function, facts, ops, &carried);
        for round in 0..ROUNDS {
            if !carried.give_up(function, &made) {
                break;
            }
            if round + 1 == ROUNDS {
                carried.0.clear();
            }
            made = forward(function, facts, ops, &carried);
        }
        let made = made.extents;
        if made.is_empty() {
            return RuledOut {
                made,
                asked: FxHashMap::default(),
                asked_copies: FxHashMap::default(),
                fetched: FxHashSet::default(),
            };
        }
        // What goes through shared memory goes there whole.
        let moved: FxHashSet<ValueId> =
            copies.all.iter().filter(|(_, copy)| copy.made.is_fetched()).map(|(&(value, _), _)| value).collect();
        // Nor is needed what only goes into accesses that are not made.
        let mut asked: FxHashMap<ValueId, Shape> = FxHashMap::default();
        for &id in ops.iter().rev() {
            let op = function.op(id);
            let of_mask = |n: usize| op.operands.get(n).and_then(|mask| made.get(mask)).cloned();
            let wanted =
                op.results.first().filter(|result| !moved.contains(result)).and_then(|result| asked.get(result)).cloned();
            for (n, &operand) in op.operands.iter().enumerate() {
                let shape = function.ty(operand).shape();
                let part = match &op.kind {
                    OpKind::Load(_) if n == 0 => of_mask(1),
                    OpKind::Store(_) if n < 2 => of_mask(2),
                    OpKind::Broadcast => wanted.as_ref().map(|part| {
                        let grown = function.ty(op.results[0]).shape();
                        (0..shape.len()).map(|d| if shape[d] == grown[d] { part[d] } else { 1 }).collect()
                    }),
                    OpKind::ExpandDims { axis } => wanted.clone().map(|mut part| {
                        part.remove(usize::from(*axis));
                        part
                    }),
                    kind if kind.is_elementwise() => wanted.clone(),
                    _ => None,
                };
                let part = part.filter(|part| part.len() == shape.len()).unwrap_or_else(|| shape.clone());
                let known = asked.entry(operand).or_insert_with(|| Shape::from_elem(0, shape.len()));
                known.iter_mut().zip(&part).for_each(|(known, part)| *known = (*known).max(*part));
            }
        }
        asked.retain(|value, _| !moved.contains(value));
        let (asked_copies, fetched) = of_copies(function, order, copies, &made);
        RuledOut { made, asked, asked_copies, fetched }
    }

    /// The share of a copy's registers that some thread needs.
    pub(super) fn share(&self, copy: Key, layout: Option<&Distributed>) -> f64 {
        let Some(layout) = layout else { return 1.0 };
        let made = self.made.get(&copy.0).filter(|_| !self.fetched.contains(&copy));
        let known = [made, self.asked.get(&copy.0), self.asked_copies.get(&copy)];
        if known.iter().all(|extents| extents.is_none()) {
            return 1.0;
        }
        let count = 1u32 << layout.register.len();
        let needed = (0..count).filter(|register| {
            let place = layout.register.iter().enumerate().fold(0, |place, (bit, base)| place ^ ((register >> bit & 1) * base));
            let at = |d: usize| place >> shift_of(&layout.shape, d) & (layout.shape[d] - 1);
            known.iter().flatten().all(|extents| extents.iter().enumerate().all(|(d, &extent)| at(d) < extent))
        });
        needed.count() as f64 / f64::from(count)
    }
}

/// What is asked of each copy, and the copies that are made of what comes out of shared memory.
fn of_copies(
    function: &Function,
    order: &Order,
    copies: &Copies,
    made: &FxHashMap<ValueId, Shape>,
) -> (FxHashMap<Key, Shape>, FxHashSet<Key>) {
    let at = |value: ValueId| function.def_op(value).map_or(0, |def| order.start[def.index()]);
    let mut keys: Vec<Key> = copies.all.keys().copied().filter(|(value, _)| !function.ty(*value).is_scalar()).collect();
    keys.sort_by_key(|&(value, _)| at(value));
    let mut asked: FxHashMap<Key, Shape> = FxHashMap::default();
    for &(value, enc) in keys.iter().rev() {
        let copy = &copies.all[&(value, enc)];
        let shape = function.ty(value).shape();
        let mut all = Shape::from_elem(0, shape.len());
        for &user in &copy.uses {
            let op = function.op(user);
            let mask = |n: usize| op.operands.get(n).and_then(|mask| made.get(mask));
            let part = match &op.kind {
                _ if copy.goes_on_at(user) || function.def_op(value) == Some(user) => None,
                OpKind::Load(_) if op.operands[0] == value => mask(1),
                OpKind::Store(_) if op.operands[..2].contains(&value) => mask(2),
                kind if kind.is_elementwise() || matches!(kind, OpKind::AddPtr) => {
                    op.results.first().and_then(|&result| asked.get(&(result, enc)))
                }
                _ => None,
            };
            let part = part.filter(|part| part.len() == shape.len()).unwrap_or(shape);
            all.iter_mut().zip(part).for_each(|(all, part)| *all = (*all).max(*part));
        }
        if all.iter().zip(shape).any(|(part, whole)| part < whole) {
            asked.insert((value, enc), all);
        }
    }
    let mut fetched: FxHashSet<Key> = FxHashSet::default();
    for &(value, enc) in &keys {
        let copy = &copies.all[&(value, enc)];
        let is_made = || {
            let kind = function.def_op(value).map(|def| function.op(def));
            kind.is_some_and(|op| {
                op.kind.is_elementwise() && op.operands.iter().any(|&operand| fetched.contains(&(operand, enc)))
            })
        };
        if copy.made.is_fetched() || is_made() {
            fetched.insert((value, enc));
        }
    }
    (asked, fetched)
}

/// Extents, and the number that is beyond them where it is known.
#[derive(Default)]
struct Made {
    extents: FxHashMap<ValueId, Shape>,
    beyond: FxHashMap<ValueId, f64>,
}

/// The tiles that a loop carries from the same number on, of which some may stay that number beyond an extent.
struct Carried(Vec<(OpId, usize, f64, Shape)>);

impl Carried {
    /// Where loops begin with one number, nothing else is assumed to come.
    fn new(function: &Function, ops: &[OpId]) -> Carried {
        let mut found = Vec::new();
        for &id in ops.iter().filter(|&&id| matches!(function.op(id).kind, OpKind::For(_))) {
            for (n, &result) in function.op(id).results.iter().enumerate() {
                let shape = function.ty(result).shape();
                if let Some(number) = number_of(function, function.op(id).operands[n + 3]).filter(|_| !shape.is_empty()) {
                    found.push((id, n, number, Shape::from_elem(0, shape.len())));
                }
            }
        }
        Carried(found)
    }

    /// Whether a trip hands on more than was assumed, which is assumed no longer.
    fn give_up(&mut self, function: &Function, made: &Made) -> bool {
        let mut changed = false;
        self.0.retain_mut(|(id, n, number, extents)| {
            let body = function.block(function.op(*id).regions[0]);
            let handed_on = body.ops.last().and_then(|&last| function.op(last).operands.get(*n).copied());
            let same = |value: &ValueId| made.beyond.get(value).is_some_and(|beyond| beyond == number);
            let Some(more) = handed_on.filter(same).and_then(|value| made.extents.get(&value)) else {
                changed = true;
                return false;
            };
            changed |= extents.iter().zip(more).any(|(known, more)| known < more);
            extents.iter_mut().zip(more).for_each(|(known, more)| *known = (*known).max(*more));
            true
        });
        changed
    }
}

fn forward(function: &Function, facts: &Facts, ops: &[OpId], carried: &Carried) -> Made {
    let mut made = Made::default();
    for (id, n, number, extents) in &carried.0 {
        let op = function.op(*id);
        for value in [function.block(op.regions[0]).args[n + 1], op.results[*n]] {
            made.extents.insert(value, extents.clone());
            made.beyond.insert(value, *number);
        }
    }
    for &id in ops {
        let op = function.op(id);
        for &result in &op.results {
            let shape = function.ty(result).shape();
            if !shape.is_empty()
                && let Some(extents) = of_result(function, facts, &made.extents, id, result)
                && extents.iter().zip(shape).any(|(part, whole)| part < whole)
            {
                made.extents.insert(result, extents);
                if let Some(number) = beyond(function, &made, id) {
                    made.beyond.insert(result, number);
                }
            }
        }
    }
    made
}

/// The number that an op gives where its operands are numbers.
fn beyond(function: &Function, made: &Made, id: OpId) -> Option<f64> {
    let op = function.op(id);
    let of = |n: usize| {
        let &operand = op.operands.get(n)?;
        made.beyond.get(&operand).copied().or_else(|| number_of(function, operand))
    };
    match &op.kind {
        OpKind::Load(_) if op.operands.len() < 3 => Some(0.0),
        OpKind::Load(_) => of(2),
        OpKind::Binary(BinaryOp::AddF) => Some(of(0)? + of(1)?),
        OpKind::Binary(BinaryOp::SubF) => Some(of(0)? - of(1)?),
        OpKind::Binary(BinaryOp::MulF) => Some(of(0)? * of(1)?),
        OpKind::Cast(CastOp::Float) | OpKind::ExpandDims { .. } | OpKind::Broadcast | OpKind::Transpose { .. } => of(0),
        _ => None,
    }
}

fn number_of(function: &Function, value: ValueId) -> Option<f64> {
    match function.op(function.def_op(value)?).kind {
        OpKind::Constant(Constant::Float(number)) => Some(number),
        _ => None,
    }
}

fn of_result(function: &Function, facts: &Facts, made: &FxHashMap<ValueId, Shape>, id: OpId, result: ValueId) -> Option<Shape> {
    let op = function.op(id);
    let shape = function.ty(result).shape();
    let of = |value: ValueId| made.get(&value).cloned().unwrap_or_else(|| function.ty(value).shape().clone());
    let is_one = |value: ValueId| {
        function.ty(value).is_scalar()
            || function.def_op(value).is_some_and(|def| matches!(function.op(def).kind, OpKind::Constant(_) | OpKind::Splat))
    };
    let all = |operands: &[ValueId]| {
        let mut extents = Shape::from_elem(0, shape.len());
        for &operand in operands.iter().filter(|&&operand| !is_one(operand)) {
            extents.iter_mut().zip(&of(operand)).for_each(|(known, part)| *known = (*known).max(*part));
        }
        extents
    };
    Some(match &op.kind {
        OpKind::Compare(predicate) => {
            let (less, more, inclusive) = match predicate {
                Predicate::LtS | Predicate::LtU => (op.operands[0], op.operands[1], 0),
                Predicate::LeS | Predicate::LeU => (op.operands[0], op.operands[1], 1),
                Predicate::GtS | Predicate::GtU => (op.operands[1], op.operands[0], 0),
                Predicate::GeS | Predicate::GeU => (op.operands[1], op.operands[0], 1),
                _ => return None,
            };
            let (d, first) = along(function, facts, less)?;
            // Read without a sign a negative number is a huge one.
            let is_signed = matches!(predicate, Predicate::LtS | Predicate::LeS | Predicate::GtS | Predicate::GeS);
            let bound = facts.affine(more)?.as_constant().filter(|&bound| is_signed || bound >= 0)?;
            let mut extents = shape.clone();
            let most = extents.get_mut(usize::from(d))?;
            *most = u32::try_from(bound.saturating_add(inclusive).saturating_sub(first).max(0)).unwrap_or(u32::MAX).min(*most);
            extents
        }
        OpKind::Binary(BinaryOp::And | BinaryOp::MulI) if function.ty(result).elem().bits() == 1 => {
            let (mut a, b) = (of(op.operands[0]), of(op.operands[1]));
            a.iter_mut().zip(&b).for_each(|(a, b)| *a = (*a).min(*b));
            a
        }
        OpKind::Load(_) => {
            let mut extents = of(*op.operands.get(1)?);
            if let Some(&other) = op.operands.get(2) {
                extents.iter_mut().zip(&all(&[other])).for_each(|(known, part)| *known = (*known).max(*part));
            }
            extents
        }
        OpKind::ExpandDims { axis } => {
            let mut extents = of(op.operands[0]);
            extents.insert(usize::from(*axis), 1);
            extents
        }
        OpKind::Broadcast => {
            let source = function.ty(op.operands[0]).shape();
            let part = of(op.operands[0]);
            (0..shape.len()).map(|d| if source[d] == shape[d] { part[d] } else { shape[d] * part[d].min(1) }).collect()
        }
        OpKind::Transpose { order } => {
            let part = of(op.operands[0]);
            order.iter().map(|&d| part[usize::from(d)]).collect()
        }
        OpKind::Reduce { axis } => {
            let mut extents = of(op.operands[0]);
            extents.remove(usize::from(*axis));
            extents
        }
        OpKind::AddPtr => return None,
        kind if kind.is_elementwise() => all(&op.operands),
        _ => return None,
    })
}

/// The dimension along which a value counts up by one, and where it begins at least.
fn along(function: &Function, facts: &Facts, value: ValueId) -> Option<(u8, i64)> {
    let form = facts.affine(value)?;
    let mut dim = None;
    for term in &form.terms {
        match (term.dim, term.coefficient) {
            // How far a loop comes whose step is not known nobody knows.
            (None, _) if term.symbols.len() > 1 && term.symbols.iter().any(|symbol| matches!(symbol, Symbol::Trip(_))) => {
                return None;
            }
            (None, _) => {}
            (Some(d), 1) if dim.is_none() && term.symbols.is_empty() => dim = Some(d),
            _ => return None,
        }
    }
    let range = facts.range(value);
    let may_wrap = range == Range::of_type(function.ty(value));
    Some((dim?, range.min)).filter(|_| !may_wrap)
}
