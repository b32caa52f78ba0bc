//! Tiles from nothing: `arange`, `zeros`, `full`, program ids.
//!
//! **Invariant:** every extent made here knows its name and its place.

use tritium_tile::{OpKind, ops::SpecialRegister};

use super::{
    builtin_calls::Arguments,
    evaluator::{Eval, Evaluator, Poisoned, ProblemExt, problem},
    value::{Constant, Tile, Value},
};
use crate::{
    body::ExprId,
    builtins::CustomFloat,
    constant::Const,
    diagnostics::Code,
    dtype::DType,
    problem::{Applicability, Edit},
    types::{Dim, Dims, TileType},
};

impl<'a> Evaluator<'a> {
    pub(super) fn call_program_id(&mut self, arguments: &Arguments, count: bool, at: ExprId) -> Eval<Value> {
        let expr = arguments.expr("axis").unwrap_or(at);
        let value = arguments.value("axis");
        let place = self.place(expr);
        let axis = match value.as_const().and_then(Const::as_int) {
            Some(axis @ 0..=2) => axis as u8,
            Some(axis) => return Err(self.problem(Code::SHP005, place, format!("a grid has axes 0, 1 and 2, not {axis}"))),
            None if value.has_unknown() => return Err(Poisoned),
            None => return Err(self.not_constexpr(place, expr, "an axis of the grid")),
        };
        let ty = TileType::scalar(DType::I32);
        let kind = if count { OpKind::NumPrograms { axis } } else { OpKind::ProgramId { axis } };
        Ok(Value::Tile(Tile { id: self.emit_value(kind, &[], &ty), ty, varies: 0, undefined: None }))
    }

    pub(super) fn call_special_register(
        &mut self,
        _: &Arguments,
        register: SpecialRegister,
        dtype: DType,
        _: ExprId,
    ) -> Eval<Value> {
        let ty = TileType::scalar(dtype);
        let id = self.emit_value(OpKind::SpecialRegister(register), &[], &ty);
        Ok(Value::Tile(Tile { id, ty, varies: 0, undefined: None }))
    }

    /// The integer type of a width.
    pub(super) fn call_int_type(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let signed = self.flag(arguments, "signed")?;
        let (value, expr) = (arguments.value("bitwidth"), arguments.expr("bitwidth").unwrap_or(at));
        let place = self.place(expr);
        let Some(bits) = value.as_const().and_then(Const::as_int) else {
            if value.has_unknown() {
                return Err(Poisoned);
            }
            return Err(self.not_constexpr(place, expr, "a width"));
        };
        let found = DType::ALL.iter().find(|d| {
            // The only type of one bit is signed to Triton.
            d.is_int() && i128::from(d.bits()) == bits && (d.is_signed_int() || bits == 1) == signed
        });
        match found {
            Some(dtype) => Ok(Value::constant(Const::DType(*dtype))),
            None => {
                let kind = if signed { "a signed" } else { "an unsigned" };
                Err(self.problem(Code::LNG011, place, format!("there is no type of {kind} integer of {bits} bits")))
            }
        }
    }

    /// Does the board that is compiled for have this compute capability, or a newer one?
    pub(super) fn call_capability(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let mut numbers = Vec::new();
        for name in ["major", "minor"] {
            let (value, expr) = (arguments.value(name), arguments.expr(name).unwrap_or(at));
            match value.as_const().and_then(Const::as_int).and_then(|n| u32::try_from(n).ok()) {
                Some(number) => numbers.push(number),
                None if value.has_unknown() => return Err(Poisoned),
                None => {
                    let place = self.place(expr);
                    return Err(self.not_constexpr(place, expr, "a compute capability"));
                }
            }
        }
        let gpu = crate::project::project(self.db, self.function.file(self.db)).target();
        match crate::target::has_capability(gpu.sm.name, numbers[0], numbers[1]) {
            Some(answer) => Ok(Value::bool(answer)),
            None => Err(Poisoned),
        }
    }

