//! Races in global memory: what two programs of a launch do to one element without an order between them.
//!
//! Programs run one after another here, and on a GPU in any order. What orders them is atomics: whatever a program did before it released is
//! before what another does after it acquired. All atomics count as one variable, so an order is rather seen where there is none than missed.
//! **Invariant:** equal values stored twice are no race; nothing is said of an element of which it is not known who has touched it.

use std::collections::HashMap;

use super::At;
use crate::ops::MemSem;

/// Programs from here on are not told apart.
pub(super) const MAX_PROGRAMS: u64 = (1 << 22) - 1;
/// Releases of a program that are told apart, and operations that touch a tensor.
const MAX_EPOCH: u64 = 15;
const MAX_ACCESSES: u64 = 15;

/// Who has touched an element: the last writer and a reader, each with its epoch (how often it had released) and its operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Cell(u64);

/// One of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Toucher {
    /// Counted from 1; 0 for nobody.
    pub(super) program: u64,
    epoch: u64,
    access: u64,
}

const ATOMIC: u64 = 1 << 60;
/// Several programs have written it: the same, or atomically.
const MANY_WRITERS: u64 = 1 << 61;
const MANY_READERS: u64 = 1 << 62;
/// Some store has changed it.
const CHANGED: u64 = 1 << 63;

impl Cell {
    const READER: u32 = 30;

    fn half(self, shift: u32) -> Toucher {
        let half = self.0 >> shift;
        Toucher { program: half & MAX_PROGRAMS, epoch: half >> 22 & 15, access: half >> 26 & 15 }
    }

    fn set_half(&mut self, shift: u32, toucher: Toucher) {
        let half = toucher.program | toucher.epoch << 22 | toucher.access << 26;
        self.0 = self.0 & !(((1 << 30) - 1) << shift) | half << shift;
    }

    pub(super) fn writer(self) -> Toucher {
        self.half(0)
    }

    fn reader(self) -> Toucher {
        self.half(Cell::READER)
    }

    fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }

    fn set(&mut self, flag: u64, on: bool) {
        self.0 = if on { self.0 | flag } else { self.0 & !flag };
    }
}

/// What is known of the order of programs.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// Atomics so far.
    now: u64,
    /// When this program last acquired.
    acquired: u64,
    /// When this program has released.
    released: Vec<u64>,
    /// When those before have, if they have.
    others: HashMap<u64, Vec<u64>>,
    program: u64,
}

/// What an access does to an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Touch {
    Read,
    /// With whether it changes the bits.
    Write(bool),
    Atomic,
}

/// Two accesses of different programs without an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Conflict {
    /// The other program's operation, if it can be named.
    pub(super) other: Option<u64>,
    pub(super) other_program: u64,
    /// The other one wrote.
    pub(super) other_wrote: bool,
    /// Atomically.
    pub(super) other_is_atomic: bool,
}

impl Order {
    pub(super) fn begin(&mut self) {
        if !self.released.is_empty() {
            self.others.insert(self.program, std::mem::take(&mut self.released));
        }
        self.acquired = 0;
    }

    /// Before an atomic operation touches memory.
    pub(super) fn acquire(&mut self, sem: MemSem) {
        self.now += 1;
        if matches!(sem, MemSem::Acquire | MemSem::AcqRel) {
            self.acquired = self.now;
        }
    }

    /// After it has.
    pub(super) fn release(&mut self, sem: MemSem) {
        if matches!(sem, MemSem::Release | MemSem::AcqRel) && self.released.len() < MAX_EPOCH as usize {
            self.released.push(self.now);
        }
    }

    /// A volatile load sees what was released before.
    pub(super) fn acquire_by_polling(&mut self) {
        self.acquired = self.now;
    }

    fn epoch(&self) -> u64 {
        self.released.len() as u64
    }

    /// Whether what another program did is before what this one does now.
    fn is_before(&self, other: Toucher) -> bool {
        if other.epoch >= MAX_EPOCH {
            return true;
        }
        let released = self.others.get(&other.program).and_then(|times| times.get(other.epoch as usize));
        released.is_some_and(|&time| time <= self.acquired)
    }

    fn has_releases(&self) -> bool {
        !self.others.is_empty() || !self.released.is_empty()
    }

