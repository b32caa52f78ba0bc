//! What is exact: parts of floats, whole numbers, remainders, and the functions of integers.
//!
//! **Invariant:** no result is rounded, but for those of `ldexp` below the normal numbers, once.

use std::sync::OnceLock;

use super::{
    exponential::scale,
    tape::{Elem, Float, Int, Program, V, record},
};

pub(super) fn round<F: Float>(x: V<F>) -> V<F> {
    let whole = x.trunc();
    let away = whole + x.constant(1.0).copysign(x);
    (x - whole).abs().ge(0.5).select(away, whole).copysign(x)
}

/// Saturating; NaN gives the least number.
pub(super) fn to_i64<F: Float>(x: V<F>) -> V<i64> {
    x.is_nan().select(i64::MIN, x.int())
}

pub(super) fn is_finite<F: Float>(x: V<F>) -> V<i32> {
    x.abs().lt(f64::INFINITY).int()
}

pub(super) fn sign_bit<F: Float>(x: V<F>) -> V<i32> {
    x.bits().lt_s(0).int()
}

pub(super) fn saturate(x: V<f32>) -> V<f32> {
    let x = x.gt(0.0).select(x, 0.0);
    x.gt(1.0).select(1.0, x)
}

pub(super) fn fdim<F: Float>((x, y): (V<F>, V<F>)) -> V<F> {
    let value = x.le(y).select(0.0, x - y);
    (x.is_nan() | y.is_nan()).select(f64::NAN, value)
}

pub(super) fn next_after<F: Float>((x, y): (V<F>, V<F>)) -> V<F> {
    let bits = x.bits();
    // Away from zero one up, toward it one down; from zero to the least number of y's sign.
    let away = (x.lt(y)) ^ bits.lt_s(0);
    let stepped: V<F> = (bits + away.select(1, bits.constant(-1))).as_float();
    let least: V<F> = bits.constant(1).as_float();
    let value = x.is(0.0).select(least.copysign(y), stepped);
    let value = x.is(y).select(y, value);
    (x.is_nan() | y.is_nan()).select(f64::NAN, value)
}

/// The exponent of the leading digit and the number with exponent 0; of numbers that have one.
fn parts<F: Float>(x: V<F>) -> (V<F::Bits>, V<F>) {
    let (least, steps) = F::pick((f64::from(f32::MIN_POSITIVE), 24), (f64::MIN_POSITIVE, 54));
    let tiny = x.abs().lt(least);
    let normal = tiny.select(x * f64::powi(2.0, steps), x);
    let bits = normal.bits();
    let mask = F::pick(0xff, 0x7ff);
    let exponent = (bits.shr_u(F::DIGITS) & mask) - F::BIAS;
    let one: V<F> = (bits - (exponent << F::DIGITS)).as_float();
    (tiny.select(exponent - i64::from(steps), exponent), one)
}

impl<I: Int> V<I> {
    fn within(self, low: i64, high: i64) -> V<I> {
        let x = self.lt_s(low).select(low, self);
        x.gt_s(high).select(high, x)
    }
}

pub(super) fn ldexp<F: Float>((x, n): (V<F>, V<i32>)) -> V<F> {
    let (exponent, one) = parts(x);
    let n = n.within(-4000, 4000).cast::<F::Bits>();
    let limit = F::pick(200, 1200);
    let value = scale(one, (exponent + n).within(-limit, limit));
    (x.is(0.0) | !x.abs().lt(f64::INFINITY)).select(x, value)
}

pub(super) fn logb<F: Float>(x: V<F>) -> V<F> {
    let (exponent, _) = parts(x);
    let size = x.abs();
    let value = size.lt(f64::INFINITY).select(exponent.float(), size);
    x.is(0.0).select(f64::NEG_INFINITY, value)
}

pub(super) fn ilogb<F: Float>(x: V<F>) -> V<i32> {
    let (exponent, _) = parts(x);
    let value = x.is_infinite().select(i64::from(i32::MAX), exponent.cast::<i32>());
    (x.is(0.0) | x.is_nan()).select(i64::from(i32::MIN), value)
}

/// The low word of the approximation is 0.
pub(super) fn rcp64h(x: V<f64>) -> V<f64> {
    ((x.constant(1.0) / x).bits() & !0xffff_ffff).as_float()
}

/// (remainder, digits of the dividend left, divisor): eleven digits at a time, as whole numbers.
fn long_division() -> &'static Program {
    static PROGRAM: OnceLock<Program> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        record("long_division", |(r, left, divisor): (V<i64>, V<i64>, V<i64>)| {
            let step = left.within(0, 11);
            let r = (r << step).rem_u(divisor);
            let left = left - step;
            (r, left, divisor, left.gt_s(0))
        })
    })
}

