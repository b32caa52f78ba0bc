//! RES007: a load that a product in a loop waits for does not run ahead, so `num_stages` does nothing for it.

use tritium_semantics::diagnostics::Code;

use super::{Finding, Ground};

pub(super) fn rule(ground: &Ground<'_>, found: &mut Vec<Finding>) {
    for pipelined in &ground.footprint.loops {
        for (origin, why) in &pipelined.kept_back {
            let message = format!(
                "Triton does not fetch this ahead, so num_stages={} does nothing for it and every trip waits for memory: {why}",
                pipelined.stages
            );
            found.push(Finding::at(Code::RES007, *origin, message));
        }
    }
}
