//! What a kernel occupies of a GPU: one row a unit, with its rate on a board.
//!
//! **Invariant:** a rate is the datasheet's or follows from counts per clock; what share of it kernels reach is [`reached`]'s business, and a
//! unit that the board does not have has no rate.

use serde::Serialize;
use tritium_semantics::target::Gpu;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// FLOP of dense tensor-core products by the type of the operands.
    TensorF16,
    TensorTf32,
    TensorFp8,
    TensorInt8,
    /// FLOP.
    F64,
    /// Instructions of one element: additions, multiplications, both fused.
    Fma,
    /// Results: comparisons, selections, conversions, integer arithmetic that is no addressing.
    Alu,
    /// Results: exponentials, logarithms, roots, reciprocals.
    Sfu,
    /// Bytes to and from shared memory, those included that tensor cores fetch.
    Shared,
    /// Bytes between L2 and the SMs, in whole sectors.
    L2,
    /// Bytes between DRAM and L2.
    Dram,
}

/// Bytes per clock of an SM's shared memory, and of L2 for each SM: where an H200 brings 10.0 TB/s to its SMs, a profiler counts 52 % of the
/// peak of L2's slices (`bench/results/counters.md`).
const SHARED_BYTES: f64 = 128.0;
const L2_BYTES: f64 = 80.0;

/// What kernels reach of datasheet rates, fitted to an H200 (`bench/results/h200.md`).
const DRAM_REACHED: f64 = 0.915;
const TENSOR_REACHED: f64 = 0.66;
const L2_REACHED: f64 = 0.48;
const OTHERS_REACHED: f64 = 0.8;
/// Counted where nothing else holds a kernel up (`exponentials` and `polynomial` in `bench/results/counters.md`), of the peaks at their clock.
const SFU_REACHED: f64 = 0.96;
const FMA_REACHED: f64 = 0.94;
/// And of rates that were measured on the machine, which nobody exceeds.
const DRAM_OF_MEASURED: f64 = 1.0;
const TENSOR_OF_MEASURED: f64 = 0.78;

impl Unit {
    pub const COUNT: usize = 11;

    pub const ALL: [Unit; Unit::COUNT] = [
        Unit::TensorF16,
        Unit::TensorTf32,
        Unit::TensorFp8,
        Unit::TensorInt8,
        Unit::F64,
        Unit::Fma,
        Unit::Alu,
        Unit::Sfu,
        Unit::Shared,
        Unit::L2,
        Unit::Dram,
    ];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Unit::TensorF16 => "tensor",
            Unit::TensorTf32 => "tensor (tf32)",
            Unit::TensorFp8 => "tensor (fp8)",
            Unit::TensorInt8 => "tensor (int8)",
            Unit::F64 => "f64",
            Unit::Fma => "FMA",
            Unit::Alu => "ALU",
            Unit::Sfu => "SFU",
            Unit::Shared => "shared memory",
            Unit::L2 => "L2",
            Unit::Dram => "DRAM",
        }
    }

    pub fn is_tensor(self) -> bool {
        matches!(self, Unit::TensorF16 | Unit::TensorTf32 | Unit::TensorFp8 | Unit::TensorInt8)
    }

    /// Of the datasheet, a microsecond of the whole board.
    pub fn rate(self, gpu: &Gpu) -> Option<f64> {
        let (sm, board) = (gpu.sm, gpu.board?);
        let per_clock = |amount: f64| amount * f64::from(board.sm_count) * f64::from(board.clock);
        Some(match self {
            Unit::TensorF16 => board.f16_tflops * 1e6,
            Unit::TensorTf32 => board.tf32_tflops * 1e6,
            Unit::TensorFp8 => board.fp8_tflops? * 1e6,
            Unit::TensorInt8 => board.int8_tops? * 1e6,
            Unit::F64 => board.f64_tflops? * 1e6,
            Unit::Fma => board.f32_tflops / 2.0 * 1e6,
            Unit::Alu => per_clock(f64::from(sm.alu_per_clock)),
            Unit::Sfu => per_clock(f64::from(sm.sfu_per_clock)),
            Unit::Shared => per_clock(SHARED_BYTES),
            Unit::L2 => per_clock(L2_BYTES),
            Unit::Dram => board.dram_bandwidth * 1e3,
        })
    }

    /// What a rate is multiplied by, because a datasheet's FMA rate counts on a higher clock than that of tensor work: with products all plain
    /// instructions run at the lower one, without them at the higher one.
    pub fn clock_factor(self, products: bool, gpu: &Gpu) -> Option<f64> {
        let (sm, board) = (gpu.sm, gpu.board?);
        let lower = f64::from(board.sm_count) * f64::from(board.clock) * f64::from(sm.fma_per_clock);
        let boost = (board.f32_tflops / 2.0 * 1e6 / lower).max(1.0);
        Some(match self {
            Unit::Fma if products => 1.0 / boost,
            Unit::Alu | Unit::Sfu if !products => boost,
            _ => 1.0,
        })
    }

    /// That kernels reach, a microsecond of the whole board; of the measured roof where there is one.
    pub fn reached(self, gpu: &Gpu) -> Option<f64> {
        let sheet = self.rate(gpu)?;
        let measured = gpu.measured.unwrap_or_default();
        let tensor = |rate: Option<f64>| rate.map_or(sheet * TENSOR_REACHED, |rate| rate * 1e6 * TENSOR_OF_MEASURED);
        Some(match self {
            Unit::Dram => measured.dram_bandwidth.map_or(sheet * DRAM_REACHED, |rate| rate * 1e3 * DRAM_OF_MEASURED),
            Unit::TensorF16 => tensor(measured.f16_tflops),
            Unit::TensorTf32 => tensor(measured.tf32_tflops),
            Unit::TensorFp8 | Unit::TensorInt8 => sheet * TENSOR_REACHED,
            Unit::L2 => sheet * L2_REACHED,
            Unit::Sfu => sheet * SFU_REACHED,
            Unit::Fma => sheet * FMA_REACHED,
            Unit::F64 | Unit::Alu | Unit::Shared => sheet * OTHERS_REACHED,
        })
    }
}
