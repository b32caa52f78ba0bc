//! One layout for each value, with as few conversions as possible.
//!
//! Memory ops and dots are **anchors**: they come with the layouts they want. All conversions are forgotten and the layouts of
//! everything else follow from the anchors:
//!
//! 1. *hints*, backward: what a value's consumers would like;
//! 2. *homes*, forward: where a value is computed. An elementwise op lives where its operands live; a reduction's result in a slice of
//!    its source; what a loop carries, where the loop computes it. Constants, `iota`, splats, broadcasts and arithmetic on nothing but
//!    those have no home: they are made again wherever they are needed, which costs less than moving them;
//! 3. *materialisation*: each op asks for its operands in the layout it lives in. A value that is not there is made again, or converted
//!    right where it is defined: outside of loops that only use it, before it is broadcast, before it is widened.
//!
//! **Invariant:** types change, conversions come and go, and homeless ops are repeated; nothing else is touched.

use rustc_hash::{FxHashMap, FxHashSet};
use tritium_tile::{
    BlockId, Function, Module, Op, OpId, OpKind, Origin, Type, ValueDef, ValueId,
    control::{ForLoop, WhileLoop},
    effects::MAX_ACCESS_BYTES,
    kinds,
    layout::{
        Conversion, Distributed, Layout, LayoutId, LayoutTable, algebra::inverse_order, blocked::blocked, convert::conversion,
        mma,
    },
    ops::CastOp,
    rewrite::{self, ValueMap},
};

use super::{CompileOptions, Fact, Pass, Unsupported, buffer_gathers, coalesce, use_wgmma};

pub static PASS: Pass = Pass {
    name: "assign_layouts",
    summary: "Choose a layout for every value from what memory ops and dots want.",
    needs: &[Fact::HasLayouts, Fact::DotsPicked],
    gives: &[Fact::HasLayouts, Fact::DotsPicked],
    run,
};

/// A chain of homeless ops longer than this gets a home: making it again would no longer be cheap.
const MAX_CHAIN: u32 = 32;

/// A tile is loaded in whatever layout it is needed if a thread then loads at most this many elements, and stored wherever it is if a thread holds
/// at most this many of them.
const MAX_FREE_ELEMENTS_PER_THREAD: u32 = 4;

/// The same for statistics of rows that are stored outside loops, where nothing runs while a barrier is waited for anyway (`bench/ablations.py`).
const MAX_LAST_ELEMENTS_PER_THREAD: u32 = 2;

/// Parts of sectors that the warps of a CTA write to a tile outside loops at most before it goes through shared memory: each takes a cycle, and
/// there and back with a barrier between them takes about so many (`bench/ablations.py`).
const MAX_PARTS_OF_SECTORS: u64 = 128;

/// Where a tile has fewer elements than there are threads it is loaded, and what is made of it is computed, once for each layout that it is
/// needed in, as long as a thread has at most this many elements: its caches give it sooner than another warp through shared memory.
const MAX_REPEATED_ELEMENTS_PER_THREAD: u32 = 16;

/// And, unless it is a vector, as long as the warps of a CTA make at most this many loads of 32 bits: operands that 16 or 32 warps
/// share are better loaded once (`chunk_dplr_fwd_kernel_o` of 32 warps took twice Triton's time).
const MAX_REPEATED_LOADS_PER_CTA: u32 = 64;

/// Elements that a thread loads on each trip for its rows of a tile whose columns a loop sums up: more of them wait for one another
/// (`bench/ablations.py`).
const MAX_LOADED_FOR_ROWS: u32 = 64;

/// What one load brings to a thread at most.
const LOADED_BITS: u32 = 8 * MAX_ACCESS_BYTES;

/// A line of the cache, of 128 bytes.
const LINE_BITS: u32 = 8 * 128;

/// A sector of a line, of 32 bytes.
const SECTOR_BITS: u32 = 8 * 32;

fn run(module: &mut Module, options: &CompileOptions) -> Result<(), Unsupported> {
    let function = &mut module.functions[0];
    let anchors = anchors(function);
    let free = free_operands(function, &module.layouts, options);
    forget_conversions(function);
    let values = function.values.len();
    let mut assignment = Assignment {
        table: &mut module.layouts,
        num_warps: options.launch.num_warps,
        anchors,
        free,
        hints: vec![None; values],
        homes: vec![None; values],
        chain: vec![0; values],
        at: FxHashMap::default(),
        loops: 0,
    };
    assignment.hint_block(function, function.body);
    assignment.home_block(function, function.body);
    let mut materialise = Materialise {
        homes: assignment.homes,
        uses: rewrite::use_counts(function),
        gathers: buffer_gathers::gathers_in_loops(function).into_iter().map(|(gather, _)| gather).collect(),
        at: assignment.at,
        table: &mut module.layouts,
        function,
        made: FxHashMap::default(),
        made_of: FxHashMap::default(),
        repeats: FxHashMap::default(),
        asker: Origin::NONE,
        after: FxHashMap::default(),
        before: FxHashMap::default(),
        blocks: FxHashMap::default(),
        at_start: FxHashMap::default(),
    };
    materialise.run();
    rewrite::erase_dead(function);
    rewrite::compact(function);
    Ok(())
}

/// The layout of an operand of a shape op whose result has layout `result`; `None` for other kinds.
pub(super) fn source_layout(kind: &OpKind, source: &[u32], result: &Distributed) -> Option<Distributed> {
    match kind {
        OpKind::ExpandDims { .. } | OpKind::Reshape { .. } => Some(result.reshape(source)),
        OpKind::Broadcast => Some(result.broadcast_source(source)),
        OpKind::Transpose { order } => Some(result.transpose(&inverse_order(order))),
        _ => None,
    }
}

