//! Accesses to global memory: inside a tensor, aligned, of elements that hold something, and in an order with those of other programs.

use super::{
    At, Check, Lane, Operand, Sanitizer, Told,
    labels::{Kind, Labels, Site, UNKNOWN},
    race::{self, Conflict, Touch},
    within,
};
use crate::{
    interpret::{
        Data, Memory,
        access::{self, Failure, malformed},
    },
    ops::{AtomicOp, MemSem},
    types::Scalar,
};

/// A load, store or atomic.
pub(crate) struct GlobalAccess<'a> {
    pub(crate) at: At,
    pub(crate) shape: &'a [u32],
    pub(crate) scalar: Scalar,
    pub(crate) verb: &'static str,
    pub(crate) pointers: Operand<'a>,
    pub(crate) mask: Option<Operand<'a>>,
}

/// By element of an access: the allocation and the offset in it, where it may be done.
type Lanes = Vec<Option<(usize, usize)>>;

fn active(lanes: &Lanes) -> Data {
    Data::I1(lanes.iter().map(Option::is_some).collect())
}

impl Sanitizer {
    /// Which elements are accessed; what is wrong with the others is told.
    fn reach(&mut self, memory: &Memory, access: &GlobalAccess<'_>) -> Result<Lanes, Failure> {
        let Data::I64(pointers) = access.pointers.data else { return Err(malformed()) };
        self.mask(access.at, access.shape, access.mask.as_ref());
        let mask = match access.mask.map(|mask| mask.data) {
            Some(Data::I1(mask)) => Some(mask),
            Some(_) => return Err(malformed()),
            None => None,
        };
        let bytes = access.scalar.bytes() as usize;
        let mut lanes = Vec::with_capacity(pointers.len());
        for (element, &address) in pointers.iter().enumerate() {
            let address = address as u64;
            if mask.is_some_and(|mask| !mask[element]) {
                lanes.push(None);
                continue;
            }
            let lane = Lane::of(access.at, access.shape, element);
            let is_told = self.address(lane, access);
            let index = memory.nearest_index(address);
            let offset = index.map(|index| (index, address - memory.allocations()[index].base()));
            let inside = offset.filter(|&(index, offset)| {
                let len = memory.allocations()[index].len();
                len >= bytes && offset <= (len - bytes) as u64
            });
            lanes.push(match inside {
                Some((index, offset)) if (offset as usize).is_multiple_of(bytes) => Some((index, offset as usize)),
                Some((index, offset)) => {
                    if !is_told {
                        self.misaligned(lane, access, memory.allocations()[index].name(), offset);
                    }
                    None
                }
                None => {
                    if !is_told {
                        self.outside(lane, access.verb, access.scalar, memory, address);
                    }
                    None
                }
            });
        }
        Ok(lanes)
    }

    /// Whether something is wrong with an address, wherever it leads.
    fn address(&mut self, lane: Lane<'_>, access: &GlobalAccess<'_>) -> bool {
        let labels = access.pointers.labels.at(lane.element);
        if labels == 0 {
            return false;
        }
        if let Some(bit) = Kind::Wrap.first_of(labels) {
            let at = self.sites.of(bit).at;
            self.tell(Check::IntegerWrap, lane, at, |_| Told {
                message: format!("an integer wraps around, and the address of a {} is made of it", access.verb),
                related: vec![(lane.at, "accessed here".into())],
                tensor: None,
            });
            return true;
        }
        self.decides(lane, labels, "an address", None)
    }

    fn misaligned(&mut self, lane: Lane<'_>, access: &GlobalAccess<'_>, name: &str, offset: u64) {
        let GlobalAccess { verb, scalar, .. } = access;
        self.tell(Check::Misaligned, lane, lane.at, |_| Told {
            message: format!("{verb} of {scalar} at byte {offset} of `{name}`, which is not a multiple of {}", scalar.bytes()),
            related: vec![],
            tensor: None,
        });
    }

    pub(super) fn outside(&mut self, lane: Lane<'_>, verb: &str, scalar: Scalar, memory: &Memory, address: u64) {
        let bytes = u64::from(scalar.bytes());
        self.tell(Check::OutOfBounds, lane, lane.at, |this| {
            let (message, tensor) = match memory.left_by(address) {
                Some(allocation) => {
                    let index = memory.allocations().iter().position(|other| other.base() == allocation.base());
                    let (shape, _) = this.shadow.geometry(index.unwrap_or(usize::MAX));
                    let element = (address.wrapping_sub(allocation.base()) as i64).div_euclid(bytes as i64);
                    let (name, elements) = (allocation.name(), allocation.len() as u64 / bytes);
                    let message = format!("{verb} outside of `{name}`, which has {elements} elements, shape {shape:?}");
                    match u64::try_from(element) {
                        Ok(element) => (message, Some((name.to_owned(), vec![element]))),
                        Err(_) => (format!("{message}: at element {element}"), None),
                    }
                }
                None => (format!("{verb} at address {address:#x}, where nothing is allocated"), None),
            };
            Told { message, related: vec![], tensor }
        });
    }

