//! Moving a tile from one layout to another: what it takes, and the scratch it goes through.
//!
//! **Invariant:** a conversion's class depends on the two layouts only; code generation, the cost model and the assignment of shared
//! memory all ask here.

use super::{
    Bases, Distributed, SharedLayout,
    algebra::{Span, apply, compose, others, rank, spread},
    matrices::Rows,
};

/// What a conversion takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conversion {
    /// Every thread holds what it needs: for each destination register the source register.
    Rename(Vec<u32>),
    /// Every warp holds what it needs, and its lanes exchange it by few shuffles.
    Exchange(Exchange),
    /// Every warp holds what it needs.
    Shuffle,
    /// Through shared memory.
    Shared,
}

/// Which register of which lane each lane of a warp takes a register from. Both are linear in the register and the lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// For each register of the destination what its first lane takes: a register and a lane.
    pub registers: Vec<(u32, u32)>,
    /// For each bit of a lane's number what it changes in these.
    pub lanes: [(u32, u32); 5],
}

impl Exchange {
    /// More shuffles cost more than a passage through shared memory and its barriers.
    const MAX_SHUFFLES: usize = 4;

    /// `None` if that takes more than few shuffles.
    fn of(source: &Distributed, destination: &Distributed) -> Option<Exchange> {
        let span = Span::of(&[&source.register[..], &source.lane].concat());
        let held = source.register.len();
        let taken = |index: u32| {
            let sum = span.solve(index)? as u32;
            Some((sum & ((1 << held) - 1), sum >> held))
        };
        let mut lanes = [(0, 0); 5];
        for (lane, &basis) in lanes.iter_mut().zip(&destination.lane) {
            *lane = taken(basis)?;
        }
        let registers: Vec<(u32, u32)> =
            (0..destination.num_registers() as u32).map(|r| taken(apply(&destination.register, r))).collect::<Option<_>>()?;
        let exchange = Exchange { registers, lanes };
        let choices: Vec<u32> = exchange.choices().into_iter().map(|bit| exchange.lanes[bit].0).collect();
        let shuffles = destination.distinct_registers() << choices.len();
        (shuffles <= Self::MAX_SHUFFLES && rank(&choices) as usize == choices.len()).then_some(exchange)
    }

    /// Bits of a lane's number on which the register that it takes hangs.
    pub fn choices(&self) -> Vec<usize> {
        (0..5).filter(|&bit| self.lanes[bit].0 != 0).collect()
    }

    /// The register and the lane that `lane` takes `register` from.
    pub fn taken(&self, register: usize, lane: u32) -> (u32, u32) {
        let bits = (0..5).filter(|bit| lane >> bit & 1 == 1);
        bits.fold(self.registers[register], |(r, l), bit| (r ^ self.lanes[bit].0, l ^ self.lanes[bit].1))
    }
}

/// For each register of `destination` the register of `source` in the same thread that holds `f` of its index; `None` if that register
/// may be in another thread. `f` is linear.
pub fn rename(source: &Distributed, destination: &Distributed, f: impl Fn(u32) -> u32) -> Option<Vec<u32>> {
    let same = |a: &[u32], b: &[u32]| a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| a == f(b));
    if !same(&source.lane, &destination.lane) || !same(&source.warp, &destination.warp) {
        return None;
    }
    let span = Span::of(&source.register);
    let columns: Vec<u32> =
        destination.register.iter().map(|&b| span.solve(f(b)).map(|sum| sum as u32)).collect::<Option<_>>()?;
    Some((0..destination.num_registers() as u32).map(|r| apply(&columns, r)).collect())
}

/// The class of the conversion from `source` to `destination`, which have one shape.
pub fn conversion(source: &Distributed, destination: &Distributed) -> Conversion {
    if let Some(registers) = rename(source, destination, |b| b) {
        return Conversion::Rename(registers);
    }
    let within: Vec<u32> = [&source.register[..], &source.lane].concat();
    let span = Span::of(&within);
    let reachable = |bases: &[u32]| bases.iter().all(|&b| span.contains(b));
    if source.warp == destination.warp && reachable(&destination.register) && reachable(&destination.lane) {
        Exchange::of(source, destination).map_or(Conversion::Shuffle, Conversion::Exchange)
    } else {
        Conversion::Shared
    }
}

/// How threads touch a shared buffer: for each bit of (register, lane, warp) the offset in elements it contributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    pub register: Bases,
    pub lane: Bases,
    pub warp: Bases,
    /// Register bits whose contributions are 1, 2, 4…: one access moves these registers.
    pub vector: Vec<u32>,
}

impl Access {
    /// `None` if the buffer's layout is not a bijection or the shapes differ in size.
    pub fn new(tile: &Distributed, buffer: &SharedLayout, element_bits: u32) -> Option<Access> {
        let inverse = buffer.inverse()?;
        if tile.index_bits() as usize != inverse.len() {
            return None;
        }
        let register = compose(&inverse, &tile.register);
        let mut access =
            Access { lane: compose(&inverse, &tile.lane), warp: compose(&inverse, &tile.warp), register, vector: Vec::new() };
        let widest = 128 / element_bits.max(8);
        let mut step = 1;
        while step < widest {
            let Some(bit) = access.register.iter().position(|&offset| offset == step) else { break };
            // Everything else must leave the low bits alone, or addresses would not be aligned.
            let others = access.register.iter().chain(&access.lane).chain(&access.warp).enumerate();
            let taken = |i: usize| access.vector.contains(&(i as u32)) || i == bit;
            if others.into_iter().any(|(i, &offset)| !taken(i) && offset & (2 * step - 1) != 0) {
                break;
            }
            access.vector.push(bit as u32);
            step *= 2;
        }
        Some(access)
    }

