//! Casts: `x.to(T)` and every implicit conversion.
//!
//! **Invariant:** f16 and bf16 go to anything but f32 through f32, as the reference does, so that results agree bit for bit.

use tritium_tile::{
    OpKind,
    ops::{CastOp, Constant},
};

use super::{
    evaluator::{Eval, Evaluator},
    operators::{number_cast, relabel},
    value::Tile,
};
use crate::{
    body::{CompareOp, ExprId},
    constant::Const,
    diagnostics::Code,
    dtype::DType,
    types::Element,
};

impl<'a> Evaluator<'a> {
    pub(super) fn cast(&mut self, tile: Tile, to: Element, at: ExprId) -> Eval<Tile> {
        let from = tile.ty.elem;
        if from == to {
            return Ok(tile);
        }
        let ty = tile.ty.with_elem(to);
        match (from, to) {
            (Element::Scalar(a), Element::Scalar(b)) => self.cast_number(tile, a, b, at),
            (Element::Ptr { pointee: a, .. }, Element::Ptr { pointee: b, .. }) => {
                if a.scalar() == b.scalar() {
                    return Ok(relabel(tile, to));
                }
                Ok(self.emit_like(OpKind::Cast(CastOp::PtrCast), &[&tile], ty))
            }
            (Element::Ptr { .. }, Element::Scalar(DType::I64 | DType::U64)) => {
                Ok(self.emit_like(OpKind::Cast(CastOp::PtrToInt), &[&tile], ty))
            }
            (Element::Ptr { .. }, Element::Scalar(DType::I1)) => {
                let address = self.cast(tile, DType::I64.into(), at)?;
                self.cast(address, to, at)
            }
            (Element::Scalar(DType::I64 | DType::U64), Element::Ptr { .. }) => {
                Ok(self.emit_like(OpKind::Cast(CastOp::IntToPtr), &[&tile], ty))
            }
            _ => {
                let place = self.place(at);
                let remedy =
                    if from.is_ptr() { "a pointer becomes an integer through `tl.int64`" } else { "only i64 becomes a pointer" };
                let message = format!("`{}` is {} and cannot become {to}: {remedy}", self.text(at), tile.ty);
                Err(self.problem(Code::DTY016, place, message))
            }
        }
    }

    fn cast_number(&mut self, tile: Tile, from: DType, to: DType, at: ExprId) -> Eval<Tile> {
        if to == DType::I1 {
            let zero = self.constant_tile(&Const::Int(0), from, tile.ty.shape.clone());
            return Ok(self.compare_tiles(CompareOp::Ne, tile, zero, from));
        }
        let fp8 = |d: DType| d.is_float() && d.bits() == 8;
        if (fp8(from) && to.is_int()) || (from.is_int() && fp8(to)) {
            let place = self.place(at);
            let message = format!("`{}` is {from} and cannot become {to} directly: go through `tl.float32`", self.text(at));
            return Err(self.problem(Code::DTY016, place, message));
        }
        if matches!(from, DType::F16 | DType::BF16) && to != DType::F32 && !fp8(to) {
            let wide = self.cast_number(tile, from, DType::F32, at)?;
            return self.cast_number(wide, DType::F32, to, at);
        }
        if let Some(constant) = self.constant_of(&tile, from)
            && !fp8(from)
            && !fp8(to)
            && (from.is_int() || to.is_float())
        {
            return Ok(Tile { undefined: tile.undefined, ..self.constant_tile(&constant, to, tile.ty.shape) });
        }
        let Some(cast) = number_cast(from, to) else { return Ok(relabel(tile, to.into())) };
        let ty = tile.ty.with_elem(to);
        Ok(self.emit_like(OpKind::Cast(cast), &[&tile], ty))
    }

    /// The number a tile was made of, as its type rounds it.
    fn constant_of(&self, tile: &Tile, dtype: DType) -> Option<Const> {
        let op = self.out.def_op(tile.id)?;
        let OpKind::Constant(constant) = self.out.op(op).kind else { return None };
        match (constant, dtype) {
            (Constant::Float(value), DType::F32) => Some(Const::float(f64::from(value as f32))),
            (Constant::Float(value), DType::F64) => Some(Const::float(value)),
            (Constant::Int(value), _) if dtype.is_int() => {
                let (low, high) = super::promote::int_range(dtype);
                let span = high - low + 1;
                Some(Const::Int((i128::from(value) - low).rem_euclid(span) + low))
            }
            _ => None,
        }
    }

    /// Toward zero instead of to nearest; narrowing only.
    pub(super) fn cast_toward_zero(&mut self, tile: Tile, to: DType) -> Tile {
        let ty = tile.ty.with_elem(to);
        self.emit_like(OpKind::Cast(CastOp::FloatRtz), &[&tile], ty)
    }

    pub(super) fn bitcast(&mut self, tile: Tile, to: Element, at: ExprId) -> Eval<Tile> {
        let from = tile.ty.elem;
        if from.is_ptr() || to.is_ptr() {
            return self.cast(tile, to, at);
        }
        if from.bits() != to.bits() {
            let place = self.place(at);
            let message = format!(
                "`{}` is {from} ({} bits) and its bits cannot be read as {to} ({} bits)",
                self.text(at),
                from.bits(),
                to.bits()
            );
            return Err(self.problem(Code::DTY016, place, message));
        }
        if from.tile() == to.tile() {
            return Ok(relabel(tile, to));
        }
        let ty = tile.ty.with_elem(to);
        Ok(self.emit_like(OpKind::Cast(CastOp::Bitcast), &[&tile], ty))
    }
}
