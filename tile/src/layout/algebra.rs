//! Linear algebra over F2 on columns of at most 32 bits.
//!
//! **Invariant:** a map is the list of its columns; input bit `i` contributes column `i`, contributions are xored.

use smallvec::SmallVec;

use super::{Bases, Distributed};

/// The image of `input` under the map with these columns.
pub fn apply(columns: &[u32], input: u32) -> u32 {
    columns.iter().enumerate().filter(|(i, _)| input >> i & 1 == 1).fold(0, |image, (_, column)| image ^ column)
}

/// First `inner`, then `outer`.
pub fn compose(outer: &[u32], inner: &[u32]) -> Bases {
    inner.iter().map(|&column| apply(outer, column)).collect()
}

/// The linear map with `bits` input bits that agrees with `f` on unit vectors.
pub fn columns_of(bits: u32, f: impl Fn(u32) -> u32) -> Bases {
    (0..bits).map(|bit| f(1 << bit)).collect()
}

/// An echelon basis of a growing span; every row remembers which inserted columns it is the sum of.
#[derive(Debug, Clone, Default)]
pub struct Span {
    /// Indexed by leading bit: the vector and the sum of columns that makes it.
    rows: SmallVec<[Option<(u32, u64)>; 32]>,
    dimension: u32,
}

impl Span {
    pub fn new() -> Span {
        Span { rows: SmallVec::from_elem(None, 32), dimension: 0 }
    }

    pub fn of(columns: &[u32]) -> Span {
        let mut span = Span::new();
        for (index, &column) in columns.iter().enumerate() {
            span.insert(column, 1 << index);
        }
        span
    }

    pub fn dimension(&self) -> u32 {
        self.dimension
    }

    /// What is left of `vector` after elimination, and the combination of columns that was taken away.
    fn reduce(&self, mut vector: u32, mut combination: u64) -> (u32, u64) {
        while vector != 0 {
            match self.rows[vector.ilog2() as usize] {
                Some((row, sum)) => {
                    vector ^= row;
                    combination ^= sum;
                }
                None => break,
            }
        }
        (vector, combination)
    }

    /// Adds a column; false if it was in the span already.
    pub fn insert(&mut self, column: u32, name: u64) -> bool {
        let (vector, sum) = self.reduce(column, name);
        if vector == 0 {
            return false;
        }
        self.rows[vector.ilog2() as usize] = Some((vector, sum));
        self.dimension += 1;
        true
    }

    pub fn contains(&self, vector: u32) -> bool {
        self.reduce(vector, 0).0 == 0
    }

    /// A combination of the inserted columns that gives `vector`; columns that depend on earlier ones are never used.
    pub fn solve(&self, vector: u32) -> Option<u64> {
        let (rest, sum) = self.reduce(vector, 0);
        (rest == 0).then_some(sum)
    }
}

pub fn rank(columns: &[u32]) -> u32 {
    Span::of(columns).dimension()
}

/// `x` with `source · x = target`, column by column. A target column that stands at the same place in `source` maps to itself;
/// free variables are 0. `None` if some target column is outside the span of `source`.
pub fn invert_and_compose(source: &[u32], target: &[u32]) -> Option<Vec<u64>> {
    let span = Span::of(source);
    target
        .iter()
        .enumerate()
        .map(|(i, &column)| if source.get(i) == Some(&column) { Some(1 << i) } else { span.solve(column) })
        .collect()
}

/// The permutation that undoes `order`: where each axis has gone.
pub fn inverse_order(order: &[u8]) -> SmallVec<[u8; 4]> {
    let mut inverse = SmallVec::from_elem(0, order.len());
    for (axis, &d) in order.iter().enumerate() {
        inverse[d as usize] = axis as u8;
    }
    inverse
}

/// Those of `total` bits that are not in `taken`.
pub fn others(total: usize, taken: &[u32]) -> Vec<u32> {
    (0..total as u32).filter(|bit| !taken.contains(bit)).collect()
}

