//! How many CTAs an SM holds at once, and what keeps it from holding more.
//!
//! **Invariant:** NVIDIA's algorithm (`cuda_occupancy.h`), with every number from the SM's row; exact for exact inputs.

use serde::Serialize;

use crate::target::Sm;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limiter {
    Warps,
    Ctas,
    Registers,
    Shared,
    Barriers,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Occupancy {
    pub ctas_per_sm: u32,
    pub warps_per_sm: u32,
    /// Warps held over warps that fit, 0 to 1.
    pub fraction: f64,
    pub limiter: Limiter,
}

/// Registers that ptxas gives a thread at most: as many as let a CTA start, and `maxnreg`.
pub fn registers_of_thread(sm: &Sm, num_warps: u32, max_registers: Option<u32>) -> u32 {
    let shared_out = sm.registers_per_sm / (32 * num_warps).max(1) / 8 * 8;
    sm.max_registers_per_thread.min(shared_out).min(max_registers.unwrap_or(u32::MAX))
}

/// `None` if not even one CTA fits. `shared` includes static and dynamic shared memory, `barriers` is how many named ones a CTA uses.
pub fn occupancy(sm: &Sm, threads: u32, registers: u32, shared: u32, barriers: u32) -> Option<Occupancy> {
    let warps = threads.div_ceil(32).max(1);
    let per_warp = (32 * registers.max(1)).next_multiple_of(sm.register_unit);
    let partitions = sm.partitions;
    if u64::from(per_warp) * u64::from(warps.next_multiple_of(partitions)) > u64::from(sm.registers_per_sm)
        || threads > sm.max_threads_per_cta
        || shared > sm.shared_per_cta
        || registers > sm.max_registers_per_thread
    {
        return None;
    }
    let shared = (shared + sm.shared_reserved).next_multiple_of(sm.shared_unit);
    let limits = [
        (Limiter::Warps, sm.max_warps_per_sm / warps),
        (Limiter::Ctas, sm.max_ctas_per_sm),
        (Limiter::Registers, sm.registers_per_sm / partitions / per_warp * partitions / warps),
        (Limiter::Shared, sm.shared_per_sm.checked_div(shared).unwrap_or(u32::MAX)),
        (Limiter::Barriers, sm.barriers_per_sm.checked_div(barriers).unwrap_or(u32::MAX)),
    ];
    let (limiter, ctas) = limits.into_iter().min_by_key(|&(_, ctas)| ctas)?;
    (ctas > 0).then(|| Occupancy {
        ctas_per_sm: ctas,
        warps_per_sm: ctas * warps,
        fraction: f64::from(ctas * warps) / f64::from(sm.max_warps_per_sm),
        limiter,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::sm;

    /// Rows worked out by hand from the algorithm.
    #[test]
    fn limits() {
        let sm = sm("sm_90").expect("a row");
        let check = |threads, registers, shared, ctas, limiter| {
            let found = occupancy(sm, threads, registers, shared, 1).expect("fits");
            assert_eq!((found.ctas_per_sm, found.limiter), (ctas, limiter), "{threads} {registers} {shared}");
        };
        check(128, 32, 0, 16, Limiter::Warps);
        check(128, 64, 0, 8, Limiter::Registers);
        check(32, 16, 0, 32, Limiter::Ctas);
        check(128, 32, 100 * 1024, 2, Limiter::Shared);
        check(384, 168, 200 * 1024, 1, Limiter::Registers);
        assert_eq!(occupancy(sm, 1024, 128, 0, 1), None);
        assert_eq!(occupancy(sm, 128, 32, 228 * 1024, 1), None);
    }
}
