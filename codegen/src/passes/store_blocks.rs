//! Stores through tensor descriptors are done by the tensor memory accelerator.
//!
//! The tile goes into a buffer in the layout that the unit reads, and one thread has the unit write the block: nobody computes addresses or masks, and
//! the program goes on once the buffer is read, as under Triton. Where the kernel may read what it writes, it waits until that is written.
//!
//! **Invariant:** all stores to a tensor that the kernel knows of are done so, or none is: between the unit and the threads' own stores nothing would
//! say which comes last. A kernel whose CTAs would leave an SM room for fewer of them keeps its stores.

use tritium_semantics::occupancy::occupancy;
use tritium_tile::{Function, Level, Module, OpId, OpKind, Type, ValueId, facts, layout::Layout, module::Builder, rewrite};

use super::{
    CompileOptions, Fact, Pass, Unsupported, assign_shared,
    pipeline_loops::{
        schedule,
        window::{self, Window},
    },
};

pub static PASS: Pass = Pass {
    name: "store_blocks",
    summary: "Let the tensor memory accelerator store what goes through tensor descriptors.",
    needs: &[Fact::HasLayouts],
    gives: &[Fact::HasLayouts],
    run,
};

fn run(module: &mut Module, options: &CompileOptions) -> Result<(), Unsupported> {
    let blocks = blocks(module.entry(), options);
    if blocks.is_empty() {
        return Ok(());
    }
    let mut trial = module.clone();
    for (store, window) in blocks {
        store_block(&mut trial, store, &window);
    }
    trial.level = trial.level.max(Level::L2);
    rewrite::erase_dead(&mut trial.functions[0]);
    rewrite::compact(&mut trial.functions[0]);
    if assign_shared::fits(&trial, options) && ctas(&trial, options) >= ctas(module, options) {
        *module = trial;
    }
    Ok(())
}

/// CTAs that an SM has shared memory for.
fn ctas(module: &Module, options: &CompileOptions) -> u32 {
    let shared = assign_shared::needed(module).try_into().unwrap_or(u32::MAX);
    occupancy(options.sm, 32 * options.launch.num_warps, 1, shared, 0).map_or(0, |held| held.ctas_per_sm)
}

/// The stores that the unit does.
fn blocks(function: &Function, options: &CompileOptions) -> Vec<(OpId, Window)> {
    let (mut stores, mut others): (Vec<OpId>, Vec<OpId>) = (Vec::new(), Vec::new());
    function.walk(|_, id| match function.op(id).kind {
        OpKind::Store(_) => stores.push(id),
        OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. } => others.push(id),
        _ => {}
    });
    let facts = facts::of_function(function);
    let never_negative = |value| facts.range(value).min >= 0;
    let mut blocks = Vec::new();
    for store in stores {
        match window::of_store(function, &never_negative, store, options) {
            Some(window) => blocks.push((store, window)),
            None => others.push(store),
        }
    }
    let written: Vec<Option<ValueId>> = others.into_iter().map(|id| tensor(function, id)).collect();
    blocks.retain(|(store, _)| {
        let own = tensor(function, *store);
        written.iter().all(|other| own.is_some() && other.is_some() && *other != own)
    });
    blocks
}

/// The pointer that an access begins at: a parameter, or what was loaded or computed. Tensors of different ones are taken as different, as Triton takes
/// them; `None` if there are several.
fn tensor(function: &Function, access: OpId) -> Option<ValueId> {
    let pointer = function.op(access).operands[0];
    schedule::root(function, pointer).or_else(|| {
        let mut pointer = pointer;
        while let Some(op) = function.def_op(pointer).map(|id| function.op(id)).filter(|op| op.kind.keeps_tensor()) {
            pointer = op.operands[0];
        }
        let is_one = function.def_op(pointer).is_some_and(|id| matches!(function.op(id).kind, OpKind::Cast(_) | OpKind::Load(_)));
        is_one.then_some(pointer)
    })
}

/// Whether the kernel may look at what it has stored, or let others know that it has.
fn is_read_again(function: &Function, store: OpId) -> bool {
    let own = tensor(function, store);
    let mut found = false;
    function.walk(|_, id| {
        found |= match function.op(id).kind {
            OpKind::Load(_) | OpKind::AsyncCopy(_) | OpKind::TmaLoad { .. } => {
                let other = tensor(function, id);
                own.is_none() || other.is_none() || own == other
            }
            OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. } | OpKind::GridLaunch | OpKind::Barrier => true,
            _ => false,
        }
    });
    found
}

fn store_block(module: &mut Module, store: OpId, window: &Window) {
    let visible = is_read_again(module.entry(), store);
    let Module { functions, layouts, .. } = module;
    let function = &mut functions[0];
    let Some((block, _)) = rewrite::position(function, store) else { return };
    let op = function.op(store).clone();
    // A buffer is filled from any layout.
    let mut value = op.operands[1];
    while let Some(def) = function.def_op(value).filter(|&def| matches!(function.op(def).kind, OpKind::ConvertLayout)) {
        value = function.op(def).operands[0];
    }
    let ty = function.ty(value);
    let (Some(elem), shape) = (ty.elem().scalar(), ty.shape().clone()) else { return };
    let layout = layouts.intern(Layout::Shared(window.layout.clone()));
    let aside = function.add_block();
    let mut new = Builder { function, block: aside, origin: op.origin };
    let buffer = new.value(OpKind::LocalAlloc, &[value], Type::Shared { elem, shape, layout });
    let mut operands = window.operands(|value| value, |number, scalar| new.int(number, Type::scalar(scalar)));
    operands.push(buffer);
    new.effect(OpKind::TmaStore { contiguous: window.contiguous, own_map: window.own_map, visible }, &operands);
    if visible {
        new.effect(OpKind::Barrier, &[]);
    }
    let ops = new.take();
    let list = &mut function.block_mut(block).ops;
    if let Some(at) = list.iter().position(|&other| other == store) {
        list.splice(at..=at, ops);
    }
}
