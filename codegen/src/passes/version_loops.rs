//! Two versions of a loop that waits for memory on every trip: where what it stores is apart from what it loads, its loads run a trip ahead.
//!
//! A recurrence loads a few numbers a trip, computes, stores, and goes on; one warp or two for each of few programs, so nothing hides the latency
//! of the loads, and no load may pass the store of the trip before, which might write what it reads. Whether it does is a question of numbers:
//! an address that a loop moves by the same distance each trip covers an interval of bytes, and intervals are compared before the loop. Only
//! then it runs as `pipeline_loops` expands it (`apart`), else as it is written.
//!
//! **Invariant:** a loop is `apart` only if no byte that it stores on any trip is one that it loads on any trip. Distances are computed in 64 bits;
//! one that does not fit into them would lie outside of every memory, and so would one for which natural numbers wrapped in 32.

use smallvec::SmallVec;
use tritium_tile::{
    Function, Module, OpId, OpKind, Scalar, Type, ValueDef, ValueId,
    control::ForLoop,
    effects::pointee_bytes,
    facts::{self, Facts},
    module::Builder,
    ops::{BinaryOp, CacheOp, CastOp, Constant, Predicate},
    rewrite::{self, ValueMap},
};

use super::{
    CompileOptions, Fact, Pass, Unsupported,
    pipeline_loops::schedule::{Effects, constant, registers, root, slice},
    versions::{self, widened},
};

pub static PASS: Pass = Pass {
    name: "version_loops",
    summary: "Let the loads of a recurrence run a trip ahead where its stores are apart from them.",
    needs: &[Fact::HasLayouts, Fact::Vectorised],
    gives: &[],
    run,
};

/// 32-bit registers of a thread that the loads of one trip fill, at most: they are held twice.
const MAX_REGISTERS: u32 = 32;
/// Bytes that a CTA loads on one trip, at most: the CTAs of an SM keep memory busy with more as they are, and registers or shared memory that are
/// taken for what is under way cost some of them (divergences and losses over whole rows, H200: 0.7 of their speed). From `bench/ahead.py`.
const MAX_BYTES: u64 = 4096;
/// Of fewer trips the first ones, which wait all the same, and the comparison of the intervals are too great a share.
const LEAST_TRIPS: i64 = 4;
/// Offsets of a tile from its pointer beyond this are taken as unknown.
const MAX_OFFSET: i64 = 1 << 40;
/// Operations between a pointer and what it starts from, at most.
const DEPTH: u32 = 24;

fn run(module: &mut Module, _options: &CompileOptions) -> Result<(), Unsupported> {
    let facts = facts::of_function(module.entry());
    let function = module.entry();
    let mut plans = Vec::new();
    function.walk(|_, id| {
        if let Some(plan) = plan(module, &facts, id) {
            plans.push((id, plan));
        }
    });
    let function = &mut module.functions[0];
    // The last first: a plan may name what an earlier loop gives, which is another value once that one has two versions.
    for (id, Plan { loads, stores }) in plans.into_iter().rev() {
        if stores.is_empty() {
            set_apart(function, id);
        } else {
            version(function, id, &loads, &stores);
        }
    }
    rewrite::compact(function);
    Ok(())
}

fn set_apart(function: &mut Function, id: OpId) {
    if let OpKind::For(attrs) = &mut function.op_mut(id).kind {
        attrs.apart = true;
    }
}

/// What a loop whose loads are to run ahead loads, and what it stores; nothing if it stores nothing.
#[derive(Default)]
struct Plan {
    loads: Vec<Walk>,
    stores: Vec<Walk>,
}

fn plan(module: &Module, facts: &Facts, id: OpId) -> Option<Plan> {
    let function = module.entry();
    let OpKind::For(attrs) = function.op(id).kind else { return None };
    let view = function.for_loop(id)?;
    if attrs.num_stages.is_some() || constant(function, view.bounds[2])? <= 0 {
        return None;
    }
    Effects::of(function, view.body)?;
    let (mut loads, mut stores, mut moved, mut filled, mut bytes) = (Vec::new(), Vec::new(), false, 0, 0);
    for &op in &function.block(view.body).ops {
        match &function.op(op).kind {
            OpKind::Dot { .. } => return None,
            kind if kind.is_control() => return None,
            OpKind::Load(attrs) => {
                let slice = slice(function, view.body, &function.op(op).operands)?;
                if attrs.volatile || attrs.cache == CacheOp::Cv || !slice.loads.is_empty() {
                    return None;
                }
                moved |= !slice.carried.is_empty() || !slice.ops.is_empty();
                filled += registers(module, function, op);
                bytes += size(function, op);
                loads.push(op);
            }
            OpKind::Store(_) | OpKind::AtomicRmw { .. } => stores.push(op),
            _ => {}
        }
    }
    if !moved || filled > MAX_REGISTERS || bytes > MAX_BYTES {
        return None;
    }
    // What is stored to the tensor that it is loaded from is hardly ever apart.
    let tensor = |op: OpId| root(function, function.op(op).operands[0]);
    if loads.iter().any(|&load| stores.iter().any(|&store| tensor(load) == tensor(store))) {
        return None;
    }
    // What is loaded ahead of no store needs no comparison.
    if stores.is_empty() {
        return Some(Plan::default());
    }
    let search = Search { function, facts, view, inside: rewrite::values_inside(function, &[view.body]) };
    let walks = |accesses: Vec<OpId>| -> Option<Vec<Walk>> {
        accesses.into_iter().map(|op| search.access(function.op(op).operands[0])).collect()
    };
    Some(Plan { loads: walks(loads)?, stores: walks(stores)? })
}

