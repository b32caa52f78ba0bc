//! Elementwise operations, one register at a time.
//!
//! f16 adds, subtracts and multiplies natively; bf16 goes through f32, which rounds the same (24 ≥ 2·8 + 2 bits). Only f32 multiplications
//! and additions carry `contract`, but for products that only loops further in read. **Invariant:** results are those of the interpreter, bit for
//! bit but for the special-function unit's approximations.

use tritium_tile::{
    Elem, OpId, OpKind, Scalar, Type, ValueId,
    facts::Range,
    math,
    ops::{BinaryOp, CastOp, Predicate, UnaryOp},
};

use super::{
    Emitted, Emitter, entry_name, ins,
    value::{Reg, f32_constant, float_constant, memory_type, suffix, type_name},
};
use crate::ptx_strings::{Instruction, ReadParameter};

impl Emitter<'_> {
    pub(super) fn elementwise(&mut self, op: OpId) -> Emitted<()> {
        let operation = self.function.op(op);
        let result = operation.results[0];
        let n = self.num_registers(result)?;
        let operands = operation.operands.iter().map(|&v| self.regs(v)).collect::<Emitted<Vec<_>>>()?;
        if operands.iter().any(|regs| regs.len() != n) {
            return Err(self.unsupported("an elementwise operation mixes layouts; a conversion is missing"));
        }
        self.note_walk(op)?;
        if matches!(operation.kind, OpKind::AddPtr)
            && let Some(regs) = self.walked_pointers(op)?
        {
            self.set(result, regs);
            return Ok(());
        }
        let elems: Vec<Elem> = operation.operands.iter().map(|&v| self.ty(v).elem()).collect();
        let to = self.ty(result).elem();
        let fresh_address = matches!(operation.kind, OpKind::AddPtr) && self.is_cheaper_fresh(op);
        let narrow_quotient = self.is_narrow_quotient(op);
        let is_cut = self.is_cut_in_loop(op);
        let mut regs = Vec::with_capacity(n);
        let repeated = self.repeated(result)?;
        if repeated == 0
            && let [args] = &operands[..]
            && let Some(regs) = self.small_apart(op, args)?
        {
            self.set(result, regs);
            return Ok(());
        }
        for r in 0..n {
            let twin = r & !repeated;
            if twin != r {
                regs.push(regs[twin]);
                continue;
            }
            let args: Vec<Reg> = operands.iter().map(|o| o[r]).collect();
            regs.push(match &operation.kind {
                OpKind::Unary(kind) => {
                    let s = self.number(elems[0])?;
                    self.unary(*kind, s, args[0])?
                }
                // Fused with what a loop adds to it, it would be made on every trip, and both its factors held.
                OpKind::Binary(BinaryOp::MulF) if to == Elem::Scalar(Scalar::F32) && self.origins.is_held_for_loops(result) => {
                    ins!(self, "fmul float {}, {}", args[0], args[1])
                }
                OpKind::Binary(kind) => {
                    let s = self.number(elems[0])?;
                    match narrow_quotient {
                        true => self.narrow_quotient(*kind, &args),
                        false => self.binary(*kind, s, args[0], args[1])?,
                    }
                }
                OpKind::Compare(predicate) => self.compare(*predicate, elems[0], args[0], args[1])?,
                OpKind::Select => {
                    let ty = type_name(to);
                    ins!(self, "select i1 {}, {ty} {}, {ty} {}", args[0], args[1], args[2])
                }
                OpKind::Choose => self.choose(op, &args)?,
                OpKind::Fma => {
                    let s = self.number(to)?;
                    let ty = self.float_type(s)?;
                    self.call(ty, &format!("llvm.fma.{}", suffix(s)), &[(ty, args[0]), (ty, args[1]), (ty, args[2])])
                }
                OpKind::Libdevice(symbol) => match math::library(*symbol) {
                    Some(program) => self.program(program, &args)[0],
                    None => self.rounded(*symbol, &args)?,
                },
                OpKind::Cast(kind) => match self.cast(*kind, elems[0], to, args[0])? {
                    number if is_cut => self.asm(Instruction::Opaque, &["i32"], &[("i32", number)])[0],
                    number => number,
                },
                OpKind::AddPtr => {
                    let Some(pointee) = elems[0].pointee() else {
                        return Err(self.unsupported("an offset is added to what is not a pointer"));
                    };
                    if fresh_address {
                        let instruction = Instruction::MadWide { bytes: pointee.bytes() as u8 };
                        let sum = self.asm(instruction, &["i64"], &[("ptr addrspace(1)", args[0]), ("i32", args[1])])[0];
                        regs.push(ins!(self, "inttoptr i64 {sum} to ptr addrspace(1)"));
                        continue;
                    }
                    let index = type_name(elems[1]);
                    ins!(self, "getelementptr {}, ptr addrspace(1) {}, {index} {}", memory_type(pointee), args[0], args[1])
                }
                OpKind::Promise { .. } => args[0],
                _ => return Err(self.unsupported("not an elementwise operation")),
            });
            self.note_condition(&operation.kind, elems[0], &args, regs[r]);
        }
        self.set(result, regs);
        Ok(())
    }

    /// Parameters that stand side by side are read where the number says. Of others, selects choose.
    fn choose(&mut self, op: OpId, args: &[Reg]) -> Emitted<Reg> {
        let operation = self.function.op(op);
        let (number, values) = (args[0], &operation.operands[1..]);
        if let Some(first) = self.function.parameters_in_a_row(values) {
            let instruction = ReadParameter { kernel: &entry_name(self.module), first };
            let bits =
                self.asm_call(&instruction.text(), ReadParameter::CONSTRAINTS, ("", "#2"), &["i64"], &[("i32", number)])[0];
            return Ok(ins!(self, "inttoptr i64 {bits} to ptr addrspace(1)"));
        }
        let ty = type_name(self.ty(operation.results[0]).elem());
        let mut chosen = args[args.len() - 1];
        for (at, value) in args[1..args.len() - 1].iter().enumerate() {
            let is_this = ins!(self, "icmp eq i32 {number}, {at}");
            chosen = ins!(self, "select i1 {is_this}, {ty} {value}, {ty} {chosen}");
        }
        Ok(chosen)
    }

    /// Bits of register numbers that lead only to elements known to be the same: a mask of which eight neighbours are all or none inside
    /// is compared once.
    fn repeated(&self, value: ValueId) -> Emitted<usize> {
        let Some(layout) = self.layout(value)? else { return Ok(0) };
        let constancy = &self.facts.axis(value).constancy;
        let same: u32 = (0..layout.shape.len())
            .map(|d| {
                let run = constancy[d].clamp(1, u64::from(layout.shape[d])) as u32;
                layout.axis_mask(d) & ((run - 1) << layout.axis_mask(d).trailing_zeros().min(31))
            })
            .sum();
        Ok(layout.register.iter().enumerate().filter(|(_, base)| *base & !same == 0).map(|(bit, _)| 1 << bit).sum())
    }

    /// A pointer that a loop with products moves plus an offset that it does not. LLVM would keep the offset in 64 bits through the loop; one
    /// instruction makes the address of 32. An offset of known numbers is better off with LLVM, which folds it into the access.
    fn is_cheaper_fresh(&self, op: OpId) -> bool {
        let operation = self.function.op(op);
        let (pointer, offset) = (operation.operands[0], operation.operands[1]);
        let home = self.origins.innermost_loop(operation.results[0]);
        self.ty(offset).elem() == Elem::Scalar(Scalar::I32)
            && !self.reduces_loops
            && home.is_some()
            && self.origins.innermost_loop(pointer) == home
            && self.origins.innermost_loop(offset) != home
            && !self.origins.is_fixed(offset)
    }

    /// A quotient or remainder in 64 bits of numbers that have 32: a division of 64 bits is a hundred instructions and a branch around them.
    fn is_narrow_quotient(&self, op: OpId) -> bool {
        let operation = self.function.op(op);
        if !matches!(operation.kind, OpKind::Binary(BinaryOp::DivS | BinaryOp::RemS))
            || self.ty(operation.results[0]).elem().bits() != 64
        {
            return false;
        }
        let (dividend, divisor) = (self.facts.range(operation.operands[0]), self.facts.range(operation.operands[1]));
        let has_32_bits = |range: Range| range.min >= i32::MIN.into() && range.max <= i32::MAX.into();
        // Divisions by constants are products anyway; the least number over -1 is the one quotient that has 33 bits.
        divisor.constant().is_none()
            && has_32_bits(dividend)
            && has_32_bits(divisor)
            && (dividend.min > i32::MIN.into() || divisor.min >= 0)
    }

    /// A number that `split_addresses` has cut to 32 bits, in a loop. LLVM would compare the literal numbers of a thread's rows with it in 64 bits
    /// again, each by two instructions.
    fn is_cut_in_loop(&self, op: OpId) -> bool {
        let cut_at = |value: ValueId, kind: BinaryOp| {
            let operation = self.function.op(self.function.def_op(value)?);
            let [number, edge] = operation.operands[..] else { return None };
            let edge = self.function.op(self.function.def_op(edge)?);
            (operation.kind == OpKind::Binary(kind) && matches!(edge.kind, OpKind::Constant(_))).then_some(number)
        };
        let operation = self.function.op(op);
        operation.kind == OpKind::Cast(CastOp::Trunc)
            && *self.ty(operation.results[0]) == Type::scalar(Scalar::I32)
            && self.origins.innermost_loop(operation.results[0]).is_some()
            && cut_at(operation.operands[0], BinaryOp::MaxS).and_then(|number| cut_at(number, BinaryOp::MinS)).is_some()
    }

    fn narrow_quotient(&mut self, kind: BinaryOp, args: &[Reg]) -> Reg {
        let (a, b) = (ins!(self, "trunc i64 {} to i32", args[0]), ins!(self, "trunc i64 {} to i32", args[1]));
        let quotient = ins!(self, "{} i32 {a}, {b}", if kind == BinaryOp::DivS { "sdiv" } else { "srem" });
        ins!(self, "sext i32 {quotient} to i64")
    }

    fn number(&self, elem: Elem) -> Emitted<Scalar> {
        elem.scalar().ok_or_else(|| self.unsupported("arithmetic on pointers; only offsets can be added to them"))
    }

    /// A float type that has arithmetic.
    pub(super) fn float_type(&self, s: Scalar) -> Emitted<&'static str> {
        match s {
            Scalar::F16 | Scalar::BF16 | Scalar::F32 | Scalar::F64 => Ok(type_name(Elem::Scalar(s))),
            Scalar::F8E4M3 | Scalar::F8E5M2 => Err(self.unsupported(format!("{s} has no arithmetic; cast to f16 or f32 first"))),
            Scalar::I1 | Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => {
                Err(self.unsupported(format!("a float operation on {s}")))
            }
        }
    }

    /// Computes `f` in f32 on operands of a narrower type.
    pub(super) fn in_f32(&mut self, s: Scalar, args: &[Reg], f: impl FnOnce(&mut Self, &[Reg]) -> Emitted<Reg>) -> Emitted<Reg> {
        let ty = self.float_type(s)?;
        match s {
            Scalar::F16 | Scalar::BF16 => {
                let wide: Vec<Reg> = args.iter().map(|a| ins!(self, "fpext {ty} {a} to float")).collect();
                let result = f(self, &wide)?;
                Ok(ins!(self, "fptrunc float {result} to {ty}"))
            }
            _ => f(self, args),
        }
    }

    pub(super) fn unary(&mut self, kind: UnaryOp, s: Scalar, x: Reg) -> Emitted<Reg> {
        if kind == UnaryOp::AbsI {
            // As an instruction of its own: LLVM makes `max(x, -x)` of its intrinsic, and ptxas before 13 takes that for a number that is
            // never negative, also where `x` is the smallest number.
            let ty = type_name(Elem::Scalar(s));
            return Ok(match s.bits() {
                1 => x,
                8 => {
                    let wide = ins!(self, "sext i8 {x} to i16");
                    let size = self.asm(Instruction::Abs { bits: 16 }, &["i16"], &[("i16", wide)])[0];
                    ins!(self, "trunc i16 {size} to i8")
                }
                bits => self.asm(Instruction::Abs { bits: bits as u8 }, &[ty], &[(ty, x)])[0],
            });
        }
        let ty = self.float_type(s)?;
        match kind {
            UnaryOp::NegF => return Ok(ins!(self, "fneg {ty} {x}")),
            UnaryOp::AbsF => return Ok(self.call(ty, &format!("llvm.fabs.{}", suffix(s)), &[(ty, x)])),
            _ => {}
        }
        if s == Scalar::F64 {
            if let Some(program) = math::unary(kind, true) {
                return Ok(self.program(program, &[x])[0]);
            }
            return Ok(match kind {
                UnaryOp::Floor => self.call(ty, "llvm.floor.f64", &[(ty, x)]),
                UnaryOp::Ceil => self.call(ty, "llvm.ceil.f64", &[(ty, x)]),
                UnaryOp::Rsqrt => {
                    let root = self.call(ty, "llvm.sqrt.f64", &[(ty, x)]);
                    ins!(self, "fdiv double {}, {root}", Reg::Float(1f64.to_bits()))
                }
                UnaryOp::Sqrt | UnaryOp::SqrtRn => self.call(ty, "llvm.sqrt.f64", &[(ty, x)]),
                UnaryOp::NegF
                | UnaryOp::AbsF
                | UnaryOp::AbsI
                | UnaryOp::Exp
                | UnaryOp::Exp2
                | UnaryOp::Log
                | UnaryOp::Log2
                | UnaryOp::Sin
                | UnaryOp::Cos
                | UnaryOp::Tanh
                | UnaryOp::Erf => {
                    return Err(self.unsupported(format!("{} is not computed in f64", kind.name())));
                }
            });
        }
        self.in_f32(s, &[x], |e, args| {
            let x = args[0];
            if let Some(program) = math::unary(kind, false) {
                return Ok(e.program(program, &[x])[0]);
            }
            Ok(match kind {
                UnaryOp::Floor => e.call("float", "llvm.floor.f32", &[("float", x)]),
                UnaryOp::Ceil => e.call("float", "llvm.ceil.f32", &[("float", x)]),
                UnaryOp::Sqrt => e.approx(Instruction::SqrtApprox, x),
                UnaryOp::SqrtRn => e.call("float", "llvm.sqrt.f32", &[("float", x)]),
                UnaryOp::Rsqrt => e.approx(Instruction::RsqrtApprox, x),
                UnaryOp::Exp => {
                    let scaled = ins!(e, "fmul float {x}, {}", f32_constant(std::f32::consts::LOG2_E));
                    e.approx(Instruction::Ex2Approx, scaled)
                }
                UnaryOp::Exp2 => e.approx(Instruction::Ex2ApproxFtz, x),
                UnaryOp::NegF
                | UnaryOp::AbsF
                | UnaryOp::AbsI
                | UnaryOp::Log
                | UnaryOp::Log2
                | UnaryOp::Sin
                | UnaryOp::Cos
                | UnaryOp::Tanh
                | UnaryOp::Erf => {
                    return Err(e.unsupported(format!("{} is not computed in f32", kind.name())));
                }
            })
        })
    }

    pub(super) fn approx(&mut self, instruction: Instruction, x: Reg) -> Reg {
        self.asm(instruction, &["float"], &[("float", x)])[0]
    }

    fn binary(&mut self, kind: BinaryOp, s: Scalar, a: Reg, b: Reg) -> Emitted<Reg> {
        use BinaryOp::*;
        let ty = type_name(Elem::Scalar(s));
        let integer = match kind {
            AddI => "add",
            SubI => "sub",
            MulI => "mul",
            DivS => "sdiv",
            DivU => "udiv",
            RemS => "srem",
            RemU => "urem",
            And => "and",
            Or => "or",
            Xor => "xor",
            MulHiU => return self.high_product(s, a, b),
            MinS => "smin",
            MaxS => "smax",
            MinU => "umin",
            MaxU => "umax",
            Shl | ShrS | ShrU => return self.shift(kind, s, a, b),
            AddF | SubF | MulF | DivF | DivRn | RemF | MinF | MaxF | MinNan | MaxNan => return self.binary_float(kind, s, a, b),
        };
        if s.is_float() {
            return Err(self.unsupported(format!("{} on {s}", kind.name())));
        }
        Ok(match kind {
            MinS | MaxS | MinU | MaxU => self.call(ty, &format!("llvm.{integer}.{}", suffix(s)), &[(ty, a), (ty, b)]),
            _ => ins!(self, "{integer} {ty} {a}, {b}"),
        })
    }

    /// The high half of the unsigned product, through twice the width.
    fn high_product(&mut self, s: Scalar, a: Reg, b: Reg) -> Emitted<Reg> {
        if s.is_float() {
            return Err(self.unsupported(format!("{} on {s}", BinaryOp::MulHiU.name())));
        }
        let (ty, wide, width) = (type_name(Elem::Scalar(s)), 2 * s.bits(), s.bits());
        let a = ins!(self, "zext {ty} {a} to i{wide}");
        let b = ins!(self, "zext {ty} {b} to i{wide}");
        let product = ins!(self, "mul i{wide} {a}, {b}");
        let high = ins!(self, "lshr i{wide} {product}, {width}");
        Ok(ins!(self, "trunc i{wide} {high} to {ty}"))
    }

    /// Shifting by the width or more gives 0, or copies of the sign.
    fn shift(&mut self, kind: BinaryOp, s: Scalar, a: Reg, b: Reg) -> Emitted<Reg> {
        let ty = type_name(Elem::Scalar(s));
        let width = s.bits();
        if s.is_float() {
            return Err(self.unsupported(format!("{} on {s}", kind.name())));
        }
        if width == 1 {
            // A shift by anything but 0 empties one bit; an arithmetic one keeps it.
            return Ok(if kind == BinaryOp::ShrS {
                a
            } else {
                let stays = ins!(self, "xor i1 {b}, true");
                ins!(self, "and i1 {a}, {stays}")
            });
        }
        let name = match kind {
            BinaryOp::Shl => "shl",
            BinaryOp::ShrS => "ashr",
            _ => "lshr",
        };
        if let Reg::Int(n) = b
            && (0..i64::from(width)).contains(&n)
        {
            return Ok(ins!(self, "{name} {ty} {a}, {b}"));
        }
        let limit = Reg::Int(i64::from(width) - 1);
        let amount = self.call(ty, &format!("llvm.umin.{}", suffix(s)), &[(ty, b), (ty, limit)]);
        let shifted = ins!(self, "{name} {ty} {a}, {amount}");
        if kind == BinaryOp::ShrS {
            return Ok(shifted);
        }
        let inside = ins!(self, "icmp ule {ty} {b}, {limit}");
        Ok(ins!(self, "select i1 {inside}, {ty} {shifted}, {ty} 0"))
    }

    fn binary_float(&mut self, kind: BinaryOp, s: Scalar, a: Reg, b: Reg) -> Emitted<Reg> {
        use BinaryOp::*;
        let ty = self.float_type(s)?;
        let native = match kind {
            AddF => Some("fadd"),
            SubF => Some("fsub"),
            MulF => Some("fmul"),
            _ => None,
        };
        if let (Some(name), Scalar::F16 | Scalar::F64) = (native, s) {
            return Ok(ins!(self, "{name} {ty} {a}, {b}"));
        }
        if let (MinF | MaxF | MinNan | MaxNan, Scalar::F16) = (kind, s) {
            return Ok(self.extremum(kind, s, a, b));
        }
        self.in_f32(s, &[a, b], |e, args| {
            let (a, b) = (args[0], args[1]);
            let s = if s == Scalar::F64 { s } else { Scalar::F32 };
            let ty = type_name(Elem::Scalar(s));
            Ok(match kind {
                AddF | SubF | MulF => ins!(e, "{} contract float {a}, {b}", native.unwrap_or("fadd")),
                DivF if s == Scalar::F32 => e.asm(Instruction::DivFull, &["float"], &[("float", a), ("float", b)])[0],
                DivF | DivRn => ins!(e, "fdiv {ty} {a}, {b}"),
                RemF => e.remainder(s, a, b),
                _ => e.extremum(kind, s, a, b),
            })
        })
    }

    fn extremum(&mut self, kind: BinaryOp, s: Scalar, a: Reg, b: Reg) -> Reg {
        let ty = type_name(Elem::Scalar(s));
        let name = match kind {
            BinaryOp::MinF => "minnum",
            BinaryOp::MaxF => "maxnum",
            BinaryOp::MinNan if s != Scalar::F64 => "minimum",
            BinaryOp::MaxNan if s != Scalar::F64 => "maximum",
            // There is no f64 instruction that keeps NaN.
            _ => {
                let name = if kind == BinaryOp::MinNan { "minnum" } else { "maxnum" };
                let value = self.call(ty, &format!("llvm.{name}.f64"), &[(ty, a), (ty, b)]);
                let unordered = ins!(self, "fcmp uno {ty} {a}, {b}");
                let nan = Reg::Float(f64::NAN.to_bits());
                return ins!(self, "select i1 {unordered}, {ty} {nan}, {ty} {value}");
            }
        };
        self.call(ty, &format!("llvm.{name}.{}", suffix(s)), &[(ty, a), (ty, b)])
    }

    /// `a - trunc(a / b)·b`, and `a` itself where `b` is infinite. Exact while the quotient is.
    fn remainder(&mut self, s: Scalar, a: Reg, b: Reg) -> Reg {
        let ty = type_name(Elem::Scalar(s));
        let x = suffix(s);
        let quotient = ins!(self, "fdiv {ty} {a}, {b}");
        let whole = self.call(ty, &format!("llvm.trunc.{x}"), &[(ty, quotient)]);
        let negative = ins!(self, "fneg {ty} {whole}");
        let rest = self.call(ty, &format!("llvm.fma.{x}"), &[(ty, negative), (ty, b), (ty, a)]);
        let size = self.call(ty, &format!("llvm.fabs.{x}"), &[(ty, b)]);
        let infinity = if s == Scalar::F64 { Reg::Float(f64::INFINITY.to_bits()) } else { f32_constant(f32::INFINITY) };
        let infinite = ins!(self, "fcmp oeq {ty} {size}, {infinity}");
        ins!(self, "select i1 {infinite}, {ty} {a}, {ty} {rest}")
    }

    fn compare(&mut self, predicate: Predicate, elem: Elem, a: Reg, b: Reg) -> Emitted<Reg> {
        let ty = type_name(elem);
        let (name, float) = comparison(predicate);
        match elem {
            Elem::Scalar(s) if float => {
                let ty = self.float_type(s)?;
                if s == Scalar::BF16 {
                    let (a, b) = (ins!(self, "fpext {ty} {a} to float"), ins!(self, "fpext {ty} {b} to float"));
                    return Ok(ins!(self, "fcmp {name} float {a}, {b}"));
                }
                Ok(ins!(self, "fcmp {name} {ty} {a}, {b}"))
            }
            Elem::Scalar(s) if s.is_float() => Err(self.unsupported(format!("an integer comparison of {s}"))),
            Elem::Ptr(_) if float => Err(self.unsupported("a float comparison of pointers")),
            Elem::Scalar(_) | Elem::Ptr(_) => Ok(ins!(self, "icmp {name} {ty} {a}, {b}")),
        }
    }

    /// Zero of any element.
    pub(super) fn zero(&self, elem: Elem) -> Reg {
        match elem {
            Elem::Ptr(_) => Reg::Null,
            Elem::Scalar(Scalar::I1) => Reg::Bool(false),
            Elem::Scalar(s) if s.is_int() => Reg::Int(0),
            Elem::Scalar(s) => float_constant(s, 0.0).unwrap_or(Reg::Int(0)),
        }
    }
}

/// What LLVM calls it, and whether it is of floats.
pub(super) fn comparison(predicate: Predicate) -> (&'static str, bool) {
    use Predicate::*;
    match predicate {
        Eq => ("eq", false),
        Ne => ("ne", false),
        LtS => ("slt", false),
        LeS => ("sle", false),
        GtS => ("sgt", false),
        GeS => ("sge", false),
        LtU => ("ult", false),
        LeU => ("ule", false),
        GtU => ("ugt", false),
        GeU => ("uge", false),
        EqF => ("oeq", true),
        NeF => ("une", true),
        LtF => ("olt", true),
        LeF => ("ole", true),
        GtF => ("ogt", true),
        GeF => ("oge", true),
    }
}
