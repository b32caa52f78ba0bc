//! What a launch costs: arithmetic, bytes, and the time the roofline allows.
//!
//! Ops are counted per program; loops count as often as they run, which follows from the scalar arguments of the launch. Of the bytes
//! requested, those that must come from or go to DRAM are counted once per tensor: `min(requested, size of the tensor)`.
//!
//! **Invariant:** a figure that depends on something unknown is `None`, never a guess; the assumptions behind the others are in
//! [`ASSUMPTIONS`].

use indexmap::IndexMap;
use serde::Serialize;
use tritium_semantics::target::Board;
use tritium_tile::{
    BlockId, Function, Module, Op, OpKind, Scalar, ValueDef, ValueId,
    ops::{BinaryOp, CastOp, Constant, Predicate},
};

use crate::{access::first_trips, occupancy::Occupancy, passes::coalesce::unit_of};

pub const ASSUMPTIONS: &str = "every tensor moves between DRAM and the chip once; memory runs at 90 % and arithmetic at 60 % of the \
                               datasheet's peak; 2.5 µs a launch";

const MEMORY_EFFICIENCY: f64 = 0.9;
const ARITHMETIC_EFFICIENCY: f64 = 0.6;
const LAUNCH_US: f64 = 2.5;

/// Programs that are looked at when the work depends on the program id.
const SAMPLES: u64 = 64;

/// The numbers of one launch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Launch {
    pub grid: [u64; 3],
    /// Integer arguments by parameter name.
    pub scalars: IndexMap<String, i64>,
    /// Bytes of the tensor behind each pointer parameter.
    pub tensor_bytes: IndexMap<String, u64>,
}

impl Launch {
    /// The argument that a parameter's value is.
    pub fn scalar(&self, function: &Function, value: ValueId) -> Option<i64> {
        let param = function.params.iter().find(|p| p.value == value)?;
        self.scalars.get(&param.name).copied()
    }

    pub fn programs(&self) -> u64 {
        self.grid.iter().product()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    Memory,
    Compute,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    /// Of one program on average.
    pub flops_per_program: Option<f64>,
    pub bytes_per_program: Option<f64>,
    /// Of the launch; 0 without one.
    pub flops: Option<f64>,
    pub bytes_requested: Option<f64>,
    /// That DRAM must move.
    pub bytes: Option<f64>,
    /// FLOP per byte.
    pub intensity: Option<f64>,
    pub bound: Option<Bound>,
    pub predicted_us: Option<f64>,
}

/// Arithmetic and traffic of some ops.
#[derive(Debug, Clone, Default)]
struct Work {
    f16_tensor: f64,
    tf32_tensor: f64,
    plain: f64,
    /// By root parameter; `None` for addresses that come from elsewhere.
    loads: IndexMap<Option<ValueId>, f64>,
    stores: IndexMap<Option<ValueId>, f64>,
}

impl Work {
    fn add(&mut self, other: &Work, times: f64) {
        self.f16_tensor += other.f16_tensor * times;
        self.tf32_tensor += other.tf32_tensor * times;
        self.plain += other.plain * times;
        for (mine, theirs) in [(&mut self.loads, &other.loads), (&mut self.stores, &other.stores)] {
            for (&root, bytes) in theirs {
                *mine.entry(root).or_default() += bytes * times;
            }
        }
    }

    fn flops(&self) -> f64 {
        self.f16_tensor + self.tf32_tensor + self.plain
    }

