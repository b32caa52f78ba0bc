//! Elementwise functions.
//!
//! **Invariant:** functions that the hardware has for f32 and f64 only take nothing else; the cast is the user's to write.

use tritium_tile::{
    OpKind,
    ops::{BinaryOp as TileOp, UnaryOp as TileUnary},
};

use super::{
    builtin_calls::Arguments,
    evaluator::{Eval, Evaluator, Poisoned, ProblemExt, problem},
    promote::Arithmetic,
    undefined::Neutral,
    value::{Tile, Value},
};
use crate::{
    body::{BinaryOp, CompareOp, ExprId},
    builtins::Builtin,
    constant::Const,
    diagnostics::Code,
    dtype::DType,
    problem::Applicability,
    types::Element,
};

impl<'a> Evaluator<'a> {
    /// A float of 32 or 64 bits.
    fn float_argument(&mut self, builtin: Builtin, value: &Value, expr: ExprId) -> Eval<Tile> {
        let tile = self.as_tile(value, expr)?;
        let only_f32 = builtin.signature().params.first().is_some_and(|p| p.annotation.contains("f32"));
        match tile.ty.elem {
            Element::Scalar(DType::F32) => return Ok(tile),
            Element::Scalar(DType::F64) if !only_f32 => return Ok(tile),
            _ => {}
        }
        let text = self.text(expr);
        let place = self.place(expr);
        let wanted = if only_f32 { "f32" } else { "f32 or f64" };
        let message =
            format!("{} needs {wanted}, and `{text}` is {}: cast it with `.to(tl.float32)`", builtin.spelling(), tile.ty);
        let mut report = problem(Code::DTY005, place, message);
        if matches!(value, Value::Tile(_)) {
            let edits = self.append(expr, ".to(tl.float32)");
            report = report.fix("Cast to float32", Applicability::Suggested, edits);
        }
        self.report(report);
        Err(Poisoned)
    }

    pub(super) fn call_map(&mut self, arguments: &Arguments, op: TileUnary, at: ExprId) -> Eval<Value> {
        let expr = arguments.expr("x").unwrap_or(at);
        let tile = self.float_argument(arguments.builtin, arguments.value("x"), expr)?;
        let ty = tile.ty.clone();
        Ok(Value::Tile(self.emit_like(OpKind::Unary(op), &[&tile], ty)))
    }

    pub(super) fn call_abs(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let expr = arguments.expr("x").unwrap_or(at);
        let tile = self.as_tile(arguments.value("x"), expr)?;
        let Some(dtype) = tile.ty.elem.scalar() else {
            let place = self.place(expr);
            let message = format!("`{}` is {}, a pointer, which has no absolute value", self.text(expr), tile.ty);
            return Err(self.problem(Code::DTY017, place, message));
        };
        let ty = tile.ty.clone();
        Ok(Value::Tile(if dtype.is_float() {
            self.emit_like(OpKind::Unary(TileUnary::AbsF), &[&tile], ty)
        } else if dtype.is_signed_int() {
            self.emit_like(OpKind::Unary(TileUnary::AbsI), &[&tile], ty)
        } else {
            tile
        }))
    }

    /// `1 / (1 + exp(-x))`
    pub(super) fn call_sigmoid(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let expr = arguments.expr("x").unwrap_or(at);
        let tile = self.float_argument(Builtin::Sigmoid, arguments.value("x"), expr)?;
        let ty = tile.ty.clone();
        let dtype = ty.elem.scalar().ok_or(Poisoned)?;
        let one = self.constant_tile(&Const::float(1.0), dtype, ty.shape.clone());
        let negative = self.emit_like(OpKind::Unary(TileUnary::NegF), &[&tile], ty.clone());
        let exp = self.emit_like(OpKind::Unary(TileUnary::Exp), &[&negative], ty.clone());
        let sum = self.emit_like(OpKind::Binary(TileOp::AddF), &[&one, &exp], ty.clone());
        Ok(Value::Tile(self.emit_like(OpKind::Binary(TileOp::DivF), &[&one, &sum], ty)))
    }

