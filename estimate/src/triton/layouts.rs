//! Which layout Triton gives every value, and where it must convert.
//!
//! Loads, stores and products come with the layouts they want, as its coalescing and its choice of tensor cores say. The results spread
//! forward through the program; of several a tensor core's wins. What an op then needs in another layout is computed again in that
//! layout where nothing expensive is in the way, else converted (`repeating`). **Invariant:** nothing is changed: the outcome is a layout for
//! every value and a list of conversions.

use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxHashMap, FxHashSet};
use tritium_semantics::target::{Feature, Sm};
use tritium_tile::{
    BlockId, Function, OpId, OpKind, Scalar, Shape, ValueDef, ValueId,
    effects::{mask_of, pointee_bytes},
    facts::Facts,
    layout::{Side, algebra::shift_of},
    ops::DotPrecision,
    rewrite,
};

use super::encoding::{Enc, Encoding, Encodings, contiguous_dim};

/// What multiplies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// `wgmma`
    Warpgroup,
    /// `mma.sync`
    Warp,
    /// Multiplications and additions of single threads.
    Thread,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Product {
    pub unit: Unit,
    pub layout: Enc,
}

/// Values, and the layouts that they are wanted in.
pub(super) type InLayouts = Vec<(ValueId, Enc)>;

/// A value that is needed in another layout than it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Conversion {
    pub value: ValueId,
    pub from: Enc,
    pub to: Enc,
}

pub(super) struct Layouts<'f> {
    pub function: &'f Function,
    pub facts: &'f Facts,
    pub sm: &'static Sm,
    pub num_warps: u32,
    pub encodings: Encodings,
    pub users: Vec<Vec<OpId>>,
    /// The block that each op stands in.
    pub parents: Vec<Option<BlockId>>,
    /// The op whose region each block is.
    pub owners: Vec<Option<OpId>>,
    /// Of loads, stores and atomics.
    pub memory: FxHashMap<OpId, Enc>,
    pub products: IndexMap<OpId, Product>,
    /// Where a value is computed; `None` for what is made wherever it is needed.
    pub homes: Vec<Option<Enc>>,
    /// With the op that they stand before, where that is not where the value is made.
    pub conversions: IndexMap<Conversion, Option<OpId>>,
    /// Values without a home, and the layouts in which they are made.
    pub demanded: IndexSet<(ValueId, Enc)>,
    /// Small loads that are done again in another layout.
    pub repeated: FxHashSet<(ValueId, Enc)>,
    /// Loads that have a ring of buffers, once that is known.
    pub ahead: FxHashSet<OpId>,
}

impl<'f> Layouts<'f> {
    pub(super) fn new(function: &'f Function, facts: &'f Facts, sm: &'static Sm, num_warps: u32) -> Layouts<'f> {
        let mut layouts = Layouts {
            users: rewrite::users(function),
            parents: rewrite::parent_blocks(function),
            owners: rewrite::owner_ops(function),
            function,
            facts,
            sm,
            num_warps,
            encodings: Encodings::default(),
            memory: FxHashMap::default(),
            products: IndexMap::new(),
            homes: vec![None; function.values.len()],
            conversions: IndexMap::new(),
            demanded: IndexSet::new(),
            repeated: FxHashSet::default(),
            ahead: FxHashSet::default(),
        };
        layouts.coalesce();
        layouts.choose_products();
        layouts.spread();
        layouts.convert();
        layouts
    }

    pub(super) fn shape(&self, value: ValueId) -> &'f Shape {
        self.function.ty(value).shape()
    }

    pub(super) fn ops(&self) -> Vec<OpId> {
        let mut ops = Vec::new();
        self.function.walk(|_, id| ops.push(id));
        ops
    }

