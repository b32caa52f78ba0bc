//! How the banks of shared memory serve the tiles that threads write to it and read from it.
//!
//! Tiles that asynchronous copies bring and tensor cores fetch by themselves are laid out without conflicts and not told. **Invariant:** exact
//! for the code that is generated: addresses come from the layouts, widths, `ldmatrix` and `stmatrix` from where code generation has them, and a layout
//! is linear, so one instruction stands for all of its tile.

use serde::Serialize;
use tritium_semantics::target::{Feature, Sm};
use tritium_tile::{
    Elem, Function, Module, OpId, OpKind, Type, ValueId,
    layout::{
        Conversion, Distributed, SharedLayout,
        banks::{ideal_wavefronts, wavefronts},
        convert::{Access, conversion, scratch},
        matrices::Matrices,
    },
};

use tritium_tile::scratch::element_bytes;

use crate::analyses::Analyses;

/// One tile's way through shared memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Passage {
    /// Index into the source map of whoever made the module.
    pub origin: u32,
    pub is_store: bool,
    /// Bytes a thread moves with one instruction.
    pub width_bytes: u32,
    /// Of one warp's instruction, and the fewest that its bytes can take.
    pub wavefronts: u32,
    pub ideal: u32,
}

impl Passage {
    /// How many times as long as without conflicts; 1 where there are none.
    pub fn ways(&self) -> f64 {
        (f64::from(self.wavefronts) / f64::from(self.ideal.max(1))).max(1.0)
    }
}

/// Every passage of a module at L1 or L2, in program order.
pub fn passages(analyses: &Analyses<'_>, sm: &Sm) -> Vec<Passage> {
    let &Analyses { module, function, ref first_trips, ref written_beside, .. } = analyses;
    let mut out = Vec::new();
    function.walk(|_, id| {
        if !first_trips[id.index()] && !written_beside[id.index()] {
            out.extend(of_op(module, function, id, sm));
        }
    });
    out
}

/// What one operation writes and reads.
pub fn of_op(module: &Module, function: &Function, id: OpId, sm: &Sm) -> Vec<Passage> {
    let op = function.op(id);
    let elem = |value: ValueId| function.ty(value).elem();
    let tile = |value: ValueId| module.layouts.distributed(function.ty(value).layout()?);
    let buffer = |value: ValueId| match function.ty(value) {
        Type::Shared { layout, .. } => module.layouts.shared(*layout),
        Type::Tile { .. } => None,
    };
    let passage = |is_store, layout: Option<&Distributed>, buffer: Option<&SharedLayout>, elem| {
        passage(op.origin.0, is_store, layout?, buffer?, elem, sm)
    };
    let found = match op.kind {
        OpKind::LocalAlloc => op.operands.first().map(|&value| passage(true, tile(value), buffer(op.results[0]), elem(value))),
        OpKind::LocalStore => Some(passage(true, tile(op.operands[0]), buffer(op.operands[1]), elem(op.operands[0]))),
        OpKind::LocalLoad => Some(passage(false, tile(op.results[0]), buffer(op.operands[0]), elem(op.results[0]))),
        OpKind::ConvertLayout => {
            let (value, result) = (op.operands[0], op.results[0]);
            let (Some(from), Some(to)) = (tile(value), tile(result)) else { return Vec::new() };
            if matches!(conversion(from, to), Conversion::Rename(_) | Conversion::Exchange(_)) {
                return Vec::new();
            }
            let between = scratch(from, to, elem(value).bits());
            let both =
                [(true, from), (false, to)].map(|(is_store, side)| passage(is_store, Some(side), Some(&between), elem(value)));
            return both.into_iter().flatten().collect();
        }
        _ => None,
    };
    found.flatten().into_iter().collect()
}

fn passage(origin: u32, is_store: bool, tile: &Distributed, buffer: &SharedLayout, elem: Elem, sm: &Sm) -> Option<Passage> {
    let access = Access::new(tile, buffer, elem.bits())?;
    let matrices = Matrices::of(&access, elem.bits()).filter(|_| !is_store || sm.has(Feature::MatrixStores));
    let (width, wavefronts, ideal) = match matrices {
        Some(matrices) => {
            let rows = matrices.row_addresses();
            (4 << matrices.matrices.len(), wavefronts(&rows, 16), rows.len() as u32 / 8)
        }
        None => {
            let bytes = element_bytes(elem);
            let width = access.width_bytes(bytes);
            (width, wavefronts(&access.lane_addresses(bytes), width), ideal_wavefronts(width))
        }
    };
    Some(Passage { origin, is_store, width_bytes: width, wavefronts, ideal })
}

#[cfg(test)]
mod tests {
    use tritium_semantics::target::SMS;
    use tritium_tile::{
        Elem, Scalar,
        layout::{blocked::blocked, shared::row_major},
    };

    use super::passage;

    /// Lanes along the rows of a row-major buffer of 128 bytes a row, 16 bytes each: the eight of a phase are all on the same banks. Along the
    /// columns: none on another's.
    #[test]
    fn columns_of_an_unswizzled_buffer_conflict() {
        let shape = [32, 32];
        let buffer = row_major(&shape);
        let f32 = Elem::Scalar(Scalar::F32);
        let ways = |threads: [u32; 2], order: [u8; 2]| {
            let tile = blocked(&shape, &[1, 1], &threads, &[1, 1], &order);
            passage(0, true, &tile, &buffer, f32, &SMS[0]).map(|p| p.ways())
        };
        assert_eq!([ways([32, 1], [0, 1]), ways([1, 32], [1, 0])], [Some(8.0), Some(1.0)]);
    }
}
