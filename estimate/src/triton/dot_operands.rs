//! The buffers through which products get their operands, where no ring of a loop holds them.
//!
//! `wgmma` reads a buffer itself, until the last product that does; for `mma.sync` a value changes threads on its way. Where loads and
//! elementwise operations are all that an operand is made of, Triton changes the loads; else the operand, or what it is the transpose of.
//! **Invariant:** products of one loop that read one value alike have one buffer.

use rustc_hash::{FxHashMap, FxHashSet};
use tritium_semantics::target::Feature;
use tritium_tile::{OpId, OpKind, Scalar, ValueDef, ValueId, layout::Side};

use super::{
    Part, Plan,
    encoding::{Enc, Encoding},
    layouts::Unit,
    scratch,
};

/// An operand that a product reads from registers.
pub(super) struct Fetch {
    pub dot: OpId,
    pub side: Side,
    pub operand: ValueId,
    pub layout: Enc,
    /// The loads that it is made of, if that is all, with the layouts that it takes them in.
    pub leaves: Option<Vec<(ValueId, Enc)>>,
    /// What lies between it and those.
    pub between: Vec<(ValueId, Enc)>,
    /// It is converted itself, not what it is made of.
    pub is_whole: bool,
    pub is_moved: bool,
    /// It stays in shared memory until the product.
    pub waits: bool,
}

impl Fetch {
    /// Whether it is what a load brings, unchanged.
    pub(super) fn is_load(&self) -> bool {
        self.leaves.iter().flatten().any(|&(load, _)| load == self.operand)
    }
}

impl Plan<'_, '_> {
    pub(super) fn dots(&self) -> Vec<(OpId, Unit)> {
        let mut dots: Vec<(OpId, Unit)> = self.layouts.products.iter().map(|(&dot, product)| (dot, product.unit)).collect();
        dots.sort_by_key(|&(dot, _)| self.at[dot.index()]);
        dots
    }

    pub(super) fn fetch(&mut self) {
        for (dot, unit) in self.dots() {
            for (n, side) in [Side::A, Side::B].into_iter().enumerate() {
                let operand = self.function.op(dot).operands[n];
                if unit == Unit::Warpgroup && (side == Side::B || self.reads_shared(dot)) {
                    continue;
                }
                let Some(layout) = self.layouts.operand(dot, side) else { continue };
                let fetched = (unit != Unit::Thread).then(|| self.layouts.fetched(operand, layout)).flatten();
                let (leaves, between) = fetched.unzip();
                let between = between.unwrap_or_default();
                self.fetches.push(Fetch {
                    dot,
                    side,
                    operand,
                    layout,
                    leaves,
                    between,
                    is_whole: false,
                    is_moved: true,
                    waits: true,
                });
            }
        }
    }

    /// Products that want different kinds of one value do not share its buffer: so many elements lie together in it, as many as a lane
    /// reads along the inner dimension, or a row of a fragment along the other; 0 for products of single threads.
    pub(super) fn buffer_kind(&self, value: ValueId, wanted: Enc, side: Side, is_turned: bool) -> u8 {
        let Encoding::Operand { bits, .. } = *self.layouts.encodings.get(wanted) else { return 0 };
        if bits == 0 {
            return 0;
        }
        let is_across = self.layouts.homes[value.index()].is_some_and(|home| {
            let rank = self.function.ty(value).shape().len();
            self.layouts.encodings.first_dim(home).is_some_and(|dim| dim + 1 != rank)
        });
        if (side == Side::B) ^ is_across ^ is_turned { 8 } else { (128 / bits.clamp(8, 32)) as u8 }
    }

