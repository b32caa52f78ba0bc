//! What is computed again in another layout instead of being converted.
//!
//! Everything that a value is made of can be done in the layout that is wanted, up to loads of large tiles and products; where that costs
//! less than a trip through shared memory, or a smaller value above can make the trip instead, Triton does so. A load that runs ahead is
//! read from its ring in any layout. **Invariant:** every value that is wanted in another layout than its home is repeated or has a conversion.

use indexmap::IndexSet;
use rustc_hash::{FxHashMap, FxHashSet};
use tritium_tile::{
    Function, OpId, OpKind, ValueDef, ValueId,
    ops::{BinaryOp, CastOp, UnaryOp},
};

use super::{
    encoding::Enc,
    layouts::{Conversion, Layouts},
};

impl Layouts<'_> {
    /// Makes a value again in another layout, or converts it as far up as that is cheaper.
    pub(super) fn bring(&mut self, value: ValueId, to: Enc, user: Option<OpId>) {
        let Some(from) = self.homes[value.index()] else { return };
        match self.way(value, to) {
            Some(way) => {
                self.repeated.extend(way.loads);
                for leaf in way.leaves {
                    self.conversions.entry(leaf).or_insert(None);
                }
            }
            None => {
                self.conversions.entry(Conversion { value, from, to }).or_insert(user);
            }
        }
    }

    /// What is made again and what is converted for a value to be there in another layout; `None` if it is itself converted.
    pub(super) fn way(&mut self, value: ValueId, to: Enc) -> Option<Slice> {
        if let Some(slice) = self.slice(value, to, false)
            && self.is_worth_repeating(value, &slice)
        {
            return Some(slice);
        }
        let mut slice = self.slice(value, to, true)?;
        let mut above = None;
        for &(stop, enc) in &slice.stops {
            let Some(op) = self.function.def_op(stop).map(|op| self.function.op(op)) else { continue };
            let source = op.operands[0];
            let inner = self.encodings.of_operand(&op.kind, enc, self.shape(source), self.shape(stop))?;
            if self.homes[source.index()].is_none() || self.slice(source, inner, false).is_some_and(|s| s.leaves.is_empty()) {
                continue;
            }
            if above.replace((source, inner)).is_some() {
                return None;
            }
        }
        let (source, inner) = above?;
        if let Some(home) = self.homes[source.index()]
            && !self.same(home, inner, self.shape(source))
        {
            slice.leaves.push(Conversion { value: source, from: home, to: inner });
        }
        slice.loads.clear();
        Some(slice)
    }

    /// What must be made again for a value to be there in a layout; `None` if something in it must not.
    fn slice(&mut self, value: ValueId, to: Enc, stop_at_widening: bool) -> Option<Slice> {
        const MAX_OPS: usize = 400;
        let function = self.function;
        let mut slice = Slice::default();
        let mut at: FxHashMap<ValueId, Enc> = FxHashMap::default();
        let mut pending = vec![(value, to, true)];
        while let Some((value, enc, is_direct)) = pending.pop() {
            if function.ty(value).is_scalar() {
                continue;
            }
            if let Some(&known) = at.get(&value) {
                if known != enc {
                    return None;
                }
                continue;
            }
            at.insert(value, enc);
            if at.len() > MAX_OPS {
                return None;
            }
            let home = self.homes[value.index()];
            if home.is_some_and(|home| self.same(home, enc, self.shape(value))) {
                continue;
            }
            // A conversion that stands here anyway goes to the other layout instead.
            if !is_direct && let Some(from) = home {
                slice.leaves.push(Conversion { value, from, to: enc });
                continue;
            }
            slice.values.push((value, enc));
            match function.value(value).def {
                ValueDef::Result(id, _) => {
                    let op = function.op(id);
                    match &op.kind {
                        OpKind::For(_) | OpKind::While { .. } => return None,
                        OpKind::If => {
                            let n = op.results.iter().position(|&r| r == value)?;
                            for &region in &op.regions {
                                let last = *function.block(region).ops.last()?;
                                pending.push((*function.op(last).operands.get(n)?, enc, true));
                            }
                            continue;
                        }
                        OpKind::Load(_) if self.ahead.contains(&id) => {
                            slice.ops.insert(id);
                            continue;
                        }
                        OpKind::Load(_) if !self.is_expensive(id) && self.memory.contains_key(&id) => {
                            slice.loads.push((value, enc));
                        }
                        OpKind::Load(_)
                        | OpKind::Dot { .. }
                        | OpKind::AtomicRmw { .. }
                        | OpKind::AtomicCas { .. }
                        | OpKind::Histogram
                        | OpKind::Gather { .. }
                        | OpKind::InlineAsm(_)
                        | OpKind::Map { .. } => return None,
                        OpKind::Scan { .. } => return None,
                        _ => {}
                    }
                    slice.ops.insert(id);
                    if stop_at_widening && widens(function, id) {
                        slice.stops.push((value, enc));
                        continue;
                    }
                    for (n, &operand) in op.operands.iter().enumerate() {
                        if function.ty(operand).is_scalar() {
                            continue;
                        }
                        let inner = match op.kind {
                            OpKind::Load(_) => Some(enc),
                            _ => self.encodings.of_operand(&op.kind, enc, self.shape(operand), self.shape(value)),
                        }?;
                        // Whether the op takes its operand as it is now.
                        let wanted = self.wanted(id, n);
                        let home = self.homes[operand.index()];
                        let direct = match (wanted, home) {
                            (Some(wanted), Some(home)) => self.same(wanted, home, self.shape(operand)),
                            // What is made anywhere converts what it needs.
                            (None, Some(_)) => false,
                            _ => true,
                        };
                        pending.push((operand, inner, direct));
                    }
                }
                ValueDef::Argument(block, n) => {
                    let carried = function.for_loop(self.owners[block.index()]?)?.of_argument(n)?;
                    pending.extend([(carried.init, enc, true), (carried.next, enc, true)]);
                }
            }
        }
        Some(slice)
    }

    /// Whether repeating all this costs less than a trip through shared memory.
    fn is_worth_repeating(&self, value: ValueId, slice: &Slice) -> bool {
        let function = self.function;
        let bytes = |value: ValueId, elements: u64, bits: u64| {
            let ty = function.ty(value);
            ty.num_elements().max(elements) * u64::from(ty.elem().bits()).max(bits) / 8
        };
        let conversion = 32 * bytes(value, 32, 32);
        let mut single: FxHashMap<OpId, bool> = FxHashMap::default();
        let mut cost = 0;
        for &id in &slice.ops {
            let op = function.op(id);
            if self.is_used_inside(id, value, slice, &mut single, 0) {
                continue;
            }
            let results: u64 = op.results.iter().map(|&r| bytes(r, 0, 0)).sum();
            cost += match &op.kind {
                OpKind::Constant(_) => 0,
                OpKind::Load(_) => 8 * results,
                OpKind::Unary(unary) if is_slow(*unary) => 8 * results,
                OpKind::Libdevice(_) => 0,
                OpKind::Binary(
                    BinaryOp::DivF
                    | BinaryOp::DivRn
                    | BinaryOp::RemF
                    | BinaryOp::DivS
                    | BinaryOp::DivU
                    | BinaryOp::RemS
                    | BinaryOp::RemU,
                ) => 8 * results,
                OpKind::Unary(_) | OpKind::Binary(_) | OpKind::Compare(_) | OpKind::Select | OpKind::Cast(_) | OpKind::Fma => {
                    results
                }
                OpKind::Reduce { .. } => 8 * 8,
                _ => 0,
            };
        }
        cost <= conversion
    }

    /// Whether nobody but what is repeated uses an op, so that repeating it only moves it.
    fn is_used_inside(&self, id: OpId, root: ValueId, slice: &Slice, known: &mut FxHashMap<OpId, bool>, depth: u32) -> bool {
        if let Some(&known) = known.get(&id) {
            return known;
        }
        let function = self.function;
        let answer = depth < 64
            && function.op(id).results.iter().all(|&result| {
                let users = &self.users[result.index()];
                match users[..] {
                    [user] if result == root => !slice.ops.contains(&user),
                    [user] => slice.ops.contains(&user) && self.is_used_inside(user, root, slice, known, depth + 1),
                    _ => false,
                }
            });
        known.insert(id, answer);
        answer
    }

    /// What the loads of a ring make free: one reads them in any layout, and as often as is cheap.
    pub(super) fn read_from_rings(&mut self, ahead: &FxHashSet<OpId>) {
        self.ahead.clone_from(ahead);
        for (conversion, user) in std::mem::take(&mut self.conversions) {
            if self.is_ahead(conversion.value) {
                continue;
            }
            match self.slice(conversion.value, conversion.to, false) {
                Some(slice) if self.is_worth_repeating(conversion.value, &slice) => {
                    for leaf in slice.leaves {
                        if !self.is_ahead(leaf.value) {
                            self.conversions.entry(leaf).or_insert(None);
                        }
                    }
                }
                _ => {
                    self.conversions.entry(conversion).or_insert(user);
                }
            }
        }
    }

    fn is_ahead(&self, value: ValueId) -> bool {
        self.function.def_op(value).is_some_and(|op| self.ahead.contains(&op))
    }
}

#[derive(Default)]
pub(super) struct Slice {
    ops: IndexSet<OpId>,
    /// What is made again, and in which layout.
    pub values: Vec<(ValueId, Enc)>,
    /// Conversions that go to another layout.
    pub leaves: Vec<Conversion>,
    /// Small loads, and the layouts that they are done in.
    loads: Vec<(ValueId, Enc)>,
    /// Widenings at which the walk ended, and the layouts that are wanted of them.
    stops: Vec<(ValueId, Enc)>,
}

/// Whether the result has more bits than the operand: a conversion is cheaper above.
fn widens(function: &Function, id: OpId) -> bool {
    let op = function.op(id);
    match op.kind {
        OpKind::Broadcast | OpKind::ExpandDims { .. } => true,
        OpKind::Cast(CastOp::ExtS | CastOp::ExtU | CastOp::Float) => {
            function.ty(op.results[0]).elem().bits() > function.ty(op.operands[0]).elem().bits()
        }
        _ => false,
    }
}

fn is_slow(op: UnaryOp) -> bool {
    !matches!(op, UnaryOp::NegF | UnaryOp::AbsF | UnaryOp::AbsI | UnaryOp::Floor | UnaryOp::Ceil)
}
