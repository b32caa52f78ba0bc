//! Reductions and scans.
//!
//! **Invariant:** a reduction without axis folds the flattened tile; element types widen as the language says before anything is combined.

use tritium_tile::{OpKind, ops::BinaryOp as TileOp};

use super::{
    builtin_calls::Arguments,
    evaluator::{Eval, Evaluator, Poisoned},
    math::extremum_op,
    promote::is_unsigned,
    undefined::Neutral,
    value::{Tile, Undefined, Value},
};
use crate::{
    body::{CompareOp, ExprId},
    builtins::{Builtin, Fold},
    constant::Const,
    diagnostics::Code,
    dtype::DType,
    types::{Dim, Dims, TileType},
};

/// Narrow integers grow to 32 bits, keeping their sign.
fn sum_type(dtype: DType) -> DType {
    match dtype {
        _ if dtype.is_float() || dtype.bits() >= 32 => dtype,
        _ if is_unsigned(dtype) => DType::U32,
        _ => DType::I32,
    }
}

/// max and min compute in f32 and i32 at least.
pub(super) fn extremum_type(dtype: DType, indices: bool, native_bf16: bool) -> DType {
    if indices {
        return if dtype == DType::BF16 && !native_bf16 { DType::F32 } else { dtype };
    }
    match dtype {
        _ if dtype.is_float() && dtype.bits() < 32 => DType::F32,
        _ if dtype.is_int() && dtype.bits() < 32 => DType::I32,
        _ => dtype,
    }
}

impl<'a> Evaluator<'a> {
    pub(super) fn call_fold(&mut self, arguments: &Arguments, fold: Fold, at: ExprId) -> Eval<Value> {
        let name = arguments.builtin.spelling();
        let expr = arguments.expr("input").unwrap_or(at);
        let tile = self.as_tile(arguments.value("input"), expr)?;
        let Some(dtype) = tile.ty.elem.scalar() else {
            let place = self.place(expr);
            let message = format!("{name} of `{}`, which is {}: pointers are not combined", self.text(expr), tile.ty);
            return Err(self.problem(Code::DTY017, place, message));
        };
        if matches!(fold, Fold::Xor | Fold::Or) && dtype.is_float() {
            let place = self.place(expr);
            let message = format!("{name} needs integers, and `{}` is {}", self.text(expr), tile.ty);
            return Err(self.problem(Code::DTY017, place, message));
        }
        let flag = |s: &mut Self, name: &str| if arguments.has(name) { s.flag(arguments, name) } else { Ok(false) };
        let keep = flag(self, "keep_dims")?;
        let indices = flag(self, "return_indices")? || matches!(fold, Fold::ArgMax | Fold::ArgMin);
        let wanted = if arguments.has("dtype") && !arguments.value("dtype").is_none() {
            let element = self.dtype_argument(arguments.value("dtype"), arguments.expr("dtype").unwrap_or(at))?;
            element.scalar()
        } else {
            None
        };
        let wide = match fold {
            Fold::Sum | Fold::Product => wanted.unwrap_or(sum_type(dtype)),
            Fold::Max | Fold::Min | Fold::ArgMax | Fold::ArgMin => extremum_type(dtype, indices, self.rules.native_bf16_minmax),
            Fold::Xor | Fold::Or => dtype,
        };
        let rank = tile.ty.rank();
        let axis_value = arguments.value("axis");
        let text = self.text(expr);
        let axis = if axis_value.is_none() {
            if indices {
                let place = self.place(at);
                return Err(self.problem(
                    Code::LNG011,
                    place,
                    format!("{name} needs an axis here: indices count along one axis"),
                ));
            }
            None
        } else {
            Some(self.axis(axis_value, arguments.expr("axis").unwrap_or(at), rank, &format!("`{text}` ({})", tile.ty))?)
        };
        self.check_defined(&tile, axis, name, neutral(fold, wide), at);
        if fold == Fold::Sum && wanted.is_none() {
            self.remark_reduction(name, &tile, axis, expr, at);
        }
        let tile = self.cast(tile, wide.into(), expr)?;
        let Some(tile) = self.reducible(tile, axis) else {
            // A scalar is its own reduction.
            return Err(self.scalar_reduction(name, expr));
        };
        let original_rank = rank;
        let along = axis.unwrap_or(0);
        let restore = |s: &mut Self, result: Tile| {
            if !keep {
                return result;
            }
            match axis {
                Some(axis) => s.insert_axis(result, axis),
                None => (0..original_rank).fold(result, |t, _| s.insert_axis(t, 0)),
            }
        };
        if indices {
            let tie =
                flag(self, if arguments.has("tie_break_left") { "tie_break_left" } else { "return_indices_tie_break_left" })?;
            let maximum = matches!(fold, Fold::Max | Fold::ArgMax);
            let (value, index) = self.fold_with_index(maximum, tie, tile, along);
            let index = restore(self, index);
            if matches!(fold, Fold::ArgMax | Fold::ArgMin) {
                return Ok(Value::Tile(index));
            }
            let value = restore(self, value);
            return Ok(Value::Tuple(vec![Value::Tile(value), Value::Tile(index)]));
        }
        let result = self.fold_tile(fold, tile, along);
        Ok(Value::Tile(restore(self, result)))
    }

