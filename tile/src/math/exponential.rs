//! Exponentials and hyperbolic functions.
//!
//! x = k·log 2 + r with |r| at most half of log 2; the power of r is a polynomial, that of k is put into the exponent in two steps, so
//! that subnormal results are rounded once. **Invariant:** arguments are bounded before k is made, so k always fits.

use std::f64::consts::{LN_10, LOG2_10, LOG2_E};

use super::{
    coefficients::{EXP, EXP2, SINH, TANH},
    tape::{Float, V},
};

/// `x · 2^k` for |k| up to twice the exponent range, rounded once more at most.
pub(super) fn scale<F: Float>(x: V<F>, k: V<F::Bits>) -> V<F> {
    let half = k.shr_s(1);
    x * V::power_of_two(half) * V::power_of_two(k - half)
}

/// The argument within what gives 0 and infinity; NaN stays.
fn bounded<F: Float>(x: V<F>, low: (f64, f64), high: (f64, f64)) -> V<F> {
    let (low, high) = (F::pick(low.0, low.1), F::pick(high.0, high.1));
    let x = x.lt(low).select(low, x);
    x.gt(high).select(high, x)
}

/// log 2 in two parts, the first so short that its products with exponents are exact.
pub(super) fn log2_parts<F: Float>() -> (f64, f64) {
    F::pick((0.693_145_751_953_125, 1.428_606_820_286_226_8e-6), (0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10))
}

/// k, r and what r leaves out, of x = k·log 2 + r.
fn reduce<F: Float>(x: V<F>) -> (V<F>, V<F>, V<F>) {
    let (high, low) = log2_parts::<F>();
    let k = (x * LOG2_E).rint();
    let exact = k.fma(-high, x);
    let r = k.fma(-low, exact);
    (k, r, k.fma(-low, exact - r))
}

/// `e^r - 1` for a reduced r and the rest of it.
fn power<F: Float>(r: V<F>, rest: V<F>) -> V<F> {
    let square = r * r;
    let tail = r.series(EXP.0, EXP.1).fma(r, 0.5).fma(square, rest);
    r + tail
}

pub(super) fn exp<F: Float>(x: V<F>) -> V<F> {
    let x = bounded(x, (-105.0, -746.0), (89.0, 710.0));
    let (k, r, rest) = reduce(x);
    scale(power(r, rest) + 1.0, k.int())
}

/// `e^(x + low)·factor`, rounded to a subnormal only once.
pub(super) fn exp_times<F: Float>(x: V<F>, low: V<F>, factor: V<F>) -> V<F> {
    let x = bounded(x, (-120.0, -780.0), (100.0, 720.0));
    let (k, r, rest) = reduce(x);
    let power = power(r, rest) + 1.0;
    scale(power.fma(low, power) * factor, k.int())
}

pub(super) fn exp2<F: Float>(x: V<F>) -> V<F> {
    exp2_parts(x, x.constant(0.0))
}

/// `2^(x + low)` for a low that is small beside 1.
pub(super) fn exp2_parts<F: Float>(x: V<F>, low: V<F>) -> V<F> {
    let bounded = bounded(x, (-152.0, -1076.0), (129.0, 1025.0));
    let k = bounded.rint();
    let r = bounded - k + low;
    scale(r.series(EXP2.0, EXP2.1).fma(r, 1.0), k.int())
}

pub(super) fn exp10<F: Float>(x: V<F>) -> V<F> {
    let x = bounded(x, (-46.0, -324.5), (39.0, 309.0));
    let k = (x * LOG2_10).rint();
    // log10(2) and log(10) in two parts.
    let (high, low) =
        F::pick((0.301_025_390_625, 4.605_038_981_195_214e-6), (0.301_029_995_663_611_77, 3.694_239_077_158_931e-13));
    let r = k.fma(-low, k.fma(-high, x));
    let ten = F::pick(f64::from(LN_10 as f32), LN_10);
    let ten_low = F::pick(LN_10 - f64::from(LN_10 as f32), -2.170_756_223_382_249_4e-16);
    let product = r * ten;
    let rest = r.fma(ten_low, r.fma(ten, -product));
    scale(power(product, rest) + 1.0, k.int())
}

/// `e^x - 1` as a number times 2^k: half of it, so that it stays finite wherever the result is, or an infinity of the right sign.
fn expm1_half<F: Float>(x: V<F>) -> (V<F>, V<F>) {
    let x = bounded(x, (-30.0, -60.0), (89.5, 710.5));
    let (k, r, rest) = reduce(x);
    (power(r, rest), V::power_of_two(k.int() - 1))
}

pub(super) fn expm1<F: Float>(x: V<F>) -> V<F> {
    let (p, half) = expm1_half(x);
    let value = p.fma(half, half - 0.5) * 2.0;
    // A zero keeps its sign.
    x.is(0.0).select(x, value)
}

pub(super) fn sinh<F: Float>(x: V<F>) -> V<F> {
    let size = x.abs();
    let square = x * x;
    let small = (square * x).fma(square.series(SINH.0, SINH.1), x);
    let large = (hyperbolic(size, -1.0)).copysign(x);
    size.lt(1.0).select(small, large)
}

pub(super) fn cosh<F: Float>(x: V<F>) -> V<F> {
    hyperbolic(x.abs(), 1.0)
}

/// `(e^x ± e^-x) / 2` for x ≥ 0, through `e^x / 4`, which is finite a little longer.
fn hyperbolic<F: Float>(x: V<F>, sign: f64) -> V<F> {
    let x = bounded(x, (0.0, 0.0), (90.0, 711.0));
    let (k, r, rest) = reduce(x);
    let quarter = scale(power(r, rest) + 1.0, k.int() - 2);
    (quarter + quarter.constant(sign / 16.0) / quarter) * 2.0
}

/// `t / (t + 2)` or `1 - 2/(t + 2)` with `t = e^2|x| - 1`.
pub(super) fn tanh<F: Float>(x: V<F>) -> V<F> {
    let size = x.abs();
    let far = size.gt(F::pick(10.0, 22.0));
    let doubled = far.select(1.0, size) * 2.0;
    let (p, half) = expm1_half(doubled);
    let t = p.fma(half, half - 0.5) * 2.0;
    let value = size.lt(0.5).select(t, -2.0) / (t + 2.0);
    let value = size.lt(0.5).select(value, value + 1.0);
    let value = far.select(1.0, value);
    let value = size.is_nan().select(x, value.copysign(x));
    if F::pick(true, false) {
        let square = x * x;
        let small = (square * x).fma(square.polynomial(TANH), x);
        return size.lt(0.625).select(x.is(0.0).select(x, small), value);
    }
    x.is(0.0).select(x, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up() {
        for (high, low) in [log2_parts::<f32>(), log2_parts::<f64>()] {
            assert_eq!(high + low, std::f64::consts::LN_2);
        }
    }
}
