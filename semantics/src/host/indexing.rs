//! Subscripts of tensors: `x[1:, :, None]`, `x[..., 0]`, `x[index]`, read and assigned.
//!
//! **Invariant:** what is read is a view of the same memory wherever it is one in PyTorch, so that what is written through it is seen.

use super::{
    contents::{inserted, narrowed, permuted},
    interpret::{Frame, Host},
    value::{TensorValue, Value},
};
use crate::{
    body::{Expr, ExprId},
    constant::Const,
    dtype::DType,
};

/// One part of a subscript.
enum Part {
    /// `from:to:step`
    Slice(Option<i128>, Option<i128>, i128),
    /// A number, or indices in a tensor.
    Value(Value),
    NewAxis,
    Ellipsis,
}

impl Host<'_> {
    /// `x[index]`; `None` where it is not followed.
    pub(super) fn tensor_part(&mut self, frame: &Frame, x: &TensorValue, index: ExprId) -> Option<TensorValue> {
        let exprs = match frame.body.expr(index) {
            Expr::Tuple(items) => items.clone(),
            _ => vec![index],
        };
        let parts: Vec<Part> = exprs.iter().map(|&expr| self.part(frame, expr)).collect::<Option<_>>()?;
        let named = parts.iter().filter(|part| matches!(part, Part::Slice(..) | Part::Value(_))).count();
        let free = x.shape.len().checked_sub(named)?;
        let mut out = x.clone();
        let mut at = 0;
        let mut has_ellipsis = false;
        for part in parts {
            match part {
                Part::NewAxis => {
                    out = inserted(&out, at);
                    at += 1;
                }
                Part::Ellipsis if has_ellipsis => return None,
                Part::Ellipsis => {
                    has_ellipsis = true;
                    at += free;
                }
                Part::Slice(from, to, step) => {
                    let extent = i128::from(out.shape[at]);
                    let bound = |value: Option<i128>, default: i128| {
                        value.map_or(default, |v| if v < 0 { v + extent } else { v }).clamp(0, extent)
                    };
                    let (from, to) = (bound(from, 0), bound(to, extent));
                    let step = u64::try_from(step).ok().filter(|&step| step > 0)?;
                    out = narrowed(&out, at, from as u64, (to - from).max(0) as u64);
                    out.shape[at] = out.shape[at].div_ceil(step);
                    out.strides[at] = out.strides[at].saturating_mul(step);
                    at += 1;
                }
                Part::Value(Value::Tensor(index)) if index.dtype != DType::I1 && index.shape.len() == 1 => {
                    out = self.indexed(&out, at, &index)?;
                    at += 1;
                }
                Part::Value(value) => {
                    let i = value.as_int().filter(|_| !matches!(value, Value::Const(Const::Bool(_))))?;
                    let i = if i < 0 { i + i128::from(out.shape[at]) } else { i };
                    let i = u64::try_from(i).ok().filter(|&i| i < out.shape[at])?;
                    out = narrowed(&out, at, i, 1);
                    out = permuted(&out, &(0..out.shape.len()).filter(|&a| a != at).collect::<Vec<_>>());
                }
            }
        }
        Some(out)
    }

    fn part(&mut self, frame: &Frame, expr: ExprId) -> Option<Part> {
        let body = frame.body.clone();
        Some(match body.expr(expr) {
            Expr::Slice { lower, upper, step } => {
                let mut bound = |expr: &Option<ExprId>| match expr {
                    None => Some(None),
                    Some(expr) => match self.expr(frame, *expr) {
                        Value::Const(Const::None) => Some(None),
                        value => value.as_int().map(Some),
                    },
                };
                Part::Slice(bound(lower)?, bound(upper)?, bound(step)?.unwrap_or(1))
            }
            Expr::Ellipsis => Part::Ellipsis,
            _ => match self.expr(frame, expr) {
                Value::Const(Const::None) => Part::NewAxis,
                value => Part::Value(value),
            },
        })
    }

    /// `x[index] = value`
    pub(super) fn set_tensor_part(&mut self, frame: &Frame, x: &TensorValue, index: ExprId, value: &Value) {
        if self.set_masked(frame, x, index, value).is_some() {
            return;
        }
        let part = self.tensor_part(frame, x, index).filter(|part| std::rc::Rc::ptr_eq(&part.storage, &x.storage));
        let value = match value {
            Value::Tensor(t) => Some(t.clone()),
            other => other.as_float().map(|value| self.number(value, x.dtype)),
        };
        match part.zip(value) {
            Some((part, value)) => self.store(&part, &value),
            None => self.overwrite(&x.storage, None),
        }
    }

    /// `x[mask] = number`, with whole axes beside the mask; `None` where it is none.
    fn set_masked(&mut self, frame: &Frame, x: &TensorValue, index: ExprId, value: &Value) -> Option<()> {
        let exprs = match frame.body.expr(index) {
            Expr::Tuple(items) => items.clone(),
            _ => vec![index],
        };
        let mut mask: Option<(usize, TensorValue)> = None;
        for (at, &expr) in exprs.iter().enumerate() {
            match self.part(frame, expr)? {
                Part::Slice(None, None, 1) => {}
                Part::Value(Value::Tensor(t)) if t.dtype == DType::I1 && mask.is_none() => mask = Some((at, t)),
                _ => return None,
            }
        }
        let (at, mask) = mask?;
        let behind = x.shape.len().checked_sub(at + mask.shape.len())?;
        let strides = [&vec![0; at][..], &mask.strides, &vec![0; behind]].concat();
        (x.shape[at..at + mask.shape.len()] == mask.shape).then_some(())?;
        let mask = mask.view(x.shape.clone(), strides, mask.offset);
        let set = self.number(value.as_float()?, x.dtype);
        let made = self.select(&mask, &set, x)?;
        self.store(x, &made);
        Some(())
    }
}