    /// What the instructions of a thread move, in their order: the offset that its registers contribute, and these registers, side by side.
    /// What other registers of the thread hold too is moved once.
    pub fn moves(&self, tile: &Distributed) -> Vec<(u32, Vec<usize>)> {
        let surplus = tile.free_bits().0;
        let rest = others(self.register.len(), &self.vector);
        let firsts = (0..1 << rest.len()).map(|index| spread(&rest, index)).filter(|first| first & surplus == 0);
        let registers = |first: u32| (0..1 << self.vector.len()).map(move |i| (first | spread(&self.vector, i)) as usize);
        firsts.map(|first| (apply(&self.register, first), registers(first).collect())).collect()
    }

    /// Bytes that one instruction of a thread moves.
    pub fn width_bytes(&self, element_bytes: u32) -> u32 {
        element_bytes << self.vector.len()
    }

    /// Byte offsets of the 32 lanes of one instruction.
    pub fn lane_addresses(&self, element_bytes: u32) -> [u32; 32] {
        std::array::from_fn(|lane| apply(&self.lane, lane as u32) * element_bytes)
    }
}

/// The buffer that a conversion through shared memory uses: the rows of matrices or the widest vectors both sides share, or those of a side that
/// moves far more elements a thread, then the banks, then segments chosen so that neither side's lanes fall on one bank more often than they must.
pub fn scratch(source: &Distributed, destination: &Distributed, element_bits: u32) -> SharedLayout {
    let bits = element_bits.max(8);
    let total = source.index_bits();
    let widest = (128 / bits).ilog2() as usize;
    // One side moves matrices: its rows are the other side's vectors.
    let written_rows = Rows::of(source, destination, bits);
    let read_rows = if written_rows.is_none() { Rows::of(destination, source, bits) } else { None };
    let mut vector: Vec<u32> = written_rows.or(read_rows).map_or_else(Vec::new, |rows| rows.along.to_vec());
    for &basis in &source.register {
        if vector.len() < widest && basis != 0 && destination.register.contains(&basis) && !vector.contains(&basis) {
            vector.push(basis);
        }
    }
    let held = |layout: &Distributed| layout.num_registers() >> layout.free_bits().0.count_ones();
    let (written, read) = (held(source), held(destination));
    let busier = if read >= 2 * written { Some(destination) } else { Some(source).filter(|_| written >= 2 * read) };
    let mut within = Span::of(&vector);
    for &basis in busier.map_or(&[][..], |layout| &layout.register) {
        if vector.len() < widest && within.insert(basis, 0) {
            vector.push(basis);
        }
    }
    // Lanes beyond 128 bytes go in another phase and cannot conflict.
    let phases = ((bits << vector.len()) / 32).max(1).ilog2() as usize;
    let lanes =
        |lane: &[u32]| -> Vec<u32> { lane[..lane.len() - phases.min(lane.len())].iter().copied().filter(|&b| b != 0).collect() };
    let side = |rows: Option<Rows>, lane: &[u32]| rows.map_or_else(|| lanes(lane), |rows| rows.across.to_vec());
    let (from, to) = (side(written_rows, &source.lane), side(read_rows, &destination.lane));
    let banks = ((1024 / (bits << vector.len())).max(1).ilog2() as usize).min(total as usize - vector.len().min(total as usize));
    let segments = total as usize - vector.len() - banks;

    let mut candidates: Vec<u32> = (0..total).map(|bit| 1 << bit).collect();
    for i in 0..total {
        candidates.extend((0..i).map(|j| 1 << i | 1 << j));
    }
    candidates.extend(from.iter().flat_map(|a| to.iter().map(move |b| a ^ b)).filter(|&c| c != 0));
    let spans = |lanes: &[u32]| Span::of(&[&vector[..], lanes].concat());
    let (mut writes, mut reads, mut chosen) = (spans(&from), spans(&to), Span::of(&vector));
    let mut segment: Vec<u32> = Vec::new();
    for tolerance in 0..3 {
        for &candidate in &candidates {
            if segment.len() == segments {
                break;
            }
            let conflicts = u32::from(writes.contains(candidate)) + u32::from(reads.contains(candidate));
            if conflicts <= tolerance && chosen.insert(candidate, 0) {
                writes.insert(candidate, 0);
                reads.insert(candidate, 0);
                segment.push(candidate);
            }
        }
    }
    let bank = (0..total).map(|bit| 1 << bit).filter(|&basis| chosen.insert(basis, 0));
    let mut offset: Bases = vector.into_iter().collect();
    offset.extend(bank);
    offset.extend(segment);
    SharedLayout { shape: source.shape.clone(), offset }
}
