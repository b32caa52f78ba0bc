//! What the simulator finds, thread by thread: faults that stop no program, and accesses to global memory that no barrier orders.
//!
//! **Invariant:** threads of one warp are in step with each other; those that only repeat what another thread does are not looked at.

use std::collections::HashMap;

use super::{At, Check, Lane, Sanitizer, Told, race::Touch};
use crate::{interpret::Memory, ops::MemSem, types::Scalar};

/// Threads of a warp.
const LANES: u32 = 32;
/// Elements touched between two barriers that are remembered.
const MAX_CELLS: usize = 1 << 21;

/// One thread and elements side by side that it accesses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThreadAccess {
    pub(crate) at: At,
    pub(crate) thread: u32,
    /// Counts the barriers of the program.
    pub(crate) epoch: u32,
    /// Counts its operations.
    pub(crate) step: u64,
    pub(crate) verb: &'static str,
    pub(crate) allocation: usize,
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
}

/// What it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Touched {
    Read,
    /// With whether it changes the bits.
    Write(bool),
    Atomic,
}

/// Who has touched which element since the last barrier, by allocation and element.
#[derive(Debug, Default)]
pub(super) struct Threads {
    epoch: u32,
    cells: HashMap<(usize, usize), Cell>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    writer: Option<Toucher>,
    reader: Option<Toucher>,
    /// One of another warp.
    second: Option<Toucher>,
}

#[derive(Debug, Clone, Copy)]
struct Toucher {
    at: At,
    thread: u32,
    step: u64,
    changes: bool,
}

/// Another access without an order.
enum Clash {
    /// By another thread of the same store.
    Store(Toucher),
    Writer(Toucher),
    Reader(Toucher),
}

impl Threads {
    pub(super) fn begin(&mut self) {
        self.cells.clear();
    }

    fn touch(&mut self, epoch: u32, place: (usize, usize), own: Toucher, touched: Touched) -> Option<Clash> {
        if epoch != self.epoch {
            self.epoch = epoch;
            self.cells.clear();
        }
        if touched == Touched::Atomic || self.cells.len() >= MAX_CELLS && !self.cells.contains_key(&place) {
            return None;
        }
        let cell = self.cells.entry(place).or_default();
        let is_other = |other: &Toucher| other.thread / LANES != own.thread / LANES;
        let writer = cell.writer.filter(|other| other.changes && is_other(other)).map(Clash::Writer);
        if touched == Touched::Read {
            match &cell.reader {
                Some(reader) if is_other(reader) => cell.second = Some(own),
                _ => cell.reader = Some(own),
            }
            return writer;
        }
        let same_store = cell.writer.filter(|other| other.step == own.step && other.thread != own.thread).map(Clash::Store);
        let reader = [cell.reader, cell.second].into_iter().flatten().find(is_other).map(Clash::Reader);
        cell.writer = Some(own);
        if own.changes { same_store.or(writer).or(reader) } else { None }
    }
}

impl Sanitizer {
    /// A fault of one thread, or of all.
    pub(crate) fn fault(&mut self, check: Check, at: At, thread: Option<u32>, message: String, related: Vec<(At, String)>) {
        let lane = Lane { thread, ..Lane::of(at, &[], 0) };
        self.tell(check, lane, at, |_| Told { message, related, tensor: None });
    }

    /// A thread leaves its tensor.
    pub(crate) fn thread_outside(&mut self, at: At, thread: u32, verb: &str, scalar: Scalar, memory: &Memory, address: u64) {
        self.outside(Lane { thread: Some(thread), ..Lane::of(at, &[], 0) }, verb, scalar, memory, address);
    }

    /// Judges an access inside an allocation; whether it may be done.
    pub(crate) fn thread_access(&mut self, access: ThreadAccess, touched: Touched) -> bool {
        let ThreadAccess { at, thread, epoch, step, verb, allocation, offset, bytes } = access;
        let lane = Lane { thread: Some(thread), ..Lane::of(at, &[], 0) };
        let elements = self.elements(allocation, offset, bytes);
        if touched != Touched::Read && self.is_outside_view(lane, verb, allocation, elements.clone()) {
            return false;
        }
        let own = Toucher { at, thread, step, changes: touched == Touched::Write(true) };
        for element in elements.clone() {
            let touch = match touched {
                Touched::Read => Touch::Read,
                Touched::Write(changes) => Touch::Write(changes),
                Touched::Atomic => Touch::Atomic,
            };
            self.touch(lane, allocation, element, touch);
            let Some(clash) = self.threads.touch(epoch, (allocation, element), own, touched) else { continue };
            let (check, what, other, related) = match clash {
                Clash::Store(other) => {
                    let message =
                        format!("threads {} and {thread} of one store have different values for the same element", other.thread);
                    (Check::Race, message, None, "")
                }
                Clash::Writer(other) if touched == Touched::Read => {
                    (Check::RaceWithin, format!("this loads what thread {} stores", other.thread), Some(other), "stored here")
                }
                Clash::Writer(other) => (
                    Check::RaceWithin,
                    format!("this stores over what thread {} stores", other.thread),
                    Some(other),
                    "stored here",
                ),
                Clash::Reader(other) => {
                    (Check::RaceWithin, format!("this stores to what thread {} loads", other.thread), Some(other), "loaded here")
                }
            };
            self.tell(check, lane, at, |this| Told {
                message: match other {
                    Some(_) => format!("{what}, and no barrier is between them: `tl.debug_barrier()` orders them"),
                    None => what,
                },
                related: other.map(|other| (other.at, related.to_owned())).into_iter().collect(),
                tensor: Some(this.shadow.spelled(allocation, element)),
            });
        }
        if touched != Touched::Read {
            self.written(at, allocation, elements);
        }
        true
    }

    /// Before and after an atomic operation touches memory.
    pub(crate) fn acquire(&mut self, sem: MemSem) {
        self.order.acquire(sem);
    }

    pub(crate) fn release(&mut self, sem: MemSem) {
        self.order.release(sem);
    }

    /// A volatile load.
    pub(crate) fn polled(&mut self) {
        self.order.acquire_by_polling();
    }
}
