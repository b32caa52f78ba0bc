//! What the dimensions of tiles mean: which index runs along each.
//!
//! An index is an `iota`, whatever was added to it, multiplied with it, or taken of it modulo; a tile loaded through pointers that run
//! over rows and columns has rows and columns. Blocks of indices that are equal (`pid * B + iota` computed twice) are one index.
//! **Invariant:** a dimension that lists indices varies along nothing else; one that lists none is uniform, or nothing is known of it.

use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::{Affine, Facts};
use crate::{
    control::{ForLoop, WhileLoop},
    module::{BlockId, Function, OpId, ValueId},
    ops::OpKind,
};

/// An index: the value of the `iota` that it began as.
pub type Index = ValueId;

/// The indices along one dimension, sorted.
pub(super) type Along = SmallVec<[Index; 2]>;

/// More indices along one dimension mean nothing.
const MAX_INDICES_PER_AXIS: usize = 4;

#[derive(Debug, Clone)]
pub struct Meanings {
    dims: Vec<SmallVec<[Along; 2]>>,
}

impl Meanings {
    /// The indices along dimension `dim` of a value.
    pub fn along(&self, value: ValueId, dim: usize) -> &[Index] {
        self.dims[value.index()].get(dim).map_or(&[], |a| a)
    }

    pub fn rank(&self, value: ValueId) -> usize {
        self.dims[value.index()].len()
    }
}

pub fn meanings(function: &Function, facts: &Facts) -> Meanings {
    let dims = function.values.iter().map(|v| smallvec![Along::new(); v.ty.shape().len()]).collect();
    let mut walk = Walk { function, representative: equal_blocks(function, facts), dims, learned: false };
    walk.block(function.body);
    // What a loop carries may get its meaning at the end of a trip: the second walk sees it.
    if walk.learned {
        walk.block(function.body);
    }
    Meanings { dims: walk.dims }
}

/// Indices that stand for the same block: `iota` to the first one of its kind.
fn equal_blocks(function: &Function, facts: &Facts) -> FxHashMap<ValueId, ValueId> {
    let mut first: FxHashMap<(&Affine, u32), ValueId> = FxHashMap::default();
    let mut out = FxHashMap::default();
    // The `iota` that a 1-D value is a block of.
    let mut block_of: FxHashMap<ValueId, ValueId> = FxHashMap::default();
    function.walk(|_, id| {
        let op = function.op(id);
        let [result] = op.results[..] else { return };
        let root = match op.kind {
            OpKind::Iota { .. } => Some(result),
            OpKind::Binary(_) | OpKind::Cast(_) => op.operands.iter().find_map(|v| block_of.get(v).copied()),
            _ => None,
        };
        let Some(root) = root else { return };
        block_of.insert(result, root);
        let [extent] = function.ty(result).shape()[..] else { return };
        if let Some(form) = facts.affine(result)
            && form.terms.iter().any(|t| t.dim.is_none() && !t.symbols.is_empty())
        {
            let known = *first.entry((form, extent)).or_insert(root);
            out.entry(root).or_insert(known);
        }
    });
    out
}

struct Walk<'f> {
    function: &'f Function,
    representative: FxHashMap<ValueId, ValueId>,
    dims: Vec<SmallVec<[Along; 2]>>,
    /// A trip's end told more of what a loop carries than its start had.
    learned: bool,
}

