//! Block pointers: a window on a matrix in memory that knows the matrix's shape and strides.
//!
//! Nothing of them is left in the tile IR: a load or a store through one computes a tile of pointers and, along the checked axes, a mask.
//! **Invariant:** the parts are the base, then extents and strides in i64, then offsets in i32, each a scalar.

use tritium_tile::{
    OpKind,
    ops::{BinaryOp as TileOp, Constant, LoadAttrs, StoreAttrs},
};

use super::{
    builtin_calls::Arguments,
    evaluator::{Eval, Evaluator, Poisoned, ProblemExt, problem},
    value::{BlockPointer, Tile, Value},
};
use crate::{
    body::{CompareOp, ExprId},
    constant::Const,
    diagnostics::Code,
    dtype::DType,
    types::{Dim, Dims, Element, TileType, same_shape},
};

/// A tensor in memory: extents and strides are i64 scalars, one for each axis.
pub(super) struct Tensor {
    pub base: Tile,
    pub extents: Vec<Tile>,
    pub strides: Vec<Tile>,
}

impl<'a> Evaluator<'a> {
    /// The numbers of a tuple as scalars of one width.
    fn scalars(&mut self, arguments: &Arguments, name: &str, dtype: DType, at: ExprId) -> Eval<Vec<Tile>> {
        let expr = arguments.expr(name).unwrap_or(at);
        let value = arguments.value(name);
        if value.has_unknown() {
            return Err(Poisoned);
        }
        let place = self.place(expr);
        let Some(items) = value.items() else {
            return Err(self.problem(
                Code::LNG011,
                place,
                format!("`{name}` is a tuple of integers, and this is {}", value.ty()),
            ));
        };
        let mut tiles = Vec::new();
        for item in items {
            let tile = self.as_tile(&item, expr)?;
            let width = tile.ty.elem.scalar().filter(|d| d.is_int()).map(DType::bits);
            if !tile.ty.is_scalar() || width.is_none() {
                return Err(self.problem(
                    Code::LNG011,
                    place,
                    format!("`{name}` holds {}, and integer scalars are needed", tile.ty),
                ));
            }
            if width.is_some_and(|w| w > dtype.bits()) && item.to_const().is_none() && !self.rules.block_pointer_aggregates {
                let message =
                    format!("`{name}` of a block pointer are 32-bit, and this holds {}: cast it with `.to(tl.int32)`", tile.ty);
                return Err(self.problem(Code::DTY017, place, message));
            }
            tiles.push(self.cast(tile, dtype.into(), expr)?);
        }
        Ok(tiles)
    }

    pub(super) fn call_make_block_ptr(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let place = self.place(at);
        let base_expr = arguments.expr("base").unwrap_or(at);
        let base = self.as_tile(arguments.value("base"), base_expr);
        let extents = self.scalars(arguments, "shape", DType::I64, at);
        let strides = self.scalars(arguments, "strides", DType::I64, at);
        let offsets = self.scalars(arguments, "offsets", DType::I32, at);
        let block = self.shape_argument(&[(arguments.value("block_shape").clone(), arguments.expr("block_shape").unwrap_or(at))]);
        let (base, extents, strides, offsets, block) = (base?, extents?, strides?, offsets?, block?);
        let Element::Ptr { pointee, .. } = base.ty.elem else {
            let message = format!("a block pointer starts from a pointer, and `{}` is {}", self.text(base_expr), base.ty);
            return Err(self.problem(Code::DTY002, place, message));
        };
        let rank = block.len();
        if !base.ty.is_scalar() || [extents.len(), strides.len(), offsets.len()] != [rank; 3] {
            let message = format!(
                "a block pointer has one extent, stride, offset and block extent for each axis, and these are {}, {}, {} and {rank}",
                extents.len(),
                strides.len(),
                offsets.len()
            );
            return Err(self.problem(Code::LNG011, place, message));
        }
        self.check_order(arguments, rank, at)?;
        let parts = [vec![base], extents, strides, offsets].concat();
        Ok(Value::BlockPointer(BlockPointer { parts, block, pointee }))
    }

    /// `order` says which axis lies closest in memory; all of them, each once.
    fn check_order(&mut self, arguments: &Arguments, rank: usize, at: ExprId) -> Eval<()> {
        let expr = arguments.expr("order").unwrap_or(at);
        let value = arguments.value("order");
        if value.has_unknown() {
            return Ok(());
        }
        let numbers: Option<Vec<i128>> =
            value.items().and_then(|items| items.iter().map(|v| v.as_const().and_then(Const::as_int)).collect());
        let mut sorted = numbers.unwrap_or_default();
        sorted.sort_unstable();
        if sorted.iter().copied().eq(0..rank as i128) || self.rules.block_pointer_aggregates && value.items().is_none() {
            return Ok(());
        }
        let place = self.place(expr);
        let axes: Vec<String> = (0..rank).rev().map(|axis| axis.to_string()).collect();
        let message =
            format!("`order` names each of the {rank} axes once, as in `({})`, and this is {}", axes.join(", "), value.ty());
        Err(self.problem(Code::LNG011, place, message))
    }

