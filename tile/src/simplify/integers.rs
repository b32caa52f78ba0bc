//! What follows from how integers are made: conditions that cannot hold together, such as `x >= y` and `x - y < 0`, multiples that rounding leaves as they
//! are, and bounds that are behind one another. They are what is left of a window of no width.

use super::def;
use crate::{
    facts::{Facts, Range},
    module::{Function, ValueId},
    ops::{BinaryOp, OpKind, Predicate},
};

/// Conditions of a conjunction that are looked at; masks have four or five.
const MAX_CONDITIONS: usize = 16;

/// What a bound of a loop is the greatest or the least of; those that skip what a mask leaves out are two or three.
const MAX_BOUNDS: u32 = 4;

/// Constants that are added to a number one after the other; where a window that is rounded up to blocks ends they are five.
const MAX_ADDED: u32 = 8;

/// How two numbers may stand to one another: a set of these, in which the first and the last trade places where the numbers do.
const LESS: u8 = 1;
const EQUAL: u8 = 2;
const GREATER: u8 = 4;

/// Whether two conditions of a conjunction ask for orders of the same two numbers that exclude one another.
pub(super) fn exclude_one_another(function: &Function, facts: &Facts, conjunction: ValueId) -> bool {
    let mut conditions = vec![conjunction];
    let mut orders: Vec<(ValueId, ValueId, u8)> = Vec::new();
    let mut seen = 0;
    while let Some(condition) = conditions.pop().filter(|_| seen < MAX_CONDITIONS) {
        seen += 1;
        if let Some(op) = def(function, condition).filter(|op| matches!(op.kind, OpKind::Binary(BinaryOp::And))) {
            conditions.extend(&op.operands);
            continue;
        }
        let Some((a, b, order)) = order(function, facts, condition) else { continue };
        if orders.iter().any(|&(x, y, other)| (x, y) == (a, b) && order & other == 0) {
            return true;
        }
        orders.push((a, b, order));
    }
    false
}

/// The numbers that a signed comparison compares, the one that was made first in front, and how they stand where it holds.
fn order(function: &Function, facts: &Facts, condition: ValueId) -> Option<(ValueId, ValueId, u8)> {
    let op = def(function, condition)?;
    let order = match op.kind {
        // To an operation with a sign the one bit of `i1` is -1, where ranges say 1.
        OpKind::Compare(_) if function.ty(op.operands[0]).elem().bits() == 1 => return None,
        OpKind::Compare(Predicate::LtS) => LESS,
        OpKind::Compare(Predicate::LeS) => LESS | EQUAL,
        OpKind::Compare(Predicate::GtS) => GREATER,
        OpKind::Compare(Predicate::GeS) => GREATER | EQUAL,
        OpKind::Compare(Predicate::Eq) => EQUAL,
        OpKind::Compare(Predicate::Ne) => LESS | GREATER,
        _ => return None,
    };
    let (a, b) = match difference(function, facts, op.operands[0]) {
        Some(numbers) if facts.range(op.operands[1]).constant() == Some(0) => numbers,
        _ => (op.operands[0], op.operands[1]),
    };
    let reversed = order & EQUAL | (order & LESS) << 2 | (order & GREATER) >> 2;
    Some(if a <= b { (a, b, order) } else { (b, a, reversed) })
}

/// How far a number is behind another one that it is the sum of, if that does not wrap.
pub(super) fn distance(function: &Function, facts: &Facts, from: ValueId, to: ValueId) -> Option<Range> {
    let (a, b) = sum(function, facts, to)?;
    let distance = if a == from { b } else { (b == from).then_some(a)? };
    Some(facts.range(distance))
}

/// Whether a number is behind another one by this much at most, 0 or more, by how they are made, whatever they are.
pub(super) fn is_behind_by_at_most(function: &Function, facts: &Facts, from: ValueId, to: ValueId, most: i64) -> bool {
    is_within(function, facts, from, to, most.into(), MAX_BOUNDS)
}