/// Bytes that all threads together load.
fn size(function: &Function, load: OpId) -> u64 {
    let pointer = function.op(load).operands[0];
    function.ty(pointer).num_elements() * u64::from(pointee_bytes(function, pointer))
}

/// A number in 64 bits that is computed in front of the loop.
#[derive(Debug, Clone)]
enum Sum {
    Int(i64),
    Value(ValueId),
    Add(Box<Sum>, Box<Sum>),
    Mul(Box<Sum>, Box<Sum>),
}

impl Sum {
    fn plus(self, other: Sum) -> Sum {
        match (self, other) {
            (Sum::Int(0), sum) | (sum, Sum::Int(0)) => sum,
            (Sum::Int(a), Sum::Int(b)) => Sum::Int(a.wrapping_add(b)),
            (a, b) => Sum::Add(Box::new(a), Box::new(b)),
        }
    }

    fn times(self, factor: Sum) -> Sum {
        match (self, factor) {
            (Sum::Int(0), _) | (_, Sum::Int(0)) => Sum::Int(0),
            (Sum::Int(1), sum) | (sum, Sum::Int(1)) => sum,
            (Sum::Int(a), Sum::Int(b)) => Sum::Int(a.wrapping_mul(b)),
            (a, b) => Sum::Mul(Box::new(a), Box::new(b)),
        }
    }
}

/// A number on the first trip, and how far each trip moves it.
#[derive(Debug, Clone)]
struct Linear {
    start: Sum,
    step: Sum,
}

impl Linear {
    fn fixed(start: Sum) -> Linear {
        Linear { start, step: Sum::Int(0) }
    }

    fn plus(self, other: Linear) -> Linear {
        Linear { start: self.start.plus(other.start), step: self.step.plus(other.step) }
    }

    fn times(self, factor: &Sum) -> Linear {
        Linear { start: self.start.times(factor.clone()), step: self.step.times(factor.clone()) }
    }
}

/// The addresses of an access, in bytes: of its first trip, the distance of a trip, and where in a trip its first byte and the one behind its last
/// lie from there.
#[derive(Debug, Clone)]
struct Walk {
    address: Linear,
    first: i64,
    end: i64,
}

struct Search<'f> {
    function: &'f Function,
    facts: &'f Facts,
    view: ForLoop<'f>,
    inside: Vec<bool>,
}

