//! What tensors hold: every operation on known contents becomes a node of the [`Program`].
//!
//! **Invariant:** a tensor's contents are the node that its memory holds now, or unknown; shape and dtype are known either way. What may
//! have happened, as a condition is not known, leaves contents unknown.

use std::rc::Rc;

use smol_str::SmolStr;

use super::{
    HostPlace,
    interpret::Host,
    torch::{broadcast, is_countable, promote},
    value::{Contents, Storage, TensorValue, row_major},
};
use crate::{
    dtype::DType,
    launch::Init,
    program::{Binary, Node, NodeId, Op, Program, Reduce, Scan, Step, Unary, View},
};

/// Contents that are followed.
const MAX_NODES: usize = 1 << 14;
/// Launches that are followed, each time that they are made.
const MAX_STEPS: usize = 1 << 12;
/// Elements of one tensor that the host computes.
const MAX_COMPUTED: u64 = 1 << 28;

/// What an evaluation records.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) program: Program,
    /// The memory of each node.
    pub(super) memories: Vec<Rc<Storage>>,
    /// How often a name was given to a tensor that is made at random.
    names: Vec<(SmolStr, usize)>,
}

impl Host<'_> {
    /// The contents of a tensor, if they are known.
    pub(super) fn contents(&mut self, t: &TensorValue) -> Option<View> {
        let node = self.memory(&t.storage)?;
        Some(View { node, shape: t.shape.clone(), strides: t.strides.clone(), offset: t.offset })
    }

    /// What a memory holds.
    pub(super) fn memory(&mut self, storage: &Rc<Storage>) -> Option<NodeId> {
        let now = storage.contents.borrow().clone();
        match now {
            Contents::Node(node) => Some(node),
            Contents::Unknown => None,
            Contents::Made => {
                let init = storage.init.borrow().clone()?;
                let name = storage.name.borrow().clone().unwrap_or_else(|| "tensor".into());
                let name = self.unique_name(name);
                let node = self.node(storage.dtype, vec![storage.len], Op::Init(init, name), storage)?;
                *storage.contents.borrow_mut() = Contents::Node(node);
                Some(node)
            }
        }
    }

    fn unique_name(&mut self, name: SmolStr) -> SmolStr {
        let names = &mut self.recorder.names;
        match names.iter_mut().find(|(other, _)| *other == name) {
            Some((_, count)) => {
                *count += 1;
                format!("{name}#{count}").into()
            }
            None => {
                names.push((name.clone(), 1));
                name
            }
        }
    }

    fn node(&mut self, dtype: DType, shape: Vec<u64>, op: Op, memory: &Rc<Storage>) -> Option<NodeId> {
        let recorder = &mut self.recorder;
        if recorder.program.nodes.len() >= MAX_NODES {
            return None;
        }
        let id = NodeId(recorder.program.nodes.len() as u32);
        recorder.program.nodes.push(Node { dtype, shape, op });
        recorder.memories.push(memory.clone());
        Some(id)
    }

    /// A tensor of its own that an operation makes; without one its contents are not known.
    pub(super) fn computed(&mut self, dtype: DType, shape: Vec<u64>, op: Option<Op>) -> TensorValue {
        let made = TensorValue::new(dtype, shape.clone(), None);
        let op = op.filter(|_| made.numel() <= MAX_COMPUTED);
        let node = op.and_then(|op| self.node(dtype, shape, op, &made.storage));
        *made.storage.contents.borrow_mut() = node.map_or(Contents::Unknown, Contents::Node);
        made
    }

    /// After this a memory holds something else.
    pub(super) fn overwrite(&mut self, storage: &Rc<Storage>, op: Option<Op>) {
        let op = op.filter(|_| self.path_conditions.is_empty());
        let node = op.and_then(|op| self.node(storage.dtype, vec![storage.len], op, storage));
        *storage.contents.borrow_mut() = node.map_or(Contents::Unknown, Contents::Node);
    }

    /// `into[…] = value`
    pub(super) fn store(&mut self, into: &TensorValue, value: &TensorValue) {
        let value = expanded(value, &into.shape);
        let op = value.and_then(|value| Some(Op::Store { into: self.contents(into)?, value: self.contents(&value)? }));
        self.overwrite(&into.storage, op);
    }

    /// A launch of memories, by their place in it: from now on they hold what it leaves.
    pub(super) fn record_step(&mut self, place: HostPlace, launches: Vec<usize>, memories: &[Rc<Storage>]) {
        let before: Option<Vec<NodeId>> = memories.iter().map(|memory| self.memory(memory)).collect();
        let program = &mut self.recorder.program;
        let room = program.nodes.len() + memories.len() <= MAX_NODES && program.steps.len() < MAX_STEPS;
        let Some(before) = before.filter(|_| room) else {
            return memories.iter().for_each(|memory| self.overwrite(memory, None));
        };
        let (step, after) = (program.steps.len(), program.nodes.len() as u32);
        program.steps.push(Step { place, launches, before, after });
        for (index, memory) in memories.iter().enumerate() {
            let node = self.node(memory.dtype, vec![memory.len], Op::Launched { step, memory: index }, memory);
            *memory.contents.borrow_mut() = node.map_or(Contents::Unknown, Contents::Node);
        }
    }

    /// A number, which goes with tensors of any device.
    pub(super) fn number(&mut self, value: f64, dtype: DType) -> TensorValue {
        self.computed(dtype, vec![], Some(Op::Listed(vec![value]))).on_cpu(true)
    }

    pub(super) fn filled(&mut self, value: f64, dtype: DType, shape: &[u64]) -> TensorValue {
        let one = self.number(value, dtype);
        one.view(shape.to_vec(), vec![0; shape.len()], 0)
    }

    /// 0, 1, 2, …
    pub(super) fn counted(&mut self, len: u64) -> TensorValue {
        self.computed(DType::I64, vec![len], Some(Op::Init(Init::Arange, "arange".into()))).on_cpu(true)
    }

    pub(super) fn unary(&mut self, f: Unary, x: &TensorValue) -> TensorValue {
        let dtype = match f {
            Unary::Not | Unary::IsNan | Unary::IsInf => DType::I1,
            Unary::Neg | Unary::Abs | Unary::Sign | Unary::Floor | Unary::Ceil | Unary::Round | Unary::Trunc => x.dtype,
            _ if x.dtype.is_float() => x.dtype,
            _ => DType::F32,
        };
        let op = self.contents(x).map(|x| Op::Unary(f, x));
        self.computed(dtype, x.shape.clone(), op).on_cpu(x.on_cpu)
    }

    pub(super) fn binary_of(&mut self, f: Binary, a: &TensorValue, b: &TensorValue) -> Option<TensorValue> {
        let dtype = promote(a.dtype, b.dtype);
        self.binary_as(f, a, b, dtype)
    }

    /// `dtype`: of the operands together.
    pub(super) fn binary_as(&mut self, f: Binary, a: &TensorValue, b: &TensorValue, dtype: DType) -> Option<TensorValue> {
        let dtype = match f {
            Binary::Less | Binary::LessEqual | Binary::Equal | Binary::NotEqual => DType::I1,
            Binary::Div if dtype.is_int() => DType::F32,
            _ => dtype,
        };
        let shape = broadcast(&a.shape, &b.shape)?;
        let (a, b) = (expanded(a, &shape)?, expanded(b, &shape)?);
        let op = self.contents(&a).zip(self.contents(&b)).map(|(a, b)| Op::Binary(f, a, b));
        Some(self.computed(dtype, shape, op).on_cpu(a.on_cpu && b.on_cpu))
    }

    pub(super) fn select(&mut self, condition: &TensorValue, a: &TensorValue, b: &TensorValue) -> Option<TensorValue> {
        let shape = broadcast(&condition.shape, &broadcast(&a.shape, &b.shape)?)?;
        let [c, a, b] = [condition, a, b].map(|t| expanded(t, &shape));
        let (c, a, b) = (c?, a?, b?);
        let dtype = promote(a.dtype, b.dtype);
        let views = [&c, &a, &b].map(|t| self.contents(t));
        let op = match views {
            [Some(c), Some(a), Some(b)] => Some(Op::Select(c, a, b)),
            _ => None,
        };
        Some(self.computed(dtype, shape, op).on_cpu(condition.on_cpu && a.on_cpu && b.on_cpu))
    }

    /// Over some axes; with `keep` they stay, of extent 1.
    pub(super) fn reduce(&mut self, f: Reduce, x: &TensorValue, axes: &[usize], keep: bool) -> TensorValue {
        let kept: Vec<usize> = (0..x.shape.len()).filter(|axis| !axes.contains(axis)).collect();
        let order: Vec<usize> = kept.iter().chain(axes).copied().collect();
        let dtype = match f {
            Reduce::ArgMax | Reduce::ArgMin => DType::I64,
            Reduce::Sum | Reduce::Prod if x.dtype.is_int() => DType::I64,
            _ => x.dtype,
        };
        let op = self.contents(&permuted(x, &order)).map(|x| Op::Reduce(f, x, axes.len()));
        let made = self.computed(dtype, kept.iter().map(|&axis| x.shape[axis]).collect(), op).on_cpu(x.on_cpu);
        if !keep {
            return made;
        }
        let shape = (0..x.shape.len()).map(|axis| if axes.contains(&axis) { 1 } else { x.shape[axis] }).collect::<Vec<_>>();
        let strides = row_major(&shape);
        made.view(shape, strides, 0)
    }

    pub(super) fn scan(&mut self, f: Scan, x: &TensorValue, axis: usize) -> TensorValue {
        let moved = to_last(x, axis);
        let dtype = if x.dtype.is_int() { DType::I64 } else { x.dtype };
        let op = self.contents(&moved).map(|x| Op::Scan(f, x));
        let made = self.computed(dtype, moved.shape.clone(), op).on_cpu(x.on_cpu);
        from_last(&made, axis)
    }

    pub(super) fn argsort(&mut self, x: &TensorValue, axis: usize, descending: bool) -> TensorValue {
        let moved = to_last(x, axis);
        let op = self.contents(&moved).map(|of| Op::Argsort { of, descending });
        let made = self.computed(DType::I64, moved.shape.clone(), op).on_cpu(x.on_cpu);
        from_last(&made, axis)
    }

    /// `torch.gather`: all axes but one agree.
    pub(super) fn take(&mut self, x: &TensorValue, axis: usize, index: &TensorValue) -> Option<TensorValue> {
        let rank = x.shape.len();
        let agree = |a: usize| a == axis || x.shape[a] == index.shape[a];
        if rank == 0 || index.shape.len() != rank || !(0..rank).all(agree) {
            return None;
        }
        let (of, at) = (to_last(x, axis), to_last(index, axis));
        let op = self.contents(&of).zip(self.contents(&at)).map(|(of, index)| Op::Take { of, index });
        let made = self.computed(x.dtype, at.shape.clone(), op).on_cpu(x.on_cpu);
        Some(from_last(&made, axis))
    }

    /// Matrix products, with axes in front that broadcast.
    pub(super) fn matmul(&mut self, a: &TensorValue, b: &TensorValue) -> Option<TensorValue> {
        let (first, second) = (a.shape.len() == 1, b.shape.len() == 1);
        let a = if first { inserted(a, 0) } else { a.clone() };
        let b = if second { inserted(b, 1) } else { b.clone() };
        let (m, k) = (*a.shape.get(a.shape.len().checked_sub(2)?)?, *a.shape.last()?);
        let (k2, n) = (*b.shape.get(b.shape.len().checked_sub(2)?)?, *b.shape.last()?);
        if k != k2 {
            return None;
        }
        let batch = broadcast(&a.shape[..a.shape.len() - 2], &b.shape[..b.shape.len() - 2])?;
        let count: u64 = batch.iter().product();
        let with = |inner: [u64; 2]| [&batch[..], &inner].concat();
        let (a, b) = (expanded(&a, &with([m, k]))?, expanded(&b, &with([k, n]))?);
        let a = self.reshaped(&a, vec![count, m, k]);
        let b = self.reshaped(&b, vec![count, k, n]);
        let op = self.contents(&a).zip(self.contents(&b)).map(|(a, b)| Op::MatMul(a, b));
        let dtype = promote(a.dtype, b.dtype);
        let made = self.computed(dtype, vec![count, m, n], op).on_cpu(a.on_cpu && b.on_cpu);
        let mut shape = batch;
        shape.extend([(!first).then_some(m), (!second).then_some(n)].into_iter().flatten());
        let strides = row_major(&shape);
        Some(made.view(shape, strides, 0))
    }

    /// Row-major, in a memory of its own.
    pub(super) fn copy(&mut self, x: &TensorValue, dtype: DType) -> TensorValue {
        let op = self.contents(x).map(Op::Copy);
        let made = self.computed(dtype, x.shape.clone(), op).on_cpu(x.on_cpu);
        // What it was made of says how a tensor alone would be made.
        *made.storage.init.borrow_mut() = x.like(dtype).init();
        made
    }

    /// A tensor of its own that was made by copying another.
    pub(super) fn hold_copy(&mut self, made: &TensorValue, from: &TensorValue) {
        let op = self.contents(from).map(Op::Copy).filter(|_| made.is_contiguous() && made.numel() == from.numel());
        let node = op.and_then(|op| self.node(made.dtype, made.shape.clone(), op, &made.storage));
        *made.storage.contents.borrow_mut() = node.map_or(Contents::Unknown, Contents::Node);
    }

    /// What `torch.tensor([…])` lists.
    pub(super) fn hold_list(&mut self, made: &TensorValue, numbers: Vec<f64>) {
        let node = self.node(made.dtype, made.shape.clone(), Op::Listed(numbers), &made.storage);
        *made.storage.contents.borrow_mut() = node.map_or(Contents::Unknown, Contents::Node);
    }

    /// Of as many elements: a view where the strides allow it, else a copy.
    pub(super) fn reshaped(&mut self, x: &TensorValue, shape: Vec<u64>) -> TensorValue {
        let strides = row_major(&shape);
        if x.is_contiguous() {
            return x.view(shape, strides, x.offset);
        }
        // Axes of extent 1 come and go.
        let significant = |shape: &[u64]| shape.iter().copied().filter(|&extent| extent != 1).collect::<Vec<_>>();
        if significant(&shape) == significant(&x.shape) {
            let mut own = x.shape.iter().zip(&x.strides).filter(|(extent, _)| **extent != 1).map(|(_, stride)| *stride);
            let strides = shape.iter().map(|&extent| if extent == 1 { 0 } else { own.next().unwrap_or(0) }).collect();
            return x.view(shape, strides, x.offset);
        }
        let made = self.copy(x, x.dtype);
        made.view(shape, strides, 0)
    }

    /// One after the other along an axis.
    pub(super) fn joined(&mut self, parts: &[TensorValue], axis: usize) -> Option<TensorValue> {
        let first = parts.first()?;
        let dtype = parts.iter().map(|part| part.dtype).reduce(promote)?;
        let mut shape = first.shape.clone();
        let agrees = |part: &TensorValue| {
            part.shape.len() == shape.len() && (0..shape.len()).all(|a| a == axis || part.shape[a] == first.shape[a])
        };
        if axis >= shape.len() || !parts.iter().all(agrees) {
            return None;
        }
        shape[axis] = parts.iter().try_fold(0u64, |sum, part| sum.checked_add(part.shape[axis]))?;
        is_countable(&shape).then_some(())?;
        let zero = self.number(0.0, dtype);
        let zeros = zero.view(shape.clone(), vec![0; shape.len()], 0);
        let whole = self.copy(&zeros, dtype);
        *whole.storage.init.borrow_mut() = None;
        let mut at = 0;
        for part in parts {
            let into = narrowed(&whole, axis, at, part.shape[axis]);
            let op = self.contents(&into).zip(self.contents(part)).map(|(into, value)| Op::Store { into, value });
            let node = op.and_then(|op| self.node(dtype, vec![whole.storage.len], op, &whole.storage));
            *whole.storage.contents.borrow_mut() = node.map_or(Contents::Unknown, Contents::Node);
            at += part.shape[axis];
        }
        Some(whole.on_cpu(parts.iter().all(|part| part.on_cpu)))
    }
}

