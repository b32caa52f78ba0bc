//! Rounding to the narrow floats and their bits in memory.
//!
//! Every value of `f8`, `bf16` and `f16` is an `f32`, so the interpreter holds them all as `f32`, rounded after each operation. For one
//! operation on two of them that is the correctly rounded result: `f32` has more than twice their digits. **Invariant:** what is held
//! for a scalar type is exactly one of its values. (The payload of a NaN is not kept.)

use crate::types::Scalar;

/// What is subnormal is a zero of its sign.
pub(crate) fn flushed(x: f32) -> f32 {
    if x.abs() < f32::MIN_POSITIVE { 0f32.copysign(x) } else { x }
}

/// Digits behind the point, the least normal exponent, the largest finite value, and whether more than that becomes infinite.
struct Format {
    digits: u32,
    least_exponent: i32,
    largest: f32,
    infinite: bool,
}

/// `f8` saturates, as the machine's `cvt.rn.satfinite` does.
const F8E4M3: Format = Format { digits: 3, least_exponent: -6, largest: 448.0, infinite: false };
const F8E5M2: Format = Format { digits: 2, least_exponent: -14, largest: 57344.0, infinite: false };
const F16: Format = Format { digits: 10, least_exponent: -14, largest: 65504.0, infinite: true };
const BF16: Format = Format { digits: 7, least_exponent: -126, largest: f32::from_bits(0x7f7f_0000), infinite: true };

fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits(((exponent + 127) as u32) << 23)
}

impl Format {
    /// To nearest even.
    #[inline(always)]
    fn round(&self, x: f32) -> f32 {
        let magnitude = x.abs();
        let dropped = 23 - self.digits;
        let bits = magnitude.to_bits();
        let normal =
            f32::from_bits(bits.wrapping_add((1 << (dropped - 1)) - 1 + ((bits >> dropped) & 1)) & !((1u32 << dropped) - 1));
        // Below the least normal the spacing is constant: adding a number of that spacing rounds.
        let anchor = power_of_two(self.least_exponent - self.digits as i32 + 23);
        let subnormal = (magnitude + anchor) - anchor;
        let rounded = if magnitude < power_of_two(self.least_exponent) { subnormal } else { normal };
        let bounded = match (rounded > self.largest, self.infinite) {
            (true, true) => f32::INFINITY,
            (true, false) => self.largest,
            (false, _) => rounded,
        };
        if x.is_nan() { f32::NAN } else { bounded.copysign(x) }
    }
}

fn format(scalar: Scalar) -> Option<&'static Format> {
    match scalar {
        Scalar::F8E4M3 => Some(&F8E4M3),
        Scalar::F8E5M2 => Some(&F8E5M2),
        Scalar::F16 => Some(&F16),
        Scalar::BF16 => Some(&BF16),
        Scalar::F32 | Scalar::F64 | Scalar::I1 | Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => None,
    }
}

/// Rounds every element to the nearest value of `scalar`.
pub(crate) fn round_all(scalar: Scalar, values: &mut [f32]) {
    // One loop a format, so that its numbers are constants of the loop.
    match scalar {
        Scalar::F16 => values.iter_mut().for_each(|x| *x = F16.round(*x)),
        Scalar::BF16 => values.iter_mut().for_each(|x| *x = BF16.round(*x)),
        Scalar::F8E4M3 => values.iter_mut().for_each(|x| *x = F8E4M3.round(*x)),
        Scalar::F8E5M2 => values.iter_mut().for_each(|x| *x = F8E5M2.round(*x)),
        Scalar::F32 | Scalar::F64 | Scalar::I1 | Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => {}
    }
}

/// An `f64` to the nearest value of a float type of 32 bits or fewer, rounded once.
pub(crate) fn round_f64(scalar: Scalar, x: f64) -> f32 {
    let nearest = x as f32;
    let Some(format) = format(scalar) else { return nearest };
    if f64::from(nearest) == x || x.is_nan() {
        return format.round(nearest);
    }
    // Rounded to odd first: the last bit remembers that there was more, so the second rounding sees no false tie.
    let toward_zero = toward_zero(nearest, x);
    format.round(f32::from_bits(toward_zero.to_bits() | 1))
}

/// The neighbour of `nearest` that is not larger in magnitude than `x`.
fn toward_zero(nearest: f32, x: f64) -> f32 {
    if f64::from(nearest).abs() > x.abs() { f32::from_bits(nearest.to_bits() - 1) } else { nearest }
}

/// As [`round_f64`], toward zero.
pub(crate) fn truncate_f64(scalar: Scalar, x: f64) -> f32 {
    if scalar == Scalar::F32 || x.is_nan() || x.is_infinite() {
        return if x.is_finite() { toward_zero(x as f32, x) } else { round_f64(scalar, x) };
    }
    let nearest = round_f64(scalar, x);
    if f64::from(nearest).abs() > x.abs() { decode(scalar, encode(scalar, nearest) - 1) } else { nearest }
}

/// The ten digits a `tf32` multiplication sees of an `f32`: to nearest, ties away from zero, as `cvt.rna.tf32`. Tensor cores cut the others off,
/// which is up to twice as far off; comparisons of devices allow for it.
pub(crate) fn tf32(x: f32) -> f32 {
    if x.is_finite() { f32::from_bits(x.to_bits().wrapping_add(0x1000) & !0x1fff) } else { x }
}