    /// Judges one access of `program`, and remembers it.
    pub(super) fn touch(&mut self, cell: &mut Cell, program: u64, access: u64, touch: Touch) -> Option<Conflict> {
        if program >= MAX_PROGRAMS {
            return None;
        }
        self.program = program;
        let me = Toucher { program, epoch: self.epoch().min(MAX_EPOCH), access: access.min(MAX_ACCESSES) };
        let (writer, reader) = (cell.writer(), cell.reader());
        let other_writer = writer.program != 0 && writer.program != program && !self.is_before(writer);
        let is_atomic = cell.has(ATOMIC);
        let conflict_with = |other: Toucher, other_wrote: bool| Conflict {
            other: (other.access < MAX_ACCESSES).then_some(other.access),
            other_program: other.program,
            other_wrote,
            other_is_atomic: other_wrote && is_atomic,
        };
        match touch {
            Touch::Read => {
                let is_race = other_writer && cell.has(CHANGED) && (cell.has(ATOMIC) || !cell.has(MANY_WRITERS));
                if reader.program == 0 || reader.program == program || self.is_before(reader) {
                    cell.set_half(Cell::READER, me);
                } else {
                    cell.set(MANY_READERS, true);
                }
                is_race.then(|| conflict_with(writer, true))
            }
            Touch::Write(changes) => {
                let written = if other_writer { changes || cell.has(ATOMIC) } else { false };
                // Among several that wrote the same, some other one did.
                let by_others = changes && writer.program == program && cell.has(MANY_WRITERS) && !self.has_releases();
                let other_reader = reader.program != 0 && reader.program != program && !self.is_before(reader);
                let read = changes && (other_reader || cell.has(MANY_READERS) && !self.has_releases());
                let conflict = match (written || by_others, read) {
                    (true, _) => Some(conflict_with(writer, true)),
                    (false, true) => Some(conflict_with(reader, false)),
                    (false, false) => None,
                };
                let repeats = other_writer && !changes;
                cell.set(MANY_WRITERS, repeats || cell.has(MANY_WRITERS) && writer.program == program && !changes);
                cell.set(CHANGED, changes || repeats && cell.has(CHANGED) || cell.has(CHANGED) && writer.program == program);
                cell.set(ATOMIC, false);
                cell.set_half(0, me);
                if changes {
                    self.forget_readers(cell, program);
                }
                conflict
            }
            Touch::Atomic => {
                let written = other_writer && !cell.has(ATOMIC);
                let read = reader.program != 0 && reader.program != program && !self.is_before(reader);
                let conflict = match (written, read) {
                    (true, _) => Some(conflict_with(writer, true)),
                    (false, true) => Some(conflict_with(reader, false)),
                    (false, false) => None,
                };
                let many = writer.program != 0 && writer.program != program || cell.has(ATOMIC) && cell.has(MANY_WRITERS);
                cell.set(MANY_WRITERS, many);
                cell.set(ATOMIC | CHANGED, true);
                cell.set_half(0, me);
                conflict
            }
        }
    }

    /// Readers that were told, or that an order holds back, are told no more.
    fn forget_readers(&self, cell: &mut Cell, program: u64) {
        if cell.reader().program != program {
            cell.set_half(Cell::READER, Toucher::default());
        }
        cell.set(MANY_READERS, false);
    }
}

/// The number by which cells name an operation.
pub(super) fn number(accesses: &mut Vec<At>, at: At) -> u64 {
    let index = accesses.iter().position(|other| *other == at).unwrap_or_else(|| {
        accesses.push(at);
        accesses.len() - 1
    });
    index as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told of each access; `p!` begins a program, `a` is an atomic that orders.
    fn told(script: &str) -> String {
        let (mut order, mut cell, mut out) = (Order::default(), Cell::default(), String::new());
        let mut program = 0;
        for step in script.chars() {
            let touch = match step {
                '1'..='9' => {
                    order.begin();
                    program = u64::from(step as u8 - b'0');
                    continue;
                }
                'o' => {
                    order.acquire(MemSem::AcqRel);
                    order.release(MemSem::AcqRel);
                    continue;
                }
                'r' => Touch::Read,
                'w' => Touch::Write(true),
                's' => Touch::Write(false),
                _ => {
                    order.acquire(MemSem::Relaxed);
                    Touch::Atomic
                }
            };
            out.push(if order.touch(&mut cell, program, 0, touch).is_some() { 'X' } else { '.' });
        }
        out
    }

    #[test]
    fn accesses_of_two_programs() {
        // r reads, w writes another value, s the same, a is a relaxed atomic, o orders.
        for (script, expected) in [
            ("1w2w", ".X"),
            ("1w2s", ".."),
            ("1w2s3w", "..X"),
            ("1w2s1w", "..X"),
            ("1w2r", ".X"),
            ("1r2w", ".X"),
            ("1r2r3w", "..X"),
            ("1r2r2w", "..X"),
            ("1rw", ".."),
            ("1wr", ".."),
            ("1s2r", ".."),
            ("1a2a", ".."),
            ("1a2r", ".X"),
            ("1a2w", ".X"),
            ("1r2a", ".X"),
            ("1w2a", ".X"),
            ("1wo2or", ".."),
            ("1wo2r", ".X"),
            ("1ow2or", ".X"),
            ("1ro2ow", ".."),
            ("1wo2ow3r", "..X"),
        ] {
            assert_eq!(told(script), expected, "{script}");
        }
    }
}
