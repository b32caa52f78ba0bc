//! The one generator of test data: the same bits on every machine and every device.
//!
//! Philox-4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) keyed by the tensor's name and counted by the
//! element's row-major index, so an element does not depend on how many others there are. Normal deviates by Box–Muller in `f64` with
//! `libm`, whose results do not depend on the platform. PyTorch's stream is not reproduced.
//! **Invariant:** `(name, index)` alone decide a number.

const ROUND: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

fn philox(mut key: [u32; 2], mut counter: [u32; 4]) -> [u32; 4] {
    for _ in 0..10 {
        let a = u64::from(ROUND[0]) * u64::from(counter[0]);
        let b = u64::from(ROUND[1]) * u64::from(counter[2]);
        counter = [(b >> 32) as u32 ^ counter[1] ^ key[0], b as u32, (a >> 32) as u32 ^ counter[3] ^ key[1], a as u32];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    counter
}

/// A stream of numbers addressed by element.
#[derive(Debug, Clone, Copy)]
pub struct Stream {
    key: [u32; 2],
}

impl Stream {
    pub fn named(name: &str) -> Stream {
        // FNV-1a, 64 bits.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
        Stream { key: [hash as u32, (hash >> 32) as u32] }
    }

    fn words(self, index: u64) -> [u32; 4] {
        philox(self.key, [index as u32, (index >> 32) as u32, 0, 0])
    }

    pub fn bits(self, index: u64) -> u64 {
        let [a, b, ..] = self.words(index);
        u64::from(a) | u64::from(b) << 32
    }

    /// In `[0, 1)`, 53 bits.
    pub fn unit(self, index: u64) -> f64 {
        (self.bits(index) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Mean 0, standard deviation 1.
    pub fn normal(self, index: u64) -> f64 {
        let [a, b, c, d] = self.words(index);
        let in_unit = |lo: u32, hi: u32| ((u64::from(lo) | u64::from(hi) << 32) >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
        // `1 - u` is in (0, 1], so the logarithm is finite.
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - in_unit(a, b)));
        radius * libm::cos(std::f64::consts::TAU * in_unit(c, d))
    }

    /// In `low..high`; `low` when the range is empty.
    pub fn int(self, index: u64, low: i64, high: i64) -> i64 {
        let span = high.wrapping_sub(low) as u64;
        if high <= low { low } else { low.wrapping_add(((u128::from(self.bits(index)) * u128::from(span)) >> 64) as i64) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known-answer vectors of the reference implementation (Random123).
    #[test]
    fn philox_known_answers() {
        assert_eq!(philox([0, 0], [0; 4]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox([u32::MAX; 2], [u32::MAX; 4]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
    }

    #[test]
    fn moments_are_right() {
        let stream = Stream::named("x");
        let n = 100_000;
        let (sum, squares) = (0..n).map(|i| stream.normal(i)).fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
        assert!((sum / n as f64).abs() < 0.01 && (squares / n as f64 - 1.0).abs() < 0.02);
        assert!((0..n).all(|i| (-3..4).contains(&stream.int(i, -3, 4))));
    }
}
