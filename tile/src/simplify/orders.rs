//! Conditions that cannot hold together: `x >= y` and `x - y < 0`, which is what is left of a window of no width.

use super::def;
use crate::{
    facts::{Facts, Range},
    module::{Function, ValueId},
    ops::{BinaryOp, OpKind, Predicate},
};

/// Conditions of a conjunction that are looked at; masks have four or five.
const MAX_CONDITIONS: usize = 16;

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

/// The numbers whose difference a value is, if it does not wrap.
fn difference(function: &Function, facts: &Facts, value: ValueId) -> Option<(ValueId, ValueId)> {
    let op = def(function, value).filter(|op| matches!(op.kind, OpKind::Binary(BinaryOp::SubI)))?;
    let (a, b) = (op.operands[0], op.operands[1]);
    let (from, by, full) = (facts.range(a), facts.range(b), Range::of_type(function.ty(value)));
    let fits = from.max.checked_sub(by.min)? <= full.max && from.min.checked_sub(by.max)? >= full.min;
    fits.then_some((a, b))
}
