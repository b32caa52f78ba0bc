//! Global memory: allocations with addresses, shared by all programs of a launch.
//!
//! **Invariant:** no program reaches a byte outside an allocation, and programs may run on many threads at once: every access is a
//! relaxed atomic of the element's width, which costs what a plain access costs. Allocations lie far apart, so that an index out of
//! bounds meets nothing and is attributed to the allocation it left.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::*},
};

/// Where the first allocation begins; below it lies nothing, so a null pointer plus an offset faults.
const FIRST: u64 = 1 << 40;
/// Every allocation begins at a multiple of this and is followed by at least as much of nothing.
const SPACING: u64 = 1 << 32;

/// Lines that one launch may print; what is beyond is counted.
const PRINTED_LINES: usize = 1 << 16;

#[derive(Debug, Default)]
pub struct Memory {
    /// By increasing address.
    allocations: Vec<Allocation>,
    printed: Mutex<Printed>,
}

#[derive(Debug, Default)]
struct Printed {
    /// With the program (z, y, x) that printed it.
    lines: Vec<([u32; 3], String)>,
    dropped: usize,
}

#[derive(Debug)]
pub struct Allocation {
    name: String,
    base: u64,
    len: usize,
    words: Box<[AtomicU64]>,
    written: Option<Written>,
}

/// Which elements of an allocation somebody has stored to.
#[derive(Debug)]
struct Written {
    /// Its elements have 2 to this power of bytes.
    shift: u32,
    /// By element.
    flags: Box<[AtomicU8]>,
}

impl Memory {
    pub fn new() -> Memory {
        Memory::default()
    }

    /// A zeroed allocation; the answer is its address. `name` is what faults call it.
    pub fn allocate(&mut self, name: impl Into<String>, bytes: usize) -> u64 {
        let base = self.allocations.last().map_or(FIRST, |last| {
            let end = last.base + last.len as u64;
            (end / SPACING + 2) * SPACING
        });
        let words = (0..bytes.div_ceil(8)).map(|_| AtomicU64::new(0)).collect();
        self.allocations.push(Allocation { name: name.into(), base, len: bytes, words, written: None });
        base
    }

    /// From now on it is noted which elements of the allocation at `base` are stored to. Elements have a power of two of bytes.
    pub fn watch_stores(&mut self, base: u64, element_bytes: usize) {
        if let Some(allocation) = self.allocations.iter_mut().find(|a| a.base == base) {
            let shift = element_bytes.trailing_zeros();
            let flags = (0..allocation.len.div_ceil(1 << shift)).map(|_| AtomicU8::new(0)).collect();
            allocation.written = Some(Written { shift, flags });
        }
    }

    /// By element of the allocation at `base`: has anything been stored to it? `None` where that is not watched.
    pub fn stored(&self, base: u64) -> Option<Vec<bool>> {
        let written = self.at(base)?.written.as_ref()?;
        Some(written.flags.iter().map(|flag| flag.load(Relaxed) != 0).collect())
    }

    /// An allocation that begins as `bytes`.
    pub fn allocate_from(&mut self, name: impl Into<String>, bytes: &[u8]) -> u64 {
        let base = self.allocate(name, bytes.len());
        self.write(base, bytes);
        base
    }

    pub(crate) fn print(&self, [x, y, z]: [u32; 3], lines: impl IntoIterator<Item = String>) {
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        for line in lines {
            if printed.lines.len() < PRINTED_LINES {
                printed.lines.push(([z, y, x], line));
            } else {
                printed.dropped += 1;
            }
        }
    }

    /// What the programs printed, program by program, in the order of the grid.
    pub fn printed(&self) -> Vec<String> {
        let printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = printed.lines.clone();
        lines.sort_by_key(|(program, _)| *program);
        let mut lines: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
        if printed.dropped > 0 {
            lines.push(format!("… and {} more lines", printed.dropped));
        }
        lines
    }

    /// Every allocation, by increasing address.
    pub fn allocations(&self) -> &[Allocation] {
        &self.allocations
    }

    /// The allocation that begins at `base`.
    pub fn at(&self, base: u64) -> Option<&Allocation> {
        self.nearest(base).filter(|a| a.base == base)
    }

    /// A copy of the allocation that begins at `base`; empty if there is none.
    pub fn bytes(&self, base: u64) -> Vec<u8> {
        self.at(base).map_or_else(Vec::new, Allocation::bytes)
    }

    /// Overwrites the first bytes of the allocation at `base`; says whether they fit.
    pub fn write(&self, base: u64, bytes: &[u8]) -> bool {
        let Some(allocation) = self.at(base).filter(|a| bytes.len() <= a.len) else { return false };
        for (index, &byte) in bytes.iter().enumerate() {
            allocation.store::<1>(index, u64::from(byte));
        }
        true
    }

    /// The last allocation that begins at or before `address`.
    pub(crate) fn nearest(&self, address: u64) -> Option<&Allocation> {
        self.allocations.get(self.nearest_index(address)?)
    }

