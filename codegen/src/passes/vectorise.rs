//! How many elements each load, store and atomic moves with one instruction.
//!
//! **Invariant:** with `vector = v` the lowest log2(v) register bases of the layout are 1, 2, 4… steps along one dimension, addresses
//! along it are consecutive and aligned to the access, and the mask is constant over each v elements. A later pass that changes a layout
//! or an address must run this one again.

use tritium_semantics::target::{Feature, Sm};
use tritium_tile::{
    Function, Module, OpId, OpKind, Scalar,
    facts::{self, Facts},
    ops::AtomicOp,
};

use super::{CompileOptions, Fact, Pass, Unsupported, coalesce};

pub static PASS: Pass = Pass {
    name: "vectorise",
    summary: "Choose the width of every load, store and atomic.",
    needs: &[Fact::HasLayouts],
    gives: &[Fact::Vectorised],
    run,
};

fn run(module: &mut Module, options: &CompileOptions) -> Result<(), Unsupported> {
    let facts = facts::of_function(&module.functions[0]);
    let mut widths: Vec<(OpId, u64)> = Vec::new();
    let function = module.entry();
    function.walk(|_, id| {
        let widest = match &function.op(id).kind {
            OpKind::Load(_) | OpKind::Store(_) => u64::MAX,
            OpKind::AtomicRmw { op, .. } => {
                widest_atomic(*op, function.ty(function.op(id).operands[1]).elem().scalar(), options.sm)
            }
            _ => return,
        };
        widths.push((id, width(module, function, &facts, id).min(widest)));
    });
    for (id, width) in widths {
        match &mut module.functions[0].op_mut(id).kind {
            OpKind::Load(attrs) => attrs.vector = width as u8,
            OpKind::Store(attrs) => attrs.vector = width as u8,
            OpKind::AtomicRmw { vector, .. } => *vector = width as u8,
            _ => {}
        }
    }
    Ok(())
}

/// Neighbours that one instruction updates: each is updated as a whole, the vector is not. Only sums of floats have such instructions;
/// two f16 have one everywhere, more came with sm_90 (PTX ISA, `red`).
fn widest_atomic(op: AtomicOp, element: Option<Scalar>, sm: &Sm) -> u64 {
    let of_vectors = sm.has(Feature::VectorAtomics);
    match (op, element) {
        (AtomicOp::AddF, Some(Scalar::F16 | Scalar::BF16 | Scalar::F32)) if of_vectors => u64::MAX,
        (AtomicOp::AddF, Some(Scalar::F16)) => 2,
        _ => 1,
    }
}

pub(super) fn width(module: &Module, function: &Function, facts: &Facts, id: OpId) -> u64 {
    widest(module, function, id, |d| coalesce::access_run(function, facts, id, d))
}

pub(super) fn width_without_mask(module: &Module, function: &Function, facts: &Facts, id: OpId) -> u64 {
    widest(module, function, id, |d| coalesce::address_run(function, facts, id, d))
}

/// Elements of an access whose layout is that of its pointers and that may take so many along a dimension.
fn widest(module: &Module, function: &Function, id: OpId, run: impl Fn(usize) -> u64) -> u64 {
    let pointer = function.ty(function.op(id).operands[0]);
    let Some(layout) = pointer.layout().and_then(|l| module.layouts.distributed(l)) else { return 1 };
    (0..pointer.shape().len()).map(|d| u64::from(layout.contiguous_registers(d)).min(run(d))).max().unwrap_or(1)
}
