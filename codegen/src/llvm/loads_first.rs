//! Loads of a basic block in front of what is computed from them.
//!
//! ptxas picks the number of registers of a kernel by the warps that will run at once, counts on those to hide the latency of memory, and
//! where registers are few it issues each load just before the first use of what it brings. A loop whose warps wait for the step before, or a
//! grid that does not fill the machine, then waits for one load after the other. Here loads come first, and behind them stands
//! `pmevent.mask 0`, which counts nothing: ptxas schedules what is in front of it and what is behind it apart from each other, so all of the
//! loads are under way before anything is computed from one. (`bar.warp.sync` orders accesses alone; arithmetic still moves in between.)
//!
//! It costs the registers that the loads fill, and a few cycles. So it is for loops, and for blocks that load much; whoever assembles takes
//! it back where it leaves a multiprocessor a single CTA.
//!
//! **Invariant:** loads keep their order, and pass no store, no barrier and no other effect; a load from shared memory passes no store to it.

use rustc_hash::FxHashMap;

use super::lines::{Run, has_effects, inline_instructions, instruction, is_pure, is_warp_sync, put};
use crate::ptx_strings::Instruction;

/// Registers that a thread loads in one step of a loop: what is less is under way all at once anyhow. Both limits are from
/// `bench/loads_first.py`.
const LEAST_IN_LOOP: u32 = 6;
/// Registers that a thread loads outside loops, where loads are waited for once.
pub(super) const LEAST_OUTSIDE: u32 = 24;
/// Registers of a thread. What is loaded beyond them is spilled where all loads go first (rope of 200 heads took up to 1.6 times as long).
const MOST: u32 = 255;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    /// Touches nothing but its operands.
    Pure,
    GlobalLoad {
        registers: u32,
    },
    SharedLoad,
    SharedStore,
    /// Keeps its place, and lets loads pass.
    Stays,
    /// Nothing passes.
    Ends,
}

/// The text of a function's body with loads in front.
pub(super) fn loads_first(body: &str) -> String {
    let lines: Vec<&str> = body.lines().collect();
    let in_loop = lines_in_loops(&lines);
    let mut text = String::with_capacity(body.len() + 256);
    let mut start = 0;
    for (index, line) in lines.iter().enumerate() {
        if kind(line) == Line::Ends {
            write_run(&lines[start..index], in_loop[index], &mut text);
            put(line, &mut text);
            start = index + 1;
        }
    }
    write_run(&lines[start..], false, &mut text);
    text
}

fn kind(line: &str) -> Line {
    if has_effects(line) {
        return match loaded_registers(line) {
            Some(registers) => Line::GlobalLoad { registers },
            None if is_warp_sync(line) => Line::Stays,
            None => Line::Ends,
        };
    }
    if is_pure(line) {
        return Line::Pure;
    }
    let operation = instruction(line);
    match operation.split(' ').next() {
        Some("load") if operation.contains("addrspace(3)") => Line::SharedLoad,
        Some("store") if operation.contains("addrspace(3)") => Line::SharedStore,
        Some("call") if operation.contains(" @llvm.nvvm.shfl.") => Line::Stays,
        _ => Line::Ends,
    }
}

/// The registers that a load from global memory fills, if others may pass it.
pub(super) fn loaded_registers(line: &str) -> Option<u32> {
    // What programs write themselves may do more.
    if !inline_instructions(line).all(|one| one.starts_with("mov.") || one.starts_with("ld.global.")) {
        return None;
    }
    let (_, rest) = line.split_once("ld.global.")?;
    let name = rest.split(' ').next()?;
    let mut words = 1;
    let mut bits = None;
    for part in name.split('.') {
        match part.split_at_checked(1) {
            Some(("v", count)) if count.parse::<u32>().is_ok() => words = count.parse().ok()?,
            Some(("b", width)) => bits = width.parse::<u32>().ok(),
            _ => {}
        }
    }
    line.contains(" = ").then_some(words * bits?.div_ceil(32))
}

/// Which lines stand between a label and a branch back to it.
pub(super) fn lines_in_loops(lines: &[&str]) -> Vec<bool> {
    let mut labels: FxHashMap<&str, usize> = FxHashMap::default();
    let mut within = vec![false; lines.len()];
    for (index, line) in lines.iter().enumerate() {
        if let Some(label) = line.strip_suffix(':') {
            labels.insert(label, index);
        } else if line.trim_start().starts_with("br ") {
            let targets = line.split("label %").skip(1).map(|rest| rest.split([',', ' ']).next().unwrap_or(rest));
            for target in targets {
                if let Some(&start) = labels.get(target) {
                    within[start..=index].fill(true);
                }
            }
        }
    }
    within
}