    /// Judges one access of one element, and remembers it.
    pub(super) fn touch(&mut self, lane: Lane<'_>, allocation: usize, element: usize, touch: Touch) {
        let Some(tensor) = self.shadow.memories.get_mut(allocation) else { return };
        let number = race::number(&mut tensor.accesses, lane.at);
        let Some(cell) = tensor.cells.get_mut(element) else { return };
        if let Some(conflict) = self.order.touch(cell, self.program, number, touch) {
            self.race(lane, allocation, element, touch, conflict);
        }
    }

    /// Told at the store; of an atomic and another access, at the other one.
    fn race(&mut self, lane: Lane<'_>, allocation: usize, element: usize, touch: Touch, conflict: Conflict) {
        let accesses = &self.shadow.memories[allocation].accesses;
        let other = conflict.other.and_then(|number| accesses.get(number as usize)).copied();
        let (here, there) = (self.program_id, self.program_at(conflict.other_program));
        let program = |[x, y, z]: [u32; 3]| format!("({x}, {y}, {z})");
        let (here, there) = (program(here), program(there));
        let (writes, reads) = (touch != Touch::Read, !conflict.other_wrote);
        let is_here = writes && touch != Touch::Atomic || conflict.other_is_atomic;
        let (at, second) = if is_here { (lane.at, other) } else { (other.unwrap_or(lane.at), Some(lane.at)) };
        self.tell(Check::Race, lane, at, |this| {
            let message = match (writes, reads) {
                (true, false) => {
                    format!("programs {there} and {here} write one element and nothing orders them: the later value stays")
                }
                (true, true) => format!("program {here} writes what program {there} reads and nothing orders them"),
                (false, _) => format!("program {there} writes what program {here} reads and nothing orders them"),
            };
            let related = second.map(|second| (second, "the other access".to_owned())).into_iter().collect();
            Told { message, related, tensor: Some(this.shadow.spelled(allocation, element)) }
        });
    }

    fn program_at(&self, program: u64) -> [u32; 3] {
        let linear = program.saturating_sub(1);
        let [width, height, _] = self.counts.map(|count| u64::from(count.max(1)));
        [(linear % width) as u32, (linear / width % height) as u32, (linear / width / height) as u32]
    }

    pub(super) fn elements(&self, allocation: usize, offset: usize, bytes: usize) -> std::ops::Range<usize> {
        self.shadow.memories.get(allocation).map_or(0..0, |tensor| tensor.elements(offset, bytes))
    }

    /// The labels of what is read from memory.
    fn contents(&mut self, at: At, allocation: usize, elements: std::ops::Range<usize>) -> u64 {
        let Some(tensor) = self.shadow.memories.get(allocation) else { return 0 };
        let mut labels = 0;
        for element in elements {
            let kind = match (tensor.is_in_view(element), tensor.is_initialised(element)) {
                (false, _) => Kind::Outside,
                (true, false) => Kind::Uninitialised,
                (true, true) => continue,
            };
            let label = self.sites.label(Site { kind, at, via: None });
            self.sites.note_tensor(label, || self.shadow.spelled(allocation, element));
            labels |= label;
        }
        labels
    }

    /// `start`: what masked-off elements hold.
    pub(crate) fn load(
        &mut self,
        memory: &Memory,
        access: &GlobalAccess<'_>,
        other: Option<Operand<'_>>,
        start: Data,
        is_volatile: bool,
    ) -> Result<(Data, Labels), Failure> {
        let lanes = self.reach(memory, access)?;
        let GlobalAccess { at, shape, scalar, .. } = *access;
        if is_volatile {
            self.order.acquire_by_polling();
        }
        let mask = access.mask.map(|mask| mask.data);
        let is_off = |element: usize| matches!(mask, Some(Data::I1(mask)) if !mask[element]);
        let mut bits = vec![0; lanes.len()];
        for (element, place) in lanes.iter().enumerate() {
            bits[element] = match (place, &other) {
                (None, _) if !is_off(element) => 0,
                (None, Some(other)) => other.labels.at(element),
                (None, None) => self.sites.label(Site { kind: Kind::Undefined, at, via: None }),
                (Some((allocation, offset)), _) => {
                    let elements = self.elements(*allocation, *offset, scalar.bytes() as usize);
                    if !is_volatile {
                        let lane = Lane::of(at, shape, element);
                        elements.clone().for_each(|e| self.touch(lane, *allocation, e, Touch::Read));
                    }
                    self.contents(at, *allocation, elements)
                }
            } as i64;
        }
        if !is_volatile {
            self.between_warps(access, &lanes, None);
        }
        let data = access::load(memory, scalar, access.pointers.data, Some(&active(&lanes)), start)?;
        Ok((data, Labels::new(bits)))
    }