    pub(super) fn call_softmax(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let expr = arguments.expr("x").unwrap_or(at);
        let tile = self.float_argument(Builtin::Softmax, arguments.value("x"), expr)?;
        let dim = arguments.value("dim");
        let axis = if dim.is_none() { Value::int(0) } else { dim.clone() };
        let text = self.text(expr);
        let axis = self.axis(&axis, arguments.expr("dim").unwrap_or(at), tile.ty.rank(), &format!("`{text}` ({})", tile.ty))?;
        let keep = self.flag(arguments, "keep_dims")?;
        self.check_defined(&tile, Some(axis), "tl.softmax", Neutral::only("-float(\"inf\")"), at);
        let plain = Tile { undefined: None, ..tile };
        let max = self.fold_tile(crate::builtins::Fold::Max, plain.clone(), axis);
        let max = if keep { self.insert_axis(max, axis) } else { max };
        let (x, max) = self.broadcast_pair((expr, plain), (at, max), "tl.softmax", at)?;
        let ty = x.ty.clone();
        let shifted = self.emit_like(OpKind::Binary(TileOp::SubF), &[&x, &max], ty.clone());
        let exp = self.emit_like(OpKind::Unary(TileUnary::Exp), &[&shifted], ty);
        let sum = self.fold_tile(crate::builtins::Fold::Sum, exp.clone(), axis);
        let sum = if keep { self.insert_axis(sum, axis) } else { sum };
        let (exp, sum) = self.broadcast_pair((expr, exp), (at, sum), "tl.softmax", at)?;
        let ty = exp.ty.clone();
        Ok(Value::Tile(self.emit_like(OpKind::Binary(TileOp::DivF), &[&exp, &sum], ty)))
    }

    /// `tl.maximum`, `tl.minimum`, and Python's `max` and `min` on run-time values.
    pub(super) fn extremum(
        &mut self,
        maximum: bool,
        nan: bool,
        lhs: (ExprId, &Value),
        rhs: (ExprId, &Value),
        at: ExprId,
    ) -> Eval<Value> {
        let name = if maximum { "tl.maximum" } else { "tl.minimum" };
        let prepared = |s: &mut Self, (expr, value): (ExprId, &Value)| {
            if s.rules.weak_comparisons && value.as_const().is_some() {
                return Ok(value.clone());
            }
            let tile = s.as_tile(value, expr)?;
            if tile.ty.elem == Element::Scalar(DType::BF16) && !s.rules.native_bf16_minmax {
                return s.cast(tile, DType::F32.into(), expr).map(Value::Tile);
            }
            Ok(Value::Tile(tile))
        };
        let a = prepared(self, lhs)?;
        let b = prepared(self, rhs)?;
        if let (Value::Const(a), Value::Const(b)) = (&a, &b) {
            let first = a.value.as_float().zip(b.value.as_float()).is_some_and(|(a, b)| if maximum { a >= b } else { a <= b });
            return Ok(Value::Const(if first { a.clone() } else { b.clone() }));
        }
        let (a, b, common) = self.operands(Arithmetic::Plain, name, (lhs.0, &a), (rhs.0, &b), at)?;
        let op = extremum_op(maximum, nan, common);
        let ty = a.ty.clone();
        Ok(Value::Tile(self.emit_like(OpKind::Binary(op), &[&a, &b], ty)))
    }

    pub(super) fn call_extremum(&mut self, arguments: &Arguments, maximum: bool, at: ExprId) -> Eval<Value> {
        let nan = *arguments.value("propagate_nan") == Value::PropagateNan(true);
        let (x, y) = (arguments.expr("x").unwrap_or(at), arguments.expr("y").unwrap_or(at));
        self.extremum(maximum, nan, (x, arguments.value("x")), (y, arguments.value("y")), at)
    }

