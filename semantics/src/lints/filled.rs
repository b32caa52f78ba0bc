//! What masked-off elements hold: `other`, and what becomes of it on the way.
//!
//! One condition of a mask is taken to be false along one dimension of a tile, and the tile's elements there are worked out backwards.
//! **Invariant:** [`Filled::Exactly`] holds for every such element; [`Filled::Arbitrary`] only says that nothing singles the number out.

use rustc_hash::FxHashSet;
use tritium_tile::{
    OpId, OpKind, ValueId,
    ops::{BinaryOp, CastOp, Constant, Predicate, UnaryOp},
};

use super::{
    folds::{Fold, fold},
    kernel::Kernel,
    masks::{conditions, is_constant, mask_of},
    memo::Memo,
};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Filled {
    Exactly(f64),
    /// Some finite number that depends on the data of the row: a mean, say.
    Arbitrary,
    Unknown,
}

/// A condition, by the number of its value, that is false along a dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Off {
    pub condition: u32,
    pub dim: usize,
}

/// A load or a `tl.where` that a tile is made from, and the condition of its mask that runs along the tile's dimension.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source {
    pub load: OpId,
    pub condition: u32,
}

/// How deep a value is looked into.
const DEPTH: usize = 48;

/// The masked loads and the choices between indices that elements along `dim` of a tile are made from.
pub(super) fn sources(kernel: &Kernel<'_>, tile: ValueId, dim: usize) -> Vec<Source> {
    let mut out: Vec<Source> = Vec::new();
    let mut seen = FxHashSet::default();
    let mut pending = vec![(tile, dim)];
    while let Some((value, dim)) = pending.pop() {
        if seen.len() > 512 || !seen.insert((value, dim)) {
            continue;
        }
        let Some((op, kind)) = kernel.def(value) else { continue };
        if let OpKind::Load(_) = kind {
            let Some(mask) = mask_of(kernel, op) else { continue };
            for condition in conditions(kernel, mask) {
                let condition_number = kernel.numbers.of(condition.value);
                if condition.dims.contains(&dim) && out.iter().all(|s| s.load != op || s.condition != condition_number) {
                    out.push(Source { load: op, condition: condition_number });
                }
            }
            continue;
        }
        if let OpKind::Select = kind {
            out.extend(chosen(kernel, op, dim));
        }
        pending.extend(kernel.operands(op).iter().filter_map(|&v| Some((v, before(kernel, op, v, dim)?))));
    }
    out
}

/// What a `tl.where` puts outside the indices that count: its conditions along `dim`, where they compare indices and a number stands in for what
/// does not.
fn chosen(kernel: &Kernel<'_>, select: OpId, dim: usize) -> Vec<Source> {
    let [condition, kept, filling] = *kernel.operands(select) else { return Vec::new() };
    if !is_constant(kernel, filling) || is_constant(kernel, kept) {
        return Vec::new();
    }
    let compares_indices = |value: ValueId| match kernel.def(value) {
        Some((op, OpKind::Compare(Predicate::LtS | Predicate::LeS | Predicate::GtS | Predicate::GeS))) => {
            kernel.operands(op).iter().all(|&side| kernel.facts.affine(side).is_some())
        }
        _ => false,
    };
    let all = conditions(kernel, condition);
    let mine = all.iter().filter(|c| c.dims.contains(&dim) && compares_indices(c.value));
    mine.map(|c| Source { load: select, condition: kernel.numbers.of(c.value) }).collect()
}

/// The dimension of an operand that became dimension `dim` of an op's result; `None` if it does not vary there.
pub(super) fn before(kernel: &Kernel<'_>, op: OpId, operand: ValueId, dim: usize) -> Option<usize> {
    let shape = kernel.function.ty(operand).shape();
    match &kernel.function.op(op).kind {
        OpKind::Broadcast => (*shape.get(dim)? != 1).then_some(dim),
        OpKind::ExpandDims { axis } => match dim.cmp(&usize::from(*axis)) {
            std::cmp::Ordering::Less => Some(dim),
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => Some(dim - 1),
        },
        OpKind::Transpose { order } => order.get(dim).map(|&d| usize::from(d)),
        OpKind::Reduce { axis } => Some(if dim >= usize::from(*axis) { dim + 1 } else { dim }),
        OpKind::Splat => None,
        kind if kind.is_elementwise() || matches!(kind, OpKind::ConvertLayout) => (dim < shape.len()).then_some(dim),
        _ => None,
    }
}

