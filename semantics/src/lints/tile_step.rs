//! SHP011 tile-step-mismatch: a loop advances by one block size and takes tiles of another.
//!
//! **Invariant:** only said where no mask cuts the tiles to a size of their own, where the step is a number of elements along the very dimension
//! that the tile covers, and neither size is a multiple of the other's step by design (a step of whole tiles is one).

use tritium_tile::{
    BlockId, OpId, OpKind,
    facts::{Affine, Symbol, Term},
};

use super::{
    kernel::{Kernel, ProblemExt},
    masks::{bounded, conditions, mask_of},
};
use crate::diagnostics::Code;

/// Shorter steps are windows that slide.
const SHORTEST: i64 = 16;

pub(super) fn rule(kernel: &mut Kernel<'_>) {
    for op in kernel.ops() {
        if !matches!(kernel.function.op(op).kind, OpKind::Load(_) | OpKind::Store(_)) {
            continue;
        }
        let pointer = kernel.operands(op)[0];
        let shape = kernel.function.ty(pointer).shape().clone();
        let Some(form) = kernel.facts.affine(pointer) else { continue };
        let found = shape.iter().enumerate().find_map(|(dim, &extent)| mismatch(form, dim as u8, i64::from(extent)));
        let Some((dim, extent, step, region)) = found else { continue };
        if is_cut(kernel, op, usize::from(dim)) {
            continue;
        }
        let index = kernel.meanings.along(pointer, usize::from(dim)).first().copied();
        let along = index.map_or_else(|| format!("axis {dim}"), |i| kernel.index_words(i));
        let effect = if step < extent { "elements are taken twice" } else { "elements are left out" };
        let message = format!(
            "each trip takes {extent} elements along {along} and advances by {step}: {effect}. Advance by as much as the tile covers"
        );
        let Some(problem) = kernel.problem(Code::SHP011, op, message) else { continue };
        let owner = kernel.ops().into_iter().find(|&o| kernel.function.op(o).regions.contains(&region));
        let problem = problem
            .with(owner.and_then(|o| kernel.place(o)), "in this loop")
            .with(index.and_then(|i| kernel.place_of(i)), format!("{extent} elements wide here"));
        kernel.report(problem);
    }
}

/// Whether a mask leaves the same part of every tile, as `cols < half` does: then a trip takes that part, whatever the tile's extent is.
fn is_cut(kernel: &Kernel<'_>, op: OpId, dim: usize) -> bool {
    let Some(mask) = mask_of(kernel, op) else { return false };
    conditions(kernel, mask).iter().filter(|condition| condition.dims.contains(&dim)).any(|condition| {
        bounded(kernel, condition.value).is_some_and(|(index, bound)| {
            let moves = |value| kernel.facts.affine(value).is_none_or(|form| form.terms.iter().any(|term| trip(term).is_some()));
            !moves(index) && !moves(bound)
        })
    })
}

/// The dimension, its extent, the loop's step along it in elements, and the loop.
fn mismatch(form: &Affine, dim: u8, extent: i64) -> Option<(u8, i64, i64, BlockId)> {
    let trips: Vec<&Term> = form.terms.iter().filter(|t| t.dim.is_none() && trip(t).is_some()).collect();
    let along = form.terms.iter().find(|t| t.dim == Some(dim))?;
    // One term along the dimension, and no other that steps as it does.
    if form.terms.iter().filter(|t| t.dim == Some(dim)).count() != 1 || along.coefficient <= 0 {
        return None;
    }
    let strides = |t: &Term| t.symbols.iter().copied().filter(|s| !matches!(s, Symbol::Trip(_))).collect::<Vec<_>>();
    let alike: Vec<&&Term> = trips.iter().filter(|t| strides(t) == strides(along)).collect();
    let [only] = alike[..] else { return None };
    // With no stride to tell dimensions apart by, only the contiguous one is sure.
    let others_alike = form.terms.iter().any(|t| t.dim.is_some_and(|d| d != dim) && strides(t) == strides(along));
    if others_alike || only.coefficient % along.coefficient != 0 {
        return None;
    }
    let step = only.coefficient / along.coefficient;
    let is_block = step >= SHORTEST && (step as u64).is_power_of_two();
    (is_block && step % extent != 0).then(|| Some((dim, extent, step, trip(only)?))).flatten()
}

fn trip(term: &Term) -> Option<BlockId> {
    let mut trips = term.symbols.iter().filter_map(|s| match s {
        Symbol::Trip(region) => Some(*region),
        _ => None,
    });
    let first = trips.next()?;
    trips.next().is_none().then_some(first)
}
