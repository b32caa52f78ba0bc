//! Operators with a run-time operand: their types, and the operations they become.
//!
//! **Invariant:** the type is [`promote`](super::promote)'s; nothing here decides one.

use tritium_tile::{
    OpKind,
    ops::{BinaryOp as TileOp, CastOp, Predicate},
};

use super::{
    budget::MAX_VALUE_NODES,
    evaluator::{Eval, Evaluator, Poisoned, ProblemExt, problem},
    promote::{self, Arithmetic, Clash, Operand},
    value::{Constant, Tile, Value},
};
use crate::{
    body::{BinaryOp, CompareOp, ExprId, UnaryOp},
    constant::Const,
    diagnostics::Code,
    dtype::DType,
    problem::{Applicability, Edit},
    types::{Element, TileType},
};

impl<'a> Evaluator<'a> {
    /// A number becomes a run-time scalar of its own type; a tile stays.
    pub(super) fn as_tile(&mut self, value: &Value, at: ExprId) -> Eval<Tile> {
        match value {
            Value::Tile(tile) => Ok(tile.clone()),
            Value::Unknown => Err(Poisoned),
            Value::Const(constant) => match promote::literal_type(&constant.value) {
                Ok(dtype) => Ok(self.constant_tile(&constant.value, dtype, Default::default())),
                Err(Clash::Nonrepresentable(value)) => {
                    let place = self.place(at);
                    Err(self.problem(Code::DTY004, place, format!("{value} does not fit in 64 bits")))
                }
                Err(_) => Err(self.not_a_number(value, at)),
            },
            other if other.has_unknown() => Err(Poisoned),
            other => Err(self.not_a_number(other, at)),
        }
    }

    fn not_a_number(&mut self, value: &Value, at: ExprId) -> Poisoned {
        let place = self.place(at);
        let text = self.text(at);
        self.problem(
            Code::DTY017,
            place,
            format!("`{text}` is {}, which has no run-time value: a number or a tile is needed here", value.ty()),
        )
    }