    fn bytes(&self) -> f64 {
        self.loads.values().chain(self.stores.values()).sum()
    }
}

/// The cost of a module (any level) under a launch; without one, of a program whose loops have constant bounds.
pub fn cost(module: &Module, launch: Option<&Launch>, board: Option<&Board>, occupancy: Option<&Occupancy>) -> Cost {
    let function = module.entry();
    let programs = launch.map_or(1, Launch::programs);
    let samples = programs.clamp(1, SAMPLES);
    let mut average = Some(Work::default());
    let first_trips = first_trips(function);
    for sample in 0..samples {
        // The middle of each of `samples` equal parts of the grid.
        let program = (sample * 2 + 1) * programs / (samples * 2);
        let grid = launch.map_or([1, 1, 1], |l| l.grid.map(|n| n.max(1)));
        let pid = [program % grid[0], program / grid[0] % grid[1], program / grid[0] / grid[1]];
        let counter = Counter { function, first_trips: &first_trips, launch, pid, grid };
        average = match (average, counter.block(function.body)) {
            (Some(mut sum), Some(work)) => {
                sum.add(&work, 1.0 / samples as f64);
                Some(sum)
            }
            _ => None,
        };
        if average.is_none() {
            break;
        }
    }
    let launched = launch.filter(|l| l.programs() > 0).zip(average.as_ref());
    let total = programs as f64;
    let bytes = launched.map(|(launch, work)| {
        let moved = |side: &IndexMap<Option<ValueId>, f64>| -> f64 {
            side.iter()
                .map(|(root, bytes)| {
                    let name = root.and_then(|root| function.params.iter().find(|p| p.value == root)).map(|p| &p.name);
                    let size = name.and_then(|name| launch.tensor_bytes.get(name)).map(|&n| n as f64);
                    size.map_or(bytes * total, |size| size.min(bytes * total))
                })
                .sum()
        };
        moved(&work.loads) + moved(&work.stores)
    });
    let flops = launched.map(|(_, work)| work.flops() * total);
    let mut out = Cost {
        flops_per_program: average.as_ref().map(Work::flops),
        bytes_per_program: average.as_ref().map(Work::bytes),
        flops,
        bytes_requested: launched.map(|(_, work)| work.bytes() * total),
        bytes,
        intensity: flops.zip(bytes).filter(|&(_, b)| b > 0.0).map(|(f, b)| f / b),
        bound: None,
        predicted_us: None,
    };
    if let (Some((_, work)), Some(bytes), Some(board)) = (launched, bytes, board) {
        let us = |flops: f64, tflops: f64| flops * total / (tflops * 1e6);
        let arithmetic =
            us(work.f16_tensor, board.f16_tflops) + us(work.tf32_tensor, board.tf32_tflops) + us(work.plain, board.f32_tflops);
        let memory = bytes / (board.dram_bandwidth * 1e3);
        out.bound = Some(if memory >= arithmetic { Bound::Memory } else { Bound::Compute });
        // The last wave keeps an SM busy however few programs are in it.
        let slots = f64::from(board.sm_count) * f64::from(occupancy.map_or(1, |o| o.ctas_per_sm));
        let waves = total / slots;
        let tail = if waves > 0.0 { waves.ceil() / waves } else { 1.0 };
        let arithmetic = arithmetic / ARITHMETIC_EFFICIENCY * tail.min(slots);
        out.predicted_us = Some(LAUNCH_US + arithmetic.max(memory / MEMORY_EFFICIENCY));
    }
    out
}

/// Counts the work of one program.
struct Counter<'f> {
    function: &'f Function,
    /// See [`first_trips`].
    first_trips: &'f [bool],
    launch: Option<&'f Launch>,
    pid: [u64; 3],
    grid: [u64; 3],
}

