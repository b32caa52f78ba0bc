//! MSK012 past-the-end, LCH013 never-written: where the accesses of a known launch end, beside where its tensors do.
//!
//! The grid does not divide the size and no mask guards the last block, or the strides are another tensor's, or two sizes were swapped: some
//! program goes past the end. The grid is too small, or misses a dimension: no program gets to the end. **Invariants:** MSK012 is only said of
//! an element that the launch surely accesses: addresses are sums of natural multiples of program ids, trips and indices, and every
//! condition of the mask was worked out; LCH013 only where no store can get as far, whatever its mask, the programs' tiles lie side by side, and
//! most of the tensor is written: a larger tensor is a buffer, and what a row has beyond its tile may be meant.

use rustc_hash::FxHashMap;
use tritium_tile::{
    BlockId, OpId, OpKind, ValueId,
    facts::{Affine, Symbol},
    ops::Predicate,
};

use super::{
    kernel::Kernel,
    masks::{conditions, mask_of},
};
use crate::diagnostics::Code;

/// Elements of a tile's side that a mask is worked out for.
const MAX_SIDE: u64 = 1 << 14;

pub(super) fn rule(kernel: &mut Kernel<'_>) {
    if kernel.launched.tensors.iter().all(Option::is_none) {
        return;
    }
    let mut runs = vec![false; kernel.function.ops.len()];
    let always = blocks_that_run(kernel);
    kernel.function.walk(|block, op| runs[op.index()] = always[block.index()]);
    let mut reached = Reached::default();
    for op in kernel.ops() {
        let kind = &kernel.function.op(op).kind;
        if !matches!(kind, OpKind::Load(_) | OpKind::Store(_) | OpKind::AtomicRmw { .. }) {
            // What else takes a pointer may write anywhere.
            reached.is_opaque |=
                !kind.is_pure() && !kind.is_control() && kernel.operands(op).iter().any(|&v| is_pointer(kernel, v));
            continue;
        }
        let access = access(kernel, op);
        if !matches!(kind, OpKind::Load(_)) {
            reached.add(kernel, op, access.as_ref());
        }
        if let Some(access) = access.filter(|_| runs[op.index()]) {
            tell_past_the_end(kernel, op, &access);
        }
    }
    reached.tell(kernel);
}

fn is_pointer(kernel: &Kernel<'_>, value: ValueId) -> bool {
    kernel.function.ty(value).elem().pointee().is_some()
}

/// An access through one parameter: its place among them, and the bytes from the tensor's beginning.
struct Access {
    param: usize,
    offset: Affine,
}

fn access(kernel: &Kernel<'_>, op: OpId) -> Option<Access> {
    let mut offset = kernel.facts.affine(kernel.operands(op)[0])?.clone();
    let params = &kernel.function.params;
    let base = |s: &Symbol| match s {
        Symbol::Value(v) => params.iter().position(|p| p.value == *v && is_pointer(kernel, *v)),
        Symbol::Program(_) | Symbol::Programs(_) | Symbol::Trip(_) => None,
    };
    let bases: Vec<usize> = offset.terms.iter().flat_map(|t| &t.symbols).filter_map(base).collect();
    let &[param] = &bases[..] else { return None };
    let is_base = |t: &tritium_tile::facts::Term| t.symbols.iter().any(|s| base(s).is_some());
    let sound = offset.terms.iter().filter(|t| is_base(t)).all(|t| t.symbols.len() == 1 && t.coefficient == 1 && t.dim.is_none());
    offset.terms.retain(|t| !is_base(t));
    sound.then_some(Access { param, offset })
}

/// Numbers for the symbols of one program and trip.
struct Corner<'k, 'a> {
    kernel: &'k Kernel<'a>,
    /// By axis: the last program, or the first.
    last: [bool; 3],
    /// Whether the loops are in their last trip.
    last_trip: bool,
}

impl Corner<'_, '_> {
    fn number(&self, symbol: Symbol) -> Option<i64> {
        let programs = |axis: u8| self.kernel.launched.grid.get(usize::from(axis)).copied().flatten()?.constant();
        match symbol {
            Symbol::Program(axis) if *self.last.get(usize::from(axis))? => Some(programs(axis)? - 1),
            Symbol::Program(_) => Some(0),
            Symbol::Programs(axis) => programs(axis),
            Symbol::Trip(_) if !self.last_trip => Some(0),
            Symbol::Trip(body) => Some(trips(self.kernel, body)? - 1),
            Symbol::Value(v) => self.kernel.facts.range(v).constant(),
        }
    }

