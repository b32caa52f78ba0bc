//! Bytes of shared memory that Triton's single operations go through.
//!
//! A conversion writes a tile, or one of several equal parts after another, and reads it back; the buffer is chosen so that both sides move wide
//! and without bank conflicts, and what both hold in registers alike makes the parts. **Invariant:** a function of layouts and widths only.

use tritium_tile::layout::{
    Bases, Conversion, Distributed,
    algebra::{index_bits, shift_of},
    convert::conversion,
};

/// Bytes of a conversion; 0 where it stays inside of warps.
pub(super) fn conversion_bytes(source: &Distributed, result: &Distributed, bits: u32, has_matrix_stores: bool) -> u32 {
    let source = source.clone().without_duplicate_registers();
    let result = result.clone().without_duplicate_registers();
    match conversion(&source, &result) {
        Conversion::Rename(_) => return 0,
        Conversion::Exchange(_) | Conversion::Shuffle if exchanged(&source, &result) < 2 => return 0,
        _ => {}
    }
    let bits = bits.max(8);
    let parts = parts(&source, &result, bits, has_matrix_stores);
    (1u32 << index_bits(&source.shape)) / parts * bits / 8
}

/// Lanes' bits that become registers.
fn exchanged(source: &Distributed, result: &Distributed) -> u32 {
    let left = |a: &Bases, b: &Bases| a.iter().filter(|basis| **basis != 0 && !b.contains(basis)).count() as u32;
    left(&source.lane, &result.lane).max(left(&result.lane, &source.lane))
}

/// How a memory instruction covers its contiguous part: bits of lanes inside of it, and bits of lanes that give addresses.
struct Instruction {
    contiguous: &'static [usize],
    addresses: &'static [usize],
}

const PLAIN: Instruction = Instruction { contiguous: &[], addresses: &[0, 1, 2] };
const MATRIX: Instruction = Instruction { contiguous: &[0, 1], addresses: &[2, 3, 4] };
const TURNED: Instruction = Instruction { contiguous: &[2, 3, 4], addresses: &[0, 1] };

fn parts(source: &Distributed, result: &Distributed, bits: u32, has_matrix_stores: bool) -> u32 {
    let mut from: Vec<&Instruction> = vec![&PLAIN];
    let mut to: Vec<&Instruction> = vec![&PLAIN];
    if bits <= 32 {
        to.push(&MATRIX);
        if has_matrix_stores {
            from.push(&MATRIX);
        }
    }
    if bits == 16 {
        to.push(&TURNED);
        if has_matrix_stores {
            from.push(&TURNED);
        }
    }
    let total = (128 / bits).ilog2() as usize;
    let mut best: Option<(usize, u32)> = None;
    for store in &from {
        for load in &to {
            let (regs_from, regs_to) =
                (total as isize - store.contiguous.len() as isize, total as isize - load.contiguous.len() as isize);
            if regs_from < 0 || regs_to < 0 {
                continue;
            }
            let tile = if regs_from >= regs_to {
                tile(source, result, regs_from as usize, regs_to as usize, store, load)
            } else {
                tile(result, source, regs_to as usize, regs_from as usize, load, store)
            };
            let Some(vector) = tile else { continue };
            let (Some(a), Some(b)) = (addresses(store, source, &vector), addresses(load, result, &vector)) else { continue };
            let missing = |i: &Instruction| (i.contiguous.len() + i.addresses.len()).saturating_sub(3);
            let leave = missing(store).min(missing(load));
            let (parts, conflicts) = swizzle(source, result, bits, &vector, &a, &b, leave);
            if best.is_none_or(|(least, most)| conflicts < least || conflicts == least && parts > most) {
                best = Some((conflicts, parts));
            }
        }
    }
    best.map_or_else(|| narrow(source, result, bits), |(_, parts)| parts)
}