    pub(super) fn call_advance(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let Value::BlockPointer(pointer) = arguments.value("base").clone() else {
            if arguments.value("base").has_unknown() {
                return Err(Poisoned);
            }
            let place = self.place(at);
            let message = format!("tl.advance moves a block pointer, and this is {}", arguments.value("base").ty());
            return Err(self.problem(Code::DTY002, place, message));
        };
        let steps = self.scalars(arguments, "offsets", DType::I32, at)?;
        let mut pointer = pointer;
        let rank = pointer.block.len();
        if steps.len() != rank {
            let place = self.place(at);
            return Err(self.problem(Code::LNG011, place, format!("{} offsets for a block pointer of {rank} axes", steps.len())));
        }
        for (axis, step) in steps.into_iter().enumerate() {
            let slot = 1 + 2 * rank + axis;
            // An axis that does not move keeps its offset, which then need not be carried through loops.
            let zero = |op| matches!(self.out.op(op).kind, OpKind::Constant(Constant::Int(0)));
            if self.out.def_op(step.id).is_some_and(zero) {
                continue;
            }
            let old = pointer.parts[slot].clone();
            let ty = old.ty.clone();
            pointer.parts[slot] = self.emit_like(OpKind::Binary(TileOp::AddI), &[&old, &step], ty);
        }
        Ok(Value::BlockPointer(pointer))
    }

    /// The tile of pointers, and the mask along the checked axes.
    fn window(&mut self, pointer: &BlockPointer, checked: &[usize]) -> (Tile, Option<Tile>) {
        let rank = pointer.block.len();
        let lines =
            (0..rank).map(|axis| self.index_line(pointer.parts[1 + 2 * rank + axis].clone(), &pointer.block[axis])).collect();
        let tensor = Tensor {
            base: pointer.parts[0].clone(),
            extents: pointer.parts[1..=rank].to_vec(),
            strides: pointer.parts[1 + rank..1 + 2 * rank].to_vec(),
        };
        self.window_at(&tensor, lines, checked)
    }

    /// `start, start + 1, …` in i64.
    pub(super) fn index_line(&mut self, start: Tile, extent: &Dim) -> Tile {
        let line: Dims = Dims::from_iter([extent.clone()]);
        let ty = TileType { elem: DType::I32.into(), shape: line.clone() };
        let id = self.emit_value(OpKind::Iota { start: 0, end: extent.size as i32 }, &[], &ty);
        let steps = self.widened(Tile { id, ty, varies: 1, undefined: None });
        let start = self.widened(start);
        let start = self.broadcast_tile(start, &line);
        let ty = start.ty.clone();
        self.emit_like(OpKind::Binary(TileOp::AddI), &[&start, &steps], ty)
    }

    /// Pointers to the elements that the lines (one of i64 indices for each axis) meet at, and which of them are inside the tensor.
    pub(super) fn window_at(&mut self, tensor: &Tensor, lines: Vec<Tile>, checked: &[usize]) -> (Tile, Option<Tile>) {
        let rank = lines.len();
        let block: Dims = lines.iter().map(|line| line.ty.shape[0].clone()).collect();
        let mut address = self.broadcast_tile(tensor.base.clone(), &block);
        let mut mask: Option<Tile> = None;
        for (axis, index) in lines.into_iter().enumerate() {
            let line = index.ty.shape.clone();
            let spread = |s: &mut Self, mut tile: Tile| {
                for _ in 0..axis {
                    tile = s.insert_axis(tile, 0);
                }
                while tile.ty.rank() < rank {
                    let last = tile.ty.rank();
                    tile = s.insert_axis(tile, last);
                }
                s.broadcast_tile(tile, &block)
            };
            if checked.contains(&axis) {
                let extent = self.broadcast_tile(tensor.extents[axis].clone(), &line);
                let zero = self.constant_tile(&Const::Int(0), DType::I64, line.clone());
                let above = self.compare_tiles(CompareOp::Ge, index.clone(), zero, DType::I64);
                let below = self.compare_tiles(CompareOp::Lt, index.clone(), extent, DType::I64);
                let ty = above.ty.clone();
                let inside = self.emit_like(OpKind::Binary(TileOp::And), &[&above, &below], ty);
                let inside = spread(self, inside);
                mask = Some(match mask {
                    Some(mask) => {
                        let ty = mask.ty.clone();
                        self.emit_like(OpKind::Binary(TileOp::And), &[&mask, &inside], ty)
                    }
                    None => inside,
                });
            }
            let stride = self.broadcast_tile(tensor.strides[axis].clone(), &line);
            let ty = index.ty.clone();
            let offset = self.emit_like(OpKind::Binary(TileOp::MulI), &[&index, &stride], ty);
            let offset = spread(self, offset);
            let ty = address.ty.clone();
            address = self.emit_like(OpKind::AddPtr, &[&address, &offset], ty);
        }
        (address, mask)
    }