    pub(super) fn call_arange(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let mut bounds = Vec::new();
        for name in ["start", "end"] {
            let (value, expr) = (arguments.value(name), arguments.expr(name).unwrap_or(at));
            let place = self.place(expr);
            match value {
                Value::Unknown => return Err(Poisoned),
                Value::Const(constant) => match constant.value.as_int() {
                    Some(i) => bounds.push((i, constant.clone(), expr)),
                    None => {
                        let message =
                            format!("`{}` is {}, and the bounds of tl.arange are integers", self.text(expr), constant.value);
                        return Err(self.problem(Code::SHP003, place, message));
                    }
                },
                _ => return Err(self.not_constexpr_as(Code::SHP003, place, expr, "the bounds of tl.arange")),
            }
        }
        let (start, _, start_expr) = bounds[0].clone();
        let (end, constant, end_expr) = bounds[1].clone();
        let place = self.place(at);
        if end <= start {
            return Err(self.problem(
                Code::SHP002,
                place,
                format!("tl.arange({start}, {end}) is empty: the end must be greater than the start"),
            ));
        }
        if start < 0 || end > i128::from(i32::MAX) {
            let place = self.place(if start < 0 { start_expr } else { end_expr });
            return Err(self.problem(
                Code::SHP002,
                place,
                format!("tl.arange({start}, {end}) leaves the range of i32 from 0 up"),
            ));
        }
        let size = end - start;
        let symbol = if start == 0 { constant.symbol.clone() } else { None };
        let length = Constant { value: Const::Int(size), symbol: symbol.clone() };
        self.power_of_two(&length, size, if start == 0 { end_expr } else { at })?;
        let shape: Dims = Dims::from_iter([Dim { size: size as u32, symbol, origin: Some(place) }]);
        self.check_elements(&shape, Some(at))?;
        let ty = TileType { elem: DType::I32.into(), shape };
        let id = self.emit_value(OpKind::Iota { start: start as i32, end: end as i32 }, &[], &ty);
        Ok(Value::Tile(Tile { id, ty, varies: 1, undefined: None }))
    }

    /// An element type given as an argument.
    pub(super) fn dtype_argument(&mut self, value: &Value, expr: ExprId) -> Eval<crate::types::Element> {
        match value {
            Value::Unknown => Err(Poisoned),
            Value::Const(Constant { value: Const::DType(dtype), .. }) => Ok((*dtype).into()),
            Value::Type(ty) if ty.is_scalar() => Ok(ty.elem),
            Value::CustomFloat(float) => {
                let place = self.place(expr);
                let name = float.name();
                Err(match float {
                    CustomFloat::E4B15 => {
                        self.complete = false;
                        let message = format!(
                            "tiles of `tl.float{name}` are part of Triton, but Tritium does not know them yet: what depends on them is not checked"
                        );
                        self.problem(Code::LIM002, place, message)
                    }
                    CustomFloat::E4B8 | CustomFloat::E5B16 => {
                        let message =
                            format!("`tl.float{name}` is a type of AMD GPUs; NVIDIA GPUs have `tl.float8e4nv` and `tl.float8e5`");
                        self.problem(Code::DTY016, place, message)
                    }
                })
            }
            other => {
                let place = self.place(expr);
                let text = self.text(expr);
                let remedy = match other {
                    Value::Class(crate::builtins::Class::Int) => ": write `tl.int32`".to_owned(),
                    Value::Class(crate::builtins::Class::Float) => ": write `tl.float32`".to_owned(),
                    Value::Const(Constant { value: Const::Str(name), .. }) => match DType::from_name(name) {
                        Some(dtype) => format!(": write `{}`", crate::builtins::dtype_spelling(dtype)),
                        None => String::new(),
                    },
                    _ => String::new(),
                };
                Err(self.problem(
                    Code::LNG011,
                    place,
                    format!("`{text}` is {}, and an element type is needed here{remedy}", other.ty()),
                ))
            }
        }
    }

