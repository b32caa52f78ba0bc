//! `tl.dot`: the matrix product.
//!
//! **Invariant:** an accumulator operand always exists in the IR: zeros where the user gave none.

use tritium_tile::{OpKind, ops::DotPrecision};

use super::{
    builtin_calls::Arguments,
    evaluator::{Eval, Evaluator, Poisoned, ProblemExt, problem},
    undefined::Neutral,
    value::{Tile, Value},
};
use crate::{
    Db, SourceFile,
    body::ExprId,
    builtins::dtype_spelling,
    constant::Const,
    diagnostics::Code,
    dtype::DType,
    problem::{Applicability, Edit, Place},
    types::{TileType, same_shape, shape_text, symbolic_shape},
};

impl<'a> Evaluator<'a> {
    pub(super) fn call_dot(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let (x, y) = (arguments.expr("input").unwrap_or(at), arguments.expr("other").unwrap_or(at));
        let a = self.as_tile(arguments.value("input"), x);
        let b = self.as_tile(arguments.value("other"), y);
        let acc_expr = arguments.expr("acc").unwrap_or(at);
        let acc = match arguments.value("acc") {
            value if value.is_none() => Ok(None),
            value => self.as_tile(value, acc_expr).map(Some),
        };
        let out = self.dtype_argument(arguments.value("out_dtype"), arguments.expr("out_dtype").unwrap_or(at));
        let precision = self.precision(arguments, at);
        let (a, b) = (a?, b?);
        let (elem_a, elem_b) = (self.operand_type(&a, x)?, self.operand_type(&b, y)?);
        let fp8 = |d: DType| d.is_float() && d.bits() == 8;
        if elem_a != elem_b && !(fp8(elem_a) && fp8(elem_b)) {
            return Err(self.operand_mismatch((x, &a, elem_a), (y, &b, elem_b), at));
        }
        let (left, right) = (self.text(x), self.text(y));
        let named = |t: &Tile| match symbolic_shape(&t.ty.shape) {
            Some(symbolic) => format!("{} ({symbolic})", shape_text(&t.ty.shape)),
            None => shape_text(&t.ty.shape),
        };
        let rank = a.ty.rank();
        if rank < 2 || rank != b.ty.rank() {
            let place = self.place(at);
            let message = format!("tl.dot multiplies matrices, and `{left}` is {} and `{right}` is {}", a.ty, b.ty);
            return Err(self.problem(Code::DOT001, place, message));
        }
        let batch = rank - 2;
        if !same_shape(&a.ty.shape[..batch], &b.ty.shape[..batch]) {
            let place = self.place(at);
            let message = format!(
                "the batch sizes of a matrix product must be equal: `{left}` is {} and `{right}` is {}",
                named(&a),
                named(&b)
            );
            return Err(self.problem(Code::DOT001, place, message));
        }
        let (m, k) = (a.ty.shape[batch].clone(), a.ty.shape[batch + 1].clone());
        let (k2, n) = (b.ty.shape[batch].clone(), b.ty.shape[batch + 1].clone());
        if k.size != k2.size {
            let place = self.place(at);
            let message = format!(
                "the inner sizes of a matrix product must be equal: `{left}` is {} and `{right}` is {}, so {} meets {}",
                named(&a),
                named(&b),
                k.size,
                k2.size
            );
            let from = |d: &crate::types::Dim| match &d.symbol {
                Some(symbol) => format!("{} comes from {symbol} here", d.size),
                None => format!("{} comes from here", d.size),
            };
            self.report(problem(Code::DOT001, place, message).related(k.origin, from(&k)).related(k2.origin, from(&k2)));
            return Err(Poisoned);
        }
        let least = if elem_a.bits() == 8 { 32 } else { 16 };
        if k.size < least {
            let place = self.place(at);
            let message = format!(
                "tl.dot needs an inner size of at least {least} for {elem_a}, and `{left}` is {} and `{right}` is {}: use larger blocks, or `tl.sum({left}[:, :, None] * {right}[None, :, :], 1)`",
                named(&a),
                named(&b)
            );
            self.report(problem(Code::DOT002, place, message).related(k.origin, format!("{} comes from here", k.size)));
            return Err(Poisoned);
        }
        let acc = acc?;
        let out = match &acc {
            Some(acc) if self.rules.dot_follows_accumulator && arguments.expr("out_dtype").is_none() => acc.ty.elem,
            _ => out?,
        };
        let out = out.scalar().ok_or(Poisoned)?;
        let limit = arguments.value("max_num_imprecise_acc").as_const().and_then(Const::as_int).filter(|_| fp8(elem_a));
        if let Some(limit) = limit
            && limit > i128::from(k.size)
        {
            let place = self.place(arguments.expr("max_num_imprecise_acc").unwrap_or(at));
            let message = format!("`max_num_imprecise_acc` is {limit}, and the inner size is {}: it is at most that", k.size);
            return Err(self.problem(Code::LNG011, place, message));
        }
        if out == DType::BF16 && elem_a.is_float() {
            return Err(self.bf16_out(arguments, at));
        }
        let result = match elem_a {
            DType::I8 => DType::I32,
            DType::F64 => DType::F64,
            DType::F32 | DType::BF16 => DType::F32,
            _ => match out {
                DType::F16 | DType::F32 => out,
                _ => {
                    let place = self.place(arguments.expr("out_dtype").unwrap_or(at));
                    return Err(self.problem(
                        Code::DOT004,
                        place,
                        format!("a product of {elem_a} accumulates in f32 or f16, not in {out}"),
                    ));
                }
            },
        };
        let ty = TileType { elem: result.into(), shape: a.ty.shape[..batch].iter().cloned().chain([m, n]).collect() };
        let acc = match acc {
            Some(acc) if matches!(elem_a, DType::I8 | DType::F64) && out != result => {
                let place = self.place(at);
                let spelled = dtype_spelling(result);
                let message = format!("with an accumulator ({}), a product of {elem_a} needs `out_dtype={spelled}`", acc.ty);
                return Err(self.problem(Code::DOT004, place, message));
            }
            Some(acc) => {
                if acc.ty.elem != result.into() || !same_shape(&acc.ty.shape, &ty.shape) {
                    return Err(self.accumulator_mismatch((acc_expr, &acc), &ty, result));
                }
                acc
            }
            None => self.constant_tile(&Const::Int(0), result, ty.shape.clone()),
        };
        let precision = precision?;
        let sum_depth = limit.map(|limit| u32::try_from(limit).unwrap_or(0));
        if arguments.value("input_precision").is_none() && arguments.value("allow_tf32").is_none() {
            self.remark_tf32(&a, &b, at);
        }
        self.check_defined(&a, Some(batch + 1), "tl.dot", Neutral::zero("0.0"), at);
        self.check_defined(&b, Some(batch), "tl.dot", Neutral::zero("0.0"), at);
        let mut result = self.emit_like(OpKind::Dot { precision, sum_depth }, &[&a, &b, &acc], ty);
        result.varies = Tile::all_axes(rank);
        result.undefined = None;
        Ok(Value::Tile(result))
    }

