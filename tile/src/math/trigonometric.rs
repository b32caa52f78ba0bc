//! Trigonometric functions.
//!
//! x = q·π/2 + r. Small q: r by three fused steps, the first of which is exact. Large: x times enough bits of 2/π, in integers.
//! **Invariant:** r is right to its last digits, or the next, for every finite x; infinities give NaN.

use std::{f64::consts::FRAC_2_PI, sync::OnceLock};

use super::{
    coefficients::{ASIN, ATAN, COS, SIN, TWO_OVER_PI},
    tape::{Float, Program, V, record},
};

/// π/2 in three parts.
fn half_pi<F: Float>() -> [f64; 3] {
    F::pick(
        [1.570_796_370_506_286_6, -4.371_139e-8, -1.715_124_5e-15],
        [std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_17e-33],
    )
}

/// r and q (modulo 4).
fn reduce<F: Float>(x: V<F>) -> (V<F>, V<i32>) {
    let turns = (x * FRAC_2_PI).rint();
    let [a, b, c] = half_pi::<F>();
    let r = turns.fma(-c, turns.fma(-b, turns.fma(-a, x)));
    let far = x.abs().gt(F::pick(48_000.0, 1e6));
    static NARROW: OnceLock<Program> = OnceLock::new();
    static WIDE: OnceLock<Program> = OnceLock::new();
    let program = F::pick(&NARROW, &WIDE).get_or_init(|| {
        if F::pick(true, false) { record("reduce_far_f32", far_narrow) } else { record("reduce_far_f64", far_wide) }
    });
    program.call_if(far, x, (r, turns.int::<i32>()))
}

/// 64 bits of 2/π from a bit of it on. Bit 0 is the first of the table's word of zeros.
fn two_over_pi(from: V<i32>) -> V<i64> {
    let word = from.shr_u(6);
    let shift = (from & 63).cast_u::<i64>();
    let high: V<i64> = word.lookup(&TWO_OVER_PI);
    let next: V<i64> = (word + 1).lookup(&TWO_OVER_PI);
    // A shift by 64 in two steps.
    (high << shift) | next.shr_u(1).shr_u(-shift + 63)
}

fn far_narrow(x: V<f32>) -> (V<f32>, V<i32>) {
    let bits = x.bits();
    let exponent = bits.shr_u(23) & 0xff;
    let mantissa = ((bits & 0x7f_ffff) | 0x80_0000).cast_u::<i64>();
    // x = mantissa · 2^(exponent - 150): whole multiples of 4 in the product vanish, so bits of 2/π worth more than that are skipped.
    let from = exponent - 150 + 64 - 2;
    let high = two_over_pi(from);
    let low = two_over_pi(from + 64);
    // The product modulo 4, as 64 bits: 2 before the point.
    let product = mantissa * high + mantissa.mul_hi_u(low);
    let q = (product.shr_u(62) + (product.shr_u(61) & 1)).cast::<i32>();
    let fraction = product << 2;
    let r = (fraction.float::<f64>() * (std::f64::consts::FRAC_PI_2 / 18_446_744_073_709_551_616.0)).cast::<f32>();
    finish(x, bits.lt_s(0), r, q, exponent.is(0xff))
}

