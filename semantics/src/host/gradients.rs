//! Gradients: `.backward()` through what the host computes and through a file's own `torch.autograd.Function`s.
//!
//! Reverse mode over the nodes of the program, latest first. **Invariant:** a gradient that cannot be followed is unknown, never left out of
//! a sum.

use std::{collections::BTreeMap, rc::Rc};

use super::{
    contents::{expanded, permuted},
    interpret::Host,
    torch::Args,
    value::{Class, Contents, TensorValue, Value, row_major},
};
use crate::{
    dtype::DType,
    program::{Binary, NodeId, Op, Reduce, Scan, Unary, View},
};

/// What an evaluation knows of gradients.
#[derive(Default)]
pub(crate) struct Autograd {
    /// Tensors that keep their gradient.
    leaves: Vec<Leaf>,
    applied: Vec<Applied>,
}

struct Leaf {
    tensor: TensorValue,
    gradient: Option<TensorValue>,
}

/// A call of `Function.apply`.
struct Applied {
    class: Rc<Class>,
    context: Value,
    inputs: Vec<Value>,
    /// With what each held when it was returned.
    outputs: Vec<(TensorValue, NodeId)>,
}

impl Host<'_> {
    pub(super) fn needs_gradient(&mut self, t: &TensorValue) {
        if t.dtype.is_float() && self.leaf(t).is_none() {
            self.autograd.leaves.push(Leaf { tensor: t.clone(), gradient: None });
        }
    }

    fn leaf(&mut self, t: &TensorValue) -> Option<&mut Leaf> {
        self.autograd.leaves.iter_mut().find(|leaf| Rc::ptr_eq(&leaf.tensor.storage, &t.storage))
    }

    /// `t.grad`
    pub(super) fn gradient_of(&mut self, t: &TensorValue) -> Value {
        match self.leaf(t).map(|leaf| leaf.gradient.clone()) {
            Some(Some(gradient)) => Value::Tensor(gradient),
            Some(None) => Value::NONE,
            None => Value::unknown("the gradient is not known"),
        }
    }

    /// `t.grad = …`
    pub(super) fn set_gradient(&mut self, t: &TensorValue, value: Value) {
        if let Some(leaf) = self.leaf(t) {
            leaf.gradient = match value {
                Value::Tensor(gradient) => Some(gradient),
                _ => None,
            };
        }
    }

    /// `t.detach()`: of its own node where somebody asks for gradients, so that none goes back through it.
    pub(super) fn detached(&mut self, t: &TensorValue) -> TensorValue {
        if self.autograd.leaves.is_empty() {
            return t.clone();
        }
        let op = self.contents(t).map(Op::Detached);
        let made = self.computed(t.dtype, t.shape.clone(), op).on_cpu(t.on_cpu);
        *made.storage.init.borrow_mut() = t.like(t.dtype).init();
        made
    }

    /// Remembers how a function of the file was applied.
    pub(super) fn applied(&mut self, class: &Rc<Class>, context: Value, args: &Args, result: &Value) {
        if self.autograd.leaves.is_empty() || !self.path_conditions.is_empty() {
            return;
        }
        let results = match result {
            Value::Tuple(items) => items.to_vec(),
            one => vec![one.clone()],
        };
        let mut outputs = Vec::new();
        for result in results {
            if let Value::Tensor(t) = result
                && let Some(node) = self.memory(&t.storage)
            {
                outputs.push((t, node));
            }
        }
        self.autograd.applied.push(Applied { class: class.clone(), context, inputs: args.positional.clone(), outputs });
    }

    /// `t.backward(gradient)`
    pub(super) fn backward(&mut self, t: &TensorValue, gradient: Option<&Value>) {
        if self.autograd.leaves.is_empty() || !self.path_conditions.is_empty() {
            return;
        }
        let seed = match gradient {
            Some(Value::Tensor(gradient)) => Some(gradient.clone()),
            None | Some(Value::Const(_)) => Some(self.filled(1.0, t.dtype, &t.shape)),
            Some(_) => None,
        };
        let done = self.contents(t).zip(seed).and_then(|(view, seed)| {
            let mut pending = BTreeMap::new();
            self.flow_into(&mut pending, &view, &seed)?;
            self.flow_back(pending)
        });
        if done.is_none() {
            // What is left out of a sum makes it wrong.
            for leaf in 0..self.autograd.leaves.len() {
                let tensor = self.autograd.leaves[leaf].tensor.clone();
                let unknown = self.computed(tensor.dtype, tensor.shape.clone(), None).on_cpu(tensor.on_cpu);
                self.autograd.leaves[leaf].gradient = Some(unknown);
            }
        }
    }

    fn flow_back(&mut self, mut pending: BTreeMap<NodeId, TensorValue>) -> Option<()> {
        while let Some((node, gradient)) = pending.pop_last() {
            if self.fuel == 0 {
                return None;
            }
            self.burn();
            let memory = self.recorder.memories[node.index()].clone();
            if let Some(at) = self.autograd.leaves.iter().position(|leaf| Rc::ptr_eq(&leaf.tensor.storage, &memory)) {
                let tensor = self.autograd.leaves[at].tensor.clone();
                let own = gradient.view(tensor.shape.clone(), tensor.strides.clone(), tensor.offset);
                let sum = match self.autograd.leaves[at].gradient.clone() {
                    Some(before) => self.binary_as(Binary::Add, &before, &own, tensor.dtype)?,
                    None => own,
                };
                // It lies where its tensor does.
                self.autograd.leaves[at].gradient = Some(sum.on_cpu(tensor.on_cpu));
                continue;
            }
            let made_by = |applied: &Applied| applied.outputs.iter().any(|(_, output)| *output == node);
            if let Some(applied) = self.autograd.applied.iter().rposition(made_by) {
                pending.insert(node, gradient);
                self.flow_through(&mut pending, applied)?;
                continue;
            }
            self.adjoint(&mut pending, node, &gradient)?;
        }
        Some(())
    }

    /// Adds to the gradient of what a view is of.
    fn flow_into(&mut self, pending: &mut BTreeMap<NodeId, TensorValue>, view: &View, value: &TensorValue) -> Option<()> {
        let node = &self.recorder.program.nodes[view.node.index()];
        if !node.dtype.is_float() {
            return Some(());
        }
        let (dtype, shape) = (node.dtype, node.shape.clone());
        let len = node.numel();
        let value = expanded(value, &view.shape)?;
        let strides = row_major(&view.shape);
        let is_whole = view.offset == 0 && view.strides == strides && view.shape.iter().product::<u64>() == len;
        let spread = if is_whole {
            let whole = self.reshaped(&value, shape);
            // A gradient fills a memory as its node does.
            if whole.is_contiguous() && whole.offset == 0 { whole } else { self.copy(&whole, dtype) }
        } else {
            let (to, strides, offset) = (view.shape.clone(), view.strides.clone(), view.offset);
            let op = self.contents(&value).map(|value| Op::Spread { shape: to, strides, offset, value });
            self.computed(dtype, shape, op)
        };
        let sum = match pending.remove(&view.node) {
            Some(before) => self.binary_as(Binary::Add, &before, &spread, dtype)?,
            None => spread,
        };
        pending.insert(view.node, sum);
        Some(())
    }

    /// Calls `backward` of a function of the file.
    fn flow_through(&mut self, pending: &mut BTreeMap<NodeId, TensorValue>, applied: usize) -> Option<()> {
        let Applied { class, context, inputs, outputs } = &self.autograd.applied[applied];
        let (class, context, inputs, outputs) = (class.clone(), context.clone(), inputs.clone(), outputs.clone());
        let mut gradients = vec![];
        for (output, node) in &outputs {
            let gradient = match pending.remove(node) {
                Some(gradient) => gradient.view(output.shape.clone(), output.strides.clone(), output.offset),
                None => self.filled(0.0, output.dtype, &output.shape),
            };
            gradients.push(Value::Tensor(gradient.on_cpu(output.on_cpu)));
        }
        if let Value::Object(object) = &context {
            let asked = inputs.iter().map(|input| Value::bool(matches!(input, Value::Tensor(t) if t.dtype.is_float())));
            object.fields.borrow_mut().insert("needs_input_grad".into(), Value::tuple(asked.collect()));
        }
        let Some(Value::Closure(backward)) = class.members.get("backward").cloned() else { return None };
        let args = Args { positional: gradients, keywords: vec![] };
        let result = self.call_closure(&backward, &args, &[context]);
        let results = match result {
            Value::Tuple(items) => items.to_vec(),
            one => vec![one],
        };
        for (input, gradient) in inputs.iter().zip(results) {
            let Value::Tensor(input) = input else { continue };
            match gradient {
                Value::Tensor(gradient) => {
                    let view = self.contents(input)?;
                    self.flow_into(pending, &view, &gradient)?;
                }
                Value::Const(_) => {}
                _ => return None,
            }
        }
        Some(())
    }

    /// A tensor of what a view holds, whatever its memory holds by now.
    fn at(&self, view: &View) -> TensorValue {
        let node = &self.recorder.program.nodes[view.node.index()];
        let made = TensorValue::new(node.dtype, node.shape.clone(), None);
        *made.storage.contents.borrow_mut() = Contents::Node(view.node);
        made.view(view.shape.clone(), view.strides.clone(), view.offset)
    }

    /// From the gradient of a node to those of what it reads.
    fn adjoint(&mut self, pending: &mut BTreeMap<NodeId, TensorValue>, node: NodeId, g: &TensorValue) -> Option<()> {
        let made = self.recorder.program.nodes[node.index()].clone();
        let y = self.at(&View { node, strides: row_major(&made.shape), shape: made.shape.clone(), offset: 0 });
        match &made.op {
            Op::Init(..) | Op::Listed(_) | Op::Launched { .. } | Op::Detached(_) | Op::Argsort { .. } | Op::Spread { .. } => {
                Some(())
            }
            Op::Copy(x) => self.flow_into(pending, x, g),
            Op::Unary(f, x) => {
                let of = self.at(x);
                match self.slope(*f, &of, &y)? {
                    Some(slope) => {
                        let gx = self.binary_as(Binary::Mul, g, &slope, g.dtype)?;
                        self.flow_into(pending, x, &gx)
                    }
                    None => Some(()),
                }
            }
            Op::Binary(f, a, b) => {
                let (ta, tb) = (self.at(a), self.at(b));
                let times = |host: &mut Self, g: &TensorValue, by: &TensorValue| host.binary_as(Binary::Mul, g, by, g.dtype);
                let (ga, gb) = match f {
                    Binary::Add => (Some(g.clone()), Some(g.clone())),
                    Binary::Sub => (Some(g.clone()), Some(self.unary(Unary::Neg, g))),
                    Binary::Mul => (Some(times(self, g, &tb)?), Some(times(self, g, &ta)?)),
                    Binary::Div => {
                        let ga = self.binary_as(Binary::Div, g, &tb, g.dtype)?;
                        let ratio = self.binary_as(Binary::Div, &y, &tb, g.dtype)?;
                        let gb = times(self, g, &ratio)?;
                        (Some(ga), Some(self.unary(Unary::Neg, &gb)))
                    }
                    Binary::Pow => {
                        let one = self.number(1.0, tb.dtype);
                        let less = self.binary_as(Binary::Sub, &tb, &one, g.dtype)?;
                        let power = self.binary_as(Binary::Pow, &ta, &less, g.dtype)?;
                        let slope = times(self, &power, &tb)?;
                        let log = self.unary(Unary::Log, &ta);
                        let by_exponent = times(self, &y, &log)?;
                        (Some(times(self, g, &slope)?), Some(times(self, g, &by_exponent)?))
                    }
                    Binary::Maximum | Binary::Minimum => {
                        let (low, high) = if *f == Binary::Maximum { (&tb, &ta) } else { (&ta, &tb) };
                        let first = self.binary_as(Binary::LessEqual, low, high, g.dtype)?;
                        let other = self.unary(Unary::Not, &first);
                        (Some(times(self, g, &first)?), Some(times(self, g, &other)?))
                    }
                    _ => (None, None),
                };
                if let Some(ga) = ga {
                    self.flow_into(pending, a, &ga)?;
                }
                if let Some(gb) = gb {
                    self.flow_into(pending, b, &gb)?;
                }
                Some(())
            }
            Op::Select(condition, a, b) => {
                let (condition, zero) = (self.at(condition), self.number(0.0, g.dtype));
                let ga = self.select(&condition, g, &zero)?;
                let gb = self.select(&condition, &zero, g)?;
                self.flow_into(pending, a, &ga)?;
                self.flow_into(pending, b, &gb)
            }
            Op::Reduce(f, x, axes) => {
                let wide = |t: &TensorValue| {
                    let (mut shape, mut strides) = (t.shape.clone(), t.strides.clone());
                    shape.extend(vec![1; *axes]);
                    strides.extend(vec![0; *axes]);
                    expanded(&t.view(shape, strides, t.offset), &x.shape)
                };
                let (gw, of) = (wide(g)?, self.at(x));
                let gx = match f {
                    Reduce::Sum => gw,
                    Reduce::Prod => {
                        let share = self.binary_as(Binary::Div, &wide(&y)?, &of, g.dtype)?;
                        self.binary_as(Binary::Mul, &gw, &share, g.dtype)?
                    }
                    Reduce::Max | Reduce::Min => {
                        let is_it = self.binary_as(Binary::Equal, &of, &wide(&y)?, g.dtype)?;
                        let is_it = self.copy(&is_it, g.dtype);
                        let last: Vec<usize> = (x.shape.len() - axes..x.shape.len()).collect();
                        let count = self.reduce(Reduce::Sum, &is_it, &last, false);
                        let share = self.binary_as(Binary::Div, &is_it, &wide(&count)?, g.dtype)?;
                        self.binary_as(Binary::Mul, &gw, &share, g.dtype)?
                    }
                    Reduce::ArgMax | Reduce::ArgMin => return Some(()),
                };
                self.flow_into(pending, x, &gx)
            }
            Op::Scan(Scan::Sum, x) => {
                let last = x.shape.len() - 1;
                let total = self.reduce(Reduce::Sum, g, &[last], true);
                let before = self.scan(Scan::Sum, g, last);
                let rest = self.binary_as(Binary::Sub, &total, &before, g.dtype)?;
                let gx = self.binary_as(Binary::Add, &rest, g, g.dtype)?;
                self.flow_into(pending, x, &gx)
            }
            Op::Scan(..) => None,
            Op::MatMul(a, b) => {
                let (ta, tb) = (self.at(a), self.at(b));
                let ga = self.matmul(g, &permuted(&tb, &[0, 2, 1]))?;
                let gb = self.matmul(&permuted(&ta, &[0, 2, 1]), g)?;
                self.flow_into(pending, a, &ga)?;
                self.flow_into(pending, b, &gb)
            }
            Op::Store { into, value } => {
                let part = g.view(into.shape.clone(), into.strides.clone(), into.offset);
                self.flow_into(pending, value, &part)?;
                let rest = self.copy(g, g.dtype);
                let zero = self.number(0.0, g.dtype);
                self.store(&rest.view(into.shape.clone(), into.strides.clone(), into.offset), &zero);
                let whole = View { node: into.node, strides: row_major(&made.shape), shape: made.shape.clone(), offset: 0 };
                self.flow_into(pending, &whole, &rest)
            }
            Op::Take { of, index } => {
                // One of the elements for each index: where the number is the index.
                let (n, rank) = (*of.shape.last()?, of.shape.len());
                let index = self.at(index);
                let count = self.counted(n);
                let mut at = index.clone();
                at.shape.push(1);
                at.strides.push(0);
                let hot = self.binary_as(Binary::Equal, &at, &count, DType::I64)?;
                let mut wide = g.clone();
                wide.shape.push(1);
                wide.strides.push(0);
                let each = self.binary_as(Binary::Mul, &wide, &hot, g.dtype)?;
                let gx = self.reduce(Reduce::Sum, &each, &[rank - 1], false);
                self.flow_into(pending, of, &gx)
            }
        }
    }

    /// The derivative of an operation at `x`, where it makes `y`; `Some(None)`: it is 0.
    fn slope(&mut self, f: Unary, x: &TensorValue, y: &TensorValue) -> Option<Option<TensorValue>> {
        let n = |host: &mut Self, value: f64| host.number(value, x.dtype);
        let one = n(self, 1.0);
        Some(Some(match f {
            Unary::Neg => n(self, -1.0),
            Unary::Abs => self.unary(Unary::Sign, x),
            Unary::Exp => y.clone(),
            Unary::Exp2 => {
                let by = n(self, std::f64::consts::LN_2);
                self.binary_of(Binary::Mul, y, &by)?
            }
            Unary::Log => self.binary_of(Binary::Div, &one, x)?,
            Unary::Log2 => {
                let by = n(self, std::f64::consts::LOG2_E);
                self.binary_of(Binary::Div, &by, x)?
            }
            Unary::Sqrt => {
                let half = n(self, 0.5);
                self.binary_of(Binary::Div, &half, y)?
            }
            Unary::Sin => self.unary(Unary::Cos, x),
            Unary::Cos => {
                let sin = self.unary(Unary::Sin, x);
                self.unary(Unary::Neg, &sin)
            }
            Unary::Tanh => {
                let square = self.binary_of(Binary::Mul, y, y)?;
                self.binary_of(Binary::Sub, &one, &square)?
            }
            Unary::Sigmoid => {
                let rest = self.binary_of(Binary::Sub, &one, y)?;
                self.binary_of(Binary::Mul, y, &rest)?
            }
            Unary::Erf => {
                let square = self.binary_of(Binary::Mul, x, x)?;
                let minus = self.unary(Unary::Neg, &square);
                let bell = self.unary(Unary::Exp, &minus);
                let by = n(self, std::f64::consts::FRAC_2_SQRT_PI);
                self.binary_of(Binary::Mul, &bell, &by)?
            }
            Unary::Tan | Unary::Asin | Unary::Acos | Unary::Atan | Unary::Sinh | Unary::Cosh => return self.rare_slope(f, x, y),
            Unary::Sign | Unary::Floor | Unary::Ceil | Unary::Round | Unary::Trunc => return Some(None),
            Unary::Not | Unary::IsNan | Unary::IsInf => return Some(None),
        }))
    }

    fn rare_slope(&mut self, f: Unary, x: &TensorValue, y: &TensorValue) -> Option<Option<TensorValue>> {
        let one = self.number(1.0, x.dtype);
        let square = self.binary_of(Binary::Mul, x, x)?;
        Some(Some(match f {
            Unary::Tan => {
                let square = self.binary_of(Binary::Mul, y, y)?;
                self.binary_of(Binary::Add, &one, &square)?
            }
            Unary::Atan => {
                let sum = self.binary_of(Binary::Add, &one, &square)?;
                self.binary_of(Binary::Div, &one, &sum)?
            }
            Unary::Asin | Unary::Acos => {
                let rest = self.binary_of(Binary::Sub, &one, &square)?;
                let root = self.unary(Unary::Sqrt, &rest);
                let slope = self.binary_of(Binary::Div, &one, &root)?;
                if f == Unary::Asin { slope } else { self.unary(Unary::Neg, &slope) }
            }
            Unary::Sinh => self.unary(Unary::Cosh, x),
            Unary::Cosh => self.unary(Unary::Sinh, x),
            _ => return None,
        }))
    }
}