fn write_run(lines: &[&str], in_loop: bool, text: &mut String) {
    let mut run = Run::of(lines);
    // Whether it cannot stand in front of the run: it comes from a load or from what keeps its place.
    let mut late: Vec<bool> = Vec::with_capacity(lines.len());
    let mut first: Vec<usize> = Vec::new();
    let (mut loaded, mut stored) = (0, false);
    for (index, line) in lines.iter().enumerate() {
        let depends = run.operands[index].iter().any(|&operand| late[operand]);
        let kind = kind(line);
        match kind {
            Line::GlobalLoad { registers } if !depends => {
                first.push(index);
                loaded += registers;
            }
            Line::SharedLoad if !depends && !stored => first.push(index),
            Line::SharedStore => stored = true,
            _ => {}
        }
        late.push(depends || kind != Line::Pure);
    }
    let least = if in_loop { LEAST_IN_LOOP } else { LEAST_OUTSIDE };
    if (least..=MOST).contains(&loaded) {
        first.into_iter().for_each(|load| run.write(load, text));
        let fence = Instruction::SchedulingFence;
        put(&format!("  call void asm sideeffect \"{}\", \"{}\"() #2", fence.text(), fence.constraints()), text);
    }
    run.write_rest(text);
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(body: &str, expected: Expect) {
        expected.assert_eq(&loads_first(body).lines().map(|line| format!("{}\n", line.trim())).collect::<String>());
    }

    fn load(result: u32, address: &str) -> String {
        format!("%t{result} = call i32 asm sideeffect \"ld.global.b32 $0, [$1];\", \"=r,l,~{{memory}}\"(ptr {address}) #1\n")
    }

    #[test]
    fn loads_of_a_step_come_before_what_is_computed_from_them() {
        check(
            "\
b1:
%t0 = getelementptr float, ptr %arg0, i32 0
%t1 = call {i32, i32, i32, i32} asm sideeffect \"ld.global.v4.b32 …\", \"…\"(ptr %t0) #1
%t2 = extractvalue {i32, i32, i32, i32} %t1, 0
%t3 = getelementptr float, ptr %arg0, i32 4
%t4 = call {i32, i32} asm sideeffect \"ld.global.v2.b32 …\", \"…\"(ptr %t3) #1
%t5 = extractvalue {i32, i32} %t4, 0
br i1 %t5, label %b1, label %b2
b2:
",
            expect![[r#"
                b1:
                %t0 = getelementptr float, ptr %arg0, i32 0
                %t1 = call {i32, i32, i32, i32} asm sideeffect "ld.global.v4.b32 …", "…"(ptr %t0) #1
                %t3 = getelementptr float, ptr %arg0, i32 4
                %t4 = call {i32, i32} asm sideeffect "ld.global.v2.b32 …", "…"(ptr %t3) #1
                call void asm sideeffect "pmevent.mask 0;", "~{memory}"() #2
                %t2 = extractvalue {i32, i32, i32, i32} %t1, 0
                %t5 = extractvalue {i32, i32} %t4, 0
                br i1 %t5, label %b1, label %b2
                b2:
            "#]],
        );
    }

    #[test]
    fn a_load_passes_no_store_and_not_what_it_comes_from() {
        let mut body = "b1:\n".to_owned();
        (0..6).for_each(|index| body += &load(index, "%arg0"));
        // From a load, behind a store to shared memory, and behind a store to global memory.
        body += &load(6, "%t0");
        body += "store i32 %t1, ptr addrspace(3) %t9\n";
        body += "%t7 = load i32, ptr addrspace(3) %t9\n";
        body += "call void asm sideeffect \"st.global.b32 [$0], $1;\", \"l,r\"(ptr %arg1, i32 %t7) #1\n";
        body += &load(8, "%arg0");
        body += "br label %b1\n";
        let text = loads_first(&body);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[7].contains("pmevent.mask 0;"), "{text}");
        assert_eq!(lines[8..], body.lines().collect::<Vec<_>>()[7..]);
    }

    #[test]
    fn few_loads_keep_their_places() {
        let few: String = (0..5).map(|index| load(index, "%arg0")).chain(["%t9 = add i32 %t0, %t1\n".to_owned()]).collect();
        let in_loop = format!("b1:\n{few}br label %b1\n");
        assert_eq!(loads_first(&in_loop), in_loop);
        assert_eq!(loads_first(&few), few);
    }
}
