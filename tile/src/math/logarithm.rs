//! Logarithms and their inverse hyperbolic kin, and powers.
//!
//! x = 2^k·m with m between √½ and √2; the logarithm of m is a series in m - 1 (`f32`) or (m - 1)/(m + 1) (`f64`).
//! **Invariant:** zero, negative numbers, infinities and NaN are put right at the end, whatever the series made of them.

use std::f64::consts::{LN_2, LOG2_E, LOG10_2, LOG10_E};

use super::{
    coefficients::{ATANH_TAIL, LOG_FROM_THIRD, LOG_NARROW, LOG_WIDE},
    exponential::{exp2_parts, log2_parts},
    tape::{Float, V},
};

/// k and m of a positive number.
pub(super) fn split<F: Float>(x: V<F>) -> (V<F>, V<F>) {
    let (least, steps) = F::pick((f64::from(f32::MIN_POSITIVE), 24), (f64::MIN_POSITIVE, 54));
    let tiny = x.lt(least);
    let normal = tiny.select(x * f64::powi(2.0, steps), x);
    let bits = normal.bits();
    let from_root = bits - F::pick(0x3f35_04f3, 0x3fe6_a09e_667f_3bcd);
    let k = from_root.shr_s(F::DIGITS);
    let m = bits - (k << F::DIGITS);
    let k = tiny.select(k - i64::from(steps), k);
    (k.float(), m.as_float())
}

/// `log(1 + f) - (f - f²/2)` and f²/2, for 1 + f between √½ and √2.
fn tail<F: Float>(f: V<F>) -> (V<F>, V<F>) {
    let half = f * f * 0.5;
    if F::pick(true, false) {
        return ((half * f) * 2.0 * f.polynomial(LOG_NARROW), half);
    }
    let s = f / (f + 2.0);
    let z = s * s;
    // With 2s = f - s·f and R the series: f - f²/2 + s·(f²/2 + z·R).
    (s * z.polynomial(LOG_WIDE).fma(z, half), half)
}

/// Where a logarithm of x is not that of a positive finite number.
fn edges<F: Float>(x: V<F>, value: V<F>) -> V<F> {
    let value = x.lt(f64::INFINITY).select(value, x);
    let value = x.lt(0.0).select(f64::NAN, value);
    x.is(0.0).select(f64::NEG_INFINITY, value)
}

pub(super) fn log<F: Float>(x: V<F>) -> V<F> {
    let (k, m) = split(x);
    let (high, low) = log2_parts::<F>();
    let f = m - 1.0;
    let (tail, half) = tail(f);
    let small = f - (half - k.fma(low, tail));
    edges(x, k.fma(high, small))
}

/// The same of `f32` in fewer operations: x = 2^k·(1 + f) with f between -1/3 and 1/3, and one addition for k, whose rounding is within
/// the last digit of a result of such a size.
pub(super) fn log_fast(x: V<f32>) -> V<f32> {
    let tiny = x.lt(f64::from(f32::MIN_POSITIVE));
    let normal = tiny.select(x * f64::powi(2.0, 23), x);
    let bits = normal.bits();
    let exponent = (bits - 0x3f2a_aaab) & -0x80_0000;
    let k = exponent.float().fma(f64::powi(2.0, -23), tiny.select(-23.0, x.constant(0.0)));
    let f = (bits - exponent).as_float() - 1.0;
    let value = k.fma(LN_2, (f * f).fma(f.polynomial(LOG_FROM_THIRD), f));
    // Infinity and NaN stay, negative numbers become NaN.
    let value = bits.lt_u(0x7f80_0000).select(value, x.fma(f64::INFINITY, x.constant(f64::INFINITY)));
    x.is(0.0).select(f64::NEG_INFINITY, value)
}