    /// Of every access the order of its dimensions and the elements that a thread should move; those of one shape and order share the most.
    fn coalesce(&mut self) {
        let function = self.function;
        let mut found: Vec<(OpId, Vec<u8>, u64)> = Vec::new();
        let mut most: FxHashMap<(Shape, Vec<u8>), u64> = FxHashMap::default();
        for id in self.ops() {
            let op = function.op(id);
            if !op.kind.is_access() {
                continue;
            }
            let shape = self.shape(op.operands[0]);
            if shape.is_empty() {
                continue;
            }
            let axis = self.facts.axis(op.operands[0]);
            let mut order: Vec<u8> = (0..shape.len() as u8).collect();
            order.sort_by_key(|&d| std::cmp::Reverse(axis.contiguity[usize::from(d)]));
            let run = self.run(id, order[0]);
            let entry = most.entry((shape.clone(), order.clone())).or_insert(1);
            *entry = (*entry).max(run);
            found.push((id, order, run));
        }
        for (id, order, run) in found {
            let op = function.op(id);
            let shape = self.shape(op.operands[0]).clone();
            let fair = (function.ty(op.operands[0]).num_elements() / u64::from(32 * self.num_warps)).max(1);
            let shared = most.get(&(shape.clone(), order.clone())).copied().unwrap_or(1);
            let mut each = shared.min(fair);
            if !matches!(op.kind, OpKind::Load(_)) {
                each = each.min(run);
            }
            let mut size = Shape::from_elem(1, shape.len());
            size[usize::from(order[0])] = each as u32;
            let enc = self.encodings.blocked(&shape, &size, &order, self.num_warps);
            self.memory.insert(id, enc);
        }
    }

    /// Elements along a dimension that 16 bytes hold and the addresses allow; the mask is not asked.
    fn run(&self, id: OpId, d: u8) -> u64 {
        let pointer = self.function.op(id).operands[0];
        let unit = u64::from(pointee_bytes(self.function, pointer));
        let axis = self.facts.axis(pointer);
        let extent = u64::from(self.shape(pointer)[usize::from(d)]);
        let aligned = (axis.divisibility[usize::from(d)] / unit).max(1).min(axis.contiguity[usize::from(d)].min(extent));
        aligned.min(16 / unit).max(1)
    }

    /// Elements that one asynchronous copy of a load moves, in its own layout or another.
    pub(super) fn copied(&mut self, load: OpId, layout: Option<Enc>) -> u64 {
        let op = self.function.op(load);
        let shape = self.shape(op.operands[0]);
        let Some(enc) = layout.or(self.memory.get(&load).copied()) else { return 1 };
        let (d, together) = match self.encodings.get(enc) {
            Encoding::Blocked { size, order, .. } => (order[0], u64::from(size[usize::from(order[0])])),
            _ => {
                let Some(map) = self.encodings.map(enc, shape) else { return 1 };
                let Some(d) = contiguous_dim(&map) else { return 1 };
                let step = shift_of(shape, d);
                let steps = map.register.iter().enumerate().take_while(|&(n, &basis)| basis == 1 << (step + n as u32));
                (d as u8, 1 << steps.count())
            }
        };
        let mut run = self.run(load, d).min(together);
        if let Some(mask) = mask_of(self.function, load) {
            run = run.min(self.facts.axis(mask).constancy[usize::from(d)].max(1));
        }
        run
    }

    /// The layout in which an op that is done in `layout`, or at home, takes what makes its operand `n`; `None` where that has a home.
    pub(super) fn needed(&mut self, id: OpId, layout: Option<Enc>, n: usize) -> Option<Enc> {
        let op = self.function.op(id);
        let operand = op.operands[n];
        if self.function.ty(operand).is_scalar() {
            return None;
        }
        let wanted = match (layout, &op.kind) {
            (Some(layout), OpKind::Load(_)) => Some(layout),
            (Some(layout), kind) => {
                let result = *op.results.first()?;
                self.encodings.of_operand(kind, layout, self.shape(operand), self.shape(result))
            }
            (None, OpKind::Dot { .. }) => None,
            (None, _) => self.wanted(id, n),
        };
        let is_small_load = self
            .function
            .def_op(operand)
            .is_some_and(|def| matches!(self.function.op(def).kind, OpKind::Load(_)) && !self.is_expensive(def));
        match (wanted, self.homes[operand.index()]) {
            (Some(wanted), Some(home)) if is_small_load => {
                let is_repeated = wanted != home && self.repeated.contains(&(operand, wanted));
                is_repeated.then_some(wanted)
            }
            (_, Some(_)) => None,
            (wanted, None) => wanted,
        }
    }

