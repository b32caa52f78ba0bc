//! GPUs as rows: streaming-multiprocessor generations ([`SMS`]) and boards ([`BOARDS`]).
//!
//! Features are a set, never a ladder: `wgmma` is `sm_90a` only, so architecture numbers have no useful order.
//! **Invariant:** nobody outside this file compares architecture numbers; a bare SM has no roofline; a row, built in or of a project, is only
//! used if [`Board::problem`] finds nothing wrong with it.
//!
//! Sources: SM limits from NVIDIA's CUDA programming guide (compute-capability tables) and `cuda_occupancy.h` 13.5; board peaks (dense)
//! from the vendor's datasheets.

use std::{
    hash::{Hash, Hasher},
    sync::{Mutex, PoisonError},
};

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
    /// `stmatrix`.
    MatrixStores,
    /// Native bf16 add and multiply.
    Bf16Arithmetic,
    /// Atomic sums of up to 16 bytes of neighbouring floats.
    VectorAtomics,
    /// A grid may start before the one in front of it has ended, and waits for it where it must.
    GridDependency,
    /// Products accumulate in a memory of the tensor cores' own.
    TensorMemory,
}

/// One SM generation: limits per SM and per CTA.
#[derive(Debug, PartialEq, Eq, Hash)]
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
    /// 32-bit integer, comparison and conversion results per SM and clock.
    pub alu_per_clock: u32,
    /// Special-function results (exp2, rsqrt, …) per SM and clock.
    pub sfu_per_clock: u32,
    pub features: &'static [Feature],
}

impl Sm {
    pub fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }
}

/// Programs along y or z that CUDA launches, on every SM.
pub const MAX_PROGRAMS_YZ: u64 = 65_535;
/// Programs along x.
pub const MAX_PROGRAMS_X: u64 = (1 << 31) - 1;

const KIB: u32 = 1024;

use Feature::{Bf16Arithmetic, CpAsync, Fp8, GridDependency, MatrixStores, MmaSync, TensorMemory, Tma, VectorAtomics, Wgmma};

#[rustfmt::skip]
pub static SMS: &[Sm] = &[
    Sm { name: "sm_80", ptx_target: "sm_80", ptx_feature: "+ptx80", registers_per_sm: 65536, max_registers_per_thread: 255, register_unit: 256, max_warps_per_sm: 64, max_ctas_per_sm: 32, max_threads_per_cta: 1024, shared_per_sm: 164 * KIB, shared_per_cta: 163 * KIB, shared_reserved: KIB, shared_unit: 128, barriers_per_sm: 64, partitions: 4, tensor_f16_flop_per_clock: 2048, fma_per_clock: 64, alu_per_clock: 64, sfu_per_clock: 16, features: &[CpAsync, MmaSync] },
    Sm { name: "sm_86", ptx_target: "sm_86", ptx_feature: "+ptx80", registers_per_sm: 65536, max_registers_per_thread: 255, register_unit: 256, max_warps_per_sm: 48, max_ctas_per_sm: 16, max_threads_per_cta: 1024, shared_per_sm: 100 * KIB, shared_per_cta: 99 * KIB, shared_reserved: KIB, shared_unit: 128, barriers_per_sm: 16, partitions: 4, tensor_f16_flop_per_clock: 1024, fma_per_clock: 128, alu_per_clock: 64, sfu_per_clock: 16, features: &[CpAsync, MmaSync] },
    Sm { name: "sm_89", ptx_target: "sm_89", ptx_feature: "+ptx84", registers_per_sm: 65536, max_registers_per_thread: 255, register_unit: 256, max_warps_per_sm: 48, max_ctas_per_sm: 24, max_threads_per_cta: 1024, shared_per_sm: 100 * KIB, shared_per_cta: 99 * KIB, shared_reserved: KIB, shared_unit: 128, barriers_per_sm: 24, partitions: 4, tensor_f16_flop_per_clock: 1024, fma_per_clock: 128, alu_per_clock: 64, sfu_per_clock: 16, features: &[CpAsync, MmaSync, Fp8] },
    Sm { name: "sm_90", ptx_target: "sm_90a", ptx_feature: "+ptx84", registers_per_sm: 65536, max_registers_per_thread: 255, register_unit: 256, max_warps_per_sm: 64, max_ctas_per_sm: 32, max_threads_per_cta: 1024, shared_per_sm: 228 * KIB, shared_per_cta: 227 * KIB, shared_reserved: KIB, shared_unit: 128, barriers_per_sm: 64, partitions: 4, tensor_f16_flop_per_clock: 4096, fma_per_clock: 128, alu_per_clock: 64, sfu_per_clock: 16, features: &[CpAsync, MmaSync, Fp8, Tma, Wgmma, MatrixStores, Bf16Arithmetic, VectorAtomics, GridDependency] },
    Sm { name: "sm_100", ptx_target: "sm_100a", ptx_feature: "+ptx86", registers_per_sm: 65536, max_registers_per_thread: 255, register_unit: 256, max_warps_per_sm: 64, max_ctas_per_sm: 32, max_threads_per_cta: 1024, shared_per_sm: 228 * KIB, shared_per_cta: 227 * KIB, shared_reserved: KIB, shared_unit: 128, barriers_per_sm: 64, partitions: 4, tensor_f16_flop_per_clock: 8192, fma_per_clock: 128, alu_per_clock: 64, sfu_per_clock: 16, features: &[CpAsync, MmaSync, Fp8, Tma, MatrixStores, Bf16Arithmetic, VectorAtomics, GridDependency, TensorMemory] },
];

