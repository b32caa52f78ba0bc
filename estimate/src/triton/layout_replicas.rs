//! Every layout that a value exists in, and who reads it there.
//!
//! What is needed in a second layout is converted right after it is made, or made again beside the first, and is alive in both until each is
//! read for the last time. What a ring of a loop brings is fetched where the load stands, in every layout that it is read in; an operand that
//! several products read, or that something is computed from on its way to one, is fetched right after it is put into shared memory: its
//! fragments wait in registers. **Invariant:** what nobody reads that counts has no copy; what is another name of a value has the copies of
//! that value.

use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};
use tritium_tile::{Function, OpId, OpKind, ValueDef, ValueId, kinds};

use super::{
    dot_operands::Fetch,
    encoding::Enc,
    layouts::{Layouts, Unit},
};
use crate::registers::{Lives, Order, Span, is_name};

/// A value in a layout; none for scalars and for what never got one.
pub(super) type Key = (ValueId, Option<Enc>);

/// A read: the value, the layout that it is wanted in, the op that reads it.
type Read = (ValueId, Option<Enc>, OpId);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Made {
    /// Where the program makes it.
    AtHome,
    /// Once more, in another layout.
    Again,
    /// By way of shared memory, right after the copy at home is made.
    Converted,
    /// The same before the first op that reads it.
    ConvertedForUse,
    /// Read from the ring of a loop.
    FromRing,
}

impl Made {
    pub(super) fn is_fetched(self) -> bool {
        matches!(self, Made::Converted | Made::ConvertedForUse | Made::FromRing)
    }
}

#[derive(Debug)]
pub(super) struct Copy {
    pub made: Made,
    pub uses: Vec<OpId>,
    /// Those of the uses before which it is put into shared memory for a conversion.
    conversions: Vec<OpId>,
}

impl Copy {
    /// From where to where it is alive; `None` if it takes no registers.
    pub(super) fn span(&self, lives: &Lives<'_>, order: &Order, value: ValueId) -> Option<Span> {
        let function = lives.function;
        let (made, around) = match function.value(value).def {
            ValueDef::Result(op, _) => {
                let is_loop = function.op(op).kind.is_loop();
                (if is_loop { order.end[op.index()] + 1 } else { order.start[op.index()] + 1 }, order.owner(op))
            }
            ValueDef::Argument(block, _) => {
                let outer = order.owner_of(block).filter(|&op| function.op(op).kind.is_loop())?;
                (order.start[outer.index()] + 1, Some(outer))
            }
        };
        let first = self.uses.iter().map(|user| order.start[user.index()]).min()?;
        let from = if self.made == Made::ConvertedForUse { first.max(made) } else { made };
        let (conversions, uses): (Vec<OpId>, Vec<OpId>) = self.uses.iter().partition(|user| self.conversions.contains(user));
        // Its registers are free before those of the new copy are filled.
        let converted = lives.last_use(order, &conversions, around).map(|at| at.saturating_sub(1));
        let to = lives.last_use(order, &uses, around).max(converted)?;
        if to >= from {
            return Some(Span { value, from, to });
        }
        // It goes on to shared memory as soon as it is made: one element after another where it takes the place of an operand.
        let by_element = function.def_op(value).is_some_and(|def| function.op(def).kind.is_elementwise());
        (!self.made.is_fetched() && !by_element).then(|| Span { value, from: from - 1, to: from - 1 })
    }
}

pub(super) struct Copies {
    pub all: IndexMap<Key, Copy>,
    /// The operands whose fragments a product reads from shared memory as it goes.
    pub read_as_it_goes: FxHashSet<(OpId, usize)>,
}

impl Copies {
    /// Every value in its own layout alone: what the others are worth.
    pub(super) fn at_home(layouts: &Layouts<'_>, fetches: &[Fetch]) -> Copies {
        let function = layouts.function;
        let read_as_it_goes = fetches.iter().map(|fetch| (fetch.dot, fetch.side as usize)).collect();
        let mut all: IndexMap<Key, Copy> = IndexMap::new();
        function.walk(|_, id| {
            let op = function.op(id);
            for &operand in op.operands.iter().filter(|_| !is_name(&op.kind)) {
                let value = named(function, operand);
                let key = (value, layouts.homes[value.index()].filter(|_| !function.ty(value).is_scalar()));
                let copy =
                    all.entry(key).or_insert_with(|| Copy { made: Made::AtHome, uses: Vec::new(), conversions: Vec::new() });
                copy.uses.push(id);
            }
        });
        Copies { all, read_as_it_goes }
    }

