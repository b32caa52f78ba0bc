//! What the machine has an instruction for.
//!
//! Computed in `f64` and rounded, which is the correctly rounded result but for about one argument in 2^28; the machine's
//! approximations (`ex2.approx` and its kin) differ from that within the bounds that [`crate::ops::UnaryOp`] names.
//! **Invariant:** the same bits on every host: nothing calls the platform's mathematics.

use crate::ops::UnaryOp;

/// The function on `f64`; `None` for the integer one and for those that are programs of [`crate::math`].
pub(super) fn function(op: UnaryOp) -> Option<fn(f64) -> f64> {
    Some(match op {
        UnaryOp::NegF => |x| -x,
        UnaryOp::AbsF => f64::abs,
        UnaryOp::Floor => f64::floor,
        UnaryOp::Ceil => f64::ceil,
        UnaryOp::Sqrt | UnaryOp::SqrtRn => f64::sqrt,
        UnaryOp::Rsqrt => |x| 1.0 / x.sqrt(),
        // Of `f32` only.
        UnaryOp::Exp => libm::exp,
        UnaryOp::Exp2 => libm::exp2,
        UnaryOp::AbsI | UnaryOp::Log | UnaryOp::Log2 | UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tanh | UnaryOp::Erf => return None,
    })
}
