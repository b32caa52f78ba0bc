//! Loads of straight-line code in front of the barriers that they need not wait for.
//!
//! A program of one small tile loads, multiplies, and then loads what the product is masked or scaled with; each load waits behind the barriers
//! in between, and the program for one latency of memory after the other. Here such a load goes behind the first loads of its basic block.
//! Barriers of a CTA order what threads say to each other through shared memory, and a kernel that has written nothing to global memory by then
//! has told nobody anything there.
//!
//! What is loaded early is live for longer, so it is little: with the block's first loads less than what goes behind a fence ([`loads_first`];
//! `bench/ablations.py`).
//!
//! **Invariant:** a load passes no access that may write to global memory, volatile and atomic ones among them, and leaves neither its basic block
//! nor a loop.

use super::{
    lines::{Line, Run, carried_around, put},
    loads_first,
};

/// Of a thread's registers, loads that fill this part of them are not early: with few registers a thread, more warps hide more (`bench/ablations.py`).
const PART: u32 = 8;

/// The text of a function's body with such loads moved. `most`: registers of a thread.
pub(super) fn early_loads(body: &str, most: u32) -> String {
    let lines: Vec<&str> = body.lines().collect();
    let carried = carried_around(&lines);
    let mut text = String::with_capacity(body.len());
    let mut block = Vec::new();
    let mut rest = lines.iter().zip(carried);
    for (&line, carried) in rest.by_ref() {
        let kind = Line::of(line);
        if carried.is_none() && !matches!(kind, Line::Control | Line::Other) {
            block.push(line);
            continue;
        }
        write_block(&block, most, &mut text);
        block.clear();
        put(line, &mut text);
        if kind == Line::Other {
            break;
        }
    }
    write_block(&block, most, &mut text);
    rest.for_each(|(line, _)| put(line, &mut text));
    text
}

fn write_block(lines: &[&str], most: u32, text: &mut String) {
    let mut run = Run::of(lines);
    let kinds: Vec<Line> = lines.iter().map(|line| Line::of(line)).collect();
    let barrier = kinds.iter().position(|&kind| kind == Line::Collective).unwrap_or(lines.len());
    let little = loads_first::LEAST_OUTSIDE.min(most / PART);
    // Behind the last load in front of the barrier, or in front of it.
    let mut place = barrier;
    let (mut early, mut filled) = (Vec::new(), 0);
    for (index, is_ready) in run.ready(&kinds, barrier).into_iter().enumerate() {
        let Line::GlobalLoad { registers } = kinds[index] else { continue };
        if !is_ready {
            continue;
        }
        if index < barrier {
            place = index + 1;
            filled += registers;
        } else if filled + registers < little {
            early.push(index);
            filled += registers;
        }
    }
    if !early.is_empty() {
        (0..place).for_each(|index| run.write(index, text));
        early.into_iter().for_each(|load| run.write(load, text));
    }
    run.write_rest(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines by their first words, so that a test reads as an order.
    fn order(lines: &[&str]) -> String {
        let line = |&name: &&str| match name.split_once(' ') {
            Some(("load", rest)) => load(rest),
            _ => match name {
                "barrier" => "call void asm sideeffect \"bar.sync 0;\", \"~{memory}\"() #1".to_owned(),
                "own" => "call void asm sideeffect \"bar.sync 0; st.global.b32 [$0], 1;\", \"l,~{memory}\"(ptr %p) #1".to_owned(),
                "store" => "call void asm sideeffect \"st.global.b32 [$0], $1;\", \"l,r\"(ptr %p, i32 1) #1".to_owned(),
                other => other.to_owned(),
            },
        };
        let body: String = lines.iter().map(|name| line(name) + "\n").collect();
        let name = |line: &str| match line.split_once(" = ") {
            Some((result, _)) => result.to_owned(),
            None if line.contains("st.global") => "store".to_owned(),
            None if line.contains("bar.sync") => "barrier".to_owned(),
            None => line.to_owned(),
        };
        early_loads(&body, 255).lines().map(name).collect::<Vec<_>>().join(" ")
    }

    /// `RESULT ADDRESS`, of two registers.
    fn load(words: &str) -> String {
        let (result, address) = words.split_once(' ').unwrap_or((words, "%p"));
        format!(
            "%{result} = call {{i32, i32}} asm sideeffect \"@$3 ld.global.v2.b32 {{$0, $1}}, [$2];\", \"=r,=r,l,b\"(ptr {address}, i1 %m) #1"
        )
    }

    #[test]
    fn a_load_does_not_wait_for_a_barrier() {
        assert_eq!(order(&["load t0 %p", "barrier", "%t1 = add i64 %q, 8", "load t2 %t1"]), "%t0 %t1 %t2 barrier");
    }

    #[test]
    fn a_load_waits_for_its_address() {
        // Which an earlier load may bring, but not one from shared memory.
        assert_eq!(order(&["load t0 %p", "barrier", "%t1 = add i64 %t0, 8", "load t2 %t1"]), "%t0 %t1 %t2 barrier");
        let shared = ["load t0 %p", "barrier", "%t1 = load i64, ptr addrspace(3) %s", "load t2 %t1", "load t3 %t2"];
        assert_eq!(order(&shared), "%t0 barrier %t1 %t2 %t3");
    }

    #[test]
    fn no_load_passes_a_write() {
        assert_eq!(order(&["load t0 %p", "store", "barrier", "load t1 %q"]), "%t0 store barrier %t1");
        assert_eq!(order(&["load t0 %p", "own", "load t1 %q"]), "%t0 store %t1");
        assert_eq!(order(&["store", "b1:", "load t0 %p", "barrier", "load t1 %q"]), "store b1: %t0 barrier %t1");
    }

    #[test]
    fn loads_stay_in_their_loop_and_are_few() {
        let a_loop = ["br label %b1", "b1:", "load t0 %p", "barrier", "load t1 %q", "br i1 %c, label %b1, label %b2"];
        assert_eq!(
            order(&a_loop).split(' ').filter(|word| word.starts_with("%t") || *word == "barrier").collect::<String>(),
            "%t0barrier%t1"
        );
        let names: Vec<String> = (0..12).map(|n| format!("load t{n} %p")).collect();
        let mut many: Vec<&str> = names.iter().map(String::as_str).collect();
        many.insert(11, "barrier");
        assert!(order(&many).ends_with("%t10 barrier %t11"));
    }
}
