//! How many CTAs an SM holds at once, and what keeps it from holding more.
//!
//! **Invariant:** NVIDIA's algorithm (`cuda_occupancy.h`), with every number from the SM's row; exact for exact inputs.

use serde::Serialize;
use tritium_semantics::target::Sm;

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

/// What an occupancy depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Use {
    pub warps: u32,
    /// Per thread.
    pub registers: u32,
    /// Bytes per CTA.
    pub shared: u32,
    pub barriers: u32,
}

impl Use {
    pub fn occupancy(self, sm: &Sm) -> Option<Occupancy> {
        occupancy(sm, 32 * self.warps, self.registers, self.shared, self.barriers)
    }
}

/// What a what-if curve varies; everything else stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    Warps,
    Registers,
    Shared,
}

/// Values from `from` to `to` that give the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Step {
    pub from: u32,
    pub to: u32,
    /// 0 where not even one fits.
    pub ctas_per_sm: u32,
    pub fraction: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    pub axis: Axis,
    pub now: u32,
    pub steps: Vec<Step>,
}

impl Curve {
    fn at(&self, value: u32) -> Option<usize> {
        self.steps.iter().position(|step| step.from <= value && value <= step.to)
    }

    /// The step that the present value is on.
    pub fn here(&self) -> Option<&Step> {
        self.steps.get(self.at(self.now)?)
    }

    /// The largest value below the present one that gives more, and what it gives.
    pub fn better(&self) -> Option<&Step> {
        let here = self.at(self.now)?;
        self.steps[..here].iter().rev().find(|step| step.fraction > self.steps[here].fraction)
    }

    /// The smallest value above the present one that gives less, and what it gives.
    pub fn worse(&self) -> Option<&Step> {
        let here = self.at(self.now)?;
        self.steps[here + 1..].iter().find(|step| step.fraction < self.steps[here].fraction)
    }
}

/// How the occupancy changes with one figure while the others stay.
pub fn what_if(sm: &Sm, now: Use) -> [Curve; 3] {
    let most_warps = sm.max_threads_per_cta / 32;
    let warps: Vec<u32> = (0..).map(|n| 1 << n).take_while(|&n| n <= most_warps).collect();
    let registers: Vec<u32> = (8..=sm.max_registers_per_thread).collect();
    let unit = sm.shared_unit.max(1);
    let mut shared: Vec<u32> = (0..=sm.shared_per_cta / unit).map(|n| n * unit).collect();
    shared.push(now.shared);
    shared.sort_unstable();
    shared.dedup();
    let curve = |axis, now_value, values: &[u32], with: &dyn Fn(u32) -> Use| {
        let mut steps: Vec<Step> = Vec::new();
        for &value in values {
            let found = with(value).occupancy(sm);
            let (ctas_per_sm, fraction) = found.map_or((0, 0.0), |o| (o.ctas_per_sm, o.fraction));
            match steps.last_mut() {
                Some(last) if axis != Axis::Warps && last.ctas_per_sm == ctas_per_sm => last.to = value,
                _ => steps.push(Step { from: value, to: value, ctas_per_sm, fraction }),
            }
        }
        Curve { axis, now: now_value, steps }
    };
    [
        curve(Axis::Warps, now.warps, &warps, &|warps| Use { warps, ..now }),
        curve(Axis::Registers, now.registers, &registers, &|registers| Use { registers, ..now }),
        curve(Axis::Shared, now.shared, &shared, &|shared| Use { shared, ..now }),
    ]
}

#[cfg(test)]
mod tests {
    use tritium_semantics::target::sm;

    use super::*;

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

    /// Every point of every curve is what [`occupancy`] says, and the cliffs lie where the CTAs change.
    #[test]
    fn curves() {
        let sm = sm("sm_90").expect("a row");
        let now = Use { warps: 4, registers: 96, shared: 40 * 1024, barriers: 1 };
        let [warps, registers, shared] = what_if(sm, now);
        assert_eq!(warps.steps.iter().map(|s| s.from).collect::<Vec<_>>(), [1, 2, 4, 8, 16, 32]);
        for (curve, with) in [
            (&registers, &(|registers| Use { registers, ..now }) as &dyn Fn(u32) -> Use),
            (&shared, &|shared| Use { shared, ..now }),
        ] {
            for step in &curve.steps {
                for value in [step.from, step.to] {
                    assert_eq!(
                        with(value).occupancy(sm).map_or(0, |o| o.ctas_per_sm),
                        step.ctas_per_sm,
                        "{:?} {value}",
                        curve.axis
                    );
                }
            }
            assert_eq!(curve.here().map(|s| s.ctas_per_sm), now.occupancy(sm).map(|o| o.ctas_per_sm));
        }
        assert_eq!(registers.better(), None);
        assert_eq!(registers.worse().map(|s| (s.from, s.ctas_per_sm)), Some((97, 4)));
        assert_eq!(shared.better().map(|s| (s.to, s.ctas_per_sm)), None);
        let roomy = Use { shared: 0, ..now };
        assert_eq!(what_if(sm, roomy)[1].better().map(|s| (s.to, s.ctas_per_sm)), Some((80, 6)));
    }
}
