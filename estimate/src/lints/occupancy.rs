//! RES003: few warps fit a multiprocessor because of Triton's shared memory, and a little less would let more in.
//!
//! Registers are left out of it: they are not known before ptxas has run. **So it says at most how many fit, and nothing where tensor cores work, which
//! need few.**

use tritium_semantics::diagnostics::Code;

use super::{Finding, Ground, grouped};
use crate::occupancy::{Limiter, occupancy};

/// Above this share of a multiprocessor's warps nobody waits for more.
const ENOUGH: f64 = 0.25;

pub(super) fn rule(ground: &Ground<'_>, found: &mut Vec<Finding>) {
    let sm = ground.gpu.sm;
    let shared = ground.footprint.shared_bytes.value;
    let threads = ground.options.threads();
    let tensor_cores = ground.footprint.products.iter().any(|product| product.unit != "fma");
    let Some(now) = occupancy(sm, threads, 1, shared, 0).filter(|_| !tensor_cores) else { return };
    if now.limiter != Limiter::Shared || now.fraction >= ENOUGH {
        return;
    }
    let next = sm.shared_per_sm / (now.ctas_per_sm + 1) / sm.shared_unit * sm.shared_unit;
    let message = format!(
        "Triton's ~{} bytes of shared memory let at most {} thread block{} of {} warps onto a multiprocessor of {} ({:.0} % of its warps); {} bytes or less would let {} in",
        grouped(shared),
        now.ctas_per_sm,
        if now.ctas_per_sm == 1 { "" } else { "s" },
        ground.options.num_warps,
        ground.gpu.name(),
        100.0 * now.fraction,
        grouped(next.saturating_sub(sm.shared_reserved)),
        now.ctas_per_sm + 1,
    );
    found.push(Finding::of_kernel(Code::RES003, message));
}