impl Search<'_> {
    fn access(&self, pointer: ValueId) -> Option<Walk> {
        let (address, first, last) = self.pointer(pointer, 0)?;
        Some(Walk { address, first, end: last + i64::from(pointee_bytes(self.function, pointer)) })
    }

    /// A pointer, or a tile of them, in bytes: what all elements share, and the least and the greatest distance from that.
    fn pointer(&self, pointer: ValueId, depth: u32) -> Option<(Linear, i64, i64)> {
        if self.function.ty(pointer).is_scalar() {
            return Some((self.scalar(pointer, depth)?, 0, 0));
        }
        let op = self.function.op(self.function.def_op(pointer)?);
        match op.kind {
            OpKind::Splat | OpKind::ConvertLayout | OpKind::Broadcast | OpKind::ExpandDims { .. } if depth < DEPTH => {
                self.pointer(op.operands[0], depth + 1)
            }
            OpKind::AddPtr if depth < DEPTH => {
                let bytes = i64::from(pointee_bytes(self.function, pointer));
                let (base, first, last) = self.pointer(op.operands[0], depth + 1)?;
                let (shared, least, most) = self.offsets(op.operands[1], depth + 1)?;
                Some((base.plus(shared.times(&Sum::Int(bytes))), first + least * bytes, last + most * bytes))
            }
            _ => None,
        }
    }

    /// A tile of offsets in the same way.
    fn offsets(&self, tile: ValueId, depth: u32) -> Option<(Linear, i64, i64)> {
        if self.function.ty(tile).is_scalar() {
            return Some((self.scalar(tile, depth)?, 0, 0));
        }
        if !self.inside[tile.index()] {
            let range = self.facts.range(tile);
            let known = -MAX_OFFSET < range.min && range.max < MAX_OFFSET;
            return known.then_some((Linear::fixed(Sum::Int(0)), range.min, range.max));
        }
        let op = self.function.op(self.function.def_op(tile)?);
        match op.kind {
            OpKind::Splat | OpKind::ConvertLayout | OpKind::Broadcast | OpKind::ExpandDims { .. } if depth < DEPTH => {
                self.offsets(op.operands[0], depth + 1)
            }
            OpKind::Binary(BinaryOp::AddI) if depth < DEPTH && self.is_wide(tile) => {
                let (a, b) = (self.offsets(op.operands[0], depth + 1)?, self.offsets(op.operands[1], depth + 1)?);
                Some((a.0.plus(b.0), a.1 + b.1, a.2 + b.2))
            }
            _ => None,
        }
    }

    fn is_wide(&self, value: ValueId) -> bool {
        self.function.ty(value).elem().scalar() == Some(Scalar::I64)
    }

    /// A scalar: a number, or a pointer in bytes.
    fn scalar(&self, value: ValueId, depth: u32) -> Option<Linear> {
        if !self.inside[value.index()] {
            return Some(Linear::fixed(constant(self.function, value).map_or(Sum::Value(value), Sum::Int)));
        }
        // Of 32 bits, index arithmetic on natural numbers does not wrap.
        let is_pointer = self.function.ty(value).elem().pointee().is_some();
        if depth > DEPTH || !(is_pointer || self.is_wide(value) || self.facts.is_natural(value)) {
            return None;
        }
        let id = match self.function.value(value).def {
            ValueDef::Argument(block, argument) if block == self.view.body => return self.argument(value, argument, depth),
            ValueDef::Argument(..) => return None,
            ValueDef::Result(id, _) => id,
        };
        let op = self.function.op(id);
        let of = |place: usize| self.scalar(op.operands[place], depth + 1);
        match op.kind {
            OpKind::Constant(Constant::Int(number)) => Some(Linear::fixed(Sum::Int(number))),
            OpKind::AddPtr => {
                let bytes = i64::from(pointee_bytes(self.function, value));
                Some(of(0)?.plus(of(1)?.times(&Sum::Int(bytes))))
            }
            OpKind::Binary(BinaryOp::AddI) => Some(of(0)?.plus(of(1)?)),
            OpKind::Binary(BinaryOp::SubI) => Some(of(0)?.plus(of(1)?.times(&Sum::Int(-1)))),
            OpKind::Binary(BinaryOp::MulI) => {
                let (a, b) = (of(0)?, of(1)?);
                match (&a.step, &b.step) {
                    (_, Sum::Int(0)) => Some(a.times(&b.start)),
                    (Sum::Int(0), _) => Some(b.times(&a.start)),
                    _ => None,
                }
            }
            OpKind::Cast(CastOp::ExtS) if op.operands[0] == self.view.induction => Some(self.counter()),
            OpKind::Cast(CastOp::ExtS) => of(0),
            _ => None,
        }
    }

    fn counter(&self) -> Linear {
        let [lower, _, step] = self.view.bounds;
        let number = |value| constant(self.function, value).map_or(Sum::Value(value), Sum::Int);
        Linear { start: number(lower), step: number(step) }
    }

    /// What a loop carries, if each trip adds the same.
    fn argument(&self, value: ValueId, argument: u32, depth: u32) -> Option<Linear> {
        let Some(carried) = self.view.of_argument(argument) else { return Some(self.counter()) };
        let start = self.scalar(carried.init, depth + 1)?;
        let mut step = Linear::fixed(Sum::Int(0));
        let mut next = carried.next;
        for _ in 0..DEPTH {
            if next == value {
                let fixed = matches!((&start.step, &step.step), (Sum::Int(0), Sum::Int(0)));
                return fixed.then_some(Linear { start: start.start, step: step.start });
            }
            let op = self.function.op(self.function.def_op(next)?);
            let unit = match op.kind {
                OpKind::AddPtr => i64::from(pointee_bytes(self.function, next)),
                OpKind::Binary(BinaryOp::AddI) => 1,
                OpKind::Binary(BinaryOp::SubI) => -1,
                _ => return None,
            };
            // The value comes first; `load_cse` and `canonicalise` see to constants, not to others.
            step = step.plus(self.scalar(op.operands[1], depth + 1)?.times(&Sum::Int(unit)));
            next = op.operands[0];
        }
        None
    }
}