/// A board: an SM generation with counts, clocks and datasheet peaks.
#[derive(Debug, Clone, Copy, PartialEq)]
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
    /// 8-bit floats and 8-bit integers on tensor cores, f64 without; `None` where there is no such unit or nobody says.
    pub fp8_tflops: Option<f64>,
    pub int8_tops: Option<f64>,
    pub f64_tflops: Option<f64>,
}

/// No row has a NaN.
impl Eq for Board {}

#[rustfmt::skip]
pub static BOARDS: &[Board] = &[
    Board { name: "A100",    sm: "sm_80",  sm_count: 108, clock: 1410, dram_bandwidth: 2039.0, l2: 40,  f16_tflops: 312.0,  tf32_tflops: 156.0,  f32_tflops: 19.5, fp8_tflops: None,         int8_tops: Some(624.0),  f64_tflops: Some(9.7) },
    Board { name: "H100",    sm: "sm_90",  sm_count: 132, clock: 1830, dram_bandwidth: 3350.0, l2: 50,  f16_tflops: 989.0,  tf32_tflops: 494.0,  f32_tflops: 66.9, fp8_tflops: Some(1979.0), int8_tops: Some(1979.0), f64_tflops: Some(33.5) },
    Board { name: "H200",    sm: "sm_90",  sm_count: 132, clock: 1830, dram_bandwidth: 4800.0, l2: 50,  f16_tflops: 989.0,  tf32_tflops: 494.0,  f32_tflops: 66.9, fp8_tflops: Some(1979.0), int8_tops: Some(1979.0), f64_tflops: Some(33.5) },
    Board { name: "L40S",    sm: "sm_89",  sm_count: 142, clock: 2520, dram_bandwidth: 864.0,  l2: 96,  f16_tflops: 362.0,  tf32_tflops: 183.0,  f32_tflops: 91.6, fp8_tflops: Some(733.0),  int8_tops: Some(733.0),  f64_tflops: Some(1.4) },
    Board { name: "RTX4090", sm: "sm_89",  sm_count: 128, clock: 2520, dram_bandwidth: 1008.0, l2: 72,  f16_tflops: 165.0,  tf32_tflops: 82.6,   f32_tflops: 82.6, fp8_tflops: Some(330.0),  int8_tops: Some(661.0),  f64_tflops: Some(1.3) },
    Board { name: "B200",    sm: "sm_100", sm_count: 148, clock: 1855, dram_bandwidth: 8000.0, l2: 126, f16_tflops: 2250.0, tf32_tflops: 1125.0, f32_tflops: 75.0, fp8_tflops: Some(4500.0), int8_tops: Some(4500.0), f64_tflops: Some(37.0) },
];

