//! The order of instructions within a basic block.
//!
//! Operations are written one after the other, each for all registers of a tile, so everything that one of them gives is live before the
//! next one takes it. Here what stands between two accesses is put into another order: each result right behind what it is made of, one
//! register of the tile after the other. ptxas keeps roughly to the order that it is given, and needs fewer registers for this one. What leads
//! to a store takes turns with what leads to the next, so that neither waits for each of its own instructions.
//!
//! Where a step of a loop loads more than a thread has registers for, all of it is live when the first store is due, and whatever a store has computed
//! is live beside it. There the results of one depth stand side by side, and the stores behind all of them: what was loaded becomes what is stored in
//! the same registers, and ptxas spills less (`liger_cross_entropy_kernel`: 16 bytes instead of 84).
//!
//! **Invariant:** only instructions that touch nothing but their operands, and stores to global memory beside these, change places; stores
//! keep their order, and so does everything else.

use super::lines::{Line, Run, carried_around, has_effects, is_pure, is_warp_sync, put};

/// Stores that are computed at the same time, and how many lines the second is behind the first. `bench/ablations.py` has the launches that these
/// are from: four need more registers, and stores side by side become branches.
const TOGETHER: usize = 2;
const STAGGER: usize = 2;

/// The text of a function's body, with each run of movable lines depth first. `most`: registers of a thread.
pub(super) fn depth_first(body: &str, most: u32) -> String {
    let lines: Vec<&str> = body.lines().collect();
    let crowded = crowded(&lines, most);
    let mut text = String::with_capacity(body.len());
    let mut start = 0;
    for (index, line) in lines.iter().enumerate() {
        if !is_movable(line) {
            write_run(&lines[start..index], crowded[index], &mut text);
            put(line, &mut text);
            start = index + 1;
        }
    }
    write_run(&lines[start..], false, &mut text);
    text
}

/// By line, whether it is in a loop and its basic block loads more than what the loops around it carry leaves of a thread's registers.
fn crowded(lines: &[&str], most: u32) -> Vec<bool> {
    let carried = carried_around(lines);
    let mut crowded = Vec::with_capacity(lines.len());
    for block in lines.chunk_by(|line, _| Line::of(line) != Line::Control) {
        let loaded: u32 = block.iter().map(|line| Line::of(line).loaded()).sum();
        let is_crowded = carried[crowded.len()].is_some_and(|carried| loaded > most.saturating_sub(carried));
        crowded.resize(crowded.len() + block.len(), is_crowded);
    }
    crowded
}

fn is_movable(line: &str) -> bool {
    if has_effects(line) {
        return is_warp_sync(line) || line.contains("st.global.") && !line.contains(" = ");
    }
    is_pure(line)
}

