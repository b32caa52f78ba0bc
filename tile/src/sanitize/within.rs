//! Races between the warps of one program: accesses to global memory that no barrier orders.
//!
//! A tile operation is done by all warps of a program, each at its own pace. Triton orders them where threads exchange elements and at
//! `tl.debug_barrier()`, and promises nothing of a store and a load behind it, not even through one pointer. **Invariant:** what is told is done by
//! different warps where elements are dealt as Triton deals them; whatever exchanges elements in some layouts orders the warps here: a race is missed
//! rather than invented. Memory is bounded: of many accesses without a barrier the last ones are held.

use std::collections::VecDeque;

use super::At;
use crate::types::Shape;

/// Accesses that are held.
const MAX_ACCESSES: usize = 64;
/// Their elements.
const MAX_ELEMENTS: usize = 1 << 20;
/// Threads of a warp.
const LANES: usize = 32;
/// The most that one instruction moves.
const VECTOR_BYTES: usize = 16;

/// An access of a program: the elements that it reads, or those that it changes.
#[derive(Debug)]
pub(super) struct Access {
    at: At,
    is_write: bool,
    dealt: Dealt,
    /// Allocation, element there, element of the tile.
    touched: Vec<(u32, u32, u32)>,
}

/// How the elements of a tile are dealt to warps.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Dealt {
    /// Without extents of 1.
    shape: Shape,
    /// Neighbours in memory are neighbours along the first axis of two.
    is_column_major: bool,
    /// Elements that one instruction moves.
    vector: usize,
}

/// Two elements of two accesses, in one place of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clash {
    pub(super) earlier: At,
    pub(super) earlier_wrote: bool,
    pub(super) earlier_element: u32,
    /// Of the later access.
    pub(super) element: u32,
    pub(super) allocation: u32,
    pub(super) place: u32,
}

/// What a program has done since its warps last met.
#[derive(Debug, Default)]
pub(super) struct Within {
    pub(super) num_warps: usize,
    recent: VecDeque<Access>,
}

impl Access {
    /// `pointers`: of the whole tile. `None` where it is not said how such tiles are dealt.
    pub(super) fn new(
        at: At,
        is_write: bool,
        shape: &[u32],
        bytes: usize,
        pointers: &[i64],
        num_warps: usize,
        mut touched: Vec<(u32, u32, u32)>,
    ) -> Option<Access> {
        let shape: Shape = shape.iter().copied().filter(|&extent| extent > 1).collect();
        let stride = |step: usize| pointers.get(step).map_or(u64::MAX, |&next| next.abs_diff(pointers[0]));
        let is_column_major = match shape[..] {
            [] | [_] => false,
            [_, columns] => stride(columns as usize) < stride(1),
            _ => return None,
        };
        let mut dealt = Dealt { shape, is_column_major, vector: 1 };
        let each = pointers.len() / (LANES * num_warps);
        while dealt.vector * 2 <= (VECTOR_BYTES / bytes.max(1)).min(each)
            && dealt.is_consecutive(pointers, bytes, dealt.vector * 2)
        {
            dealt.vector *= 2;
        }
        touched.sort_unstable();
        Some(Access { at, is_write, dealt, touched })
    }

    /// Whether the two have come from one place to another only through an exchange between threads.
    fn is_dealt_otherwise(&self, other: &Access) -> bool {
        (&self.dealt.shape, self.dealt.is_column_major) != (&other.dealt.shape, other.dealt.is_column_major)
    }
}

impl Dealt {
    /// The place of an element as threads take them.
    fn rank(&self, element: u32) -> usize {
        match (self.is_column_major, &self.shape[..]) {
            (true, &[rows, columns]) => (element % columns * rows + element / columns) as usize,
            _ => element as usize,
        }
    }

    /// Whether elements lie side by side, from a multiple of all their bytes on, in each vector of so many.
    fn is_consecutive(&self, pointers: &[i64], bytes: usize, vector: usize) -> bool {
        let mut by_rank = vec![0; pointers.len()];
        pointers.iter().zip(0..).for_each(|(&pointer, element)| by_rank[self.rank(element)] = pointer);
        by_rank.chunks(vector).all(|chunk| {
            let begins = (chunk[0] as u64).is_multiple_of((vector * bytes) as u64);
            begins && chunk.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == bytes as i64)
        })
    }
}

impl Within {
    pub(super) fn new(num_warps: usize) -> Within {
        Within { num_warps, recent: VecDeque::new() }
    }