    pub(crate) fn store(&mut self, memory: &Memory, access: &GlobalAccess<'_>, value: Operand<'_>) -> Result<(), Failure> {
        let mut lanes = self.reach(memory, access)?;
        let GlobalAccess { at, shape, scalar, .. } = *access;
        let bytes = scalar.bytes() as usize;
        self.twice(access, &lanes, value.data);
        let mut changed = vec![false; lanes.len()];
        for (element, place) in lanes.iter_mut().enumerate() {
            let Some((allocation, offset)) = *place else { continue };
            let lane = Lane::of(at, shape, element);
            let elements = self.elements(allocation, offset, bytes);
            let first = Some((allocation, elements.start));
            self.stored(lane, value, first);
            if self.is_outside_view(lane, access.verb, allocation, elements.clone()) {
                *place = None;
                continue;
            }
            let changes = memory.allocations()[allocation].read(offset, bytes) != value.data.bits(scalar, element);
            changed[element] = changes;
            elements.clone().for_each(|e| self.touch(lane, allocation, e, Touch::Write(changes)));
            self.written(at, allocation, elements);
        }
        self.between_warps(access, &lanes, Some(&changed));
        access::store(memory, scalar, access.pointers.data, value.data, Some(&active(&lanes)))
    }

    pub(super) fn written(&mut self, at: At, allocation: usize, elements: std::ops::Range<usize>) {
        let Some(tensor) = self.shadow.memories.get_mut(allocation) else { return };
        if !tensor.writers.contains(&at) {
            tensor.writers.push(at);
        }
        elements.for_each(|element| tensor.initialise(element));
    }

    pub(super) fn is_outside_view(
        &mut self,
        lane: Lane<'_>,
        verb: &str,
        allocation: usize,
        mut elements: std::ops::Range<usize>,
    ) -> bool {
        let Some(tensor) = self.shadow.memories.get(allocation) else { return false };
        let Some(element) = elements.find(|&element| !tensor.is_in_view(element)) else { return false };
        self.tell(Check::OutOfBounds, lane, lane.at, |this| {
            let ((name, _), (shape, strides)) = (this.shadow.spelled(allocation, element), this.shadow.geometry(allocation));
            let message = format!(
                "{verb} between the elements of `{name}`: at element {element} of its storage, shape {shape:?}, strides {strides:?}"
            );
            Told { message, related: vec![], tensor: None }
        });
        true
    }

    /// What is stored is seen.
    fn stored(&mut self, lane: Lane<'_>, value: Operand<'_>, tensor: Option<(usize, usize)>) {
        let labels = value.labels.at(lane.element);
        if labels == 0 || self.decides(lane, labels & UNKNOWN, "what is stored", tensor) {
            return;
        }
        let stored = match value.data {
            Data::F32(v) => f64::from(v[lane.element]),
            Data::F64(v) => v[lane.element],
            _ => return,
        };
        if let (false, Some(bit)) = (stored.is_finite(), Kind::NotFinite.first_of(labels)) {
            let at = self.sites.of(bit).at;
            self.tell(Check::NotFinite, lane, at, |this| Told {
                message: not_finite(stored),
                related: vec![(lane.at, "stored here".into())],
                tensor: tensor.map(|(allocation, element)| this.shadow.spelled(allocation, element)),
            });
        }
    }

    /// One store that gives an element two values.
    fn twice(&mut self, access: &GlobalAccess<'_>, lanes: &Lanes, value: &Data) {
        let mut places: Vec<(usize, usize, usize)> =
            lanes.iter().enumerate().filter_map(|(element, place)| place.map(|(a, o)| (a, o, element))).collect();
        if places.is_sorted_by(|a, b| (a.0, a.1) < (b.0, b.1)) {
            return;
        }
        places.sort_unstable();
        for pair in places.windows(2) {
            let [(allocation, offset, first), (other, again, second)] = *pair else { continue };
            let bits = |element: usize| value.bits(access.scalar, element);
            if (allocation, offset) != (other, again) || bits(first) == bits(second) {
                continue;
            }
            let lane = Lane::of(access.at, access.shape, second);
            let element = self.elements(allocation, offset, 1).start;
            self.tell(Check::Race, lane, lane.at, |this| Told {
                message: format!(
                    "tile elements {:?} and {:?} of one store have different values for the same element",
                    super::tile_index(access.shape, first),
                    super::tile_index(access.shape, second)
                ),
                related: vec![],
                tensor: Some(this.shadow.spelled(allocation, element)),
            });
        }
    }

