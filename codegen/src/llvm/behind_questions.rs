//! What is computed in front of a question that only somebody behind it asks for, behind it.
//!
//! A warp asks once for a few elements whether their arguments are small, and a tile of many is written as one basic block after the other. What its
//! elements are made of is in front of the first question, for all of them: 512 numbers of 32 bits where 256 registers hold what they come from. No
//! order within a block changes that. Here each line goes behind the last question that it need not wait for.
//!
//! **Invariant:** only instructions that touch nothing but their operands move, and only those made of one result at most and no narrower than it, so
//! that no more is live anywhere. A question is a block that goes on in the next one or skips it, and nobody else comes to either: whoever is behind
//! the first block is behind the last.

use std::iter;

use rustc_hash::FxHashMap;

use super::lines::{instruction, is_pure, put, targets, temporaries};

/// The text of a function's body with such lines moved.
pub(super) fn behind_questions(body: String) -> String {
    // All that ask have it.
    if !body.contains("vote.sync.all") {
        return body;
    }
    let mut blocks = blocks(&body);
    let behind = behind_each(&blocks);
    if behind.iter().all(Option::is_none) {
        return body;
    }
    // By temporary, the first block that reads it. Whoever reads a value stands behind it, but for the phis of loops.
    let mut first_read: FxHashMap<&str, usize> = FxHashMap::default();
    let labels: FxHashMap<&str, usize> = (0..).zip(&blocks).filter_map(|(index, block)| Some((label(block)?, index))).collect();
    for line in blocks.iter().flatten().filter(|line| is_phi(line)) {
        // `[ value, %label ]`
        for arm in instruction(line).split('[').skip(1) {
            let Some((value, from)) = arm.split_once(", %") else { continue };
            let from = from.split([' ', ']']).next().and_then(|label| labels.get(label)).copied().unwrap_or(0);
            temporaries(value).for_each(|read| note(&mut first_read, read, from));
        }
    }
    let mut arrived: Vec<Vec<&str>> = vec![Vec::new(); blocks.len()];
    for index in (0..blocks.len()).rev() {
        let mut stay = Vec::with_capacity(blocks[index].len());
        for line in iter::from_fn(|| blocks[index].pop()) {
            let mut to = index;
            if !is_phi(line) {
                let first = result(line).filter(|_| may_move(line)).and_then(|result| first_read.get(result)).copied();
                while let Some(next) = behind[to].filter(|&next| first.is_some_and(|first| first >= next)) {
                    to = next;
                }
                temporaries(instruction(line)).for_each(|read| note(&mut first_read, read, to));
            }
            if to == index { &mut stay } else { &mut arrived[to] }.push(line);
        }
        stay.reverse();
        blocks[index] = stay;
    }
    let mut text = String::with_capacity(body.len());
    for (block, arrived) in blocks.iter().zip(arrived) {
        let head = usize::from(label(block).is_some());
        let head = head + block[head..].iter().take_while(|line| is_phi(line)).count();
        block[..head].iter().for_each(|line| put(line, &mut text));
        arrived.iter().rev().for_each(|line| put(line, &mut text));
        block[head..].iter().for_each(|line| put(line, &mut text));
    }
    text
}

/// The lines of each basic block; its label is the first.
fn blocks(body: &str) -> Vec<Vec<&str>> {
    let mut blocks = vec![Vec::new()];
    for line in body.lines() {
        if line.ends_with(':') {
            blocks.push(Vec::new());
        }
        if let Some(block) = blocks.last_mut() {
            block.push(line);
        }
    }
    blocks
}

/// By block, the one behind the question that it ends with.
fn behind_each(blocks: &[Vec<&str>]) -> Vec<Option<usize>> {
    let mut entries: FxHashMap<&str, usize> = FxHashMap::default();
    for target in blocks.iter().filter_map(|block| block.last()).flat_map(|last| targets(last)) {
        *entries.entry(target).or_insert(0) += 1;
    }
    let enters = |block: &[&str], times: usize| label(block).is_some_and(|label| entries.get(label) == Some(&times));
    let of = |index: usize| {
        let [block, long, after] = blocks.get(index..index + 3)? else { return None };
        let mut asked = targets(block.last()?);
        let skips = asked.next() == label(after) && asked.next() == label(long) && targets(long.last()?).eq(label(after));
        (skips && enters(long, 1) && enters(after, 2)).then_some(index + 2)
    };
    (0..blocks.len()).map(of).collect()
}

fn label<'l>(block: &[&'l str]) -> Option<&'l str> {
    block.first()?.strip_suffix(':')
}

fn is_phi(line: &str) -> bool {
    line.contains(" = phi ")
}