    /// A signed integer in i64.
    pub(super) fn widened(&mut self, tile: Tile) -> Tile {
        if tile.ty.elem == DType::I64.into() {
            return tile;
        }
        let ty = tile.ty.with_elem(DType::I64);
        self.emit_like(OpKind::Cast(tritium_tile::ops::CastOp::ExtS), &[&tile], ty)
    }

    /// `boundary_check`: axes, each once.
    fn checked_axes(&mut self, arguments: &Arguments, rank: usize, at: ExprId) -> Eval<Vec<usize>> {
        let expr = arguments.expr("boundary_check").unwrap_or(at);
        let value = arguments.value("boundary_check").clone();
        if value.items().is_none() && !value.has_unknown() && self.rules.strict_boundary_checks {
            let place = self.place(expr);
            return Err(self.problem(
                Code::LNG011,
                place,
                format!("`boundary_check` is a tuple of axes, and this is {}", value.ty()),
            ));
        }
        let items = value.items().unwrap_or_else(|| vec![value]);
        let mut axes = Vec::new();
        for item in &items {
            axes.push(self.axis(item, expr, rank, "a block pointer")?);
        }
        Ok(axes)
    }

    fn no_mask(&mut self, arguments: &Arguments, names: &[&str]) -> Eval<()> {
        for name in names {
            if let Some(expr) = arguments.expr(name)
                && !arguments.value(name).is_none()
            {
                let place = self.place(expr);
                return Err(self.problem(Code::LNG011, place, format!("a block pointer takes `boundary_check`, not `{name}`")));
            }
        }
        Ok(())
    }

    pub(super) fn load_block(
        &mut self,
        pointer: &BlockPointer,
        attrs: LoadAttrs,
        arguments: &Arguments,
        at: ExprId,
    ) -> Eval<Value> {
        self.no_mask(arguments, &["mask", "other"])?;
        let axes = self.checked_axes(arguments, pointer.block.len(), at)?;
        let expr = arguments.expr("padding_option").unwrap_or(at);
        let place = self.place(expr);
        let padding = match arguments.value("padding_option").to_const() {
            Some(Const::Str(word)) => match word.as_str() {
                "" => None,
                "zero" => Some(0.0),
                "nan" if pointer.pointee.is_float() => Some(f64::NAN),
                "nan" => return Err(self.problem(Code::LNG011, place, format!("{} has no NaN to pad with", pointer.pointee))),
                _ => return Err(self.problem(Code::LNG011, place, format!("{word:?} is no padding: it is \"zero\" or \"nan\""))),
            },
            _ => return Err(Poisoned),
        };
        if padding.is_some() && axes.is_empty() && self.rules.strict_boundary_checks {
            let message = "`padding_option` fills what lies outside, and no axis is checked: name them in `boundary_check`";
            return Err(self.problem(Code::MSK001, place, message));
        }
        let (address, mask) = self.window(pointer, &axes);
        let ty = address.ty.with_elem(pointer.pointee);
        let fill = match (padding, &mask) {
            (Some(value), Some(_)) => Some(self.constant_tile(&Const::float(value), pointer.pointee, ty.shape.clone())),
            _ => None,
        };
        let mut operands = vec![&address];
        operands.extend(mask.iter());
        operands.extend(fill.iter());
        let mut result = self.emit_like(OpKind::Load(attrs), &operands, ty);
        result.undefined = None;
        Ok(Value::Tile(result))
    }

    pub(super) fn store_block(
        &mut self,
        pointer: &BlockPointer,
        attrs: StoreAttrs,
        arguments: &Arguments,
        at: ExprId,
    ) -> Eval<Value> {
        self.no_mask(arguments, &["mask"])?;
        let axes = self.checked_axes(arguments, pointer.block.len(), at)?;
        let expr = arguments.expr("value").unwrap_or(at);
        let value = self.as_tile(arguments.value("value"), expr)?;
        let place = self.place(expr);
        let value = match self.rules.block_pointer_aggregates {
            true => self.cast(value, pointer.pointee.into(), expr)?,
            false => value,
        };
        if value.ty.elem != Element::Scalar(pointer.pointee) {
            let message = format!(
                "a block pointer to {} stores {0} only, and `{}` is {}: cast it",
                pointer.pointee,
                self.text(expr),
                value.ty
            );
            let pointer_place = self.place(arguments.expr("pointer").unwrap_or(at));
            let report = problem(Code::DTY017, place, message);
            self.report(report.related(Some(pointer_place), format!("points to {}", pointer.pointee)));
            return Err(Poisoned);
        }
        if !value.ty.is_scalar() && !same_shape(&value.ty.shape, &pointer.block) {
            let shape = crate::types::shape_text(&pointer.block);
            return Err(self.problem(
                Code::SHP001,
                place,
                format!("`{}` is {} and the block is {shape}", self.text(expr), value.ty),
            ));
        }
        let value = self.broadcast_tile(value, &pointer.block);
        let (address, mask) = self.window(pointer, &axes);
        let mut operands = vec![address.id, value.id];
        operands.extend(mask.iter().map(|m| m.id));
        self.emit(OpKind::Store(attrs), &operands, [], &[]);
        Ok(Value::Void)
    }
}