    /// What other warps of the program have to do with an access; `changed`: the elements that a store changes.
    fn between_warps(&mut self, access: &GlobalAccess<'_>, lanes: &Lanes, changed: Option<&[bool]>) {
        let Data::I64(pointers) = access.pointers.data else { return };
        let GlobalAccess { at, shape, scalar, .. } = *access;
        let (bytes, num_warps) = (scalar.bytes() as usize, self.within.num_warps);
        if num_warps < 2 {
            return;
        }
        let is_meant = |element: usize| changed.is_none_or(|changed| changed[element]);
        let places = lanes.iter().enumerate().filter(|(element, _)| is_meant(*element));
        let touched =
            places.filter_map(|(element, place)| Some((element, (*place)?))).flat_map(|(element, (allocation, offset))| {
                self.elements(allocation, offset, bytes).map(move |place| (allocation as u32, place as u32, element as u32))
            });
        let touched = touched.collect();
        let Some(own) = within::Access::new(at, changed.is_some(), shape, bytes, pointers, num_warps, touched) else { return };
        for clash in self.within.access(own) {
            let lane = Lane::of(at, shape, clash.element as usize);
            self.tell(Check::RaceWithin, lane, at, |this| {
                let (what, other) = match (changed.is_some(), clash.earlier_wrote) {
                    (true, true) => ("this stores over what other warps of the program store", "stored here"),
                    (true, false) => ("this stores to what other warps of the program may still have to load", "loaded here"),
                    (false, _) => ("this loads what other warps of the program store", "stored here"),
                };
                Told {
                    message: format!("{what}, and no barrier is between them: `tl.debug_barrier()` orders them"),
                    related: vec![(clash.earlier, other.to_owned())],
                    tensor: Some(this.shadow.spelled(clash.allocation as usize, clash.place as usize)),
                }
            });
        }
    }

    /// What an atomic does to memory, whatever it computes.
    fn update(&mut self, memory: &Memory, access: &GlobalAccess<'_>, value: Operand<'_>, sem: MemSem) -> Result<Lanes, Failure> {
        let mut lanes = self.reach(memory, access)?;
        let GlobalAccess { at, shape, scalar, .. } = *access;
        self.order.acquire(sem);
        for (element, place) in lanes.iter_mut().enumerate() {
            let Some((allocation, offset)) = *place else { continue };
            let lane = Lane::of(at, shape, element);
            let elements = self.elements(allocation, offset, scalar.bytes() as usize);
            let first = Some((allocation, elements.start));
            self.stored(lane, value, first);
            if self.is_outside_view(lane, access.verb, allocation, elements.clone()) {
                *place = None;
                continue;
            }
            // What is added to nothing is seen at once.
            let before = self.contents(at, allocation, elements.clone());
            self.decides(lane, before, "what an atomic stores", first);
            elements.clone().for_each(|e| self.touch(lane, allocation, e, Touch::Atomic));
            self.written(at, allocation, elements);
        }
        self.order.release(sem);
        Ok(lanes)
    }

    pub(crate) fn atomic(
        &mut self,
        memory: &Memory,
        access: &GlobalAccess<'_>,
        op: AtomicOp,
        sem: MemSem,
        value: Operand<'_>,
        start: Data,
    ) -> Result<(Data, Labels), Failure> {
        let lanes = self.update(memory, access, value, sem)?;
        let GlobalAccess { at, scalar, .. } = *access;
        let off = self.sites.label(Site { kind: Kind::Undefined, at, via: None }) as i64;
        let is_off = |element: usize| matches!(access.mask.map(|m| m.data), Some(Data::I1(mask)) if !mask[element]);
        let bits = (0..lanes.len()).map(|element| if is_off(element) { off } else { 0 }).collect();
        let old = access::atomic(memory, op, scalar, access.pointers.data, value.data, Some(&active(&lanes)), start)?;
        Ok((old, Labels::new(bits)))
    }

    pub(crate) fn compare_and_swap(
        &mut self,
        memory: &Memory,
        access: &GlobalAccess<'_>,
        sem: MemSem,
        [expected, value]: [Operand<'_>; 2],
    ) -> Result<(Data, Labels), Failure> {
        let lanes = self.update(memory, access, value, sem)?;
        let old = access::compare_and_swap(
            memory,
            access.scalar,
            access.pointers.data,
            Some(&active(&lanes)),
            expected.data,
            value.data,
        )?;
        Ok((old, Labels::CLEAN))
    }
}

fn not_finite(stored: f64) -> String {
    match stored {
        x if x.is_nan() => "this makes a NaN of numbers, and it is stored".to_owned(),
        x if x > 0.0 => "this makes an infinity of numbers, and it is stored".to_owned(),
        _ => "this makes a negative infinity of numbers, and it is stored".to_owned(),
    }
}