/// `if` the intervals are apart, the loop whose loads may run ahead; else the loop.
fn version(function: &mut Function, id: OpId, loads: &[Walk], stores: &[Walk]) {
    let op = function.op(id).clone();
    let (truth, wide) = (Type::scalar(Scalar::I1), Type::scalar(Scalar::I64));
    let [before, many, few] = [(); 3].map(|()| function.add_block());
    let bounds = op.for_operands();
    let step = constant(function, bounds.step).unwrap_or(1);

    let mut build = Builder { function, block: before, origin: op.origin };
    let (lower, upper) = (widened(&mut build, bounds.lower), widened(&mut build, bounds.upper));
    let distance = build.value(OpKind::Binary(BinaryOp::SubI), &[upper, lower], wide.clone());
    let least = build.int(step.saturating_mul(LEAST_TRIPS), wide.clone());
    let worth = build.value(OpKind::Compare(Predicate::GeS), &[distance, least], truth.clone());
    let asked = build.op(OpKind::If, &[worth], [truth.clone()], &[many, few]);
    let are_apart = build.function.op(asked).results[0];

    build.block = few;
    let no = build.int(0, truth.clone());
    build.op(OpKind::Yield, &[no], [], &[]);

    build.block = many;
    let one = build.int(1, wide.clone());
    let mut last = build.value(OpKind::Binary(BinaryOp::SubI), &[distance, one], wide.clone());
    if step != 1 {
        let step = build.int(step, wide.clone());
        last = build.value(OpKind::Binary(BinaryOp::DivS), &[last, step], wide);
    }
    let stored: Vec<(ValueId, ValueId)> = stores.iter().map(|walk| interval(&mut build, walk, last)).collect();
    let mut truths = Vec::new();
    for walk in loads {
        let loaded = interval(&mut build, walk, last);
        for stored in &stored {
            let below = build.value(OpKind::Compare(Predicate::LeS), &[loaded.1, stored.0], truth.clone());
            let above = build.value(OpKind::Compare(Predicate::LeS), &[stored.1, loaded.0], truth.clone());
            truths.push(build.value(OpKind::Binary(BinaryOp::Or), &[below, above], truth.clone()));
        }
    }
    let Some(all) = versions::all(&mut build, truths) else { return };
    build.op(OpKind::Yield, &[all], [], &[]);

    let ahead = rewrite::clone_op(function, id, &mut ValueMap::default());
    set_apart(function, ahead);
    versions::choose(function, id, before, are_apart, ahead);
}

/// The first byte of an access on all trips, and the one behind its last.
fn interval(build: &mut Builder<'_>, walk: &Walk, last: ValueId) -> (ValueId, ValueId) {
    let wide = Type::scalar(Scalar::I64);
    let start = emit(build, &walk.address.start);
    let (mut low, mut high) = (start, start);
    if !matches!(walk.address.step, Sum::Int(0)) {
        let step = emit(build, &walk.address.step);
        let way = build.value(OpKind::Binary(BinaryOp::MulI), &[step, last], wide.clone());
        let zero = build.int(0, wide.clone());
        for (kind, end) in [(BinaryOp::MinS, &mut low), (BinaryOp::MaxS, &mut high)] {
            let most = build.value(OpKind::Binary(kind), &[way, zero], wide.clone());
            *end = build.value(OpKind::Binary(BinaryOp::AddI), &[*end, most], wide.clone());
        }
    }
    let mut moved = |value: ValueId, by: i64| {
        let by = build.int(by, wide.clone());
        build.value(OpKind::Binary(BinaryOp::AddI), &[value, by], wide.clone())
    };
    (moved(low, walk.first), moved(high, walk.end))
}

fn emit(build: &mut Builder<'_>, sum: &Sum) -> ValueId {
    let wide = Type::scalar(Scalar::I64);
    let binary = |build: &mut Builder<'_>, kind, a: &Sum, b: &Sum| {
        let operands: SmallVec<[ValueId; 2]> = [a, b].into_iter().map(|sum| emit(build, sum)).collect();
        build.value(OpKind::Binary(kind), &operands, Type::scalar(Scalar::I64))
    };
    match sum {
        Sum::Int(number) => build.int(*number, wide),
        Sum::Value(value) => widened(build, *value),
        Sum::Add(a, b) => binary(build, BinaryOp::AddI, a, b),
        Sum::Mul(a, b) => binary(build, BinaryOp::MulI, a, b),
    }
}
