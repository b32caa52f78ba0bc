//! What comparisons, `set` and `str` make of values.

use std::collections::HashSet;

use rustc_hash::FxBuildHasher;

use super::{budget, interpret::MAX_LIST_ITEMS, value::Value};
use crate::{
    body::{BinaryOp, CompareOp},
    constant::{self, Const},
};

/// A comparison; `None` where it is not known.
pub(super) fn compare(op: CompareOp, lhs: &Value, rhs: &Value) -> Option<bool> {
    // A tensor, a function, a list is never `None`.
    let is_none = |v: &Value| matches!(v, Value::Const(Const::None));
    if (lhs.is_something() && is_none(rhs)) || (is_none(lhs) && rhs.is_something()) {
        return match op {
            CompareOp::Is | CompareOp::Eq => Some(false),
            CompareOp::IsNot | CompareOp::Ne => Some(true),
            _ => None,
        };
    }
    if let (CompareOp::In | CompareOp::NotIn, Value::Dict(items)) = (op, rhs) {
        let found = items.borrow().contains_key(&lhs.to_const()?);
        return Some(found == (op == CompareOp::In));
    }
    if matches!(lhs, Value::Either(_)) || matches!(rhs, Value::Either(_)) {
        let (lhs, rhs) = (lhs.clone().alternatives(), rhs.clone().alternatives());
        let mut all = lhs.iter().flat_map(|l| rhs.iter().map(|r| compare(op, l, r)));
        let first = all.next()??;
        return all.all(|other| other == Some(first)).then_some(first);
    }
    constant::compare(op, &lhs.to_const()?, &rhs.to_const()?)
}

/// Whether a string, a list or a tuple gets longer than is followed.
pub(super) fn outgrows(op: BinaryOp, lhs: &Value, rhs: &Value) -> bool {
    let sequence = |value: &Value| match value {
        Value::Const(Const::Str(text)) => Some(text.len()),
        Value::List(_) | Value::Tuple(_) => value.len(),
        _ => None,
    };
    let length = match (op, sequence(lhs), sequence(rhs)) {
        (BinaryOp::Add, Some(a), Some(b)) => a + b,
        (BinaryOp::Mul, Some(len), None) => len.saturating_mul(rhs.as_int().and_then(|n| usize::try_from(n).ok()).unwrap_or(0)),
        (BinaryOp::Mul, None, Some(len)) => len.saturating_mul(lhs.as_int().and_then(|n| usize::try_from(n).ok()).unwrap_or(0)),
        _ => 0,
    };
    length > MAX_LIST_ITEMS
}

/// Without repetitions: what a set holds, in the order of the text.
pub(super) fn distinct(values: Vec<Value>) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    let mut known: HashSet<Const, FxBuildHasher> = HashSet::default();
    for value in values {
        let is_new = match &value {
            Value::Const(value) => known.insert(value.clone()),
            _ => budget::visit(out.len()) && !out.iter().any(|known| known.same(&value)),
        };
        if is_new {
            out.push(value);
        }
    }
    out
}

/// `str(value)`
pub(super) fn python_str(value: &Const) -> Option<String> {
    match value {
        Const::Str(text) => Some(text.clone()),
        Const::None | Const::Bool(_) | Const::Int(_) => Some(value.to_string()),
        Const::Float(_) | Const::DType(_) | Const::Tuple(_) | Const::Function(_) => None,
    }
}
