//! RES002, TUN005 and RES004: a thread needs more registers than it has, so some of its values go to memory and back.
//!
//! The verdict is the footprint's, where something needs whole tiles; here it is said why the registers are so few, and what leaves enough.

use tritium_semantics::{diagnostics::Code, launch::LaunchOptions};
use tritium_tile::OpKind;

use super::{Finding, Ground};
use crate::occupancy::registers_of_thread;

/// Times the registers that there are, from which no order of instructions gets along; below, ptxas may find one.
const CERTAIN: f64 = 1.25;

pub(super) fn rule(ground: &Ground<'_>, found: &mut Vec<Finding>) {
    if !ground.footprint.spills.value || !holds_tiles_back(ground) {
        return;
    }
    let live = ground.footprint.live_registers;
    let (limit, why) = limit(ground);
    if f64::from(live) < CERTAIN * f64::from(limit) {
        return;
    }
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
        "a thread needs ~{live} registers here in Triton's code, {has}: the rest spills to local memory (estimated); {remedy}"
    );
    let mut finding = Finding::of_kernel(code, message);
    finding.related.push((ground.footprint.pressure_origin, "the most is alive here".to_owned()));
    found.push(finding);
}

/// Whether something needs a tile as a whole. What works element by element is done piece by piece: however large its tiles, ptxas orders it so that
/// few registers do.
fn holds_tiles_back(ground: &Ground<'_>) -> bool {
    let ops = ground.module.functions.iter().flat_map(|function| &function.ops);
    ops.map(|op| &op.kind).any(|kind| {
        matches!(kind, OpKind::Reduce { .. } | OpKind::Scan { .. } | OpKind::Dot { .. } | OpKind::For(_) | OpKind::While)
    })
}

/// Registers that a thread may have, and what makes them fewer than the machine's most.
fn limit(ground: &Ground<'_>) -> (u32, Option<String>) {
    let has = |asked| registers_of_thread(ground.gpu.sm, ground.options.num_warps, asked);
    let (limit, unasked) = (has(ground.options.max_registers), has(None));
    let why = match ground.options.max_registers {
        Some(asked) if limit < unasked => Some(format!("maxnreg={asked}")),
        _ => (limit < has_alone(ground)).then(|| format!("num_warps={}", ground.options.num_warps)),
    };
    (limit, why)
}

/// What a thread may have where few warps share.
fn has_alone(ground: &Ground<'_>) -> u32 {
    registers_of_thread(ground.gpu.sm, 1, None)
}

/// The next number of warps that leaves enough.
fn remedy(ground: &Ground<'_>) -> Option<String> {
    let more = ground.options.num_warps * 2;
    if ground.options.max_registers.is_some() || more * 32 > ground.gpu.sm.max_threads_per_cta {
        return None;
    }
    let other = (ground.with)(LaunchOptions { num_warps: more, ..ground.options }).filter(|other| !other.spills.value)?;
    Some(format!("num_warps={more} leaves ~{}", other.live_registers))
}
