//! MEM001 to MEM003: loads and stores that move less than they could, and the one thing that keeps them from it.

use tritium_semantics::diagnostics::Code;

use super::{Finding, Ground};
use crate::access::{Access, Narrow, SECTOR};

/// Times as many sectors as the data fills, from which a request counts as scattered.
const SCATTERED: u32 = 4;
/// Bytes of a thread from which neighbouring threads fill whole sectors all the same.
const WIDE_ENOUGH: u32 = 4;

pub(super) fn rule(ground: &Ground<'_>, found: &mut Vec<Finding>) {
    for access in ground.accesses {
        let what = if access.is_store { "store" } else { "load" };
        let scattered = sectors(access).filter(|(touched, ideal)| *touched >= SCATTERED * (*ideal).max(1));
        let code = match access.narrow {
            Some(Narrow::Alignment) => Code::MEM002,
            Some(Narrow::Mask) => Code::MEM003,
            Some(Narrow::Adjacency | Narrow::Tile) | None => Code::MEM001,
        };
        if code == Code::MEM001 {
            let Some((touched, ideal)) = scattered else { continue };
            let remedy = match access.narrow {
                Some(Narrow::Tile) => "the tile is narrow where memory is contiguous: make it longer there",
                _ => "let the dimension that is contiguous in memory be the one along which the tile is long",
            };
            let message = format!(
                "neighbouring threads of this {what} are far apart in memory: a warp's request touches {touched} sectors of {SECTOR} bytes where {ideal} would hold its data (tritium's layout); {remedy}"
            );
            found.push(Finding::at(code, access.origin, message));
            continue;
        }
        // The tile itself must have room for wider accesses.
        let Some(reason) = access.reason.as_deref().filter(|_| access.elements >= 2) else { continue };
        if access.width_bytes >= WIDE_ENOUGH && scattered.is_none() {
            continue;
        }
        let message = format!(
            "this {what} moves {} bytes per thread at once instead of up to 16 (tritium's layout): {reason}",
            access.width_bytes
        );
        found.push(Finding::at(code, access.origin, message));
    }
}

/// Sectors of a warp's request and the fewest that would do, where every stride is known.
fn sectors(access: &Access) -> Option<(u32, u32)> {
    access.sectors_per_request.zip(access.ideal_sectors).filter(|_| access.exact)
}