/// The layout of a shape op's result that keeps every element where the operand has it.
fn result_layout(kind: &OpKind, shape: &[u32], source: &Distributed) -> Option<Distributed> {
    match kind {
        OpKind::ExpandDims { .. } | OpKind::Reshape { .. } => Some(source.reshape(shape)),
        OpKind::Transpose { order } => Some(source.transpose(order)),
        _ => None,
    }
}

/// What each memory op and each operand of each dot wants.
fn anchors(function: &Function) -> FxHashMap<OpId, Vec<LayoutId>> {
    let mut anchors = FxHashMap::default();
    function.walk(|_, id| {
        let op = function.op(id);
        if matches!(
            op.kind,
            OpKind::Load(_) | OpKind::Store(_) | OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. } | OpKind::Dot { .. }
        ) {
            let layouts: Option<Vec<LayoutId>> = op.operands.iter().map(|&v| function.ty(v).layout()).collect();
            if let Some(layouts) = layouts {
                anchors.insert(id, layouts);
            }
        }
    });
    anchors
}

fn free_operands(function: &Function, layouts: &LayoutTable, options: &CompileOptions) -> FxHashMap<OpId, Vec<usize>> {
    let mut free = FxHashMap::default();
    function.walk(|_, id| {
        if use_wgmma::grouping(function, id, options).is_some() {
            free.insert(id, (0..2).filter(|&place| use_wgmma::is_free(function, layouts, id, place)).collect());
        }
    });
    free
}

fn forget_conversions(function: &mut Function) {
    let mut replaced = ValueMap::default();
    let mut converts = vec![false; function.ops.len()];
    function.walk(|_, id| {
        let op = function.op(id);
        if matches!(op.kind, OpKind::ConvertLayout) {
            replaced.insert(op.results[0], op.operands[0]);
            converts[id.index()] = true;
        }
    });
    rewrite::replace_uses(function, &replaced);
    for block in &mut function.blocks {
        block.ops.retain(|op| !converts[op.index()]);
    }
}

struct Assignment<'t> {
    table: &'t mut LayoutTable,
    num_warps: u32,
    anchors: FxHashMap<OpId, Vec<LayoutId>>,
    /// Operands of dots that may come in any layout.
    free: FxHashMap<OpId, Vec<usize>>,
    hints: Vec<Option<LayoutId>>,
    homes: Vec<Option<LayoutId>>,
    /// Length of the longest chain of homeless ops that ends in a value.
    chain: Vec<u32>,
    /// The layout in which an op works, where its results do not say: its source's.
    at: FxHashMap<OpId, Vec<LayoutId>>,
    /// Around what is looked at.
    loops: u32,
}

