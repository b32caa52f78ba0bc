//! The mathematical functions.
//!
//! Floats of 32 bits and fewer are computed in `f64` and rounded, which is the correctly rounded result but for about one argument in
//! 2^28; `f64` itself is within 1 ulp. The device's fast flavours (`ex2.approx` and its kin) differ from that within the bounds that
//! [`crate::ops::UnaryOp`] names. **Invariant:** the same bits on every host: nothing calls the platform's mathematics.

use crate::ops::UnaryOp;

/// The function on `f64`; `None` for the integer one.
pub(super) fn function(op: UnaryOp) -> Option<fn(f64) -> f64> {
    Some(match op {
        UnaryOp::NegF => |x| -x,
        UnaryOp::AbsF => f64::abs,
        UnaryOp::AbsI => return None,
        UnaryOp::Floor => f64::floor,
        UnaryOp::Ceil => f64::ceil,
        UnaryOp::Sqrt | UnaryOp::SqrtRn => f64::sqrt,
        UnaryOp::Rsqrt => |x| 1.0 / x.sqrt(),
        UnaryOp::Exp => libm::exp,
        UnaryOp::Exp2 => libm::exp2,
        UnaryOp::Log => libm::log,
        UnaryOp::Log2 => libm::log2,
        UnaryOp::Sin => libm::sin,
        UnaryOp::Cos => libm::cos,
        UnaryOp::Tanh => libm::tanh,
        UnaryOp::Erf => libm::erf,
    })
}
