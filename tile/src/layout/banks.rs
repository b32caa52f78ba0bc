//! Bank conflicts of shared memory, counted by brute force.
//!
//! **Invariant:** a layout is linear, so the count is the same for every register and warp: one instruction's 32 lanes are exact.

/// Wavefronts one warp-wide access takes: lane `l` touches `width` bytes at `address[l]`. Accesses wider than 4 bytes go in phases of
/// 128 bytes; in a phase every bank delivers one 4-byte word a wavefront, and equal words are delivered together.
pub fn wavefronts(address: &[u32], width: u32) -> u32 {
    let phase = (128 / width.max(4)).clamp(1, 32) as usize;
    address
        .chunks(phase)
        .map(|lanes| {
            let mut words: Vec<u32> = lanes.iter().flat_map(|&a| (0..width.div_ceil(4)).map(move |word| a / 4 + word)).collect();
            words.sort_unstable();
            words.dedup();
            let mut per_bank = [0u32; 32];
            for word in words {
                per_bank[word as usize % 32] += 1;
            }
            per_bank.into_iter().max().unwrap_or(0)
        })
        .sum()
}

/// The fewest wavefronts an access of this width can take.
pub fn ideal_wavefronts(width: u32) -> u32 {
    (width * 32).div_ceil(128).max(1)
}
