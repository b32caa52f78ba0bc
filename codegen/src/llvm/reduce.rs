//! Reductions along an axis: within the thread, then across lanes by butterflies, then across warps through scratch.
//!
//! Lanes that share several rows first share them out: of two rows each of a pair of lanes gives one away and takes what the other has of the one it
//! keeps, so that half as many are exchanged at each step; in the end every lane gets all of them back, each by one exchange.
//!
//! **Invariant:** every element is combined exactly once; the order is fixed by the layout, so the same input gives the same bits: Triton's, where
//! the layout is Triton's. Lanes and warps combine with those farthest away first. The region is taken to be associative and commutative.

use std::collections::BTreeMap;

use tritium_tile::{
    BlockId, Elem, OpId, Scalar, ValueId,
    layout::{algebra::apply, reshape::squeeze},
};

use super::{
    Emitted, Emitter, ins,
    memory::stored,
    value::{Reg, type_name},
};
use crate::scratch::{partial_bytes, partials_at, reduce_partials};

/// Partial results that a thread would have to read, from which on they are combined once for all threads.
const SHARED_OUT: usize = 16;

/// Warps that all exchange what one of them would be enough for (`bench/ablations.py`): fewer of them do not fill the unit that does it, and a branch takes longer.
const MAX_WARPS_TOGETHER: u32 = 16;

/// Exchanges of a thread, rows times steps, from which on lanes share rows out, and steps. Below, giving the totals back takes as many instructions as
/// are saved, or a latency more than they are worth.
const LEAST_EXCHANGES: usize = 16;
const LEAST_STEPS: usize = 3;

/// Where the total of an element lies among its partial results: each at another of them, so that lanes which read the totals of several
/// elements find them in several banks. Linear over bits.
fn total_slot(key: u32, along: u32) -> u32 {
    key << along | (key >> (5 - along)) & ((1 << along) - 1)
}