fn far_wide(x: V<f64>) -> (V<f64>, V<i32>) {
    let bits = x.bits();
    let exponent = (bits.shr_u(52) & 0x7ff).cast::<i32>();
    let mantissa = (bits & 0xf_ffff_ffff_ffff) | 0x10_0000_0000_0000;
    let from = exponent - 1075 + 64 - 2;
    let parts = [two_over_pi(from), two_over_pi(from + 64), two_over_pi(from + 128)];
    // The upper 128 of 192 bits of the product modulo 4.
    let carry = mantissa.mul_hi_u(parts[2]);
    let middle = mantissa * parts[1];
    let low = middle + carry;
    let overflow = low.lt_u(middle).int::<i64>();
    let high = mantissa * parts[0] + mantissa.mul_hi_u(parts[1]) + overflow;
    let q = (high.shr_u(62) + (high.shr_u(61) & 1)).cast::<i32>();
    // The fraction, signed: 128 bits less the two before the point.
    let high = (high << 2) | low.shr_u(62);
    let low = low << 2;
    let negative = high.lt_s(0);
    let flipped_low = -low;
    let high = negative.select((high ^ -1) + low.is(0).int::<i64>(), high);
    let low = negative.select(flipped_low, low);
    // Leading zeros out, so that the first word holds 63 digits.
    let zeros = high.leading_zeros();
    let zeros = zeros.gt_s(63).select(63, zeros);
    let top = (high << zeros) | low.shr_u(1).shr_u(-zeros + 63);
    let power = V::<f64>::power_of_two(-zeros - 64);
    let top_high = top & -2048;
    let (a, b) = (top_high.float_u::<f64>() * power, (top & 2047).float_u::<f64>() * power);
    // (a + b)·π/2, in two steps.
    let [p, p_low, _] = half_pi::<f64>();
    let r = a * p;
    let r = r + (a.fma(p, -r) + a.fma(p_low, b * p));
    let r = negative.select(-r, r);
    finish(x, bits.lt_s(0), r, q, exponent.is(0x7ff))
}

fn finish<F: Float>(x: V<F>, negative: V<bool>, r: V<F>, q: V<i32>, infinite: V<bool>) -> (V<F>, V<i32>) {
    let r = negative.select(-r, r);
    let q = negative.select(-q, q);
    #[expect(clippy::eq_op, reason = "an infinity less itself is no number")]
    let nothing = x - x;
    (infinite.select(nothing, r), q)
}

/// The sine and the cosine of a reduced argument and the rest of it.
fn kernels<F: Float>(r: V<F>, low: V<F>) -> (V<F>, V<F>) {
    let z = r * r;
    let cube = z * r;
    let sine = r + cube.fma(z.series(SIN.0, SIN.1), low);
    let half = z * 0.5;
    let head = z.constant(1.0) - half;
    let lost = (z.constant(1.0) - head) - half;
    let tail = (z * z).fma(z.series(COS.0, COS.1), (-r).fma(low, lost));
    (sine, head + tail)
}

/// The sine of r plus q quarter turns.
fn quarters<F: Float>(sine: V<F>, cosine: V<F>, q: V<i32>) -> V<F> {
    let value = (q & 1).is(0).select(sine, cosine);
    (q & 2).is(0).select(value, -value)
}

pub(super) fn sin<F: Float>(x: V<F>) -> V<F> {
    let (r, q) = reduce(x);
    let (sine, cosine) = kernels(r, x.constant(0.0));
    let value = quarters(sine, cosine, q);
    x.is(0.0).select(x, value)
}

pub(super) fn cos<F: Float>(x: V<F>) -> V<F> {
    let (r, q) = reduce(x);
    let (sine, cosine) = kernels(r, x.constant(0.0));
    quarters(sine, cosine, q + 1)
}

pub(super) fn sin_cos<F: Float>(x: V<F>) -> (V<F>, V<F>) {
    let (r, q) = reduce(x);
    let (sine, cosine) = kernels(r, x.constant(0.0));
    (quarters(sine, cosine, q), quarters(sine, cosine, q + 1))
}

pub(super) fn tan<F: Float>(x: V<F>) -> V<F> {
    let (r, q) = reduce(x);
    let (sine, cosine) = kernels(r, x.constant(0.0));
    let even = (q & 1).is(0);
    let value = even.select(sine, -cosine) / even.select(cosine, sine);
    x.is(0.0).select(x, value)
}

/// Quarter turns and what is left, of `x` half turns.
fn half_turns<F: Float>(x: V<F>) -> (V<F>, V<F>, V<i32>) {
    // Large numbers are whole and even. (Infinities give NaN.)
    let large = x.abs().ge(F::pick(16_777_216.0, 9_007_199_254_740_992.0));
    #[expect(clippy::eq_op, reason = "an infinity less itself is no number")]
    let whole = x - x;
    let x = large.select(whole, x);
    let quarters = (x * 2.0).rint();
    let rest = quarters.fma(-0.5, x);
    let q = (quarters - (quarters * 0.25).floor() * 4.0).int();
    let (pi, low) = F::pick((3.141_592_741_012_573, -8.742_278e-8), (std::f64::consts::PI, 1.224_646_799_147_353_2e-16));
    let r = rest * pi;
    (r, rest.fma(low, rest.fma(pi, -r)), q)
}

