//! `reduce` and `scan`: combining along an axis.
//!
//! The order is fixed. A reduction is a pairwise tree of neighbours: level by level elements 2i and 2i+1 become element i, the lower
//! index on the left. A scan is by doubling: at distance 1, 2, 4, … element i becomes (element i-distance) combined with (element i);
//! `reverse` mirrors it. Both are what any other order gives for an associative combination. **Invariant:** a combination is run on
//! whole vectors where its region is free of branches, lane by lane otherwise, with the same result.

use std::rc::Rc;

use super::{
    Fault, Frame, Machine,
    elementwise::gather,
    value::{Data, Slot, map_data},
};
use crate::{
    module::{BlockId, Function, Module, OpId},
    ops::OpKind,
    types::Shape,
};

/// Extents before, along and behind the axis.
struct Axis {
    outer: usize,
    extent: usize,
    inner: usize,
}

impl Axis {
    fn new(shape: &Shape, axis: u8) -> Axis {
        let axis = usize::from(axis);
        let product = |extents: &[u32]| extents.iter().map(|&d| d as usize).product();
        Axis { outer: product(&shape[..axis]), extent: shape[axis] as usize, inner: product(&shape[axis + 1..]) }
    }

    /// The flat indices of the elements whose place along the axis is among `places`.
    fn at(&self, places: impl Iterator<Item = usize> + Clone) -> impl Iterator<Item = usize> {
        let (extent, inner) = (self.extent, self.inner);
        (0..self.outer).flat_map(move |o| {
            places.clone().flat_map(move |p| {
                let start = (o * extent + p) * inner;
                start..start + inner
            })
        })
    }
}

/// Free of branches: may run on vectors of any length.
pub(super) fn is_straight(module: &Module, function: &Function, block: BlockId, depth: usize) -> bool {
    depth < 8
        && function.block(block).ops.iter().all(|&op| match &function.op(op).kind {
            OpKind::Call { callee } => {
                let callee = &module.functions[callee.index()];
                is_straight(module, callee, callee.body, depth + 1)
            }
            OpKind::Constant(_) | OpKind::ProgramId { .. } | OpKind::NumPrograms { .. } => true,
            OpKind::Yield | OpKind::Return => true,
            kind => kind.is_elementwise(),
        })
}

impl<'r> Machine<'r> {
    pub(super) fn reduce(&mut self, frame: &mut Frame<'r>, op: OpId, axis: u8) -> Result<Vec<Data>, Fault> {
        let function = frame.function;
        let source = function.op(op);
        let mut axis = Axis::new(function.ty(source.operands[0]).shape(), axis);
        let mut tiles = self.operand_tiles(frame, op)?;
        while axis.extent > 1 {
            let left = tiles.iter().map(|t| gather(t, axis.at((0..axis.extent).step_by(2)))).collect();
            let right = tiles.iter().map(|t| gather(t, axis.at((1..axis.extent).step_by(2)))).collect();
            tiles = self.combine(frame, op, left, right)?;
            axis.extent /= 2;
        }
        Ok(tiles)
    }

    pub(super) fn scan(&mut self, frame: &mut Frame<'r>, op: OpId, axis: u8, reverse: bool) -> Result<Vec<Data>, Fault> {
        let function = frame.function;
        let source = function.op(op);
        let axis = Axis::new(function.ty(source.operands[0]).shape(), axis);
        let mut tiles = self.operand_tiles(frame, op)?;
        let mut distance = 1;
        while distance < axis.extent {
            let (from, to) = if reverse {
                (distance..axis.extent, 0..axis.extent - distance)
            } else {
                (0..axis.extent - distance, distance..axis.extent)
            };
            let left = tiles.iter().map(|t| gather(t, axis.at(from.clone()))).collect();
            let right = tiles.iter().map(|t| gather(t, axis.at(to.clone()))).collect();
            let combined = self.combine(frame, op, left, right)?;
            for (tile, combined) in tiles.iter_mut().zip(&combined) {
                scatter(tile, combined, axis.at(to.clone()));
            }
            distance *= 2;
        }
        Ok(tiles)
    }

