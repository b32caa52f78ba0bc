//! Where Triton's allocation puts the parts of shared memory.
//!
//! **Invariant:** parts that are alive at once do not overlap; equal parts in equal order get equal places.

use rustc_hash::FxHashMap;

use super::Part;

/// Places the parts as Triton does: large ones first, each into the lowest opening that it alone of all openings meets; what still lies on
/// another part that is alive with it moves past it, until nothing does. The bytes that all take.
pub(super) fn place(parts: &mut [Part]) -> u32 {
    // What single operations go through is one after another, though it has one place here.
    let mut same: FxHashMap<u32, u64> = FxHashMap::default();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
    for part in &*parts {
        let (from, to) = (u64::from(part.alive.0) << 16, u64::from(part.alive.1) << 16);
        if part.is_at_once() {
            let turn = same.entry(part.alive.0).or_default();
            ranges.push((from + *turn, from + *turn + 1));
            *turn += 1;
        } else {
            ranges.push((from, to + (1 << 16)));
        }
    }
    let meet = |a: (u64, u64), b: (u64, u64)| a.0 < b.1 && b.0 < a.1;
    let mut openings: Vec<(u32, (u64, u64))> = vec![(0, (0, u64::MAX))];
    let mut open: Vec<usize> = (0..parts.len()).collect();
    while !open.is_empty() && !openings.is_empty() {
        let (offset, range) = openings.remove(0);
        let fits = |&n: &usize| meet(ranges[n], range) && !openings.iter().any(|&(_, other)| meet(ranges[n], other));
        let Some(chosen) = open.iter().position(fits) else { continue };
        let n = open.remove(chosen);
        let (part, own) = (&mut parts[n], ranges[n]);
        part.offset = offset.next_multiple_of(part.alignment);
        let mut add = |offset: u32, range: (u64, u64)| {
            let at = openings.partition_point(|&(other, _)| other <= offset);
            openings.insert(at, (offset, range));
        };
        add(part.offset + part.bytes, (range.0.max(own.0), range.1.min(own.1)));
        if range.0 < own.0 {
            add(offset, (range.0, own.1));
        }
        if own.1 < range.1 {
            add(offset, (own.0, range.1));
        }
    }
    // Every round moves something up; nothing has to move past all of the others more than once.
    for _ in 0..=parts.len() * parts.len() {
        let lies_on = |a: &Part, b: &Part| a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
        let met: Vec<Vec<usize>> = (0..parts.len())
            .map(|a| {
                (0..parts.len()).filter(|&b| a != b && meet(ranges[a], ranges[b]) && lies_on(&parts[a], &parts[b])).collect()
            })
            .collect();
        if met.iter().all(Vec::is_empty) {
            break;
        }
        // The largest of those that lie on each other stays.
        let mut colours: Vec<Option<usize>> = vec![None; parts.len()];
        colours[0] = Some(0);
        for n in 0..parts.len() {
            let taken: Vec<usize> = met[n].iter().filter_map(|&other| colours[other]).collect();
            colours[n] = (0..).find(|colour| !taken.contains(colour));
        }
        for n in 0..parts.len() {
            let past = met[n].iter().map(|&other| parts[other].offset + parts[other].bytes).max().unwrap_or(0);
            if colours[n] != Some(0) {
                parts[n].offset = past.next_multiple_of(parts[n].alignment);
            }
        }
    }
    let end = parts.iter().map(|part| part.offset + part.bytes).max().unwrap_or(0);
    parts.sort_by_key(|part| (part.offset, part.origin));
    end
}