impl Counter<'_> {
    fn block(&self, block: BlockId) -> Option<Work> {
        let mut sum = Work::default();
        for &id in &self.function.block(block).ops {
            if !self.first_trips[id.index()] {
                self.op(self.function.op(id), &mut sum)?;
            }
        }
        Some(sum)
    }

    fn op(&self, op: &Op, sum: &mut Work) -> Option<()> {
        let function = self.function;
        let elements = |v: ValueId| function.ty(v).num_elements() as f64;
        let is_float = |v: ValueId| function.ty(v).elem().scalar().is_some_and(Scalar::is_float);
        match &op.kind {
            OpKind::Unary(_) | OpKind::Binary(_) if is_float(op.results[0]) => sum.plain += elements(op.results[0]),
            OpKind::Fma => sum.plain += 2.0 * elements(op.results[0]),
            OpKind::Dot { .. } | OpKind::Wgmma { .. } => {
                let n = function.ty(op.results[0]).shape().last().copied().unwrap_or(1);
                let flops = 2.0 * elements(op.operands[0]) * f64::from(n);
                match function.ty(op.operands[0]).elem().bits() {
                    32 => sum.tf32_tensor += flops,
                    64 => sum.plain += flops,
                    _ => sum.f16_tensor += flops,
                }
            }
            OpKind::Reduce { .. } | OpKind::Scan { .. } => {
                let combine = self.block(op.regions[0])?;
                let source = elements(op.operands[0]);
                let result = op.results.first().map_or(0.0, |&r| elements(r));
                let times = if matches!(op.kind, OpKind::Reduce { .. }) { source - result } else { source };
                sum.add(&combine, times);
            }
            OpKind::Load(_) | OpKind::Store(_) | OpKind::AtomicRmw { .. } | OpKind::AsyncCopy(_) => {
                let pointer = op.operands[0];
                let bytes = elements(pointer) * f64::from(unit_of(function, pointer));
                let root = root(function, pointer);
                if !matches!(op.kind, OpKind::Store(_)) {
                    *sum.loads.entry(root).or_default() += bytes;
                }
                if !matches!(op.kind, OpKind::Load(_) | OpKind::AsyncCopy(_)) {
                    *sum.stores.entry(root).or_default() += bytes;
                }
            }
            OpKind::For(_) => {
                let body = self.block(op.regions[0])?;
                if body.flops() + body.bytes() > 0.0 {
                    let bound = |n: usize| self.scalar(op.operands[n], 0).map(i128::from);
                    let (lower, upper, step) = (bound(0)?, bound(1)?, bound(2)?);
                    let trips = if step > 0 { ((upper - lower) + step - 1).div_euclid(step).max(0) } else { 0 };
                    sum.add(&body, trips as f64);
                }
            }
            OpKind::If => {
                let taken = self.scalar(op.operands[0], 0);
                let first = self.block(op.regions[0])?;
                let second = op.regions.get(1).map_or(Some(Work::default()), |&r| self.block(r))?;
                let costlier = if first.flops() + first.bytes() >= second.flops() + second.bytes() { &first } else { &second };
                let work = match taken {
                    Some(0) => &second,
                    Some(_) => &first,
                    None => costlier,
                };
                sum.add(work, 1.0);
            }
            OpKind::While => {
                // Nobody knows how often, so it must not matter.
                let free = |work: Work| (work.flops() + work.bytes() == 0.0).then_some(());
                free(self.block(op.regions[0])?)?;
                free(self.block(op.regions[1])?)?;
            }
            _ => {}
        }
        Some(())
    }

    /// The value of a scalar in this program.
    fn scalar(&self, value: ValueId, depth: u32) -> Option<i64> {
        if depth > 64 {
            return None;
        }
        let id = match self.function.value(value).def {
            ValueDef::Result(op, _) => op,
            ValueDef::Argument(..) => return self.launch?.scalar(self.function, value),
        };
        let op = self.function.op(id);
        let operand = |n: usize| self.scalar(op.operands[n], depth + 1);
        let bits = self.function.ty(value).elem().bits();
        let wrap = |n: i64| if bits >= 64 { n } else { n << (64 - bits) >> (64 - bits) };
        Some(match &op.kind {
            OpKind::Constant(Constant::Int(n)) => *n,
            OpKind::ProgramId { axis } => self.launch.and(self.pid.get(usize::from(*axis)).map(|&n| n as i64))?,
            OpKind::NumPrograms { axis } => self.launch.and(self.grid.get(usize::from(*axis)).map(|&n| n as i64))?,
            OpKind::Cast(CastOp::ExtS | CastOp::Trunc) => wrap(operand(0)?),
            OpKind::Cast(CastOp::ExtU) => operand(0).filter(|&n| n >= 0)?,
            OpKind::Select => {
                if operand(0)? != 0 {
                    operand(1)?
                } else {
                    operand(2)?
                }
            }
            OpKind::Binary(binary) => {
                let (a, b) = (operand(0)?, operand(1)?);
                wrap(match binary {
                    BinaryOp::AddI => a.wrapping_add(b),
                    BinaryOp::SubI => a.wrapping_sub(b),
                    BinaryOp::MulI => a.wrapping_mul(b),
                    BinaryOp::DivS => a.checked_div(b)?,
                    BinaryOp::RemS => a.checked_rem(b)?,
                    BinaryOp::And => a & b,
                    BinaryOp::Or => a | b,
                    BinaryOp::Xor => a ^ b,
                    BinaryOp::MinS => a.min(b),
                    BinaryOp::MaxS => a.max(b),
                    BinaryOp::Shl => a.checked_shl(u32::try_from(b).ok()?)?,
                    BinaryOp::ShrS => a.checked_shr(u32::try_from(b).ok()?)?,
                    _ => return None,
                })
            }
            OpKind::Compare(predicate) => {
                let (a, b) = (operand(0)?, operand(1)?);
                i64::from(match predicate {
                    Predicate::Eq => a == b,
                    Predicate::Ne => a != b,
                    Predicate::LtS => a < b,
                    Predicate::LeS => a <= b,
                    Predicate::GtS => a > b,
                    Predicate::GeS => a >= b,
                    _ => return None,
                })
            }
            _ => return None,
        })
    }
}

/// The pointer parameter that an address is computed from.
fn root(function: &Function, mut pointer: ValueId) -> Option<ValueId> {
    // Every step goes to a value defined earlier or to a loop's operand; this many steps is more than any kernel takes.
    for _ in 0..function.values.len() {
        match function.value(pointer).def {
            ValueDef::Result(id, index) => {
                let op = function.op(id);
                pointer = match &op.kind {
                    OpKind::AddPtr
                    | OpKind::Promise { .. }
                    | OpKind::Splat
                    | OpKind::Broadcast
                    | OpKind::ExpandDims { .. }
                    | OpKind::Reshape { .. }
                    | OpKind::Transpose { .. }
                    | OpKind::ConvertLayout
                    | OpKind::Cast(CastOp::PtrCast) => op.operands[0],
                    OpKind::For(_) => op.operands[3 + index as usize],
                    _ => return None,
                };
            }
            ValueDef::Argument(block, index) if block == function.body => {
                return function.block(block).args.get(index as usize).copied();
            }
            ValueDef::Argument(block, index) => {
                let owner = function.ops.iter().find(|op| op.regions.contains(&block))?;
                pointer = match owner.kind {
                    OpKind::For(_) if index > 0 => owner.operands[2 + index as usize],
                    OpKind::While if owner.regions[0] == block => owner.operands[index as usize],
                    _ => return None,
                };
            }
        }
    }
    None
}
