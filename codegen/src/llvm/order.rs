//! The order of instructions within a basic block.
//!
//! Operations are written one after the other, each for all registers of a tile, so everything that one of them gives is live before the
//! next one takes it. Here what stands between two accesses is put into another order: each result right behind what it is made of, one
//! register of the tile after the other. ptxas keeps roughly to the order that it is given, and needs fewer registers for this one.
//!
//! **Invariant:** only instructions that touch nothing but their operands, and stores to global memory beside these, change places; stores
//! keep their order, and so does everything else.

use rustc_hash::FxHashMap;

/// The text of a function's body, with each run of movable lines depth first.
pub(super) fn depth_first(body: &str) -> String {
    let mut text = String::with_capacity(body.len());
    let mut run: Vec<&str> = Vec::new();
    for line in body.lines() {
        if is_movable(line) {
            run.push(line);
        } else {
            write_run(&run, &mut text);
            run.clear();
            put(line, &mut text);
        }
    }
    write_run(&run, &mut text);
    text
}

pub(super) fn put(line: &str, text: &mut String) {
    text.push_str(line);
    text.push('\n');
}

/// The instruction behind the name of its result.
pub(super) fn instruction(line: &str) -> &str {
    line.split_once(" = ").map_or(line, |(_, instruction)| instruction).trim_start()
}

pub(super) fn is_warp_sync(line: &str) -> bool {
    line.contains("\"bar.warp.sync ")
}

pub(super) fn is_movable(line: &str) -> bool {
    if line.contains("asm sideeffect") {
        return is_warp_sync(line) || line.contains("st.global.") && !line.contains(" = ");
    }
    let Some((_, instruction)) = line.split_once(" = ") else { return false };
    match instruction.split(' ').next() {
        Some("phi" | "load" | "cmpxchg" | "atomicrmw" | "alloca") => false,
        Some("call") => {
            instruction.contains(" asm \"") || instruction.contains(" @llvm.") && !instruction.contains(" @llvm.nvvm.")
        }
        _ => true,
    }
}

/// The names of temporaries in a piece of text.
pub(super) fn temporaries(text: &str) -> impl Iterator<Item = &str> {
    text.split('%').skip(1).filter_map(|rest| {
        let digits = rest.strip_prefix('t')?;
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        (end > 0).then(|| &digits[..end])
    })
}

fn write_run(run: &[&str], text: &mut String) {
    if run.len() < 3 {
        run.iter().for_each(|line| put(line, text));
        return;
    }
    let mut defined: FxHashMap<&str, usize> = FxHashMap::default();
    let mut operands: Vec<Vec<usize>> = Vec::with_capacity(run.len());
    // Instructions in a row that lead to each.
    let mut depth: Vec<usize> = Vec::with_capacity(run.len());
    let mut used = vec![false; run.len()];
    for (index, line) in run.iter().enumerate() {
        let mut own: Vec<usize> = Vec::new();
        for name in temporaries(instruction(line)) {
            if let Some(&operand) = defined.get(name)
                && !own.contains(&operand)
            {
                own.push(operand);
                used[operand] = true;
            }
        }
        depth.push(own.iter().map(|&operand| depth[operand] + 1).max().unwrap_or(0));
        // The longest way goes first: what is quickly made waits for nothing in a register.
        own.sort_by_key(|&operand| std::cmp::Reverse(depth[operand]));
        operands.push(own);
        if let Some((result, _)) = line.split_once(" = ")
            && let Some(name) = temporaries(result).next()
        {
            defined.insert(name, index);
        }
    }
    let mut written = vec![false; run.len()];
    // Accesses are all that it orders, and what is computed for stores may as well follow it.
    let first = (0..run.len()).filter(|&index| is_warp_sync(run[index]));
    let roots: Vec<usize> = first.chain((0..run.len()).filter(|&index| !used[index])).collect();
    let mut pending: Vec<usize> = Vec::new();
    for root in roots {
        pending.push(root);
        while let Some(&index) = pending.last() {
            let before = pending.len();
            if !written[index] {
                pending.extend(operands[index].iter().rev().filter(|&&operand| !written[operand]));
                if pending.len() > before {
                    continue;
                }
                written[index] = true;
                put(run[index], text);
            }
            pending.pop();
        }
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
        .assert_eq(&depth_first(body).lines().map(|line| format!("{}\n", line.trim_start())).collect::<String>());
    }

    #[test]
    fn what_is_needed_behind_a_barrier_is_computed_before_it() {
        let body = "%t0 = add i32 %tid, 1\n%t1 = add i32 %tid, 2\n%t2 = mul i32 %t0, 3\nbarrier\n%t3 = add i32 %t1, %t2\n";
        assert_eq!(
            depth_first(body),
            "%t1 = add i32 %tid, 2\n%t0 = add i32 %tid, 1\n%t2 = mul i32 %t0, 3\nbarrier\n%t3 = add i32 %t1, %t2\n"
        );
    }
}