    pub(super) fn order(&self, load: OpId) -> Option<u8> {
        match self.encodings.get(*self.memory.get(&load)?) {
            Encoding::Blocked { order, .. } => order.first().copied(),
            _ => None,
        }
    }

    fn choose_products(&mut self) {
        let function = self.function;
        let dots: Vec<OpId> = self.ops().into_iter().filter(|&id| matches!(function.op(id).kind, OpKind::Dot { .. })).collect();
        // The last one decides for those that it hangs together with.
        for &dot in dots.iter().rev() {
            let unit = self.unit(dot);
            let result = function.op(dot).results[0];
            let shape = self.shape(result).clone();
            let layout = match unit {
                Unit::Warpgroup => {
                    let n = columns_of_wgmma(&shape, self.num_warps);
                    let (rows, columns) = self.warpgroups(dot, &shape);
                    self.encodings.intern(Encoding::Wgmma { rows, columns, n })
                }
                Unit::Warp => {
                    let (rows, columns) = self.warps(dot, &shape);
                    self.encodings.intern(Encoding::Mma { rows, columns })
                }
                Unit::Thread => {
                    let rank = shape.len();
                    let each = function.ty(result).num_elements() / u64::from(32 * self.num_warps);
                    let step = if each >= 16 {
                        4
                    } else if each >= 4 {
                        2
                    } else {
                        1
                    };
                    let mut size = Shape::from_elem(1, rank);
                    (size[rank - 1], size[rank - 2]) = (step, step);
                    let order: Vec<u8> = (0..rank as u8).rev().collect();
                    self.encodings.blocked(&shape, &size, &order, self.num_warps)
                }
            };
            self.products.insert(dot, Product { unit, layout });
        }
    }

    fn unit(&self, dot: OpId) -> Unit {
        let op = self.function.op(dot);
        let OpKind::Dot { precision, .. } = op.kind else { return Unit::Thread };
        let scalar = |n: usize| self.function.ty(op.operands[n]).elem().scalar();
        let (Some(a), Some(acc)) = (scalar(0), scalar(2)) else { return Unit::Thread };
        let single = matches!(a, Scalar::F32);
        if a == Scalar::F64 && acc == Scalar::F64 {
            return Unit::Warp;
        }
        if single && precision == DotPrecision::Ieee || a == Scalar::F64 {
            return Unit::Thread;
        }
        let shape = self.shape(op.results[0]);
        let known = matches!(a, Scalar::F8E4M3 | Scalar::F8E5M2 | Scalar::I8 | Scalar::F16 | Scalar::BF16 | Scalar::F32);
        let warpgroups = self.sm.has(Feature::Wgmma)
            && shape.len() == 2
            && self.num_warps.is_multiple_of(4)
            && shape[0].is_multiple_of(64)
            && shape[1].is_multiple_of(8)
            && known;
        if warpgroups { Unit::Warpgroup } else { Unit::Warp }
    }

    fn warpgroups(&self, dot: OpId, shape: &[u32]) -> (u32, u32) {
        if self.reaches_product(dot) {
            return (self.num_warps, 1);
        }
        let (mut rows, mut columns) = (4, 1);
        while rows * columns < self.num_warps {
            if shape[0] > 16 * rows { rows *= 2 } else { columns *= 2 }
        }
        (rows, columns)
    }

    /// Whether another product is downstream of this one.
    fn reaches_product(&self, dot: OpId) -> bool {
        let mut seen = FxHashSet::default();
        let mut pending: Vec<OpId> = vec![dot];
        while let Some(id) = pending.pop() {
            for &result in &self.function.op(id).results {
                for &user in &self.users[result.index()] {
                    if !seen.insert(user) {
                        continue;
                    }
                    if matches!(self.function.op(user).kind, OpKind::Dot { .. }) {
                        return true;
                    }
                    pending.push(user);
                    // What a region-owning op is given reaches all that is in it.
                    let mut regions: Vec<BlockId> = self.function.op(user).regions.to_vec();
                    while let Some(region) = regions.pop() {
                        for &inner in &self.function.block(region).ops {
                            if matches!(self.function.op(inner).kind, OpKind::Dot { .. }) {
                                return true;
                            }
                            if seen.insert(inner) {
                                pending.push(inner);
                            }
                            regions.extend(&self.function.op(inner).regions);
                        }
                    }
                }
            }
        }
        false
    }