pub(super) fn fmod((x, y): (V<f64>, V<f64>)) -> V<f64> {
    let (size, divisor) = (x.abs(), y.abs());
    let done = size.lt(divisor);
    let wrong = x.is_nan() | y.is_nan() | x.is_infinite() | y.is(0.0);
    let trivial = done | wrong;
    let (a, b) = (trivial.select(1.0, size), trivial.select(1.0, divisor));
    let ((e, a), (f, b)) = (parts(a), parts(b));
    let digits = |x: V<f64>| (x.bits() & 0xf_ffff_ffff_ffff) | 0x10_0000_0000_0000;
    let divisor = digits(b);
    let (r, ..) = long_division().repeat((digits(a).rem_u(divisor), e - f, divisor));
    // Whole multiples of the divisor's last digit: exact.
    let value = scale(r.float::<f64>() * f64::powi(2.0, -52), f);
    let value = done.select(x, value.copysign(x));
    wrong.select(f64::NAN, value)
}

pub(super) fn remainder((x, y): (V<f64>, V<f64>)) -> V<f64> {
    let divisor = y.abs();
    // Modulo twice the divisor first, which keeps the quotient's last digit.
    let whole = divisor.lt(f64::MAX / 2.0);
    let (size, twice) = (x.abs(), whole.select(divisor * 2.0, divisor.constant(f64::INFINITY)));
    let r = fmod((size, twice));
    // Halves of the smallest divisors are not exact, doubles of the largest are not finite.
    let small = divisor.lt(1e-300);
    let above = |r: V<f64>, half_counts: bool| {
        let (a, b) = (small.select(r + r, r), small.select(divisor, divisor * 0.5));
        if half_counts { a.ge(b) } else { a.gt(b) }
    };
    let once = above(r, false);
    let less = r - divisor;
    let twice = once & above(less, true);
    let value = once.select(twice.select(less - divisor, less), r);
    let value = value * x.constant(1.0).copysign(x);
    let value = value.is(0.0).select(x.constant(0.0).copysign(x), value);
    (x.is_nan() | y.is_nan() | x.is_infinite() | y.is(0.0)).select(f64::NAN, y.is_infinite().select(x, value))
}

// ---- integers

/// The place of the lowest bit that is one, from 1.
pub(super) fn ffs<I: Int>(x: V<I>) -> V<I> {
    x.is(0).select(0, x.reverse_bits().leading_zeros() + 1)
}

pub(super) fn abs<I: Int>(x: V<I>) -> V<I> {
    x.lt_s(0).select(-x, x)
}

/// Of the two words, 64 bits wide so that nothing is lost.
fn wide(signed: bool, x: V<i32>) -> V<i64> {
    if signed { x.cast() } else { x.cast_u() }
}

/// The average, rounded downward, or upward with a `bias` of 1.
pub(super) fn average(signed: bool, bias: i64, x: V<i32>, y: V<i32>) -> V<i32> {
    (wide(signed, x) + wide(signed, y) + bias).shr_s(1).cast()
}

pub(super) fn sad(signed: bool, x: V<i32>, y: V<i32>, z: V<i32>) -> V<i32> {
    abs(wide(signed, x) - wide(signed, y)).cast::<i32>() + z
}

pub(super) fn mul24(signed: bool, x: V<i32>, y: V<i32>) -> V<i32> {
    let low = |v: V<i32>| if signed { (v << 8).shr_s(8) } else { v & 0xff_ffff };
    low(x) * low(y)
}

pub(super) fn byte_perm((x, y, z): (V<i32>, V<i32>, V<i32>)) -> V<i32> {
    let bytes = (y.cast_u::<i64>() << 32) | x.cast_u::<i64>();
    let pick = |n: i64| {
        let place = (z.shr_u(4 * n) & 7) << 3;
        (bytes.shr_u(place.cast_u::<i64>()).cast::<i32>() & 0xff) << (8 * n)
    };
    pick(0) | pick(1) | pick(2) | pick(3)
}

pub(super) fn from_words((high, low): (V<i32>, V<i32>)) -> V<f64> {
    ((high.cast_u::<i64>() << 32) | low.cast_u::<i64>()).as_float()
}

/// The bits of one type as another of the same width, for the functions that only rename.
pub(super) fn word<F: Float>(x: V<F>, shift: i64) -> V<i32>
where
    F::Bits: Elem,
{
    x.bits().shr_u(shift).cast::<i32>()
}
