//! What is known of a value, in sentences for a hover: what its dimensions run along, its bounds, how it is aligned, and where each
//! fact comes from.
//!
//! **Invariant:** a sentence says no more than the facts do; what follows from the type alone is not said.

use tritium_tile::{
    OpKind, ValueId,
    facts::{Launched, Range},
};

use super::{
    kernel::Kernel,
    masks::{bounded, conditions, mask_of},
};
use crate::{Db, Instance, elaborate::elaborate, problem::Place};

/// Powers of two past this are 0 as far as anybody cares.
const MAX_FACTOR: u64 = 1 << 31;

/// Sentences about the value of the expression at a place; none if nothing is known.
pub fn described(db: &dyn Db, instance: Instance, launched: &Launched, place: Place) -> Vec<String> {
    let elaborated = elaborate(db, instance);
    let Some(function) = super::whole(elaborated) else { return vec![] };
    let kernel = Kernel::new(db, elaborated, &function, launched);
    // The last operation of an expression makes its value; constants on the way there belong to its parts.
    let made = |op| kernel.place(op) == Some(place) && kernel.function.op(op).results.len() == 1;
    let Some(op) = kernel.ops().into_iter().rev().find(|&op| made(op)) else { return vec![] };
    let value = function.op(op).results[0];
    let mut out = Vec::new();
    out.extend(axes(&kernel, value));
    out.extend(range(&kernel, value));
    out.extend(alignment(&kernel, value));
    out
}

/// `axis 0 runs along `offs_m` (below `M`), axis 1 along `offs_k` (below `K`)`
fn axes(kernel: &Kernel<'_>, value: ValueId) -> Option<String> {
    let rank = kernel.meanings.rank(value);
    let mut parts = Vec::new();
    for dim in 0..rank {
        let indices = kernel.meanings.along(value, dim);
        if indices.is_empty() {
            continue;
        }
        let names: Vec<String> = indices
            .iter()
            .map(|&index| match bounds(kernel, index) {
                Some(bound) => format!("{} (below {bound})", kernel.index_words(index)),
                None => kernel.index_words(index),
            })
            .collect();
        let axis = if rank == 1 { "runs along".to_owned() } else { format!("axis {dim} runs along") };
        parts.push(format!("{axis} {}", names.join(" and ")));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// What masks compare an index with.
fn bounds(kernel: &Kernel<'_>, index: ValueId) -> Option<String> {
    for op in kernel.ops() {
        let Some(mask) = mask_of(kernel, op) else { continue };
        for condition in conditions(kernel, mask) {
            if let Some((i, bound)) = bounded(kernel, condition.value)
                && (0..kernel.meanings.rank(i)).any(|d| kernel.meanings.along(i, d) == [index])
            {
                return Some(kernel.say(bound, "a bound"));
            }
        }
    }
    None
}

fn range(kernel: &Kernel<'_>, value: ValueId) -> Option<String> {
    let ty = kernel.function.ty(value);
    ty.elem().scalar().filter(|s| s.is_int() && s.bits() > 1)?;
    let range = kernel.facts.range(value);
    let full = Range::of_type(ty);
    let said = match (range.min > full.min, range.max < full.max - 1) {
        _ if range.constant().is_some() => format!("always {}", range.min),
        (true, true) => format!("between {} and {}", range.min, range.max),
        (true, false) => format!("at least {}", range.min),
        (false, true) => format!("at most {}", range.max),
        (false, false) if kernel.facts.is_natural(value) => "not negative, if it does not wrap".to_owned(),
        (false, false) => return None,
    };
    Some(said)
}

fn alignment(kernel: &Kernel<'_>, value: ValueId) -> Option<String> {
    let ty = kernel.function.ty(value);
    if ty.elem().scalar().is_some_and(|s| s.is_float()) || ty.elem().bits() == 1 {
        return None;
    }
    let axis = kernel.facts.axis(value);
    let shape = ty.shape();
    let mut said = Vec::new();
    let is_pointer = ty.elem().pointee().is_some();
    let extents = || shape.iter().enumerate().filter(|(_, extent)| **extent > 1);
    for (d, &extent) in extents() {
        let along = if shape.len() == 1 { String::new() } else { format!(" along axis {d}") };
        let (run, same) = (axis.contiguity[d], axis.constancy[d]);
        if run > 1 {
            let all = if run >= u64::from(extent) { format!("all {extent}") } else { format!("runs of {run}") };
            said.push(format!("contiguous{along}: {all}"));
        } else if same > 1 && extents().count() > 1 {
            continue;
        } else if same > 1 {
            said.push(format!("constant{along} in runs of {same}"));
        }
    }
    let multiple = axis.divisibility.iter().copied().max().unwrap_or(1);
    if multiple > 1 && kernel.facts.range(value).constant().is_none() {
        let is_run = extents().next().is_some() && axis.contiguity.iter().any(|&c| c > 1);
        if is_run && multiple > MAX_FACTOR {
            said.push("begins at 0".to_owned());
            return Some(said.join("; "));
        }
        let first = if is_run { "begins at a multiple of" } else { "multiple of" };
        let unit = if is_pointer { " bytes" } else { "" };
        let multiple = if multiple > MAX_FACTOR { "any power of two".to_owned() } else { multiple.to_string() };
        let from = sources(kernel, value);
        let from = if from.is_empty() { String::new() } else { format!(" (from {})", from.join(", ")) };
        said.push(format!("{first} {multiple}{unit}{from}"));
    }
    (!said.is_empty()).then(|| said.join("; "))
}

/// The arguments that an alignment rests on, with what is promised of them.
fn sources(kernel: &Kernel<'_>, value: ValueId) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut pending = vec![value];
    let mut steps = 0;
    while let Some(value) = pending.pop() {
        steps += 1;
        if steps > 256 {
            break;
        }
        if let Some(param) = kernel.function.params.iter().find(|p| p.value == value) {
            let promise = if param.divisibility > 1 {
                format!("`{}` divisible by {}", param.name, param.divisibility)
            } else {
                format!("`{}` not known to be divisible", param.name)
            };
            if !out.contains(&promise) {
                out.push(promise);
            }
            continue;
        }
        if let Some((op, kind)) = kernel.def(value)
            && !matches!(kind, OpKind::Load(_) | OpKind::Reduce { .. } | OpKind::Dot { .. })
        {
            pending.extend(kernel.operands(op).iter().rev());
        }
    }
    out.truncate(4);
    out
}