    pub(super) fn of(layouts: &mut Layouts<'_>, fetches: &[Fetch]) -> Copies {
        let function = layouts.function;
        let fetches = fetches.iter().map(|fetch| ((fetch.dot, fetch.side as usize), fetch)).collect();
        let found = Copies { all: IndexMap::new(), read_as_it_goes: FxHashSet::default() };
        let mut search = Search { function, layouts, fetches, decided: FxHashMap::default(), found };
        let mut roots = Vec::new();
        function.walk(|_, id| {
            let kind = &function.op(id).kind;
            let is_free = kind.is_pure() || matches!(kind, OpKind::Load(_) | OpKind::Reduce { .. } | OpKind::Scan { .. });
            if !is_free || kind.is_terminator() {
                roots.push(id);
            }
        });
        for root in roots {
            let reads = search.operands(root);
            search.follow(reads);
        }
        search.convert();
        search.found
    }
}

struct Search<'s, 'f> {
    function: &'s Function,
    layouts: &'s mut Layouts<'f>,
    fetches: FxHashMap<(OpId, usize), &'s Fetch>,
    /// How copies are made that are decided about together with others.
    decided: FxHashMap<Key, Made>,
    found: Copies,
}

impl Search<'_, '_> {
    /// What an op reads where the program has it.
    fn operands(&mut self, id: OpId) -> Vec<Read> {
        let op = self.function.op(id);
        let is_product = matches!(op.kind, OpKind::Dot { .. });
        let mut reads = Vec::with_capacity(op.operands.len());
        for (n, &operand) in op.operands.iter().enumerate() {
            reads.push(match n {
                0 | 1 if is_product => self.factor(id, n, operand),
                _ => (operand, self.layouts.wanted(id, n), id),
            });
        }
        reads
    }

    fn factor(&mut self, dot: OpId, n: usize, operand: ValueId) -> Read {
        let maker = self.maker(operand);
        let by_shared_memory = (operand, None, maker.unwrap_or(dot));
        let is_thread = self.layouts.products.get(&dot).is_some_and(|product| product.unit == Unit::Thread);
        let Some(fetch) = self.fetches.get(&(dot, n)).copied().filter(|_| !is_thread) else { return by_shared_memory };
        let fragments = (operand, Some(fetch.layout), dot);
        if maker.is_some_and(|op| self.layouts.ahead.contains(&op)) {
            return fragments;
        }
        if fetch.is_whole && !fetch.is_moved {
            return (operand, None, dot);
        }
        if !fetch.is_whole && !fetch.is_load() {
            for &(load, layout) in fetch.leaves.iter().flatten() {
                self.decided.entry((load, Some(layout))).or_insert(Made::Converted);
            }
            for &(value, layout) in &fetch.between {
                self.decided.entry((value, Some(layout))).or_insert(Made::Again);
            }
            return fragments;
        }
        if fetch.waits {
            self.found.read_as_it_goes.insert((dot, n));
            return by_shared_memory;
        }
        self.decided.insert((operand, Some(fetch.layout)), Made::Converted);
        fragments
    }

    /// The op that makes a value, a loop that of what it carries.
    fn maker(&self, value: ValueId) -> Option<OpId> {
        match self.function.value(named(self.function, value)).def {
            ValueDef::Result(id, _) => Some(id),
            ValueDef::Argument(block, _) => self.layouts.owners[block.index()],
        }
    }

