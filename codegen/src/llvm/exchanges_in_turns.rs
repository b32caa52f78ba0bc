//! Reductions that do not need each other exchange between lanes in turns.
//!
//! A reduction across a warp is five exchanges, and each waits for the one before. Two in a row take ten latencies, two in turns little more than
//! five. ptxas would move what is needed later behind the rest again, to be done with its registers sooner; a fence keeps it
//! ([`super::loads_first`] has more of it). In loops without products: elsewhere other warps, or what is multiplied, run beside it.
//!
//! **Invariant:** only what touches nothing but its operands changes places, and exchanges of the same basic block, between which nothing else stands.

use super::lines::{Line, Run, carried_around, put, put_fence};
use crate::ptx_strings::Fence;

/// Reductions in turns at most: so many exchanges fill the latency of one (24 cycles on an H200, of which each takes two, and what combines it four).
const TOGETHER: usize = 4;

/// The text of a function's body with such exchanges in turns.
pub(super) fn exchanges_in_turns(body: &str) -> String {
    let lines: Vec<&str> = body.lines().collect();
    let mut text = String::with_capacity(body.len());
    let is_in_loop: Vec<bool> = carried_around(&lines).iter().map(Option::is_some).collect();
    let mut start = 0;
    for run in lines.chunk_by(|a, b| is_in_run(a) && is_in_run(b)) {
        if is_in_loop[start] {
            write_run(run, &mut text);
        } else {
            run.iter().for_each(|line| put(line, &mut text));
        }
        start += run.len();
    }
    text
}

fn is_exchange(line: &str) -> bool {
    line.contains(".shfl.sync.bfly.")
}

fn is_in_run(line: &str) -> bool {
    match Line::of(line) {
        Line::Exchange => line.contains(".shfl.sync."),
        kind => matches!(kind, Line::Pure | Line::SpecialRegister),
    }
}

fn write_run(lines: &[&str], text: &mut String) {
    let mut run = Run::of(lines);
    for group in groups(lines, &run) {
        // What stood in front of the first stays there.
        (0..group[0].first).for_each(|index| run.write(index, text));
        for chain in &group {
            run.operands[chain.first].clone().into_iter().for_each(|operand| run.write(operand, text));
        }
        let ends: Vec<usize> = group.iter().map(|chain| chain.last).collect();
        run.write_in_turns(&ends, 0, text);
        put_fence(Fence::Rows, text);
    }
    run.write_rest(text);
}

/// Exchanges each of which waits for the one before: their first and last line.
struct Chain {
    first: usize,
    last: usize,
}

/// Chains in a row that do not need each other, two or more.
fn groups(lines: &[&str], run: &Run) -> Vec<Vec<Chain>> {
    // By line, the last exchange that it is made of.
    let mut behind: Vec<Option<usize>> = Vec::with_capacity(lines.len());
    let mut groups: Vec<Vec<Chain>> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let needs = run.operands[index].iter().filter_map(|&operand| behind[operand]).max();
        if !is_exchange(line) {
            behind.push(needs);
            continue;
        }
        behind.push(Some(index));
        match groups.last_mut() {
            Some(group) if group.last().is_some_and(|chain| needs == Some(chain.last)) => {
                if let Some(chain) = group.last_mut() {
                    chain.last = index;
                }
            }
            Some(group) if group.len() < TOGETHER && needs.is_none_or(|needs| needs < group[0].first) => {
                group.push(Chain { first: index, last: index });
            }
            _ => groups.push(vec![Chain { first: index, last: index }]),
        }
    }
    groups.retain(|group| group.len() > 1);
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reduction across four lanes, and what is made of it.
    fn reduction(name: &str, of: &str) -> String {
        format!(
            "%t{name}0 = fmul float {of}, {of}
%t{name}1 = call float @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %t{name}0, i32 1, i32 31)
%t{name}2 = fadd float %t{name}0, %t{name}1
%t{name}3 = call float @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %t{name}2, i32 2, i32 31)
%t{name}4 = fadd float %t{name}2, %t{name}3
%t{name}5 = fmul float %t{name}4, 2.0
"
        )
    }

    fn order(body: &str) -> String {
        let text = exchanges_in_turns(&format!("b1:\n{body}br label %b1\n"));
        let fence = |line: &str| if line.contains("pmevent") { "fence".into() } else { line.to_owned() };
        text.lines().filter(|line| !line.contains("b1")).map(fence).map(|line| line.split(" = ").next().unwrap_or(line).trim_start_matches("%t").to_owned() + " ").collect()
    }

    #[test]
    fn two_reductions_exchange_in_turns() {
        let body = reduction("1", "%a") + &reduction("2", "%b");
        assert_eq!(order(&body), "10 20 11 21 12 22 13 23 fence 14 15 24 25 ");
    }

    #[test]
    fn one_that_needs_the_other_waits() {
        let body = reduction("1", "%a") + &reduction("2", "%t15");
        assert_eq!(order(&body), "10 11 12 13 14 15 20 21 22 23 24 25 ");
    }

    #[test]
    fn outside_loops_they_stay() {
        let body = reduction("1", "%a") + &reduction("2", "%b");
        assert_eq!(exchanges_in_turns(&body), body);
    }

    #[test]
    fn nothing_passes_an_access() {
        let body = reduction("1", "%a") + "store i32 0, ptr addrspace(3) %p\n" + &reduction("2", "%b");
        assert_eq!(order(&body), "10 11 12 13 14 15 store i32 0, ptr addrspace(3) %p 20 21 22 23 24 25 ");
    }
}
