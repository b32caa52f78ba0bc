//! MSK003: what a mask left out of a load reaches a reduction.
//!
//! Triton leaves it open what such elements hold; its code for NVIDIA's GPUs always holds 0 there. **Invariant:** where that 0 is known to
//! change nothing, this is a hint; where it is not, a warning.

use tritium_tile::{
    OpKind, ValueDef, ValueId,
    ops::{BinaryOp, CastOp, Constant, UnaryOp},
};

use super::{
    evaluator::{Evaluator, ProblemExt, problem},
    value::Tile,
};
use crate::{
    body::{Expr, ExprId},
    diagnostics::{Code, Severity},
    problem::{Applicability, At, Edit},
};

/// How far back what is folded is followed.
const MAX_DEPTH: usize = 32;

/// What may be folded in without changing the result.
#[derive(Debug, Clone, Copy)]
pub(super) struct Neutral<'a> {
    /// What `other=` should be.
    other: &'a str,
    zero: Zero,
}

/// When a 0 changes nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Zero {
    Always,
    /// Beside numbers that are never negative: in a maximum.
    AmongNaturals,
    Never,
}

impl<'a> Neutral<'a> {
    /// Neutral element of what adds, joins bits, or picks the largest unsigned number.
    pub(super) fn zero(other: &'a str) -> Neutral<'a> {
        Neutral { other, zero: Zero::Always }
    }

    pub(super) fn of_maximum(other: &'a str) -> Neutral<'a> {
        Neutral { other, zero: Zero::AmongNaturals }
    }

    /// Where a 0 counts like any other number.
    pub(super) fn only(other: &'a str) -> Neutral<'a> {
        Neutral { other, zero: Zero::Never }
    }
}

impl Evaluator<'_> {
    /// Tells of elements that a mask left out of a load and that `what` folds along `axis`.
    pub(super) fn check_defined(&mut self, tile: &Tile, axis: Option<usize>, what: &str, neutral: Neutral<'_>, at: ExprId) {
        let Some(undefined) = tile.undefined else { return };
        let reached = match axis {
            Some(axis) if axis < 8 => undefined.axes & (1 << axis) != 0,
            _ => undefined.axes != 0,
        };
        if !reached {
            return;
        }
        let load = undefined.load;
        // What is taken in may have been computed from what was loaded; then it is not known what the load needs.
        let mut id = tile.id;
        while let Some(op) = self.out.def_op(id)
            && let OpKind::Cast(_) | OpKind::Broadcast | OpKind::ExpandDims { .. } | OpKind::Reshape { .. } = self.out.op(op).kind
        {
            id = self.out.op(op).operands[0];
        }
        let is_direct = self.out.def_op(id).is_some_and(|op| matches!(self.out.op(op).kind, OpKind::Load(_)));
        let is_harmless = match neutral.zero {
            Zero::Always => self.is_zero_where_masked(tile.id, 0, &mut Vec::new()),
            Zero::AmongNaturals => self.is_zero_where_masked(tile.id, 0, &mut Vec::new()) && self.is_natural(tile.id, 0),
            Zero::Never => false,
        };
        let given = if is_harmless { "0.0" } else { neutral.other };
        let message = match (is_harmless, is_direct) {
            (true, _) => format!(
                "masked-off elements of this load are 0 on NVIDIA's GPUs, which changes nothing in {what}, but Triton promises no value: say `other=0.0`"
            ),
            (false, true) => {
                format!("masked-off elements of this load are undefined, and {what} takes them in: give the load `other={given}`")
            }
            (false, false) => format!(
                "masked-off elements of this load are undefined, and {what} takes them in: give the load an `other=` that {what} passes over after what is computed of it"
            ),
        };
        let mut report = problem(Code::MSK003, load, message).related(Some(self.place(at)), format!("{what} takes them in here"));
        report.level = is_harmless.then_some(Severity::Hint);
        if (is_direct || is_harmless)
            && load.function == self.function
            && let At::Expr(call) = load.at
            && let Expr::Call { args, .. } = self.body.expr(call)
            && let Some(last) = args.last()
        {
            let edit = Edit::InsertAfter(self.place(last.value), format!(", other={given}"));
            report = report.fix(format!("Add `other={given}`"), Applicability::Suggested, vec![edit]);
        }
        self.report(report);
    }

    /// Whether elements that loads leave out are 0 here too, taken that they are 0 where they are loaded. `carried`: what loops carry and begin
    /// with 0, which is 0 on every trip if every trip passes a 0 on.
    fn is_zero_where_masked(&self, id: ValueId, depth: usize, carried: &mut Vec<ValueId>) -> bool {
        if carried.contains(&id) {
            return true;
        }
        let Some(op) = self.out.def_op(id).filter(|_| depth < MAX_DEPTH) else { return false };
        if let (Some(around), ValueDef::Result(_, place)) = (self.out.for_loop(op), self.out.value(id).def) {
            let Some(value) = around.carried(place as usize) else { return false };
            if !self.is_zero_where_masked(value.init, depth + 1, carried) {
                return false;
            }
            carried.push(value.arg);
            let is_zero = self.is_zero_where_masked(value.next, depth + 1, carried);
            carried.pop();
            return is_zero;
        }
        let operation = self.out.op(op);
        let mut zero = |n: usize| operation.operands.get(n).is_some_and(|&v| self.is_zero_where_masked(v, depth + 1, carried));
        match operation.kind {
            OpKind::Load(_) => match operation.operands.len() {
                2 => true,
                3 => zero(2),
                _ => false,
            },
            OpKind::Constant(Constant::Int(value)) => value == 0,
            OpKind::Constant(Constant::Float(value)) => value == 0.0,
            OpKind::Cast(_) => zero(0),
            ref kind if kind.is_view() => zero(0),
            OpKind::Unary(
                UnaryOp::NegF
                | UnaryOp::AbsF
                | UnaryOp::AbsI
                | UnaryOp::Floor
                | UnaryOp::Ceil
                | UnaryOp::Sqrt
                | UnaryOp::SqrtRn
                | UnaryOp::Sin
                | UnaryOp::Tanh
                | UnaryOp::Erf,
            ) => zero(0),
            OpKind::Binary(BinaryOp::MulF | BinaryOp::MulI | BinaryOp::And) => zero(0) || zero(1),
            OpKind::Binary(BinaryOp::DivF | BinaryOp::DivRn) => zero(0) && !zero(1),
            OpKind::Binary(
                BinaryOp::AddF
                | BinaryOp::AddI
                | BinaryOp::SubF
                | BinaryOp::SubI
                | BinaryOp::Or
                | BinaryOp::Xor
                | BinaryOp::MaxF
                | BinaryOp::MaxNan
                | BinaryOp::MaxS
                | BinaryOp::MinF
                | BinaryOp::MinNan
                | BinaryOp::MinS,
            ) => zero(0) && zero(1),
            OpKind::Fma => (zero(0) || zero(1)) && zero(2),
            OpKind::Select => zero(1) && zero(2),
            _ => false,
        }
    }

    /// Whether no element is negative, by how it is computed.
    fn is_natural(&self, id: ValueId, depth: usize) -> bool {
        let Some(op) = self.out.def_op(id).filter(|_| depth < MAX_DEPTH) else { return false };
        let operation = self.out.op(op);
        let natural = |n: usize| operation.operands.get(n).is_some_and(|&v| self.is_natural(v, depth + 1));
        match operation.kind {
            OpKind::Unary(UnaryOp::AbsF | UnaryOp::AbsI | UnaryOp::Exp | UnaryOp::Exp2 | UnaryOp::Sqrt | UnaryOp::SqrtRn) => true,
            OpKind::Constant(Constant::Int(value)) => value >= 0,
            OpKind::Constant(Constant::Float(value)) => value >= 0.0,
            OpKind::Binary(BinaryOp::MulF) if operation.operands[0] == operation.operands[1] => true,
            OpKind::Binary(BinaryOp::AddF | BinaryOp::MulF | BinaryOp::DivF | BinaryOp::DivRn) => natural(0) && natural(1),
            OpKind::Binary(BinaryOp::MaxF | BinaryOp::MaxNan) => natural(0) || natural(1),
            OpKind::Cast(CastOp::UToF) => true,
            OpKind::Cast(CastOp::Float | CastOp::FloatRtz)
            | OpKind::Splat
            | OpKind::Broadcast
            | OpKind::ExpandDims { .. }
            | OpKind::Reshape { .. }
            | OpKind::Transpose { .. } => natural(0),
            _ => false,
        }
    }
}