    fn eval(&self, form: &Affine, index: &[u64]) -> Option<i64> {
        form.eval(index, &|s| self.number(s))
    }
}

/// How often a loop's body runs, if it does.
fn trips(kernel: &Kernel<'_>, body: BlockId) -> Option<i64> {
    let around = kernel.function.for_loop(kernel.owners[body.index()]?)?;
    let [lower, upper, step] = around.bounds.map(|bound| kernel.facts.range(bound).constant());
    let (lower, upper, step) = (lower?, upper?, step?);
    (step > 0 && upper > lower).then(|| (upper - lower + step - 1) / step)
}

/// By block: whether every program surely runs it.
fn blocks_that_run(kernel: &Kernel<'_>) -> Vec<bool> {
    let mut out = vec![false; kernel.function.blocks.len()];
    let mut pending = vec![kernel.function.body];
    while let Some(block) = pending.pop() {
        out[block.index()] = true;
        for &op in &kernel.function.block(block).ops {
            match kernel.function.op(op).kind {
                OpKind::If | OpKind::While { .. } => {}
                OpKind::For(_) => pending.extend(kernel.function.op(op).regions.iter().filter(|&&r| trips(kernel, r).is_some())),
                _ => pending.extend(&kernel.function.op(op).regions),
            }
        }
    }
    out
}

/// Whether an access grows with every program id, trip and index, so that its ends are at the ends of these.
fn is_natural(kernel: &Kernel<'_>, form: &Affine) -> bool {
    form.terms.iter().all(|t| {
        let is_number = t.symbols.is_empty() && t.dim.is_none();
        is_number
            || t.coefficient > 0
                && t.symbols.iter().all(|s| match s {
                    Symbol::Value(v) => kernel.facts.range(*v).constant().is_some_and(|n| n >= 0),
                    Symbol::Program(_) | Symbol::Programs(_) | Symbol::Trip(_) => true,
                })
    })
}

/// The largest index along each dimension that the mask lets through; `None` where it lets none, or that is not known.
fn last_index(corner: &Corner<'_, '_>, op: OpId) -> Option<Vec<u64>> {
    let kernel = corner.kernel;
    let shape = kernel.function.ty(kernel.operands(op)[0]).shape();
    let mut allowed: Vec<Vec<bool>> = Vec::new();
    for &extent in shape {
        (u64::from(extent) <= MAX_SIDE).then_some(())?;
        allowed.push(vec![true; extent as usize]);
    }
    let all = mask_of(kernel, op).map(|mask| conditions(kernel, mask)).unwrap_or_default();
    for condition in all {
        if kernel.facts.range(condition.value).constant() == Some(1) {
            continue;
        }
        let (compare, &OpKind::Compare(predicate)) = kernel.def(condition.value)? else { return None };
        let holds = |index: &[u64]| {
            let [a, b] = [0, 1].map(|n| corner.eval(kernel.facts.affine(kernel.operands(compare)[n])?, index));
            holds(predicate, a?, b?)
        };
        let mut at = vec![0; condition.dims.len()];
        match condition.along(kernel)[..] {
            [] => holds(&at)?.then_some(())?,
            [(own, of_mask)] => {
                for (index, free) in allowed.get_mut(of_mask)?.iter_mut().enumerate() {
                    at[own] = index as u64;
                    *free &= holds(&at)?;
                }
            }
            _ => return None,
        }
    }
    allowed.iter().map(|side| Some(side.iter().rposition(|&free| free)? as u64)).collect()
}

fn holds(predicate: Predicate, a: i64, b: i64) -> Option<bool> {
    Some(match predicate {
        Predicate::LtS => a < b,
        Predicate::LeS => a <= b,
        Predicate::GtS => a > b,
        Predicate::GeS => a >= b,
        Predicate::Eq => a == b,
        Predicate::Ne => a != b,
        _ => return None,
    })
}

fn tell_past_the_end(kernel: &mut Kernel<'_>, op: OpId, access: &Access) {
    let Some(extent) = kernel.launched.tensors.get(access.param).copied().flatten() else { return };
    if !is_natural(kernel, &access.offset) {
        return;
    }
    let Some(unit) = kernel.function.ty(kernel.operands(op)[0]).elem().pointee().map(|s| i64::from(s.bytes())) else { return };
    let mut furthest = None;
    for corner in 0..16u8 {
        let last = [0, 1, 2].map(|axis| corner & (1 << axis) != 0);
        let corner = Corner { kernel, last, last_trip: corner & 8 != 0 };
        let Some(index) = last_index(&corner, op) else { continue };
        furthest = furthest.max(corner.eval(&access.offset, &index));
    }
    let Some(furthest) = furthest else { return };
    let elements = extent.bytes as i64 / unit;
    let element = furthest / unit;
    if element < elements {
        return;
    }
    let verb = if matches!(kernel.function.op(op).kind, OpKind::Load(_)) { "reads" } else { "writes" };
    let mask = if mask_of(kernel, op).is_some() { "its mask lets it through" } else { "no mask keeps it back" };
    let name = &kernel.function.params[access.param].name;
    let message = format!("in this launch this {verb} element {element} of `{name}`, which has {elements} elements: {mask}");
    let Some(problem) = kernel.problem(Code::MSK012, op, message) else { return };
    kernel.report(problem);
}

