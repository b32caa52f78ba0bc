//! The gamma function and its logarithm, in `f64`.
//!
//! **Invariant:** the poles give what the device library's documentation says: infinities at zeros, NaN (for the logarithm an
//! infinity) at negative whole numbers.

use std::{
    f64::consts::{LOG2_E, PI},
    sync::OnceLock,
};

use super::{
    coefficients::{LGAMMA, RGAMMA, STIRLING},
    exponential::exp2_parts,
    logarithm::{log, log2_wide},
    tape::{Program, V, record},
    trigonometric::sinpi,
};

/// A polynomial of a piece of a table: pieces from `start`, `width` wide, each a polynomial of `degree` in [-1, 1].
pub(super) fn piecewise(x: V<f64>, start: f64, width: f64, degree: usize, table: &'static [u64]) -> V<f64> {
    let place = (x - start) * (1.0 / width);
    let last = (table.len() / (degree + 1)) as i64 - 1;
    let piece = place.int::<i32>();
    let piece = piece.gt_s(last).select(last, piece);
    let piece = piece.lt_s(0).select(0, piece);
    let u = (place - piece.float::<f64>()) * 2.0 - 1.0;
    let first = piece * (degree as i64 + 1);
    let coefficient = |i: usize| (first + i as i64).lookup::<f64>(table);
    (0..degree).rev().fold(coefficient(degree), |sum, i| sum.fma(u, coefficient(i)))
}

type Product = (V<f64>, V<f64>, V<f64>, V<f64>, V<i32>);

/// (product, low, factor, step, count): the product of `count` factors, each a step from the one before.
fn product() -> &'static Program {
    static PROGRAM: OnceLock<Program> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        record("gamma_product", |(p, low, factor, step, count): Product| {
            let active = count.gt_s(0);
            let a = active.select(factor, 1.0);
            let next = p * a;
            let low = low.fma(a, p.fma(a, -next));
            let count = count - 1;
            (next, low, factor + step, step, count, count.gt_s(0))
        })
    })
}

/// Stirling's correction divided by x, for x ≥ 8.
fn correction(x: V<f64>) -> V<f64> {
    let inverse = x.constant(1.0) / x;
    (inverse * inverse).polynomial(STIRLING) * inverse
}

/// The square root of Γ(x)/√2π, for x from 8 on.
fn root_of_large(x: V<f64>) -> V<f64> {
    let (log, log_low) = log2_wide(x);
    let shifted = x - 0.5;
    let a = log * shifted;
    let a_low = log_low.fma(shifted, log.fma(shifted, -a));
    let b = x * -LOG2_E;
    let b_low = x.fma(-2.035_527_374_093_103_3e-17, x.fma(-LOG2_E, -b));
    let sum = a + b;
    let lost = (a - sum) + b;
    let low = lost + a_low + b_low + correction(x) * LOG2_E;
    exp2_parts(sum * 0.5, low * 0.5)
}

pub(super) fn tgamma(x: V<f64>) -> V<f64> {
    let near = x.abs().lt(13.0);
    let y = near.select(x, 1.5);
    let n = y.rint();
    let r = y - n;
    let p = r.polynomial(RGAMMA);
    let up = n.ge(1.0);
    let count = up.select(n - 1.0, -n + 1.0).int::<i32>();
    let one: V<f64> = x.constant(1.0);
    let (product, low, ..) = product().repeat((one, one * 0.0, up.select(y - 1.0, y), up.select(-one, one), count));
    let grown = product / p + low / p;
    let inverse = x.constant(1.0) / p / product;
    let corrected = inverse - inverse * (low / product);
    let inverse = (inverse.abs().lt(f64::INFINITY) & product.abs().gt(1e-200)).select(corrected, inverse);
    let small = up.select(grown, inverse);
    // Far out, and by reflection on the left.
    let size = x.abs();
    let z = near.select(16.0, size);
    let z = z.gt(400.0).select(400.0, z);
    let root = root_of_large(z);
    let large = root * 2.506_628_274_631_000_5 * root;
    // -π / (z·sin πz·Γ(z)), with √2π taken in: π/√2π = √(π/2).
    let reflected = x.constant(1.253_314_137_315_500_3) / (sinpi(size) * size) / root / root;
    let far = x.gt(0.0).select(large, -reflected);
    let value = near.select(small, far);
    let pole = x.lt(0.0) & x.trunc().is(x);
    pole.select(f64::NAN, x.is(f64::INFINITY).select(x, value))
}

/// For x from 1/2 on.
fn log_gamma(x: V<f64>) -> V<f64> {
    // Its zeros are positive.
    let near = (x - 1.0) * (x - 2.0) * piecewise(x, 0.5, 0.5, 20, &LGAMMA) + 0.0;
    let far = (x - 0.5).fma(log(x) - 1.0, correction(x) + 0.418_938_533_204_672_7);
    let value = x.lt(8.0).select(near, far);
    x.is(f64::INFINITY).select(x, value)
}

pub(super) fn lgamma(x: V<f64>) -> V<f64> {
    let size = x.abs();
    // To the right of 1/2, and left of it through Γ(x) = Γ(x + 1)/x.
    let low = size.lt(0.5);
    let right = log_gamma(low.select(size + 1.0, size));
    let log_size = log(size);
    let right = low.select(right - log_size, right);
    // log(π/(z·|sin πz|)) - lgamma(z)
    let sine = sinpi(size.gt(1e-100).select(size, 1.0)).abs();
    let left = log(x.constant(PI) / (sine * size)) - right;
    let left = size.lt(1e-19).select(-log_size, left);
    let value = x.lt(0.0).select(left, right);
    let pole = x.le(0.0) & x.trunc().is(x);
    (pole | x.is_infinite()).select(f64::INFINITY, value)
}