    fn follow(&mut self, mut pending: Vec<Read>) {
        let function = self.function;
        while let Some((value, wanted, by)) = pending.pop() {
            let ty = function.ty(value);
            let home = self.layouts.homes[value.index()];
            let enc = match wanted.or(home).filter(|_| !ty.is_scalar()) {
                Some(enc) if home.is_some_and(|home| self.layouts.same(home, enc, ty.shape())) => home,
                enc => enc,
            };
            let def = function.def_op(value);
            if let Some(def) = def.filter(|&def| is_name(&function.op(def).kind)) {
                let op = function.op(def);
                let source = op.operands[0];
                let shape = function.ty(source).shape();
                let inner = enc.and_then(|enc| self.layouts.encodings.of_operand(&op.kind, enc, shape, ty.shape()));
                pending.push((source, inner, by));
                continue;
            }
            if let Some(copy) = self.found.all.get_mut(&(value, enc)) {
                copy.uses.push(by);
                continue;
            }
            let made = self.decide(value, enc, home);
            self.found.all.insert((value, enc), Copy { made, uses: vec![by], conversions: Vec::new() });
            match made {
                Made::AtHome | Made::FromRing => {
                    // What has regions is followed anyway.
                    let def = def.filter(|&def| !function.op(def).kind.is_control());
                    pending.extend(def.map(|def| self.operands(def)).unwrap_or_default());
                }
                Made::Again => self.make_again(value, enc, &mut pending),
                Made::Converted | Made::ConvertedForUse => pending.push((value, home, self.maker(value).unwrap_or(by))),
            }
        }
    }

    /// Late conversions read the copy at home where the first op stands that reads the new one.
    fn convert(&mut self) {
        let mut place = vec![usize::MAX; self.function.ops.len()];
        let mut next = 0..;
        self.function.walk(|_, id| place[id.index()] = next.next().unwrap_or(usize::MAX));
        let late = self.found.all.iter().filter(|(_, copy)| copy.made == Made::ConvertedForUse);
        let firsts =
            late.filter_map(|(&(value, _), copy)| Some((value, *copy.uses.iter().min_by_key(|user| place[user.index()])?)));
        for (value, first) in firsts.collect::<Vec<_>>() {
            if let Some(copy) = self.found.all.get_mut(&(value, self.layouts.homes[value.index()])) {
                copy.uses.push(first);
                copy.conversions.push(first);
            }
        }
    }

    /// What a value is made of, in the layout that it is made in once more.
    fn make_again(&mut self, value: ValueId, enc: Option<Enc>, pending: &mut Vec<Read>) {
        let function = self.function;
        let handed_on = |block, n: usize| {
            let last = *function.block(block).ops.last()?;
            Some((*function.op(last).operands.get(n)?, enc, last))
        };
        match function.value(value).def {
            ValueDef::Result(id, n) => {
                let op = function.op(id);
                match &op.kind {
                    kinds!(Control) => {
                        pending.extend(op.regions.iter().filter_map(|&region| handed_on(region, n as usize)));
                    }
                    OpKind::Load(_) => pending.extend(op.operands.iter().map(|&operand| (operand, enc, id))),
                    kind => {
                        for &operand in &op.operands {
                            let (from, to) = (function.ty(operand).shape(), function.ty(value).shape());
                            let inner = enc.and_then(|enc| self.layouts.encodings.of_operand(kind, enc, from, to));
                            pending.push((operand, inner, id));
                        }
                    }
                }
            }
            ValueDef::Argument(block, n) => {
                if let Some(outer) = self.layouts.owners[block.index()]
                    && let Some(carried) = function.for_loop(outer).and_then(|around| around.of_argument(n))
                {
                    pending.push((carried.init, enc, outer));
                    pending.extend(function.block(block).ops.last().map(|&last| (carried.next, enc, last)));
                }
            }
        }
    }

    /// How a value gets into a layout.
    fn decide(&mut self, value: ValueId, enc: Option<Enc>, home: Option<Enc>) -> Made {
        if self.function.def_op(value).is_some_and(|def| self.layouts.ahead.contains(&def)) {
            return Made::FromRing;
        }
        let Some(to) = enc.filter(|_| enc != home) else { return Made::AtHome };
        if let Some(&made) = self.decided.get(&(value, enc)) {
            return made;
        }
        if home.is_none() {
            return Made::Again;
        }
        if let Some(way) = self.layouts.way(value, to) {
            self.decided.extend(way.values.into_iter().map(|(value, enc)| ((value, Some(enc)), Made::Again)));
            self.decided.extend(way.leaves.into_iter().map(|leaf| ((leaf.value, Some(leaf.to)), Made::Converted)));
        }
        self.decided.get(&(value, enc)).copied().unwrap_or(Made::ConvertedForUse)
    }
}

/// The value that this one is another name of.
fn named(function: &Function, mut value: ValueId) -> ValueId {
    while let Some(op) = function.def_op(value).map(|id| function.op(id)).filter(|op| is_name(&op.kind)) {
        value = op.operands[0];
    }
    value
}