    /// All that was is before all that follows.
    pub(super) fn meet(&mut self) {
        self.recent.clear();
    }

    /// Judges an access, and holds it.
    pub(super) fn access(&mut self, access: Access) -> Vec<Clash> {
        let mut clashes = Vec::new();
        if access.touched.is_empty() {
            return clashes;
        }
        for earlier in &self.recent {
            let is_after_read = access.is_write && !earlier.is_write;
            // What is stored may have come to its thread through what orders it behind the load.
            if (access.is_write || earlier.is_write) && !(is_after_read && earlier.is_dealt_otherwise(&access)) {
                clashes.extend(self.clashes(earlier, &access));
            }
        }
        self.recent.push_back(access);
        while self.recent.len() > MAX_ACCESSES
            || self.recent.iter().map(|access| access.touched.len()).sum::<usize>() > MAX_ELEMENTS
        {
            self.recent.pop_front();
        }
        clashes
    }

    /// Pairs in one place, of two warps.
    fn clashes(&self, earlier: &Access, later: &Access) -> Vec<Clash> {
        let ends = |access: &Access| Some((*access.touched.first()?, *access.touched.last()?));
        let (Some((a, b)), Some((c, d))) = (ends(earlier), ends(later)) else { return Vec::new() };
        if (b.0, b.1) < (c.0, c.1) || (d.0, d.1) < (a.0, a.1) {
            return Vec::new();
        }
        // Accesses of one shape are dealt alike.
        let vectors = match earlier.is_dealt_otherwise(later) {
            true => (earlier.dealt.vector, later.dealt.vector),
            false => (earlier.dealt.vector.max(later.dealt.vector), earlier.dealt.vector.max(later.dealt.vector)),
        };
        let warp = |rank: usize, vector: usize| rank / (LANES * vector) % self.num_warps;
        let mut clashes = Vec::new();
        let mut begin = 0;
        for &(allocation, place, element) in &later.touched {
            begin += earlier.touched[begin..].iter().take_while(|other| (other.0, other.1) < (allocation, place)).count();
            for other in earlier.touched[begin..].iter().take_while(|other| (other.0, other.1) == (allocation, place)) {
                let (first, second) = (earlier.dealt.rank(other.2), later.dealt.rank(element));
                if first == second || warp(first, vectors.0) == warp(second, vectors.1) {
                    continue;
                }
                clashes.push(Clash {
                    earlier: earlier.at,
                    earlier_wrote: earlier.is_write,
                    earlier_element: other.2,
                    element,
                    allocation,
                    place,
                });
            }
        }
        clashes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::{FunctionId, OpId};

    /// How many elements a second access of numbers clashes in with a first one; each is given as the place of every element.
    fn clashes(num_warps: usize, first: (bool, &[i64]), second: (bool, &[i64])) -> usize {
        let mut within = Within::new(num_warps);
        let mut told = 0;
        for (number, (is_write, places)) in [first, second].into_iter().enumerate() {
            let at = At { function: FunctionId(0), op: OpId(number as u32) };
            let touched = places.iter().enumerate().map(|(i, &place)| (0, place as u32, i as u32)).collect();
            let pointers: Vec<i64> = places.iter().map(|place| place * 4).collect();
            let access = Access::new(at, is_write, &[places.len() as u32], 4, &pointers, num_warps, touched);
            told = within.access(access.expect("one axis")).len();
        }
        told
    }

    #[test]
    fn accesses_of_one_program() {
        let plain: Vec<i64> = (0..512).collect();
        let shifted: Vec<i64> = (1..513).collect();
        let halves: Vec<i64> = (0..512).map(|i| (i + 256) % 512).collect();
        let (reads, writes) = (false, true);
        // The same element by the same thread.
        assert_eq!(clashes(4, (writes, &plain), (reads, &plain)), 0);
        assert_eq!(clashes(4, (writes, &plain), (reads, &halves)), 512);
        assert_eq!(clashes(4, (reads, &halves), (writes, &plain)), 512);
        assert_eq!(clashes(4, (reads, &halves), (reads, &plain)), 0);
        // At the ends of what each warp has.
        assert_eq!(clashes(4, (writes, &plain), (reads, &shifted)), 3);
        // One warp is in step with itself, and so are the few elements that one warp holds.
        assert_eq!(clashes(1, (writes, &plain), (reads, &halves)), 0);
        assert_eq!(clashes(4, (writes, &plain[..32]), (reads, &shifted[..32])), 0);
    }
}