/// The bits in memory of a value held for `scalar`.
#[inline(always)]
pub(crate) fn encode(scalar: Scalar, x: f32) -> u32 {
    match scalar {
        Scalar::F16 => u32::from(half::f16::from_f32(x).to_bits()),
        Scalar::BF16 => u32::from(half::bf16::from_f32(x).to_bits()),
        // Its exponent is that of `f16`: it is the upper byte.
        Scalar::F8E5M2 => u32::from(half::f16::from_f32(x).to_bits() >> 8),
        Scalar::F8E4M3 => {
            let sign = (x.to_bits() >> 31) << 7;
            let magnitude = x.abs();
            if x.is_nan() {
                sign | 0x7f
            } else if magnitude < power_of_two(-6) {
                sign | (magnitude * 512.0) as u32
            } else {
                sign | ((magnitude.to_bits() >> 20) - (120 << 3))
            }
        }
        _ => x.to_bits(),
    }
}

#[inline(always)]
pub(crate) fn decode(scalar: Scalar, bits: u32) -> f32 {
    match scalar {
        Scalar::F16 => half::f16::from_bits(bits as u16).to_f32(),
        Scalar::BF16 => half::bf16::from_bits(bits as u16).to_f32(),
        Scalar::F8E5M2 => half::f16::from_bits((bits as u16) << 8).to_f32(),
        Scalar::F8E4M3 => {
            let magnitude = bits & 0x7f;
            let value = if magnitude == 0x7f {
                f32::NAN
            } else if magnitude < 8 {
                magnitude as f32 / 512.0
            } else {
                f32::from_bits((magnitude + (120 << 3)) << 20)
            };
            if bits & 0x80 != 0 { -value } else { value }
        }
        _ => f32::from_bits(bits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NARROW: [Scalar; 4] = [Scalar::F8E4M3, Scalar::F8E5M2, Scalar::F16, Scalar::BF16];

    #[test]
    fn every_value_survives_rounding_and_memory() {
        for scalar in NARROW {
            for bits in 0..1u32 << scalar.bits() {
                let x = decode(scalar, bits);
                if x.is_nan() {
                    continue;
                }
                assert_eq!(encode(scalar, x), bits, "{scalar} {x}");
                let mut held = [x];
                round_all(scalar, &mut held);
                // Infinities of f8e5m2 exist in memory, arithmetic saturates.
                if scalar != Scalar::F8E5M2 || x.is_finite() {
                    assert_eq!(held[0].to_bits(), x.to_bits(), "{scalar} {x}");
                }
            }
        }
    }

    #[test]
    fn rounding_agrees_with_an_independent_one() {
        let mut state = 1u64;
        for _ in 0..200_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let x = f32::from_bits((state >> 32) as u32);
            if x.is_nan() {
                continue;
            }
            let (mut f16, mut bf16) = ([x], [x]);
            round_all(Scalar::F16, &mut f16);
            round_all(Scalar::BF16, &mut bf16);
            assert_eq!(f16[0], half::f16::from_f32(x).to_f32(), "{x}");
            assert_eq!(bf16[0], half::bf16::from_f32(x).to_f32(), "{x}");
            let wide = f64::from(x) * (1.0 + 1e-12);
            // The other one rounds twice on some hosts: ours is never the farther of the two.
            let (ours, other) = (f64::from(round_f64(Scalar::F16, wide)), half::f16::from_f64(wide).to_f64());
            assert!(ours == other || (ours - wide).abs() < (other - wide).abs(), "{wide} {ours} {other}");
            let cut = truncate_f64(Scalar::F16, wide);
            assert!(f64::from(cut).abs() <= wide.abs() && f64::from(cut).abs() <= 65504.0 || wide.is_infinite(), "{wide} {cut}");
        }
    }

    /// The machine's way to 8 bits, where it has no instruction, gives the same.
    #[test]
    fn programs_to_eight_bits_agree() {
        use crate::math::{LANES, Lanes, run, to_f8};
        let special = [0.0, 448.0, 449.0, 464.0, 57344.0, 61440.0, 1e9, f32::INFINITY, f32::NAN, 0.015625, 0.0146484375];
        let values =
            (0..40_000u32).map(|i| f32::from_bits(i.wrapping_mul(107_371))).chain(special.into_iter().flat_map(|x| [x, -x]));
        // Ties and what is around them.
        let ties =
            (0..=0xffu32).flat_map(|c| [F8E4M3_OR_E5M2[0], F8E4M3_OR_E5M2[1]].map(|s| decode(s, c))).filter(|x| x.is_finite());
        let ties = ties.flat_map(|x| [x * 1.0625, x * 1.062_500_1, x * 1.125, x + 0.000_976_562_5]);
        let values: Vec<f32> = values.chain(ties).collect();
        for scalar in F8E4M3_OR_E5M2 {
            for truncated in [false, true] {
                let program = to_f8(scalar, truncated).expect("a program");
                for batch in values.chunks(LANES) {
                    let arg = Lanes::from_bits(Scalar::F32, |i| batch.get(i).unwrap_or(&0.0).to_bits().into());
                    let codes = run(program, &[arg]);
                    for (i, &x) in batch.iter().enumerate() {
                        let round = if truncated { truncate_f64 } else { round_f64 };
                        let code = codes[0].bits(i) as u32;
                        let (got, wanted) = (decode(scalar, code), round(scalar, x.into()));
                        assert!(
                            got.to_bits() == wanted.to_bits() || got.is_nan() && wanted.is_nan(),
                            "{scalar} {truncated} {x:e}: {got} {wanted}"
                        );
                    }
                }
            }
        }
    }

    const F8E4M3_OR_E5M2: [Scalar; 2] = [Scalar::F8E4M3, Scalar::F8E5M2];
}
