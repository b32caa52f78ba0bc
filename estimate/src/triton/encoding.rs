//! The layouts that Triton names, and what operations make of them.
//!
//! Triton's own layouts fit any shape: one says how threads and warps are dealt, and a tile of a shape follows. **Invariant:** an encoding is
//! interned, so equal ones have one name; [`Encodings::map`] gives the place of every element of a tile.

use indexmap::IndexSet;
use rustc_hash::FxHashMap;
use tritium_tile::{
    OpKind, Shape,
    layout::{
        Bases, Distributed, Side,
        algebra::{inverse_order, shift_of},
        blocked::blocked,
        mma,
    },
};

/// An encoding of its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Enc(u32);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Encoding {
    Blocked {
        size: Shape,
        threads: Shape,
        warps: Shape,
        order: Vec<u8>,
    },
    /// `mma.sync`: warps along rows and columns; of a batch, all along the first dimension.
    Mma {
        rows: u32,
        columns: u32,
    },
    /// `wgmma`, so many columns an instruction.
    Wgmma {
        rows: u32,
        columns: u32,
        n: u32,
    },
    /// What is left of another's tile when an axis is gone.
    Slice {
        parent: Enc,
        axis: u8,
    },
    /// An operand of a tensor core for an accumulator; elements of so many bits lie together.
    Operand {
        side: Side,
        parent: Enc,
        bits: u32,
    },
    /// What has no name, for one shape.
    Linear(Distributed),
}

#[derive(Default)]
pub(super) struct Encodings {
    all: IndexSet<Encoding>,
    maps: FxHashMap<(Enc, Shape), Distributed>,
}

impl Encodings {
    pub(super) fn intern(&mut self, encoding: Encoding) -> Enc {
        Enc(self.all.insert_full(encoding).0 as u32)
    }

    pub(super) fn get(&self, enc: Enc) -> &Encoding {
        &self.all[enc.0 as usize]
    }

    pub(super) fn is_tensor_core(&self, enc: Enc) -> bool {
        matches!(self.get(enc), Encoding::Mma { .. } | Encoding::Wgmma { .. })
    }

    /// The dimension along which memory that holds such a tile is contiguous.
    pub(super) fn first_dim(&self, enc: Enc) -> Option<usize> {
        match self.get(enc) {
            Encoding::Blocked { order, .. } => order.first().map(|&d| usize::from(d)),
            Encoding::Linear(map) => contiguous_dim(map),
            _ => None,
        }
    }

    /// `run` elements of `order[0]` to a thread, then lanes, then warps, in order; what is left over goes to the last dimension.
    pub(super) fn blocked(&mut self, shape: &[u32], size: &[u32], order: &[u8], num_warps: u32) -> Enc {
        let rank = shape.len();
        let (mut lanes, mut warps, mut both) = (32, num_warps, 32 * num_warps);
        let (mut threads_of, mut warps_of): (Shape, Shape) = (Shape::from_elem(1, rank), Shape::from_elem(1, rank));
        for &axis in &order[..rank - 1] {
            let axis = axis as usize;
            let wanted = (shape[axis] / size[axis]).max(1).min(both.max(1));
            threads_of[axis] = wanted.min(lanes.max(1));
            warps_of[axis] = (wanted / threads_of[axis]).clamp(1, warps.max(1));
            warps /= warps_of[axis];
            lanes /= threads_of[axis];
            both /= wanted;
        }
        let last = order[rank - 1] as usize;
        threads_of[last] = lanes.max(1);
        warps_of[last] = warps.max(1);
        self.intern(Encoding::Blocked { size: size.into(), threads: threads_of, warps: warps_of, order: order.to_vec() })
    }

    /// What a tile has that nothing says anything of: rows first, one element at a time.
    pub(super) fn plain(&mut self, shape: &[u32], num_warps: u32) -> Enc {
        let order: Vec<u8> = (0..shape.len() as u8).rev().collect();
        let size = Shape::from_elem(1, shape.len());
        self.blocked(shape, &size, &order, num_warps)
    }

    /// Where the elements of a tile of this shape are. `None` where the encoding cannot be that of such a tile.
    pub(super) fn map(&mut self, enc: Enc, shape: &[u32]) -> Option<Distributed> {
        let key = (enc, Shape::from_slice(shape));
        if let Some(known) = self.maps.get(&key) {
            return Some(known.clone());
        }
        let map = self.make(enc, shape)?;
        self.maps.insert(key, map.clone());
        Some(map)
    }

    fn make(&mut self, enc: Enc, shape: &[u32]) -> Option<Distributed> {
        let rank = shape.len();
        Some(match self.get(enc).clone() {
            Encoding::Blocked { size, threads, warps, order } => {
                (size.len() == rank).then(|| blocked(shape, &size, &threads, &warps, &order))?
            }
            Encoding::Mma { rows, columns } => match rank {
                2 => mma::mma16816_accumulator(shape, rows, columns),
                3 => batched(shape, rows * columns),
                _ => return None,
            },
            Encoding::Wgmma { rows, columns, n } => (rank == 2).then(|| warpgroups(shape, rows, columns, n))?,
            Encoding::Slice { parent, axis } => {
                let mut whole = Shape::from_slice(shape);
                if usize::from(axis) > rank {
                    return None;
                }
                whole.insert(axis.into(), 1);
                self.map(parent, &whole)?.slice(axis.into())
            }
            Encoding::Operand { side, parent, bits } => {
                // The accumulator's extent along the other dimension is not the operand's business.
                let warps = match *self.get(parent) {
                    Encoding::Mma { rows, columns } | Encoding::Wgmma { rows, columns, .. } => (rows, columns),
                    _ => return None,
                };
                let (m, n) = match side {
                    Side::A => (shape[rank - 2], 8 * warps.1),
                    Side::B => (16 * warps.0, shape[rank - 1]),
                };
                let mut accumulator = Shape::from_slice(shape);
                (accumulator[rank - 2], accumulator[rank - 1]) = (m, n);
                let parent = self.map(parent, &accumulator)?;
                mma::dot_operand(side, &parent, shape, bits)
            }
            Encoding::Linear(map) => (map.shape[..] == *shape).then_some(map)?,
        })
    }