    pub(super) fn call_clamp(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let nan = *arguments.value("propagate_nan") == Value::PropagateNan(true);
        let expr = |name| arguments.expr(name).unwrap_or(at);
        let x = self.as_tile(arguments.value("x"), expr("x"))?;
        if !x.ty.elem.scalar().is_some_and(DType::is_float) && !self.rules.broad_math {
            let place = self.place(expr("x"));
            let message =
                format!("tl.clamp takes floats, and `{}` is {}: use tl.minimum and tl.maximum", self.text(expr("x")), x.ty);
            return Err(self.problem(Code::DTY017, place, message));
        }
        let low = self.extremum(true, nan, (expr("x"), &Value::Tile(x)), (expr("min"), arguments.value("min")), at)?;
        self.extremum(false, nan, (expr("x"), &low), (expr("max"), arguments.value("max")), at)
    }

    pub(super) fn call_fma(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let expr = |name| arguments.expr(name).unwrap_or(at);
        let tile = |s: &mut Self, name| s.as_tile(arguments.value(name), expr(name)).map(Value::Tile);
        let (x, y, z) = (tile(self, "x")?, tile(self, "y")?, tile(self, "z")?);
        let (a, b, _) = self.operands(Arithmetic::Plain, "tl.fma", (expr("x"), &x), (expr("y"), &y), at)?;
        let (c, a, common) = self.operands(Arithmetic::Plain, "tl.fma", (expr("z"), &z), (expr("x"), &Value::Tile(a)), at)?;
        let b = self.cast(b, common.into(), at)?;
        let shape = a.ty.shape.clone();
        let b = self.broadcast_tile(b, &shape);
        if common.is_int() {
            let place = self.place(at);
            let message = format!("tl.fma takes floats, and these are {common}: write `x * y + z`");
            return Err(self.problem(Code::DTY017, place, message));
        }
        let ty = a.ty.clone();
        Ok(Value::Tile(self.emit_like(OpKind::Fma, &[&a, &b, &c], ty)))
    }

    pub(super) fn call_division(&mut self, arguments: &Arguments, op: TileOp, at: ExprId) -> Eval<Value> {
        let builtin = arguments.builtin;
        let (x, y) = (arguments.expr("x").unwrap_or(at), arguments.expr("y").unwrap_or(at));
        let a = self.as_tile(arguments.value("x"), x)?;
        let b = self.as_tile(arguments.value("y"), y)?;
        if builtin == Builtin::DivRn {
            self.float_argument(builtin, &Value::Tile(a.clone()), x)?;
            self.float_argument(builtin, &Value::Tile(b.clone()), y)?;
        }
        let floats = [&a, &b].iter().all(|t| t.ty.elem.scalar().is_some_and(DType::is_float));
        if floats && builtin == Builtin::Fdiv && self.rules.broad_math {
            let (a, b, common) = self.operands(Arithmetic::Plain, "tl.fdiv", (x, &Value::Tile(a)), (y, &Value::Tile(b)), at)?;
            let ty = a.ty.with_elem(common);
            return Ok(Value::Tile(self.emit_like(OpKind::Binary(op), &[&a, &b], ty)));
        }
        if !floats || a.ty.elem != b.ty.elem {
            let place = self.place(at);
            let message = format!(
                "{} takes two floats of one type, and `{}` is {} and `{}` is {}: cast one with `.to(…)`",
                builtin.spelling(),
                self.text(x),
                a.ty,
                self.text(y),
                b.ty
            );
            return Err(self.problem(Code::DTY017, place, message));
        }
        let (a, b) = self.broadcast_pair((x, a), (y, b), builtin.spelling(), at)?;
        let ty = a.ty.clone();
        Ok(Value::Tile(self.emit_like(OpKind::Binary(op), &[&a, &b], ty)))
    }

