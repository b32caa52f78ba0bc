//! Indices that are made of remainders: LLVM sees that neighbours follow from one another in sums, not in remainders.
//!
//! **Invariant:** of values that are not made of a remainder nothing is said.

use tritium_tile::{Function, OpKind, ops::BinaryOp};

use super::layouts::Layouts;
use crate::registers::{Order, is_name};

/// Of every value that is made of a remainder, how many neighbours the accesses move at once that it is made for; of others 0.
pub(super) fn apart(layouts: &mut Layouts<'_>, function: &Function, order: &Order) -> Vec<u64> {
    let mut is_mixed = vec![false; function.values.len()];
    let goes_on = |kind: &OpKind| matches!(kind, OpKind::AddPtr) || is_name(kind) || kind.is_elementwise();
    for &id in &order.ops {
        let op = function.op(id);
        match &op.kind {
            OpKind::For(_) => {
                for (n, operand) in op.operands.iter().enumerate().skip(3) {
                    is_mixed[function.block(op.regions[0]).args[n - 2].index()] = is_mixed[operand.index()];
                }
            }
            kind if goes_on(kind) => {
                let divides = matches!(kind, OpKind::Binary(BinaryOp::RemS | BinaryOp::RemU));
                let of_mixed = op.operands.iter().any(|operand| is_mixed[operand.index()]);
                for &result in &op.results {
                    is_mixed[result.index()] = (divides || of_mixed) && !function.ty(result).is_scalar();
                }
            }
            _ => {}
        }
    }
    let mut together = vec![0; function.values.len()];
    // Twice, for what loops carry.
    for &id in order.ops.iter().rev().chain(order.ops.iter().rev()) {
        let op = function.op(id);
        let of_result = op.results.first().map_or(1, |result| together[result.index()]);
        for (n, operand) in op.operands.iter().enumerate().filter(|(_, operand)| is_mixed[operand.index()]) {
            let asked = match &op.kind {
                OpKind::Load(_) | OpKind::Store(_) if n == 0 => layouts.copied(id, None),
                OpKind::For(_) if n > 2 => together[function.block(op.regions[0]).args[n - 2].index()],
                OpKind::Yield => {
                    let around = order.owner(id).filter(|&op| matches!(function.op(op).kind, OpKind::For(_)));
                    let args = around.map(|op| &function.block(function.op(op).regions[0]).args);
                    args.and_then(|args| args.get(n + 1)).map_or(1, |arg| together[arg.index()])
                }
                kind if goes_on(kind) => of_result,
                _ => 1,
            };
            let known = &mut together[operand.index()];
            *known = if *known == 0 {
                asked
            } else if asked == 0 {
                *known
            } else {
                asked.min(*known)
            };
        }
    }
    for (together, is_mixed) in together.iter_mut().zip(is_mixed) {
        *together = if is_mixed { (*together).max(1) } else { 0 };
    }
    together
}
