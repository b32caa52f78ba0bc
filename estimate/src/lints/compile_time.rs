//! RES006: accesses of one element each, by the hundred: Triton unrolls every one, and LLVM and ptxas take minutes.

use tritium_semantics::diagnostics::Code;

use super::{Finding, Ground};

/// Accesses that a thread makes for one load or store, from which compilation takes long.
const SLOW_ACCESSES_PER_THREAD: u64 = 256;

pub(super) fn rule(ground: &Ground<'_>, found: &mut Vec<Finding>) {
    for access in ground.accesses.iter().filter(|access| access.instructions >= SLOW_ACCESSES_PER_THREAD) {
        let message = format!(
            "{} {} of {} byte{} each in every thread for this one tile: Triton unrolls them all, which takes LLVM and ptxas long; {}",
            access.instructions,
            if access.is_store { "stores" } else { "loads" },
            access.width_bytes,
            if access.width_bytes == 1 { "" } else { "s" },
            access.reason.as_deref().unwrap_or("more warps or a smaller tile share them out"),
        );
        found.push(Finding::at(Code::RES006, access.origin, message));
    }
}
