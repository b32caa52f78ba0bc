//! Python's operators on compile-time values.
//!
//! **Invariant:** the answer is Python's, or `None` where Python raises, the result outgrows 128 bits, a tuple [`MAX_NODES`] or a string
//! [`MAX_TEXT_BYTES`].

use super::{Const, MAX_NODES};
use crate::body::{BinaryOp, CompareOp, UnaryOp};

/// A string that is computed.
const MAX_TEXT_BYTES: usize = 1 << 16;

pub fn unary(op: UnaryOp, operand: &Const) -> Option<Const> {
    match op {
        UnaryOp::Not => Some(Const::Bool(!operand.truth())),
        UnaryOp::Neg => match operand {
            Const::Float(f) => Some(Const::float(-f.get())),
            _ => operand.as_int()?.checked_neg().map(Const::Int),
        },
        UnaryOp::Pos => match operand {
            Const::Float(_) => Some(operand.clone()),
            _ => operand.as_int().map(Const::Int),
        },
        UnaryOp::Invert => operand.as_int().map(|i| Const::Int(!i)),
    }
}

pub fn binary(op: BinaryOp, lhs: &Const, rhs: &Const) -> Option<Const> {
    match (lhs, rhs) {
        (Const::Bool(a), Const::Bool(b)) => match op {
            BinaryOp::BitAnd => return Some(Const::Bool(a & b)),
            BinaryOp::BitOr => return Some(Const::Bool(a | b)),
            BinaryOp::BitXor => return Some(Const::Bool(a ^ b)),
            _ => {}
        },
        (Const::Str(a), Const::Str(b)) => {
            return (op == BinaryOp::Add && a.len() + b.len() <= MAX_TEXT_BYTES).then(|| Const::Str(format!("{a}{b}")));
        }
        (Const::Tuple(a), Const::Tuple(b)) => {
            return (op == BinaryOp::Add && lhs.nodes() + rhs.nodes() <= MAX_NODES).then(|| Const::Tuple([&a[..], b].concat()));
        }
        (Const::Tuple(items), times) | (times, Const::Tuple(items)) => {
            let times = usize::try_from(times.as_int()?.max(0)).ok()?;
            let nodes = items.iter().map(Const::nodes).sum::<usize>();
            return (op == BinaryOp::Mul && nodes.checked_mul(times)? < MAX_NODES)
                .then(|| Const::Tuple(std::iter::repeat_n(items, times).flatten().cloned().collect()));
        }
        (Const::Str(text), times) | (times, Const::Str(text)) => {
            let times = usize::try_from(times.as_int()?.max(0)).ok()?;
            return (op == BinaryOp::Mul && text.len().checked_mul(times)? <= MAX_TEXT_BYTES)
                .then(|| Const::Str(text.repeat(times)));
        }
        _ => {}
    }
    match (lhs.as_int(), rhs.as_int()) {
        (Some(a), Some(b)) => integers(op, a, b),
        _ => floats(op, lhs.as_float()?, rhs.as_float()?),
    }
}

fn integers(op: BinaryOp, a: i128, b: i128) -> Option<Const> {
    let int = |value: Option<i128>| value.map(Const::Int);
    match op {
        BinaryOp::Add => int(a.checked_add(b)),
        BinaryOp::Sub => int(a.checked_sub(b)),
        BinaryOp::Mul => int(a.checked_mul(b)),
        BinaryOp::Div => (b != 0).then(|| Const::float(a as f64 / b as f64)),
        BinaryOp::FloorDiv => int(floor_div(a, b)),
        BinaryOp::Mod => int(floor_div(a, b).and_then(|q| a.checked_sub(q.checked_mul(b)?))),
        BinaryOp::Pow if b < 0 => (a != 0).then(|| Const::float((a as f64).powf(b as f64))),
        BinaryOp::Pow => int(a.checked_pow(u32::try_from(b).ok()?)),
        BinaryOp::BitAnd => Some(Const::Int(a & b)),
        BinaryOp::BitOr => Some(Const::Int(a | b)),
        BinaryOp::BitXor => Some(Const::Int(a ^ b)),
        BinaryOp::Shl => {
            let by = u32::try_from(b).ok().filter(|&by| by < 127)?;
            int(a.checked_mul(1i128 << by))
        }
        BinaryOp::Shr => u32::try_from(b).ok().map(|by| Const::Int(a >> by.min(127))),
        BinaryOp::MatMul => None,
    }
}

fn floor_div(a: i128, b: i128) -> Option<i128> {
    let (q, r) = (a.checked_div(b)?, a.checked_rem(b)?);
    Some(if r != 0 && (r < 0) != (b < 0) { q - 1 } else { q })
}