    /// Flattened, if no axis was given; `None` for a scalar.
    fn reducible(&mut self, tile: Tile, axis: Option<usize>) -> Option<Tile> {
        if tile.ty.is_scalar() {
            return None;
        }
        if axis.is_some() || tile.ty.rank() == 1 {
            return Some(tile);
        }
        let size = tile.ty.num_elements() as u32;
        Some(self.reshape_to(tile, Dims::from_iter([Dim::known(size)]), true))
    }

    fn scalar_reduction(&mut self, name: &str, expr: ExprId) -> Poisoned {
        let place = self.place(expr);
        let message = format!("{name} folds an axis, and `{}` is a scalar", self.text(expr));
        self.problem(Code::SHP005, place, message)
    }

    /// One reduction along an axis with a known combine function.
    pub(super) fn fold_tile(&mut self, fold: Fold, tile: Tile, axis: usize) -> Tile {
        let dtype = tile.ty.elem.scalar().unwrap_or(DType::F32);
        let op = combine(fold, dtype);
        let results = self.reduction(OpKind::Reduce { axis: axis as u8 }, &[tile], axis, |s, args| {
            let ty = args[0].ty.clone();
            vec![s.emit_like(OpKind::Binary(op), &[&args[0], &args[1]], ty)]
        });
        results.into_iter().next().unwrap_or_else(|| self.constant_tile(&Const::Int(0), dtype, Dims::new()))
    }

    /// A reduction or a scan of several tiles of one shape; `combine` gets left and right scalars.
    fn reduction(
        &mut self,
        kind: OpKind,
        tiles: &[Tile],
        axis: usize,
        combine: impl FnOnce(&mut Self, &[Tile]) -> Vec<Tile>,
    ) -> Vec<Tile> {
        let keeps = matches!(kind, OpKind::Scan { .. });
        let block = self.out.add_block();
        let mut args = Vec::new();
        for _ in 0..2 {
            for tile in tiles {
                let ty = TileType::scalar(tile.ty.elem);
                let id = self.out.add_block_arg(block, ty.tile());
                args.push(Tile { id, ty, varies: 0, undefined: None });
            }
        }
        self.inside(block, |s| {
            let yields: Vec<_> = combine(s, &args).iter().map(|t| t.id).collect();
            s.emit(OpKind::Yield, &yields, [], &[]);
        });
        let drop_bit = |bits: u8| {
            let low = bits & (1u8 << axis).wrapping_sub(1);
            let high = if axis + 1 >= 8 { 0 } else { (bits >> (axis + 1)) << axis };
            low | high
        };
        let types: Vec<TileType> = tiles
            .iter()
            .map(|tile| {
                let mut ty = tile.ty.clone();
                if !keeps {
                    ty.shape.remove(axis);
                }
                ty
            })
            .collect();
        let operands: Vec<_> = tiles.iter().map(|t| t.id).collect();
        let op = self.emit(kind, &operands, types.iter().map(TileType::tile).collect::<Vec<_>>(), &[block]);
        let results = self.out.op(op).results.clone();
        types
            .into_iter()
            .zip(results)
            .zip(tiles)
            .map(|((ty, id), tile)| {
                let varies = if keeps { tile.varies } else { drop_bit(tile.varies) };
                let undefined = tile
                    .undefined
                    .map(|u| Undefined { axes: if keeps { u.axes } else { drop_bit(u.axes) }, ..u })
                    .filter(|u| u.axes != 0);
                Tile { id, ty, varies, undefined }
            })
            .collect()
    }