    fn bf16_out(&mut self, arguments: &Arguments, at: ExprId) -> Poisoned {
        let expr = arguments.expr("out_dtype").unwrap_or(at);
        let place = self.argument_place(expr);
        let message =
            "tl.dot accumulates in f32 or f16, not in bf16: drop `out_dtype` and cast the result with `.to(tl.bfloat16)`";
        let edits = vec![Edit::RemoveArgument(place), Edit::InsertAfter(self.place(at), ".to(tl.bfloat16)".to_owned())];
        self.report(problem(Code::DOT005, place, message).fix(
            "Accumulate in f32, cast the result",
            Applicability::Suggested,
            edits,
        ));
        Poisoned
    }

    fn operand_type(&mut self, tile: &Tile, expr: ExprId) -> Eval<DType> {
        let allowed = |d: DType| {
            matches!(d, DType::I8 | DType::F16 | DType::BF16 | DType::F32 | DType::F64) || d.is_float() && d.bits() == 8
        };
        match tile.ty.elem.scalar() {
            Some(dtype) if allowed(dtype) => Ok(dtype),
            _ => {
                let place = self.place(expr);
                let message = format!(
                    "`{}` is {}, and tl.dot multiplies floats and i8: cast it with `.to(tl.float16)`",
                    self.text(expr),
                    tile.ty
                );
                Err(self.problem(Code::DOT003, place, message))
            }
        }
    }