impl Emitter<'_> {
    /// A value of another lane: `mode` is `bfly` (lane xor `lane`) or `idx` (lane number `lane`).
    pub(super) fn shuffle(&mut self, elem: Elem, value: Reg, mode: &str, lane: Reg) -> Reg {
        self.shuffle_among(elem, value, mode, lane, 31)
    }

    /// The same among the lanes whose numbers differ in these bits only: `idx` names those bits alone.
    fn shuffle_among(&mut self, elem: Elem, value: Reg, mode: &str, lane: Reg, among: u32) -> Reg {
        let name = format!("llvm.nvvm.shfl.sync.{mode}.i32");
        let among = Reg::Int(i64::from((31 ^ among) << 8 | 31));
        let move32 = |e: &mut Self, word: Reg| {
            e.call("i32", &name, &[("i32", Reg::Int(-1)), ("i32", word), ("i32", lane), ("i32", among)])
        };
        let ty = type_name(elem);
        let bits = elem.bits();
        let integer = match elem {
            Elem::Ptr(_) => ins!(self, "ptrtoint {ty} {value} to i64"),
            Elem::Scalar(s) if ty.starts_with('i') || s.is_int() => value,
            Elem::Scalar(_) => ins!(self, "bitcast {ty} {value} to i{bits}"),
        };
        let moved = match bits {
            64 => {
                let pair = ins!(self, "bitcast i64 {integer} to <2 x i32>");
                let (low, high) =
                    (ins!(self, "extractelement <2 x i32> {pair}, i32 0"), ins!(self, "extractelement <2 x i32> {pair}, i32 1"));
                let (low, high) = (move32(self, low), move32(self, high));
                let pair = ins!(self, "insertelement <2 x i32> poison, i32 {low}, i32 0");
                let pair = ins!(self, "insertelement <2 x i32> {pair}, i32 {high}, i32 1");
                ins!(self, "bitcast <2 x i32> {pair} to i64")
            }
            32 => move32(self, integer),
            _ => {
                let wide = ins!(self, "zext i{bits} {integer} to i32");
                let wide = move32(self, wide);
                ins!(self, "trunc i32 {wide} to i{bits}")
            }
        };
        match elem {
            Elem::Ptr(_) => ins!(self, "inttoptr i64 {moved} to {ty}"),
            Elem::Scalar(s) if ty.starts_with('i') || s.is_int() => moved,
            Elem::Scalar(_) => ins!(self, "bitcast i{bits} {moved} to {ty}"),
        }
    }

    /// `region(left…, right…)`.
    pub(super) fn combine(&mut self, region: BlockId, left: &[Reg], right: &[Reg]) -> Emitted<Vec<Reg>> {
        let combined = self.inline_scalars(region, &[left, right].concat())?;
        if combined.len() != left.len() {
            return Err(self.unsupported("a combining region yields another number of values than it is given"));
        }
        Ok(combined)
    }

    /// One after the other, as Triton does: an item is done with before the next is needed, so that few are live at a time, and a product
    /// is added without being rounded.
    fn combine_all(&mut self, region: BlockId, items: Vec<Vec<Reg>>) -> Emitted<Vec<Reg>> {
        let mut items = items.into_iter();
        let first = items.next().ok_or_else(|| self.unsupported("a reduction of nothing"))?;
        items.try_fold(first, |value, item| self.combine(region, &value, &item))
    }

    /// Each with the one that lies half of them away, until one is left. Their number is a power of two.
    fn combine_halves(&mut self, region: BlockId, mut items: Vec<Vec<Reg>>) -> Emitted<Vec<Reg>> {
        while items.len() > 1 {
            let far = items.split_off(items.len() / 2);
            items = items.iter().zip(&far).map(|(near, far)| self.combine(region, near, far)).collect::<Emitted<_>>()?;
        }
        items.pop().ok_or_else(|| self.unsupported("a reduction of nothing"))
    }

    pub(super) fn reduce(&mut self, op: OpId, axis: usize) -> Emitted<()> {
        let operation = self.function.op(op);
        let region = operation.regions[0];
        let operands: Vec<ValueId> = operation.operands.to_vec();
        let layout = self.tile_layout(operands[0])?;
        let shape = &layout.shape;
        let mask = layout.axis_mask(axis);
        let (surplus, free_lanes, free_warps) = layout.free_bits();
        let mixed = |bases: &[u32], free: u32| {
            bases.iter().enumerate().any(|(i, &b)| b & mask != 0 && (b & !mask != 0 || free >> i & 1 == 1))
        };
        if mixed(&layout.lane, free_lanes) || mixed(&layout.warp, free_warps) {
            return Err(
                self.unsupported("a reduction of a layout whose threads mix the axis with others; a conversion is missing")
            );
        }
        let inputs = operands.iter().map(|&v| self.regs(v)).collect::<Emitted<Vec<_>>>()?;
        if inputs.iter().any(|regs| regs.len() != layout.num_registers()) {
            return Err(self.unsupported("a reduction's operands have different layouts"));
        }

        // Within the thread: for each element of the result, what contributes to it, in the order of the axis.
        let mut groups: BTreeMap<u32, BTreeMap<u32, Vec<Reg>>> = BTreeMap::new();
        for r in (0..layout.num_registers() as u32).filter(|r| r & surplus == 0) {
            let index = apply(&layout.register, r);
            let item = inputs.iter().map(|regs| regs[r as usize]).collect();
            groups.entry(squeeze(shape, axis, index)).or_default().insert(index, item);
        }
        let elems: Vec<Elem> = operands.iter().map(|&v| self.ty(v).elem()).collect();
        let mut partial: BTreeMap<u32, Vec<Reg>> = BTreeMap::new();
        let steps: Vec<usize> = (0..layout.lane.len()).rev().filter(|&bit| layout.lane[bit] & mask != 0).collect();
        let mut rows: Vec<u32> = layout.register.iter().map(|&b| squeeze(shape, axis, b)).filter(|&row| row != 0).collect();
        rows.sort_unstable();
        rows.dedup();
        // All rows are exchanged together: of more than a thread has registers for, one after the other is reduced as it comes.
        let elements: usize = groups.values().map(|items| items.len() * elems.len()).sum();
        let is_shared_out = elements <= self.registers as usize
            && steps.len() >= LEAST_STEPS
            && groups.len() * steps.len() >= LEAST_EXCHANGES
            && rows.len() < u32::BITS as usize
            && groups.len() == 1 << rows.len();
        for (key, items) in groups {
            let mut value = self.combine_all(region, items.into_values().collect())?;
            for &bit in steps.iter().filter(|_| !is_shared_out) {
                value = self.combine_with_lane(region, &elems, &value, bit)?;
            }
            partial.insert(key, value);
        }
        if is_shared_out {
            self.share_out(region, &elems, &rows, &steps, &mut partial)?;
        }

        let slots = reduce_partials(layout, axis);
        if slots > 0 {
            self.exchange(op, axis, slots, &elems, &mut partial)?;
        }

        for (index, &result) in operation.results.iter().enumerate() {
            let regs = match self.layout(result)? {
                None => partial.first_key_value().map(|(_, value)| vec![value[index]]),
                Some(target) => {
                    let fits = |bases: &[u32], slice: &[u32]| {
                        bases.len() == slice.len() && bases.iter().zip(slice).all(|(&b, &s)| squeeze(shape, axis, b) == s)
                    };
                    (fits(&layout.lane, &target.lane) && fits(&layout.warp, &target.warp))
                        .then(|| {
                            (0..target.num_registers() as u32)
                                .map(|r| partial.get(&apply(&target.register, r)).map(|value| value[index]))
                                .collect::<Option<Vec<Reg>>>()
                        })
                        .flatten()
                }
            };
            let regs =
                regs.ok_or_else(|| self.unsupported("a reduction's result is not in the slice of its operand's layout"))?;
            self.set(result, regs);
        }
        Ok(())
    }

    /// With what the lane that is another in this bit has. Both get the same bits: where sides make a difference, the lower lane's value is on the
    /// left.
    fn combine_with_lane(&mut self, region: BlockId, elems: &[Elem], value: &[Reg], bit: usize) -> Emitted<Vec<Reg>> {
        let theirs = self.of_lane(elems, value, bit);
        if !self.function.rounds_by_side(region) {
            return self.combine(region, value, &theirs);
        }
        let is_upper = self.lane_has(bit);
        let (left, right) = (self.chosen(is_upper, elems, &theirs, value), self.chosen(is_upper, elems, value, &theirs));
        self.combine(region, &left, &right)
    }

    fn lane_has(&mut self, bit: usize) -> Reg {
        let bit = self.linear(&[0, 1, 2, 3, 4].map(|other| u32::from(other == bit)), 0);
        ins!(self, "icmp ne i32 {bit}, 0")
    }

    /// One of two values.
    fn chosen(&mut self, condition: Reg, elems: &[Elem], yes: &[Reg], no: &[Reg]) -> Vec<Reg> {
        let parts = elems.iter().zip(yes).zip(no);
        parts.map(|((&elem, yes), no)| ins!(self, "select i1 {condition}, {0} {yes}, {0} {no}", type_name(elem))).collect()
    }

    /// What the lane that is another in this bit has.
    fn of_lane(&mut self, elems: &[Elem], value: &[Reg], bit: usize) -> Vec<Reg> {
        elems.iter().zip(value).map(|(&elem, &reg)| self.shuffle(elem, reg, "bfly", Reg::Int(1 << bit))).collect()
    }

    /// All rows across lanes. `rows`: whose sums the rows' numbers are; `steps`: bits of a lane's number.
    fn share_out(
        &mut self,
        region: BlockId,
        elems: &[Elem],
        rows: &[u32],
        steps: &[usize],
        partial: &mut BTreeMap<u32, Vec<Reg>>,
    ) -> Emitted<()> {
        let keys: Vec<u32> = (0..1 << rows.len()).map(|row| apply(rows, row)).collect();
        let values: Option<Vec<Vec<Reg>>> = keys.iter().map(|key| partial.get(key).cloned()).collect();
        let mut values = values.ok_or_else(|| self.unsupported("a reduction whose rows are not all sums of a few"))?;
        let (halvings, rest) = steps.split_at(rows.len().min(steps.len()));
        for &bit in halvings {
            let is_set = self.lane_has(bit);
            let mut kept = Vec::with_capacity(values.len() / 2);
            for pair in values.chunks(2) {
                let [mine, given] = [[1, 0], [0, 1]].map(|[set, unset]| self.chosen(is_set, elems, &pair[set], &pair[unset]));
                let taken = self.of_lane(elems, &given, bit);
                kept.push(self.combine(region, &mine, &taken)?);
            }
            values = kept;
        }
        for &bit in rest {
            for value in &mut values {
                *value = self.combine_with_lane(region, elems, value, bit)?;
            }
        }
        // Row by row from the lane among these that has kept it.
        let among: u32 = halvings.iter().map(|&bit| 1 << bit).sum();
        for (row, key) in keys.into_iter().enumerate() {
            let lane: u32 = halvings.iter().enumerate().map(|(step, &bit)| (row as u32 >> step & 1) << bit).sum();
            let value = &values[row >> halvings.len()];
            let total = elems
                .iter()
                .zip(value)
                .map(|(&elem, &reg)| self.shuffle_among(elem, reg, "idx", Reg::Int(lane.into()), among))
                .collect();
            partial.insert(key, total);
        }
        Ok(())
    }

    /// Across warps: every warp writes its partial results side by side, then everyone combines all of them.
    fn exchange(
        &mut self,
        op: OpId,
        axis: usize,
        slots: u32,
        elems: &[Elem],
        partial: &mut BTreeMap<u32, Vec<Reg>>,
    ) -> Emitted<()> {
        let operation = self.function.op(op);
        let layout = self.tile_layout(operation.operands[0])?;
        let base = self.shared_offset(op)?;
        let mask = layout.axis_mask(axis);
        let along = layout.warp.iter().filter(|&&b| b & mask != 0).count() as u32;
        let kept = |b: u32| if b & mask != 0 { 0 } else { squeeze(&layout.shape, axis, b) << along };
        let readers: Vec<u32> = layout.lane.iter().chain(&layout.warp).map(|&b| kept(b)).collect();
        let mut writers = readers.clone();
        let bits: Vec<usize> = (0..layout.warp.len()).filter(|&i| layout.warp[i] & mask != 0).collect();
        for (i, &bit) in bits.iter().enumerate() {
            writers[5 + bit] = 1 << i;
        }
        let arrays: Vec<u32> =
            (0..elems.len()).map(|i| base + partials_at(self.function, &operation.operands, slots, i)).collect();
        let scale = |columns: &[u32], bytes: u32| columns.iter().map(|c| c * bytes).collect::<Vec<u32>>();
        for (&key, value) in partial.iter() {
            for (i, &elem) in elems.iter().enumerate() {
                let bytes = partial_bytes(elem);
                let address = self.shared_address(arrays[i], &scale(&writers, bytes), (key << along) * bytes);
                self.store_words(address, elem, &value[i..=i]);
            }
        }
        self.barrier();
        let region = operation.regions[0];
        if along >= 2 && partial.len() << along >= SHARED_OUT {
            self.combine_once(region, slots, along, elems, &arrays, layout.warp.len() as u32)?;
            self.barrier();
            let readers: Vec<u32> = readers.iter().map(|&slot| total_slot(slot >> along, along)).collect();
            for (&key, value) in partial.iter_mut() {
                for (i, &elem) in elems.iter().enumerate() {
                    let bytes = partial_bytes(elem);
                    let address = self.shared_address(arrays[i], &scale(&readers, bytes), total_slot(key, along) * bytes);
                    value[i] = self.partials(address, elem, 1)[0];
                }
            }
            return Ok(());
        }
        for (&key, value) in partial.iter_mut() {
            let mut items: Vec<Vec<Reg>> = vec![Vec::new(); 1 << along];
            for (i, &elem) in elems.iter().enumerate() {
                let bytes = partial_bytes(elem);
                let vector = (1u32 << along).min(128 / (8 * bytes));
                for first in (0..1u32 << along).step_by(vector as usize) {
                    let address = self.shared_address(arrays[i], &scale(&readers, bytes), (key << along | first) * bytes);
                    for (j, item) in self.partials(address, elem, vector as usize).into_iter().enumerate() {
                        items[first as usize + j].push(item);
                    }
                }
            }
            *value = self.combine_halves(region, items)?;
        }
        Ok(())
    }

    /// Each partial result is read by one thread; the lanes that hold those of one element combine them by butterflies, and one of them
    /// puts the total back. Where every thread would read all partial results of its elements, many warps wait for shared memory.
    fn combine_once(
        &mut self,
        region: BlockId,
        slots: u32,
        along: u32,
        elems: &[Elem],
        arrays: &[u32],
        warp_bits: u32,
    ) -> Emitted<()> {
        let threads = 32u32 << warp_bits;
        // Whole warps, for the butterflies; lanes beyond the last slot do what others do and write nothing. It is asked of the warp's number, so
        // that ptxas sees that lanes stay together.
        let at_work = slots.max(32);
        let bits = || 0..5 + warp_bits;
        let beyond: Vec<u32> = (0..warp_bits).map(|bit| if 32 << bit >= at_work { 1 << bit } else { 0 }).collect();
        let works = match at_work < threads {
            true => {
                let beyond = self.warp_linear(&beyond);
                Some(ins!(self, "icmp eq i32 {beyond}, 0"))
            }
            false => None,
        };
        let together = 1 << warp_bits <= MAX_WARPS_TOGETHER;
        self.guarded(works.filter(|_| !together), |e| {
            for first in (0..slots).step_by(threads as usize) {
                let address = |e: &mut Self, i: usize| {
                    let bytes = partial_bytes(elems[i]);
                    let own: Vec<u32> = bits().map(|bit| if 1 << bit < slots { bytes << bit } else { 0 }).collect();
                    e.shared_address(arrays[i], &own, first * bytes)
                };
                let mut value = Vec::with_capacity(elems.len());
                for (i, &elem) in elems.iter().enumerate() {
                    let address = address(e, i);
                    value.push(e.when(works.filter(|_| together), type_name(elem), |e| e.partials(address, elem, 1)[0]));
                }
                for step in (0..along).rev() {
                    value = e.combine_with_lane(region, elems, &value, step as usize)?;
                }
                // It writes the slot that it has read if that is the element's of `total_slot`.
                let low = (1 << along) - 1;
                let away: Vec<u32> = bits()
                    .map(|bit| {
                        if 1 << bit >= slots {
                            1 << (8 + bit)
                        } else if bit < 5 {
                            1 << bit & low
                        } else {
                            1 << (bit - 5) & low
                        }
                    })
                    .collect();
                let away = e.linear(&away, first >> 5 & low);
                let holds = ins!(e, "icmp eq i32 {away}, 0");
                e.guarded(Some(holds), |e| {
                    for (i, &elem) in elems.iter().enumerate() {
                        let address = address(e, i);
                        e.store_words(address, elem, &value[i..=i]);
                    }
                    Ok(())
                })?;
            }
            Ok(())
        })
    }

    /// Partial results side by side.
    fn partials(&mut self, address: Reg, elem: Elem, count: usize) -> Vec<Reg> {
        if stored(elem).0 >= 32 {
            return self.load_words(address, elem, count);
        }
        let words = self.load_words(address, Elem::Scalar(Scalar::I32), count);
        let narrow = |word: Reg| {
            let low = ins!(self, "trunc i32 {word} to i16");
            self.unpack(elem, 1, &[low])[0]
        };
        words.into_iter().map(narrow).collect()
    }
}