    pub(super) fn call_full(&mut self, arguments: &Arguments, zero: bool, at: ExprId) -> Eval<Value> {
        let shape_expr = arguments.expr("shape").unwrap_or(at);
        let dtype = self.dtype_argument(arguments.value("dtype"), arguments.expr("dtype").unwrap_or(at));
        let shape = match arguments.value("shape") {
            Value::Const(Constant { value: Const::Int(_), .. }) => {
                let text = self.text(shape_expr);
                let place = self.place(shape_expr);
                let new = format!("({text},)");
                // A name may stand for a tuple elsewhere.
                let applicability = match self.body.expr(shape_expr) {
                    crate::body::Expr::Int(_) => Applicability::Safe,
                    _ => Applicability::Suggested,
                };
                self.report(problem(Code::LNG011, place, format!("a shape is a tuple: write `{new}`")).fix(
                    "Make it a tuple",
                    applicability,
                    vec![Edit::Replace(place, new)],
                ));
                Err(Poisoned)
            }
            shape => self.shape_argument(&[(shape.clone(), shape_expr)]),
        };
        let (dtype, shape) = (dtype?, shape?);
        let Some(dtype) = dtype.scalar() else {
            let place = self.place(at);
            return Err(self.problem(Code::LNG011, place, "a tile of pointers cannot be filled with a number"));
        };
        // A shape argument's extents belong to this call.
        let place = self.place(at);
        let shape: Dims = shape.into_iter().map(|d| Dim { origin: Some(place), ..d }).collect();
        if zero {
            return Ok(Value::Tile(self.constant_tile(&Const::Int(0), dtype, shape)));
        }
        let expr = arguments.expr("value").unwrap_or(at);
        match arguments.value("value") {
            Value::Unknown => Err(Poisoned),
            Value::Const(constant) if constant.value.as_float().is_some() => {
                let value = constant.value.clone();
                self.check_fits(&value, dtype, expr)?;
                Ok(Value::Tile(self.constant_tile(&value, dtype, shape)))
            }
            other => {
                let tile = self.as_tile(other, expr)?;
                if tile.ty.num_elements() != 1 {
                    let place = self.place(expr);
                    let message = format!("`{}` is {}, and tl.full takes one value", self.text(expr), tile.ty);
                    return Err(self.problem(Code::SHP006, place, message));
                }
                let tile = self.reshape_to(tile, Dims::new(), false);
                let tile = self.cast(tile, dtype.into(), expr)?;
                Ok(Value::Tile(self.broadcast_tile(tile, &shape)))
            }
        }
    }

    /// A literal that must be a value of a type.
    fn check_fits(&mut self, value: &Const, dtype: DType, expr: ExprId) -> Eval<()> {
        let place = self.place(expr);
        match value {
            Const::Float(f) if dtype.is_int() => {
                Err(self.problem(Code::DTY004, place, format!("{:?} is a float and cannot fill a tile of {dtype}", f.get())))
            }
            _ if dtype.is_int() => {
                let (low, high) = super::promote::int_range(dtype);
                match value.as_int() {
                    // Signed types take the low bits of a number that is too large; unsigned ones refuse it.
                    Some(i) if !(low..=high).contains(&i) && dtype.is_signed_int() && fits_machine_int(i) => {
                        let message = format!("{i} does not fit in {dtype} ({low} to {high}) and wraps around without a word");
                        self.problem(Code::DTY018, place, message);
                        Ok(())
                    }
                    Some(i) if !(low..=high).contains(&i) => {
                        Err(self.problem(Code::DTY004, place, format!("{i} does not fit in {dtype} ({low} to {high})")))
                    }
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    pub(super) fn call_zeros_like(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let expr = arguments.expr("input").unwrap_or(at);
        let tile = self.as_tile(arguments.value("input"), expr)?;
        match tile.ty.elem.scalar() {
            Some(dtype) => Ok(Value::Tile(self.constant_tile(&Const::Int(0), dtype, tile.ty.shape))),
            None => {
                let place = self.place(at);
                let message = format!("`{}` is {}: there is no zero pointer", self.text(expr), tile.ty);
                self.report(problem(Code::LNG011, place, message).related(None, ""));
                Err(Poisoned)
            }
        }
    }
}

/// Triton hands constants to its builder as 64-bit integers.
fn fits_machine_int(value: i128) -> bool {
    i64::try_from(value).is_ok()
}