impl Assignment<'_> {
    fn intern(&mut self, layout: Distributed) -> LayoutId {
        self.table.intern(Layout::Distributed(layout))
    }

    fn default(&mut self, shape: &[u32]) -> LayoutId {
        let layout = coalesce::default_layout(shape, self.num_warps);
        self.intern(layout)
    }

    fn hint(&mut self, value: ValueId, layout: Option<LayoutId>) {
        let slot = &mut self.hints[value.index()];
        *slot = slot.or(layout);
    }

    /// Backward through a block: the last use in program order speaks first.
    fn hint_block(&mut self, function: &Function, block: BlockId) {
        for &id in function.block(block).ops.iter().rev() {
            let op = function.op(id);
            match &op.kind {
                OpKind::Load(_) | OpKind::Store(_) | OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. } => {
                    if let Some(layouts) = self.anchors.get(&id).cloned() {
                        for (&v, layout) in op.operands.iter().zip(layouts) {
                            self.hint(v, Some(layout));
                        }
                    }
                }
                OpKind::Dot { .. } => {
                    if let Some(layouts) = self.anchors.get(&id).cloned() {
                        self.hint(op.operands[2], Some(layouts[2]));
                    }
                }
                kinds!(Control) => {
                    for &region in op.regions.iter().rev() {
                        for (&value, &result) in function.passed(region).iter().zip(&op.results) {
                            let hint = self.hints[result.index()];
                            self.hint(value, hint);
                        }
                        self.hint_block(function, region);
                    }
                    let of_for = function.for_loop(id).map(|around| (around.init, around.args));
                    let (init, args) =
                        of_for.or_else(|| function.while_loop(id).map(|around| (around.init, around.args))).unwrap_or_default();
                    for (&init, &arg) in init.iter().zip(args) {
                        let hint = self.hints[arg.index()];
                        self.hint(init, hint);
                    }
                }
                OpKind::Print { .. } | OpKind::Histogram => {}
                // What `tl.split` takes apart comes together in one thread, where a load may bring it there.
                OpKind::Reduce { axis } if self.is_small_split(function, id, *axis as usize) => {
                    let result = self.hints[op.results[0].index()].and_then(|l| self.table.distributed(l));
                    let shape = function.ty(op.operands[0]).shape();
                    if let Some(source) = result.map(|l| l.expand_dims(*axis as usize).broadcast_result(shape)) {
                        let source = self.intern(source);
                        op.operands.iter().for_each(|&v| self.hint(v, Some(source)));
                    }
                }
                OpKind::Gather { .. } => {
                    let hint = self.hints[op.results[0].index()];
                    self.hint(op.operands[1], hint);
                }
                kind if kind.is_elementwise() || matches!(kind, OpKind::InlineAsm(_) | OpKind::Map { .. }) => {
                    let hint = self.hints[op.results[0].index()];
                    for &v in &op.operands {
                        self.hint(v, hint);
                    }
                }
                kind => {
                    let Some(&result) = op.results.first() else { continue };
                    let Some(layout) = self.hints[result.index()].and_then(|l| self.table.distributed(l)) else { continue };
                    let Some(&source) = op.operands.first() else { continue };
                    if function.ty(source).is_scalar() {
                        continue;
                    }
                    if let Some(layout) = source_layout(kind, function.ty(source).shape(), layout) {
                        let layout = self.intern(layout);
                        self.hint(source, Some(layout));
                    }
                }
            }
        }
    }

    /// One half of a `tl.split` of a tile with fewer elements than there are threads: the reduction of a choice along a last axis of two.
    fn is_small_split(&self, function: &Function, reduce: OpId, axis: usize) -> bool {
        let &[source] = &function.op(reduce).operands[..] else { return false };
        let (ty, is_choice) = (function.ty(source), function.def_op(source).map(|op| &function.op(op).kind));
        let shape = ty.shape();
        matches!(is_choice, Some(OpKind::Select))
            && axis + 1 == shape.len()
            && shape[axis] == 2
            && has_fewer_elements_than_threads(ty, self.num_warps)
    }

    /// A home for a value that does not follow from anything: its hint, or rows.
    fn settle(&mut self, function: &Function, value: ValueId) -> LayoutId {
        match self.homes[value.index()].or(self.hints[value.index()]) {
            Some(layout) => layout,
            None => self.default(function.ty(value).shape()),
        }
    }

    /// Whether an access costs little in a layout, however often that repeats its elements.
    fn is_free_in(&self, kind: &OpKind, tile: &Type, layout: LayoutId) -> bool {
        let Some(layout) = self.table.distributed(layout) else { return false };
        let is_load = !matches!(kind, OpKind::Store(_));
        let is_last = !is_load && self.loops == 0 && tile.shape().len() == 1;
        let most = if is_last { MAX_LAST_ELEMENTS_PER_THREAD } else { MAX_FREE_ELEMENTS_PER_THREAD };
        layout.distinct_registers() as u32 <= most || is_load && is_repeatable_in(tile, layout)
    }

    /// Whether a store outside loops writes too many parts of sectors in a layout to be done where the tile is, and larger ones in the layout that it wants.
    fn tears_sectors_in(&self, tile: &Type, wanted: LayoutId, layout: LayoutId) -> bool {
        let (Some(wanted), Some(layout)) = (self.table.distributed(wanted), self.table.distributed(layout)) else { return false };
        let Some(&first) = wanted.register.first().or(wanted.lane.first()).filter(|base| base.is_power_of_two()) else {
            return false;
        };
        let elements = SECTOR_BITS / tile.elem().bits().max(8);
        let written = |layout: &Distributed| {
            let is_written = |n: &u32| [&layout.register, &layout.lane].into_iter().any(|bases| bases.contains(&(first << n)));
            (0..elements.ilog2()).take_while(is_written).count()
        };
        self.loops == 0 && written(layout) < written(wanted) && tile.num_elements() >> written(layout) > MAX_PARTS_OF_SECTORS
    }

    /// Whether a load of rows takes as many elements of a row at once in a layout as in the one that it wants, or more: what it wants may be narrowed by
    /// a store of wider elements.
    fn loads_wider_in(&self, tile: &Type, wanted: LayoutId, layout: LayoutId) -> bool {
        let (Some(wanted), Some(layout)) = (self.table.distributed(wanted), self.table.distributed(layout)) else { return false };
        let most = LOADED_BITS / tile.elem().bits().max(8);
        let runs = (0..=most.ilog2()).map(|bits| coalesce::rows(tile.shape(), 1 << bits, self.num_warps));
        runs.skip_while(|rows| rows != wanted).any(|rows| rows == *layout)
    }

    /// Whether a store of a tile loses nothing in a layout: each element is held once, and lanes write 16 bytes each of whole rows or lines of the cache,
    /// as they do in the layout that it wants.
    fn stores_as_wide_in(&self, tile: &Type, wanted: LayoutId, layout: LayoutId) -> bool {
        let (Some(wanted), Some(layout)) = (self.table.distributed(wanted), self.table.distributed(layout)) else { return false };
        let last = tile.shape().len() - 1;
        let (run, bits) = (layout.contiguous_registers(last), tile.elem().bits().max(8));
        let lanes = layout.lane.iter().enumerate().take_while(|&(n, &base)| base == run << n).count();
        let written = (run << lanes).min(tile.shape()[last]);
        layout.free_bits() == (0, 0, 0)
            && run * bits == LOADED_BITS
            && run == wanted.contiguous_registers(last)
            && written * bits >= LINE_BITS.min(tile.shape()[last] * bits)
    }

    /// Of the homes of an op's operands the one that is cheapest to bring the others to.
    fn best_home(&self, function: &Function, id: OpId) -> Option<LayoutId> {
        let op = function.op(id);
        let homes: Vec<(LayoutId, u64)> = op
            .operands
            .iter()
            .filter_map(|&v| {
                let ty = function.ty(v);
                Some((self.homes[v.index()]?, u64::from(ty.elem().bits().max(8))))
            })
            .collect();
        let cost = |to: LayoutId| -> u64 { homes.iter().map(|&(from, bits)| bits * self.distance(from, to)).sum() };
        let hint = op.results.first().and_then(|r| self.hints[r.index()]);
        let accumulator = |l: LayoutId| self.table.distributed(l).is_some_and(mma::is_whole_accumulator);
        homes.iter().map(|&(layout, _)| layout).min_by_key(|&l| (cost(l), !accumulator(l), Some(l) != hint))
    }

    fn distance(&self, from: LayoutId, to: LayoutId) -> u64 {
        if from == to {
            return 0;
        }
        match (self.table.distributed(from), self.table.distributed(to)) {
            (Some(from), Some(to)) => match conversion(from, to) {
                Conversion::Rename(_) => 0,
                Conversion::Exchange(_) | Conversion::Shuffle => 1,
                Conversion::Shared => 2,
            },
            _ => 0,
        }
    }

    fn home_block(&mut self, function: &Function, block: BlockId) {
        for &id in &function.block(block).ops {
            self.home_op(function, id);
        }
    }

    fn home_op(&mut self, function: &Function, id: OpId) {
        let op = function.op(id);
        match &op.kind {
            OpKind::Constant(_) | OpKind::Iota { .. } | OpKind::Splat => {}
            OpKind::ExpandDims { .. } | OpKind::Reshape { .. } | OpKind::Transpose { .. } => {
                let (source, result) = (op.operands[0], op.results[0]);
                self.chain[result.index()] = self.chain[source.index()] + 1;
                let layout = self.homes[source.index()].and_then(|l| self.table.distributed(l));
                if let Some(layout) = layout.and_then(|l| result_layout(&op.kind, function.ty(result).shape(), l)) {
                    let layout = self.intern(layout);
                    self.homes[result.index()] = Some(layout);
                }
            }
            OpKind::Broadcast => self.chain[op.results[0].index()] = self.chain[op.operands[0].index()] + 1,
            kinds!(Arithmetic) | OpKind::AddPtr | OpKind::Promise { .. } => self.home_elementwise(function, id),
            OpKind::Load(_) => self.home_access(function, id, self.hints[op.results[0].index()]),
            OpKind::Store(_) => self.home_access(function, id, self.homes[op.operands[1].index()]),
            OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. } => self.home_access(function, id, None),
            OpKind::Dot { .. } => self.home_dot(function, id),
            OpKind::Reduce { axis } => self.home_reduce(function, id, *axis as usize),
            OpKind::Scan { axis, .. } => {
                let source = self.collective_source(function, id, *axis as usize);
                for &result in &op.results {
                    self.homes[result.index()] = Some(source);
                }
                self.at.insert(id, vec![source; op.operands.len()]);
            }
            OpKind::InlineAsm(_) => self.home_packed(function, id, 1),
            OpKind::Map { pack } => self.home_packed(function, id, *pack),
            OpKind::Gather { .. } => self.home_gather(function, id),
            OpKind::Histogram => {
                let from = self.best_home(function, id).unwrap_or_else(|| self.settle(function, op.operands[0]));
                self.at.insert(id, vec![from; op.operands.len()]);
                let to = self.settle(function, op.results[0]);
                self.homes[op.results[0].index()] = Some(to);
            }
            OpKind::Print { .. } => {
                // Scalars have no layout, whatever is asked for.
                let none = self.default(&[1]);
                let layouts =
                    op.operands.iter().map(|&v| if function.ty(v).is_scalar() { none } else { self.settle(function, v) });
                let layouts = layouts.collect::<Vec<_>>();
                self.at.insert(id, layouts);
            }
            OpKind::Assert { .. } => {
                if let Some(&v) = op.operands.first()
                    && !function.ty(v).is_scalar()
                {
                    let layout = self.settle(function, v);
                    self.at.insert(id, vec![layout]);
                }
            }
            kinds!(Control) => self.home_control(function, id),
            // Nothing else makes tiles before shared memory is explicit; if something does, it stays where it is.
            kinds!(Program)
            | kinds!(Transfer)
            | OpKind::Assume
            | OpKind::ConvertLayout
            | OpKind::LocalAlloc
            | OpKind::LocalIndex
            | OpKind::LocalLoad
            | OpKind::LocalStore
            | kinds!(Order)
            | kinds!(Copying)
            | OpKind::WriteTensorMap { .. }
            | OpKind::Wgmma { .. } => {
                for &result in &op.results {
                    self.homes[result.index()] = function.ty(result).layout();
                }
            }
        }
    }

    fn home_elementwise(&mut self, function: &Function, id: OpId) {
        let op = function.op(id);
        let result = op.results[0];
        if function.ty(result).is_scalar() {
            return;
        }
        let chain = op.operands.iter().map(|v| self.chain[v.index()]).max().unwrap_or(0) + 1;
        let home = self.best_home(function, id);
        let home = if home.is_none() && chain > MAX_CHAIN { Some(self.settle(function, result)) } else { home };
        self.chain[result.index()] = if home.is_some() { 0 } else { chain };
        self.homes[result.index()] = home;
    }

    /// A small access may be moved to the layout of what it gives or takes.
    fn home_access(&mut self, function: &Function, id: OpId, moved: Option<LayoutId>) {
        let op = function.op(id);
        let Some(mut layouts) = self.anchors.get(&id).cloned() else { return };
        if let Some(layout) = moved
            && !(matches!(op.kind, OpKind::Store(_)) && self.tears_sectors_in(function.ty(op.operands[1]), layouts[0], layout))
            && (self.is_free_in(&op.kind, function.ty(op.operands[0]), layout)
                || matches!(op.kind, OpKind::Load(_)) && self.loads_wider_in(function.ty(op.results[0]), layouts[0], layout)
                || matches!(op.kind, OpKind::Store(_)) && self.stores_as_wide_in(function.ty(op.operands[1]), layouts[0], layout))
        {
            layouts.iter_mut().for_each(|l| *l = layout);
        }
        for &result in &op.results {
            self.homes[result.index()] = Some(layouts[0]);
        }
        self.at.insert(id, layouts);
    }

    fn home_dot(&mut self, function: &Function, id: OpId) {
        let op = function.op(id);
        let Some(mut layouts) = self.anchors.get(&id).cloned() else { return };
        // What goes through shared memory goes from where it is.
        for place in self.free.get(&id).cloned().unwrap_or_default() {
            layouts[place] = self.settle(function, op.operands[place]);
        }
        self.homes[op.results[0].index()] = Some(layouts[2]);
        if !self.table.distributed(layouts[2]).is_some_and(mma::is_accumulator) {
            // Without tensor cores operands are read from scratch, wherever they come from.
            for (layout, &operand) in layouts.iter_mut().zip(&op.operands[..2]) {
                *layout = self.settle(function, operand);
            }
        }
        self.at.insert(id, layouts);
    }

    /// What takes `pack` neighbouring elements at a time.
    fn home_packed(&mut self, function: &Function, id: OpId, pack: u32) {
        let op = function.op(id);
        let result = op.results[0];
        if function.ty(result).is_scalar() {
            return;
        }
        let mut layout = self.best_home(function, id).unwrap_or_else(|| self.settle(function, result));
        if matches!(op.kind, OpKind::Map { .. })
            && self.table.distributed(layout).is_none_or(|l| !begins_with_neighbours(l, pack))
        {
            layout = self.intern(neighbours(function.ty(result).shape(), pack, self.num_warps));
        }
        for &result in &op.results {
            self.homes[result.index()] = Some(layout);
        }
        self.at.insert(id, vec![layout; op.operands.len()]);
    }

    fn home_reduce(&mut self, function: &Function, id: OpId, axis: usize) {
        let op = function.op(id);
        let source = self.collective_source(function, id, axis);
        if let Some(layout) = self.table.distributed(source).map(|l| l.slice(axis))
            && !layout.shape.is_empty()
        {
            let layout = self.intern(layout);
            for &result in &op.results {
                self.homes[result.index()] = Some(layout);
            }
        }
        self.at.insert(id, vec![source; op.operands.len()]);
    }

    fn home_gather(&mut self, function: &Function, id: OpId) {
        let op = function.op(id);
        let (source, index) = (op.operands[0], op.operands[1]);
        let from = self.settle(function, source);
        let hint = self.hints[op.results[0].index()];
        let to = self.homes[index.index()].or(hint).unwrap_or_else(|| self.settle(function, index));
        self.homes[op.results[0].index()] = Some(to);
        self.at.insert(id, vec![from, to]);
    }

    fn home_control(&mut self, function: &Function, id: OpId) {
        self.loops += u32::from(function.op(id).kind.is_loop());
        if let Some(ForLoop { body, init, args, results, .. }) = function.for_loop(id) {
            self.carried(function, args, init, body, |this| this.home_block(function, body));
            for (&arg, &result) in args.iter().zip(results) {
                self.homes[result.index()] = self.homes[arg.index()];
            }
        } else if let Some(WhileLoop { init, before, args, passed, after, after_args, results, .. }) = function.while_loop(id) {
            self.carried(function, args, init, after, |this| {
                this.home_block(function, before);
                for ((&value, &arg), &result) in passed.iter().zip(after_args).zip(results) {
                    if function.ty(value).is_scalar() {
                        continue;
                    }
                    let hint = this.hints[arg.index()];
                    this.hint(value, hint);
                    let layout = this.settle(function, value);
                    this.homes[arg.index()] = Some(layout);
                    this.homes[result.index()] = Some(layout);
                }
                this.home_block(function, after);
            });
        } else {
            let op = function.op(id);
            for &region in &op.regions {
                self.home_block(function, region);
            }
            for (n, &result) in op.results.iter().enumerate() {
                if function.ty(result).is_scalar() {
                    continue;
                }
                let from = op.regions.iter().find_map(|&r| self.homes[function.passed(r).get(n)?.index()]);
                self.homes[result.index()] = from;
                let layout = self.settle(function, result);
                self.homes[result.index()] = Some(layout);
            }
        }
        self.loops -= u32::from(function.op(id).kind.is_loop());
    }

    /// Where the operands of a reduction or scan come together.
    fn collective_source(&mut self, function: &Function, id: OpId, axis: usize) -> LayoutId {
        if let Some(home) = self.best_home(function, id) {
            return home;
        }
        let source = function.op(id).operands[0];
        if let Some(hint) = self.hints[source.index()] {
            return hint;
        }
        // The axis last: it then lies in registers as far as possible, and reducing costs no shuffles.
        let shape = function.ty(source).shape();
        let mut order: Vec<u8> = (0..shape.len() as u8).rev().filter(|&d| d as usize != axis).collect();
        order.push(axis as u8);
        let layout = coalesce::spread(shape, 1, &order, self.num_warps);
        self.intern(layout)
    }

    /// Where a carried tile is that nothing else has a place for and of which a body reduces the rows: as many elements to a thread as a load of them
    /// would bring. One at a time, all lanes of a warp would exchange them; all of a row, as [`Self::collective_source`] has it, each thread would
    /// hold whole rows of what the tile is combined with.
    fn reduced_rows(&mut self, function: &Function, tile: &Type, body: BlockId) -> Option<LayoutId> {
        let shape = tile.shape();
        let mut axes = function.block(body).ops.iter().map(|&id| function.op(id)).filter_map(|op| match op.kind {
            OpKind::Reduce { axis } if function.ty(op.operands[0]).shape() == shape => Some(axis as usize),
            _ => None,
        });
        let last = shape.len().checked_sub(2)? + 1;
        if axes.next()? != last || axes.any(|axis| axis != last) {
            return None;
        }
        let each = shape.iter().product::<u32>() / (32 * self.num_warps);
        let run = (LOADED_BITS / tile.elem().bits().max(8)).min(shape[last]).min(each.max(1));
        let layout = coalesce::rows(shape, run, self.num_warps);
        Some(self.intern(layout))
    }

    /// Where a carried tile is of which a body sums up columns on each trip, and does nothing else with all of it that wants a place: each column in one
    /// warp, so that the sum needs no barrier, and as many rows to a thread as there are, so that few of its lanes exchange it. `None` where it does not, or
    /// where no column is in several warps as it is. What the body loads for its rows, each thread loads for all of its own then: no more than
    /// [`MAX_LOADED_FOR_ROWS`], and one tile with two warps.
    fn reduced_columns(
        &mut self,
        function: &Function,
        tile: &Type,
        body: BlockId,
        otherwise: Option<LayoutId>,
    ) -> Option<LayoutId> {
        let &[rows, columns] = &tile.shape()[..] else { return None };
        let otherwise = otherwise.and_then(|layout| self.table.distributed(layout));
        let is_apart = |layout: &Distributed| layout.warp.iter().any(|base| base & layout.axis_mask(0) != 0);
        if self.num_warps == 1
            || self.num_warps > columns
            || otherwise.is_some_and(|layout| mma::is_whole_accumulator(layout) || !is_apart(layout))
        {
            return None;
        }
        let (mut is_reduced, mut loads) = (false, 0);
        for &id in &function.block(body).ops {
            let op = function.op(id);
            let takes_all = op.operands.iter().any(|&v| function.ty(v).shape() == tile.shape());
            match &op.kind {
                OpKind::Reduce { axis: 0 } => is_reduced |= takes_all,
                OpKind::Yield => {}
                OpKind::Load(_) if !function.ty(op.results[0]).is_scalar() => loads += 1,
                kinds!(Control) => return None,
                kind if takes_all && !kind.is_elementwise() => return None,
                _ => {}
            }
        }
        let lanes = (columns / self.num_warps).min(32);
        let of_rows = 32 / lanes;
        let each = (rows / of_rows).max(1);
        let layout = blocked(tile.shape(), &[each, 1], &[of_rows, lanes], &[1, self.num_warps], &[1, 0]);
        let is_loaded = loads <= 1 || self.num_warps > 2 && loads * each <= MAX_LOADED_FOR_ROWS;
        (is_reduced && is_loaded).then(|| self.intern(layout))
    }

    /// Homes for what a loop carries: first where the body puts it when nothing is said, and, with that said, where it puts what is computed from
    /// it; then, where a body sums up its columns, one warp for each of these; then what its users like, then where it comes from; that before what its users like if it is where a dot leaves it and the body reduces,
    /// which takes fewest shuffles there; then where its rows are reduced. The body is homed again with that decided.
    fn carried(
        &mut self,
        function: &Function,
        args: &[ValueId],
        inits: &[ValueId],
        back: BlockId,
        mut body: impl FnMut(&mut Self),
    ) {
        if args.iter().all(|&a| function.ty(a).is_scalar()) {
            body(self);
            return;
        }
        for &arg in args {
            self.homes[arg.index()] = None;
        }
        body(self);
        // What is computed from what the body puts somewhere is put there as well.
        let mut is_new = false;
        for (&arg, value) in args.iter().zip(function.passed(back)) {
            self.homes[arg.index()] = self.homes[value.index()];
            is_new |= self.homes[value.index()].is_some();
        }
        if is_new && args.iter().any(|&arg| !function.ty(arg).is_scalar() && self.homes[arg.index()].is_none()) {
            body(self);
        }
        let reduces = function.block(back).ops.iter().any(|&op| matches!(function.op(op).kind, OpKind::Reduce { .. }));
        for ((&arg, &init), value) in args.iter().zip(inits).zip(function.passed(back)) {
            if function.ty(arg).is_scalar() {
                continue;
            }
            let (hint, from) = (self.hints[arg.index()], self.homes[init.index()]);
            let stays = reduces && from.and_then(|home| self.table.distributed(home)).is_some_and(mma::is_whole_accumulator);
            let kept = if stays { from } else { hint.or(from) };
            let placed = self.homes[value.index()];
            let home = placed.or_else(|| self.reduced_columns(function, function.ty(arg), back, kept)).or(kept);
            let home = home.or_else(|| self.reduced_rows(function, function.ty(arg), back));
            self.homes[arg.index()] = home;
            let home = self.settle(function, arg);
            self.homes[arg.index()] = Some(home);
        }
        body(self);
    }
}