    /// What `and` and `or` mean on tiles.
    pub(super) fn call_logical(&mut self, arguments: &Arguments, op: BinaryOp, at: ExprId) -> Eval<Value> {
        let mut sides = Vec::new();
        for name in ["x", "y"] {
            let expr = arguments.expr(name).unwrap_or(at);
            let tile = self.as_tile(arguments.value(name), expr)?;
            if tile.ty.elem != Element::Scalar(DType::I1) {
                let place = self.place(expr);
                let text = self.text(expr);
                return Err(self.problem(Code::DTY017, place, format!("`{text}` is {}, and i1 is needed: compare it", tile.ty)));
            }
            sides.push((expr, Value::Tile(tile)));
        }
        let [(x, a), (y, b)] = [sides[0].clone(), sides[1].clone()];
        self.binary(op, x, a, y, b, at)
    }

    pub(super) fn call_umulhi(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let mut sides = Vec::new();
        for name in ["x", "y"] {
            let expr = arguments.expr(name).unwrap_or(at);
            let tile = self.as_tile(arguments.value(name), expr)?;
            if !matches!(tile.ty.elem, Element::Scalar(DType::I32 | DType::I64 | DType::U32 | DType::U64)) {
                let place = self.place(expr);
                let message = format!("tl.umulhi takes integers of 32 or 64 bits, and `{}` is {}", self.text(expr), tile.ty);
                return Err(self.problem(Code::DTY017, place, message));
            }
            sides.push(Value::Tile(tile));
        }
        self.high_product(&sides[0], &sides[1], at)
    }

    /// The program `(i, j)` of a row-major order, as one that walks down groups of `size_g` rows.
    pub(super) fn call_swizzle(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let of = |name: &str| (arguments.expr(name).unwrap_or(at), arguments.value(name).clone());
        let [(ei, i), (ej, j), (esi, size_i), (esj, size_j), (eg, group)] = ["i", "j", "size_i", "size_j", "size_g"].map(of);
        let row = self.binary(BinaryOp::Mul, ei, i, esj, size_j.clone(), at)?;
        let flat = self.binary(BinaryOp::Add, at, row, ej, j, at)?;
        let per_group = self.binary(BinaryOp::Mul, eg, group.clone(), esj, size_j, at)?;
        let number = self.binary(BinaryOp::FloorDiv, at, flat.clone(), at, per_group.clone(), at)?;
        let first = self.binary(BinaryOp::Mul, at, number, eg, group.clone(), at)?;
        // The last group may have fewer rows.
        let left = self.binary(BinaryOp::Sub, esi, size_i, at, first.clone(), at)?;
        let rows = self.extremum(false, false, (at, &left), (eg, &group), at)?;
        let inside = self.binary(BinaryOp::Mod, at, flat, at, per_group, at)?;
        let down = self.binary(BinaryOp::Mod, at, inside.clone(), at, rows.clone(), at)?;
        let new_i = self.binary(BinaryOp::Add, at, first, at, down, at)?;
        let new_j = self.binary(BinaryOp::FloorDiv, at, inside, at, rows, at)?;
        let pair = Value::Tuple(vec![new_i, new_j]);
        if self.rules.constexpr_returns { Ok(pair) } else { self.decay(pair, at) }
    }

    /// `(x + div - 1) // div`
    pub(super) fn call_cdiv(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let (x, y) = (arguments.expr("x").unwrap_or(at), arguments.expr("div").unwrap_or(at));
        let (a, b) = (arguments.value("x").clone(), arguments.value("div").clone());
        let sum = self.binary(BinaryOp::Add, x, a, y, b.clone(), at)?;
        let less = self.binary(BinaryOp::Sub, at, sum, at, Value::int(1), at)?;
        let result = self.binary(BinaryOp::FloorDiv, at, less, y, b, at)?;
        // It is a helper of the language: what it returns is a run-time value until 3.7.
        if self.rules.constexpr_returns { Ok(result) } else { self.decay(result, at) }
    }

