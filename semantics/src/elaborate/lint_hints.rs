//! What works, but not as it looks: logical operators on tiles, precedence, silent rounding, the precision of products.
//!
//! **Invariant:** a remark changes nothing: the value and the operations are the same with and without it.

use super::{
    evaluator::{Evaluator, ProblemExt, problem},
    value::{Tile, Value},
};
use crate::{
    body::{BinaryOp, BoolOp, CompareOp, Expr, ExprId},
    builtins::{Builtin, dtype_spelling},
    diagnostics::Code,
    dtype::DType,
    problem::{Applicability, At, Edit, Piece, Place},
    types::Element,
};
use tritium_tile::{OpKind, ops::CastOp};

pub(super) fn text(text: impl Into<String>) -> Piece {
    Piece::Text(text.into())
}

impl<'a> Evaluator<'a> {
    pub(super) fn source(&self, expr: ExprId) -> Piece {
        Piece::Source(self.place(expr))
    }

    /// An argument with its keyword.
    pub(super) fn argument_place(&self, value: ExprId) -> Place {
        Place { function: self.function, at: At::Argument(value) }
    }

    // ---- conditions

    /// In parentheses, unless the expression is one that needs none.
    fn bracketed(&self, pieces: Vec<Piece>, expr: ExprId) -> Vec<Piece> {
        match self.body.expr(expr) {
            Expr::Name(_) | Expr::Call { .. } | Expr::Attribute { .. } | Expr::Subscript { .. } | Expr::Bool(_) => pieces,
            _ => [vec![text("(")], pieces, vec![text(")")]].concat(),
        }
    }

    /// `a and b` on tiles is `a & b`, and Triton warns of it.
    pub(super) fn remark_logical(&mut self, op: BoolOp, lhs: (ExprId, &Value), rhs: (ExprId, &Value), at: ExprId) {
        let tile = [lhs, rhs].into_iter().find_map(|(expr, value)| match value {
            Value::Tile(tile) if !tile.ty.is_scalar() => Some((expr, tile.ty.clone())),
            _ => None,
        });
        let Some((expr, ty)) = tile else { return };
        let (word, sign) = if op == BoolOp::And { ("and", "&") } else { ("or", "|") };
        let message = format!(
            "`{word}` between tiles (`{}` is {ty}) is deprecated in Triton and does not stop early: write `(…) {sign} (…)`, with the parentheses",
            self.text(expr)
        );
        let place = self.place(at);
        let pieces = [
            self.bracketed(vec![self.source(lhs.0)], lhs.0),
            vec![text(format!(" {sign} "))],
            self.bracketed(vec![self.source(rhs.0)], rhs.0),
        ];
        let pieces = pieces.concat();
        self.report(problem(Code::LNG014, place, message).fix(
            format!("Use `{sign}`"),
            Applicability::Suggested,
            vec![Edit::Rewrite(place, pieces)],
        ));
    }

    /// `x < n & mask` compares with `n & mask`: `&` binds tighter than comparisons.
    pub(super) fn remark_precedence(&mut self, op: CompareOp, lhs: (ExprId, &Value), rhs: (ExprId, &Value), at: ExprId) {
        let body = self.body;
        let single = matches!(body.expr(at), Expr::Compare { rest, .. } if rest.len() == 1);
        for (side, value, left) in [(lhs.0, lhs.1, true), (rhs.0, rhs.1, false)] {
            let Expr::Binary { op: bits @ (BinaryOp::BitAnd | BinaryOp::BitOr), lhs: a, rhs: b } = body.expr(side) else {
                continue;
            };
            let (bits, a, b) = (bits.to_string(), *a, *b);
            // Bits of numbers are compared on purpose; a condition mixed with a number is not.
            let is_number = matches!(value, Value::Tile(t) if t.ty.elem.bits() > 1);
            if !is_number || self.is_condition(a) == self.is_condition(b) {
                continue;
            }
            let (first, second) = if left {
                (vec![self.source(a)], vec![self.source(b), text(format!(" {op} ")), self.source(rhs.0)])
            } else {
                (vec![self.source(lhs.0), text(format!(" {op} ")), self.source(a)], vec![self.source(b)])
            };
            let place = self.place(at);
            let message = format!(
                "`{bits}` binds tighter than `{op}`, so this compares with `{}`: put each comparison in parentheses",
                self.text(side)
            );
            let mut report = problem(Code::LNG015, place, message).related(Some(self.place(side)), "this is computed first");
            if single {
                let pieces = [
                    self.bracketed(first, if left { a } else { at }),
                    vec![text(format!(" {bits} "))],
                    self.bracketed(second, if left { at } else { b }),
                ]
                .concat();
                report = report.fix(
                    "Put each comparison in parentheses",
                    Applicability::Suggested,
                    vec![Edit::Rewrite(place, pieces)],
                );
            }
            self.report(report);
        }
    }