fn write_run(lines: &[&str], is_crowded: bool, text: &mut String) {
    if lines.len() < 3 {
        lines.iter().for_each(|line| put(line, text));
        return;
    }
    let mut run = Run::of(lines);
    // Instructions in a row that lead to each.
    let mut depth: Vec<usize> = Vec::with_capacity(lines.len());
    let mut used = vec![false; lines.len()];
    for operands in &mut run.operands {
        operands.iter().for_each(|&operand| used[operand] = true);
        depth.push(operands.iter().map(|&operand| depth[operand] + 1).max().unwrap_or(0));
        // The longest way goes first: what is quickly made waits for nothing in a register.
        operands.sort_by_key(|&operand| std::cmp::Reverse(depth[operand]));
    }
    let is_store = |index: usize| lines[index].contains("st.global.");
    if is_crowded && (0..lines.len()).filter(|&index| is_store(index)).count() >= TOGETHER {
        let mut order: Vec<usize> = (0..lines.len()).collect();
        order.sort_by_key(|&index| if has_effects(lines[index]) { usize::MAX } else { depth[index] });
        order.into_iter().for_each(|index| put(lines[index], text));
        return;
    }
    // Accesses are all that it orders, and what is computed for stores may as well follow it.
    let first = (0..lines.len()).filter(|&index| is_warp_sync(lines[index]));
    let roots: Vec<usize> = first.chain((0..lines.len()).filter(|&index| !used[index])).collect();
    for roots in roots.chunk_by(|&a, &b| is_store(a) && is_store(b)) {
        roots.chunks(TOGETHER).for_each(|roots| run.write_in_turns(roots, STAGGER, text));
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn each_element_is_stored_as_soon_as_it_is_computed() {
        let body = "  \
  %t0 = call i32 asm sideeffect \"ld.global.b32 $0, [$1];\", \"=r,l\"(ptr %arg0) #1
  %t1 = call i32 asm sideeffect \"ld.global.b32 $0, [$1];\", \"=r,l\"(ptr %arg1) #1
  %t2 = add i32 %t0, 1
  %t3 = add i32 %t1, 1
  %t4 = mul i32 %t2, %t2
  %t5 = mul i32 %t3, %t3
  call void asm sideeffect \"bar.warp.sync 0xffffffff;\", \"~{memory}\"() #1
  call void asm sideeffect \"st.global.b32 [$0], $1;\", \"l,r\"(ptr %arg2, i32 %t4) #1
  call void asm sideeffect \"st.global.b32 [$0], $1;\", \"l,r\"(ptr %arg3, i32 %t5) #1
  ret void
";
        expect![[r#"
            %t0 = call i32 asm sideeffect "ld.global.b32 $0, [$1];", "=r,l"(ptr %arg0) #1
            %t1 = call i32 asm sideeffect "ld.global.b32 $0, [$1];", "=r,l"(ptr %arg1) #1
            call void asm sideeffect "bar.warp.sync 0xffffffff;", "~{memory}"() #1
            %t2 = add i32 %t0, 1
            %t4 = mul i32 %t2, %t2
            call void asm sideeffect "st.global.b32 [$0], $1;", "l,r"(ptr %arg2, i32 %t4) #1
            %t3 = add i32 %t1, 1
            %t5 = mul i32 %t3, %t3
            call void asm sideeffect "st.global.b32 [$0], $1;", "l,r"(ptr %arg3, i32 %t5) #1
            ret void
        "#]]
        .assert_eq(&depth_first(body, 255).lines().map(|line| format!("{}\n", line.trim_start())).collect::<String>());
    }

    #[test]
    fn two_stores_are_computed_in_turns() {
        let chain = |name: &str| {
            let steps = (1..5).map(|n| format!("%t{name}{n} = add i32 %t{name}{}, 1\n", n - 1));
            steps.collect::<String>()
                + &format!("call void asm sideeffect \"st.global.b32 [$0], $1;\", \"l,r\"(ptr %p, i32 %t{name}4)\n")
        };
        let names = |text: &str| -> String {
            let of = |line: &str| line.strip_prefix("%t").map_or("store".into(), |rest| rest[..2].to_owned());
            text.lines().map(|line| of(line) + " ").collect()
        };
        let ordered = names(&depth_first(&["1", "2", "3"].map(chain).concat(), 255));
        assert_eq!(ordered, "11 12 13 21 14 22 store 23 24 store 31 32 33 34 store ");
    }

    #[test]
    fn stores_of_a_step_that_fills_all_registers_come_last() {
        let load = |name: u32| format!("%t{name} = call i32 asm sideeffect \"ld.global.b32 $0, [$1];\", \"=r,l\"(ptr %p) #1\n");
        let store =
            |name: u32| format!("call void asm sideeffect \"st.global.b32 [$0], $1;\", \"l,r\"(ptr %p, i32 %t{name}) #1\n");
        let step = |name: u32| format!("%t{} = add i32 %t{name}, 1\n", name + 10);
        let straight = (0..2).map(load).collect::<String>()
            + "call void asm sideeffect \"bar.warp.sync 0xffffffff;\", \"~{memory}\"() #1\n"
            + &(0..2).map(|name| step(name) + &step(name + 10) + &store(name + 20)).collect::<String>();
        let body = format!("b1:\n%t9 = phi i32 [ 0, %b0 ], [ %t10, %b1 ]\n{straight}br label %b1\n");
        let names = |text: &str| -> String {
            let of = |line: &str| match line.strip_prefix("%t").and_then(|rest| rest.split(' ').next()) {
                Some(name) => format!("{name} "),
                None if line.contains("st.global.") => "store ".to_owned(),
                None if line.contains("bar.warp.sync") => "sync ".to_owned(),
                None => String::new(),
            };
            text.lines().map(of).collect()
        };
        assert_eq!(names(&depth_first(&body, 2)), "9 0 1 10 11 20 21 sync store store ");
        let in_turns = "0 1 sync 10 20 store 11 21 store ";
        assert_eq!(names(&depth_first(&body, 3)), format!("9 {in_turns}"), "there is room");
        assert_eq!(names(&depth_first(&straight, 2)), in_turns, "no loop");
    }

    #[test]
    fn what_is_needed_behind_a_barrier_is_computed_before_it() {
        let body = "%t0 = add i32 %tid, 1\n%t1 = add i32 %tid, 2\n%t2 = mul i32 %t0, 3\nbarrier\n%t3 = add i32 %t1, %t2\n";
        assert_eq!(
            depth_first(body, 255),
            "%t1 = add i32 %tid, 2\n%t0 = add i32 %tid, 1\n%t2 = mul i32 %t0, 3\nbarrier\n%t3 = add i32 %t1, %t2\n"
        );
    }
}
