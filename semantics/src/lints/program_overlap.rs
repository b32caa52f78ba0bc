//! RAC002 programs-overlap: neighbouring programs store to the same elements, because a program advances by less than its tile covers.
//!
//! `tl.program_id(0) + tl.arange(0, BLOCK)` is the usual way to get there. **Invariant:** only said where the tile's extent and the step come
//! from the same written sizes, and no mask ends a tile where the next one begins.

use rustc_hash::FxHashSet;
use smol_str::SmolStr;
use tritium_tile::{
    OpId, OpKind, ValueId,
    facts::{Affine, Symbol, Term},
};

use super::{
    dependence::{ANY, Dependence, dependence},
    kernel::{Kernel, ProblemExt},
    masks::{Condition, bounded, conditions, mask_of},
};
use crate::diagnostics::Code;

pub(super) fn rule(kernel: &mut Kernel<'_>) {
    let stores: Vec<OpId> =
        kernel.ops().into_iter().filter(|&op| matches!(kernel.function.op(op).kind, OpKind::Store(_))).collect();
    let mut programs = None;
    for store in stores {
        let pointer = kernel.operands(store)[0];
        let shape = kernel.function.ty(pointer).shape().clone();
        let Some(form) = kernel.facts.affine(pointer) else { continue };
        let overlaps = |(dim, &extent): (usize, &u32)| overlap(form, dim as u8, i64::from(extent));
        let Some(found) = shape.iter().enumerate().find_map(overlaps) else { continue };
        let programs = programs.get_or_insert_with(|| dependence(kernel));
        if ends_with_the_program(kernel, programs, store, found.dim) || programs.guard(store) != 0 {
            continue;
        }
        let index = kernel.meanings.along(pointer, usize::from(found.dim)).first().copied();
        if found.step > 1 && !is_of_one_size(kernel, index, found.axis) {
            continue;
        }
        let along = index.map_or_else(|| format!("axis {}", found.dim), |i| kernel.index_words(i));
        let (extent, step, axis) = (found.extent, found.step, found.axis);
        let message = format!(
            "each program stores {extent} elements along {along}, and `tl.program_id({axis})` moves it by {step}: neighbouring programs store to the same elements. Advance by as much as the tile covers",
        );
        let Some(problem) = kernel.problem(Code::RAC002, store, message) else { continue };
        let program = program_op(kernel, axis).and_then(|op| kernel.place(op));
        let problem = problem
            .with(program, "programs are told apart here")
            .with(index.and_then(|i| kernel.place_of(i)), format!("{extent} elements wide here"));
        kernel.report(problem);
    }
}

struct Overlap {
    dim: u8,
    extent: i64,
    /// In elements.
    step: i64,
    axis: u8,
}

/// The dimension that programs of an axis advance along by less than its extent.
fn overlap(form: &Affine, dim: u8, extent: i64) -> Option<Overlap> {
    let mut along = form.terms.iter().filter(|t| t.dim == Some(dim));
    let (only, None) = (along.next()?, along.next()) else { return None };
    // With no stride to tell dimensions apart by, only the contiguous one is sure.
    let is_shared = |t: &Term| t.dim.is_some_and(|d| d != dim) && t.symbols == only.symbols;
    if extent <= 1 || only.coefficient <= 0 || form.terms.iter().any(is_shared) {
        return None;
    }
    let mut found = None;
    for term in form.terms.iter().filter(|t| t.dim.is_none()) {
        let is_program = |s: &&Symbol| matches!(s, Symbol::Program(_));
        let mut programs = term.symbols.iter().filter(is_program);
        let rest = term.symbols.iter().filter(|s| !is_program(s));
        if !rest.eq(only.symbols.iter()) {
            continue;
        }
        match (programs.next(), programs.next()) {
            // Something else moves along the same dimension: a trip, another offset.
            (None, _) if !term.symbols.is_empty() => return None,
            (None, _) => {}
            (Some(Symbol::Program(axis)), None) if found.is_none() => found = Some((*axis, term.coefficient)),
            _ => return None,
        }
    }
    // Two axes, or a trip beside the program, may fill what one of them leaves.
    let is_trip = |s: &Symbol| matches!(s, Symbol::Trip(_) | Symbol::Programs(_));
    if form.terms.iter().any(|t| t.dim.is_none() && t.symbols.iter().any(is_trip)) {
        return None;
    }
    let (axis, moved) = found?;
    let step = moved / only.coefficient;
    (moved % only.coefficient == 0 && step >= 1 && step < extent).then_some(Overlap { dim, extent, step, axis })
}

/// Whether a mask may end the tile where the next begins: its bound depends on the program, or its index does not.
fn ends_with_the_program(kernel: &Kernel<'_>, programs: &Dependence, store: OpId, dim: u8) -> bool {
    let Some(mask) = mask_of(kernel, store) else { return false };
    let all = conditions(kernel, mask);
    let runs_along = |c: &&Condition| {
        let along = c.along(kernel);
        along.is_empty() || along.iter().any(|&(_, of_mask)| of_mask == usize::from(dim))
    };
    all.iter().filter(runs_along).any(|condition| match bounded(kernel, condition.value) {
        Some((index, bound)) => programs.of(bound) != 0 || programs.of(index) & !ANY == 0,
        None => true,
    })
}

fn program_op(kernel: &Kernel<'_>, axis: u8) -> Option<OpId> {
    kernel.ops().into_iter().find(|&op| matches!(kernel.function.op(op).kind, OpKind::ProgramId { axis: a } if a == axis))
}

/// Whether the tile's extent and the program's step are written with the same name, so that no choice of sizes makes them equal.
fn is_of_one_size(kernel: &Kernel<'_>, index: Option<ValueId>, axis: u8) -> bool {
    let Some(extent) = index.and_then(|i| kernel.def(i)).and_then(|(op, _)| names_at(kernel, op)) else { return false };
    let Some(program) = program_op(kernel, axis) else { return false };
    let id = kernel.function.op(program).results[0];
    let scaled = kernel.users[id.index()]
        .iter()
        .find(|&&op| matches!(kernel.function.op(op).kind, OpKind::Binary(tritium_tile::ops::BinaryOp::MulI)));
    let Some(step) = scaled.and_then(|&op| names_at(kernel, op)) else { return false };
    // Numbers written out have no name, and are what they are.
    extent.is_empty() || extent.iter().any(|name| step.contains(name))
}

/// The names in the expression that an op was made for.
fn names_at(kernel: &Kernel<'_>, op: OpId) -> Option<FxHashSet<SmolStr>> {
    let (written, _, expr) = kernel.expr(op)?;
    let mut names = written.names_in(expr);
    names.retain(|name| !matches!(name.as_str(), "tl" | "triton"));
    Some(names)
}
