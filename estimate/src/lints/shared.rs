//! RES001 and TUN004: Triton's shared memory is more than a thread block has, so the launch fails; for a tuner's row it is compiled for nothing.

use tritium_semantics::{diagnostics::Code, launch::LaunchOptions};

use super::{Finding, Ground, grouped};
use crate::triton::Footprint;

/// Parts that are named.
const NAMED: usize = 4;

pub(super) fn rule(ground: &Ground<'_>, found: &mut Vec<Finding>) {
    let limit = ground.gpu.sm.shared_per_cta;
    let needed = ground.footprint.shared_bytes.value;
    if needed <= limit {
        return;
    }
    let remedy = remedy(ground, limit);
    let code = if ground.config.is_some() { Code::TUN004 } else { Code::RES001 };
    let consequence = match code {
        Code::TUN004 => "the tuner compiles this configuration and drops it",
        _ => "the launch fails with OutOfResources",
    };
    let message = format!(
        "Triton takes ~{} bytes of shared memory for a thread block, and {} has {}: {consequence}{remedy}",
        grouped(needed),
        ground.gpu.name(),
        grouped(limit)
    );
    let mut finding = Finding::of_kernel(code, message);
    let mut parts: Vec<_> = ground.footprint.parts.iter().collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
    for part in parts.into_iter().take(NAMED) {
        let bytes = match part.buffers {
            1 => format!("{} bytes", grouped(part.bytes)),
            n => format!("{n} buffers of {} bytes", grouped(part.bytes / n)),
        };
        finding.related.push((part.origin, format!("{}: {bytes}", part.what)));
    }
    found.push(finding);
}

/// The nearest options that fit.
fn remedy(ground: &Ground<'_>, limit: u32) -> String {
    let fits = |footprint: &Footprint| footprint.shared_bytes.value <= limit;
    for stages in (1..ground.options.num_stages).rev() {
        if let Some(other) = (ground.with)(LaunchOptions { num_stages: stages, ..ground.options }).filter(fits) {
            return format!("; num_stages={stages} fits: ~{} of {} bytes", grouped(other.shared_bytes.value), grouped(limit));
        }
    }
    "; no num_stages fits, smaller tiles do".to_owned()
}
