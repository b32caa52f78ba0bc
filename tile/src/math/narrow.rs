//! Floats of 8 bits from `f32`, for machines without an instruction for it.
//!
//! **Invariant:** what the interpreter's formats give: saturating, infinities too; NaN stays NaN.

use super::tape::V;

/// The digits behind the point, the exponent's bias and the largest code of a finite number.
pub(super) struct Format {
    pub digits: i64,
    pub bias: i64,
    pub largest: f64,
    pub nan: i64,
}

pub(super) const E4M3: Format = Format { digits: 3, bias: 7, largest: 448.0, nan: 0x7f };
pub(super) const E5M2: Format = Format { digits: 2, bias: 15, largest: 57344.0, nan: 0x7e };

/// The code, rounded to nearest even or toward zero.
pub(super) fn encode(x: V<f32>, format: &Format, toward_zero: bool) -> V<i32> {
    let dropped = 23 - format.digits;
    let size = x.abs();
    let bounded = size.gt(format.largest).select(format.largest, size);
    let bits = bounded.bits();
    let bits = if toward_zero { bits } else { bits + ((1 << (dropped - 1)) - 1) + (bits.shr_u(dropped) & 1) };
    let normal = bits.shr_u(dropped) - ((127 - format.bias) << format.digits);
    // Below the least normal number the spacing is constant.
    let least = 1 - format.bias;
    let scaled = bounded * f64::powi(2.0, (format.digits - least) as i32);
    let subnormal = if toward_zero { scaled.trunc() } else { scaled.rint() }.int::<i32>();
    let code = bounded.lt(f64::powi(2.0, least as i32)).select(subnormal, normal);
    let code = size.is_nan().select(format.nan, code);
    code | (x.bits().shr_u(24) & 0x80)
}