    fn operand_mismatch(&mut self, lhs: (ExprId, &Tile, DType), rhs: (ExprId, &Tile, DType), at: ExprId) -> Poisoned {
        let (left, right) = (self.text(lhs.0), self.text(rhs.0));
        // The wider one is cast, so that the product runs at the narrower one's speed.
        let (wide, narrow) = if lhs.2.bits() >= rhs.2.bits() { (&lhs, &rhs) } else { (&rhs, &lhs) };
        let cast = format!(".to({})", dtype_spelling(narrow.2));
        let place = self.place(at);
        let message = format!(
            "tl.dot needs operands of one type: `{left}` is {} and `{right}` is {}; cast `{}` with `{cast}`",
            lhs.1.ty,
            rhs.1.ty,
            self.text(wide.0)
        );
        let edits = self.append(wide.0, &cast);
        self.report(problem(Code::DOT003, place, message).fix(format!("Cast to {}", narrow.2), Applicability::Suggested, edits));
        Poisoned
    }

    fn accumulator_mismatch(&mut self, acc: (ExprId, &Tile), ty: &TileType, result: DType) -> Poisoned {
        let place = self.place(acc.0);
        let text = self.text(acc.0);
        let origin = acc.1.ty.shape.iter().find_map(|d| d.origin);
        let remedy = if same_shape(&acc.1.ty.shape, &ty.shape) {
            format!(": start it as {}, and cast the final sum", dtype_spelling(result))
        } else {
            String::new()
        };
        let message = format!("the accumulator `{text}` is {}, and the product is {ty}{remedy}", acc.1.ty);
        self.report(problem(Code::DOT004, place, message).related(origin, "the accumulator is made here"));
        Poisoned
    }

    fn precision(&mut self, arguments: &Arguments, at: ExprId) -> Eval<DotPrecision> {
        let expr = arguments.expr("input_precision").unwrap_or(at);
        let place = self.place(expr);
        if !arguments.value("input_precision").is_none() && !arguments.value("allow_tf32").is_none() {
            return Err(self.problem(Code::LNG011, place, "give `input_precision` or `allow_tf32`, not both"));
        }
        match arguments.value("input_precision").to_const() {
            Some(Const::None) => {
                match (default_precision(self.db, self.function.file(self.db)), arguments.value("allow_tf32").to_const()) {
                    (Some(word), _) => self.precision_of(word, "TRITON_F32_DEFAULT: ", place),
                    (None, Some(Const::None)) => Ok(DotPrecision::Tf32),
                    (None, Some(value)) => Ok(if value.truth() { DotPrecision::Tf32 } else { DotPrecision::Ieee }),
                    (None, None) => Err(Poisoned),
                }
            }
            Some(Const::Str(word)) => self.precision_of(&word, "", place),
            // The type does not hang on it.
            None if arguments.value("input_precision").has_unknown() => {
                self.complete = false;
                Ok(DotPrecision::Tf32)
            }
            Some(other) => {
                let message = format!("`{}` is {other}, and an input precision is a word: \"tf32\", \"ieee\"", self.text(expr));
                Err(self.problem(Code::LNG011, place, message))
            }
            None => Err(self.not_constexpr(place, expr, "the input precision")),
        }
    }

    /// `from`: what a message says of where the word stands, if not at `place`.
    fn precision_of(&mut self, word: &str, from: &str, place: Place) -> Eval<DotPrecision> {
        Ok(match word.to_ascii_lowercase().as_str() {
            "tf32" => DotPrecision::Tf32,
            "tf32x3" => DotPrecision::Tf32x3,
            "ieee" => DotPrecision::Ieee,
            "bf16x3" => DotPrecision::Bf16x3,
            "bf16x6" => DotPrecision::Bf16x6,
            _ => {
                let words = "it is \"tf32\", \"tf32x3\", \"bf16x3\", \"bf16x6\" or \"ieee\"";
                let message = format!("{from}{word:?} is no input precision: {words}");
                return Err(self.problem(Code::LNG011, place, message));
            }
        })
    }
}

/// The word of `TRITON_F32_DEFAULT`. A query, as what else a user chooses changes no product.
#[salsa::tracked(returns(as_deref))]
fn default_precision(db: &dyn Db, _file: SourceFile) -> Option<String> {
    db.settings().chosen(db).shell.fp32_default.clone()
}
