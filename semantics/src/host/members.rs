//! Attributes and elements of values: `x.shape`, `table["k"]`, `items[1:]`.
//!
//! **Invariant:** what a value may be asked for and is not known is unknown of the kind that it would have, never an error of the file.

use smol_str::SmolStr;

use super::{
    budget,
    calls::MOVES,
    interpret::{Frame, Host, ONE_OR_ANOTHER, reason},
    kinds, torch,
    value::{Method, Value},
};
use crate::{
    body::{Expr, ExprId},
    constant::{self, Const},
};

/// Entries of a table that is asked for one of them, nobody knows which.
const MAX_CHOICES: usize = 32;

/// The full path of a library's member.
const MAX_PATH_BYTES: usize = 1 << 10;

const TARGET_BACKEND: &str = "triton.runtime.driver.active.get_current_target.backend";

impl Host<'_> {
    pub(crate) fn attribute(&mut self, receiver: Value, name: &SmolStr) -> Value {
        match &receiver {
            Value::Unknown(doubt) => match kinds::attribute(doubt, name) {
                _ if self.entrance.is_some() => {
                    self.used_as_tensor(&receiver, name);
                    kinds::attribute(doubt, name).unwrap_or_else(|| match kinds::is_method(name) {
                        true => Value::method(receiver.clone(), name),
                        false => Value::Unknown(doubt.why.clone().into()),
                    })
                }
                Some(known) => known,
                None if kinds::is_method(name) => Value::method(receiver.clone(), name),
                None => Value::Unknown(doubt.why.clone().into()),
            },
            Value::Path(path) => {
                let path = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
                match &path[..] {
                    "torch.version.hip" => Value::NONE,
                    "triton.__version__" => Value::Const(Const::Str(self.triton())),
                    // Tritium speaks to NVIDIA's devices.
                    TARGET_BACKEND => Value::Const(Const::Str("cuda".into())),
                    path if constant::python::math_constant(path).is_some() => {
                        constant::python::math_constant(path).map_or(Value::NONE, Value::Const)
                    }
                    _ if path.len() > MAX_PATH_BYTES => Value::unknown("a member of a member is not followed that far"),
                    _ => Value::Path(path.into()),
                }
            }
            Value::File(file) => self.global(*file, name).unwrap_or_else(|| Value::unknown(format!("`{name}` is not known"))),
            // What `x.max(dim)` returns.
            Value::Tuple(items) if matches!(&items[..], [Value::Tensor(_), Value::Tensor(_)]) => match name.as_str() {
                "values" => items[0].clone(),
                "indices" => items[1].clone(),
                _ => Value::method(receiver.clone(), name),
            },
            Value::Tensor(t) if name == "grad" => self.gradient_of(t),
            Value::Tensor(t) => torch::attribute(t, name).unwrap_or_else(|| Value::method(receiver.clone(), name)),
            Value::Class(class) => match class.members.get(name) {
                Some(Value::Closure(member)) if member.method == Method::Class => Value::method(receiver.clone(), name),
                Some(member) => member.clone(),
                None => Value::method(receiver.clone(), name),
            },
            Value::Object(object) => match object.fields.borrow().get(name) {
                Some(field) => field.clone(),
                None => match object.class.as_ref().and_then(|c| c.members.get(name)) {
                    // What another class or nobody has set.
                    None if self.entrance.is_some() && object.class.is_some() && !MOVES.contains(&name.as_str()) => {
                        Value::unknown(format!("`.{name}` is not known"))
                    }
                    None | Some(Value::Closure(_)) => Value::method(receiver.clone(), name),
                    Some(member) => member.clone(),
                },
            },
            Value::Config(config) => match name.as_str() {
                "kwargs" => config.kwargs(),
                "num_warps" => Value::int(config.options.or_default().num_warps),
                "num_stages" => Value::int(config.options.or_default().num_stages),
                "num_ctas" => Value::int(1),
                _ => Value::method(receiver.clone(), name),
            },
            // `None` has none of them.
            Value::Either(all) => {
                let something = all.iter().filter(|value| !value.is_none());
                let all: Vec<Value> = something.map(|v| self.attribute(v.clone(), name)).collect();
                all.into_iter().reduce(|a, b| a.or(b, ONE_OR_ANOTHER)).unwrap_or_else(|| Value::unknown(ONE_OR_ANOTHER))
            }
            // The member of an enumeration, and what `tl.constexpr` holds.
            Value::Const(_) if name == "value" => receiver,
            Value::Const(Const::DType(d)) if name == "itemsize" => Value::int(d.bytes()),
            Value::Const(Const::DType(d)) if name == "is_floating_point" => Value::bool(d.is_float()),
            _ => Value::method(receiver.clone(), name),
        }
    }

    pub(super) fn subscript(&mut self, frame: &Frame, receiver: Value, index: ExprId) -> Value {
        if let Value::Either(all) = &receiver {
            let parts: Vec<Value> = all.iter().map(|one| self.subscript(frame, one.clone(), index)).collect();
            return parts.into_iter().reduce(|a, b| a.or(b, ONE_OR_ANOTHER)).unwrap_or_else(|| Value::unknown(ONE_OR_ANOTHER));
        }
        if let Value::Const(Const::Function(kernel)) = receiver {
            let grid = self.expr(frame, index);
            return Value::Gridded(kernel, budget::keep(grid));
        }
        if let Value::Tensor(tensor) = &receiver
            && let Some(part) = self.tensor_part(frame, tensor, index)
        {
            return Value::Tensor(part);
        }
        if let Expr::Slice { lower, upper, step: None } = frame.body.expr(index).clone() {
            let (lower, upper) = (lower.map(|e| self.expr(frame, e)), upper.map(|e| self.expr(frame, e)));
            let Some(items) = receiver.items().filter(|_| matches!(receiver, Value::Tuple(_) | Value::List(_))) else {
                return Value::some(kinds::part(receiver.kind(), true), reason(&receiver, "a slice"));
            };
            let bound = |value: Option<Value>, default: usize| match value {
                None => Some(default),
                Some(value) => {
                    let i = value.as_int()?;
                    let i = if i < 0 { i + items.len() as i128 } else { i };
                    Some(i.clamp(0, items.len() as i128) as usize)
                }
            };
            return match (bound(lower, 0), bound(upper, items.len())) {
                (Some(from), Some(to)) => Value::tuple(items.get(from..to).unwrap_or_default().to_vec()),
                _ => Value::unknown("the bounds of a slice"),
            };
        }
        let index = self.expr(frame, index);
        let at = |len: usize| {
            let i = index.as_int()?;
            usize::try_from(if i < 0 { i + len as i128 } else { i }).ok()
        };
        let found = match &receiver {
            Value::Tuple(items) => at(items.len()).and_then(|i| items.get(i).cloned()),
            Value::List(items) => at(items.borrow().len()).and_then(|i| items.borrow().get(i).cloned()),
            // One of its values, whichever key it is.
            Value::Dict(items) if self.entrance.is_some() && matches!(index, Value::Unknown(_)) => {
                let first = items.borrow().keys().next().cloned();
                self.used_as_key(&index, first);
                None
            }
            Value::Dict(items) if index.to_const().is_none() && (1..=MAX_CHOICES).contains(&items.borrow().len()) => {
                let why = reason(&index, "a key");
                items.borrow().values().cloned().reduce(|a, b| a.or(b, &why))
            }
            Value::Dict(items) => index.to_const().and_then(|k| {
                let found = items.borrow().get(&k).cloned();
                if found.is_none() {
                    self.raised = Some("a key is missing".into());
                }
                found
            }),
            // An enumeration.
            Value::Class(class) => match &index {
                Value::Const(Const::Str(name)) => {
                    let found = class.members.get(name.as_str()).cloned();
                    if found.is_none() {
                        self.raised = Some("a key is missing".into());
                    }
                    found
                }
                _ => None,
            },
            _ => None,
        };
        found.unwrap_or_else(|| {
            if let Value::Tuple(parts) = &receiver {
                self.lacks_axis(parts, &index);
            }
            Value::some(kinds::part(receiver.kind(), false), reason(&receiver, "an element"))
        })
    }
}
