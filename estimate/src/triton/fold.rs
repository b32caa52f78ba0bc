//! What Triton's passes over MLIR fold before anything has a layout.
//!
//! Only literals fold, those of floats too, not what ranges say; accesses that are masked off stay; of two products that are added the
//! second takes the other as its accumulator; equal reductions are done once, and what is invariant leaves its loop, however long its
//! result is kept.

use tritium_tile::{
    Module,
    simplify::{Accumulator, Policy, simplify},
};

pub(super) fn fold(module: &mut Module) {
    let policy = Policy {
        folds_ranges: false,
        folds_floats: true,
        drops_masked_accesses: false,
        merges_regions: true,
        accumulator: &|_, _, _| Accumulator::Right,
        may_hoist: &|_, _| true,
    };
    simplify(module, &policy);
}