/// What it gives has room where what it is made of had some.
fn may_move(line: &str) -> bool {
    let text = instruction(line);
    let mut read = temporaries(text);
    let first = read.next();
    let is_narrower = ["icmp ", "fcmp ", "trunc ", "fptrunc "].iter().any(|operation| text.starts_with(operation));
    is_pure(line) && !is_narrower && read.all(|other| Some(other) == first)
}

/// The temporary that a line gives.
fn result(line: &str) -> Option<&str> {
    temporaries(line.split_once(" = ")?.0).next()
}

fn note<'l>(first_read: &mut FxHashMap<&'l str, usize>, read: &'l str, block: usize) {
    first_read.entry(read).and_modify(|first| *first = (*first).min(block)).or_insert(block);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two questions in a row, each of what one register was loaded as.
    const BODY: &str = "  \
  %t0 = call i32 asm sideeffect \"ld.global.b32 $0, [$1];\", \"=r,l\"(ptr %arg0) #1
  %t1 = fpext half %t0 to float
  %t2 = fmul float %t1, 2.0
  %t3 = fmul float %t2, %t2
  %t4 = fpext half %t0 to float
  %t5 = fmul float %t4, 2.0
  %t6 = fadd float %t4, %t5
  %t7 = call i1 asm sideeffect \"vote.sync.all.pred $0, $1, 0xffffffff;\", \"=b,b\"(i1 %c) #1
  br i1 %t7, label %b2, label %b1
b1:
  %t8 = fmul float %t1, 3.0
  br label %b2
b2:
  %t9 = phi float [ %t2, %b0 ], [ %t8, %b1 ]
  %t10 = call i1 asm sideeffect \"vote.sync.all.pred $0, $1, 0xffffffff;\", \"=b,b\"(i1 %c) #1
  br i1 %t10, label %b4, label %b3
b3:
  %t11 = fmul float %t9, 3.0
  br label %b4
b4:
  %t12 = phi float [ %t9, %b2 ], [ %t11, %b3 ]
  %t13 = fadd float %t3, %t5
  %t14 = fadd float %t13, %t6
  ret void
";

    /// What each line gives, or what it is.
    fn names(text: &str) -> String {
        text.lines().map(|line| line.trim().split([' ', ':']).next().unwrap_or(line).to_owned() + " ").collect()
    }

    #[test]
    fn what_is_asked_for_later_is_computed_later() {
        // `t1` and `t2` are read at once, `t6` is made of two, and `t4` is read by it.
        let moved = "%t0 %t1 %t2 %t4 %t5 %t6 %t7 br b1 %t8 br b2 %t9 %t10 br b3 %t11 br b4 %t12 %t3 %t13 %t14 ret ";
        assert_eq!(names(&behind_questions(BODY.to_owned())), moved);
        // Without `t6`, `t4` and `t5` go too, in their order.
        let fewer = BODY.replace("  %t6 = fadd float %t4, %t5\n", "").replace("%t13, %t6", "%t13, %t12");
        let moved = "%t0 %t1 %t2 %t7 br b1 %t8 br b2 %t9 %t10 br b3 %t11 br b4 %t12 %t3 %t4 %t5 %t13 %t14 ret ";
        assert_eq!(names(&behind_questions(fewer)), moved);
    }

    #[test]
    fn nothing_passes_what_is_no_question() {
        // Somebody else comes to the block behind it, or it has two ways to go.
        let entered = BODY.replace("  ret void", "  br label %b2").replace("label %b4", "label %b5").replace("b4:", "b5:");
        let both =
            BODY.replace("label %b2, label %b1", "label %b3, label %b1").replace("label %b4, label %b3", "label %b1, label %b3");
        let silent = BODY.replace("vote.sync.all", "vote.sync.any");
        for kept in [entered, both, silent] {
            let text = behind_questions(kept.clone());
            assert!(text.find("%t5 =") < text.find("\nb1:"), "{text}");
        }
    }

    #[test]
    fn what_a_loop_carries_is_computed_in_it() {
        let text = "  br label %b1\nb1:\n  %t0 = phi i32 [ 0, %b0 ], [ %t1, %b3 ]\n  %t1 = add i32 %t0, 1\n  \
                    %t2 = call i1 asm sideeffect \"vote.sync.all.pred $0, $1, 0xffffffff;\", \"=b,b\"(i1 %c) #1\n  \
                    br i1 %t2, label %b3, label %b2\nb2:\n  br label %b3\nb3:\n  br i1 %t2, label %b1, label %b4\nb4:\n  ret void\n";
        let moved = "br b1 %t0 %t2 br b2 br b3 %t1 br b4 ret ";
        assert_eq!(names(&behind_questions(text.to_owned())), moved);
    }
}
