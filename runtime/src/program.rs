//! Runs what a host program computes between its launches.
//!
//! **Invariant:** a node is computed at most once, from the nodes that it reads; numbers are `f64` until something rounds them: a cast, a
//! store, or a launch that is given them.

mod operations;

use std::sync::Arc;

use rayon::prelude::*;
use tritium_semantics::{
    dtype::DType,
    host::row_major,
    launch::{self, MemoryPlace},
    program::{Node, NodeId, Op, Program, View},
};

use crate::{
    bundle::Beside,
    files,
    tensor::{Tensor, decode, encode},
};

/// The contents of a program's memories, as far as they are known.
pub(crate) struct Contents<'p> {
    program: &'p Program,
    /// What `file("x.npy")` is relative to.
    beside: Beside<'p>,
    held: Vec<Option<Held>>,
    /// What all contents together may take.
    max_bytes: u64,
    bytes: u64,
}

/// What a node holds: as a device has it, as numbers, or both.
#[derive(Clone)]
enum Held {
    Bytes(Arc<Vec<u8>>),
    Values(Arc<Vec<f64>>),
}

impl Held {
    fn bytes(&self) -> u64 {
        match self {
            Held::Bytes(bytes) => bytes.len() as u64,
            Held::Values(values) => 8 * values.len() as u64,
        }
    }
}

impl<'p> Contents<'p> {
    pub(crate) fn new(program: &'p Program, beside: Beside<'p>, max_bytes: u64) -> Contents<'p> {
        Contents { program, beside, held: vec![None; program.nodes.len()], max_bytes, bytes: 0 }
    }

    fn node(&self, id: NodeId) -> &'p Node {
        &self.program.nodes[id.index()]
    }

    /// Computes nodes and all that they read.
    pub(crate) fn need(&mut self, wanted: impl IntoIterator<Item = NodeId>) -> Result<(), String> {
        let mut order: Vec<NodeId> = ancestors(self.program, wanted, |id| self.held[id.index()].is_some());
        order.sort_unstable();
        for id in order {
            let held = self.compute(id)?;
            self.hold(id, held)?;
        }
        Ok(())
    }

    fn hold(&mut self, id: NodeId, held: Held) -> Result<(), String> {
        self.bytes += held.bytes();
        if self.bytes > self.max_bytes {
            let most = files::size(self.max_bytes);
            return Err(format!(
                "what the host program computes takes more than {most} (`--memory` sets how much a run may take)"
            ));
        }
        self.held[id.index()] = Some(held);
        Ok(())
    }

    /// What a launch has left in a memory.
    pub(crate) fn set(&mut self, id: NodeId, bytes: Vec<u8>) -> Result<(), String> {
        self.hold(id, Held::Bytes(Arc::new(bytes)))
    }

    /// Lets go of what nothing that is still wanted reads.
    pub(crate) fn forget_unread(&mut self, wanted: impl IntoIterator<Item = NodeId>) {
        let mut seen = vec![false; self.held.len()];
        let mut pending: Vec<NodeId> = wanted.into_iter().collect();
        while let Some(id) = pending.pop() {
            if !std::mem::replace(&mut seen[id.index()], true) && self.held[id.index()].is_none() {
                pending.extend(self.node(id).op.reads().iter().map(|view| view.node));
            }
        }
        for (held, is_read) in self.held.iter_mut().zip(seen) {
            if let Some(unread) = held.take_if(|_| !is_read) {
                self.bytes -= unread.bytes();
            }
        }
    }

    /// A memory as a device is given it: with the geometry of a tensor that begins with it, or as a row of elements.
    pub(crate) fn memory(&self, id: NodeId, spec: &launch::Tensor) -> Option<Tensor> {
        let node = self.node(id);
        let bytes = match self.held[id.index()].as_ref()? {
            Held::Bytes(bytes) => bytes.to_vec(),
            Held::Values(values) => encoded(node.dtype, values),
        };
        let (shape, strides) = match spec.memory.offset {
            0 => (spec.shape.clone(), spec.strides.clone()),
            _ => (vec![node.numel()], vec![1]),
        };
        Some(Tensor { name: spec.name.to_string(), dtype: node.dtype, shape, strides, bytes })
    }

    /// The elements of a view, row by row.
    pub(crate) fn values(&self, view: &View) -> Option<Vec<f64>> {
        let dtype = self.node(view.node).dtype;
        let count = view.shape.iter().product::<u64>() as usize;
        let (from, width) = (view.offset as usize, dtype.bytes() as usize);
        let is_row = view.strides == row_major(&view.shape);
        match self.held[view.node.index()].as_ref()? {
            Held::Values(values) if is_row => values.get(from..from + count).map(<[f64]>::to_vec),
            Held::Values(values) => positions(view).map(|at| values.get(at).copied()).collect(),
            Held::Bytes(bytes) if is_row => {
                let slots = bytes.get(from * width..(from + count) * width)?;
                Some(slots.par_chunks(width).map(|slot| decode(dtype, slot)).collect())
            }
            Held::Bytes(bytes) => {
                positions(view).map(|at| Some(decode(dtype, bytes.get(at * width..(at + 1) * width)?))).collect()
            }
        }
    }

    fn compute(&self, id: NodeId) -> Result<Held, String> {
        let node = self.node(id);
        let bytes = node.numel().saturating_mul(8);
        if bytes > self.max_bytes {
            let (size, most) = (files::size(bytes), files::size(self.max_bytes));
            return Err(format!("an intermediate result of shape {:?} takes {size}; a run may take {most}", node.shape));
        }
        let values = |view: &View| self.values(view).ok_or_else(|| "what it is made of was not computed".to_owned());
        Ok(match &node.op {
            Op::Init(init, name) => {
                let spec = launch::Tensor {
                    name: name.clone(),
                    dtype: node.dtype,
                    shape: node.shape.clone(),
                    strides: row_major(&node.shape),
                    init: init.clone(),
                    memory: MemoryPlace::default(),
                };
                Held::Bytes(Arc::new(Tensor::make(&spec, self.beside).map_err(|error| error.to_string())?.bytes))
            }
            Op::Launched { .. } => return Err("the launch that makes it did not end".to_owned()),
            Op::Copy(x) | Op::Detached(x) => {
                let x = values(x)?;
                // A dtype of its own rounds.
                Held::Bytes(Arc::new(encoded(node.dtype, &x)))
            }
            Op::Store { into, value } => {
                let before = View { node: into.node, shape: vec![node.numel()], strides: vec![1], offset: 0 };
                let mut all = values(&before)?;
                for (at, value) in positions(into).zip(values(value)?) {
                    *all.get_mut(at).ok_or("a store is outside of its memory")? = value;
                }
                Held::Bytes(Arc::new(encoded(node.dtype, &all)))
            }
            Op::Spread { shape, strides, offset, value } => {
                let to = View { node: id, shape: shape.clone(), strides: strides.clone(), offset: *offset };
                let mut all = vec![0.0; node.numel() as usize];
                for (at, value) in positions(&to).zip(values(value)?) {
                    *all.get_mut(at).ok_or("a part is outside of its memory")? += value;
                }
                Held::Values(Arc::new(all))
            }
            op => {
                let made = operations::compute(op, values)?;
                // Integers wrap where a device's do.
                match node.dtype.is_int() {
                    true => Held::Bytes(Arc::new(encoded(node.dtype, &made))),
                    false => Held::Values(Arc::new(made)),
                }
            }
        })
    }
}

