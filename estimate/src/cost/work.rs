//! What one execution of an operation occupies, from the operation and its layouts alone.
//!
//! Useful FLOP are additions and multiplications of the program's elements, two for a fused one. Executed FLOP are those of the instructions
//! that threads and tensor cores run, as a profiler counts them: every thread that holds a copy does it again, in a butterfly every lane
//! adds, behind it every thread adds the warps' partial results, and a factor that is multiplied into several sums is multiplied into each
//! (ptxas fuses). What numbers decide is left out: two multiplications more where an exponential is below the normal range, as those of a first
//! maximum of -1e30 are. A unit's work is what is executed. Index arithmetic that is affine is free: it becomes immediates and a few additions
//! outside of loops.
//!
//! **Invariant:** of a launch only the strides count here; how often an operation runs is [`super::runs`].

use serde::Serialize;
use smallvec::SmallVec;
use tritium_semantics::target::Sm;
use tritium_tile::{
    BlockId, Function, Module, OpId, OpKind, Scalar, Type, ValueId,
    effects::pointee_bytes,
    facts::Facts,
    kinds,
    layout::{
        Distributed,
        convert::{Conversion, conversion},
        mma, tma, wgmma,
    },
    math,
    ops::{BinaryOp, CastOp, DotPrecision, UnaryOp},
    scratch,
};

use super::{Launch, functions, units::Unit};
use crate::{access, banks};

/// Amounts by unit, and what people ask for first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Work {
    /// Useful.
    pub flops: f64,
    /// FLOP of the instructions that do it.
    pub executed: f64,
    /// Bytes that the program asks of and gives to global memory, masked-off ones included.
    pub loaded: f64,
    pub stored: f64,
    #[serde(skip)]
    pub units: [f64; Unit::COUNT],
    /// Those of [`Unit::Shared`] that tensor cores fetch themselves.
    #[serde(skip)]
    pub fetched: f64,
    /// Those of [`Unit::Shared`] that only bank conflicts make: times as long is as many bytes.
    #[serde(skip)]
    pub conflicted: f64,
}

impl Work {
    pub fn add(&mut self, other: &Work, times: f64) {
        self.flops += other.flops * times;
        self.executed += other.executed * times;
        self.fetched += other.fetched * times;
        self.conflicted += other.conflicted * times;
        self.loaded += other.loaded * times;
        self.stored += other.stored * times;
        for (mine, theirs) in self.units.iter_mut().zip(&other.units) {
            *mine += theirs * times;
        }
    }

    pub fn bytes(&self) -> f64 {
        self.loaded + self.stored
    }

    pub fn of(&self, unit: Unit) -> f64 {
        self.units[unit as usize]
    }

    pub(super) fn give(&mut self, unit: Unit, amount: f64) {
        self.units[unit as usize] += amount;
    }

    pub fn is_nothing(&self) -> bool {
        *self == Work::default()
    }
}

/// The work of every operation, by its index; of those with regions without them, but for what the regions combine.
pub(super) fn works(module: &Module, function: &Function, facts: &Facts, launch: Option<&Launch>, sm: &Sm) -> Vec<Work> {
    let mut bench = Bench { module, function, facts, launch, sm, uses: uses(function), fused: Vec::new() };
    bench.fused = (0..function.ops.len()).map(|id| bench.is_fused(OpId(id as u32))).collect();
    let mut works = vec![Work::default(); function.ops.len()];
    function.walk(|_, id| works[id.index()] = bench.work(id));
    // What a reduction combines is counted with it.
    function.walk(|_, id| {
        let op = function.op(id);
        if op.kind.is_combining() {
            for &region in &op.regions {
                let mut inside = Vec::new();
                gather(function, region, &mut inside);
                inside.iter().for_each(|op: &OpId| works[op.index()] = Work::default());
            }
        }
    });
    works
}

/// The operations that take each value.
fn uses(function: &Function) -> Vec<SmallVec<[OpId; 2]>> {
    let mut uses = vec![SmallVec::new(); function.values.len()];
    function.walk(|_, id| function.op(id).operands.iter().for_each(|&value| uses[value.index()].push(id)));
    uses
}