/// The input whose set bits, counted through `positions`, are those of `index`.
pub fn spread(positions: &[u32], index: u32) -> u32 {
    positions.iter().enumerate().filter(|(i, _)| index >> i & 1 == 1).fold(0, |bits, (_, p)| bits | 1 << p)
}

/// The inverse of a bijective map on `columns.len()` bits.
pub fn invert(columns: &[u32]) -> Option<Bases> {
    let span = Span::of(columns);
    (0..columns.len() as u32).map(|bit| span.solve(1 << bit).map(|sum| sum as u32)).collect()
}

impl Distributed {
    /// All columns, registers first, then lanes, then warps.
    pub fn columns(&self) -> Vec<u32> {
        [&self.register[..], &self.lane, &self.warp].concat()
    }

    /// The flat element index that a register of a thread holds.
    pub fn apply(&self, register: u32, lane: u32, warp: u32) -> u32 {
        apply(&self.register, register) ^ apply(&self.lane, lane) ^ apply(&self.warp, warp)
    }

    /// Registers each thread holds.
    pub fn num_registers(&self) -> usize {
        1 << self.register.len()
    }

    /// The elements that a thread holds, each counted once.
    pub fn distinct_registers(&self) -> usize {
        self.num_registers() >> self.free_bits().0.count_ones()
    }

    pub fn num_warps(&self) -> u32 {
        1 << self.warp.len()
    }

    /// Bits of the flat element index.
    pub fn index_bits(&self) -> u32 {
        index_bits(&self.shape)
    }

    /// Every element has a holder, no basis points outside the tile, and a warp has 32 lanes.
    pub fn is_surjective(&self) -> bool {
        let columns = self.columns();
        let bits = self.index_bits();
        self.lane.len() == 5 && columns.iter().all(|&c| u64::from(c) < 1 << bits) && rank(&columns) == bits
    }

    /// Bits of the hardware index that hold nothing new, as masks over (register, lane, warp): with all of them 0 every element
    /// still has exactly one holder.
    pub fn free_bits(&self) -> (u32, u32, u32) {
        let mut span = Span::new();
        let mut free = |columns: &[u32]| {
            columns.iter().enumerate().fold(0, |mask, (i, &c)| if span.insert(c, 0) { mask } else { mask | 1 << i })
        };
        (free(&self.register), free(&self.lane), free(&self.warp))
    }

    /// For each register of a thread, the first that holds the same element, itself as a rule.
    pub fn first_holders(&self) -> Vec<usize> {
        let surplus = self.free_bits().0;
        let element = |register: usize| apply(&self.register, register as u32);
        let is_first = |register: &usize| *register as u32 & surplus == 0;
        let first = |register| (0..register).filter(is_first).find(|&other| element(other) == element(register));
        (0..self.num_registers())
            .map(|register| if is_first(&register) { None } else { first(register) }.unwrap_or(register))
            .collect()
    }
}

/// Bits of the flat index of a tile of this shape.
pub fn index_bits(shape: &[u32]) -> u32 {
    shape.iter().map(|d| d.ilog2()).sum()
}

/// The bit of the flat index at which dimension `axis` begins.
pub fn shift_of(shape: &[u32], axis: usize) -> u32 {
    shape[axis + 1..].iter().map(|d| d.ilog2()).sum()
}

/// The bits of the flat index that belong to dimension `axis`.
pub fn mask_of(shape: &[u32], axis: usize) -> u32 {
    (shape[axis] - 1) << shift_of(shape, axis)
}

/// The flat row-major index of an element.
pub fn flatten(shape: &[u32], index: &[u32]) -> u32 {
    shape.iter().zip(index).fold(0, |flat, (extent, i)| flat << extent.ilog2() | i)
}

/// The index of an element in every dimension.
pub fn unflatten(shape: &[u32], flat: u32) -> SmallVec<[u32; 4]> {
    (0..shape.len()).map(|axis| flat >> shift_of(shape, axis) & (shape[axis] - 1)).collect()
}