    /// Operands that no ring holds.
    pub(super) fn products(&mut self) {
        let mut shared_already: FxHashSet<ValueId> = FxHashSet::default();
        let mut passed = FxHashMap::default();
        for (dot, unit) in self.dots() {
            for (n, side) in [Side::A, Side::B].into_iter().enumerate() {
                let operand = self.function.op(dot).operands[n];
                if unit == Unit::Warpgroup && (side == Side::B || self.reads_shared(dot)) {
                    let held = self.untransposed(operand);
                    let loaded = self.function.def_op(held).is_some_and(|op| self.ahead.contains(&op));
                    if !loaded && shared_already.insert(held) {
                        let until = self.reads(held).map(|user| self.until(held, user)).max();
                        let alive = (self.made_at(held), until.unwrap_or(0).max(self.at[dot.index()]));
                        self.part(dot, "operand", 1, self.bytes(held), alive, 1024);
                    }
                }
            }
        }
        let (mut wholes, mut leaves) = (Vec::new(), Vec::new());
        let mut taken_apart = Vec::new();
        for mut fetch in std::mem::take(&mut self.fetches) {
            let is_carried = |leaf: ValueId| self.function.def_op(leaf).is_some_and(|op| self.in_registers.contains_key(&op));
            match &fetch.leaves {
                // A transpose moves behind the buffer.
                None => {
                    fetch.is_whole = true;
                    wholes.push((self.turned(fetch.operand), fetch));
                }
                // Only what a product of its own block follows is taken apart; what comes from the trip before is no load any more.
                Some(loads)
                    if !self.meets_product(fetch.operand)
                        || loads.iter().any(|&(load, _)| is_carried(load))
                        || loads
                            .iter()
                            .any(|&(load, _)| self.function.def_op(load).is_some_and(|op| self.ahead.contains(&op)))
                            && loads.iter().any(|&(load, _)| {
                                let def = self.function.def_op(load);
                                self.is_before_loop(load, fetch.dot) && def.is_some_and(|op| self.layouts.is_expensive(op))
                            }) =>
                {
                    fetch.is_whole = true;
                    wholes.push((fetch.operand, fetch));
                }
                Some(loads) => {
                    leaves
                        .extend(loads.iter().map(|&(load, layout)| (fetch.dot, fetch.side, load == fetch.operand, load, layout)));
                    taken_apart.push(fetch);
                }
            }
        }
        // Products of one loop that read one value alike change it once.
        let mut reads: FxHashMap<(ValueId, Enc, Option<OpId>), u32> = FxHashMap::default();
        for &(dot, _, _, load, layout) in &leaves {
            *reads.entry((load, layout, self.loop_of(dot))).or_default() += 1;
        }
        for (_, fetch) in &wholes {
            *reads.entry((fetch.operand, fetch.layout, self.loop_of(fetch.dot))).or_default() += 1;
        }
        let mut changed: FxHashSet<(ValueId, Enc, Option<OpId>)> = FxHashSet::default();
        for mut fetch in taken_apart {
            fetch.waits = reads.get(&(fetch.operand, fetch.layout, self.loop_of(fetch.dot))) == Some(&1);
            self.fetches.push(fetch);
        }
        for (held, mut fetch) in wholes {
            let Fetch { dot, side, operand, layout, .. } = fetch;
            let key = (operand, layout, self.loop_of(dot));
            let is_moved = held != operand || self.is_moved(operand, layout);
            let waits = reads[&key] == 1 || !self.is_before_loop(operand, dot);
            (fetch.is_moved, fetch.waits) = (is_moved, waits);
            self.fetches.push(fetch);
            if self.function.def_op(held).is_some_and(|op| self.ahead.contains(&op)) {
                continue;
            }
            if changed.insert(key) && is_moved {
                let before = self.parts.len();
                self.pass(dot, held, self.buffer_kind(held, layout, side, held != operand), waits, &mut passed);
                let is_narrow = matches!(self.function.ty(held).elem().scalar(), Some(Scalar::F8E4M3 | Scalar::F8E5M2));
                if is_narrow && !self.options.sm.has(Feature::Fp8) {
                    // It is made 16 bits wide before.
                    self.parts[before..].iter_mut().for_each(|part| part.bytes *= 2);
                }
            }
        }
        for (dot, side, is_all, load, layout) in leaves {
            let Some(def) = self.function.def_op(load).filter(|op| !self.ahead.contains(op)) else { continue };
            if !matches!(self.layouts.encodings.get(layout), Encoding::Operand { .. }) {
                self.layouts.demand(load, layout, None);
            } else if self.is_moved(load, layout) {
                // Only what one product itself reads, or what a loop reads every time, waits in its buffer.
                let elsewhere = self.loop_of(def) != self.loop_of(dot);
                let waits = reads[&(load, layout, self.loop_of(dot))] == 1 && (is_all || elsewhere);
                self.pass(dot, load, self.buffer_kind(load, layout, side, false), waits, &mut passed);
            }
        }
    }