fn has_fewer_elements_than_threads(ty: &Type, num_warps: u32) -> bool {
    ty.num_elements() < 32 * u64::from(num_warps)
}

fn is_repeatable_in(ty: &Type, layout: &Distributed) -> bool {
    let elements = layout.distinct_registers() as u32;
    let loads = (elements * ty.elem().bits()).div_ceil(32) * layout.num_warps();
    has_fewer_elements_than_threads(ty, layout.num_warps())
        && elements <= MAX_REPEATED_ELEMENTS_PER_THREAD
        && (loads <= MAX_REPEATED_LOADS_PER_CTA || ty.shape().iter().filter(|&&extent| extent > 1).count() < 2)
}

/// The lowest registers are the next `pack` elements in row-major order.
fn begins_with_neighbours(layout: &Distributed, pack: u32) -> bool {
    (0..pack.ilog2()).all(|bit| layout.register.get(bit as usize) == Some(&(1 << bit)))
}

/// A layout whose threads hold groups of `pack` elements that are neighbours in row-major order.
fn neighbours(shape: &[u32], pack: u32, num_warps: u32) -> Distributed {
    let elements: u32 = shape.iter().product();
    coalesce::spread(&[elements], pack, &[0], num_warps).reshape(shape)
}

struct Materialise<'m> {
    homes: Vec<Option<LayoutId>>,
    /// Of each value, before anything is brought.
    uses: Vec<u32>,
    at: FxHashMap<OpId, Vec<LayoutId>>,
    table: &'m mut LayoutTable,
    function: &'m mut Function,
    made: FxHashMap<(ValueId, LayoutId), ValueId>,
    /// The value that each of them stands for.
    made_of: FxHashMap<ValueId, ValueId>,
    /// Gathers that will read buffers, which costs the same in each layout.
    gathers: FxHashSet<OpId>,
    /// Answers of [`Self::hangs_on_loads`].
    repeats: FxHashMap<(ValueId, LayoutId), bool>,
    /// Of the op whose operands are brought: what a loop carries or gives has no place of its own that a conversion could stand at.
    asker: Origin,
    /// Ops to place behind an op, in front of one, and at the start of a block.
    after: FxHashMap<OpId, Vec<OpId>>,
    before: FxHashMap<OpId, Vec<OpId>>,
    at_start: FxHashMap<BlockId, Vec<OpId>>,
    /// Where each op is.
    blocks: FxHashMap<OpId, BlockId>,
}