/// The bases that both instructions move as one contiguous part.
fn tile(
    a: &Distributed,
    b: &Distributed,
    regs_a: usize,
    regs_b: usize,
    of_a: &Instruction,
    of_b: &Instruction,
) -> Option<Vec<u32>> {
    let mut vector = common(&a.register, &b.register);
    if vector.len() < regs_b {
        return None;
    }
    vector.truncate(regs_b);
    let lanes = |layout: &Distributed, which: &[usize]| -> Vec<u32> { which.iter().map(|&i| layout.lane[i]).collect() };
    let (in_a, in_b) = (lanes(a, of_a.contiguous), lanes(b, of_b.contiguous));
    if in_a.iter().chain(&in_b).any(|&basis| basis == 0) {
        return None;
    }
    let extra = regs_a - regs_b;
    if in_b.len() < extra || in_b[..extra].iter().any(|basis| !a.register.contains(basis)) {
        return None;
    }
    let rest = &in_b[in_b.len() - in_a.len().min(in_b.len())..];
    if rest.len() != in_a.len() || rest.iter().zip(&in_a).any(|(x, y)| x != y) {
        return None;
    }
    vector.extend(in_b);
    Some(vector)
}

/// What the addresses of one phase step over.
fn addresses(of: &Instruction, layout: &Distributed, vector: &[u32]) -> Option<Vec<u32>> {
    let needed = 3 - of.addresses.len();
    let mut out: Vec<u32> = layout.register.iter().copied().filter(|b| !vector.contains(b)).take(needed).collect();
    if out.len() < needed {
        return None;
    }
    out.extend(of.addresses.iter().map(|&i| layout.lane[i]));
    Some(out)
}

/// The number of parts and the conflicts of a buffer for this contiguous part and these phases.
fn swizzle(
    source: &Distributed,
    result: &Distributed,
    bits: u32,
    vector: &[u32],
    a: &[u32],
    b: &[u32],
    leave: usize,
) -> (u32, usize) {
    let dim = index_bits(&source.shape) as usize;
    let banks = ((1024 / ((1 << vector.len()) * bits).min(1024)).ilog2() as usize).min(dim.saturating_sub(vector.len()));
    let wanted = dim.saturating_sub(banks + vector.len());
    let side = |lanes: &[u32]| -> Vec<u32> { vector.iter().chain(lanes).copied().filter(|&b| b != 0).collect() };
    let segment = segment(&side(a), &side(b), dim, wanted);
    let both = |basis: &&u32| source.register.contains(basis) && result.register.contains(basis);
    let parts = segment.iter().filter(both).count().saturating_sub(leave);
    let conflicts = segment.iter().filter(|s| a.contains(s)).count() + segment.iter().filter(|s| b.contains(s)).count();
    (1 << parts, conflicts)
}

/// Steps between rows of banks: such that the lanes of neither side take them, as far as there are.
fn segment(source: &[u32], result: &[u32], dim: usize, wanted: usize) -> Vec<u32> {
    let free = |b: &u32| !source.contains(b) && !result.contains(b);
    let mut segment: Vec<u32> = (0..dim).map(|bit| 1 << bit).filter(free).collect();
    if segment.len() >= wanted {
        segment.truncate(wanted);
        return segment;
    }
    let only = |a: &[u32], b: &[u32]| -> Vec<u32> {
        let mut out: Vec<u32> = a.iter().copied().filter(|x| !b.contains(x)).collect();
        out.sort_unstable();
        out.dedup();
        out
    };
    let (mut a, mut b) = (only(source, result), only(result, source));
    if a.len() > b.len() {
        std::mem::swap(&mut a, &mut b);
    }
    let conflicts = wanted.saturating_sub(a.len() + segment.len()).min(a.len());
    segment.extend((conflicts..a.len()).map(|i| a[i] ^ b[i]));
    segment.extend_from_slice(&a[..conflicts]);
    segment.extend_from_slice(&b[..conflicts]);
    segment.truncate(wanted);
    segment
}

