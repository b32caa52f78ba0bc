//! Loads that do not all fit a thread's registers, in batches, each in front of what it adds to the sums.
//!
//! A column of a tile is loaded whole before its first two elements are added, which ptxas does not change: what has no register is spilled. Here
//! only a part of the registers is loaded at a time. It is done where what is loaded becomes little; where it becomes as much again, as a
//! rotation does, results would only be held earlier.
//!
//! In a loop a fence stands behind the loads of each batch ([`super::loads_first`]): ptxas would load and add two at a time, in as few registers as the
//! sums need, and wait for memory once for every two. Beside products threads have many registers anyhow, and it does not.
//!
//! **Invariant:** loads keep their order and pass no effect; what is computed from them may pass what threads do together, and nothing else moves.

use rustc_hash::FxHashSet;

use super::lines::{Line, Run, carried_around, put, put_fence};
use crate::ptx_strings::Fence;

/// This part of a thread's registers is loaded at once.
const PART: u32 = 4;
/// Registers loaded, at least, to one result that they become.
const LEAST_TO_ONE: usize = 4;

/// The text of a function's body with loads in batches. `most`: registers of a thread; `multiplies`: whether the kernel has products.
pub(super) fn batches(body: &str, most: u32, multiplies: bool) -> String {
    let lines: Vec<&str> = body.lines().collect();
    let kinds: Vec<Line> = lines.iter().map(|line| Line::of(line)).collect();
    let carried = carried_around(&lines);
    let end_of = |start: usize, ends: fn(Line) -> bool| {
        kinds[start..].iter().position(|&kind| ends(kind)).map_or(lines.len(), |length| start + length)
    };
    let mut text = String::with_capacity(body.len());
    let mut start = 0;
    while start < lines.len() {
        let end = end_of(start, Line::ends_run);
        let around = carried.get(end).copied().flatten();
        let most = most.saturating_sub(around.unwrap_or(0));
        let loaded: u32 = kinds[start..end].iter().map(|kind| kind.loaded()).sum();
        // What becomes of them may stand behind a barrier.
        let far = end_of(end, |line| line.ends_run() && line != Line::Collective);
        let fence = (around.is_some() && !multiplies).then_some(Fence::Loads);
        let stretch = Stretch { lines: &lines[start..far], kinds: &kinds[start..far], front: end - start };
        let batched = if loaded > most { stretch.in_batches(most, around.is_some(), fence) } else { None };
        let next = if batched.is_some() { far } else { end };
        match batched {
            Some(batched) => text += &batched,
            None => lines[start..end].iter().for_each(|line| put(line, &mut text)),
        }
        if let Some(line) = lines.get(next) {
            put(line, &mut text);
        }
        start = next + 1;
    }
    text
}

/// Lines that no branch divides.
struct Stretch<'a> {
    lines: &'a [&'a str],
    kinds: &'a [Line],
    /// Loads are among so many of the first lines.
    front: usize,
}