    pub(super) fn binary(&mut self, op: BinaryOp, lhs: ExprId, a: Value, rhs: ExprId, b: Value, at: ExprId) -> Eval<Value> {
        if a.has_unknown() || b.has_unknown() {
            return Err(Poisoned);
        }
        if let (Value::Const(a), Value::Const(b)) = (&a, &b) {
            return self.constant_binary(op, a, b, at);
        }
        if op == BinaryOp::Add
            && let (Some(a), Some(b)) = (a.items(), b.items())
        {
            return Ok(Value::Tuple([a, b].concat()));
        }
        if op == BinaryOp::Mul
            && let (Some(items), Some(times)) = (a.items(), b.as_const().and_then(Const::as_int))
            && (0..=1024).contains(&times)
        {
            if a.nodes().is_none_or(|nodes| nodes.saturating_mul(times as usize) > MAX_VALUE_NODES) {
                return Err(self.too_large(at));
            }
            return Ok(Value::Tuple(items.iter().cloned().cycle().take(items.len() * times as usize).collect()));
        }
        let pointer = |v: &Value| matches!(v, Value::Tile(t) if t.ty.elem.is_ptr());
        if pointer(&a) || pointer(&b) {
            return self.pointer_arithmetic(op, lhs, a, rhs, b, at).map(Value::Tile);
        }
        let arithmetic = match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => Arithmetic::Plain,
            BinaryOp::Div => Arithmetic::Div,
            BinaryOp::FloorDiv => Arithmetic::FloorDiv,
            BinaryOp::Mod => Arithmetic::Rem,
            BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor | BinaryOp::Shl | BinaryOp::Shr => Arithmetic::Bits,
            BinaryOp::Pow | BinaryOp::MatMul => return Err(self.no_operator(op, lhs, &a, rhs, &b, at)),
        };
        // `>>` goes by the signedness of the left operand's own type.
        let arithmetic_shift = match (&a, &b) {
            (Value::Tile(t), _) | (_, Value::Tile(t)) => t.ty.elem.scalar().is_some_and(DType::is_signed_int),
            _ => false,
        };
        let (a, b, common) = self.operands(arithmetic, &op.to_string(), (lhs, &a), (rhs, &b), at)?;
        let signed = common.is_signed_int();
        let kind = if common.is_float() {
            match op {
                BinaryOp::Add => TileOp::AddF,
                BinaryOp::Sub => TileOp::SubF,
                BinaryOp::Mul => TileOp::MulF,
                BinaryOp::Div => TileOp::DivF,
                _ => TileOp::RemF,
            }
        } else {
            match op {
                BinaryOp::Add => TileOp::AddI,
                BinaryOp::Sub => TileOp::SubI,
                BinaryOp::Mul => TileOp::MulI,
                BinaryOp::Div => {
                    let result = promote::result_type(arithmetic, common);
                    let a = self.cast(a, result.into(), at)?;
                    let b = self.cast(b, result.into(), at)?;
                    let ty = a.ty.clone();
                    return Ok(Value::Tile(self.emit_like(OpKind::Binary(TileOp::DivF), &[&a, &b], ty)));
                }
                BinaryOp::FloorDiv => {
                    if signed {
                        TileOp::DivS
                    } else {
                        TileOp::DivU
                    }
                }
                BinaryOp::Mod => {
                    if signed {
                        TileOp::RemS
                    } else {
                        TileOp::RemU
                    }
                }
                BinaryOp::BitAnd => TileOp::And,
                BinaryOp::BitOr => TileOp::Or,
                BinaryOp::BitXor => TileOp::Xor,
                BinaryOp::Shl => TileOp::Shl,
                BinaryOp::Shr => {
                    if arithmetic_shift {
                        TileOp::ShrS
                    } else {
                        TileOp::ShrU
                    }
                }
                BinaryOp::Pow | BinaryOp::MatMul => return Err(Poisoned),
            }
        };
        let ty = a.ty.clone();
        Ok(Value::Tile(self.emit_like(OpKind::Binary(kind), &[&a, &b], ty)))
    }

    /// Both operands converted to their common type and broadcast to their common shape.
    pub(super) fn operands(
        &mut self,
        arithmetic: Arithmetic,
        op: &str,
        lhs: (ExprId, &Value),
        rhs: (ExprId, &Value),
        at: ExprId,
    ) -> Eval<(Tile, Tile, DType)> {
        let side = |s: &mut Self, (expr, value): (ExprId, &Value)| match value {
            Value::Tile(tile) => match tile.ty.elem {
                Element::Scalar(dtype) => Ok(Operand::Tile(dtype)),
                Element::Ptr { .. } => Err(s.not_a_number(value, expr)),
            },
            Value::Const(constant) => Ok(Operand::Literal(constant.value.clone())),
            Value::Unknown => Err(Poisoned),
            other => Err(s.not_a_number(other, expr)),
        };
        let a = side(self, lhs)?;
        let b = side(self, rhs)?;
        let common = match promote::common_type(self.rules, arithmetic, &a, &b) {
            Ok(common) => common,
            Err(clash) => return Err(self.clash(clash, op, lhs, rhs, at)),
        };
        let a = self.converted(lhs, common)?;
        let b = self.converted(rhs, common)?;
        let (a, b) = self.broadcast_pair((lhs.0, a), (rhs.0, b), op, at)?;
        self.remark_promotion(op, lhs, rhs, common, at);
        Ok((a, b, common))
    }

    /// An operand in the common type: literals are made in it.
    fn converted(&mut self, (expr, value): (ExprId, &Value), dtype: DType) -> Eval<Tile> {
        match value {
            Value::Const(constant) => Ok(self.constant_tile(&constant.value, dtype, Default::default())),
            other => {
                let tile = self.as_tile(other, expr)?;
                self.cast(tile, dtype.into(), expr)
            }
        }
    }

    fn clash(&mut self, clash: Clash, op: &str, lhs: (ExprId, &Value), rhs: (ExprId, &Value), at: ExprId) -> Poisoned {
        let place = self.place(at);
        let (a, b) = (self.text(lhs.0), self.text(rhs.0));
        let (code, message) = match clash {
            Clash::NoCommonType(x, y) => (
                Code::DTY017,
                format!(
                    "`{a}` is {x} and `{b}` is {y}: an 8-bit float and an integer have no common type; cast one with `.to(…)`"
                ),
            ),
            Clash::Signedness(x, y) => (
                Code::DTY003,
                format!("`{op}` on integers of different signedness: `{a}` is {x} and `{b}` is {y}; cast one with `.to(…)`"),
            ),
            Clash::OutOfRange(value, dtype) => {
                let (low, high) = promote::int_range(dtype);
                (
                    Code::DTY004,
                    format!(
                        "{value} does not fit in {dtype} ({low} to {high}), the type of the other side of `{op}`: cast that side to a wider type"
                    ),
                )
            }
            Clash::NegativeForUnsigned(value, dtype) => (
                Code::DTY004,
                format!(
                    "{value} is negative and {dtype}, the type of the other side of `{op}`, is unsigned: cast that side to a signed type"
                ),
            ),
            Clash::Fp8Literal(dtype) => (
                Code::DTY004,
                format!("a number other than 0 beside {dtype} needs Triton 3.7: cast the tile with `.to(tl.float16)` first"),
            ),
            Clash::NotInteger(dtype) => {
                let remedy = if op == "//" { ": use `tl.floor(a / b)`" } else { "" };
                (Code::LNG005, format!("`{op}` needs integers, and `{a} {op} {b}` is computed in {dtype}{remedy}"))
            }
            Clash::Nonrepresentable(value) => (Code::DTY004, format!("{value} does not fit in 64 bits")),
            Clash::NotNumber(_) => {
                let (expr, value) = if matches!(lhs.1, Value::Tile(_)) { rhs } else { lhs };
                return self.not_a_number(value, expr);
            }
        };
        self.problem(code, place, message)
    }

    fn no_operator(&mut self, op: BinaryOp, lhs: ExprId, a: &Value, rhs: ExprId, b: &Value, at: ExprId) -> Poisoned {
        let (left, right) = (self.text(lhs), self.text(rhs));
        let place = self.place(at);
        let (message, new) = match op {
            BinaryOp::MatMul => (
                format!("`@` is not an operator on tiles: use `tl.dot({left}, {right})`"),
                Some(format!("tl.dot({left}, {right})")),
            ),
            _ => {
                let square = b.as_const() == Some(&Const::Int(2)) && !left.contains('(') && !left.contains('…');
                let remedy = if square {
                    format!("write `{left} * {left}`")
                } else {
                    "multiply, or use `tl.exp2(y * tl.log2(x))`".to_owned()
                };
                (
                    format!("`**` is not an operator on tiles (`{left}` is {}): {remedy}", a.ty()),
                    square.then(|| format!("({left} * {left})")),
                )
            }
        };
        let mut report = problem(Code::LNG005, place, message);
        if let Some(new) = new.filter(|n| !n.contains('…')) {
            report = report.fix(format!("Replace with `{new}`"), Applicability::Suggested, vec![Edit::Replace(place, new)]);
        }
        self.report(report);
        Poisoned
    }

    fn pointer_arithmetic(&mut self, op: BinaryOp, lhs: ExprId, a: Value, rhs: ExprId, b: Value, at: ExprId) -> Eval<Tile> {
        let is_ptr = |v: &Value| matches!(v, Value::Tile(t) if t.ty.elem.is_ptr());
        let (pointer, offset, offset_expr, pointer_expr) = match op {
            BinaryOp::Add | BinaryOp::Sub if is_ptr(&a) && !is_ptr(&b) => (a, b, rhs, lhs),
            BinaryOp::Add if is_ptr(&b) && !is_ptr(&a) => (b, a, lhs, rhs),
            _ => {
                let message = format!(
                    "`{} {op} {}`: {} {op} {} has no meaning; a pointer takes `+` or `-` with an integer offset",
                    self.text(lhs),
                    self.text(rhs),
                    a.ty(),
                    b.ty()
                );
                let place = self.place(at);
                return Err(self.problem(Code::LNG005, place, message));
            }
        };
        let pointer = self.as_tile(&pointer, pointer_expr)?;
        let mut offset = self.as_tile(&offset, offset_expr)?;
        let Some(dtype) = offset.ty.elem.scalar().filter(|d| d.is_int()) else {
            let place = self.place(offset_expr);
            let text = self.text(offset_expr);
            let remedy = match self.body.expr(offset_expr) {
                crate::body::Expr::Binary { op: BinaryOp::Div, .. } => "divide with `//`, or cast it with `.to(tl.int32)`",
                _ => "cast it with `.to(tl.int32)`",
            };
            let message = format!("`{text}` is {}, and the offset of a pointer counts elements: {remedy}", offset.ty);
            let fix = format!("({text}).to(tl.int32)");
            let mut report = problem(Code::DTY001, place, message);
            if !fix.contains('…') {
                report = report.fix("Cast to int32", Applicability::Suggested, vec![Edit::Replace(place, fix)]);
            }
            self.report(report);
            return Err(Poisoned);
        };
        // Unsigned offsets are counted as what they are, in 64 bits; narrow ones are widened.
        let width = match dtype {
            DType::I32 | DType::I64 | DType::U64 => None,
            DType::I8 | DType::I16 => Some(DType::I32),
            _ => Some(DType::I64),
        };
        if let Some(width) = width {
            offset = self.cast(offset, width.into(), at)?;
        }
        if op == BinaryOp::Sub {
            offset = self.negated(offset);
        }
        let (pointer, offset) = self.broadcast_pair((pointer_expr, pointer), (offset_expr, offset), "+", at)?;
        let ty = pointer.ty.clone();
        Ok(self.emit_like(OpKind::AddPtr, &[&pointer, &offset], ty))
    }

    /// `0 - x`, which is +0 for a float that is +0: unlike a change of sign.
    fn negated(&mut self, tile: Tile) -> Tile {
        let dtype = tile.ty.elem.scalar().unwrap_or(DType::I32);
        let (zero, op) = if dtype.is_float() { (Const::float(0.0), TileOp::SubF) } else { (Const::Int(0), TileOp::SubI) };
        let zero = self.constant_tile(&zero, dtype, tile.ty.shape.clone());
        let ty = tile.ty.clone();
        self.emit_like(OpKind::Binary(op), &[&zero, &tile], ty)
    }

    pub(super) fn unary_tile(&mut self, op: UnaryOp, tile: Tile, operand: ExprId, at: ExprId) -> Eval<Tile> {
        let place = self.place(at);
        let Some(dtype) = tile.ty.elem.scalar() else {
            let text = self.text(operand);
            return Err(self.problem(Code::LNG005, place, format!("`{op}{text}`: `{text}` is {}, a pointer", tile.ty)));
        };
        let ty = tile.ty.clone();
        match op {
            UnaryOp::Neg => Ok(self.negated(tile)),
            UnaryOp::Pos => {
                let text = self.text(operand);
                Err(self.problem(Code::LNG005, place, format!("unary `+` is not an operator on tiles: write `{text}`")))
            }
            UnaryOp::Invert if dtype.is_float() => {
                let text = self.text(operand);
                Err(self.problem(Code::LNG005, place, format!("`~{text}` needs an integer, and `{text}` is {}", tile.ty)))
            }
            UnaryOp::Not if dtype != DType::I1 => {
                let text = self.text(operand);
                let message = format!("`not {text}` needs i1, and `{text}` is {}: write `{text} == 0`", tile.ty);
                Err(self.problem(Code::LNG005, place, message))
            }
            UnaryOp::Invert | UnaryOp::Not => {
                let ones = if dtype == DType::I1 { Const::Int(1) } else { Const::Int(-1) };
                let ones = self.constant_tile(&ones, dtype, ty.shape.clone());
                Ok(self.emit_like(OpKind::Binary(TileOp::Xor), &[&tile, &ones], ty))
            }
        }
    }

    // ---- comparison

    pub(super) fn compare(&mut self, op: CompareOp, lhs: ExprId, a: Value, rhs: ExprId, b: Value, at: ExprId) -> Eval<Value> {
        if a.has_unknown() || b.has_unknown() {
            return Err(Poisoned);
        }
        if matches!(op, CompareOp::Is | CompareOp::IsNot) {
            let same = match (a.to_const(), b.to_const()) {
                (Some(a), Some(b)) => a == b,
                _ => a == b,
            };
            return Ok(Value::bool(same == (op == CompareOp::Is)));
        }
        if matches!(op, CompareOp::In | CompareOp::NotIn) {
            return Err(self.incomparable(op, lhs, &a, rhs, &b, at));
        }
        if let (Some(a), Some(b)) = (a.to_const(), b.to_const()) {
            return self.constant_compare(op, &a, &b, at);
        }
        if !a.has_tile() && !b.has_tile() {
            // Types, functions and the like are the same or they are not.
            let equal = same_type_value(&a, &b);
            return match op {
                CompareOp::Eq => Ok(Value::bool(equal)),
                CompareOp::Ne => Ok(Value::bool(!equal)),
                _ => Err(self.incomparable(op, lhs, &a, rhs, &b, at)),
            };
        }
        // Tuples of the very same values are equal; others would ask at run time, which a tuple cannot.
        if matches!(op, CompareOp::Eq | CompareOp::Ne) && a.items().is_some() && a.unchanged(&b) {
            return Ok(Value::bool(op == CompareOp::Eq));
        }
        let pointer = |v: &Value| matches!(v, Value::Tile(t) if t.ty.elem.is_ptr());
        if pointer(&a) || pointer(&b) || a.is_none() || b.is_none() || a.items().is_some() || b.items().is_some() {
            return Err(self.incomparable(op, lhs, &a, rhs, &b, at));
        }
        self.remark_precedence(op, (lhs, &a), (rhs, &b), at);
        // Literals take their own type first, until 3.9.
        let (a, b) = if self.rules.weak_comparisons {
            (a, b)
        } else {
            (Value::Tile(self.as_tile(&a, lhs)?), Value::Tile(self.as_tile(&b, rhs)?))
        };
        let (a, b, common) = self.operands(Arithmetic::Plain, op.as_str(), (lhs, &a), (rhs, &b), at)?;
        Ok(Value::Tile(self.compare_tiles(op, a, b, common)))
    }

    /// Compares tiles of one type and shape.
    pub(super) fn compare_tiles(&mut self, op: CompareOp, a: Tile, b: Tile, common: DType) -> Tile {
        let predicate = match (op, common.is_float(), common.is_signed_int()) {
            (CompareOp::Eq, true, _) => Predicate::EqF,
            (CompareOp::Lt, true, _) => Predicate::LtF,
            (CompareOp::Le, true, _) => Predicate::LeF,
            (CompareOp::Gt, true, _) => Predicate::GtF,
            (CompareOp::Ge, true, _) => Predicate::GeF,
            (_, true, _) => Predicate::NeF,
            (CompareOp::Eq, false, _) => Predicate::Eq,
            (CompareOp::Lt, false, true) => Predicate::LtS,
            (CompareOp::Le, false, true) => Predicate::LeS,
            (CompareOp::Gt, false, true) => Predicate::GtS,
            (CompareOp::Ge, false, true) => Predicate::GeS,
            (CompareOp::Lt, false, false) => Predicate::LtU,
            (CompareOp::Le, false, false) => Predicate::LeU,
            (CompareOp::Gt, false, false) => Predicate::GtU,
            (CompareOp::Ge, false, false) => Predicate::GeU,
            (_, false, _) => Predicate::Ne,
        };
        let ty = a.ty.with_elem(DType::I1);
        self.emit_like(OpKind::Compare(predicate), &[&a, &b], ty)
    }

    fn incomparable(&mut self, op: CompareOp, lhs: ExprId, a: &Value, rhs: ExprId, b: &Value, at: ExprId) -> Poisoned {
        if matches!(op, CompareOp::In | CompareOp::NotIn) {
            let place = self.place(at);
            let message = format!("`{op}` is not an operator in a Triton function: compare with each value, joined by `or`");
            return self.problem(Code::LNG005, place, message);
        }
        let remedy = match (op, a.is_none() || b.is_none()) {
            (CompareOp::Eq, true) => "; ask `is None`",
            (CompareOp::Ne, true) => "; ask `is not None`",
            _ => "",
        };
        let place = self.place(at);
        let message =
            format!("`{} {op} {}`: {} and {} cannot be compared{remedy}", self.text(lhs), self.text(rhs), a.ty(), b.ty());
        self.problem(Code::LNG005, place, message)
    }
}

