//! GPUs as rows: streaming-multiprocessor generations ([`SMS`]) and boards ([`BOARDS`]).
//!
//! Features are a set, never a ladder: `wgmma` is `sm_90a` only, so architecture numbers have no useful order.
//! **Invariant:** nobody outside this file compares architecture numbers; a bare SM has no roofline; rows check themselves (tests below).
//!
//! Sources: SM limits from NVIDIA's CUDA programming guide (compute-capability tables) and `cuda_occupancy.h` 13.5; board peaks (dense)
//! from the vendor's datasheets.

/// What an SM can do that code generation or a diagnostic asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Feature {
    /// `cp.async` from global to shared memory.
    CpAsync,
    /// `mma.sync` on bf16 and tf32.
    MmaSync,
    /// `mma.sync` on 8-bit floats, and conversions from and to them.
    Fp8,
    /// The tensor memory accelerator (bulk tensor copies).
    Tma,
    /// Warpgroup matrix multiply, asynchronous.
    Wgmma,
    /// Native bf16 add and multiply.
    Bf16Arithmetic,
    /// A grid may start before the one in front of it has ended, and waits for it where it must.
    GridDependency,
}

/// One SM generation: limits per SM and per CTA.
#[derive(Debug, PartialEq)]
pub struct Sm {
    /// What users write: `sm_90`.
    pub name: &'static str,
    /// What LLVM and ptxas are told: `sm_90a`.
    pub ptx_target: &'static str,
    /// `.version` we emit, as LLVM's feature.
    pub ptx_feature: &'static str,
    pub registers_per_sm: u32,
    pub max_registers_per_thread: u32,
    /// Registers are given to a warp in multiples of this.
    pub register_unit: u32,
    pub max_warps_per_sm: u32,
    pub max_ctas_per_sm: u32,
    pub max_threads_per_cta: u32,
    /// Bytes; per CTA is the opt-in limit.
    pub shared_per_sm: u32,
    pub shared_per_cta: u32,
    /// Bytes the driver keeps of every CTA's shared memory.
    pub shared_reserved: u32,
    pub shared_unit: u32,
    pub barriers_per_sm: u32,
    /// Sub-partitions, each with its own scheduler.
    pub partitions: u32,
    /// Dense f16 tensor FLOP per SM and clock, f32 accumulation.
    pub tensor_f16_flop_per_clock: u32,
    /// f32 fused multiply-adds per SM and clock.
    pub fma_per_clock: u32,
    /// Special-function results (exp2, rsqrt, …) per SM and clock.
    pub sfu_per_clock: u32,
    pub features: &'static [Feature],
}

impl Sm {
    pub fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }
}

const KIB: u32 = 1024;

use Feature::{Bf16Arithmetic, CpAsync, Fp8, GridDependency, MmaSync, Tma, Wgmma};

#[rustfmt::skip]
pub static SMS: &[Sm] = &[
    Sm { name: "sm_80", ptx_target: "sm_80", ptx_feature: "+ptx80", registers_per_sm: 65536, max_registers_per_thread: 255, register_unit: 256, max_warps_per_sm: 64, max_ctas_per_sm: 32, max_threads_per_cta: 1024, shared_per_sm: 164 * KIB, shared_per_cta: 163 * KIB, shared_reserved: KIB, shared_unit: 128, barriers_per_sm: 64, partitions: 4, tensor_f16_flop_per_clock: 2048, fma_per_clock: 64, sfu_per_clock: 16, features: &[CpAsync, MmaSync] },
    Sm { name: "sm_86", ptx_target: "sm_86", ptx_feature: "+ptx80", registers_per_sm: 65536, max_registers_per_thread: 255, register_unit: 256, max_warps_per_sm: 48, max_ctas_per_sm: 16, max_threads_per_cta: 1024, shared_per_sm: 100 * KIB, shared_per_cta: 99 * KIB, shared_reserved: KIB, shared_unit: 128, barriers_per_sm: 16, partitions: 4, tensor_f16_flop_per_clock: 1024, fma_per_clock: 128, sfu_per_clock: 16, features: &[CpAsync, MmaSync] },
    Sm { name: "sm_89", ptx_target: "sm_89", ptx_feature: "+ptx84", registers_per_sm: 65536, max_registers_per_thread: 255, register_unit: 256, max_warps_per_sm: 48, max_ctas_per_sm: 24, max_threads_per_cta: 1024, shared_per_sm: 100 * KIB, shared_per_cta: 99 * KIB, shared_reserved: KIB, shared_unit: 128, barriers_per_sm: 24, partitions: 4, tensor_f16_flop_per_clock: 1024, fma_per_clock: 128, sfu_per_clock: 16, features: &[CpAsync, MmaSync, Fp8] },
    Sm { name: "sm_90", ptx_target: "sm_90a", ptx_feature: "+ptx84", registers_per_sm: 65536, max_registers_per_thread: 255, register_unit: 256, max_warps_per_sm: 64, max_ctas_per_sm: 32, max_threads_per_cta: 1024, shared_per_sm: 228 * KIB, shared_per_cta: 227 * KIB, shared_reserved: KIB, shared_unit: 128, barriers_per_sm: 64, partitions: 4, tensor_f16_flop_per_clock: 4096, fma_per_clock: 128, sfu_per_clock: 16, features: &[CpAsync, MmaSync, Fp8, Tma, Wgmma, Bf16Arithmetic, GridDependency] },
];

