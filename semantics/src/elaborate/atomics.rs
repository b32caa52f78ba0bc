//! Compare-and-swap, and the largest and least of floats in memory.
//!
//! **Invariant:** a float that is not negative orders as its bits do as a signed number, a negative one against its bits as an unsigned
//! number; so an extremum of floats is one of two integer atomics, each masked to its half.

use tritium_tile::{
    OpKind,
    ops::{AtomicOp, BinaryOp as TileOp, CastOp, MemScope, MemSem},
};

use super::{
    builtin_calls::Arguments,
    evaluator::{Eval, Evaluator},
    value::{Tile, Value},
};
use crate::{
    body::{CompareOp, ExprId},
    builtins::Builtin,
    constant::Const,
    diagnostics::Code,
    dtype::DType,
    types::{Element, same_shape},
};

impl<'a> Evaluator<'a> {
    pub(super) fn atomic_order(&mut self, arguments: &Arguments, at: ExprId) -> Eval<(MemSem, MemScope)> {
        let sem = self.words(
            arguments,
            "sem",
            &[
                ("relaxed", MemSem::Relaxed),
                ("acquire", MemSem::Acquire),
                ("release", MemSem::Release),
                ("acq_rel", MemSem::AcqRel),
            ],
            MemSem::AcqRel,
            at,
        )?;
        let scopes = [("gpu", MemScope::Gpu), ("cta", MemScope::Cta), ("sys", MemScope::Sys)];
        let scope = self.words(arguments, "scope", &scopes, MemScope::Gpu, at)?;
        Ok((sem, scope))
    }

    /// Pointer, value and mask of one shape.
    pub(super) fn float_extremum(
        &mut self,
        maximum: bool,
        (pointer, value, mask): (&Tile, &Tile, Option<&Tile>),
        (sem, scope): (MemSem, MemScope),
        at: ExprId,
    ) -> Eval<Value> {
        let word = if value.ty.elem.bits() == 64 { DType::I64 } else { DType::I32 };
        let shape = value.ty.shape.clone();
        let elem = value.ty.elem;
        let pointers = pointer.ty.with_elem(Element::Ptr { pointee: word, is_const: false });
        let pointer = self.emit_like(OpKind::Cast(CastOp::PtrCast), &[pointer], pointers);
        let bits = self.bitcast(value.clone(), word.into(), at)?;
        let zero = self.constant_tile(&Const::Int(0), word, shape.clone());
        let truth = self.constant_tile(&Const::Int(1), DType::I1, shape);
        let negative = self.compare_tiles(CompareOp::Lt, bits.clone(), zero, word);
        let ty = negative.ty.clone();
        let positive = self.emit_like(OpKind::Binary(TileOp::Xor), &[&negative, &truth], ty.clone());
        let ops = if maximum { [AtomicOp::MaxS, AtomicOp::MinU] } else { [AtomicOp::MinS, AtomicOp::MaxU] };
        let mut old = Vec::new();
        for (op, half) in ops.into_iter().zip([&positive, &negative]) {
            let active = match mask {
                Some(mask) => self.emit_like(OpKind::Binary(TileOp::And), &[mask, half], ty.clone()),
                None => half.clone(),
            };
            let kind = OpKind::AtomicRmw { op, sem, scope, vector: 0 };
            old.push(self.emit_like(kind, &[&pointer, &bits, &active], bits.ty.clone()));
        }
        let mut result = self.emit_like(OpKind::Select, &[&positive, &old[0], &old[1]], bits.ty);
        result.undefined = None;
        self.bitcast(result, elem, at).map(Value::Tile)
    }

    pub(super) fn call_atomic_cas(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let name = Builtin::AtomicCas.spelling();
        let pointer_expr = arguments.expr("pointer").unwrap_or(at);
        let (sem, scope) = self.atomic_order(arguments, at)?;
        let (pointer, pointee, is_const) = self.pointer_argument(arguments.value("pointer"), pointer_expr, name)?;
        if is_const || !matches!(pointee.bits(), 16 | 32 | 64) {
            let place = self.place(pointer_expr);
            let what =
                if is_const { "constant memory".to_owned() } else { format!("{pointee}, which has {} bits", pointee.bits()) };
            let message =
                format!("{name} works on 16, 32 and 64 bits in memory, and `{}` points to {what}", self.text(pointer_expr));
            return Err(self.problem(Code::DTY013, place, message));
        }
        let mut operands = vec![pointer.clone()];
        for parameter in ["cmp", "val"] {
            let expr = arguments.expr(parameter).unwrap_or(at);
            let tile = self.as_tile(arguments.value(parameter), expr)?;
            let place = self.place(expr);
            if tile.ty.elem.tile() != Element::from(pointee).tile() {
                let message = format!(
                    "`{}` is {} and the memory holds {pointee}: {name} converts nothing; cast it with `.to({})`",
                    self.text(expr),
                    tile.ty,
                    crate::builtins::dtype_spelling(pointee)
                );
                return Err(self.problem(Code::DTY017, place, message));
            }
            if !same_shape(&tile.ty.shape, &pointer.ty.shape) {
                let message = format!(
                    "`{}` is {} and the pointer is {}: {name} does not broadcast, so both need one shape (`tl.full`)",
                    self.text(expr),
                    tile.ty,
                    pointer.ty
                );
                return Err(self.problem(Code::SHP001, place, message));
            }
            operands.push(tile);
        }
        let ty = operands[2].ty.clone();
        let operands: Vec<&Tile> = operands.iter().collect();
        let mut result = self.emit_like(OpKind::AtomicCas { sem, scope }, &operands, ty);
        result.undefined = None;
        Ok(Value::Tile(result))
    }
}