/// A view in which axes of extent 1, and those that are missing in front, repeat.
pub(super) fn expanded(x: &TensorValue, shape: &[u64]) -> Option<TensorValue> {
    let missing = shape.len().checked_sub(x.shape.len()).filter(|_| is_countable(shape))?;
    let mut strides = vec![0; missing];
    for (axis, (&extent, &stride)) in x.shape.iter().zip(&x.strides).enumerate() {
        strides.push(match (extent, shape[missing + axis]) {
            (a, b) if a == b => stride,
            (1, _) => 0,
            _ => return None,
        });
    }
    Some(x.view(shape.to_vec(), strides, x.offset))
}

pub(super) fn permuted(x: &TensorValue, order: &[usize]) -> TensorValue {
    let (shape, strides) = order.iter().map(|&axis| (x.shape[axis], x.strides[axis])).unzip();
    x.view(shape, strides, x.offset)
}

fn to_last(x: &TensorValue, axis: usize) -> TensorValue {
    let order: Vec<usize> = (0..x.shape.len()).filter(|&a| a != axis).chain([axis]).collect();
    permuted(x, &order)
}

fn from_last(x: &TensorValue, axis: usize) -> TensorValue {
    let last = x.shape.len() - 1;
    let order: Vec<usize> = (0..last + 1)
        .map(|a| {
            if a < axis {
                a
            } else if a == axis {
                last
            } else {
                a - 1
            }
        })
        .collect();
    permuted(x, &order)
}

/// With one more axis of extent 1.
pub(super) fn inserted(x: &TensorValue, axis: usize) -> TensorValue {
    let (mut shape, mut strides) = (x.shape.clone(), x.strides.clone());
    strides.insert(axis, strides.get(axis).map_or(1, |stride| stride.saturating_mul(shape[axis])));
    shape.insert(axis, 1);
    x.view(shape, strides, x.offset)
}

/// So many elements along an axis.
pub(super) fn narrowed(x: &TensorValue, axis: usize, from: u64, len: u64) -> TensorValue {
    let mut shape = x.shape.clone();
    shape[axis] = len;
    x.view(shape, x.strides.clone(), x.offset + from * x.strides[axis])
}