    fn warps(&self, dot: OpId, shape: &[u32]) -> (u32, u32) {
        let rank = shape.len();
        if rank == 3 {
            return (self.num_warps, 1);
        }
        let mut chained = false;
        for other in self.connected(dot) {
            if self.shape(self.function.op(other).results[0]).len() != rank {
                continue;
            }
            if let Some(Encoding::Mma { rows, columns }) = self.products.get(&other).map(|p| self.encodings.get(p.layout)) {
                return (*rows, *columns);
            }
            chained = true;
        }
        if chained {
            return if shape[0] >= shape[1] { (self.num_warps, 1) } else { (1, self.num_warps) };
        }
        let mut left = [shape[0].div_ceil(16), shape[1].div_ceil(8)];
        let (mut rows, mut columns) = (1, 1);
        while rows * columns < self.num_warps {
            if left[0] >= left[1] {
                rows *= 2;
                if left[0] != 1 {
                    left[0] /= 2;
                }
            } else {
                columns *= 2;
                left[1] /= 2;
            }
        }
        (rows, columns)
    }

    /// The products that data flow of the same block connects with this one, transposes apart.
    fn connected(&self, dot: OpId) -> Vec<OpId> {
        let block = self.parents[dot.index()];
        let admits =
            |id: OpId| self.parents[id.index()] == block && !matches!(self.function.op(id).kind, OpKind::Transpose { .. });
        let mut seen: IndexSet<OpId> = [dot].into_iter().collect();
        let mut next = 0;
        while let Some(&id) = seen.get_index(next) {
            next += 1;
            let op = self.function.op(id);
            for &operand in &op.operands {
                if let Some(def) = self.function.def_op(operand).filter(|&def| admits(def)) {
                    seen.insert(def);
                }
            }
            for &result in &op.results {
                for &user in self.users[result.index()].iter().filter(|&&user| admits(user)) {
                    seen.insert(user);
                }
            }
        }
        let mut found: Vec<OpId> =
            seen.into_iter().filter(|&id| id != dot && matches!(self.function.op(id).kind, OpKind::Dot { .. })).collect();
        found.sort_unstable();
        found
    }

    /// A tile of fewer pointers than threads is cheap to load again.
    pub(super) fn is_expensive(&self, id: OpId) -> bool {
        self.function.ty(self.function.op(id).operands[0]).num_elements() >= u64::from(32 * self.num_warps)
    }