impl Board {
    /// What is wrong with a row: a complete message without the board's name.
    pub fn problem(&self) -> Option<String> {
        let Some(sm) = sm(self.sm) else {
            let known: Vec<&str> = SMS.iter().map(|s| s.name).collect();
            return Some(format!("`{}` is no SM generation; known are {}", self.sm, known.join(", ")));
        };
        let counts = [("sm-count", self.sm_count, 1024), ("clock", self.clock, 10_000), ("l2", self.l2, 4096)];
        if let Some((key, value, most)) = counts.into_iter().find(|&(_, value, most)| value == 0 || value > most) {
            return Some(format!("`{key}` is {value}; a number from 1 to {most} is meant"));
        }
        let optional = |key, rate: Option<f64>| rate.map(|rate| (key, rate));
        let rates = [
            Some(("dram-bandwidth", self.dram_bandwidth)),
            Some(("f16-tflops", self.f16_tflops)),
            Some(("tf32-tflops", self.tf32_tflops)),
            Some(("f32-tflops", self.f32_tflops)),
            optional("fp8-tflops", self.fp8_tflops),
            optional("int8-tops", self.int8_tops),
            optional("f64-tflops", self.f64_tflops),
        ];
        if let Some((key, value)) = rates.into_iter().flatten().find(|&(_, value)| !(value > 0.0 && value < 1e6)) {
            return Some(format!("`{key}` is {value}; a positive number is meant"));
        }
        // The datasheet cannot promise more than all SMs do at the boost clock. GeForce boards halve the f32-accumulating rate, so it
        // may well promise less. A datasheet's FMA rate counts on a boost clock that is up to a tenth higher than that of tensor work.
        let product = |per_clock: u32, slack: f64| {
            f64::from(self.sm_count) * f64::from(per_clock) * f64::from(self.clock) * 1e6 / 1e12 * slack
        };
        let limits = [
            ("f16-tflops", self.f16_tflops, product(sm.tensor_f16_flop_per_clock, 1.05)),
            ("tf32-tflops", self.tf32_tflops, product(sm.tensor_f16_flop_per_clock, 1.05)),
            ("f32-tflops", self.f32_tflops, product(2 * sm.fma_per_clock, 1.1)),
        ];
        limits.into_iter().find(|&(_, rate, most)| rate > most).map(|(key, rate, most)| {
            format!("`{key}` is {rate}, and {} SMs of {} at {} MHz do no more than {most:.0}", self.sm_count, sm.name, self.clock)
        })
    }
}

/// Rows of projects that are kept: typing a number makes a row a keystroke, and a server runs for days.
const MAX_ROWS: usize = 4096;

static ROWS: Mutex<Vec<&'static Board>> = Mutex::new(Vec::new());

/// A project's row, kept for good; equal rows once. `Err` says what is wrong with it.
pub fn add_board(name: &str, row: Board) -> Result<&'static Board, String> {
    if let Some(problem) = row.problem() {
        return Err(problem);
    }
    let taken = BOARDS.iter().map(|b| b.name).chain(SMS.iter().map(|s| s.name)).find(|taken| taken.eq_ignore_ascii_case(name));
    if let Some(taken) = taken {
        return Err(format!("{taken} is built in; another name is needed"));
    }
    let mut rows = ROWS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = rows.iter().find(|known| known.name == name && Board { name: known.name, ..row } == ***known) {
        return Ok(known);
    }
    if rows.len() >= MAX_ROWS {
        return Err("too many different boards were written while this program runs; restart it".to_owned());
    }
    let kept: &'static Board = Box::leak(Box::new(Board { name: Box::leak(name.to_owned().into_boxed_str()), ..row }));
    rows.push(kept);
    Ok(kept)
}

