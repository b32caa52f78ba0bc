//! Lines of LLVM text: what each is, and which of a run of them each is made of.

use rustc_hash::{FxHashMap, FxHashSet};

pub(super) fn put(line: &str, text: &mut String) {
    text.push_str(line);
    text.push('\n');
}

/// The instruction behind the name of its result.
pub(super) fn instruction(line: &str) -> &str {
    line.split_once(" = ").map_or(line, |(_, instruction)| instruction).trim_start()
}

/// Inline PTX that does more than give its results.
pub(super) fn has_effects(line: &str) -> bool {
    line.contains("asm sideeffect")
}

/// The instructions of inline PTX, without predicates.
pub(super) fn inline_instructions(line: &str) -> impl Iterator<Item = &str> {
    let text = line.split_once("asm sideeffect \"").and_then(|(_, rest)| rest.split_once('"')).map_or("", |(text, _)| text);
    text.split(';').map(str::trim).filter(|one| !one.is_empty()).map(|one| match one.strip_prefix('@') {
        Some(predicated) => predicated.split_once(' ').map_or("", |(_, instruction)| instruction),
        None => one,
    })
}

pub(super) fn is_warp_sync(line: &str) -> bool {
    line.contains("\"bar.warp.sync ")
}

/// An instruction that touches nothing but its operands.
pub(super) fn is_pure(line: &str) -> bool {
    if has_effects(line) {
        return false;
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
fn temporaries(text: &str) -> impl Iterator<Item = &str> {
    text.split('%').skip(1).filter_map(|rest| {
        let digits = rest.strip_prefix('t')?;
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        (end > 0).then(|| &digits[..end])
    })
}

/// Lines of a basic block that are written in another order.
pub(super) struct Run<'r, 'l> {
    lines: &'r [&'l str],
    /// The lines of the run that each is made of, by line.
    pub(super) operands: Vec<Vec<usize>>,
    written: Vec<bool>,
}

impl<'r, 'l> Run<'r, 'l> {
    pub(super) fn of(lines: &'r [&'l str]) -> Run<'r, 'l> {
        let mut defined: FxHashMap<&str, usize> = FxHashMap::default();
        let mut operands: Vec<Vec<usize>> = Vec::with_capacity(lines.len());
        for (index, line) in lines.iter().enumerate() {
            let mut own: Vec<usize> = Vec::new();
            for name in temporaries(instruction(line)) {
                if let Some(&operand) = defined.get(name)
                    && !own.contains(&operand)
                {
                    own.push(operand);
                }
            }
            operands.push(own);
            if let Some((result, _)) = line.split_once(" = ")
                && let Some(name) = temporaries(result).next()
            {
                defined.insert(name, index);
            }
        }
        Run { lines, operands, written: vec![false; lines.len()] }
    }

    /// Writes a line behind all that it is made of, what is written already left out.
    pub(super) fn write(&mut self, root: usize, text: &mut String) {
        for index in self.way_to(root) {
            put(self.lines[index], text);
        }
    }

    /// Writes lines behind all that they are made of, in turns: what leads to the second begins `stagger` lines after what leads to the first.
    /// They keep their order.
    pub(super) fn write_in_turns(&mut self, roots: &[usize], stagger: usize, text: &mut String) {
        let ways: Vec<Vec<usize>> = roots.iter().map(|&root| self.way_to(root)).collect();
        let mut due: FxHashSet<usize> = ways.iter().flatten().copied().collect();
        let mut written = vec![0; ways.len()];
        let mut step = 0;
        while !due.is_empty() {
            for (place, way) in ways.iter().enumerate() {
                let is_behind_all = (0..place).all(|other| written[other] == ways[other].len());
                let Some(&index) = way.get(written[place]) else { continue };
                // What leads to several goes with the first.
                let waits = self.operands[index].iter().any(|operand| due.contains(operand));
                let may_begin = step >= place * stagger && index != roots[place] || is_behind_all;
                if may_begin && !waits {
                    put(self.lines[index], text);
                    due.remove(&index);
                    written[place] += 1;
                }
            }
            step += 1;
        }
    }

    /// A line and all that it is made of and that is not written, each behind its operands; from now on they count as written.
    fn way_to(&mut self, root: usize) -> Vec<usize> {
        let mut way = Vec::new();
        let mut pending = vec![root];
        while let Some(&index) = pending.last() {
            let before = pending.len();
            if !self.written[index] {
                pending.extend(self.operands[index].iter().rev().filter(|&&operand| !self.written[operand]));
                if pending.len() > before {
                    continue;
                }
                self.written[index] = true;
                way.push(index);
            }
            pending.pop();
        }
        way
    }

    /// Writes what is left, in its order.
    pub(super) fn write_rest(&mut self, text: &mut String) {
        for (line, written) in self.lines.iter().zip(&mut self.written) {
            if !std::mem::replace(written, true) {
                put(line, text);
            }
        }
    }
}
