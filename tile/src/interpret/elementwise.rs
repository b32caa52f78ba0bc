//! Elementwise operations: one loop over slices for each pair of operation and element.
//!
//! **Invariant:** total on every input. Integers wrap; a shift by the width or more gives 0, or the sign for `shr.s`; division by zero
//! gives all ones and its remainder the dividend; floats are rounded once to their type, to nearest even unless said otherwise.

use super::{
    float, libdevice, math,
    value::{Data, map_data},
};
use crate::{
    kinds,
    ops::{BinaryOp, CastOp, OpKind, Predicate, UnaryOp},
    types::{Elem, Scalar},
};

/// An elementwise operation on operands of one length, whose elements are `from`, into elements `to`. `None` if the kind is another, or
/// does not fit its operands.
pub(crate) fn elementwise(kind: &OpKind, from: &[Elem], to: Elem, operands: &[&Data]) -> Option<Data> {
    match (kind, operands) {
        (OpKind::Unary(op), [a]) => unary(*op, to, a),
        (OpKind::Binary(op), [a, b]) => binary(*op, to, a, b),
        (OpKind::Compare(predicate), [a, b]) => compare(*predicate, a, b),
        (OpKind::Select, [condition, a, b]) => select(condition, a, b),
        (OpKind::Choose, [number, values @ ..]) => choose(number, values),
        (OpKind::Fma, [a, b, c]) => fma(to, a, b, c),
        (OpKind::Cast(op), [a]) => cast(*op, *from.first()?, to, a),
        (OpKind::AddPtr, [a, b]) => addptr(from.first()?.pointee()?.bytes(), a, b),
        (OpKind::Libdevice(symbol), operands) => libdevice::call(*symbol, operands),
        (OpKind::Promise { .. }, [a]) => Some((*a).clone()),
        _ => None,
    }
}

/// What the interpreter needs of a machine integer beyond Rust's operators.
trait Int: Copy + Ord {
    fn binary(op: BinaryOp) -> fn(Self, Self) -> Self;
    fn less_unsigned(self, other: Self) -> bool;
}

macro_rules! int {
    ($($ty:ident $unsigned:ident),+) => {$(
        impl Int for $ty {
            #[inline(always)]
            fn binary(op: BinaryOp) -> fn($ty, $ty) -> $ty {
                match op {
                    BinaryOp::MulHiU => |x, y| ((u128::from(x as $unsigned) * u128::from(y as $unsigned)) >> $ty::BITS) as $ty,
                    BinaryOp::DivS => |x, y| if y == 0 { -1 } else { x.wrapping_div(y) },
                    BinaryOp::DivU => |x, y| (x as $unsigned).checked_div(y as $unsigned).map_or(-1, |q| q as $ty),
                    BinaryOp::RemS => |x, y| if y == 0 { x } else { x.wrapping_rem(y) },
                    BinaryOp::RemU => |x, y| (x as $unsigned).checked_rem(y as $unsigned).map_or(x, |r| r as $ty),
                    BinaryOp::Shl => |x, y| if (y as $unsigned) < $ty::BITS as $unsigned { x << y } else { 0 },
                    BinaryOp::ShrS => |x, y| x >> (y as $unsigned).min($ty::BITS as $unsigned - 1),
                    BinaryOp::ShrU => {
                        |x, y| if (y as $unsigned) < $ty::BITS as $unsigned { ((x as $unsigned) >> y) as $ty } else { 0 }
                    }
                    BinaryOp::MinU => |x, y| (x as $unsigned).min(y as $unsigned) as $ty,
                    BinaryOp::MaxU => |x, y| (x as $unsigned).max(y as $unsigned) as $ty,
                    // With an operator of their own, or not of integers.
                    BinaryOp::AddI
                    | BinaryOp::SubI
                    | BinaryOp::MulI
                    | BinaryOp::And
                    | BinaryOp::Or
                    | BinaryOp::Xor
                    | BinaryOp::MinS
                    | BinaryOp::MaxS
                    | kinds!(Float) => |x, _| x,
                }
            }

            fn less_unsigned(self, other: $ty) -> bool {
                (self as $unsigned) < (other as $unsigned)
            }
        }

        impl WrappingInt for $ty {
            fn add(self, y: $ty) -> $ty { self.wrapping_add(y) }
            fn sub(self, y: $ty) -> $ty { self.wrapping_sub(y) }
            fn mul(self, y: $ty) -> $ty { self.wrapping_mul(y) }
            fn abs(self) -> $ty { self.wrapping_abs() }
        }
    )+};
}

