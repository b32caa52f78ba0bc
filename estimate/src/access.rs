//! How well each load and store uses memory: the width of an access and the sectors a warp's request touches.
//!
//! The addresses of one warp's 32 lanes are enumerated from the affine form of the pointer and the layout. **Invariant:** exact when the
//! address has a form and every stride in it is known, up to the alignment of the base, which is taken as whole sectors; `None` when
//! addresses come from memory.

use serde::Serialize;
use tritium_tile::{
    Function, Module, OpId, OpKind, Origin, Scalar, ValueId,
    effects::{MAX_ACCESS_BYTES, mask_of, pointee_bytes},
    facts::{Facts, Symbol},
    layout::algebra::unflatten,
};

use crate::{analyses::Analyses, cost::Launch};

/// Bytes of DRAM and L2 that move together.
pub const SECTOR: u64 = 32;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Access {
    /// Index into the source map of whoever made the module.
    pub origin: u32,
    pub is_store: bool,
    /// Bytes a thread moves with one instruction.
    pub width_bytes: u32,
    /// Why it is less than the widest, if it is.
    pub reason: Option<String>,
    pub narrow: Option<Narrow>,
    /// Elements of a thread, and the instructions that move them.
    pub elements: u64,
    pub instructions: u64,
    /// Sectors that one warp-wide request touches, and the fewest that would do.
    pub sectors_per_request: Option<u32>,
    pub ideal_sectors: Option<u32>,
    /// Strides were given by a launch or are constants; otherwise unknown strides were taken as far apart.
    pub exact: bool,
}

/// What keeps an access from being wider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Narrow {
    /// Neighbours are not adjacent in memory, or not known to be.
    Adjacency,
    /// Addresses are not known to be multiples of enough bytes.
    Alignment,
    /// The mask may change between neighbours.
    Mask,
    /// A thread holds few neighbours.
    Tile,
}

/// Every load and store of tiles in a module at L1, in program order.
pub fn accesses(analyses: &Analyses<'_>, launch: Option<&Launch>) -> Vec<Access> {
    let &Analyses { module, function, ref facts, ref first_trips, ref written_beside } = analyses;
    let mut out = Vec::new();
    function.walk(|_, id| {
        let op = function.op(id);
        let (vector, is_store) = match op.kind {
            OpKind::Load(attrs) => (attrs.vector.max(1), false),
            OpKind::Store(attrs) => (attrs.vector.max(1), true),
            OpKind::AsyncCopy(attrs) => (attrs.vector.max(1), false),
            _ => return,
        };
        if first_trips[id.index()] || written_beside[id.index()] {
            return;
        }
        if function.ty(op.operands[0]).is_scalar() {
            return;
        }
        let unit = pointee_bytes(function, op.operands[0]);
        let width = u32::from(vector) * unit;
        let sectors = sectors(module, function, facts, op.operands[0], width, launch);
        let narrow = (width < MAX_ACCESS_BYTES).then(|| reason(module, function, facts, id, u64::from(vector)));
        let layout = function.ty(op.operands[0]).layout().and_then(|l| module.layouts.distributed(l));
        let elements = layout.map_or(1, |l| l.num_registers() as u64);
        out.push(Access {
            origin: op.origin.0,
            is_store,
            width_bytes: width,
            narrow: narrow.as_ref().map(|(narrow, _)| *narrow),
            reason: narrow.map(|(_, reason)| reason),
            elements,
            instructions: elements / u64::from(vector),
            sectors_per_request: sectors.map(|s| s.touched),
            ideal_sectors: sectors.map(|s| s.ideal),
            exact: sectors.is_some_and(|s| s.exact),
        });
    });
    debug_assert!(out.iter().all(|a| a.origin == Origin::NONE.0 || a.width_bytes > 0));
    out
}

