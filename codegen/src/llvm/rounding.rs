//! The library's functions that name their rounding mode: one instruction each.
//!
//! **Invariant:** a mode is part of the instruction; nothing depends on a state of the machine.

use tritium_tile::{
    Elem, Scalar,
    libdevice::{Arg, Symbol},
};

use super::{
    Emitted, Emitter, ins,
    value::{Reg, suffix, type_name},
};

impl Emitter<'_> {
    pub(super) fn rounded(&mut self, symbol: Symbol, args: &[Reg]) -> Emitted<Reg> {
        let overload = symbol.overload();
        let name = symbol.function().name;
        let unknown = |e: &Self| e.unsupported(format!("the library function `{name}` has no machine code"));
        let Some((base, mode)) = name.rsplit_once('_') else { return Err(unknown(self)) };
        // As the instructions call them.
        let mode = match mode {
            "rn" => "rn",
            "rz" => "rz",
            "rd" => "rm",
            "ru" => "rp",
            _ => return Err(unknown(self)),
        };
        let (from, to) = (overload.args[0].scalar(), overload.result.scalar());
        let (a, b) = (type_name(Elem::Scalar(from)), type_name(Elem::Scalar(to)));
        let letter = if to == Scalar::F64 { "d" } else { "f" };
        let of = |e: &mut Self, operation: &str, args: &[Reg]| {
            let args: Vec<(&str, Reg)> = args.iter().map(|&reg| (b, reg)).collect();
            e.call(b, &format!("llvm.nvvm.{operation}.{mode}.{letter}"), &args)
        };
        Ok(match base {
            "add" | "mul" | "div" if mode == "rn" => ins!(self, "f{base} {b} {}, {}", args[0], args[1]),
            "sub" if mode == "rn" => ins!(self, "fsub {b} {}, {}", args[0], args[1]),
            "add" | "mul" | "div" => of(self, base, args),
            "sub" => {
                let negative = ins!(self, "fneg {b} {}", args[1]);
                of(self, "add", &[args[0], negative])
            }
            "rcp" if mode == "rn" => {
                ins!(self, "fdiv {b} {}, {}", super::value::float_constant(to, 1.0).unwrap_or(Reg::Int(1)), args[0])
            }
            "rcp" => of(self, "rcp", args),
            "sqrt" if mode == "rn" => self.call(b, &format!("llvm.sqrt.{}", suffix(to)), &[(b, args[0])]),
            "sqrt" => of(self, "sqrt", args),
            "fma" if mode == "rn" => {
                self.call(b, &format!("llvm.fma.{}", suffix(to)), &[(b, args[0]), (b, args[1]), (b, args[2])])
            }
            "fma" => of(self, "fma", args),
            // Twice as many digits, then one rounding: as the interpreter.
            "rsqrt" => {
                let wide = ins!(self, "fpext float {} to double", args[0]);
                let root = self.call("double", "llvm.sqrt.f64", &[("double", wide)]);
                let inverse = ins!(self, "fdiv double {}, {root}", Reg::Float(1f64.to_bits()));
                ins!(self, "fptrunc double {inverse} to float")
            }
            "double2float" => self.call(b, &format!("llvm.nvvm.d2f.{mode}"), &[(a, args[0])]),
            // Exact.
            "int2double" => ins!(self, "sitofp {a} {} to {b}", args[0]),
            "uint2double" => ins!(self, "uitofp {a} {} to {b}", args[0]),
            _ => {
                let (short_from, short_to) = base.split_once('2').ok_or_else(|| unknown(self))?;
                let short = |word: &str| match word {
                    "double" => Some("d"),
                    "float" => Some("f"),
                    "int" => Some("i"),
                    "uint" => Some("ui"),
                    "ll" => Some("ll"),
                    "ull" => Some("ull"),
                    _ => None,
                };
                let (Some(source), Some(target)) = (short(short_from), short(short_to)) else { return Err(unknown(self)) };
                let value = self.call(b, &format!("llvm.nvvm.{source}2{target}.{mode}"), &[(a, args[0])]);
                if matches!(overload.result, Arg::F32 | Arg::F64) {
                    value
                } else {
                    self.nan_as_the_interpreter(from, to, args[0], value)
                }
            }
        })
    }

    /// NaN gives 0, but the least number (as bits) where `f64` or 64 bits take part.
    fn nan_as_the_interpreter(&mut self, from: Scalar, to: Scalar, x: Reg, value: Reg) -> Reg {
        let (a, b) = (type_name(Elem::Scalar(from)), type_name(Elem::Scalar(to)));
        let wide = from == Scalar::F64 || to == Scalar::I64;
        let nan = match (wide, to) {
            (false, _) => 0,
            (true, Scalar::I64) => i64::MIN,
            (true, _) => i64::from(i32::MIN),
        };
        let unordered = ins!(self, "fcmp uno {a} {x}, {x}");
        ins!(self, "select i1 {unordered}, {b} {nan}, {b} {value}")
    }
}