trait WrappingInt: Int + std::ops::BitAnd<Output = Self> + std::ops::BitOr<Output = Self> + std::ops::BitXor<Output = Self> {
    fn add(self, y: Self) -> Self;
    fn sub(self, y: Self) -> Self;
    fn mul(self, y: Self) -> Self;
    fn abs(self) -> Self;
}

int!(i8 u8, i16 u16, i32 u32, i64 u64);

#[inline(always)]
fn zip<T: Copy, R>(a: &[T], b: &[T], f: impl Fn(T, T) -> R) -> Vec<R> {
    a.iter().zip(b).map(|(&x, &y)| f(x, y)).collect()
}

fn int_binary<T: WrappingInt>(op: BinaryOp, a: &[T], b: &[T]) -> Vec<T> {
    match op {
        BinaryOp::AddI => zip(a, b, T::add),
        BinaryOp::SubI => zip(a, b, T::sub),
        BinaryOp::MulI => zip(a, b, T::mul),
        BinaryOp::And => zip(a, b, |x, y| x & y),
        BinaryOp::Or => zip(a, b, |x, y| x | y),
        BinaryOp::Xor => zip(a, b, |x, y| x ^ y),
        BinaryOp::MinS => zip(a, b, |x, y| x.min(y)),
        BinaryOp::MaxS => zip(a, b, |x, y| x.max(y)),
        BinaryOp::MulHiU
        | BinaryOp::DivS
        | BinaryOp::DivU
        | BinaryOp::RemS
        | BinaryOp::RemU
        | BinaryOp::Shl
        | BinaryOp::ShrS
        | BinaryOp::ShrU
        | BinaryOp::MinU
        | BinaryOp::MaxU
        | kinds!(Float) => zip(a, b, T::binary(op)),
    }
}

/// `i1` as `i8`: all ones for true where the operation is signed, then the lowest bit of the result.
fn bool_binary(op: BinaryOp, a: &[bool], b: &[bool]) -> Vec<bool> {
    let signed = matches!(op, BinaryOp::DivS | BinaryOp::RemS | BinaryOp::ShrS | BinaryOp::MinS | BinaryOp::MaxS);
    let widen = |v: &[bool]| v.iter().map(|&b| if signed { -i8::from(b) } else { i8::from(b) }).collect::<Vec<i8>>();
    // A shift amount counts as unsigned, and one bit is shifted out by 1.
    match op {
        BinaryOp::MulHiU => vec![false; a.len()],
        BinaryOp::Shl | BinaryOp::ShrU => zip(a, b, |x, y| x && !y),
        BinaryOp::ShrS => a.to_vec(),
        _ => int_binary(op, &widen(a), &widen(b)).iter().map(|x| x & 1 != 0).collect(),
    }
}

macro_rules! float_binary {
    ($name:ident, $ty:ident) => {
        fn $name(op: BinaryOp, a: &[$ty], b: &[$ty]) -> Vec<$ty> {
            // Of two equal numbers (zeros of either sign) the negative one is the smaller.
            let min = |x: $ty, y: $ty| if x < y || (x == y && x.is_sign_negative()) { x } else { y };
            let max = |x: $ty, y: $ty| if x > y || (x == y && x.is_sign_positive()) { x } else { y };
            match op {
                BinaryOp::AddF => zip(a, b, |x, y| x + y),
                BinaryOp::SubF => zip(a, b, |x, y| x - y),
                BinaryOp::MulF => zip(a, b, |x, y| x * y),
                BinaryOp::DivF | BinaryOp::DivRn => zip(a, b, |x, y| x / y),
                BinaryOp::RemF => zip(a, b, |x, y| if y.is_infinite() { x } else { (-(x / y).trunc()).mul_add(y, x) }),
                BinaryOp::MinF => zip(a, b, |x, y| if y.is_nan() { x } else { min(x, y) }),
                BinaryOp::MaxF => zip(a, b, |x, y| if y.is_nan() { x } else { max(x, y) }),
                BinaryOp::MinNan => zip(a, b, |x, y| if x.is_nan() { x } else { min(x, y) }),
                BinaryOp::MaxNan => zip(a, b, |x, y| if x.is_nan() { x } else { max(x, y) }),
                // Of integers.
                kinds!(Integer) => a.to_vec(),
            }
        }
    };
}

