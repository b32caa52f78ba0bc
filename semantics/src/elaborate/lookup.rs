//! Places chosen by elements: `gather` and `histogram`.
//!
//! **Invariant:** the index of a gather has the source's extents everywhere but along the axis.

use tritium_tile::OpKind;

use super::{
    builtin_calls::Arguments,
    evaluator::{Eval, Evaluator, Poisoned, ProblemExt, problem},
    undefined::Neutral,
    value::{Tile, Undefined, Value},
};
use crate::{
    body::ExprId,
    diagnostics::Code,
    dtype::DType,
    types::{TileType, shape_text},
};

impl<'a> Evaluator<'a> {
    pub(super) fn call_gather(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let (source_expr, index_expr) = (arguments.expr("src").unwrap_or(at), arguments.expr("index").unwrap_or(at));
        let source = self.as_tile(arguments.value("src"), source_expr)?;
        let index = self.as_tile(arguments.value("index"), index_expr)?;
        let (source_text, index_text) = (self.text(source_expr), self.text(index_expr));
        if !index.ty.elem.scalar().is_some_and(DType::is_int) {
            let place = self.place(index_expr);
            let message = format!("an index is an integer, and `{index_text}` is {}: cast it with `.to(tl.int32)`", index.ty);
            return Err(self.problem(Code::DTY017, place, message));
        }
        let rank = source.ty.rank();
        if index.ty.rank() != rank {
            let place = self.place(at);
            let message = format!(
                "`{source_text}` ({}) and its index `{index_text}` ({}) must have as many axes: tl.gather takes one index for each element of its result",
                source.ty, index.ty
            );
            return Err(self.problem(Code::SHP005, place, message));
        }
        let axis = self.axis(
            arguments.value("axis"),
            arguments.expr("axis").unwrap_or(at),
            rank,
            &format!("`{source_text}` ({})", source.ty),
        )?;
        let differs = (0..rank).find(|&d| d != axis && source.ty.shape[d].size != index.ty.shape[d].size);
        if let Some(d) = differs {
            let place = self.place(at);
            let message = format!(
                "`{source_text}` has shape {} and its index `{index_text}` has shape {}: they may differ along axis {axis} only, and axis {d} is {} and {}",
                shape_text(&source.ty.shape),
                shape_text(&index.ty.shape),
                source.ty.shape[d].size,
                index.ty.shape[d].size
            );
            self.report(
                problem(Code::SHP001, place, message)
                    .related(source.ty.shape[d].origin, "the extent of the source comes from here")
                    .related(index.ty.shape[d].origin, "the extent of the index comes from here"),
            );
            return Err(Poisoned);
        }
        let ty = TileType { elem: source.ty.elem, shape: index.ty.shape.clone() };
        // An element is taken from its own line along `axis`: only what varies along that goes wherever the index sends it.
        let sent = |axes: u8| if axis < 8 && axes & (1 << axis) != 0 { axes | index.varies } else { axes };
        let undefined = source.undefined.map(|u| Undefined { axes: sent(u.axes), ..u }).or(index.undefined);
        let varies = source.varies | index.varies;
        let id = self.emit_value(OpKind::Gather { axis: axis as u8 }, &[source.id, index.id], &ty);
        Ok(Value::Tile(Tile { id, ty, varies, undefined }))
    }

    pub(super) fn call_histogram(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let expr = arguments.expr("input").unwrap_or(at);
        let input = self.as_tile(arguments.value("input"), expr)?;
        let text = self.text(expr);
        let place = self.place(expr);
        if !input.ty.elem.scalar().is_some_and(DType::is_int) {
            let message = format!("tl.histogram counts integers, and `{text}` is {}", input.ty);
            return Err(self.problem(Code::DTY017, place, message));
        }
        if input.ty.rank() != 1 {
            let message = format!("tl.histogram counts a vector, and `{text}` is {}: `tl.ravel` flattens it", input.ty);
            return Err(self.problem(Code::SHP006, place, message));
        }
        let bins_expr = arguments.expr("num_bins").unwrap_or(at);
        let shape = self.shape_argument(&[(arguments.value("num_bins").clone(), bins_expr)])?;
        let mask = match self.mask_argument(arguments, at)? {
            Some(mask) => {
                let (_, mask) =
                    self.broadcast_pair((expr, input.clone()), (arguments.expr("mask").unwrap_or(at), mask), "mask", at)?;
                Some(mask)
            }
            None => None,
        };
        if mask.is_none() {
            self.check_defined(&input, Some(0), "tl.histogram", Neutral::only("0"), at);
        }
        let mut operands = vec![input.id];
        operands.extend(mask.iter().map(|m| m.id));
        let ty = TileType { elem: DType::I32.into(), shape };
        let id = self.emit_value(OpKind::Histogram, &operands, &ty);
        Ok(Value::Tile(Tile { id, ty, varies: 1, undefined: None }))
    }
}
