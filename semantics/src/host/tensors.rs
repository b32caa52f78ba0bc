//! Calls and operators that take tensors: where they are made, where they are, and what they hold.

use std::rc::Rc;

use super::{
    interpret::Host,
    torch::{self, Args},
    value::{Contents, TensorValue, Value},
};
use crate::{
    body::{BinaryOp, CompareOp},
    program::Binary,
};

/// Methods whose result holds the same elements in a memory of its own, unless it is the tensor itself.
const COPIES: &[&str] = &[
    "clone",
    "contiguous",
    "to",
    "type",
    "type_as",
    "half",
    "bfloat16",
    "float",
    "double",
    "int",
    "long",
    "bool",
    "cpu",
    "cuda",
    "reshape",
];

impl Host<'_> {
    /// `torch.<name>(…)`
    pub(super) fn tensor_function(&mut self, name: &str, args: &Args) -> Option<Value> {
        if let Some((Value::Tensor(t), rest)) = args.positional.split_first()
            && matches!(name, "transpose" | "permute" | "reshape" | "numel" | "clone" | "t")
        {
            return self.tensor_method(&t.clone(), name, &Args { positional: rest.to_vec(), keywords: args.keywords.clone() });
        }
        if let Some(found) = self.array_function(name, args) {
            return Some(found);
        }
        let made = torch::call(name, args, self.default_is_cpu)?;
        if let Value::Tensor(t) = &made {
            self.made(t, args);
            if name == "tensor" {
                self.list(t, args);
            }
        }
        Some(made)
    }

    /// What a function that makes tensors is told of gradients.
    fn made(&mut self, t: &TensorValue, args: &Args) {
        if args.keyword("requires_grad").is_some_and(|value| value.truth() == Some(true)) {
            self.needs_gradient(t);
        }
    }

    /// The numbers of `torch.tensor([…])`.
    fn list(&mut self, t: &TensorValue, args: &Args) {
        fn flat(value: &Value, out: &mut Vec<f64>) -> Option<()> {
            match value {
                Value::Tuple(_) | Value::List(_) => value.items()?.iter().try_for_each(|item| flat(item, out)),
                _ => {
                    out.push(value.as_float()?);
                    Some(())
                }
            }
        }
        let mut numbers = Vec::new();
        let known = args.positional.first().and_then(|list| flat(list, &mut numbers));
        if known.is_some() && numbers.len() as u64 == t.numel() {
            self.hold_list(t, numbers);
        }
    }

    /// `t.<name>(…)`
    pub(super) fn tensor_method(&mut self, t: &TensorValue, name: &str, args: &Args) -> Option<Value> {
        match name {
            "requires_grad_" => {
                self.needs_gradient(t);
                return Some(Value::Tensor(t.clone()));
            }
            "backward" => {
                self.backward(t, args.get(0, "gradient"));
                return Some(Value::NONE);
            }
            "detach" => return Some(Value::Tensor(self.detached(t))),
            "copy_" => {
                let Value::Tensor(source) = args.get(0, "src")? else { return None };
                self.store(t, &source.clone());
                return Some(Value::Tensor(t.clone()));
            }
            "zero_" | "fill_" | "normal_" | "uniform_" | "random_" if t.numel() != t.storage.len => {
                let fill = if name == "zero_" { 0.0 } else { args.get(0, "value")?.as_float()? };
                let fill = (name == "zero_" || name == "fill_").then(|| self.number(fill, t.dtype));
                match fill {
                    Some(fill) => self.store(t, &fill),
                    None => self.overwrite(&t.storage, None),
                }
                return Some(Value::Tensor(t.clone()));
            }
            "zero_" | "fill_" | "normal_" | "uniform_" => {
                let made = torch::method(t, name, args);
                let is_certain = self.path_conditions.is_empty() && made.is_some();
                *t.storage.contents.borrow_mut() = if is_certain { Contents::Made } else { Contents::Unknown };
                return made;
            }
            _ => {}
        }
        let made = torch::method(t, name, args);
        if let Some(Value::Tensor(made)) = &made {
            if COPIES.contains(&name) && !Rc::ptr_eq(&made.storage, &t.storage) {
                self.hold_copy(made, t);
            }
            if name.starts_with("new_") {
                self.made(made, args);
            }
        }
        made.or_else(|| {
            let mut positional = vec![Value::Tensor(t.clone())];
            positional.extend(args.positional.iter().cloned());
            self.array_function(name, &Args { positional, keywords: args.keywords.clone() })
        })
    }

    pub(super) fn tensor_arithmetic(&mut self, op: BinaryOp, lhs: &Value, rhs: &Value) -> Option<Value> {
        if op == BinaryOp::MatMul {
            let (Value::Tensor(a), Value::Tensor(b)) = (lhs, rhs) else { return None };
            return self.matmul(a, b).map(Value::Tensor);
        }
        let f = match op {
            BinaryOp::Add => Binary::Add,
            BinaryOp::Sub => Binary::Sub,
            BinaryOp::Mul => Binary::Mul,
            BinaryOp::Div => Binary::Div,
            BinaryOp::FloorDiv => Binary::FloorDiv,
            BinaryOp::Mod => Binary::Remainder,
            BinaryOp::Pow => Binary::Pow,
            BinaryOp::BitAnd => Binary::And,
            BinaryOp::BitOr => Binary::Or,
            BinaryOp::BitXor => Binary::Xor,
            _ => return self.shifted_bits(lhs, rhs),
        };
        let made = self.binary_values(f, lhs, rhs)?;
        if let Value::Tensor(made) = &made {
            *made.storage.init.borrow_mut() = torch::scaled(op, lhs, rhs);
        }
        Some(made)
    }

    /// `x << n`, whose numbers are not followed.
    fn shifted_bits(&mut self, lhs: &Value, rhs: &Value) -> Option<Value> {
        match (lhs, rhs) {
            (Value::Tensor(a), Value::Tensor(b)) => {
                let shape = torch::broadcast(&a.shape, &b.shape)?;
                Some(Value::Tensor(self.computed(a.dtype, shape, None).on_cpu(a.on_cpu && b.on_cpu)))
            }
            (Value::Tensor(t), _) | (_, Value::Tensor(t)) => {
                Some(Value::Tensor(self.computed(t.dtype, t.shape.clone(), None).on_cpu(t.on_cpu)))
            }
            _ => None,
        }
    }

    /// A comparison in which a tensor takes part, element by element.
    pub(super) fn tensor_comparison(&mut self, op: CompareOp, lhs: &Value, rhs: &Value) -> Option<Value> {
        let is_operand = |value: &Value| matches!(value, Value::Tensor(_)) || value.as_float().is_some();
        if !matches!((lhs, rhs), (Value::Tensor(_), _) | (_, Value::Tensor(_))) || !is_operand(lhs) || !is_operand(rhs) {
            return None;
        }
        let (f, a, b) = match op {
            CompareOp::Lt => (Binary::Less, lhs, rhs),
            CompareOp::Gt => (Binary::Less, rhs, lhs),
            CompareOp::Le => (Binary::LessEqual, lhs, rhs),
            CompareOp::Ge => (Binary::LessEqual, rhs, lhs),
            CompareOp::Eq => (Binary::Equal, lhs, rhs),
            CompareOp::Ne => (Binary::NotEqual, lhs, rhs),
            _ => return None,
        };
        self.binary_values(f, a, b)
    }
}
