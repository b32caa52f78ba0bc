//! RES002, TUN005 and RES004: a thread needs more registers than it has, so some of its values go to memory and back.
//!
//! The verdict is the footprint's ([`Spills::Will`]); here it is said why the registers are so few, and what leaves enough.

use tritium_semantics::{diagnostics::Code, launch::LaunchOptions};

use super::{Finding, Ground};
use crate::{
    occupancy::registers_of_thread,
    spills::{Pressure, Spills},
};

pub(super) fn rule(ground: &Ground<'_>, found: &mut Vec<Finding>) {
    let Pressure { needed, limit, spills } = ground.footprint.pressure;
    if spills != Spills::Will {
        return;
    }
    let why = why_so_few(ground, limit);
    let code = match (ground.config, why.is_some()) {
        (Some(_), _) => Code::TUN005,
        (None, true) => Code::RES004,
        (None, false) => Code::RES002,
    };
    let has = match why {
        Some(why) => format!("and {why} leaves it {limit}"),
        None => format!("which has {limit}"),
    };
    let remedy = remedy(ground).unwrap_or_else(|| "smaller tiles take fewer".to_owned());
    let message = format!(
        "a thread needs ~{needed} registers here in Triton's code, {has}: the rest spills to local memory (estimated), as in {} % of such kernels; {remedy}",
        spills.percent()
    );
    let mut finding = Finding::of_kernel(code, message);
    finding.related.push((ground.footprint.pressure_origin, "the most is alive here".to_owned()));
    found.push(finding);
}

/// What makes the registers of a thread fewer than it has where few warps share and nobody asks for less.
fn why_so_few(ground: &Ground<'_>, limit: u32) -> Option<String> {
    let has = |warps| registers_of_thread(ground.gpu.sm, warps, None);
    match ground.options.max_registers {
        Some(asked) if limit < has(ground.options.num_warps) => Some(format!("maxnreg={asked}")),
        _ => (limit < has(1)).then(|| format!("num_warps={}", ground.options.num_warps)),
    }
}

/// The next number of warps that leaves enough.
fn remedy(ground: &Ground<'_>) -> Option<String> {
    let more = ground.options.num_warps * 2;
    if ground.options.max_registers.is_some() || more * 32 > ground.gpu.sm.max_threads_per_cta {
        return None;
    }
    let other = (ground.with)(LaunchOptions { num_warps: more, ..ground.options })?;
    let Pressure { needed, spills, .. } = other.pressure;
    (spills == Spills::Unlikely).then(|| format!("num_warps={more} leaves ~{needed}"))
}
