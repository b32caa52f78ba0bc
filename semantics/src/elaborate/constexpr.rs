//! Compile-time values: operators and functions on them, as Python computes them.
//!
//! **Invariant:** evaluation itself is [`crate::constant`]'s; here are names of values (`BLOCK // 2`) and what went wrong.

use super::{
    evaluator::{Eval, Evaluator, Poisoned},
    value::{Constant, Value},
};
use crate::{
    body::{BinaryOp, CompareOp, ExprId, UnaryOp},
    constant::{self, Const, python},
    diagnostics::Code,
};

impl<'a> Evaluator<'a> {
    pub(super) fn constant_binary(&mut self, op: BinaryOp, lhs: &Constant, rhs: &Constant, at: ExprId) -> Eval<Value> {
        match constant::binary(op, &lhs.value, &rhs.value) {
            Some(value) => Ok(Value::Const(Constant { value, symbol: symbol_of(op, lhs, rhs) })),
            None => {
                let place = self.place(at);
                let message = format!("`{} {op} {}` has no value in Python", lhs.value, rhs.value);
                Err(self.problem(Code::LNG005, place, message))
            }
        }
    }

    pub(super) fn constant_unary(&mut self, op: UnaryOp, operand: &Constant, at: ExprId) -> Eval<Value> {
        match constant::unary(op, &operand.value) {
            Some(value) => Ok(Value::constant(value)),
            None => {
                let place = self.place(at);
                Err(self.problem(Code::LNG005, place, format!("`{op} {}` has no value in Python", operand.value)))
            }
        }
    }

    pub(super) fn constant_compare(&mut self, op: CompareOp, lhs: &Const, rhs: &Const, at: ExprId) -> Eval<Value> {
        match constant::compare(op, lhs, rhs) {
            Some(value) => Ok(Value::bool(value)),
            None => {
                let place = self.place(at);
                Err(self.problem(Code::LNG005, place, format!("`{lhs} {op} {rhs}` has no value in Python")))
            }
        }
    }

    /// `math.sqrt(2.0)` and the like.
    pub(super) fn math_call(&mut self, path: &str, arguments: &[Value], at: ExprId) -> Eval<Value> {
        let known: Option<Vec<Const>> = arguments.iter().map(|v| v.as_const().cloned()).collect();
        let Some(known) = known else {
            if arguments.iter().any(Value::has_unknown) {
                return Err(Poisoned);
            }
            return Err(self.host_call(path, at));
        };
        match path.strip_prefix("math.").and_then(|name| python::math(name, &known)) {
            Some(value) => Ok(Value::constant(value)),
            None => {
                self.complete = false;
                Err(Poisoned)
            }
        }
    }
}

/// `BLOCK_M // 2`, if either side has a name.
fn symbol_of(op: BinaryOp, lhs: &Constant, rhs: &Constant) -> Option<smol_str::SmolStr> {
    if lhs.symbol.is_none() && rhs.symbol.is_none() {
        return None;
    }
    let side = |c: &Constant| match &c.symbol {
        Some(symbol) if symbol.contains(' ') => format!("({symbol})"),
        Some(symbol) => symbol.to_string(),
        None => c.value.to_string(),
    };
    let text = format!("{} {op} {}", side(lhs), side(rhs));
    (text.len() <= 40).then(|| text.into())
}

pub(super) fn is_math(path: &str) -> bool {
    path.starts_with("math.")
}
