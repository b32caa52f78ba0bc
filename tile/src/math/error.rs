//! The error function and its kin.
//!
//! From 1/2 (or 1) on, `erfc x = e^(-x²)·erfcx x`, where the scaled function is one polynomial in (x - k)/(x + k); the square is taken
//! with what rounding leaves out of it. **Invariant:** each function goes through its own symmetry, so that no small result is a
//! difference of large ones.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

use super::{
    coefficients::{ERF, ERF_TAIL, ERFCX, ERFINV_CENTRE, ERFINV_TAIL_A, ERFINV_TAIL_B, ERFINV_TAIL_C, TANH},
    exponential::exp_times,
    logarithm::log,
    tape::{Approx, Float, V},
};

/// For x ≥ 0.
fn scaled<F: Float>(x: V<F>) -> V<F> {
    let k = F::pick(2.0, 4.0);
    let t = (x - k) / (x + k);
    let p = t.series(ERFCX.0, ERFCX.1) * 0.5;
    x.is(f64::INFINITY).select(0.0, p / (x + 0.5))
}

/// erfc of x + low for x ≥ 0.
fn tail<F: Float>(x: V<F>, low: V<F>) -> V<F> {
    // Beyond this the result is 0.
    let limit = F::pick(12.0, 40.0);
    let x = x.gt(limit).select(limit, x);
    let square = x * x;
    let rest = x.fma(x, -square) + x * low * 2.0;
    // The scaled function falls by about 2 (x - …) per unit of low, which is far below its last digit.
    exp_times(-square, -rest, scaled(x))
}

/// For |x| ≤ 1.
fn centre<F: Float>(x: V<F>) -> V<F> {
    (x * x).series(ERF.0, ERF.1).fma(x, x)
}

pub(super) fn erf<F: Float>(x: V<F>) -> V<F> {
    let size = x.abs();
    let large = (-tail(size, x.constant(0.0)) + 1.0).copysign(x);
    let small = centre(x);
    let value = size.lt(1.0).select(small, large);
    x.is(0.0).select(x, value)
}

fn erfc_parts<F: Float>(x: V<F>, low: V<F>) -> V<F> {
    let size = x.abs();
    let negative = x.lt(0.0);
    let far = tail(size, negative.select(-low, low));
    let far = negative.select(-far + 2.0, far);
    let near = -centre(x) + 1.0;
    let value = size.lt(0.5).select(near, far);
    x.is_nan().select(x, value)
}

pub(super) fn erfc<F: Float>(x: V<F>) -> V<F> {
    erfc_parts(x, x.constant(0.0))
}

pub(super) fn erfcx<F: Float>(x: V<F>) -> V<F> {
    let size = x.abs();
    let value = scaled(size);
    let limit = F::pick(10.0, 27.0);
    let square_of = size.gt(limit).select(limit, size);
    let square = square_of * square_of;
    let grown = exp_times(square, square_of.fma(square_of, -square), x.constant(2.0)) - value;
    x.lt(0.0).select(grown, value)
}

/// Half of erfc(-x/√2).
pub(super) fn normcdf<F: Float>(x: V<F>) -> V<F> {
    let (root, root_low) = F::pick(
        (f64::from(FRAC_1_SQRT_2 as f32), FRAC_1_SQRT_2 - f64::from(FRAC_1_SQRT_2 as f32)),
        (FRAC_1_SQRT_2, -4.833_646_656_726_457e-17),
    );
    // Far out the result is 0 or 1.
    let limit = F::pick(20.0, 50.0);
    let x = x.gt(limit).select(limit, x);
    let x = x.lt(-limit).select(-limit, x);
    let scaled = x * -root;
    let low = x.fma(-root_low, x.fma(-root, -scaled));
    erfc_parts(scaled, low) * 0.5
}

/// The inverse of erf: a·C(w) or a function of √w, with w = -log(1 - a²), which the callers know better than a tells.
fn inverse(a: V<f64>, w: V<f64>) -> V<f64> {
    let centre = a * (w - 3.125).polynomial(ERFINV_CENTRE);
    let s = w.sqrt();
    let near = (s - 3.25).polynomial(ERFINV_TAIL_A);
    let middle = (s - 6.0).polynomial(ERFINV_TAIL_B);
    let far = (s.constant(22.4) / s - 1.8).polynomial(ERFINV_TAIL_C) + s;
    let tail = s.lt(4.0).select(near, s.lt(8.0).select(middle, far));
    w.lt(6.25).select(centre, tail.copysign(a))
}

pub(super) fn erfinv(y: V<f64>) -> V<f64> {
    let size = y.abs();
    inverse(y, -log((-size + 1.0) * (size + 1.0)))
}

pub(super) fn erfcinv(y: V<f64>) -> V<f64> {
    inverse(-y + 1.0, -log(y * (-y + 2.0)))
}

pub(super) fn normcdfinv(p: V<f64>) -> V<f64> {
    erfcinv(p * 2.0) * -SQRT_2
}

/// Through the special-function unit: `1 - 2^P(|x|)` from 1 on.
pub(super) fn erf_fast(x: V<f32>) -> V<f32> {
    let size = x.abs();
    let clamped = size.gt(4.0).select(4.0, size);
    let large = (-clamped.polynomial(ERF_TAIL).approx(Approx::Ex2Ftz) + 1.0).copysign(x);
    let small = centre(x);
    size.lt(1.0).select(x.is(0.0).select(x, small), large)
}

/// Where [`tanh_fast`] is its polynomial.
pub(super) const TANH_SMALL: f32 = 0.625;

/// [`tanh_fast`] of numbers below [`TANH_SMALL`], to the bit.
pub(super) fn tanh_small(x: V<f32>) -> V<f32> {
    tanh_polynomial(x).copysign(x)
}

fn tanh_polynomial(x: V<f32>) -> V<f32> {
    let square = x * x;
    (square * x).fma(square.polynomial(TANH), x)
}

/// Through the special-function unit: `1 - 2 / (e^2|x| + 1)` from 0.625 on.
pub(super) fn tanh_fast(x: V<f32>) -> V<f32> {
    let size = x.abs();
    let small = tanh_polynomial(x);
    let power = (size * (2.0 * std::f64::consts::LOG2_E)).approx(Approx::Ex2Ftz);
    // A divisor above 2^126 gives 0, which is right here.
    let large = (power + 1.0).approx(Approx::RcpFtz).fma(-2.0, x.constant(1.0));
    // Also where a small value is -0.
    size.lt(f64::from(TANH_SMALL)).select(small, large).copysign(x)
}
