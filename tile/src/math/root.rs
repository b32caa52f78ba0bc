//! Cube roots and lengths.
//!
//! **Invariant:** intermediate squares and cubes neither overflow nor underflow: exponents are taken out first, by powers of two.

use super::tape::{Float, V};

pub(super) fn rsqrt<F: Float>(x: V<F>) -> V<F> {
    x.constant(1.0) / x.sqrt()
}

/// |x| = c³·2^3k with c's cube between 1/2 and 4: (c, what is left of it, k).
fn cube_root<F: Float>(x: V<F>) -> (V<F>, V<F>, V<F::Bits>) {
    let size = x.abs();
    let (least, steps) = F::pick((f64::from(f32::MIN_POSITIVE), 24), (f64::MIN_POSITIVE, 54));
    let tiny = size.lt(least);
    let normal = tiny.select(size * f64::powi(2.0, steps), size);
    let bits = normal.bits();
    let exponent = bits.shr_u(F::DIGITS) - F::BIAS;
    // Divided by 3, downward: exponents are within ±1100.
    let third = ((exponent + 1536) * 21846).shr_u(16) - 512;
    let a: V<F> = (bits - ((third * 3) << F::DIGITS)).as_float();
    // a is in [1, 8). The first guess has 5 digits; each step of Newton's doubles them.
    let mut c = a.polynomial(&[0.605_5, 0.448_6, -0.054_7, 0.003_05]);
    for _ in 0..F::pick(3, 4) {
        let rest = (c * c).fma(-c, a);
        c = rest.fma(c.constant(1.0) / (c * c * 3.0), c);
    }
    // The remainder a - c³ in the format's own error-free steps.
    let square = c * c;
    let square_low = c.fma(c, -square);
    let rest = square_low.fma(-c, square.fma(-c, a));
    let low = rest / (square * 3.0);
    let k = tiny.select(third - i64::from(steps / 3), third);
    (c, low, k)
}

/// Zeros, infinities and NaN are their own roots.
fn own<F: Float>(x: V<F>) -> V<bool> {
    x.is(0.0) | !x.abs().lt(f64::INFINITY)
}

pub(super) fn cbrt<F: Float>(x: V<F>) -> V<F> {
    let (c, low, k) = cube_root(x);
    let value = (c + low) * V::power_of_two(k);
    own(x).select(x, value.copysign(x))
}

pub(super) fn rcbrt<F: Float>(x: V<F>) -> V<F> {
    let (c, low, k) = cube_root(x);
    let value = c.constant(1.0) / c;
    // 1/(c + low) = v + v·(1 - v·(c + low))
    let rest = (-value).fma(low, (-value).fma(c, 1.0));
    let value = rest.fma(value, value) * V::power_of_two(-k);
    own(x).select(x.constant(1.0) / x, value.copysign(x))
}

/// The sum of squares of numbers scaled to about 1, what it leaves out, and the power of two they were scaled by.
fn squares<F: Float>(parts: &[V<F>]) -> (V<F>, V<F>, V<F::Bits>) {
    let sizes: Vec<V<F>> = parts.iter().map(|x| x.abs()).collect();
    let largest = sizes[1..].iter().fold(sizes[0], |m, &x| m.max(x));
    // Within the range whose inverse is a normal number.
    let exponent = largest.bits().shr_u(F::DIGITS) - F::BIAS;
    let (low, high) = (-F::BIAS + 1, F::BIAS - 2);
    let k = exponent.lt_s(low).select(low, exponent);
    let k = k.gt_s(high).select(high, k);
    let scale = V::power_of_two(-k);
    let mut sum = largest.constant(0.0);
    let mut rest = largest.constant(0.0);
    for size in sizes {
        let x = size * scale;
        let square = x * x;
        let square_low = x.fma(x, -square);
        let next = sum + square;
        // Of two positive numbers whichever is larger: the error, exactly.
        let shadow = next - sum;
        let lost = (sum - (next - shadow)) + (square - shadow);
        rest = rest + (square_low + lost);
        sum = next;
    }
    (sum, rest, k)
}

fn any_infinite<F: Float>(parts: &[V<F>]) -> V<bool> {
    parts[1..].iter().fold(parts[0].is_infinite(), |any, x| any | x.is_infinite())
}

pub(super) fn length<F: Float>(parts: &[V<F>]) -> V<F> {
    let (sum, rest, k) = squares(parts);
    let root = sum.sqrt();
    let low = ((-root).fma(root, sum) + rest) / (root * 2.0);
    let root = sum.gt(0.0).select(root + low, root);
    any_infinite(parts).select(f64::INFINITY, root * V::power_of_two(k))
}

pub(super) fn inverse_length<F: Float>(parts: &[V<F>]) -> V<F> {
    let (sum, rest, k) = squares(parts);
    let root = sum.sqrt();
    let low = ((-root).fma(root, sum) + rest) / (root * 2.0);
    let value = root.constant(1.0) / root;
    let left = (-value).fma(low, (-value).fma(root, 1.0));
    let value = sum.gt(0.0).select(left.fma(value, value), value) * V::power_of_two(-k);
    any_infinite(parts).select(0.0, value)
}