impl Stretch<'_> {
    /// Its text in batches, where that is worth it.
    fn in_batches(&self, most: u32, is_loop: bool, fence: Option<Fence>) -> Option<String> {
        let &Stretch { lines, kinds, front } = self;
        let (loads, loaded) = Run::of(&lines[..front]).loads_in_front(&kinds[..front], 0);
        if loaded <= most {
            return None;
        }
        let mut run = Run::of(lines);
        // By line, the batch that brings the last of what it is made of.
        let mut batch_of: Vec<Option<usize>> = vec![None; lines.len()];
        let (mut last, mut filled) = (0, 0);
        for &load in &loads {
            if filled >= most / PART && kinds[load].loaded() > 0 {
                (last, filled) = (last + 1, 0);
            }
            filled += kinds[load].loaded();
            batch_of[load] = Some(last);
        }
        // Of each batch, its loads and where two numbers or more become one.
        let mut batches: Vec<(Vec<usize>, Vec<usize>)> = vec![Default::default(); last + 1];
        let mut computable = vec![false; lines.len()];
        let mut results: FxHashSet<usize> = FxHashSet::default();
        for index in 0..lines.len() {
            let operands = &run.operands[index];
            if let Some(batch) = batch_of[index] {
                computable[index] = true;
                results.insert(index);
                batches[batch].0.push(index);
            } else if kinds[index] == Line::Pure && operands.iter().all(|&operand| computable[operand]) {
                computable[index] = true;
                batch_of[index] = operands.iter().filter_map(|&operand| batch_of[operand]).max();
                let Some(batch) = batch_of[index] else { continue };
                operands.iter().for_each(|operand| _ = results.remove(operand));
                results.insert(index);
                if operands.iter().filter(|&&operand| batch_of[operand].is_some()).count() > 1 {
                    batches[batch].1.push(index);
                }
            }
        }
        if LEAST_TO_ONE * results.len() > loaded as usize {
            return None;
        }
        let mut text = String::new();
        if !is_loop {
            // What they are loaded by is computed before the first of them, or ptxas has fewer registers still.
            (0..loads[0]).for_each(|index| run.write(index, &mut text));
        }
        for (loads, joins) in batches {
            loads.into_iter().for_each(|line| run.write(line, &mut text));
            fence.into_iter().for_each(|fence| put_fence(fence, &mut text));
            joins.into_iter().for_each(|line| run.write(line, &mut text));
        }
        run.write_rest(&mut text);
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::lines::is_fence, *};

    fn load(result: u32) -> String {
        format!("%t{result} = call i32 asm sideeffect \"ld.global.b32 $0, [$1];\", \"=r,l,~{{memory}}\"(ptr %arg0) #1\n")
    }

    fn names(text: &str) -> String {
        let name = |line: &str| {
            if line.contains("bar.sync") {
                "barrier"
            } else if is_fence(line) {
                "|"
            } else {
                line.split(' ').next().unwrap_or(line)
            }
            .to_owned()
        };
        text.lines().map(|line| name(line.trim()) + " ").collect()
    }

    #[test]
    fn a_column_is_added_as_it_is_loaded() {
        // Eight numbers, added one after the other behind a barrier.
        let mut body: String = "b1:\n".to_owned() + &(0..8).map(load).collect::<String>();
        body += "call void asm sideeffect \"bar.sync 0;\", \"~{memory}\"() #1\n%t11 = add i32 %t0, %t1\n";
        body += &(2..8).map(|index| format!("%t1{index} = add i32 %t1{}, %t{index}\n", index - 1)).collect::<String>();
        body += "br label %b1\n";
        let ordered = "b1: %t0 | %t1 | %t11 %t2 | %t12 %t3 | %t13 %t4 | %t14 %t5 | %t15 %t6 | %t16 %t7 | %t17 barrier br ";
        assert_eq!(names(&batches(&body, 7, false)), ordered);
        assert_eq!(names(&batches(&body, 7, true)), ordered.replace("| ", ""), "beside products");
        assert_eq!(batches(&body, 8, false), body, "all of them fit");
    }

    #[test]
    fn what_becomes_as_much_again_keeps_its_place() {
        let sums = (0..8).map(|index| format!("%t1{index} = add i32 %t{index}, %t{}\n", (index + 1) % 8)).collect::<String>();
        let body = "b1:\n".to_owned() + &(0..8).map(load).collect::<String>() + &sums + "br label %b1\n";
        assert_eq!(batches(&body, 7, false), body);
    }

    #[test]
    fn what_hangs_on_an_exchange_waits_for_it() {
        let mut body: String = "b1:\n".to_owned() + &(0..8).map(load).collect::<String>();
        body += "%t11 = add i32 %t0, %t1\n";
        body += &(2..8).map(|index| format!("%t1{index} = add i32 %t1{}, %t{index}\n", index - 1)).collect::<String>();
        body += "%t20 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %t17, i32 1, i32 31)\n%t21 = add i32 %t20, %t17\nbr label %b1\n";
        let text = names(&batches(&body, 7, false));
        assert!(text.starts_with("b1: %t0 | %t1 | %t11 %t2 | ") && text.ends_with(" %t7 | %t17 %t20 %t21 br "), "{text}");
    }
}
