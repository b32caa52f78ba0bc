//! Result types of arithmetic: the promotion rules of the language.
//!
//! **Invariant:** pure functions of types and literals, judged against the recorded tables of the reference implementation.

use crate::{constant::Const, dtype::DType, versions::Rules};

/// One side of an operator.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operand {
    /// A run-time value, scalar or tile.
    Tile(DType),
    /// A Python number known at compile time: it follows the other side where it can.
    Literal(Const),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Clash {
    /// An 8-bit float and an integer have no common type.
    NoCommonType(DType, DType),
    /// `/ // %` on integers of different signedness.
    Signedness(DType, DType),
    /// The literal does not fit the type.
    OutOfRange(Const, DType),
    NegativeForUnsigned(Const, DType),
    /// A non-zero literal beside an 8-bit float.
    Fp8Literal(DType),
    /// The operator needs integers.
    NotInteger(DType),
    /// No 64-bit type holds it.
    Nonrepresentable(Const),
    /// Not a number at all.
    NotNumber(Const),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    /// `+ - *`, `where`, comparisons, minimum …
    Plain,
    /// `/`
    Div,
    /// `//`
    FloorDiv,
    /// `%`
    Rem,
    /// `& | ^ << >>`
    Bits,
}

/// The type a Python number has when it becomes a tensor.
pub(crate) fn literal_type(value: &Const) -> Result<DType, Clash> {
    match value {
        Const::Bool(_) => Ok(DType::I1),
        Const::Int(i) => match *i {
            -0x8000_0000..=0x7fff_ffff => Ok(DType::I32),
            0x8000_0000..=0xffff_ffff => Ok(DType::U32),
            -0x8000_0000_0000_0000..=0x7fff_ffff_ffff_ffff => Ok(DType::I64),
            0x8000_0000_0000_0000..=0xffff_ffff_ffff_ffff => Ok(DType::U64),
            _ => Err(Clash::Nonrepresentable(value.clone())),
        },
        Const::Float(f) => {
            let x = f.get().abs();
            let fits = x == 0.0 || !x.is_finite() || (f64::from(f32::MIN_POSITIVE) <= x && x <= f64::from(f32::MAX));
            Ok(if fits { DType::F32 } else { DType::F64 })
        }
        Const::None | Const::Str(_) | Const::DType(_) | Const::Tuple(_) | Const::Function(_) => {
            Err(Clash::NotNumber(value.clone()))
        }
    }
}

/// bool < int < float.
fn kind(dtype: DType) -> u8 {
    match dtype {
        DType::I1 => 0,
        _ if dtype.is_int() => 1,
        _ => 2,
    }
}

fn is_fp8(dtype: DType) -> bool {
    dtype.is_float() && dtype.bits() == 8
}

pub(crate) fn is_unsigned(dtype: DType) -> bool {
    dtype.is_int() && !dtype.is_signed_int()
}

/// C-like: the wider; of different signedness the unsigned one if it is not narrower.
pub(crate) fn integer_promotion(a: DType, b: DType) -> DType {
    if a.is_signed_int() == b.is_signed_int() {
        if a.bits() > b.bits() { a } else { b }
    } else {
        let (unsigned, signed) = if a.is_signed_int() { (b, a) } else { (a, b) };
        if unsigned.bits() >= signed.bits() { unsigned } else { signed }
    }
}

/// The least and greatest value of an integer type.
pub(crate) fn int_range(dtype: DType) -> (i128, i128) {
    let bits = dtype.bits();
    if dtype.is_signed_int() { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) }
}

/// The type both operands are converted to.
pub(crate) fn common_type(rules: &Rules, op: Arithmetic, lhs: &Operand, rhs: &Operand) -> Result<DType, Clash> {
    let resolve = |operand: &Operand| match operand {
        Operand::Tile(dtype) => Ok((*dtype, false)),
        Operand::Literal(value) => literal_type(value).map(|dtype| (dtype, true)),
    };
    let (a, a_literal) = resolve(lhs)?;
    let (b, b_literal) = resolve(rhs)?;
    let div_or_rem = matches!(op, Arithmetic::Div | Arithmetic::FloorDiv | Arithmetic::Rem);
    let common = computation_type(a, a_literal, b, b_literal, div_or_rem)?;
    for operand in [lhs, rhs] {
        let Operand::Literal(value) = operand else { continue };
        if is_unsigned(common) && value.as_float().is_some_and(|x| x < 0.0) {
            return Err(Clash::NegativeForUnsigned(value.clone(), common));
        }
        if common.is_int()
            && let Some(i) = value.as_int()
            && !(int_range(common).0..=int_range(common).1).contains(&i)
        {
            return Err(Clash::OutOfRange(value.clone(), common));
        }
        if is_fp8(common) && !rules.fp8_literals && value.as_float() != Some(0.0) {
            return Err(Clash::Fp8Literal(common));
        }
    }
    match op {
        Arithmetic::Bits | Arithmetic::FloorDiv if common.is_float() => Err(Clash::NotInteger(common)),
        _ => Ok(common),
    }
}

fn computation_type(a: DType, a_literal: bool, b: DType, b_literal: bool, div_or_rem: bool) -> Result<DType, Clash> {
    if a_literal != b_literal {
        let (literal, tensor) = if a_literal { (a, b) } else { (b, a) };
        if kind(literal) <= kind(tensor) {
            let half = matches!(tensor, DType::F16 | DType::BF16);
            return Ok(if div_or_rem && half { DType::F32 } else { tensor });
        }
    }
    let either = |dtype| a == dtype || b == dtype;
    if either(DType::F64) {
        return Ok(DType::F64);
    }
    if either(DType::F32) {
        return Ok(DType::F32);
    }
    if either(DType::F16) {
        return Ok(if div_or_rem { DType::F32 } else { DType::F16 });
    }
    if a == DType::BF16 && b == DType::BF16 {
        return Ok(if div_or_rem { DType::F32 } else { DType::BF16 });
    }
    if either(DType::BF16) {
        return Ok(DType::F32);
    }
    if is_fp8(a) && is_fp8(b) {
        return Ok(if a == b { a } else { DType::F16 });
    }
    if a.is_float() || b.is_float() {
        return Err(Clash::NoCommonType(a, b));
    }
    if div_or_rem && a.is_signed_int() != b.is_signed_int() {
        return Err(Clash::Signedness(a, b));
    }
    Ok(integer_promotion(a, b))
}

/// The result of an operator on its common type: `/` of integers is f32.
pub(crate) fn result_type(op: Arithmetic, common: DType) -> DType {
    if op == Arithmetic::Div && common.is_int() { DType::F32 } else { common }
}
