//! Tensors that no launch describes to the tensor memory accelerator are described by the program.
//!
//! **Invariant:** a tensor is described once for all its copies of a kind of block, as soon as all that describes it is known; where that is in a loop,
//! it is described again on each trip, whose copies are done before the next one begins.

use rustc_hash::FxHashMap;
use tritium_tile::{
    BlockId, Function, Module, OpId, OpKind, Scalar, Type, ValueDef, ValueId,
    layout::tma::{Copied, Tensor},
    module::Builder,
    ops::Constant,
    rewrite,
    types::Shape,
};

use super::{CompileOptions, Pass, Unsupported};

pub static PASS: Pass = Pass {
    name: "write_tensor_maps",
    summary: "Describe tensors to the tensor memory accelerator where no launch does.",
    needs: &[],
    gives: &[],
    run,
};

fn run(module: &mut Module, _options: &CompileOptions) -> Result<(), Unsupported> {
    let function = &mut module.functions[0];
    let mut copies = Vec::new();
    function.walk(|_, id| {
        if let OpKind::TmaLoad { own_map: true, .. } | OpKind::TmaStore { own_map: true, .. } = function.op(id).kind {
            copies.push(id);
        }
    });
    let mut described = Vec::new();
    // What is copied first is described first: each goes in front of those before it.
    for id in copies.into_iter().rev() {
        let Some(map) = DescribedTensor::of_copy(function, id) else { continue };
        if !described.contains(&map) {
            write(function, id, &map);
            described.push(map);
        }
    }
    rewrite::compact(function);
    Ok(())
}

/// A tensor and a kind of block of it, in which constants are the same wherever they stand.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct DescribedTensor {
    pub(crate) base: ValueId,
    /// By axis.
    pub(crate) extents: Vec<Number>,
    pub(crate) strides: Vec<Number>,
    pub(crate) contiguous: u8,
    pub(crate) block: Shape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Number {
    Value(ValueId),
    Constant(i64),
}

impl Number {
    pub(crate) fn of(function: &Function, value: ValueId) -> Number {
        match function.def_op(value).map(|op| &function.op(op).kind) {
            Some(OpKind::Constant(Constant::Int(number))) => Number::Constant(*number),
            _ => Number::Value(value),
        }
    }

    pub(crate) fn value(&self) -> Option<ValueId> {
        match self {
            Number::Value(value) => Some(*value),
            Number::Constant(_) => None,
        }
    }
}

impl DescribedTensor {
    fn new(function: &Function, tensor: &Tensor<'_>, contiguous: u8, block: &Shape) -> DescribedTensor {
        let numbers = |values: &[ValueId]| values.iter().map(|&value| Number::of(function, value)).collect();
        let (extents, strides) = (numbers(tensor.extents), numbers(tensor.strides));
        DescribedTensor { base: tensor.base, extents, strides, contiguous, block: block.clone() }
    }

    /// All that is no constant.
    pub(super) fn values(&self) -> impl Iterator<Item = ValueId> {
        [self.base].into_iter().chain(self.extents.iter().chain(&self.strides).filter_map(Number::value))
    }

    /// What a copy reads.
    pub(crate) fn of_copy(function: &Function, id: OpId) -> Option<DescribedTensor> {
        let op = function.op(id);
        let (OpKind::TmaLoad { contiguous, .. } | OpKind::TmaStore { contiguous, .. }) = op.kind else { return None };
        let copied = Copied::of(op)?;
        Some(DescribedTensor::new(function, &copied.tensor, contiguous, function.ty(copied.buffer).shape()))
    }

    /// What a `write_tensor_map` writes.
    pub(crate) fn written(function: &Function, id: OpId) -> Option<DescribedTensor> {
        let op = function.op(id);
        let OpKind::WriteTensorMap { contiguous, block } = &op.kind else { return None };
        Some(DescribedTensor::new(function, &Tensor::of(&op.operands)?, *contiguous, block))
    }
}

/// Describes the tensor of a copy behind the last value that describes it.
fn write(function: &mut Function, copy: OpId, map: &DescribedTensor) {
    let origin = function.op(copy).origin;
    let (block, at) = place(function, copy, map);
    let aside = function.add_block();
    let mut new = Builder { function, block: aside, origin };
    let mut operands = vec![map.base];
    operands.extend(map.extents.iter().chain(&map.strides).map(|number| match *number {
        Number::Value(value) => value,
        Number::Constant(number) => new.int(number, Type::scalar(Scalar::I64)),
    }));
    new.effect(OpKind::WriteTensorMap { contiguous: map.contiguous, block: map.block.clone() }, &operands);
    let ops = new.take();
    function.block_mut(block).ops.splice(at..at, ops);
}

/// The first place at which all values of a map are known: those of a copy, or another access, stand in the blocks around it.
pub(super) fn place(function: &Function, copy: OpId, map: &DescribedTensor) -> (BlockId, usize) {
    let mut last: FxHashMap<BlockId, usize> = FxHashMap::default();
    for value in map.values() {
        let (block, at) = match function.value(value).def {
            ValueDef::Argument(block, _) => (block, 0),
            ValueDef::Result(id, _) => match rewrite::position(function, id) {
                Some((block, at)) => (block, at + 1),
                None => continue,
            },
        };
        let known = last.entry(block).or_default();
        *known = at.max(*known);
    }
    // From the inside out.
    let owners = rewrite::owner_ops(function);
    let mut around = rewrite::position(function, copy);
    while let Some((block, _)) = around {
        if let Some(&at) = last.get(&block) {
            return (block, at);
        }
        around = owners[block.index()].and_then(|owner| rewrite::position(function, owner));
    }
    (function.body, 0)
}
