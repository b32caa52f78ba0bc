//! What operations make of literals, and what loops carry that stays the literal it begins with: the highest score and the sum of weights of rows that
//! a mask leaves nothing of.

use rustc_hash::FxHashMap;

use super::{Change, def, settled};
use crate::{
    control::Carried,
    module::{Function, OpId, ValueId},
    ops::{BinaryOp, CastOp, Constant, Op, OpKind, Predicate, UnaryOp},
};

/// The integers that each float type of 16 bits and more has.
const MAX_EXACT: f64 = 256.0;

/// The literal that a value is by its definition.
pub(super) fn literal(function: &Function, value: ValueId) -> Option<Constant> {
    match def(function, value)?.kind {
        OpKind::Constant(constant) => Some(constant),
        _ => None,
    }
}

/// What MLIR folds of operations on literals of floats and LLVM would fold later, rounded or not.
pub(super) fn as_mlir_folds(function: &Function, op: &Op) -> Option<Change> {
    let float = |n: usize| match literal(function, *op.operands.get(n)?)? {
        Constant::Float(value) => Some(value),
        Constant::Int(_) | Constant::Undefined => None,
    };
    let constant = |value: f64| Some(Change::Constant(Constant::Float(value)));
    match (&op.kind, float(0), float(1)) {
        (OpKind::Binary(binary @ (BinaryOp::AddF | BinaryOp::SubF | BinaryOp::MulF)), Some(a), Some(b)) => {
            combine(*binary, a, b).and_then(constant)
        }
        (OpKind::Cast(CastOp::Float), Some(a), None) => {
            let bits = |value: ValueId| function.ty(value).elem().bits();
            (a == 0.0 || bits(op.results[0]) >= bits(op.operands[0])).then(|| constant(a)).flatten()
        }
        _ => None,
    }
}

/// The operand that an operation leaves as it is, to the bit but for signalling NaNs: `x - -0.0` is `+0.0` where `x` is `-0.0`.
pub(super) fn kept_operand(function: &Function, op: &Op) -> Option<Change> {
    let is = |n: usize, number: f64| match literal(function, op.operands[n]) {
        Some(Constant::Float(value)) => value.to_bits() == number.to_bits(),
        _ => false,
    };
    match op.kind {
        OpKind::Binary(BinaryOp::MulF | BinaryOp::DivF) if is(1, 1.0) => Some(Change::Use(op.operands[0])),
        OpKind::Binary(BinaryOp::MulF) if is(0, 1.0) => Some(Change::Use(op.operands[1])),
        OpKind::Binary(BinaryOp::SubF) if is(1, 0.0) => Some(Change::Use(op.operands[0])),
        _ => None,
    }
}

/// What an operation on floats makes of literals, if every float type has them and what comes of them, so that nothing is rounded.
pub(super) fn exact(function: &Function, op: &Op, literal: &dyn Fn(ValueId) -> Option<Constant>) -> Option<Constant> {
    let is_exact = |value: f64| value.is_infinite() || value.fract() == 0.0 && value.abs() <= MAX_EXACT;
    let float = |n: usize| match literal(*op.operands.get(n)?)? {
        Constant::Float(value) if is_exact(value) => Some(value),
        _ => None,
    };
    let is_wide = |value: ValueId| matches!(function.ty(value).elem().bits(), 1 | 16..);
    if op.kind.is_access() || !op.results.iter().chain(&op.operands).all(|&value| is_wide(value)) {
        return None;
    }
    let value = match &op.kind {
        OpKind::Constant(constant) => return Some(*constant),
        OpKind::Splat | OpKind::Broadcast | OpKind::ExpandDims { .. } | OpKind::Reshape { .. } | OpKind::ConvertLayout => {
            return literal(op.operands[0]);
        }
        OpKind::Select => match literal(op.operands[0])? {
            Constant::Int(condition) => return literal(op.operands[if condition & 1 == 0 { 2 } else { 1 }]),
            Constant::Float(_) | Constant::Undefined => return None,
        },
        OpKind::Compare(predicate) => {
            return compare(*predicate, float(0)?, float(1)?).map(|holds| Constant::Int(i64::from(holds)));
        }
        OpKind::Binary(binary) => combine(*binary, float(0)?, float(1)?)?,
        OpKind::Unary(UnaryOp::Exp | UnaryOp::Exp2) => match float(0)? {
            f64::NEG_INFINITY => 0.0,
            0.0 => 1.0,
            _ => return None,
        },
        OpKind::Cast(CastOp::Float) => float(0)?,
        OpKind::Reduce { .. } => {
            let each = float(0)?;
            // The greatest of equal numbers is each of them, and so is the sum of zeros.
            let together = combine(combiner(function, op)?, each, each)?;
            if together.to_bits() != each.to_bits() {
                return None;
            }
            each
        }
        _ => return None,
    };
    is_exact(value).then_some(Constant::Float(value))
}