/// A logarithm to a base: k·`step` and log(m)·`scale`, both in two parts.
fn based<F: Float>(x: V<F>, scale: (f64, f64), step: (f64, f64)) -> V<F> {
    let (k, m) = split(x);
    let f = m - 1.0;
    let (tail, half) = tail(f);
    let high = f - half;
    let low = (f - high) - half + tail;
    let product = high * scale.0;
    let rest = low.fma(scale.0, high.fma(scale.1, high.fma(scale.0, -product)));
    let whole = k * step.0;
    let sum = whole + product;
    let lost = (whole - sum) + product;
    edges(x, sum + (lost + k.fma(step.1, rest)))
}

/// A number in two parts of this format, the first `digits` long where products with exponents must be exact.
fn parts<F: Float>(value: f64, low: f64, short: bool) -> (f64, f64) {
    let cut = |x: f64, digits: u32| f64::from_bits(x.to_bits() & !((1 << (52 - digits)) - 1));
    let high = match (F::pick(true, false), short) {
        (true, true) => cut(value, 14),
        (true, false) => f64::from(value as f32),
        (false, true) => cut(value, 40),
        (false, false) => value,
    };
    (high, (value - high) + low)
}

pub(super) fn log2<F: Float>(x: V<F>) -> V<F> {
    based(x, parts::<F>(LOG2_E, 2.035_527_374_093_103_3e-17, false), (1.0, 0.0))
}

pub(super) fn log10<F: Float>(x: V<F>) -> V<F> {
    let scale = parts::<F>(LOG10_E, 1.098_319_650_216_765e-17, false);
    based(x, scale, parts::<F>(LOG10_2, -2.803_728_127_785_170_3e-18, true))
}

pub(super) fn log1p<F: Float>(x: V<F>) -> V<F> {
    log1p_parts(x, x.constant(0.0))
}

/// `log(1 + x + low)` for a low that is small beside x.
fn log1p_parts<F: Float>(x: V<F>, low: V<F>) -> V<F> {
    let sum = x + 1.0;
    // What the sum leaves out, of the larger operand first.
    let left = x.gt(1.0).select((x - sum) + 1.0, x - (sum - 1.0)) + low;
    let (k, m) = split(sum);
    let near = k.is(0.0);
    let f = near.select(x, m - 1.0);
    let left = near.select(low, left / sum);
    let (high_part, low_part) = log2_parts::<F>();
    let (tail, half) = tail(f);
    let small = f - (half - k.fma(low_part, tail + left));
    let value = edges(sum, k.fma(high_part, small));
    // So small that 1 + x is 1: also the sign of a zero.
    x.abs().lt(F::pick(1e-10, 1e-20)).select(x, value)
}

pub(super) fn asinh<F: Float>(x: V<F>) -> V<F> {
    let size = x.abs();
    let large = size.gt(F::pick(1e8, 1e18));
    let a = large.select(1.0, size);
    let square = a * a;
    // a + √(1 + a²) - 1
    let grown = a + square / ((square + 1.0).sqrt() + 1.0);
    let near = log1p(grown);
    let far = log(size) + LN_2;
    large.select(far, near).copysign(x)
}

pub(super) fn acosh<F: Float>(x: V<F>) -> V<F> {
    let large = x.gt(F::pick(1e8, 1e18));
    let t = large.select(1.0, x) - 1.0;
    let near = log1p(t + t.fma(t, t * 2.0).sqrt());
    let value = large.select(log(x) + LN_2, near);
    x.lt(1.0).select(f64::NAN, value)
}

pub(super) fn atanh<F: Float>(x: V<F>) -> V<F> {
    let size = x.abs();
    let doubled = size * 2.0;
    let rest = x.constant(1.0) - size;
    let quotient = doubled / rest;
    // What the quotient leaves out (1 - |x| is exact above a half, and below it the error is small beside 1).
    let lost = (x.constant(1.0) - rest) - size;
    let low = ((-quotient).fma(rest, doubled) - quotient * lost) / rest;
    let low = quotient.lt(1e30).select(low, 0.0);
    let value = log1p_parts(quotient, low) * 0.5;
    let value = size.gt(1.0).select(f64::NAN, value);
    size.is_nan().select(x, value.copysign(x))
}