    fn is_condition(&self, expr: ExprId) -> bool {
        use crate::{constant::Const, types::Ty};
        match self.types.get(expr) {
            Some(Ty::Tile(ty)) => ty.elem.bits() == 1,
            Some(Ty::Constexpr(value)) => matches!(value, Const::Bool(_)),
            _ => false,
        }
    }

    /// `a >= 0 & b < n`, where the chain is taken as it is read.
    pub(super) fn remark_chained_precedence(&mut self, first: ExprId, rest: &[(CompareOp, ExprId)], at: ExprId) {
        if let Some((bits, pieces)) = self.unchained(first, rest) {
            let place = self.place(at);
            let (_, middle) = rest[0];
            let message = format!(
                "`{bits}` binds tighter than a comparison, so this is one chained comparison through `{}`: put each comparison in parentheses",
                self.text(middle)
            );
            self.report(problem(Code::LNG015, place, message).related(Some(self.place(middle)), "this is computed first").fix(
                "Put each comparison in parentheses",
                Applicability::Suggested,
                vec![Edit::Rewrite(place, pieces)],
            ));
        }
    }

    /// `(a >= 0) & (b < n)` for `a >= 0 & b < n`; nothing for other chains.
    pub(super) fn unchained(&self, first: ExprId, rest: &[(CompareOp, ExprId)]) -> Option<(String, Vec<Piece>)> {
        let [(op, middle), (next, last)] = rest else { return None };
        let Expr::Binary { op: bits @ (BinaryOp::BitAnd | BinaryOp::BitOr), lhs, rhs } = self.body.expr(*middle) else {
            return None;
        };
        let pieces = vec![
            text("("),
            self.source(first),
            text(format!(" {op} ")),
            self.source(*lhs),
            text(format!(") {bits} (")),
            self.source(*rhs),
            text(format!(" {next} ")),
            self.source(*last),
            text(")"),
        ];
        Some((bits.to_string(), pieces))
    }

    /// `tl.where` takes conditions.
    pub(super) fn remark_condition(&mut self, condition: &Tile, expr: ExprId) {
        if condition.ty.elem.bits() == 1 {
            return;
        }
        let place = self.place(expr);
        let message = format!(
            "the condition of tl.where is i1, and `{}` is {}: Triton still takes it as `!= 0`, with a warning, and will refuse it; write `!= 0`",
            self.text(expr),
            condition.ty
        );
        let edits = self.append_comparison(expr);
        self.report(problem(Code::DTY010, place, message).fix("Compare with 0", Applicability::Safe, edits));
    }

    pub(super) fn append_comparison(&self, expr: ExprId) -> Vec<Edit> {
        match &self.append(expr, " != 0")[..] {
            [Edit::InsertAfter(..)] => vec![Edit::InsertAfter(self.place(expr), " != 0".to_owned())],
            edits => edits.to_vec(),
        }
    }

    /// Python's `max` on tiles is `tl.maximum`, and Triton warns of it.
    pub(super) fn remark_python_extremum(&mut self, maximum: bool, at: ExprId) {
        let Expr::Call { callee, args } = self.body.expr(at) else { return };
        let own = if maximum { Builtin::Maximum } else { Builtin::Minimum }.spelling();
        let place = self.place(*callee);
        let message = format!("`{}` on tiles is deprecated in Triton: use `{own}`", self.text(*callee));
        let mut report = problem(Code::VER003, place, message);
        if args.len() == 2 {
            report =
                report.fix(format!("Change to `{own}`"), Applicability::Suggested, vec![Edit::Replace(place, own.to_owned())]);
        }
        self.report(report);
    }

    // ---- precision

    /// A sum of 16-bit floats is kept in 16 bits.
    pub(super) fn remark_reduction(&mut self, name: &str, tile: &Tile, axis: Option<usize>, input: ExprId, at: ExprId) {
        let Some(dtype @ (DType::F16 | DType::BF16)) = tile.ty.elem.scalar() else { return };
        let count = match axis {
            Some(axis) => tile.ty.shape.get(axis).map_or(1, |d| u64::from(d.size)),
            None => tile.ty.num_elements(),
        };
        if count < 2 {
            return;
        }
        let place = self.place(at);
        let digits = if dtype == DType::F16 { 3 } else { 2 };
        let message = format!(
            "{name} adds {count} values in {dtype}, which keeps about {digits} digits (`{}` is {}): add in f32 with `.to(tl.float32)`",
            self.text(input),
            tile.ty
        );
        let mut edits = self.append(input, ".to(tl.float32)");
        edits.push(Edit::InsertAfter(place, format!(".to({})", dtype_spelling(dtype))));
        // A method call reads `x.sum(axis=0)`: its input is the receiver, which the same edits fit.
        self.report(problem(Code::DTY008, place, message).fix(
            format!("Add in f32, round to {dtype} once"),
            Applicability::Suggested,
            edits,
        ));
    }

