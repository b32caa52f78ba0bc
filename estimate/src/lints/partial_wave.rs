//! RES005: a grid of heavy programs that leaves multiprocessors idle.
//!
//! Programs are heavy where a product stands in a loop; what is over in a moment needs no full machine.

use tritium_semantics::diagnostics::Code;

use super::{Finding, Ground};

pub(super) fn rule(ground: &Ground<'_>, found: &mut Vec<Finding>) {
    let Some(board) = ground.gpu.board else { return };
    let programs = ground.launch.programs();
    let count = u64::from(board.sm_count);
    if ground.footprint.loops.is_empty() || programs >= count {
        return;
    }
    let message = format!(
        "{programs} programs for the {count} multiprocessors of {}: {} of them have nothing to do; smaller tiles, or a split of the loop over programs, use them",
        board.name,
        count - programs
    );
    found.push(Finding::of_kernel(Code::RES005, message));
}