    /// Forward from what has its layout.
    fn spread(&mut self) {
        let function = self.function;
        let mut sets: IndexMap<ValueId, Vec<Enc>> = IndexMap::new();
        let mut stack = Vec::new();
        for id in self.ops() {
            let op = function.op(id);
            let enc = match op.kind {
                OpKind::Load(_) if !self.is_expensive(id) => continue,
                OpKind::Load(_) | OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. } => self.memory.get(&id).copied(),
                OpKind::Dot { .. } => self.products.get(&id).map(|p| p.layout),
                _ => continue,
            };
            let Some(enc) = enc else { continue };
            for &result in op.results.iter().filter(|&&r| !function.ty(r).is_scalar()) {
                sets.insert(result, vec![enc]);
                stack.push(result);
            }
        }
        // Every step adds a layout to a value, and only so many are kept for one.
        const MAX_LAYOUTS_PER_VALUE: usize = 6;
        while let Some(value) = stack.pop() {
            let encs = sets.get(&value).cloned().unwrap_or_default();
            let mut changed = Vec::new();
            for &user in &self.users[value.index()].clone() {
                for (target, kind) in self.targets(user, value) {
                    if function.ty(target).is_scalar() {
                        continue;
                    }
                    let mut grown = false;
                    for &enc in &encs {
                        let new = if kind {
                            let (source, result) = (self.shape(value), self.shape(target));
                            self.encodings.of_result(&function.op(user).kind, enc, source, result)
                        } else {
                            Some(enc)
                        };
                        let Some(new) = new else { continue };
                        let set = sets.entry(target).or_default();
                        if set.len() < MAX_LAYOUTS_PER_VALUE && !set.contains(&new) {
                            set.push(new);
                            grown = true;
                        }
                    }
                    if grown {
                        changed.push(target);
                    }
                }
            }
            stack.extend(changed);
        }
        for (value, encs) in sets {
            let loaded = function.def_op(value).is_some_and(|op| self.memory.contains_key(&op));
            let blocked = |enc: &&Enc| matches!(self.encodings.get(**enc), Encoding::Blocked { .. });
            let tensor = |enc: &&Enc| self.encodings.is_tensor_core(**enc);
            let best = if loaded { encs.iter().find(blocked) } else { encs.iter().find(tensor) };
            self.homes[value.index()] = best.or(encs.first()).copied();
        }
        self.settle();
    }

    /// The values that a layout of `value` reaches through a user, and whether the user changes it on the way.
    fn targets(&self, user: OpId, value: ValueId) -> Vec<(ValueId, bool)> {
        let op = self.function.op(user);
        let at = |n: usize| op.operands.get(n) == Some(&value);
        match &op.kind {
            OpKind::For(_) => {
                let Some(around) = self.function.for_loop(user) else { return vec![] };
                let carried = (0..op.operands.len()).filter(|&n| at(n)).filter_map(|n| around.of_operand(n));
                carried.flat_map(|carried| [(carried.arg, false), (carried.result, false)]).collect()
            }
            OpKind::While { .. } => {
                let args = &self.function.block(op.regions[0]).args;
                (0..op.operands.len()).filter(|&n| at(n)).map(|n| (args[n], false)).collect()
            }
            OpKind::Condition => {
                let Some(outer) = self.parents[user.index()].and_then(|b| self.owners[b.index()]) else { return vec![] };
                let Some(around) = self.function.while_loop(outer) else { return vec![] };
                let passed = around.passed.iter().zip(around.after_args).zip(around.results);
                passed
                    .filter(|((v, _), _)| **v == value)
                    .flat_map(|((_, &arg), &result)| [(arg, false), (result, false)])
                    .collect()
            }
            OpKind::Yield => {
                let Some(outer) = self.parents[user.index()].and_then(|b| self.owners[b.index()]) else { return vec![] };
                let mut found = Vec::new();
                for n in (0..op.operands.len()).filter(|&n| at(n)) {
                    match self.function.op(outer).kind {
                        OpKind::For(_) => {
                            let carried = self.function.for_loop(outer).and_then(|around| around.carried(n));
                            found.extend(carried.into_iter().flat_map(|carried| [(carried.result, false), (carried.arg, false)]));
                        }
                        OpKind::If => found.push((self.function.op(outer).results[n], false)),
                        OpKind::While { .. } => {
                            let around = self.function.while_loop(outer);
                            found.extend(around.and_then(|around| around.args.get(n)).map(|&v| (v, false)));
                        }
                        _ => {}
                    }
                }
                found
            }
            OpKind::Gather { .. } if at(1) => op.results.iter().map(|&v| (v, false)).collect(),
            OpKind::Broadcast
            | OpKind::Scan { .. }
            | OpKind::Reduce { .. }
            | OpKind::ExpandDims { .. }
            | OpKind::Reshape { .. }
            | OpKind::Transpose { .. }
            | OpKind::InlineAsm(_)
            | OpKind::Map { .. } => op.results.iter().map(|&v| (v, true)).collect(),
            kind if kind.is_elementwise() => op.results.iter().map(|&v| (v, true)).collect(),
            _ => vec![],
        }
    }

    /// What cannot be made again and has no layout yet is rows first.
    fn settle(&mut self) {
        let function = self.function;
        for id in self.ops() {
            let op = function.op(id);
            if !matches!(
                op.kind,
                OpKind::Load(_)
                    | OpKind::Histogram
                    | OpKind::Gather { .. }
                    | OpKind::Reduce { .. }
                    | OpKind::Scan { .. }
                    | OpKind::Map { .. }
            ) {
                continue;
            }
            for &result in &op.results {
                if self.homes[result.index()].is_some() || function.ty(result).is_scalar() {
                    continue;
                }
                self.homes[result.index()] = match op.kind {
                    OpKind::Load(_) => self.memory.get(&id).copied(),
                    OpKind::Reduce { axis } => {
                        let parent = self.encodings.plain(self.shape(op.operands[0]), self.num_warps);
                        Some(self.encodings.intern(Encoding::Slice { parent, axis }))
                    }
                    _ => Some(self.encodings.plain(self.shape(result), self.num_warps)),
                };
            }
        }
    }

    /// The layout in which an op takes its operand `n`; `None` where it does not matter.
    pub(super) fn wanted(&mut self, id: OpId, n: usize) -> Option<Enc> {
        let function = self.function;
        let op = function.op(id);
        let operand = *op.operands.get(n)?;
        if function.ty(operand).is_scalar() {
            return None;
        }
        match &op.kind {
            OpKind::Load(_) | OpKind::Store(_) | OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. } => {
                self.memory.get(&id).copied()
            }
            OpKind::Dot { .. } => (n == 2).then(|| self.products.get(&id).map(|p| p.layout))?,
            OpKind::Reduce { axis } => Some(self.reduced(id, *axis)),
            OpKind::For(_) => self.homes[function.for_loop(id)?.of_operand(n)?.arg.index()],
            OpKind::While { .. } => self.homes[function.while_loop(id)?.args.get(n)?.index()],
            OpKind::Yield => {
                let outer = self.parents[id.index()].and_then(|b| self.owners[b.index()])?;
                match function.op(outer).kind {
                    OpKind::For(_) | OpKind::If => self.homes[function.op(outer).results.get(n)?.index()],
                    OpKind::While { .. } => self.homes[function.while_loop(outer)?.args.get(n)?.index()],
                    _ => None,
                }
            }
            OpKind::Condition => {
                let outer = self.parents[id.index()].and_then(|b| self.owners[b.index()])?;
                self.homes[function.op(outer).results.get(n.checked_sub(1)?)?.index()]
            }
            OpKind::Gather { .. } if n == 1 => self.homes[op.results[0].index()],
            OpKind::Gather { .. } | OpKind::Histogram | OpKind::Print { .. } | OpKind::Assert { .. } => None,
            kind => {
                let result = *op.results.first()?;
                let enc = self.homes[result.index()]?;
                self.encodings.of_operand(kind, enc, self.shape(operand), self.shape(result))
            }
        }
    }

    /// The layout that a reduction works in.
    pub(super) fn reduced(&mut self, id: OpId, axis: u8) -> Enc {
        let op = self.function.op(id);
        if let Some(enc) = op.results.first().and_then(|r| self.homes[r.index()])
            && let Encoding::Slice { parent, axis: gone } = *self.encodings.get(enc)
            && gone == axis
        {
            return parent;
        }
        let home = op.operands.iter().find_map(|v| self.homes[v.index()]);
        home.unwrap_or_else(|| self.encodings.plain(self.shape(op.operands[0]), self.num_warps))
    }

    pub(super) fn same(&mut self, a: Enc, b: Enc, shape: &[u32]) -> bool {
        a == b || self.encodings.map(a, shape) == self.encodings.map(b, shape)
    }

    fn convert(&mut self) {
        let function = self.function;
        for id in self.ops() {
            for n in 0..function.op(id).operands.len() {
                let operand = function.op(id).operands[n];
                if let Some(to) = self.wanted(id, n) {
                    self.demand(operand, to, Some(id));
                }
            }
        }
    }

    /// A value is needed in a layout: what is made anywhere is made there, of operands that are needed accordingly.
    pub(super) fn demand(&mut self, value: ValueId, to: Enc, user: Option<OpId>) {
        let function = self.function;
        let mut pending = vec![(value, to, user)];
        while let Some((value, to, user)) = pending.pop() {
            if function.ty(value).is_scalar() {
                continue;
            }
            if let Some(home) = self.homes[value.index()] {
                if !self.same(home, to, self.shape(value)) {
                    self.bring(value, to, user);
                }
                continue;
            }
            if !self.demanded.insert((value, to)) {
                continue;
            }
            match function.value(value).def {
                ValueDef::Result(id, _) => {
                    let op = function.op(id);
                    for &operand in op.operands.iter().filter(|_| op.regions.is_empty()) {
                        if !function.ty(operand).is_scalar()
                            && let Some(inner) = self.encodings.of_operand(&op.kind, to, self.shape(operand), self.shape(value))
                        {
                            pending.push((operand, inner, Some(id)));
                        }
                    }
                }
                ValueDef::Argument(block, n) => {
                    let outer = self.owners[block.index()].and_then(|outer| function.for_loop(outer));
                    if let Some(carried) = outer.and_then(|outer| outer.of_argument(n)) {
                        pending.extend([(carried.init, to, user), (carried.next, to, user)]);
                    }
                }
            }
        }
    }

    /// The loads that an operand of a product is made of, and what lies between, with the layouts in which it takes them, where elementwise operations and views of
    /// loads and constants are all that it is made of: then the loads change threads, and the rest follows.
    pub(super) fn fetched(&mut self, operand: ValueId, wanted: Enc) -> Option<(InLayouts, InLayouts)> {
        let function = self.function;
        let (mut seen, mut leaves, mut between) = (FxHashSet::default(), Vec::new(), Vec::new());
        let mut pending = vec![(operand, wanted)];
        while let Some((value, enc)) = pending.pop() {
            if function.ty(value).is_scalar() || !seen.insert((value, enc)) {
                continue;
            }
            let op = function.op(function.def_op(value)?);
            match &op.kind {
                OpKind::Load(_) => leaves.push((value, enc)),
                OpKind::Constant(_) => {}
                OpKind::Splat => {
                    let scalar = function.def_op(op.operands[0]).map(|op| &function.op(op).kind);
                    matches!(scalar, Some(OpKind::Constant(_))).then_some(())?;
                }
                OpKind::Broadcast | OpKind::ExpandDims { .. } | OpKind::Reshape { .. } | OpKind::Transpose { .. } => {}
                kind if kind.is_elementwise() => {}
                _ => return None,
            }
            if matches!(op.kind, OpKind::Load(_) | OpKind::Constant(_) | OpKind::Splat) {
                continue;
            }
            between.push((value, enc));
            for &source in op.operands.iter().rev() {
                if !function.ty(source).is_scalar() {
                    pending.push((source, self.encodings.of_operand(&op.kind, enc, self.shape(source), self.shape(value))?));
                }
            }
        }
        (!leaves.is_empty()).then_some((leaves, between))
    }

    /// The layout that a product reads an operand in from registers.
    pub(super) fn operand(&mut self, dot: OpId, side: Side) -> Option<Enc> {
        let product = *self.products.get(&dot)?;
        let operands = &self.function.op(dot).operands;
        let value = operands[usize::from(side == Side::B)];
        let bits = match product.unit {
            Unit::Warpgroup => self.function.ty(value).elem().bits(),
            // As many lie together as 32 bits of the narrower one held when it was loaded.
            Unit::Warp => self.loaded_bits(operands[0]).min(self.loaded_bits(operands[1])),
            Unit::Thread => 0,
        };
        Some(self.encodings.intern(Encoding::Operand { side, parent: product.layout, bits }))
    }

    /// The bits of an element, or of the narrowest that is loaded for it where only elementwise operations and views lie between.
    fn loaded_bits(&self, value: ValueId) -> u32 {
        let function = self.function;
        let mut least = function.ty(value).elem().bits();
        let mut seen: FxHashSet<OpId> = FxHashSet::default();
        let mut pending = vec![value];
        while let Some(value) = pending.pop() {
            let Some(id) = function.def_op(value) else { continue };
            let op = function.op(id);
            match &op.kind {
                OpKind::Load(_) if !function.ty(value).is_scalar() => least = least.min(function.ty(value).elem().bits()),
                OpKind::Load(_)
                | OpKind::Broadcast
                | OpKind::ExpandDims { .. }
                | OpKind::Reshape { .. }
                | OpKind::Transpose { .. }
                | OpKind::InlineAsm(_) => {}
                kind if kind.is_elementwise() => {}
                _ => continue,
            }
            if seen.insert(id) {
                pending.extend(&op.operands);
            }
        }
        least
    }
}

/// Columns of one `wgmma`: as many as a warpgroup's part has and divide the tile.
fn columns_of_wgmma(shape: &[u32], num_warps: u32) -> u32 {
    let down = (shape[0] / 16).max(1);
    let across = (num_warps / down).max(1);
    let most = (shape[1] / across).clamp(8, 256);
    1 << most.min(shape[1]).ilog2()
}
