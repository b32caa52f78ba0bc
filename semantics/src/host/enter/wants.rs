//! What has to be chosen otherwise so that a condition goes the way that is wanted.

use smol_str::SmolStr;

use super::MAX_RANK;
use crate::{
    body::{BinaryOp, Body, BoolOp, CompareOp, Expr, ExprId, Stmt, UnaryOp},
    constant::Const,
    dtype::DType,
    host::{
        free::Demand,
        interpret::{Frame, Host},
        value::Value,
    },
    items::chunk_body,
};

impl Host<'_> {
    /// Asks for what makes a condition hold, or not.
    pub(in crate::host) fn want(&mut self, frame: &Frame, condition: ExprId, wanted: bool) {
        if self.entrance.is_none() {
            return;
        }
        let body = frame.body.clone();
        match body.expr(condition) {
            Expr::Unary { op: UnaryOp::Not, operand } => self.want(frame, *operand, !wanted),
            Expr::Bool2 { op, lhs, rhs } => {
                let needs_both = (*op == BoolOp::And) == wanted;
                for &side in [lhs, rhs] {
                    if needs_both {
                        if self.expr(frame, side).truth() != Some(wanted) {
                            self.want(frame, side, wanted);
                        }
                    } else {
                        let before = self.entrance.as_ref().map_or(0, |entrance| entrance.demands.len());
                        self.want(frame, side, wanted);
                        if self.entrance.as_ref().is_some_and(|entrance| entrance.demands.len() > before) {
                            return;
                        }
                    }
                }
            }
            Expr::Name(name) => {
                let now = self.name(frame, name);
                let demand = match now {
                    Some(Value::Const(Const::Bool(_))) => Demand::Value(name.clone(), Const::Bool(wanted)),
                    Some(Value::Const(Const::None)) if wanted => Demand::Tensor(name.clone(), None),
                    _ => return,
                };
                self.demand_of_parameter(name, demand);
            }
            Expr::Compare { first, rest } => {
                let mut lhs = *first;
                for &(op, rhs) in rest {
                    self.want_compared(frame, lhs, op, rhs, wanted);
                    lhs = rhs;
                }
            }
            // `if n % 16: raise`
            Expr::Binary { op: BinaryOp::Mod, lhs, rhs } if !wanted => self.want_multiple(frame, *lhs, *rhs),
            Expr::Call { callee, args } if wanted => {
                if let (Expr::Name(of), [value, _]) = (body.expr(*callee), &args[..])
                    && of == "isinstance"
                    && let Expr::Name(name) = body.expr(value.value)
                {
                    self.demand_of_parameter(name, Demand::Tensor(name.clone(), None));
                }
            }
            _ => {}
        }
    }

    pub(super) fn demand_of_parameter(&mut self, name: &SmolStr, demand: Demand) {
        let is_parameter = self.entry_parameters().is_some_and(|names| names.contains(name));
        if let Some(entrance) = self.entrance.as_mut().filter(|_| is_parameter) {
            entrance.demand(demand);
        }
    }

    fn entry_parameters(&self) -> Option<Vec<SmolStr>> {
        let entrance = self.entrance.as_ref()?;
        let body = chunk_body(self.db, self.file, entrance.chunk)?;
        let Stmt::Function(def) = body.stmt(entrance.stmt) else { return None };
        let given = entrance.free.arguments.keys();
        Some(def.params.iter().map(|param| param.name.clone()).chain(given.cloned()).collect())
    }

    fn want_compared(&mut self, frame: &Frame, lhs: ExprId, op: CompareOp, rhs: ExprId, wanted: bool) {
        let body = frame.body.clone();
        let (a, b) = (self.expr(frame, lhs), self.expr(frame, rhs));
        let Some(entrance) = &mut self.entrance else { return };
        let op = if wanted { op } else { opposite(op) };
        match op {
            CompareOp::IsNot | CompareOp::Ne if b.is_none() => {
                if let Expr::Name(name) = body.expr(lhs) {
                    self.demand_of_parameter(name, Demand::Tensor(name.clone(), None));
                }
            }
            CompareOp::Is | CompareOp::Eq if b.is_none() => {
                if let Expr::Name(name) = body.expr(lhs) {
                    self.demand_of_parameter(name, Demand::Value(name.clone(), Const::None));
                }
            }
            CompareOp::Is | CompareOp::Eq => {
                if let Some(rank) = b.as_int().or(a.as_int()).and_then(|rank| usize::try_from(rank).ok())
                    && let Some(of) = ranked(&body, lhs).or_else(|| ranked(&body, rhs))
                {
                    if let Value::Tensor(t) = self.expr(frame, of)
                        && let Some(entrance) = &mut self.entrance
                    {
                        entrance.demand(Demand::Rank(t.shape, rank));
                    }
                    return;
                }
                if let Expr::Binary { op: BinaryOp::Mod, lhs: whole, rhs: part } = body.expr(lhs)
                    && b.as_int() == Some(0)
                {
                    return self.want_multiple(frame, *whole, *part);
                }
                if let (Some(_), Some(dtype)) = (a.as_dtype(), b.as_dtype()) {
                    return self
                        .want_dtype(frame, lhs, dtype)
                        .or_else(|| self.want_dtype(frame, rhs, a.as_dtype()?))
                        .unwrap_or(());
                }
                match (&a, &b) {
                    (Value::Tuple(_) | Value::List(_), Value::Tuple(_) | Value::List(_)) => {
                        let (a, b) = (a.items().unwrap_or_default(), b.items().unwrap_or_default());
                        if a.len() == b.len() {
                            a.iter()
                                .zip(&b)
                                .filter_map(|(a, b)| sizes(a, b))
                                .for_each(|(a, b)| entrance.demand(Demand::Same(a, b)));
                        } else if let Some(shape) = Value::as_shape(&a) {
                            entrance.demand(Demand::Rank(shape, b.len()));
                        }
                    }
                    _ => {
                        if let Some((x, y)) = sizes(&a, &b) {
                            entrance.demand(match is_number(&body, rhs) {
                                true => Demand::Number(x, y),
                                false => Demand::Same(x, y),
                            });
                        } else if let (Expr::Name(name), Some(value)) = (body.expr(lhs), b.to_const()) {
                            self.demand_of_parameter(name, Demand::Value(name.clone(), value));
                        }
                    }
                }
            }
            CompareOp::In => {
                let first = b.items().and_then(|items| items.first().cloned());
                match (body.expr(lhs), first) {
                    (Expr::Name(name), Some(first)) => {
                        if let Some(value) = first.to_const() {
                            match (sizes(&a, &first), value) {
                                (Some((a, b)), _) => entrance.demand(Demand::Number(a, b)),
                                (None, value) => self.demand_of_parameter(name, Demand::Value(name.clone(), value)),
                            }
                        }
                    }
                    (_, Some(first)) => {
                        if let Some(dtype) = first.as_dtype() {
                            self.want_dtype(frame, lhs, dtype);
                        } else if let Some((a, b)) = sizes(&a, &first) {
                            entrance.demand(Demand::Number(a, b));
                        }
                    }
                    _ => {}
                }
            }
            CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge => {
                if let (Some(of), Some(bound)) = (ranked(&body, lhs), b.as_int()) {
                    let wanted = match op {
                        CompareOp::Lt => bound - 1,
                        CompareOp::Gt => bound + 1,
                        _ => bound,
                    };
                    if let (Value::Tensor(t), Ok(rank)) = (self.expr(frame, of), usize::try_from(wanted))
                        && let Some(entrance) = &mut self.entrance
                        && rank <= MAX_RANK
                    {
                        entrance.demand(Demand::Rank(t.shape, rank));
                    }
                    return;
                }
                let Some((x, y)) = sizes(&a, &b) else { return };
                let beside = match op {
                    CompareOp::Lt => y.checked_sub(1),
                    CompareOp::Gt => y.checked_add(1),
                    _ => Some(y),
                };
                match (entrance.free.has(x), beside) {
                    (true, Some(beside)) if is_number(&body, rhs) => entrance.demand(Demand::Number(x, beside)),
                    (true, Some(beside)) => entrance.demand(Demand::Same(x, beside)),
                    _ => entrance.demand(Demand::Same(y, x)),
                }
            }
            _ => {}
        }
    }

    /// A size that is divided by another holds it whole: heads in groups, channels in blocks.
    pub(in crate::host) fn holds_whole(&mut self, whole: &Value, part: &Value) {
        let (Some((whole, part)), Some(entrance)) = (sizes(whole, part), &mut self.entrance) else { return };
        if part > 1
            && whole % part != 0
            && entrance.free.has(whole)
            && entrance.free.has(part)
            && let Some(multiple) = entrance.free.multiple(part, whole)
        {
            entrance.demand(Demand::Number(whole, multiple));
        }
    }

    /// Makes one size a multiple of another.
    fn want_multiple(&mut self, frame: &Frame, whole: ExprId, part: ExprId) {
        let (whole, part) = (self.expr(frame, whole), self.expr(frame, part));
        let (Some((whole, part)), Some(entrance)) = (sizes(&whole, &part), &mut self.entrance) else { return };
        let multiple = whole.checked_next_multiple_of(part).unwrap_or(part);
        let demand = if entrance.free.has(whole) { Demand::Number(whole, multiple) } else { Demand::Number(part, whole) };
        entrance.demand(demand);
    }

    fn want_dtype(&mut self, frame: &Frame, of: ExprId, dtype: DType) -> Option<()> {
        let Expr::Attribute { receiver, name } = frame.body.expr(of) else { return None };
        let Value::Tensor(t) = self.expr(frame, *receiver) else { return None };
        let parameter = self.entrance.as_ref()?.given_as(&t)?;
        if name == "dtype" {
            self.entrance.as_mut()?.demand(Demand::Dtype(parameter, dtype));
        }
        Some(())
    }
}

