//! MEM004: lanes whose words of shared memory lie in one bank wait for each other, and the launch for them.
//!
//! **Invariant:** about Tritium's code alone, whose addresses are known; only said where the model has the launch a good deal faster without, and a number
//! of warps is only named where the model has it faster with that.

use tritium_semantics::{diagnostics::Code, launch::LaunchOptions};

use super::{Finding, Ground};
use crate::resources::KernelReport;

/// The launch's time over its time without the conflicts, from which it is said.
const WORTH_IT: f64 = 1.1;

pub(super) fn rule(ground: &Ground<'_>, found: &mut Vec<Finding>) {
    let Some(report) = ground.report else { return };
    for conflict in report.cost.conflicts.iter().filter(|conflict| conflict.gain >= WORTH_IT) {
        let here = report.passages.iter().filter(|passage| passage.origin == conflict.origin);
        let Some(worst) = here.max_by(|a, b| a.ways().total_cmp(&b.ways())) else { continue };
        let message = format!(
            "a tile is {} shared memory here with {:.0}-way bank conflicts: an instruction of {} {} a thread takes {} passes where {} would do; without them the launch would take ~{:.0} % less (tritium, estimated). {}",
            if worst.is_store { "written to" } else { "read from" },
            worst.ways(),
            worst.width_bytes,
            if worst.width_bytes == 1 { "byte" } else { "bytes" },
            worst.wavefronts,
            worst.ideal,
            100.0 * (1.0 - 1.0 / conflict.gain),
            remedy(ground, report),
        );
        found.push(Finding::at(Code::MEM004, conflict.origin, message));
    }
}

/// Half or twice the warps hold the tile differently.
fn remedy(ground: &Ground<'_>, report: &KernelReport) -> String {
    let now = report.cost.predicted_us.unwrap_or(f64::INFINITY);
    let most = ground.gpu.sm.max_threads_per_cta / 32;
    let faster = [ground.options.num_warps * 2, ground.options.num_warps / 2]
        .into_iter()
        .filter(|&warps| warps > 0 && warps <= most)
        .find(|&warps| {
            let other = (ground.report_with)(LaunchOptions { num_warps: warps, ..ground.options });
            other.is_some_and(|cost| cost.predicted_us.is_some_and(|us| us * WORTH_IT <= now))
        });
    match faster {
        Some(warps) => format!("With num_warps={warps} the launch takes less"),
        None => "Another block shape, or elements of 32 bits, would have fewer".to_owned(),
    }
}