    pub(super) fn call_where(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let expr = |name| arguments.expr(name).unwrap_or(at);
        let condition = self.as_tile(arguments.value("condition"), expr("condition"))?;
        let (x, y) = (arguments.value("x"), arguments.value("y"));
        let pointer = |v: &Value| matches!(v, Value::Tile(t) if t.ty.elem.is_ptr());
        let (a, b) = if pointer(x) && pointer(y) {
            let a = self.as_tile(x, expr("x"))?;
            let b = self.as_tile(y, expr("y"))?;
            if a.ty.elem != b.ty.elem {
                let place = self.place(at);
                let message = format!("tl.where on pointers of different types: {} and {}", a.ty, b.ty);
                return Err(self.problem(Code::DTY017, place, message));
            }
            self.broadcast_pair((expr("x"), a), (expr("y"), b), "tl.where", at)?
        } else {
            if x.has_unknown() || y.has_unknown() {
                return Err(Poisoned);
            }
            let (a, b, _) = self.operands(Arithmetic::Plain, "tl.where", (expr("x"), x), (expr("y"), y), at)?;
            (a, b)
        };
        self.remark_condition(&condition, expr("condition"));
        let condition = self.truth(condition, expr("condition"))?;
        let (condition, a) = self.broadcast_pair((expr("condition"), condition), (expr("x"), a), "tl.where", at)?;
        let shape = a.ty.shape.clone();
        let b = self.broadcast_tile(b, &shape);
        let ty = a.ty.clone();
        let mut result = self.emit_like(OpKind::Select, &[&condition, &a, &b], ty);
        // Selecting is how undefined elements are replaced.
        result.undefined = None;
        Ok(Value::Tile(result))
    }

    pub(super) fn call_cast(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let expr = arguments.expr("input").unwrap_or(at);
        let dtype = self.dtype_argument(arguments.value("dtype"), arguments.expr("dtype").unwrap_or(at));
        let tile = self.as_tile(arguments.value("input"), expr)?;
        let dtype = dtype?;
        if self.flag(arguments, "bitcast")? {
            return self.bitcast(tile, dtype, expr).map(Value::Tile);
        }
        if tile.ty.elem == dtype {
            return Ok(Value::Tile(tile));
        }
        let rounding = arguments.value("fp_downcast_rounding");
        if let (Some(Const::Str(mode)), Some(from), Some(to)) = (rounding.as_const(), tile.ty.elem.scalar(), dtype.scalar()) {
            let place = self.place(arguments.expr("fp_downcast_rounding").unwrap_or(at));
            let narrowing = from.is_float() && to.is_float() && to.bits() < from.bits();
            match mode.as_str() {
                "rtne" | "rtz" if !narrowing => {
                    return Err(self.problem(
                        Code::LNG011,
                        place,
                        format!("a rounding mode is for narrowing floats; this cast goes from {from} to {to}"),
                    ));
                }
                "rtne" => {}
                "rtz" => return Ok(Value::Tile(self.cast_toward_zero(tile, to))),
                other => {
                    return Err(self.problem(
                        Code::LNG011,
                        place,
                        format!("{other:?} is no rounding mode: it is \"rtne\" or \"rtz\""),
                    ));
                }
            }
        }
        self.cast(tile, dtype, expr).map(Value::Tile)
    }

    /// The larger or smaller of two tiles of one type, and which one it was.
    pub(super) fn is_better(&mut self, maximum: bool, a: &Tile, b: &Tile, dtype: DType) -> Tile {
        self.compare_tiles(if maximum { CompareOp::Gt } else { CompareOp::Lt }, a.clone(), b.clone(), dtype)
    }
}

pub(super) fn extremum_op(maximum: bool, nan: bool, dtype: DType) -> TileOp {
    match (maximum, dtype.is_float(), dtype.is_signed_int()) {
        (true, true, _) if nan => TileOp::MaxNan,
        (false, true, _) if nan => TileOp::MinNan,
        (true, true, _) => TileOp::MaxF,
        (false, true, _) => TileOp::MinF,
        (true, false, true) => TileOp::MaxS,
        (false, false, true) => TileOp::MinS,
        (true, false, false) => TileOp::MaxU,
        (false, false, false) => TileOp::MinU,
    }
}