float_binary!(f32_binary, f32);
float_binary!(f64_binary, f64);

pub(super) fn binary(op: BinaryOp, elem: Elem, a: &Data, b: &Data) -> Option<Data> {
    Some(match (a, b) {
        (Data::I1(a), Data::I1(b)) => Data::I1(bool_binary(op, a, b)),
        (Data::I8(a), Data::I8(b)) => Data::I8(int_binary(op, a, b)),
        (Data::I16(a), Data::I16(b)) => Data::I16(int_binary(op, a, b)),
        (Data::I32(a), Data::I32(b)) => Data::I32(int_binary(op, a, b)),
        (Data::I64(a), Data::I64(b)) => Data::I64(int_binary(op, a, b)),
        (Data::F32(a), Data::F32(b)) => {
            let mut out = f32_binary(op, a, b);
            float::round_all(elem.scalar()?, &mut out);
            Data::F32(out)
        }
        (Data::F64(a), Data::F64(b)) => Data::F64(f64_binary(op, a, b)),
        _ => return None,
    })
}

pub(super) fn unary(op: UnaryOp, elem: Elem, a: &Data) -> Option<Data> {
    let scalar = elem.scalar()?;
    Some(match a {
        Data::I1(v) => Data::I1(v.clone()),
        Data::I8(v) => Data::I8(v.iter().map(|x| WrappingInt::abs(*x)).collect()),
        Data::I16(v) => Data::I16(v.iter().map(|x| WrappingInt::abs(*x)).collect()),
        Data::I32(v) => Data::I32(v.iter().map(|x| WrappingInt::abs(*x)).collect()),
        Data::I64(v) => Data::I64(v.iter().map(|x| WrappingInt::abs(*x)).collect()),
        Data::F64(_) if crate::math::unary(op, true).is_some() => libdevice::run(crate::math::unary(op, true)?, &[a])?,
        Data::F32(_) if crate::math::unary(op, false).is_some() => {
            let mut out = libdevice::run(crate::math::unary(op, false)?, &[a])?;
            if let Data::F32(out) = &mut out {
                float::round_all(scalar, out);
            }
            out
        }
        Data::F64(v) => {
            let f = math::function(op)?;
            Data::F64(v.iter().map(|&x| f(x)).collect())
        }
        Data::F32(v) => {
            let f = math::function(op)?;
            match op {
                // The machine takes what is subnormal for 0.
                UnaryOp::Sqrt | UnaryOp::Rsqrt => {
                    Data::F32(v.iter().map(|&x| float::round_f64(scalar, f(float::flushed(x).into()))).collect())
                }
                // Exact, or rounded correctly in f32 already.
                UnaryOp::NegF => Data::F32(v.iter().map(|x| -x).collect()),
                UnaryOp::AbsF => Data::F32(v.iter().map(|x| x.abs()).collect()),
                _ if scalar == Scalar::F32 => Data::F32(v.iter().map(|&x| f(f64::from(x)) as f32).collect()),
                _ => Data::F32(v.iter().map(|&x| float::round_f64(scalar, f(f64::from(x)))).collect()),
            }
        }
    })
}

pub(super) fn fma(elem: Elem, a: &Data, b: &Data, c: &Data) -> Option<Data> {
    let scalar = elem.scalar()?;
    Some(match (a, b, c) {
        (Data::F32(a), Data::F32(b), Data::F32(c)) => {
            let operands = a.iter().zip(b).zip(c).map(|((&a, &b), &c)| (a, b, c));
            match scalar {
                Scalar::F32 => Data::F32(operands.map(|(a, b, c)| a.mul_add(b, c)).collect()),
                // The product is exact in f64.
                _ => Data::F32(
                    operands.map(|(a, b, c)| float::round_f64(scalar, f64::from(a) * f64::from(b) + f64::from(c))).collect(),
                ),
            }
        }
        (Data::F64(a), Data::F64(b), Data::F64(c)) => {
            Data::F64(a.iter().zip(b).zip(c).map(|((&a, &b), &c)| a.mul_add(b, c)).collect())
        }
        _ => return None,
    })
}