    fn fold_with_index(&mut self, maximum: bool, tie_left: bool, tile: Tile, axis: usize) -> (Tile, Tile) {
        let dtype = tile.ty.elem.scalar().unwrap_or(DType::F32);
        let length = tile.ty.shape[axis].size;
        let line = TileType { elem: DType::I32.into(), shape: Dims::from_iter([Dim::known(length)]) };
        let id = self.emit_value(OpKind::Iota { start: 0, end: length as i32 }, &[], &line);
        let mut index = Tile { id, ty: line, varies: 1, undefined: None };
        for _ in 0..axis {
            index = self.insert_axis(index, 0);
        }
        while index.ty.rank() < tile.ty.rank() {
            let last = index.ty.rank();
            index = self.insert_axis(index, last);
        }
        let shape = tile.ty.shape.clone();
        let index = self.broadcast_tile(index, &shape);
        let mut results = self.reduction(OpKind::Reduce { axis: axis as u8 }, &[tile, index], axis, |s, args| {
            let [a, i, b, j] = args else { return Vec::new() };
            // The left one wins if it is better, or equal and (ties to the left) earlier.
            let mut left = s.is_better(maximum, a, b, dtype);
            if tie_left {
                let equal = s.compare_tiles(CompareOp::Eq, a.clone(), b.clone(), dtype);
                let earlier = s.compare_tiles(CompareOp::Lt, i.clone(), j.clone(), DType::I32);
                let ty = equal.ty.clone();
                let tie = s.emit_like(OpKind::Binary(TileOp::And), &[&equal, &earlier], ty.clone());
                left = s.emit_like(OpKind::Binary(TileOp::Or), &[&left, &tie], ty);
            }
            let value = s.emit_like(OpKind::Select, &[&left, a, b], a.ty.clone());
            let index = s.emit_like(OpKind::Select, &[&left, i, j], i.ty.clone());
            vec![value, index]
        });
        let zero = self.constant_tile(&Const::Int(0), DType::I32, Dims::new());
        let index = results.pop().unwrap_or_else(|| zero.clone());
        let value = results.pop().unwrap_or(zero);
        (value, index)
    }

    /// The two halves of a last axis of 2: each is kept by its bits, zeros beside it, and or-ed out of the axis.
    pub(super) fn call_split(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let expr = arguments.expr("a").unwrap_or(at);
        let tile = self.as_tile(arguments.value("a"), expr)?;
        let rank = tile.ty.rank();
        let elem = tile.ty.elem;
        if rank == 0 || tile.ty.shape[rank - 1].size != 2 || elem.is_ptr() {
            let place = self.place(at);
            let message =
                format!("tl.split takes a tile of numbers whose last axis is 2, and `{}` is {}", self.text(expr), tile.ty);
            return Err(self.problem(Code::SHP010, place, message));
        }
        let bits = match elem.bits() {
            1 => DType::I1,
            8 => DType::I8,
            16 => DType::I16,
            32 => DType::I32,
            _ => DType::I64,
        };
        let undefined = tile.undefined;
        let tile = self.bitcast(Tile { undefined: None, ..tile }, bits.into(), expr)?;
        let shape = tile.ty.shape.clone();
        let zeros = self.constant_tile(&Const::Int(0), bits, shape.clone());
        let line = TileType { elem: DType::I32.into(), shape: Dims::from_iter([Dim::known(2)]) };
        let id = self.emit_value(OpKind::Iota { start: 0, end: 2 }, &[], &line);
        let position = Tile { id, ty: line, varies: 1, undefined: None };
        let zero = self.constant_tile(&Const::Int(0), DType::I32, position.ty.shape.clone());
        let first = self.compare_tiles(CompareOp::Eq, position, zero, DType::I32);
        let first = self.broadcast_tile(first, &shape);
        let mut halves = Vec::new();
        for is_first in [true, false] {
            let ty = tile.ty.clone();
            let kept = if is_first {
                self.emit_like(OpKind::Select, &[&first, &tile, &zeros], ty)
            } else {
                self.emit_like(OpKind::Select, &[&first, &zeros, &tile], ty)
            };
            let half = self.fold_tile(Fold::Or, kept, rank - 1);
            let half = self.bitcast(half, elem, expr)?;
            let axes = Tile::all_axes(rank - 1);
            halves.push(Value::Tile(Tile { undefined: undefined.map(|u| Undefined { axes: u.axes & axes, ..u }), ..half }));
        }
        Ok(Value::Tuple(halves))
    }

