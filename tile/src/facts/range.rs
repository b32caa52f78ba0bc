//! Integer ranges, and constants that follow from them.
//!
//! **Invariant:** a range is a signed interval inside the type's width that contains every value the element can have; `i1` is 0 or 1.
//! Arithmetic that may wrap gives the whole width.

use std::fmt;

use super::Facts;
use crate::{
    kinds,
    module::{Function, ValueId},
    ops::{BinaryOp, CastOp, Constant, Op, OpKind, Predicate},
    types::{Scalar, Type},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Range {
    pub min: i64,
    pub max: i64,
}

impl Range {
    pub fn new(min: i64, max: i64) -> Range {
        Range { min, max }
    }

    pub fn of_type(ty: &Type) -> Range {
        match ty.elem().bits() {
            _ if ty.elem().scalar().is_none_or(|s| s.is_float()) => Range::new(i64::MIN, i64::MAX),
            1 => Range::new(0, 1),
            64.. => Range::new(i64::MIN, i64::MAX),
            bits => Range::new(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        }
    }

    pub fn constant(self) -> Option<i64> {
        (self.min == self.max).then_some(self.min)
    }

    pub fn join(self, other: Range) -> Range {
        Range::new(self.min.min(other.min), self.max.max(other.max))
    }

    pub(super) fn widen(self, before: Range, full: Range) -> Range {
        Range::new(
            if self.min < before.min { full.min } else { self.min },
            if self.max > before.max { full.max } else { self.max },
        )
    }

    /// The range of a calculation done in wide integers; the whole type if it may wrap.
    fn fit(min: i128, max: i128, full: Range) -> Range {
        if min >= i128::from(full.min) && max <= i128::from(full.max) { Range::new(min as i64, max as i64) } else { full }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {}]", self.min, self.max)
    }
}

/// Programs along an axis of a grid at most (CUDA C++ Programming Guide, technical specifications for each compute capability).
fn most_programs(axis: u8) -> i64 {
    if axis == 0 { i32::MAX.into() } else { 65_535 }
}

pub(super) fn transfer(function: &Function, facts: &Facts, op: &Op, result: ValueId) -> Range {
    let ty = function.ty(result);
    let full = Range::of_type(ty);
    if ty.elem().scalar().is_none_or(|s| s.is_float()) {
        return full;
    }
    let operand = |n: usize| facts.range(op.operands[n]);
    match &op.kind {
        OpKind::Constant(Constant::Int(n)) => {
            let n = if ty.elem() == crate::types::Elem::Scalar(Scalar::I1) { n & 1 } else { *n };
            Range::fit(i128::from(n), i128::from(n), full)
        }
        OpKind::ProgramId { axis } => Range::new(0, most_programs(*axis) - 1),
        OpKind::NumPrograms { axis } => Range::new(1, most_programs(*axis)),
        OpKind::Iota { start, end } => Range::new(i64::from(*start), i64::from(*end) - 1),
        kind if kind.is_view() => operand(0),
        // To an operation with a sign the one bit of `i1` is -1, where ranges say 1.
        OpKind::Binary(
            BinaryOp::DivS | BinaryOp::RemS | BinaryOp::MinS | BinaryOp::MaxS | BinaryOp::Shl | BinaryOp::ShrS | BinaryOp::ShrU,
        ) if ty.elem().bits() == 1 => full,
        OpKind::Compare(Predicate::LtS | Predicate::LeS | Predicate::GtS | Predicate::GeS)
            if function.ty(op.operands[0]).elem().bits() == 1 =>
        {
            full
        }
        OpKind::Binary(binary) => combine(*binary, operand(0), operand(1), full),
        OpKind::Compare(predicate) => match compare(*predicate, operand(0), operand(1)) {
            Some(known) => Range::new(i64::from(known), i64::from(known)),
            None => full,
        },
        OpKind::Select => operand(1).join(operand(2)),
        OpKind::Cast(cast) => match cast {
            CastOp::ExtS if function.ty(op.operands[0]).elem().bits() > 1 => operand(0),
            CastOp::ExtU if operand(0).min >= 0 => operand(0),
            CastOp::Trunc => Range::fit(i128::from(operand(0).min), i128::from(operand(0).max), full),
            CastOp::ExtU => match function.ty(op.operands[0]).elem().bits() {
                bits @ ..63 => Range::fit(0, (1 << bits) - 1, full),
                _ => full,
            },
            CastOp::ExtS
            | CastOp::Float
            | CastOp::FloatRtz
            | CastOp::SToF
            | CastOp::UToF
            | CastOp::FToS
            | CastOp::FToU
            | CastOp::Bitcast
            | CastOp::PtrToInt
            | CastOp::IntToPtr
            | CastOp::PtrCast => full,
        },
        _ => full,
    }
}

fn combine(binary: BinaryOp, a: Range, b: Range, full: Range) -> Range {
    let wide = |r: Range| (i128::from(r.min), i128::from(r.max));
    let ((a0, a1), (b0, b1)) = (wide(a), wide(b));
    match binary {
        BinaryOp::AddI => Range::fit(a0 + b0, a1 + b1, full),
        BinaryOp::SubI => Range::fit(a0 - b1, a1 - b0, full),
        BinaryOp::MulI => {
            let corners = [a0 * b0, a0 * b1, a1 * b0, a1 * b1];
            Range::fit(corners.into_iter().min().unwrap_or(0), corners.into_iter().max().unwrap_or(0), full)
        }
        BinaryOp::DivS | BinaryOp::DivU if a0 >= 0 && b0 > 0 => Range::fit(a0 / b1, a1 / b0, full),
        BinaryOp::RemS | BinaryOp::RemU if a0 >= 0 && b0 > 0 => Range::fit(0, a1.min(b1 - 1), full),
        BinaryOp::RemS if b0 > 0 => Range::fit((1 - b1).max(a0).min(0), a1.min(b1 - 1).max(0), full),
        BinaryOp::And if a0 >= 0 && b0 >= 0 => Range::fit(0, a1.min(b1), full),
        BinaryOp::And if a0 >= 0 => Range::fit(0, a1, full),
        BinaryOp::And if b0 >= 0 => Range::fit(0, b1, full),
        BinaryOp::Shl if b.constant().is_some_and(|k| (0..63).contains(&k)) => Range::fit(a0 << b0, a1 << b0, full),
        BinaryOp::ShrS if b.constant().is_some_and(|k| (0..63).contains(&k)) => Range::fit(a0 >> b0, a1 >> b0, full),
        BinaryOp::ShrU if a0 >= 0 && b.constant().is_some_and(|k| (0..63).contains(&k)) => Range::fit(a0 >> b0, a1 >> b0, full),
        BinaryOp::MinS => Range::fit(a0.min(b0), a1.min(b1), full),
        BinaryOp::MaxS => Range::fit(a0.max(b0), a1.max(b1), full),
        BinaryOp::MulHiU
        | BinaryOp::DivS
        | BinaryOp::DivU
        | BinaryOp::RemS
        | BinaryOp::RemU
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Xor
        | BinaryOp::Shl
        | BinaryOp::ShrS
        | BinaryOp::ShrU
        | BinaryOp::MinU
        | BinaryOp::MaxU
        | kinds!(Float) => full,
    }
}

fn compare(predicate: Predicate, a: Range, b: Range) -> Option<bool> {
    let less = |a: Range, b: Range| {
        if a.max < b.min {
            Some(true)
        } else if a.min >= b.max {
            Some(false)
        } else {
            None
        }
    };
    let unsigned = || a.min >= 0 && b.min >= 0;
    match predicate {
        Predicate::LtS => less(a, b),
        Predicate::GtS => less(b, a),
        Predicate::GeS => less(a, b).map(|v| !v),
        Predicate::LeS => less(b, a).map(|v| !v),
        Predicate::LtU if unsigned() => less(a, b),
        Predicate::GtU if unsigned() => less(b, a),
        Predicate::GeU if unsigned() => less(a, b).map(|v| !v),
        Predicate::LeU if unsigned() => less(b, a).map(|v| !v),
        Predicate::Eq | Predicate::Ne => {
            let equal = match (a.constant(), b.constant()) {
                (Some(x), Some(y)) => Some(x == y),
                _ if a.max < b.min || b.max < a.min => Some(false),
                _ => None,
            }?;
            Some(equal == (predicate == Predicate::Eq))
        }
        Predicate::LtU
        | Predicate::LeU
        | Predicate::GtU
        | Predicate::GeU
        | Predicate::EqF
        | Predicate::NeF
        | Predicate::LtF
        | Predicate::LeF
        | Predicate::GtF
        | Predicate::GeF => None,
    }
}

/// The one value an integer op can have.
pub(super) fn constant_of(function: &Function, facts: &Facts, op: &Op, result: ValueId) -> Option<i64> {
    if function.ty(result).elem().scalar().is_none_or(|s| s.is_float())
        || function.ty(op.operands[0]).elem().scalar().is_none_or(|s| s.is_float())
    {
        return None;
    }
    transfer(function, facts, op, result).constant()
}