fn int_compare<T: Int>(predicate: Predicate, a: &[T], b: &[T]) -> Vec<bool> {
    match predicate {
        Predicate::Eq | Predicate::EqF => zip(a, b, |x, y| x == y),
        Predicate::Ne | Predicate::NeF => zip(a, b, |x, y| x != y),
        Predicate::LtS | Predicate::LtF => zip(a, b, |x, y| x < y),
        Predicate::LeS | Predicate::LeF => zip(a, b, |x, y| x <= y),
        Predicate::GtS | Predicate::GtF => zip(a, b, |x, y| x > y),
        Predicate::GeS | Predicate::GeF => zip(a, b, |x, y| x >= y),
        Predicate::LtU => zip(a, b, T::less_unsigned),
        Predicate::LeU => zip(a, b, |x, y| !y.less_unsigned(x)),
        Predicate::GtU => zip(a, b, |x, y| y.less_unsigned(x)),
        Predicate::GeU => zip(a, b, |x, y| !x.less_unsigned(y)),
    }
}

fn float_compare<T: Copy + PartialOrd>(predicate: Predicate, a: &[T], b: &[T]) -> Vec<bool> {
    match predicate {
        Predicate::Eq | Predicate::EqF => zip(a, b, |x, y| x == y),
        Predicate::Ne | Predicate::NeF => zip(a, b, |x, y| x != y),
        Predicate::LtS | Predicate::LtU | Predicate::LtF => zip(a, b, |x, y| x < y),
        Predicate::LeS | Predicate::LeU | Predicate::LeF => zip(a, b, |x, y| x <= y),
        Predicate::GtS | Predicate::GtU | Predicate::GtF => zip(a, b, |x, y| x > y),
        Predicate::GeS | Predicate::GeU | Predicate::GeF => zip(a, b, |x, y| x >= y),
    }
}

pub(super) fn compare(predicate: Predicate, a: &Data, b: &Data) -> Option<Data> {
    Some(Data::I1(match (a, b) {
        (Data::I1(a), Data::I1(b)) => {
            let widen = |v: &[bool]| v.iter().map(|&b| -i8::from(b)).collect::<Vec<i8>>();
            int_compare(predicate, &widen(a), &widen(b))
        }
        (Data::I8(a), Data::I8(b)) => int_compare(predicate, a, b),
        (Data::I16(a), Data::I16(b)) => int_compare(predicate, a, b),
        (Data::I32(a), Data::I32(b)) => int_compare(predicate, a, b),
        (Data::I64(a), Data::I64(b)) => int_compare(predicate, a, b),
        (Data::F32(a), Data::F32(b)) => float_compare(predicate, a, b),
        (Data::F64(a), Data::F64(b)) => float_compare(predicate, a, b),
        _ => return None,
    }))
}

pub(super) fn select(condition: &Data, a: &Data, b: &Data) -> Option<Data> {
    let Data::I1(condition) = condition else { return None };
    macro_rules! pick {
        ($($variant:ident),+) => {
            match (a, b) {
                $((Data::$variant(a), Data::$variant(b)) => Some(Data::$variant(
                    condition.iter().zip(a.iter().zip(b)).map(|(&c, (&x, &y))| if c { x } else { y }).collect(),
                )),)+
                _ => None,
            }
        };
    }
    pick!(I1, I8, I16, I32, I64, F32, F64)
}

/// Of a number beyond the values the last is as good as any.
fn choose(number: &Data, values: &[&Data]) -> Option<Data> {
    let Data::I32(number) = number else { return None };
    let (last, others) = values.split_last()?;
    others.iter().enumerate().try_fold((*last).clone(), |chosen, (at, value)| {
        let is_this = Data::I1(number.iter().map(|&n| n == at as i32).collect());
        select(&is_this, value, &chosen)
    })
}

/// Pointer plus `size` bytes times the offset.
pub(super) fn addptr(size: u32, pointer: &Data, offset: &Data) -> Option<Data> {
    let size = i64::from(size);
    let Data::I64(pointer) = pointer else { return None };
    Some(Data::I64(match offset {
        Data::I32(offset) => pointer.iter().zip(offset).map(|(&p, &o)| p.wrapping_add(i64::from(o) * size)).collect(),
        Data::I64(offset) => pointer.iter().zip(offset).map(|(&p, &o)| p.wrapping_add(o.wrapping_mul(size))).collect(),
        _ => return None,
    }))
}