    pub(super) fn call_scan(&mut self, arguments: &Arguments, fold: Fold, at: ExprId) -> Eval<Value> {
        let name = arguments.builtin.spelling();
        let expr = arguments.expr("input").unwrap_or(at);
        let tile = self.as_tile(arguments.value("input"), expr)?;
        let text = self.text(expr);
        let axis = self.axis(
            arguments.value("axis"),
            arguments.expr("axis").unwrap_or(at),
            tile.ty.rank(),
            &format!("`{text}` ({})", tile.ty),
        )?;
        let reverse = self.flag(arguments, "reverse")?;
        let Some(dtype) = tile.ty.elem.scalar() else { return Err(self.scalar_reduction(name, expr)) };
        let wanted = if arguments.has("dtype") && !arguments.value("dtype").is_none() {
            self.dtype_argument(arguments.value("dtype"), arguments.expr("dtype").unwrap_or(at))?.scalar()
        } else {
            None
        };
        let wide = match wanted {
            Some(wanted) => wanted,
            None if dtype == DType::BF16 && !self.rules.native_bf16_minmax => DType::F32,
            None if fold == Fold::Sum => sum_type(dtype),
            None => dtype,
        };
        self.check_defined(&tile, Some(axis), name, neutral(fold, wide), at);
        let tile = self.cast(tile, wide.into(), expr)?;
        let op = combine(fold, wide);
        let mut results = self.reduction(OpKind::Scan { axis: axis as u8, reverse }, &[tile], axis, |s, args| {
            let ty = args[0].ty.clone();
            vec![s.emit_like(OpKind::Binary(op), &[&args[0], &args[1]], ty)]
        });
        results.pop().map(Value::Tile).ok_or(Poisoned)
    }

