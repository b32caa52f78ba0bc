//! Functions that are shorter while all arguments of a warp are small, as logits divided by their cap are: a warp asks once for all elements of a tile.
//!
//! **Invariant:** both programs give the same bits where the shorter one runs; which of them ran can be seen in the time alone.

use tritium_tile::{Elem, OpId, OpKind, Scalar, math};

use super::{
    Emitted, Emitter, ins, line,
    value::{Reg, f32_constant, type_name},
};
use crate::ptx_strings::Instruction;

/// Elements of a thread that one question is asked for: of fewer it costs more than it saves, of more the results of the shorter program would wait
/// in too many registers.
const TOGETHER: usize = 4;

impl Emitter<'_> {
    /// The elements of an operation that has a shorter program for small arguments; `None` if it has none in this type, or too few elements.
    pub(super) fn small_apart(&mut self, op: OpId, args: &[Reg]) -> Emitted<Option<Vec<Reg>>> {
        let operation = self.function.op(op);
        let Some(small) = math::small(&operation.kind).filter(|_| args.len() >= TOGETHER) else { return Ok(None) };
        let Some(s @ (Scalar::F16 | Scalar::BF16 | Scalar::F32)) = self.ty(operation.operands[0]).elem().scalar() else {
            return Ok(None);
        };
        let mut results = Vec::with_capacity(args.len());
        for args in args.chunks(TOGETHER) {
            let mut largest: Option<Reg> = None;
            for &x in args {
                let x = if s == Scalar::F32 { x } else { ins!(self, "fpext {} {x} to float", self.float_type(s)?) };
                let size = self.call("float", "llvm.fabs.f32", &[("float", x)]);
                largest = Some(match largest {
                    Some(largest) => self.call("float", "llvm.maxnum.f32", &[("float", largest), ("float", size)]),
                    None => size,
                });
            }
            let Some(largest) = largest else { continue };
            let mine = ins!(self, "fcmp olt float {largest}, {}", f32_constant(small.below));
            let all = self.asm(Instruction::VoteAll, &["i1"], &[("i1", mine)])[0];
            // The longer program contains the shorter one, which is computed once.
            let program = |e: &mut Self, x: &[Reg]| Ok(e.program(small.program, x)[0]);
            let shorter = args.iter().map(|&x| self.in_f32(s, &[x], program)).collect::<Emitted<Vec<_>>>()?;
            let (before, long, after) = (self.label, self.new_label(), self.new_label());
            line!(self, "br i1 {all}, label %b{after}, label %b{long}");
            self.start_block(long);
            let longer = args.iter().map(|&x| match &self.function.op(op).kind {
                OpKind::Unary(kind) => self.unary(*kind, s, x),
                OpKind::Libdevice(symbol) => match math::library(*symbol) {
                    Some(program) => Ok(self.program(program, &[x])[0]),
                    None => self.rounded(*symbol, &[x]),
                },
                _ => Err(self.unsupported("not a function of one number")),
            });
            let longer = longer.collect::<Emitted<Vec<_>>>()?;
            line!(self, "br label %b{after}");
            let long = self.label;
            self.start_block(after);
            let ty = type_name(Elem::Scalar(s));
            for (short, other) in shorter.iter().zip(&longer) {
                results.push(ins!(self, "phi {ty} [ {short}, %b{before} ], [ {other}, %b{long} ]"));
            }
        }
        Ok(Some(results))
    }
}