/// `x.dtype == tl.float32` compares types, whatever they are wrapped in.
fn same_type_value(a: &Value, b: &Value) -> bool {
    let as_type = |v: &Value| match v {
        Value::Const(Constant { value: Const::DType(d), .. }) => Some(TileType::scalar(*d)),
        Value::Type(ty) => Some(ty.clone()),
        _ => None,
    };
    match (as_type(a), as_type(b)) {
        (Some(a), Some(b)) => a.same(&b),
        _ => a == b,
    }
}

/// A cast that only changes the front end's view (signedness).
pub(super) fn relabel(tile: Tile, elem: Element) -> Tile {
    Tile { ty: tile.ty.with_elem(elem), ..tile }
}

/// Which conversion takes one number type to another; `None` if the bits stay.
pub(super) fn number_cast(from: DType, to: DType) -> Option<CastOp> {
    match (from.is_float(), to.is_float()) {
        (true, true) => Some(CastOp::Float),
        (true, false) => Some(if to.is_signed_int() { CastOp::FToS } else { CastOp::FToU }),
        (false, true) => Some(if from.is_signed_int() { CastOp::SToF } else { CastOp::UToF }),
        (false, false) => match to.bits().cmp(&from.bits()) {
            std::cmp::Ordering::Less => Some(CastOp::Trunc),
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => Some(if from.is_signed_int() { CastOp::ExtS } else { CastOp::ExtU }),
        },
    }
}