/// The operation by which a reduction of one tile puts two elements together, if it is nothing but that.
fn combiner(function: &Function, reduce: &Op) -> Option<BinaryOp> {
    let (&[_], &[region]) = (&reduce.operands[..], &reduce.regions[..]) else { return None };
    let block = function.block(region);
    let &[only, last] = &block.ops[..] else { return None };
    let (only, last) = (function.op(only), function.op(last));
    match only.kind {
        OpKind::Binary(binary) if only.operands[..] == block.args[..] && last.operands == only.results => Some(binary),
        _ => None,
    }
}

fn combine(binary: BinaryOp, a: f64, b: f64) -> Option<f64> {
    match binary {
        BinaryOp::AddF => Some(a + b),
        BinaryOp::SubF => Some(a - b),
        BinaryOp::MulF => Some(a * b),
        BinaryOp::MaxF | BinaryOp::MaxNan if a != b => Some(a.max(b)),
        BinaryOp::MinF | BinaryOp::MinNan if a != b => Some(a.min(b)),
        // Zeros of two signs are equal.
        BinaryOp::MaxF | BinaryOp::MaxNan | BinaryOp::MinF | BinaryOp::MinNan => (a.to_bits() == b.to_bits()).then_some(a),
        _ => None,
    }
}

fn compare(predicate: Predicate, a: f64, b: f64) -> Option<bool> {
    match predicate {
        Predicate::EqF => Some(a == b),
        Predicate::NeF => Some(a != b),
        Predicate::LtF => Some(a < b),
        Predicate::LeF => Some(a <= b),
        Predicate::GtF => Some(a > b),
        Predicate::GeF => Some(a >= b),
        _ => None,
    }
}

/// What a loop carries that stays what it begins with: because it is passed on as it is, or because it begins with a literal of which an iteration makes
/// the same literal again. Each is taken to stay until an iteration shows that it does not.
pub(super) fn unchanged(function: &Function, id: OpId) -> Vec<Carried> {
    let Some(around) = function.for_loop(id) else { return Vec::new() };
    let passes_on = |carried: &Carried| settled::passes_on(function, carried);
    let mut stays: Vec<Carried> = (0..around.args.len()).filter_map(|place| around.carried(place)).collect();
    stays.retain(|carried| passes_on(carried) || literal(function, carried.init).is_some());
    loop {
        let mut known: FxHashMap<ValueId, Constant> =
            stays.iter().filter_map(|carried| Some((carried.arg, literal(function, carried.init)?))).collect();
        for &op in &function.block(around.body).ops {
            let op = function.op(op);
            let made = exact(function, op, &|value| known.get(&value).copied().or_else(|| literal(function, value)));
            if let (Some(made), &[result]) = (made, &op.results[..]) {
                known.insert(result, made);
            }
        }
        let before = stays.len();
        stays.retain(|carried| {
            passes_on(carried) || known.get(&carried.next).is_some_and(|&next| literal(function, carried.init) == Some(next))
        });
        if stays.len() == before {
            return stays;
        }
    }
}