/// What the elements of a tile hold where a condition is false.
pub(super) fn filled(kernel: &Kernel<'_>, tile: ValueId, off: Off) -> Filled {
    fill(kernel, tile, off, 0, &mut Memo::default())
}

fn fill(kernel: &Kernel<'_>, value: ValueId, off: Off, depth: usize, memo: &mut Memo<(ValueId, usize), Filled>) -> Filled {
    if depth > DEPTH {
        return Filled::Unknown;
    }
    let key = (value, off.dim);
    match memo.get(&key, depth, Filled::Unknown) {
        Some(known) => known,
        None => {
            let answer = fill_by_operands(kernel, value, off, depth, memo);
            memo.put(key, depth, answer)
        }
    }
}

fn fill_by_operands(
    kernel: &Kernel<'_>,
    value: ValueId,
    off: Off,
    depth: usize,
    memo: &mut Memo<(ValueId, usize), Filled>,
) -> Filled {
    use Filled::{Arbitrary, Exactly, Unknown};
    if kernel.numbers.of(value) == off.condition {
        return Exactly(0.0);
    }
    let Some((op, kind)) = kernel.def(value) else {
        return if kernel.function.ty(value).is_scalar() { Arbitrary } else { Unknown };
    };
    let operands = kernel.operands(op);
    let mut go = |n: usize| match before(kernel, op, operands[n], off.dim) {
        Some(dim) => fill(kernel, operands[n], Off { dim, ..off }, depth + 1, memo),
        None => uniform(kernel, operands[n]),
    };
    match kind {
        OpKind::Constant(Constant::Float(x)) => Exactly(*x),
        OpKind::Constant(Constant::Int(n)) => Exactly(*n as f64),
        OpKind::Load(_) => load(kernel, op, off),
        OpKind::Splat
        | OpKind::Broadcast
        | OpKind::ConvertLayout
        | OpKind::Promise { .. }
        | OpKind::ExpandDims { .. }
        | OpKind::Transpose { .. } => go(0),
        OpKind::Cast(CastOp::Float | CastOp::SToF | CastOp::UToF | CastOp::ExtU | CastOp::FloatRtz) => go(0),
        OpKind::Cast(CastOp::ExtS) if kernel.function.ty(operands[0]).elem().bits() > 1 => go(0),
        OpKind::Select => match go(0) {
            Exactly(0.0) => go(2),
            Exactly(_) => go(1),
            _ => match (go(1), go(2)) {
                (a, b) if a == b => a,
                _ => Unknown,
            },
        },
        OpKind::Unary(unary) => match go(0) {
            Exactly(x) => apply(*unary, x).map_or(Unknown, Exactly),
            Arbitrary => Arbitrary,
            Unknown => Unknown,
        },
        OpKind::Binary(binary) => combine(*binary, go(0), go(1)),
        OpKind::Fma => {
            let product = combine(BinaryOp::MulF, go(0), go(1));
            combine(BinaryOp::AddF, product, go(2))
        }
        OpKind::Reduce { .. } => match go(0) {
            // A row of zeros is a zero, whatever it is folded by.
            Exactly(0.0) => Exactly(0.0),
            Exactly(x) => match fold(kernel, op) {
                Some(Fold::Max | Fold::Min) => Exactly(x),
                Some(Fold::Sum) if !x.is_finite() => Exactly(x),
                Some(Fold::Sum | Fold::Product) | None => Unknown,
            },
            Arbitrary | Unknown => Unknown,
        },
        _ => Unknown,
    }
}

/// A value that is the same all along the dimension.
fn uniform(kernel: &Kernel<'_>, value: ValueId) -> Filled {
    match kernel.def(kernel.core(value)) {
        Some((_, OpKind::Constant(Constant::Float(x)))) => Filled::Exactly(*x),
        Some((_, OpKind::Constant(Constant::Int(n)))) => Filled::Exactly(*n as f64),
        // A condition may hold or not; nothing follows.
        _ if kernel.function.ty(value).elem().bits() == 1 => Filled::Unknown,
        _ => Filled::Arbitrary,
    }
}