/// The one thing that keeps an access from being twice as wide.
fn reason(module: &Module, function: &Function, facts: &Facts, id: OpId, vector: u64) -> (Narrow, String) {
    let op = function.op(id);
    let pointer = op.operands[0];
    let unit = u64::from(pointee_bytes(function, pointer));
    let axis = facts.axis(pointer);
    let ty = function.ty(pointer);
    // The dimension that is contiguous, or the last.
    let rank = ty.shape().len();
    let d = (0..rank).rev().max_by_key(|&d| (axis.contiguity[d], d)).unwrap_or(0);
    if axis.contiguity[d] <= vector {
        let reason = if axis.contiguity[d] == 1 {
            "neighbouring elements are not known to be adjacent in memory; a stride that is 1 should be known at compile time"
                .to_string()
        } else {
            format!("only {} neighbouring elements are known to be adjacent in memory", axis.contiguity[d])
        };
        return (Narrow::Adjacency, reason);
    }
    if axis.divisibility[d] / unit <= vector {
        let reason = format!(
            "addresses are only known to be multiples of {} bytes; strides and offsets should be multiples of 16",
            axis.divisibility[d].min(u64::from(MAX_ACCESS_BYTES))
        );
        return (Narrow::Alignment, reason);
    }
    if let Some(mask) = mask_of(function, id)
        && facts.axis(mask).constancy[d] <= vector
    {
        let run = match facts.axis(mask).constancy[d] {
            1 => "element".to_owned(),
            run => format!("{run} elements"),
        };
        let reason = format!("the mask may change after every {run}; a bound that is a multiple of 16 would keep it constant");
        return (Narrow::Mask, reason);
    }
    let held = ty.layout().and_then(|l| module.layouts.distributed(l)).map_or(1, |l| l.contiguous_registers(d));
    let elements = if held == 1 { "element" } else { "elements" };
    (Narrow::Tile, format!("a thread holds only {held} adjacent {elements} of the tile"))
}

/// Bytes in the sectors that an access of all warps touches, strides that nobody knows taken as far apart; `None` where addresses come
/// from memory.
pub(crate) fn sector_bytes(
    module: &Module,
    function: &Function,
    facts: &Facts,
    id: OpId,
    launch: Option<&Launch>,
) -> Option<f64> {
    let op = function.op(id);
    let pointer = op.operands[0];
    let vector = match op.kind {
        OpKind::Load(attrs) => attrs.vector.max(1),
        OpKind::Store(attrs) => attrs.vector.max(1),
        OpKind::AsyncCopy(attrs) => attrs.vector.max(1),
        _ => 1,
    };
    let layout = module.layouts.distributed(function.ty(pointer).layout()?)?;
    let width = u32::from(vector) * pointee_bytes(function, pointer);
    let touched = sectors(module, function, facts, pointer, width, launch)?.touched;
    // Warps that hold the same elements are told apart by nothing that stores, and load once.
    let (_, _, idle) = layout.free_bits();
    let warps = f64::from(layout.num_warps() >> idle.count_ones());
    let requests = layout.num_registers() as f64 / f64::from(vector) * warps;
    Some(f64::from(touched) * SECTOR as f64 * requests)
}

#[derive(Clone, Copy)]
struct Sectors {
    touched: u32,
    ideal: u32,
    exact: bool,
}

fn sectors(
    module: &Module,
    function: &Function,
    facts: &Facts,
    pointer: ValueId,
    width: u32,
    launch: Option<&Launch>,
) -> Option<Sectors> {
    let form = facts.affine(pointer)?;
    let layout = module.layouts.distributed(function.ty(pointer).layout()?)?;
    let mut exact = true;
    // What all lanes share only shifts the request: by whole sectors, if that is known.
    let strides: Vec<Symbol> = form.terms.iter().filter(|t| t.dim.is_some()).flat_map(|t| t.symbols.iter().copied()).collect();
    let value = |symbol: Symbol| -> Option<i64> {
        let known = match symbol {
            Symbol::Value(v) if function.ty(v).elem().scalar().is_some_and(Scalar::is_int) => {
                launch.and_then(|launch| launch.scalar(function, v))
            }
            Symbol::Value(_) | Symbol::Program(_) | Symbol::Programs(_) | Symbol::Trip(_) => Some(0),
        };
        Some(known.unwrap_or(if strides.contains(&symbol) { 1 << 20 } else { 0 }))
    };
    for symbol in &strides {
        if let Symbol::Value(v) = symbol {
            exact &= launch.is_some_and(|launch| launch.scalar(function, *v).is_some());
        }
    }
    let mut touched: Vec<i64> = Vec::new();
    let mut bytes: Vec<i64> = Vec::new();
    for lane in 0..32 {
        let index = unflatten(&layout.shape, layout.apply(0, lane, 0));
        let index: Vec<u64> = index.iter().map(|&i| u64::from(i)).collect();
        let start = form.eval(&index, &value)?;
        let end = start.wrapping_add(i64::from(width) - 1);
        touched.extend([start.div_euclid(SECTOR as i64), end.div_euclid(SECTOR as i64)]);
        bytes.push(start);
    }
    for list in [&mut touched, &mut bytes] {
        list.sort_unstable();
        list.dedup();
    }
    let ideal = (bytes.len() as u64 * u64::from(width)).div_ceil(SECTOR) as u32;
    Some(Sectors { touched: touched.len() as u32, ideal, exact })
}
