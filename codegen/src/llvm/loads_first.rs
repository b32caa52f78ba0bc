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

use super::lines::{Line, Run, carried_around, is_fence, put, put_fence};
use crate::ptx_strings::Fence;

/// Registers that a thread loads in one step of a loop: what is less is under way all at once anyhow. Both limits are from
/// `bench/loads_first.py`.
const LEAST_IN_LOOP: u32 = 6;
/// Loads of a step without products: two are under way together anyhow, and the fence costs registers (`bench/ablations.py`).
const LEAST_LOADS: usize = 3;
/// Registers that a thread loads outside loops, where loads are waited for once.
pub(super) const LEAST_OUTSIDE: u32 = 24;
/// The same in kernels with products, where ptxas puts each load in front of the store to shared memory that it is for (`bench/ablations.py`).
const LEAST_BESIDE_PRODUCTS: u32 = 16;

/// The text of a function's body with loads in front. `most`: registers of a thread; `follows`: loads whose addresses are loaded count as well.
pub(super) fn loads_first(body: &str, most: u32, multiplies: bool, follows: bool) -> String {
    let lines: Vec<&str> = body.lines().collect();
    let carried = carried_around(&lines);
    let mut text = String::with_capacity(body.len() + 256);
    let mut start = 0;
    for (index, line) in lines.iter().enumerate() {
        if Line::of(line).ends_run() {
            // Loads in batches have their fences.
            if is_fence(line) {
                lines[start..index].iter().for_each(|line| put(line, &mut text));
            } else {
                write_run(&lines[start..index], carried[index], most, multiplies, follows, &mut text);
            }
            put(line, &mut text);
            start = index + 1;
        }
    }
    write_run(&lines[start..], None, most, multiplies, follows, &mut text);
    text
}

/// `carried`: registers of what the loops around the run carry.
fn write_run(lines: &[&str], carried: Option<u32>, most: u32, multiplies: bool, follows: bool, text: &mut String) {
    let mut run = Run::of(lines);
    let kinds: Vec<Line> = lines.iter().map(|line| Line::of(line)).collect();
    // In straight-line code the few numbers that say where all the others are come first as well.
    let (first, loaded) = run.loads_in_front(&kinds, if carried.is_none() && follows { lines.len() } else { 0 });
    let least = match carried {
        Some(_) => LEAST_IN_LOOP,
        None if multiplies => LEAST_BESIDE_PRODUCTS,
        None => LEAST_OUTSIDE,
    };
    let are_few = carried.is_some() && !multiplies && first.len() < LEAST_LOADS;
    // What is loaded beyond a thread's registers is spilled again.
    let most = most.saturating_sub(carried.unwrap_or(0));
    if (least..=most).contains(&loaded) && !are_few {
        first.into_iter().for_each(|load| run.write(load, text));
        put_fence(Fence::Loads, text);
    } else if loaded > most && carried.is_none() {
        // What they are loaded by is computed before the first of them, or ptxas has fewer registers still.
        (0..first[0]).for_each(|index| run.write(index, text));
        put_fence(Fence::Loads, text);
    }
    run.write_rest(text);
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(body: &str, expected: Expect) {
        expected
            .assert_eq(&loads_first(body, 255, false, true).lines().map(|line| format!("{}\n", line.trim())).collect::<String>());
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
%t6 = call i32 asm sideeffect \"ld.global.b32 …\", \"…\"(ptr %t3) #1
br i1 %t5, label %b1, label %b2
b2:
",
            expect![[r#"
                b1:
                %t0 = getelementptr float, ptr %arg0, i32 0
                %t1 = call {i32, i32, i32, i32} asm sideeffect "ld.global.v4.b32 …", "…"(ptr %t0) #1
                %t3 = getelementptr float, ptr %arg0, i32 4
                %t4 = call {i32, i32} asm sideeffect "ld.global.v2.b32 …", "…"(ptr %t3) #1
                %t6 = call i32 asm sideeffect "ld.global.b32 …", "…"(ptr %t3) #1
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
        let text = loads_first(&body, 255, false, true);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[7].contains("pmevent.mask 0;"), "{text}");
        assert_eq!(lines[8..], body.lines().collect::<Vec<_>>()[7..]);
    }

    #[test]
    fn few_loads_keep_their_places() {
        let few: String = (0..5).map(|index| load(index, "%arg0")).chain(["%t9 = add i32 %t0, %t1\n".to_owned()]).collect();
        let in_loop = format!("b1:\n{few}br label %b1\n");
        assert_eq!(loads_first(&in_loop, 255, false, true), in_loop);
        assert_eq!(loads_first(&few, 255, false, true), few);
        let two: String = (0..2).map(|index| load(index, "%arg0").replace(".b32", ".v4.b32")).collect();
        let in_loop = format!("b1:\n{two}%t9 = add i32 %t0, %t1\nbr label %b1\n");
        assert_eq!(loads_first(&in_loop, 255, false, true), in_loop);
        assert!(loads_first(&in_loop, 255, true, true).contains("pmevent.mask 0;"));
    }

    #[test]
    fn fewer_loads_are_put_first_where_products_are_made() {
        let loads: String = (0..16).map(|index| load(index, "%arg0")).collect();
        assert_eq!(loads_first(&loads, 255, false, true), loads);
        assert!(loads_first(&loads, 255, true, true).contains("pmevent.mask 0;"));
    }

    #[test]
    fn loads_follow_their_addresses_in_straight_line_code() {
        let body = load(0, "%arg0") + &(1..24).map(|index| load(index, "%t0") + "%t99 = add i32 %t0, 1\n").collect::<String>();
        let fenced = |body: &str, follows| {
            let text = loads_first(body, 255, false, follows);
            text.lines()
                .position(|line| line.contains("pmevent"))
                .map(|at| text.lines().take(at).filter(|line| line.contains("ld.global")).count())
        };
        assert_eq!(fenced(&body, true), Some(24));
        assert_eq!(fenced(&body, false), None);
        assert_eq!(fenced(&format!("b1:\n{body}br label %b1\n"), true), None);
    }

    #[test]
    fn more_loads_than_registers_keep_their_places() {
        let step = |index: u32| load(2 * index, "%arg0") + &format!("%t{} = add i32 %t{}, 1\n", 2 * index + 1, 2 * index);
        let body: String = (0..30).map(step).collect();
        assert!(loads_first(&body, 30, false, true).contains("pmevent.mask 0;"));
        let kept = loads_first(&body, 29, false, true);
        assert!(kept.lines().next().is_some_and(|line| line.contains("pmevent.mask 0;")));
        assert!(kept.ends_with(&body));
    }
}