/// The same through this many of `max`, `min` and division.
fn is_within(function: &Function, facts: &Facts, from: ValueId, to: ValueId, most: i128, depth: u32) -> bool {
    let operands = |value: ValueId, kind: BinaryOp| {
        let op = def(function, value).filter(|op| depth > 0 && op.kind == OpKind::Binary(kind));
        op.map_or(&[][..], |op| &op.operands)
    };
    let ((base, behind), (other, further)) = (shifted(function, facts, from), shifted(function, facts, to));
    base == other && further - behind <= most
        || distance(function, facts, from, to).is_some_and(|distance| i128::from(distance.max) <= most)
        || operands(from, BinaryOp::MaxS).iter().any(|&greater| is_within(function, facts, greater, to, most, depth - 1))
        || operands(to, BinaryOp::MinS).iter().any(|&less| is_within(function, facts, from, less, most, depth - 1))
        || depth > 0
            && dividends(function, facts, from, to).is_some_and(|(from, to, by)| {
                // From a multiple it is further to the next quotient.
                let is_multiple = facts.axis(from).divisibility[0].is_multiple_of(by as u64) && facts.range(from).min >= 0;
                let most = most.saturating_mul(by.into()).saturating_add(if is_multiple { i128::from(by) - 1 } else { 0 });
                is_within(function, facts, from, to, most, depth - 1)
            })
}

/// A number as another one and a constant that is added to it.
fn shifted(function: &Function, facts: &Facts, mut value: ValueId) -> (ValueId, i128) {
    let mut behind = 0;
    let constant = |value: ValueId| facts.range(value).constant().map(i128::from);
    for _ in 0..MAX_ADDED {
        let step = match sum(function, facts, value) {
            Some((a, b)) => constant(b).map(|n| (a, n)).or_else(|| constant(a).map(|n| (b, n))),
            None => difference(function, facts, value).and_then(|(a, b)| constant(b).map(|n| (a, -n))),
        };
        let Some((next, more)) = step else { break };
        (value, behind) = (next, behind + more);
    }
    (value, behind)
}

/// What two numbers are the quotients of, if it is divided by the same positive number, and that.
fn dividends(function: &Function, facts: &Facts, a: ValueId, b: ValueId) -> Option<(ValueId, ValueId, i64)> {
    let quotient = |value: ValueId| {
        let op = def(function, value).filter(|op| op.kind == OpKind::Binary(BinaryOp::DivS))?;
        let by = facts.range(op.operands[1]).constant().filter(|&by| by > 0)?;
        Some((op.operands[0], by))
    };
    let ((a, by), (b, other)) = (quotient(a)?, quotient(b)?);
    (by == other).then_some((a, b, by))
}

/// The numbers whose difference a value is, if it does not wrap.
fn difference(function: &Function, facts: &Facts, value: ValueId) -> Option<(ValueId, ValueId)> {
    operands_within(function, facts, value, BinaryOp::SubI, |a, b| {
        Some(Range::new(a.min.checked_sub(b.max)?, a.max.checked_sub(b.min)?))
    })
}

/// The numbers whose sum a value is, if it does not wrap.
pub(super) fn sum(function: &Function, facts: &Facts, value: ValueId) -> Option<(ValueId, ValueId)> {
    operands_within(function, facts, value, BinaryOp::AddI, |a, b| {
        Some(Range::new(a.min.checked_add(b.min)?, a.max.checked_add(b.max)?))
    })
}

/// The operands of an operation whose results all are in the range of its type.
fn operands_within(
    function: &Function,
    facts: &Facts,
    value: ValueId,
    kind: BinaryOp,
    results: impl Fn(Range, Range) -> Option<Range>,
) -> Option<(ValueId, ValueId)> {
    let op = def(function, value).filter(|op| op.kind == OpKind::Binary(kind))?;
    let (a, b) = (op.operands[0], op.operands[1]);
    let (results, full) = (results(facts.range(a), facts.range(b))?, Range::of_type(function.ty(value)));
    (full.min <= results.min && results.max <= full.max).then_some((a, b))
}

/// The multiple of a number that a product rounds down to: `n` of `(n + r) / by * by`, where `n` is a multiple of `by` and `r` is less than it.
pub(super) fn rounded_down(function: &Function, facts: &Facts, quotient: ValueId, by: ValueId) -> Option<ValueId> {
    let unit = facts.range(by).constant().filter(|&by| by > 0)?;
    let op = def(function, quotient).filter(|op| matches!(op.kind, OpKind::Binary(BinaryOp::DivS)))?;
    let from = op.operands[0];
    if facts.range(op.operands[1]).constant() != Some(unit) || !function.ty(from).is_scalar() {
        return None;
    }
    let (multiple, rest) = match sum(function, facts, from) {
        Some((a, b)) => (a, facts.range(b)),
        None => (from, Range::new(0, 0)),
    };
    let is_multiple = facts.axis(multiple).divisibility[0].is_multiple_of(unit as u64) && facts.range(multiple).min >= 0;
    (is_multiple && rest.min >= 0 && rest.max < unit).then_some(multiple)
}
