//! Loads through tensor descriptors whose tile a product reads from shared memory, and that no loop runs ahead, are done by the tensor memory accelerator.
//!
//! The block goes to the buffer directly, without registers of threads in between, and is waited for in front of what reads it first.
//!
//! **Invariant:** a load is done so only if all that its tile does is to fill buffers, and what is read from them can be read as the unit leaves it.

use tritium_tile::{
    BlockId, Function, Level, Module, OpId, OpKind, Origin, Scalar, Type, ValueId, facts,
    layout::{Layout, tma},
    module::Builder,
    ops::DescriptorSource,
    rewrite,
};

use super::{
    CompileOptions, Fact, Pass, Unsupported, assign_shared,
    pipeline_loops::{
        schedule::window_fits,
        window::{self, Window},
    },
};

pub static PASS: Pass = Pass {
    name: "load_blocks",
    summary: "Let the tensor memory accelerator load what goes through tensor descriptors to shared memory.",
    needs: &[Fact::HasLayouts],
    gives: &[Fact::HasLayouts],
    run,
};

fn run(module: &mut Module, options: &CompileOptions) -> Result<(), Unsupported> {
    let blocks = blocks(module, options);
    if blocks.is_empty() {
        return Ok(());
    }
    let mut trial = module.clone();
    // Places behind a group move when it is done.
    for group in groups(module.entry(), blocks).iter().rev() {
        load_group(&mut trial, group);
    }
    trial.level = trial.level.max(Level::L2);
    rewrite::erase_dead(&mut trial.functions[0]);
    rewrite::compact(&mut trial.functions[0]);
    if assign_shared::fits(&trial, options) {
        *module = trial;
    }
    Ok(())
}

fn blocks(module: &Module, options: &CompileOptions) -> Vec<(OpId, Window)> {
    let function = module.entry();
    let mut loads = Vec::new();
    function.walk(|_, id| {
        if let OpKind::Load(attrs) = function.op(id).kind
            && attrs.descriptor != DescriptorSource::None
        {
            loads.push(id);
        }
    });
    if loads.is_empty() {
        return Vec::new();
    }
    let facts = facts::of_function(function);
    let never_negative = |value| facts.range(value).min >= 0;
    let users = rewrite::users(function);
    let mut blocks = Vec::new();
    for load in loads {
        let Some(window) = window::of_load(function, &never_negative, load, options) else { continue };
        let is_read = |&user: &OpId| matches!(function.op(user).kind, OpKind::LocalLoad);
        let fills = |&user: &OpId| {
            let op = function.op(user);
            let Some(&buffer) = op.results.first().filter(|_| matches!(op.kind, OpKind::LocalAlloc)) else { return false };
            let layout = function.ty(buffer).layout().and_then(|id| module.layouts.shared(id));
            layout == Some(&window.layout) || users[buffer.index()].iter().all(is_read)
        };
        let fillers = &users[function.op(load).results[0].index()];
        if !fillers.is_empty() && fillers.iter().all(fills) && window_fits(function, &module.layouts, &users, load, &window) {
            blocks.push((load, window));
        }
    }
    blocks
}

/// The loads in groups that are waited for together: those of a block of which none is read before the last is issued.
fn groups(function: &Function, blocks: Vec<(OpId, Window)>) -> Vec<Group> {
    let users = rewrite::users(function);
    let mut groups: Vec<Group> = Vec::new();
    for (load, window) in blocks {
        let tile = function.op(load).results[0];
        let (Some((block, at)), Some(elem)) = (rewrite::position(function, load), function.ty(tile).elem().scalar()) else {
            continue;
        };
        let fillers = &users[tile.index()];
        let buffers: Vec<ValueId> = fillers.iter().map(|&filler| function.op(filler).results[0]).collect();
        let reads = |id: &OpId| rewrite::read_by(function, *id).iter().any(|value| buffers.contains(value));
        let ops = &function.block(block).ops;
        let first_read = ops[at..].iter().position(reads).map_or(at + 1, |distance| at + distance);
        let copy = Copy { load, at, elem, window, buffers };
        match groups.last_mut().filter(|group| group.block == block && at < group.first_read) {
            Some(group) => {
                group.first_read = group.first_read.min(first_read);
                group.copies.push(copy);
            }
            None => groups.push(Group { block, first_read, copies: vec![copy] }),
        }
    }
    groups
}

struct Group {
    block: BlockId,
    /// The place in the block of what reads one of them first.
    first_read: usize,
    copies: Vec<Copy>,
}

struct Copy {
    load: OpId,
    at: usize,
    elem: Scalar,
    window: Window,
    /// That its tile fills.
    buffers: Vec<ValueId>,
}

fn load_group(module: &mut Module, group: &Group) {
    let Module { functions, layouts, .. } = module;
    let function = &mut functions[0];
    let ops = function.block(group.block).ops.clone();
    let aside = function.add_block();
    let mut new = Builder { function, block: aside, origin: Origin::NONE };
    let (mut before, mut waits) = (Vec::new(), Vec::new());
    let mut mbarrier = None;
    for copy in &group.copies {
        new.origin = new.function.op(copy.load).origin;
        let mbarrier = *mbarrier.get_or_insert_with(|| {
            let ring = new.value(OpKind::LocalAlloc, &[], tma::mbarriers(layouts, 1));
            let zero = new.i32(0);
            let slot = new.function.ty(ring).slot().unwrap_or_else(|| new.function.ty(ring).clone());
            let mbarrier = new.value(OpKind::LocalIndex, &[ring, zero], slot);
            new.effect(OpKind::MbarrierInit { count: group.copies.len() as u32 }, &[ring]);
            new.effect(OpKind::FenceAsync, &[]);
            let made = new.take();
            new.effect(OpKind::MbarrierWait, &[mbarrier, zero]);
            new.effect(OpKind::MbarrierInvalidate, &[ring]);
            waits = new.take();
            new.function.block_mut(aside).ops = made;
            mbarrier
        });
        let shape = copy.window.layout.shape.clone();
        let layout = layouts.intern(Layout::Shared(copy.window.layout.clone()));
        let buffer = new.value(OpKind::LocalAlloc, &[], Type::Shared { elem: copy.elem, shape, layout });
        let mut operands = copy.window.operands(|value| value, |number, scalar| new.int(number, Type::scalar(scalar)));
        let always = new.int(1, Type::scalar(Scalar::I1));
        operands.extend([buffer, mbarrier, always]);
        new.effect(OpKind::TmaLoad { contiguous: copy.window.contiguous, own_map: copy.window.own_map }, &operands);
        before.push((copy.at, new.take()));
        // What has filled the buffers makes a tile of nothing now; it goes with the load.
        for &filled in &copy.buffers {
            rewrite::replace_all_uses(new.function, filled, buffer);
        }
    }
    before.push((group.first_read, waits));
    let mut placed = Vec::with_capacity(ops.len());
    for at in 0..=ops.len() {
        placed.extend(before.iter().filter(|(place, _)| *place == at).flat_map(|(_, ops)| ops));
        placed.extend(ops.get(at));
    }
    function.block_mut(group.block).ops = placed;
}
