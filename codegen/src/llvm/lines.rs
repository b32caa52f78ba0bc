//! Lines of LLVM text: what each is, and which of a run of them each is made of.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ptx_strings::{Fence, Instruction};

/// What a line is to a load that changes places with it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    /// Touches nothing but its operands.
    Pure,
    /// Reads what does not change while a kernel runs: the numbers of thread and program.
    SpecialRegister,
    GlobalLoad {
        /// That it fills, of a thread.
        registers: u32,
    },
    SharedLoad,
    SharedStore,
    /// Between the threads of a warp.
    Exchange,
    /// What threads do together, writing nothing to global memory.
    Collective,
    /// A label, a branch, a phi.
    Control,
    /// May write to global memory.
    Other,
}

/// Inline PTX of [`Line::Collective`], beside intrinsics.
const COLLECTIVE: &[&str] = &["bar.sync", "ldmatrix.", "stmatrix.", "mma.sync.", "cp.async.ca.", "cp.async.cg."];

impl Line {
    pub(super) fn of(line: &str) -> Line {
        if has_effects(line) {
            let all = |names: &[&str]| inline_instructions(line).all(|one| names.iter().any(|name| one.starts_with(name)));
            return match loaded_registers(line) {
                Some(registers) => Line::GlobalLoad { registers },
                None if all(&["bar.warp.sync"]) => Line::Exchange,
                None if all(COLLECTIVE) => Line::Collective,
                None => Line::Other,
            };
        }
        if is_pure(line) {
            return Line::Pure;
        }
        let operation = instruction(line);
        match operation.split(' ').next() {
            Some("load") if operation.contains("addrspace(3)") => Line::SharedLoad,
            Some("store") if operation.contains("addrspace(3)") => Line::SharedStore,
            Some("call") if operation.contains(" @llvm.nvvm.shfl.") => Line::Exchange,
            Some("call") if operation.contains(" @llvm.nvvm.read.ptx.sreg.") => Line::SpecialRegister,
            Some("call") if operation.contains(" @llvm.nvvm.cp.async.") => Line::Collective,
            Some("call") if operation.contains(" @llvm.assume(") => Line::Pure,
            Some("br" | "switch" | "ret" | "unreachable" | "phi") => Line::Control,
            _ if line.ends_with(':') => Line::Control,
            _ => Line::Other,
        }
    }

    /// Registers of a thread that it loads from global memory.
    pub(super) fn loaded(self) -> u32 {
        if let Line::GlobalLoad { registers } = self { registers } else { 0 }
    }

    /// Whether no load passes it.
    pub(super) fn ends_run(self) -> bool {
        matches!(self, Line::SpecialRegister | Line::Collective | Line::Control | Line::Other)
    }

    /// Whether it may stand anywhere behind what it is made of.
    fn is_free(self) -> bool {
        matches!(self, Line::Pure | Line::SpecialRegister)
    }
}

/// The registers that a load from global memory fills. What programs write themselves may do more than load.
fn loaded_registers(line: &str) -> Option<u32> {
    let is_load = |one: &&str| one.starts_with("ld.global.");
    let mut others = inline_instructions(line).filter(|one| !is_load(one));
    let load = inline_instructions(line).find(is_load).filter(|_| others.all(|one| one.starts_with("mov.")))?;
    let mut words = 1;
    let mut bits = None;
    for part in load.split(' ').next()?.split('.').skip(2) {
        match part.split_at_checked(1) {
            Some(("v", count)) if count.parse::<u32>().is_ok() => words = count.parse().ok()?,
            Some(("b", width)) => bits = width.parse::<u32>().ok(),
            _ => {}
        }
    }
    Some(words * bits?.div_ceil(32))
}