/// Integers of any width as `i64`.
pub(super) fn widened(data: &Data, signed: bool) -> Option<Vec<i64>> {
    macro_rules! widen {
        ($v:expr, $unsigned:ident) => {
            if signed {
                $v.iter().map(|&x| i64::from(x)).collect()
            } else {
                $v.iter().map(|&x| i64::from(x as $unsigned)).collect()
            }
        };
    }
    Some(match data {
        Data::I1(v) => v.iter().map(|&b| if signed { -i64::from(b) } else { i64::from(b) }).collect(),
        Data::I8(v) => widen!(v, u8),
        Data::I16(v) => widen!(v, u16),
        Data::I32(v) => widen!(v, u32),
        Data::I64(v) => v.clone(),
        Data::F32(_) | Data::F64(_) => return None,
    })
}

fn narrowed(scalar: Scalar, values: &[i64]) -> Data {
    Data::from_bits(scalar, values.iter().map(|&x| x as u64))
}

pub(super) fn cast(op: CastOp, from: Elem, to: Elem, data: &Data) -> Option<Data> {
    match op {
        CastOp::PtrToInt | CastOp::IntToPtr | CastOp::PtrCast => Some(data.clone()),
        CastOp::Trunc => Some(narrowed(to.scalar()?, &widened(data, true)?)),
        CastOp::ExtS => Some(narrowed(to.scalar()?, &widened(data, true)?)),
        CastOp::ExtU => Some(narrowed(to.scalar()?, &widened(data, false)?)),
        CastOp::Bitcast => {
            let from = from.scalar()?;
            Some(Data::from_bits(to.scalar()?, (0..data.len()).map(|i| data.bits(from, i))))
        }
        CastOp::Float | CastOp::FloatRtz => {
            let to = to.scalar()?;
            let round = if op == CastOp::Float { float::round_f64 } else { float::truncate_f64 };
            Some(match (data, to) {
                (Data::F32(v), Scalar::F64) => Data::F64(v.iter().map(|&x| f64::from(x)).collect()),
                (Data::F64(v), Scalar::F64) => Data::F64(v.clone()),
                (Data::F64(v), to) => Data::F32(v.iter().map(|&x| round(to, x)).collect()),
                (Data::F32(v), to) if op == CastOp::Float => {
                    let mut out = v.clone();
                    float::round_all(to, &mut out);
                    Data::F32(out)
                }
                (Data::F32(v), to) => Data::F32(v.iter().map(|&x| round(to, f64::from(x))).collect()),
                _ => return None,
            })
        }
        CastOp::SToF | CastOp::UToF => {
            let wide = widened(data, op == CastOp::SToF)?;
            let (signed, to) = (op == CastOp::SToF, to.scalar()?);
            let as_f64 = |x: i64| if signed { x as f64 } else { x as u64 as f64 };
            Some(match to {
                Scalar::F64 => Data::F64(wide.iter().map(|&x| as_f64(x)).collect()),
                Scalar::F32 if signed => Data::F32(wide.iter().map(|&x| x as f32).collect()),
                Scalar::F32 => Data::F32(wide.iter().map(|&x| x as u64 as f32).collect()),
                to => Data::F32(wide.iter().map(|&x| float::round_f64(to, as_f64(x))).collect()),
            })
        }
        CastOp::FToS | CastOp::FToU => {
            let to = to.scalar()?;
            let bits = to.bits();
            let convert = |x: f64| -> i64 {
                if op == CastOp::FToS {
                    let largest = ((1i128 << (bits - 1)) - 1) as i64;
                    (x as i64).clamp(-largest - 1, largest)
                } else {
                    (x as u64).min(((1u128 << bits) - 1) as u64) as i64
                }
            };
            let wide: Vec<i64> = match data {
                Data::F32(v) => v.iter().map(|&x| convert(f64::from(x))).collect(),
                Data::F64(v) => v.iter().map(|&x| convert(x)).collect(),
                _ => return None,
            };
            Some(narrowed(to, &wide))
        }
    }
}

/// The elements at `indices`, in that order.
pub(crate) fn gather(data: &Data, indices: impl Iterator<Item = usize>) -> Data {
    map_data!(data, v => indices.map(|i| v[i]).collect())
}
