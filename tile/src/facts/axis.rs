//! Divisibility, contiguity and constancy along each dimension.
//!
//! Along dimension `d`, every aligned run of `contiguity[d]` elements counts up by one (for pointers: by one element), every aligned run
//! of `constancy[d]` elements is equal, and the first element of every contiguous run is a multiple of `divisibility[d]` (for pointers:
//! in bytes). **Invariant:** all three are powers of two; a scalar has one dimension of extent 1.
//!
//! A run that is not aligned to its length may straddle the sign bit, so only its part up to `min(contiguity, divisibility)` survives a
//! wider type. Users take that minimum anyway.

use std::fmt;

use smallvec::{SmallVec, smallvec};

use super::Facts;
use crate::{
    kinds,
    module::{Function, ValueId},
    ops::{BinaryOp, CastOp, Constant, Op, OpKind, Predicate, PromiseOp},
};

/// What is divisible by this is zero as far as anybody asks.
const MAX: u64 = 1 << 40;

pub(super) type Extents = SmallVec<[u64; 4]>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    pub divisibility: SmallVec<[u64; 4]>,
    pub contiguity: SmallVec<[u64; 4]>,
    pub constancy: SmallVec<[u64; 4]>,
    /// Every element is this.
    pub constant: Option<i64>,
}

/// The largest power of two that divides `n`, at most [`MAX`].
fn power_of(n: i64) -> u64 {
    if n == 0 { MAX } else { (1 << n.trailing_zeros()).min(MAX) }
}

impl Axis {
    pub fn unknown(shape: &[u32]) -> Axis {
        let rank = shape.len().max(1);
        Axis { divisibility: smallvec![1; rank], contiguity: smallvec![1; rank], constancy: smallvec![1; rank], constant: None }
    }

    fn uniform(shape: &[u32], divisibility: u64, constant: Option<i64>) -> Axis {
        let mut axis = Axis::unknown(shape);
        axis.divide_all(divisibility);
        axis.constancy = extents(shape);
        axis.constant = constant;
        axis
    }

    pub(super) fn divide_all(&mut self, divisibility: u64) {
        let power = power_of(divisibility as i64);
        self.divisibility.iter_mut().for_each(|d| *d = power);
    }

    fn rank(&self) -> usize {
        self.divisibility.len()
    }

    /// What every element at a multiple of `run` along `d` is divisible by.
    fn divisibility_at(&self, d: usize, run: u64, unit: u64) -> u64 {
        if self.contiguity[d] <= run.max(1) { self.divisibility[d] } else { self.divisibility[d].min((run * unit).min(MAX)) }
    }

    /// What every element is divisible by.
    fn divisibility_of_all(&self) -> u64 {
        let along = |d: usize| if self.contiguity[d] == 1 { self.divisibility[d] } else { 1 };
        (0..self.rank()).map(along).max().unwrap_or(1)
    }

    /// Elements along `d` that one access may take, as far as this value says.
    pub fn aligned_run(&self, d: usize, unit: u64) -> u64 {
        self.contiguity[d].min((self.divisibility[d] / unit).max(1))
    }

    pub(super) fn join(&self, other: &Axis) -> Axis {
        let mut out = self.clone();
        for d in 0..self.rank().min(other.rank()) {
            let run = self.contiguity[d].min(other.contiguity[d]);
            // The unit of a pointer's run is at least a byte, so this is safe for pointers too.
            out.divisibility[d] = self.divisibility_at(d, run, 1).min(other.divisibility_at(d, run, 1));
            out.contiguity[d] = run;
            out.constancy[d] = self.constancy[d].min(other.constancy[d]);
        }
        if self.constant != other.constant {
            out.constant = None;
        }
        out
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |values: &[u64]| {
            let parts: Vec<String> = values.iter().map(|&v| if v == MAX { "any".to_string() } else { v.to_string() }).collect();
            parts.join(",")
        };
        write!(
            f,
            "divisible {} contiguous {} constant {}",
            list(&self.divisibility),
            list(&self.contiguity),
            list(&self.constancy)
        )
    }
}

fn extents(shape: &[u32]) -> Extents {
    if shape.is_empty() { smallvec![1] } else { shape.iter().map(|&n| u64::from(n)).collect() }
}

