//! Functions that the mathematics library does not have.
//!
//! **Invariant:** total: every `f64` gives an `f64` after a bounded number of steps.

use std::f64::consts::PI;

/// The exponent of the leading digit.
pub(super) fn logb(x: f64) -> f64 {
    if x == 0.0 {
        f64::NEG_INFINITY
    } else if x.is_infinite() {
        f64::INFINITY
    } else if x.is_nan() {
        x
    } else {
        libm::ilogb(x).into()
    }
}

/// The distance from the nearest half, and how many halves that is, modulo 4.
fn half_turns(x: f64) -> (f64, i64) {
    let halves = libm::rint(2.0 * (x % 2.0));
    ((x % 2.0) - 0.5 * halves, (halves as i64).rem_euclid(4))
}

pub(super) fn sinpi(x: f64) -> f64 {
    let (rest, quarter) = half_turns(x);
    match quarter {
        0 => libm::sin(PI * rest),
        1 => libm::cos(PI * rest),
        2 => -libm::sin(PI * rest),
        _ => -libm::cos(PI * rest),
    }
}

pub(super) fn cospi(x: f64) -> f64 {
    let (rest, quarter) = half_turns(x);
    match quarter {
        0 => libm::cos(PI * rest),
        1 => -libm::sin(PI * rest) + 0.0,
        2 => -libm::cos(PI * rest),
        _ => libm::sin(PI * rest) + 0.0,
    }
}

/// The length of a vector, without overflow on the way.
pub(super) fn norm(parts: &[f64]) -> f64 {
    let largest = parts.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    if parts.iter().any(|x| x.is_infinite()) {
        return f64::INFINITY;
    }
    if parts.iter().any(|x| x.is_nan()) {
        return f64::NAN;
    }
    if largest == 0.0 {
        return 0.0;
    }
    largest * parts.iter().map(|x| (x / largest) * (x / largest)).sum::<f64>().sqrt()
}

/// `exp(x²)·erfc(x)`
pub(super) fn erfcx(x: f64) -> f64 {
    if x < 2.0 {
        return libm::exp(x * x) * libm::erfc(x);
    }
    // The continued fraction x + (1/2)/(x + 1/(x + (3/2)/(x + …))), from the back.
    let mut tail = x;
    for n in (1..=120).rev() {
        tail = x + 0.5 * f64::from(n) / tail;
    }
    1.0 / (PI.sqrt() * tail)
}

pub(super) fn erfinv(y: f64) -> f64 {
    if y.is_nan() || y.abs() > 1.0 {
        return f64::NAN;
    }
    if y == 0.0 {
        return y;
    }
    if y.abs() > 0.5 {
        return erfcinv(1.0 - y.abs()).copysign(y);
    }
    let slope = |x: f64| 2.0 / PI.sqrt() * libm::exp(-x * x);
    let mut x = y * PI.sqrt() / 2.0;
    for _ in 0..8 {
        let step = (libm::erf(x) - y) / slope(x);
        x -= step / (1.0 + x * step);
    }
    x
}

/// The `x` with `erfc(x) = y`.
pub(super) fn erfcinv(y: f64) -> f64 {
    if !(0.0..=2.0).contains(&y) {
        return f64::NAN;
    }
    if y > 1.0 {
        // 2 - y is exact there.
        return -erfcinv(2.0 - y);
    }
    if y == 0.0 {
        return f64::INFINITY;
    }
    // Near the tail erfc is about exp(-x²)/(x·√π): solved for x twice, then refined.
    let mut x = 0.0f64;
    if y < 0.5 {
        x = (-libm::log(y)).sqrt();
        for _ in 0..3 {
            x = (-libm::log(y * x.max(0.5) * PI.sqrt())).max(0.01).sqrt();
        }
    }
    for _ in 0..12 {
        // The ratio stays finite where erfc itself becomes tiny.
        let step = -(libm::erfc(x) - y) * PI.sqrt() / 2.0 * libm::exp(x * x);
        let next = x - step / (1.0 + x * step);
        if !next.is_finite() || next == x {
            break;
        }
        x = next;
    }
    x
}

/// The power series; all its terms have one sign.
pub(super) fn modified_bessel(order: u32, x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    let quarter = x * x / 4.0;
    let mut term = if order == 0 { 1.0 } else { x / 2.0 };
    let mut sum = term;
    for k in 1..2000u32 {
        term *= quarter / (f64::from(k) * f64::from(k + order));
        sum += term;
        if !sum.is_finite() || term.abs() <= sum.abs() * f64::EPSILON / 4.0 {
            break;
        }
    }
    if x.is_infinite() { if order == 0 { f64::INFINITY } else { x } } else { sum }
}

/// Orders beyond this take too many steps and are as good as their limits.
const LARGEST_ORDER: i32 = 100_000;

pub(super) fn jn(n: i32, x: f64) -> f64 {
    if n < 0 { f64::NAN } else { libm::jn(n.min(LARGEST_ORDER), x) }
}

pub(super) fn yn(n: i32, x: f64) -> f64 {
    if n < 0 { f64::NAN } else { libm::yn(n.min(LARGEST_ORDER), x) }
}
