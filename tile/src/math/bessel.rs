//! Bessel functions, in `f64`.
//!
//! Below 8 the functions of orders 0 and 1 are polynomials by pieces times what vanishes at their zeros; from 8 on, an amplitude and a
//! phase. Other orders by recurrence, in the direction that is stable. **Invariant:** the loops end: orders are bounded, and a
//! recurrence that grows is scaled.

use std::{f64::consts::FRAC_2_PI, sync::OnceLock};

use super::{
    coefficients::*,
    exponential::exp,
    gamma::piecewise,
    logarithm::log,
    tape::{Program, V, record},
    trigonometric::sin_cos,
};

/// Orders beyond this take too many steps and are as good as their limits.
const LARGEST_ORDER: i64 = 100_000;

fn at_zeros(x: V<f64>, zeros: &[f64], value: V<f64>) -> V<f64> {
    zeros.chunks(2).fold(value, |value, zero| value * ((x - zero[0]) - zero[1]))
}

/// J and Y of order 0 or 1 for x ≥ 8.
fn large(x: V<f64>, order: usize) -> (V<f64>, V<f64>) {
    let (p, q) = if order == 0 { (BESSEL_P0, BESSEL_Q0) } else { (BESSEL_P1, BESSEL_Q1) };
    let x = x.lt(8.0).select(8.0, x);
    let infinite = x.is(f64::INFINITY);
    let x = infinite.select(8.0, x);
    let inverse = x.constant(1.0) / x;
    let z = inverse * inverse;
    let (p, q) = (z.polynomial(p), z.polynomial(q) * inverse);
    let (sine, cosine) = sin_cos(x);
    // cos and sin of x - π/4 (or 3π/4), less √½.
    let (c, s) = if order == 0 { (cosine + sine, sine - cosine) } else { (sine - cosine, -(sine + cosine)) };
    // √(2/(πx))·√½ = 1/√(πx)
    let amplitude = x.constant(0.564_189_583_547_756_3) / x.sqrt();
    let j = amplitude * (p * c - q * s);
    let y = amplitude * (p * s + q * c);
    (infinite.select(0.0, j), infinite.select(0.0, y))
}

pub(super) fn j0(x: V<f64>) -> V<f64> {
    let size = x.abs();
    let small = at_zeros(size, J0_ZEROS, piecewise(size, 0.0, 0.5, 13, &J0));
    let value = size.lt(8.0).select(small, large(size, 0).0);
    x.is_nan().select(x, value)
}

pub(super) fn j1(x: V<f64>) -> V<f64> {
    let size = x.abs();
    let small = at_zeros(size, J1_ZEROS, piecewise(size, 0.0, 0.5, 13, &J1)) * size;
    let value = size.lt(8.0).select(small, large(size, 1).0);
    let value = x.bits().lt_s(0).select(-value, value);
    x.is_nan().select(x, value)
}

/// Y of a number that is not positive, and of NaN.
fn right_of_zero(x: V<f64>, value: V<f64>) -> V<f64> {
    let value = x.is(0.0).select(f64::NEG_INFINITY, value);
    (x.lt(0.0) | x.is_nan()).select(f64::NAN, value)
}

pub(super) fn y0(x: V<f64>) -> V<f64> {
    let near = at_zeros(x, J0_ZEROS, piecewise(x, 0.0, 0.5, 13, &J0));
    let near = (log(x) * FRAC_2_PI).fma(near, (x * x).polynomial(Y0_SMALL));
    let middle = at_zeros(x, Y0_ZEROS, piecewise(x, 0.5, 0.5, 23, &Y0));
    let value = x.lt(0.5).select(near, x.lt(8.0).select(middle, large(x, 0).1));
    right_of_zero(x, value)
}

pub(super) fn y1(x: V<f64>) -> V<f64> {
    let j = at_zeros(x, J1_ZEROS, piecewise(x, 0.0, 0.5, 13, &J1)) * x;
    let near = (log(x).fma(j, -(x.constant(1.0) / x))).fma(FRAC_2_PI, (x * x).polynomial(Y1_SMALL) * x);
    let middle = at_zeros(x, Y1_ZEROS, piecewise(x, 0.5, 0.5, 23, &Y1));
    let value = x.lt(0.5).select(near, x.lt(8.0).select(middle, large(x, 1).1));
    right_of_zero(x, value)
}

macro_rules! kept {
    ($name:ident, $text:literal, $body:expr) => {
        fn $name() -> &'static Program {
            static PROGRAM: OnceLock<Program> = OnceLock::new();
            PROGRAM.get_or_init(|| record($text, $body))
        }
    };
}

kept!(j0_program, "bessel_j0", j0);
kept!(j1_program, "bessel_j1", j1);
kept!(y0_program, "bessel_y0", y0);
kept!(y1_program, "bessel_y1", y1);

type Five = (V<f64>, V<f64>, V<f64>, V<f64>, V<f64>);

// (a, b, i, n, x): orders i - 1 and i, upward until i is n.
kept!(upward, "bessel_upward", |(a, b, i, n, x): Five| {
    let active = i.lt(n);
    let next = b * ((i * 2.0) / x) - a;
    let (a, b) = (active.select(b, a), active.select(next, b));
    // An infinity stays.
    let b = next.is_nan().select(a, b);
    let i = i + 1.0;
    (a, b, i, n, x, i.lt(n) & !b.is_infinite())
});

