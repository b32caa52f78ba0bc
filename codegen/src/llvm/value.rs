//! What stands for one register of one value in the text, and how types are spelled.
//!
//! **Invariant:** a constant is spelled for the type it is used at; nothing here emits.

use std::fmt;

use half::{bf16, f16};
use tritium_tile::{Elem, Scalar};

/// An operand of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Reg {
    Tmp(u32),
    /// The kernel's parameter.
    Arg(u32),
    Int(i64),
    Bool(bool),
    /// The bits of an f64 (also for f32, which LLVM spells as the f64 of equal value).
    Float(u64),
    Half(u16),
    Bfloat(u16),
    Null,
    Poison,
    Tid,
}

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reg::Tmp(n) => write!(f, "%t{n}"),
            Reg::Arg(n) => write!(f, "%arg{n}"),
            Reg::Int(n) => write!(f, "{n}"),
            Reg::Bool(b) => write!(f, "{b}"),
            Reg::Float(bits) => write!(f, "0x{bits:016X}"),
            Reg::Half(bits) => write!(f, "0xH{bits:04X}"),
            Reg::Bfloat(bits) => write!(f, "0xR{bits:04X}"),
            Reg::Null => f.write_str("null"),
            Reg::Poison => f.write_str("poison"),
            Reg::Tid => f.write_str("%tid"),
        }
    }
}

/// LLVM's type of one register of this element.
pub(crate) fn type_name(elem: Elem) -> &'static str {
    match elem {
        Elem::Ptr(_) => "ptr addrspace(1)",
        Elem::Scalar(s) => match s {
            Scalar::I1 => "i1",
            Scalar::I8 | Scalar::F8E4M3 | Scalar::F8E5M2 => "i8",
            Scalar::I16 => "i16",
            Scalar::I32 => "i32",
            Scalar::I64 => "i64",
            Scalar::F16 => "half",
            Scalar::BF16 => "bfloat",
            Scalar::F32 => "float",
            Scalar::F64 => "double",
        },
    }
}

/// LLVM's type of an element in memory: `i1` takes a byte.
pub(crate) fn memory_type(s: Scalar) -> &'static str {
    match s {
        Scalar::I1 => "i8",
        other => type_name(Elem::Scalar(other)),
    }
}

/// The suffix intrinsics are overloaded with.
pub(crate) fn suffix(s: Scalar) -> &'static str {
    match s {
        Scalar::F16 => "f16",
        Scalar::BF16 => "bf16",
        Scalar::F32 => "f32",
        Scalar::F64 => "f64",
        Scalar::I1 => "i1",
        Scalar::I8 | Scalar::F8E4M3 | Scalar::F8E5M2 => "i8",
        Scalar::I16 => "i16",
        Scalar::I32 => "i32",
        Scalar::I64 => "i64",
    }
}

pub(crate) fn f32_constant(value: f32) -> Reg {
    Reg::Float(f64::from(value).to_bits())
}

/// A float constant of this type, rounded to it; `None` where LLVM has no such type.
pub(crate) fn float_constant(s: Scalar, value: f64) -> Option<Reg> {
    Some(match s {
        Scalar::F16 => Reg::Half(f16::from_f64(value).to_bits()),
        Scalar::BF16 => Reg::Bfloat(bf16::from_f64(value).to_bits()),
        Scalar::F32 => f32_constant(value as f32),
        Scalar::F64 => Reg::Float(value.to_bits()),
        Scalar::F8E4M3 => Reg::Int(i64::from(e4m3(value) as i8)),
        Scalar::F8E5M2 => Reg::Int(i64::from((f16_to_e5m2(value)) as i8)),
        Scalar::I1 | Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => return None,
    })
}

/// An integer constant of this type: truncated, and spelled signed.
pub(crate) fn int_constant(s: Scalar, value: i64) -> Reg {
    match s.bits() {
        1 => Reg::Bool(value & 1 == 1),
        8 => Reg::Int(i64::from(value as i8)),
        16 => Reg::Int(i64::from(value as i16)),
        32 => Reg::Int(i64::from(value as i32)),
        _ => Reg::Int(value),
    }
}

/// The nearest 8-bit float (ties to even), saturating, by search over the positive codes: constants are rare.
fn nearest(value: f64, codes: u8, decode: impl Fn(u8) -> f64, nan: u8) -> u8 {
    let sign = if value.is_sign_negative() { 0x80 } else { 0 };
    if value.is_nan() {
        return sign | nan;
    }
    let mut best = 0u8;
    for code in 0..=codes {
        let (old, new) = ((decode(best) - value.abs()).abs(), (decode(code) - value.abs()).abs());
        if new < old || new == old && code & 1 == 0 {
            best = code;
        }
    }
    sign | best
}

fn e4m3(value: f64) -> u8 {
    let decode = |code: u8| f64::from(f16::from_bits(u16::from(code) << 7)) * 256.0;
    nearest(value.clamp(-448.0, 448.0), 0x7e, decode, 0x7f)
}

fn f16_to_e5m2(value: f64) -> u8 {
    let decode = |code: u8| f64::from(f16::from_bits(u16::from(code) << 8));
    nearest(value.clamp(-57344.0, 57344.0), 0x7b, decode, 0x7e)
}
