//! How long a launch takes, and what holds it up.
//!
//! DRAM and the SMs work at the same time; on an SM its units do too, but for the plain instructions between products, of which a part is
//! exposed. An SM that gets one program more than the others keeps the launch waiting (wave quantisation). The limiter is the unit with the
//! highest share of its peak, as a profiler names it. **Invariant:** the constants are here and in [`super::units`], fitted to
//! `bench/results/h200.md`; a unit without a rate makes the time unknown.

use serde::Serialize;
use tritium_semantics::target::Gpu;

use super::{units::Unit, work::Work};
use crate::occupancy::Occupancy;

/// Microseconds from the start of a launch to its end that nothing works: starting, the first bytes, the last ones.
const FIXED_US: f64 = 5.0;
/// The part of the plain instructions that no product hides.
const EXPOSED: f64 = 0.38;

pub const ASSUMPTIONS: &str = "of the datasheet's peaks DRAM reaches 92 %, tensor cores 66 %, SFU 96 %, FMA 94 % and other units 80 %, L2 48 % of its slices' peak; 5 µs a launch; cold L2";
pub const ASSUMPTIONS_MEASURED: &str = "DRAM and tensor cores as measured on this machine; of the datasheet's peaks SFU reaches 96 %, FMA 94 % and other units 80 %, L2 48 % of its slices' peak; 5 µs a launch; cold L2";

/// How programs share the board.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Waves {
    /// Programs that run at once.
    pub slots: u64,
    /// Programs over slots.
    pub waves: f64,
    /// The part of the slots that have no program in the last wave.
    pub idle_in_tail: f64,
}

impl Waves {
    pub fn of(programs: u64, gpu: &Gpu, occupancy: Option<&Occupancy>) -> Option<Waves> {
        let slots = u64::from(gpu.board?.sm_count) * u64::from(occupancy?.ctas_per_sm);
        (slots > 0 && programs > 0).then(|| {
            let last = (programs - 1) % slots + 1;
            Waves { slots, waves: programs as f64 / slots as f64, idle_in_tail: 1.0 - last as f64 / slots as f64 }
        })
    }
}

/// One unit's part of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Use {
    pub unit: Unit,
    pub amount: f64,
    /// It would take this long alone.
    pub us: f64,
    /// Of the launch without its fixed part, 0 to 1.
    pub share: f64,
    /// Of the unit's peak while the launch runs, 0 to 1.
    pub of_peak: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    pub us: f64,
    /// The highest share of its peak first; those that have nothing to do are left out.
    pub uses: Vec<Use>,
}

impl Prediction {
    pub fn limiter(&self) -> Option<Unit> {
        self.uses.first().map(|used| used.unit)
    }

    /// What takes longest, at the rates that kernels reach.
    pub fn longest(&self) -> Option<Unit> {
        self.uses.iter().max_by(|a, b| a.us.total_cmp(&b.us)).map(|used| used.unit)
    }

    pub fn second(&self) -> Option<Use> {
        self.uses.get(1).copied()
    }
}

fn has_products(work: &Work) -> bool {
    Unit::ALL.into_iter().any(|unit| unit.is_tensor() && work.of(unit) > 0.0)
}

/// Microseconds of the whole board at a unit's peak. What tensor cores fetch from shared memory is theirs to wait for.
pub(super) fn at_peak(work: &Work, unit: Unit, gpu: &Gpu) -> Option<f64> {
    let amount = work.of(unit);
    if amount == 0.0 {
        return Some(0.0);
    }
    let own = amount / unit.rate(gpu)? / unit.clock_factor(has_products(work), gpu)?;
    Some(match unit {
        Unit::Shared => (amount - work.fetched).max(0.0) / unit.rate(gpu)?,
        unit if unit.is_tensor() => own.max(work.fetched / Unit::Shared.rate(gpu)?),
        _ => own,
    })
}

/// `total`: of all programs.
pub(super) fn predict(total: &Work, programs: u64, gpu: &Gpu) -> Option<Prediction> {
    let sms = u64::from(gpu.board?.sm_count);
    // The SM with the most programs, over the average.
    let quantised = if programs == 0 { 1.0 } else { (programs.div_ceil(sms) * sms) as f64 / programs as f64 };
    let mut uses = Vec::new();
    for unit in Unit::ALL {
        let amount = total.of(unit);
        if amount > 0.0 {
            let rate = unit.reached(gpu)? * unit.clock_factor(has_products(total), gpu)?;
            let us = amount / rate * if unit == Unit::Dram { 1.0 } else { quantised };
            uses.push(Use { unit, amount, us, share: 0.0, of_peak: at_peak(total, unit, gpu)? });
        }
    }
    uses.sort_by(|a, b| b.us.total_cmp(&a.us));
    let on_sm = uses.iter().find(|used| used.unit != Unit::Dram);
    let plain = |unit: Unit| matches!(unit, Unit::Fma | Unit::Alu | Unit::Sfu);
    let sm = on_sm.map_or(0.0, |longest| {
        // Where no product is waited for, many warps hide what the others do.
        let waits = has_products(total);
        let others = uses.iter().filter(|used| waits && plain(used.unit) && used.unit != longest.unit);
        longest.us + EXPOSED * others.map(|used| used.us).sum::<f64>()
    });
    let dram = uses.iter().find(|used| used.unit == Unit::Dram).map_or(0.0, |used| used.us);
    let busy = sm.max(dram);
    for used in &mut uses {
        used.share = if busy > 0.0 { used.us / busy } else { 0.0 };
        used.of_peak /= FIXED_US + busy;
    }
    uses.sort_by(|a, b| b.of_peak.total_cmp(&a.of_peak));
    Some(Prediction { us: FIXED_US + busy, uses })
}