/// Everywhere; never silently the host's.
pub const DEFAULT_BOARD: &str = "H100";
/// What a kernel is read as when neither flag, project nor environment says: by the rules of the newest version, but as gently as by the oldest
/// that the range names. It stands where a version stands.
pub const DEFAULT_TRITON: &str = "3.6 to 3.9";

/// What `--gpu` names: a board (then there is a roofline) or a bare SM.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gpu {
    pub sm: &'static Sm,
    pub board: Option<&'static Board>,
    /// Roofs of the board as a calibration has measured them.
    pub measured: Option<Measured>,
}

/// Rates that kernels reached on a machine, in the units of [`Board`]; what was not measured is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Measured {
    pub dram_bandwidth: Option<f64>,
    pub f16_tflops: Option<f64>,
    pub tf32_tflops: Option<f64>,
    pub f32_tflops: Option<f64>,
}

/// No rate is a NaN.
impl Eq for Gpu {}

impl Hash for Gpu {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
        self.measured.is_some().hash(state);
    }
}

impl Gpu {
    /// `H100`, `h200`, `sm_90`, `sm_90a`. An unknown name is an error, never a guess.
    pub fn find(name: &str) -> Option<Gpu> {
        Gpu::find_among(name, &[])
    }

    /// Also a project's own boards.
    pub fn find_among(name: &str, own: &[&'static Board]) -> Option<Gpu> {
        let mut boards = BOARDS.iter().chain(own.iter().copied());
        if let Some(board) = boards.find(|b| b.name.eq_ignore_ascii_case(name)) {
            return Some(Gpu { sm: sm(board.sm)?, board: Some(board), measured: None });
        }
        let sm = SMS.iter().find(|s| s.name.eq_ignore_ascii_case(name) || s.ptx_target.eq_ignore_ascii_case(name))?;
        Some(Gpu { sm, board: None, measured: None })
    }

    /// A GPU of a compute capability, `(9, 0)`, whatever board it is on.
    pub fn of_capability((major, minor): (u32, u32)) -> Option<Gpu> {
        Gpu::find(&format!("sm_{major}{minor}"))
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
            assert_eq!(board.problem(), None, "{}", board.name);
        }
        assert!(Gpu::find(DEFAULT_BOARD).is_some_and(|g| g.board.is_some()));
        assert!(Gpu::find("sm_90a").is_some_and(|g| g.board.is_none()));
        assert!(Gpu::find("sm_13").is_none());
        assert_eq!(has_capability("H100", 9, 0), Some(true));
        assert_eq!(has_capability("A100", 8, 9), Some(false));
        assert_eq!(has_capability("nothing", 8, 0), None);
    }

    #[test]
    fn a_row_of_a_project_is_checked_as_the_built_in_rows_are() {
        let row = Board { name: "", ..BOARDS[1] };
        let kept = add_board("lab", row).expect("a row like the H100's");
        assert!(std::ptr::eq(kept, add_board("lab", row).expect("the same row")), "equal rows are kept once");
        assert_eq!(Gpu::find_among("LAB", &[kept]).map(|g| g.name()), Some("lab"));
        assert_eq!(Gpu::find("lab"), None);
        let wrong = |row: Board| add_board("lab", row).expect_err("a wrong row");
        assert_eq!(
            wrong(Board { sm: "sm_13", ..row }),
            "`sm_13` is no SM generation; known are sm_80, sm_86, sm_89, sm_90, sm_100"
        );
        assert_eq!(wrong(Board { sm_count: 0, ..row }), "`sm-count` is 0; a number from 1 to 1024 is meant");
        assert_eq!(wrong(Board { dram_bandwidth: f64::NAN, ..row }), "`dram-bandwidth` is NaN; a positive number is meant");
        assert_eq!(
            wrong(Board { f16_tflops: 2000.0, ..row }),
            "`f16-tflops` is 2000, and 132 SMs of sm_90 at 1830 MHz do no more than 1039"
        );
        assert_eq!(add_board("h100", row), Err("H100 is built in; another name is needed".to_owned()));
    }
}