fn floats(op: BinaryOp, a: f64, b: f64) -> Option<Const> {
    let value = match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div if b != 0.0 => a / b,
        BinaryOp::FloorDiv if b != 0.0 => (a / b).floor(),
        BinaryOp::Mod if b != 0.0 => {
            let r = a % b;
            if r != 0.0 && (r < 0.0) != (b < 0.0) { r + b } else { r }
        }
        // Python makes a complex number of a negative base.
        BinaryOp::Pow if a >= 0.0 || b.fract() == 0.0 => a.powf(b),
        _ => return None,
    };
    Some(Const::float(value))
}

pub fn compare(op: CompareOp, lhs: &Const, rhs: &Const) -> Option<bool> {
    Some(match op {
        CompareOp::Eq => equal(lhs, rhs),
        CompareOp::Ne => !equal(lhs, rhs),
        // Only the singletons have an identity that means something.
        CompareOp::Is => lhs == rhs,
        CompareOp::IsNot => lhs != rhs,
        CompareOp::In => contains(rhs, lhs)?,
        CompareOp::NotIn => !contains(rhs, lhs)?,
        CompareOp::Lt => order(lhs, rhs)?.is_some_and(|o| o.is_lt()),
        CompareOp::Gt => order(lhs, rhs)?.is_some_and(|o| o.is_gt()),
        CompareOp::Le => order(lhs, rhs)?.is_some_and(|o| o.is_le()),
        CompareOp::Ge => order(lhs, rhs)?.is_some_and(|o| o.is_ge()),
    })
}

fn equal(lhs: &Const, rhs: &Const) -> bool {
    match (lhs, rhs) {
        (Const::Tuple(a), Const::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        _ => match (lhs.as_int(), rhs.as_int()) {
            (Some(a), Some(b)) => a == b,
            _ => match (lhs.as_float(), rhs.as_float()) {
                (Some(a), Some(b)) => a == b,
                _ => lhs == rhs,
            },
        },
    }
}

fn contains(container: &Const, item: &Const) -> Option<bool> {
    match (container, item) {
        (Const::Tuple(items), item) => Some(items.iter().any(|i| equal(i, item))),
        (Const::Str(text), Const::Str(part)) => Some(text.contains(part.as_str())),
        _ => None,
    }
}

/// `Some(None)` where a NaN takes part.
fn order(lhs: &Const, rhs: &Const) -> Option<Option<std::cmp::Ordering>> {
    match (lhs, rhs) {
        (Const::Str(a), Const::Str(b)) => Some(Some(a.cmp(b))),
        (Const::Tuple(a), Const::Tuple(b)) => {
            for (a, b) in a.iter().zip(b) {
                if !equal(a, b) {
                    return order(a, b);
                }
            }
            Some(Some(a.len().cmp(&b.len())))
        }
        _ => match (lhs.as_int(), rhs.as_int()) {
            (Some(a), Some(b)) => Some(Some(a.cmp(&b))),
            _ => Some(lhs.as_float()?.partial_cmp(&rhs.as_float()?)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(i: i128) -> Const {
        Const::Int(i)
    }

    #[test]
    fn integers_round_down_as_in_python() {
        for (a, b, q, r) in [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (6, 3, 2, 0)] {
            assert_eq!(binary(BinaryOp::FloorDiv, &int(a), &int(b)), Some(int(q)), "{a} // {b}");
            assert_eq!(binary(BinaryOp::Mod, &int(a), &int(b)), Some(int(r)), "{a} % {b}");
        }
        assert_eq!(binary(BinaryOp::Mod, &int(1), &int(0)), None);
        assert_eq!(binary(BinaryOp::FloorDiv, &int(i128::MIN), &int(-1)), None);
    }

    #[test]
    fn what_outgrows_128_bits_is_unknown() {
        assert_eq!(binary(BinaryOp::Pow, &int(2), &int(200)), None);
        assert_eq!(binary(BinaryOp::Shl, &int(1), &int(127)), None);
        assert_eq!(binary(BinaryOp::Mul, &Const::Str("ab".into()), &int(i128::MAX)), None);
    }

    #[test]
    fn numbers_of_different_kinds_compare_by_value() {
        assert_eq!(compare(CompareOp::Eq, &int(1), &Const::Bool(true)), Some(true));
        assert_eq!(compare(CompareOp::Lt, &int(1), &Const::float(1.5)), Some(true));
        assert_eq!(compare(CompareOp::Lt, &int(1), &Const::float(f64::NAN)), Some(false));
        assert_eq!(compare(CompareOp::Lt, &int(1), &Const::None), None);
    }
}