/// `x.dim()`, `x.ndim`, `len(x.shape)`: the tensor whose axes are counted.
fn ranked(body: &Body, expr: ExprId) -> Option<ExprId> {
    match body.expr(expr) {
        Expr::Attribute { receiver, name } if name == "ndim" => Some(*receiver),
        Expr::Call { callee, args } => match (body.expr(*callee), &args[..]) {
            (Expr::Attribute { receiver, name }, []) if name == "dim" || name == "ndimension" => Some(*receiver),
            (Expr::Name(len), [shape]) if len == "len" => match body.expr(shape.value) {
                Expr::Attribute { receiver, name } if name == "shape" => Some(*receiver),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

fn is_number(body: &Body, expr: ExprId) -> bool {
    matches!(body.expr(expr), Expr::Int(_))
}

fn opposite(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Eq => CompareOp::Ne,
        CompareOp::Ne => CompareOp::Eq,
        CompareOp::Is => CompareOp::IsNot,
        CompareOp::IsNot => CompareOp::Is,
        CompareOp::In => CompareOp::NotIn,
        CompareOp::NotIn => CompareOp::In,
        CompareOp::Lt => CompareOp::Ge,
        CompareOp::Ge => CompareOp::Lt,
        CompareOp::Gt => CompareOp::Le,
        CompareOp::Le => CompareOp::Gt,
    }
}

/// Two numbers that may be sizes.
fn sizes(a: &Value, b: &Value) -> Option<(u64, u64)> {
    let size = |value: &Value| value.as_int().and_then(|value| u64::try_from(value).ok());
    size(a).zip(size(b)).filter(|(a, b)| a != b)
}