/// Everything in a block, regions included.
pub(super) fn gather(function: &Function, block: BlockId, out: &mut Vec<OpId>) {
    for &id in &function.block(block).ops {
        out.push(id);
        function.op(id).regions.iter().for_each(|&region| gather(function, region, out));
    }
}

/// Instructions of one element: FMA pipe, ALU, SFU, and the additions and multiplications among them.
#[derive(Clone, Copy)]
pub(super) struct Instructions {
    pub fma: f64,
    pub alu: f64,
    pub sfu: f64,
    pub flops: f64,
}

pub(super) const fn instructions(fma: f64, alu: f64, sfu: f64, flops: f64) -> Instructions {
    Instructions { fma, alu, sfu, flops }
}

pub(super) const NOTHING: Instructions = instructions(0.0, 0.0, 0.0, 0.0);
const ADDITION: Instructions = instructions(1.0, 0.0, 0.0, 1.0);
pub(super) const COMPARISON: Instructions = instructions(0.0, 1.0, 0.0, 0.0);
/// Shapes that a factor passes through before it is added.
const MAX_SHAPE_OPS: u32 = 8;
/// A polynomial or several: functions of which there is no program to count.
const LONG: Instructions = instructions(14.0, 4.0, 1.0, 24.0);

fn unary(op: UnaryOp, wide: bool) -> Instructions {
    if let Some(program) = math::unary(op, wide) {
        return functions::of(program);
    }
    match op {
        UnaryOp::NegF | UnaryOp::AbsF => NOTHING,
        UnaryOp::AbsI | UnaryOp::Floor | UnaryOp::Ceil => COMPARISON,
        UnaryOp::Sqrt | UnaryOp::Rsqrt | UnaryOp::Exp2 => instructions(0.0, 0.0, 1.0, 0.0),
        UnaryOp::SqrtRn => instructions(6.0, 2.0, 1.0, 10.0),
        // A multiplication by log2 e beside, and whether the result is so small that it needs scaling.
        UnaryOp::Exp => instructions(1.0, 1.0, 1.0, 1.0),
        UnaryOp::Log | UnaryOp::Log2 | UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tanh | UnaryOp::Erf => LONG,
    }
}

fn binary(op: BinaryOp) -> Instructions {
    match op {
        BinaryOp::AddF | BinaryOp::SubF | BinaryOp::MulF => ADDITION,
        BinaryOp::DivF => instructions(1.0, 0.0, 1.0, 1.0),
        BinaryOp::DivRn | BinaryOp::RemF => instructions(8.0, 2.0, 1.0, 14.0),
        BinaryOp::DivS | BinaryOp::DivU | BinaryOp::RemS | BinaryOp::RemU => instructions(2.0, 12.0, 1.0, 0.0),
        // Integer products are the FMA pipe's.
        BinaryOp::MulI | BinaryOp::MulHiU => instructions(1.0, 0.0, 0.0, 0.0),
        BinaryOp::AddI
        | BinaryOp::SubI
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Xor
        | BinaryOp::Shl
        | BinaryOp::ShrS
        | BinaryOp::ShrU
        | BinaryOp::MinS
        | BinaryOp::MaxS
        | BinaryOp::MinU
        | BinaryOp::MaxU
        | BinaryOp::MinF
        | BinaryOp::MaxF
        | BinaryOp::MinNan
        | BinaryOp::MaxNan => COMPARISON,
    }
}

struct Bench<'m> {
    module: &'m Module,
    function: &'m Function,
    facts: &'m Facts,
    launch: Option<&'m Launch>,
    sm: &'m Sm,
    uses: Vec<SmallVec<[OpId; 2]>>,
    /// By operation: see [`Bench::is_fused`].
    fused: Vec<bool>,
}

/// How often an instruction runs in a program.
#[derive(Clone, Copy)]
struct Times {
    /// For different elements.
    useful: f64,
    /// In all threads.
    executed: f64,
}

