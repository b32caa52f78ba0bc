//! One way to write each thing: see [`tritium_tile::simplify`].

use tritium_tile::{
    Function, Module, Op, OpId, OpKind,
    simplify::{Accumulator, Policy, simplify},
};

use super::{CompileOptions, Pass, Unsupported};
use crate::pressure::is_heavy;

pub static PASS: Pass = Pass {
    name: "canonicalise",
    summary: "Fold constants, drop identities, compute equal and invariant values once.",
    needs: &[],
    gives: &[],
    run,
};

fn run(module: &mut Module, options: &CompileOptions) -> Result<(), Unsupported> {
    let policy = Policy {
        folds_ranges: true,
        folds_floats: false,
        drops_masked_accesses: true,
        merges_regions: false,
        accumulator: &|function, first, second| {
            if waits_while_held(function, first, second, options) { Accumulator::Right } else { Accumulator::Left }
        },
        // What would crowd the registers of the loop is computed in it.
        may_hoist: &|function, op| !is_heavy(function, op, options.launch.num_warps) && function.op(op).regions.is_empty(),
    };
    simplify(module, &policy);
    Ok(())
}

/// Of two products that are added, the second is made from another product, and the first from more than a thread should hold meanwhile. Otherwise
/// both are computed where the sum is, and their operands brought to shared memory behind one barrier.
fn waits_while_held(function: &Function, first: &Op, second: &Op, options: &CompileOptions) -> bool {
    made_of(function, second).any(|id| matches!(function.op(id).kind, OpKind::Dot { .. }))
        && made_of(function, first).any(|id| is_heavy(function, id, options.launch.num_warps))
}

/// What the operands of a product are computed from, up to loads and other products.
fn made_of<'f>(function: &'f Function, product: &'f Op) -> impl Iterator<Item = OpId> + 'f {
    let mut seen = vec![false; function.values.len()];
    let mut pending = product.operands[..2].to_vec();
    std::iter::from_fn(move || {
        loop {
            let value = pending.pop()?;
            let Some(id) = function.def_op(value).filter(|_| !std::mem::replace(&mut seen[value.index()], true)) else {
                continue;
            };
            let op = function.op(id);
            if !matches!(op.kind, OpKind::Dot { .. } | OpKind::Load(_)) {
                pending.extend(&op.operands);
            }
            return Some(id);
        }
    })
}
