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
    value::{Data, Slot, Tile, map_data},
};
use crate::{
    module::{BlockId, Function, Module, OpId, ValueId},
    ops::OpKind,
    sanitize::Labels,
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
    fn at(&self, places: impl Iterator<Item = usize> + Clone) -> impl Iterator<Item = usize> + Clone {
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
    pub(super) fn reduce(&mut self, frame: &mut Frame<'r>, op: OpId, axis: u8) -> Result<Vec<Tile>, Fault> {
        let function = frame.function;
        let source = function.op(op);
        let mut axis = Axis::new(function.ty(source.operands[0]).shape(), axis);
        let mut tiles = self.operand_tiles(frame, op)?;
        while axis.extent > 1 {
            let left = tiles.iter().map(|t| t.gather(axis.at((0..axis.extent).step_by(2)))).collect();
            let right = tiles.iter().map(|t| t.gather(axis.at((1..axis.extent).step_by(2)))).collect();
            tiles = self.combine(frame, op, left, right)?;
            axis.extent /= 2;
        }
        Ok(tiles)
    }

    pub(super) fn scan(&mut self, frame: &mut Frame<'r>, op: OpId, axis: u8, reverse: bool) -> Result<Vec<Tile>, Fault> {
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
            let left = tiles.iter().map(|t| t.gather(axis.at(from.clone()))).collect();
            let right = tiles.iter().map(|t| t.gather(axis.at(to.clone()))).collect();
            let combined = self.combine(frame, op, left, right)?;
            for (tile, combined) in tiles.iter_mut().zip(&combined) {
                tile.scatter(combined, axis.at(to.clone()));
            }
            distance *= 2;
        }
        Ok(tiles)
    }

    /// The region on groups of `pack` neighbouring elements: all groups at once where it is free of branches.
    pub(super) fn map(&mut self, frame: &mut Frame<'r>, op: OpId, pack: usize) -> Result<Vec<Tile>, Fault> {
        let function = frame.function;
        let region = function.op(op).regions[0];
        let tiles = self.operand_tiles(frame, op)?;
        let len = tiles.first().map_or(0, |tile| tile.data.len());
        let groups = len / pack.max(1);
        let width = if frame.plan.straight[op.index()] { groups } else { 1 };
        let outer = std::mem::replace(&mut frame.width, width);
        let args = &function.block(region).args;
        let mut results: Vec<Option<Tile>> = vec![None; function.op(op).results.len()];
        for start in (0..groups).step_by(width.max(1)) {
            let lane = |j: usize| (start..start + width).map(move |group| group * pack + j);
            for (number, &arg) in args.iter().enumerate() {
                let part = tiles[number / pack].gather(lane(number % pack));
                self.set(frame, op, arg, part.into())?;
            }
            let yielded = self.block(frame, region)?;
            for (number, slot) in yielded.into_iter().enumerate() {
                let Slot::Tile(data, labels) = slot else { return Err(self.malformed(frame, op)) };
                let part = Tile { data: Rc::unwrap_or_clone(data), labels };
                let Some(result) = results.get_mut(number / pack) else { return Err(self.malformed(frame, op)) };
                let result = result.get_or_insert_with(|| {
                    let data = map_data!(&part.data, v => vec![v[0]; len]);
                    Tile { data, labels: Labels::CLEAN }
                });
                result.scatter(&part, lane(number % pack));
            }
        }
        frame.width = outer;
        results.into_iter().collect::<Option<_>>().ok_or_else(|| self.malformed(frame, op))
    }

    fn operand_tiles(&mut self, frame: &Frame<'r>, op: OpId) -> Result<Vec<Tile>, Fault> {
        let operands = &frame.function.op(op).operands;
        let tile = |&v: &ValueId| match &frame.values[v.index()] {
            Slot::Tile(data, labels) => Ok(Tile { data: (**data).clone(), labels: labels.clone() }),
            Slot::Shared(_) | Slot::Ring(_) | Slot::Empty => Err(self.malformed(frame, op)),
        };
        operands.iter().map(tile).collect()
    }

    /// The region applied to every pair of elements of equal number.
    fn combine(&mut self, frame: &mut Frame<'r>, op: OpId, left: Vec<Tile>, right: Vec<Tile>) -> Result<Vec<Tile>, Fault> {
        let region = frame.function.op(op).regions[0];
        let len = left[0].data.len();
        let straight = frame.plan.straight[op.index()];
        let width = if straight { len } else { 1 };
        let outer = std::mem::replace(&mut frame.width, width);
        let args = &frame.function.block(region).args;
        let mut results: Vec<Tile> = Vec::new();
        for start in (0..len).step_by(width.max(1)) {
            for (&arg, tile) in args.iter().zip(left.iter().chain(&right)) {
                let part = if straight { tile.clone() } else { tile.gather(start..start + 1) };
                self.set(frame, op, arg, part.into())?;
            }
            let yielded = self.block(frame, region)?;
            for (index, slot) in yielded.into_iter().enumerate() {
                let Slot::Tile(data, labels) = slot else { return Err(self.malformed(frame, op)) };
                let part = Tile { data: Rc::unwrap_or_clone(data), labels };
                match results.get_mut(index) {
                    Some(result) => result.append(&part),
                    None => results.push(part),
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

impl Tile {
    /// The elements at `indices`, in that order.
    fn gather(&self, indices: impl Iterator<Item = usize> + Clone) -> Tile {
        Tile { data: gather(&self.data, indices.clone()), labels: self.labels.map(|labels| gather(labels, indices)) }
    }

    fn append(&mut self, from: &Tile) {
        let (before, added) = (self.data.len(), from.data.len());
        pairwise!(&mut self.data, &from.data, x, y => x.extend_from_slice(y));
        self.labels.append(before, &from.labels, added);
    }

    fn scatter(&mut self, from: &Tile, indices: impl Iterator<Item = usize> + Clone) {
        let len = self.data.len();
        pairwise!(&mut self.data, &from.data, x, y => indices.clone().zip(y).for_each(|(i, &value)| x[i] = value));
        self.labels.scatter(len, &from.labels, indices);
    }
}
