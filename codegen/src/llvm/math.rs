//! Transcendental functions of f32, from fused multiply-adds and the special-function unit.
//!
//! Largest errors seen against f64: exp 2 ulp plus the argument's rounding (|x|·2^-24 relative), log and log2 1 ulp, sin and cos 2 ulp for
//! |x| ≤ 48000 (absolute error grows with |x| beyond), tanh 2 ulp, erf 5 ulp. **Invariant:** infinities, zeros and NaN go where IEEE 754
//! sends them; only `sin(-0)` is +0.

use super::{
    Emitter, ins,
    value::{Reg, f32_constant},
};
use crate::ptx_strings::Instruction;

/// Polynomials, constant term first.
const LOG: [f32; 8] =
    [0.333_333_17, -0.250_008_1, 0.200_022_86, -0.166_245_53, 0.141_811_96, -0.131_287_68, 0.128_816_22, -0.078_595_46];
const TANH: [f32; 5] = [-0.333_333_3, 0.133_327_95, -0.053_854_07, 0.021_010_08, -0.006_113_188_5];
const ERF_SMALL: [f32; 7] = [0.128_379_17, -0.376_126_27, 0.112_836_, -0.026_854_445, 0.005_189_535, -8.020_841e-4, 7.889_12e-5];
const ERF_TAIL: [f32; 9] = [
    2.043_599e-4,
    -1.129_661_1,
    -0.633_039_6,
    -0.108_637_9,
    0.025_373_556,
    -0.004_282_383,
    4.637_880_5e-4,
    -2.531_481_4e-5,
    2.513_270_4e-7,
];
const SIN: [f32; 3] = [-0.166_666_67, 0.008_332_749, -1.958_800_9e-4];
const COS: [f32; 3] = [0.041_666_665, -0.001_388_830_4, 2.454_804e-5];