/// The parts of a conversion that no 16-byte access fits.
fn narrow(source: &Distributed, result: &Distributed, bits: u32) -> u32 {
    let mut vector = common(&source.register, &result.register);
    vector.truncate((128 / bits).ilog2() as usize);
    let per_bank = if bits > 32 { 0 } else { (32 / bits).ilog2() as usize };
    let after_bank = |registers: &[u32], vector: &[u32], lanes: &[u32]| -> Vec<u32> {
        let most = (128 / bits.max(32)).ilog2() as usize;
        registers.iter().copied().filter(|r| !vector.contains(r) && lanes.contains(r)).take(most).collect()
    };
    let mut from_source = true;
    if (1 << vector.len()) * bits < 32 {
        let fill = |registers: &[u32]| -> Vec<u32> {
            let mut out = vector.clone();
            let mut rest = registers.iter().copied().filter(|r| !vector.contains(r));
            while out.len() < per_bank {
                match rest.next() {
                    Some(r) => out.push(r),
                    None => break,
                }
            }
            out
        };
        let (by_source, by_result) = (fill(&source.register), fill(&result.register));
        let (gain_source, gain_result) =
            (after_bank(&source.register, &by_source, &result.lane), after_bank(&result.register, &by_result, &source.lane));
        from_source = gain_source >= gain_result;
        vector = if from_source { by_source } else { by_result };
    }
    let more = if from_source {
        after_bank(&source.register, &vector, &result.lane)
    } else {
        after_bank(&result.register, &vector, &source.lane)
    };
    vector.extend(more);
    let dim = index_bits(&source.shape) as usize;
    let phase = |layout: &Distributed| -> Vec<u32> {
        let wide = vector.iter().zip(&layout.register).take_while(|(v, r)| v == r).count();
        let drop = (((1u32 << wide) * bits / 32).max(1)).ilog2() as usize;
        let lanes = &layout.lane[..layout.lane.len() - drop.min(layout.lane.len())];
        lanes.iter().copied().filter(|b| !vector.contains(b)).collect()
    };
    let (a, b) = (phase(source), phase(result));
    vector.truncate(dim);
    swizzle(source, result, bits, &vector, &a, &b, 0).0
}

fn common(a: &Bases, b: &Bases) -> Vec<u32> {
    a.iter().copied().filter(|basis| *basis != 0 && b.contains(basis)).collect()
}

/// Bytes through which the warps of a reduction meet: one partial result of every row and warp along the axis.
pub(super) fn reduction_bytes(source: &Distributed, axis: usize, widths: &[u32]) -> u32 {
    let mask = source.axis_mask(axis);
    let warps = source.warp.iter().filter(|&&b| b & mask != 0).count();
    if warps == 0 {
        return 0;
    }
    let rows = 1u32 << (source.index_bits() - source.shape[axis].ilog2());
    (rows << warps) * widths.iter().map(|bits| bits.div_ceil(8)).sum::<u32>()
}

/// Bytes through which the warps of a scan pass on their totals.
pub(super) fn scan_bytes(source: &Distributed, axis: usize, widths: &[u32]) -> u32 {
    let mask = source.axis_mask(axis);
    let along = |bases: &Bases| bases.iter().filter(|&&b| b & mask != 0).count() as u32;
    if along(&source.warp) == 0 {
        return 0;
    }
    // Of each warp: every line of threads off the axis, for every block along the axis.
    let contiguous = {
        let shift = shift_of(&source.shape, axis);
        source.register.iter().enumerate().take_while(|&(i, &b)| b == 1 << (shift + i as u32)).count() as u32
    };
    let off = |bases: &Bases| bases.iter().filter(|&&b| b != 0 && b & mask == 0).count() as u32;
    let blocks = along(&source.register).saturating_sub(contiguous);
    let lines = off(&source.lane) + off(&source.register);
    let elements = (source.warp.len() as u32) + lines + blocks;
    (1u32 << elements) * widths.iter().map(|bits| bits.div_ceil(8)).sum::<u32>()
}
