//! All rows of a thread in front of what is computed from one.
//!
//! A reduction exchanges one row after the other between lanes. ptxas then puts the square root of the first row between the exchanges of the second,
//! to be done with its registers, and as instructions are issued in order, the exchanges behind it wait for what it waits for. A fence behind the
//! exchanges ([`super::loads_first`] has more of it) leaves them the choice among all rows and nothing else.
//!
//! In kernels with products, statistics of rows outside loops are computed beside these, and ptxas had better choose; in loops it had as well where a
//! product comes next: what makes its operand runs beside it. Reductions alone: a scan's exchanges wait for each other anyhow.
//!
//! **Invariant:** only fences are added.

use super::lines::{Line, carried_around, put, put_fence};
use crate::ptx_strings::Fence;

/// Numbers that a thread exchanges in a row from which on there is a fence; `bench/ablations.py` has the launches that this is from.
const LEAST: usize = 16;

/// The text of a function's body with such fences. `multiplies`: it has products.
pub(super) fn rows_first(body: &str, multiplies: bool) -> String {
    let lines: Vec<&str> = body.lines().collect();
    let carried = carried_around(&lines);
    let mut fenced = vec![false; lines.len() + 1];
    let (mut exchanged, mut last) = (0, 0);
    // Behind exchanges of this block that no product has followed yet.
    let mut open: Vec<usize> = Vec::new();
    for (index, line) in lines.iter().chain([&"ret void"]).enumerate() {
        match Line::of(line) {
            Line::Exchange if line.contains(".shfl.sync.bfly.") => (exchanged, last) = (exchanged + 1, index),
            // A row that lanes give back to one another, which they do where there are as many.
            Line::Exchange if line.contains(".shfl.sync.idx.") && !line.contains(", i32 31)") => {
                (exchanged, last) = (LEAST.max(exchanged), index)
            }
            Line::Pure | Line::SpecialRegister | Line::Exchange => {}
            kind => {
                if exchanged >= LEAST && (carried[last].is_some() || !multiplies) {
                    // Behind what the last one is combined by.
                    open.push(last + 1);
                }
                exchanged = 0;
                if line.contains("mma.") {
                    open.clear();
                } else if kind == Line::Control {
                    open.drain(..).for_each(|index| fenced[index] = true);
                }
            }
        }
    }
    let mut text = String::with_capacity(body.len());
    for (line, is_fenced) in lines.into_iter().zip(fenced) {
        put(line, &mut text);
        if is_fenced {
            put_fence(Fence::Rows, &mut text);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: usize) -> String {
        let exchange = "%t1 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %t0, i32 1, i32 31)\n%t2 = add i32 %t0, %t1\n";
        exchange.repeat(count) + "%t3 = mul i32 %t2, %t2\n"
    }

    fn fences(body: &str, multiplies: bool) -> Vec<usize> {
        rows_first(body, multiplies).lines().enumerate().filter(|(_, line)| line.contains("pmevent")).map(|(at, _)| at).collect()
    }

    #[test]
    fn a_fence_stands_behind_many_exchanges() {
        assert_eq!(fences(&rows(16), false), [32]);
        assert!(fences(&rows(15), false).is_empty());
        // Two reductions in a row are one.
        assert_eq!(fences(&(rows(8) + &rows(8)), false), [33]);
    }

    #[test]
    fn beside_products_only_in_loops_that_go_on_without_one() {
        assert!(fences(&rows(16), true).is_empty());
        let looped = |body: &str| fences(&format!("b1:\n{body}br label %b1\n"), true);
        assert_eq!(looped(&rows(16)), [33]);
        let product = "%t4 = call { float } asm sideeffect \"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 $0;\", \"=f\"()\n";
        assert!(looped(&(rows(16) + product)).is_empty());
        assert_eq!(looped(&(product.to_owned() + &rows(16))), [34]);
    }
}