impl Bench<'_> {
    fn elements(&self, value: ValueId) -> f64 {
        self.function.ty(value).num_elements() as f64
    }

    fn layout(&self, value: ValueId) -> Option<&Distributed> {
        self.module.layouts.distributed(self.function.ty(value).layout()?)
    }

    fn threads(&self) -> f64 {
        32.0 * f64::from(self.module.num_warps)
    }

    /// Elements that all threads hold together, copies included.
    fn held(&self, value: ValueId) -> f64 {
        match self.layout(value) {
            Some(layout) => layout.num_registers() as f64 * self.threads(),
            None => self.elements(value),
        }
    }

    /// An instruction for every element of a value: a thread that holds one in two registers computes it once, and every thread the scalars.
    fn times(&self, value: ValueId) -> Times {
        let executed = match self.layout(value) {
            Some(layout) => self.registers(layout) * self.threads(),
            None if self.function.ty(value).is_scalar() => self.threads(),
            None => self.elements(value),
        };
        Times { useful: self.elements(value), executed }
    }

    /// Of a thread, each element once.
    fn registers(&self, layout: &Distributed) -> f64 {
        f64::from(layout.num_registers() as u32 >> layout.free_bits().0.count_ones())
    }

    /// A product that is multiplied where it is added: all that it goes to are sums without another one before it.
    fn is_fused(&self, product: OpId) -> bool {
        let op = self.function.op(product);
        matches!(op.kind, OpKind::Binary(BinaryOp::MulF | BinaryOp::DivF))
            && op.results.first().is_some_and(|&value| self.goes_to_sums(product, value, 0))
    }

    /// The first product among the operands of a sum.
    fn term(&self, sum: OpId) -> Option<OpId> {
        self.function.op(sum).operands.iter().find_map(|&operand| self.product(operand))
    }

    fn goes_to_sums(&self, product: OpId, value: ValueId, depth: u32) -> bool {
        let uses = &self.uses[value.index()];
        let takes = |&id: &OpId| {
            let op = self.function.op(id);
            match &op.kind {
                OpKind::Binary(BinaryOp::AddF | BinaryOp::SubF) => self.term(id) == Some(product),
                OpKind::Splat | OpKind::Broadcast | OpKind::ExpandDims { .. } => {
                    op.results.first().is_some_and(|&result| self.goes_to_sums(product, result, depth + 1))
                }
                _ => false,
            }
        };
        depth < MAX_SHAPE_OPS && !uses.is_empty() && uses.iter().all(takes)
    }

    /// What a value is before it is spread over a tile.
    fn unspread(&self, mut value: ValueId) -> ValueId {
        for _ in 0..MAX_SHAPE_OPS {
            match self.function.def_op(value).map(|id| self.function.op(id)) {
                Some(op) if matches!(op.kind, OpKind::Splat | OpKind::Broadcast | OpKind::ExpandDims { .. }) => {
                    value = op.operands[0]
                }
                _ => break,
            }
        }
        value
    }

    /// What multiplies to give this value.
    fn product(&self, value: ValueId) -> Option<OpId> {
        let id = self.function.def_op(self.unspread(value))?;
        matches!(self.function.op(id).kind, OpKind::Binary(BinaryOp::MulF | BinaryOp::DivF)).then_some(id)
    }

    /// What an operation writes to shared memory, or reads from it: lanes whose words lie in one bank are served one after the other.
    fn pass(&self, id: OpId, is_store: bool, bytes: f64, work: &mut Work) {
        let passages = banks::of_op(self.module, self.function, id, self.sm);
        let ways = passages.iter().find(|passage| passage.is_store == is_store).map_or(1.0, |passage| passage.ways());
        work.give(Unit::Shared, ways * bytes);
        work.conflicted += (ways - 1.0) * bytes;
    }

    fn bytes(&self, value: ValueId, count: f64) -> f64 {
        count * f64::from(scratch::element_bytes(self.function.ty(value).elem()))
    }

    fn work(&self, id: OpId) -> Work {
        let function = self.function;
        let op = function.op(id);
        let mut work = Work::default();
        match &op.kind {
            kinds!(Arithmetic) | OpKind::InlineAsm(_) => {
                if let Some(&result) = op.results.first() {
                    self.elementwise(id, self.times(result), &mut work);
                }
            }
            OpKind::Dot { precision, .. } => self.dot(id, *precision, &mut work),
            OpKind::Wgmma { .. } => self.wgmma(id, &mut work),
            OpKind::Reduce { axis } => self.reduce(id, usize::from(*axis), &mut work),
            OpKind::Scan { axis, .. } => self.scan(id, usize::from(*axis), &mut work),
            OpKind::Map { pack } => {
                let Some(&source) = op.operands.first() else { return work };
                let pack = f64::from((*pack).max(1));
                let times = self.times(source);
                let times = Times { useful: times.useful / pack, executed: times.executed / pack };
                self.combine(op.regions[0], times, &mut work);
            }
            OpKind::Load(_) | OpKind::Store(_) | OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. } | OpKind::AsyncCopy(_) => {
                self.global(id, &mut work);
            }
            OpKind::TmaLoad { .. } | OpKind::TmaStore { .. } => self.tma(id, &mut work),
            OpKind::LocalStore => {
                let value = op.operands[0];
                self.pass(id, true, self.bytes(value, self.elements(value)), &mut work);
            }
            OpKind::LocalLoad => {
                let value = op.results[0];
                self.pass(id, false, self.bytes(value, self.held(value)), &mut work);
            }
            OpKind::LocalAlloc => {
                for &value in &op.operands {
                    self.pass(id, true, self.bytes(value, self.elements(value)), &mut work);
                }
            }
            OpKind::ConvertLayout => {
                let (from, to) = (op.operands[0], op.results[0]);
                if let (Some(source), Some(destination)) = (self.layout(from), self.layout(to))
                    && matches!(conversion(source, destination), Conversion::Shared)
                {
                    self.pass(id, true, self.bytes(from, self.elements(from)), &mut work);
                    self.pass(id, false, self.bytes(to, self.held(to)), &mut work);
                }
            }
            // Bits of registers, addresses, and what other operations wait for.
            OpKind::Constant(_)
            | kinds!(Program)
            | OpKind::Iota { .. }
            | kinds!(Shape)
            | OpKind::AddPtr
            | OpKind::Promise { .. }
            | OpKind::Gather { .. }
            | OpKind::Histogram
            | kinds!(Control)
            | kinds!(Transfer)
            | kinds!(Observation)
            | OpKind::LocalIndex
            | OpKind::WriteTensorMap { .. }
            | kinds!(Order) => {}
        }
        // Partial results that warps exchange.
        if matches!(op.kind, OpKind::Reduce { .. } | OpKind::Scan { .. } | OpKind::Gather { .. } | OpKind::Histogram) {
            work.give(Unit::Shared, 2.0 * f64::from(scratch::bytes(self.module, function, id)));
        }
        work
    }

    fn elementwise(&self, id: OpId, times: Times, work: &mut Work) {
        let function = self.function;
        let op = function.op(id);
        let Some(&result) = op.results.first() else { return };
        // Index arithmetic.
        let indexes = |value: ValueId| self.facts.affine(value).is_some() || function.ty(value).elem().pointee().is_some();
        let scalar = |value: ValueId| function.ty(value).elem().scalar();
        let row = match &op.kind {
            _ if indexes(result) => return,
            // Conditions of accesses: one for what a thread moves at once.
            OpKind::Compare(_) if op.operands.iter().all(|&v| scalar(v).is_none_or(Scalar::is_int)) => return,
            OpKind::Unary(unary_op) => unary(*unary_op, scalar(result) == Some(Scalar::F64)),
            OpKind::Binary(_) | OpKind::Select if scalar(result) == Some(Scalar::I1) => NOTHING,
            OpKind::Binary(binary_op) => binary(*binary_op),
            OpKind::Compare(_) | OpKind::Select => COMPARISON,
            OpKind::Fma => instructions(1.0, 0.0, 0.0, 2.0),
            OpKind::Cast(cast) => match cast {
                // Two halves are converted at once.
                CastOp::Float | CastOp::FloatRtz => instructions(0.0, 0.5, 0.0, 0.0),
                CastOp::SToF | CastOp::UToF | CastOp::FToS | CastOp::FToU => COMPARISON,
                CastOp::Trunc
                | CastOp::ExtS
                | CastOp::ExtU
                | CastOp::Bitcast
                | CastOp::PtrToInt
                | CastOp::IntToPtr
                | CastOp::PtrCast => NOTHING,
            },
            OpKind::Libdevice(symbol) => math::library(*symbol).map_or(LONG, functions::of),
            _ => instructions(0.0, 1.0, 0.0, 0.0),
        };
        let wide = scalar(result) == Some(Scalar::F64);
        work.flops += row.flops * times.useful;
        let held = times.executed;
        let is_sum = matches!(op.kind, OpKind::Binary(BinaryOp::AddF | BinaryOp::SubF));
        let row = match &op.kind {
            _ if self.fused[id.index()] => Instructions { fma: 0.0, flops: 0.0, ..row },
            _ if is_sum && self.term(id).is_some_and(|product| self.fused[product.index()]) => Instructions { flops: 2.0, ..row },
            _ => row,
        };
        work.executed += row.flops * held;
        if wide {
            work.give(Unit::F64, 2.0 * (row.fma + row.alu) * held);
        } else {
            work.give(Unit::Fma, row.fma * held);
            work.give(Unit::Alu, row.alu * held);
        }
        // The reciprocal of a divisor that many share is taken once.
        let roots = match &op.kind {
            OpKind::Binary(BinaryOp::DivF) => self.times(self.unspread(op.operands[1])).executed.min(held),
            _ => held,
        };
        work.give(Unit::Sfu, row.sfu * roots);
    }

    /// A region of scalars.
    fn combine(&self, region: BlockId, times: Times, work: &mut Work) {
        let mut inside = Vec::new();
        gather(self.function, region, &mut inside);
        for id in inside {
            self.elementwise(id, times, work);
        }
    }

    fn tma(&self, id: OpId, work: &mut Work) {
        let op = self.function.op(id);
        let Some(tma::Copied { buffer, .. }) = tma::Copied::of(op) else { return };
        let bytes = self.bytes(buffer, self.elements(buffer));
        match op.kind {
            OpKind::TmaStore { .. } => work.stored = bytes,
            _ => work.loaded = bytes,
        }
        work.give(Unit::L2, bytes);
        work.give(Unit::Shared, bytes);
    }

    fn scan(&self, id: OpId, axis: usize, work: &mut Work) {
        let op = self.function.op(id);
        let Some(&source) = op.operands.first() else { return };
        let executed = match self.layout(source) {
            // Of a level within threads half the registers take in a total; elsewhere all do, whether they need it or not.
            Some(layout) => {
                let own = |level: &scratch::ScanLevel| matches!(level.owner, scratch::Owner::Register(_));
                let steps: f64 = scratch::scan_levels(layout, axis).iter().map(|level| if own(level) { 0.5 } else { 1.0 }).sum();
                steps * layout.num_registers() as f64 * self.threads()
            }
            None => 2.0 * self.elements(source),
        };
        self.combine(op.regions[0], Times { useful: self.elements(source), executed }, work);
    }

    fn reduce(&self, id: OpId, axis: usize, work: &mut Work) {
        let op = self.function.op(id);
        let Some(&source) = op.operands.first() else { return };
        let result = op.results.first().map_or(0.0, |&r| self.elements(r));
        let useful = (self.elements(source) - result).max(0.0);
        let executed = match self.layout(source) {
            Some(layout) => {
                let mask = layout.axis_mask(axis);
                let free = layout.free_bits().0;
                let along = |bases: &[u32]| bases.iter().filter(|&&b| b & mask != 0).count() as i32;
                let own =
                    layout.register.iter().enumerate().filter(|&(bit, base)| free >> bit & 1 == 0 && base & mask != 0).count();
                let mine = self.registers(layout);
                let kept = mine / 2f64.powi(own as i32);
                // In a thread; a step of the butterfly for every bit of the lane; then everyone adds the warps' partial results.
                let lanes = f64::from(along(&layout.lane));
                let warps = 2f64.powi(along(&layout.warp)) - 1.0;
                (mine - kept + kept * (lanes + warps)) * self.threads()
            }
            None => useful,
        };
        self.combine(op.regions[0], Times { useful, executed }, work);
    }

    fn dot(&self, id: OpId, precision: DotPrecision, work: &mut Work) {
        let op = self.function.op(id);
        let (a, result) = (op.operands[0], op.results[0]);
        let n = self.function.ty(result).shape().last().copied().unwrap_or(1);
        let flops = 2.0 * self.elements(a) * f64::from(n);
        work.flops += flops;
        let copies = self.held(result) / self.elements(result).max(1.0);
        let by_threads = self.layout(result).is_some_and(|layout| !mma::is_accumulator(layout) && wgmma::tiles(layout).is_none());
        let scalar = self.function.ty(a).elem().scalar();
        if scalar == Some(Scalar::F64) {
            work.executed += flops * copies;
            return work.give(Unit::F64, flops);
        }
        if by_threads || (scalar == Some(Scalar::F32) && precision == DotPrecision::Ieee) {
            work.executed += flops * copies;
            work.give(Unit::Fma, flops / 2.0);
            return;
        }
        let (unit, times) = tensor_unit(scalar, precision);
        // A tile that is smaller than the instruction is computed as often as it fits there; half of a thread's four results are then left out.
        let rows = self.function.ty(result).shape().iter().rev().nth(1).copied().unwrap_or(1);
        let repeated = f64::from((mma::M / rows).max(1) * (mma::N / n).max(1));
        let left_out = if rows < mma::M { 2.0 } else { 1.0 };
        work.executed += flops * times * copies * left_out;
        work.give(unit, flops * times * repeated);
    }

    fn wgmma(&self, id: OpId, work: &mut Work) {
        let op = self.function.op(id);
        let (a, b, result) = (op.operands[0], op.operands[1], op.results[0]);
        let shape = self.function.ty(result).shape();
        let (m, n) = (shape.first().copied().unwrap_or(1), shape.last().copied().unwrap_or(1));
        let flops = 2.0 * self.elements(a) * f64::from(n);
        work.flops += flops;
        let (unit, times) = tensor_unit(self.function.ty(a).elem().scalar(), DotPrecision::Tf32);
        work.executed += flops * times;
        work.give(unit, flops * times);
        // Every 64 rows read the right operand again; the left one comes from shared memory or from registers.
        let from_shared = matches!(self.function.ty(a), Type::Shared { .. });
        let left = if from_shared { self.bytes(a, self.elements(a)) } else { 0.0 };
        work.fetched = left + self.bytes(b, self.elements(b)) * f64::from(m.div_ceil(64));
        work.give(Unit::Shared, work.fetched);
    }

    fn global(&self, id: OpId, work: &mut Work) {
        let op = self.function.op(id);
        let pointer = op.operands[0];
        let bytes = self.elements(pointer) * f64::from(pointee_bytes(self.function, pointer));
        let (loads, stores) = match op.kind {
            OpKind::Load(_) | OpKind::AsyncCopy(_) => (1.0, 0.0),
            OpKind::Store(_) => (0.0, 1.0),
            _ => (1.0, 1.0),
        };
        work.loaded = bytes * loads;
        work.stored = bytes * stores;
        let moved = access::sector_bytes(self.module, self.function, self.facts, id, self.launch).unwrap_or(bytes);
        work.give(Unit::L2, moved * (loads + stores));
        if matches!(op.kind, OpKind::AsyncCopy(_)) {
            work.give(Unit::Shared, bytes);
        }
    }
}

fn tensor_unit(scalar: Option<Scalar>, precision: DotPrecision) -> (Unit, f64) {
    match scalar {
        Some(Scalar::F32) => match precision {
            DotPrecision::Tf32 | DotPrecision::Ieee => (Unit::TensorTf32, 1.0),
            DotPrecision::Tf32x3 => (Unit::TensorTf32, 3.0),
            DotPrecision::Bf16x3 => (Unit::TensorF16, 3.0),
            DotPrecision::Bf16x6 => (Unit::TensorF16, 6.0),
        },
        Some(Scalar::I8) => (Unit::TensorInt8, 1.0),
        Some(Scalar::F8E4M3 | Scalar::F8E5M2) => (Unit::TensorFp8, 1.0),
        _ => (Unit::TensorF16, 1.0),
    }
}
