//! One way to write each thing: see [`tritium_tile::simplify`].

use tritium_tile::{
    Module,
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
        accumulator: Accumulator::Left,
        // What would crowd the registers of the loop is computed in it.
        may_hoist: &|function, op| !is_heavy(function, op, options.launch.num_warps) && function.op(op).regions.is_empty(),
    };
    simplify(module, &policy);
    Ok(())
}