/// The base-2 logarithm of a positive finite number in two parts, together half as long again as the format at least.
pub(super) fn log2_wide<F: Float>(x: V<F>) -> (V<F>, V<F>) {
    let (k, m) = split(x);
    let f = m - 1.0;
    // s = f / (2 + f) in two parts.
    let divisor = m + 1.0;
    let divisor_low = (m - divisor) + 1.0;
    let s = f / divisor;
    let s_low = ((-s).fma(divisor, f) - s * divisor_low) / divisor;
    // z = s², and the cubic term 2/3·s³, in two parts.
    let z = s * s;
    let z_low = s.fma(s, -z) + s * s_low * 2.0;
    let third = parts::<F>(2.0 / 3.0, 3.700_743_415_417_188e-17, false);
    let t = z * third.0;
    let t_low = z_low.fma(third.0, z.fma(third.1, z.fma(third.0, -t)));
    // t + z²·R
    let r = z * z * z.series(ATANH_TAIL.0, ATANH_TAIL.1);
    let sum = t + r;
    let sum_low = (t - sum) + r + t_low;
    // 2s + s·sum
    let product = s * sum;
    let product_low = s_low.fma(sum, s.fma(sum_low, s.fma(sum, -product)));
    let double = s * 2.0;
    let high = double + product;
    let low = (double - high) + product + s_low.fma(2.0, product_low);
    // Times log2 e, plus k.
    let base = parts::<F>(LOG2_E, 2.035_527_374_093_103_3e-17, false);
    let scaled = high * base.0;
    let scaled_low = low.fma(base.0, high.fma(base.1, high.fma(base.0, -scaled)));
    let whole = k + scaled;
    let whole_low = (k - whole) + scaled + scaled_low;
    let value = whole + whole_low;
    (value, (whole - value) + whole_low)
}

/// `|x|^y` for finite x that are not 0, and finite y; and NaN.
fn power<F: Float>(size: V<F>, y: V<F>) -> V<F> {
    let (log, log_low) = log2_wide(size);
    // Beyond this every power but that of 1 is 0 or infinite, and of 1 the logarithm is 0.
    let limit = F::pick(1e20, 1e30);
    let y = y.gt(limit).select(limit, y);
    let y = y.lt(-limit).select(-limit, y);
    let product = log * y;
    let low = log_low.fma(y, log.fma(y, -product));
    let tame = product.abs().lt(2000.0);
    exp2_parts(product, tame.select(low, 0.0))
}

pub(super) fn pow<F: Float>(x: V<F>, y: V<F>) -> V<F> {
    let size = x.abs();
    let value = power(size, y);
    let whole = y.trunc().is(y);
    let halved = y * 0.5;
    let odd = whole & !halved.trunc().is(halved);
    let negative = x.bits().lt_s(0);
    let value = (negative & odd).select(-value, value);
    let value = (x.lt(0.0) & !whole & y.abs().lt(f64::INFINITY)).select(f64::NAN, value);
    // Of zeros and infinities: grows with the sign of y.
    let zero = x.is(0.0);
    let edge = zero | size.is(f64::INFINITY);
    let grows = zero ^ y.gt(0.0);
    let limit = grows.select(f64::INFINITY, x.constant(0.0));
    let limit = (negative & odd).select(-limit, limit);
    let value = edge.select(limit, value);
    // Of an infinite y.
    let limit = (size.gt(1.0) ^ y.lt(0.0)).select(f64::INFINITY, x.constant(0.0));
    let limit = size.is(1.0).select(1.0, limit);
    let value = y.abs().is(f64::INFINITY).select(limit, value);
    let value = (x.is_nan() | y.is_nan()).select(f64::NAN, value);
    (x.is(1.0) | y.is(0.0)).select(1.0, value)
}

/// A power with an integer: as [`pow`] with the integer as a float, which is exact for `f64` and near enough for `f32`, whose powers
/// of such size are 0, 1 or infinite but for bases within 2^-24 of 1.
pub(super) fn powi<F: Float>(x: V<F>, n: V<i32>) -> V<F> {
    if F::pick(true, false) {
        return pow(x.cast::<f64>(), n.float()).cast();
    }
    pow(x, n.float())
}