fn load(kernel: &Kernel<'_>, op: OpId, off: Off) -> Filled {
    let Some(mask) = mask_of(kernel, op) else { return Filled::Unknown };
    let all = conditions(kernel, mask);
    if !all.iter().any(|c| kernel.numbers.of(c.value) == off.condition && c.dims.contains(&off.dim)) {
        return Filled::Unknown;
    }
    match kernel.operands(op).get(2) {
        Some(&other) => match kernel.def(kernel.core(other)) {
            Some((_, OpKind::Constant(Constant::Float(x)))) => Filled::Exactly(*x),
            Some((_, OpKind::Constant(Constant::Int(n)))) => Filled::Exactly(*n as f64),
            _ => Filled::Unknown,
        },
        None => Filled::Unknown,
    }
}

fn combine(binary: BinaryOp, a: Filled, b: Filled) -> Filled {
    use Filled::{Arbitrary, Exactly, Unknown};
    match (binary, a, b) {
        (binary, Exactly(x), _) | (binary, _, Exactly(x)) if x.is_nan() && binary.is_float() => Exactly(x),
        (BinaryOp::AddF | BinaryOp::AddI, Exactly(x), Exactly(y)) => Exactly(x + y),
        (BinaryOp::SubF | BinaryOp::SubI, Exactly(x), Exactly(y)) => Exactly(x - y),
        (BinaryOp::MulF | BinaryOp::MulI, Exactly(x), Exactly(y)) => Exactly(x * y),
        (BinaryOp::DivF | BinaryOp::DivRn, Exactly(x), Exactly(y)) => Exactly(x / y),
        (BinaryOp::MaxF | BinaryOp::MaxNan | BinaryOp::MaxS, Exactly(x), Exactly(y)) => Exactly(x.max(y)),
        (BinaryOp::MinF | BinaryOp::MinNan | BinaryOp::MinS, Exactly(x), Exactly(y)) => Exactly(x.min(y)),
        (BinaryOp::MulF | BinaryOp::MulI | BinaryOp::And, Exactly(0.0), _)
        | (BinaryOp::MulF | BinaryOp::MulI | BinaryOp::And, _, Exactly(0.0)) => Exactly(0.0),
        (BinaryOp::DivF | BinaryOp::DivRn, Exactly(0.0), Arbitrary | Unknown) => Exactly(0.0),
        (BinaryOp::Or, Exactly(0.0), Exactly(0.0)) => Exactly(0.0),
        (BinaryOp::Or, Exactly(x), _) | (BinaryOp::Or, _, Exactly(x)) if x != 0.0 => Exactly(x),
        // `~mask`
        (BinaryOp::Xor, Exactly(x), Exactly(y)) => Exactly(f64::from(u8::from((x != 0.0) != (y != 0.0)))),
        // An infinity stays one, and what stands for one; a scale is taken to be positive.
        (BinaryOp::AddF | BinaryOp::SubF | BinaryOp::MulF | BinaryOp::DivF, Exactly(x), Arbitrary) if is_extreme(x) => Exactly(x),
        (BinaryOp::AddF | BinaryOp::MulF, Arbitrary, Exactly(x)) if is_extreme(x) => Exactly(x),
        (
            BinaryOp::AddF | BinaryOp::SubF | BinaryOp::MulF | BinaryOp::DivF | BinaryOp::DivRn,
            Exactly(_) | Arbitrary,
            Exactly(_) | Arbitrary,
        ) => Arbitrary,
        _ => Unknown,
    }
}

/// Whether a number is one that people write for an infinity.
fn is_extreme(x: f64) -> bool {
    x.abs() >= 1e4
}

fn apply(unary: UnaryOp, x: f64) -> Option<f64> {
    Some(match unary {
        UnaryOp::NegF => -x,
        UnaryOp::AbsF | UnaryOp::AbsI => x.abs(),
        UnaryOp::Floor => x.floor(),
        UnaryOp::Ceil => x.ceil(),
        UnaryOp::Sqrt | UnaryOp::SqrtRn => x.sqrt(),
        UnaryOp::Rsqrt => 1.0 / x.sqrt(),
        UnaryOp::Exp => x.exp(),
        UnaryOp::Exp2 => x.exp2(),
        UnaryOp::Log => x.ln(),
        UnaryOp::Log2 => x.log2(),
        UnaryOp::Sin => x.sin(),
        UnaryOp::Cos => x.cos(),
        UnaryOp::Tanh => x.tanh(),
        UnaryOp::Erf if x == 0.0 => 0.0,
        _ => return None,
    })
}