/// A board: an SM generation with counts, clocks and datasheet peaks.
#[derive(Debug, PartialEq)]
pub struct Board {
    pub name: &'static str,
    /// The row of [`SMS`].
    pub sm: &'static str,
    pub sm_count: u32,
    /// MHz, boost.
    pub clock: u32,
    /// GB/s, datasheet.
    pub dram_bandwidth: f64,
    /// MiB
    pub l2: u32,
    /// TFLOP/s dense, datasheet: f16 with f32 accumulation on tensor cores, tf32 on tensor cores, f32 without.
    pub f16_tflops: f64,
    pub tf32_tflops: f64,
    pub f32_tflops: f64,
}

#[rustfmt::skip]
pub static BOARDS: &[Board] = &[
    Board { name: "A100",    sm: "sm_80", sm_count: 108, clock: 1410, dram_bandwidth: 2039.0, l2: 40, f16_tflops: 312.0, tf32_tflops: 156.0, f32_tflops: 19.5 },
    Board { name: "H100",    sm: "sm_90", sm_count: 132, clock: 1830, dram_bandwidth: 3350.0, l2: 50, f16_tflops: 989.0, tf32_tflops: 494.0, f32_tflops: 66.9 },
    Board { name: "H200",    sm: "sm_90", sm_count: 132, clock: 1830, dram_bandwidth: 4800.0, l2: 50, f16_tflops: 989.0, tf32_tflops: 494.0, f32_tflops: 66.9 },
    Board { name: "L40S",    sm: "sm_89", sm_count: 142, clock: 2520, dram_bandwidth: 864.0,  l2: 96, f16_tflops: 362.0, tf32_tflops: 183.0, f32_tflops: 91.6 },
    Board { name: "RTX4090", sm: "sm_89", sm_count: 128, clock: 2520, dram_bandwidth: 1008.0, l2: 72, f16_tflops: 165.0, tf32_tflops: 82.6,  f32_tflops: 82.6 },
];

/// Everywhere; never silently the host's.
pub const DEFAULT_BOARD: &str = "H100";
/// The language version when neither flag, project nor environment says.
pub const DEFAULT_TRITON: &str = "3.6";

/// What `--gpu` names: a board (then there is a roofline) or a bare SM.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gpu {
    pub sm: &'static Sm,
    pub board: Option<&'static Board>,
}

impl Gpu {
    /// `H100`, `h200`, `sm_90`, `sm_90a`. An unknown name is an error, never a guess.
    pub fn find(name: &str) -> Option<Gpu> {
        if let Some(board) = BOARDS.iter().find(|b| b.name.eq_ignore_ascii_case(name)) {
            return Some(Gpu { sm: sm(board.sm)?, board: Some(board) });
        }
        let sm = SMS.iter().find(|s| s.name.eq_ignore_ascii_case(name) || s.ptx_target.eq_ignore_ascii_case(name))?;
        Some(Gpu { sm, board: None })
    }

    pub fn name(&self) -> &'static str {
        self.board.map_or(self.sm.name, |b| b.name)
    }
}

/// Is the compute capability of a GPU this one or a newer one? `None` if nobody knows the GPU.
pub fn has_capability(gpu: &str, major: u32, minor: u32) -> Option<bool> {
    let number: u32 = Gpu::find(gpu)?.sm.name.strip_prefix("sm_")?.parse().ok()?;
    Some(number >= major.saturating_mul(10).saturating_add(minor))
}

pub fn sm(name: &str) -> Option<&'static Sm> {
    SMS.iter().find(|s| s.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_check_themselves() {
        for sm in SMS {
            assert!(sm.ptx_target.starts_with(sm.name), "{}", sm.name);
            assert_eq!(sm.shared_per_sm - sm.shared_per_cta, sm.shared_reserved, "{}", sm.name);
        }
        for board in BOARDS {
            let sm = sm(board.sm).expect(board.name);
            // GeForce boards halve the f32-accumulating rate, so a datasheet may be below the product, never far above.
            let peak = f64::from(board.sm_count) * f64::from(sm.tensor_f16_flop_per_clock) * f64::from(board.clock) * 1e6 / 1e12;
            assert!(board.f16_tflops < peak * 1.05, "{}: {} > {peak}", board.name, board.f16_tflops);
        }
        assert!(Gpu::find(DEFAULT_BOARD).is_some_and(|g| g.board.is_some()));
        assert!(Gpu::find("sm_90a").is_some_and(|g| g.board.is_none()));
        assert!(Gpu::find("sm_13").is_none());
        assert_eq!(has_capability("H100", 9, 0), Some(true));
        assert_eq!(has_capability("A100", 8, 9), Some(false));
        assert_eq!(has_capability("nothing", 8, 0), None);
    }
}