// (q, next q, z, h, k): steps of the continued fraction until it has converged.
kept!(depth, "bessel_depth", |(q, next, z, h, k): Five| {
    let z = z + h;
    let after = z * next - q;
    (next, after, z, h, k + 1.0, after.lt(1e17))
});

// (t, i, least, x): the fraction, from its end.
kept!(fraction, "bessel_fraction", |(t, i, least, x): (V<f64>, V<f64>, V<f64>, V<f64>)| {
    let t = i.constant(1.0) / (i / x - t);
    let i = i - 2.0;
    (t, i, least, x, i.ge(least))
});

// (a, b, t, i, x): orders downward from i to 0, scaled where they grow.
kept!(downward, "bessel_downward", |(a, b, t, i, x): Five| {
    let active = i.gt(0.0);
    let next = (b * i * 2.0) / x - a;
    let (a, b) = (active.select(b, a), active.select(next, b));
    let large = b.abs().gt(1e100);
    let (a, t) = (large.select(a / b, a), large.select(t / b, t));
    let b = large.select(1.0, b);
    let i = i - 1.0;
    (a, b, t, i, x, i.gt(0.0))
});

// (p, i, n, half): the first term of the power series, half^n / n!.
kept!(first_term, "bessel_first_term", |(p, i, n, half): (V<f64>, V<f64>, V<f64>, V<f64>)| {
    let p = i.le(n).select(p * (half / i), p);
    let i = i + 1.0;
    (p, i, n, half, i.le(n) & p.abs().gt(0.0))
});

pub(super) fn jn((n, x): (V<i32>, V<f64>)) -> V<f64> {
    let order = n.gt_s(LARGEST_ORDER).select(LARGEST_ORDER, n);
    let order = order.lt_s(2).select(2, order);
    let m = order.float::<f64>();
    let size = x.abs();
    let j0: V<f64> = j0_program().call(size);
    let j1: V<f64> = j1_program().call(size);
    let forward = m.le(size);
    let tiny = size.lt(1e-9);
    let backward = !forward & !tiny & !x.is_nan();
    // Each way with numbers that end at once where it is not taken.
    let one = x.constant(1.0);
    let (_, up, ..) = upward().repeat((j0, j1, one, forward.select(m, one), forward.select(size, 1.0)));
    let (y, k) = (backward.select(size, 1.0), backward.select(m, 2.0));
    let (w, h) = ((k * 2.0) / y, one * 2.0 / y);
    let z = w + h;
    let (.., steps) = depth().repeat((w, w * z - 1.0, z, h, one));
    let (t, ..) = fraction().repeat((x.constant(0.0), (k + steps) * 2.0, k * 2.0, y));
    let (a, b, t, ..) = downward().repeat((t, one, t, k - 1.0, y));
    // The better conditioned of the two known orders.
    let down = j0.abs().ge(j1.abs()).select(t * j0 / b, t * j1 / a);
    let (first, ..) = first_term().repeat((one, one, tiny.select(m, 1.0), tiny.select(size, 1.0) * 0.5));
    let value = tiny.select(first, forward.select(up, down));
    let value = n.is(0).select(j0, n.is(1).select(j1, value));
    let value = size.is(f64::INFINITY).select(0.0, value);
    let value = (x.bits().lt_s(0) & (n & 1).is(1)).select(-value, value);
    (n.lt_s(0) | x.is_nan()).select(f64::NAN, value)
}

pub(super) fn yn((n, x): (V<i32>, V<f64>)) -> V<f64> {
    let order = n.gt_s(LARGEST_ORDER).select(LARGEST_ORDER, n);
    let y0: V<f64> = y0_program().call(x);
    let y1: V<f64> = y1_program().call(x);
    let (_, up, ..) = upward().repeat((y0, y1, x.constant::<f64>(1.0), order.float::<f64>(), x));
    let value = n.is(0).select(y0, n.is(1).select(y1, up));
    let value = x.is(f64::INFINITY).select(0.0, right_of_zero(x, value));
    n.lt_s(0).select(f64::NAN, value)
}

/// `e^x·s / √x`, in two factors, since the power overflows before the product does.
fn grown(x: V<f64>, scaled: V<f64>) -> V<f64> {
    let half = exp(x * 0.5);
    half * scaled * half
}

pub(super) fn i0(x: V<f64>) -> V<f64> {
    let size = x.abs();
    let inverse = x.constant(1.0) / size.max(16.0);
    let scaled = size.lt(16.0).select(piecewise(size, 0.0, 1.0, 14, &I0), inverse.polynomial(I0_LARGE) / size.sqrt());
    let value = grown(size, scaled);
    x.is_infinite().select(f64::INFINITY, x.is_nan().select(x, value))
}

pub(super) fn i1(x: V<f64>) -> V<f64> {
    let size = x.abs();
    let inverse = x.constant(1.0) / size.max(16.0);
    let scaled = size.lt(16.0).select(piecewise(size, 0.0, 1.0, 14, &I1) * size, inverse.polynomial(I1_LARGE) / size.sqrt());
    let value = grown(size, scaled).copysign(x);
    (x.is_infinite() | x.is_nan()).select(x, value)
}

/// √2 is what the two forms of the amplitude differ by.
#[cfg(test)]
#[test]
fn amplitude_is_one_over_the_root_of_pi() {
    let amplitude = (FRAC_2_PI).sqrt() / std::f64::consts::SQRT_2;
    assert!((amplitude - 0.564_189_583_547_756_3).abs() < 2e-16);
}