pub(super) fn transfer(function: &Function, facts: &Facts, op: &Op, result: ValueId) -> Axis {
    let shape = function.ty(result).shape();
    let extent = extents(shape);
    let operand = |n: usize| facts.axis(op.operands[n]);
    let unknown = || Axis::unknown(shape);
    // Equal operands give equal results, whatever is computed.
    let pointwise = || {
        let mut axis = unknown();
        for d in 0..axis.rank() {
            axis.constancy[d] =
                op.operands.iter().map(|&v| facts.axis(v).constancy.get(d).copied().unwrap_or(1)).min().unwrap_or(1);
        }
        axis
    };
    match &op.kind {
        OpKind::Constant(Constant::Int(n)) => Axis::uniform(shape, power_of(*n), Some(*n)),
        OpKind::Constant(Constant::Float(_) | Constant::Undefined) => Axis::uniform(shape, 1, None),
        OpKind::ProgramId { .. } | OpKind::NumPrograms { .. } => unknown(),
        OpKind::Iota { start, .. } => Axis {
            divisibility: smallvec![power_of(i64::from(*start))],
            contiguity: extent,
            constancy: smallvec![1],
            constant: None,
        },
        OpKind::Splat => Axis::uniform(shape, operand(0).divisibility[0], operand(0).constant),
        OpKind::ExpandDims { axis } => {
            let at = usize::from(*axis);
            let mut out = operand(0).clone();
            if function.ty(op.operands[0]).shape().is_empty() {
                out = Axis::uniform(shape, out.divisibility[0], out.constant);
            } else {
                let all = out.divisibility_of_all();
                out.divisibility.insert(at, all);
                out.contiguity.insert(at, 1);
                out.constancy.insert(at, 1);
            }
            out
        }
        OpKind::Broadcast => {
            let mut out = operand(0).clone();
            let from = function.ty(op.operands[0]).shape();
            for d in 0..shape.len() {
                if from[d] != shape[d] {
                    out.constancy[d] = extent[d];
                }
            }
            out
        }
        OpKind::Transpose { order } => {
            let from = operand(0);
            let pick = |values: &Extents| order.iter().map(|&d| values[usize::from(d)]).collect();
            Axis {
                divisibility: pick(&from.divisibility),
                contiguity: pick(&from.contiguity),
                constancy: pick(&from.constancy),
                constant: from.constant,
            }
        }
        OpKind::Reshape { .. } => {
            let from = operand(0);
            if from.constancy == extents(function.ty(op.operands[0]).shape()) {
                Axis::uniform(shape, from.divisibility_of_all(), from.constant)
            } else {
                let mut out = unknown();
                out.divide_all(from.divisibility_of_all());
                out
            }
        }
        OpKind::ConvertLayout => operand(0).clone(),
        OpKind::Promise { what, values } => {
            let mut out = operand(0).clone();
            for (d, &value) in values.iter().enumerate().take(out.rank()) {
                let value = power_of(i64::from(value));
                let fact = match what {
                    PromiseOp::Divisible => &mut out.divisibility[d],
                    PromiseOp::Contiguous => &mut out.contiguity[d],
                    PromiseOp::Constant => &mut out.constancy[d],
                };
                if value < MAX {
                    let most = if *what == PromiseOp::Divisible { MAX } else { extent[d] };
                    *fact = (*fact).max(value.min(most));
                }
            }
            out
        }
        OpKind::Cast(cast) => {
            let from = operand(0);
            match cast {
                CastOp::ExtS | CastOp::ExtU => from.clone(),
                CastOp::Trunc => {
                    let bits = function.ty(result).elem().bits().min(40);
                    let mut out = from.clone();
                    for d in 0..out.rank() {
                        let run = out.contiguity[d].min(1 << bits);
                        out.divisibility[d] = out.divisibility_at(d, run, 1);
                        out.contiguity[d] = run;
                    }
                    out.constant = None;
                    out
                }
                CastOp::IntToPtr | CastOp::PtrToInt | CastOp::PtrCast => {
                    let bytes = |v: ValueId| function.ty(v).elem().pointee().map_or(1, |s| s.bytes());
                    if bytes(result) == bytes(op.operands[0]) {
                        from.clone()
                    } else {
                        let mut out = pointwise();
                        // The first element of a run of one is every element: fall back to what divides them all.
                        let unit = u64::from(bytes(op.operands[0]));
                        let all = (0..from.rank()).map(|d| from.divisibility_at(d, 1, unit)).max().unwrap_or(1);
                        out.divide_all(all);
                        out
                    }
                }
                CastOp::Float
                | CastOp::FloatRtz
                | CastOp::SToF
                | CastOp::UToF
                | CastOp::FToS
                | CastOp::FToU
                | CastOp::Bitcast => pointwise(),
            }
        }
        OpKind::Binary(binary) => {
            let mut out = pointwise();
            combine(facts, op, *binary, &mut out);
            out.constant = super::range::constant_of(function, facts, op, result);
            if let Some(n) = out.constant {
                out = Axis::uniform(shape, power_of(n), Some(n));
            }
            out
        }
        OpKind::AddPtr => {
            let mut out = pointwise();
            let unit = u64::from(function.ty(result).elem().pointee().map_or(1, |s| s.bytes()));
            add(operand(0), operand(1), unit, &mut out);
            out
        }
        OpKind::Compare(predicate) => {
            let (a, b) = (operand(0), operand(1));
            let mut out = pointwise();
            for d in 0..out.rank() {
                // An aligned run against a multiple of its length falls wholly on one side.
                let side = |run: &Axis, bound: &Axis| {
                    run.contiguity[d].min(run.divisibility[d]).min(bound.divisibility_at(d, 1, 1)).min(bound.constancy[d])
                };
                let run = match predicate {
                    Predicate::LtS | Predicate::LtU | Predicate::GeS | Predicate::GeU => side(a, b),
                    Predicate::GtS | Predicate::GtU | Predicate::LeS | Predicate::LeU => side(b, a),
                    Predicate::Eq
                    | Predicate::Ne
                    | Predicate::EqF
                    | Predicate::NeF
                    | Predicate::LtF
                    | Predicate::LeF
                    | Predicate::GtF
                    | Predicate::GeF => 1,
                };
                out.constancy[d] = out.constancy[d].max(run);
            }
            out.constant = super::range::constant_of(function, facts, op, result);
            if out.constant.is_some() {
                out.constancy = extent;
            }
            out
        }
        OpKind::Select => {
            let (condition, a, b) = (operand(0), operand(1), operand(2));
            let mut out = pointwise();
            for d in 0..out.rank() {
                let condition = if condition.rank() == out.rank() { condition.constancy[d] } else { extent[d] };
                let run = a.contiguity[d].min(b.contiguity[d]).min(condition);
                out.contiguity[d] = run;
                out.divisibility[d] = a.divisibility_at(d, run, 1).min(b.divisibility_at(d, run, 1));
            }
            out
        }
        OpKind::Choose => {
            let mut out = pointwise();
            for d in 0..out.rank() {
                let values = op.operands[1..].iter().map(|&v| facts.axis(v).divisibility_at(d, 1, 1));
                out.divisibility[d] = values.min().unwrap_or(1);
            }
            out
        }
        OpKind::Load(attrs) if !attrs.volatile => pointwise(),
        OpKind::Unary(_) | OpKind::Fma | OpKind::Libdevice(_) => pointwise(),
        OpKind::Load(_)
        | OpKind::Store(_)
        | OpKind::AtomicRmw { .. }
        | OpKind::AtomicCas { .. }
        | OpKind::SpecialRegister(_)
        | OpKind::InlineAsm(_)
        | OpKind::Map { .. }
        | OpKind::Gather { .. }
        | OpKind::Histogram
        | OpKind::Reduce { .. }
        | OpKind::Scan { .. }
        | OpKind::Dot { .. }
        | kinds!(Control)
        | kinds!(Transfer)
        | kinds!(Observation)
        | OpKind::LocalAlloc
        | OpKind::LocalLoad
        | OpKind::LocalIndex
        | OpKind::LocalStore
        | kinds!(Order)
        | kinds!(Copying)
        | OpKind::WriteTensorMap { .. }
        | OpKind::Wgmma { .. } => unknown(),
    }
}