    /// Whether a product that reads from registers stands in the block where a value is made.
    fn meets_product(&self, value: ValueId) -> bool {
        let Some(def) = self.function.def_op(value) else { return false };
        self.layouts.products.iter().any(|(&dot, product)| {
            self.layouts.parents[dot.index()] == self.layouts.parents[def.index()]
                && self.at[dot.index()] > self.at[def.index()]
                && (product.unit == Unit::Warp || product.unit == Unit::Warpgroup && !self.reads_shared(dot))
        })
    }

    /// The products that read a value, or its transpose.
    pub(super) fn reads(&self, held: ValueId) -> impl Iterator<Item = OpId> {
        self.layouts
            .products
            .keys()
            .copied()
            .filter(move |&dot| self.function.op(dot).operands[..2].iter().any(|&operand| self.untransposed(operand) == held))
    }

    /// Whether a value is there before the innermost loop around a product.
    pub(super) fn is_before_loop(&self, value: ValueId, dot: OpId) -> bool {
        let Some(around) = self.loop_of(dot) else { return false };
        let block = match self.function.value(value).def {
            ValueDef::Result(op, _) => self.layouts.parents[op.index()],
            ValueDef::Argument(block, _) => Some(block),
        };
        block.is_some_and(|block| !self.function.op(around).regions.iter().any(|&region| self.is_inside(block, region)))
    }

    /// A value that an operand in registers is made of goes through shared memory, until its product where it waits for that. Products
    /// that read it from one kind of buffer share that.
    pub(super) fn pass(
        &mut self,
        dot: OpId,
        value: ValueId,
        kind: u8,
        waits: bool,
        passed: &mut FxHashMap<(ValueId, u8), usize>,
    ) {
        let is_argument = matches!(self.function.value(value).def, ValueDef::Argument(..));
        let read = self.until(value, dot);
        let made = if is_argument { self.at[dot.index()] } else { self.made_at(value) };
        let alive = (made, if waits { read.max(made) } else { made });
        match passed.get(&(value, kind)) {
            Some(&part) => {
                let known: &mut Part = &mut self.parts[part];
                known.alive = (known.alive.0.min(alive.0), known.alive.1.max(alive.1));
            }
            None => {
                // Buffers of one value are filled before any is read.
                let others: Vec<usize> = (0..=u8::MAX).filter_map(|other| passed.get(&(value, other)).copied()).collect();
                let mut alive = alive;
                for &other in &others {
                    self.parts[other].alive.1 = self.parts[other].alive.1.max(made + 1);
                    alive.1 = alive.1.max(made + 1);
                }
                passed.insert((value, kind), self.parts.len());
                self.part(dot, "operand", 1, self.bytes(value), alive, 128);
            }
        }
    }

    /// The innermost loop around an op.
    pub(super) fn loop_of(&self, op: OpId) -> Option<OpId> {
        let mut block = self.layouts.parents[op.index()];
        while let Some(outer) = block.and_then(|b| self.layouts.owners[b.index()]) {
            if self.function.op(outer).kind.is_loop() {
                return Some(outer);
            }
            block = self.layouts.parents[outer.index()];
        }
        None
    }

    /// What a transpose of two dimensions turns.
    pub(super) fn turned(&self, value: ValueId) -> ValueId {
        match self.function.def_op(value).map(|op| self.function.op(op)) {
            Some(op) if matches!(&op.kind, OpKind::Transpose { order } if order.len() == 2) => op.operands[0],
            _ => value,
        }
    }

    /// What is stored where a value is turned on its way.
    pub(super) fn untransposed(&self, value: ValueId) -> ValueId {
        match self.function.def_op(value).map(|op| self.function.op(op)) {
            Some(op) if matches!(op.kind, OpKind::Transpose { .. }) => self.untransposed(op.operands[0]),
            _ => value,
        }
    }

    /// Whether a value has to change threads to be in a layout.
    pub(super) fn is_moved(&mut self, value: ValueId, wanted: Enc) -> bool {
        let Some(home) = self.layouts.homes[value.index()] else {
            // What is computed from nothing is not computed again for a product; what is the same everywhere is there.
            let def = self.function.def_op(value).map(|op| &self.function.op(op).kind);
            return !matches!(def, Some(OpKind::Constant(_) | OpKind::Splat));
        };
        let shape = self.function.ty(value).shape().clone();
        let bits = self.function.ty(value).elem().bits();
        let (Some(from), Some(to)) = (self.layouts.encodings.map(home, &shape), self.layouts.encodings.map(wanted, &shape))
        else {
            return true;
        };
        scratch::conversion_bytes(&from, &to, bits, false) > 0
    }
}