impl Walk<'_> {
    /// Whether that is more than was known.
    fn add(&mut self, to: ValueId, dim: usize, indices: &[Index]) -> bool {
        let Some(along) = self.dims[to.index()].get_mut(dim) else { return false };
        let before = along.len();
        for &index in indices {
            if let Err(at) = along.binary_search(&index)
                && along.len() < MAX_INDICES_PER_AXIS
            {
                along.insert(at, index);
            }
        }
        along.len() > before
    }

    fn join(&mut self, from: ValueId, to: ValueId) -> bool {
        let mut more = false;
        for dim in 0..self.dims[from.index()].len() {
            let along = self.dims[from.index()][dim].clone();
            more |= self.add(to, dim, &along);
        }
        more
    }

    fn block(&mut self, block: BlockId) {
        let function = self.function;
        for &id in &function.block(block).ops {
            self.op(id);
        }
    }

    fn join_all(&mut self, from: &[ValueId], to: &[ValueId]) -> bool {
        from.iter().zip(to).fold(false, |more, (&from, &to)| self.join(from, to) || more)
    }

    fn op(&mut self, id: OpId) {
        let function = self.function;
        let op = function.op(id);
        match &op.kind {
            OpKind::Iota { .. } => {
                let index = self.representative.get(&op.results[0]).copied().unwrap_or(op.results[0]);
                self.add(op.results[0], 0, &[index]);
            }
            OpKind::ExpandDims { axis } => {
                for (dim, along) in self.dims[op.operands[0].index()].clone().iter().enumerate() {
                    let to = if dim >= usize::from(*axis) { dim + 1 } else { dim };
                    self.add(op.results[0], to, along);
                }
            }
            OpKind::Transpose { order } => {
                for (to, &from) in order.iter().enumerate() {
                    let along = self.dims[op.operands[0].index()].get(usize::from(from)).cloned().unwrap_or_default();
                    self.add(op.results[0], to, &along);
                }
            }
            OpKind::Reshape { .. } => {
                // Only where extents of 1 come or go is it clear what becomes of each dimension.
                let kept = |v: ValueId| -> Vec<usize> {
                    let shape = function.ty(v).shape();
                    (0..shape.len()).filter(|&d| shape[d] != 1).collect()
                };
                let (from, to) = (kept(op.operands[0]), kept(op.results[0]));
                let extents = |v: ValueId, dims: &[usize]| dims.iter().map(|&d| function.ty(v).shape()[d]).collect::<Vec<_>>();
                if extents(op.operands[0], &from) == extents(op.results[0], &to) {
                    for (&from, &to) in from.iter().zip(&to) {
                        let along = self.dims[op.operands[0].index()][from].clone();
                        self.add(op.results[0], to, &along);
                    }
                }
            }
            OpKind::Reduce { axis } => {
                for (&operand, &result) in op.operands.iter().zip(&op.results) {
                    for (dim, along) in self.dims[operand.index()].clone().iter().enumerate() {
                        match dim.cmp(&usize::from(*axis)) {
                            std::cmp::Ordering::Less => _ = self.add(result, dim, along),
                            std::cmp::Ordering::Equal => {}
                            std::cmp::Ordering::Greater => _ = self.add(result, dim - 1, along),
                        }
                    }
                }
            }
            OpKind::Scan { .. } => _ = self.join_all(&op.operands, &op.results),
            OpKind::Dot { .. } => {
                let result = op.results[0];
                let rank = self.dims[result.index()].len();
                let (a, b) = (self.dims[op.operands[0].index()].clone(), self.dims[op.operands[1].index()].clone());
                if rank >= 2 && a.len() == rank && b.len() == rank {
                    self.add(result, rank - 2, &a[rank - 2]);
                    self.add(result, rank - 1, &b[rank - 1]);
                }
                self.join(op.operands[2], result);
            }
            OpKind::For(_) => {
                let Some(ForLoop { body, init, args, next, results, .. }) = function.for_loop(id) else { return };
                self.join_all(init, args);
                self.block(body);
                self.learned |= self.join_all(next, args);
                self.join_all(args, results);
            }
            OpKind::While { .. } => {
                let Some(WhileLoop { init, before, args, passed, after, after_args, next, results, .. }) =
                    function.while_loop(id)
                else {
                    return;
                };
                self.join_all(init, args);
                self.block(before);
                self.join_all(passed, after_args);
                self.block(after);
                self.learned |= self.join_all(next, args);
                self.join_all(passed, results);
            }
            OpKind::If => {
                for &region in &op.regions {
                    self.block(region);
                    self.join_all(function.passed(region), &op.results);
                }
            }
            _ => {
                for &result in &op.results {
                    for &operand in &op.operands {
                        if self.dims[operand.index()].len() == self.dims[result.index()].len() {
                            self.join(operand, result);
                        }
                    }
                }
            }
        }
    }
}