    /// The encoding of a result of which the operand has `enc`.
    pub(super) fn of_result(&mut self, kind: &OpKind, enc: Enc, source: &[u32], result: &[u32]) -> Option<Enc> {
        match kind {
            OpKind::Reduce { axis } => (!result.is_empty()).then(|| self.intern(Encoding::Slice { parent: enc, axis: *axis })),
            OpKind::ExpandDims { axis } => match *self.get(enc) {
                Encoding::Slice { parent, axis: gone } if gone == *axis => Some(parent),
                _ => None,
            },
            OpKind::Transpose { order } => Some(self.transposed(enc, source, order)?),
            // A scan is done in no other layout.
            OpKind::Scan { .. } => matches!(self.get(enc), Encoding::Blocked { .. }).then_some(enc),
            OpKind::Reshape { .. } => {
                let map = self.map(enc, source)?.reshape(result);
                Some(self.intern(Encoding::Linear(map)))
            }
            _ => Some(enc),
        }
    }

    /// The encoding that an operand must have for the result to have `enc`.
    pub(super) fn of_operand(&mut self, kind: &OpKind, enc: Enc, source: &[u32], result: &[u32]) -> Option<Enc> {
        match kind {
            OpKind::Reduce { axis } => match *self.get(enc) {
                Encoding::Slice { parent, axis: gone } if gone == *axis => Some(parent),
                _ => None,
            },
            OpKind::ExpandDims { axis } => Some(self.intern(Encoding::Slice { parent: enc, axis: *axis })),
            OpKind::Transpose { order } => self.transposed(enc, result, &inverse_order(order)),
            OpKind::Scan { .. } => matches!(self.get(enc), Encoding::Blocked { .. }).then_some(enc),
            OpKind::Reshape { .. } => {
                let map = self.map(enc, result)?.reshape(source);
                Some(self.intern(Encoding::Linear(map)))
            }
            _ => Some(enc),
        }
    }

    fn transposed(&mut self, enc: Enc, source: &[u32], order: &[u8]) -> Option<Enc> {
        let turned = |of: &[u32]| -> Shape { order.iter().map(|&d| of[d as usize]).collect() };
        if let Encoding::Blocked { size, threads, warps, order: old } = self.get(enc).clone() {
            let inverse = inverse_order(order);
            let order = old.iter().map(|&d| inverse[d as usize]).collect();
            let new = Encoding::Blocked { size: turned(&size), threads: turned(&threads), warps: turned(&warps), order };
            return Some(self.intern(new));
        }
        let map = self.map(enc, source)?.transpose(order);
        Some(self.intern(Encoding::Linear(map)))
    }
}

/// The dimension along which the first register steps.
pub(super) fn contiguous_dim(map: &Distributed) -> Option<usize> {
    let step = *map.register.first()?;
    (0..map.shape.len()).find(|&d| step == 1 << shift_of(&map.shape, d))
}

/// The accumulators of a batch: warps take different matrices.
fn batched(shape: &[u32], num_warps: u32) -> Distributed {
    let mut layout = mma::mma16816_accumulator(shape, 1, 1);
    let matrix = shape[1] * shape[2];
    for bit in 0..num_warps.ilog2() {
        let basis = if 1 << bit < shape[0] { matrix << bit } else { 0 };
        layout.register.retain(|b| basis == 0 || *b != basis);
        layout.warp.push(basis);
    }
    layout
}

/// The accumulator of `wgmma`: an instruction covers 64 rows and `n` columns, a warp 16 of the rows; warps go down, then across.
fn warpgroups(shape: &[u32], rows: u32, columns: u32, n: u32) -> Distributed {
    let row = |r: u32| if r < shape[0] { r << shift_of(shape, 0) } else { 0 };
    let column = |c: u32| if c < shape[1] { c } else { 0 };
    let mut register: Bases = [column(1), row(8)].into_iter().filter(|&b| b != 0).collect();
    let lane = [column(2), column(4), row(1), row(2), row(4)].into_iter().collect();
    register.extend((3..n.ilog2()).map(|bit| column(1 << bit)).filter(|&b| b != 0));
    let mut warp: Bases = (0..rows.ilog2()).map(|bit| row(16 << bit)).collect();
    warp.extend((0..columns.ilog2()).map(|bit| column(n << bit)));
    let mut used = 0;
    for &b in register.iter().chain(&warp).chain(&lane) {
        used |= b;
    }
    let used = used | column(2) | column(4) | row(1) | row(2) | row(4);
    for basis in (0..shape[1].ilog2()).map(|bit| 1 << bit).chain((0..shape[0].ilog2()).map(|bit| 1 << (bit + shift_of(shape, 0))))
    {
        if used & basis == 0 {
            register.push(basis);
        }
    }
    Distributed { shape: Shape::from_slice(shape), register, lane, warp }
}
