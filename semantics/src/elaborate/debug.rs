//! Printing and asserting on the device.
//!
//! **Invariant:** the prefix is written as Triton's runtime writes it: with a blank in front, and a colon behind if values follow.

use tritium_tile::OpKind;

use super::{
    builtin_calls::Arguments,
    evaluator::{Eval, Evaluator, Poisoned},
    value::{Tile, Value},
};
use crate::{
    body::{BinaryOp, ExprId},
    builtins::Builtin,
    constant::Const,
    diagnostics::Code,
    dtype::DType,
};

/// Values one print takes.
const MAX_PRINTED_VALUES: usize = 64;

impl<'a> Evaluator<'a> {
    pub(super) fn call_device_print(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let expr = arguments.expr("prefix").unwrap_or(at);
        let place = self.place(expr);
        let name = Builtin::DevicePrint.spelling();
        let prefix = match arguments.value("prefix").to_const() {
            Some(Const::Str(prefix)) => prefix.to_string(),
            None if arguments.value("prefix").has_unknown() => return Err(Poisoned),
            _ => {
                let message = format!(
                    "{name} begins with a string, and `{}` is {}: write `\"…\", {}`",
                    self.text(expr),
                    arguments.value("prefix").ty(),
                    self.text(expr)
                );
                return Err(self.problem(Code::LNG011, place, message));
            }
        };
        if let Some(strange) = prefix.chars().find(|c| !(' '..='~').contains(c) && !c.is_ascii_whitespace()) {
            let message = format!("a device prints ASCII only, and the prefix holds {strange:?}");
            return Err(self.problem(Code::LNG011, place, message));
        }
        let hex = self.flag(arguments, "hex")?;
        let given = arguments.rest("args");
        if given.len() > MAX_PRINTED_VALUES {
            return Err(self.problem(
                Code::LNG011,
                place,
                format!("{name} takes at most {MAX_PRINTED_VALUES} values, not {}", given.len()),
            ));
        }
        let mut tiles: Vec<Tile> = Vec::new();
        for (value, expr) in given {
            tiles.push(self.as_tile(&value, expr)?);
        }
        let mut signed = 0u64;
        for (i, tile) in tiles.iter().enumerate() {
            signed |= u64::from(tile.ty.elem.scalar().is_some_and(DType::is_signed_int)) << i;
        }
        let mut prefix = prefix;
        if !tiles.is_empty() && !prefix.ends_with(": ") {
            let plain = prefix.strip_suffix(' ').unwrap_or(&prefix).len();
            prefix.truncate(plain);
            prefix.push_str(": ");
        }
        if prefix.len() > 2 && !prefix.starts_with(' ') {
            prefix.insert(0, ' ');
        }
        let operands: Vec<_> = tiles.iter().map(|t| t.id).collect();
        self.emit(OpKind::Print { prefix, hex, signed }, &operands, [], &[]);
        Ok(Value::Void)
    }

    pub(super) fn call_device_assert(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let text = match arguments.value("msg").to_const() {
            Some(Const::Str(text)) => text.to_string(),
            _ => String::new(),
        };
        let expr = arguments.expr("cond").unwrap_or(at);
        let condition = arguments.value("cond").clone();
        self.remark_assert(self.place(at), &condition);
        let Some(mask) = self.mask_argument(arguments, at)? else {
            self.device_assert(expr, condition, text)?;
            return Ok(Value::Void);
        };
        // Where the mask is off nothing is asserted.
        let mask_expr = arguments.expr("mask").unwrap_or(at);
        let condition = self.as_tile(&condition, expr)?;
        let condition = self.cast(condition, DType::I1.into(), expr)?;
        let ones = self.constant_tile(&Const::Int(1), DType::I1, mask.ty.shape.clone());
        let ty = mask.ty.clone();
        let off = self.emit_like(OpKind::Binary(tritium_tile::ops::BinaryOp::Xor), &[&mask, &ones], ty);
        let either = self.binary(BinaryOp::BitOr, expr, Value::Tile(condition), mask_expr, Value::Tile(off), at)?;
        self.device_assert(expr, either, text)?;
        Ok(Value::Void)
    }
}
