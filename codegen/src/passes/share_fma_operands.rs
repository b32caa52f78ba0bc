//! Operands of products without tensor cores stand in buffers, so that all products of a tile in a block read one.
//!
//! Each product would store both operands in scratch of its own, between two barriers. Two products of one tile store it once here, and with no store in
//! between LLVM reads it once for both: shared memory is what such products wait for. What else a later one reads is stored with what they share, if it is
//! there by then, so that one barrier serves both.
//!
//! Operands that are rounded on their way to shared memory (tf32 where no tensor core fits) stay with their product.
//!
//! **Invariant:** a buffer is filled once, in the block of the products that read it, and lies as [`staged`] says.

use rustc_hash::FxHashMap;
use tritium_tile::{
    BlockId, Elem, Function, Module, OpId, OpKind, Scalar, Type, ValueId,
    layout::{Layout, LayoutId, Side, fma::staged, mma},
    ops::DotPrecision,
};

use super::{
    CompileOptions, Fact, Pass, Unsupported, assign_shared,
    place_operands_in_shared::{MAX_JOINED_BYTES, bytes_of, waits_for_loads},
};

pub static PASS: Pass = Pass {
    name: "share_fma_operands",
    summary: "Put operands of products without tensor cores into buffers that products share.",
    needs: &[Fact::HasLayouts, Fact::DotsPicked],
    gives: &[],
    run,
};

fn run(module: &mut Module, options: &CompileOptions) -> Result<(), Unsupported> {
    let mut trial = module.clone();
    let mut blocks: Vec<BlockId> = Vec::new();
    trial.entry().walk(|block, id| {
        if matches!(trial.entry().op(id).kind, OpKind::Dot { .. }) && !blocks.contains(&block) {
            blocks.push(block);
        }
    });
    for block in blocks {
        share(&mut trial, block);
    }
    // Buffers that are shared live longer than scratch.
    if assign_shared::fits(&trial, options) {
        *module = trial;
    }
    Ok(())
}

/// What a buffer holds, and how.
type Contents = (ValueId, LayoutId);

fn share(module: &mut Module, block: BlockId) {
    let list = std::mem::take(&mut module.functions[0].block_mut(block).ops);
    // The products in front of which each buffer is filled, by their places in the list.
    let mut filled: FxHashMap<Contents, usize> = FxHashMap::default();
    let mut products: FxHashMap<usize, [Contents; 2]> = FxHashMap::default();
    let mut fills: Vec<Vec<Contents>> = vec![Vec::new(); list.len()];
    for (place, &dot) in list.iter().enumerate() {
        let Some(operands) = operands(module, dot) else { continue };
        let earlier = operands.iter().filter_map(|contents| filled.get(contents)).max().copied();
        for contents in operands {
            if filled.contains_key(&contents) {
                continue;
            }
            let at = earlier.filter(|&at| may_join(module.entry(), &list, at, contents.0)).unwrap_or(place);
            filled.insert(contents, at);
            fills[at].push(contents);
        }
        products.insert(place, operands);
    }
    let mut buffers: FxHashMap<Contents, ValueId> = FxHashMap::default();
    let mut out = Vec::with_capacity(list.len());
    for (place, dot) in list.into_iter().enumerate() {
        let function = &mut module.functions[0];
        for &(value, layout) in &fills[place] {
            let source = function.ty(value);
            let Some(elem) = source.elem().scalar() else { continue };
            let ty = Type::Shared { elem, shape: source.shape().clone(), layout };
            let alloc = function.create_op(OpKind::LocalAlloc, &[value], [ty], &[], function.op(dot).origin);
            buffers.insert((value, layout), function.op(alloc).results[0]);
            out.push(alloc);
        }
        for (n, contents) in products.get(&place).into_iter().flatten().enumerate() {
            if let Some(&buffer) = buffers.get(contents) {
                function.op_mut(dot).operands[n] = buffer;
            }
        }
        out.push(dot);
    }
    module.functions[0].block_mut(block).ops = out;
}

/// What the buffers of a product would hold; `None` for what tensor cores multiply and for what is rounded first.
fn operands(module: &mut Module, dot: OpId) -> Option<[Contents; 2]> {
    let function = &module.functions[0];
    let op = function.op(dot);
    let OpKind::Dot { precision, .. } = op.kind else { return None };
    let accumulator = module.layouts.distributed(function.ty(op.results[0]).layout()?)?.clone();
    let is_rounded = precision == DotPrecision::Tf32 && function.ty(op.operands[0]).elem() == Elem::Scalar(Scalar::F32);
    if mma::is_accumulator(&accumulator) || is_rounded {
        return None;
    }
    let values = [op.operands[0], op.operands[1]];
    let shapes = values.map(|value| function.ty(value).shape().clone());
    let mut contents = [Side::A, Side::B]
        .into_iter()
        .zip(values)
        .zip(shapes)
        .map(|((side, value), shape)| (value, module.layouts.intern(Layout::Shared(staged(side, &shape, &accumulator)))));
    Some([contents.next()?, contents.next()?])
}

/// The tile can be stored in front of an earlier product.
fn may_join(function: &Function, list: &[OpId], at: usize, value: ValueId) -> bool {
    let is_there = match list.iter().position(|&op| Some(op) == function.def_op(value)) {
        Some(place) => place < at,
        None => true,
    };
    is_there && bytes_of(function, value) <= MAX_JOINED_BYTES && !waits_for_loads(function, list, value)
}
