//! RES008: the accumulator of a product is larger than tensor memory, so Triton does not compile the kernel.
//!
//! **Invariant:** only said of products that Triton surely gives to the tensor cores that accumulate there: two dimensions, 128 rows and more, operands of at
//! most 32 bits, 4 or 8 warps.

use tritium_semantics::{diagnostics::Code, target::Feature};
use tritium_tile::OpKind;

use super::{Finding, Ground, grouped};

/// Columns of an SM's tensor memory, and the 32-bit cells of each.
const COLUMNS: u64 = 512;
const ROWS: u64 = 128;

pub(super) fn rule(ground: &Ground<'_>, found: &mut Vec<Finding>) {
    if !ground.gpu.sm.has(Feature::TensorMemory) || !matches!(ground.options.num_warps, 4 | 8) {
        return;
    }
    for function in &ground.module.functions {
        function.walk(|_, id| {
            let op = function.op(id);
            let OpKind::Dot { .. } = op.kind else { return };
            let (operand, result) = (function.ty(op.operands[0]), function.ty(op.results[0]));
            let &[m, n] = &result.shape()[..] else { return };
            let columns = u64::from(m) * u64::from(n) * u64::from(result.elem().bits()) / (32 * ROWS);
            if u64::from(m) < ROWS || operand.elem().bits() > 32 || result.elem().bits() != 32 || columns <= COLUMNS {
                return;
            }
            let message = format!(
                "this product accumulates {m}×{n} numbers in {} columns of tensor memory, and {} has {COLUMNS}: Triton stops with an internal error (`PassManager::run failed`), in a tuner as well; tiles of at most {} numbers fit",
                grouped(columns as u32),
                ground.gpu.name(),
                grouped((COLUMNS * ROWS) as u32),
            );
            found.push(Finding::at(Code::RES008, op.origin.0, message));
        });
    }
}