    /// `tl.reduce` and `tl.associative_scan`: the combine function is the user's.
    pub(super) fn call_combine(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let name = arguments.builtin.spelling();
        let scan = arguments.builtin == Builtin::AssociativeScan;
        let expr = arguments.expr("input").unwrap_or(at);
        let input = arguments.value("input").clone();
        if input.has_unknown() {
            return Err(Poisoned);
        }
        let several = input.items();
        let values = several.clone().unwrap_or_else(|| vec![input]);
        let mut tiles = Vec::new();
        for value in &values {
            tiles.push(self.as_tile(value, expr)?);
        }
        let Some(first) = tiles.first().cloned() else { return Err(self.scalar_reduction(name, expr)) };
        if let Some(other) = tiles.iter().find(|t| !crate::types::same_shape(&t.ty.shape, &first.ty.shape)) {
            let place = self.place(expr);
            let message = format!("{name} takes tiles of one shape, and these are {} and {}", first.ty, other.ty);
            return Err(self.problem(Code::SHP001, place, message));
        }
        let axis_value = arguments.value("axis");
        let axis = if axis_value.is_none() && !scan {
            None
        } else {
            let text = self.text(expr);
            Some(self.axis(
                axis_value,
                arguments.expr("axis").unwrap_or(at),
                first.ty.rank(),
                &format!("`{text}` ({})", first.ty),
            )?)
        };
        let keep = !scan && self.flag(arguments, "keep_dims")?;
        let reverse = scan && self.flag(arguments, "reverse")?;
        let rank = first.ty.rank();
        let mut inputs = Vec::new();
        for tile in tiles {
            self.check_defined(&tile, axis, name, Neutral::only("0.0"), at);
            match self.reducible(tile, axis) {
                Some(tile) => inputs.push(tile),
                None => return Err(self.scalar_reduction(name, expr)),
            }
        }
        let along = axis.unwrap_or(0);
        let function_expr = arguments.expr("combine_fn").unwrap_or(at);
        let function = arguments.value("combine_fn").clone();
        if let crate::body::Expr::Name(local) = self.body.expr(function_expr)
            && self.scope.contains_key(local)
            && !self.rules.combine_parameters
            && !function.has_unknown()
        {
            let place = self.place(function_expr);
            let message = format!(
                "`{local}` is a parameter or a local name, and before Triton 3.7 {name} takes a function by its own name: write one call for each function"
            );
            return Err(self.problem(Code::LNG011, place, message));
        }
        let mut failed = false;
        let kind = if scan { OpKind::Scan { axis: along as u8, reverse } } else { OpKind::Reduce { axis: along as u8 } };
        let count = inputs.len();
        let elems: Vec<_> = inputs.iter().map(|t| t.ty.elem).collect();
        let results = self.reduction(kind, &inputs, along, |s, args| {
            let left: Vec<Tile> = args[..count].to_vec();
            let values: Vec<(Value, ExprId)> = args.iter().map(|t| (Value::Tile(t.clone()), function_expr)).collect();
            let result = s.call_value(at, function_expr, function, values).unwrap_or(Value::Unknown);
            let items = result.items().unwrap_or_else(|| vec![result]);
            let mut yields = Vec::new();
            for (i, elem) in elems.iter().enumerate() {
                match items.get(i) {
                    Some(Value::Tile(t)) if items.len() == count && t.ty.elem == *elem && t.ty.is_scalar() => {
                        yields.push(t.clone())
                    }
                    Some(value) if !value.has_unknown() => {
                        failed = true;
                        let place = s.place(function_expr);
                        let message = format!("the combine function takes and must return {elem}, and it returns {}", value.ty());
                        s.problem(Code::DTY017, place, message);
                        yields.push(left[i].clone());
                    }
                    _ => {
                        failed = true;
                        yields.push(left[i].clone());
                    }
                }
            }
            yields
        });
        if failed {
            self.complete = false;
            return Err(Poisoned);
        }
        let mut values = Vec::new();
        for mut tile in results {
            if keep {
                tile = match axis {
                    Some(axis) => self.insert_axis(tile, axis),
                    None => (0..rank).fold(tile, |t, _| self.insert_axis(t, 0)),
                };
            }
            values.push(Value::Tile(tile));
        }
        if several.is_some() { Ok(Value::Tuple(values)) } else { values.pop().ok_or(Poisoned) }
    }
}

fn combine(fold: Fold, dtype: DType) -> TileOp {
    match fold {
        Fold::Sum if dtype.is_float() => TileOp::AddF,
        Fold::Sum => TileOp::AddI,
        Fold::Product if dtype.is_float() => TileOp::MulF,
        Fold::Product => TileOp::MulI,
        Fold::Max | Fold::ArgMax => extremum_op(true, false, dtype),
        Fold::Min | Fold::ArgMin => extremum_op(false, false, dtype),
        Fold::Xor => TileOp::Xor,
        Fold::Or => TileOp::Or,
    }
}

/// What changes nothing in a fold.
fn neutral(fold: Fold, dtype: DType) -> Neutral<'static> {
    let identity = identity(fold, dtype);
    match fold {
        Fold::Sum | Fold::Xor | Fold::Or => Neutral::zero(identity),
        Fold::Max if is_unsigned(dtype) => Neutral::zero(identity),
        Fold::Max => Neutral::of_maximum(identity),
        Fold::ArgMax | Fold::Product | Fold::Min | Fold::ArgMin => Neutral::only(identity),
    }
}

/// The same as the user would write it.
pub(super) fn identity(fold: Fold, dtype: DType) -> &'static str {
    match (fold, dtype.is_float()) {
        (Fold::Sum, true) => "0.0",
        (Fold::Sum | Fold::Xor | Fold::Or, _) => "0",
        (Fold::Product, true) => "1.0",
        (Fold::Product, false) => "1",
        (Fold::Max | Fold::ArgMax, true) => "-float(\"inf\")",
        (Fold::Min | Fold::ArgMin, true) => "float(\"inf\")",
        (Fold::Max | Fold::ArgMax, false) if is_unsigned(dtype) => "0",
        (Fold::Max | Fold::ArgMax, false) => {
            if dtype.bits() == 64 {
                "-9223372036854775808"
            } else {
                "-2147483648"
            }
        }
        (Fold::Min | Fold::ArgMin, false) => {
            if dtype.bits() == 64 {
                "9223372036854775807"
            } else {
                "2147483647"
            }
        }
    }
}