    /// A store that cuts off more than a rounding error.
    pub(super) fn remark_narrowing(&mut self, value: &Tile, pointee: DType, expr: ExprId, pointer: ExprId) {
        let Some(from) = value.ty.elem.scalar() else { return };
        let loss = match (from.is_float(), pointee.is_float()) {
            (true, false) if pointee != DType::I1 => "the fraction is cut off",
            (false, false) if pointee.bits() < from.bits() && pointee.bits() > 1 && from.bits() > 32 => {
                "the upper bits are cut off"
            }
            _ => return,
        };
        // A literal was seen by the person who wrote it.
        if self.out.def_op(value.id).is_some_and(|op| matches!(self.out.op(op).kind, OpKind::Constant(_) | OpKind::Splat)) {
            return;
        }
        let place = self.place(expr);
        let message = format!(
            "`{}` is {} and `{}` points to {pointee}, so {loss} without a word: if that is meant, say `.to({})`",
            self.text(expr),
            value.ty,
            self.text(pointer),
            dtype_spelling(pointee)
        );
        let edits = self.append(expr, &format!(".to({})", dtype_spelling(pointee)));
        let report = problem(Code::DTY006, place, message).related(Some(self.place(pointer)), format!("points to {pointee}"));
        self.report(report.fix(format!("Cast to {pointee}"), Applicability::Suggested, edits));
    }

    /// bf16 with f16 is f16, and 16 bits beside a literal may become 32.
    pub(super) fn remark_promotion(&mut self, op: &str, lhs: (ExprId, &Value), rhs: (ExprId, &Value), common: DType, at: ExprId) {
        let dtype = |value: &Value| match value {
            Value::Tile(tile) => tile.ty.elem.scalar(),
            _ => None,
        };
        let pair = (dtype(lhs.1), dtype(rhs.1));
        let message = match pair {
            (Some(DType::BF16), Some(DType::F16)) | (Some(DType::F16), Some(DType::BF16)) => format!(
                "`{}` is {} and `{}` is {}: `{op}` computes them in {common}, which loses the range of bf16; cast both with `.to(tl.float32)`",
                self.text(lhs.0),
                lhs.1.ty(),
                self.text(rhs.0),
                rhs.1.ty()
            ),
            _ => return,
        };
        let place = self.place(at);
        let edits = [self.append(lhs.0, ".to(tl.float32)"), self.append(rhs.0, ".to(tl.float32)")].concat();
        self.report(problem(Code::DTY007, place, message).fix("Compute in f32", Applicability::Suggested, edits));
    }

    /// f32 operands of a product are rounded to tf32 unless something else is asked for.
    pub(super) fn remark_tf32(&mut self, a: &Tile, b: &Tile, at: ExprId) {
        let is_f32 = |t: &Tile| t.ty.elem == Element::Scalar(DType::F32);
        // What was 16 bits wide fits into tf32 without loss, bf16 and f16 alike.
        if !is_f32(a) || !is_f32(b) || self.is_widened(a) && self.is_widened(b) {
            return;
        }
        let place = self.place(at);
        let message = "tl.dot rounds f32 operands to tf32 (10 bits of mantissa instead of 23) unless told otherwise: say `input_precision=\"tf32\"` if that is meant, `\"ieee\"` or `\"tf32x3\"` if not";
        let mut report = problem(Code::DOT006, place, message);
        if let Expr::Call { args, .. } = self.body.expr(at)
            && let Some(last) = args.last()
        {
            let last = self.argument_place(last.value);
            for (word, what) in [("ieee", "Multiply exactly"), ("tf32", "Keep tf32")] {
                let edit = Edit::InsertAfter(last, format!(", input_precision=\"{word}\""));
                report = report.fix(format!("{what}: `input_precision=\"{word}\"`"), Applicability::Suggested, vec![edit]);
            }
        }
        self.report(report);
    }

    /// The f32 tile was cast from a narrower float.
    fn is_widened(&self, tile: &Tile) -> bool {
        let Some(op) = self.out.def_op(tile.id) else { return false };
        let op = self.out.op(op);
        match op.kind {
            OpKind::Cast(CastOp::Float) => {
                op.operands.first().is_some_and(|&from| self.out.ty(from).elem().scalar().is_some_and(|s| s.bits() < 32))
            }
            OpKind::Transpose { .. } => op.operands.first().is_some_and(|&id| self.is_widened(&Tile { id, ..tile.clone() })),
            _ => false,
        }
    }
}