impl Materialise<'_> {
    fn run(&mut self) {
        for value in 0..self.homes.len() {
            if let Some(home) = self.homes[value]
                && !self.function.values[value].ty.is_scalar()
            {
                self.function.values[value].ty = self.function.values[value].ty.with_layout(home);
            }
        }
        let mut sites: Vec<(BlockId, OpId)> = Vec::new();
        self.function.walk(|block, op| sites.push((block, op)));
        self.blocks = sites.iter().map(|&(block, op)| (op, block)).collect();
        let owners = rewrite::owner_ops(self.function);
        for &(block, id) in &sites {
            self.operands_of(block, id, owners[block.index()]);
        }
        for (index, block) in self.function.blocks.iter_mut().enumerate() {
            let old = std::mem::take(&mut block.ops);
            if let Some(first) = self.at_start.get(&BlockId(index as u32)) {
                block.ops.extend(first);
            }
            for op in old {
                block.ops.extend(self.before.get(&op).into_iter().flatten());
                block.ops.push(op);
                if let Some(after) = self.after.get(&op) {
                    block.ops.extend(after);
                }
            }
        }
    }

    /// Brings an op's operands to where it works.
    fn operands_of(&mut self, block: BlockId, id: OpId, owner: Option<OpId>) {
        let op = self.function.op(id).clone();
        self.asker = op.origin;
        let wanted: Vec<Option<LayoutId>> = match &op.kind {
            OpKind::For(_) => {
                let Some(around) = self.function.for_loop(id) else { return };
                let home = |n| around.of_operand(n).and_then(|carried| self.homes[carried.arg.index()]);
                (0..op.operands.len()).map(home).collect()
            }
            OpKind::While { .. } => {
                let args = self.function.block(op.regions[0]).args.clone();
                args.iter().map(|a| self.homes[a.index()]).collect()
            }
            OpKind::Yield => {
                let Some(owner) = owner else { return };
                let owner = self.function.op(owner);
                match owner.kind {
                    // The second region of a while goes back to the first.
                    OpKind::While { .. } => {
                        let args = self.function.block(owner.regions[0]).args.clone();
                        args.iter().map(|a| self.homes[a.index()]).collect()
                    }
                    _ => owner.results.iter().map(|r| self.homes[r.index()]).collect(),
                }
            }
            OpKind::Condition => {
                let Some(owner) = owner else { return };
                let results = self.function.op(owner).results.clone();
                std::iter::once(None).chain(results.iter().map(|r| self.homes[r.index()])).collect()
            }
            kind if kind.is_elementwise() => vec![self.homes[op.results[0].index()]; op.operands.len()],
            kind => match self.at.get(&id) {
                Some(layouts) => layouts.iter().map(|&l| Some(l)).collect(),
                None => {
                    let Some(&result) = op.results.first() else { return };
                    let Some(home) = self.homes[result.index()] else { return };
                    let source = self.function.ty(op.operands[0]).shape().clone();
                    let Some(home) = self.table.distributed(home) else { return };
                    let Some(layout) = source_layout(kind, &source, home) else { return };
                    vec![Some(self.table.intern(Layout::Distributed(layout)))]
                }
            },
        };
        debug_assert!(block.index() < self.function.blocks.len());
        for (n, layout) in wanted.into_iter().enumerate() {
            if let (Some(layout), Some(&operand)) = (layout, op.operands.get(n)) {
                let value = match &op.kind {
                    OpKind::Store(_) if n == 1 => self.get_late(operand, layout, block, id),
                    _ => self.get(operand, layout),
                };
                self.function.op_mut(id).operands[n] = value;
            }
        }
    }

    /// The value in this layout for a store, which is the last to need it: a conversion stands in front of the store, so that what is stored before it
    /// does not wait for the conversion's barrier. Nothing else uses that one, which may stand too late for it.
    fn get_late(&mut self, value: ValueId, layout: LayoutId, block: BlockId, store: OpId) -> ValueId {
        let known = self.made.contains_key(&(value, layout));
        let made = self.get(value, layout);
        let (Some(op), ValueDef::Result(def, _)) = (self.function.def_op(made), self.function.value(value).def) else {
            return made;
        };
        let is_conversion =
            matches!(self.function.op(op).kind, OpKind::ConvertLayout) && self.function.op(op).operands[0] == value;
        if known || made == value || !is_conversion || self.blocks.get(&def) != Some(&block) {
            return made;
        }
        if let Some(after) = self.after.get_mut(&def) {
            after.retain(|&other| other != op);
        }
        self.made.remove(&(value, layout));
        self.before.entry(store).or_default().push(op);
        made
    }

    /// The value in this layout; made behind its definition if it is not there yet.
    fn get(&mut self, value: ValueId, layout: LayoutId) -> ValueId {
        // An operand that was brought already, of an operation that is repeated.
        let value = self.made_of.get(&value).copied().unwrap_or(value);
        let ty = self.function.ty(value).clone();
        let home = self.homes.get(value.index()).copied().flatten();
        if ty.is_scalar() || ty.is_buffer() || home == Some(layout) {
            return value;
        }
        if let Some(&made) = self.made.get(&(value, layout)) {
            return made;
        }
        let result = ty.with_layout(layout);
        let def = self.function.value(value).def;
        let remade = match def {
            ValueDef::Argument(..) => None,
            ValueDef::Result(id, _) => {
                let op = self.function.op(id).clone();
                let repeated = self.is_repeated(value, layout);
                let again = home.is_none() || repeated || self.is_of_narrower(value);
                let layouts: Option<Vec<LayoutId>> = match &op.kind {
                    OpKind::Constant(_) | OpKind::Iota { .. } | OpKind::Splat => Some(vec![]),
                    OpKind::Load(_) if repeated => Some(vec![layout; op.operands.len()]),
                    // In the layout of its indices, if these are made of nothing.
                    OpKind::Gather { .. } if self.gathers.contains(&id) && self.is_homeless(op.operands[1]) => {
                        self.function.ty(op.operands[0]).layout().map(|source| vec![source, layout])
                    }
                    kind if kind.is_elementwise() && again => Some(vec![layout; op.operands.len()]),
                    kind if home.is_none() || repeated || again && matches!(kind, OpKind::Transpose { .. }) => {
                        let source = self.function.ty(op.operands[0]).shape().clone();
                        let of_result = self.table.distributed(layout).cloned();
                        of_result
                            .and_then(|l| source_layout(kind, &source, &l))
                            .map(|l| vec![self.table.intern(Layout::Distributed(l))])
                    }
                    _ => None,
                };
                layouts.map(|layouts| {
                    let mut operands = op.operands.clone();
                    for (operand, layout) in operands.iter_mut().zip(layouts) {
                        *operand = self.get(*operand, layout);
                    }
                    self.function.create_op(op.kind, &operands, [result.clone()], &[], op.origin)
                })
            }
        };
        let op = match remade {
            Some(op) => op,
            None => {
                let origin = match def {
                    ValueDef::Result(op, _) if self.function.op(op).regions.is_empty() => self.function.op(op).origin,
                    ValueDef::Result(..) | ValueDef::Argument(..) => self.asker,
                };
                self.function.create_op(OpKind::ConvertLayout, &[value], [result], &[], origin)
            }
        };
        match def {
            ValueDef::Result(def, _) => self.after.entry(def).or_default().push(op),
            ValueDef::Argument(block, _) => self.at_start.entry(block).or_default().push(op),
        }
        let made = self.function.op(op).results[0];
        self.made.insert((value, layout), made);
        self.made_of.insert(made, value);
        made
    }

    fn is_homeless(&self, value: ValueId) -> bool {
        let value = self.made_of.get(&value).unwrap_or(&value);
        self.homes.get(value.index()).is_some_and(Option::is_none)
    }

    /// Whether fewer bits are converted in front of the casts that a value comes of than behind them, and nobody else needs what is in between.
    fn is_of_narrower(&self, value: ValueId) -> bool {
        let mut bits = 0;
        let mut pending = vec![value];
        while let Some(value) = pending.pop() {
            let ty = self.function.ty(value);
            // What has no home is made again, not converted.
            if ty.is_scalar() || self.homes.get(value.index()).is_none_or(|home| home.is_none()) {
                continue;
            }
            match self.function.def_op(value).map(|op| self.function.op(op)) {
                Some(op) if is_widening(self.function, op) => bits += self.function.ty(op.operands[0]).elem().bits().max(8),
                Some(Op { kind: OpKind::Transpose { .. }, operands, .. }) => pending.push(operands[0]),
                Some(op) if op.kind.is_elementwise() && op.kind.is_cheap() && self.uses[value.index()] == 1 => {
                    pending.extend(&op.operands);
                }
                _ => bits += ty.elem().bits().max(8),
            }
        }
        bits < self.function.ty(value).elem().bits().max(8)
    }

    /// Whether to load a value in a layout, and compute what is made of it there, instead of converting it.
    fn is_repeated(&mut self, value: ValueId, layout: LayoutId) -> bool {
        let home = self.homes.get(value.index()).copied().flatten().and_then(|home| self.table.distributed(home));
        let (Some(home), Some(to)) = (home, self.table.distributed(layout)) else { return false };
        is_repeatable_in(self.function.ty(value), to)
            && !matches!(conversion(home, to), Conversion::Rename(_))
            && self.hangs_on_loads(value, layout, 0)
    }

    /// A value that follows from loads at the place where it is defined, or from nothing.
    fn hangs_on_loads(&mut self, value: ValueId, layout: LayoutId, depth: u32) -> bool {
        let value = self.made_of.get(&value).copied().unwrap_or(value);
        let home = self.homes.get(value.index()).copied().flatten();
        if self.function.ty(value).is_scalar() || home.is_none() || home == Some(layout) {
            return true;
        }
        // Each value once: sums of a value with itself would double the work with every step.
        if let Some(&known) = self.repeats.get(&(value, layout)) {
            return known;
        }
        let Some(op) = self.function.def_op(value).filter(|_| depth < MAX_CHAIN) else { return false };
        let op = self.function.op(op).clone();
        let of_operands = match &op.kind {
            OpKind::Load(attrs) if !attrs.volatile => layout,
            kind if kind.is_elementwise() => layout,
            kind => {
                let Some(&source) = op.operands.first() else { return false };
                let shape = self.function.ty(source).shape();
                let Some(source) = self.table.distributed(layout).and_then(|layout| source_layout(kind, shape, layout)) else {
                    return false;
                };
                self.table.intern(Layout::Distributed(source))
            }
        };
        let repeats = op.operands.iter().all(|&operand| self.hangs_on_loads(operand, of_operands, depth + 1));
        self.repeats.insert((value, layout), repeats);
        repeats
    }
}

/// A cast that makes elements larger.
fn is_widening(function: &Function, op: &Op) -> bool {
    matches!(op.kind, OpKind::Cast(CastOp::Float | CastOp::ExtS | CastOp::ExtU | CastOp::SToF | CastOp::UToF))
        && function.ty(op.operands[0]).elem().bits().max(8) < function.ty(op.results[0]).elem().bits()
}