/// Nodes with all that they read, but for what is known.
pub(crate) fn ancestors(
    program: &Program,
    wanted: impl IntoIterator<Item = NodeId>,
    is_known: impl Fn(NodeId) -> bool,
) -> Vec<NodeId> {
    let mut seen = vec![false; program.nodes.len()];
    let mut pending: Vec<NodeId> = wanted.into_iter().collect();
    let mut found = Vec::new();
    while let Some(id) = pending.pop() {
        if std::mem::replace(&mut seen[id.index()], true) || is_known(id) {
            continue;
        }
        found.push(id);
        pending.extend(program.nodes[id.index()].op.reads().iter().map(|view| view.node));
    }
    found
}

fn encoded(dtype: DType, values: &[f64]) -> Vec<u8> {
    let width = dtype.bytes() as usize;
    let mut bytes = vec![0; values.len() * width];
    bytes.par_chunks_mut(width).zip(values).for_each(|(slot, &value)| encode(dtype, value, slot));
    bytes
}

/// Where the elements of a view lie, row by row.
fn positions(view: &View) -> impl Iterator<Item = usize> + '_ {
    let count: u64 = view.shape.iter().product();
    let mut index = vec![0u64; view.shape.len()];
    let mut at = view.offset;
    (0..count).map(move |_| {
        let here = at as usize;
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            at += view.strides[axis];
            if index[axis] < view.shape[axis] {
                break;
            }
            at -= view.strides[axis] * index[axis];
            index[axis] = 0;
        }
        here
    })
}
