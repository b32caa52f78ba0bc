//! What the number of CTAs that an SM holds at once would be with other warps, registers or shared memory.
//!
//! **Invariant:** every point of a curve is what [`occupancy`] says.

use serde::Serialize;
pub use tritium_semantics::occupancy::{Limiter, Occupancy, occupancy, registers_of_thread};
use tritium_semantics::target::Sm;

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
