//! How many elements each load and store moves with one instruction.
//!
//! **Invariant:** with `vector = v` the lowest log2(v) register bases of the layout are 1, 2, 4… steps along one dimension, addresses
//! along it are consecutive and aligned to the access, and the mask is constant over each v elements. A later pass that changes a layout
//! or an address must run this one again.

use tritium_tile::{Function, Module, OpId, OpKind, facts};

use super::{CompileOptions, Fact, Pass, Unsupported, coalesce};

pub static PASS: Pass = Pass {
    name: "vectorise",
    summary: "Choose the width of every load and store.",
    needs: &[Fact::HasLayouts],
    gives: &[Fact::Vectorised],
    run,
};

fn run(module: &mut Module, _options: &CompileOptions) -> Result<(), Unsupported> {
    let facts = facts::of_function(&module.functions[0]);
    let mut widths: Vec<(OpId, u64)> = Vec::new();
    let function = module.entry();
    function.walk(|_, id| {
        if matches!(function.op(id).kind, OpKind::Load(_) | OpKind::Store(_)) {
            widths.push((id, width(module, function, &facts, id)));
        }
    });
    for (id, width) in widths {
        match &mut module.functions[0].op_mut(id).kind {
            OpKind::Load(attrs) => attrs.vector = width as u8,
            OpKind::Store(attrs) => attrs.vector = width as u8,
            _ => {}
        }
    }
    Ok(())
}

fn width(module: &Module, function: &Function, facts: &facts::Facts, id: OpId) -> u64 {
    let pointer = function.ty(function.op(id).operands[0]);
    let Some(layout) = pointer.layout().and_then(|l| module.layouts.distributed(l)) else { return 1 };
    (0..pointer.shape().len())
        .map(|d| u64::from(layout.contiguous_registers(d)).min(coalesce::access_run(function, facts, id, d)))
        .max()
        .unwrap_or(1)
}
