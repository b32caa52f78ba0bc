//! Arithmetic and conversions in a rounding mode.
//!
//! A result is held as its nearest `f64` and the sign of what that leaves out, which is all that a directed mode asks; the sign comes from
//! a sum as wide as all products of numbers, so that nothing of it can vanish. **Invariant:** the returned float is one of the two that enclose the exact result.

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

/// Bits of a sum of two products: from 2^-2148, the square of the smallest number, to above the square of the largest.
const WORDS: usize = 67;
/// The exponent of a number's last bit is at least this.
const LAST: i32 = -1074;

/// A sum of products without any rounding, in two's complement; bit 0 is worth `2^(2 * LAST)`.
struct Sum([u64; WORDS]);

impl Sum {
    fn add(&mut self, a: f64, b: f64) {
        let parts = |x: f64| {
            let (field, fraction) = ((x.to_bits() >> 52 & 0x7ff) as i32, x.to_bits() & ((1 << 52) - 1));
            if field == 0 { (fraction, LAST) } else { (fraction | 1 << 52, LAST + field - 1) }
        };
        let ((m, e), (n, f)) = (parts(a), parts(b));
        let product = u128::from(m) * u128::from(n);
        let shift = (e + f - 2 * LAST) as usize;
        let (word, bit) = (shift / 64, shift % 64);
        let low = u128::from(product as u64) << bit;
        let high = (u128::from((product >> 64) as u64) << bit) + (low >> 64);
        let negative = a.is_sign_negative() != b.is_sign_negative();
        let mut carry = false;
        for (place, sum) in self.0[word..].iter_mut().enumerate() {
            let digit = [low as u64, high as u64, (high >> 64) as u64].get(place).copied().unwrap_or(0);
            if place > 2 && !carry {
                break;
            }
            (*sum, carry) = if negative { sum.borrowing_sub(digit, carry) } else { sum.carrying_add(digit, carry) };
        }
    }

    fn sign(&self) -> f64 {
        if (self.0[WORDS - 1] as i64) < 0 { -1.0 } else { f64::from(u8::from(self.0.iter().any(|&word| word != 0))) }
    }
}

/// `a·b + c`, of which `value` is the nearest number: what that leaves out has the sign of `a·b + c - value`.
fn fused(a: f64, b: f64, c: f64, value: f64) -> Exact {
    if !value.is_finite() {
        return overflowed(value, &[a, b, c]);
    }
    let mut sum = Sum([0; WORDS]);
    sum.add(a, b);
    sum.add(c, 1.0);
    sum.add(-value, 1.0);
    Exact { value, rest: sum.sign() }
}

/// An infinity that finite operands made lies beyond the exact result.
fn overflowed(value: f64, operands: &[f64]) -> Exact {
    let finite = value.is_infinite() && operands.iter().all(|x| x.is_finite());
    Exact { value, rest: if finite { -value } else { 0.0 } }
}

fn quotient(a: f64, b: f64) -> Exact {
    let value = a / b;
    if !value.is_finite() || !b.is_finite() || b == 0.0 {
        return if b == 0.0 { Exact::of(value) } else { overflowed(value, &[a, b]) };
    }
    let left = fused(-value, b, a, 0.0).rest;
    Exact { value, rest: if b < 0.0 { -left } else { left } }
}

fn root(x: f64) -> Exact {
    let value = x.sqrt();
    if value.is_finite() { Exact { value, rest: fused(-value, value, x, 0.0).rest } } else { Exact::of(value) }
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
        ("add", &[x, y]) => fused(x, 1.0, y, x + y),
        ("sub", &[x, y]) => fused(x, 1.0, -y, x - y),
        ("mul", &[x, y]) => fused(x, y, 0.0, x * y),
        ("div", &[x, y]) => quotient(x, y),
        ("rcp", &[x]) => quotient(1.0, x),
        ("sqrt", &[x]) => root(x),
        ("fma", &[x, y, z]) => fused(x, y, z, x.mul_add(y, z)),
        ("double2float", &[x]) => Exact::of(x),
        _ => return None,
    };
    // An exact zero of terms that are not both positive zeros is negative downward.
    let terms = match (base, &floats[..]) {
        ("add", &[x, y]) => [x, y],
        ("sub", &[x, y]) => [x, -y],
        ("fma", &[x, y, z]) => [if x == 0.0 || y == 0.0 { x * y } else { 1.0 }, z],
        _ => [0.0; 2],
    };
    if mode == Mode::Down && exact.value == 0.0 && exact.rest == 0.0 && terms.iter().any(|t| t.to_bits() != 0) {
        return Some(Float(-0.0));
    }
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
