//! Arithmetic and conversions in a rounding mode.
//!
//! A result is held as its nearest `f64` and the sign of what that leaves out, which is all that a directed mode asks.
//! **Invariant:** the returned float is one of the two that enclose the exact result.

use super::{Number, Number::Float, Number::Int};
use crate::libdevice::{Arg, Overload};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Nearest,
    Zero,
    Down,
    Up,
}

impl Mode {
    fn find(suffix: &str) -> Option<Mode> {
        Some(match suffix {
            "rn" => Mode::Nearest,
            "rz" => Mode::Zero,
            "rd" => Mode::Down,
            "ru" => Mode::Up,
            _ => return None,
        })
    }
}

/// What a function is without its rounding mode, and that.
pub(super) fn named(function: &str) -> Option<(&str, Mode)> {
    let (base, mode) = function.rsplit_once('_')?;
    Some((base, Mode::find(mode)?))
}

/// `value` plus something smaller than its last digit, of the sign of `rest`.
#[derive(Clone, Copy)]
struct Exact {
    value: f64,
    rest: f64,
}

impl Exact {
    fn of(value: f64) -> Exact {
        Exact { value, rest: 0.0 }
    }

    /// In a format, `narrow` for `f32`.
    fn round(self, mode: Mode, narrow: bool) -> f64 {
        let Exact { value, rest } = self;
        if value.is_nan() || mode == Mode::Nearest && !narrow {
            return value;
        }
        if !narrow {
            return match side(mode, rest, value) {
                Some(true) => value.next_up(),
                Some(false) => value.next_down(),
                None => value,
            };
        }
        let nearest = value as f32;
        let beyond = if value.is_infinite() { 0.0 } else { value - f64::from(nearest) };
        let beyond = if beyond == 0.0 { rest } else { beyond };
        let rounded = match side(mode, beyond, value) {
            Some(true) => nearest.next_up(),
            Some(false) => nearest.next_down(),
            None => nearest,
        };
        rounded.into()
    }
}

/// Does the mode want the neighbour above (`true`) or below, given on which side of the rounded number the exact one lies?
fn side(mode: Mode, beyond: f64, sign: f64) -> Option<bool> {
    let negative = if sign == 0.0 { beyond < 0.0 } else { sign < 0.0 };
    let mode = match mode {
        Mode::Zero if negative => Mode::Up,
        Mode::Zero => Mode::Down,
        other => other,
    };
    match mode {
        Mode::Up if beyond > 0.0 => Some(true),
        Mode::Down if beyond < 0.0 => Some(false),
        _ => None,
    }
}

fn two_sum(a: f64, b: f64) -> Exact {
    let value = a + b;
    if !value.is_finite() {
        return overflowed(value, &[a, b]);
    }
    let shadow = value - a;
    Exact { value, rest: (a - (value - shadow)) + (b - shadow) }
}

/// What is smaller than this is computed a second time, this much larger, so that what rounding leaves out does not vanish.
const SMALL: f64 = f64::from_bits((1023 - 800) << 52);
const SCALE: f64 = f64::from_bits((1023 + 700) << 52);

/// `value` with the rest that the same result `SCALE` times as large tells.
fn rescaled(value: f64, large: Exact) -> Exact {
    Exact { value, rest: (large.value - value * SCALE) + large.rest }
}

/// Two factors, the smaller one `SCALE` times as large.
fn enlarged(a: f64, b: f64) -> (f64, f64) {
    if a.abs() < b.abs() { (a * SCALE, b) } else { (a, b * SCALE) }
}

fn two_product(a: f64, b: f64) -> Exact {
    let value = a * b;
    if value.abs() < SMALL && a != 0.0 && b != 0.0 {
        let (a, b) = enlarged(a, b);
        return rescaled(value, two_product(a, b));
    }
    if !value.is_finite() {
        return overflowed(value, &[a, b]);
    }
    Exact { value, rest: a.mul_add(b, -value) }
}

/// An infinity that finite operands made lies beyond the exact result.
fn overflowed(value: f64, operands: &[f64]) -> Exact {
    let finite = value.is_infinite() && operands.iter().all(|x| x.is_finite());
    Exact { value, rest: if finite { -value } else { 0.0 } }
}