    /// The region on groups of `pack` neighbouring elements: all groups at once where it is free of branches.
    pub(super) fn map(&mut self, frame: &mut Frame<'r>, op: OpId, pack: usize) -> Result<Vec<Data>, Fault> {
        let function = frame.function;
        let region = function.op(op).regions[0];
        let tiles = self.operand_tiles(frame, op)?;
        let len = tiles.first().map_or(0, Data::len);
        let groups = len / pack.max(1);
        let width = if frame.plan.straight[op.index()] { groups } else { 1 };
        let outer = std::mem::replace(&mut frame.width, width);
        let args = &function.block(region).args;
        let mut results: Vec<Option<Data>> = vec![None; function.op(op).results.len()];
        for start in (0..groups).step_by(width.max(1)) {
            let lane = |j: usize| (start..start + width).map(move |group| group * pack + j);
            for (number, &arg) in args.iter().enumerate() {
                let part = gather(&tiles[number / pack], lane(number % pack));
                self.set(frame, op, arg, Slot::Tile(Rc::new(part)))?;
            }
            let yielded = self.block(frame, region)?;
            for (number, slot) in yielded.into_iter().enumerate() {
                let Slot::Tile(part) = slot else { return Err(self.malformed(frame, op)) };
                let Some(result) = results.get_mut(number / pack) else { return Err(self.malformed(frame, op)) };
                let result = result.get_or_insert_with(|| map_data!(&*part, v => vec![v[0]; len]));
                scatter(result, &part, lane(number % pack));
            }
        }
        frame.width = outer;
        results.into_iter().collect::<Option<_>>().ok_or_else(|| self.malformed(frame, op))
    }

    fn operand_tiles(&mut self, frame: &Frame<'r>, op: OpId) -> Result<Vec<Data>, Fault> {
        let operands = &frame.function.op(op).operands;
        operands.iter().map(|&v| self.tile(frame, op, v).map(|t| (*t).clone())).collect()
    }

    /// The region applied to every pair of elements of equal number.
    fn combine(&mut self, frame: &mut Frame<'r>, op: OpId, left: Vec<Data>, right: Vec<Data>) -> Result<Vec<Data>, Fault> {
        let region = frame.function.op(op).regions[0];
        let len = left[0].len();
        let straight = frame.plan.straight[op.index()];
        let width = if straight { len } else { 1 };
        let outer = std::mem::replace(&mut frame.width, width);
        let args = &frame.function.block(region).args;
        let mut results: Vec<Data> = Vec::new();
        for start in (0..len).step_by(width.max(1)) {
            for (&arg, tile) in args.iter().zip(left.iter().chain(&right)) {
                let part = if straight { tile.clone() } else { gather(tile, start..start + 1) };
                self.set(frame, op, arg, Slot::Tile(Rc::new(part)))?;
            }
            let yielded = self.block(frame, region)?;
            for (index, slot) in yielded.into_iter().enumerate() {
                let Slot::Tile(part) = slot else { return Err(self.malformed(frame, op)) };
                match results.get_mut(index) {
                    Some(result) => append(result, &part),
                    None => results.push(Rc::try_unwrap(part).unwrap_or_else(|shared| (*shared).clone())),
                }
            }
        }
        frame.width = outer;
        Ok(results)
    }
}

macro_rules! pairwise {
    ($a:expr, $b:expr, $x:ident, $y:ident => $body:expr) => {
        match ($a, $b) {
            (Data::I1($x), Data::I1($y)) => $body,
            (Data::I8($x), Data::I8($y)) => $body,
            (Data::I16($x), Data::I16($y)) => $body,
            (Data::I32($x), Data::I32($y)) => $body,
            (Data::I64($x), Data::I64($y)) => $body,
            (Data::F32($x), Data::F32($y)) => $body,
            (Data::F64($x), Data::F64($y)) => $body,
            // The verifier gives both one type.
            _ => {}
        }
    };
}

fn append(to: &mut Data, from: &Data) {
    pairwise!(to, from, x, y => x.extend_from_slice(y));
}

fn scatter(to: &mut Data, from: &Data, indices: impl Iterator<Item = usize>) {
    pairwise!(to, from, x, y => indices.zip(y).for_each(|(i, &value)| x[i] = value));
}