/// By line, the registers of what the loops around it carry; `None` outside loops: between no label and a branch back to it.
pub(super) fn carried_around(lines: &[&str]) -> Vec<Option<u32>> {
    // Where a label stands, and the last branch back to it.
    let mut labels: FxHashMap<&str, (usize, Option<usize>)> = FxHashMap::default();
    for (index, line) in lines.iter().enumerate() {
        if let Some(label) = line.strip_suffix(':') {
            labels.insert(label, (index, None));
        } else if line.trim_start().starts_with("br ") {
            for target in targets(line) {
                if let Some((_, back)) = labels.get_mut(target) {
                    *back = Some(index);
                }
            }
        }
    }
    let mut around = vec![None; lines.len()];
    for (start, back) in labels.into_values() {
        let Some(back) = back else { continue };
        let phis = lines[start + 1..].iter().map_while(|line| instruction(line).strip_prefix("phi "));
        let carried: u32 = phis.map(registers_of).sum();
        for line in &mut around[start..=back] {
            *line = Some(line.unwrap_or(0) + carried);
        }
    }
    around
}

/// The blocks that a branch goes on in.
pub(super) fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("label %").skip(1).map(|rest| rest.split([',', ' ']).next().unwrap_or(rest))
}

/// Of a value of the type that a text begins with.
fn registers_of(text: &str) -> u32 {
    match text.split([' ', '(']).next() {
        Some("i1") => 0,
        Some("i64" | "double" | "ptr") => 2,
        _ => 1,
    }
}

pub(super) fn put(line: &str, text: &mut String) {
    text.push_str(line);
    text.push('\n');
}

/// What ptxas schedules nothing across.
pub(super) fn put_fence(fence: Fence, text: &mut String) {
    let fence = Instruction::SchedulingFence(fence);
    put(&format!("  call void asm sideeffect \"{}\", \"{}\"() #2", fence.text(), fence.constraints()), text);
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
fn inline_instructions(line: &str) -> impl Iterator<Item = &str> {
    let text = line.split_once("asm sideeffect \"").and_then(|(_, rest)| rest.split_once('"')).map_or("", |(text, _)| text);
    text.split(';').map(str::trim).filter(|one| !one.is_empty()).map(|one| match one.strip_prefix('@') {
        Some(predicated) => predicated.split_once(' ').map_or("", |(_, instruction)| instruction),
        None => one,
    })
}

/// Of those that [`put_fence`] writes, one behind loads.
pub(super) fn is_fence(line: &str) -> bool {
    has_effects(line) && Fence::Loads.is_in(line)
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
pub(super) fn temporaries(text: &str) -> impl Iterator<Item = &str> {
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

    /// The loads that may stand in front of the run, in their order, and the registers that those from global memory fill. `kinds`: what each line is;
    /// `first`: lines among which a load may find the address of another.
    pub(super) fn loads_in_front(&self, kinds: &[Line], first: usize) -> (Vec<usize>, u32) {
        let mut loads: Vec<usize> = Vec::new();
        let (mut loaded, mut stored) = (0, false);
        for (index, is_ready) in self.ready(kinds, first).into_iter().enumerate() {
            match kinds[index] {
                Line::GlobalLoad { registers } if is_ready => {
                    loads.push(index);
                    loaded += registers;
                }
                Line::SharedLoad if is_ready && !stored => loads.push(index),
                Line::SharedStore => stored = true,
                _ => {}
            }
        }
        (loads, loaded)
    }

    /// By line, whether all that it is made of may stand in front of the run, but for what is loaded among its `first` lines. `kinds`: what each is.
    pub(super) fn ready(&self, kinds: &[Line], first: usize) -> Vec<bool> {
        let mut ready: Vec<bool> = Vec::with_capacity(self.operands.len());
        let is_there = |operand: usize| kinds[operand].is_free() || operand < first && kinds[operand].loaded() > 0;
        for operands in &self.operands {
            let answer = operands.iter().all(|&operand| ready[operand] && is_there(operand));
            ready.push(answer);
        }
        ready
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