impl Emitter<'_> {
    fn fma(&mut self, a: Reg, b: Reg, c: Reg) -> Reg {
        self.call("float", "llvm.fma.f32", &[("float", a), ("float", b), ("float", c)])
    }

    fn mul(&mut self, a: Reg, b: Reg) -> Reg {
        ins!(self, "fmul float {a}, {b}")
    }

    fn polynomial(&mut self, x: Reg, coefficients: &[f32]) -> Reg {
        let mut rest = coefficients.iter().rev();
        let mut sum = f32_constant(rest.next().copied().unwrap_or(0.0));
        for &c in rest {
            sum = self.fma(sum, x, f32_constant(c));
        }
        sum
    }

    fn choose(&mut self, condition: Reg, a: Reg, b: Reg) -> Reg {
        ins!(self, "select i1 {condition}, float {a}, float {b}")
    }

    fn with_sign(&mut self, size: Reg, sign: Reg) -> Reg {
        self.call("float", "llvm.copysign.f32", &[("float", size), ("float", sign)])
    }

    pub(super) fn exp(&mut self, x: Reg) -> Reg {
        let scaled = self.mul(x, f32_constant(std::f32::consts::LOG2_E));
        self.approx(Instruction::Ex2Approx, scaled)
    }

    /// The natural logarithm times `scale`: x = 2^e · m with m in [1/√2, √2], log m = f - f²/2 + f³·P(f) with f = m - 1.
    pub(super) fn log(&mut self, x: Reg, scale: f64) -> Reg {
        let tiny = ins!(self, "fcmp olt float {x}, {}", f32_constant(f32::MIN_POSITIVE));
        let scaled = self.mul(x, f32_constant(8_388_608.0));
        let normal = self.choose(tiny, scaled, x);
        let bias = ins!(self, "select i1 {tiny}, i32 -23, i32 0");
        let bits = ins!(self, "bitcast float {normal} to i32");
        let shifted = ins!(self, "sub i32 {bits}, {}", 0x3f35_04f3);
        let exponent = ins!(self, "ashr i32 {shifted}, 23");
        let high = ins!(self, "shl i32 {exponent}, 23");
        let mantissa = ins!(self, "sub i32 {bits}, {high}");
        let exponent = ins!(self, "add i32 {exponent}, {bias}");
        let e = ins!(self, "sitofp i32 {exponent} to float");
        let m = ins!(self, "bitcast i32 {mantissa} to float");
        let f = ins!(self, "fadd float {m}, {}", f32_constant(-1.0));
        let p = self.polynomial(f, &LOG);
        let square = self.mul(f, f);
        let cubic = self.mul(p, f);
        let tail = ins!(self, "fadd float {cubic}, {}", f32_constant(-0.5));
        let value = if scale == 1.0 {
            // ln 2 in two parts, the first short enough that e·HIGH is exact.
            let low = self.mul(e, f32_constant(-2.121_944_4e-4));
            let rest = self.fma(tail, square, low);
            let sum = ins!(self, "fadd float {rest}, {f}");
            self.fma(e, f32_constant(0.693_359_4), sum)
        } else {
            let high = f32_constant(scale as f32);
            let low = f32_constant((scale - f64::from(scale as f32)) as f32);
            let correction = self.mul(tail, square);
            let scaled = self.mul(correction, high);
            let scaled = self.fma(f, low, scaled);
            let sum = self.fma(f, high, scaled);
            ins!(self, "fadd float {sum}, {e}")
        };
        // +inf and NaN stay, 0 gives -inf, the rest of the negative numbers NaN.
        let infinite = ins!(self, "fcmp ueq float {x}, {}", f32_constant(f32::INFINITY));
        let value = self.choose(infinite, x, value);
        let negative = ins!(self, "fcmp olt float {x}, {}", f32_constant(0.0));
        let value = self.choose(negative, f32_constant(f32::NAN), value);
        let zero = ins!(self, "fcmp oeq float {x}, {}", f32_constant(0.0));
        self.choose(zero, f32_constant(f32::NEG_INFINITY), value)
    }

    /// `sin(x + quarter·π/2)`: x is reduced by multiples of π/2 held in three parts.
    pub(super) fn sin_cos(&mut self, x: Reg, quarter: u32) -> Reg {
        let turns = self.mul(x, f32_constant(std::f32::consts::FRAC_2_PI));
        let turns = self.call("float", "llvm.rint.f32", &[("float", turns)]);
        let mut r = x;
        for part in [-std::f32::consts::FRAC_PI_2, 4.371_139e-8, 1.715_124_5e-15] {
            r = self.fma(turns, f32_constant(part), r);
        }
        let q = self.call("i32", "llvm.fptosi.sat.i32.f32", &[("float", turns)]);
        let q = ins!(self, "add i32 {q}, {quarter}");
        let square = self.mul(r, r);
        let p = self.polynomial(square, &SIN);
        let cube = self.mul(square, r);
        let sine = self.fma(p, cube, r);
        let p = self.polynomial(square, &COS);
        let p = self.fma(p, square, f32_constant(-0.5));
        let cosine = self.fma(p, square, f32_constant(1.0));
        let odd = ins!(self, "trunc i32 {q} to i1");
        let value = self.choose(odd, cosine, sine);
        let half = ins!(self, "and i32 {q}, 2");
        let flip = ins!(self, "icmp ne i32 {half}, 0");
        let negative = ins!(self, "fneg float {value}");
        self.choose(flip, negative, value)
    }

    /// `x + x³·P(x²)` below 0.625, else `1 - 2 / (e^2|x| + 1)`.
    pub(super) fn tanh(&mut self, x: Reg) -> Reg {
        let size = self.call("float", "llvm.fabs.f32", &[("float", x)]);
        let square = self.mul(x, x);
        let p = self.polynomial(square, &TANH);
        let p = self.mul(p, square);
        let small = self.fma(p, x, x);
        let scaled = self.mul(size, f32_constant(2.0 * std::f32::consts::LOG2_E));
        let power = self.approx(Instruction::Ex2Approx, scaled);
        let below = ins!(self, "fadd float {power}, {}", f32_constant(1.0));
        let quotient = self.asm(Instruction::DivFull, &["float"], &[("float", f32_constant(-2.0)), ("float", below)])[0];
        let large = ins!(self, "fadd float {quotient}, {}", f32_constant(1.0));
        // div.full of a divisor above 2^126 gives 0, which is right here.
        let is_small = ins!(self, "fcmp olt float {size}, {}", f32_constant(0.625));
        let value = self.choose(is_small, small, large);
        // Also where a small value is -0.
        self.with_sign(value, x)
    }

    /// `x + x·P(x²)` below 1, else `1 - e^Q(|x|)`.
    pub(super) fn erf(&mut self, x: Reg) -> Reg {
        let size = self.call("float", "llvm.fabs.f32", &[("float", x)]);
        let square = self.mul(x, x);
        let p = self.polynomial(square, &ERF_SMALL);
        let small = self.fma(p, x, x);
        let clamped = self.call("float", "llvm.minimum.f32", &[("float", size), ("float", f32_constant(4.0))]);
        let q = self.polynomial(clamped, &ERF_TAIL);
        let tail = self.exp(q);
        let large = ins!(self, "fsub float {}, {tail}", f32_constant(1.0));
        let large = self.with_sign(large, x);
        let is_small = ins!(self, "fcmp olt float {size}, {}", f32_constant(1.0));
        self.choose(is_small, small, large)
    }
}
