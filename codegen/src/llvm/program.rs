//! Programs of the mathematical library as LLVM text.
//!
//! A short program is written where it is used, a long one, or one that is rarely needed, as a function of its own.
//! **Invariant:** what is written is what the program says, operation by operation, with no flag that lets LLVM fuse or reorder, so the
//! kernel computes the bits that the interpreter computes.

use tritium_tile::{
    Elem, Scalar,
    math::{
        Program,
        tape::{Approx, Compare, Convert, FloatOp, IntOp, Node, Op},
    },
};

use super::{
    Emitter, ins, line,
    value::{Reg, f32_constant, int_constant, suffix, type_name},
};
use crate::ptx_strings::Instruction;

/// Operations of a program that is written where it is used.
const INLINE: usize = 140;

fn name_of(ty: Scalar) -> &'static str {
    type_name(Elem::Scalar(ty))
}

/// What a function that returns the results of a program returns.
fn result_type(program: &Program) -> String {
    let types: Vec<&str> = program.result_types().into_iter().map(name_of).collect();
    if types.len() == 1 { types[0].to_owned() } else { format!("{{{}}}", types.join(", ")) }
}

impl Emitter<'_> {
    /// The results of a program on these arguments.
    pub(super) fn program(&mut self, program: &'static Program, args: &[Reg]) -> Vec<Reg> {
        if program.nodes.len() > INLINE { self.call_program(program, args) } else { self.write_program(program, args) }
    }

    fn call_program(&mut self, program: &'static Program, args: &[Reg]) -> Vec<Reg> {
        self.define_program(program);
        let ty = result_type(program);
        let args: Vec<String> = program.params.iter().zip(args).map(|(&p, reg)| format!("{} {reg}", name_of(p))).collect();
        let value = ins!(self, "call {ty} @__tritium_{}({}) #3", program.name, args.join(", "));
        match program.results.len() {
            1 => vec![value],
            n => (0..n).map(|i| ins!(self, "extractvalue {ty} {value}, {i}")).collect(),
        }
    }

    fn define_program(&mut self, program: &'static Program) {
        if !self.defined.insert(&program.name) {
            return;
        }
        let (body, outer) = (std::mem::take(&mut self.body), self.label);
        let label = self.new_label();
        self.start_block(label);
        let args: Vec<Reg> = (0..program.params.len() as u32).map(Reg::Arg).collect();
        let results = self.write_program(program, &args);
        let (ty, types) = (result_type(program), program.result_types());
        let value = match results[..] {
            [one] => one,
            _ => {
                let mut tuple = None;
                for (i, (reg, part)) in results.iter().zip(types).enumerate() {
                    let start = tuple.map_or_else(|| "poison".to_owned(), |reg: Reg| reg.to_string());
                    tuple = Some(ins!(self, "insertvalue {ty} {start}, {} {reg}, {i}", name_of(part)));
                }
                tuple.unwrap_or(Reg::Int(0))
            }
        };
        line!(self, "ret {ty} {value}");
        let text = std::mem::replace(&mut self.body, body);
        self.label = outer;
        let params: Vec<String> =
            program.params.iter().enumerate().map(|(i, &p)| format!("{} {}", name_of(p), Reg::Arg(i as u32))).collect();
        self.functions.push(format!("define internal {ty} @__tritium_{}({}) #3 {{\n{text}}}\n", program.name, params.join(", ")));
    }

    fn write_program(&mut self, program: &'static Program, args: &[Reg]) -> Vec<Reg> {
        let mut regs: Vec<Reg> = Vec::with_capacity(program.nodes.len());
        let mut calls: Vec<(u32, Vec<Reg>)> = Vec::new();
        for (id, node) in program.nodes.iter().enumerate() {
            let operands: Vec<Reg> = node.args.iter().map(|&a| regs[a as usize]).collect();
            let types: Vec<Scalar> = node.args.iter().map(|&a| program.nodes[a as usize].ty).collect();
            let reg = match node.op {
                Op::Param(index) => args[index as usize],
                Op::Const(bits) => constant(node.ty, bits),
                Op::Call(called) => self.several(id, &mut calls, |e| e.call_program(called, &operands)),
                Op::CallIf(called) => self.several(id, &mut calls, |e| e.call_if(called, &operands)),
                Op::Loop(body) => self.several(id, &mut calls, |e| e.repeat(body, &operands)),
                Op::Part(index) => {
                    let found = calls.iter().find(|(call, _)| *call == node.args[0]);
                    found.map_or(operands[0], |(_, results)| results[index as usize])
                }
                _ => self.operation(node, &operands, &types),
            };
            regs.push(reg);
        }
        program.results.iter().map(|&id| regs[id as usize]).collect()
    }

    /// Writes what has several results and keeps them; the first.
    fn several(&mut self, id: usize, calls: &mut Vec<(u32, Vec<Reg>)>, write: impl FnOnce(&mut Self) -> Vec<Reg>) -> Reg {
        let results = write(self);
        let first = results[0];
        calls.push((id as u32, results));
        first
    }

    /// A branch around the call: nearly always nothing needs it.
    fn call_if(&mut self, program: &'static Program, operands: &[Reg]) -> Vec<Reg> {
        let (args, otherwise) = operands[1..].split_at(program.params.len());
        let (before, inside, after) = (self.label, self.new_label(), self.new_label());
        line!(self, "br i1 {}, label %b{inside}, label %b{after}", operands[0]);
        self.start_block(inside);
        let results = self.call_program(program, args);
        let end = self.label;
        line!(self, "br label %b{after}");
        self.start_block(after);
        let types = program.result_types();
        let each = results.iter().zip(otherwise).zip(types);
        each.map(|((reg, other), ty)| ins!(self, "phi {} [ {reg}, %b{end} ], [ {other}, %b{before} ]", name_of(ty))).collect()
    }

    fn repeat(&mut self, program: &'static Program, start: &[Reg]) -> Vec<Reg> {
        let (before, head, after) = (self.label, self.new_label(), self.new_label());
        line!(self, "br label %b{head}");
        let state: Vec<Reg> = start.iter().map(|_| self.fresh()).collect();
        // The body first, aside: the phis name its results.
        let outer = std::mem::take(&mut self.body);
        self.label = head;
        let mut results = self.write_program(program, &state);
        let again = results.pop().unwrap_or(Reg::Bool(false));
        line!(self, "br i1 {again}, label %b{head}, label %b{after}");
        let end = self.label;
        let body = std::mem::replace(&mut self.body, outer);
        self.start_block(head);
        for (((reg, first), next), &ty) in state.iter().zip(start).zip(&results).zip(&program.params) {
            line!(self, "{reg} = phi {} [ {first}, %b{before} ], [ {next}, %b{end} ]", name_of(ty));
        }
        self.body.push_str(&body);
        self.start_block(after);
        results
    }

    /// An operation of one result.
    fn operation(&mut self, node: &Node, args: &[Reg], types: &[Scalar]) -> Reg {
        let ty = name_of(node.ty);
        let intrinsic = |e: &mut Self, name: &str| {
            let args: Vec<(&str, Reg)> = args.iter().map(|&a| (ty, a)).collect();
            e.call(ty, &format!("llvm.{name}.{}", suffix(node.ty)), &args)
        };
        match node.op {
            Op::Float(op) => match op {
                FloatOp::Add => ins!(self, "fadd {ty} {}, {}", args[0], args[1]),
                FloatOp::Sub => ins!(self, "fsub {ty} {}, {}", args[0], args[1]),
                FloatOp::Mul => ins!(self, "fmul {ty} {}, {}", args[0], args[1]),
                FloatOp::Div => ins!(self, "fdiv {ty} {}, {}", args[0], args[1]),
                FloatOp::Neg => ins!(self, "fneg {ty} {}", args[0]),
                FloatOp::Fma => intrinsic(self, "fma"),
                FloatOp::Sqrt => intrinsic(self, "sqrt"),
                FloatOp::Abs => intrinsic(self, "fabs"),
                FloatOp::CopySign => intrinsic(self, "copysign"),
                FloatOp::Rint => intrinsic(self, "rint"),
                FloatOp::Trunc => intrinsic(self, "trunc"),
                FloatOp::Floor => intrinsic(self, "floor"),
                FloatOp::Ceil => intrinsic(self, "ceil"),
            },
            Op::Approx(op) => {
                let instruction = match op {
                    Approx::Ex2 => Instruction::Ex2Approx,
                    Approx::Ex2Ftz => Instruction::Ex2ApproxFtz,
                    Approx::Lg2 => Instruction::Lg2Approx,
                    Approx::Sin => Instruction::SinApprox,
                    Approx::Cos => Instruction::CosApprox,
                    Approx::Sqrt => Instruction::SqrtApprox,
                    Approx::Rsqrt => Instruction::RsqrtApprox,
                    Approx::RcpFtz => Instruction::RcpApproxFtz,
                    Approx::DivFull => Instruction::DivFull,
                    Approx::Div => Instruction::DivApprox,
                };
                let args: Vec<(&str, Reg)> = args.iter().map(|&a| ("float", a)).collect();
                self.asm(instruction, &["float"], &args)[0]
            }
            Op::Int(op) => self.int_operation(op, node.ty, args),
            Op::Compare(op) => {
                let name = match op {
                    Compare::Eq => "fcmp oeq",
                    Compare::Lt => "fcmp olt",
                    Compare::Le => "fcmp ole",
                    Compare::Uno => "fcmp uno",
                    Compare::IntEq => "icmp eq",
                    Compare::LtS => "icmp slt",
                    Compare::LtU => "icmp ult",
                };
                ins!(self, "{name} {} {}, {}", name_of(types[0]), args[0], args[1])
            }
            Op::Select => ins!(self, "select i1 {}, {ty} {}, {ty} {}", args[0], args[1], args[2]),
            Op::Convert(op) => {
                let from = name_of(types[0]);
                let name = match op {
                    Convert::Float if types[0] == Scalar::F64 => "fptrunc",
                    Convert::Float => "fpext",
                    Convert::IntToFloat => "sitofp",
                    Convert::UIntToFloat => "uitofp",
                    Convert::FloatToInt => {
                        return self.call(
                            ty,
                            &format!("llvm.fptosi.sat.{}.{}", suffix(node.ty), suffix(types[0])),
                            &[(from, args[0])],
                        );
                    }
                    Convert::Bits if types[0] == node.ty => return args[0],
                    Convert::Bits => "bitcast",
                    Convert::ExtS => "sext",
                    Convert::ExtU => "zext",
                    Convert::Trunc => "trunc",
                };
                ins!(self, "{name} {from} {} to {ty}", args[0])
            }
            Op::Lookup(table) => self.lookup(table, node.ty, args[0]),
            // Written by the caller.
            Op::Param(_) | Op::Const(_) | Op::Call(_) | Op::CallIf(_) | Op::Loop(_) | Op::Part(_) => args[0],
        }
    }

    fn int_operation(&mut self, op: IntOp, s: Scalar, args: &[Reg]) -> Reg {
        let ty = name_of(s);
        let a = args[0];
        let b = args.last().copied().unwrap_or(a);
        match op {
            IntOp::Add => ins!(self, "add {ty} {a}, {b}"),
            IntOp::Sub => ins!(self, "sub {ty} {a}, {b}"),
            IntOp::Mul => ins!(self, "mul {ty} {a}, {b}"),
            IntOp::And => ins!(self, "and {ty} {a}, {b}"),
            IntOp::Or => ins!(self, "or {ty} {a}, {b}"),
            IntOp::Xor => ins!(self, "xor {ty} {a}, {b}"),
            IntOp::MulHiS | IntOp::MulHiU => {
                let extend = if op == IntOp::MulHiS { "sext" } else { "zext" };
                let (width, wide) = (s.bits(), 2 * s.bits());
                let a = ins!(self, "{extend} {ty} {a} to i{wide}");
                let b = ins!(self, "{extend} {ty} {b} to i{wide}");
                let product = ins!(self, "mul i{wide} {a}, {b}");
                let high = ins!(self, "lshr i{wide} {product}, {width}");
                ins!(self, "trunc i{wide} {high} to {ty}")
            }
            IntOp::RemU => {
                let zero = ins!(self, "icmp eq {ty} {b}, 0");
                let divisor = ins!(self, "select i1 {zero}, {ty} 1, {ty} {b}");
                let rest = ins!(self, "urem {ty} {a}, {divisor}");
                ins!(self, "select i1 {zero}, {ty} {a}, {ty} {rest}")
            }
            IntOp::Shl | IntOp::ShrU | IntOp::ShrS => {
                let name = match op {
                    IntOp::Shl => "shl",
                    IntOp::ShrU => "lshr",
                    _ => "ashr",
                };
                let last = i64::from(s.bits()) - 1;
                let amount = match b {
                    Reg::Int(n) => Reg::Int(n & last),
                    _ => ins!(self, "and {ty} {b}, {last}"),
                };
                ins!(self, "{name} {ty} {a}, {amount}")
            }
            IntOp::Clz => self.call(ty, &format!("llvm.ctlz.{}", suffix(s)), &[(ty, a), ("i1", Reg::Bool(false))]),
            IntOp::Popc => self.call(ty, &format!("llvm.ctpop.{}", suffix(s)), &[(ty, a)]),
            IntOp::Brev => self.call(ty, &format!("llvm.bitreverse.{}", suffix(s)), &[(ty, a)]),
        }
    }

    /// Tables are constants in global memory: lanes read different entries.
    fn lookup(&mut self, table: &'static [u64], s: Scalar, index: Reg) -> Reg {
        let known = self.tables.iter().position(|t| std::ptr::eq(*t, table));
        let number = known.unwrap_or_else(|| {
            self.tables.push(table);
            let number = self.tables.len() - 1;
            let words: Vec<String> = table.iter().map(|&word| format!("i64 {}", word as i64)).collect();
            let n = table.len();
            self.globals.push(format!(
                "@__tritium_table_{number} = internal addrspace(1) constant [{n} x i64] [{}], align 8",
                words.join(", ")
            ));
            number
        });
        let last = Reg::Int(table.len() as i64 - 1);
        let index = self.call("i32", "llvm.umin.i32", &[("i32", index), ("i32", last)]);
        let wide = ins!(self, "zext i32 {index} to i64");
        let place = ins!(self, "getelementptr i64, ptr addrspace(1) @__tritium_table_{number}, i64 {wide}");
        let word = ins!(self, "load i64, ptr addrspace(1) {place}, align 8");
        match s {
            Scalar::F64 => ins!(self, "bitcast i64 {word} to double"),
            Scalar::F32 => {
                let low = ins!(self, "trunc i64 {word} to i32");
                ins!(self, "bitcast i32 {low} to float")
            }
            Scalar::I32 => ins!(self, "trunc i64 {word} to i32"),
            _ => word,
        }
    }
}

fn constant(ty: Scalar, bits: u64) -> Reg {
    match ty {
        Scalar::F32 => f32_constant(f32::from_bits(bits as u32)),
        Scalar::F64 => Reg::Float(bits),
        _ => int_constant(ty, bits as i64),
    }
}