/// Whether the tile of one program begins where that of another ends, or before: there are several, and the nearest is no further than a tile.
fn is_dense(kernel: &Kernel<'_>, op: OpId, offset: &Affine) -> bool {
    let corner = Corner { kernel, last: [true; 3], last_trip: true };
    let shape = kernel.function.ty(kernel.operands(op)[0]).shape();
    let last: Vec<u64> = shape.iter().map(|&extent| u64::from(extent) - 1).collect();
    let unit = kernel.function.ty(kernel.operands(op)[0]).elem().pointee().map_or(1, |s| i64::from(s.bytes()));
    let (ends, begins) = (corner.eval(offset, &last), corner.eval(offset, &vec![0; last.len()]));
    let Some(span) = ends.zip(begins).map(|(end, begin)| end - begin + unit) else { return false };
    let steps = [0u8, 1, 2].into_iter().filter_map(|axis| {
        let several = corner.number(Symbol::Programs(axis)).is_some_and(|n| n > 1);
        let before = |s: Symbol| if s == Symbol::Program(axis) { Some(corner.number(s)? - 1) } else { corner.number(s) };
        let step = begins? - offset.eval(&vec![0; last.len()], &before)?;
        (several && step > 0).then_some(step)
    });
    steps.min().is_some_and(|step| step <= span)
}

/// How far the stores of a kernel can get, in bytes from the beginning of a tensor.
#[derive(Default)]
struct Reached {
    by_param: FxHashMap<usize, (i64, OpId)>,
    /// Stores that leave room between programs.
    sparse: Vec<OpId>,
    /// Some store may go anywhere.
    is_opaque: bool,
}

impl Reached {
    fn add(&mut self, kernel: &Kernel<'_>, op: OpId, access: Option<&Access>) {
        let end = || {
            let access = access.filter(|access| is_natural(kernel, &access.offset))?;
            let corner = Corner { kernel, last: [true; 3], last_trip: true };
            let shape = kernel.function.ty(kernel.operands(op)[0]).shape();
            let index: Vec<u64> = shape.iter().map(|&extent| u64::from(extent) - 1).collect();
            let unit = kernel.function.ty(kernel.operands(op)[0]).elem().pointee()?.bytes();
            Some((access.param, corner.eval(&access.offset, &index)? + i64::from(unit)))
        };
        match end() {
            Some((param, end)) => {
                if !access.is_some_and(|access| is_dense(kernel, op, &access.offset)) {
                    self.sparse.push(op);
                }
                let furthest = self.by_param.entry(param).or_insert((end, op));
                if end > furthest.0 {
                    *furthest = (end, op);
                }
            }
            None => self.is_opaque = true,
        }
    }

    fn tell(self, kernel: &mut Kernel<'_>) {
        if self.is_opaque || !kernel.complete {
            return;
        }
        let mut all: Vec<(usize, (i64, OpId))> = self.by_param.into_iter().collect();
        all.sort_unstable_by_key(|(param, _)| *param);
        for (param, (end, op)) in all {
            let Some(extent) = kernel.launched.tensors.get(param).copied().flatten() else { continue };
            let Some(unit) = kernel.function.ty(kernel.operands(op)[0]).elem().pointee().map(|s| i64::from(s.bytes())) else {
                continue;
            };
            let bytes = extent.bytes as i64;
            if !extent.is_unwritten || end >= bytes || 2 * end < bytes || self.sparse.contains(&op) {
                continue;
            }
            let name = &kernel.function.params[param].name;
            let (written, elements) = (end / unit, extent.bytes as i64 / unit);
            let message = format!(
                "in this launch no program writes `{name}` from element {written} of {elements} on: the grid is too small or misses a dimension, and what is left is never initialised"
            );
            let Some(problem) = kernel.problem(Code::LCH013, op, message) else { continue };
            kernel.report(problem);
        }
    }
}