    /// Its place among the allocations.
    pub(crate) fn nearest_index(&self, address: u64) -> Option<usize> {
        self.allocations.partition_point(|a| a.base <= address).checked_sub(1)
    }

    /// The allocation that an address outside of all allocations is about. An index below 0 leaves the front of the one behind.
    pub(crate) fn left_by(&self, address: u64) -> Option<&Allocation> {
        let behind = self.allocations.iter().find(|a| a.base > address && a.base - address < 1 << 31);
        behind.or(self.nearest(address))
    }
}

impl Allocation {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn base(&self) -> u64 {
        self.base
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.words.iter().flat_map(|w| w.load(Relaxed).to_ne_bytes()).collect();
        bytes.truncate(self.len);
        bytes
    }

    /// The offset of an access of `SIZE` bytes, if it lies inside.
    #[inline(always)]
    pub(crate) fn offset<const SIZE: usize>(&self, address: u64) -> Option<usize> {
        let offset = address.wrapping_sub(self.base);
        // `len < SIZE` must not wrap around.
        (self.len >= SIZE && offset <= (self.len - SIZE) as u64).then_some(offset as usize)
    }

    /// The bytes at `offset`, which [`Allocation::offset`] gave and which is a multiple of `SIZE`.
    #[inline(always)]
    fn cell(&self, offset: usize, size: usize) -> *mut u8 {
        assert!(offset.is_multiple_of(size) && offset + size <= self.words.len() * 8, "an access inside its allocation");
        self.words.as_ptr().cast_mut().cast::<u8>().wrapping_add(offset)
    }

    // SAFETY, for all below: `cell` has checked that the bytes lie inside `words` and are aligned (`words` is aligned to 8, more than
    // any access), they live as long as `self`, and they are only ever touched through atomics. Programs that race on the same bytes
    // with different widths get some mixture of the bytes, as on the device.

    #[inline(always)]
    pub(crate) fn load<const SIZE: usize>(&self, offset: usize) -> u64 {
        let cell = self.cell(offset, SIZE);
        unsafe {
            match SIZE {
                1 => u64::from(AtomicU8::from_ptr(cell).load(Relaxed)),
                2 => u64::from(AtomicU16::from_ptr(cell.cast()).load(Relaxed)),
                4 => u64::from(AtomicU32::from_ptr(cell.cast()).load(Relaxed)),
                _ => AtomicU64::from_ptr(cell.cast()).load(Relaxed),
            }
        }
    }

    /// An element of some bytes at an offset that is a multiple of them, inside the allocation.
    pub(crate) fn read(&self, offset: usize, bytes: usize) -> u64 {
        match bytes {
            1 => self.load::<1>(offset),
            2 => self.load::<2>(offset),
            4 => self.load::<4>(offset),
            _ => self.load::<8>(offset),
        }
    }

    #[inline(always)]
    fn note(&self, offset: usize, size: usize) {
        if let Some(written) = &self.written {
            // An access may be narrower than an element, or wider.
            for element in offset >> written.shift..=(offset + size - 1) >> written.shift {
                if let Some(flag) = written.flags.get(element) {
                    flag.store(1, Relaxed);
                }
            }
        }
    }

    #[inline(always)]
    pub(crate) fn store<const SIZE: usize>(&self, offset: usize, bits: u64) {
        let cell = self.cell(offset, SIZE);
        self.note(offset, SIZE);
        unsafe {
            match SIZE {
                1 => AtomicU8::from_ptr(cell).store(bits as u8, Relaxed),
                2 => AtomicU16::from_ptr(cell.cast()).store(bits as u16, Relaxed),
                4 => AtomicU32::from_ptr(cell.cast()).store(bits as u32, Relaxed),
                _ => AtomicU64::from_ptr(cell.cast()).store(bits, Relaxed),
            }
        }
    }

    /// Replaces the bits by `next` of them, atomically; the answer is the old bits.
    pub(crate) fn update<const SIZE: usize>(&self, offset: usize, next: impl Fn(u64) -> u64) -> u64 {
        let cell = self.cell(offset, SIZE);
        self.note(offset, SIZE);
        let old = unsafe {
            match SIZE {
                1 => AtomicU8::from_ptr(cell)
                    .fetch_update(AcqRel, Acquire, |x| Some(next(u64::from(x)) as u8))
                    .map(u64::from)
                    .map_err(u64::from),
                2 => AtomicU16::from_ptr(cell.cast())
                    .fetch_update(AcqRel, Acquire, |x| Some(next(u64::from(x)) as u16))
                    .map(u64::from)
                    .map_err(u64::from),
                4 => AtomicU32::from_ptr(cell.cast())
                    .fetch_update(AcqRel, Acquire, |x| Some(next(u64::from(x)) as u32))
                    .map(u64::from)
                    .map_err(u64::from),
                _ => AtomicU64::from_ptr(cell.cast()).fetch_update(AcqRel, Acquire, |x| Some(next(x))),
            }
        };
        // The closure always has a next value, so both arms hold the old one.
        old.unwrap_or_else(|old| old)
    }
}