pub(super) fn sinpi<F: Float>(x: V<F>) -> V<F> {
    let (r, low, q) = half_turns(x);
    let (sine, cosine) = kernels(r, low);
    let value = quarters(sine, cosine, q);
    // A whole number gives a zero of its own sign.
    let whole = x.trunc().is(x) & !x.is_infinite();
    whole.select(x.constant(0.0).copysign(x), value)
}

pub(super) fn cospi<F: Float>(x: V<F>) -> V<F> {
    let (r, low, q) = half_turns(x);
    let (sine, cosine) = kernels(r, low);
    // Zeros are positive.
    quarters(sine, cosine, q + 1) + 0.0
}

/// The arc tangent of a number up to 1.
fn arc<F: Float>(x: V<F>) -> V<F> {
    let z = x * x;
    (z * x).fma(z.series(ATAN.0, ATAN.1), x)
}

pub(super) fn atan<F: Float>(x: V<F>) -> V<F> {
    let size = x.abs();
    let far = size.gt(1.0);
    let a = arc(far.select(x.constant(1.0) / size, size));
    let [half, low, _] = half_pi::<F>();
    far.select((-a + low) + half, a).copysign(x)
}

pub(super) fn atan2<F: Float>(y: V<F>, x: V<F>) -> V<F> {
    let (up, along) = (y.abs(), x.abs());
    let steep = up.gt(along);
    let (small, large) = (steep.select(along, up), steep.select(up, along));
    let both = small.is(large) & (large.is(0.0) | large.is(f64::INFINITY));
    // Of two zeros 0, of two infinities 1.
    let ratio = both.select(large.is(0.0).select(0.0, x.constant(1.0)), small / large);
    let a = arc(ratio);
    let [half, low, _] = half_pi::<F>();
    let a = steep.select((-a + low) + half, a);
    let left = x.bits().lt_s(0);
    let a = left.select((-a + 2.0 * low) + 2.0 * half, a);
    (x.is_nan() | y.is_nan()).select(f64::NAN, a.copysign(y))
}

/// `(asin r - r)` for r up to 1/2.
fn arc_sine_tail<F: Float>(r: V<F>, z: V<F>) -> V<F> {
    z * r * z.series(ASIN.0, ASIN.1)
}

/// For |x| above a half: √((1 - |x|)/2), what that leaves out, and the tail of its arc sine.
fn near_one<F: Float>(size: V<F>) -> (V<F>, V<F>, V<F>) {
    let z = (-size).fma(0.5, 0.5);
    let root = z.sqrt();
    let low = (-root).fma(root, z) / (root * 2.0);
    let low = root.gt(0.0).select(low, 0.0);
    (root, low, arc_sine_tail(root, z))
}

pub(super) fn asin<F: Float>(x: V<F>) -> V<F> {
    let size = x.abs();
    let small = arc_sine_tail(x, x * x) + x;
    let (root, low, tail) = near_one(size);
    let [half, half_low, _] = half_pi::<F>();
    // π/2 - 2·(root + low + tail)
    let high = root.fma(-2.0, half);
    let lost = (-high + half) - root * 2.0;
    let large = high + (lost + (tail + low).fma(-2.0, half_low));
    let value = size.le(0.5).select(small, large.copysign(x));
    size.gt(1.0).select(f64::NAN, value)
}

pub(super) fn acos<F: Float>(x: V<F>) -> V<F> {
    let size = x.abs();
    let [half, half_low, _] = half_pi::<F>();
    let tail = arc_sine_tail(x, x * x);
    let small = (-x + half) + ((x.constant(half) - (-x + half)) - x + (-tail + half_low));
    let (root, low, end) = near_one(size);
    let right = (root + (end + low)) * 2.0;
    let left = (-right + 2.0 * half_low) + 2.0 * half;
    let value = size.le(0.5).select(small, x.lt(0.0).select(left, right));
    size.gt(1.0).select(f64::NAN, value)
}
