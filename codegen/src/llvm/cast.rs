//! Casts.
//!
//! **Invariant:** float casts round once, to nearest even unless the operation says toward zero; float to integer saturates and NaN
//! gives 0.

use tritium_semantics::target::Feature;
use tritium_tile::{Elem, Scalar, math, ops::CastOp};

use super::{
    Emitted, Emitter, ins,
    value::{Reg, f32_constant, suffix, type_name},
};
use crate::ptx_strings::Instruction;

impl Emitter<'_> {
    pub(super) fn cast(&mut self, kind: CastOp, from: Elem, to: Elem, x: Reg) -> Emitted<Reg> {
        let (a, b) = (type_name(from), type_name(to));
        let (Elem::Scalar(s), Elem::Scalar(t)) = (from, to) else {
            return match (kind, from, to) {
                (CastOp::PtrToInt, Elem::Ptr(_), Elem::Scalar(t)) if t.is_int() => Ok(ins!(self, "ptrtoint {a} {x} to {b}")),
                (CastOp::IntToPtr, Elem::Scalar(s), Elem::Ptr(_)) if s.is_int() => Ok(ins!(self, "inttoptr {a} {x} to {b}")),
                (CastOp::PtrCast | CastOp::Bitcast, Elem::Ptr(_), Elem::Ptr(_)) => Ok(x),
                (CastOp::Bitcast, Elem::Ptr(_), Elem::Scalar(Scalar::I64)) => Ok(ins!(self, "ptrtoint {a} {x} to i64")),
                (CastOp::Bitcast, Elem::Scalar(Scalar::I64), Elem::Ptr(_)) => Ok(ins!(self, "inttoptr i64 {x} to {b}")),
                _ => Err(self.unsupported(format!("cast {} from {from} to {to}", kind.name()))),
            };
        };
        let wrong = |e: &Self| e.unsupported(format!("cast {} from {s} to {t}", kind.name()));
        match kind {
            CastOp::Trunc | CastOp::ExtS | CastOp::ExtU => {
                if s.is_float() || t.is_float() {
                    return Err(wrong(self));
                }
                Ok(match s.bits().cmp(&t.bits()) {
                    std::cmp::Ordering::Equal => x,
                    std::cmp::Ordering::Greater => ins!(self, "trunc {a} {x} to {b}"),
                    std::cmp::Ordering::Less if kind == CastOp::ExtS => ins!(self, "sext {a} {x} to {b}"),
                    std::cmp::Ordering::Less => ins!(self, "zext {a} {x} to {b}"),
                })
            }
            CastOp::Float | CastOp::FloatRtz => {
                if s.is_int() || t.is_int() {
                    return Err(wrong(self));
                }
                self.float_cast(s, t, x, kind == CastOp::FloatRtz)
            }
            CastOp::SToF | CastOp::UToF => {
                let name = if kind == CastOp::SToF { "sitofp" } else { "uitofp" };
                match t {
                    _ if s.is_float() => Err(wrong(self)),
                    Scalar::F16 | Scalar::F32 | Scalar::F64 => Ok(ins!(self, "{name} {a} {x} to {b}")),
                    Scalar::BF16 | Scalar::F8E4M3 | Scalar::F8E5M2 => {
                        // Through a float that holds the integer, so that it is rounded once.
                        let wide = if s.bits() > 16 { Scalar::F64 } else { Scalar::F32 };
                        let value = ins!(self, "{name} {a} {x} to {}", type_name(Elem::Scalar(wide)));
                        self.float_cast(wide, t, value, false)
                    }
                    Scalar::I1 | Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => Err(wrong(self)),
                }
            }
            CastOp::FToS | CastOp::FToU => {
                if s.is_int() || t.is_float() {
                    return Err(wrong(self));
                }
                let wide = if s == Scalar::F64 { Scalar::F64 } else { Scalar::F32 };
                let x = self.float_cast(s, wide, x, false)?;
                let sign = if kind == CastOp::FToS { "si" } else { "ui" };
                // One bit has no instruction of its own.
                let through = if t == Scalar::I1 { Scalar::I32 } else { t };
                let name = format!("llvm.fpto{sign}.sat.{}.{}", suffix(through), suffix(wide));
                let value = self.call(type_name(Elem::Scalar(through)), &name, &[(type_name(Elem::Scalar(wide)), x)]);
                if t != Scalar::I1 {
                    return Ok(value);
                }
                let bounded = if kind == CastOp::FToS {
                    let low = self.call("i32", "llvm.smax.i32", &[("i32", value), ("i32", Reg::Int(-1))]);
                    self.call("i32", "llvm.smin.i32", &[("i32", low), ("i32", Reg::Int(0))])
                } else {
                    self.call("i32", "llvm.umin.i32", &[("i32", value), ("i32", Reg::Int(1))])
                };
                Ok(ins!(self, "trunc i32 {bounded} to i1"))
            }
            CastOp::Bitcast => {
                if s.bits() != t.bits() {
                    return Err(wrong(self));
                }
                Ok(if a == b { x } else { ins!(self, "bitcast {a} {x} to {b}") })
            }
            CastOp::PtrToInt | CastOp::IntToPtr | CastOp::PtrCast => Err(wrong(self)),
        }
    }

    pub(super) fn float_cast(&mut self, s: Scalar, t: Scalar, x: Reg, toward_zero: bool) -> Emitted<Reg> {
        use Scalar::{BF16, F8E4M3, F8E5M2, F16, F32, F64};
        if s == t {
            return Ok(x);
        }
        let (a, b) = (type_name(Elem::Scalar(s)), type_name(Elem::Scalar(t)));
        match (s, t) {
            (F8E4M3 | F8E5M2, _) => {
                let half = self.widen_f8(s, x);
                self.float_cast(F16, t, half, toward_zero)
            }
            (_, F8E4M3 | F8E5M2) => {
                let wide = if s == F64 { self.rounded_to_odd(x) } else { self.float_cast(s, F32, x, false)? };
                if toward_zero || !self.sm.has(Feature::Fp8) {
                    let Some(program) = math::to_f8(t, toward_zero) else {
                        return Err(self.unsupported(format!("a cast from {s} to {t}")));
                    };
                    let code = self.program(program, &[wide])[0];
                    return Ok(ins!(self, "trunc i32 {code} to i8"));
                }
                let instruction = if t == F8E4M3 { Instruction::CvtE4m3 } else { Instruction::CvtE5m2 };
                let pair = self.asm(instruction, &["i16"], &[("float", f32_constant(0.0)), ("float", wide)])[0];
                Ok(ins!(self, "trunc i16 {pair} to i8"))
            }
            (F16 | BF16, F32 | F64) | (F32, F64) => Ok(ins!(self, "fpext {a} {x} to {b}")),
            (F16 | BF16, F16 | BF16) => {
                let wide = ins!(self, "fpext {a} {x} to float");
                self.float_cast(F32, t, wide, toward_zero)
            }
            (F32, F16 | BF16) if toward_zero => {
                let instruction = if t == F16 { Instruction::CvtRzF16 } else { Instruction::CvtRzBf16 };
                let bits = self.asm(instruction, &["i16"], &[("float", x)])[0];
                Ok(ins!(self, "bitcast i16 {bits} to {b}"))
            }
            // Truncations compose.
            (F64, _) if toward_zero => {
                let cut = self.call("float", "llvm.nvvm.d2f.rz", &[(a, x)]);
                self.float_cast(F32, t, cut, true)
            }
            (F64, F16 | BF16) => {
                let odd = self.rounded_to_odd(x);
                self.float_cast(F32, t, odd, false)
            }
            _ => Ok(ins!(self, "fptrunc {a} {x} to {b}")),
        }
    }

    /// An f64 as an f32 whose last bit remembers whether there was more: rounded again, it sees no false tie.
    fn rounded_to_odd(&mut self, x: Reg) -> Reg {
        let cut = self.call("float", "llvm.nvvm.d2f.rz", &[("double", x)]);
        let back = ins!(self, "fpext float {cut} to double");
        let more = ins!(self, "fcmp une double {back}, {x}");
        let last = ins!(self, "zext i1 {more} to i32");
        let bits = ins!(self, "bitcast float {cut} to i32");
        let bits = ins!(self, "or i32 {bits}, {last}");
        ins!(self, "bitcast i32 {bits} to float")
    }

    /// Both 8-bit formats are f16 with bits left out: e5m2 its upper byte, e4m3 with an exponent that is 8 less.
    fn widen_f8(&mut self, s: Scalar, x: Reg) -> Reg {
        let wide = ins!(self, "zext i8 {x} to i16");
        let high = ins!(self, "shl i16 {wide}, 8");
        if s == Scalar::F8E5M2 {
            return ins!(self, "bitcast i16 {high} to half");
        }
        if self.sm.has(Feature::Fp8) {
            let pair = self.asm(Instruction::CvtFromE4m3, &["i32"], &[("i16", wide)])[0];
            let low = ins!(self, "trunc i32 {pair} to i16");
            return ins!(self, "bitcast i16 {low} to half");
        }
        let sign = ins!(self, "and i16 {high}, -32768");
        let size = ins!(self, "and i16 {wide}, 127");
        let moved = ins!(self, "shl i16 {size}, 7");
        let small = ins!(self, "bitcast i16 {moved} to half");
        let scaled = ins!(self, "fmul half {small}, 0xH5C00");
        let bits = ins!(self, "bitcast half {scaled} to i16");
        let nan = ins!(self, "icmp eq i16 {size}, 127");
        let bits = ins!(self, "select i1 {nan}, i16 32256, i16 {bits}");
        let signed = ins!(self, "or i16 {bits}, {sign}");
        ins!(self, "bitcast i16 {signed} to half")
    }
}