/// `a + b`, where a unit of `b` is `unit` of the result (an element of a pointer is `unit` bytes).
fn add(a: &Axis, b: &Axis, unit: u64, out: &mut Axis) {
    for d in 0..out.rank() {
        let run = a.contiguity[d].min(b.constancy[d]).max(a.constancy[d].min(b.contiguity[d]));
        out.contiguity[d] = run;
        let b_bytes = (b.divisibility_at(d, run, 1).saturating_mul(unit)).min(MAX);
        out.divisibility[d] = a.divisibility_at(d, run, unit).min(b_bytes);
    }
}

fn combine(facts: &Facts, op: &Op, binary: BinaryOp, out: &mut Axis) {
    let (a, b) = (facts.axis(op.operands[0]), facts.axis(op.operands[1]));
    let ranks = out.rank();
    let all = |axis: &Axis| axis.divisibility_of_all();
    match binary {
        BinaryOp::AddI => add(a, b, 1, out),
        BinaryOp::SubI => {
            for d in 0..ranks {
                let run = a.contiguity[d].min(b.constancy[d]);
                out.contiguity[d] = run;
                out.divisibility[d] = a.divisibility_at(d, run, 1).min(b.divisibility_at(d, run, 1));
            }
        }
        BinaryOp::MulI => {
            if b.constant == Some(1) {
                *out = a.clone();
            } else if a.constant == Some(1) {
                *out = b.clone();
            } else {
                out.divide_all(all(a).saturating_mul(all(b)).min(MAX));
            }
        }
        BinaryOp::Shl => match b.constant {
            Some(0) => *out = a.clone(),
            Some(k @ 1..=39) => out.divide_all((all(a) << k).min(MAX)),
            _ => out.divide_all(all(a)),
        },
        BinaryOp::DivS | BinaryOp::DivU if b.constant == Some(1) => *out = a.clone(),
        BinaryOp::DivS | BinaryOp::DivU => {
            let floors = binary == BinaryOp::DivU || facts.is_natural(op.operands[0]);
            for d in 0..ranks {
                if floors {
                    let run = a.contiguity[d].min(a.divisibility[d]).min(all(b)).min(b.constancy[d]);
                    out.constancy[d] = out.constancy[d].max(run);
                }
            }
            if let Some(n) = b.constant
                && n > 0
                && (n as u64).is_power_of_two()
                && all(a) >= n as u64
            {
                out.divide_all(all(a) / n as u64);
            }
        }
        BinaryOp::ShrS | BinaryOp::ShrU => {
            if let Some(k @ 0..=39) = b.constant {
                for d in 0..ranks {
                    let run = a.contiguity[d].min(a.divisibility[d]).min(1 << k);
                    out.constancy[d] = out.constancy[d].max(run);
                }
                if all(a) >> k > 0 {
                    out.divide_all(all(a) >> k);
                }
            }
        }
        BinaryOp::RemS | BinaryOp::RemU => {
            let floors = binary == BinaryOp::RemU || facts.is_natural(op.operands[0]);
            for d in 0..ranks {
                let run = a.contiguity[d].min(a.divisibility[d]).min(all(b)).min(b.constancy[d]);
                out.contiguity[d] = if floors { run } else { 1 };
                out.divisibility[d] = a.divisibility_at(d, out.contiguity[d], 1).min(all(b));
            }
        }
        BinaryOp::And => {
            out.divide_all(all(a).max(all(b)));
            let mask = |axis: &Axis| axis.constant.filter(|&n| n > 0 && (n as u64 + 1).is_power_of_two());
            for (value, mask) in [(a, mask(b)), (b, mask(a))] {
                let Some(mask) = mask else { continue };
                for d in 0..ranks {
                    let run = value.contiguity[d].min(value.divisibility[d]).min(mask as u64 + 1);
                    out.contiguity[d] = run;
                    out.divisibility[d] = value.divisibility_at(d, run, 1);
                }
            }
        }
        BinaryOp::Or | BinaryOp::Xor | BinaryOp::MinS | BinaryOp::MaxS | BinaryOp::MinU | BinaryOp::MaxU => {
            out.divide_all(all(a).min(all(b)))
        }
        BinaryOp::MulHiU | kinds!(Float) => {}
    }
}