/// `a·b + c`: the error of a fused product is the sum of two floats, the first of which has its sign.
fn fused(a: f64, b: f64, c: f64) -> Exact {
    let value = a.mul_add(b, c);
    if !value.is_finite() {
        return overflowed(value, &[a, b, c]);
    }
    if value.abs() < SMALL && c.abs() < SMALL && (a * b).abs() < SMALL && a != 0.0 && b != 0.0 {
        let (a, b) = enlarged(a, b);
        return rescaled(value, fused(a, b, c * SCALE));
    }
    let product = two_product(a, b);
    let low = two_sum(c, product.rest);
    let high = two_sum(product.value, low.value);
    let rest = (high.value - value) + high.rest;
    Exact { value, rest: if rest == 0.0 { low.rest } else { rest + low.rest } }
}

fn quotient(a: f64, b: f64) -> Exact {
    let value = a / b;
    if !value.is_finite() || !b.is_finite() || b == 0.0 {
        return if b == 0.0 { Exact::of(value) } else { overflowed(value, &[a, b]) };
    }
    let left = if a.abs() < SMALL { (-value * SCALE).mul_add(b, a * SCALE) } else { (-value).mul_add(b, a) };
    Exact { value, rest: if b < 0.0 { -left } else { left } }
}

fn root(x: f64) -> Exact {
    let value = x.sqrt();
    let left = if x < SMALL { (-value * SCALE).mul_add(value, x * SCALE) } else { (-value).mul_add(value, x) };
    if value.is_finite() { Exact { value, rest: left } } else { Exact::of(value) }
}

pub(super) fn evaluate(base: &str, mode: Mode, overload: &Overload, args: &[Number]) -> Option<Number> {
    let narrow = overload.result == Arg::F32;
    if let [Int(x)] = *args {
        // An integer to a float: exact as its nearest f64 and what is left.
        let value = x as f64;
        return Some(Float(Exact { value, rest: (x - value as i128) as f64 }.round(mode, narrow)));
    }
    let floats: Vec<f64> = args.iter().map(|a| a.float()).collect();
    if !matches!(overload.result, Arg::F32 | Arg::F64) {
        return Some(Int(to_int(floats[0], mode, overload)));
    }
    if mode == Mode::Nearest {
        return nearest(base, narrow, &floats).map(Float);
    }
    let exact = match (base, &floats[..]) {
        ("add", &[x, y]) | ("sub", &[x, y]) => {
            let y = if base == "sub" { -y } else { y };
            let sum = two_sum(x, y);
            // An exact zero of different signs is negative downward.
            if sum.value == 0.0
                && sum.rest == 0.0
                && mode == Mode::Down
                && (x != 0.0 || x.is_sign_negative() || y.is_sign_negative())
            {
                return Some(Float(-0.0));
            }
            sum
        }
        ("mul", &[x, y]) => two_product(x, y),
        ("div", &[x, y]) => quotient(x, y),
        ("rcp", &[x]) => quotient(1.0, x),
        ("sqrt", &[x]) => root(x),
        ("fma", &[x, y, z]) => fused(x, y, z),
        ("double2float", &[x]) => Exact::of(x),
        _ => return None,
    };
    Some(Float(exact.round(mode, narrow)))
}

fn nearest(base: &str, narrow: bool, floats: &[f64]) -> Option<f64> {
    Some(match (base, floats) {
        ("add", &[x, y]) => x + y,
        ("sub", &[x, y]) => x - y,
        ("mul", &[x, y]) => x * y,
        ("div", &[x, y]) => x / y,
        ("rcp", &[x]) => 1.0 / x,
        ("sqrt", &[x]) => x.sqrt(),
        ("rsqrt", &[x]) => 1.0 / x.sqrt(),
        ("fma", &[x, y, z]) if narrow => (x as f32).mul_add(y as f32, z as f32).into(),
        ("fma", &[x, y, z]) => x.mul_add(y, z),
        ("double2float", &[x]) => x,
        _ => return None,
    })
}

/// Out of range saturates. NaN gives 0, but the least number (as bits) where `f64` or 64 bits take part.
fn to_int(x: f64, mode: Mode, overload: &Overload) -> i128 {
    let bits = overload.result.scalar().bits();
    // Unsigned conversions are told by their symbols: results are listed as signed.
    let unsigned = overload.symbol.contains("2u");
    if x.is_nan() {
        return if overload.args[0] == Arg::F64 || bits == 64 { 1 << (bits - 1) } else { 0 };
    }
    let whole = match mode {
        Mode::Nearest => libm::rint(x),
        Mode::Zero => x.trunc(),
        Mode::Down => x.floor(),
        Mode::Up => x.ceil(),
    };
    let (low, high) = if unsigned { (0, (1i128 << bits) - 1) } else { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) };
    (whole as i128).clamp(low, high)
}
